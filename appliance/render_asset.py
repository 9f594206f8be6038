"""``render-judge render``: any USD to a profile's PNGs, without a case, a judge or a key."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from appliance.episode import require_known_image
from appliance.errors import InfrastructureFault, UsageError, from_room
from appliance.machine import machine_class, runtime_versions
from appliance.rendering import Plan, RenderedRole, render_role, take_asset
from receipt.digests import sha256_hex
from renderer.errors import RendererError
from renderer.profile import load_profile
from renderer.protocol import Device
from sandbox import BackendName, SandboxError, open_backend
from sandbox.runtime import source_folder


@dataclass(frozen=True)
class RenderRequest:
    """What to draw, and where the pictures go: a folder that is empty or not there yet."""

    asset: Path
    out: Path
    profile: str = "studio-v1"
    root_layer: str | None = None
    sandbox: BackendName = "bubblewrap"
    device: Device = "cpu"


def render_asset(request: RenderRequest) -> dict[str, object]:
    """Writes ``<view>.<pass>.png`` and ``render.json``; returns the latter. Raises :class:`ApplianceError`.

    The folder gets all of its files or none.
    """
    out = request.out.absolute()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError("out_not_empty", f"{str(out)!r} exists and is not an empty folder.", "Choose another --out.")
    try:
        loaded = load_profile(source_folder() / "profiles", request.profile)
    except RendererError as error:
        raise UsageError(error.code, error.message, error.remedy) from error
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        private = Path(tempfile.mkdtemp(prefix=".render-", dir=out.parent))
    except OSError as error:
        raise UsageError(
            "out_unwritable", f"{str(out)!r} cannot be made: {error.strerror}.", "Choose another --out."
        ) from error
    try:
        backend = open_backend(request.sandbox, request.device)
        require_known_image(backend)
        asset = take_asset(request.asset, private / "asset", request.root_layer)
        rendered = render_role(Plan(backend, loaded, request.device), asset, "candidate", None)
        facts = _facts(request, rendered)
        pictures = private / "pictures"
        pictures.mkdir()
        for view_id, png in rendered.pngs.items():
            (pictures / f"{view_id}.png").write_bytes(png)
        (pictures / "render.json").write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        pictures.rename(out)
    except SandboxError as error:
        raise from_room(error) from error
    except OSError as error:
        raise InfrastructureFault(
            "out_unwritable", f"The pictures cannot be written: {error.strerror}.", "Check the disk."
        ) from error
    finally:
        shutil.rmtree(private, ignore_errors=True)
    return facts


def _facts(request: RenderRequest, rendered: RenderedRole) -> dict[str, object]:
    report = rendered.report
    return {
        "asset_sha256": rendered.asset.digest.sha256,
        "root_layer": rendered.asset.root_layer,
        "profile": request.profile,
        "sandbox": request.sandbox,
        "machine_class": machine_class(report.hello),
        "versions": runtime_versions(report.hello),
        "images": {f"{view_id}.png": sha256_hex(png) for view_id, png in rendered.pngs.items()},
        "coverage": rendered.coverage,
        "cameras": [camera.model_dump(mode="json") for camera in rendered.cameras],
        "reported_by_sandbox": report.facts.model_dump(mode="json"),
        "wall_seconds": round(report.usage.wall_seconds, 3),
        "peak_memory_bytes": report.usage.peak_memory_bytes,
    }
