"""The five row filters of PNG (W3C PNG, third edition, section 9), undone a row or a diagonal at a time.

Pictures packed here use one filter whose inverse is a running sum. Pictures from elsewhere may use
Average and Paeth, where a sample needs the one decoded just before it; along a diagonal no sample
needs another, so those pictures are undone diagonal by diagonal instead of sample by sample.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

NONE: Final = 0
SUB: Final = 1
UP: Final = 2
AVERAGE: Final = 3
PAETH: Final = 4

Bytes = NDArray[np.uint8]
Wide = NDArray[np.int16]


def unfilter(filters: Bytes, rows: Bytes, bpp: int) -> Bytes:
    """Samples, shape (height, stride), of filtered ``rows``; ``bpp`` is the bytes that one pixel takes.

    ``filters`` holds one of the five filter types a row. Sums wrap at 256, as bytes do.
    """
    if (filters == UP).all():
        return np.add.accumulate(rows, axis=0, dtype=np.uint8)
    if filters.max(initial=0) < AVERAGE:
        return _by_row(filters, rows.copy(), bpp)
    return _by_diagonal(filters, rows, bpp)


def _by_row(filters: Bytes, rows: Bytes, bpp: int) -> Bytes:
    for index, kind in enumerate(filters.tolist()):
        row = rows[index]
        if kind == SUB:
            row[:] = np.add.accumulate(row.reshape(-1, bpp), axis=0, dtype=np.uint8).reshape(-1)
        elif kind == UP and index:
            row += rows[index - 1]
    return rows


def _by_diagonal(filters: Bytes, rows: Bytes, bpp: int) -> Bytes:
    height, width = rows.shape[0], rows.shape[1] // bpp
    pitch = width + 1
    # A row and a column of zeros in front stand for what lies outside the picture.
    padded = np.zeros((height + 1, pitch, bpp), np.uint8)
    padded[1:, 1:] = rows.reshape(height, width, bpp)
    pixels = padded.reshape(-1, bpp)
    kinds = filters.astype(np.intp)[:, None]
    for diagonal in range(height + width - 1):
        top, bottom = max(0, diagonal - width + 1), min(height, diagonal + 1)
        first = (top + 1) * pitch + diagonal - top + 1
        # One row down and one column left is `width` pixels on.
        stop = first + (bottom - top - 1) * width + 1
        left = pixels[first - 1 : stop - 1 : width].astype(np.int16)
        above = pixels[first - pitch : stop - pitch : width].astype(np.int16)
        corner = pixels[first - pitch - 1 : stop - pitch - 1 : width].astype(np.int16)
        average: Wide = (left + above) // 2
        guesses = [np.zeros_like(left), left, above, average, _paeth(left, above, corner)]
        pixels[first:stop:width] += np.choose(kinds[top:bottom], guesses).astype(np.uint8)
    return np.ascontiguousarray(padded[1:, 1:]).reshape(height, width * bpp)


def _paeth(left: Wide, above: Wide, corner: Wide) -> Wide:
    to_left, to_above = np.abs(above - corner), np.abs(left - corner)
    to_corner = np.abs(left + above - 2 * corner)
    other = np.where(to_above <= to_corner, above, corner)
    return np.where((to_left <= to_above) & (to_left <= to_corner), left, other)
