"""From two rendered roles to the receipt, the diagnostics and their signed statement."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from securesystemslib.signer import Signer

from appliance.machine import machine_class, runtime_versions
from appliance.rendering import Plan, RenderedRole
from receipt import attestation
from receipt.diagnostics import Diagnostics, RoleDiagnostics, dump_diagnostics
from receipt.digests import sha256_hex
from receipt.model import SCHEMA, ImageRecord, Receipt, RendererIdentity, dump_receipt
from receipt.store import Staged


def appliance_version() -> str:
    """The installed version of render-judge."""
    try:
        return version("render-judge")
    except PackageNotFoundError:
        return "0+unknown"


def settings_of(plan: Plan, reference: RenderedRole) -> dict[str, Any]:
    """What applies to every pair, and nothing that differs between equal renders."""
    profile, cameras = plan.loaded.profile, reference.cameras
    return {
        "profile_sha256": plan.loaded.sha256,
        "device": plan.device,
        "versions": runtime_versions(reference.report.hello),
        "machine_class": machine_class(reference.report.hello),
        "isolation": plan.backend.describe(),
        "limits": profile.budget.model_dump(mode="json"),
        "image": profile.image.model_dump(mode="json"),
        "view_seed": plan.view_seed,
        "cameras": {camera.name: camera.model_dump(mode="json", exclude={"name"}) for camera in cameras},
        "views": {
            f"{camera.name}.{name}": {"camera": camera.name, "pass": name}
            for name in profile.image.passes
            for camera in cameras
        },
    }


def build_receipt(
    case_id: str, fixture: bool, plan: Plan, code_sha256: str, reference: RenderedRole, candidate: RenderedRole
) -> tuple[Receipt, dict[str, bytes]]:
    """The receipt, and the PNGs by their path in the episode's folder."""
    files: dict[str, bytes] = {}
    images = []
    for view_id in reference.pngs:
        for role, rendered in (("reference", reference), ("candidate", candidate)):
            path = f"images/{role}/{view_id}.png"
            files[path] = rendered.pngs[view_id]
            images.append(
                ImageRecord(
                    role="reference" if role == "reference" else "candidate",
                    view_id=view_id,
                    path=path,
                    sha256=sha256_hex(rendered.pngs[view_id]),
                )
            )
    receipt = Receipt(
        schema=SCHEMA,
        case_id=case_id,
        candidate_asset_sha256=candidate.asset.digest.sha256,
        reference_asset_sha256=reference.asset.digest.sha256,
        fixture=fixture,
        renderer=RendererIdentity(
            name="render-judge-storm",
            version=appliance_version(),
            code_sha256=code_sha256,
            profile_id=plan.loaded.profile.id,
            settings=settings_of(plan, reference),
        ),
        images=images,
    )
    return receipt, files


def build_diagnostics(reference: RenderedRole, candidate: RenderedRole) -> Diagnostics:
    """Facts of both roles, each marked with who reported it."""
    return Diagnostics(reference=_role(reference), candidate=_role(candidate))


def _role(rendered: RenderedRole) -> RoleDiagnostics:
    report = rendered.report
    bounds = report.cameras
    return RoleDiagnostics(
        digest_kind=rendered.asset.digest.kind,
        asset_sha256=rendered.asset.digest.sha256,
        root_layer=rendered.asset.root_layer,
        pixel_sha256=rendered.pixel_sha256,
        coverage=rendered.coverage,
        reported_by_sandbox={
            **report.facts.model_dump(mode="json"),
            "non_finite_pixels": rendered.non_finite,
            "bounds_min_metres": list(bounds.bounds_min) if bounds else None,
            "bounds_max_metres": list(bounds.bounds_max) if bounds else None,
        },
        measured_by_trusted_side={
            "files": len(rendered.asset.snapshot.files),
            "bytes": sum(file.size for file in rendered.asset.snapshot.files),
            "wall_seconds": round(report.usage.wall_seconds, 3),
            "cpu_seconds": None if report.usage.cpu_seconds is None else round(report.usage.cpu_seconds, 3),
            "peak_memory_bytes": report.usage.peak_memory_bytes,
        },
    )


def write_evidence(
    staged: Staged,
    receipt: Receipt,
    images: dict[str, bytes],
    diagnostics: Diagnostics,
    predicate: attestation.Predicate,
    signers: Sequence[Signer],
) -> str:
    """Writes and signs everything below the staged folder; returns the receipt's SHA-256.

    Raises :class:`ReceiptError`.
    """
    files = {"receipt.json": dump_receipt(receipt), "diagnostics.json": dump_diagnostics(diagnostics), **images}
    for path, data in files.items():
        staged.write(path, data)
    subjects = {path: sha256_hex(data) for path, data in files.items()}
    staged.write("attestation.dsse.json", attestation.sign(subjects, predicate, signers))
    return subjects["receipt.json"]
