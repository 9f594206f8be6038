"""Normals of a mesh from its own shape alone, for the pass that shows shape and nothing else.

Authored normals are a picture in disguise: a flat plate can carry those of a relief. So clay gets its normals
from the faces, smooth where they meet at less than :data:`CREASE_DEGREES` and sharp elsewhere, alike for
everybody.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

CREASE_DEGREES: Final = 50.0
"""Coarse cylinders of eight sides are still round, hexagons are not."""
_MOST_FACES: Final = 128
"""Faces around one point that are looked at; beyond that, as at the tip of a fine cone, faces stay flat."""

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]


def corner_normals(points: Floats, counts: Indices, indices: Indices) -> Floats | None:
    """A unit normal a face corner, shape (corners, 3), for counter-clockwise faces.

    ``points`` is (n, 3) in any unit, ``counts`` the corners of each face, ``indices`` the point of each corner. None
    where they do not fit together. Points that lie at one place count as one.
    """
    if not len(counts) or counts.min() < 1 or counts.sum() != len(indices):
        return None
    if not len(points) or indices.min() < 0 or indices.max() >= len(points):
        return None
    face = np.repeat(np.arange(len(counts)), counts)
    with np.errstate(all="ignore"):
        flat, weight = _faces(points[indices].astype(np.float64), counts, face)
        places = np.unique(points + np.float32(0), axis=0, return_inverse=True)[1].reshape(-1)[indices]
        return _smoothed(flat[face].astype(np.float32), weight.astype(np.float32), places)


def _faces(corners: NDArray[np.float64], counts: Indices, face: Indices) -> tuple[NDArray[np.float64], Floats]:
    """Each face's unit normal (Newell's), and the angle of each corner in radians; nothing is NaN."""
    starts = np.cumsum(counts) - counts
    place = np.arange(len(face)) - starts[face]
    after = starts[face] + (place + 1) % counts[face]
    before = starts[face] + (place - 1) % counts[face]
    origin = corners[starts][face]
    sums = np.add.reduceat(np.cross(corners - origin, corners[after] - origin), starts)
    normal = _unit(sums)
    ahead, back = _unit(corners[after] - corners), _unit(corners[before] - corners)
    angle = np.arccos(np.clip((ahead * back).sum(1), -1, 1))
    return normal, np.nan_to_num(angle).astype(np.float32)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vectors; zero where there is no direction."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.where((length > 0) & np.isfinite(length), vectors / length, 0)
    return unit


def _smoothed(flat: Floats, weight: Floats, places: Indices) -> Floats:
    """Each corner's mean over the faces around its place that meet its own at less than the crease angle."""
    order = np.argsort(places, kind="stable")
    _, first, around = np.unique(places[order], return_index=True, return_counts=True)
    group = np.repeat(np.arange(len(first)), around)
    size, start = around[group], first[group]
    here = np.arange(len(order)) - start
    own, weights = flat[order], weight[order]
    total = own * weights[:, None]
    limit = math.cos(math.radians(CREASE_DEGREES))
    left = np.flatnonzero((size > 1) & (size <= _MOST_FACES))
    for step in range(1, _MOST_FACES):
        left = left[size[left] > step]
        if not len(left):
            break
        other = start[left] + (here[left] + step) % size[left]
        joined = (own[left] * own[other]).sum(1) > limit
        total[left[joined]] += own[other[joined]] * weights[other[joined], None]
    length = np.linalg.norm(total, axis=1, keepdims=True)
    total = np.where(length > 1e-6, total / np.maximum(length, 1e-6), own)
    total[~total.any(1)] = (0, 0, 1)
    result = np.empty_like(total)
    result[order] = total
    return result


def agree(normals: Floats, authored: Floats) -> bool:
    """Do most of the authored normals, one a corner, point to the side that the faces do?"""
    return float(np.sign(np.nan_to_num((normals * authored).sum(1))).sum()) >= 0
