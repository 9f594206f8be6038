"""The named list, and a site that is whole or not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sandbox.storm_files import storm_files, storm_patterns
from scripts import storm_site
from scripts.host import Missing
from scripts.storm_site import SITE_LOCK, named, named_patterns, set_up_packages, set_up_site, stamp, used

PIP = """
import sys, zipfile
folder = sys.argv[sys.argv.index("--dest") + 1]
def wheel(name, *files):
    with zipfile.ZipFile(f"{folder}/{name}.whl", "w") as archive:
        for file in files:
            archive.writestr(file, file)
wheel("bpy-5.2.3-cp313", "bpy/lib/libusd_ms.so", "bpy/lib/usd/a/plugInfo.json", "bpy/__init__.so")
wheel("numpy-2-cp313", "numpy/__init__.py", "numpy/f2py/x.py", "numpy/ma/tests/t.py", "numpy-2.data/scripts/f2py")
"""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("bpy/lib/libusd_ms.so", True),
        ("bpy/lib/libusd_ms.so.1", False),
        ("bpy/lib/usd/plugInfo.json", True),
        ("bpy/lib/usd/a/b/c.glslfx", True),
        ("bpy/lib/usd", False),
        ("bpy/lib/usdx/plugInfo.json", False),
        ("x/bpy/lib/usd/plugInfo.json", False),
        ("bpy/__init__.so", False),
    ],
)
def test_named_list(name: str, wanted: bool) -> None:
    assert named(name, ["bpy/lib/libusd_ms.so", "bpy/lib/usd/**"]) is wanted


def test_list_of_this_checkout_names_storm_and_no_part_of_blender() -> None:
    patterns = named_patterns()
    assert named("bpy/lib/libusd_ms.so", patterns)
    assert named("bpy/5.2/python/lib/python3.13/site-packages/pxr/UsdImagingGL/__init__.py", patterns)
    assert named("bpy/5.2/python/lib/python3.13/site-packages/MaterialX/libraries/stdlib/stdlib_defs.mtlx", patterns)
    assert not named("bpy/__init__.cpython-313-x86_64-linux-gnu.so", patterns)
    assert not any(pattern.strip("*/") in ("", "bpy") for pattern in patterns)


@pytest.fixture
def pip(tmp_path: Path) -> list[str]:
    (tmp_path / "pip.py").write_text(PIP)
    return [sys.executable, str(tmp_path / "pip.py")]


def test_stamp_follows_lock_and_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "storm.txt"
    other.write_bytes(SITE_LOCK.read_bytes() + b"# another\n")
    seen = {stamp(SITE_LOCK), stamp(other)}
    other_list = tmp_path / "list"
    other_list.write_bytes(storm_site.NAMED_LIST.read_bytes() + b"# another\n")
    monkeypatch.setattr(storm_site, "NAMED_LIST", other_list)
    assert len(seen | {stamp(SITE_LOCK)}) == 3


def test_site_and_sandbox_read_the_named_list_alike(tmp_path: Path) -> None:
    assert named_patterns() == list(storm_patterns())
    names = [pattern.replace("/**", "/deep/er.file") for pattern in storm_patterns()]
    for name in [*names, "bpy/lib/libembree4.so.4", "bpy/lib/usdx/a", "bpy/__init__.so"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(name for name in found if named(name, named_patterns())) == list(storm_files(tmp_path))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("numpy/__init__.py", True),
        # scipy imports every public name of numpy, this one too.
        ("numpy/f2py/__init__.py", True),
        ("numpy/testing/__init__.py", True),
        ("numpy/linalg/tests/test_linalg.py", False),
        ("flip-1.7.data/scripts/flip", False),
        ("pydantic/__pycache__/main.cpython-313.pyc", False),
    ],
)
def test_what_is_kept_of_other_wheels(name: str, kept: bool) -> None:
    assert used(name) is kept


def test_site_keeps_of_storms_wheel_the_named_list_alone(tmp_path: Path, pip: list[str]) -> None:
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    set_up_site(runtime, pip)
    site = runtime / "site"
    files = sorted(path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file())
    assert files == ["bpy/lib/libusd_ms.so", "bpy/lib/usd/a/plugInfo.json", "numpy/__init__.py", "numpy/f2py/x.py"]
    assert sorted(path.name for path in runtime.iterdir()) == ["site", "site.stamp"]
    set_up_site(runtime, ["/nowhere/pip"])  # nothing to do, so nothing is called
    set_up_packages(runtime, pip)
    assert (runtime / "packages/numpy/__init__.py").is_file()


def test_failed_fetch_leaves_the_old_site_and_no_rest(tmp_path: Path, pip: list[str]) -> None:
    runtime = tmp_path / "runtime"
    (runtime / "site").mkdir(parents=True)
    (runtime / "site" / "old").touch()
    (runtime / "site.stamp").write_text("of an older list")
    with pytest.raises(Missing, match="no such package"):
        set_up_site(runtime, [sys.executable, "-c", "raise SystemExit('no such package')"])
    assert sorted(path.name for path in runtime.iterdir()) == ["site", "site.stamp"]
    assert (runtime / "site" / "old").exists()
    set_up_site(runtime, pip)
    assert not (runtime / "site" / "old").exists()
