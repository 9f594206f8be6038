"""``receipt.json``: the first contract's schema, exactly, and the bytes that it is written as."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

from receipt.digests import canonical_json
from receipt.errors import FormatError
from receipt.strict_json import parse_object

SCHEMA: Final = "simrepairbench-trusted-renders-v1"
MAX_RECEIPT_BYTES: Final = 4 << 20
ID_PATTERN: Final = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Identifier = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
Role = Literal["reference", "candidate"]


class Frozen(BaseModel):
    """Frozen, strict about types, and closed: an unknown field is refused."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        json_schema_serialization_defaults_required=True,
    )


class RendererIdentity(Frozen):
    """Which renderer drew, and everything that applies to every pair."""

    name: str = Field(min_length=1, max_length=200)
    version: str = Field(min_length=1, max_length=200)
    code_sha256: Sha256
    profile_id: str = Field(min_length=1, max_length=128)
    settings: dict[str, Any]


class ImageRecord(Frozen):
    """One picture: whose, which view, where below the receipt's folder, and the hash of its bytes."""

    role: Role
    view_id: str = Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.-]+$")
    path: str = Field(min_length=1, max_length=1024)
    sha256: Sha256

    @field_validator("path")
    @classmethod
    def _confined(cls, value: str) -> str:
        if not confined(value):
            raise ValueError("must be a normal relative POSIX path")
        return value


class Receipt(Frozen):
    """A whole receipt. Each view has exactly one reference and one candidate picture."""

    schema_: Literal["simrepairbench-trusted-renders-v1"] = Field(default=SCHEMA, alias="schema")
    case_id: Identifier
    candidate_asset_sha256: Sha256
    reference_asset_sha256: Sha256
    fixture: bool
    renderer: RendererIdentity
    images: list[ImageRecord] = Field(min_length=2, max_length=1024)

    @model_validator(mode="after")
    def _paired(self) -> Receipt:
        seen = [(image.role, image.view_id) for image in self.images]
        views: dict[Role, set[str]] = {"reference": set(), "candidate": set()}
        for role, view in seen:
            views[role].add(view)
        if len(set(seen)) != len(seen) or views["reference"] != views["candidate"]:
            raise ValueError("each view needs exactly one reference and one candidate image")
        paths = [image.path for image in self.images]
        if len(set(paths)) != len(paths):
            raise ValueError("two images share a path")
        return self


def confined(path: str) -> bool:
    """Is this a normal relative POSIX path: no ``.``, ``..``, empty segment, backslash or control character?"""
    if not path or "\\" in path or any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
        return False
    return str(PurePosixPath(path)) == path and not path.startswith("/") and ".." not in path.split("/") and path != "."


def first_mistake(error: ValidationError) -> str:
    """Where a document is wrong and why, in a few words, without its values."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:200] or "its top"
    return f"at {where}: {first['msg'][:200]}"


def parse_receipt(data: bytes) -> Receipt:
    """Reads a receipt strictly. Raises :class:`FormatError` naming the field that is wrong."""
    value = parse_object(data, max_bytes=MAX_RECEIPT_BYTES)
    if value.get("schema") != SCHEMA:
        raise FormatError("receipt_schema", f"This is no receipt in schema {SCHEMA}.")
    try:
        return Receipt.model_validate(value)
    except ValidationError as error:
        raise FormatError("receipt_malformed", f"The receipt is wrong {first_mistake(error)}.") from error


def dump_receipt(receipt: Receipt) -> bytes:
    """The receipt's bytes: canonical, so that equal renders give equal receipts."""
    return canonical_json(receipt.model_dump(mode="json", by_alias=True))
