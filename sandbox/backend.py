"""The interface of an isolation backend, and what a run gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from renderer.protocol import Budget, Cameras, Facts, Frame, Hello, Job
from sandbox.exchange import Channel
from sandbox.promises import Promise
from sandbox.snapshot import Snapshot

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Usage:
    """What the trusted side measured. None means that this backend cannot measure it."""

    wall_seconds: float
    cpu_seconds: float | None
    peak_memory_bytes: int | None
    log_tail: str
    """The end of the renderer's log, at most some KiB, without control characters; never interpreted."""


@dataclass(frozen=True)
class RunReport:
    """A run that reached its last message. ``hello``, ``cameras`` and ``facts`` are the sandbox's claims."""

    hello: Hello
    cameras: Cameras | None
    facts: Facts
    usage: Usage


@dataclass(frozen=True)
class ProbeReport:
    """What a program said that ran inside a sandbox instead of the renderer, and how it ended."""

    output: bytes
    exit_code: int | None
    signal: int | None
    log_tail: str
    inspection: dict[str, Json]
    """The live sandbox's configuration as seen from outside, in the backend's own terms."""


@dataclass(frozen=True)
class Sample:
    """Counters of a live sandbox; None means unknown."""

    cpu_seconds: float | None
    memory_bytes: int | None
    oom_kills: int | None


@dataclass(frozen=True)
class Exit:
    """How the sandbox's first process ended; both None where nobody can say."""

    exit_code: int | None
    signal: int | None


class Worker(Protocol):
    """One live sandbox. Used by ``conduct`` alone; always closed, whatever happens."""

    def channel(self, out: Callable[[bytes], None], log: Callable[[bytes], None]) -> Channel:
        """The descriptors to talk to it; ``out`` takes its stdout, ``log`` its stderr."""

    def sample(self) -> Sample:
        """Its counters now. Cheap; called about ten times a second."""

    def wait(self, seconds: float) -> Exit | None:
        """How it ended; None if it still runs after so many seconds."""

    def kill(self) -> None:
        """Ends every process of it at once."""

    def inspect(self) -> dict[str, Json]:
        """Its configuration as seen from outside."""

    def close(self) -> None:
        """Kills what is left and removes every trace. May be called twice."""


class Backend(Protocol):
    """A way to run the renderer apart from everything else."""

    @property
    def name(self) -> str:
        """docker, bubblewrap or process."""

    @property
    def promises(self) -> frozenset[Promise]:
        """What it keeps; :func:`sandbox.self_check.self_check` asserts each."""

    def describe(self) -> dict[str, Json]:
        """Facts of the isolation for the receipt; equal configurations give equal facts."""

    def run(self, snapshot: Snapshot, job: Job, budget: Budget, on_frame: Callable[[Frame, bytes], None]) -> RunReport:
        """Renders one job; ``on_frame`` gets every frame as soon as it is whole.

        Raises :class:`sandbox.errors.SandboxError` and, unchanged, whatever ``on_frame`` raises.
        """

    def probe(self, source: str, budget: Budget, stdin: bytes = b"") -> ProbeReport:
        """Runs Python source in the renderer's place, under the very same confinement.

        Raises :class:`sandbox.errors.SandboxError` where the sandbox cannot be started or a budget is hit.
        """
