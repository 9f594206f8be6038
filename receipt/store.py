"""The trusted store: ``ROOT/<case>/<episode>/`` appears whole, by one rename, or not at all.

An episode is built in a private folder inside ROOT (same file system, so that the rename is one
step), every file and folder is flushed to disk, and then it is renamed onto a name that must be
free. ``rename`` onto an existing, non-empty folder fails, so of two writers one wins.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from receipt.errors import StoreError
from receipt.model import ID_PATTERN, confined
from receipt.places import require_owned

_STAGING = ".staging"


def check_id(what: str, value: str) -> str:
    """Returns a valid case or episode id. Raises :class:`StoreError`."""
    if not re.fullmatch(ID_PATTERN, value):
        raise StoreError(
            f"{what}_id_invalid",
            f"The {what} id {value[:140]!r} is not allowed.",
            "Use 1 to 128 letters, digits, dots, hyphens and underscores, with no dot in front.",
        )
    return value


class Staged:
    """An episode that nobody can see yet."""

    def __init__(self, private: Path, target: Path) -> None:
        self.folder = private / "episode"
        """What will be the episode's folder."""
        self.scratch = private / "scratch"
        """Room for copies of submissions; removed with the rest."""
        self.target = target
        self.folder.mkdir(mode=0o755)
        self.scratch.mkdir(mode=0o700)

    def write(self, relative: str, data: bytes) -> None:
        """Writes and flushes one new file. Raises :class:`StoreError` when the disk does not take it."""
        if not confined(relative):
            raise StoreError(
                "path_not_confined", f"{relative[:200]!r} is no path inside an episode.", "Use a normal relative path."
            )
        path = self.folder / relative
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
            with path.open("xb") as file:
                file.write(data)
                os.fchmod(file.fileno(), 0o644)
                file.flush()
                os.fsync(file.fileno())
        except (OSError, ValueError) as error:
            raise _disk(error) from error

    def commit(self) -> Path:
        """Makes the episode visible. Raises :class:`StoreError` when its name is taken."""
        case = self.target.parent
        try:
            if not any(self.folder.iterdir()):
                # rename() replaces an empty folder, so what is renamed must never be one.
                raise StoreError("episode_empty", "There is nothing in this episode.", "Write its files first.")
            for folder in (*(one for one in self.folder.rglob("*") if one.is_dir()), self.folder):
                folder.chmod(0o755)
                _flush_folder(folder)
            case.mkdir(exist_ok=True, mode=0o755)
            require_owned(case)
            self.folder.rename(self.target)
            _flush_folder(case)
            _flush_folder(case.parent)
        except OSError as error:
            if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise _taken(self.target) from error
            raise _disk(error) from error
        return self.target


def _taken(target: Path) -> StoreError:
    return StoreError(
        "episode_exists",
        f"Episode {target.name} of case {target.parent.name} is in the store already.",
        "Use a new episode id; evidence is never overwritten.",
    )


def _disk(error: OSError | ValueError) -> StoreError:
    number = error.errno if isinstance(error, OSError) else None
    code = "store_full" if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else "store_unwritable"
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return StoreError(code, f"The evidence store cannot be written: {reason}.", "Check the disk and the path.")


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def stage(root: Path, case_id: str, episode_id: str) -> Iterator[Staged]:
    """A private folder for one episode; what is not committed is removed, also after a crash.

    Creates ``root`` (0755) when it is not there. Raises :class:`StoreError` or :class:`PlaceError`.
    """
    check_id("case", case_id)
    check_id("episode", episode_id)
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o755)
        require_owned(root)
        target = root / case_id / episode_id
        if os.path.lexists(target):
            raise _taken(target)
        staging = root / _STAGING
        staging.mkdir(exist_ok=True, mode=0o700)
        require_owned(staging)
        private, lock = _claim(staging)
    except (OSError, ValueError) as error:
        raise _disk(error) from error
    try:
        yield _staged(private, target)
    finally:
        # After a commit the episode has its new name, and only scratch is left to remove.
        shutil.rmtree(private, ignore_errors=True)
        os.close(lock)


def _staged(private: Path, target: Path) -> Staged:
    try:
        return Staged(private, target)
    except OSError as error:
        raise _disk(error) from error


def _claim(staging: Path) -> tuple[Path, int]:
    """A new private folder, and the descriptor whose lock says that its maker is alive.

    The staging folder's own lock is held meanwhile: otherwise another process could take a folder
    that is made and not yet locked for a dead one's.
    """
    gate = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(gate, fcntl.LOCK_EX)
        _reap(staging)
        folder = Path(tempfile.mkdtemp(prefix="e", dir=staging))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        fcntl.flock(lock, fcntl.LOCK_EX)
    finally:
        os.close(gate)
    return folder, lock


def _reap(staging: Path) -> None:
    """Removes what killed processes left: a folder whose lock nobody holds."""
    for leftover in staging.iterdir():
        try:
            descriptor = os.open(leftover, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(leftover, ignore_errors=True)
        except OSError:
            continue
        finally:
            os.close(descriptor)
