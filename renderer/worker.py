"""One render, from the stream of files to the last frame. Runs inside the sandbox and nowhere else."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

from renderer.clock import Clock
from renderer.errors import AssetError, EnvironmentFault, ProfileError, RendererError
from renderer.intake import read_job
from renderer.preflight import preflight
from renderer.profile import LoadedProfile, load_profile
from renderer.protocol import Job, Refused, encode_header

_GL_ENVIRONMENT = {
    "PYOPENGL_PLATFORM": "egl",
    # Storm gathers what it draws on several threads, in the order in which they happen to come: where two
    # surfaces meet at one depth, that order decides a pixel. One thread has one order.
    "PXR_WORK_THREAD_LIMIT": "1",
    # llvmpipe (seen in Mesa 25.0) samples black where texture coordinates do not vary over a face, as in every
    # palette texture, once filtering is anisotropic; with a ratio of 1 all drivers filter alike.
    "HGI_MAX_ANISOTROPY": "1",
    # Storm compiles and pre-filters; nothing of it is kept between runs.
    "MESA_SHADER_CACHE_DISABLE": "true",
    "TF_ATTACH_DEBUGGER_ON_ERROR": "0",
    "TF_ENV_SETTING_ALERTS_ENABLED": "0",
}


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
    from renderer.render import render

    render(job, loaded, folder, out, clock)


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
    except Exception as error:
        # What OpenUSD raises, and memory that an asset asks for without end, say something of the asset.
        if not isinstance(error, MemoryError) and not type(error).__module__.startswith("pxr"):
            raise
        message = f"The asset cannot be processed: {' '.join(str(error).split())[:300] or type(error).__name__}."
        remedy = "Check the asset with usdchecker."
        out.write(encode_header(Refused(code="asset_error", message=message, remedy=remedy, fault="candidate")))
        out.flush()
    # Storm's and the driver's own teardown can crash long after the last frame is out.
    sys.stderr.flush()
    os._exit(0)
