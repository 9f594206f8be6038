"""What usd-core says of a file: an oracle that shares no code with the authoring or with the renderer."""

from __future__ import annotations

import functools
import io
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdSkel

ROOT = Path(__file__).resolve().parents[2] / "examples"
CASES = ("abacus", "crate", "desk-lamp", "gearbox")
DAMAGES = ("part-missing", "part-moved", "wrong-colour", "wrong-size")
LAYERS = (".usd", ".usda", ".usdc", ".usdz")

Array = NDArray[np.float64]


def layer_of(folder: Path) -> Path:
    """The only layer of a folder."""
    (layer,) = [path for path in sorted(folder.iterdir()) if path.suffix in LAYERS]
    return layer


def reference(case: str) -> Path:
    """The reference's root layer."""
    return layer_of(ROOT / case / "reference")


def candidate(case: str, name: str) -> Path:
    """A candidate's root layer."""
    return layer_of(ROOT / case / "candidates" / name)


@functools.cache
def opened(path: Path) -> Usd.Stage:
    """A stage that composes without an error; kept, because prims do not keep their stage alive."""
    stage = Usd.Stage.Open(str(path))
    assert not stage.GetCompositionErrors()
    return stage


def pixels(path: Path) -> Array:
    """The one texture of a package or folder, shape (height, width, 3)."""
    if path.suffix == ".usdz":
        with zipfile.ZipFile(path) as package:
            (name,) = [one for one in package.namelist() if one.endswith(".png")]
            data = package.read(name)
    else:
        (picture,) = path.parent.rglob("*.png")
        data = picture.read_bytes()
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.float64)


def properties(path: Path) -> dict[str, object]:
    """Every property of the root layer by path: its default value, or its targets."""
    layer = Sdf.Layer.FindOrOpen(str(path))
    found: dict[str, object] = {}

    def visit(spec_path: Sdf.Path) -> None:
        spec = layer.GetObjectAtPath(spec_path)
        if isinstance(spec, Sdf.AttributeSpec):
            found[str(spec_path)] = spec.default
        elif isinstance(spec, Sdf.RelationshipSpec):
            found[str(spec_path)] = tuple(spec.targetPathList.GetAddedOrExplicitItems())

    layer.Traverse(Sdf.Path.absoluteRootPath, visit)
    return found


def baked(path: Path) -> Usd.Stage:
    """The stage with every skinned mesh posed."""
    stage = Usd.Stage.Open(str(path))
    stage.SetEditTarget(stage.GetSessionLayer())
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root):
            assert UsdSkel.BakeSkinning(UsdSkel.Root(prim), Gf.Interval.GetFullInterval())
    return stage


def rig_points(path: Path) -> Array:
    """Every drawn point in metres, +Y up, shape (n, 3)."""
    stage = baked(path)
    cache = UsdGeom.XformCache()
    found: list[Array] = []

    def gather(root: Usd.Prim, to_world: Array) -> None:
        walk = iter(Usd.PrimRange(root, Usd.TraverseInstanceProxies()))
        for prim in walk:
            world = np.array(cache.GetLocalToWorldTransform(prim)) @ to_world
            if prim.IsA(UsdGeom.PointInstancer):
                walk.PruneChildren()
                instancer = UsdGeom.PointInstancer(prim)
                (target,) = instancer.GetPrototypesRel().GetTargets()
                prototype = stage.GetPrimAtPath(target)
                back = np.linalg.inv(np.array(cache.GetLocalToWorldTransform(prototype)))
                now = Usd.TimeCode.Default()
                for one in instancer.ComputeInstanceTransformsAtTime(now, now):
                    gather(prototype, back @ np.array(one) @ world)
            elif prim.IsA(UsdGeom.Mesh):
                points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(), dtype=np.float64)
                found.append(points @ world[:3, :3] + world[3, :3])

    gather(stage.GetPseudoRoot(), np.eye(4))
    points: Array = np.concatenate(found) * UsdGeom.GetStageMetersPerUnit(stage)
    if UsdGeom.GetStageUpAxis(stage) == UsdGeom.Tokens.z:
        points = points[:, [0, 2, 1]] * [1, 1, -1]
    return points


def meshes(path: Path) -> list[UsdGeom.Mesh]:
    """Every mesh that is written down, those of classes too, each once."""
    return [UsdGeom.Mesh(prim) for prim in opened(path).TraverseAll() if prim.IsA(UsdGeom.Mesh)]
