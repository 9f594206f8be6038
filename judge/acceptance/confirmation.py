"""The bounded confirmation of a critical defect, as a decision over judgments already made.

Two agreeing judgments on unchanged inputs, at most one tie-breaker. Making the judgments, and recording
them, is the host's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from judge.acceptance.aggregate import Verdict
from judge.acceptance.fields import ContractModel
from judge.acceptance.reply import EvaluatorCall
from judge.acceptance.report import JudgeReport

Fault = Literal["candidate", "infrastructure", "provider"]
Decision = Literal["single", "agreement", "majority", "disagreement", "unknown", "technical_failure"]
"""One judgment was enough; two agreed; two of three did; none did; one could not tell; one failed to be made."""


class TechnicalFailure(ContractModel):
    """Why a judgment gave no verdict, and what is known of a call that may have been charged."""

    code: str
    message: str
    fault: Fault
    call: EvaluatorCall | None


class JudgmentRecord(ContractModel):
    """One judgment under its own operation ID: its report, unless a failure stands in its place.

    Both stand where the report is about other inputs than the first one's.
    """

    operation_id: str
    report: JudgeReport | None
    failure: TechnicalFailure | None


class AcceptanceRecord(ContractModel):
    """What acceptance came to, with every judgment that was made on the way.

    ``verdict`` is null exactly where a technical failure stands in the last judgment.
    """

    verdict: Verdict | None
    decided_by: Decision
    critical_defect_confirmed: bool
    """Two judgments saw a critical defect."""
    judgments: tuple[JudgmentRecord, ...]


def held_to(earlier: Sequence[JudgmentRecord], record: JudgmentRecord) -> JudgmentRecord:
    """A later judgment confirms only on the inputs of the first."""
    first = earlier[0].report if earlier else None
    if first is None or record.report is None or record.report.input_fingerprint == first.input_fingerprint:
        return record
    failure = TechnicalFailure(
        code="inputs_changed",
        message="The evidence changed between a judgment and its confirmation.",
        fault="infrastructure",
        call=EvaluatorCall(metadata=record.report.evaluator, usage=record.report.usage),
    )
    return record.model_copy(update={"failure": failure})


def decide(records: Sequence[JudgmentRecord]) -> AcceptanceRecord | None:
    """The outcome of the judgments so far, or None where one more is called for. Pure."""
    reports = [record.report for record in records if record.report is not None and record.failure is None]
    if len(reports) < len(records):
        return _outcome(records, None, "technical_failure")
    last = reports[-1]
    if len(reports) == 1:
        return None if last.has_critical_defect else _outcome(records, last.verdict, "single")
    if last.verdict == "unknown":
        return _outcome(records, "unknown", "unknown")
    if len(reports) == 2:
        agree = _finding(reports[0]) == _finding(last)
        return _outcome(records, last.verdict, "agreement") if agree else None
    verdict, votes = Counter(report.verdict for report in reports).most_common(1)[0]
    return _outcome(records, verdict, "majority") if votes > 1 else _outcome(records, "unknown", "disagreement")


def _finding(report: JudgeReport) -> tuple[Verdict, bool]:
    return report.verdict, report.has_critical_defect


def _outcome(records: Sequence[JudgmentRecord], verdict: Verdict | None, decided_by: Decision) -> AcceptanceRecord:
    critical = sum(record.report is not None and record.report.has_critical_defect for record in records)
    return AcceptanceRecord(
        verdict=verdict, decided_by=decided_by, critical_defect_confirmed=critical > 1, judgments=tuple(records)
    )
