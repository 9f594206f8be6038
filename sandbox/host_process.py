"""A sandbox that is a process tree of this machine: started, counted and ended through the kernel alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from sandbox.backend import Exit, Json, Sample
from sandbox.errors import BackendUnavailable
from sandbox.exchange import Channel

_POLL_SECONDS: Final = 0.01
_DEATH_SECONDS: Final = 5.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class HostProcess:
    """One started command and everything below it. ``clean_up`` runs once, after its end."""

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        folder: Path,
        *,
        pass_fds: Sequence[int] = (),
        clean_up: Callable[[], None],
        signals_as_codes: bool = False,
    ) -> None:
        self._clean_up: Callable[[], None] | None = clean_up
        self._signals_as_codes = signals_as_codes
        self._exit: Exit | None = None
        self._dying: set[int] = set()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                cwd=folder,
                pass_fds=pass_fds,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            self._finish()
            raise BackendUnavailable(
                "sandbox_not_started",
                f"{command[0]} cannot be started: {os.strerror(error.errno or 0)}.",
                "Install what set-up names.",
            ) from error

    def channel(self, out: Callable[[bytes], None], log: Callable[[bytes], None]) -> Channel:
        """Its three pipes."""
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        return Channel(
            process.stdin.fileno(), process.stdin.close, {process.stdout.fileno(): out, process.stderr.fileno(): log}
        )

    def sample(self) -> Sample:
        """CPU seconds of the whole tree, reaped children included, and its private and shared memory."""
        cpu, memory, seen = 0.0, 0, False
        for pid in _tree(self._process.pid):
            with contextlib.suppress(OSError, ValueError, IndexError):
                cpu += _cpu_seconds(pid)
                memory += _resident_bytes(pid)
                seen = True
        return Sample(cpu if seen else None, memory if seen else None, None)

    def wait(self, seconds: float) -> Exit | None:
        """How its first process ended; it is left as a zombie until :meth:`close`, so its pid stays its own."""
        deadline = time.monotonic() + seconds
        while self._exit is None:
            found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if found is not None:
                self._exit = self._read(found.si_code, found.si_status)
            elif time.monotonic() >= deadline:
                return None
            else:
                time.sleep(_POLL_SECONDS)
        return self._exit

    def _read(self, code: int, status: int) -> Exit:
        if code != os.CLD_EXITED:
            return Exit(None, status)
        if self._signals_as_codes and 128 < status <= 128 + signal.SIGRTMAX:
            return Exit(None, status - 128)
        return Exit(status, None)

    def kill(self) -> None:
        """Kills the tree from the top; a child that left the session is found by its parent."""
        tree = _tree(self._process.pid)
        # Kept, since they belong to another parent as soon as the first of them is dead.
        self._dying.update(tree[1:])
        for pid in tree:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def inspect(self) -> dict[str, Json]:
        """The command line that was started."""
        return {"command": [str(word) for word in self._process.args]}  # type: ignore[union-attr]

    def close(self) -> None:
        """Ends what is left, reaps it, and removes what belongs to it."""
        if self._clean_up is None:
            return
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()
        # The rest of a namespace dies with its first process, but a little later.
        deadline = time.monotonic() + _DEATH_SECONDS
        while any(_lives(pid) for pid in self._dying) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        self._finish()

    def _finish(self) -> None:
        clean_up, self._clean_up = self._clean_up, None
        if clean_up is not None:
            clean_up()


def _tree(top: int) -> list[int]:
    """``top`` and every process below it, parents first."""
    found = [top]
    for pid in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return _fields(pid)[0] not in (b"Z", b"X")
    return False


def _fields(pid: int) -> list[bytes]:
    """The fields of a process from its state on; its name in brackets may hold anything (proc(5))."""
    return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()


def _cpu_seconds(pid: int) -> float:
    return sum(int(field) for field in _fields(pid)[11:15]) / _TICKS


def _resident_bytes(pid: int) -> int:
    total = 0
    for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
        if line.startswith((b"RssAnon:", b"RssShmem:")):
            total += int(line.split()[1]) << 10
    return total
