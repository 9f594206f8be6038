"""True bounds and outline, measured from the points themselves and never from an authored extent.

``default`` and ``render`` purposes, visible prims, at the profile's time code; instances, point
instancers and skinning are counted; points that are NaN or infinite are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdSkel

from renderer.errors import AssetError, CaseError
from renderer.protocol import Budget

Points = NDArray[np.float64]
"""Shape (n, 3)."""

_PURPOSES = (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
_PREDICATE = Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)
_MAX_INSTANCER_DEPTH = 16
_CHUNK = 1 << 17


def _directions() -> Points:
    """Well spread unit vectors, the axes among them: a thing's outline is its outermost point along each."""
    turns = np.arange(90) + 0.5
    height, angle = 1 - 2 * turns / 90, np.pi * (1 + 5**0.5) * turns
    ring = np.sqrt(1 - height**2)
    spread = np.stack([ring * np.cos(angle), height, ring * np.sin(angle)], axis=1)
    return np.concatenate([np.eye(3), -np.eye(3), spread])


_DIRECTIONS = _directions()


@dataclass
class Measured:
    """What was found, in the frame asked for."""

    outline: Points | None
    """Outermost points of everything drawn, along fixed directions; None where nothing is drawn."""
    meshes: int = 0
    points: int = 0


def _matrix(matrix: Gf.Matrix4d) -> NDArray[np.float64]:
    return np.array(matrix, dtype=np.float64)


def _corners(low: Points, high: Points) -> Points:
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def _outline(points: Points, matrix: NDArray[np.float64]) -> Points | None:
    """The finite points that lie outermost along any of the directions, after ``matrix``."""
    kept: list[Points] = []
    for start in range(0, len(points), _CHUNK):
        with np.errstate(all="ignore"):
            moved = points[start : start + _CHUNK] @ matrix[:3, :3] + matrix[3, :3]
            moved = moved[np.isfinite(moved).all(1) & (np.abs(moved) < 1e30).all(1)]
        if len(moved) > len(_DIRECTIONS):
            moved = moved[np.unique((moved @ _DIRECTIONS.T).argmax(0))]
        kept.append(moved)
    return _union(*kept) if any(len(one) for one in kept) else None


def _union(*outlines: Points | None) -> Points | None:
    present = [one for one in outlines if one is not None and len(one)]
    if not present:
        return None
    points = np.concatenate(present)
    if len(points) > len(_DIRECTIONS):
        points = points[np.unique((points @ _DIRECTIONS.T).argmax(0))]
    return points


def _implicit(prim: Usd.Prim, low: Points, high: Points) -> Points:
    """Points around an implicit shape: a box's corners, or the round outline inscribed in them."""
    if not prim.IsA(UsdGeom.Sphere) and not prim.IsA(UsdGeom.Capsule):
        return _corners(low, high)
    radius = (high - low).min() / 2
    centre, half = (low + high) / 2, (high - low) / 2 - radius
    around: Points = centre + radius * _DIRECTIONS + half * np.sign(_DIRECTIONS)
    return around


class Ruler:
    """Measures one stage at one time, in the frame that ``to_rig`` maps the stage's world to."""

    def __init__(self, stage: Usd.Stage, time: Usd.TimeCode, to_rig: Gf.Matrix4d, budget: Budget) -> None:
        self.stage, self.time, self.budget = stage, time, budget
        self.to_rig = _matrix(to_rig)
        self.xforms = UsdGeom.XformCache(time)
        self.skel = UsdSkel.Cache()
        self.skinned: dict[str, tuple[UsdSkel.SkinningQuery, UsdSkel.SkeletonQuery]] = {}
        self.result = Measured(None)

    def measure(self) -> Measured:
        """Outline of all that is drawn. Raises :class:`AssetError` over the budget of points."""
        self.result = Measured(None)
        self.result.outline = self._walk(self.stage.GetPseudoRoot(), self.to_rig)
        return self.result

    def focus(self, path: str) -> Points:
        """Outline of one prim for a close-up. Raises :class:`CaseError` where there is nothing to see."""
        prim = self.stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path) else None
        outline = self._walk(prim, self.to_rig) if prim else None
        if outline is None:
            raise CaseError(
                "focus_prim_missing",
                f"The case's focus prim {path[:300]!r} is not in the reference, or shows nothing.",
                "Correct focus_prims in the case file.",
            )
        return outline

    def _walk(self, root: Usd.Prim, to_frame: NDArray[np.float64], depth: int = 0) -> Points | None:
        """Union of everything drawn below ``root``; ``to_frame`` maps world space to the frame."""
        total: Points | None = None
        prims = Usd.PrimRange(root, _PREDICATE)
        iterator = iter(prims)
        for prim in iterator:
            if prim.IsA(UsdSkel.Root):
                self._bind(UsdSkel.Root(prim))
            if not prim.IsA(UsdGeom.Imageable):
                continue
            if UsdGeom.Imageable(prim).ComputeVisibility(self.time) == UsdGeom.Tokens.invisible:
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

    def _gprim(self, prim: Usd.Prim, to_frame: NDArray[np.float64]) -> Points | None:
        world = _matrix(self.xforms.GetLocalToWorldTransform(prim))
        self.result.meshes += bool(prim.IsA(UsdGeom.Mesh))
        if not prim.IsA(UsdGeom.PointBased):
            extent = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), self.time)
            if extent is None or len(extent) != 2:
                return None
            low, high = np.array(extent, dtype=np.float64)
            return _outline(_implicit(prim, low, high), world @ to_frame)
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
        if prim.IsA(UsdGeom.Curves) or prim.IsA(UsdGeom.Points):
            widths = prim.GetAttribute("widths").Get(self.time)
            half = float(np.nanmax(np.array(widths, dtype=np.float64))) / 2 if widths else 0.0
            array = (array[:, None, :] + half * _corners(-np.ones(3), np.ones(3))[None]).reshape(-1, 3)
        return _outline(array, world @ to_frame)

    def _instancer(self, instancer: UsdGeom.PointInstancer, to_frame: NDArray[np.float64], depth: int) -> Points | None:
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
        total: Points | None = None
        for index, target in enumerate(targets):
            prototype = self.stage.GetPrimAtPath(target)
            chosen = matrices[(indices == index) & keep]
            if not prototype or not len(chosen):
                continue
            inverse = _matrix(self.xforms.GetLocalToWorldTransform(prototype).GetInverse())
            local = self._walk(prototype, inverse, depth + 1)
            if local is not None:
                for matrices_now in np.array_split(chosen @ world, max(1, len(chosen) * len(local) // _CHUNK)):
                    spread = local @ matrices_now[:, :3, :3] + matrices_now[:, None, 3, :3]
                    total = _union(total, _outline(spread.reshape(-1, 3), np.eye(4)))
        return total
