"""Unpacks hash-locked wheels for CPython 3.13, and of Storm's wheel only the named list."""

from __future__ import annotations

import hashlib
import platform
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from scripts.host import CHECKOUT, Missing, run, say

SITE_LOCK = CHECKOUT / "locks" / "storm.txt"
PACKAGES_LOCK = CHECKOUT / "locks" / "appliance.txt"
NAMED_LIST = CHECKOUT / "sandbox" / "storm_files.txt"
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
_UNUSED = ("*/tests/*", "OpenGL/Tk/*", "*/__pycache__/*", "*.data/scripts/*", "*.data/data/*")


def stamp(lock: Path) -> str:
    """What a folder was made from; another stamp means it has to be made again."""
    digest = hashlib.sha256()
    for path in (lock, NAMED_LIST, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def named(name: str, patterns: Sequence[str]) -> bool:
    """Is a file of Storm's wheel on the named list? Pure."""
    return any(name.startswith(pattern[:-2]) if pattern.endswith("/**") else name == pattern for pattern in patterns)


def used(name: str) -> bool:
    """Is a file of any other wheel needed at run time? Pure."""
    return not any(fnmatchcase(name, pattern) for pattern in _UNUSED)


def named_patterns() -> list[str]:
    """The lines of the list: a file's path, or a folder's with ``/**`` behind it."""
    lines = (line.strip() for line in NAMED_LIST.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def set_up_site(runtime: Path, pip: Sequence[str]) -> None:
    """Makes ``runtime/site``, which the renderer imports from. Raises :class:`Missing`."""
    _fill(runtime / "site", SITE_LOCK, pip, "fetching Storm (400 MB once; about 240 MB of it is kept)")


def set_up_packages(runtime: Path, pip: Sequence[str]) -> None:
    """Makes ``runtime/packages``, what the trusted half needs in an image. Raises :class:`Missing`."""
    _fill(runtime / "packages", PACKAGES_LOCK, pip, "fetching the appliance's packages")


def _fill(folder: Path, lock: Path, pip: Sequence[str], step: str) -> None:
    """Unpacks the wheels of a lock for CPython 3.13, whole or not at all, unless that was done before."""
    note = folder.with_name(f"{folder.name}.stamp")
    if note.is_file() and note.read_text(encoding="utf-8") == stamp(lock) and folder.is_dir():
        return
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise Missing("Storm's wheel is for 64-bit Linux on x86-64 only.", "Use such a machine.")
    with tempfile.TemporaryDirectory(prefix="wheels-", dir=folder.parent) as temporary:
        say(step)
        command = [*pip, "download", "--quiet", "--dest", temporary, "--no-deps", "--require-hashes"]
        command += ["--only-binary=:all:", "--implementation=cp", "--python-version=3.13"]
        command += [word for abi in ("cp313", "abi3", "none") for word in ("--abi", abi)]
        command += [word for name in _PLATFORMS for word in ("--platform", name)]
        run([*command, "--requirement", lock])
        fresh, old = Path(temporary) / "fresh", Path(temporary) / "old"
        patterns = named_patterns()
        for wheel in sorted(Path(temporary).glob("*.whl")):
            _extract(wheel, fresh, patterns if wheel.name.startswith("bpy-") else None)
        note.unlink(missing_ok=True)
        if folder.exists():
            folder.rename(old)
        fresh.rename(folder)
    note.write_text(stamp(lock), encoding="utf-8")


def _extract(wheel: Path, folder: Path, patterns: Sequence[str] | None) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            wanted = used(info.filename) if patterns is None else named(info.filename, patterns)
            if wanted and not info.is_dir():
                archive.extract(info, folder)
