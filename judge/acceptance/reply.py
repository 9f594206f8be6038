"""What an evaluator returns: the model's reply, and apart from it what the adapter knows of the call.

The reply holds the fingerprint and one check a criterion; there is no field in which a score or an
overall verdict could travel.
"""

from __future__ import annotations

from typing import Literal

from judge.acceptance.fields import Amount, ContractModel, Count, Identifier, Text

CheckVerdict = Literal["pass", "fail", "unknown"]
Severity = Literal["none", "minor", "major", "critical"]


class CriterionCheck(ContractModel):
    """The evaluator's finding on one criterion.

    ``output_ids`` are all the outputs that the criterion covers, ``affected_output_ids`` those of them
    that show the finding: coverage and defect are different things.
    """

    criterion_id: Identifier
    verdict: CheckVerdict
    severity: Severity
    observed_evidence: Text
    output_ids: tuple[Identifier, ...]
    affected_output_ids: tuple[Identifier, ...]
    suggested_change: Text | None


class EvaluatorResponse(ContractModel):
    """The structured reply that a model is asked for."""

    input_fingerprint: Text
    checks: tuple[CriterionCheck, ...]


class EvaluatorMetadata(ContractModel):
    """Who answered, as the adapter knows it; null is unknown."""

    evaluator_id: Identifier
    evaluator_version: Identifier
    provider: Identifier
    model: Identifier
    model_version: Text | None
    provider_request_id: Text | None


class EvaluatorUsage(ContractModel):
    """What the call took, as reported; null is unknown, never zero."""

    input_tokens: Count | None
    output_tokens: Count | None
    total_tokens: Count | None
    cost_usd: Amount | None


class EvaluatorCall(ContractModel):
    """What is known of a call whose reply could not be used; null where it was invalid too."""

    metadata: EvaluatorMetadata | None
    usage: EvaluatorUsage | None


class EvaluatorResult(ContractModel):
    """What :meth:`Evaluator.evaluate` returns; each part is validated on its own, later."""

    response: object
    """An :class:`EvaluatorResponse`, a mapping with JSON names, or the reply's JSON text."""
    metadata: object
    usage: object
