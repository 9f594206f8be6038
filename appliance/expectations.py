"""``expected.json`` of an example: what each candidate's verdict has to come to. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Expected(BaseModel):
    """One candidate's expectation; exactly one of the three rules is given.

    ``exact``: the score. ``min_level``: no criterion lies below. ``criterion``: this one lies at least one
    level below that of the candidate called ``independent``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    submission: str
    exact: int | None = None
    min_level: int | None = Field(default=None, ge=0, le=4)
    criterion: str | None = None


def levels_of(verdict: dict[str, Any]) -> dict[str, int | None]:
    """Level by criterion of a scored verdict."""
    return {one["id"]: one["level"] for one in verdict.get("criteria", [])}


def objection(expected: Expected, verdict: dict[str, Any], undamaged: dict[str, int | None]) -> str | None:
    """What is wrong with a verdict; None where it is as expected."""
    levels = levels_of(verdict)
    if verdict.get("status") != "scored":
        return f"not scored: {verdict.get('status')}, {verdict.get('reason')}"
    if expected.exact is not None and verdict["score"] != expected.exact:
        return f"score {verdict['score']} is not exactly {expected.exact}"
    if expected.min_level is not None:
        low = sorted(name for name, level in levels.items() if level is None or level < expected.min_level)
        if low:
            return f"{', '.join(low)} below level {expected.min_level}"
    if expected.criterion is not None:
        level, usual = levels.get(expected.criterion), undamaged.get(expected.criterion)
        if level is None or usual is None or level >= usual:
            return f"{expected.criterion} is at {level}, the undamaged one at {usual}"
    return None
