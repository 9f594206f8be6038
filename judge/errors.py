"""The base class of everything that this room refuses."""

from __future__ import annotations


class JudgeError(Exception):
    """A setup or technical error, never a verdict.

    ``code`` is stable and snake_case, ``message`` one sentence, ``remedy`` says what to do.
    """

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


class RubricError(JudgeError):
    """A rubric that is not well-formed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Correct the rubric, or use the built-in one.")


class ObjectiveError(JudgeError):
    """An objective result that is no JSON object."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Hand in a JSON object with the three gates as booleans.")


class ReplyError(JudgeError):
    """A provider's answer that cannot be used; ``code`` is the reason that the result carries.

    ``known`` is what came back all the same, a ``ProviderResponse`` or None.
    """

    def __init__(self, code: str, message: str, known: object = None) -> None:
        super().__init__(code, message, "Judge again, or choose another model.")
        self.known = known
