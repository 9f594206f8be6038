"""One hash for what a judgment rests on.

Covered: the whole frozen request in its given order, except the operation ID (a confirmation on
unchanged evidence must stay comparable); for every image whether it was available and its decoded
metadata; the version constants. Not covered: why an image was unavailable.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from judge.acceptance.evidence import ResolvedImage
from judge.acceptance.request import JudgeRequest
from judge.acceptance.versions import CHECKS_VERSION, PACKAGE_VERSION, POLICY_VERSION, SCHEMA_VERSION
from receipt.digests import canonical_json, sha256_hex


def input_fingerprint(request: JudgeRequest, images: Sequence[ResolvedImage]) -> str:
    """SHA-256 (lower-case hex) of the canonical JSON (RFC 8785) of a request and its resolved images."""
    covered = request.model_dump(mode="json")
    del covered["identity"]["operationId"]
    document: dict[str, JsonValue] = {
        "versions": {
            "package": PACKAGE_VERSION,
            "policy": POLICY_VERSION,
            "schema": SCHEMA_VERSION,
            "checks": CHECKS_VERSION,
        },
        "request": covered,
        "evidence": [_evidence(image) for image in images],
    }
    return sha256_hex(canonical_json(document))


def _evidence(image: ResolvedImage) -> JsonValue:
    return {
        "id": image.reference.id,
        "role": image.role,
        "contentHash": image.reference.content_hash,
        "metadata": image.item.metadata.model_dump(mode="json") if image.item else None,
    }
