"""``VisualJudgeResult``: what a judgment is recorded as, under the frozen schema beside this module."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Status = Literal["not_run", "scored", "unassessable", "failed"]
SCHEMA_ID: Final = "visual-judge-result-v1"


class Part(BaseModel):
    """Frozen and closed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ProviderRecord(Part):
    """Who was asked and who answered."""

    provider_id: str
    requested_model: str
    served_model: str | None
    provider_request_id: str | None
    settings: dict[str, Any]
    timeout_seconds: float


class RubricRecord(Part):
    """Which rubric."""

    id: str
    sha256: str


class RendererRecord(Part):
    """Which renderer drew the evidence."""

    name: str
    version: str
    code_sha256: str
    profile_id: str


class CriterionRecord(Part):
    """One criterion; ``level`` and ``value`` are null where it is unassessable."""

    id: str
    weight: str
    level: int | None
    value: float | None
    unassessable: bool
    observation: str


class UsageRecord(Part):
    """As reported; null is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None


class VisualJudgeResult(Part):
    """One judgment. ``score`` is null unless ``status`` is ``scored``."""

    schema_: Literal["visual-judge-result-v1"] = Field(default=SCHEMA_ID, alias="schema")
    kind: Literal["evaluation", "fixture"]
    """``fixture`` evidence is labelled for ever; such a record is no evaluation of a model."""
    status: Status
    reason: str | None
    """Stable reason where there is no score, else null."""
    detail: str | None = None
    """One sentence for people."""
    score: float | None = Field(ge=0, le=1)
    score_exact: str | None = None
    """The score as a fraction of whole numbers."""
    case_id: str | None
    receipt_sha256: str | None
    controller_id: str | None
    provider: ProviderRecord | None
    rubric: RubricRecord
    renderer: RendererRecord | None
    input_sha256: str | None
    request_sha256: str | None
    response_sha256: str | None
    criteria: list[CriterionRecord]
    usage: UsageRecord | None
    sidecar: dict[str, Any] | None = None
    started: str
    finished: str

    @model_validator(mode="after")
    def _consistent(self) -> VisualJudgeResult:
        if (self.score is not None) != (self.status == "scored"):
            raise ValueError("a score belongs to status scored, and to no other")
        if (self.reason is None) != (self.status == "scored"):
            raise ValueError("a reason stands where there is no score")
        return self


def result_schema() -> dict[str, Any]:
    """JSON Schema generated from the model."""
    return VisualJudgeResult.model_json_schema(by_alias=True)


def frozen_schema() -> dict[str, Any]:
    """The schema as it is shipped and frozen."""
    loaded: dict[str, Any] = json.loads(files("judge").joinpath("visual-judge.schema.json").read_bytes())
    return loaded
