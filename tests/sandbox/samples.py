"""Small submissions, jobs and stand-ins for the renderer that the sandbox's tests share."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

from renderer.protocol import Budget, Camera, Cameras, Done, Facts, Frame, Hello, Job, encode_header
from sandbox.host_process import HostProcess
from sandbox.limits import limits_of
from sandbox.snapshot import Snapshot, SnapshotFile

CUBE = b"""#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Y"
)
def Xform "World"
{
    def Cube "cube"
    {
        double size = 1
    }
}
"""

HELLO = Hello(
    usd_version="0.0.0",
    renderer_id="none",
    python="3.13",
    gl_vendor="none",
    gl_renderer="none",
    gl_version="none",
    numpy="none",
)
FACTS = Facts(
    meters_per_unit=1,
    up_axis="Y",
    size_metres=(1, 1, 1),
    prims=1,
    meshes=1,
    points=8,
    layers=1,
    textures=0,
    materials=0,
)


def budget(**changes: int) -> Budget:
    """A roomy budget, with some numbers changed."""
    numbers = {
        "cpu_seconds": 60,
        "memory_bytes": 1 << 30,
        "wall_seconds": 60,
        "max_prims": 100,
        "max_points": 1000,
        "max_texels": 1000,
        "max_layers": 10,
    }
    return Budget(**{**numbers, **changes})


def job(root_layer: str = "a.usda", profile_id: str = "tiny-v1", profile_sha256: str = "0" * 64) -> Job:
    return Job(role="candidate", root_layer=root_layer, profile_id=profile_id, profile_sha256=profile_sha256)


def snapshot_of(folder: Path, files: dict[str, bytes]) -> Snapshot:
    """A snapshot as the trusted side would have made it."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    listed = (SnapshotFile(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in sorted(files.items()))
    return Snapshot(folder, tuple(listed), True, "asset")


def frame(view: str = "front", side: int = 2, bit_depth: int = 8) -> Frame:
    return Frame.model_validate(
        {"view": view, "pass_name": "beauty", "width": side, "height": side, "bit_depth": bit_depth, "coverage": 0.5}
    )


def cameras(*names: str) -> Cameras:
    """The message that announces cameras of these names."""
    each = tuple(
        Camera(
            name=name, projection="perspective", eye=(0, 0, 5), target=(0, 0, 0), up=(0, 1, 0), fov_degrees=30,
            height_metres=0, near_metres=0.1, far_metres=10, azimuth_degrees=0,
        )
        for name in names
    )  # fmt: skip
    return Cameras(cameras=each, bounds_min=(0, 0, 0), bounds_max=(1, 1, 1))


def good_stream(views: tuple[str, ...] = ("front",), side: int = 2) -> bytes:
    """A whole run's output: hello, the cameras, one black frame a view, done."""
    parts = [encode_header(HELLO), encode_header(cameras(*views))]
    for view in views:
        header = frame(view, side)
        parts += [encode_header(header), bytes(header.payload_bytes)]
    return b"".join([*parts, encode_header(Done(facts=FACTS))])


def stand_in(script: str, limits: Budget) -> HostProcess:
    """A worker that runs a Python script in the renderer's place, with nothing but kernel limits around it."""
    folder = tempfile.TemporaryDirectory(prefix="sandbox-test-")
    command = [*limits_of(limits).command("/usr/bin/prlimit"), sys.executable, "-I", "-B", "-c", script]
    return HostProcess(command, {"PATH": "/usr/bin:/bin"}, Path(folder.name), clean_up=folder.cleanup)
