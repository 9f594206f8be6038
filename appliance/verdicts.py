"""The judge's half of an episode: evidence and objective in, a verdict with its fault out."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from appliance.acceptance import accept
from appliance.case import Case
from appliance.errors import Fault
from appliance.request import EpisodeRequest
from judge.gates import ObjectiveGates
from judge.ports import ControllerAuthorization, JudgeClient, ProviderConfig, Sampling
from judge.scored import judge_visuals
from receipt.evidence import TrustedRenderEvidence


@dataclass(frozen=True)
class Verdict:
    """A verdict as it is stored, and what kept it from one, if anything did."""

    record: dict[str, Any]
    fault: Fault | None
    reason: str | None
    message: str | None


def judge_episode(
    request: EpisodeRequest,
    case: Case,
    evidence: TrustedRenderEvidence,
    objective: ObjectiveGates,
    client: tuple[JudgeClient, ProviderConfig] | None,
    episode_id: str,
) -> Verdict:
    """Applies the chosen policy to verified evidence."""
    authorization = ControllerAuthorization(request.authorize) if request.authorize else None
    one, config = client if client is not None else (None, None)
    if request.policy == "scored":
        result = judge_visuals(
            evidence=evidence,
            objective=objective,
            authorization=authorization,
            client=one,
            config=config,
            sampling=Sampling(request.samples, request.both_orders),
            allow_fixtures=request.allow_fixtures,
        )
        fault: Fault | None = "provider" if result.status == "failed" else None
        return Verdict(result.model_dump(mode="json", by_alias=True), fault, result.reason, result.detail)
    accepted = asyncio.run(
        accept(
            case=case,
            evidence=evidence,
            objective=objective,
            authorization=authorization,
            client=one,
            config=config,
            episode_id=episode_id,
            allow_fixtures=request.allow_fixtures,
        )
    )
    record = accepted.model_dump(mode="json", by_alias=True)
    last = accepted.outcome.judgments[-1] if accepted.outcome else None
    if last is not None and last.failure is not None:
        return Verdict(record, last.failure.fault, last.failure.code, last.failure.message)
    return Verdict(record, None, accepted.not_run_reason, None)
