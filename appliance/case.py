"""``CASE.json`` and ``OBJECTIVE.json``: what a verifier hands in beside the submission."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from appliance.errors import UsageError
from receipt.errors import FormatError
from receipt.strict_json import parse_object

_MAX_BYTES = 1 << 20
_ID = r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"


class Case(BaseModel):
    """One case of a benchmark. Paths are relative to the case file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    case_id: str = Field(pattern=_ID)
    reference: str = Field(min_length=1)
    reference_root_layer: str | None = None
    submission_root_layer: str | None = None
    profile: str = "studio-v1"
    focus_prims: tuple[str, ...] = ()
    sku: str | None = None
    view_seed: int | None = Field(default=None, ge=0, le=2**53 - 1)
    acceptance: dict[str, Any] | None = None


class LoadedCase(BaseModel):
    """A case and where its reference lies."""

    model_config = ConfigDict(frozen=True)

    case: Case
    reference: Path


def valid_id(text: str) -> bool:
    """May this be a case's or an episode's id? The rule that the store has, too."""
    return re.fullmatch(_ID, text) is not None


def read_bounded(path: Path, what: str) -> bytes:
    """The bytes of a small file of the caller's own. Raises :class:`UsageError`."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"{what}_unreadable", f"The {what} file {str(path)!r} cannot be read: {error.strerror}.", "Check the path."
        ) from error
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{what}_too_big", f"The {what} file is over one mebibyte.", "Hand in a smaller file.")
    return data


def load_case(path: Path) -> LoadedCase:
    """Reads a case file. Raises :class:`UsageError` with the field that is wrong."""
    try:
        case = Case.model_validate(parse_object(read_bounded(path, "case"), max_bytes=_MAX_BYTES))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            "case_malformed", f"The case file is wrong at {where or 'its top'}: {first['msg']}.", "Correct the file."
        ) from error
    except FormatError as error:
        raise UsageError("case_malformed", f"The case file is wrong: {error.message}", "Correct the file.") from error
    return LoadedCase(case=case, reference=path.resolve().parent / case.reference)
