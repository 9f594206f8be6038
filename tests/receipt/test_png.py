"""Strict PNGs: bit for bit there and back, everything else refused by its own name."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from receipt.errors import PngError
from receipt.png import SIGNATURE, PngLimits, decode_png, encode_png, to_rgb8


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def build(
    *,
    header: tuple[int, int, int, int, int, int, int] = (2, 2, 8, 2, 0, 0, 0),
    raw: bytes = (b"\0" + bytes(6)) * 2,
    before: bytes = b"",
    after: bytes = b"",
    end: bytes | None = None,
    idat: bytes | None = None,
) -> bytes:
    body = idat if idat is not None else chunk(b"IDAT", zlib.compress(raw))
    tail = chunk(b"IEND", b"") if end is None else end
    return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", *header)) + before + body + after + tail


@given(width=st.integers(1, 9), height=st.integers(1, 9), depth=st.sampled_from([8, 16]), data=st.data())
def test_final_pixels_come_back_bit_for_bit(width: int, height: int, depth: int, data: st.DataObject) -> None:
    size = width * height * 3 * depth // 8
    pixels = data.draw(st.binary(min_size=size, max_size=size))
    packed = encode_png(pixels, width, height, depth)
    image = decode_png(packed)
    assert (image.width, image.height, image.bit_depth, image.channels) == (width, height, depth, 3)
    assert image.pixels == pixels
    assert encode_png(pixels, width, height, depth) == packed


@settings(deadline=None)
@given(
    mode=st.sampled_from(["L", "LA", "RGB", "RGBA"]),
    width=st.integers(1, 40),
    height=st.integers(1, 12),
    data=st.data(),
)
def test_pillow_is_the_second_opinion_at_eight_bits(mode: str, width: int, height: int, data: st.DataObject) -> None:
    channels = len(mode)
    seed = data.draw(st.integers(0, 2**32 - 1))
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    buffer = io.BytesIO()
    Image.frombytes(mode, (width, height), pixels.tobytes()).save(buffer, "PNG")
    image = decode_png(buffer.getvalue())
    assert (image.channels, image.pixels) == (channels, pixels.tobytes())
    if mode == "RGB":
        ours = Image.open(io.BytesIO(encode_png(pixels.tobytes(), width, height, 8)))
        assert ours.tobytes() == pixels.tobytes()


def filtered(rows: list[list[int]], kinds: list[int], bpp: int) -> bytes:
    """Filters samples one by one, straight from the standard's text (section 9.2)."""
    raw = bytearray()
    for y, row in enumerate(rows):
        above = rows[y - 1] if y else [0] * len(row)
        raw.append(kinds[y])
        for x, value in enumerate(row):
            a, b = (row[x - bpp] if x >= bpp else 0), above[x]
            c = above[x - bpp] if x >= bpp else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            raw.append((value - (0, a, b, (a + b) // 2, paeth)[kinds[y]]) % 256)
    return bytes(raw)


@settings(deadline=None)
@given(
    width=st.integers(1, 9),
    kinds=st.lists(st.integers(0, 4), min_size=1, max_size=9),
    colour=st.sampled_from([0, 2, 4, 6]),
    depth=st.sampled_from([8, 16]),
    seed=st.integers(0, 2**32 - 1),
)
@example(width=7, kinds=[4] * 7, colour=2, depth=8, seed=0)
@example(width=1, kinds=[3, 4, 3], colour=6, depth=16, seed=0)
@example(width=9, kinds=[4], colour=0, depth=8, seed=0)
@example(width=5, kinds=[2, 2, 2], colour=4, depth=16, seed=0)
@example(width=5, kinds=[1, 0, 2], colour=2, depth=16, seed=0)
def test_every_mixture_of_row_filters_is_undone(
    width: int, kinds: list[int], colour: int, depth: int, seed: int
) -> None:
    height, bpp = len(kinds), {0: 1, 2: 3, 4: 2, 6: 4}[colour] * depth // 8
    rows = np.random.default_rng(seed).integers(0, 256, (height, width * bpp), np.uint8).tolist()
    raw = filtered(rows, kinds, bpp)
    image = decode_png(build(header=(width, height, depth, colour, 0, 0, 0), raw=raw))
    assert image.pixels == bytes(value for row in rows for value in row)


def test_sixteen_bits_come_back_where_pillow_would_lose_them() -> None:
    """Pillow reads a 16-bit RGB file as 8 bits without a word, which is why the chunks are walked here."""
    levels = np.arange(0, 65536, dtype=">u2")[: 65535 // 3 * 3]
    pixels = levels.tobytes()
    packed = encode_png(pixels, 257, 85, 16)
    assert decode_png(packed).pixels == pixels
    assert Image.open(io.BytesIO(packed)).tobytes() == (levels >> 8).astype(np.uint8).tobytes()


BOMB = chunk(b"IDAT", zlib.compress(bytes(50_000_000)))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GIF89a", "png_signature"),
        (b"", "png_signature"),
        (SIGNATURE, "png_truncated"),
        (build()[:-1], "png_truncated"),
        (build()[:40], "png_truncated"),
        (build(end=b""), "png_truncated"),
        (build() + b"x", "png_trailing_bytes"),
        (build() + build(), "png_trailing_bytes"),
        (build(header=(2, 2, 8, 2, 0, 0, 1)), "png_interlaced"),
        (build(header=(2, 2, 8, 3, 0, 0, 0)), "png_palette"),
        (build(header=(2, 2, 4, 0, 0, 0, 0)), "png_header"),
        (build(header=(2, 2, 8, 7, 0, 0, 0)), "png_header"),
        (build(header=(2, 2, 8, 2, 1, 0, 0)), "png_header"),
        (build(header=(0, 2, 8, 2, 0, 0, 0)), "png_dimensions"),
        (build(header=(9000, 2, 8, 2, 0, 0, 0)), "png_dimensions"),
        (build(header=(8192, 8193, 8, 2, 0, 0, 0)), "png_dimensions"),
        (build(before=chunk(b"tEXt", b"a\0b")), "png_chunk"),
        (build(before=chunk(b"acTL", bytes(8))), "png_animated"),
        (build(before=chunk(b"fcTL", bytes(26))), "png_animated"),
        (build(after=chunk(b"fdAT", bytes(8))), "png_animated"),
        (build(before=chunk(b"eXIf", bytes(8))), "png_chunk"),
        (build(before=chunk(b"iTXt", bytes(8))), "png_chunk"),
        (build(before=chunk(b"gAMA", bytes(5))), "png_chunk_size"),
        (build(before=chunk(b"sRGB", b"")), "png_chunk_size"),
        (build(before=chunk(b"sBIT", bytes(5))), "png_chunk_size"),
        (build(before=chunk(b"iCCP", b"x\0\0")), "png_chunk_size"),
        (build(idat=chunk(b"IDAT", b"") * 70_000), "png_too_many_chunks"),
        (build(before=chunk(b"tRNS", bytes(6))), "png_chunk"),
        (build(before=chunk(b"PLTE", bytes(3))), "png_palette"),
        (build(after=chunk(b"zzZz", b"")), "png_chunk"),
        (build(end=chunk(b"IEND", b"x")), "png_chunk"),
        (build(after=chunk(b"gAMA", bytes(4))), "png_chunk_order"),
        (build(before=chunk(b"gAMA", bytes(4)) * 2), "png_chunk_order"),
        (build(before=chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))), "png_chunk_order"),
        (SIGNATURE + chunk(b"IDAT", b"") + chunk(b"IEND", b""), "png_chunk_order"),
        (SIGNATURE + chunk(b"IHDR", bytes(12)) + chunk(b"IEND", b""), "png_header"),
        (build(idat=b""), "png_truncated"),
        (build(idat=chunk(b"IDAT", b"garbage")), "png_zlib"),
        (build(idat=BOMB), "png_surplus"),
        (build(raw=(b"\0" + bytes(6)) * 3), "png_surplus"),
        (build(raw=(b"\0" + bytes(6)) + b"\0"), "png_unfinished"),
        (build(idat=chunk(b"IDAT", zlib.compress((b"\0" + bytes(6)) * 2)[:-3])), "png_unfinished"),
        (build(idat=chunk(b"IDAT", zlib.compress((b"\0" + bytes(6)) * 2) + b"x")), "png_surplus"),
        (build(raw=(b"\5" + bytes(6)) * 2), "png_filter"),
        (build().replace(b"IDAT", b"IDAT"[:3] + b"U"), "png_crc"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_strict_png_is_refused_by_name(data: bytes, code: str) -> None:
    with pytest.raises(PngError) as caught:
        decode_png(data)
    assert caught.value.code == code


def test_a_split_picture_is_one_picture_and_colour_chunks_are_allowed() -> None:
    packed = zlib.compress((b"\0" + bytes(range(6))) * 2)
    parts = chunk(b"IDAT", packed[:5]) + chunk(b"IDAT", packed[5:])
    image = decode_png(build(idat=parts, before=chunk(b"sRGB", b"\0") + chunk(b"pHYs", bytes(9))))
    assert image.pixels == bytes(range(6)) * 2


GOOD = encode_png(bytes(range(48)), 4, 4, 8)


@settings(max_examples=400)
@given(at=st.integers(0, len(GOOD) - 1), flip=st.integers(1, 255))
def test_no_changed_byte_goes_unnoticed(at: int, flip: int) -> None:
    data = bytearray(GOOD)
    data[at] ^= flip
    with pytest.raises(PngError):
        decode_png(bytes(data))


@given(st.binary(max_size=200))
def test_any_bytes_raise_nothing_but_a_png_error(data: bytes) -> None:
    for candidate in (data, SIGNATURE + data, build(idat=chunk(b"IDAT", data))):
        with pytest.raises(PngError):
            decode_png(candidate)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_foreign_png_with_changed_bytes_raises_nothing_but_a_png_error(data: st.DataObject) -> None:
    """Checksums are put right again, so that what lies behind them is reached."""
    chunks = [(b"IHDR", bytearray(GOOD[16:29])), (b"IDAT", bytearray(GOOD[41:-16])), (b"IEND", bytearray())]
    for _ in range(data.draw(st.integers(1, 4))):
        body = chunks[data.draw(st.integers(0, 1))][1]
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        image = decode_png(SIGNATURE + b"".join(chunk(kind, bytes(body)) for kind, body in chunks))
    except PngError as error:
        assert error.code.startswith("png_")
    else:
        assert len(image.pixels) == image.width * image.height * image.channels * image.bit_depth // 8


def test_a_bomb_costs_no_more_than_the_picture_it_claims_to_be() -> None:
    tracemalloc.start()
    with pytest.raises(PngError):
        decode_png(build(idat=BOMB))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 << 20


def test_limits_are_kept() -> None:
    with pytest.raises(PngError) as caught:
        decode_png(GOOD, PngLimits(max_bytes=10))
    assert caught.value.code == "png_too_big"


@pytest.mark.parametrize(("pixels", "width", "depth"), [(bytes(11), 2, 8), (bytes(12), 2, 9), (b"", 0, 8)])
def test_pixels_that_do_not_fill_the_picture_are_not_packed(pixels: bytes, width: int, depth: int) -> None:
    with pytest.raises(PngError) as caught:
        encode_png(pixels, width, 2, depth)
    assert caught.value.code == "png_wrong_size"


@pytest.mark.parametrize(("sample", "level"), [(0, 0), (65535, 255), (257, 1), (128, 0), (129, 1), (32896, 128)])
def test_sixteen_bits_are_rounded_to_eight(sample: int, level: int) -> None:
    image = decode_png(encode_png(struct.pack(">H", sample) * 3, 1, 1, 16))
    assert to_rgb8(image).tolist() == [[[level] * 3]]


def test_grey_is_repeated_and_alpha_is_dropped() -> None:
    image = decode_png(build(header=(2, 1, 8, 4, 0, 0, 0), raw=b"\0" + bytes([10, 255, 20, 0])))
    assert to_rgb8(image).tolist() == [[[10] * 3, [20] * 3]]
