"""What goes into an image and what is read back: the archive's rules, without an engine."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.storm_files import storm_patterns
from scripts.host import CHECKOUT, Missing
from scripts.image_content import ROOMS, Chunks, entries, write_context


def archive(files: dict[str, bytes], links: tuple[str, ...] = ()) -> io.BytesIO:
    """An image's /opt as an engine hands it out."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
            tar.addfile(info)
    target.seek(0)
    return target


def test_renderer_profiles_and_storm_count_and_nothing_else() -> None:
    counted = {
        "opt/render-judge/renderer/a.py": "renderer/a.py",
        "opt/render-judge/profiles/p/profile.toml": "profiles/p/profile.toml",
        "opt/storm/bpy/lib/libusd_ms.so": "storm/bpy/lib/libusd_ms.so",
        "opt/storm/bpy/more.so": "storm/bpy/more.so",
    }
    others = ("opt/storm/numpy/a.py", "opt/render-judge/judge/a.py", "opt/packages/renderer/a.py", "opt/renderer/a.py")
    found = list(entries(archive({name: name.encode() for name in (*counted, *others)})))
    assert found == [(shown, len(name), hashlib.sha256(name.encode()).hexdigest()) for name, shown in counted.items()]


@pytest.mark.parametrize(
    "place", ["opt/render-judge/renderer/a.py", "opt/storm/bpy/lib/usd", "opt/render-judge/profiles/p"]
)
def test_link_among_what_counts_is_refused(place: str) -> None:
    with pytest.raises(Missing, match=place):
        list(entries(archive({}, (place,))))


def test_link_elsewhere_does_not_count() -> None:
    assert list(entries(archive({}, ("opt/render-judge/.runtime/site", "opt/packages/a")))) == []


@given(st.lists(st.binary(max_size=20), max_size=10), st.integers(1, 30))
def test_chunks_read_as_one_stream(chunks: list[bytes], size: int) -> None:
    stream, found = io.BufferedReader(Chunks(iter(chunks)), size), b""
    while piece := stream.read(size):
        found += piece
    assert found == b"".join(chunks)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Every file of the named list, one beside them, and a package."""
    for pattern in (*storm_patterns(), "bpy/lib/libembree4.so.4", "numpy/a.py", "numpy/a.pyc"):
        path = tmp_path / "site" / pattern.replace("/**", "/some.file")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    return tmp_path / "site"


def context(site: Path, packages: Path | None) -> dict[str, tarfile.TarInfo]:
    target = io.BytesIO()
    write_context(target, site, packages)
    target.seek(0)
    with tarfile.open(fileobj=target) as tar:
        return {member.name: member for member in tar}


def tops(names: Iterator[str] | dict[str, tarfile.TarInfo]) -> set[str]:
    return {name.split("/")[0] for name in names}


def test_sandbox_gets_the_renderer_and_the_named_list_alone(site: Path) -> None:
    found = context(site, None)
    assert tops(found) == {"Dockerfile", "renderer", "profiles", "site"}
    assert "site/bpy/lib/libusd_ms.so" in found
    assert "site/numpy/a.py" in found
    assert "site/bpy/lib/libembree4.so.4" not in found
    assert not [name for name in found if name.endswith(".pyc")]
    assert all(member.isreg() for member in found.values())
    assert {(member.uid, member.gid, member.mtime, member.uname) for member in found.values()} == {(0, 0, 0, "")}


def test_appliance_gets_the_trusted_rooms_its_packages_and_its_version(site: Path, tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages/click.py").touch()
    found = context(site, tmp_path / "packages")
    assert tops(found) == {"Dockerfile", "renderer", "profiles", "site", "packages", *ROOMS}
    assert "packages/click.py" in found
    assert [name for name in found if name.startswith("packages/render_judge-") and name.endswith("/METADATA")]


def test_dockerfile_copies_only_what_the_context_brings() -> None:
    lines = (CHECKOUT / "Dockerfile").read_text("utf-8").splitlines()
    copied = [line.split()[1] for line in lines if line.startswith("COPY ")]
    assert sorted(copied) == sorted(["site", "packages", "renderer", "profiles", *ROOMS])
    assert not [line for line in lines if "--mount" in line or "pip" in line]
