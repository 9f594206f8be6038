"""The default, and the whole truth table of the conditions under which a judgment runs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from judge import judge_visuals
from judge.conditions import WORDS
from judge.gates import ObjectiveGates
from judge.ports import ControllerAuthorization, ProviderConfig
from judge.result import NOT_RUN
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import CONFIG, CONTROLLER, Client, judged

NAN = float("nan")
ORDER = (
    "evidence_missing",
    "no_authorization",
    "no_client",
    "no_provider_configuration",
    "provider_mismatch",
    "gate_failed:submission_valid",
    "gate_failed:preservation_pass",
    "gate_failed:objective_success",
    "fixture_not_allowed",
)
"""Every condition that may hold or not; the first that does not gives the reason."""


def test_by_default_nothing_runs_and_the_score_is_null(evidence: TrustedRenderEvidence) -> None:
    result = judge_visuals(evidence=evidence, objective=ObjectiveGates(True, True, True))
    assert (result.status, result.score, result.reason) == ("not_run", None, "no_authorization")
    assert (result.criteria, result.calls, result.usage, result.request_sha256) == ((), (), None, None)


@pytest.mark.parametrize(
    "holds",
    list(itertools.product([True, False], repeat=len(ORDER))),
    ids=lambda row: "".join(".x"[not one] for one in row),
)
def test_the_whole_truth_table(
    holds: tuple[bool, ...], evidence: TrustedRenderEvidence, unlabelled: TrustedRenderEvidence
) -> None:
    table = dict(zip(ORDER, holds, strict=True))
    client = Client()
    if not table["provider_mismatch"]:
        client.provider_id = "another-provider"
    shown = unlabelled if table["fixture_not_allowed"] else evidence
    result = judge_visuals(
        evidence=shown if table["evidence_missing"] else None,
        authorization=CONTROLLER if table["no_authorization"] else None,
        client=client if table["no_client"] else None,
        config=CONFIG if table["no_provider_configuration"] else None,
        objective=ObjectiveGates(
            submission_valid=table["gate_failed:submission_valid"],
            preservation_pass=table["gate_failed:preservation_pass"],
            objective_success=table["gate_failed:objective_success"],
        ),
    )
    reason = next((name for name in ORDER if not table[name]), None)
    assert result.reason == reason
    assert result.status == ("scored" if reason is None else "not_run")
    assert (result.score is None) == (reason is not None)
    assert len(client.requests) == (1 if reason is None else 0)


def test_the_reasons_are_a_closed_list() -> None:
    assert set(ORDER) | {"provider_configuration_invalid"} == set(NOT_RUN)
    assert {name.partition(":")[0] for name in NOT_RUN} == set(WORDS)


@pytest.mark.parametrize(
    "authorization",
    [
        ControllerAuthorization(""),
        ControllerAuthorization(" \n"),
        ControllerAuthorization(None),  # type: ignore[arg-type]
        "controller-1",
        True,
    ],
    ids=repr,
)
def test_a_controller_without_a_name_authorises_nothing(evidence: TrustedRenderEvidence, authorization: Any) -> None:
    assert judged(evidence, Client(), authorization=authorization).reason == "no_authorization"


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, provider_id=""),
        replace(CONFIG, model=" "),
        ProviderConfig("some-provider", None),  # type: ignore[arg-type]
        {"model": "m"},
    ],
    ids=["no-provider", "no-model", "null-model", "mapping"],
)
def test_a_configuration_without_provider_or_model_is_none(evidence: TrustedRenderEvidence, config: Any) -> None:
    assert judged(evidence, Client(), config=config).reason == "no_provider_configuration"


@pytest.mark.parametrize(
    "changes",
    [
        *({"timeout_seconds": seconds} for seconds in [0, -1, 0.0, NAN, float("inf"), 86401, True, "20", None]),
        *({"settings": settings} for settings in [{"a": {1, 2}}, {"a": NAN}, {1: 2}, None, 5, {"a": 2**60}]),
        *({"accepted_models": names} for names in ["abc", ["m"], ("",), (None,)]),
    ],
    ids=repr,
)  # fmt: skip
def test_a_configuration_that_cannot_be_used_is_not_run(
    evidence: TrustedRenderEvidence, changes: dict[str, Any]
) -> None:
    client = Client()
    result = judged(evidence, client, config=replace(CONFIG, **changes))
    assert (result.status, result.reason) == ("not_run", "provider_configuration_invalid")
    assert client.requests == []


class _Undeclared:
    @property
    def provider_id(self) -> str:
        raise RuntimeError("no name")

    def complete(self, request: Any, *, timeout_seconds: float) -> Any:
        raise AssertionError("it must not be called")


@pytest.mark.parametrize("declared", ["Some-Provider", "some-provider ", "", None, b"some-provider", 5])
def test_a_client_of_another_provider_is_refused_before_any_call(
    evidence: TrustedRenderEvidence, declared: Any
) -> None:
    client = Client()
    client.provider_id = declared
    assert judged(evidence, client).reason == "provider_mismatch"
    assert client.requests == []


def test_a_client_that_declares_no_provider_is_refused_before_any_call(evidence: TrustedRenderEvidence) -> None:
    assert judged(evidence, _Undeclared()).reason == "provider_mismatch"
    assert judged(evidence, object()).reason == "provider_mismatch"  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", [None, {"submission_valid": True}, True])
def test_without_an_objective_no_gate_has_passed(evidence: TrustedRenderEvidence, objective: Any) -> None:
    assert judged(evidence, Client(), objective=objective).reason == "gate_failed:submission_valid"


@pytest.mark.parametrize("allowed", [False, None, 1, "yes"])
def test_threat_11_fixtures_need_the_boolean_true(evidence: TrustedRenderEvidence, allowed: Any) -> None:
    client = Client()
    result = judged(evidence, client, allow_fixtures=allowed)
    assert (result.status, result.reason, result.kind) == ("not_run", "fixture_not_allowed", "fixture")
    assert client.requests == []


def test_threat_11_an_allowed_fixture_stays_labelled_as_one(
    evidence: TrustedRenderEvidence, unlabelled: TrustedRenderEvidence
) -> None:
    assert [judged(evidence, client).kind for client in (Client(), Client(None), None)] == ["fixture"] * 3
    assert judged(unlabelled, Client()).kind == "evaluation"
    assert judged(unlabelled, Client(), allow_fixtures=False).status == "scored"


@pytest.mark.parametrize("shown", [b"\x89PNG\r\n\x1a\n", "screenshot.png", {"images": []}, ["a.png"], 5], ids=repr)
def test_threat_1_an_actors_screenshot_is_no_evidence(shown: Any) -> None:
    client = Client()
    with pytest.raises(TypeError, match="load_trusted_render_evidence"):
        judged(shown, client)
    assert client.requests == []


def test_whatever_is_missing_still_makes_a_whole_record() -> None:
    result = judge_visuals(evidence=None, objective=None, config=ProviderConfig(None, None))  # type: ignore[arg-type]
    assert (result.reason, result.provider, result.renderer, result.input_sha256) == (
        "evidence_missing",
        None,
        None,
        None,
    )
    assert result.rubric.id == "visual-judge-rubric-v1"
