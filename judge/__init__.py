"""Verdicts over verified evidence: the scored judge and the acceptance judge.

evidence = load_trusted_render_evidence(root, expected_receipt_sha256=..., case_id=..., ...)
result = judge_visuals(evidence=evidence, objective=parse_objective(data))
assert result.status == "not_run" and result.score is None   # nothing authorises itself
"""

from judge.acceptance import (
    CHECKS_VERSION,
    JUDGE_INSTRUCTIONS,
    PACKAGE_VERSION,
    POLICY_VERSION,
    SCHEMA_VERSION,
    Evaluator,
    EvaluatorResponse,
    EvidenceAccess,
    JudgeReport,
    JudgeRequest,
    create_judge,
    hash_image_bytes,
)
from judge.errors import JudgeError
from judge.failures import ProviderFailure
from judge.gates import ObjectiveGates, parse_objective
from judge.ports import (
    ControllerAuthorization,
    JudgeClient,
    LabelledImage,
    ProviderConfig,
    ProviderRequest,
    ProviderResponse,
    Sampling,
    Usage,
)
from judge.result import VisualJudgeResult
from judge.rubric import Rubric, default_rubric, load_rubric
from judge.scored import judge_visuals
from receipt.evidence import TrustedRenderEvidence, load_trusted_render_evidence

__all__ = [
    "CHECKS_VERSION",
    "JUDGE_INSTRUCTIONS",
    "PACKAGE_VERSION",
    "POLICY_VERSION",
    "SCHEMA_VERSION",
    "ControllerAuthorization",
    "Evaluator",
    "EvaluatorResponse",
    "EvidenceAccess",
    "JudgeClient",
    "JudgeError",
    "JudgeReport",
    "JudgeRequest",
    "LabelledImage",
    "ObjectiveGates",
    "ProviderConfig",
    "ProviderFailure",
    "ProviderRequest",
    "ProviderResponse",
    "Rubric",
    "Sampling",
    "TrustedRenderEvidence",
    "Usage",
    "VisualJudgeResult",
    "create_judge",
    "default_rubric",
    "hash_image_bytes",
    "judge_visuals",
    "load_rubric",
    "load_trusted_render_evidence",
    "parse_objective",
]
