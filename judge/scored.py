"""The scored judge: gates, one call by default, validated levels, an exact score; ``not_run`` where a condition fails.

Implements the visual assessment contract. What a model says is levels and observations; the score is
computed here, and the objective result is never touched.
"""

from __future__ import annotations

from judge.calling import call, check_served_model
from judge.conditions import WORDS, why_not
from judge.errors import ReplyError
from judge.gates import ObjectiveGates
from judge.parsing import CriterionReply, parse_reply, raw_reply, reply_bytes
from judge.ports import (
    ControllerAuthorization,
    JudgeClient,
    Order,
    ProviderConfig,
    ProviderRequest,
    ProviderResponse,
    Sampling,
)
from judge.record import Answer, Call, Judgment
from judge.request import build_request, has_evidence, input_sha256
from judge.result import ControlsRecord, VisualJudgeResult
from judge.rubric import Rubric, default_rubric
from judge.sampling import combine, orders
from judge.scoring import weighted_score
from receipt.evidence import TrustedRenderEvidence

__all__ = ["build_request", "input_sha256", "judge_visuals", "why_not"]


def judge_visuals(
    *,
    evidence: TrustedRenderEvidence | None,
    objective: ObjectiveGates | None,
    authorization: ControllerAuthorization | None = None,
    client: JudgeClient | None = None,
    config: ProviderConfig | None = None,
    rubric: Rubric | None = None,
    sampling: Sampling | None = None,
    allow_fixtures: bool = False,
    controls: ControlsRecord | None = None,
) -> VisualJudgeResult:
    """One scored judgment of verified evidence; without ``rubric`` under the frozen one. ``controls`` is recorded.

    Never raises for what a provider does: every failure is a result without a score. Raises
    ``TypeError`` where ``evidence`` is not what the loader returns.
    """
    if evidence is not None and not isinstance(evidence, TrustedRenderEvidence):
        raise TypeError("evidence must come from load_trusted_render_evidence")
    judgment = Judgment(evidence, authorization, config, rubric or default_rubric(), sampling or Sampling(), controls)
    reason = why_not(
        evidence=evidence,
        objective=objective,
        authorization=authorization,
        client=client,
        config=config,
        allow_fixtures=allow_fixtures,
    )
    if reason is not None or evidence is None or client is None or config is None:
        reason = reason or "evidence_missing"
        return judgment.end("not_run", reason, WORDS[reason.partition(":")[0]])
    try:
        answers = _ask_all(judgment, evidence, client, config)
    except ReplyError as error:
        return judgment.end("failed", error.code, error.message)
    score = weighted_score([answer.reply for answer in answers], judgment.rubric)
    if score is None:
        first = next(answer.reply.id for answer in answers if answer.reply.level is None)
        return judgment.end(
            "unassessable", f"criterion_unassessable:{first}", "A criterion could not be assessed.", answers
        )
    return judgment.end("scored", None, None, answers, score=score)


def _ask_all(
    judgment: Judgment, evidence: TrustedRenderEvidence, client: JudgeClient, config: ProviderConfig
) -> tuple[Answer, ...]:
    """Every call in turn, and one answer for each criterion. The first failure ends it: :class:`ReplyError`."""
    rubric = judgment.rubric
    images = build_request(evidence, config, rubric).images
    replies: dict[Order, list[tuple[CriterionReply, ...]]] = {}
    if images:
        for order in orders(judgment.sampling):
            request = build_request(evidence, config, rubric, order)
            replies.setdefault(order, []).append(_ask(judgment, client, config, request, order))
    answers = []
    for index, criterion in enumerate(rubric.data.criteria):
        if has_evidence(criterion, images):
            combined = combine({order: [one[index] for one in given] for order, given in replies.items()})
            answers.append(Answer(combined.reply, combined.agreement))
        else:
            # Whatever the model says of it: nothing that it was shown supports an answer.
            answers.append(Answer(CriterionReply(criterion.id, None, _UNSUPPORTED), None))
    return tuple(answers)


_UNSUPPORTED = "The evidence has no picture of a pass that this criterion looks at."


def _ask(
    judgment: Judgment, client: JudgeClient, config: ProviderConfig, request: ProviderRequest, order: Order
) -> tuple[CriterionReply, ...]:
    """One call, its record filled as far as it gets, so that a failure keeps what is known of it."""
    record = Call(order, request.request_sha256)
    judgment.calls.append(record)
    try:
        record.response = call(client, request)
    except ReplyError as error:
        record.response = error.known if isinstance(error.known, ProviderResponse) else None
        raise
    record.reply = raw_reply(record.response.reply)
    data = reply_bytes(record.reply)
    check_served_model(record.response, config)
    record.replies = parse_reply(data, judgment.rubric)
    return record.replies
