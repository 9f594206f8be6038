"""From several answers to one: the lower median of a criterion's levels, kept only where both orders agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from judge.parsing import CriterionReply
from judge.ports import Order, Sampling

Replies = Mapping[Order, Sequence[CriterionReply]]
"""One criterion's answers by the order in which the pictures were shown; at least one each."""


@dataclass(frozen=True)
class Combined:
    """One criterion's answer over all calls."""

    reply: CriterionReply
    agreement: Fraction
    """Share of the calls whose answer was the one kept, from 0 to 1."""


def orders(sampling: Sampling) -> tuple[Order, ...]:
    """The order of every call, the first order's calls first."""
    kinds: tuple[Order, ...] = ("reference_first", "candidate_first") if sampling.both_orders else ("reference_first",)
    return tuple(order for order in kinds for _ in range(sampling.samples))


def combine(replies: Replies) -> Combined:
    """The answer that counts.

    In each order it is the lower median, unassessable ranking below 0: it counts where at least half
    of the answers are it. Orders that come to different answers make the criterion unassessable.
    """
    middles = {order: _lower_median(answers) for order, answers in replies.items()}
    everything = [answer for answers in replies.values() for answer in answers]
    kept = next(iter(middles.values()))
    if any(middle.level != kept.level for middle in middles.values()):
        words = ", ".join(f"{_word(middle.level)} with the {_first(order)} first" for order, middle in middles.items())
        kept = CriterionReply(kept.id, None, f"The two orders of presentation disagree: {words}.")
    same = sum(answer.level == kept.level for answer in everything)
    return Combined(kept, Fraction(same, len(everything)))


def _lower_median(answers: Sequence[CriterionReply]) -> CriterionReply:
    """The first given of the answers whose level is the lower median."""
    ranked = sorted(answers, key=lambda answer: -1 if answer.level is None else answer.level)
    middle = ranked[(len(ranked) - 1) // 2].level
    return next(answer for answer in answers if answer.level == middle)


def _word(level: int | None) -> str:
    return "unassessable" if level is None else f"level {level}"


def _first(order: Order) -> str:
    return "reference" if order == "reference_first" else "candidate"
