"""Opens the asset's stage and refuses, by name, what must not be drawn."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pxr import Ar, Pcp, Sdf, Tf, Usd, UsdGeom, UsdShade, UsdUtils

from renderer.errors import AssetError
from renderer.protocol import Budget, Note

_MAX_DEPTH = 512
"""Storm ends in SIGSEGV on very deep trees (12,000 nested prims); nothing real comes near this."""


class OpenedStage:
    """A stage with the diagnostics that opening it caused."""

    def __init__(self, folder: Path, root_layer: str, budget: Budget) -> None:
        self.folder = folder
        self.diagnostics = UsdUtils.CoalescingDiagnosticDelegate()
        try:
            layer = Sdf.Layer.FindOrOpen(str(folder / root_layer))
            stage = Usd.Stage.Open(layer, Sdf.Layer.CreateAnonymous("session.usda")) if layer else None
        except Tf.ErrorException as error:
            raise _unreadable(root_layer, str(error)) from error
        if stage is None:
            raise _unreadable(root_layer, "; ".join(self.take_warnings(1)))
        self.stage = stage
        self.layers = self._layers()
        if len(self.layers) > budget.max_layers:
            raise AssetError(
                "too_many_layers",
                f"The stage uses {len(self.layers):,} layers; the profile allows {budget.max_layers:,}.",
                "Flatten the stage.",
            )
        refuse_missing_layers(self)

    def _layers(self) -> list[Sdf.Layer]:
        session = self.stage.GetSessionLayer()
        return [layer for layer in self.stage.GetUsedLayers() if layer and layer != session]

    def take_warnings(self, limit: int) -> list[str]:
        """Up to ``limit`` warnings since the last call, one line each."""
        lines: list[str] = []
        for item in self.diagnostics.TakeUncoalescedDiagnostics():
            text = " ".join(str(item.commentary).split())[:400]
            if text and text not in lines:
                lines.append(text)
        return lines[:limit]

    def inside(self, resolved: str) -> bool:
        """Does a resolved path, package-relative or not, lie in the asset's own folder?"""
        outer = Ar.SplitPackageRelativePathOuter(resolved)[0] if Ar.IsPackageRelativePath(resolved) else resolved
        real = os.path.realpath(outer)
        return real == str(self.folder) or real.startswith(f"{self.folder}{os.sep}")


def _unreadable(name: str, detail: str) -> AssetError:
    # Where in OpenUSD's own sources an error was raised says nothing to whoever handed the file in.
    detail = re.sub(r"Error in '[^']*' at line \d+ in file \S+ : ", "", " ".join(detail.split()))[:300].strip()
    return AssetError(
        "unreadable_layer",
        f"OpenUSD cannot read {name[-120:]!r}{': ' + detail if detail else ''}.",
        "Check the file with usdchecker and export it again.",
    )


def missing_layers(opened: OpenedStage) -> list[str]:
    """Layers that are asked for and are not part of the asset, as authored, in order of discovery."""
    missing: list[str] = []
    for layer in opened.layers:
        for path in layer.GetCompositionAssetDependencies():
            if not path:  # a reference into the same layer
                continue
            resolved = str(Ar.GetResolver().Resolve(Sdf.ComputeAssetPathRelativeToLayer(layer, path)))
            if (not resolved or not opened.inside(resolved)) and path not in missing:
                missing.append(path)
    return missing


def refuse_missing_layers(opened: OpenedStage) -> None:
    """An unresolved layer is the fault of the asset: it would be drawn without a part of itself."""
    missing = missing_layers(opened)
    errors = [error for error in opened.stage.GetCompositionErrors() if not _harmless(error)]
    if missing:
        textures = [note.subject for note in outside_textures(opened)]
        shown = ", ".join(repr(path[:120]) for path in (missing + textures)[:12])
        raise AssetError(
            "unresolved_layer",
            f"The asset asks for {len(missing) + len(textures)} files that are not part of it: {shown}.",
            "Hand in every layer that the asset uses, with paths relative to the layer that names them.",
        )
    if errors:
        text = " ".join(str(errors[0]).split())[:400]
        raise AssetError(
            "composition_error",
            f"The stage does not compose ({len(errors)} errors): {text}",
            "Check the asset with usdchecker.",
        )


def _harmless(error: Pcp.ErrorBase) -> bool:
    """Errors that leave the picture as it is: bad targets of relationships and connections, and the like."""
    return error.errorType in {
        Pcp.ErrorType_InvalidInstanceTargetPath,
        Pcp.ErrorType_InvalidExternalTargetPath,
        Pcp.ErrorType_InvalidTargetPath,
        Pcp.ErrorType_InconsistentPropertyType,
        Pcp.ErrorType_InconsistentAttributeType,
        Pcp.ErrorType_InconsistentAttributeVariability,
        Pcp.ErrorType_PropertyPermissionDenied,
        Pcp.ErrorType_TargetPermissionDenied,
    }


def asset_attributes(opened: OpenedStage) -> Iterator[tuple[Usd.Attribute, str, str]]:
    """(attribute, path as authored, resolved path) of every file that a prim's attribute names."""
    for prim in every_prim(opened.stage):
        for attribute in prim.GetAuthoredAttributes():
            # Cards of draw modes are never drawn here.
            if attribute.GetTypeName() != Sdf.ValueTypeNames.Asset or attribute.GetNamespace() == "model":
                continue
            value = attribute.Get(Usd.TimeCode.EarliestTime())
            if value is not None and value.path:
                yield attribute, value.path, value.resolvedPath


def _tiles_inside(opened: OpenedStage, attribute: Usd.Attribute, authored: str) -> bool:
    for spec in attribute.GetPropertyStack():
        anchored = Sdf.ComputeAssetPathRelativeToLayer(spec.layer, authored.replace("<UDIM>", "1001"))
        if opened.inside(str(anchored)):
            return True
    return False


def outside_textures(opened: OpenedStage) -> list[Note]:
    """Files named by attributes that are missing, or lie outside the asset's folder."""
    notes: dict[str, Note] = {}
    for attribute, authored, resolved in asset_attributes(opened):
        if "<UDIM>" in authored and _tiles_inside(opened, attribute, authored):
            continue
        if not resolved or not opened.inside(resolved):
            notes.setdefault(
                authored,
                Note(
                    code="refused_file" if resolved else "unresolved_texture",
                    message=f"Named by {str(attribute.GetPath())[-300:]}; drawn without it.",
                    subject=authored[:500],
                ),
            )
    return list(notes.values())


def every_prim(stage: Usd.Stage) -> Iterator[Usd.Prim]:
    """Every active prim, overs and classes included, and those of every prototype."""
    yield from Usd.PrimRange.Stage(stage, Usd.PrimIsActive)
    for prototype in stage.GetPrototypes():
        yield from Usd.PrimRange(prototype, Usd.PrimIsActive)


@dataclass
class Census:
    """What is on a stage, instances counted each time."""

    prims: int = 0
    materials: int = 0
    textures: int = 0
    """Texture readers, not files."""


def take_census(stage: Usd.Stage, budget: Budget) -> Census:
    """Counts what would be drawn. Raises :class:`AssetError` over the budget."""
    census = Census()
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)):
        census.prims += 1
        census.materials += bool(prim.IsA(UsdShade.Material))
        if prim.IsA(UsdShade.Shader):
            file = prim.GetAttribute("inputs:file")
            census.textures += bool(file and file.HasAuthoredValue())
        if census.prims > budget.max_prims:
            raise AssetError(
                "too_many_prims",
                f"The stage has more than {budget.max_prims:,} prims.",
                "Merge or instance the geometry.",
            )
        if prim.GetPath().pathElementCount > _MAX_DEPTH:
            raise AssetError(
                "too_deep",
                f"The prims are nested more than {_MAX_DEPTH} levels deep.",
                "Flatten the hierarchy.",
            )
    return census


def check_instancers(stage: Usd.Stage, time: Usd.TimeCode, budget: Budget) -> None:
    """Storm recurses without end where a point instancer draws itself, and nesting multiplies.

    Raises :class:`AssetError` for a cycle, and for more instances in all than the budget has points.
    """
    targets: dict[Sdf.Path, list[Sdf.Path]] = {}
    counts: dict[Sdf.Path, int] = {}
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies(Usd.PrimIsActive)):
        if prim.IsA(UsdGeom.PointInstancer):
            instancer = UsdGeom.PointInstancer(prim)
            targets[prim.GetPath()] = list(instancer.GetPrototypesRel().GetForwardedTargets())
            counts[prim.GetPath()] = len(instancer.GetProtoIndicesAttr().Get(time) or ())
    below = {
        path: [other for other in targets for target in wanted if other.HasPrefix(target)]
        for path, wanted in targets.items()
    }
    drawn: dict[Sdf.Path, int] = {}
    for start, first in below.items():
        stack = [(start, iter(first))]
        on_way = {start}
        while stack:
            path, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                on_way.discard(path)
                drawn[path] = counts[path] * max(1, sum(drawn[other] for other in below[path]))
                stack.pop()
            elif following in on_way:
                raise AssetError(
                    "instancer_cycle",
                    f"The point instancer {str(following)[-300:]} draws itself: it lies below its own prototype.",
                    "Move the prototypes out of the cycle.",
                )
            elif following not in drawn:
                on_way.add(following)
                stack.append((following, iter(below[following])))
    if sum(drawn.values()) > budget.max_points:
        raise AssetError(
            "too_many_instances",
            f"The point instancers draw more than {budget.max_points:,} instances.",
            "Instance less, or nest point instancers less deeply.",
        )


def meters_per_unit(stage: Usd.Stage) -> float:
    """Metres in one unit of the stage. Raises :class:`AssetError` when it is no positive number."""
    value = float(UsdGeom.GetStageMetersPerUnit(stage))
    if not 0 < value < float("inf"):
        raise AssetError(
            "bad_meters_per_unit",
            f"The stage's metersPerUnit is {value!r}.",
            "Author a positive, finite metersPerUnit on the root layer.",
        )
    return value
