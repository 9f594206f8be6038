"""``diagnostics.json``: facts about each role for people, each marked with who reported it.

They are never sent to a judge. What the sandbox says is a claim; what the trusted side measured is not.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, ValidationError

from receipt.digests import canonical_json
from receipt.errors import FormatError
from receipt.model import Frozen, Sha256, first_mistake
from receipt.strict_json import parse_object

SCHEMA: Final = "render-judge-diagnostics-v1"
MAX_DIAGNOSTICS_BYTES: Final = 4 << 20


class RoleDiagnostics(Frozen):
    """One role's facts, kept apart by their source."""

    digest_kind: Literal["file", "folder"]
    asset_sha256: Sha256
    root_layer: str = Field(min_length=1, max_length=4096)
    pixel_sha256: dict[str, Sha256]
    """SHA-256 of the final pixels of each view, before PNG: comparable across zlib versions."""
    coverage: dict[str, float]
    """Share of each view that the subject covers, as reported by the sandbox."""
    reported_by_sandbox: dict[str, Any]
    measured_by_trusted_side: dict[str, Any]


class Diagnostics(Frozen):
    """The whole file."""

    schema_: Literal["render-judge-diagnostics-v1"] = Field(default=SCHEMA, alias="schema")
    reference: RoleDiagnostics
    candidate: RoleDiagnostics


def dump_diagnostics(diagnostics: Diagnostics) -> bytes:
    """Canonical bytes. Raises :class:`FormatError` when they exceed the limit."""
    data = canonical_json(diagnostics.model_dump(mode="json", by_alias=True))
    if len(data) > MAX_DIAGNOSTICS_BYTES:
        raise FormatError("diagnostics_too_big", "The diagnostics exceed four mebibytes.")
    return data


def parse_diagnostics(data: bytes) -> Diagnostics:
    """Reads a diagnostics file strictly. Raises :class:`FormatError`."""
    value = parse_object(data, max_bytes=MAX_DIAGNOSTICS_BYTES)
    if value.get("schema") != SCHEMA:
        raise FormatError("diagnostics_schema", f"These are no diagnostics in schema {SCHEMA}.")
    try:
        return Diagnostics.model_validate(value)
    except ValidationError as error:
        raise FormatError("diagnostics_malformed", f"The diagnostics are wrong {first_mistake(error)}.") from error
