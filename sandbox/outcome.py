"""Who is at fault when a run ends without a result: a pure decision over what the trusted side measured.

The rules: a budget of CPU, memory, disk or output that the counters show exceeded is the candidate's
fault. The wall clock is a backstop: hit with less than half of the CPU budget used it is
infrastructure, and so is a kill that no counter explains; both are worth one more try. A crash is the
candidate's fault if the renderer's self-test passes afterwards on the same machine (``confirm``).
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final, Literal

from renderer.protocol import Budget
from sandbox.errors import RunFailed

StoppedFor = Literal["wall", "cpu", "memory"]
BUDGET_CODES: Final = ("memory_exceeded", "cpu_exceeded", "disk_exceeded", "wall_exceeded", "stalled")
"""Codes of the failures in which a budget ended the run, as against a crash or a kill."""
_KILLS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class Ending:
    """How a run ended, as measured outside the sandbox. None means that nobody could measure it."""

    complete: bool
    """Whether the last message of the protocol came."""
    exit_code: int | None
    """None where it ended by a signal, or had to be removed before it ended."""
    signal: int | None
    stopped_for: StoppedFor | None
    """Why the trusted side killed it, if it did."""
    wall_seconds: float
    cpu_seconds: float | None
    peak_memory_bytes: int | None
    oom_kills: int | None
    """Kills that the container's own memory counter reports."""


def failure_of(ending: Ending, budget: Budget) -> RunFailed | None:
    """The error that this ending deserves; None where the run counts."""
    if ending.complete and ending.exit_code == 0 and ending.stopped_for is None:
        return None
    return _budget_failure(ending, budget) or _wall_failure(ending, budget) or _end_failure(ending)


def _candidate(code: str, message: str, remedy: str, *, confirm: bool = False) -> RunFailed:
    return RunFailed(code, message, remedy, fault="candidate", confirm=confirm)


def _budget_failure(ending: Ending, budget: Budget) -> RunFailed | None:
    cpu = ending.cpu_seconds
    if ending.stopped_for == "memory" or (ending.oom_kills or 0) > 0:
        limit = budget.memory_bytes >> 20
        return _candidate("memory_exceeded", f"It needs more than {limit} MiB of memory.", "Make the asset lighter.")
    by_clock = ending.stopped_for == "cpu" or ending.signal == signal.SIGXCPU
    # Measured a moment before the kernel's own count, so a little less also explains its kill.
    by_count = ending.signal == signal.SIGKILL and cpu is not None and cpu >= budget.cpu_seconds * 0.95
    if by_clock or by_count:
        return _candidate(
            "cpu_exceeded", f"It needs more than {budget.cpu_seconds} CPU seconds.", "Make the asset lighter."
        )
    if ending.signal == signal.SIGXFSZ:
        return _candidate("disk_exceeded", "It writes larger files than the sandbox allows.", "Make the asset lighter.")
    return None


def _wall_failure(ending: Ending, budget: Budget) -> RunFailed | None:
    if ending.stopped_for != "wall":
        return None
    cpu = ending.cpu_seconds
    message = f"It was not done after {budget.wall_seconds} seconds."
    if cpu is not None and cpu >= budget.cpu_seconds / 2:
        return _candidate("wall_exceeded", message, "Make the asset lighter.")
    return RunFailed(
        "stalled", message, "Try again on a machine that is less busy.", fault="infrastructure", retry=True
    )


def _end_failure(ending: Ending) -> RunFailed:
    number = ending.signal
    if number is not None and (number == signal.SIGKILL or number in _KILLS):
        return RunFailed(
            "killed",
            "The sandbox was killed from outside, and no counter of its own explains it.",
            "Look for what kills processes on this machine, and try again.",
            fault="infrastructure",
            retry=True,
        )
    if number is not None:
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return _candidate("renderer_crashed", f"The renderer crashed ({name}).", "Simplify the asset.", confirm=True)
    if ending.exit_code is None:
        return RunFailed(
            "sandbox_lost",
            "Nobody can say how the sandbox ended.",
            "Look at the engine, and try again.",
            fault="infrastructure",
            retry=True,
        )
    if ending.exit_code == 0:
        return _candidate(
            "renderer_stopped", "The renderer stopped before its last message.", "Simplify the asset.", confirm=True
        )
    return _candidate(
        "renderer_failed",
        f"The renderer failed with exit code {ending.exit_code}.",
        "Simplify the asset.",
        confirm=True,
    )
