"""What a judgment says: the verdict, and everything it rests on."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from judge.acceptance.aggregate import Verdict
from judge.acceptance.checks import MeasurableCheck
from judge.acceptance.evidence import DecodedMetadata
from judge.acceptance.fields import ContractModel, Identifier, Sha256Hex, Text
from judge.acceptance.reply import CriterionCheck, EvaluatorMetadata, EvaluatorUsage
from judge.acceptance.request import Identity, ImageRole


class Versions(ContractModel):
    """The version constants under which the judgment was made."""

    package: Text
    policy: Text
    schema_: Annotated[Text, Field(alias="schema")]
    checks: Text


class EvidenceRecord(ContractModel):
    """One image of the request and what was found of it; the bytes stay with the host."""

    id: Identifier
    role: ImageRole
    content_hash: Sha256Hex
    status: Literal["available", "unavailable"]
    metadata: DecodedMetadata | None
    reason: Text | None


class JudgeReport(ContractModel):
    """One judgment.

    ``criteria``, ``evaluator`` and ``usage`` are null where evidence was unavailable and no evaluator was
    asked. The identity is the request's, verbatim.
    """

    verdict: Verdict
    identity: Identity
    input_fingerprint: Sha256Hex
    measurable_checks: tuple[MeasurableCheck, ...]
    criteria: tuple[CriterionCheck, ...] | None
    accepted_deviations: tuple[CriterionCheck, ...]
    evidence: tuple[EvidenceRecord, ...]
    evaluator: EvaluatorMetadata | None
    usage: EvaluatorUsage | None
    versions: Versions

    @property
    def has_critical_defect(self) -> bool:
        """A critical check is a failed one, so the verdict is fail wherever this holds."""
        return any(check.severity == "critical" for check in self.criteria or ())
