"""The Docker backend: one hardened container a run, on a real engine, from an image that the lock names.

The image is started by its ID, which is a hash of its content, and only if the trusted lock holds it. No
host path is mounted; the submission comes as a stream. The command runs behind ``env -i``, since an engine
adds variables of its own. Every container carries a label with its owner and a date after which anybody may
remove it; whatever a killed run left behind is removed when the backend is opened the next time.

With ``device="gpu"`` the engine is asked for every GPU with graphics, and the filter is wider. No machine with a GPU
has tried that.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import docker
from docker.types import DeviceRequest, HostConfig, LogConfig, Ulimit

from renderer.protocol import Budget, Device, Frame, Job
from sandbox.backend import Json, ProbeReport, RunReport
from sandbox.conduct import conduct, conduct_probe
from sandbox.docker_worker import Container, engine_errors, remove_container
from sandbox.errors import BackendUnavailable, RuntimeMissing
from sandbox.limits import MAX_PROCESSES, SCRATCH_BYTES, UID, Limits, limits_of
from sandbox.process import only_these, renderer_arguments
from sandbox.promises import Promise
from sandbox.runtime import read_images
from sandbox.seccomp import engine_profile
from sandbox.snapshot import Snapshot

SOURCES: Final = "/opt/render-judge"
SITE: Final = "/opt/storm"
WORK: Final = "/tmp"  # noqa: S108 - the container's own tmpfs
PYTHON: Final = "/usr/bin/python3"
LABEL: Final = "org.render-judge.sandbox"
LABEL_OWNER: Final = "org.render-judge.owner"
LABEL_UNTIL: Final = "org.render-judge.until"
_MARGIN_SECONDS: Final = 600
_TIMEOUT_SECONDS: Final = 30


class DockerBackend:
    """Runs the renderer in a container."""

    def __init__(
        self, image: str | None = None, device: Device = "cpu", runtime: str | None = None, lock: Path | None = None
    ) -> None:
        """Connects to the engine of DOCKER_HOST and reaps what earlier runs left behind.

        ``image`` is an ID of the lock; the one built last where it is None. ``runtime`` names another
        runtime of the engine, such as runsc. Raises :class:`BackendUnavailable` where the engine or the image
        is missing and :class:`RuntimeMissing` where the lock is, or does not hold the image.
        """
        images = read_images(lock)
        if not images or (image is not None and image not in images):
            raise RuntimeMissing(
                "image_not_locked", "The lock does not hold that image.", "Build it with `make image`."
            )
        self.image: Final = next(reversed(images)) if image is None else image
        self.code_sha256: Final = images[self.image]
        """What was hashed in the image when it was built, by the trusted lock."""
        self._device: Device = device
        self._runtime = runtime
        with contextlib.closing(_connect("auto")) as api:
            self._version = str(api.api_version)
            with engine_errors("to look for the image"):
                found = api.inspect_image(self.image)  # type: ignore[no-untyped-call]
            if found["Id"] != self.image:
                raise BackendUnavailable(
                    "image_missing", "The engine has another image by that name.", "Build it again."
                )
            reap(api)

    @property
    def name(self) -> str:
        return "docker"

    @property
    def promises(self) -> frozenset[Promise]:
        """All of them; with a GPU its devices are there, and the kernel's driver is shared."""
        return frozenset(Promise) - ({Promise.NO_DEVICES} if self._device == "gpu" else frozenset())

    def describe(self) -> dict[str, Json]:
        return {
            "backend": self.name,
            "safe": True,
            "image": self.image,
            "runtime": self._runtime or "default",
            "scratch_bytes": SCRATCH_BYTES,
            "promises": [*sorted(self.promises)],
        }

    def run(self, snapshot: Snapshot, job: Job, budget: Budget, on_frame: Callable[[Frame, bytes], None]) -> RunReport:
        command = renderer_arguments(PYTHON, SOURCES, SITE, f"{SOURCES}/profiles")
        return conduct(lambda: self._start(command, budget), snapshot, job, budget, on_frame)

    def probe(self, source: str, budget: Budget, stdin: bytes = b"") -> ProbeReport:
        command = [PYTHON, "-I", "-B", "-c", source]
        return conduct_probe(lambda: self._start(command, budget), budget, stdin)

    def _start(self, command: list[str], budget: Budget) -> Container:
        # A connection of its own for each run: it ends with it, and threads share nothing.
        return Container(_connect(self._version), self._options(command, budget))

    def _options(self, command: list[str], budget: Budget) -> dict[str, Any]:
        variables = {"PATH": "/usr/bin:/bin", "HOME": WORK, "TMPDIR": WORK, "LANG": "C.UTF-8"}
        return {
            "image": self.image,
            "entrypoint": only_these(variables),
            "command": command,
            "user": f"{UID}:{UID}",
            "working_dir": WORK,
            "hostname": "sandbox",
            "stdin_open": True,
            "tty": False,
            "detach": False,
            "network_disabled": True,
            "use_config_proxy": False,
            "labels": {LABEL: "1", LABEL_OWNER: _owner(os.getpid()), LABEL_UNTIL: _until(budget)},
            "host_config": self._host_config(limits_of(budget), budget.memory_bytes),
        }

    def _host_config(self, limits: Limits, memory_bytes: int) -> HostConfig:
        gpu = [DeviceRequest(count=-1, capabilities=[["gpu", "graphics"]])] if self._device == "gpu" else None
        return HostConfig(
            version=self._version,
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true", f"seccomp={json.dumps(engine_profile(self._device))}"],
            # Memory without swap: the same limit for both together.
            mem_limit=memory_bytes,
            memswap_limit=memory_bytes,
            pids_limit=MAX_PROCESSES,
            ulimits=_ulimits(limits),
            tmpfs={WORK: f"rw,noexec,nosuid,nodev,mode=1777,size={SCRATCH_BYTES}"},
            ipc_mode="none",
            cgroupns="private",
            init=True,
            # The output is not for a log file of the engine's on the host's disk.
            log_config=LogConfig(type="none"),
            oom_score_adj=500,
            runtime=self._runtime,
            device_requests=gpu,
        )


def _connect(version: str) -> docker.APIClient:
    with engine_errors("to connect"):
        return docker.APIClient(
            base_url=os.environ.get("DOCKER_HOST") or None, version=version, timeout=_TIMEOUT_SECONDS
        )


def _ulimits(limits: Limits) -> list[Ulimit]:
    hard = {
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "core": 0,
    }
    cpu = Ulimit(name="cpu", soft=limits.cpu_seconds, hard=limits.cpu_seconds + 1)
    return [cpu, *(Ulimit(name=name, soft=value, hard=value) for name, value in hard.items())]


def _until(budget: Budget) -> str:
    return str(int(time.time()) + budget.wall_seconds + _MARGIN_SECONDS)


def _owner(pid: int) -> str:
    """A process for good: boot, pid namespace, pid and start time; empty where there is no such process."""
    with contextlib.suppress(OSError, IndexError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = Path("/proc/self/ns/pid").stat().st_ino
        started = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
        return f"{boot}/{space}/{pid}/{started}"
    return ""


def _left_behind(labels: dict[str, str]) -> bool:
    until, owner = labels.get(LABEL_UNTIL, "0"), labels.get(LABEL_OWNER, "")
    if not until.isdecimal() or int(until) < time.time():
        return True
    here = _owner(os.getpid()).split("/")
    boot, space, pid, _ = (owner.split("/") + [""] * 4)[:4]
    # Of a process elsewhere nothing is known; its containers go by their date.
    return [boot, space] == here[:2] and pid.isdecimal() and _owner(int(pid)) != owner


def reap(api: docker.APIClient) -> int:
    """Removes what dead or overdue runs left behind and says how many. Raises :class:`BackendUnavailable`."""
    with engine_errors("to list containers"):
        found = api.containers(all=True, filters={"label": LABEL})
    gone = [container["Id"] for container in found if _left_behind(container.get("Labels") or {})]
    for identity in gone:
        remove_container(api, identity)
    return len(gone)
