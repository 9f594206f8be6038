"""Everything that the renderer refuses, under one base class."""

from __future__ import annotations

from renderer.protocol import FaultName


class RendererError(Exception):
    """An orderly refusal.

    ``code`` is stable and snake_case, ``message`` is one sentence, ``remedy`` says what to do, and
    ``fault`` says whose problem it is.
    """

    def __init__(self, code: str, message: str, remedy: str, fault: FaultName = "candidate") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.fault = fault


class ProfileError(RendererError):
    """The profile is missing, malformed or not the one that the job names."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy, "infrastructure")


class EnvironmentFault(RendererError):
    """GL, Storm or the machine does not do what the profile needs."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy, "infrastructure")


class AssetError(RendererError):
    """The asset cannot be shown; the fault of whoever made it."""


class CaseError(RendererError):
    """The case asks for what the reference does not have."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy, "infrastructure")
