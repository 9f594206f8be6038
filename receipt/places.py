"""Where evidence, keys and staging may lie: nowhere that the actor, or anybody else, can write.

Folders are compared by device and inode on every ancestor, so that a link, a bind mount's alias or
a different spelling of the same folder does not help.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from receipt.errors import PlaceError

Identity = tuple[int, int]


def _identity(path: Path) -> Identity | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def _ancestors(path: Path) -> Iterator[Identity]:
    """Identities of the path and of every ancestor that exists, links resolved, nearest first."""
    real = Path(os.path.realpath(path))
    for one in (real, *real.parents):
        identity = _identity(one)
        if identity is not None:
            yield identity


def inside(path: Path, folder: Path) -> bool:
    """Does ``path`` lie in ``folder`` or is it the same? Works for what does not exist yet."""
    wanted = _identity(folder)
    if wanted is None:
        lexical = Path(os.path.realpath(folder))
        real = Path(os.path.realpath(path))
        return real == lexical or lexical in real.parents
    return wanted in _ancestors(path)


def require_apart(what: str, path: Path, actor_roots: Sequence[Path]) -> None:
    """The place must lie neither inside nor above any folder of the actor's. Raises :class:`PlaceError`."""
    for actor in actor_roots:
        if inside(path, actor) or inside(actor, path):
            raise PlaceError(
                f"{what}_within_reach",
                f"The {what.replace('_', ' ')} {str(path)!r} and the actor's folder {str(actor)!r} overlap.",
                "Put it where the actor has no access.",
            )


def require_outside(what: str, path: Path, actor_roots: Sequence[Path]) -> None:
    """The file must not lie inside any folder of the actor's. Raises :class:`PlaceError`."""
    for actor in actor_roots:
        if inside(path, actor):
            raise PlaceError(
                f"{what}_within_reach",
                f"The {what.replace('_', ' ')} {str(path)!r} lies in the actor's folder {str(actor)!r}.",
                "Put it where the actor has no access.",
            )


def require_owned(folder: Path) -> None:
    """An existing folder must be ours, and writable by nobody else. Raises :class:`PlaceError`."""
    try:
        status = folder.lstat()
    except OSError as error:
        raise PlaceError(
            "root_missing", f"The evidence root {str(folder)!r} is not there: {error.strerror}.", "Check the path."
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
