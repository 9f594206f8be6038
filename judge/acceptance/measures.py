"""Criteria answered by the rubric's measures instead of by a model that reads them.

A criterion may name a measure (one of the rubric's criteria). Each view that it covers is put to a client
of the scored policy on its own, and the worst level decides. A criterion without a measure is unknown:
nothing here understands words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from judge.acceptance.clients import complete, evaluator_usage, require_provider, seal
from judge.acceptance.evidence import EvidenceItem
from judge.acceptance.ports import EvaluatorRequest
from judge.acceptance.reply import (
    CheckVerdict,
    CriterionCheck,
    EvaluatorMetadata,
    EvaluatorResponse,
    EvaluatorResult,
    EvaluatorUsage,
    Severity,
)
from judge.acceptance.request import Criterion
from judge.acceptance.versions import PACKAGE_VERSION
from judge.calling import check_served_model
from judge.instructions import canonical, instructions_for, response_schema
from judge.parsing import CriterionReply, parse_reply, reply_bytes
from judge.ports import JudgeClient, LabelledImage, ProviderConfig, ProviderRequest, ProviderResponse
from judge.rubric import Rubric

_SEVERITIES: Final[Mapping[int, Severity]] = MappingProxyType({3: "minor", 2: "major", 1: "critical", 0: "critical"})
"""By level; 4 passes."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An output and the product image that it is measured against: one pass of one view."""

    output_id: str
    truth_id: str
    view: str
    pass_name: str | None
    """None where the picture serves every measure."""


class MeasuredEvaluator:
    """An evaluator over measures. Says so in its metadata: it is no evaluation by a model."""

    def __init__(
        self,
        client: JudgeClient,
        config: ProviderConfig,
        *,
        rubric: Rubric,
        measures: Mapping[str, str],
        pairs: Sequence[Pair],
    ) -> None:
        """``measures`` gives the rubric's criterion by the goal's.

        :raises JudgeError: ``provider_mismatch``.
        """
        require_provider(client, config)
        self._client, self._config, self._rubric = client, config, rubric
        self._measures, self._pairs = measures, pairs

    async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> EvaluatorResult:  # noqa: ARG002
        """One call a view.

        :raises ReplyError: the client failed, or its reply breaks the rubric.
        """
        items = {item.id: item for item in request.evidence}
        levels: dict[str, Mapping[str, CriterionReply]] = {}
        usage = EvaluatorUsage(input_tokens=None, output_tokens=None, total_tokens=None, cost_usd=None)
        for number, view in enumerate(dict.fromkeys(pair.view for pair in self._pairs), start=1):
            pairs = [pair for pair in self._pairs if pair.view == view and pair.output_id in items]
            if not pairs:
                continue
            response = await complete(self._client, self._request(number, pairs, items))
            check_served_model(response, self._config)
            replies = parse_reply(reply_bytes(response.reply), self._rubric)
            levels[view] = {reply.id: reply for reply in replies}
            usage = _sum(usage, response, first=len(levels) == 1)
        context = request.untrusted_context
        checks = tuple(
            self._check(criterion, context.covered_outputs(criterion), levels) for criterion in context.goal.criteria
        )
        return EvaluatorResult(
            response=EvaluatorResponse(input_fingerprint=request.input_fingerprint, checks=checks),
            metadata=EvaluatorMetadata(
                evaluator_id="measures",
                evaluator_version=f"{PACKAGE_VERSION}+{self._rubric.data.id}",
                provider=self._config.provider_id,
                model=self._config.model,
                model_version=None,
                provider_request_id=None,
            ),
            usage=usage,
        )

    def _request(self, number: int, pairs: Sequence[Pair], items: Mapping[str, EvidenceItem]) -> ProviderRequest:
        images = []
        for pair in pairs:
            suffix = f", {pair.pass_name}" if pair.pass_name else ""
            for role, image_id in (("reference", pair.truth_id), ("candidate", pair.output_id)):
                item = items[image_id]
                images.append(
                    LabelledImage(
                        label=f"{role}, view {number}{suffix}",
                        role="reference" if role == "reference" else "candidate",
                        view=number,
                        pass_name=pair.pass_name,
                        media_type="image/png",
                        sha256=item.content_hash,
                        data=item.bytes,
                    )
                )
        labels = [image.label for image in images]
        return seal(
            ProviderRequest(
                instructions=instructions_for(self._rubric),
                untrusted_context=canonical({"images": labels, "criteria": list(self._rubric.ids)}),
                images=tuple(images),
                response_schema=MappingProxyType(response_schema(self._rubric)),
                model=self._config.model,
                settings=MappingProxyType(dict(self._config.settings)),
                timeout_seconds=float(self._config.timeout_seconds),
            )
        )

    def _check(
        self, criterion: Criterion, covered: tuple[str, ...], levels: Mapping[str, Mapping[str, CriterionReply]]
    ) -> CriterionCheck:
        verdict: CheckVerdict = "unknown"
        severity: Severity = "none"
        affected: tuple[str, ...] = ()
        measure = self._measures.get(criterion.id)
        seen = self._seen(measure, covered, levels) if measure else []
        if not seen:
            words = "No covered output shows what this measure looks at." if measure else "No measure is named here."
        else:
            # Outputs with the lowest level lead; an unassessable one leads only where nothing else is wrong.
            best = self._rubric.data.scale_max
            worst, words = min(
                ((reply.level, reply.observation) for _, reply in seen if reply.level is not None),
                default=(best, ""),
            )
            if worst < best:
                verdict, severity = "fail", _SEVERITIES[worst]
                affected = tuple(pair.output_id for pair, reply in seen if reply.level not in (None, best))
            elif doubted := [(pair.output_id, reply.observation) for pair, reply in seen if reply.level is None]:
                affected, words = tuple(output_id for output_id, _ in doubted), doubted[0][1]
            else:
                verdict = "pass"
        return CriterionCheck(
            criterion_id=criterion.id,
            verdict=verdict,
            severity=severity,
            observed_evidence=words,
            output_ids=covered,
            affected_output_ids=affected,
            suggested_change=None,
        )

    def _seen(
        self, measure: str, covered: tuple[str, ...], levels: Mapping[str, Mapping[str, CriterionReply]]
    ) -> list[tuple[Pair, CriterionReply]]:
        """The covered outputs of the passes that a measure looks at, each with its view's finding."""
        passes = next(one.passes for one in self._rubric.data.criteria if one.id == measure)
        return [
            (pair, levels[pair.view][measure])
            for pair in self._pairs
            if pair.output_id in covered and pair.view in levels and pair.pass_name in (None, *passes)
        ]


def _sum(total: EvaluatorUsage, response: ProviderResponse, *, first: bool) -> EvaluatorUsage:
    """Usage of all calls together; a sum with an unknown part is unknown."""
    more = evaluator_usage(response)
    if first:
        return more

    def add(one: int | None, other: int | None) -> int | None:
        return None if one is None or other is None else one + other

    cost = None if total.cost_usd is None or more.cost_usd is None else total.cost_usd + more.cost_usd
    return EvaluatorUsage(
        input_tokens=add(total.input_tokens, more.input_tokens),
        output_tokens=add(total.output_tokens, more.output_tokens),
        total_tokens=add(total.total_tokens, more.total_tokens),
        cost_usd=cost,
    )
