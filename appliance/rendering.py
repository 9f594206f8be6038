"""One role's render: snapshot, sandbox, frames checked against what was asked for, PNGs packed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from appliance.errors import ApplianceError, CandidateFault, Fault, InfrastructureFault
from receipt.digests import AssetDigest, asset_digest, sha256_hex
from receipt.png import encode_png
from renderer.profile import LoadedProfile
from renderer.protocol import Camera, Device, Frame, Job, Role
from sandbox import Backend, RunReport, SandboxError, Snapshot, choose_root_layer, take_snapshot

_SELF_TEST = b"""#usda 1.0
(
    defaultPrim = "Cube"
    metersPerUnit = 1
    upAxis = "Y"
)
def Cube "Cube"
{
    double size = 1
}
"""


@dataclass(frozen=True)
class Asset:
    """An asset in our own hands: copied, named, hashed."""

    snapshot: Snapshot
    root_layer: str
    digest: AssetDigest


@dataclass
class RenderedRole:
    """Final PNGs of one role by view id, and the facts that came with them."""

    asset: Asset
    report: RunReport
    pngs: dict[str, bytes] = field(default_factory=dict)
    pixel_sha256: dict[str, str] = field(default_factory=dict)
    coverage: dict[str, float] = field(default_factory=dict)
    non_finite: dict[str, int] = field(default_factory=dict)
    cameras: tuple[Camera, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What is the same for both roles."""

    backend: Backend
    loaded: LoadedProfile
    device: Device
    focus_prims: tuple[str, ...] = ()
    view_seed: int | None = None


def take_asset(source: Path, staging: Path, root_layer: str | None) -> Asset:
    """Copies and hashes an asset. Raises :class:`SandboxError`, its fault as for a candidate."""
    snapshot = take_snapshot(source, staging)
    chosen = choose_root_layer(snapshot, root_layer)
    entries = [(file.path, file.size, file.sha256) for file in snapshot.files]
    return Asset(snapshot, chosen, asset_digest(entries, is_folder=snapshot.is_folder, root_layer=chosen))


def render_role(plan: Plan, asset: Asset, role: Role, cameras: Sequence[Camera] | None) -> RenderedRole:
    """Renders one role in a sandbox of its own. Raises :class:`ApplianceError` with the right fault.

    A failure that the machine may have caused is tried once more; a crash counts against the
    candidate only if the renderer's self-test passes on the same machine afterwards.
    """
    try:
        try:
            return _render_once(plan, asset, role, cameras)
        except SandboxError as error:
            if not error.retry:
                raise
            return _render_once(plan, asset, role, cameras)
    except SandboxError as error:
        if error.confirm and error.fault == "candidate":
            _require_self_test(plan, error)
        raise fault_of(error, role) from error


def fault_of(error: SandboxError, role: Role) -> ApplianceError:
    """A sandbox's error for a role: what is wrong with a reference is never the candidate's fault."""
    fault: Fault = error.fault
    if role == "reference" and fault == "candidate":
        return InfrastructureFault(f"reference_{error.code}", f"The reference: {error.message}", error.remedy)
    return ApplianceError(error.code, error.message, error.remedy, fault)


def draw_self_test(plan: Plan) -> RenderedRole:
    """Draws a cube of our own in the plan's sandbox. Raises :class:`SandboxError`."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "selftest.usda"
        source.write_bytes(_SELF_TEST)
        asset = take_asset(source, Path(folder) / "staging", None)
        return _render_once(Plan(plan.backend, plan.loaded, plan.device), asset, "reference", None)


def _require_self_test(plan: Plan, error: SandboxError) -> None:
    try:
        draw_self_test(plan)
    except SandboxError as broken:
        raise InfrastructureFault(
            "renderer_broken",
            f"The renderer fails on its own self-test ({broken.code}), so {error.code} says nothing.",
            "Run `render-judge doctor` on this machine.",
        ) from broken


def _render_once(plan: Plan, asset: Asset, role: Role, cameras: Sequence[Camera] | None) -> RenderedRole:
    profile = plan.loaded.profile
    job = Job(
        role=role,
        root_layer=asset.root_layer,
        profile_id=profile.id,
        profile_sha256=plan.loaded.sha256,
        device=plan.device,
        cameras=None if cameras is None else tuple(cameras),
        focus_prims=plan.focus_prims if cameras is None else (),
        view_seed=plan.view_seed if cameras is None else None,
    )
    frames = _Frames(plan)
    report = plan.backend.run(asset.snapshot, job, profile.budget, frames.take)
    return frames.finish(asset, report, job)


class _Frames:
    """Takes frames as they come and packs them while the sandbox draws the next."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._pngs: dict[str, bytes] = {}
        self._pixels: dict[str, str] = {}
        self._coverage: dict[str, float] = {}
        self._non_finite: dict[str, int] = {}

    def take(self, frame: Frame, pixels: bytes) -> None:
        """One frame. Raises :class:`ApplianceError` where it is not of the size that was asked for."""
        image = self._plan.loaded.profile.image
        if (frame.width, frame.height, frame.bit_depth) != (image.width, image.height, image.bit_depth):
            raise _breach("a frame has another size than the profile's")
        if frame.view_id in self._pngs:
            raise _breach(f"view {frame.view_id} came twice")
        self._pngs[frame.view_id] = encode_png(pixels, frame.width, frame.height, frame.bit_depth)
        self._pixels[frame.view_id] = sha256_hex(pixels)
        self._coverage[frame.view_id] = frame.coverage
        self._non_finite[frame.view_id] = frame.non_finite

    def finish(self, asset: Asset, report: RunReport, job: Job) -> RenderedRole:
        """Everything against the job and the profile: same cameras, every view once, the pinned renderer."""
        profile = self._plan.loaded.profile
        if report.cameras is None:
            raise _breach("it sent no cameras")
        cameras = report.cameras.cameras
        names = [view.name for view in profile.views]
        names += [f"focus-{number}" for number in range(1, len(self._plan.focus_prims) + 1)]
        if [camera.name for camera in cameras] != names:
            raise _breach("its views are not the profile's")
        if job.cameras is not None and cameras != job.cameras:
            raise _breach("it drew with other cameras than it was given")
        wanted = [f"{camera.name}.{name}" for name in profile.image.passes for camera in cameras]
        if list(self._pngs) != wanted:
            raise _breach("views are missing or out of order")
        hello = report.hello
        if (hello.renderer_id, hello.usd_version) != (profile.engine.renderer_id, profile.engine.usd_version):
            raise InfrastructureFault(
                "wrong_renderer",
                f"{hello.renderer_id} of OpenUSD {hello.usd_version} ran; the profile pins "
                f"{profile.engine.renderer_id} of {profile.engine.usd_version}.",
                "Run set-up again, or build the image again.",
            )
        if job.role == "reference" and not max(self._coverage.values(), default=0.0) > 0:
            raise InfrastructureFault(
                "reference_blank", "The reference's pictures are blank.", "Check the reference of this case."
            )
        return RenderedRole(asset, report, self._pngs, self._pixels, self._coverage, self._non_finite, cameras)


def _breach(why: str) -> CandidateFault:
    # A renderer that an asset took over can say anything; an intact one says nothing of the kind.
    return CandidateFault(
        "protocol_breach", f"The sandbox answered out of turn: {why}.", "Hand in an asset that renders plainly."
    )
