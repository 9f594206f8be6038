"""The bubblewrap backend: namespaces, an own root, a filter of system calls; no daemon and no image.

Its root is the Debian 13 file system that set-up made, where there is one; else the read-only system
folders of this machine (``/usr`` and what links into it) and the interpreter's own folder. Nothing else
of the machine is there: no home, no data, a minimal ``/etc``. Everything writable is one tmpfs of
limited size. Started by root, each run has a numeric user of its own that nobody else is, so that parallel runs
share no limit and cannot signal each other; started by anybody else, it is user 65534 of a user namespace
of its own.

With ``device="gpu"`` the nodes of the GPU are bound and the filter is wider. No machine with a GPU has tried that.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from renderer.protocol import Budget, Device, Frame, Job
from sandbox.backend import Json, ProbeReport, RunReport
from sandbox.conduct import conduct, conduct_probe
from sandbox.errors import BackendUnavailable
from sandbox.host_process import HostProcess, Scratch
from sandbox.limits import SCRATCH_BYTES, UID, limits_of
from sandbox.process import find_program, only_these, renderer_arguments
from sandbox.promises import Promise
from sandbox.runtime import Runtime, source_folder
from sandbox.seccomp import bpf_program
from sandbox.snapshot import Snapshot

SOURCES: Final = "/opt/render-judge"
SITE: Final = "/opt/storm"
WORK: Final = "/run/work"
_SYSTEM_FOLDERS: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32")
_ETC: Final = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/glvnd")
_FIRST_RUN_USER: Final = 0x70000000
"""Above every range that systemd assigns, below 2**31 (systemd, UIDS-GIDS)."""
_RUNS: Final = itertools.count()
_GPU_NODES: Final = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/dri")
_NOT_WITH_GPU: Final = frozenset({Promise.NO_DEVICES, Promise.MEMORY_LIMIT})
_PROGRAM_PATH: Final = "/usr/bin:/bin"


@dataclass(frozen=True)
class _Root:
    """The arguments that lay out the file system, and the Python in it."""

    binds: list[str]
    python: str
    own: bool
    """Whether it is a root of set-up's making and not this machine's."""


class BubblewrapBackend:
    """Runs the renderer in namespaces of its own."""

    def __init__(self, runtime: Runtime, profiles: Path | None = None, device: Device = "cpu") -> None:
        """Raises :class:`BackendUnavailable` where bubblewrap or what it needs is missing."""
        self._bwrap = find_program("bwrap", "Install bubblewrap.")
        self._root = _own_root(runtime.root) if runtime.root is not None else _system_root(runtime)
        sources = source_folder()
        self._mounts = [
            *("--ro-bind", str(runtime.site), SITE),
            *("--ro-bind", str(sources / "renderer"), f"{SOURCES}/renderer"),
            *("--ro-bind", str((profiles or sources / "profiles").absolute()), f"{SOURCES}/profiles"),
        ]
        self._device: Device = device
        self._nodes = _gpu_nodes() if device == "gpu" else []
        self._filter = bpf_program(device)

    @property
    def name(self) -> str:
        return "bubblewrap"

    @property
    def promises(self) -> frozenset[Promise]:
        """All of them; with a GPU its devices are there, and memory may be held where no count finds it."""
        return frozenset(Promise) - (_NOT_WITH_GPU if self._device == "gpu" else frozenset())

    def describe(self) -> dict[str, Json]:
        return {
            "backend": self.name,
            "safe": True,
            "root": "own" if self._root.own else "system",
            "scratch_bytes": SCRATCH_BYTES,
            "promises": [*sorted(self.promises)],
        }

    def run(self, snapshot: Snapshot, job: Job, budget: Budget, on_frame: Callable[[Frame, bytes], None]) -> RunReport:
        command = renderer_arguments(self._root.python, SOURCES, SITE, f"{SOURCES}/profiles")
        return conduct(lambda: self._start(command, budget), snapshot, job, budget, on_frame)

    def probe(self, source: str, budget: Budget, stdin: bytes = b"") -> ProbeReport:
        command = [self._root.python, "-I", "-B", "-c", source]
        return conduct_probe(lambda: self._start(command, budget), budget, stdin)

    def _start(self, command: list[str], budget: Budget) -> HostProcess:
        filter_fd = os.memfd_create("filter", os.MFD_CLOEXEC)
        try:
            os.write(filter_fd, self._filter)
            os.lseek(filter_fd, 0, os.SEEK_SET)
            return HostProcess(
                self._confined(filter_fd, budget) + command,
                {"PATH": _PROGRAM_PATH},
                Path("/"),
                pass_fds=(filter_fd,),
                clean_up=lambda: None,
                signals_as_codes=True,
                scratch=Scratch(WORK, SCRATCH_BYTES),
            )
        finally:
            os.close(filter_fd)

    def _confined(self, filter_fd: int, budget: Budget) -> list[str]:
        as_root = os.geteuid() == 0
        words = [
            self._bwrap,
            "--unshare-ipc",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]
        words += ["--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
        if as_root:
            for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
                words += ["--cap-add", capability]
        else:
            words += ["--unshare-user", "--uid", str(UID), "--gid", str(UID)]
        # Made first and open to read: folders that a bind makes on its way are closed to all but their owner.
        for folder in ("/opt", SOURCES, "/etc", "/run"):
            words += ["--perms", "0755", "--dir", folder]
        words += [*self._root.binds, "--proc", "/proc", "--dev", "/dev", *self._nodes, *self._mounts]
        # The user inside owns nothing, so its one writable place is open to all: it is alone in there.
        words += ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", WORK]
        words += ["--remount-ro", "/dev", "--remount-ro", "/"]
        words += ["--chdir", WORK, "--hostname", "sandbox", "--seccomp", str(filter_fd), "--"]
        variables = {"PATH": _PROGRAM_PATH, "HOME": WORK, "TMPDIR": WORK, "LANG": "C.UTF-8"}
        return words + limits_of(budget).command("/usr/bin/prlimit") + _dropped(as_root) + only_these(variables)


def _run_user() -> int:
    """A numeric user for one run, unlike that of any run beside it; nobody where this machine has no such numbers."""
    user = _FIRST_RUN_USER + (os.getpid() << 6) + next(_RUNS) % 64
    maps = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
    known = any(int(inside) <= user < int(inside) + int(count) for inside, _, count in maps)
    return user if known else UID


def _dropped(as_root: bool) -> list[str]:
    """The words that give up what is left: after them no set of capabilities holds anything."""
    own = _run_user()
    user = [f"--reuid={own}", f"--regid={own}", "--clear-groups"] if as_root else []
    bounding = ["--bounding-set=-all"] if as_root else []
    return ["/usr/bin/setpriv", *user, *bounding, "--inh-caps=-all", "--no-new-privs", "--"]


def _own_root(root: Path) -> _Root:
    binds = []
    for name in ("usr", "etc"):
        binds += ["--ro-bind", str(root / name), f"/{name}"]
    for name in ("bin", "sbin", "lib", "lib64"):
        binds += ["--symlink", f"usr/{name}", f"/{name}"]
    return _Root(binds, "/usr/bin/python3", True)


def _system_root(runtime: Runtime) -> _Root:
    if runtime.interpreter is None:
        raise BackendUnavailable(
            "interpreter_missing", "There is neither an own root nor a Python 3.13.", "Run set-up again."
        )
    binds = []
    for folder in map(Path, _SYSTEM_FOLDERS):
        if folder.is_symlink():
            binds += ["--symlink", str(folder.readlink()).removeprefix("/"), str(folder)]
        elif folder.is_dir():
            binds += ["--ro-bind", str(folder), str(folder)]
    # /usr/local is the operator's own and no part of what a renderer needs.
    binds += ["--tmpfs", "/usr/local"]
    for path in _ETC:
        binds += ["--ro-bind-try", path, path]
    python = runtime.interpreter.resolve()
    if python.is_relative_to("/usr") and not python.is_relative_to("/usr/local"):
        return _Root(binds, str(python), False)
    # At its own path: an interpreter finds its shared library by the path that it was built for.
    prefix = python.parent.parent
    for folder in reversed(prefix.parents[:-1]):
        binds += ["--perms", "0755", "--dir", str(folder)]
    return _Root([*binds, "--ro-bind", str(prefix), str(prefix)], str(python), False)


def _gpu_nodes() -> list[str]:
    found = [node for node in _GPU_NODES if Path(node).exists()]
    if not found:
        raise BackendUnavailable("gpu_missing", "This machine shows no GPU device.", "Use the CPU.")
    return [word for node in found for word in ("--dev-bind", node, node)] + ["--ro-bind", "/sys", "/sys"]
