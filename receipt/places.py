"""Where evidence, keys and staging may lie: nowhere that the actor, or anybody else, can write.

Three rules decide whether two places overlap, because spelling does not:

* identity: every folder on the way to a place is compared by device and inode, and the way is walked
  link by link, so that a path which only passes through the actor's folder counts as within reach;
* mounts: a bind mount shows one folder at two places, so the place inside the file system is compared
  as the kernel's mount table tells it (``proc(5)``, ``/proc/self/mountinfo``; Linux only);
* both directions: inside the actor's folder, and above it.

A link that the actor makes in a folder of its own is no refusal: it gives no right that the actor
lacks, and if it were one, a submission could end its own episode with it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from receipt.errors import PlaceError

Identity = tuple[int, int]
_MAX_LINKS: Final = 40
_APART: Final = "Put it where the actor has no access, and name it by a path that does not pass the actor's folder."
_MOUNTINFO: Final = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Mount:
    """One row of the mount table: which folder of which device is shown where."""

    device: str
    folder: PurePosixPath
    shown_at: PurePosixPath


def inside(path: Path, folder: Path) -> bool:
    """Does ``path`` lie in ``folder``, lead through it, or name it? Works for what does not exist yet.

    Raises :class:`PlaceError` for a path that leads nowhere.
    """
    way = _way(path)
    real = _way(folder)[-1]
    wanted = _identity(real)
    if real in way or (wanted is not None and any(_identity(one) == wanted for one in way)):
        return True
    mounts = _mounts()
    here, there = (file_system_place(PurePosixPath(one), mounts) for one in (way[-1], real))
    return here is not None and there is not None and here[0] == there[0] and here[1].is_relative_to(there[1])


def require_apart(what: str, path: Path, actor_roots: Sequence[Path]) -> None:
    """The place must lie neither inside nor above any folder of the actor's. Raises :class:`PlaceError`."""
    for actor in actor_roots:
        if inside(path, actor) or inside(actor, path):
            raise PlaceError(
                f"{what}_within_reach",
                f"The {what.replace('_', ' ')} {str(path)!r} and the actor's folder {str(actor)!r} overlap.",
                _APART,
            )


def require_outside(what: str, path: Path, actor_roots: Sequence[Path]) -> None:
    """The file must not lie inside any folder of the actor's. Raises :class:`PlaceError`."""
    for actor in actor_roots:
        if inside(path, actor):
            raise PlaceError(
                f"{what}_within_reach",
                f"The {what.replace('_', ' ')} {str(path)!r} lies in the actor's folder {str(actor)!r}.",
                _APART,
            )


def require_owned(folder: Path, descriptor: int | None = None) -> None:
    """An existing folder must be ours, and writable by nobody else. Raises :class:`PlaceError`.

    With a ``descriptor`` the folder that is open is judged, and not what the path names by now.
    """
    try:
        status = folder.lstat() if descriptor is None else os.fstat(descriptor)
    except (OSError, ValueError) as error:
        raise PlaceError(
            "root_missing", f"The evidence root {str(folder)!r} is not there.", "Check the path."
        ) from error
    if stat.S_ISLNK(status.st_mode) or not stat.S_ISDIR(status.st_mode):
        raise PlaceError(
            "root_not_folder", f"The evidence root {str(folder)!r} is no plain folder.", "Name the folder itself."
        )
    if status.st_uid != os.geteuid():
        raise PlaceError(
            "root_not_owned", f"The evidence root {str(folder)!r} belongs to someone else.", "Use a folder of your own."
        )
    if stat.S_IMODE(status.st_mode) & 0o022:
        raise PlaceError(
            "root_writable_by_others",
            f"Others can write the evidence root {str(folder)!r}.",
            f"Run: chmod go-w {folder}",
        )
    _require_safe_parents(folder)


def _require_safe_parents(folder: Path) -> None:
    """Who can write a parent can put another folder in this one's place, but for a sticky parent."""
    for parent in _way(folder)[:-1]:
        try:
            mode = parent.stat().st_mode
        except OSError as error:
            raise PlaceError("root_missing", f"{str(parent)!r} cannot be looked at.", "Check the path.") from error
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise PlaceError(
                "root_parent_writable",
                f"Everybody can write {str(parent)!r}, which leads to the evidence root.",
                f"Run: chmod o-w {parent}",
            )


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino)


def _way(path: Path) -> list[Path]:
    """Every folder, free of links, that one passes on the way to ``path``; the place itself comes last."""
    try:
        return _walk(path if path.is_absolute() else Path.cwd() / path)
    except (OSError, ValueError) as error:
        raise PlaceError(
            "place_unresolvable", f"The path {str(path)!r} leads nowhere.", "Name a path without broken links."
        ) from error


def _walk(start: Path) -> list[Path]:
    here = Path("/")
    passed, pending, links = [here], list(reversed(start.parts[1:])), 0
    while pending:
        part = pending.pop()
        there = here.parent if part == ".." else here / part
        try:
            target = there.readlink()
        except OSError:
            # Not a link, or not there yet.
            here = there
            passed.append(here)
            continue
        links += 1
        if links > _MAX_LINKS:
            raise ValueError("too many links")
        if target.is_absolute():
            here, target = Path("/"), target.relative_to("/")
        pending += reversed(target.parts)
        passed.append(here)
    return passed


def read_mounts(text: str) -> tuple[Mount, ...]:
    """The rows of a mount table in the form of ``/proc/self/mountinfo``."""
    rows = (line.split(" ") for line in text.splitlines())
    return tuple(
        Mount(row[2], PurePosixPath(_unescape(row[3])), PurePosixPath(_unescape(row[4])))
        for row in rows
        if len(row) > 4
    )


def file_system_place(path: PurePosixPath, mounts: Sequence[Mount]) -> tuple[str, PurePosixPath] | None:
    """(device, path inside that file system) of a link-free absolute path; None where no mount shows it."""
    best: Mount | None = None
    for mount in mounts:
        # A later mount at the same place hides the earlier one.
        deeper = best is None or len(mount.shown_at.parts) >= len(best.shown_at.parts)
        if deeper and path.is_relative_to(mount.shown_at):
            best = mount
    return None if best is None else (best.device, best.folder / path.relative_to(best.shown_at))


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _mounts() -> tuple[Mount, ...]:
    try:
        return read_mounts(_MOUNTINFO.read_text(errors="surrogateescape"))
    except OSError:
        return ()
