"""Strict PNGs (W3C PNG, third edition): what is packed here, and what is accepted from anywhere.

Packing: RGB at 8 or 16 bits, non-interlaced, IHDR, IDAT, IEND and nothing else; same pixels, same
bytes. Unpacking: grey, grey-alpha, RGB or RGBA at 8 or 16 bits of any origin; the chunks are walked
here and not by a library, because libraries forgive what evidence must not.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from receipt.errors import PngError
from receipt.unfilter import PAETH, UP, unfilter

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHANNELS: Final = {0: 1, 2: 3, 4: 2, 6: 4}
_FRAME: Final = {b"IHDR", b"IDAT", b"IEND"}
_ANCILLARY: Final = {
    b"gAMA": (4, 4),
    b"cHRM": (32, 32),
    b"sRGB": (1, 1),
    b"iCCP": (4, 4 << 20),
    b"cICP": (4, 4),
    b"sBIT": (1, 4),
    b"pHYs": (9, 9),
}
"""Colour and density chunks, the only others allowed, with the least and most bytes that each may have."""
_ANIMATION: Final = {b"acTL", b"fcTL", b"fdAT"}
_MAX_CHUNKS: Final = 1 << 16
_LEVEL: Final = 6


@dataclass(frozen=True)
class PngLimits:
    """Bounds for a PNG from elsewhere."""

    max_side: int = 8192
    max_bytes: int = 256 << 20
    max_pixels: int = 1 << 26


@dataclass(frozen=True)
class DecodedPng:
    """Raw samples, top row first, channels interleaved, 16 bits big-endian."""

    width: int
    height: int
    bit_depth: Literal[8, 16]
    channels: int
    pixels: bytes


def encode_png(pixels: bytes, width: int, height: int, bit_depth: int) -> bytes:
    """Packs final RGB pixels, shape (height, width, 3), 8-bit or big-endian 16-bit.

    Every row uses filter 2 (Up) and one zlib level, so equal pixels give equal bytes with one zlib;
    evidence is compared by the pixels where zlib differs. Raises :class:`PngError` on a wrong size.
    """
    stride = width * 3 * (bit_depth // 8)
    if bit_depth not in (8, 16) or width < 1 or height < 1 or len(pixels) != stride * height:
        raise PngError("png_wrong_size", "The pixels do not fill a picture of this size.")
    rows = np.frombuffer(pixels, np.uint8).reshape(height, stride)
    filtered = np.empty((height, stride + 1), np.uint8)
    filtered[:, 0] = UP
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, bit_depth, 2, 0, 0, 0)
    data = zlib.compress(filtered.tobytes(), _LEVEL)
    return SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if not data.startswith(SIGNATURE):
        raise PngError("png_signature", "This is no PNG.")
    at = len(SIGNATURE)
    while at < len(data):
        if len(data) - at < 12:
            raise PngError("png_truncated", "The PNG ends inside a chunk.")
        (length,) = struct.unpack_from(">I", data, at)
        kind, end = data[at + 4 : at + 8], at + 12 + length
        if length > 0x7FFFFFFF or end > len(data):
            raise PngError("png_truncated", "The PNG ends inside a chunk.")
        body = data[at + 8 : end - 4]
        if struct.unpack_from(">I", data, end - 4)[0] != zlib.crc32(data[at + 4 : end - 4]):
            raise PngError("png_crc", "A chunk of the PNG has a wrong checksum.")
        yield kind, body
        at = end
        if kind == b"IEND":
            if body:
                raise PngError("png_chunk", "The PNG's end chunk is not empty.")
            if at != len(data):
                raise PngError("png_trailing_bytes", "There are bytes after the end of the PNG.")
            return
    raise PngError("png_truncated", "The PNG has no end.")


def _require_known(kind: bytes, body: bytes) -> None:
    if kind in _FRAME:
        return
    if kind in _ANIMATION:
        raise PngError("png_animated", "An animated PNG is no render.")
    if kind == b"PLTE":
        raise PngError("png_palette", "A PNG with a palette is no render.")
    if kind not in _ANCILLARY:
        raise PngError("png_chunk", f"The PNG has a chunk {kind!r} that no render needs.")
    # Other readers interpret these chunks, so their size is held to the standard's here.
    least, most = _ANCILLARY[kind]
    if not least <= len(body) <= most:
        raise PngError("png_chunk_size", f"The PNG's chunk {kind!r} has a wrong length.")


def _header(body: bytes, limits: PngLimits) -> tuple[int, int, Literal[8, 16], int]:
    if len(body) != 13:
        raise PngError("png_header", "The PNG's header has a wrong length.")
    width, height, depth, colour, compression, filtering, interlace = struct.unpack(">IIBBBBB", body)
    if colour == 3:
        raise PngError("png_palette", "A PNG with a palette is no render.")
    if colour not in _CHANNELS or depth not in (8, 16) or compression or filtering:
        raise PngError("png_header", "The PNG has a colour type or bit depth that is no render's.")
    if interlace:
        raise PngError("png_interlaced", "An interlaced PNG is no render.")
    if not (1 <= width <= limits.max_side and 1 <= height <= limits.max_side) or width * height > limits.max_pixels:
        raise PngError("png_dimensions", f"The PNG says {width} x {height} pixels, outside the limits.")
    return width, height, 16 if depth == 16 else 8, _CHANNELS[colour]


DEFAULT_LIMITS: Final = PngLimits()


def decode_png(data: bytes, limits: PngLimits = DEFAULT_LIMITS) -> DecodedPng:
    """Unpacks a strict PNG. Raises :class:`PngError` with a code of its own for each reason."""
    if len(data) > limits.max_bytes:
        raise PngError("png_too_big", "The PNG file is larger than the limit.")
    header: tuple[int, int, Literal[8, 16], int] | None = None
    compressed: list[bytes] = []
    last, seen = b"", set()
    for count, (kind, body) in enumerate(_chunks(data)):
        if count >= _MAX_CHUNKS:
            raise PngError("png_too_many_chunks", f"The PNG has more than {_MAX_CHUNKS} chunks.")
        _require_known(kind, body)
        if (header is None) != (kind == b"IHDR"):
            raise PngError("png_chunk_order", "The PNG's header is not its first chunk, or comes twice.")
        if kind in seen and (kind != b"IDAT" or last != b"IDAT"):
            raise PngError("png_chunk_order", f"The PNG's chunk {kind!r} comes twice or is interrupted.")
        if kind == b"IHDR":
            header = _header(body, limits)
        elif kind == b"IDAT":
            compressed.append(body)
        elif kind != b"IEND" and b"IDAT" in seen:
            raise PngError("png_chunk_order", f"The PNG's chunk {kind!r} stands after the picture.")
        seen.add(kind)
        last = kind
    if header is None or not compressed:
        raise PngError("png_truncated", "The PNG has no picture.")
    width, height, depth, channels = header
    bpp = channels * depth // 8
    raw = _inflate(b"".join(compressed), height * (width * bpp + 1))
    return DecodedPng(width, height, depth, channels, _unfilter(raw, width * bpp, height, bpp))


def _inflate(data: bytes, expected: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        raw = inflater.decompress(data, expected + 1)
    except zlib.error as error:
        raise PngError("png_zlib", "The PNG's compressed data is damaged.") from error
    if len(raw) > expected:
        raise PngError("png_surplus", "The PNG holds more rows than its header says.")
    if len(raw) < expected or not inflater.eof:
        raise PngError("png_unfinished", "The PNG's compressed data ends early.")
    if inflater.unused_data:
        raise PngError("png_surplus", "The PNG has bytes after its compressed data.")
    return raw


def _unfilter(raw: bytes, stride: int, height: int, bpp: int) -> bytes:
    table = np.frombuffer(raw, np.uint8).reshape(height, stride + 1)
    filters = table[:, 0]
    if filters.max(initial=0) > PAETH:
        raise PngError("png_filter", "The PNG uses a row filter that does not exist.")
    return unfilter(filters, table[:, 1:], bpp).tobytes()


def to_rgb8(image: DecodedPng) -> NDArray[np.uint8]:
    """Samples as RGB8, shape (height, width, 3): grey is repeated, alpha dropped, 16 bits rounded to 8."""
    depth = np.dtype(np.uint8) if image.bit_depth == 8 else np.dtype(">u2")
    samples = np.frombuffer(image.pixels, depth).reshape(image.height, image.width, image.channels)
    colour = samples[..., :3] if image.channels >= 3 else np.repeat(samples[..., :1], 3, axis=2)
    if image.bit_depth == 16:
        colour = (colour.astype(np.uint32) * 255 + 32767) // 65535
    return np.ascontiguousarray(colour.astype(np.uint8))
