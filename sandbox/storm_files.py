"""The named list of Storm's files: what a site keeps of the wheel, what an image holds, what is hashed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.errors import RuntimeMissing

LIST: Final = Path(__file__).with_name("storm_files.txt")
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class StormFile:
    """One file of the list: relative POSIX path, size in bytes, SHA-256 of its bytes in lower-case hex."""

    path: str
    size: int
    sha256: str


def storm_patterns() -> tuple[str, ...]:
    """The lines of the list: a file's path, or a folder's path with ``/**`` behind it."""
    lines = (line.strip() for line in LIST.read_text(encoding="utf-8").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def storm_files(site: Path) -> tuple[str, ...]:
    """Every file of the list in ``site`` (a site, or an unpacked wheel), sorted by code point.

    Raises :class:`RuntimeMissing` where a line of the list finds nothing, or finds something that is
    not a regular file: a link would let the list mean another file elsewhere.
    """
    found: set[str] = set()
    for pattern in storm_patterns():
        matches = _below(site, pattern.removesuffix("/**")) if pattern.endswith("/**") else [pattern]
        if not matches or any(not (site / path).is_file() or (site / path).is_symlink() for path in matches):
            raise RuntimeMissing("storm_incomplete", f"Storm in {site} lacks {pattern}.", "Run `make setup` again.")
        found.update(matches)
    return tuple(sorted(found))


def _below(site: Path, folder: str) -> list[str]:
    found = []
    for place, folders, names in os.walk(site / folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [Path(place, name).relative_to(site).as_posix() for name in names if not name.endswith(".pyc")]
    return found


def storm_manifest(site: Path) -> tuple[StormFile, ...]:
    """The list with sizes and hashes, about 230 MB read. Raises :class:`RuntimeMissing` as above."""
    return tuple(_hashed(site, path) for path in storm_files(site))


def _hashed(site: Path, path: str) -> StormFile:
    digest, size = hashlib.sha256(), 0
    try:
        with (site / path).open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise RuntimeMissing(
            "storm_incomplete", f"{path} cannot be read in {site}.", "Run `make setup` again."
        ) from error
    return StormFile(path, size, digest.hexdigest())
