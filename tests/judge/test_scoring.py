"""The score: computed here, from validated levels, exactly; null as soon as one criterion is."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.parsing import CriterionReply
from judge.rubric import Rubric, default_rubric
from judge.scoring import value_of, weighted_score
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import IDS, Client, judged, reply, response, rubric

LEVEL = st.integers(0, 4)


@st.composite
def weights(draw: st.DrawFn) -> list[str]:
    """Decimal weights of six places that sum to 1 exactly."""
    cuts = sorted(draw(st.sets(st.integers(1, 999_999), max_size=7)))
    steps = [0, *cuts, 1_000_000]
    return [f"{Decimal(high - low) / 1_000_000:.6f}" for low, high in pairwise(steps)]


def _score(own: Rubric, levels: list[int | None]) -> Fraction | None:
    replies = [CriterionReply(name, level, "") for name, level in zip(own.ids, levels, strict=True)]
    random.Random(len(levels)).shuffle(replies)
    return weighted_score(replies, own)


@given(weights(), st.data())
def test_the_score_is_the_weighted_mean_in_exact_numbers(parts: list[str], data: st.DataObject) -> None:
    levels = data.draw(st.lists(LEVEL, min_size=len(parts), max_size=len(parts)))
    score = _score(rubric(*parts), list(levels))
    # In whole millionths of a quarter, without any rational or floating arithmetic.
    millionths = sum(int(part.replace(".", "")) * level for part, level in zip(parts, levels, strict=True))
    assert score is not None
    assert score.numerator * 4_000_000 == millionths * score.denominator
    assert 0 <= score <= 1


@given(weights(), st.data())
def test_one_unassessable_criterion_makes_the_score_null(parts: list[str], data: st.DataObject) -> None:
    levels: list[int | None] = list(data.draw(st.lists(LEVEL, min_size=len(parts), max_size=len(parts))))
    levels[data.draw(st.integers(0, len(parts) - 1))] = None
    assert _score(rubric(*parts), levels) is None


@given(weights(), LEVEL)
def test_equal_levels_score_that_level_whatever_the_weights(parts: list[str], level: int) -> None:
    assert _score(rubric(*parts), [level] * len(parts)) == Fraction(level, 4)


@given(weights(), st.data())
def test_a_better_level_never_lowers_the_score(parts: list[str], data: st.DataObject) -> None:
    levels = data.draw(st.lists(st.integers(0, 3), min_size=len(parts), max_size=len(parts)))
    better = list(levels)
    at = data.draw(st.integers(0, len(parts) - 1))
    better[at] += 1
    low, high = _score(rubric(*parts), list(levels)), _score(rubric(*parts), list(better))
    assert low is not None and high is not None and high > low


def test_weights_that_binary_numbers_cannot_hold_still_sum_exactly() -> None:
    assert _score(rubric(*["0.1"] * 10), [4] * 10) == 1
    assert _score(rubric("0.1", "0.2", "0.7"), [4, 4, 0]) == Fraction(3, 10)


@pytest.mark.parametrize(("level", "value"), [(0, "0"), (1, "1/4"), (2, "1/2"), (3, "3/4"), (4, "1")])
def test_a_value_is_a_quarter_of_its_level(level: int, value: str) -> None:
    assert value_of(level, 4) == Fraction(value)


@pytest.mark.parametrize(
    ("levels", "score", "exact"),
    [
        ((4, 4, 4, 4), 1.0, "1/1"),
        ((0, 0, 0, 0), 0.0, "0/1"),
        ((3, 3, 3, 3), 0.75, "3/4"),
        ((4, 0, 0, 0), 0.3, "3/10"),
        ((0, 4, 0, 0), 0.3, "3/10"),
        ((0, 0, 4, 0), 0.25, "1/4"),
        ((0, 0, 0, 4), 0.15, "3/20"),
        ((1, 2, 3, 4), 0.5625, "9/16"),
    ],
)
def test_a_result_holds_the_score_and_the_exact_fraction(
    evidence: TrustedRenderEvidence, levels: tuple[int, ...], score: float, exact: str
) -> None:
    result = judged(evidence, Client(response(reply(dict(zip(IDS, levels, strict=True))))))
    assert (result.status, result.reason, result.score, result.score_exact) == ("scored", None, score, exact)
    assert [one.level for one in result.criteria] == list(levels)
    assert [one.value for one in result.criteria] == [level / 4 for level in levels]
    assert [one.weight for one in result.criteria] == [one.weight for one in default_rubric().data.criteria]


@pytest.mark.parametrize("name", IDS)
def test_an_unassessable_criterion_is_null_and_so_is_the_score(evidence: TrustedRenderEvidence, name: str) -> None:
    result = judged(evidence, Client(response(reply({name: None}))))
    assert (result.status, result.reason) == ("unassessable", f"criterion_unassessable:{name}")
    assert (result.score, result.score_exact) == (None, None)
    for one in result.criteria:
        expected = (None, None, True) if one.id == name else (3, 0.75, False)
        assert (one.level, one.value, one.unassessable) == expected
