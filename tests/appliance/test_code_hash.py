"""``code_sha256``: what it covers, and that everything it covers moves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import code_hash
from sandbox import RuntimeMissing
from sandbox.storm_files import storm_patterns


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small checkout and a small runtime: two profiles, two modules, every file of the named list."""
    files = ["renderer/a.py", "renderer/deep/b.py", "profiles/one/profile.toml", "profiles/two/profile.toml"]
    files += [f"runtime/site/{pattern.replace('/**', '/some.file')}" for pattern in storm_patterns()]
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    monkeypatch.setenv("RENDER_JUDGE_RUNTIME", str(tmp_path / "runtime"))
    (tmp_path / "runtime/root/usr/bin").mkdir(parents=True)
    (tmp_path / "runtime/root/usr/bin/python3").touch()
    code_hash._local_storm.cache_clear()
    yield tmp_path
    code_hash._local_storm.cache_clear()


def hashes(sources: Path) -> dict[str, str]:
    code_hash._local_storm.cache_clear()
    one, two = (code_hash.code_sha256(sources, name) for name in ("one", "two"))
    return {"one": one, "two": two, "image": code_hash.image_sha256(sources)}


def test_manifest_names_every_file_once_below_its_own_part(sources: Path) -> None:
    paths = [path for path, _, _ in code_hash.code_manifest(sources, "one")]
    assert paths == sorted(set(paths))
    assert [path for path in paths if not path.startswith("storm/")] == [
        "profiles/one/profile.toml",
        "renderer/a.py",
        "renderer/deep/b.py",
    ]
    assert len([path for path in paths if path.startswith("storm/bpy/")]) == len(storm_patterns())


@pytest.mark.parametrize(
    ("changed", "moved"),
    [
        ("renderer/a.py", {"one", "two", "image"}),
        ("renderer/new.py", {"one", "two", "image"}),
        ("profiles/one/profile.toml", {"one", "image"}),
        ("profiles/two/rig.txt", {"two", "image"}),
        ("runtime/site/bpy/lib/libusd_ms.so", {"one", "two", "image"}),
        ("runtime/site/bpy/lib/usd/new.json", {"one", "two", "image"}),
        ("runtime/site/numpy/a.py", set()),
        ("renderer/__pycache__/a.cpython-313.pyc", set()),
        ("renderer/notes.txt", set()),
        ("judge/a.py", set()),
    ],
)
def test_hash_moves_with_what_is_started_and_with_nothing_else(sources: Path, changed: str, moved: set[str]) -> None:
    before = hashes(sources)
    (sources / changed).parent.mkdir(parents=True, exist_ok=True)
    (sources / changed).write_text("changed")
    after = hashes(sources)
    assert {name for name in before if before[name] != after[name]} == moved


def test_hash_moves_with_a_name(sources: Path) -> None:
    before = hashes(sources)
    (sources / "renderer/a.py").rename(sources / "renderer/c.py")
    assert not set(before.values()) & set(hashes(sources).values())


def test_hash_without_storm_is_refused(sources: Path) -> None:
    (sources / "runtime/site/bpy/lib/libtbb.so.12").unlink()
    with pytest.raises(RuntimeMissing) as caught:
        hashes(sources)
    assert caught.value.fault == "infrastructure"
