"""The independent candidates: the same object, made in every respect otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, UsdGeom, UsdShade, UsdSkel

from tests.examples.oracle import CASES, candidate, meshes, opened, pixels, reference, rig_points

PATHS = [path for case in CASES for path in (reference(case), candidate(case, "independent"))]


@pytest.mark.parametrize("case", CASES)
def test_same_bounds_in_metres(case: str) -> None:
    original, other = rig_points(reference(case)), rig_points(candidate(case, "independent"))
    tolerance = 0.01 * np.ptp(original, axis=0).max() / 2
    assert np.abs(original.min(0) - other.min(0)).max() < tolerance
    assert np.abs(original.max(0) - other.max(0)).max() < tolerance


@pytest.mark.parametrize("case", CASES)
def test_every_part_stands_in_the_same_place(case: str) -> None:
    # Bounds would not notice a thing turned about: here every cell that one occupies, the other has nearby.
    original, other = rig_points(reference(case)), rig_points(candidate(case, "independent"))
    cell = 0.09 * np.ptp(original, axis=0).max()
    for points, against in ((original, other), (other, original)):
        occupied = {tuple(one) for one in np.floor(against / cell).astype(int)}
        near = {
            (x + a, y + b, z + c) for x, y, z in occupied for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)
        }
        assert {tuple(one) for one in np.floor(points / cell).astype(int)} <= near


@pytest.mark.parametrize("case", CASES)
def test_other_units_and_another_axis(case: str) -> None:
    original, other = opened(reference(case)), opened(candidate(case, "independent"))
    assert (UsdGeom.GetStageUpAxis(original), UsdGeom.GetStageMetersPerUnit(original)) == ("Y", 1.0)
    assert UsdGeom.GetStageUpAxis(other) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(other) in (0.01, 0.001)


@pytest.mark.parametrize("case", CASES)
def test_no_prim_has_the_same_name(case: str) -> None:
    original, other = (
        {prim.GetName() for prim in opened(path).TraverseAll()}
        for path in (reference(case), candidate(case, "independent"))
    )
    assert original.isdisjoint(other)


@pytest.mark.parametrize("case", CASES)
def test_other_meshes_and_another_tessellation(case: str) -> None:
    original, other = meshes(reference(case)), meshes(candidate(case, "independent"))
    assert len(other) < len(original) / 3
    sizes = [[int(n) for mesh in one for n in mesh.GetFaceVertexCountsAttr().Get()] for one in (original, other)]
    assert np.mean(np.array(sizes[0]) == 4) > 0.5
    assert np.mean(np.array(sizes[1]) == 3) > 0.5
    counts = [sorted(len(mesh.GetPointsAttr().Get()) for mesh in one) for one in (original, other)]
    assert set(counts[0]).isdisjoint(counts[1])


@pytest.mark.parametrize("case", CASES)
def test_the_same_materials_by_value(case: str) -> None:
    def values(path: Path) -> set[tuple[object, ...]]:
        found = set()
        for prim in opened(path).Traverse():
            if prim.IsA(UsdShade.Shader) and UsdShade.Shader(prim).GetShaderId() == "UsdPreviewSurface":
                shader = UsdShade.Shader(prim)
                inputs = [shader.GetInput(name) for name in ("diffuseColor", "metallic", "roughness")]
                sources = [one.GetValueProducingAttributes() for one in inputs]
                read = [source[0].Get() if source else None for source in sources]
                found.add(tuple(tuple(one) if isinstance(one, Gf.Vec3f) else one for one in read))
        return found

    original = values(reference(case))
    assert original == values(candidate(case, "independent"))
    assert len(original) >= 4


def test_the_sheet_of_the_crate_is_the_same_picture_turned() -> None:
    original, other = pixels(reference("crate")), pixels(candidate("crate", "independent"))
    assert np.array_equal(np.rot90(original), other)


def test_each_structure_is_its_own() -> None:
    stages = {case: opened(candidate(case, "independent")) for case in CASES}
    assert any(prim.IsInstance() for prim in stages["abacus"].Traverse())
    assert any(prim.IsA(UsdGeom.PointInstancer) for prim in opened(reference("abacus")).Traverse())
    assert any(prim.IsA(UsdSkel.Root) for prim in stages["desk-lamp"].Traverse())
    assert not any(prim.IsA(UsdSkel.Root) for prim in opened(reference("desk-lamp")).Traverse())
    subsets = [prim for prim in stages["gearbox"].Traverse() if prim.IsA(UsdGeom.Subset)]
    assert len(subsets) >= 8
    schemes = {
        mesh.GetSubdivisionSchemeAttr().Get() for case in CASES for mesh in meshes(candidate(case, "independent"))
    }
    assert schemes == {"none", "loop", "catmullClark"}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_faces_look_outwards_as_their_normals_do(path: Path) -> None:
    checked = 0
    for mesh in meshes(path):
        points = np.array(mesh.GetPointsAttr().Get(), dtype=np.float64)
        counts = np.array(mesh.GetFaceVertexCountsAttr().Get())
        corners = np.array(mesh.GetFaceVertexIndicesAttr().Get())
        assert mesh.GetSubdivisionSchemeAttr().HasAuthoredValue()
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        following = np.arange(len(corners)) + 1
        following[starts + counts - 1] = starts
        areas = np.add.reduceat(np.cross(points[corners], points[corners[following]]), starts) / 2
        # Volume enclosed, from a point inside: more than nothing if the shell is turned the right way.
        middles = np.add.reduceat(points[corners], starts) / counts[:, None]
        assert ((middles - points.mean(0)) * areas).sum() > 0
        primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")
        if primvar:
            normals = np.array(primvar.ComputeFlattened(), dtype=np.float64)
        elif mesh.GetNormalsAttr().HasAuthoredValue():
            normals = np.array(mesh.GetNormalsAttr().Get(), dtype=np.float64)[corners]
        else:
            assert mesh.GetSubdivisionSchemeAttr().Get() != "none"
            continue
        assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < 0.01
        facing = (np.add.reduceat(normals, starts) * areas).sum(1)
        # Slivers where fillets meet may face anywhere; anything larger may not.
        large = np.linalg.norm(areas, axis=1) > 1e-6 * np.linalg.norm(areas, axis=1).sum()
        assert (facing[large] > 0).all()
        checked += len(areas)
    assert checked > 0 or all(mesh.GetSubdivisionSchemeAttr().Get() == "loop" for mesh in meshes(path))


def test_the_skinned_lamp_is_posed() -> None:
    # Bound straight up, it is taller than in its pose by far: without the skeleton it would be another lamp.
    path = candidate("desk-lamp", "independent")
    (mesh,) = meshes(path)
    bound = np.ptp(np.array(mesh.GetPointsAttr().Get())[:, 2]) * 0.001
    posed = np.ptp(rig_points(path)[:, 1])
    assert bound > 1.1 * posed
