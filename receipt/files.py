"""Reading below a folder that is held open: no link is followed, nothing is read twice, everything is bounded."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from receipt.errors import EvidenceError

_MAX_ENTRIES: Final = 16384
_MAX_DEPTH: Final = 32
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_NAME: Final = "Name the folder of one episode, ROOT/CASE/EPISODE."


def open_folder(folder: Path) -> int:
    """A descriptor of a folder that is no link. The caller closes it. Raises :class:`EvidenceError`."""
    try:
        return os.open(folder, _FOLDER)
    except FileNotFoundError as error:
        raise EvidenceError("root_missing", f"There is no folder {str(folder)!r}.", _NAME) from error
    except (OSError, ValueError) as error:
        raise EvidenceError("root_not_folder", f"{str(folder)!r} cannot be opened as a plain folder.", _NAME) from error


def read_confined(root: int, relative: str, limit: int) -> bytes:
    """The bytes of a regular file below an open folder, following no link at any level.

    A file with a second name is refused too: whoever holds that name could change what was checked.
    Raises :class:`EvidenceError`.
    """
    *folders, name = relative.split("/")
    opened: list[int] = []
    try:
        folder = root
        for part in folders:
            folder = os.open(part, _FOLDER, dir_fd=folder)
            opened.append(folder)
        # Without O_NONBLOCK the opening of a FIFO would wait for its writer.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        opened.append(descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise EvidenceError("not_regular", f"{relative} is no plain file of its own.")
        if status.st_size > limit:
            raise EvidenceError("file_too_big", f"{relative} is larger than its limit of {limit} bytes.")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(status.st_size + 1)
        if len(data) != status.st_size:
            raise EvidenceError("file_changed", f"{relative} changed while it was read.")
        return data
    except FileNotFoundError as error:
        raise EvidenceError("file_missing", f"{relative} is missing.") from error
    except (OSError, ValueError) as error:
        raise EvidenceError("not_regular", f"{relative} cannot be opened as a plain file.") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def list_tree(root: int) -> Iterator[str]:
    """Relative paths of everything below an open folder that is no folder; links are listed, not followed.

    A folder without entries is listed too, with a slash behind it. Raises :class:`EvidenceError` for
    a tree that is too large or deep to be an episode.
    """
    budget = _MAX_ENTRIES
    pending = [("", 0)]
    while pending:
        base, depth = pending.pop()
        if depth > _MAX_DEPTH:
            raise EvidenceError("tree_too_big", "The episode's folders are nested too deeply.")
        folders, others = _entries(root, base)
        budget -= len(folders) + len(others)
        if budget < 0:
            raise EvidenceError("tree_too_big", f"The episode's folder has more than {_MAX_ENTRIES} entries.")
        yield from (base + name for name in others)
        if base and not folders and not others:
            yield base
        pending += [(f"{base}{name}/", depth + 1) for name in folders]


def _entries(root: int, base: str) -> tuple[list[str], list[str]]:
    """Names of the folders, and of everything else, in one folder below ``root``."""
    opened = [os.dup(root)]
    try:
        for part in base.split("/")[:-1]:
            opened.append(os.open(part, _FOLDER, dir_fd=opened[-1]))
        with os.scandir(opened[-1]) as entries:
            found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError as error:
        raise EvidenceError("not_regular", f"The folder {base!r} cannot be listed.") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return [name for name, folder in found if folder], [name for name, folder in found if not folder]
