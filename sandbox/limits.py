"""Hard limits of one sandbox, derived from a profile's budget; the same numbers for every backend."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from renderer.protocol import Budget

MAX_PROCESSES: Final = 1024
"""Processes and threads; Mesa, Storm's scheduler and OpenImageIO each start up to one thread a core."""
MAX_OPEN_FILES: Final = 1024
SCRATCH_BYTES: Final = 2 << 30
"""Room for the submission and what Storm writes beside it, in memory where the backend can."""
UID: Final = 65534
"""Numeric user and group without rights, by Debian's convention ``nobody``."""
_STACKS_A_CORE: Final = 4 * (8 << 20)
_STACKS_ANYWAY: Final = 1 << 30


@dataclass(frozen=True)
class Limits:
    """Kernel limits of one process in the sandbox, as ``prlimit`` takes them."""

    cpu_seconds: int
    data_bytes: int
    """Private writable memory (RLIMIT_DATA). Address space is not limited: drivers and allocators reserve
    many times what they use, and the more the more cores there are."""
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
            f"--fsize={self.file_bytes}",
            f"--nofile={self.open_files}",
            f"--nproc={self.processes}",
            "--core=0",
            "--",
        ]


def limits_of(budget: Budget) -> Limits:
    """The kernel limits that enforce a budget from inside; the trusted side's counters do from outside.

    The limit of memory is a backstop for what is faster than those counters. It takes in the stacks of all
    threads whether they are used or not, so it leaves room for them and does not depend on the cores.
    """
    stacks = _STACKS_ANYWAY + _STACKS_A_CORE * (os.cpu_count() or 1)
    return Limits(cpu_seconds=budget.cpu_seconds, data_bytes=budget.memory_bytes + stacks)
