"""The host of the acceptance judge: verified renders in, one recorded outcome out."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import PIL
import pytest

from appliance.acceptance import RenderAccess, accept, build_request, image_id, judge_with_confirmation, read_block
from appliance.case import Case
from appliance.errors import InfrastructureFault, UsageError
from judge.acceptance import (
    AcceptanceError,
    AcceptanceRecord,
    EvaluatorRequest,
    ImageReference,
    JudgeReport,
    JudgmentRecord,
    TechnicalFailure,
    create_judge,
    decide,
    parse_request,
    request_json,
)
from judge.gates import parse_objective
from judge.ports import ControllerAuthorization, ProviderConfig, ProviderRequest, ProviderResponse
from receipt.evidence import TrustedRenderEvidence
from tests.episodes import VIEWS, build_episode
from tests.judge.acceptance.acceptance_kit import Access, Inspector, Json, available, run
from tests.judge.acceptance.acceptance_kit import judge as judge_once
from tests.judge.acceptance.acceptance_kit import request_json as kit_request

GOAL: Json = {
    "description": "The part is the same as the reference",
    "expectedOutput": "A repaired part",
    "criteria": [
        {"id": "parts", "description": "All parts are there", "required": True, "allowMinorDeviation": False},
        {
            "id": "colour",
            "description": "Colours match",
            "required": False,
            "allowMinorDeviation": True,
            "deliverableIds": ["front.beauty", "back.beauty"],
        },
    ],
}


def _case(**changes: Any) -> Case:
    acceptance = {"goal": copy.deepcopy(GOAL), "measures": {"parts": "components"}}
    return Case.model_validate({"case_id": "case-1", "reference": "reference.usda", "acceptance": acceptance} | changes)


@pytest.fixture
def evidence(tmp_path: Path) -> TrustedRenderEvidence:
    return build_episode(tmp_path / "root").load()


def _request(evidence: TrustedRenderEvidence, case: Case | None = None, operation_id: str = "op-1") -> Json:
    return request_json(build_request(case or _case(), evidence, episode_id="ep-1", operation_id=operation_id))


def _canonical_sha256(value: object) -> str:
    """Canonical for ASCII and whole numbers, written apart from the project's own."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# --- the request ---


def test_candidate_renders_are_the_outputs_one_deliverable_a_view(evidence: TrustedRenderEvidence) -> None:
    request = _request(evidence)
    assert request["goal"]["deliverables"] == [{"id": view, "count": 1, "width": 16, "height": 12} for view in VIEWS]
    assert request["outputs"] == [
        {
            "id": f"candidate:{view}",
            "contentHash": evidence.image("candidate", view).sha256,
            "deliverableId": view,
            "nodeId": "studio-v1",
            "nodeRunId": "ep-1",
        }
        for view in VIEWS
    ]


def test_reference_renders_are_the_product_truth(evidence: TrustedRenderEvidence) -> None:
    assert _request(evidence)["productImages"] == [
        {"id": f"reference:{view}", "contentHash": evidence.image("reference", view).sha256} for view in VIEWS
    ]


def test_the_identity_is_made_of_the_receipt_and_the_case(evidence: TrustedRenderEvidence) -> None:
    request = _request(evidence)
    assert request["identity"] == {
        "testId": "case-1",
        "operationId": "op-1",
        "skuId": "case-1",
        "goalHash": _canonical_sha256(request["goal"]),
        "inputHash": _canonical_sha256(
            {"candidate": evidence.candidate_asset_sha256, "reference": evidence.reference_asset_sha256}
        ),
        "outputHash": _canonical_sha256([evidence.image("candidate", view).sha256 for view in VIEWS]),
        "workflowHash": _canonical_sha256({"code_sha256": "2" * 64, "profile_sha256": "1" * 64}),
    }


def test_a_case_may_name_its_sku(evidence: TrustedRenderEvidence) -> None:
    assert _request(evidence, _case(sku="bolt-7"))["identity"]["skuId"] == "bolt-7"


def test_a_goal_may_list_its_deliverables_and_a_view_that_was_not_drawn_is_missing(
    evidence: TrustedRenderEvidence,
) -> None:
    goal = copy.deepcopy(GOAL) | {
        "deliverables": [
            {"id": "front.beauty", "count": 1},
            {"id": "back.beauty", "count": 1},
            {"id": "top.beauty", "count": 1},
        ]
    }
    request = _request(evidence, _case(acceptance={"goal": goal}))
    assert [output["deliverableId"] for output in request["outputs"]] == ["front.beauty", "back.beauty"]
    made = create_judge(evaluator=Inspector(), evidence_access=RenderAccess(evidence))
    report = run(made.judge(request))
    assert report.verdict == "fail"
    assert [check.deliverable_id for check in report.measurable_checks if check.problem == "missing"] == ["top.beauty"]


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (lambda block: block.pop("goal"), "goal"),
        (lambda block: block.update(weights={}), "weights"),
        (lambda block: block["measures"].update(parts="taste"), "measures.parts"),
        (lambda block: block["measures"].update(charm="shape"), "measures.charm"),
        (lambda block: block["goal"].pop("description"), "goal.description"),
        (lambda block: block["goal"].update(score=1), "goal.score"),
        (lambda block: block["goal"]["criteria"][0].update(required="yes"), "goal.criteria[0].required"),
        (
            lambda block: block["goal"]["criteria"][1].update(deliverableIds=["side"]),
            "goal.criteria[1].deliverableIds[0]",
        ),
        (
            lambda block: block["goal"]["criteria"][0].update(allowMinorDeviation=True),
            "goal.criteria[0].allowMinorDeviation",
        ),
        (lambda block: block["goal"].update(deliverables=[{"id": "x", "count": 2**60}]), "goal.deliverables[0].count"),
    ],
)
def test_a_wrong_acceptance_block_is_the_cases_mistake_and_names_the_field(
    evidence: TrustedRenderEvidence, edit: Callable[[Json], object], path: str
) -> None:
    block = {"goal": copy.deepcopy(GOAL), "measures": {"parts": "components"}}
    edit(block)
    with pytest.raises(UsageError) as caught:
        _request(evidence, _case(acceptance=block))
    assert caught.value.code == "acceptance_malformed"
    assert f" {path}:" in caught.value.message


def test_a_case_without_an_acceptance_block_is_told_so() -> None:
    with pytest.raises(UsageError) as caught:
        read_block(_case(acceptance=None))
    assert caught.value.code == "acceptance_missing"


# --- the evidence port ---


def test_a_render_is_given_out_with_what_pillow_finds_in_its_bytes(evidence: TrustedRenderEvidence) -> None:
    image = evidence.image("candidate", "front.clay")
    reference = ImageReference(id=image_id(image), content_hash=image.sha256)
    answer = run(RenderAccess(evidence).resolve(reference, role="output", cancel=asyncio.Event()))
    assert answer.model_dump(by_alias=True) == {
        "status": "available",
        "id": "candidate:front.clay",
        "contentHash": image.sha256,
        "bytes": image.data,
        "metadata": {
            "source": "decoded",
            "decoder": {"name": "pillow", "version": PIL.__version__},
            "width": 16,
            "height": 12,
            "mediaType": "image/png",
        },
    }


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("candidate:side.beauty", "output"),
        ("candidate:front.beauty", "product_truth"),
        ("reference:front.beauty", "output"),
    ],
)
def test_what_the_receipt_does_not_hold_in_that_role_is_unavailable(
    evidence: TrustedRenderEvidence, name: str, role: Any
) -> None:
    reference = ImageReference(id=name, content_hash="0" * 64)
    answer = run(RenderAccess(evidence).resolve(reference, role=role, cancel=asyncio.Event()))
    assert answer.status == "unavailable"


def test_a_request_about_other_bytes_than_the_receipts_is_refused_by_the_judge(evidence: TrustedRenderEvidence) -> None:
    request = _request(evidence)
    request["outputs"][0]["contentHash"] = "0" * 64
    made = create_judge(evaluator=Inspector(), evidence_access=RenderAccess(evidence))
    with pytest.raises(AcceptanceError) as caught:
        run(made.judge(request))
    assert caught.value.code == "invalid_evidence"


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"GIF89a" + data], ids=["cut", "GIF"]
)
def test_a_render_that_does_not_decode_is_the_machines_fault(
    evidence: TrustedRenderEvidence, damage: Callable[[bytes], bytes]
) -> None:
    """The loader lets no such bytes through: this is the decoder failing, or memory."""
    image = evidence.image("candidate", "front.clay")
    # Nothing but the loader builds evidence, so the test reaches under it.
    object.__setattr__(evidence, "images", (dataclasses.replace(image, data=damage(image.data)),))
    reference = ImageReference(id=image_id(image), content_hash=image.sha256)
    with pytest.raises(InfrastructureFault) as caught:
        run(RenderAccess(evidence).resolve(reference, role="output", cancel=asyncio.Event()))
    assert caught.value.code == "render_undecodable"


# --- the confirmation ---

PASS: dict[str, tuple[str, str]] = {}
MINOR = {"light": ("fail", "minor")}
MAJOR = {"same": ("fail", "major")}
CRITICAL = {"same": ("fail", "critical")}
UNKNOWN = {"same": ("unknown", "none")}
CRITICAL_ELSEWHERE = {"plain": ("fail", "critical")}


class Moody(Inspector):
    """Finds something else at each call; an exception is raised."""

    def __init__(self, moods: Iterable[Any]) -> None:
        super().__init__()
        self.moods = list(moods)

    async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> Any:
        mood = self.moods[len(self.calls)]
        self.findings = mood if isinstance(mood, dict) else {}
        answer = await super().evaluate(request, cancel=cancel)
        if isinstance(mood, BaseException):
            raise mood
        if isinstance(mood, str):
            answer["response"] = mood
        if isinstance(mood, float):
            await asyncio.sleep(mood)
        return answer


def _confirmed(
    moods: Iterable[Any], access: Access | None = None, timeout: float = 30
) -> tuple[AcceptanceRecord, Moody]:
    inspector = Moody(moods)
    made = create_judge(evaluator=inspector, evidence_access=access or Access())
    ids = (f"operation-{number}" for number in itertools.count(2))
    record = run(
        judge_with_confirmation(
            made, parse_request(kit_request()), new_operation_id=lambda: next(ids), timeout_seconds=timeout
        )
    )
    return record, inspector


COURSES: list[tuple[list[Any], str | None, str, bool]] = [
    ([PASS], "pass", "single", False),
    ([MINOR], "pass_with_minor_deviations", "single", False),
    ([MAJOR], "fail", "single", False),
    ([UNKNOWN], "unknown", "single", False),
    ([CRITICAL, CRITICAL], "fail", "agreement", True),
    ([CRITICAL, CRITICAL_ELSEWHERE], "fail", "agreement", True),
    ([CRITICAL, UNKNOWN], "unknown", "unknown", False),
    ([CRITICAL, MAJOR, CRITICAL], "fail", "majority", True),
    ([CRITICAL, MAJOR, MAJOR], "fail", "majority", False),
    ([CRITICAL, MAJOR, PASS], "fail", "majority", False),
    ([CRITICAL, PASS, CRITICAL], "fail", "majority", True),
    ([CRITICAL, PASS, MAJOR], "fail", "majority", False),
    ([CRITICAL, PASS, PASS], "pass", "majority", False),
    ([CRITICAL, PASS, MINOR], "unknown", "disagreement", False),
    ([CRITICAL, PASS, UNKNOWN], "unknown", "unknown", False),
    ([CRITICAL, MINOR, MINOR], "pass_with_minor_deviations", "majority", False),
    ([ConnectionError("down")], None, "technical_failure", False),
    (["no JSON"], None, "technical_failure", False),
    ([CRITICAL, ConnectionError("down")], None, "technical_failure", False),
    ([CRITICAL, "no JSON"], None, "technical_failure", False),
    ([CRITICAL, PASS, "no JSON"], None, "technical_failure", False),
    ([CRITICAL, PASS, TimeoutError()], None, "technical_failure", False),
]


@pytest.mark.parametrize(("moods", "verdict", "decided_by", "critical"), COURSES)
def test_a_critical_defect_is_confirmed_within_bounds(
    moods: list[Any], verdict: str | None, decided_by: str, critical: bool
) -> None:
    record, inspector = _confirmed(moods)
    assert (record.verdict, record.decided_by, record.critical_defect_confirmed) == (verdict, decided_by, critical)
    assert len(inspector.calls) == len(moods) == len(record.judgments)
    operations = [judgment.operation_id for judgment in record.judgments]
    assert operations == [f"operation-{number}" for number in range(1, len(moods) + 1)]
    reports = [judgment.report for judgment in record.judgments if judgment.report]
    assert [report.identity.operation_id for report in reports] == operations[: len(reports)]
    assert len({call.input_fingerprint for call in inspector.calls}) == 1
    assert (record.verdict is None) == (record.judgments[-1].failure is not None)


def test_a_technical_failure_is_recorded_with_what_is_known_of_the_call() -> None:
    record, _ = _confirmed([CRITICAL, "no JSON"])
    failure = record.judgments[1].failure
    assert failure is not None
    assert (failure.code, failure.fault) == ("invalid_evaluator_response", "provider")
    assert failure.call is not None
    assert failure.call.usage is not None
    assert failure.call.usage.total_tokens == 1280
    assert record.judgments[0].report is not None
    assert record.model_dump(mode="json")["judgments"][1]["failure"]["call"]["usage"]["totalTokens"] == 1280


@pytest.mark.parametrize(
    ("mood", "code", "fault"),
    [
        (RuntimeError("secret-token"), "provider_error", "provider"),
        (TimeoutError(), "provider_timeout", "provider"),
        (5.0, "provider_timeout", "provider"),
        (InfrastructureFault("render_undecodable", "Cannot.", "Mend."), "render_undecodable", "infrastructure"),
    ],
)
def test_every_failure_has_a_fault_and_none_becomes_a_verdict(mood: Any, code: str, fault: str) -> None:
    record, _ = _confirmed([mood], timeout=0.2)
    failure = record.judgments[0].failure
    assert failure is not None
    assert (record.verdict, failure.code, failure.fault) == (None, code, fault)
    assert "secret-token" not in record.model_dump_json()


def test_invalid_evidence_is_the_infrastructures_fault() -> None:
    record, _ = _confirmed([PASS], Access(front_1=available("front-1", width=9)))
    failure = record.judgments[0].failure
    assert failure is not None
    assert (record.verdict, failure.code, failure.fault) == (None, "invalid_evidence", "infrastructure")


def test_a_confirmation_on_other_inputs_is_a_technical_failure() -> None:
    class Drifting(Access):
        async def resolve(self, reference: ImageReference, *, role: str, cancel: asyncio.Event) -> Any:
            answer = await super().resolve(reference, role=role, cancel=cancel)
            answer["metadata"] = answer["metadata"] | {"decoder": {"name": "d", "version": str(len(self.asked) // 5)}}
            return answer

    record, _ = _confirmed([CRITICAL, CRITICAL], Drifting())
    failure = record.judgments[1].failure
    assert failure is not None
    assert (record.verdict, failure.code) == (None, "inputs_changed")
    assert failure.call is not None
    assert record.judgments[1].report is not None


def test_cancelling_ends_the_confirmation_without_a_record() -> None:
    with pytest.raises(asyncio.CancelledError):
        _confirmed([CRITICAL, asyncio.CancelledError()])


def test_a_mistake_in_the_setup_is_raised_and_not_recorded() -> None:
    valid = parse_request(kit_request())
    forged = valid.model_copy(update={"outputs": (*valid.outputs, valid.outputs[0])})
    made = create_judge(evaluator=Inspector(), evidence_access=Access())
    with pytest.raises(AcceptanceError) as caught:
        run(judge_with_confirmation(made, forged, new_operation_id=lambda: "x", timeout_seconds=5))
    assert caught.value.code == "invalid_request"


def test_no_course_takes_more_than_three_judgments_and_every_one_ends() -> None:
    """All courses of four kinds of report, and a failure, through the pure decision."""
    moods = {"p": PASS, "m": MAJOR, "c": CRITICAL, "u": UNKNOWN, "d": MINOR}
    reports: dict[str, JudgeReport] = {name: judge_once(inspector=Inspector(mood)) for name, mood in moods.items()}
    failure = TechnicalFailure(code="x", message="x", fault="provider", call=None)
    made = {name: JudgmentRecord(operation_id=name, report=report, failure=None) for name, report in reports.items()}
    made["f"] = JudgmentRecord(operation_id="f", report=None, failure=failure)
    for course in itertools.product(made, repeat=3):
        taken: list[JudgmentRecord] = []
        for name in course:
            taken.append(made[name])
            outcome = decide(taken)
            if outcome is not None:
                break
        assert outcome is not None
        assert len(taken) == 1 or course[0] == "c"
        if outcome.verdict not in (None, "unknown") and len(taken) > 1:
            votes = [one.report.verdict for one in taken if one.report]
            assert votes.count(outcome.verdict) >= 2


# --- the whole, as an episode calls it ---

GATES = parse_objective(b'{"submission_valid": true, "preservation_pass": true, "objective_success": true}')
CONTROLLER = ControllerAuthorization("tests")


class Model:
    """A model that passes every criterion of an acceptance request."""

    provider_id = "some-provider"

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> ProviderResponse:
        context = json.loads(request.untrusted_context)
        outputs = [(output["id"], output["deliverableId"]) for output in context["request"]["outputs"]]
        checks = []
        for criterion in context["request"]["goal"]["criteria"]:
            wanted = criterion.get("deliverableIds")
            checks.append(
                {
                    "criterionId": criterion["id"],
                    "verdict": "pass",
                    "severity": "none",
                    "observedEvidence": "alike",
                    "outputIds": [output for output, view in outputs if wanted is None or view in wanted],
                    "affectedOutputIds": [],
                    "suggestedChange": None,
                }
            )
        reply = {"inputFingerprint": context["inputFingerprint"], "checks": checks}
        return ProviderResponse(reply=json.dumps(reply), served_model=request.model)


class Metrics:
    """Speaks the scored policy, as the offline evaluator does: shape and parts are gone, surface is right."""

    provider_id = "metrics"

    def __init__(self) -> None:
        self.views: list[list[str]] = []

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> ProviderResponse:
        self.views.append([image.label for image in request.images])
        levels = {"components": 1, "shape": 2, "surface": 4, "artifacts": 4}
        criteria = [
            {"id": name, "level": level, "unassessable": False, "observation": f"{name} at {level}"}
            for name, level in levels.items()
        ]
        return ProviderResponse(reply=json.dumps({"criteria": criteria}), served_model=request.model)


def _accept(evidence: TrustedRenderEvidence | None, client: Any, **changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "case": _case(),
        "evidence": evidence,
        "objective": GATES,
        "authorization": CONTROLLER,
        "client": client,
        "config": ProviderConfig(client.provider_id, "m-1") if client else None,
        "episode_id": "ep-1",
        "allow_fixtures": True,
    }
    return run(accept(**(arguments | changes)))


def test_any_judge_client_serves_the_acceptance_policy(evidence: TrustedRenderEvidence) -> None:
    result = _accept(evidence, Model())
    assert (result.kind, result.not_run_reason, result.outcome.verdict) == ("fixture", None, "pass")
    assert result.receipt_sha256 == evidence.receipt_sha256
    report = result.outcome.judgments[0].report
    assert (report.evaluator.provider, report.evaluator.model) == ("some-provider", "m-1")
    assert report.usage.model_dump() == dict.fromkeys(report.usage.model_dump())


def test_metrics_answers_only_criteria_that_name_a_measure(evidence: TrustedRenderEvidence) -> None:
    client = Metrics()
    result = _accept(evidence, client)
    reports = [judgment.report for judgment in result.outcome.judgments]
    found = {check.criterion_id: check for check in reports[0].criteria}
    assert (found["parts"].verdict, found["parts"].severity) == ("fail", "critical")
    assert found["parts"].affected_output_ids == ("candidate:front.clay", "candidate:back.clay")
    assert (found["colour"].verdict, found["colour"].affected_output_ids) == ("unknown", ())
    assert (result.outcome.verdict, result.outcome.decided_by) == ("fail", "agreement")
    assert reports[0].evaluator.evaluator_id == "measures"
    assert client.views[0] == [
        "reference, view 1, beauty",
        "candidate, view 1, beauty",
        "reference, view 1, clay",
        "candidate, view 1, clay",
    ]
    assert len(client.views) == 2 * len(reports)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"evidence": None}, "evidence_missing"),
        ({"authorization": None}, "no_authorization"),
        ({"client": None}, "no_client"),
        ({"config": None}, "no_provider_configuration"),
        ({"config": ProviderConfig("other", "m-1")}, "provider_mismatch"),
        ({"objective": None}, "gate_failed:submission_valid"),
        (
            {"objective": parse_objective(b'{"submission_valid": true, "preservation_pass": 1}')},
            "gate_failed:preservation_pass",
        ),
        ({"allow_fixtures": False}, "fixture_not_allowed"),
        ({"allow_fixtures": 1}, "fixture_not_allowed"),
    ],
)
def test_nothing_runs_unless_every_condition_of_the_scored_policy_holds(
    evidence: TrustedRenderEvidence, changes: Json, reason: str
) -> None:
    client = Metrics()
    arguments: dict[str, Any] = {"evidence": evidence, "client": client, **changes}
    result = _accept(**arguments)
    assert (result.not_run_reason, result.outcome, client.views) == (reason, None, [])


def test_a_result_is_plain_json_with_the_contracts_names(evidence: TrustedRenderEvidence) -> None:
    result = json.loads(_accept(evidence, Model()).model_dump_json())
    assert result["policy"] == "acceptance"
    assert result["outcome"]["judgments"][0]["report"]["identity"]["testId"] == "case-1"
    assert result["outcome"]["criticalDefectConfirmed"] is False


def test_each_judgment_has_an_operation_id_of_its_own(evidence: TrustedRenderEvidence) -> None:
    first, second = _accept(evidence, Metrics()), _accept(evidence, Metrics())
    ids = [judgment.operation_id for result in (first, second) for judgment in result.outcome.judgments]
    assert len(set(ids)) == len(ids) == 4
