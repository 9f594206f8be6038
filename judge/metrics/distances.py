"""From pairs of pictures to a few continuous distances; 0 is equal, and equal pictures give exactly 0.

All of it works on pictures whose longer side is reduced to :data:`SIDE` by a whole box filter; that
number, and every constant below, belongs to the evaluator's version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from skimage.color import deltaE_ciede2000, rgb2lab
from skimage.filters import gaussian
from skimage.filters.rank import median
from skimage.measure import label
from skimage.morphology import dilation, disk, erosion, opening

from judge.metrics.difference import Error, Rgb8

SIDE: Final = 384
_KEY: Final = 8
"""Levels by which a channel must differ from the ground for a pixel to belong to the subject."""
_FLIP_SEEN: Final = 0.12
_DELTA_E_SEEN: Final = 8.0
_SPECKLE: Final = 12
_EDGE: Final = disk(2)
_CORE: Final = disk(1)

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ShapeDistances:
    """Of one view on clay. Areas are shares of the reference's silhouette."""

    missing: float
    """Area in which the reference shows something that the candidate does not show at all."""
    surplus: float
    """Area in which the candidate shows something where the reference shows the ground."""
    changed: float
    """Area of coherent differences inside both silhouettes: parts in front of others."""
    largest: float
    """Area of the largest coherent difference of any of the three kinds."""
    outline: float
    """1 minus the overlap of the silhouettes, edges of two pixels forgiven."""


@dataclass(frozen=True)
class SurfaceDistances:
    """Of one view in beauty, where both show the same surface; None where they share none."""

    recoloured: float
    """Share of the shared surface whose colour differs visibly and coherently."""
    delta_e: float
    """Mean CIEDE2000 over the shared surface."""


def reduce(image: Rgb8) -> Rgb8:
    """The picture with its longer side at most :data:`SIDE`, by a whole box filter."""
    factor = -(-max(image.shape[:2]) // SIDE)
    if factor == 1:
        return image
    height, width = (size // factor * factor for size in image.shape[:2])
    blocks = image[:height, :width].reshape(height // factor, factor, width // factor, factor, 3)
    sums = blocks.astype(np.uint32).sum(axis=(1, 3))
    reduced: Rgb8 = ((sums + factor * factor // 2) // (factor * factor)).astype(np.uint8)
    return reduced


def ground(image: Rgb8) -> NDArray[np.int16]:
    """The ground's colour: the median of the picture's border."""
    border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    colour: NDArray[np.int16] = np.median(border, axis=0).astype(np.int16)
    return colour


def silhouette(image: Rgb8, ground_colour: NDArray[np.int16]) -> Mask:
    """Pixels that the subject covers at least in good part."""
    return np.asarray((np.abs(image.astype(np.int16) - ground_colour) > _KEY).any(-1))


def shape_distances(reference: Rgb8, candidate: Rgb8, error: Error) -> ShapeDistances | None:
    """Of a pair of clay pictures, reduced already, and their FLIP; None where the reference shows nothing."""
    colour = ground(reference)
    one, other = silhouette(reference, colour), silhouette(candidate, colour)
    area = int(one.sum())
    if not area:
        return None
    if np.array_equal(reference, candidate):
        return ShapeDistances(0.0, 0.0, 0.0, 0.0, 0.0)
    missing = opening(one & ~dilation(other, _CORE), _CORE)
    surplus = opening(other & ~dilation(one, _CORE), _CORE)
    changed = opening((error > _FLIP_SEEN) & erosion(one & other, _CORE), _EDGE)
    both = missing | surplus | changed
    loose = (one & ~dilation(other, _EDGE)) | (other & ~dilation(one, _EDGE))
    union = int((one | other).sum())
    return ShapeDistances(
        missing=float(missing.sum() / area),
        surplus=float(surplus.sum() / area),
        changed=float(changed.sum() / area),
        largest=_largest(both) / area,
        outline=float(loose.sum() / union),
    )


def _largest(mask: Mask) -> float:
    labels = label(mask, connectivity=2)
    return float(np.bincount(labels.ravel())[1:].max(initial=0))


def surface_distances(reference: Rgb8, candidate: Rgb8, shared: Mask) -> SurfaceDistances | None:
    """Of a pair of beauty pictures over the pixels where both show the same surface; None where too few."""
    if int(shared.sum()) < 16:
        return None
    if np.array_equal(reference, candidate):
        return SurfaceDistances(0.0, 0.0)
    labs = [rgb2lab(gaussian(image, sigma=1.0, channel_axis=-1)) for image in (reference, candidate)]
    delta = np.asarray(deltaE_ciede2000(labs[0], labs[1]))
    recoloured = opening((delta > _DELTA_E_SEEN) & shared, _CORE)
    return SurfaceDistances(float(recoloured.sum() / shared.sum()), float(delta[shared].mean()))


def shared_surface(reference: Rgb8, candidate: Rgb8, error: Error) -> Mask:
    """Pixels well inside both silhouettes of a clay pair where their FLIP finds no coherent change of shape."""
    colour = ground(reference)
    both = silhouette(reference, colour) & silhouette(candidate, colour)
    moved = dilation(opening(error > _FLIP_SEEN, _CORE), _EDGE)
    return np.asarray(erosion(both, _CORE) & ~moved)


def speckles(reference: Rgb8, candidate: Rgb8, shared: Mask) -> float | None:
    """Share of the shared surface with specks in the candidate that the reference lacks; None where too few."""
    if int(shared.sum()) < 16:
        return None
    if np.array_equal(reference, candidate):
        return 0.0
    known = dilation(_specks(reference), _EDGE)
    return float(((_specks(candidate) & ~known) & shared).sum() / shared.sum())


def _specks(image: Rgb8) -> Mask:
    grey = (image.astype(np.uint16) @ np.array([54, 183, 19], np.uint16) >> 8).astype(np.uint8)
    smooth = median(grey, disk(1))
    return np.asarray(np.abs(grey.astype(np.int16) - smooth.astype(np.int16)) > _SPECKLE)
