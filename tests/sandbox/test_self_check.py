"""The kit that asserts the promises: each finding can fail, and each host backend keeps what it says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox import open_backend, self_check
from sandbox.backend import Backend, ProbeReport
from sandbox.errors import BackendUnavailable, PromiseBroken, RunFailed, SandboxError
from sandbox.findings import CHECKS, Probed, Seen, inspection_finding
from sandbox.promises import SENTENCES, Promise
from sandbox.self_check import CheckReport, Finding
from tests.backends import host_backends
from tests.sandbox.samples import budget


def kept() -> dict[str, Any]:
    """What a probe tells from a sandbox that keeps everything."""
    return {
        "environment": {"PATH": "/bin", "HOME": "/proc", "TMPDIR": "/proc", "LANG": "C.UTF-8"},
        "descriptors": [0, 1, 2],
        "scratch": {"folder": "/proc", "listed": [], "bytes": 1 << 30, "kind": "tmpfs"},
        "limits": {"FSIZE": (1 << 30, 1 << 30), "NOFILE": (1024, 1024), "CORE": (0, 0)},
        "status": {
            **dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), "0" * 16),
            "NoNewPrivs": "1",
            "Seccomp": "2",
            "Uid": "65534\t65534\t65534\t65534",
            "Gid": "65534\t65534\t65534\t65534",
            "Groups": "",
        },
        "calls": {"mount": 1, "clone3": 38},
        "families": {"inet": 1},
        "interfaces": [],
        "writable": [],
        "readable": [],
        "devices": ["/dev/null", "/dev/zero"],
        "processes": [1, 2],
        "namespaces": {"ipc": "ipc:[1]", "net": "net:[1]", "pid": "pid:[1]"},
        "children": 200,
    }


def seen(facts: dict[str, Any], inspection: dict[str, Any] | None = None) -> Seen:
    return Seen(Probed.model_validate(facts), inspection or {}, budget())


def set_in(*path: str) -> Callable[[Any], Callable[[dict[str, Any]], None]]:
    def of(value: Any) -> Callable[[dict[str, Any]], None]:
        def change(facts: dict[str, Any]) -> None:
            for name in path[:-1]:
                facts = facts[name]
            facts[path[-1]] = value

        return change

    return of


def ours(name: str) -> str:
    return str(Path(f"/proc/self/ns/{name}").readlink())


BROKEN: list[tuple[Promise, Callable[[dict[str, Any]], None]]] = [
    (Promise.SCRUBBED_ENVIRONMENT, set_in("environment", "PXR_PLUGINPATH_NAME")("/evil")),
    (Promise.SCRUBBED_ENVIRONMENT, set_in("environment", "LD_PRELOAD")("/evil.so")),
    (Promise.SCRUBBED_ENVIRONMENT, set_in("environment")({"PATH": "/bin"})),
    (Promise.EMPTY_WORKING_DIRECTORY, set_in("scratch", "listed")(["plugInfo.json"])),
    (Promise.EMPTY_WORKING_DIRECTORY, set_in("scratch", "folder")("/elsewhere")),
    (Promise.ONLY_THREE_DESCRIPTORS, set_in("descriptors")([0, 1, 2, 7])),
    (Promise.NO_CORE_DUMPS, set_in("limits", "CORE")((0, -1))),
    (Promise.FILE_SIZE_LIMIT, set_in("limits", "FSIZE")((-1, -1))),
    (Promise.OPEN_FILES_LIMIT, set_in("limits", "NOFILE")((1024, 1 << 20))),
    (Promise.PROCESS_LIMIT, set_in("children")(2000)),
    (Promise.PROCESS_LIMIT, set_in("children")(-1)),
    (Promise.NO_NEW_PRIVILEGES, set_in("status", "NoNewPrivs")("0")),
    (Promise.NO_CAPABILITIES, set_in("status", "CapBnd")("00000000000000c0")),
    (Promise.UNPRIVILEGED_USER, set_in("status", "Uid")("0\t0\t0\t0")),
    (Promise.UNPRIVILEGED_USER, set_in("status", "Uid")("65534\t0\t65534\t65534")),
    (Promise.UNPRIVILEGED_USER, set_in("status", "Groups")("0 65534")),
    (Promise.UNPRIVILEGED_USER, set_in("status", "Gid")("1000\t1000\t1000\t1000")),
    (Promise.UNPRIVILEGED_USER, set_in("status")({**kept()["status"], "Uid": "", "Gid": ""})),
    (Promise.SYSCALL_FILTER, set_in("status", "Seccomp")("0")),
    (Promise.SYSCALL_FILTER, set_in("calls", "io_uring_setup")(14)),
    (Promise.SYSCALL_FILTER, set_in("calls", "keyctl")(0)),
    (Promise.NO_NETWORK, set_in("families", "vsock")(0)),
    (Promise.NO_NETWORK, set_in("namespaces", "net")(ours("net"))),
    (Promise.READ_ONLY_ROOT, set_in("writable")(["/etc"])),
    (Promise.NO_HOST_FILES, set_in("readable")(["/home/somebody"])),
    (Promise.BOUNDED_SCRATCH, set_in("scratch", "bytes")(1 << 40)),
    (Promise.BOUNDED_SCRATCH, set_in("scratch", "kind")("overlay")),
    (Promise.NO_DEVICES, set_in("devices")(["/dev/null", "/dev/sda"])),
    (Promise.PRIVATE_PROCESSES, set_in("processes")(list(range(50)))),
    (Promise.PRIVATE_PROCESSES, set_in("namespaces", "pid")(ours("pid"))),
    (Promise.PRIVATE_IPC, set_in("namespaces", "ipc")(ours("ipc"))),
]


@pytest.mark.parametrize("promise", CHECKS)
def test_kept_promise_is_found_kept(promise: Promise) -> None:
    assert CHECKS[promise](seen(kept())) is None


@pytest.mark.parametrize(("promise", "breaking"), BROKEN)
def test_broken_promise_is_found_and_no_other(promise: Promise, breaking: Callable[[dict[str, Any]], None]) -> None:
    facts = kept()
    breaking(facts)
    broken = {each for each, check in CHECKS.items() if check(seen(facts)) is not None}
    assert promise in broken
    assert broken <= {promise, Promise.EMPTY_WORKING_DIRECTORY}


def test_every_promise_has_a_check_and_a_sentence() -> None:
    assert set(CHECKS) | {Promise.CPU_LIMIT, Promise.MEMORY_LIMIT} == set(Promise) == set(SENTENCES)
    assert {promise for promise, _ in BROKEN} == set(CHECKS)


HOST_CONFIG: dict[str, Any] = {
    "NetworkMode": "none",
    "PublishAllPorts": False,
    "ReadonlyRootfs": True,
    "CapDrop": ["ALL"],
    "CapAdd": None,
    "Privileged": False,
    "Memory": 1 << 30,
    "MemorySwap": 1 << 30,
    "PidsLimit": 1024,
    "IpcMode": "none",
    "PidMode": "",
    "Ulimits": [{"Name": "cpu", "Hard": 61, "Soft": 60}],
}


@pytest.mark.parametrize(
    ("promise", "change"),
    [
        (Promise.NO_NETWORK, {"NetworkMode": "host"}),
        (Promise.READ_ONLY_ROOT, {"ReadonlyRootfs": False}),
        (Promise.NO_CAPABILITIES, {"Privileged": True}),
        (Promise.NO_CAPABILITIES, {"CapAdd": ["SYS_ADMIN"]}),
        (Promise.MEMORY_LIMIT, {"MemorySwap": -1}),
        (Promise.CPU_LIMIT, {"Ulimits": []}),
        (Promise.PROCESS_LIMIT, {"PidsLimit": None}),
        (Promise.PRIVATE_IPC, {"IpcMode": "host"}),
        (Promise.PRIVATE_PROCESSES, {"PidMode": "host"}),
        (Promise.NO_HOST_FILES, {"Binds": ["/:/host"]}),
        (Promise.NO_HOST_FILES, {"Mounts": [{"Type": "volume"}]}),
    ],
)
def test_container_configured_otherwise_is_found(promise: Promise, change: dict[str, Any]) -> None:
    assert inspection_finding(promise, seen(kept(), {"HostConfig": HOST_CONFIG})) is None
    assert inspection_finding(promise, seen(kept(), {"HostConfig": {**HOST_CONFIG, **change}})) is not None


def test_report_that_is_not_whole_cannot_be_required() -> None:
    report = CheckReport("process", (Finding(Promise.NO_NETWORK, "there is one"), Finding(Promise.CPU_LIMIT, None)))
    assert not report.ok
    with pytest.raises(PromiseBroken, match="no_network: there is one") as caught:
        report.require()
    assert caught.value.fault == "infrastructure"
    CheckReport("process", (Finding(Promise.CPU_LIMIT, None),)).require()


class Liar:
    """A backend that says it limits, and does not."""

    name = "liar"
    promises = frozenset({Promise.CPU_LIMIT, Promise.MEMORY_LIMIT, Promise.NO_NETWORK})

    def __init__(self, output: bytes, lets: str = "") -> None:
        self.output = output
        self.lets = lets

    def describe(self) -> dict[str, Any]:
        return {}

    def run(self, *_: object) -> Any:
        raise RunFailed("killed", "No.", "No.")

    def probe(self, source: str, limits: object, stdin: bytes = b"") -> ProbeReport:
        if stdin:
            return ProbeReport(self.output, 0, None, "", {})
        held = self.lets in source
        return ProbeReport(b"held\n" if held else b"refused\n", 0, None, "", {})


@pytest.mark.parametrize("lets", ["bytearray", "MADV_DONTNEED", "memfd_create", "open('held'"])
def test_backend_without_limits_is_found(lets: str) -> None:
    report = self_check(Liar(json.dumps(kept()).encode(), lets))
    assert {finding.promise for finding in report.broken} == {Promise.CPU_LIMIT, Promise.MEMORY_LIMIT}


@pytest.mark.parametrize("lets", ["", "nothing"])
def test_memory_finding_rests_on_what_the_probe_says(lets: str) -> None:
    broken = {finding.promise for finding in self_check(Liar(json.dumps(kept()).encode(), lets)).broken}
    assert (Promise.MEMORY_LIMIT in broken) == (lets == "")


@pytest.mark.parametrize("output", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_probe_that_did_not_run_is_an_error(output: bytes) -> None:
    with pytest.raises(SandboxError) as caught:
        self_check(Liar(output))
    assert (caught.value.code, caught.value.fault) == ("probe_failed", "infrastructure")


@pytest.mark.storm
@pytest.mark.parametrize("name", host_backends())
def test_backend_keeps_its_promises(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PXR_PLUGINPATH_NAME", "LD_LIBRARY_PATH", "PYTHONPATH", "SECRET_KEY"):
        monkeypatch.setenv(variable, "/nowhere")
    leaked = os.open("/etc/hostname", os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        backend: Backend = open_backend(name)  # type: ignore[arg-type]
        report = self_check(backend)
    finally:
        os.close(leaked)
    assert {finding.promise: finding.broken for finding in report.findings} == dict.fromkeys(backend.promises)


def test_only_the_process_backend_calls_itself_unsafe(caplog: pytest.LogCaptureFixture) -> None:
    if "process" in host_backends():
        assert open_backend("process").describe()["safe"] is False
        assert "UNSAFE" in caplog.text
    else:
        with pytest.raises(BackendUnavailable):
            open_backend("process")
    bubblewrap = open_backend("bubblewrap")
    assert bubblewrap.describe()["safe"] is True
    assert bubblewrap.promises == set(Promise)
    assert bubblewrap.describe() == open_backend("bubblewrap").describe()
