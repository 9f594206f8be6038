"""The private copy of a submission: what is hashed here is what is rendered, and nothing is read twice.

The rules, each with the code of its refusal. Links inside a submission are refused (``link``), and so
are FIFOs, devices and sockets (``special_file``), files with more than one name (``hard_link``) and
anything on another file system (``other_device``). Names are valid UTF-8 without control characters
and backslashes (``bad_name``). Files, folders, depth, length of a name and bytes are limited
(``too_many_files``, ``too_deep``, ``name_too_long``, ``file_too_large``, ``too_large``), where bytes
means the declared size, so that a sparse file counts whole. A file that grows, shrinks or changes
while it is read is refused (``changed_while_read``). Links in the caller's own path to the submission
are followed once. Names, types, counts and bytes are looked at; contents are copied and never parsed.

Every entry is opened relative to the descriptor of its folder, so exchanging a folder for a link
while the copy runs changes nothing about what is opened.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sandbox.errors import StagingError, SubmissionError

_CHUNK: Final = 1 << 20
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_RETRY: Final = "Hand the submission in again, and leave it alone while it is read."


@dataclass(frozen=True)
class SnapshotLimits:
    """Bounds of one submission; a breach is the candidate's fault."""

    max_files: int = 10_000
    max_folders: int = 10_000
    max_depth: int = 32
    """Folders above a file, the submission's own folder not counted."""
    max_name_bytes: int = 200
    max_path_bytes: int = 1024
    max_file_bytes: int = 1 << 30
    max_total_bytes: int = 1 << 30


@dataclass(frozen=True)
class SnapshotFile:
    """One copied file: relative POSIX path, size in bytes, SHA-256 of its bytes in lower-case hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Snapshot:
    """The copy. ``root`` is its private folder, ``files`` are sorted by path, ``name`` is the last part of its path."""

    root: Path
    files: tuple[SnapshotFile, ...]
    is_folder: bool
    name: str

    @property
    def total_bytes(self) -> int:
        """Sum of the files' sizes."""
        return sum(file.size for file in self.files)


@dataclass
class _Copy:
    """State of one pass."""

    limits: SnapshotLimits
    device: int
    files: list[SnapshotFile] = field(default_factory=list)
    folders: int = 0
    total: int = 0


def _refuse(
    code: str, message: str, remedy: str = "Hand in plain files and folders within the limits."
) -> SubmissionError:
    return SubmissionError(code, message, remedy)


def _shown(path: str) -> str:
    """A path as it may stand in a message: escaped, and cut at the front."""
    return ascii(path[-200:])


def take_snapshot(source: Path, staging: Path, limits: SnapshotLimits | None = None) -> Snapshot:
    """Copies the file or folder ``source`` into ``staging``, which must not exist yet and is made with mode 0700.

    Raises :class:`SubmissionError` where a rule is broken and :class:`StagingError` where the copy
    cannot be kept. ``staging`` is left for the caller to remove, whether it failed or not.
    """
    limits = SnapshotLimits() if limits is None else limits
    try:
        # Links in the caller's own path are the caller's business: resolved once, here.
        path = source.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise _refuse(
            "submission_missing",
            f"There is no submission at {_shown(str(source))}.",
            "Name an existing file or folder.",
        ) from error
    try:
        staging.mkdir(mode=0o700)
    except OSError as error:
        raise _staging_failed(error) from error
    with _opened(str(path), _FILE_FLAGS, None, path.name) as top, _staging(staging) as target:
        found = os.fstat(top)
        copy = _Copy(limits, found.st_dev)
        if stat.S_ISDIR(found.st_mode):
            # Opened again as a folder through its own descriptor, so that it is surely the same one.
            with _opened(".", _FOLDER_FLAGS, top, path.name) as folder:
                _copy_folder(copy, folder, target, "", 0)
        else:
            _check_name(copy, path.name, path.name)
            _copy_file(copy, top, target, path.name, path.name)
    files = tuple(sorted(copy.files, key=lambda file: file.path))
    return Snapshot(staging, files, stat.S_ISDIR(found.st_mode), path.name)


def _copy_folder(copy: _Copy, folder: int, target: int, prefix: str, depth: int) -> None:
    for raw in sorted(_names(copy, folder, prefix)):
        name = _decoded(raw, prefix)
        path = f"{prefix}{name}"
        _check_name(copy, name, path)
        found = _looked_at(folder, name, path)
        _check_kind(copy, found, path)
        if stat.S_ISDIR(found.st_mode):
            copy.folders += 1
            if copy.folders > copy.limits.max_folders:
                raise _refuse("too_many_files", f"There are more than {copy.limits.max_folders} folders.")
            if depth >= copy.limits.max_depth:
                raise _refuse("too_deep", f"{_shown(path)} is deeper than {copy.limits.max_depth} folders.")
            with _opened(name, _FOLDER_FLAGS, folder, path) as inner:
                _same(found, os.fstat(inner), path)
                with _made_folder(target, name) as inner_target:
                    _copy_folder(copy, inner, inner_target, f"{path}/", depth + 1)
        else:
            with _opened(name, _FILE_FLAGS, folder, path) as file:
                _same(found, os.fstat(file), path)
                _copy_file(copy, file, target, name, path)


def _names(copy: _Copy, folder: int, prefix: str) -> Iterator[bytes]:
    """Names in a folder as raw bytes; the count is checked while listing, not afterwards."""
    room = copy.limits.max_files + copy.limits.max_folders
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count >= room:
                    raise _refuse("too_many_files", f"{_shown(prefix)} has more than {room} entries.")
                yield os.fsencode(entry.name)
    except OSError as error:
        raise _unreadable(error, prefix) from error


def _decoded(raw: bytes, prefix: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refuse("bad_name", f"A name in {_shown(prefix)} is not UTF-8: {raw[:100]!r}.") from error


def _check_name(copy: _Copy, name: str, path: str) -> None:
    try:
        encoded = name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refuse("bad_name", f"The name {_shown(name)} is not UTF-8.") from error
    if any(unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") for letter in name) or "\\" in name:
        raise _refuse("bad_name", f"The name {_shown(path)} has a control character or a backslash.")
    if len(encoded) > copy.limits.max_name_bytes or len(path.encode()) > copy.limits.max_path_bytes:
        raise _refuse("name_too_long", f"The name {_shown(path)} is too long.")


def _looked_at(folder: int, name: str, path: str) -> os.stat_result:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise _unreadable(error, path) from error


def _check_kind(copy: _Copy, found: os.stat_result, path: str) -> None:
    """Refuses an entry by its kind before it is opened: opening a device can already do something."""
    if stat.S_ISLNK(found.st_mode):
        raise _refuse("link", f"{_shown(path)} is a link.", "Replace links by the files that they mean.")
    if not stat.S_ISDIR(found.st_mode) and not stat.S_ISREG(found.st_mode):
        raise _refuse("special_file", f"{_shown(path)} is neither a file nor a folder.")
    if found.st_dev != copy.device:
        raise _refuse("other_device", f"{_shown(path)} is on another file system.")


def _same(before: os.stat_result, after: os.stat_result, path: str) -> None:
    if (before.st_dev, before.st_ino, before.st_mode) != (after.st_dev, after.st_ino, after.st_mode):
        raise _refuse("changed_while_read", f"{_shown(path)} was exchanged while it was read.", _RETRY)


def _copy_file(copy: _Copy, source: int, target: int, name: str, path: str) -> None:
    before = os.fstat(source)
    _check_kind(copy, before, path)
    if before.st_nlink != 1:
        raise _refuse("hard_link", f"{_shown(path)} has {before.st_nlink} names.", "Copy hard-linked files.")
    if before.st_size > copy.limits.max_file_bytes:
        raise _refuse("file_too_large", f"{_shown(path)} is larger than {copy.limits.max_file_bytes} bytes.")
    copy.total += before.st_size
    if copy.total > copy.limits.max_total_bytes:
        raise _refuse("too_large", f"The submission is larger than {copy.limits.max_total_bytes} bytes.")
    if len(copy.files) >= copy.limits.max_files:
        raise _refuse("too_many_files", f"There are more than {copy.limits.max_files} files.")
    sha256 = _copy_bytes(source, target, name, path, before.st_size)
    after = os.fstat(source)
    # What was copied is what was hashed either way; this is for the actor, who may have meant other bytes.
    if _state(before) != _state(after):
        raise _refuse("changed_while_read", f"{_shown(path)} changed while it was read.", _RETRY)
    copy.files.append(SnapshotFile(path, before.st_size, sha256))


def _state(found: os.stat_result) -> tuple[int, int, int, int]:
    # ctime cannot be set back by its owner, which mtime can.
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_nlink


def _copy_bytes(source: int, target: int, name: str, path: str, size: int) -> str:
    digest, left = hashlib.sha256(), size
    try:
        made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=target)
    except OSError as error:
        raise _staging_failed(error) from error
    with os.fdopen(made, "wb", buffering=0) as out:
        while chunk := _read(source, min(_CHUNK, left + 1), path):
            left -= len(chunk)
            if left < 0:
                raise _refuse("changed_while_read", f"{_shown(path)} grew while it was read.", _RETRY)
            digest.update(chunk)
            _write(out.fileno(), chunk)
    if left:
        raise _refuse("changed_while_read", f"{_shown(path)} shrank while it was read.", _RETRY)
    return digest.hexdigest()


def _read(source: int, count: int, path: str) -> bytes:
    try:
        return os.read(source, count)
    except OSError as error:
        raise _unreadable(error, path) from error


def _write(target: int, chunk: bytes) -> None:
    view = memoryview(chunk)
    try:
        while view:
            view = view[os.write(target, view) :]
    except OSError as error:
        raise _staging_failed(error) from error


@contextlib.contextmanager
def _opened(name: str, flags: int, folder: int | None, path: str) -> Iterator[int]:
    try:
        descriptor = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise _unreadable(error, path) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _staging(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder, _FOLDER_FLAGS)
    except OSError as error:
        raise _staging_failed(error) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _made_folder(parent: int, name: str) -> Iterator[int]:
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    except OSError as error:
        raise _staging_failed(error) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unreadable(error: OSError, path: str) -> SubmissionError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENOENT):
        return _refuse("changed_while_read", f"{_shown(path)} was exchanged while it was read.", _RETRY)
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return _refuse("special_file", f"{_shown(path)} is neither a file nor a folder.")
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        failed = _refuse("out_of_descriptors", "This machine ran out of descriptors.", "Try again with fewer workers.")
        failed.fault, failed.retry = "infrastructure", True
        return failed
    reason = os.strerror(error.errno or 0)
    return _refuse("unreadable", f"{_shown(path)} cannot be read: {reason}.", "Give the verifier the right to read it.")


def _staging_failed(error: OSError) -> StagingError:
    reason = os.strerror(error.errno or 0)
    code = "disk_full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "staging_failed"
    return StagingError(
        code, f"The private copy cannot be written: {reason}.", "Make room on the trusted side.", retry=True
    )
