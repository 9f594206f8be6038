"""``code_sha256``: what was started, as one hash that every backend agrees on.

The manifest covers the renderer's sources, the profile and the named list of Storm's files. An image
is compared by a wider one over all profiles, so that equality covers every profile in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from receipt.digests import Entry, manifest_sha256, sha256_hex
from sandbox import find_runtime, storm_manifest


def source_entries(sources: Path) -> list[Entry]:
    """(path, size, sha256) of every Python file of the renderer below ``sources``."""
    return _entries(sources, (sources / "renderer").glob("**/*.py"))


def profile_entries(sources: Path, profile_id: str = "*") -> list[Entry]:
    """(path, size, sha256) of every file of one profile, or of all."""
    return _entries(sources, (path for path in (sources / "profiles").glob(f"{profile_id}/**/*") if path.is_file()))


def storm_entries(site: Path) -> list[Entry]:
    """(path, size, sha256) of the named list of Storm's files, below ``storm/``."""
    return [(f"storm/{file.path}", file.size, file.sha256) for file in storm_manifest(site)]


def _entries(base: Path, paths: Iterable[Path]) -> list[Entry]:
    found = []
    for path in paths:
        if "__pycache__" not in path.parts:
            data = path.read_bytes()
            found.append((path.relative_to(base).as_posix(), len(data), sha256_hex(data)))
    return sorted(found)


@cache
def _local_storm() -> tuple[Entry, ...]:
    return tuple(storm_entries(find_runtime().site))


def code_manifest(sources: Path, profile_id: str) -> list[Entry]:
    """The manifest that :func:`code_sha256` hashes, from this machine's files."""
    return sorted([*source_entries(sources), *profile_entries(sources, profile_id), *_local_storm()])


def code_sha256(sources: Path, profile_id: str) -> str:
    """Hash of renderer, one profile and Storm, from this machine's files. Raises :class:`SandboxError`."""
    return manifest_sha256(code_manifest(sources, profile_id))


def image_sha256(sources: Path) -> str:
    """Hash of everything that an image holds of ours, from this machine's files; compared with the lock."""
    return manifest_sha256([*source_entries(sources), *profile_entries(sources), *_local_storm()])
