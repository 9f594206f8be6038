"""``VisualJudgeResult``: what a judgment is recorded as, under the frozen schema beside this module."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from judge.conditions import WORDS
from judge.failures import FAILURES
from judge.gates import GATES
from judge.parsing import MAX_OBSERVATION
from judge.ports import MAX_SAMPLES, Order

Status = Literal["not_run", "scored", "unassessable", "failed"]
SCHEMA_ID: Final = "visual-judge-result-v1"

NOT_RUN: Final = (*(word for word in WORDS if word != "gate_failed"), *(f"gate_failed:{gate}" for gate in GATES))
FAILED: Final = (
    *FAILURES,
    "provider_type",
    "reply_empty",
    "reply_not_json",
    "reply_invalid",
    "served_model_missing",
    "served_model_mismatch",
)
_CRITERION: Final = "[a-z][a-z0-9_]{0,63}"
_REASON: Final = f"^({'|'.join((*NOT_RUN, *FAILED))}|criterion_unassessable:{_CRITERION})$"
_REASONS_OF: Final[dict[Status, tuple[str, ...]]] = {"not_run": NOT_RUN, "failed": FAILED}

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Time = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$")]
Share = Annotated[str, StringConstraints(pattern=r"^[0-9]+/[1-9][0-9]*$")]
Level = Annotated[int, Field(ge=0, le=4)]


class Part(BaseModel):
    """Frozen and closed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ProviderRecord(Part):
    """Who was asked and who answered. Of several calls, the first; the others stand in ``calls``."""

    provider_id: str
    requested_model: str
    served_model: str | None
    provider_request_id: str | None
    settings: dict[str, Any]
    timeout_seconds: float | None
    """None where the configured one is no number."""


class RubricRecord(Part):
    """Which rubric."""

    id: str
    sha256: Sha256


class RendererRecord(Part):
    """Which renderer drew the evidence."""

    name: str
    version: str
    code_sha256: Sha256
    profile_id: str


class SamplingRecord(Part):
    """How often the model was to be asked, and whether in both orders."""

    samples: int = Field(ge=1, le=MAX_SAMPLES)
    both_orders: bool


class CriterionRecord(Part):
    """One criterion; ``level`` and ``value`` are null where it is unassessable."""

    id: str = Field(pattern=f"^{_CRITERION}$")
    weight: str
    level: Level | None
    value: float | None = Field(ge=0, le=1)
    unassessable: bool
    observation: str = Field(max_length=MAX_OBSERVATION)
    agreement: Share | None
    """Calls that gave this answer, of all; null where no call could."""

    @model_validator(mode="after")
    def _consistent(self) -> CriterionRecord:
        if not (self.level is None) == (self.value is None) == self.unassessable:
            raise ValueError("level and value are null exactly where a criterion is unassessable")
        return self


class UsageRecord(Part):
    """As reported; null is unknown."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    total_tokens: int | None = Field(default=None, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)


class CallRecord(Part):
    """One call, also one that failed."""

    order: Order
    """Whose picture came first in each pair."""
    request_sha256: Sha256
    response_sha256: Sha256 | None
    """Of the reply's bytes; null where none came."""
    served_model: str | None
    provider_request_id: str | None
    usage: UsageRecord | None
    levels: dict[str, Level | None] | None
    """By criterion; null where the reply could not be used."""


class ControlsRecord(Part):
    """How the model's controls stood when it was asked; what they are is the appliance's affair."""

    status: Literal["passed", "exempt", "uncontrolled"]
    """``exempt`` is what is no model; ``uncontrolled`` is a model that was asked without a passing record."""
    record_sha256: Sha256 | None = None
    """Of the record's file."""
    expires: Time | None = None


class VisualJudgeResult(Part):
    """One judgment. ``score`` is null unless ``status`` is ``scored``."""

    schema_: Literal["visual-judge-result-v1"] = Field(default=SCHEMA_ID, alias="schema")
    kind: Literal["evaluation", "fixture"]
    """``fixture`` evidence is labelled for ever; such a record is no evaluation of a model."""
    status: Status
    reason: str | None = Field(pattern=_REASON)
    """Stable reason where there is no score, else null."""
    detail: str | None = None
    """One sentence for people."""
    score: float | None = Field(ge=0, le=1)
    score_exact: Share | None = None
    """The score as a fraction of whole numbers."""
    case_id: str | None
    receipt_sha256: Sha256 | None
    controller_id: str | None
    provider: ProviderRecord | None
    rubric: RubricRecord
    renderer: RendererRecord | None
    sampling: SamplingRecord
    input_sha256: Sha256 | None
    request_sha256: Sha256 | None
    """Of the one call's request, or of the canonical list of all calls' hashes where there were several."""
    response_sha256: Sha256 | None
    """Likewise of the replies; null where one is missing."""
    criteria: tuple[CriterionRecord, ...]
    usage: UsageRecord | None
    """Of all calls together; a sum with an unknown part is unknown."""
    calls: tuple[CallRecord, ...]
    sidecar: dict[str, Any] | None = None
    """Further measurements by the first call's client, for people; never part of the score."""
    controls: ControlsRecord | None = None
    """Null where nobody asked for controls."""
    started: Time
    finished: Time

    @model_validator(mode="after")
    def _consistent(self) -> VisualJudgeResult:
        scored = self.status == "scored"
        if (self.score is not None) != scored or (self.score_exact is not None) != scored:
            raise ValueError("a score belongs to status scored, and to no other")
        if (self.reason is None) != scored or not _fits(self.status, self.reason):
            raise ValueError("the reason is not one of the status")
        if scored and (not self.criteria or any(one.unassessable for one in self.criteria)):
            raise ValueError("a score needs a value for every criterion")
        if self.status == "not_run" and self.calls:
            raise ValueError("what was called has run")
        return self


def _fits(status: Status, reason: str | None) -> bool:
    if status == "unassessable":
        return reason is not None and reason.startswith("criterion_unassessable:")
    return status == "scored" or reason in _REASONS_OF[status]


def result_schema() -> dict[str, Any]:
    """JSON Schema generated from the model."""
    return VisualJudgeResult.model_json_schema(by_alias=True)


def frozen_schema() -> dict[str, Any]:
    """The schema as it is shipped and frozen."""
    loaded: dict[str, Any] = json.loads(files("judge").joinpath("visual-judge.schema.json").read_bytes())
    return loaded
