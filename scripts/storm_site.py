"""Fills ``runtime/site``: hash-locked wheels for CPython 3.13, and of Storm's wheel only the named list."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from scripts.host import CHECKOUT, Missing, run, say

LOCK = CHECKOUT / "locks" / "storm.txt"
NAMED_LIST = CHECKOUT / "sandbox" / "storm_files.txt"
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
_UNUSED = ("numpy/*/tests/*", "numpy/tests/*", "numpy/f2py/*", "OpenGL/Tk/*", "*/__pycache__/*", "*.data/scripts/*")


def stamp() -> str:
    """What a site was made from; another stamp means it has to be made again."""
    digest = hashlib.sha256()
    for path in (LOCK, NAMED_LIST, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def named(name: str, patterns: Sequence[str]) -> bool:
    """Is a file of Storm's wheel on the named list?"""
    return any(name.startswith(pattern[:-2]) if pattern.endswith("/**") else name == pattern for pattern in patterns)


def named_patterns() -> list[str]:
    """The lines of the list: a file's path, or a folder's with ``/**`` behind it."""
    lines = (line.strip() for line in NAMED_LIST.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def set_up_site(runtime: Path, pip: Sequence[str]) -> None:
    """Makes the site, whole or not at all. Raises :class:`Missing`."""
    site, note = runtime / "site", runtime / "site.stamp"
    if note.is_file() and note.read_text(encoding="utf-8") == stamp() and site.is_dir():
        return
    if sys.platform != "linux" or sys.maxsize < 2**32:
        raise Missing("Storm's wheel is for 64-bit Linux on x86-64 only.", "Use such a machine.")
    with tempfile.TemporaryDirectory(prefix="wheels-", dir=runtime) as folder:
        say("fetching Storm (400 MB once; about 240 MB of it is kept)")
        command = [*pip, "download", "--quiet", "--dest", folder, "--no-deps", "--require-hashes"]
        command += ["--only-binary=:all:", "--implementation=cp", "--python-version=3.13"]
        command += [word for abi in ("cp313", "abi3", "none") for word in ("--abi", abi)]
        command += [word for platform in _PLATFORMS for word in ("--platform", platform)]
        run([*command, "--requirement", LOCK])
        partial = Path(folder) / "site"
        patterns = named_patterns()
        for wheel in sorted(Path(folder).glob("*.whl")):
            _extract(wheel, partial, patterns if wheel.name.startswith("bpy-") else None)
        note.unlink(missing_ok=True)
        if site.exists():
            shutil.rmtree(site)
        partial.rename(site)
    note.write_text(stamp(), encoding="utf-8")


def _extract(wheel: Path, site: Path, patterns: Sequence[str] | None) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            name = info.filename
            if patterns is None:
                wanted = not any(fnmatchcase(name, pattern) for pattern in _UNUSED)
            else:
                wanted = named(name, patterns)
            if wanted and not info.is_dir():
                archive.extract(info, site)
