"""The host of the acceptance judge: renders as evidence, a case as its goal, and the confirmation.

The candidate's renders are the outputs, one deliverable a view; the reference's are the product truth.
Both come from :class:`TrustedRenderEvidence` and from nowhere else.
"""

from __future__ import annotations

import asyncio
import io
import uuid
from collections.abc import Callable, Sequence
from typing import Final, Literal

import PIL
from PIL import Image
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from appliance.case import Case
from appliance.errors import ApplianceError, Fault, InfrastructureFault, UsageError
from judge.acceptance import (
    AcceptanceError,
    AcceptanceRecord,
    AvailableEvidence,
    ClientEvaluator,
    DecodedMetadata,
    Decoder,
    Evaluator,
    Goal,
    Identity,
    ImageReference,
    ImageRole,
    Judge,
    JudgeRequest,
    JudgmentRecord,
    MeasuredEvaluator,
    OutputReference,
    Pair,
    TechnicalFailure,
    UnavailableEvidence,
    create_judge,
    decide,
    held_to,
)
from judge.acceptance.clients import known_of
from judge.acceptance.fields import ContractModel, first_problem
from judge.errors import JudgeError
from judge.gates import ObjectiveGates
from judge.ports import ControllerAuthorization, JudgeClient, ProviderConfig
from judge.result import ControlsRecord
from judge.rubric import default_rubric
from judge.scored import why_not
from receipt.digests import canonical_json, sha256_hex
from receipt.evidence import EvidenceImage, TrustedRenderEvidence

_MARGIN_SECONDS: Final = 30.0

Measure = Literal["components", "shape", "surface", "artifacts"]


class AcceptanceBlock(BaseModel):
    """A case's ``acceptance`` block: the contract's goal and, beside it, what ``metrics`` may measure.

    A goal without ``deliverables`` gets one for each view, with the render's size in pixels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: dict[str, JsonValue]
    measures: dict[str, Measure] = {}
    """Measure by criterion ID."""


def read_block(case: Case) -> AcceptanceBlock:
    """The acceptance block of a case.

    :raises UsageError: ``acceptance_missing`` or ``acceptance_malformed``.
    """
    if case.acceptance is None:
        raise UsageError(
            "acceptance_missing",
            f"The case {case.case_id!r} has no acceptance block.",
            "Add one with a goal, or judge it under the scored policy.",
        )
    try:
        return AcceptanceBlock.model_validate(case.acceptance)
    except ValidationError as error:
        first = error.errors()[0]
        raise _malformed(".".join(str(part) for part in first["loc"]), first["msg"]) from error


def build_request(case: Case, evidence: TrustedRenderEvidence, *, episode_id: str, operation_id: str) -> JudgeRequest:
    """The frozen request for one judgment of a case's renders; only ``operation_id`` differs between calls.

    Where the goal lists deliverables, each is bound to the view of its name, and other views are no outputs.

    :raises UsageError: the acceptance block is missing or breaks a rule of the contract.
    """
    block = read_block(case)
    try:
        goal = Goal.model_validate({"deliverables": _one_a_view(evidence), **block.goal}, by_alias=True, by_name=False)
    except ValidationError as error:
        path, reason = first_problem(error)
        raise _malformed(f"goal.{path}", reason) from error
    for criterion_id in block.measures.keys() - {criterion.id for criterion in goal.criteria}:
        raise _malformed(f"measures.{criterion_id}", "names no criterion of the goal")
    bound = {deliverable.id for deliverable in goal.deliverables}
    outputs = [evidence.image("candidate", view) for view in evidence.view_ids if view in bound]
    try:
        return JudgeRequest(
            identity=_identity(case, evidence, goal, outputs, operation_id),
            goal=goal,
            product_images=tuple(_truth(evidence.image("reference", view)) for view in evidence.view_ids),
            outputs=tuple(_output(image, evidence.renderer.profile_id, episode_id) for image in outputs),
        )
    except ValidationError as error:
        raise _malformed(*first_problem(error)) from error


def _one_a_view(evidence: TrustedRenderEvidence) -> list[dict[str, JsonValue]]:
    return [
        {"id": image.view_id, "count": 1, "width": image.width, "height": image.height}
        for image in evidence.images
        if image.role == "candidate"
    ]


def _identity(
    case: Case, evidence: TrustedRenderEvidence, goal: Goal, outputs: Sequence[EvidenceImage], operation_id: str
) -> Identity:
    digests = {"candidate": evidence.candidate_asset_sha256, "reference": evidence.reference_asset_sha256}
    workflow = {
        "code_sha256": evidence.renderer.code_sha256,
        "profile_sha256": evidence.renderer.settings.get("profile_sha256"),
    }
    return Identity(
        test_id=evidence.case_id,
        operation_id=operation_id,
        sku_id=case.sku or evidence.case_id,
        goal_hash=_hash(goal.model_dump(mode="json")),
        input_hash=_hash(digests),
        output_hash=_hash([image.sha256 for image in outputs]),
        workflow_hash=_hash(workflow),
    )


def _hash(value: object) -> str:
    return sha256_hex(canonical_json(value))


def _truth(image: EvidenceImage) -> ImageReference:
    return ImageReference(id=image_id(image), content_hash=image.sha256)


def _output(image: EvidenceImage, profile_id: str, episode_id: str) -> OutputReference:
    return OutputReference(
        id=image_id(image),
        content_hash=image.sha256,
        deliverable_id=image.view_id,
        node_id=profile_id,
        node_run_id=episode_id,
    )


def _malformed(path: str, reason: str) -> UsageError:
    return UsageError(
        "acceptance_malformed",
        f"The case's acceptance block is wrong at {path or 'its top'}: {reason}.",
        "Correct the named field of the case file.",
    )


class RenderAccess:
    """An evidence port over verified renders, with Pillow as the decoder of their very bytes."""

    def __init__(self, evidence: TrustedRenderEvidence) -> None:
        self._images = {image_id(image): image for image in evidence.images}

    async def resolve(
        self,
        reference: ImageReference,
        *,
        role: ImageRole,
        cancel: asyncio.Event,  # noqa: ARG002 - the port's; nothing here waits
    ) -> AvailableEvidence | UnavailableEvidence:
        """The render of this ID.

        :raises InfrastructureFault: ``render_undecodable``.
        """
        image = self._images.get(reference.id)
        if image is None or role != _ROLES[image.role]:
            return UnavailableEvidence(
                status="unavailable",
                id=reference.id,
                content_hash=reference.content_hash,
                reason="The receipt has no render of this name and role.",
            )
        return AvailableEvidence(
            status="available",
            id=reference.id,
            content_hash=image.sha256,
            bytes=image.data,
            metadata=_decode(image),
        )


_ROLES: Final[dict[str, ImageRole]] = {"reference": "product_truth", "candidate": "output"}


def image_id(image: EvidenceImage) -> str:
    """``reference:front.beauty``: unique in a request, since a receipt's views are."""
    return f"{image.role}:{image.view_id}"


def _decode(image: EvidenceImage) -> DecodedMetadata:
    try:
        with Image.open(io.BytesIO(image.data), formats=("PNG",)) as picture:
            picture.load()
            width, height = picture.size
    except (OSError, ValueError, SyntaxError) as error:
        raise InfrastructureFault(
            "render_undecodable",
            f"The verified render {image.view_id!r} cannot be decoded.",
            "Check the installation of Pillow; the receipt's own check has read the same bytes.",
        ) from error
    return DecodedMetadata(
        source="decoded",
        decoder=Decoder(name="pillow", version=PIL.__version__),
        width=width,
        height=height,
        media_type="image/png",
    )


async def accept(
    *,
    case: Case,
    evidence: TrustedRenderEvidence | None,
    objective: ObjectiveGates | None,
    authorization: ControllerAuthorization | None,
    client: JudgeClient | None,
    config: ProviderConfig | None,
    episode_id: str,
    allow_fixtures: bool = False,
    new_operation_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> AcceptanceResult:
    """Judge a case's renders under the acceptance policy; not run under the same conditions as the scored one.

    :raises UsageError: the case has no valid acceptance block.
    :raises JudgeError: the model's configuration cannot be used.
    """
    reason = why_not(
        evidence=evidence,
        objective=objective,
        authorization=authorization,
        client=client,
        config=config,
        allow_fixtures=allow_fixtures,
    )
    outcome = None
    if reason is None and evidence is not None and client is not None and config is not None:
        request = build_request(case, evidence, episode_id=episode_id, operation_id=new_operation_id())
        judge = create_judge(
            evaluator=evaluator_for(case, evidence, client, config), evidence_access=RenderAccess(evidence)
        )
        # Each call keeps the configured limit itself; this one bounds the judgment as a whole.
        limit = config.timeout_seconds * max(1, len(evidence.view_ids)) + _MARGIN_SECONDS
        outcome = await judge_with_confirmation(
            judge, request, new_operation_id=new_operation_id, timeout_seconds=limit
        )
    return AcceptanceResult(
        kind="fixture" if evidence is not None and evidence.fixture else "evaluation",
        case_id=case.case_id,
        receipt_sha256=evidence.receipt_sha256 if evidence is not None else None,
        not_run_reason=reason,
        outcome=outcome,
    )


def evaluator_for(
    case: Case, evidence: TrustedRenderEvidence, client: JudgeClient, config: ProviderConfig
) -> Evaluator:
    """``metrics`` answers by measures and reads no words; any other client is asked the criteria themselves."""
    if client.provider_id != "metrics":
        return ClientEvaluator(client, config)
    pairs = []
    for view_id in evidence.view_ids:
        truth, output = evidence.image("reference", view_id), evidence.image("candidate", view_id)
        view = view_id.rsplit(".", 1)[0] if output.pass_name else view_id
        pairs.append(Pair(image_id(output), image_id(truth), view, output.pass_name))
    return MeasuredEvaluator(client, config, rubric=default_rubric(), measures=read_block(case).measures, pairs=pairs)


class AcceptanceResult(ContractModel):
    """What an episode under the acceptance policy comes to: an outcome, or the reason why none was sought."""

    policy: Literal["acceptance"] = "acceptance"
    kind: Literal["evaluation", "fixture"]
    """Fixture evidence is labelled for ever; such a result is no evaluation of a model."""
    case_id: str
    receipt_sha256: str | None
    not_run_reason: str | None
    """As under the scored policy, ``gate_failed:<name>`` among them."""
    outcome: AcceptanceRecord | None
    controls: ControlsRecord | None = None
    """How the model's controls stood; null where nobody asked."""


async def judge_with_confirmation(
    judge: Judge, request: JudgeRequest, *, new_operation_id: Callable[[], str], timeout_seconds: float
) -> AcceptanceRecord:
    """Judge, and where the verdict is fail with a critical check, ask again: at most three judgments.

    The first keeps the request's operation ID, each later one gets its own. The timeout is for each.
    Cancellation propagates; every other failure of a port or a reply ends up in the record.

    :raises AcceptanceError: ``invalid_request``: a mistake in the setup, nothing was judged.
    """
    records: list[JudgmentRecord] = []
    asked = request
    while True:
        records.append(held_to(records, await _judge_once(judge, asked, timeout_seconds)))
        record = decide(records)
        if record is not None:
            return record
        identity = request.identity.model_copy(update={"operation_id": new_operation_id()})
        asked = request.model_copy(update={"identity": identity})


async def _judge_once(judge: Judge, request: JudgeRequest, timeout_seconds: float) -> JudgmentRecord:
    operation_id = request.identity.operation_id
    try:
        async with asyncio.timeout(timeout_seconds):
            report = await judge.judge(request)
        return JudgmentRecord(operation_id=operation_id, report=report, failure=None)
    except AcceptanceError as error:
        if error.code == "invalid_request":
            raise
        fault: Fault = "infrastructure" if error.code == "invalid_evidence" else "provider"
        failure = TechnicalFailure(code=error.code, message=error.message, fault=fault, call=error.call)
    except ApplianceError as error:
        failure = TechnicalFailure(
            code=error.code, message=error.message, fault=error.fault or "infrastructure", call=None
        )
    except JudgeError as error:
        failure = TechnicalFailure(code=error.code, message=error.message, fault="provider", call=known_of(error))
    except TimeoutError:
        message = f"The judgment timed out; its limit was {timeout_seconds:g} seconds."
        failure = TechnicalFailure(code="provider_timeout", message=message, fault="provider", call=None)
    except Exception as error:  # noqa: BLE001 - a client may raise anything, and an outage is no verdict
        message = f"The evaluator raised {type(error).__name__}."
        failure = TechnicalFailure(code="provider_error", message=message, fault="provider", call=None)
    return JudgmentRecord(operation_id=operation_id, report=None, failure=failure)
