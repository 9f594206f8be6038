"""Asserts every promise of a backend, from inside a live sandbox and by looking at it from outside.

:func:`self_check` starts a few short sandboxes: one that tries the ways out (see ``probe``), one for each way of
holding too much memory, and one that takes too much CPU time. What a backend does not promise is not asserted.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from renderer.protocol import Budget
from sandbox.backend import Backend, ProbeReport
from sandbox.errors import PromiseBroken, RunFailed, SandboxError
from sandbox.findings import CHECKS, Probed, Seen, inspection_finding
from sandbox.promises import Promise

PROBE: Final = Path(__file__).with_name("probe.py")
_MEMORY_BYTES: Final = 256 << 20
_BUDGET: Final = Budget(
    cpu_seconds=20,
    # A process that forks counts once for each child here, so this is more than the probe itself needs.
    memory_bytes=16 << 30,
    wall_seconds=60,
    max_prims=1,
    max_points=1,
    max_texels=1,
    max_layers=1,
)
_WAYS_TO_HOLD: Final = {
    "private": "held += [bytearray(b'x') * PIECE for _ in range(PIECES)]",
    # What nobody maps any more, and what is only a file in memory, is in no process's count.
    "unmapped": (
        "for _ in range(PIECES):\n"
        "  held.append(mmap.mmap(-1, PIECE))\n"
        "  held[-1].write(bytes(PIECE))\n"
        "  held[-1].madvise(mmap.MADV_DONTNEED)"
    ),
    "memory_file": "held.append(os.memfd_create('x'))\nfor _ in range(PIECES): os.write(held[-1], bytes(PIECE))",
    "scratch": "with open('held', 'wb') as file:\n  for _ in range(PIECES): file.write(bytes(PIECE))",
}
"""Each takes four times the limit, if it is let."""
_SPIN: Final = "while True: pass"


@dataclass(frozen=True)
class Finding:
    """One promise and, where it is broken, what was seen."""

    promise: Promise
    broken: str | None


@dataclass(frozen=True)
class CheckReport:
    """The result of a self-check: one finding for each promise of the backend, sorted by name."""

    backend: str
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The promises that are not kept."""
        return tuple(finding for finding in self.findings if finding.broken is not None)

    @property
    def ok(self) -> bool:
        """Whether everything that is promised is kept."""
        return not self.broken

    def require(self) -> None:
        """Raises :class:`PromiseBroken` unless everything is kept."""
        if self.broken:
            words = "; ".join(f"{finding.promise}: {finding.broken}" for finding in self.broken)
            raise PromiseBroken(
                "promise_broken",
                f"The {self.backend} backend does not keep what it promises: {words[:1500]}.",
                "Use another backend, or repair this one before any submission is rendered.",
            )


def self_check(backend: Backend) -> CheckReport:
    """Checks a backend on this machine, in a few seconds. Raises :class:`SandboxError` where no sandbox starts."""
    with _canaries() as canaries:
        listed = "[" + ",".join(f'"{path}"' for path in canaries) + "]"
        report = backend.probe(PROBE.read_text(encoding="utf-8"), _BUDGET, listed.encode())
    seen = Seen(_probed(report), report.inspection, _BUDGET)
    findings = []
    for promise in sorted(backend.promises):
        if promise is Promise.MEMORY_LIMIT:
            broken = _memory_finding(backend)
        elif promise is Promise.CPU_LIMIT:
            broken = _cpu_finding(backend)
        else:
            broken = CHECKS[promise](seen)
        findings.append(Finding(promise, broken or inspection_finding(promise, seen)))
    return CheckReport(backend.name, tuple(findings))


def _probed(report: ProbeReport) -> Probed:
    try:
        return Probed.model_validate_json(report.output)
    except ValidationError as error:
        raise SandboxError(
            "probe_failed",
            f"The probe did not run in the sandbox (exit code {report.exit_code}, signal {report.signal}): "
            f"{report.log_tail[-300:]!a}.",
            "Look at how the sandbox is started.",
        ) from error


@contextlib.contextmanager
def _canaries() -> Iterator[list[str]]:
    """Files that anybody on this machine may read; a sandbox with an own root cannot."""
    with tempfile.TemporaryDirectory(prefix="render-judge-canary-") as folder:
        canary = Path(folder, "canary")
        canary.write_bytes(b"not for the sandbox")
        Path(folder).chmod(0o755)
        canary.chmod(0o644)
        yield [str(canary), f"/proc/{os.getpid()}/root{canary}", str(Path(__file__).resolve())]


def _hog(way: str) -> str:
    lines = "\n".join(f"  {line}" for line in _WAYS_TO_HOLD[way].splitlines())
    # The counters need a moment to see it. A refusal by the kernel is as good as a kill.
    return (
        f"import mmap, os, time\nPIECE, PIECES = {_MEMORY_BYTES // 8}, 32\nheld = []\n"
        f"try:\n{lines}\n  time.sleep(2)\n  print('held')\n"
        "except (MemoryError, OSError):\n  print('refused')\n"
    )


def _memory_finding(backend: Backend) -> str | None:
    budget = _BUDGET.model_copy(update={"memory_bytes": _MEMORY_BYTES})
    for way in _WAYS_TO_HOLD:
        try:
            report = backend.probe(_hog(way), budget)
        except RunFailed as failure:
            if failure.code != "memory_exceeded":
                return f"{way}: it ended as {failure.code}"
        else:
            if report.output != b"refused\n":
                return f"{way}: four times the limit could be held ({report.output[:20]!r})"
    return None


def _cpu_finding(backend: Backend) -> str | None:
    budget = _BUDGET.model_copy(update={"cpu_seconds": 1})
    try:
        report = backend.probe(_SPIN, budget)
    except RunFailed as failure:
        return None if failure.code == "cpu_exceeded" else f"it ended as {failure.code}"
    return f"a loop without end ended by itself (exit code {report.exit_code})"
