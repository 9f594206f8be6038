"""The filter of system calls: the BPF program is run here by a small interpreter of its own."""

from __future__ import annotations

import errno
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox import seccomp
from sandbox.errors import BackendUnavailable

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
X86_64 = 0xC000003E
FORBIDDEN = {
    "ptrace": 101, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "init_module": 175,
    "chroot": 161, "pivot_root": 155, "acct": 163, "add_key": 248, "request_key": 249, "keyctl": 250,
    "unshare": 272, "vmsplice": 278, "splice": 275, "perf_event_open": 298, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kexec_load": 246, "finit_module": 313, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
    "io_uring_enter": 426, "fsopen": 430, "move_mount": 429, "open_tree": 428, "pidfd_getfd": 438,
    "mount_setattr": 442, "shmget": 29, "msgget": 68, "semget": 64, "bind": 49, "listen": 50, "accept": 43,
    "personality": 135, "syslog": 103, "mknod": 133,
}  # fmt: skip


def verdict(number: int, argument: int = 0, arch: int = X86_64) -> int:
    """What the kernel would answer: classic BPF over struct seccomp_data."""
    data = struct.pack("<iIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    steps = list(struct.iter_unpack("<HBBI", seccomp.bpf_program()))
    at, value = 0, 0
    while True:
        code, if_true, if_false, operand = steps[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return int(operand)
        else:
            true = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
            at += if_true if true else if_false


@pytest.mark.parametrize("name", FORBIDDEN)
def test_dangerous_call_is_refused(name: str) -> None:
    assert verdict(FORBIDDEN[name]) == EPERM
    assert name not in seccomp.allowed_calls()


def test_listed_calls_pass() -> None:
    calls = seccomp.allowed_calls()
    assert {name for name, number in calls.items() if verdict(number) != ALLOW} == set()
    assert {"read": 0, "write": 1, "execve": 59, "futex": 202}.items() <= calls.items()


@given(st.integers(0, 0x3FFFFFFF))
def test_everything_else_is_refused(number: int) -> None:
    if number not in {*seccomp.allowed_calls().values(), 41, 56, 435}:
        assert verdict(number) == EPERM


@given(st.integers(0x40000000, 0x7FFFFFFF))
def test_other_door_to_the_same_calls_kills(number: int) -> None:
    assert verdict(number) == KILL


def test_other_architecture_kills() -> None:
    assert verdict(0, arch=0x40000003) == KILL


@pytest.mark.parametrize(
    ("flags", "expected"),
    [(0x003D0F00, ALLOW), (17, ALLOW), (0x20000 | 17, EPERM), *((1 << bit | 17, EPERM) for bit in range(25, 31))],
)
def test_clone_makes_threads_but_no_namespaces(flags: int, expected: int) -> None:
    assert verdict(56, flags) == expected
    assert verdict(435, flags) == ENOSYS


@pytest.mark.parametrize(
    ("family", "expected"), [(1, ALLOW), (2, EPERM), (10, EPERM), (16, EPERM), (38, EPERM), (40, EPERM)]
)
def test_only_local_sockets_can_be_made(family: int, expected: int) -> None:
    assert verdict(41, family) == expected


def test_program_fits_the_kernel() -> None:
    assert len(seccomp.bpf_program()) // 8 <= 4096


def test_engine_profile_says_the_same() -> None:
    profile = json.loads(json.dumps(seccomp.engine_profile()))
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = [name for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]]
    assert set(allowed) == {*seccomp.allowed_calls(), "clone", "socket"}
    assert all(rule.get("args") for rule in profile["syscalls"] if rule["names"] in (["clone"], ["socket"]))


def test_other_machines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    with pytest.raises(BackendUnavailable) as caught:
        seccomp.bpf_program()
    assert caught.value.code == "syscall_filter_missing"
