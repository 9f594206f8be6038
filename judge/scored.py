"""The scored judge: gates, one call, validated levels, an exact score; ``not_run`` by default.

Implements the visual assessment contract. What a model says is levels and observations; the score is
computed here, and the objective result is never touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from judge.calling import call, check_served_model, checked_usage
from judge.errors import JudgeError, ReplyError
from judge.gates import ObjectiveGates
from judge.instructions import canonical, instructions_for, response_schema
from judge.parsing import CriterionReply, clean_text, parse_reply, reply_bytes
from judge.ports import (
    ControllerAuthorization,
    JudgeClient,
    LabelledImage,
    ProviderConfig,
    ProviderRequest,
    ProviderResponse,
)
from judge.result import (
    CriterionRecord,
    ProviderRecord,
    RendererRecord,
    RubricRecord,
    Status,
    UsageRecord,
    VisualJudgeResult,
)
from judge.rubric import Rubric, default_rubric
from judge.scoring import value_of, weighted_score
from receipt.digests import canonical_json, sha256_hex
from receipt.errors import FormatError
from receipt.evidence import TrustedRenderEvidence


def judge_visuals(
    *,
    evidence: TrustedRenderEvidence | None,
    objective: ObjectiveGates | None,
    authorization: ControllerAuthorization | None = None,
    client: JudgeClient | None = None,
    config: ProviderConfig | None = None,
    rubric: Rubric | None = None,
    allow_fixtures: bool = False,
) -> VisualJudgeResult:
    """One scored judgment of verified evidence.

    Never raises for what a provider does: every failure is a result without a score. Raises
    ``TypeError`` where ``evidence`` is not what the loader returns.
    """
    if evidence is not None and not isinstance(evidence, TrustedRenderEvidence):
        raise TypeError("evidence must come from load_trusted_render_evidence")
    judgment = _Judgment(evidence, authorization, config, rubric or default_rubric())
    reason = why_not(
        evidence=evidence,
        objective=objective,
        authorization=authorization,
        client=client,
        config=config,
        allow_fixtures=allow_fixtures,
    )
    if reason is not None or evidence is None or client is None or config is None:
        return judgment.end("not_run", reason or "evidence_missing", _NOT_RUN.get((reason or "").split(":")[0]))
    try:
        return judgment.run(evidence, client, config)
    except JudgeError as error:
        return judgment.end("failed", error.code, error.message)


_NOT_RUN: Mapping[str, str] = MappingProxyType(
    {
        "evidence_missing": "There is no verified evidence to judge.",
        "no_authorization": "No controller has authorised a judgment.",
        "no_client": "No judge client was given.",
        "no_provider_configuration": "No provider and model are configured.",
        "provider_mismatch": "The client speaks to another provider than the configured one.",
        "gate_failed": "An objective gate has not passed, so there is nothing to score.",
        "fixture_not_allowed": "The evidence is a fixture, and fixtures were not allowed.",
    }
)


def why_not(
    *,
    evidence: TrustedRenderEvidence | None,
    objective: ObjectiveGates | None,
    authorization: ControllerAuthorization | None,
    client: JudgeClient | None,
    config: ProviderConfig | None,
    allow_fixtures: bool,
) -> str | None:
    """The reason for ``not_run``, in a fixed order; None where every condition holds."""
    if evidence is None:
        return "evidence_missing"
    if authorization is None or not authorization.controller_id.strip():
        return "no_authorization"
    if client is None:
        return "no_client"
    if config is None or not config.provider_id or not config.model:
        return "no_provider_configuration"
    if client.provider_id != config.provider_id:
        return "provider_mismatch"
    failed = objective.first_failed() if objective is not None else "submission_valid"
    if failed is not None:
        return f"gate_failed:{failed}"
    if evidence.fixture and allow_fixtures is not True:
        return "fixture_not_allowed"
    return None


def build_request(evidence: TrustedRenderEvidence, config: ProviderConfig, rubric: Rubric) -> ProviderRequest:
    """The frozen request: neutral labels, reference before candidate, views in the receipt's order."""
    numbers: dict[str, int] = {}
    images = []
    for view_id in evidence.view_ids:
        first = evidence.image("reference", view_id)
        camera = view_id.rsplit(".", 1)[0] if first.pass_name else view_id
        number = numbers.setdefault(camera, len(numbers) + 1)
        for role in ("reference", "candidate"):
            image = evidence.image("reference" if role == "reference" else "candidate", view_id)
            suffix = f", {image.pass_name}" if image.pass_name else ""
            images.append(
                LabelledImage(
                    label=f"{role}, view {number}{suffix}",
                    role=image.role,
                    view=number,
                    pass_name=image.pass_name,
                    media_type="image/png",
                    sha256=image.sha256,
                    data=image.data,
                )
            )
    context = canonical({"images": [image.label for image in images], "criteria": list(rubric.ids)})
    instructions, schema = instructions_for(rubric), response_schema(rubric)
    listing = [{"label": image.label, "sha256": image.sha256} for image in images]
    try:
        settings = canonical_json(dict(config.settings))
        request = {
            "instructions": instructions,
            "context": context,
            "images": listing,
            "response_schema": schema,
            "model": config.model,
            "settings": settings.decode(),
            "timeout_seconds": float(config.timeout_seconds),
        }
        digest = sha256_hex(canonical_json(request))
    except FormatError as error:
        raise ReplyError("settings_invalid", f"The model's settings are no plain JSON: {error.message}") from error
    return ProviderRequest(
        instructions=instructions,
        untrusted_context=context,
        images=tuple(images),
        response_schema=MappingProxyType(schema),
        model=config.model,
        settings=MappingProxyType(dict(config.settings)),
        timeout_seconds=float(config.timeout_seconds),
        request_sha256=digest,
    )


def input_sha256(evidence: TrustedRenderEvidence, rubric: Rubric) -> str:
    """Hash of what is judged: receipt, every image in order, rubric."""
    images = [[image.role, image.view_id, image.sha256] for image in evidence.images]
    return sha256_hex(canonical_json({"receipt": evidence.receipt_sha256, "images": images, "rubric": rubric.sha256}))


class _Judgment:
    """Collects what is known, so that every way out records it."""

    def __init__(
        self,
        evidence: TrustedRenderEvidence | None,
        authorization: ControllerAuthorization | None,
        config: ProviderConfig | None,
        rubric: Rubric,
    ) -> None:
        self.evidence, self.authorization, self.config, self.rubric = evidence, authorization, config, rubric
        self.started = _now()
        self.request: ProviderRequest | None = None
        self.response: ProviderResponse | None = None
        self.reply: bytes | None = None

    def run(self, evidence: TrustedRenderEvidence, client: JudgeClient, config: ProviderConfig) -> VisualJudgeResult:
        """The call and what follows from it. Raises :class:`ReplyError`."""
        self.request = build_request(evidence, config, self.rubric)
        self.response = call(client, self.request)
        self.reply = reply_bytes(self.response.reply)
        check_served_model(self.response, config)
        replies = parse_reply(self.reply, self.rubric)
        score = weighted_score(replies, self.rubric)
        if score is None:
            first = next(reply.id for reply in replies if reply.level is None)
            return self.end(
                "unassessable", f"criterion_unassessable:{first}", "A criterion could not be assessed.", replies
            )
        return self.end("scored", None, None, replies, score=score)

    def end(
        self,
        status: Status,
        reason: str | None,
        detail: str | None,
        replies: tuple[CriterionReply, ...] = (),
        *,
        score: Fraction | None = None,
    ) -> VisualJudgeResult:
        """The record of this judgment with everything that is known by now."""
        evidence, request = self.evidence, self.request
        return VisualJudgeResult(
            schema="visual-judge-result-v1",
            kind="fixture" if evidence is not None and evidence.fixture else "evaluation",
            status=status,
            reason=reason,
            detail=detail,
            score=None if score is None else float(score),
            score_exact=None if score is None else f"{score.numerator}/{score.denominator}",
            case_id=evidence.case_id if evidence else None,
            receipt_sha256=evidence.receipt_sha256 if evidence else None,
            controller_id=clean_text(self.authorization.controller_id, 200) if self.authorization else None,
            provider=self._provider(),
            rubric=RubricRecord(id=self.rubric.data.id, sha256=self.rubric.sha256),
            renderer=_renderer(evidence) if evidence else None,
            input_sha256=input_sha256(evidence, self.rubric) if evidence else None,
            request_sha256=request.request_sha256 if request else None,
            response_sha256=sha256_hex(self.reply) if self.reply is not None else None,
            criteria=self._criteria(replies),
            usage=self._usage(),
            sidecar=self._sidecar(),
            started=self.started,
            finished=_now(),
        )

    def _provider(self) -> ProviderRecord | None:
        if self.config is None:
            return None
        served = self.response.served_model if self.response else None
        request_id = self.response.provider_request_id if self.response else None
        return ProviderRecord(
            provider_id=self.config.provider_id,
            requested_model=self.config.model,
            served_model=clean_text(served, 200) if isinstance(served, str) else None,
            provider_request_id=clean_text(request_id, 200) if isinstance(request_id, str) else None,
            settings=_plain(self.config.settings) or {},
            timeout_seconds=float(self.config.timeout_seconds),
        )

    def _criteria(self, replies: tuple[CriterionReply, ...]) -> list[CriterionRecord]:
        weights = {criterion.id: criterion.weight for criterion in self.rubric.data.criteria}
        records = []
        for reply in replies:
            value = value_of(reply.level, self.rubric.data.scale_max)
            records.append(
                CriterionRecord(
                    id=reply.id,
                    weight=weights[reply.id],
                    level=reply.level,
                    value=None if value is None else float(value),
                    unassessable=reply.level is None,
                    observation=reply.observation,
                )
            )
        return records

    def _usage(self) -> UsageRecord | None:
        if self.response is None:
            return None
        usage = checked_usage(self.response.usage)
        return UsageRecord(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens,
            cost_usd=usage.cost_usd,
        )

    def _sidecar(self) -> dict[str, Any] | None:
        return _plain(self.response.sidecar) if self.response is not None else None


def _plain(value: object) -> dict[str, Any] | None:
    """A mapping as plain JSON; None for what is empty or no JSON."""
    if not isinstance(value, Mapping) or not value:
        return None
    plain = dict(value)
    try:
        canonical_json(plain)
    except FormatError:
        return None
    return plain


def _renderer(evidence: TrustedRenderEvidence) -> RendererRecord:
    renderer = evidence.renderer
    return RendererRecord(
        name=renderer.name,
        version=renderer.version,
        code_sha256=renderer.code_sha256,
        profile_id=renderer.profile_id,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
