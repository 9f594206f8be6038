"""One run from start to removal, the same for every backend: talk, watch the budgets, decide the outcome."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Final

from renderer.protocol import Budget, Done, Frame, Job, Refused
from sandbox.backend import Exit, ProbeReport, RunReport, Usage, Worker
from sandbox.errors import ProtocolBreach, RendererRefused, SandboxError
from sandbox.exchange import exchange
from sandbox.outcome import BUDGET_CODES, Ending, StoppedFor, failure_of
from sandbox.snapshot import Snapshot
from sandbox.stream import LogTail, MessageReader, outgoing

_GRACE_SECONDS: Final = 5.0
_MAX_PROBE_BYTES: Final = 1 << 20


class _Watch:
    """Keeps the counters of a live sandbox and kills it where a budget is exceeded."""

    def __init__(self, worker: Worker, budget: Budget, finished: Callable[[], bool]) -> None:
        self._worker = worker
        self._budget = budget
        self._finished = finished
        self._start = time.monotonic()
        self.stopped_for: StoppedFor | None = None
        self.cpu: float | None = None
        self.memory: int | None = None
        self.oom_kills: int | None = None

    @property
    def wall(self) -> float:
        return time.monotonic() - self._start

    def look(self) -> None:
        """Takes a sample; the highest ever seen counts, since a process that has ended counts no more."""
        sample = self._worker.sample()
        if sample.cpu_seconds is not None:
            self.cpu = max(self.cpu or 0.0, sample.cpu_seconds)
        if sample.memory_bytes is not None:
            self.memory = max(self.memory or 0, sample.memory_bytes)
        if sample.oom_kills is not None:
            self.oom_kills = max(self.oom_kills or 0, sample.oom_kills)

    def go_on(self) -> bool:
        if self._finished():
            return False
        self.look()
        if (self.memory or 0) > self._budget.memory_bytes:
            self.stopped_for = "memory"
        elif (self.cpu or 0) > self._budget.cpu_seconds:
            self.stopped_for = "cpu"
        elif self.wall > self._budget.wall_seconds:
            self.stopped_for = "wall"
        return self.stopped_for is None

    def end(self, complete: bool) -> Ending:
        """Waits a moment for an orderly end, kills what stays, and says how it ended."""
        exit_ = None if self.stopped_for else self._worker.wait(_GRACE_SECONDS)
        self.look()
        if exit_ is None:
            self._worker.kill()
            late = self._worker.wait(_GRACE_SECONDS) or Exit(None, None)
            # After its last message it has nothing left to do: being ended then takes nothing from the result.
            exit_ = Exit(0, None) if complete else late
            self.look()
        return Ending(
            complete, exit_.exit_code, exit_.signal, self.stopped_for, self.wall, self.cpu, self.memory, self.oom_kills
        )


def conduct(
    start: Callable[[], Worker],
    snapshot: Snapshot,
    job: Job,
    budget: Budget,
    on_frame: Callable[[Frame, bytes], None],
) -> RunReport:
    """Starts a worker, lets it draw the job and removes it. Raises :class:`SandboxError`, see ``outcome``."""
    log = LogTail()
    reader = MessageReader(on_frame, job)
    with _worker(start, log) as worker:
        watch = _Watch(worker, budget, lambda: reader.finished)
        channel = worker.channel(reader.feed, log.feed)
        exchange(channel, outgoing(snapshot, job), watch.go_on)
        ending = watch.end(reader.finished)
    return _report(reader, ending, budget, log)


def _report(reader: MessageReader, ending: Ending, budget: Budget, log: LogTail) -> RunReport:
    last, tail = reader.ending, log.text()
    if isinstance(last, Refused):
        # Whose fault it is, is the sandbox's claim too; a second try costs little and may tell another story.
        retry = last.fault == "infrastructure"
        raise RendererRefused(last.code, last.message, last.remedy, fault=last.fault, retry=retry, log_tail=tail)
    failure = failure_of(ending, budget)
    if failure is not None:
        failure.log_tail = tail
        raise failure
    # failure_of lets nothing pass that did not complete, and a reader takes no Done without a Hello.
    assert isinstance(last, Done) and reader.hello is not None
    usage = Usage(ending.wall_seconds, ending.cpu_seconds, ending.peak_memory_bytes, tail)
    return RunReport(reader.hello, reader.cameras, last.facts, usage)


def conduct_probe(start: Callable[[], Worker], budget: Budget, stdin: bytes) -> ProbeReport:
    """Runs a probe: its output is kept as it is, up to a MiB. Raises :class:`SandboxError` where a budget is hit."""
    log, output = LogTail(), bytearray()

    def keep(data: bytes) -> None:
        if len(output) + len(data) > _MAX_PROBE_BYTES:
            raise ProtocolBreach("protocol_output_flood", "The probe said too much.", "Say less.")
        output.extend(data)

    with _worker(start, log) as worker:
        watch = _Watch(worker, budget, lambda: False)
        channel = worker.channel(keep, log.feed)
        inspection = worker.inspect()
        exchange(channel, iter([stdin] if stdin else []), watch.go_on)
        ending = watch.end(False)
    failure = failure_of(ending, budget)
    if failure is not None and failure.code in BUDGET_CODES:
        failure.log_tail = log.text()
        raise failure
    return ProbeReport(bytes(output), ending.exit_code, ending.signal, log.text(), inspection)


@contextlib.contextmanager
def _worker(start: Callable[[], Worker], log: LogTail) -> Iterator[Worker]:
    worker = start()
    try:
        yield worker
    except SandboxError as error:
        error.log_tail = error.log_tail or log.text()
        raise
    finally:
        worker.close()
