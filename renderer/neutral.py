"""Takes from a stage what the submission must not decide: lights, shader code, extents, outside files.

The edits go into the stage's own layers, in memory: the sandbox holds a private copy, and opinions
in a session layer do not reach prims inside instances and prototypes. Each edit is made at the
strongest spec of a composed prim, so references, payloads and instanceable prims are all reached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, Vt

from renderer.errors import AssetError
from renderer.protocol import Note
from renderer.stage import OpenedStage, asset_attributes, every_prim, outside_textures

_ROUNDS = 8
_LIGHT_APIS = ("LightAPI", "MeshLightAPI", "VolumeLightAPI", "LightListAPI")
_RESERVED = ("overrideColor", "maskColor", "maskWeight", "indicatorColor", "indicatorWeight", "wireframeColor")
"""Names of Storm's own shaders: a primvar of such a name breaks the program, and its prim vanishes."""
_CLAY_BLOCKS = ("displayOpacity", "displayMetallic", "displayRoughness")


def _strongest(prim: Usd.Prim) -> Sdf.PrimSpec | None:
    session = prim.GetStage().GetSessionLayer()
    return next((spec for spec in prim.GetPrimStack() if spec.layer != session), None)


def _attribute(spec: Sdf.PrimSpec, name: str, type_name: Sdf.ValueTypeName, value: Any) -> None:
    """Gives the spec a value that nothing weaker, nor its own samples, can override."""
    path = spec.path.AppendProperty(name)
    found = spec.layer.GetPropertyAtPath(path)
    if found is not None and (not isinstance(found, Sdf.AttributeSpec) or found.typeName != type_name):
        spec.RemoveProperty(found)
        found = None
    attribute = found or Sdf.AttributeSpec(spec, name, type_name)
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
    """Takes away every value that brings code: GLSL, or MaterialX with implementations of its own.

    An inactive shader is still read through its connections, so the values themselves are blocked.
    """
    spec = _strongest(prim)
    attributes = [one for one in prim.GetAttributes() if _brings_code(one.GetName()) and one.HasAuthoredValue()]
    if spec is None or not attributes:
        return False
    for attribute in attributes:
        _attribute(spec, attribute.GetName(), attribute.GetTypeName(), Sdf.ValueBlock())
    return True


def _brings_code(name: str) -> bool:
    return name.startswith("info:") and ("sourceCode" in name or "sourceAsset" in name)


def _drop_reserved(prim: Usd.Prim) -> bool:
    """Blocks primvars that are named as parts of Storm's own shaders are."""
    spec = _strongest(prim)
    named = [prim.GetAttribute(f"primvars:{name}") for name in _RESERVED]
    taken = [attribute for attribute in named if attribute and attribute.HasAuthoredValue()]
    if spec is None or not taken:
        return False
    for attribute in taken:
        _attribute(spec, attribute.GetName(), attribute.GetTypeName(), Sdf.ValueBlock())
    return True


def _drop_clips(prim: Usd.Prim) -> bool:
    """Takes value clips away: they are stronger than any edit below the layer that names them."""
    touched = False
    for spec in prim.GetPrimStack():
        for field in ("clips", "clipSets"):
            if spec.HasInfo(field):
                spec.ClearInfo(field)
                touched = True
    return touched


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
    clips = _repeat(stage, _drop_clips, "clips")
    notes = _notes("clips_ignored", "Value clips have no effect; this is drawn without them.", clips)
    notes += outside_textures(opened)
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
    notes += _notes(
        "primvar_ignored",
        "A primvar with a name of Storm's own would break the shader.",
        _repeat(stage, _drop_reserved, "primvars"),
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
    value, block = Vt.Vec3fArray([Gf.Vec3f(*colour)]), Sdf.ValueBlock()
    work: list[tuple[Sdf.PrimSpec, str, Sdf.ValueTypeName, Any]] = []
    for prim in every_prim(stage):
        spec = _strongest(prim)
        if spec is None:
            continue
        if prim.IsA(UsdGeom.Gprim):
            work.append((spec, "primvars:displayColor", Sdf.ValueTypeNames.Color3fArray, value))
            work.append((spec, "primvars:displayColor:indices", Sdf.ValueTypeNames.IntArray, block))
        elif prim.GetAttribute("primvars:displayColor").HasAuthoredValue():
            work.append((spec, "primvars:displayColor", Sdf.ValueTypeNames.Color3fArray, block))
        for name in _CLAY_BLOCKS:
            if prim.GetAttribute(f"primvars:{name}").HasAuthoredValue():
                work.append((spec, f"primvars:{name}", Sdf.ValueTypeNames.FloatArray, block))
    with Sdf.ChangeBlock():
        for spec, name, type_name, content in work:
            _attribute(spec, name, type_name, content)
            if content is value:
                spec.attributes[name].SetInfo("interpolation", "constant")
