"""The acceptance judge: a frozen request in, a deterministic report out.

    judge = create_judge(evaluator=evaluator, evidence_access=evidence_access)
    async with asyncio.timeout(120):
        report = await judge.judge(request)

Everything is resolved before anything is decided. Nothing is retried. A report is a finding about
quality; whatever went wrong technically is raised, and never becomes a verdict.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from judge.acceptance.aggregate import aggregate
from judge.acceptance.checks import measure
from judge.acceptance.errors import AcceptanceError
from judge.acceptance.evidence import ResolvedImage, verify_evidence, verify_unchanged
from judge.acceptance.fields import ContractModel, first_problem, named
from judge.acceptance.fingerprint import input_fingerprint
from judge.acceptance.instructions import JUDGE_INSTRUCTIONS
from judge.acceptance.ports import Evaluator, EvaluatorRequest, EvidenceAccess
from judge.acceptance.reply import (
    CriterionCheck,
    EvaluatorCall,
    EvaluatorMetadata,
    EvaluatorResult,
    EvaluatorUsage,
)
from judge.acceptance.report import EvidenceRecord, JudgeReport, Versions
from judge.acceptance.request import ImageReference, ImageRole, JudgeRequest, parse_request
from judge.acceptance.response import ReplyProblem, validate_response
from judge.acceptance.structured import CallScope
from judge.acceptance.versions import CHECKS_VERSION, PACKAGE_VERSION, POLICY_VERSION, SCHEMA_VERSION

_Part = TypeVar("_Part", bound=ContractModel)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A valid evaluation: the findings, and who made them at what cost."""

    checks: tuple[CriterionCheck, ...]
    metadata: EvaluatorMetadata
    usage: EvaluatorUsage


class Judge:
    """Made by :func:`create_judge`; holds the host's ports and no state."""

    def __init__(self, evaluator: Evaluator, evidence_access: EvidenceAccess) -> None:
        self._evaluator = evaluator
        self._evidence_access = evidence_access

    async def judge(
        self, request: JudgeRequest | Mapping[str, object], *, cancel: asyncio.Event | None = None
    ) -> JudgeReport:
        """Judge one request, given as a model or by its JSON names.

        Cancelling the task, or setting ``cancel``, ends it at once with :class:`asyncio.CancelledError`.

        :raises AcceptanceError: a :class:`judge.errors.JudgeError` with code ``invalid_request``,
            ``invalid_evidence``, ``invalid_evaluator_response`` or ``invalid_evaluator_metadata``.
        :raises Exception: whatever a port raises, unchanged.
        """
        frozen = parse_request(request)
        scope = CallScope(cancel)
        images = await self._resolve(frozen, scope)
        fingerprint = input_fingerprint(frozen, images)
        measured = measure(frozen, images)
        evaluation = None
        if all(image.item for image in images):
            evaluation = await self._evaluate(frozen, images, fingerprint, scope)
        checks = evaluation.checks if evaluation else None
        verdict, deviations = aggregate(frozen.goal.criteria, measured, checks)
        return JudgeReport(
            verdict=verdict,
            identity=frozen.identity,
            input_fingerprint=fingerprint,
            measurable_checks=measured,
            criteria=checks,
            accepted_deviations=deviations,
            evidence=tuple(_record(image) for image in images),
            evaluator=evaluation.metadata if evaluation else None,
            usage=evaluation.usage if evaluation else None,
            versions=Versions(
                package=PACKAGE_VERSION, policy=POLICY_VERSION, schema_=SCHEMA_VERSION, checks=CHECKS_VERSION
            ),
        )

    async def _resolve(self, request: JudgeRequest, scope: CallScope) -> tuple[ResolvedImage, ...]:
        def call(role: ImageRole, reference: ImageReference) -> Callable[[], Awaitable[object]]:
            return lambda: self._evidence_access.resolve(reference, role=role, cancel=scope.stop)

        references = list(request.images())
        answers = await scope.run([call(role, reference) for role, reference in references])
        images: list[ResolvedImage] = []
        for (role, reference), answer in zip(references, answers, strict=True):
            # Hashing and decoding hold the loop for milliseconds an image; others get their turn between.
            await asyncio.sleep(0)
            scope.check()
            images.append(verify_evidence(reference, role, answer))
        return tuple(images)

    async def _evaluate(
        self, request: JudgeRequest, images: tuple[ResolvedImage, ...], fingerprint: str, scope: CallScope
    ) -> Evaluation:
        question = EvaluatorRequest(
            instructions=JUDGE_INSTRUCTIONS,
            untrusted_context=request,
            evidence=tuple(image.item for image in images if image.item),
            input_fingerprint=fingerprint,
        )
        calls: list[Callable[[], Awaitable[object]]] = [lambda: self._evaluator.evaluate(question, cancel=scope.stop)]
        (answer,) = await scope.run(calls)
        return _read(answer, request, images, fingerprint)


def create_judge(*, evaluator: Evaluator, evidence_access: EvidenceAccess) -> Judge:
    """A judge over a host's ports. It reads no environment, opens no socket and keeps nothing."""
    return Judge(evaluator, evidence_access)


def _read(answer: object, request: JudgeRequest, images: tuple[ResolvedImage, ...], fingerprint: str) -> Evaluation:
    fields = named(answer)
    metadata, metadata_problem = _part(EvaluatorMetadata, "metadata", fields)
    usage, usage_problem = _part(EvaluatorUsage, "usage", fields)
    call = EvaluatorCall(metadata=metadata, usage=usage) if metadata or usage else None
    verify_unchanged(images, call)
    try:
        if fields is None:
            raise ReplyProblem("", "the evaluator returned neither a model nor a mapping")
        result = EvaluatorResult.model_validate(fields, by_alias=True, by_name=False)
        checks = validate_response(result.response, request, fingerprint)
    except ValidationError as error:
        raise _unusable(*first_problem(error), call) from None
    except ReplyProblem as problem:
        raise _unusable(problem.path, problem.reason, call) from None
    if metadata is None or usage is None:
        path, reason = metadata_problem or usage_problem or ("", "")
        raise AcceptanceError(
            "invalid_evaluator_metadata",
            f"The evaluator's call is described invalidly at {path}: {reason}.",
            path=path,
            call=call,
        )
    return Evaluation(checks, metadata, usage)


def _part(
    shape: type[_Part], name: str, fields: Mapping[str, object] | None
) -> tuple[_Part | None, tuple[str, str] | None]:
    """One part of an evaluator's answer, or the path and reason why it is invalid."""
    value = (fields or {}).get(name)
    given = named(value)
    if given is None:
        return None, (name, "is neither a model nor a mapping")
    try:
        return shape.model_validate(given, by_alias=True, by_name=False), None
    except ValidationError as error:
        path, reason = first_problem(error)
        return None, (f"{name}.{path}", reason)


def _unusable(path: str, reason: str, call: EvaluatorCall | None) -> AcceptanceError:
    message = f"The evaluator's reply is unusable{f' at {path}' if path else ''}: {reason}."
    return AcceptanceError("invalid_evaluator_response", message, path=path or None, call=call)


def _record(image: ResolvedImage) -> EvidenceRecord:
    return EvidenceRecord(
        id=image.reference.id,
        role=image.role,
        content_hash=image.reference.content_hash,
        status="available" if image.item else "unavailable",
        metadata=image.item.metadata if image.item else None,
        reason=image.reason,
    )
