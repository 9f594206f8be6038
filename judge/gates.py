"""The objective gates: three booleans out of a result that is otherwise left alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
    raw: bytes = field(default=b"", repr=False)

    def first_failed(self) -> str | None:
        """Name of the first gate that has not passed; None where all have."""
        return next((name for name in GATES if getattr(self, name) is not True), None)


class _Pairs(list[tuple[str, Any]]):
    """An object's members as they stand, those with one key twice included."""


def parse_objective(data: bytes) -> ObjectiveGates:
    """Reads the gates and interprets nothing else. Raises :class:`ObjectiveError`.

    A gate that stands twice has failed, whatever it says. Numbers stay text: a result of measurements
    may hold any, also such as JSON does not know (``NaN``).
    """
    if len(data) > _MAX_BYTES:
        raise ObjectiveError("objective_too_big", "The objective result is over 16 mebibytes.")
    try:
        value: Any = json.loads(data, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise ObjectiveError("objective_malformed", f"The objective result is no JSON: {str(error)[:200]}.") from error
    if not isinstance(value, _Pairs):
        raise ObjectiveError("objective_malformed", "The objective result is no JSON object.")
    found = {name: [member for key, member in value if key == name] for name in GATES}
    passed = {name: len(members) == 1 and members[0] is True for name, members in found.items()}
    return ObjectiveGates(raw=data, **passed)
