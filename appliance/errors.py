"""What the appliance refuses, and how every room's refusal becomes a fault and an exit code."""

from __future__ import annotations

from typing import Final, Literal

from judge.errors import JudgeError
from receipt.errors import ReceiptError
from renderer.errors import RendererError
from sandbox.errors import SandboxError

Fault = Literal["candidate", "infrastructure", "provider"]

EXIT_FINISHED: Final = 0
EXIT_USAGE: Final = 2
EXIT_VERIFICATION: Final = 6
EXIT_OF_FAULT: Final[dict[Fault, int]] = {"candidate": 3, "infrastructure": 4, "provider": 5}


class ApplianceError(Exception):
    """A refusal with a stable ``code``, one sentence, a remedy, and whose fault it is.

    ``fault`` is None for a mistake in how the appliance was called: exit code 2.
    """

    def __init__(self, code: str, message: str, remedy: str, fault: Fault | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.fault = fault

    @property
    def exit_code(self) -> int:
        """The process's exit code for this refusal."""
        return EXIT_USAGE if self.fault is None else EXIT_OF_FAULT[self.fault]


class UsageError(ApplianceError):
    """The call cannot be meant: a missing option, a contradiction, a malformed case file."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy, None)


class CandidateFault(ApplianceError):
    """The submission cannot be rendered: the actor's problem."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy, "candidate")


class InfrastructureFault(ApplianceError):
    """The machine, the engine, the store or the reference is at fault: no score."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy, "infrastructure")


class ProviderFault(ApplianceError):
    """The judge's model failed: no score."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(code, message, remedy, "provider")


RoomError = SandboxError | ReceiptError | RendererError | JudgeError


def from_room(error: SandboxError | ReceiptError | RendererError, *, reference: bool = False) -> ApplianceError:
    """A room's error as the appliance reports it.

    A reference that cannot be rendered is the infrastructure's problem, whatever its own fault was:
    nobody's submission gets a score because of it.
    """
    fault: Fault = "infrastructure"
    if isinstance(error, SandboxError | RendererError) and error.fault == "candidate" and not reference:
        fault = "candidate"
    code = f"reference_{error.code}" if reference and fault_of(error) == "candidate" else error.code
    return ApplianceError(code, error.message, error.remedy, fault)


def fault_of(error: SandboxError | ReceiptError | RendererError) -> str:
    """The fault that a room's error names; a receipt's is the infrastructure's."""
    return getattr(error, "fault", "infrastructure")
