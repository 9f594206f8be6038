"""An adversary in memory: one whole episode as plain values, changed one at a time and signed again at will.

Its pictures are synthetic gradients; nothing here has been rendered.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from securesystemslib.signer import CryptoSigner, Key

from receipt import attestation
from receipt.digests import canonical_json, sha256_hex
from receipt.evidence import TrustedRenderEvidence, load_trusted_render_evidence
from receipt.keys import ephemeral_signer
from receipt.model import Role
from receipt.png import decode_png, encode_png
from receipt.verify import VerificationReport, verify_episode

ROLES: tuple[Role, Role] = ("reference", "candidate")
VIEWS = ("front.beauty", "front.clay")
CASE, EPISODE = "case-1", "ep-1"
FIRST = "images/reference/front.beauty.png"
SECOND = "images/candidate/front.beauty.png"
SIGNER, STRANGER = ephemeral_signer(), ephemeral_signer()


def picture(role: Role, view_id: str, *, width: int = 8, height: int = 6, depth: int = 8) -> bytes:
    """A PNG of a gradient, different for each role and view."""
    seed = sum(map(ord, role + view_id))
    rows, columns = np.mgrid[0:height, 0:width]
    pixels = np.stack([rows * 9 + seed, columns * 7, rows + columns], axis=-1) % 256
    return encode_png(pixels.astype(np.uint8 if depth == 8 else ">u2").tobytes(), width, height, depth)


@dataclass
class Bundle:
    """An episode's parts. ``seal`` writes hashes, statement and signature over whatever they say now."""

    receipt: dict[str, Any]
    diagnostics: dict[str, Any]
    predicate: dict[str, Any]
    pngs: dict[str, bytes]
    signers: list[CryptoSigner] = field(default_factory=lambda: [SIGNER])
    files: dict[str, bytes] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    """What the render step announced directly: the receipt's hash and the identity."""

    def refresh(self) -> Bundle:
        """Makes the hashes in the receipt and the pixels in the diagnostics those of the pictures."""
        for record in self.receipt["images"]:
            data = self.pngs[record["path"]]
            record["sha256"] = sha256_hex(data)
            self.diagnostics[record["role"]]["pixel_sha256"][record["view_id"]] = sha256_hex(decode_png(data).pixels)
        return self

    def seal(self, *, receipt: bytes | None = None, subjects: Callable[[dict[str, str]], Any] | None = None) -> Bundle:
        """Fills ``files`` and ``told``; ``subjects`` may edit what the statement names."""
        self.files = {
            "receipt.json": canonical_json(self.receipt) if receipt is None else receipt,
            "diagnostics.json": canonical_json(self.diagnostics),
            **self.pngs,
        }
        named = {name: sha256_hex(data) for name, data in self.files.items()}
        if subjects:
            subjects(named)
        statement = {
            "_type": attestation.STATEMENT_TYPE,
            "predicateType": attestation.PREDICATE_TYPE,
            "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in named.items()],
            "predicate": self.predicate,
        }
        self.files["attestation.dsse.json"] = envelope(canonical_json(statement), self.signers)
        self.told = {
            "expected_receipt_sha256": sha256_hex(self.files["receipt.json"]),
            "case_id": CASE,
            "candidate_asset_sha256": sha256_hex(b"candidate"),
            "reference_asset_sha256": sha256_hex(b"reference"),
        }
        return self

    def put(self, folder: Path) -> Placed:
        """Writes the files into a new folder."""
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        folder.chmod(0o755)
        return Placed(folder, self.told)

    def copy(self) -> Bundle:
        """Changes to the copy leave the original alone."""
        return copy.deepcopy(self, {id(signer): signer for signer in self.signers})


@dataclass
class Placed:
    """A bundle on disk, and the loader's and the verifier's view of it."""

    folder: Path
    told: dict[str, str]

    def load(self, **changes: Any) -> TrustedRenderEvidence:
        """As the render step's own successor would, but for the changes."""
        return load_trusted_render_evidence(self.folder, **(self.told | changes))

    def verify(self, *keys: Key, **options: Any) -> VerificationReport:
        """As an auditor would."""
        return verify_episode(self.folder, keys or [SIGNER.public_key], **options)

    def failures(self, **options: Any) -> dict[str, str]:
        """Code by question, of the questions that failed."""
        return {answer.question: answer.code for answer in self.verify(**options).answers if not answer.holds}

    def replace(self, name: str, data: bytes) -> None:
        """Puts other bytes in a file's place."""
        (self.folder / name).unlink(missing_ok=True)
        (self.folder / name).write_bytes(data)

    def edit(self, name: str, change: Callable[[dict[str, Any]], Any]) -> None:
        """Changes a JSON file's value and leaves its signature as it was."""
        value = json.loads((self.folder / name).read_bytes())
        change(value)
        self.replace(name, json.dumps(value).encode())


def envelope(payload: bytes, signers: list[CryptoSigner], kind: str = attestation.PAYLOAD_TYPE) -> bytes:
    """A DSSE envelope, put together here from the specification: the tests' own second opinion."""
    message = b"DSSEv1 %d %b %d %b" % (len(kind.encode()), kind.encode(), len(payload), payload)
    signatures = [
        {
            "keyid": signer.public_key.keyid,
            "sig": base64.b64encode(bytes.fromhex(signer.sign(message).signature)).decode(),
        }
        for signer in signers
    ]
    value = {"payload": base64.b64encode(payload).decode(), "payloadType": kind, "signatures": signatures}
    return json.dumps(value).encode()


def bundle(*, fixture: bool = False, views: tuple[str, ...] = VIEWS, depth: int = 8) -> Bundle:
    """A whole episode that holds in every respect."""
    pngs, images = {}, []
    for view_id in views:
        for role in ROLES:
            path = f"images/{role}/{view_id}.png"
            pngs[path] = picture(role, view_id, depth=depth)
            images.append({"role": role, "view_id": view_id, "path": path, "sha256": ""})
    receipt = {
        "schema": "simrepairbench-trusted-renders-v1",
        "case_id": CASE,
        "candidate_asset_sha256": sha256_hex(b"candidate"),
        "reference_asset_sha256": sha256_hex(b"reference"),
        "fixture": fixture,
        "renderer": {
            "name": "test",
            "version": "0",
            "code_sha256": "2" * 64,
            "profile_id": "studio-v1",
            "settings": {"views": {one: {"camera": one.split(".")[0], "pass": one.split(".")[1]} for one in views}},
        },
        "images": images,
    }
    diagnostics = {"schema": "render-judge-diagnostics-v1"} | {role: _facts(role, views) for role in ROLES}
    predicate = {
        "case_id": CASE,
        "episode_id": EPISODE,
        "fixture": fixture,
        "mode": "fixture" if fixture else "trusted",
        "started": "2026-01-01T00:00:00Z",
        "finished": "2026-01-01T00:00:09.125Z",
        "host": {"cpu": "test"},
        "isolation": {"backend": "test"},
        "appliance_version": "0",
    }
    return Bundle(receipt, diagnostics, predicate, pngs).refresh().seal()


def _facts(role: str, views: tuple[str, ...]) -> dict[str, Any]:
    return {
        "digest_kind": "file",
        "asset_sha256": sha256_hex(role.encode()),
        "root_layer": "a.usda",
        "pixel_sha256": {},
        "coverage": dict.fromkeys(views, 0.5),
        "reported_by_sandbox": {},
        "measured_by_trusted_side": {},
    }
