"""The acceptance judge: does a finished set of images fulfil its goal, criterion by criterion?

The host brings two ports, :class:`EvidenceAccess` and :class:`Evaluator`; this package owns the frozen
request, the verification of evidence, the measurable checks, the validation of replies and the verdict.

    from judge import create_judge

    report = await create_judge(evaluator=evaluator, evidence_access=access).judge(request)
    report.verdict            # "pass", "pass_with_minor_deviations", "fail" or "unknown"
    report.model_dump_json()  # with the contract's camelCase names
"""

from __future__ import annotations

from judge.acceptance.aggregate import Verdict
from judge.acceptance.checks import MeasurableCheck
from judge.acceptance.clients import ClientEvaluator
from judge.acceptance.confirmation import AcceptanceRecord, Decision, JudgmentRecord, TechnicalFailure, decide, held_to
from judge.acceptance.errors import AcceptanceCode, AcceptanceError
from judge.acceptance.evidence import (
    AvailableEvidence,
    DecodedMetadata,
    Decoder,
    EvidenceItem,
    UnavailableEvidence,
    hash_image_bytes,
)
from judge.acceptance.instructions import JUDGE_INSTRUCTIONS
from judge.acceptance.judgment import Judge, create_judge
from judge.acceptance.measures import MeasuredEvaluator, Pair
from judge.acceptance.ports import Evaluator, EvaluatorRequest, EvidenceAccess
from judge.acceptance.reply import (
    CriterionCheck,
    EvaluatorCall,
    EvaluatorMetadata,
    EvaluatorResponse,
    EvaluatorResult,
    EvaluatorUsage,
)
from judge.acceptance.report import EvidenceRecord, JudgeReport, Versions
from judge.acceptance.request import (
    AspectRatio,
    Criterion,
    Deliverable,
    Goal,
    Identity,
    ImageReference,
    ImageRole,
    JudgeRequest,
    OutputReference,
    parse_request,
    request_json,
)
from judge.acceptance.versions import CHECKS_VERSION, PACKAGE_VERSION, POLICY_VERSION, SCHEMA_VERSION
from judge.errors import JudgeError

__all__ = [
    "CHECKS_VERSION",
    "JUDGE_INSTRUCTIONS",
    "PACKAGE_VERSION",
    "POLICY_VERSION",
    "SCHEMA_VERSION",
    "AcceptanceCode",
    "AcceptanceError",
    "AcceptanceRecord",
    "AspectRatio",
    "AvailableEvidence",
    "ClientEvaluator",
    "Criterion",
    "CriterionCheck",
    "Decision",
    "DecodedMetadata",
    "Decoder",
    "Deliverable",
    "Evaluator",
    "EvaluatorCall",
    "EvaluatorMetadata",
    "EvaluatorRequest",
    "EvaluatorResponse",
    "EvaluatorResult",
    "EvaluatorUsage",
    "EvidenceAccess",
    "EvidenceItem",
    "EvidenceRecord",
    "Goal",
    "Identity",
    "ImageReference",
    "ImageRole",
    "Judge",
    "JudgeError",
    "JudgeReport",
    "JudgeRequest",
    "JudgmentRecord",
    "MeasurableCheck",
    "MeasuredEvaluator",
    "OutputReference",
    "Pair",
    "TechnicalFailure",
    "UnavailableEvidence",
    "Verdict",
    "Versions",
    "create_judge",
    "decide",
    "hash_image_bytes",
    "held_to",
    "parse_request",
    "request_json",
]
