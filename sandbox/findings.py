"""What a probe saw, and for each promise the pure decision whether that keeps it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from renderer.protocol import Budget
from sandbox.backend import Json
from sandbox.limits import MAX_PROCESSES, SCRATCH_BYTES, UID, limits_of
from sandbox.promises import Promise

_VARIABLES: Final = {"PATH", "HOME", "TMPDIR", "LANG"}
# The C library's own coercion of the locale may add this one in any process.
_HARMLESS_VARIABLES: Final = {"LC_CTYPE"}
_REFUSALS: Final = (errno.EPERM, errno.ENOSYS)
_NAMES: Final = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
_FEW_PROCESSES: Final = 8


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Scratch(_Part):
    """The working directory: where, what lay in it, its size and kind of file system."""

    folder: str
    listed: list[str]
    bytes: int
    kind: str


class Probed(_Part):
    """What the probe told; errno values where something was tried, 0 where it worked."""

    environment: dict[str, str]
    descriptors: list[int]
    scratch: Scratch
    limits: dict[str, tuple[int, int]]
    status: dict[str, str]
    calls: dict[str, int]
    families: dict[str, int]
    interfaces: list[str]
    writable: list[str]
    readable: list[str]
    devices: list[str]
    processes: list[int]
    namespaces: dict[str, str]
    children: int
    """How many processes could live at once; -1 where it was not tried."""


@dataclass(frozen=True)
class Seen:
    """Everything that a finding may look at."""

    probed: Probed
    inspection: dict[str, Json]
    budget: Budget


def _unless(kept: bool, words: str) -> str | None:
    return None if kept else words


def _environment(seen: Seen) -> str | None:
    extra = set(seen.probed.environment) - _VARIABLES - _HARMLESS_VARIABLES
    missing = _VARIABLES - set(seen.probed.environment)
    return _unless(not extra and not missing, f"there are {sorted(extra)}, and {sorted(missing)} are missing")


def _working_directory(seen: Seen) -> str | None:
    place, variables = seen.probed.scratch, seen.probed.environment
    if place.listed:
        return f"{place.listed[:5]} lie in it"
    own = os.path.realpath(place.folder) == place.folder == variables.get("HOME") == variables.get("TMPDIR")
    return _unless(own, f"{place.folder} is not HOME and TMPDIR")


def _limit(name: str, most: int) -> Callable[[Seen], str | None]:
    def check(seen: Seen) -> str | None:
        soft, hard = seen.probed.limits[name]
        return _unless(0 <= soft <= most and 0 <= hard <= most, f"the limit is {soft}, at most {hard}")

    return check


def _processes_limit(seen: Seen) -> str | None:
    return _unless(0 <= seen.probed.children <= MAX_PROCESSES, f"{seen.probed.children} processes could live at once")


def _capabilities(seen: Seen) -> str | None:
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    held = {name: seen.probed.status.get(name, "?") for name in names}
    return _unless(all(set(value) == {"0"} for value in held.values()), f"they are {held}")


def _user(seen: Seen) -> str | None:
    status = seen.probed.status
    users, groups = status.get("Uid", "").split(), status.get("Gid", "").split()
    # The same one four times (real, effective, saved, file system), and none that a machine gives to people.
    own = len({*users, *groups}) == 1 and users[0].isdecimal() and int(users[0]) >= UID
    own = own and set(status.get("Groups", "").split()) <= {str(UID)}
    return _unless(own, f"users {users}, groups {groups}, further groups {status.get('Groups')}")


def _calls(seen: Seen) -> str | None:
    if seen.probed.status.get("Seccomp") != "2":
        return "no filter is in force"
    passed = sorted(name for name, code in seen.probed.calls.items() if code not in _REFUSALS)
    return _unless(not passed, f"{passed} are not refused")


def _apart(*names: str) -> Callable[[Seen], str | None]:
    def check(seen: Seen) -> str | None:
        # With an engine on another machine the numbers differ anyway; there the inspection decides.
        shared = [
            name for name in names if seen.probed.namespaces.get(name) == str(Path(f"/proc/self/ns/{name}").readlink())
        ]
        return _unless(not shared, f"it shares the namespaces {shared}")

    return check


def _network(seen: Seen) -> str | None:
    opened = sorted(name for name, code in seen.probed.families.items() if code == 0)
    return _apart("net")(seen) or _unless(not opened, f"sockets of {opened} can be made")


def _root(seen: Seen) -> str | None:
    written = [folder for folder in seen.probed.writable if folder != seen.probed.scratch.folder]
    return _unless(not written, f"{written} can be written")


def _scratch(seen: Seen) -> str | None:
    place = seen.probed.scratch
    bounded = place.kind == "tmpfs" and 0 < place.bytes <= SCRATCH_BYTES
    return _unless(bounded, f"it is {place.kind or 'no mount of its own'} of {place.bytes} bytes")


def _devices(seen: Seen) -> str | None:
    others = [path for path in seen.probed.devices if Path(path).name not in _NAMES]
    return _unless(not others, f"there are {others[:10]}")


def _processes(seen: Seen) -> str | None:
    count = len(seen.probed.processes)
    return _apart("pid")(seen) or _unless(count <= _FEW_PROCESSES, f"{count} processes can be seen")


CHECKS: Final[dict[Promise, Callable[[Seen], str | None]]] = {
    Promise.SCRUBBED_ENVIRONMENT: _environment,
    Promise.EMPTY_WORKING_DIRECTORY: _working_directory,
    Promise.ONLY_THREE_DESCRIPTORS: lambda seen: _unless(
        seen.probed.descriptors == [0, 1, 2], f"{seen.probed.descriptors} are open"
    ),
    Promise.NO_CORE_DUMPS: _limit("CORE", 0),
    Promise.FILE_SIZE_LIMIT: _limit("FSIZE", SCRATCH_BYTES),
    Promise.OPEN_FILES_LIMIT: _limit("NOFILE", 4096),
    Promise.PROCESS_LIMIT: _processes_limit,
    Promise.NO_NEW_PRIVILEGES: lambda seen: _unless(
        seen.probed.status.get("NoNewPrivs") == "1", "the kernel's flag is not set"
    ),
    Promise.NO_CAPABILITIES: _capabilities,
    Promise.UNPRIVILEGED_USER: _user,
    Promise.SYSCALL_FILTER: _calls,
    Promise.NO_NETWORK: _network,
    Promise.READ_ONLY_ROOT: _root,
    Promise.NO_HOST_FILES: lambda seen: _unless(not seen.probed.readable, f"{seen.probed.readable} can be read"),
    Promise.BOUNDED_SCRATCH: _scratch,
    Promise.NO_DEVICES: _devices,
    Promise.PRIVATE_PROCESSES: _processes,
    Promise.PRIVATE_IPC: _apart("ipc"),
}
"""For every promise but the limits of CPU and memory, which only a sandbox of their own can show."""


def inspection_finding(promise: Promise, seen: Seen) -> str | None:
    """What the configuration of a live container says against a promise; nothing for the other backends."""
    host: Any = seen.inspection.get("HostConfig")
    if not isinstance(host, dict):
        return None
    wanted = _container_facts(host, seen).get(promise, {})
    wrong = {name: host.get(name) for name, value in wanted.items() if host.get(name) != value}
    return _unless(not wrong, f"the engine says {wrong}")


def _container_facts(host: dict[str, Any], seen: Seen) -> dict[Promise, dict[str, Any]]:
    memory = seen.budget.memory_bytes
    nothing = {name: host.get(name) or None for name in ("Binds", "VolumesFrom", "Mounts", "Devices")}
    ulimits = {entry["Name"]: entry["Hard"] for entry in host.get("Ulimits") or []}
    cpu = {} if ulimits.get("cpu") == limits_of(seen.budget).cpu_seconds + 1 else {"Ulimits": "a limit of CPU seconds"}
    mounted = any(nothing.values()) or bool(seen.inspection.get("Mounts"))
    return {
        Promise.NO_NETWORK: {"NetworkMode": "none", "PublishAllPorts": False},
        Promise.READ_ONLY_ROOT: {"ReadonlyRootfs": True},
        Promise.NO_CAPABILITIES: {"CapDrop": ["ALL"], "CapAdd": None, "Privileged": False},
        Promise.MEMORY_LIMIT: {"Memory": memory, "MemorySwap": memory},
        Promise.CPU_LIMIT: cpu,
        Promise.PROCESS_LIMIT: {"PidsLimit": MAX_PROCESSES},
        Promise.PRIVATE_IPC: {"IpcMode": "none"},
        Promise.PRIVATE_PROCESSES: {"PidMode": ""},
        Promise.NO_HOST_FILES: {"Mounts": "none at all"} if mounted else {},
    }
