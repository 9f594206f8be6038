"""Builds small signed episodes for tests that need no renderer. Their pictures are synthetic, and say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from securesystemslib.signer import CryptoSigner

from receipt import attestation
from receipt.diagnostics import Diagnostics, RoleDiagnostics, dump_diagnostics
from receipt.digests import sha256_hex
from receipt.evidence import TrustedRenderEvidence, load_trusted_render_evidence
from receipt.keys import ephemeral_signer
from receipt.model import SCHEMA, ImageRecord, Receipt, RendererIdentity, Role, dump_receipt
from receipt.png import encode_png
from receipt.store import stage

Picture = NDArray[np.uint8]
ROLES: tuple[Role, Role] = ("reference", "candidate")
VIEWS = ("front.beauty", "front.clay", "back.beauty", "back.clay")


def synthetic(role: Role, view_id: str) -> Picture:
    """A gradient, shape (12, 16, 3), different for each role and view."""
    seed = sum(map(ord, role + view_id))
    rows, columns = np.mgrid[0:12, 0:16]
    return np.stack([rows * 9 + seed, columns * 7, rows + columns], axis=-1).astype(np.uint8)


@dataclass
class Episode:
    """A committed episode and everything needed to change and sign it again."""

    folder: Path
    signer: CryptoSigner
    receipt_sha256: str
    candidate_sha256: str
    reference_sha256: str

    def load(self, **changes: Any) -> TrustedRenderEvidence:
        """Loads the episode as the appliance would, but for the changes."""
        arguments: dict[str, Any] = {
            "expected_receipt_sha256": self.receipt_sha256,
            "case_id": "case-1",
            "candidate_asset_sha256": self.candidate_sha256,
            "reference_asset_sha256": self.reference_sha256,
        }
        return load_trusted_render_evidence(self.folder, **(arguments | changes))


def build_episode(
    root: Path,
    *,
    picture: Callable[[Role, str], Picture] = synthetic,
    views: tuple[str, ...] = VIEWS,
    view_map: bool = True,
    fixture: bool = True,
    episode_id: str = "ep-1",
    edit_receipt: Callable[[dict[str, Any]], None] | None = None,
) -> Episode:
    """Writes one signed episode into a store below ``root``."""
    candidate, reference = sha256_hex(b"candidate"), sha256_hex(b"reference")
    pngs: dict[str, bytes] = {}
    records = []
    for view_id in views:
        for role in ROLES:
            pixels = picture(role, view_id)
            height, width, _ = pixels.shape
            data = encode_png(pixels.tobytes(), width, height, 8)
            path = f"images/{role}/{view_id}.png"
            pngs[path] = data
            records.append(ImageRecord(role=role, view_id=view_id, path=path, sha256=sha256_hex(data)))
    settings: dict[str, Any] = {"profile_sha256": "1" * 64}
    if view_map:
        settings["views"] = {one: {"camera": one.split(".")[0], "pass": one.split(".")[1]} for one in views}
    receipt = Receipt(
        schema=SCHEMA,
        case_id="case-1",
        candidate_asset_sha256=candidate,
        reference_asset_sha256=reference,
        fixture=fixture,
        renderer=RendererIdentity(
            name="test", version="0", code_sha256="2" * 64, profile_id="studio-v1", settings=settings
        ),
        images=records,
    )
    diagnostics = Diagnostics(
        reference=_facts("reference", reference, views, picture),
        candidate=_facts("candidate", candidate, views, picture),
    )
    signer = ephemeral_signer()
    with stage(root, "case-1", episode_id) as staged:
        files = {"receipt.json": dump_receipt(receipt), "diagnostics.json": dump_diagnostics(diagnostics), **pngs}
        if edit_receipt:
            import json

            value = json.loads(files["receipt.json"])
            edit_receipt(value)
            files["receipt.json"] = json.dumps(value).encode()
        for name, data in files.items():
            staged.write(name, data)
        subjects = {name: sha256_hex(data) for name, data in files.items()}
        staged.write("attestation.dsse.json", attestation.sign(subjects, predicate(episode_id, fixture), [signer]))
        folder = staged.commit()
    return Episode(folder, signer, sha256_hex(files["receipt.json"]), candidate, reference)


def predicate(episode_id: str = "ep-1", fixture: bool = True) -> attestation.Predicate:
    """A predicate as the appliance writes it."""
    return attestation.Predicate(
        case_id="case-1",
        episode_id=episode_id,
        fixture=fixture,
        mode="fixture" if fixture else "trusted",
        started="2026-01-01T00:00:00Z",
        finished="2026-01-01T00:00:09Z",
        host={"cpu": "test"},
        isolation={"backend": "process"},
        appliance_version="0",
    )


def _facts(role: Role, digest: str, views: tuple[str, ...], picture: Callable[[Role, str], Picture]) -> RoleDiagnostics:
    return RoleDiagnostics(
        digest_kind="file",
        asset_sha256=digest,
        root_layer="a.usda",
        pixel_sha256={view: sha256_hex(picture(role, view).tobytes()) for view in views},
        coverage=dict.fromkeys(views, 0.5),
        reported_by_sandbox={},
        measured_by_trusted_side={},
    )
