"""The result: a frozen schema, generated from the model, that every judgment of every kind fits."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from judge.conditions import WORDS
from judge.gates import GATES, ObjectiveGates
from judge.ports import Sampling
from judge.request import build_request, input_sha256
from judge.result import FAILED, NOT_RUN, VisualJudgeResult, frozen_schema, result_schema
from judge.rubric import default_rubric
from receipt.digests import sha256_hex
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import CONFIG, IDS, MODEL, Client, judged, reply, response

FROZEN = "6fea1a45629ecea78acb5ad9924f7dadf24eb0fde95061c9be0082eeb5cc564d"


def test_the_schema_is_frozen_and_the_models_own() -> None:
    assert sha256_hex(files("judge").joinpath("visual-judge.schema.json").read_bytes()) == FROZEN
    assert frozen_schema() == result_schema()


def test_the_schema_is_closed_at_every_level() -> None:
    schema = frozen_schema()
    for part in [schema, *schema["$defs"].values()]:
        assert part["additionalProperties"] is False


def test_a_result_records_everything_that_the_contract_names(evidence: TrustedRenderEvidence) -> None:
    words = json.dumps(reply())
    result = judged(evidence, Client(response(words)))
    record = json.loads(result.model_dump_json(by_alias=True))
    assert record.pop("started") <= record.pop("finished")
    weights = {one.id: one.weight for one in default_rubric().data.criteria}
    request_sha256 = build_request(evidence, CONFIG, default_rubric()).request_sha256
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "cost_usd": 0.25}
    assert record == {
        "schema": "visual-judge-result-v1",
        "kind": "fixture",
        "status": "scored",
        "reason": None,
        "detail": None,
        "score": 0.75,
        "score_exact": "3/4",
        "case_id": "case-1",
        "receipt_sha256": evidence.receipt_sha256,
        "controller_id": "controller-1",
        "provider": {
            "provider_id": "some-provider",
            "requested_model": MODEL,
            "served_model": MODEL,
            "provider_request_id": "r-1",
            "settings": {"temperature": 0, "nested": {"a": [1]}},
            "timeout_seconds": 20.0,
        },
        "rubric": {"id": "visual-judge-rubric-v1", "sha256": default_rubric().sha256},
        "renderer": {"name": "test", "version": "0", "code_sha256": "2" * 64, "profile_id": "studio-v1"},
        "sampling": {"samples": 1, "both_orders": False},
        "input_sha256": input_sha256(evidence, default_rubric()),
        "request_sha256": request_sha256,
        "response_sha256": sha256_hex(words.encode()),
        "criteria": [
            {
                "id": name,
                "weight": weights[name],
                "level": 3,
                "value": 0.75,
                "unassessable": False,
                "observation": f"About {name}.",
                "agreement": "1/1",
            }
            for name in IDS
        ],
        "usage": usage,
        "calls": [
            {
                "order": "reference_first",
                "request_sha256": request_sha256,
                "response_sha256": sha256_hex(words.encode()),
                "served_model": MODEL,
                "provider_request_id": "r-1",
                "usage": usage,
                "levels": dict.fromkeys(IDS, 3),
            }
        ],
        "sidecar": None,
        "controls": None,
    }


def _outcomes(evidence: TrustedRenderEvidence) -> list[VisualJudgeResult]:
    return [
        judged(evidence, Client()),
        judged(evidence, Client(), sampling=Sampling(2, both_orders=True)),
        judged(evidence, Client(response(reply({"shape": None})))),
        judged(evidence, Client(response("no"))),
        judged(evidence, Client(None)),
        judged(evidence, None),
        judged(None, None),
        judged(evidence, Client(), objective=ObjectiveGates(True, False, True)),
    ]


def test_every_kind_of_outcome_comes_back_from_json_unchanged(evidence: TrustedRenderEvidence) -> None:
    for result in _outcomes(evidence):
        assert VisualJudgeResult.model_validate_json(result.model_dump_json(by_alias=True)) == result


def test_a_score_stands_with_the_status_scored_and_with_no_other(evidence: TrustedRenderEvidence) -> None:
    outcomes = _outcomes(evidence)
    assert {one.status for one in outcomes} == {"scored", "unassessable", "failed", "not_run"}
    for one in outcomes:
        assert (one.score is not None) == (one.score_exact is not None) == (one.status == "scored")
        assert (one.reason is None) == (one.status == "scored")
        assert (one.detail is None) == (one.status == "scored")


def test_every_reason_fits_the_schema_and_no_other_does() -> None:
    pattern = re.compile(frozen_schema()["properties"]["reason"]["anyOf"][0]["pattern"])
    good = {*NOT_RUN, *FAILED, *(f"criterion_unassessable:{name}" for name in IDS)}
    assert {f"gate_failed:{gate}" for gate in GATES} < good
    assert set(WORDS) - {"gate_failed"} < good
    assert all(pattern.search(reason) for reason in good)
    for bad in ["", "gate_failed", "gate_failed:mass", "other", "criterion_unassessable:", "no_client, really"]:
        assert not pattern.search(bad)


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "failed"},
        {"status": "not_run", "reason": "no_client"},
        {"score": None},
        {"score_exact": None},
        {"score": 1.5},
        {"score": float("nan")},
        {"reason": "no_client"},
        {"criteria": []},
        {"kind": "repair"},
        {"schema": "visual-judge-result-v2"},
        {"mass": 1.0},
        {"receipt_sha256": "A" * 64},
        {"request_sha256": "short"},
        {"started": "yesterday"},
        {"status": "failed", "score": None, "score_exact": None, "reason": "no_client"},
        {"status": "not_run", "score": None, "score_exact": None, "reason": "provider_error"},
        {"status": "not_run", "score": None, "score_exact": None, "reason": "no_client"},
        {"status": "unassessable", "score": None, "score_exact": None, "reason": "reply_invalid"},
    ],
    ids=repr,
)
def test_a_record_that_contradicts_itself_cannot_be_made(
    evidence: TrustedRenderEvidence, changes: dict[str, Any]
) -> None:
    record = judged(evidence, Client()).model_dump(by_alias=True)
    assert VisualJudgeResult.model_validate(record)
    with pytest.raises(ValidationError):
        VisualJudgeResult.model_validate(record | changes)


@pytest.mark.parametrize("changes", [{"level": 5}, {"level": None}, {"value": None}, {"unassessable": True}])
def test_a_criterion_that_contradicts_itself_cannot_be_made(
    evidence: TrustedRenderEvidence, changes: dict[str, Any]
) -> None:
    record = judged(evidence, Client()).model_dump(by_alias=True)
    record["criteria"] = [record["criteria"][0] | changes, *record["criteria"][1:]]
    with pytest.raises(ValidationError):
        VisualJudgeResult.model_validate(record)


def test_a_result_is_frozen(evidence: TrustedRenderEvidence) -> None:
    result = judged(evidence, Client())
    with pytest.raises(ValidationError):
        result.score = 1.0


def test_a_result_speaks_of_nothing_but_the_visual(evidence: TrustedRenderEvidence) -> None:
    """No word on mass, contact, hidden geometry or acceptance: a score establishes none of them."""
    assert set(frozen_schema()["properties"]) == {
        "schema", "kind", "status", "reason", "detail", "score", "score_exact", "case_id", "receipt_sha256",
        "controller_id", "provider", "rubric", "renderer", "sampling", "input_sha256", "request_sha256",
        "response_sha256", "criteria", "usage", "calls", "sidecar", "controls", "started", "finished",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sidecar", "kept"),
    [
        ({"views": [{"view": 1, "d": 0.5}]}, {"views": [{"view": 1, "d": 0.5}]}),
        ({}, None),
        (None, None),
        ("text", None),
        ({"a": float("nan")}, None),
        ({"a": object()}, None),
        ({1: 2}, None),
        ({"a": "x" * (1 << 20)}, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_further_measurements_are_kept_apart_and_only_as_plain_json(
    evidence: TrustedRenderEvidence, sidecar: Any, kept: Any
) -> None:
    result = judged(evidence, Client(response(reply(), sidecar=sidecar)))
    assert (result.sidecar, result.score) == (kept, 0.75)


def test_a_sidecar_that_holds_itself_is_dropped(evidence: TrustedRenderEvidence) -> None:
    sidecar: dict[str, Any] = {}
    sidecar["self"] = sidecar
    assert judged(evidence, Client(response(reply(), sidecar=sidecar))).sidecar is None


@pytest.mark.parametrize("request_id", [None, 5, b"r", ["r"]])
def test_a_request_id_that_is_no_text_is_unknown(evidence: TrustedRenderEvidence, request_id: Any) -> None:
    result = judged(evidence, Client(response(reply(), provider_request_id=request_id)))
    assert result.provider is not None and result.provider.provider_request_id is None


def test_threat_10_names_from_outside_carry_no_control_characters(evidence: TrustedRenderEvidence) -> None:
    result = judged(evidence, Client(response(reply(), provider_request_id="\x1b[2Jr\u202e-1\n" + "x" * 999)))
    assert result.provider is not None
    assert result.provider.provider_request_id is not None
    assert result.provider.provider_request_id.startswith("[2Jr-1 x")
    assert len(result.provider.provider_request_id) == 200
