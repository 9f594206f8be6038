"""Takes from a stage what the submission must not decide: lights, shader code, extents, outside files.

The edits go into the stage's own layers, in memory: the sandbox holds a private copy, and opinions
in a session layer do not reach prims inside instances and prototypes. Each edit is made at the
strongest spec of a composed prim, so references, payloads and instanceable prims are all reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdShade, Vt

from renderer.errors import AssetError
from renderer.protocol import Note
from renderer.stage import OpenedStage, asset_attributes, every_prim, outside_textures

_ROUNDS = 8
_LIGHT_APIS = ("LightAPI", "MeshLightAPI", "VolumeLightAPI", "LightListAPI")
_CODE = ("glslfx:sourceAsset", "glslfx:sourceCode", "sourceAsset", "sourceCode")


def _strongest(prim: Usd.Prim) -> Sdf.PrimSpec | None:
    session = prim.GetStage().GetSessionLayer()
    return next((spec for spec in prim.GetPrimStack() if spec.layer != session), None)


def _attribute(spec: Sdf.PrimSpec, name: str, type_name: Sdf.ValueTypeName, value: Any) -> None:
    """Gives the spec a value that nothing weaker, nor its own samples, can override."""
    path = spec.path.AppendProperty(name)
    attribute = spec.layer.GetAttributeAtPath(path) or Sdf.AttributeSpec(spec, name, type_name)
    for field in ("timeSamples", "spline", "connectionPaths"):
        if attribute.HasInfo(field):
            attribute.ClearInfo(field)
    attribute.default = value


def _is_light(prim: Usd.Prim) -> bool:
    return bool(prim.HasAPI(UsdLux.LightAPI)) or any(name in _LIGHT_APIS for name in prim.GetAppliedSchemas())


def _douse(prim: Usd.Prim) -> bool:
    """Makes a light a plain transform: its own children, say a lamp's body, stay where they are."""
    spec = _strongest(prim)
    if spec is None or not _is_light(prim):
        return False
    if prim.GetTypeName() and Usd.SchemaRegistry().FindConcretePrimDefinition(prim.GetTypeName()):
        built_in = Usd.SchemaRegistry().FindConcretePrimDefinition(prim.GetTypeName()).GetAppliedAPISchemas()
        if any(name in _LIGHT_APIS for name in built_in):
            spec.typeName = "Xform"
    kept = [name for name in prim.GetAppliedSchemas() if name.split(":")[0] not in _LIGHT_APIS]
    spec.SetInfo("apiSchemas", Sdf.TokenListOp.CreateExplicit(kept))
    return True


def _strip_code(prim: Usd.Prim) -> bool:
    """Switches a shader off that brings code which Storm would run."""
    if not prim.IsA(UsdShade.Shader):
        return False
    spec = _strongest(prim)
    names = [f"info:{name}" for name in _CODE]
    if spec is None or not any(prim.GetAttribute(name).HasAuthoredValue() for name in names):
        return False
    spec.active = False
    return True


def _repeat(stage: Usd.Stage, edit: Callable[[Usd.Prim], bool], what: str) -> list[str]:
    """Applies an edit to all prims until none is left that it applies to; editing can uncover more."""
    touched: list[str] = []
    for _ in range(_ROUNDS):
        changed = [str(prim.GetPath()) for prim in list(every_prim(stage)) if prim.IsValid() and edit(prim)]
        touched += changed
        if not changed:
            return touched
    raise AssetError(
        f"stubborn_{what}",
        f"The stage's {what} come back after they were taken away.",
        "Author them plainly, without opinions that restore each other.",
    )


def _notes(code: str, message: str, subjects: list[str]) -> list[Note]:
    return [Note(code=code, message=message, subject=subject[-500:]) for subject in subjects]


def neutralise(opened: OpenedStage) -> list[Note]:
    """Edits the stage in memory and returns what was taken away. Raises :class:`AssetError`."""
    stage = opened.stage
    notes = outside_textures(opened)
    for attribute, authored, resolved in list(asset_attributes(opened)):
        if resolved and not opened.inside(resolved) and "<UDIM>" not in authored:
            spec = _strongest(attribute.GetPrim())
            if spec is not None:
                _attribute(spec, attribute.GetName(), Sdf.ValueTypeNames.Asset, Sdf.AssetPath(""))
    notes += _notes(
        "light_ignored", "The profile lights the scene; this light has no effect.", _repeat(stage, _douse, "lights")
    )
    notes += _notes(
        "shader_code_ignored",
        "Shader code of the asset's own is not run; the neutral fallback is shown.",
        _repeat(stage, _strip_code, "shaders"),
    )
    drop_extents(stage)
    return notes + _notes("draw_mode_ignored", "Models are always drawn whole.", drop_draw_modes(stage))


def drop_extents(stage: Usd.Stage) -> None:
    """Blocks authored extents: Storm culls by them, so a lying one hides a mesh."""
    wanted = [
        (prim, name)
        for prim in every_prim(stage)
        for name in ("extent", "extentsHint")
        if prim.GetAttribute(name).HasAuthoredValue()
    ]
    specs = [(_strongest(prim), name) for prim, name in wanted]
    with Sdf.ChangeBlock():
        for spec, name in specs:
            if spec is not None:
                _attribute(spec, name, Sdf.ValueTypeNames.Float3Array, Sdf.ValueBlock())


def drop_draw_modes(stage: Usd.Stage) -> list[str]:
    """Sets authored draw modes back: even with draw modes switched off, Storm draws nothing of such a model."""
    wanted = [prim for prim in every_prim(stage) if prim.GetAttribute("model:drawMode").HasAuthoredValue()]
    specs = [(str(prim.GetPath()), _strongest(prim)) for prim in wanted]
    with Sdf.ChangeBlock():
        for _, spec in specs:
            if spec is not None:
                _attribute(spec, "model:drawMode", Sdf.ValueTypeNames.Token, UsdGeom.Tokens.default_)
                _attribute(spec, "model:applyDrawMode", Sdf.ValueTypeNames.Bool, False)
    return [path for path, spec in specs if spec is not None]


def make_clay(stage: Usd.Stage, colour: tuple[float, float, float]) -> None:
    """One opaque colour (linear) for everything, to be drawn with scene materials switched off.

    Without this ``displayColor`` would paint and ``displayOpacity`` hide, in a pass that is there
    to show shape and nothing else.
    """
    value = Vt.Vec3fArray([Gf.Vec3f(*colour)])
    blocks: list[tuple[Sdf.PrimSpec, bool, bool, bool]] = []
    for prim in every_prim(stage):
        spec = _strongest(prim)
        if spec is None:
            continue
        gprim = bool(prim.IsA(UsdGeom.Gprim))
        coloured = prim.GetAttribute("primvars:displayColor").HasAuthoredValue()
        opacity = prim.GetAttribute("primvars:displayOpacity").HasAuthoredValue()
        if gprim or coloured or opacity:
            blocks.append((spec, gprim, coloured, opacity))
    with Sdf.ChangeBlock():
        for spec, gprim, coloured, opacity in blocks:
            if gprim:
                _attribute(spec, "primvars:displayColor", Sdf.ValueTypeNames.Color3fArray, value)
                spec.attributes["primvars:displayColor"].SetInfo("interpolation", "constant")
                _attribute(spec, "primvars:displayColor:indices", Sdf.ValueTypeNames.IntArray, Sdf.ValueBlock())
            elif coloured:
                _attribute(spec, "primvars:displayColor", Sdf.ValueTypeNames.Color3fArray, Sdf.ValueBlock())
            if opacity:
                _attribute(spec, "primvars:displayOpacity", Sdf.ValueTypeNames.FloatArray, Sdf.ValueBlock())
