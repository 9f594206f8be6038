"""The way in: snapshot of a submission, isolation backends, limits, hand-over and the stream of frames.

    snapshot = take_snapshot(Path("robot"), staging)
    root_layer = choose_root_layer(snapshot, None)
    backend = open_backend("bubblewrap")
    report = backend.run(snapshot, job, budget, on_frame)

Everything raised on purpose is a :class:`SandboxError`; its ``fault`` is written as for a candidate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from renderer.protocol import Device
from sandbox.backend import Backend, ProbeReport, RunReport, Usage
from sandbox.bubblewrap import BubblewrapBackend
from sandbox.docker_engine import DockerBackend
from sandbox.errors import (
    BackendUnavailable,
    PromiseBroken,
    ProtocolBreach,
    RendererRefused,
    RunFailed,
    RuntimeMissing,
    SandboxError,
    StagingError,
    SubmissionError,
)
from sandbox.process import UnsafeProcessBackend
from sandbox.promises import SENTENCES, Promise
from sandbox.root_layer import choose_root_layer
from sandbox.runtime import Runtime, find_runtime, read_images, runtime_folder
from sandbox.self_check import CheckReport, Finding, self_check
from sandbox.snapshot import Snapshot, SnapshotFile, SnapshotLimits, take_snapshot
from sandbox.storm_files import StormFile, storm_files, storm_manifest, storm_patterns

BackendName = Literal["docker", "bubblewrap", "process"]


def open_backend(
    name: BackendName,
    device: Device = "cpu",
    *,
    profiles: Path | None = None,
    runtime: Runtime | None = None,
    image: str | None = None,
    engine_runtime: str | None = None,
) -> Backend:
    """Opens a backend by name.

    ``profiles`` stands in for the project's own folder of profiles and ``runtime`` for what set-up made, for the
    two backends of this machine; an image brings both. ``image`` (an ID of the trusted lock) and
    ``engine_runtime`` (such as runsc) are the docker backend's.

    Raises :class:`BackendUnavailable` or :class:`RuntimeMissing` where this machine cannot run it.
    """
    if name == "process":
        return UnsafeProcessBackend(find_runtime() if runtime is None else runtime, profiles)
    if name == "bubblewrap":
        return BubblewrapBackend(find_runtime() if runtime is None else runtime, profiles, device)
    if name == "docker":
        return DockerBackend(image, device, engine_runtime)
    raise BackendUnavailable("unknown_backend", f"There is no backend {name!r}.", "Use docker, bubblewrap or process.")


__all__ = [
    "SENTENCES",
    "Backend",
    "BackendName",
    "BackendUnavailable",
    "CheckReport",
    "Finding",
    "ProbeReport",
    "Promise",
    "PromiseBroken",
    "ProtocolBreach",
    "RendererRefused",
    "RunFailed",
    "RunReport",
    "Runtime",
    "RuntimeMissing",
    "SandboxError",
    "Snapshot",
    "SnapshotFile",
    "SnapshotLimits",
    "StagingError",
    "StormFile",
    "SubmissionError",
    "Usage",
    "choose_root_layer",
    "find_runtime",
    "open_backend",
    "read_images",
    "runtime_folder",
    "self_check",
    "storm_files",
    "storm_manifest",
    "storm_patterns",
    "take_snapshot",
]
