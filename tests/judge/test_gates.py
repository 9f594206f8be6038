"""The gates: only the boolean true counts, and the objective result stays as it came."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import ObjectiveError
from judge.gates import GATES, ObjectiveGates, parse_objective
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import Client, judged

NOT_TRUE: list[Any] = [False, None, 1, 1.0, "true", "True", [], [True], {}, {"value": True}]


@pytest.mark.parametrize("values", list(itertools.product([True, False], repeat=3)))
def test_the_first_gate_that_has_not_passed_is_named(values: tuple[bool, bool, bool]) -> None:
    gates = parse_objective(json.dumps(dict(zip(GATES, values, strict=True))).encode())
    expected = next((name for name, value in zip(GATES, values, strict=True) if not value), None)
    assert gates.first_failed() == expected
    assert (gates.submission_valid, gates.preservation_pass, gates.objective_success) == values


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("value", NOT_TRUE, ids=repr)
def test_a_gate_that_is_anything_but_the_boolean_true_has_failed(gate: str, value: Any) -> None:
    found = parse_objective(json.dumps(dict.fromkeys(GATES, True) | {gate: value}).encode())
    assert found.first_failed() == gate
    assert ObjectiveGates(**(dict.fromkeys(GATES, True) | {gate: value})).first_failed() == gate


@pytest.mark.parametrize("gate", GATES)
def test_an_absent_gate_has_failed(gate: str) -> None:
    assert parse_objective(json.dumps({name: True for name in GATES if name != gate}).encode()).first_failed() == gate


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("values", [("false", "true"), ("true", "false"), ("true", "true")])
def test_a_gate_that_stands_twice_has_failed(gate: str, values: tuple[str, str]) -> None:
    others = "".join(f'"{name}": true, ' for name in GATES if name != gate)
    data = f'{{{others}"{gate}": {values[0]}, "{gate}": {values[1]}}}'.encode()
    assert parse_objective(data).first_failed() == gate


def test_a_gate_further_down_is_no_gate() -> None:
    assert parse_objective(json.dumps({"result": dict.fromkeys(GATES, True)}).encode()).first_failed() == GATES[0]


@pytest.mark.parametrize(
    "other",
    [
        b"NaN", b"-Infinity", b"1e999", b"1" * 5000, b'{"a": 1, "a": 2}', b'"\\ud800"', b"[[[[]]]]",
        b'{"submission_valid": false}',
    ],
)  # fmt: skip
def test_whatever_else_the_result_holds_is_not_interpreted(other: bytes) -> None:
    data = (
        b'{"mass_error": '
        + other
        + b', "submission_valid": true, "preservation_pass": true, "objective_success": true}'
    )
    gates = parse_objective(data)
    assert gates.first_failed() is None
    assert gates.raw == data


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"true", b"null", b'"x"', b"\xff\xfe\x00", b"[" * 100_000, b"{} {}"]
)
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(ObjectiveError) as caught:
        parse_objective(data)
    assert caught.value.code == "objective_malformed"
    assert caught.value.remedy


def test_a_result_beyond_all_measure_is_refused() -> None:
    with pytest.raises(ObjectiveError) as caught:
        parse_objective(b" " * ((16 << 20) + 1))
    assert caught.value.code == "objective_too_big"


@given(st.binary(max_size=200))
def test_any_bytes_raise_nothing_but_an_objective_error(data: bytes) -> None:
    try:
        assert parse_objective(data).raw == data
    except ObjectiveError as error:
        assert error.code == "objective_malformed"


def test_the_objective_result_comes_out_of_a_judgment_byte_for_byte(evidence: TrustedRenderEvidence) -> None:
    data = b'{ "objective_success" :true,\n"submission_valid":true, "preservation_pass":true,"z":1.0,"a":NaN}\n'
    objective = parse_objective(data)
    before = (objective, hash(objective))
    assert judged(evidence, Client(), objective=objective).status == "scored"
    assert (objective, hash(objective)) == before
    assert objective.raw == data
