"""Everything that the sandbox room raises on purpose: one base class, a stable code, and who is at fault.

The fault is written as for a candidate. A caller that was rendering the reference turns
``candidate`` into ``infrastructure``: the reference is not the actor's.
"""

from __future__ import annotations

from typing import Literal

Fault = Literal["candidate", "infrastructure", "provider"]


class SandboxError(Exception):
    """Base of every error of this room.

    ``code`` is stable snake_case, ``message`` and ``remedy`` are one sentence each. ``retry`` says that
    the same run is worth one more try; ``confirm`` that the fault stands only if a self-test of the
    renderer passes afterwards on the same machine.
    """

    default_fault: Fault = "infrastructure"

    def __init__(
        self,
        code: str,
        message: str,
        remedy: str,
        *,
        fault: Fault | None = None,
        retry: bool = False,
        confirm: bool = False,
        log_tail: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.fault: Fault = self.default_fault if fault is None else fault
        self.retry = retry
        self.confirm = confirm
        self.log_tail = log_tail

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class SubmissionError(SandboxError):
    """The submitted files break a rule of the snapshot, or no root layer can be told."""

    default_fault: Fault = "candidate"


class StagingError(SandboxError):
    """The trusted side could not keep its own copy: disk full, folder missing, copy damaged."""


class RuntimeMissing(SandboxError):
    """Storm, an interpreter or the lock of images is not where set-up puts it."""


class BackendUnavailable(SandboxError):
    """The isolation backend cannot be used here: no engine, no image, no program, no permission."""


class PromiseBroken(SandboxError):
    """A live sandbox was found not to keep a promise that its backend makes."""


class RendererRefused(SandboxError):
    """The renderer gave up in an orderly way; code, words and fault are its own claims."""


class ProtocolBreach(SandboxError):
    """What came out of the sandbox is not the protocol; a renderer that was taken over can do that."""

    default_fault: Fault = "candidate"


class RunFailed(SandboxError):
    """The run ended without a result: a budget, a crash or a kill. See ``outcome`` for the rules."""
