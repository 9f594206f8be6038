"""Where things lie, and the one list of Storm's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.errors import RuntimeMissing
from sandbox.runtime import find_runtime, read_images, runtime_folder
from sandbox.storm_files import storm_files, storm_manifest, storm_patterns

IMAGE = "sha256:" + "a" * 64


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RENDER_JUDGE_RUNTIME", str(tmp_path))
    return tmp_path


def fill(site: Path) -> None:
    """Every file of the list, with its own path for content."""
    for pattern in storm_patterns():
        path = site / (pattern.removesuffix("/**") + "/some.file" if pattern.endswith("/**") else pattern)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)


def program(folder: Path) -> Path:
    path = folder / "python3.13"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_runtime_with_an_interpreter(folder: Path) -> None:
    fill(folder / "site")
    (folder / "interpreter").write_text(f"{program(folder)}\n")
    found = find_runtime()
    assert (found.interpreter, found.site, found.root) == (folder / "python3.13", folder / "site", None)


def test_runtime_with_an_own_root(folder: Path) -> None:
    fill(folder / "site")
    (folder / "root/usr/bin").mkdir(parents=True)
    program(folder).rename(folder / "root/usr/bin/python3")
    found = find_runtime()
    assert (found.interpreter, found.root) == (None, folder / "root")


@pytest.mark.parametrize(
    ("interpreter", "with_storm", "code"),
    [
        (None, False, "storm_missing"),
        (None, True, "interpreter_missing"),
        ("/nowhere/python3.13", True, "interpreter_missing"),
        ("python3.13", True, "interpreter_missing"),
        ("/etc", True, "interpreter_missing"),
        ("\udcff", True, "interpreter_missing"),
    ],
)
def test_missing_runtime_is_named(folder: Path, interpreter: str | None, with_storm: bool, code: str) -> None:
    if with_storm:
        fill(folder / "site")
    if interpreter is not None:
        (folder / "interpreter").write_bytes(os.fsencode(interpreter))
    with pytest.raises(RuntimeMissing) as caught:
        find_runtime()
    assert (caught.value.code, caught.value.fault) == (code, "infrastructure")


def test_folder_without_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RENDER_JUDGE_RUNTIME", raising=False)
    monkeypatch.setattr("sandbox.runtime.source_folder", lambda: tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert runtime_folder() == Path("/data/render-judge")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert runtime_folder() == Path("/home/somebody/.local/share/render-judge")
    (tmp_path / ".runtime").mkdir()
    assert runtime_folder() == tmp_path / ".runtime"


def test_lock_of_images_is_read(folder: Path) -> None:
    (folder / "images.json").write_text(f'{{"{IMAGE}": "{"b" * 64}"}}')
    assert read_images() == {IMAGE: "b" * 64}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"latest": "' + "b" * 64 + '"}',
        f'{{"{IMAGE}": "B"}}',
        f'{{"{IMAGE}": 1}}',
        "[" * 100_000,
        "\udcff",
    ],
)
def test_bad_lock_of_images_is_named(folder: Path, text: str) -> None:
    (folder / "images.json").write_bytes(os.fsencode(text))
    with pytest.raises(RuntimeMissing) as caught:
        read_images()
    assert caught.value.code == "image_lock_invalid"


def test_absent_lock_of_images_is_named(folder: Path) -> None:
    with pytest.raises(RuntimeMissing) as caught:
        read_images()
    assert caught.value.code == "image_lock_missing"


def test_list_leaves_byte_code_and_other_files_out(tmp_path: Path) -> None:
    fill(tmp_path)
    expected = storm_files(tmp_path)
    (tmp_path / "bpy/lib/usd/__pycache__").mkdir()
    (tmp_path / "bpy/lib/usd/__pycache__/x.pyc").touch()
    (tmp_path / "bpy/lib/usd/y.pyc").touch()
    (tmp_path / "bpy/lib/libembree4.so.4").touch()
    assert storm_files(tmp_path) == expected
    assert list(expected) == sorted(expected)
    assert len(expected) == len(storm_patterns())


@pytest.mark.parametrize("lacking", ["bpy/lib/libusd_ms.so", "bpy/lib/usd/some.file"])
@pytest.mark.parametrize("as_link", [False, True])
def test_incomplete_storm_is_named(tmp_path: Path, lacking: str, as_link: bool) -> None:
    fill(tmp_path)
    (tmp_path / lacking).unlink()
    if as_link:
        (tmp_path / lacking).symlink_to("/etc/hostname")
    with pytest.raises(RuntimeMissing) as caught:
        storm_files(tmp_path)
    assert caught.value.code == "storm_incomplete"


def test_manifest_changes_with_one_byte(tmp_path: Path) -> None:
    fill(tmp_path)
    before = storm_manifest(tmp_path)
    (tmp_path / "bpy/lib/libtbb.so.12").write_text("libtbb.so.13")
    changed = [new.path for old, new in zip(before, storm_manifest(tmp_path), strict=True) if old != new]
    assert changed == ["bpy/lib/libtbb.so.12"]


@pytest.mark.storm
def test_storm_of_this_machine_is_complete() -> None:
    files = storm_files(find_runtime().site)
    assert len(files) > 1000
    assert any(path.endswith("UsdImagingGL/_usdImagingGL.so") for path in files)
