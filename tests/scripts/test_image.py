"""What goes into an image, what is read back from it, and the lock."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import IO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts import image
from scripts.host import Missing

LISTED = "bpy/lib/libusd_ms.so"


def archive(*members: tuple[str, bytes] | tuple[str, None]) -> IO[bytes]:
    """A tar as an engine sends it; a member without bytes is a link."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if data is None:
                info.type, info.linkname = tarfile.SYMTYPE, "elsewhere"
            else:
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data or b""))
    target.seek(0)
    return target


@pytest.fixture(autouse=True)
def storm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "find_runtime", lambda: SimpleNamespace(site=Path("/nowhere")))
    monkeypatch.setattr(image, "storm_files", lambda site: [LISTED])


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 50))
def test_stream_of_an_engine_reads_like_a_file(chunks: list[bytes], step: int) -> None:
    stream = image._Chunks(iter(chunk for chunk in chunks if chunk))
    got = b""
    while data := stream.read(step):
        got += data
    assert got == b"".join(chunks)


def test_read_back_entries_are_named_as_in_a_checkout() -> None:
    stream = archive(
        ("opt/render-judge/renderer/worker.py", b"w"),
        ("opt/render-judge/profiles/p/profile.toml", b"pp"),
        (f"opt/storm/{LISTED}", b"sss"),
        ("opt/storm/numpy/__init__.py", b"not ours"),
    )
    assert list(image._entries(stream)) == [
        ("renderer/worker.py", 1, hashlib.sha256(b"w").hexdigest()),
        ("profiles/p/profile.toml", 2, hashlib.sha256(b"pp").hexdigest()),
        (f"storm/{LISTED}", 3, hashlib.sha256(b"sss").hexdigest()),
    ]


def test_surplus_file_beside_storm_changes_the_hash() -> None:
    names = [name for name, _, _ in image._entries(archive(("opt/storm/bpy/lib/evil.so", b"x")))]
    assert names == ["storm/bpy/lib/evil.so"]


@pytest.mark.parametrize("name", ["opt/render-judge/renderer/worker.py", f"opt/storm/{LISTED}"])
def test_link_in_place_of_a_file_is_refused(name: str) -> None:
    with pytest.raises(Missing, match="link"):
        list(image._entries(archive((name, None))))


def test_context_tells_nothing_of_who_built_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0o640)
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        image._add(tar, tmp_path / "a", "site/a")
    target.seek(0)
    with tarfile.open(fileobj=target) as tar:
        (found,) = tar.getmembers()
    assert (found.name, found.mode, found.uid, found.gid, found.uname, found.gname, found.mtime) == (
        *("site/a", 0o644, 0, 0),
        *("", "", 0),
    )


def test_context_holds_the_listed_files_of_storm_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (LISTED, "bpy/lib/other.so", "numpy/__init__.py", "numpy/__init__.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    monkeypatch.setattr(image, "find_runtime", lambda: SimpleNamespace(site=tmp_path))
    target = io.BytesIO()
    image._write_context(cast("IO[bytes]", target))
    target.seek(0)
    with tarfile.open(fileobj=target) as tar:
        names = tar.getnames()
    assert sorted(name for name in names if name.startswith("site/")) == [f"site/{LISTED}", "site/numpy/__init__.py"]
    assert {"Dockerfile", "renderer/worker.py", "profiles/studio-v1/profile.toml"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


def test_lock_is_replaced_whole(tmp_path: Path) -> None:
    lock = tmp_path / "images.json"
    lock.write_text('{"sha256:old": "1"}')
    image._write_lock(lock, {"sha256:new": "2"})
    assert json.loads(lock.read_text()) == {"sha256:new": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["images.json"]
