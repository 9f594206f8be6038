"""A sandbox that is a process tree of this machine: started, counted and ended through the kernel alone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.backend import Exit, Json, Sample
from sandbox.errors import BackendUnavailable
from sandbox.exchange import Channel

_POLL_SECONDS: Final = 0.01
_DEATH_SECONDS: Final = 5.0
_INODE_BYTES: Final = 1 << 10
"""About what the kernel keeps for a name and a file in memory, however empty the file is."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Scratch:
    """A file system in memory inside the sandbox: where it is there, and how large it was made in bytes."""

    folder: str
    size: int


class HostProcess:
    """One started command and everything below it. ``clean_up`` runs once, after its end.

    With ``scratch`` what lies in there counts as memory too, as it does in a control group.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        folder: Path,
        *,
        pass_fds: Sequence[int] = (),
        clean_up: Callable[[], None],
        signals_as_codes: bool = False,
        scratch: Scratch | None = None,
    ) -> None:
        self._clean_up: Callable[[], None] | None = clean_up
        self._signals_as_codes = signals_as_codes
        self._scratch = scratch
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
        """CPU seconds of the whole tree, reaped children included, and the memory that it takes."""
        cpu, memory, seen = 0.0, 0, False
        tree = _tree(self._process.pid)
        for pid in tree:
            with contextlib.suppress(OSError, ValueError, IndexError):
                cpu += _cpu_seconds(pid)
                memory += _memory_bytes(pid)
                seen = True
        if self._scratch is not None:
            # The first process stays outside; what is below it sees the sandbox's own file system.
            memory += next((found for pid in tree[1:] if (found := _scratch_bytes(pid, self._scratch))), 0)
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


def _memory_bytes(pid: int) -> int:
    """What a process takes: its pages in memory and in swap, and the tables that the kernel keeps for them."""
    total = 0
    for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
        if line.startswith((b"RssAnon:", b"RssShmem:", b"VmPTE:", b"VmSwap:")):
            total += int(line.split()[1]) << 10
    return total


def _scratch_bytes(pid: int, scratch: Scratch) -> int:
    """What lies in the scratch of a process's sandbox; 0 while there is none of that size."""
    with contextlib.suppress(OSError):
        found = os.statvfs(f"/proc/{pid}/root{scratch.folder}")
        # Before a sandbox is laid out, its first process still sees the file systems of this machine.
        if found.f_blocks * found.f_frsize == scratch.size:
            return (found.f_blocks - found.f_bfree) * found.f_frsize + (found.f_files - found.f_ffree) * _INODE_BYTES
    return 0
