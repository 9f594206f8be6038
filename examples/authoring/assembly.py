"""Writes a drawing as the reference does: metres, Y up, one prim a part, quads, instances where parts repeat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pxr import Gf, Kind, Sdf, Usd, UsdGeom, UsdShade, Vt

from examples.authoring import quads
from examples.authoring.drawing import Drawing, Node, Paint

SHEET = "textures/planks.png"


def write(drawing: Drawing, path: Path) -> None:
    """Writes the drawing as one layer; the suffix of ``path`` chooses text or crate."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    writer = _Writer(stage, drawing)
    root = writer.node(drawing.root, Sdf.Path.absoluteRootPath)
    Usd.ModelAPI(root).SetKind(Kind.Tokens.component)
    stage.SetDefaultPrim(root)
    save(stage, path)


def save(stage: Usd.Stage, path: Path) -> None:
    """Exports the root layer. Raises :class:`OSError` where that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not stage.GetRootLayer().Export(str(path)):
        raise OSError(f"cannot write {path}")


def vec3f(values: Sequence[Sequence[float]], digits: int) -> Vt.Vec3fArray:
    """Rounded, so that the last bit of a sine does not reach the file."""
    return Vt.Vec3fArray([Gf.Vec3f(*(round(float(value), digits) + 0.0 for value in one)) for one in values])


def vec2f(values: Sequence[Sequence[float]], digits: int) -> Vt.Vec2fArray:
    """As :func:`vec3f`."""
    return Vt.Vec2fArray([Gf.Vec2f(*(round(float(value), digits) + 0.0 for value in one)) for one in values])


class _Writer:
    def __init__(self, stage: Usd.Stage, drawing: Drawing) -> None:
        self.stage = stage
        self.looks = Sdf.Path(f"/{drawing.root.name}/Looks")
        self.paints = drawing.paints
        self.known: set[str] = set()

    def node(self, node: Node, parent: Sdf.Path) -> Usd.Prim:
        """Writes one node and what is below it."""
        path = parent.AppendChild(node.name)
        if node.places:
            return self._scattered(node, path)
        if node.prototype:
            return self._instance(node, path)
        prim = self._geometry(node, path)
        self._place(UsdGeom.Xformable(prim), node)
        self._paint(prim, node.paint)
        if parent == Sdf.Path.absoluteRootPath:
            self._looks()
        for child in node.children:
            self.node(child, path)
        return prim

    def _geometry(self, node: Node, path: Sdf.Path) -> Usd.Prim:
        if node.solid is None:
            return UsdGeom.Xform.Define(self.stage, path).GetPrim()
        built = quads.build(node.solid)
        mesh = UsdGeom.Mesh.Define(self.stage, path)
        points = vec3f(built.points, 6)
        mesh.CreatePointsAttr(points)
        mesh.CreateFaceVertexCountsAttr(built.counts)
        mesh.CreateFaceVertexIndicesAttr(built.indices)
        mesh.CreateNormalsAttr(vec3f(built.normals, 4))
        mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(points))
        if built.st:
            st = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, "vertex")
            st.Set(vec2f(built.st, 5))
        return mesh.GetPrim()

    def _place(self, prim: UsdGeom.Xformable, node: Node) -> None:
        if any(node.translate):
            prim.AddTranslateOp().Set(Gf.Vec3d(*(round(value, 6) for value in node.translate)))
        if any(node.rotate):
            prim.AddRotateXYZOp().Set(Gf.Vec3f(*node.rotate))
        if node.scale != 1.0:
            prim.AddScaleOp().Set(Gf.Vec3f(node.scale))

    def _instance(self, node: Node, path: Sdf.Path) -> Usd.Prim:
        prototype = self._prototype(node)
        prim = self.stage.DefinePrim(path, "Xform")
        prim.GetInherits().AddInherit(prototype)
        prim.SetInstanceable(True)
        self._place(UsdGeom.Xformable(prim), node)
        self._paint(prim, node.paint)
        return prim

    def _prototype(self, node: Node) -> Sdf.Path:
        """The class that equal parts inherit: their shape without place and paint."""
        name = f"_{node.prototype}"
        path = Sdf.Path(f"/{name}")
        if name not in self.known:
            self.known.add(name)
            self.stage.CreateClassPrim(path)
            if node.solid is not None:
                self._geometry(Node("Shape", node.solid), path.AppendChild("Shape"))
            for child in node.children:
                self.node(child, path)
        return path

    def _scattered(self, node: Node, path: Sdf.Path) -> Usd.Prim:
        instancer = UsdGeom.PointInstancer.Define(self.stage, path)
        prototype = path.AppendChild("Prototype")
        self.stage.DefinePrim(prototype, "Xform").GetInherits().AddInherit(self._prototype(node))
        instancer.CreatePrototypesRel().SetTargets([prototype])
        instancer.CreateProtoIndicesAttr([0] * len(node.places))
        instancer.CreatePositionsAttr(vec3f(node.places, 6))
        self._place(UsdGeom.Xformable(instancer), node)
        self._paint(instancer.GetPrim(), node.paint)
        corners = np.array(quads.build(node.solid).points) if node.solid else np.zeros((1, 3))
        reach = [np.array(place) + corner for place in node.places for corner in (corners.min(0), corners.max(0))]
        instancer.CreateExtentAttr(vec3f([np.min(reach, axis=0), np.max(reach, axis=0)], 6))
        return instancer.GetPrim()

    def _paint(self, prim: Usd.Prim, paint: str | None) -> None:
        if paint is not None:
            material = UsdShade.Material.Get(self.stage, self.looks.AppendChild(paint))
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(
                material or UsdShade.Material.Define(self.stage, self.looks.AppendChild(paint))
            )

    def _looks(self) -> None:
        UsdGeom.Scope.Define(self.stage, self.looks)
        for name, paint in self.paints.items():
            _material(self.stage, self.looks.AppendChild(name), paint)


def _material(stage: Usd.Stage, path: Sdf.Path, paint: Paint) -> None:
    material = UsdShade.Material.Define(stage, path)
    surface = UsdShade.Shader.Define(stage, path.AppendChild("Surface"))
    surface.CreateIdAttr("UsdPreviewSurface")
    colour = surface.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f)
    surface.CreateInput("metallic", Sdf.ValueTypeNames.Float).Set(paint.metallic)
    surface.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(paint.roughness)
    material.CreateSurfaceOutput().ConnectToSource(surface.CreateOutput("surface", Sdf.ValueTypeNames.Token))
    if not paint.textured:
        colour.Set(Gf.Vec3f(*paint.colour))
        return
    reader = UsdShade.Shader.Define(stage, path.AppendChild("Coordinates"))
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
    image = UsdShade.Shader.Define(stage, path.AppendChild("Planks"))
    image.CreateIdAttr("UsdUVTexture")
    image.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(SHEET)
    image.CreateInput("sourceColorSpace", Sdf.ValueTypeNames.Token).Set("sRGB")
    image.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(
        reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
    )
    colour.ConnectToSource(image.CreateOutput("rgb", Sdf.ValueTypeNames.Float3))
