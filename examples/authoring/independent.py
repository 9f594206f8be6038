"""The independent candidate of each case: another structure each time, from the tools of :mod:`remake`."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdSkel, Vt

from examples.authoring import sheet, subdivided
from examples.authoring.assembly import save
from examples.authoring.cases import abacus, crate, desk_lamp, gearbox
from examples.authoring.drawing import Matrix, Placed, find, flatten, local_matrix
from examples.authoring.remake import SHEET, bind, merge, new_stage, snake, split, write_materials, write_mesh


def write_gearbox(folder: Path) -> None:
    """Millimetres; two meshes, drive and reducer, with a subset a material."""
    drawing = gearbox.draw()
    stage, frame = new_stage("wgm_063", 0.001)
    materials = write_materials(stage, "/wgm_063/mtl", drawing.paints)
    UsdGeom.Xform.Define(stage, "/wgm_063/geo")
    parts = list(flatten(drawing.root))
    drive = [part for part in parts if part.path.startswith("/GearMotor/Motor/")]
    write_mesh(stage, "/wgm_063/geo/drive", merge(drive, frame), materials)
    write_mesh(stage, "/wgm_063/geo/reducer", merge([part for part in parts if part not in drive], frame), materials)
    save(stage, folder / "wgm_063.usd")


def write_crate(folder: Path) -> None:
    """Centimetres; a mesh a material, the sheet lying on its side in another file."""
    drawing = crate.draw()
    stage, frame = new_stage("shipping_box", 0.01)
    materials = write_materials(stage, "/shipping_box/shaders", drawing.paints)
    parts = list(flatten(drawing.root))
    for paint in drawing.paints:
        merged = merge([part for part in parts if part.paint == paint], frame)
        write_mesh(stage, f"/shipping_box/{snake(paint)}_geo", merged, materials)
    save(stage, folder / "shipping_box.usd")
    (folder / SHEET).parent.mkdir(parents=True, exist_ok=True)
    (folder / SHEET).write_bytes(sheet.png(sheet.turned()))


def write_abacus(folder: Path) -> None:
    """Centimetres; every bead a native instance of one subdivision surface, the rest one mesh of triangles."""
    drawing = abacus.draw()
    stage, frame = new_stage("counting_frame", 0.01)
    materials = write_materials(stage, "/counting_frame/mtl", drawing.paints)
    parts = list(flatten(drawing.root))
    beads = [part for part in parts if "/Beads/" in part.path]
    rest = [part for part in parts if "/Beads/" not in part.path]
    write_mesh(stage, "/counting_frame/stand", merge(rest, frame), materials)
    stage.CreateClassPrim("/_bead_master")
    subdivided.write_ring(stage, "/_bead_master/ball", abacus.bead(), 100.0)
    for number, part in enumerate(beads):
        prim = stage.DefinePrim(f"/counting_frame/beads_{snake(part.paint)}/bead_{number:03d}", "Xform")
        UsdGeom.Xform.Define(stage, prim.GetParent().GetPath())
        prim.GetReferences().AddInternalReference("/_bead_master")
        prim.SetInstanceable(True)
        at = part.matrix[3] @ frame
        UsdGeom.XformCommonAPI(prim).SetTranslate(Gf.Vec3d(*(round(float(value), 5) for value in at[:3])))
        bind(prim, materials[part.paint])
    save(stage, folder / "counting_frame.usda")


def write_desk_lamp(folder: Path) -> None:
    """Millimetres; a skinned mesh, bound straight up and posed by a skeleton."""
    drawing = desk_lamp.draw()
    stage, frame = new_stage("reading_light", 0.001)
    materials = write_materials(stage, "/reading_light/mtl", drawing.paints)
    root = UsdSkel.Root.Define(stage, "/reading_light/character")
    posed, bound, turns = _joints(frame)
    parts = list(flatten(drawing.root))
    owners = [_joint_of(part) for part in parts]
    straight = [
        Placed(part.path, part.solid, part.paint, part.matrix @ frame @ np.linalg.inv(posed[owner]) @ bound[owner])
        for part, owner in zip(parts, owners, strict=True)
    ]
    merged = split(merge(straight, np.eye(4)))
    mesh = write_mesh(stage, "/reading_light/character/body", merged, materials)
    # Skinned meshes lose their normals in Hydra and get new ones, smooth over every shared point
    # of a subdivision surface.
    UsdGeom.PrimvarsAPI(mesh).RemovePrimvar("normals")
    mesh.GetSubdivisionSchemeAttr().Set(UsdGeom.Tokens.loop)
    skeleton = UsdSkel.Skeleton.Define(stage, "/reading_light/character/rig")
    names = ["/".join(("foot", "shin", "thigh", "hood")[: i + 1]) for i in range(4)]
    skeleton.CreateJointsAttr(names)
    skeleton.CreateBindTransformsAttr(Vt.Matrix4dArray([_gf(matrix) for matrix in bound]))
    rest = [bound[0], *(bound[i] @ np.linalg.inv(bound[i - 1]) for i in range(1, 4))]
    skeleton.CreateRestTransformsAttr(Vt.Matrix4dArray([_gf(matrix) for matrix in rest]))
    pose = UsdSkel.Animation.Define(stage, "/reading_light/character/rig/reading_pose")
    pose.CreateJointsAttr(names)
    pose.CreateTranslationsAttr(
        Vt.Vec3fArray([Gf.Vec3f(*(round(float(v), 4) for v in matrix[3, :3])) for matrix in rest])
    )
    # The drawing's Z points along -Y here, so a turn about the one is the contrary turn about the other.
    halves = [math.radians(turn) / 2 for turn in turns]
    pose.CreateRotationsAttr(
        Vt.QuatfArray([Gf.Quatf(round(math.cos(half), 7), 0, -round(math.sin(half), 7), 0) for half in halves])
    )
    pose.CreateScalesAttr(Vt.Vec3hArray([Gf.Vec3h(1)] * 4))
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([pose.GetPath()])
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    binding.CreateJointIndicesPrimvar(False, 1).Set(Vt.IntArray([owners[number] for number in merged.owner]))
    binding.CreateJointWeightsPrimvar(False, 1).Set(Vt.FloatArray([1.0] * len(merged.owner)))
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1))
    _extent(root)
    save(stage, folder / "reading_light.usdc")


def _extent(root: UsdSkel.Root) -> None:
    """The skinned bounds, for whoever culls by them."""
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(root, Usd.TimeCode.Default())
    if extent is None:
        raise ValueError("the skeleton has no extent")
    root.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(*(round(v, 3) for v in corner)) for corner in extent]))


def _joints(frame: Matrix) -> tuple[list[Matrix], list[Matrix], list[float]]:
    """For each joint: its matrix in the pose, its matrix standing straight, and its turn in degrees."""
    drawing = desk_lamp.draw()
    posed: list[Matrix] = []
    straight: list[Matrix] = []
    turns: list[float] = []
    pose = upright = np.eye(4)
    for path in desk_lamp.JOINTS:
        node = find(drawing.root, path)
        pose = local_matrix(node) @ pose
        upright = upright.copy()
        upright[3, :3] += node.translate
        for matrices, matrix in ((posed, pose), (straight, upright)):
            turned = np.linalg.inv(frame) @ matrix @ frame
            matrices.append(turned)
        turns.append(node.rotate[2])
    return posed, straight, turns


def _joint_of(part: Placed) -> int:
    """The last joint on the way to a part."""
    path = part.path.partition("/")[2].partition("/")[2]
    return max(i for i, joint in enumerate(desk_lamp.JOINTS) if path.startswith(f"{joint}/"))


def _gf(matrix: Matrix) -> Gf.Matrix4d:
    return Gf.Matrix4d(*(round(float(value), 7) + 0.0 for value in matrix.flatten()))


WRITERS = {"gearbox": write_gearbox, "crate": write_crate, "desk-lamp": write_desk_lamp, "abacus": write_abacus}
