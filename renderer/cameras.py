"""Cameras from bounds: a pure function of the reference's measured size and the profile's views.

The frame is the rig's: metres, right-handed, +Y up. The subject is framed by its outermost points
and not by a sphere or a box, so that a flat, a long and a round thing each fill the picture.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from renderer.errors import AssetError
from renderer.profile import ViewSpec
from renderer.protocol import Camera

Vector = tuple[float, float, float]

_MIN_METRES = 1e-9
_MAX_METRES = 1e9


def turn_of_seed(seed: int | None) -> float:
    """Degrees by which a case's secret seed turns every azimuth; 0 without one."""
    if seed is None:
        return 0.0
    digest = hashlib.sha256(b"view_seed:%d" % seed).digest()
    return int.from_bytes(digest[:4], "big") % 36000 / 100


def resolve_cameras(
    views: Sequence[ViewSpec],
    outline: NDArray[np.float64],
    *,
    aspect: float = 1.0,
    turn_degrees: float = 0.0,
) -> tuple[Camera, ...]:
    """Frames the points of ``outline``, shape (n, 3), metres, for every view.

    ``turn_degrees`` is added to every azimuth (a case's secret seed, alike for both roles). Raises
    :class:`AssetError` when they are one point, not finite or of an absurd size.
    """
    size = np.ptp(outline, axis=0)
    if not np.isfinite(outline).all() or not size.max() > _MIN_METRES:
        raise AssetError(
            "nothing_to_frame",
            "The asset has no measurable extent: its geometry is a single point, or none at all.",
            "Hand in an asset with visible geometry of more than a nanometre.",
        )
    reach = float(np.abs(outline).max())
    if reach > _MAX_METRES:
        raise AssetError(
            "absurd_size",
            f"The asset reaches {reach:.3g} metres from the origin.",
            "Check the points, the transforms and metersPerUnit.",
        )
    return tuple(_resolve(view, outline, aspect, turn_degrees) for view in views)


def _resolve(view: ViewSpec, outline: NDArray[np.float64], aspect: float, turn: float) -> Camera:
    azimuth, elevation = math.radians(view.azimuth_degrees + turn), math.radians(view.elevation_degrees)
    backward = np.array(
        [math.sin(azimuth) * math.cos(elevation), math.sin(elevation), math.cos(azimuth) * math.cos(elevation)]
    )
    right = np.array([math.cos(azimuth), 0.0, -math.sin(azimuth)])
    up = np.cross(backward, right)
    centre = (outline.min(0) + outline.max(0)) / 2
    local = (outline - centre) @ np.array([right, up, backward]).T  # columns: right, up, towards the camera
    radius = float(np.linalg.norm(outline - centre, axis=1).max())
    if view.projection == "orthographic":
        half = max(float(np.abs(local[:, 1]).max()), float(np.abs(local[:, 0]).max()) / aspect) * view.margin
        shift, distance, height = np.zeros(2), 3 * radius, 2 * half
    else:
        tangent = math.tan(math.radians(view.fov_degrees) / 2) / view.margin
        shift, distance = _fit(local, tangent * aspect, tangent)
        # A needle that points at the camera fits at any distance, even at none.
        distance = max(distance, float(local[:, 2].max()) + radius / 2)
        height = 0.0
    target = centre + right * shift[0] + up * shift[1]
    eye = target + backward * distance
    near = distance - float(local[:, 2].max())
    far = distance - float(local[:, 2].min())
    return Camera(
        name=view.name,
        projection=view.projection,
        eye=_vector(eye),
        target=_vector(target),
        up=_vector(up),
        fov_degrees=view.fov_degrees if view.projection == "perspective" else 0.0,
        height_metres=height,
        # A candidate may stand out beyond the reference, so the planes leave it a subject's size of room.
        near_metres=max(near - 2 * radius, distance / 1000, 1e-9),
        far_metres=far + 8 * radius,
        azimuth_degrees=view.azimuth_degrees + turn,
    )


def _fit(local: NDArray[np.float64], tan_x: float, tan_y: float) -> tuple[NDArray[np.float64], float]:
    """Shift in the picture plane and distance at which all outline just fit between the frame's sides.

    On each axis the frame is two half-spaces ``|x - shift| <= tangent * (distance - depth)``; the
    nearest distance at which a shift exists that satisfies both follows from adding them.
    """
    depth = local[:, 2]
    distance, sums = 0.0, []
    for axis, tangent in ((0, tan_x), (1, tan_y)):
        upper = float((local[:, axis] + tangent * depth).max())
        lower = float((-local[:, axis] + tangent * depth).max())
        distance = max(distance, (upper + lower) / (2 * tangent))
        sums.append((upper - lower) / 2)
    return np.array(sums), distance


def _vector(values: NDArray[np.float64]) -> Vector:
    """Rounded to a picometre of relative precision, so that equal bounds print equal numbers."""
    x, y, z = (float(f"{value:.12g}") + 0.0 for value in values)
    return (x, y, z)
