"""The score: a weighted mean in rational numbers, null as soon as one criterion is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from judge.parsing import CriterionReply
from judge.rubric import Rubric


def value_of(level: int | None, scale_max: int) -> Fraction | None:
    """A level's value in [0, 1]; None for an unassessable criterion."""
    return None if level is None else Fraction(level, scale_max)


def weighted_score(replies: Sequence[CriterionReply], rubric: Rubric) -> Fraction | None:
    """The exact score in [0, 1]; the same on every machine."""
    levels = {reply.id: reply.level for reply in replies}
    total = Fraction(0)
    for criterion in rubric.data.criteria:
        value = value_of(levels[criterion.id], rubric.data.scale_max)
        if value is None:
            return None
        total += criterion.exact_weight * value
    return total
