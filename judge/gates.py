"""The objective gates: three booleans out of a result that is otherwise left alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from judge.errors import ObjectiveError

GATES: Final = ("submission_valid", "preservation_pass", "objective_success")
_MAX_BYTES = 16 << 20


@dataclass(frozen=True)
class ObjectiveGates:
    """A gate counts only as the boolean true; anything else, and an absent one, has failed.

    ``raw`` are the bytes as they came, returned unchanged: nothing here rewrites a result.
    """

    submission_valid: bool
    preservation_pass: bool
    objective_success: bool
    raw: bytes = b""

    def first_failed(self) -> str | None:
        """Name of the first gate that has not passed; None where all have."""
        return next((name for name in GATES if getattr(self, name) is not True), None)


def parse_objective(data: bytes) -> ObjectiveGates:
    """Reads the gates and interprets nothing else. Raises :class:`ObjectiveError`."""
    if len(data) > _MAX_BYTES:
        raise ObjectiveError("objective_too_big", "The objective result is over 16 mebibytes.")
    try:
        value: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ObjectiveError("objective_malformed", f"The objective result is no JSON: {str(error)[:200]}.") from error
    if not isinstance(value, dict):
        raise ObjectiveError("objective_malformed", "The objective result is no JSON object.")
    passed = {name: value.get(name) is True for name in GATES}
    return ObjectiveGates(raw=data, **passed)
