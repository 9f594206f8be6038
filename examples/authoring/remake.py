"""Writes a drawing as somebody else would have made it: Z up, other units, merged or skinned or subdivided meshes.

Geometry comes from :mod:`examples.authoring.triangles`; prims, names and materials share nothing with the reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, Vt

from examples.authoring import triangles
from examples.authoring.assembly import vec2f, vec3f
from examples.authoring.drawing import Matrix, Paint, Placed
from examples.authoring.triangles import Soup

SHEET = "maps/wood_grain.png"


@dataclass
class Merged:
    """Several solids in one mesh, and which of its triangles wear which paint."""

    soup: Soup = field(default_factory=Soup)
    faces: dict[str, list[int]] = field(default_factory=dict)
    owner: list[int] = field(default_factory=list)
    """For each point, the number of the solid that it came with."""


def new_stage(name: str, metres_per_unit: float) -> tuple[Usd.Stage, Matrix]:
    """A Z-up stage with a root prim, and the matrix that leads there from the drawing's frame."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, metres_per_unit)
    root = UsdGeom.Xform.Define(stage, f"/{name}")
    stage.SetDefaultPrim(root.GetPrim())
    # What points up along Y in the drawing points up along Z here, and its front (+Z) faces -Y.
    turn = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 0]], dtype=np.float64) / metres_per_unit
    turn[3, 3] = 1
    return stage, turn


def merge(parts: Iterable[Placed], frame: Matrix) -> Merged:
    """All the parts as one, in the frame of the new stage."""
    merged = Merged()
    for number, part in enumerate(parts):
        soup = triangles.build(part.solid).moved(part.matrix @ frame)
        start, first = len(merged.soup.points), len(merged.soup.triangles)
        merged.soup.points += soup.points
        merged.soup.triangles += [(a + start, b + start, c + start) for a, b, c in soup.triangles]
        merged.soup.normals += soup.normals
        merged.soup.st += soup.st or [((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))] * len(soup.triangles)
        merged.owner += [number] * len(soup.points)
        merged.faces.setdefault(part.paint, []).extend(range(first, first + len(soup.triangles)))
    return merged


def split(merged: Merged) -> Merged:
    """The same with points doubled along sharp edges, so that faces share a point only where they share its normal."""
    known: dict[tuple[int, tuple[float, ...]], int] = {}
    result = Merged(Soup(normals=merged.soup.normals, st=merged.soup.st), merged.faces)
    for triangle, normals in zip(merged.soup.triangles, merged.soup.normals, strict=True):
        corners = []
        for index, normal in zip(triangle, normals, strict=True):
            key = index, tuple(np.round(normal, 2) + 0.0)
            if key not in known:
                known[key] = len(known)
                result.soup.points.append(merged.soup.points[index])
                result.owner.append(merged.owner[index])
            corners.append(known[key])
        result.soup.triangles.append((corners[0], corners[1], corners[2]))
    return result


def write_mesh(stage: Usd.Stage, path: str, merged: Merged, materials: dict[str, UsdShade.Material]) -> UsdGeom.Mesh:
    """One mesh of triangles with a normal a corner, and a subset a paint where there are several."""
    soup = merged.soup
    mesh = UsdGeom.Mesh.Define(stage, path)
    points = vec3f([list(point) for point in soup.points], 4)
    mesh.CreatePointsAttr(points)
    mesh.CreateFaceVertexCountsAttr([3] * len(soup.triangles))
    mesh.CreateFaceVertexIndicesAttr([index for triangle in soup.triangles for index in triangle])
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(points))
    primvars = UsdGeom.PrimvarsAPI(mesh)
    corners = [tuple(round(float(v), 3) + 0.0 for v in normal) for three in soup.normals for normal in three]
    unique = {value: at for at, value in enumerate(dict.fromkeys(corners))}
    normals = primvars.CreatePrimvar("normals", Sdf.ValueTypeNames.Normal3fArray, UsdGeom.Tokens.faceVarying)
    normals.Set(vec3f(list(unique), 3))
    normals.SetIndices(Vt.IntArray([unique[value] for value in corners]))
    if any(pair != (0.0, 0.0) for three in soup.st for pair in three):
        sheet = [(round(1 - v, 5), round(u, 5)) for three in soup.st for u, v in three]
        spread = {value: at for at, value in enumerate(dict.fromkeys(sheet))}
        st = primvars.CreatePrimvar("map1", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying)
        st.Set(vec2f(list(spread), 5))
        st.SetIndices(Vt.IntArray([spread[value] for value in sheet]))
    if len(merged.faces) == 1:
        bind(mesh.GetPrim(), materials[next(iter(merged.faces))])
        return mesh
    for paint, faces in merged.faces.items():
        subset = UsdShade.MaterialBindingAPI(mesh).CreateMaterialBindSubset(f"{snake(paint)}_faces", Vt.IntArray(faces))
        bind(subset.GetPrim(), materials[paint])
    UsdShade.MaterialBindingAPI(mesh).SetMaterialBindSubsetsFamilyType(UsdGeom.Tokens.partition)
    return mesh


def bind(prim: Usd.Prim, material: UsdShade.Material) -> None:
    """Binds for all purposes."""
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)


def snake(name: str) -> str:
    """SignalYellow becomes signal_yellow."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def write_materials(stage: Usd.Stage, scope: str, paints: dict[str, Paint]) -> dict[str, UsdShade.Material]:
    """Materials that offer their values as inputs of their own; the surface is connected to those."""
    UsdGeom.Scope.Define(stage, scope)
    found = {}
    for name, paint in paints.items():
        material = UsdShade.Material.Define(stage, f"{scope}/{snake(name)}_mtl")
        shader = UsdShade.Shader.Define(stage, material.GetPath().AppendChild("preview"))
        shader.CreateIdAttr("UsdPreviewSurface")
        values = {"roughness": paint.roughness, "metallic": paint.metallic}
        for key, value in values.items():
            offered = material.CreateInput(key, Sdf.ValueTypeNames.Float)
            offered.Set(value)
            shader.CreateInput(key, Sdf.ValueTypeNames.Float).ConnectToSource(offered)
        colour = shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f)
        if paint.textured:
            colour.ConnectToSource(_texture(stage, material))
        else:
            tint = material.CreateInput("tint", Sdf.ValueTypeNames.Color3f)
            tint.Set(Gf.Vec3f(*paint.colour))
            colour.ConnectToSource(tint)
        material.CreateSurfaceOutput().ConnectToSource(shader.CreateOutput("surface", Sdf.ValueTypeNames.Token))
        found[name] = material
    return found


def _texture(stage: Usd.Stage, material: UsdShade.Material) -> UsdShade.Output:
    path = material.GetPath()
    where = material.CreateInput("map", Sdf.ValueTypeNames.Asset)
    where.Set(SHEET)
    reader = UsdShade.Shader.Define(stage, path.AppendChild("uv_reader"))
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("map1")
    image = UsdShade.Shader.Define(stage, path.AppendChild("grain"))
    image.CreateIdAttr("UsdUVTexture")
    image.CreateInput("file", Sdf.ValueTypeNames.Asset).ConnectToSource(where)
    image.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set("sRGB")
    image.CreateInput("wrapS", Sdf.ValueTypeNames.Token).Set("clamp")
    image.CreateInput("wrapT", Sdf.ValueTypeNames.Token).Set("clamp")
    image.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(
        reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
    )
    return image.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
