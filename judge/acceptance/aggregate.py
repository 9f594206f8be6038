"""The verdict, from findings alone: the contract's table, read from the top.

===========================================================================  ===========================
a measurement fails, or a criterion fails and its failure is not tolerated   fail
else anything is unknown or unavailable                                      unknown
else a criterion fails (minor, tolerant, not required)                       pass_with_minor_deviations
else                                                                         pass
===========================================================================  ===========================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from judge.acceptance.checks import MeasurableCheck
from judge.acceptance.reply import CriterionCheck
from judge.acceptance.request import Criterion

Verdict = Literal["pass", "pass_with_minor_deviations", "fail", "unknown"]


def aggregate(
    criteria: Sequence[Criterion],
    measured: Sequence[MeasurableCheck],
    checks: Sequence[CriterionCheck] | None,
) -> tuple[Verdict, tuple[CriterionCheck, ...]]:
    """The verdict and the deviations accepted under it.

    ``checks`` are in the order of ``criteria``, or None where evidence was unavailable and no evaluator
    was asked. Deviations are accepted only where the whole is.
    """
    findings = list(zip(criteria, checks, strict=True)) if checks is not None else []
    failed = [(criterion, check) for criterion, check in findings if check.verdict == "fail"]
    deviations = tuple(check for criterion, check in failed if criterion.tolerant and check.severity == "minor")
    if any(check.verdict == "fail" for check in measured) or len(deviations) < len(failed):
        return "fail", ()
    # A measurement is unknown only where its image is unavailable, and then no evaluator was asked.
    if checks is None or any(check.verdict == "unknown" for check in checks):
        return "unknown", ()
    return ("pass_with_minor_deviations" if deviations else "pass"), deviations
