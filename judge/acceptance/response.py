"""Holding a model's reply against the request that it answers.

The reply must answer every criterion once, for exactly the outputs that the criterion covers, and agree
with itself. What passes is put into the request's order, so that equal findings read equal.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from judge.acceptance.fields import first_problem, named
from judge.acceptance.reply import CriterionCheck, EvaluatorResponse
from judge.acceptance.request import Criterion, JudgeRequest
from judge.errors import ReplyError
from judge.parsing import parse_json_object


class ReplyProblem(Exception):
    """Why a reply cannot be used: ``path`` in it, and ``reason``. Never leaves this package."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}" if path else reason)
        self.path = path
        self.reason = reason


def validate_response(response: object, request: JudgeRequest, fingerprint: str) -> tuple[CriterionCheck, ...]:
    """The checks of a valid reply, criteria and output IDs in the request's order.

    ``response`` is a model, a mapping with JSON names, or the reply's JSON text.

    :raises ReplyProblem: the reply is malformed, incomplete, inventive or inconsistent.
    """
    reply = _parse(response)
    if reply.input_fingerprint != fingerprint:
        raise ReplyProblem("inputFingerprint", "is not that of this request")
    known = {criterion.id for criterion in request.goal.criteria}
    answers: dict[str, tuple[int, CriterionCheck]] = {}
    for index, check in enumerate(reply.checks):
        if check.criterion_id not in known:
            raise ReplyProblem(f"checks[{index}].criterionId", "names no criterion of the request")
        if check.criterion_id in answers:
            raise ReplyProblem(f"checks[{index}].criterionId", "is answered more than once")
        answers[check.criterion_id] = (index, check)
    ordered: list[CriterionCheck] = []
    for criterion in request.goal.criteria:
        if criterion.id not in answers:
            raise ReplyProblem("checks", f"lack an answer to criterion {criterion.id!r}")
        index, check = answers[criterion.id]
        covered = request.covered_outputs(criterion)
        for name, reason in _faults(check, criterion, covered):
            raise ReplyProblem(f"checks[{index}].{name}", reason)
        affected = tuple(output for output in covered if output in check.affected_output_ids)
        ordered.append(check.model_copy(update={"output_ids": covered, "affected_output_ids": affected}))
    return tuple(ordered)


def _parse(response: object) -> EvaluatorResponse:
    fields: object = named(response)
    if isinstance(response, str | bytes):
        fields = _parse_text(response)
    if fields is None:
        raise ReplyProblem("", "is neither a model, a mapping nor JSON text")
    try:
        return EvaluatorResponse.model_validate(fields, by_alias=True, by_name=False)
    except ValidationError as error:
        raise ReplyProblem(*first_problem(error)) from None


def _parse_text(text: str | bytes) -> dict[str, object]:
    try:
        return parse_json_object(text)
    except ReplyError as error:
        raise ReplyProblem("", error.message.rstrip(".")) from None


def _faults(check: CriterionCheck, criterion: Criterion, covered: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if len(check.output_ids) != len(covered) or set(check.output_ids) != set(covered):
        yield "outputIds", f"are not exactly the outputs that criterion {criterion.id!r} covers"
    affected = set(check.affected_output_ids)
    if len(affected) != len(check.affected_output_ids):
        yield "affectedOutputIds", "repeat an output"
    if not affected <= set(covered):
        yield "affectedOutputIds", f"name an output that criterion {criterion.id!r} does not cover"
    if (check.verdict == "fail") == (check.severity == "none"):
        yield "severity", f"{check.severity!r} does not go with verdict {check.verdict!r}"
    if check.verdict == "pass" and affected:
        yield "affectedOutputIds", "must be empty where the criterion passes"
    if check.verdict == "fail" and covered and not affected:
        yield "affectedOutputIds", "must name an output where the criterion fails"
