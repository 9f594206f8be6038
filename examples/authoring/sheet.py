"""Paints the crate's sheet: twelve planks of pine, one above the other, four of them stencilled across.

Pure Pillow drawing from a seeded generator of our own, with few colours, so that the picture is small and equal
everywhere. One pixel is a millimetre.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
from PIL import Image, ImageDraw

WIDTH, HEIGHT, ROWS = 640, 1104, 12
_ROW = HEIGHT // ROWS
_INK = (38, 31, 27)
_SHADES = 9


def strip(row: int, length: float, across: float) -> tuple[float, float, float, float]:
    """(u0, v0, u1, v1) of a plank of ``length`` by ``across`` metres in a row of the sheet, middle on middle."""
    half = min(length * 1000, WIDTH - 4) / 2 / WIDTH
    v = 1 - (ROWS - 1 - row + 0.5) / ROWS
    tall = min(across * 1000, _ROW - 4) / 2 / HEIGHT
    return 0.5 - half, v - tall, 0.5 + half, v + tall


def _random(seed: int) -> Iterator[float]:
    """Numbers in [0, 1) from a linear congruence, equal on every machine."""
    state = seed * 2654435761 % 2**32
    while True:
        state = (state * 1664525 + 1013904223) % 2**32
        yield (state >> 8) / 2**24


def paint(wash: tuple[int, int, int] | None = None) -> Image.Image:
    """The sheet, 640 x 1104, 8-bit RGB; ``wash`` stains the wood in another colour."""
    image = Image.new("RGB", (WIDTH, HEIGHT))
    for row in range(ROWS):
        image.paste(_plank(row, wash), (0, (ROWS - 1 - row) * _ROW))
    # Rows count from below: the front planks are the lowest four of the sheet.
    mask = Image.new("L", (WIDTH * 3, _ROW * 4 * 3), 0)
    _stencil(ImageDraw.Draw(mask))
    mask = mask.resize((WIDTH, _ROW * 4), Image.Resampling.BOX).point(lambda value: value // 64 * 80)
    image.paste(Image.new("RGB", mask.size, _INK), (0, HEIGHT - mask.height), mask)
    return image


def png(image: Image.Image) -> bytes:
    """The picture as PNG bytes."""
    data = io.BytesIO()
    image.quantize(48, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).convert("RGB").save(
        data, "PNG", optimize=True
    )
    return data.getvalue()


def _plank(row: int, wash: tuple[int, int, int] | None) -> Image.Image:
    numbers = _random(row + 7)
    base = wash or ((196, 146, 92), (184, 132, 80), (205, 158, 104), (176, 124, 74))[row % 4]
    dark = (int(base[0] * 0.66), int(base[1] * 0.6), int(base[2] * 0.54))
    waves = [(next(numbers) * 6.3, 0.004 + next(numbers) * 0.01, 1.5 + next(numbers) * 3) for _ in range(3)]
    knots = [(60 + next(numbers) * 520, 15 + next(numbers) * 62, 5 + next(numbers) * 6) for _ in range(1 + row % 3)]
    spacing, offset = 6.5 + next(numbers) * 4, next(numbers) * 50
    y, x = np.mgrid[0:_ROW, 0:WIDTH].astype(np.float64)
    across = y + sum(size * np.sin(phase + x * pace) for phase, pace, size in waves)
    for kx, ky, size in knots:
        bulge = np.exp(-0.5 * (((x - kx) / (3.2 * size)) ** 2 + ((y - ky) / size) ** 2))
        across += 2.2 * size * np.copysign(bulge, y - ky)
    ring = (across + offset) / spacing
    late = 0.5 - 0.5 * np.cos(2 * np.pi * ring)
    tone = 0.12 + 0.5 * late**2 * (0.6 + 0.4 * np.sin(0.74 * np.pi * ring))
    for kx, ky, size in knots:
        tone = np.maximum(tone, 1.15 - 0.75 * np.hypot((x - kx) / 1.5, y - ky) / size)
    shade = np.round(np.clip(tone, 0, 1) * _SHADES)[:, :, None] / _SHADES
    pixels = np.round(np.array(base) + (np.array(dark) - np.array(base)) * shade)
    image = Image.fromarray(pixels.astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(10):
        x, y, long = next(numbers) * 600, next(numbers) * _ROW, 20 + next(numbers) * 90
        draw.line((x, y, x + long, y + next(numbers) * 2 - 1), fill=dark)
    return image


_GLYPHS = {
    # Strokes on a grid 4 wide and 6 high, y upwards.
    "A": "00-04-26-44-40 02-42",
    "D": "00-06-26-44-42-20-00",
    "E": "40-00-06-46 03-33",
    "F": "00-06-46 03-33",
    "G": "46-06-00-40-43-23",
    "H": "00-06 40-46 03-43",
    "I": "20-26",
    "L": "06-00-40",
    "N": "00-06-40-46",
    "O": "00-06-46-40-00",
    "P": "00-06-46-43-03",
    "R": "00-06-46-43-03 23-40",
    "S": "00-40-43-03-06-46",
    "T": "06-46 26-20",
    "U": "06-00-40-46",
    "2": "06-46-43-03-00-40",
    "4": "06-03-43 46-40",
    "7": "06-46-20",
    "8": "00-06-46-40-00 03-43",
}
_BRIDGED = "ADOPRGS8"


def _write(draw: ImageDraw.ImageDraw, text: str, x: float, y: float, size: float) -> None:
    """Stencil letters, ``size`` pixels high; x and y are the foot of the first. Closed letters keep their bridges."""
    unit, width = size / 6, max(2, round(size * 0.17))
    half = width / 2 - 0.5
    for letter in text:
        shift = -1.5 if letter == "I" else 0.0
        for stroke in _GLYPHS.get(letter, "").split():
            points = [(x + (int(at[0]) + shift) * unit, y - int(at[1]) * unit) for at in stroke.split("-")]
            draw.line(points, fill=255, width=width)
            for px, py in points:
                draw.rectangle((px - half, py - half, px + half, py + half), fill=255)
        if letter in _BRIDGED:
            middle = x + 2 * unit
            draw.rectangle((middle - unit * 0.22, y - size - width, middle + unit * 0.22, y + width), fill=0)
        x += unit * (2.6 if letter == "I" else 5.6)


def _stencil(draw: ImageDraw.ImageDraw) -> None:
    """Words, a frame and the two arrows that say which way is up; drawn at three times the sheet's scale."""
    draw.rounded_rectangle((330, 190, 1590, 940), 40, outline=255, width=15)
    _write(draw, "FRAGILE", 455, 560, 165)
    _write(draw, "THIS SIDE UP", 530, 705, 84)
    _write(draw, "NO 2748", 440, 870, 100)
    for x in (1215, 1385):
        arrow = ((-18, 872), (-18, 800), (-58, 800), (18, 736), (94, 800), (54, 800), (54, 872))
        draw.polygon([(x + dx, y) for dx, y in arrow], fill=255)
    draw.rectangle((1150, 885, 1485, 900), fill=255)


def turned() -> Image.Image:
    """The same picture a quarter turn to the left: what was (u, v) is (1 - v, u)."""
    return paint().transpose(Image.Transpose.ROTATE_90)
