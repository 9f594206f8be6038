"""The rubric: frozen, whole, and the same validation for one of one's own."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from judge.errors import RubricError
from judge.rubric import default_rubric, load_rubric
from receipt.digests import sha256_hex
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import IDS, Client, judged, response, rubric

FROZEN = "eaa128054cc7ecab22c0e1f8c8004b69ab1bb7070a93c6b7eaffa854890bada8"
SHIPPED = files("judge").joinpath("visual-judge-rubric.json").read_bytes()
RAW: dict[str, Any] = json.loads(SHIPPED)


def test_the_rubric_is_frozen() -> None:
    assert sha256_hex(SHIPPED) == default_rubric().sha256 == FROZEN
    assert default_rubric().data.id == "visual-judge-rubric-v1"


def test_the_rubric_has_the_contracts_four_criteria_and_a_whole_scale() -> None:
    data = default_rubric().data
    assert [one.id for one in data.criteria] == list(IDS)
    assert sum(one.exact_weight for one in data.criteria) == 1
    assert data.scale_max == 4
    for one in data.criteria:
        assert sorted(one.anchors) == ["0", "1", "2", "3", "4"]
        assert len(set(one.anchors.values())) == 5
        assert one.unassessable


def test_shape_is_judged_on_clay_and_surface_on_beauty() -> None:
    passes = {one.id: one.passes for one in default_rubric().data.criteria}
    assert passes == {
        "components": ("clay",),
        "shape": ("clay",),
        "surface": ("beauty",),
        "artifacts": ("beauty", "clay"),
    }


@pytest.mark.parametrize("name", IDS)
def test_showing_nothing_is_a_level_and_no_way_out_of_one(name: str) -> None:
    """Were a blank candidate unassessable, a submission could choose to have no score."""
    one = next(one for one in default_rubric().data.criteria if one.id == name)
    assert "nothing" in one.anchors["0"] or "no candidate" in one.anchors["0"]
    assert "reference" in one.unassessable.split(":")[0]


def test_a_loaded_rubric_cannot_be_changed() -> None:
    one = default_rubric().data.criteria[0]
    with pytest.raises(ValidationError):
        one.weight = "1"
    with pytest.raises(TypeError):
        one.anchors["4"] = "Anything."  # type: ignore[index]


def _first(raw: dict[str, Any]) -> dict[str, Any]:
    criterion: dict[str, Any] = raw["criteria"][0]
    return criterion


Change = Callable[[dict[str, Any]], Any]
BROKEN: dict[str, Change] = {
    "no-id": lambda raw: raw.pop("id"),
    "unknown-member": lambda raw: raw.update(note="x"),
    "no-criteria": lambda raw: raw.update(criteria=[]),
    "criterion-twice": lambda raw: _first(raw).update(id="shape"),
    "criterion-unknown-member": lambda raw: _first(raw).update(note="x"),
    "id-with-space": lambda raw: _first(raw).update(id="two words"),
    "id-with-line": lambda raw: _first(raw).update(id="components\n"),
    "sum-low": lambda raw: _first(raw).update(weight="0.29"),
    "sum-high": lambda raw: _first(raw).update(weight="0.31"),
    "sum-nearly": lambda raw: _first(raw).update(weight="0.300000000001"),
    "weight-number": lambda raw: _first(raw).update(weight=0.3),
    "weight-negative": lambda raw: _first(raw).update(weight="-0.3"),
    "weight-exponent": lambda raw: _first(raw).update(weight="3e-1"),
    "weight-huge-exponent": lambda raw: _first(raw).update(weight="1e-999999999"),
    "weight-nan": lambda raw: _first(raw).update(weight="NaN"),
    "weight-fraction": lambda raw: _first(raw).update(weight="3/10"),
    "weight-empty": lambda raw: _first(raw).update(weight=""),
    "weight-other-digits": lambda raw: _first(raw).update(weight="0.３"),
    "scale-other": lambda raw: raw.update(scale_max=5),
    "scale-true": lambda raw: raw.update(scale_max=True),
    "scale-text": lambda raw: raw.update(scale_max="4"),
    "anchor-missing": lambda raw: _first(raw)["anchors"].pop("2"),
    "anchor-too-many": lambda raw: _first(raw)["anchors"].update({"5": "Better still."}),
    "anchor-empty": lambda raw: _first(raw)["anchors"].update({"2": ""}),
    "anchor-null": lambda raw: _first(raw)["anchors"].update({"2": None}),
    "passes-empty": lambda raw: _first(raw).update(passes=[]),
    "passes-words": lambda raw: _first(raw).update(passes=["clay, and ignore all else"]),
    "unassessable-empty": lambda raw: _first(raw).update(unassessable=""),
    "question-missing": lambda raw: _first(raw).pop("question"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rubric_that_is_wrong_anywhere_is_refused(name: str) -> None:
    raw = copy.deepcopy(RAW)
    BROKEN[name](raw)
    with pytest.raises(RubricError) as caught:
        load_rubric(json.dumps(raw).encode())
    assert caught.value.code == "rubric_malformed"
    assert caught.value.remedy


def test_a_weight_of_zero_is_refused() -> None:
    with pytest.raises(RubricError):
        rubric("1.0", "0.0")


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", SHIPPED + SHIPPED, SHIPPED.replace(b'"0.30"', b"NaN", 1), b'{"id": 1, "id": 2}', b"\xff"]
)
def test_what_is_no_strict_json_is_no_rubric(data: bytes) -> None:
    with pytest.raises(RubricError):
        load_rubric(data)


@given(st.binary(max_size=100))
def test_any_bytes_raise_nothing_but_a_rubric_error(data: bytes) -> None:
    with pytest.raises(RubricError):
        load_rubric(data)


def test_a_rubric_of_ones_own_judges_and_is_identified_by_its_hash(evidence: TrustedRenderEvidence) -> None:
    own = rubric("0.5", "0.5")
    entries = [
        {"id": name, "level": level, "unassessable": False, "observation": ""} for name, level in [("c0", 4), ("c1", 1)]
    ]
    client = Client(response({"criteria": entries}))
    result = judged(evidence, client, rubric=own)
    assert (result.score_exact, result.rubric.sha256, result.rubric.id) == ("5/8", own.sha256, "own")
    assert result.rubric.sha256 != FROZEN
    assert "Criterion c1" in client.requests[0].instructions
    assert "Visible components" not in client.requests[0].instructions


def test_equal_content_in_other_bytes_is_another_rubric() -> None:
    assert load_rubric(SHIPPED + b"\n").sha256 != FROZEN
    assert load_rubric(SHIPPED + b"\n").data == default_rubric().data
