"""One render, from the stream of files to the last frame. Runs inside the sandbox and nowhere else."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from pathlib import Path
from typing import BinaryIO

from renderer.errors import AssetError, EnvironmentFault, ProfileError, RendererError
from renderer.intake import read_job
from renderer.preflight import preflight
from renderer.profile import LoadedProfile, load_profile
from renderer.protocol import Cameras, Done, Facts, Frame, Hello, Job, Note, Refused, encode_header

_MAX_NOTES = 200
_GL_ENVIRONMENT = {
    "PYOPENGL_PLATFORM": "egl",
    # Storm compiles and pre-filters; nothing of it is kept between runs.
    "MESA_SHADER_CACHE_DISABLE": "true",
    "TF_ATTACH_DEBUGGER_ON_ERROR": "0",
}


class Clock:
    """Seconds by stage of the work, for people."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Books the time since the last lap."""
        now = time.perf_counter()
        self.seconds[name] = round(self.seconds.get(name, 0.0) + now - self._last, 4)
        self._last = now


def _environment(site: Path) -> None:
    os.environ.update(_GL_ENVIRONMENT)
    libraries = next(iter(sorted(site.glob("bpy/lib/materialx/libraries"))), None)
    if libraries is None:
        raise EnvironmentFault(
            "storm_incomplete", "The MaterialX library is missing beside Storm.", "Run set-up again."
        )
    os.environ["PXR_MTLX_STDLIB_SEARCH_PATHS"] = str(libraries)


def _profile(profiles: Path, job: Job) -> LoadedProfile:
    loaded = load_profile(profiles, job.profile_id)
    if loaded.sha256 != job.profile_sha256:
        raise ProfileError(
            "profile_mismatch",
            f"Profile {job.profile_id} in the sandbox is not the one that the job names.",
            "Build the image again; a changed profile needs a new id.",
        )
    return loaded


def run(stdin: BinaryIO, out: BinaryIO, site: Path, profiles: Path) -> None:
    """Reads one job and answers it. Raises :class:`RendererError`, and nothing else on purpose."""
    clock = Clock()
    # Not the working directory itself: that stays empty, so that a search path finds nothing in it.
    folder = Path(os.environ.get("TMPDIR", ".")).resolve() / "asset"
    folder.mkdir()
    job = read_job(stdin, folder)
    loaded = _profile(profiles, job)
    clock.lap("receive")
    if not (folder / job.root_layer).is_file():
        raise AssetError("root_layer_missing", f"There is no file {job.root_layer[-200:]!r}.", "Name a root layer.")
    preflight(folder, job.root_layer, loaded.profile.budget)
    clock.lap("preflight")
    _environment(site)
    _render(job, loaded, folder, out, clock)


def _render(job: Job, loaded: LoadedProfile, folder: Path, out: BinaryIO, clock: Clock) -> None:
    import numpy
    from pxr import Usd, UsdGeom

    from renderer import egl
    from renderer.bounds import measure
    from renderer.cameras import resolve_cameras
    from renderer.draw import Painter
    from renderer.neutral import make_clay, neutralise
    from renderer.pixels import srgb_decode
    from renderer.rig import rig_from_stage
    from renderer.stage import OpenedStage, count_prims, meters_per_unit, refuse_instancer_cycles

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
    opened = OpenedStage(folder, job.root_layer, profile.budget)
    stage = opened.stage
    scale = meters_per_unit(stage)
    prims = count_prims(stage, profile.budget)
    refuse_instancer_cycles(stage)
    clock.lap("open")
    notes = neutralise(opened)
    start = profile.engine.time_code
    time_code = Usd.TimeCode(stage.GetStartTimeCode() if start is None else start)
    measured = measure(stage, time_code, rig_from_stage(stage, scale), profile.budget)
    if measured.outline is None:
        empty = not any(True for _ in stage.Traverse())
        raise AssetError(
            "empty_stage" if empty else "no_geometry",
            "The stage has no prims." if empty else "The stage has no visible geometry of purpose default or render.",
            "Hand in an asset with visible geometry.",
        )
    outline = measured.outline
    low, high = ((float(x), float(y), float(z)) for x, y, z in (outline.min(0), outline.max(0)))
    aspect = profile.image.width / profile.image.height
    cameras = job.cameras or resolve_cameras(profile.views, outline, aspect=aspect)
    clock.lap("measure")
    painter = Painter(stage, loaded, scale, time_code)
    out.write(
        encode_header(
            Hello(
                usd_version=version,
                renderer_id=painter.renderer_id,
                python=platform.python_version(),
                gl_vendor=driver.vendor,
                gl_renderer=driver.renderer,
                gl_version=driver.version,
                numpy=numpy.__version__,
            )
        )
    )
    out.write(encode_header(Cameras(cameras=cameras, bounds_min=low, bounds_max=high)))
    for pass_name in profile.image.passes:
        if pass_name == "clay":
            red, green, blue = (srgb_decode(level) for level in profile.look.clay_srgb)
            make_clay(stage, (red, green, blue))
        for camera, image in painter.frames(cameras, pass_name):
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
    notes += [Note(code="draw_error", message=text) for text in painter.draw_errors]
    notes += [Note(code="usd_warning", message=text) for text in opened.take_warnings(_MAX_NOTES)]
    facts = Facts(
        meters_per_unit=scale,
        up_axis=str(UsdGeom.GetStageUpAxis(stage))[:20],
        size_metres=(high[0] - low[0], high[1] - low[1], high[2] - low[2]),
        prims=prims,
        meshes=measured.meshes,
        points=measured.points,
        layers=len(opened.layers),
        textures=0,
        materials=0,
        notes=tuple(notes[:_MAX_NOTES]),
        notes_dropped=max(0, len(notes) - _MAX_NOTES),
        seconds=clock.seconds,
        peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
    out.write(encode_header(Done(facts=facts)))
    out.flush()


def main(site: Path, profiles: Path) -> int:
    """Runs one job between stdin and stdout; everything that libraries print goes to stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        run(sys.stdin.buffer, out, site, profiles)
    except RendererError as error:
        refusal = Refused(code=error.code, message=error.message[:2000], remedy=error.remedy[:2000], fault=error.fault)
        out.write(encode_header(refusal))
        out.flush()
    # Storm's and the driver's own teardown can crash long after the last frame is out.
    sys.stderr.flush()
    os._exit(0)
