"""From an asset's files to frames on the wire. Needs Storm and a driver; imported only when both are due."""

from __future__ import annotations

import platform
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from pxr import Usd, UsdGeom

from renderer import egl
from renderer.bounds import Measured, Ruler
from renderer.cameras import resolve_cameras, turn_of_seed
from renderer.clock import Clock
from renderer.draw import Painter
from renderer.errors import AssetError, EnvironmentFault
from renderer.neutral import make_clay, neutralise
from renderer.pixels import srgb_decode
from renderer.profile import LoadedProfile
from renderer.protocol import Camera, Cameras, Done, Facts, Frame, Hello, Job, Note, encode_header
from renderer.rig import rig_from_stage
from renderer.stage import Census, OpenedStage, check_instancers, meters_per_unit, take_census

_MAX_NOTES = 200


@dataclass
class Scene:
    """A neutralised stage, measured and ready to be drawn."""

    opened: OpenedStage
    scale: float
    time_code: Usd.TimeCode
    census: Census
    measured: Measured
    cameras: tuple[Camera, ...]
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    notes: list[Note]


def render(job: Job, loaded: LoadedProfile, folder: Path, out: BinaryIO, clock: Clock) -> None:
    """Draws every view and pass of the job and writes them. Raises :class:`RendererError`."""
    profile = loaded.profile
    driver = egl.make_context(job.device)
    version = ".".join(str(part) for part in Usd.GetVersion())
    if version != profile.engine.usd_version:
        raise EnvironmentFault(
            "wrong_usd_version",
            f"OpenUSD {version} runs; profile {profile.id} is pinned to {profile.engine.usd_version}.",
            "Run set-up again.",
        )
    clock.lap("start")
    scene = _prepare(job, loaded, folder, clock)
    painter = Painter(scene.opened.stage, loaded, scene.scale, scene.time_code)
    out.write(
        encode_header(
            Hello(
                usd_version=version,
                renderer_id=painter.renderer_id,
                python=platform.python_version(),
                gl_vendor=driver.vendor,
                gl_renderer=driver.renderer,
                gl_version=driver.version,
                numpy=np.__version__,
            )
        )
    )
    out.write(encode_header(Cameras(cameras=scene.cameras, bounds_min=scene.low, bounds_max=scene.high)))
    _draw(scene, painter, loaded, out, clock)
    out.write(encode_header(Done(facts=_facts(scene, painter, clock))))
    out.flush()


def _prepare(job: Job, loaded: LoadedProfile, folder: Path, clock: Clock) -> Scene:
    profile = loaded.profile
    opened = OpenedStage(folder, job.root_layer, profile.budget)
    stage = opened.stage
    scale = meters_per_unit(stage)
    census = take_census(stage, profile.budget)
    start = profile.engine.time_code
    # A numeric time code gives the default where there are no samples, and clamps where there are.
    time_code = Usd.TimeCode(stage.GetStartTimeCode() if start is None else start)
    check_instancers(stage, time_code, profile.budget)
    clock.lap("open")
    notes = neutralise(opened)
    ruler = Ruler(stage, time_code, rig_from_stage(stage, scale), profile.budget)
    measured = ruler.measure()
    outline = measured.outline
    if outline is None:
        empty = census.prims == 0
        raise AssetError(
            "empty_stage" if empty else "no_geometry",
            "The stage has no prims." if empty else "The stage has no visible geometry of purpose default or render.",
            "Hand in an asset with visible geometry.",
        )
    cameras = job.cameras
    if cameras is None:
        aspect, turn = profile.image.width / profile.image.height, turn_of_seed(job.view_seed)
        cameras = resolve_cameras(profile.views, outline, aspect=aspect, turn_degrees=turn)
        for index, path in enumerate(job.focus_prims, 1):
            close_up = profile.views[0].model_copy(update={"name": f"focus-{index}"})
            cameras += resolve_cameras((close_up,), ruler.focus(path), aspect=aspect, turn_degrees=turn)
    (x0, y0, z0), (x1, y1, z1) = outline.min(0).tolist(), outline.max(0).tolist()
    clock.lap("measure")
    return Scene(opened, scale, time_code, census, measured, cameras, (x0, y0, z0), (x1, y1, z1), notes)


def _draw(scene: Scene, painter: Painter, loaded: LoadedProfile, out: BinaryIO, clock: Clock) -> None:
    profile = loaded.profile
    for pass_name in profile.image.passes:
        if pass_name == "clay":
            red, green, blue = (srgb_decode(level) for level in profile.look.clay_srgb)
            make_clay(scene.opened.stage, (red, green, blue))
        for camera in scene.cameras:
            image = painter.frame(camera, pass_name)
            frame = Frame(
                view=camera.name,
                pass_name=pass_name,
                width=profile.image.width,
                height=profile.image.height,
                bit_depth=profile.image.bit_depth,
                coverage=image.coverage,
                non_finite=image.non_finite,
            )
            out.write(encode_header(frame))
            out.write(image.data)
            out.flush()
        clock.lap(f"draw_{pass_name}")


def _facts(scene: Scene, painter: Painter, clock: Clock) -> Facts:
    notes = scene.notes + [Note(code="draw_error", message=text) for text in painter.draw_errors]
    notes += [Note(code="usd_warning", message=text) for text in scene.opened.take_warnings(_MAX_NOTES)]
    width, height, depth = (high - low for low, high in zip(scene.low, scene.high, strict=True))
    return Facts(
        meters_per_unit=scene.scale,
        up_axis=str(UsdGeom.GetStageUpAxis(scene.opened.stage))[:20],
        size_metres=(width, height, depth),
        prims=scene.census.prims,
        meshes=scene.measured.meshes,
        points=scene.measured.points,
        layers=len(scene.opened.layers),
        textures=scene.census.textures,
        materials=scene.census.materials,
        notes=tuple(notes[:_MAX_NOTES]),
        notes_dropped=max(0, len(notes) - _MAX_NOTES),
        seconds=clock.seconds,
        peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
