"""Hard limits of one sandbox, derived from a profile's budget; the same numbers for every backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from renderer.protocol import Budget, Device

MAX_PROCESSES: Final = 256
"""Processes and threads; Mesa starts one or two threads a core, Storm's scheduler one a core."""
MAX_OPEN_FILES: Final = 1024
SCRATCH_BYTES: Final = 2 << 30
"""Room for the submission and what Storm writes beside it, in memory where the backend can."""
UID: Final = 65534
"""Numeric user and group without rights, by Debian's convention ``nobody``."""


@dataclass(frozen=True)
class Limits:
    """Kernel limits of one process in the sandbox, as ``prlimit`` takes them."""

    cpu_seconds: int
    data_bytes: int
    """Private writable memory (RLIMIT_DATA): address space alone says little, since drivers reserve much."""
    address_space_bytes: int | None
    """None with a GPU, whose driver reserves more than any machine has."""
    file_bytes: int = SCRATCH_BYTES
    open_files: int = MAX_OPEN_FILES
    processes: int = MAX_PROCESSES

    def command(self, prlimit: str) -> list[str]:
        """The words that start another command under these limits."""
        return [
            prlimit,
            # The soft limit ends it by SIGXCPU, which says why; the hard one a second later whatever it does.
            f"--cpu={self.cpu_seconds}:{self.cpu_seconds + 1}",
            f"--data={self.data_bytes}",
            f"--as={'unlimited' if self.address_space_bytes is None else self.address_space_bytes}",
            f"--fsize={self.file_bytes}",
            f"--nofile={self.open_files}",
            f"--nproc={self.processes}",
            "--core=0",
            "--",
        ]


def limits_of(budget: Budget, device: Device = "cpu") -> Limits:
    """The kernel limits that enforce a budget from inside; the trusted side's counters do from outside."""
    return Limits(
        cpu_seconds=budget.cpu_seconds,
        data_bytes=budget.memory_bytes,
        address_space_bytes=None if device == "gpu" else budget.memory_bytes * 2 + (4 << 30),
    )
