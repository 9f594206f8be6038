"""Everything that this room refuses, under one base class."""

from __future__ import annotations


class ReceiptError(Exception):
    """A refusal: ``code`` is stable and snake_case, ``message`` one sentence, ``remedy`` says what to do."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


class PngError(ReceiptError):
    """Bytes that are not the strict kind of PNG that counts as a render."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Use the PNG exactly as the trusted render wrote it.")


class FormatError(ReceiptError):
    """A receipt, a diagnostics file or a statement that is not well-formed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Use the file exactly as the trusted render wrote it.")


class KeyFault(ReceiptError):
    """A key that cannot be made, read or used."""


class VerificationError(ReceiptError):
    """A signature, hash or identity that does not hold."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message, "Do not use this evidence; render the episode again.")


class EvidenceError(ReceiptError):
    """Evidence that the loader does not accept."""

    def __init__(
        self, code: str, message: str, remedy: str = "Do not judge this evidence; render the episode again."
    ) -> None:
        super().__init__(code, message, remedy)


class PlaceError(ReceiptError):
    """A folder or key in a place that the actor, or anyone else, can write."""


class StoreError(ReceiptError):
    """The store cannot take or give an episode."""
