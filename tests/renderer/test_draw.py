"""The real Storm: what a picture shows, and above all what a submission cannot make it show.

Each draw is a process of its own under the small test profile. Assets are authored here with usd-core, an
independent OpenUSD of another release.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdShade, UsdUtils, Vt

from tests.storm import Drawn, draw

pytestmark = pytest.mark.storm

GROUND = np.array([214, 221, 233])
RED, GREY = (0.8, 0.05, 0.05), (0.35, 0.35, 0.35)


def stage(up_axis: str = "Y", meters_per_unit: float = 1.0) -> Usd.Stage:
    made = Usd.Stage.CreateInMemory("a.usda")
    UsdGeom.SetStageUpAxis(made, up_axis)
    UsdGeom.SetStageMetersPerUnit(made, meters_per_unit)
    made.SetDefaultPrim(UsdGeom.Xform.Define(made, "/World").GetPrim())
    return made


def box(
    on: Usd.Stage, path: str, size: tuple[float, float, float], colour: tuple[float, float, float] = RED
) -> UsdGeom.Mesh:
    """A box mesh from the origin's corner to ``size``, in stage units, without an authored extent."""
    mesh = UsdGeom.Mesh.Define(on, path)
    x, y, z = size
    corners = [(0, 0, 0), (x, 0, 0), (x, y, 0), (0, y, 0), (0, 0, z), (x, 0, z), (x, y, z), (0, y, z)]
    mesh.CreatePointsAttr([Gf.Vec3f(*corner) for corner in corners])
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    faces = [0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4, 3, 7, 6, 2, 0, 4, 7, 3, 1, 2, 6, 5]
    mesh.CreateFaceVertexIndicesAttr(faces)
    mesh.CreateSubdivisionSchemeAttr("none")
    mesh.CreateDisplayColorAttr([Gf.Vec3f(*colour)])
    return mesh


def material(on: Usd.Stage, path: str, colour: tuple[float, float, float]) -> UsdShade.Material:
    made = UsdShade.Material.Define(on, path)
    shader = UsdShade.Shader.Define(on, f"{path}/Surface")
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(*colour))
    made.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    return made


def text(on: Usd.Stage) -> bytes:
    return str(on.GetRootLayer().ExportToString()).encode()


def draw_stage(on: Usd.Stage, **files: bytes) -> Drawn:
    return draw({"a.usda": text(on), **files}, "a.usda")


def post() -> Usd.Stage:
    """A red post, two metres high, that stands on a grey slab."""
    made = stage()
    box(made, "/World/Slab", (1.0, 0.2, 0.6), GREY)
    box(made, "/World/Post", (0.3, 2.0, 0.2))
    return made


@cache
def plain_post() -> Drawn:
    drawn = draw_stage(post())
    assert drawn.refused is None, drawn.refused
    return drawn


def same_picture(one: Drawn, other: Drawn, pass_names: tuple[str, ...] = ("beauty", "clay")) -> bool:
    views = [view for view in one.frames if view.split(".")[1] in pass_names]
    return bool(views) and all(np.array_equal(one.frames[view], other.frames[view]) for view in views)


def close_picture(one: Drawn, other: Drawn, pass_name: str = "") -> bool:
    views = [view for view in one.frames if view.endswith(pass_name)]
    return (
        bool(views)
        and one.frames.keys() == other.frames.keys()
        and all((np.abs(one.frames[view].astype(int) - other.frames[view]) > 2).mean() < 0.002 for view in views)
    )


def test_the_subject_is_framed_lit_and_coloured() -> None:
    drawn = plain_post()
    assert drawn.hello is not None
    assert (drawn.hello.renderer_id, drawn.hello.usd_version) == ("HdStormRendererPlugin", "0.26.3")
    assert list(drawn.frames) == ["front.beauty", "top.beauty", "front.clay", "top.clay"]
    beauty, clay = drawn.frames["front.beauty"].astype(int), drawn.frames["front.clay"].astype(int)
    assert (beauty[0, 0] == GROUND).all()
    subject = (np.abs(clay - GROUND) > 8).any(-1)
    assert abs(subject.mean() - drawn.coverage["front.clay"]) < 0.02
    rows, columns = np.nonzero(subject)
    assert rows.min() >= 8 and rows.max() <= 151 and (rows.max() - rows.min() > 120 or np.ptp(columns) > 120)
    red = (beauty[..., 0] > beauty[..., 1] + 60)[subject]
    assert 0.2 < red.mean() < 0.9
    inside = clay[subject]
    assert (np.abs(inside[:, 0] - inside[:, 1]) <= 8).mean() > 0.95, "clay is neutral, but for its soft edges"
    assert 40 < inside[:, 0].mean() < 215
    assert np.ptp(np.percentile(inside[:, 0], [5, 95])) > 15, "faces can be told apart"


def test_edges_are_soft() -> None:
    levels = {tuple(pixel) for pixel in plain_post().frames["front.clay"].reshape(-1, 3)}
    assert len(levels) > 20, "a staircase has a handful of colours"


def test_twice_the_same_bytes() -> None:
    again = draw_stage(post())
    assert same_picture(plain_post(), again)
    assert again.cameras == plain_post().cameras


def test_units_and_up_axis_follow_the_rig_and_not_the_asset() -> None:
    made = stage("Z", 0.01)
    # (x, y, z) of a Y-up stage is (x, -z, y) of a Z-up one.
    for path, size, colour in (("/World/S", (100, 60, 20), GREY), ("/World/P", (30, 20, 200), RED)):
        UsdGeom.XformCommonAPI(box(made, path, size, colour)).SetTranslate((0, -size[1], 0))
    drawn = draw({"z.usda": text(made)}, "z.usda", cameras=plain_post().cameras)
    assert drawn.facts is not None
    assert (drawn.facts.up_axis, drawn.facts.meters_per_unit) == ("Z", 0.01)
    assert np.allclose(drawn.facts.size_metres, (1.0, 2.0, 0.6), atol=1e-5)
    assert close_picture(plain_post(), drawn)


def test_wrong_units_look_wrong_under_the_references_cameras() -> None:
    made = post()
    UsdGeom.SetStageMetersPerUnit(made, 0.1)
    drawn = draw({"a.usda": text(made)}, "a.usda", cameras=plain_post().cameras)
    assert drawn.coverage["front.clay"] < plain_post().coverage["front.clay"] / 20


def _with(change: Callable[[Usd.Stage], object]) -> Drawn:
    made = post()
    change(made)
    drawn = draw({"a.usda": text(made)}, "a.usda", cameras=plain_post().cameras)
    assert drawn.refused is None, drawn.refused
    return drawn


def _lights(on: Usd.Stage) -> None:
    UsdLux.DistantLight.Define(on, "/World/Sun").CreateIntensityAttr(90000)
    UsdLux.SphereLight.Define(on, "/World/Lamp").CreateIntensityAttr(90000)
    UsdLux.DomeLight.Define(on, "/World/Sky").CreateIntensityAttr(50)
    UsdLux.MeshLightAPI.Apply(on.GetPrimAtPath("/World/Slab"))
    UsdGeom.Xform.Define(on, "/World/RenderJudgeRig")
    on.OverridePrim("/RenderJudgeRig")


def _instanced_light(on: Usd.Stage) -> None:
    UsdLux.DistantLight.Define(on, "/_Proto/Sun").CreateIntensityAttr(90000)
    on.GetPrimAtPath("/_Proto").SetSpecifier(Sdf.SpecifierClass)
    instance = UsdGeom.Xform.Define(on, "/World/Instance").GetPrim()
    instance.GetReferences().AddInternalReference("/_Proto")
    instance.SetInstanceable(True)


def _cameras_and_settings(on: Usd.Stage) -> None:
    UsdGeom.Camera.Define(on, "/World/Cam").CreateExposureAttr(8)
    settings = on.DefinePrim("/Render/Settings", "RenderSettings")
    settings.CreateAttribute("resolution", Sdf.ValueTypeNames.Int2).Set(Gf.Vec2i(8, 8))
    settings.CreateRelationship("camera").SetTargets(["/World/Cam"])
    on.SetMetadata("renderSettingsPrimPath", "/Render/Settings")


def _lying_extents(on: Usd.Stage) -> None:
    for name, reach in (("Slab", 1e-9), ("Post", 5000.0)):
        mesh = UsdGeom.Mesh.Get(on, f"/World/{name}")
        mesh.CreateExtentAttr(Vt.Vec3fArray([Gf.Vec3f(-reach), Gf.Vec3f(reach)]))
        mesh.GetExtentAttr().Set(Vt.Vec3fArray([Gf.Vec3f(90), Gf.Vec3f(91)]), 1.0)


def _draw_modes(on: Usd.Stage) -> None:
    prim = on.GetPrimAtPath("/World")
    Usd.ModelAPI(prim).SetKind("component")
    UsdGeom.ModelAPI.Apply(prim).CreateModelDrawModeAttr("bounds")


def _other_purposes(on: Usd.Stage) -> None:
    for purpose in ("proxy", "guide"):
        mesh = box(on, f"/World/{purpose}", (3, 3, 3), (0, 1, 0))
        mesh.CreatePurposeAttr(purpose)


def _invisible(on: Usd.Stage) -> None:
    box(on, "/World/Hidden", (3, 3, 3), (0, 1, 0)).MakeInvisible()


@pytest.mark.parametrize(
    "change",
    [_lights, _instanced_light, _cameras_and_settings, _lying_extents, _draw_modes, _other_purposes, _invisible],
    ids=lambda change: str(change.__name__).strip("_"),
)
def test_threat_2_and_16_it_changes_no_pixel(change: Callable[[Usd.Stage], object]) -> None:
    drawn = _with(change)
    assert same_picture(plain_post(), drawn)
    if "light" in change.__name__:
        assert "light_ignored" in drawn.codes


GLSL = """-- glslfx version 0.1
-- configuration
{"techniques":{"default":{"surfaceShader":{"source":["A"]}}}}
-- glsl A
vec4 surfaceShader(vec4 Peye, vec3 Neye, vec4 color, vec4 patchCoord) { return vec4(1,0,1,1); }
"""


def _glsl(on: Usd.Stage) -> None:
    made = UsdShade.Material.Define(on, "/World/Mat")
    shader = UsdShade.Shader.Define(on, "/World/Mat/Code")
    shader.SetSourceCode(GLSL, "glslfx")
    made.CreateSurfaceOutput().ConnectToSource(shader.CreateOutput("surface", Sdf.ValueTypeNames.Token))
    for name in ("Post", "Slab"):
        UsdShade.MaterialBindingAPI.Apply(on.GetPrimAtPath(f"/World/{name}")).Bind(made)


def test_threat_15_shader_code_of_its_own_is_not_run() -> None:
    """Storm would run this very file: it paints every pixel of the subject magenta."""
    drawn = _with(_glsl)
    assert "shader_code_ignored" in drawn.codes
    beauty = drawn.frames["front.beauty"].astype(int)
    assert not ((beauty[..., 0] > 200) & (beauty[..., 1] < 60) & (beauty[..., 2] > 200)).any()
    assert same_picture(plain_post(), drawn, ("clay",))


EVIL = b"""<?xml version="1.0"?><materialx version="1.39">
<nodedef name="ND_evil_color3" node="evil"><output name="out" type="color3"/></nodedef>
<implementation name="IM" nodedef="ND_evil_color3" target="genglsl" sourcecode="vec3(1,0,1)"/></materialx>"""


def test_threat_15_a_materialx_implementation_of_its_own_is_not_run() -> None:
    made = post()
    shader = UsdShade.Shader.Define(made, "/World/Mat/Code")
    shader.SetSourceAsset(Sdf.AssetPath("./evil.mtlx"), "mtlx")
    shader.SetSourceAssetSubIdentifier("ND_evil_color3", "mtlx")
    out = shader.CreateOutput("out", Sdf.ValueTypeNames.Color3f)
    unlit = UsdShade.Shader.Define(made, "/World/Mat/Unlit")
    unlit.CreateIdAttr("ND_surface_unlit")
    unlit.CreateInput("emission_color", Sdf.ValueTypeNames.Color3f).ConnectToSource(out)
    surface = unlit.CreateOutput("out", Sdf.ValueTypeNames.Token)
    painted = UsdShade.Material.Define(made, "/World/Mat")
    painted.CreateSurfaceOutput("mtlx").ConnectToSource(surface)
    for name in ("Post", "Slab"):
        UsdShade.MaterialBindingAPI.Apply(made.GetPrimAtPath(f"/World/{name}")).Bind(painted)
    drawn = draw({"a.usda": text(made), "evil.mtlx": EVIL}, "a.usda")
    assert "shader_code_ignored" in drawn.codes
    beauty = drawn.frames["front.beauty"].astype(int)
    assert not ((beauty[..., 0] > 200) & (beauty[..., 1] < 60) & (beauty[..., 2] > 200)).any()


def test_threat_16_value_clips_hide_and_paint_nothing() -> None:
    geometry = text(post())
    clip = b"""#usda 1.0
over "World"
{
    over "Post"
    {
        float[] primvars:displayOpacity.timeSamples = { 0: [0.0] }
        float3[] extent.timeSamples = { 0: [(100, 100, 100), (101, 101, 101)] }
    }
}
"""
    manifest = b"""#usda 1.0
over "World"
{
    over "Post"
    {
        float[] primvars:displayOpacity
        float3[] extent
    }
}
"""
    root = b"""#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Y"
)
def "World" (
    prepend references = @./geo.usda@</World>
    clips = {
        dictionary default = {
            asset[] assetPaths = [@./clip.usda@]
            asset manifestAssetPath = @./man.usda@
            string primPath = "/World"
            double2[] active = [(0, 0)]
            double2[] times = [(0, 0)]
        }
    }
)
{
}
"""
    files = {"a.usda": root, "geo.usda": geometry, "clip.usda": clip, "man.usda": manifest}
    drawn = draw(files, "a.usda", cameras=plain_post().cameras)
    assert drawn.refused is None, drawn.refused
    assert "clips_ignored" in drawn.codes
    assert same_picture(plain_post(), drawn)


def _reserved_primvar(on: Usd.Stage) -> None:
    api = UsdGeom.PrimvarsAPI(on.GetPrimAtPath("/World/Post"))
    api.CreatePrimvar("overrideColor", Sdf.ValueTypeNames.Color4fArray).Set([Gf.Vec4f(0, 1, 0, 1)])


def test_threat_16_a_primvar_with_a_name_of_storms_own_hides_nothing() -> None:
    drawn = _with(_reserved_primvar)
    assert same_picture(plain_post(), drawn)
    assert "primvar_ignored" in drawn.codes


def _mirror(on: Usd.Stage) -> None:
    api = UsdGeom.PrimvarsAPI(on.GetPrimAtPath("/World/Post"))
    api.CreatePrimvar("displayMetallic", Sdf.ValueTypeNames.FloatArray).Set([1.0])
    api.CreatePrimvar("displayRoughness", Sdf.ValueTypeNames.FloatArray).Set([0.0])


def _scalar_colour(on: Usd.Stage) -> None:
    prim = on.GetPrimAtPath("/World/Post")
    prim.RemoveProperty("primvars:displayColor")
    spec = on.GetRootLayer().GetPrimAtPath("/World/Post")
    Sdf.AttributeSpec(spec, "primvars:displayColor", Sdf.ValueTypeNames.Color3f).default = Gf.Vec3f(0, 1, 0)


def _paint(on: Usd.Stage) -> None:
    painted = material(on, "/World/Mat", (0.0, 0.7, 0.0))
    for name in ("Post", "Slab"):
        UsdShade.MaterialBindingAPI.Apply(on.GetPrimAtPath(f"/World/{name}")).Bind(painted)


def _transparent(on: Usd.Stage) -> None:
    for name in ("Post", "Slab"):
        UsdGeom.Mesh.Get(on, f"/World/{name}").CreateDisplayOpacityAttr([0.0])


def _faces(on: Usd.Stage) -> None:
    mesh = UsdGeom.Mesh.Get(on, "/World/Post")
    mesh.GetDisplayColorPrimvar().SetInterpolation("uniform")
    mesh.GetDisplayColorAttr().Set([Gf.Vec3f(i / 6, 0, 1) for i in range(6)])


CLAY_TRICKS = [_paint, _transparent, _faces, _mirror, _scalar_colour]


@pytest.mark.parametrize("change", CLAY_TRICKS, ids=lambda change: str(change.__name__).strip("_"))
def test_threat_16_clay_shows_shape_and_nothing_else(change: Callable[[Usd.Stage], object]) -> None:
    drawn = _with(change)
    assert same_picture(plain_post(), drawn, ("clay",))
    assert change is _scalar_colour or not same_picture(plain_post(), drawn, ("beauty",))


def _nan_point(on: Usd.Stage) -> None:
    mesh = box(on, "/World/Stray", (0.1, 0.1, 0.1))
    points = list(mesh.GetPointsAttr().Get())
    points += [Gf.Vec3f(float("nan")), Gf.Vec3f(float("inf"))]
    mesh.GetPointsAttr().Set(points)


def test_points_that_are_no_numbers_do_not_move_the_bounds() -> None:
    made = post()
    _nan_point(made)
    drawn = draw_stage(made)
    assert drawn.refused is None
    assert np.allclose(np.subtract(drawn.high, drawn.low), (1.0, 2.0, 0.6), atol=1e-5)


def test_instances_point_instancers_and_samples_are_measured_and_drawn() -> None:
    made = stage()
    proto = UsdGeom.Xform.Define(made, "/World/Many/Proto")
    box(made, "/World/Many/Proto/Box", (0.2, 0.2, 0.2))
    instancer = UsdGeom.PointInstancer.Define(made, "/World/Many")
    instancer.CreatePrototypesRel().SetTargets([proto.GetPath()])
    instancer.CreateProtoIndicesAttr([0, 0, 0])
    instancer.CreatePositionsAttr([Gf.Vec3f(x, 0, 0) for x in (0, 1, 2)])
    box(made, "/Kit/Box", (0.2, 1.0, 0.2), GREY)
    made.GetPrimAtPath("/Kit").SetSpecifier(Sdf.SpecifierClass)
    for index in range(2):
        prim = UsdGeom.Xform.Define(made, f"/World/I{index}").GetPrim()
        prim.GetReferences().AddInternalReference("/Kit")
        prim.SetInstanceable(True)
        UsdGeom.XformCommonAPI(prim).SetTranslate((index * 3.0, 0, 0))
    moving = box(made, "/World/Moving", (0.2, 0.2, 0.2))
    moving.AddTranslateOp().Set(Gf.Vec3d(0, 3, 0), 5.0)
    drawn = draw_stage(made)
    assert drawn.refused is None, drawn.refused
    cache = UsdGeom.BBoxCache(Usd.TimeCode(0), ["default", "render"])
    oracle = cache.ComputeWorldBound(made.GetPseudoRoot()).ComputeAlignedRange()
    assert np.allclose(drawn.low, tuple(oracle.GetMin()), atol=1e-5)
    assert np.allclose(drawn.high, tuple(oracle.GetMax()), atol=1e-5)


def test_a_tiny_thing_and_a_site_are_framed_alike() -> None:
    pictures = []
    for size in (0.004, 4000.0):
        made = stage()
        box(made, "/World/Box", (size, size, size))
        pictures.append(draw_stage(made))
    assert close_picture(pictures[0], pictures[1])


def textured_box(
    on: Usd.Stage, coordinates: list[tuple[float, float]], interpolation: str, file: str = "./blue.png"
) -> None:
    """A box whose colour is read from ``file`` at the given coordinates."""
    mesh = box(on, "/World/Box", (1, 1, 1))
    painted = material(on, "/World/Mat", RED)
    texture = UsdShade.Shader.Define(on, "/World/Mat/Texture")
    texture.CreateIdAttr("UsdUVTexture")
    texture.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(file)
    colour = texture.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
    reader = UsdShade.Shader.Define(on, "/World/Mat/Reader")
    reader.CreateIdAttr("UsdPrimvarReader_float2")
    reader.CreateInput("varname", Sdf.ValueTypeNames.String).Set("st")
    place = reader.CreateOutput("result", Sdf.ValueTypeNames.Float2)
    texture.CreateInput("st", Sdf.ValueTypeNames.Float2).ConnectToSource(reader.ConnectableAPI(), place.GetBaseName())
    api = UsdGeom.PrimvarsAPI(mesh)
    st = api.CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, interpolation)
    st.Set([Gf.Vec2f(*one) for one in coordinates])
    surface = UsdShade.Shader.Get(on, "/World/Mat/Surface")
    surface.GetInput("diffuseColor").ConnectToSource(texture.ConnectableAPI(), colour.GetBaseName())
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(painted)


def blue_png() -> bytes:
    image = io.BytesIO()
    Image.new("RGB", (4, 4), (20, 40, 220)).save(image, "PNG")
    return image.getvalue()


def blue_share(drawn: Drawn) -> float:
    assert drawn.refused is None, drawn.refused
    middle = drawn.frames["front.beauty"][60:100, 60:100].astype(int)
    return float((middle[..., 2] > middle[..., 0] + 40).mean())


def test_a_texture_in_a_package_is_drawn_and_a_missing_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "blue.png").write_bytes(blue_png())
    made = stage()
    textured_box(made, [(x, y) for x in (0.0, 1.0) for y in (0.0, 1.0)] * 2, "vertex")
    made.GetRootLayer().Export(str(tmp_path / "a.usda"))
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "a.usda"), str(tmp_path / "a.usdz"))
    packed = draw({"a.usdz": (tmp_path / "a.usdz").read_bytes()}, "a.usdz")
    assert "unresolved_texture" not in packed.codes
    assert blue_share(packed) > 0.9
    bare = draw_stage(made)
    assert bare.facts is not None
    assert [note.subject for note in bare.facts.notes if note.code == "unresolved_texture"] == ["./blue.png"]


@pytest.mark.parametrize(
    ("coordinates", "interpolation"),
    [
        ([(0.5, 0.5)], "constant"),
        ([(0.3, 0.7)] * 8, "vertex"),
        ([(0.1 + corner // 4 * 0.15, 0.5) for corner in range(24)], "faceVarying"),
    ],
)
def test_a_texture_is_drawn_where_its_coordinates_do_not_vary(
    coordinates: list[tuple[float, float]], interpolation: str
) -> None:
    made = stage()
    textured_box(made, coordinates, interpolation)
    assert blue_share(draw({"a.usda": text(made), "blue.png": blue_png()}, "a.usda")) > 0.9


MATERIALX = """#usda 1.0
( defaultPrim = "World" )
def Xform "World"
{
    def Cube "Box" ( prepend apiSchemas = ["MaterialBindingAPI"] )
    {
        rel material:binding = </World/M>
    }
    def Material "M"
    {
        token outputs:mtlx:surface.connect = </World/M/S.outputs:out>
        def Shader "S"
        {
            uniform token info:id = "ND_standard_surface_surfaceshader"
            color3f inputs:base_color = (0.8, 0.02, 0.02)
            token outputs:out
        }
    }
}
"""


def test_materialx_is_not_the_grey_fallback() -> None:
    drawn = draw({"a.usda": MATERIALX.encode()}, "a.usda")
    middle = drawn.frames["front.beauty"][60:100, 60:100].astype(int)
    assert (middle[..., 0] > middle[..., 1] + 60).mean() > 0.9


def test_focus_prims_get_a_close_up_and_a_seed_turns_all_views() -> None:
    close = draw({"a.usda": text(post())}, "a.usda", focus_prims=["/World/Post"])
    assert [camera.name for camera in close.cameras] == ["front", "top", "focus-1"]
    turned = draw({"a.usda": text(post())}, "a.usda", view_seed=11)
    shift = turned.cameras[0].azimuth_degrees - plain_post().cameras[0].azimuth_degrees
    assert shift != 0
    assert turned.cameras[1].azimuth_degrees - plain_post().cameras[1].azimuth_degrees == pytest.approx(shift)
    missing = draw({"a.usda": text(post())}, "a.usda", focus_prims=["/World/None"])
    assert missing.refused is not None
    assert (missing.refused.code, missing.refused.fault) == ("focus_prim_missing", "infrastructure")
