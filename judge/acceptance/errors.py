"""Setup and technical errors of the acceptance judge; none of them is a verdict about quality."""

from __future__ import annotations

from typing import Final, Literal

from judge.acceptance.reply import EvaluatorCall
from judge.errors import JudgeError

AcceptanceCode = Literal[
    "invalid_request",
    "invalid_evidence",
    "invalid_evaluator_response",
    "invalid_evaluator_metadata",
]

_REMEDIES: Final[dict[AcceptanceCode, str]] = {
    "invalid_request": "Correct the named field of the request; nothing was resolved or evaluated.",
    "invalid_evidence": "Let the evidence port return the frozen bytes with metadata decoded from those bytes.",
    "invalid_evaluator_response": "Ask the evaluator again under a new operation ID, or choose another model.",
    "invalid_evaluator_metadata": "Let the evaluator's adapter report metadata and usage, with null for the unknown.",
}


class AcceptanceError(JudgeError):
    """``code`` is one of :data:`AcceptanceCode`.

    ``path`` names the field where there is one, and ``call`` keeps what is known of an evaluation that
    took place (and may have been charged), else it is None.
    """

    def __init__(
        self, code: AcceptanceCode, message: str, *, path: str | None = None, call: EvaluatorCall | None = None
    ) -> None:
        super().__init__(code, message, _REMEDIES[code])
        self.path = path
        self.call = call
