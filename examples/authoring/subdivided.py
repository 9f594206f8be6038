"""A ring turned on the lathe, as a Catmull-Clark surface whose limit passes through the drawn outline."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from pxr import Usd, UsdGeom

from examples.authoring.assembly import vec3f
from examples.authoring.drawing import Lathe
from examples.authoring.quads import runs

_AROUND, _ALONG = 12, 18


def write_ring(stage: Usd.Stage, path: str, solid: Lathe, units_per_metre: float) -> UsdGeom.Mesh:
    """A closed, smooth lathe solid whose axis points along the stage's X. No normals: the surface has its own."""
    outline: NDArray[np.float64] = _controls(_even(solid)) * units_per_metre
    angles = [2 * math.pi * i / _AROUND for i in range(_AROUND)]
    # A ring of controls at radius r has a limit at r (2 + cos a) / 3, a being the angle between them.
    grow = 3 / (2 + math.cos(2 * math.pi / _AROUND))
    points = [(height, grow * r * math.cos(a), grow * r * math.sin(a)) for a in angles for r, height in outline]
    faces: list[int] = []
    for i in range(_AROUND):
        for j in range(_ALONG):
            here, on = i * _ALONG, (i + 1) % _AROUND * _ALONG
            faces += [here + j, on + j, on + (j + 1) % _ALONG, here + (j + 1) % _ALONG]
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(vec3f(points, 5))
    mesh.CreateFaceVertexCountsAttr([4] * (_AROUND * _ALONG))
    mesh.CreateFaceVertexIndicesAttr(faces)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.catmullClark)
    mesh.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(mesh.GetPointsAttr().Get()))
    return mesh


def _even(solid: Lathe) -> NDArray[np.float64]:
    """Points evenly spread along the outline, shape (n, 2)."""
    line = np.array([point for run in runs(solid.line, solid.closed) for point, _ in run])
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    wanted = np.arange(_ALONG) * lengths[-1] / _ALONG
    return np.array([np.interp(wanted, lengths, line[:, axis]) for axis in range(2)], dtype=np.float64).T


def _controls(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Controls of the closed cubic B-spline through the points: (before + 4 here + after) / 6 = point."""
    count = len(points)
    system = 4 * np.eye(count) + np.roll(np.eye(count), 1, axis=1) + np.roll(np.eye(count), -1, axis=1)
    return np.array(np.linalg.solve(system / 6, points), dtype=np.float64)
