"""Linear half floats to final RGB by one exact table, and the framebuffer that they are read from.

A half float has 65,536 values, so exposure, transform and quantisation are a look-up: no
floating-point code runs per pixel that could differ between processors.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from renderer.profile import Look


def srgb_decode(level: int) -> float:
    """Linear value of an 8-bit sRGB level (IEC 61966-2-1)."""
    value = level / 255
    return value / 12.92 if value <= 0.04045 else math.pow((value + 0.055) / 1.055, 2.4)


def srgb_encode(linear: float) -> float:
    """sRGB value in [0, 1] of a linear one; clips."""
    clipped = min(max(linear, 0.0), 1.0)
    return clipped * 12.92 if clipped <= 0.0031308 else 1.055 * math.pow(clipped, 1 / 2.4) - 0.055


@cache
def table(exposure_ev: float, bit_depth: int) -> NDArray[np.uint16]:
    """The final level of every half float, indexed by its bits. NaN is 0, infinity is white, negative is 0."""
    top = (1 << bit_depth) - 1
    gain = 2.0**exposure_ev
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    levels = [0 if math.isnan(value) else int(srgb_encode(value * gain) * top + 0.5) for value in halves.tolist()]
    return np.array(levels, dtype=np.uint16)


def background_linear(look: Look) -> tuple[float, float, float]:
    """The value to clear with, so that the background comes out of the table as the profile states it."""
    red, green, blue = (srgb_decode(level) / 2.0**look.exposure_ev for level in look.background_srgb)
    return (red, green, blue)


class FinalImage(NamedTuple):
    """Final pixels, top row first, and two facts about them."""

    data: bytes
    coverage: float
    non_finite: int


def finish(halves: NDArray[np.uint16], look: Look, bit_depth: int) -> FinalImage:
    """Turns a frame of half-float bits, shape (height, width, 4), bottom row first, into final RGB.

    The frame was cleared with the background and alpha 0, so it is composited already and alpha is
    the share of each pixel that the subject covers.
    """
    colour = halves[::-1, :, :3]
    finite = (halves & 0x7C00) != 0x7C00
    levels = table(look.exposure_ev, bit_depth)[colour]
    alpha = np.nan_to_num(halves[:, :, 3].view(np.float16).astype(np.float32))
    data = levels.astype(np.uint8 if bit_depth == 8 else ">u2").tobytes()
    return FinalImage(data, float(np.clip(alpha, 0, 1).mean(dtype=np.float64)), int((~finite[:, :, :3]).any(-1).sum()))
