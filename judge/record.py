"""Collects what is known of a judgment, so that every way out of it leaves a whole record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

from judge.calling import checked_usage
from judge.conditions import MAX_TIMEOUT_SECONDS
from judge.parsing import CriterionReply, clean_text
from judge.ports import ControllerAuthorization, Order, ProviderConfig, ProviderResponse, Sampling
from judge.request import input_sha256
from judge.result import (
    CallRecord,
    ControlsRecord,
    CriterionRecord,
    ProviderRecord,
    RendererRecord,
    RubricRecord,
    SamplingRecord,
    Status,
    UsageRecord,
    VisualJudgeResult,
)
from judge.rubric import Rubric
from judge.scoring import value_of
from receipt.digests import canonical_json, sha256_hex
from receipt.evidence import TrustedRenderEvidence

_MAX_NAME: Final = 200
_MAX_SIDECAR_BYTES: Final = 1 << 20


@dataclass
class Call:
    """One call as far as it got."""

    order: Order
    request_sha256: str
    response: ProviderResponse | None = None
    reply: bytes | None = None
    replies: tuple[CriterionReply, ...] | None = None


@dataclass(frozen=True)
class Answer:
    """One criterion's answer, and the share of the calls that gave it; None where none could."""

    reply: CriterionReply
    agreement: Fraction | None


@dataclass
class Judgment:
    """What goes into a result. The provider's configuration is recorded as it is before any call."""

    evidence: TrustedRenderEvidence | None
    authorization: ControllerAuthorization | None
    config: ProviderConfig | None
    rubric: Rubric
    sampling: Sampling
    controls: ControlsRecord | None = None
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Notes the time, and the settings while nobody else has had them."""
        self.started = _now()
        self.settings = _plain(self.config.settings) if isinstance(self.config, ProviderConfig) else None

    def end(
        self,
        status: Status,
        reason: str | None,
        detail: str | None,
        answers: Sequence[Answer] = (),
        *,
        score: Fraction | None = None,
    ) -> VisualJudgeResult:
        """The record of this judgment with everything that is known by now."""
        evidence, calls = self.evidence, self.calls
        first = calls[0].response if calls else None
        return VisualJudgeResult(
            schema="visual-judge-result-v1",
            kind="fixture" if evidence is not None and evidence.fixture else "evaluation",
            status=status,
            reason=reason,
            detail=detail,
            score=None if score is None else float(score),
            score_exact=None if score is None else _share(score),
            case_id=evidence.case_id if evidence else None,
            receipt_sha256=evidence.receipt_sha256 if evidence else None,
            controller_id=_name(getattr(self.authorization, "controller_id", None)),
            provider=self._provider(first),
            rubric=RubricRecord(id=self.rubric.data.id, sha256=self.rubric.sha256),
            renderer=_renderer(evidence) if evidence else None,
            sampling=SamplingRecord(samples=self.sampling.samples, both_orders=self.sampling.both_orders),
            input_sha256=input_sha256(evidence, self.rubric) if evidence else None,
            request_sha256=_together([one.request_sha256 for one in calls]),
            response_sha256=_together([_hash(one.reply) for one in calls]),
            criteria=tuple(self._criteria(answers)),
            usage=_total([_usage(one.response) for one in calls]),
            calls=tuple(_call(one) for one in calls),
            sidecar=_plain(first.sidecar) if first is not None else None,
            controls=self.controls,
            started=self.started,
            finished=_now(),
        )

    def _provider(self, first: ProviderResponse | None) -> ProviderRecord | None:
        config = self.config
        if not isinstance(config, ProviderConfig):
            return None
        provider_id, model = _name(config.provider_id), _name(config.model)
        if provider_id is None or model is None:
            return None
        seconds: object = config.timeout_seconds
        usable = isinstance(seconds, int | float) and 0 < seconds <= MAX_TIMEOUT_SECONDS
        return ProviderRecord(
            provider_id=provider_id,
            requested_model=model,
            served_model=_name(first.served_model) if first is not None else None,
            provider_request_id=_name(first.provider_request_id) if first is not None else None,
            settings=self.settings or {},
            timeout_seconds=float(config.timeout_seconds) if usable else None,
        )

    def _criteria(self, answers: Sequence[Answer]) -> list[CriterionRecord]:
        weights = {criterion.id: criterion.weight for criterion in self.rubric.data.criteria}
        records = []
        for answer in answers:
            reply = answer.reply
            value = value_of(reply.level, self.rubric.data.scale_max)
            records.append(
                CriterionRecord(
                    id=reply.id,
                    weight=weights[reply.id],
                    level=reply.level,
                    value=None if value is None else float(value),
                    unassessable=reply.level is None,
                    observation=reply.observation,
                    agreement=None if answer.agreement is None else _share(answer.agreement),
                )
            )
        return records


def _call(one: Call) -> CallRecord:
    response = one.response
    return CallRecord(
        order=one.order,
        request_sha256=one.request_sha256,
        response_sha256=_hash(one.reply),
        served_model=_name(response.served_model) if response is not None else None,
        provider_request_id=_name(response.provider_request_id) if response is not None else None,
        usage=_usage(response),
        levels=None if one.replies is None else {reply.id: reply.level for reply in one.replies},
    )


def _usage(response: ProviderResponse | None) -> UsageRecord | None:
    if response is None:
        return None
    usage = checked_usage(response.usage)
    return UsageRecord(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cost_usd=usage.cost_usd,
    )


def _total(usages: Sequence[UsageRecord | None]) -> UsageRecord | None:
    """The sum; None where no call came back, and unknown in each member that one call leaves unknown."""
    if all(usage is None for usage in usages):
        return None
    known = [usage or UsageRecord() for usage in usages]
    sums: dict[str, Any] = {}
    for name in UsageRecord.model_fields:
        values = [getattr(usage, name) for usage in known]
        sums[name] = None if None in values else sum(values)
    return UsageRecord(**sums)


def _together(hashes: Sequence[str | None]) -> str | None:
    """One call's hash, or the hash of all; None where there is none or one is missing."""
    if not hashes or None in hashes:
        return None
    return hashes[0] if len(hashes) == 1 else sha256_hex(canonical_json(list(hashes)))


def _hash(reply: bytes | None) -> str | None:
    return None if reply is None else sha256_hex(reply)


def _share(number: Fraction) -> str:
    return f"{number.numerator}/{number.denominator}"


def _name(value: object) -> str | None:
    """A name from outside, harmless to print; None for what is no text."""
    return clean_text(value, _MAX_NAME) if isinstance(value, str) else None


def _plain(value: object) -> dict[str, Any] | None:
    """A copy of a mapping as plain JSON; None for what is empty, too big or no JSON."""
    if not isinstance(value, Mapping):
        return None
    try:
        data = canonical_json(dict(value))
    except Exception:  # noqa: BLE001 - a client's mapping may raise anything; it then holds nothing
        return None
    plain: dict[str, Any] = json.loads(data)
    return plain if plain and len(data) <= _MAX_SIDECAR_BYTES else None


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
