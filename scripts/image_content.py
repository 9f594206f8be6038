"""What goes into an image, and what is read back out of one: streams of files and their hashes, no engine."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any

from receipt.digests import Entry
from sandbox import storm_files
from scripts.host import CHECKOUT, Missing

ROOMS = ("sandbox", "receipt", "judge", "appliance")
"""The rooms of the trusted half; the renderer comes with every image."""


class Chunks(io.RawIOBase):
    """A readable stream over the chunks of a generator."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._left = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = chunk
        taken = self._left[: len(buffer)]
        buffer[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        return len(taken)


def write_context(target: IO[bytes], site: Path, packages: Path | None) -> None:
    """Only what the Dockerfile copies, with fixed owners and times; the trusted half where ``packages`` is given."""
    listed = set(storm_files(site))
    with tarfile.open(fileobj=target, mode="w") as tar:
        _add(tar, CHECKOUT / "Dockerfile", "Dockerfile")
        for room in ("renderer", "profiles", *(ROOMS if packages else ())):
            for path, name in _files(CHECKOUT / room):
                _add(tar, path, f"{room}/{name}")
        for path, name in _files(site):
            if name in listed or not name.startswith("bpy/"):
                _add(tar, path, f"site/{name}")
        if packages:
            for path, name in _files(packages):
                _add(tar, path, f"packages/{name}")
            _add_identity(tar)


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Every file below a folder but byte code, with its relative path, in one order on every machine."""
    for path in sorted(folder.rglob("*")):
        if path.suffix != ".pyc" and path.is_file():
            yield path, path.relative_to(folder).as_posix()


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.size = path.stat().st_size
    info.mode = 0o755 if os.access(path, os.X_OK) else 0o644
    with path.open("rb") as file:
        tar.addfile(info, file)


def _add_identity(tar: tarfile.TarFile) -> None:
    """Name and version of this project, where Python looks for those of an installed one."""
    found = distribution("render-judge")
    data = f"Metadata-Version: 2.1\nName: render-judge\nVersion: {found.version}\n".encode()
    info = tarfile.TarInfo(f"packages/render_judge-{found.version}.dist-info/METADATA")
    info.size, info.mode = len(data), 0o644
    tar.addfile(info, io.BytesIO(data))


def entries(opt: IO[bytes]) -> Iterator[Entry]:
    """(path, size, SHA-256) of renderer, profiles and Storm in an archive of an image's ``/opt``.

    Every file in the renderer's, the profiles' and Storm's folders counts, so that an image with one more
    there is another image. Raises :class:`Missing` for anything there that is no regular file.
    """
    with tarfile.open(fileobj=opt, mode="r|") as tar:
        for member in tar:
            name = _shown(member.name)
            if name is None or member.isdir():
                continue
            file = tar.extractfile(member) if member.isreg() else None
            if file is None:
                raise Missing(f"The image holds no regular file at /{member.name}.", "Build it again.")
            digest, size = hashlib.sha256(), 0
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
            yield name, size, digest.hexdigest()


def _shown(name: str) -> str | None:
    """A path of the archive as the manifest has it; None where it is not part of one."""
    name = name.removeprefix("opt/")
    if name.startswith("storm/bpy/"):
        return name
    source = name.removeprefix("render-judge/")
    return source if source != name and source.startswith(("renderer/", "profiles/")) else None
