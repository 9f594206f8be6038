"""Looks at the bytes before OpenUSD does: wrong file types, Git LFS pointers, zip tricks, texture sizes.

Pure Python, bounded reads, no format library: what a parser would choke on is refused by name
before a parser written in C++ sees it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from renderer.errors import AssetError
from renderer.protocol import Budget

_LFS = b"version https://git-lfs.github.com/spec/"
_MAGIC = {
    ".usda": (b"#usda", b"#sdf "),
    ".usdc": (b"PXR-USDC",),
    ".usdz": (b"PK\x03\x04",),
    ".usd": (b"#usda", b"#sdf ", b"PXR-USDC"),
}
USD_SUFFIXES = tuple(_MAGIC)
_HEAD = 64 * 1024
_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def preflight(root: Path, root_layer: str, budget: Budget) -> None:
    """Checks the files below ``root`` before anything opens them. Raises :class:`AssetError`."""
    path = root / root_layer
    with path.open("rb") as file:
        check_layer_head(root_layer, file.read(_HEAD))
    texels = 0
    for found in sorted(root.rglob("*")):
        if not found.is_file():
            continue
        with found.open("rb") as file:
            if found.suffix.lower() == ".usdz":
                texels += sum(declared_texels(head) for head in usdz_entries(file, found.relative_to(root).as_posix()))
            else:
                texels += declared_texels(file.read(_HEAD))
    if texels > budget.max_texels:
        raise AssetError(
            "too_many_texels",
            f"The textures declare {texels:,} texels; the profile allows {budget.max_texels:,}.",
            "Make the textures smaller.",
        )


def check_layer_head(name: str, head: bytes) -> None:
    """Is this really a USD layer of the kind that its name says? Raises :class:`AssetError`."""
    shown = repr(name[-120:])
    if head.startswith(_LFS):
        raise AssetError(
            "lfs_pointer",
            f"{shown} is a Git LFS pointer and no USD layer.",
            "Fetch the real file with `git lfs pull` and hand that in.",
        )
    suffix = Path(name).suffix.lower()
    if suffix not in _MAGIC:
        raise AssetError("not_usd", f"{shown} is no USD file by its name.", "Hand in .usda, .usdc, .usd or .usdz.")
    if not head:
        raise AssetError("not_usd", f"{shown} is empty.", "Hand in a USD layer.")
    if not head.startswith(_MAGIC[suffix]):
        raise AssetError(
            "not_usd",
            f"{shown} does not hold what its suffix says: its first bytes are no USD header.",
            "Export the asset again; renaming a file does not convert it.",
        )


def usdz_entries(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Checks a package and yields the head of every entry.

    OpenUSD reads the local headers and other tools the central directory; only a package in which
    both agree, with every entry stored and none escaping, is let through. Raises :class:`AssetError`.
    """
    central = dict(_central_directory(file, name))
    seen: set[bytes] = set()
    for entry, (offset, size) in central.items():
        file.seek(offset)
        header = file.read(30)
        if len(header) < 30 or header[:4] != _LOCAL:
            raise _malformed(name, "an entry's local header is missing")
        (flags, method, compressed, plain, name_length, extra_length) = struct.unpack("<6xHH8xIIHH", header)
        local_name = file.read(name_length)
        if local_name != entry or (compressed, plain) != (size, size):
            raise _malformed(name, "local headers and central directory disagree")
        if method or flags & 0x1:
            raise _malformed(name, "an entry is compressed or encrypted")
        if (offset + 30 + name_length + extra_length) % 64:
            raise _malformed(name, "an entry's data is not aligned to 64 bytes")
        text = local_name.decode("utf-8", "replace")
        if text.startswith("/") or ".." in text.split("/") or "\\" in text or "\0" in text:
            raise _malformed(name, "an entry's name leaves the package")
        if local_name in seen:
            raise _malformed(name, "an entry's name appears twice")
        seen.add(local_name)
        file.seek(extra_length, 1)
        yield file.read(min(size, _HEAD))


def _central_directory(file: BinaryIO, name: str) -> Iterator[tuple[bytes, tuple[int, int]]]:
    length = file.seek(0, 2)
    file.seek(max(0, length - 65557))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise _malformed(name, "it has no central directory: the file is truncated or no zip archive")
    count, size, offset = struct.unpack("<10xHII", tail[at : at + 20])
    if offset + size > length or not count:
        raise _malformed(name, "its central directory lies outside the file")
    file.seek(offset)
    directory, position, names = file.read(size), 0, set()
    for _ in range(count):
        record = directory[position : position + 46]
        if len(record) < 46 or record[:4] != _CENTRAL:
            raise _malformed(name, "its central directory is damaged")
        method, compressed, plain, n, m, k, start = struct.unpack("<10xH8xIIHHH8xI", record)
        entry = directory[position + 46 : position + 46 + n]
        if method or compressed != plain or start + plain > length:
            raise _malformed(name, "an entry is compressed or reaches outside the file")
        if entry in names:
            raise _malformed(name, "an entry's name appears twice")
        names.add(entry)
        position += 46 + n + m + k
        if not entry.endswith(b"/"):
            yield entry, (start, plain)


def _malformed(name: str, why: str) -> AssetError:
    return AssetError(
        "usdz_malformed", f"The package {name[-120:]!r} is malformed: {why}.", "Package it again with usdzip."
    )


def declared_texels(head: bytes) -> int:
    """Width times height that a PNG or JPEG header declares; 0 for anything else."""
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        width, height = struct.unpack(">II", head[16:24])
        return int(width * height)
    if head[:2] == b"\xff\xd8":
        position = 2
        while position + 9 < len(head) and head[position] == 0xFF:
            marker, length = head[position + 1], int.from_bytes(head[position + 2 : position + 4], "big")
            if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
                height, width = struct.unpack(">HH", head[position + 5 : position + 9])
                return int(width * height)
            position += 2 + length
    return 0
