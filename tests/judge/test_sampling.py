"""Asking more than once: off by default, recorded call by call; the lower median counts if both orders agree on it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import JudgeError
from judge.parsing import CriterionReply
from judge.ports import Order, Sampling, Usage
from judge.sampling import combine, orders
from receipt.digests import canonical_json, sha256_hex
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import Client, judged, reply, response

ANSWER = st.none() | st.integers(0, 4)
ANSWERS = st.lists(ANSWER, min_size=1, max_size=9)


def _replies(*levels: int | None) -> list[CriterionReply]:
    return [CriterionReply("shape", level, f"Call {index}.") for index, level in enumerate(levels)]


def _combined(**answers: list[int | None]) -> tuple[int | None, Fraction]:
    given_answers: dict[Order, Any] = {name: _replies(*levels) for name, levels in answers.items()}  # type: ignore[misc]
    combined = combine(given_answers)
    return combined.reply.level, combined.agreement


def test_one_call_is_the_default_and_leaves_its_answer_alone(evidence: TrustedRenderEvidence) -> None:
    client = Client()
    result = judged(evidence, client)
    assert len(client.requests) == 1
    assert (result.sampling.samples, result.sampling.both_orders) == (1, False)
    assert [one.agreement for one in result.criteria] == ["1/1"] * 4
    assert (result.calls[0].request_sha256, result.calls[0].response_sha256) == (
        result.request_sha256,
        result.response_sha256,
    )
    assert result.calls[0].usage == result.usage


@pytest.mark.parametrize(
    ("levels", "kept", "agreement"),
    [
        ([3], 3, "1"),
        ([None], None, "1"),
        ([2, 3], 2, "1/2"),
        ([3, 2], 2, "1/2"),
        ([4, 4, 0], 4, "2/3"),
        ([0, 4, 2], 2, "1/3"),
        ([None, 4], None, "1/2"),
        ([None, 4, 4], 4, "2/3"),
        ([None, None, 4], None, "2/3"),
        ([None, 0, 4], 0, "1/3"),
        ([1, 1, 1, 1, 4], 1, "4/5"),
    ],
)
def test_the_lower_median_counts(levels: list[int | None], kept: int | None, agreement: str) -> None:
    assert _combined(reference_first=levels) == (kept, Fraction(agreement))


@given(ANSWERS, st.randoms())
def test_the_order_of_equal_calls_does_not_matter(levels: list[int | None], chance: Any) -> None:
    shuffled = list(levels)
    chance.shuffle(shuffled)
    assert _combined(reference_first=levels) == _combined(reference_first=shuffled)


@given(ANSWERS)
def test_an_answer_of_more_than_half_is_kept_and_one_that_nobody_gave_is_not(levels: list[int | None]) -> None:
    kept, agreement = _combined(reference_first=levels)
    assert kept in levels
    assert agreement == Fraction(levels.count(kept), len(levels))
    for level in set(levels):
        if 2 * levels.count(level) > len(levels):
            assert kept == level


@given(ANSWERS, ANSWERS)
def test_only_what_both_orders_come_to_is_kept(one: list[int | None], other: list[int | None]) -> None:
    first, second = _combined(reference_first=one)[0], _combined(reference_first=other)[0]
    kept, agreement = _combined(reference_first=one, candidate_first=other)
    assert kept == (first if first == second else None)
    assert agreement == Fraction((one + other).count(kept), len(one + other))


def test_the_observation_is_that_of_a_call_that_gave_the_kept_answer() -> None:
    assert combine({"reference_first": _replies(4, 1, 2, 2, 3)}).reply.observation == "Call 2."


def test_orders_that_disagree_say_so() -> None:
    found = combine({"reference_first": _replies(3), "candidate_first": _replies(None)}).reply
    assert found.level is None
    assert found.observation == (
        "The two orders of presentation disagree: "
        "level 3 with the reference first, unassessable with the candidate first."
    )


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), ["reference_first"]),
        (Sampling(samples=3), ["reference_first"] * 3),
        (Sampling(both_orders=True), ["reference_first", "candidate_first"]),
        (Sampling(samples=2, both_orders=True), ["reference_first"] * 2 + ["candidate_first"] * 2),
    ],
)
def test_calls_are_made_in_a_fixed_order(
    evidence: TrustedRenderEvidence, sampling: Sampling, expected: list[str]
) -> None:
    client = Client()
    result = judged(evidence, client, sampling=sampling)
    assert list(orders(sampling)) == [one.order for one in result.calls] == expected
    firsts = [request.images[0].role for request in client.requests]
    assert firsts == [name.removesuffix("_first") for name in expected]
    assert [request.request_sha256 for request in client.requests] == [one.request_sha256 for one in result.calls]
    assert (result.sampling.samples, result.sampling.both_orders) == (sampling.samples, sampling.both_orders)


def test_every_call_is_recorded_and_hashes_stand_for_all_of_them(evidence: TrustedRenderEvidence) -> None:
    answers = [
        response(reply({"shape": level}), usage=Usage(10, number, None, 0.5), provider_request_id=f"r-{number}")
        for number, level in enumerate([4, 1, 2])
    ]
    result = judged(evidence, Client(*answers), sampling=Sampling(samples=3))
    assert result.criteria[1].level == 2
    assert result.criteria[1].agreement == "1/3"
    assert result.score_exact == "27/40"
    assert [one.levels and one.levels["shape"] for one in result.calls] == [4, 1, 2]
    assert [one.provider_request_id for one in result.calls] == ["r-0", "r-1", "r-2"]
    assert result.response_sha256 == sha256_hex(canonical_json([one.response_sha256 for one in result.calls]))
    assert result.request_sha256 == sha256_hex(canonical_json([one.request_sha256 for one in result.calls]))
    assert result.usage is not None
    assert result.usage.model_dump() == {"input_tokens": 30, "output_tokens": 3, "total_tokens": None, "cost_usd": 1.5}


def test_a_criterion_on_which_the_orders_disagree_is_unassessable(evidence: TrustedRenderEvidence) -> None:
    client = Client(response(reply({"surface": 4})), response(reply({"surface": 2})))
    result = judged(evidence, client, sampling=Sampling(both_orders=True))
    assert (result.status, result.reason, result.score) == ("unassessable", "criterion_unassessable:surface", None)
    assert [one.agreement for one in result.criteria] == ["1/1", "1/1", "0/1", "1/1"]


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_one_failed_call_ends_it_without_a_score_and_without_another(
    evidence: TrustedRenderEvidence, failing: int
) -> None:
    answers: list[Any] = [response(reply())] * 3
    answers[failing - 1] = response("no json")
    client = Client(*answers)
    result = judged(evidence, client, sampling=Sampling(samples=3))
    assert (result.status, result.reason, result.criteria) == ("failed", "reply_not_json", ())
    assert len(client.requests) == len(result.calls) == failing
    assert result.usage is not None and result.usage.total_tokens == 120 * failing
    assert [one.levels is None for one in result.calls] == [False] * (failing - 1) + [True]


def test_every_call_must_say_its_model(evidence: TrustedRenderEvidence) -> None:
    client = Client(response(reply()), response(reply(), served_model=None))
    assert judged(evidence, client, sampling=Sampling(samples=2)).reason == "served_model_missing"


@pytest.mark.parametrize(
    ("samples", "both"),
    [(0, False), (-1, False), (33, False), (True, False), (1.0, False), ("2", False), (None, False), (1, 1), (1, None)],
)
def test_a_number_of_calls_that_cannot_be_meant_is_refused(samples: Any, both: Any) -> None:
    with pytest.raises(JudgeError) as caught:
        Sampling(samples, both)
    assert caught.value.code == "sampling_invalid"


def test_all_combinations_of_two_orders_are_decided() -> None:
    for one, other in itertools.product([None, 0, 1, 2, 3, 4], repeat=2):
        assert _combined(reference_first=[one], candidate_first=[other])[0] == (one if one == other else None)
