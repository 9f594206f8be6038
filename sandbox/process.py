"""The plain process backend. It limits and cleans, but it does **not** isolate: UNSAFE for foreign submissions.

It serves fixtures, tests and machines on which the submission is the operator's own. The renderer can
read every file that its user can, and it has the network. Its memory is counted and limited as far as its
processes show it, which is no promise: nothing here keeps it from holding memory that no process maps.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from renderer.protocol import Budget, Frame, Job
from sandbox.backend import Json, ProbeReport, RunReport
from sandbox.conduct import conduct, conduct_probe
from sandbox.errors import BackendUnavailable, StagingError
from sandbox.host_process import HostProcess
from sandbox.limits import limits_of
from sandbox.promises import Promise
from sandbox.runtime import Runtime, source_folder
from sandbox.snapshot import Snapshot

_LOG: Final = logging.getLogger(__name__)
PROGRAM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_PROMISES: Final = frozenset(
    {
        Promise.SCRUBBED_ENVIRONMENT,
        Promise.EMPTY_WORKING_DIRECTORY,
        Promise.ONLY_THREE_DESCRIPTORS,
        Promise.NO_CORE_DUMPS,
        Promise.CPU_LIMIT,
        Promise.FILE_SIZE_LIMIT,
        Promise.OPEN_FILES_LIMIT,
    }
)


def renderer_arguments(python: str, sources: str, site: str, profiles: str) -> list[str]:
    """The one command line that starts the renderer, whatever the backend."""
    return [python, "-I", "-B", f"{sources}/renderer/__main__.py", "--site", site, "--profiles", profiles]


def only_these(variables: dict[str, str]) -> list[str]:
    """The words that start another command with exactly these variables, whatever was there before."""
    return ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items())]


def find_program(name: str, remedy: str) -> str:
    """The path of a program of the trusted side. Raises :class:`BackendUnavailable`."""
    # Not the caller's PATH: the actor may have had a hand in that.
    found = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/bin")
    if found is None:
        raise BackendUnavailable("program_missing", f"The program {name} is not installed.", remedy)
    return found


class UnsafeProcessBackend:
    """Runs the renderer as a plain process of this machine."""

    def __init__(self, runtime: Runtime, profiles: Path | None = None) -> None:
        """Raises :class:`BackendUnavailable` where this machine has no Python 3.13 with Mesa of its own."""
        if runtime.interpreter is None:
            raise BackendUnavailable(
                "interpreter_missing",
                "The process backend needs a Python 3.13 on this machine.",
                "Install one and run set-up again, or use the bubblewrap or docker backend.",
            )
        self._python = str(runtime.interpreter)
        self._site = str(runtime.site)
        self._sources = source_folder()
        self._profiles = str((profiles or self._sources / "profiles").absolute())
        self._prlimit = find_program("prlimit", "Install util-linux.")
        _LOG.warning("The process backend isolates nothing: UNSAFE for submissions that are not your own.")

    @property
    def name(self) -> str:
        return "process"

    @property
    def promises(self) -> frozenset[Promise]:
        return _PROMISES

    def describe(self) -> dict[str, Json]:
        return {"backend": self.name, "safe": False, "promises": [*sorted(self.promises)]}

    def run(self, snapshot: Snapshot, job: Job, budget: Budget, on_frame: Callable[[Frame, bytes], None]) -> RunReport:
        command = renderer_arguments(self._python, str(self._sources), self._site, self._profiles)
        return conduct(lambda: self._start(command, budget), snapshot, job, budget, on_frame)

    def probe(self, source: str, budget: Budget, stdin: bytes = b"") -> ProbeReport:
        command = [self._python, "-I", "-B", "-c", source]
        return conduct_probe(lambda: self._start(command, budget), budget, stdin)

    def _start(self, command: list[str], budget: Budget) -> HostProcess:
        folder = new_folder()
        environment = {"PATH": PROGRAM_PATH, "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
        limited = limits_of(budget).command(self._prlimit) + command
        return HostProcess(limited, environment, folder, clean_up=lambda: shutil.rmtree(folder, ignore_errors=True))


def new_folder() -> Path:
    """A new private folder among this machine's temporary files. Raises :class:`StagingError`."""
    try:
        return Path(tempfile.mkdtemp(prefix="render-judge-"))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise StagingError(
            "disk_full", f"No temporary folder can be made: {reason}.", "Make room.", retry=True
        ) from error
