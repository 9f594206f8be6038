"""True bounds, measured from the points themselves and never from an authored extent.

``default`` and ``render`` purposes, visible prims, at the profile's time code; instances, point
instancers and skinning are counted; points that are NaN or infinite are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Usd, UsdGeom, UsdSkel

from renderer.errors import AssetError
from renderer.protocol import Budget

Box = NDArray[np.float64]
"""Shape (2, 3): minimum and maximum."""

_PURPOSES = (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
_PREDICATE = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
_MAX_INSTANCER_DEPTH = 16


@dataclass
class Measured:
    """What was found; sizes in the units of the frame asked for."""

    box: Box | None
    meshes: int = 0
    points: int = 0


def _matrix(matrix: Gf.Matrix4d) -> NDArray[np.float64]:
    return np.array(matrix, dtype=np.float64)


def _corners(box: Box) -> NDArray[np.float64]:
    return np.array([[box[i, 0], box[j, 1], box[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def _box(points: NDArray[np.float64], matrix: NDArray[np.float64]) -> Box | None:
    with np.errstate(all="ignore"):
        moved = points @ matrix[:3, :3] + matrix[3, :3]
    moved = moved[np.isfinite(moved).all(1)]
    return np.array([moved.min(0), moved.max(0)]) if len(moved) else None


def _union(one: Box | None, other: Box | None) -> Box | None:
    if one is None or other is None:
        return other if one is None else one
    return np.array([np.minimum(one[0], other[0]), np.maximum(one[1], other[1])])


class _Ruler:
    def __init__(self, stage: Usd.Stage, time: Usd.TimeCode, budget: Budget) -> None:
        self.stage, self.time, self.budget = stage, time, budget
        self.xforms = UsdGeom.XformCache(time)
        self.skel = UsdSkel.Cache()
        self.skinned: dict[str, tuple[UsdSkel.SkinningQuery, UsdSkel.SkeletonQuery]] = {}
        self.result = Measured(None)

    def walk(self, root: Usd.Prim, to_frame: NDArray[np.float64], depth: int = 0, hidden: bool = True) -> Box | None:
        """Union of everything drawn below ``root``; ``to_frame`` maps world space to the frame."""
        total: Box | None = None
        prims = Usd.PrimRange(root, _PREDICATE)
        iterator = iter(prims)
        for prim in iterator:
            if prim.IsA(UsdSkel.Root):
                self._bind(UsdSkel.Root(prim))
            if not prim.IsA(UsdGeom.Imageable):
                continue
            if hidden and UsdGeom.Imageable(prim).ComputeVisibility(self.time) == UsdGeom.Tokens.invisible:
                iterator.PruneChildren()
                continue
            if not prim.IsA(UsdGeom.Boundable):
                continue
            if UsdGeom.Imageable(prim).ComputePurpose() not in _PURPOSES:
                continue
            if prim.IsA(UsdGeom.PointInstancer):
                iterator.PruneChildren()
                total = _union(total, self._instancer(UsdGeom.PointInstancer(prim), to_frame, depth))
            elif prim.IsA(UsdGeom.Gprim):
                total = _union(total, self._gprim(prim, to_frame))
        return total

    def _bind(self, root: UsdSkel.Root) -> None:
        self.skel.Populate(root, _PREDICATE)
        for binding in self.skel.ComputeSkelBindings(root, _PREDICATE):
            skeleton = self.skel.GetSkelQuery(binding.GetSkeleton())
            for target in binding.GetSkinningTargets():
                self.skinned[str(target.GetPrim().GetPath())] = (target, skeleton)

    def _gprim(self, prim: Usd.Prim, to_frame: NDArray[np.float64]) -> Box | None:
        world = _matrix(self.xforms.GetLocalToWorldTransform(prim))
        self.result.meshes += bool(prim.IsA(UsdGeom.Mesh))
        if not prim.IsA(UsdGeom.PointBased):
            extent = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), self.time)
            if extent is None or len(extent) != 2:
                return None
            return _box(_corners(np.array(extent, dtype=np.float64)), world @ to_frame)
        points = UsdGeom.PointBased(prim).GetPointsAttr().Get(self.time)
        if points is None or not len(points):
            return None
        self.result.points += len(points)
        if self.result.points > self.budget.max_points:
            raise AssetError(
                "too_many_points",
                f"The geometry has more than {self.budget.max_points:,} points.",
                "Decimate or instance the geometry.",
            )
        if str(prim.GetPath()) in self.skinned:
            query, skeleton = self.skinned[str(prim.GetPath())]
            transforms = skeleton.ComputeSkinningTransforms(self.time)
            if transforms and query.ComputeSkinnedPoints(transforms, points, self.time):
                world = _matrix(self.xforms.GetLocalToWorldTransform(skeleton.GetPrim()))
        array = np.array(points, dtype=np.float64)
        box = _box(array, world @ to_frame)
        if box is not None and prim.IsA(UsdGeom.Curves):
            widths = UsdGeom.Curves(prim).GetWidthsAttr().Get(self.time)
            if widths is not None and len(widths):
                scale = float(np.linalg.norm((world @ to_frame)[:3, :3], axis=1).max())
                half = float(np.nanmax(np.array(widths, dtype=np.float64))) * scale / 2
                box = box + np.array([[-half] * 3, [half] * 3])
        return box

    def _instancer(self, instancer: UsdGeom.PointInstancer, to_frame: NDArray[np.float64], depth: int) -> Box | None:
        if depth > _MAX_INSTANCER_DEPTH:
            raise AssetError(
                "too_deep", "Point instancers are nested too deeply.", "Flatten the nesting of point instancers."
            )
        targets = list(instancer.GetPrototypesRel().GetForwardedTargets())
        indices = np.array(instancer.GetProtoIndicesAttr().Get(self.time) or [], dtype=np.int64)
        transforms = instancer.ComputeInstanceTransformsAtTime(
            self.time, self.time, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
        mask = instancer.ComputeMaskAtTime(self.time)
        if len(transforms) != len(indices):
            return None
        matrices = np.array([_matrix(one) for one in transforms], dtype=np.float64).reshape(-1, 4, 4)
        keep = np.array(mask, dtype=bool) if mask else np.ones(len(indices), dtype=bool)
        world = _matrix(self.xforms.GetLocalToWorldTransform(instancer.GetPrim())) @ to_frame
        total: Box | None = None
        for index, target in enumerate(targets):
            prototype = self.stage.GetPrimAtPath(target)
            chosen = matrices[(indices == index) & keep]
            if not prototype or not len(chosen):
                continue
            inverse = _matrix(self.xforms.GetLocalToWorldTransform(prototype).GetInverse())
            local = self.walk(prototype, inverse, depth + 1)
            if local is not None:
                for matrix in chosen @ world:
                    total = _union(total, _box(_corners(local), matrix))
        return total


def measure(stage: Usd.Stage, time: Usd.TimeCode, to_rig: Gf.Matrix4d, budget: Budget) -> Measured:
    """Bounds of all that is drawn, carried by ``to_rig``; ``box`` is None where nothing is.

    Raises :class:`AssetError` over the budget of points.
    """
    ruler = _Ruler(stage, time, budget)
    ruler.result.box = ruler.walk(stage.GetPseudoRoot(), _matrix(to_rig))
    return ruler.result
