"""The filter of system calls: the BPF program is run here by a small interpreter of its own."""

from __future__ import annotations

import errno
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.protocol import Device
from sandbox import seccomp
from sandbox.errors import BackendUnavailable

ALLOW, KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
X86_64 = 0xC000003E
DEVICES: tuple[Device, ...] = ("cpu", "gpu")
FORBIDDEN = {
    "ptrace": 101, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "init_module": 175,
    "chroot": 161, "pivot_root": 155, "acct": 163, "add_key": 248, "request_key": 249, "keyctl": 250,
    "unshare": 272, "vmsplice": 278, "splice": 275, "perf_event_open": 298, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311,
    "kexec_load": 246, "finit_module": 313, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
    "io_uring_enter": 426, "fsopen": 430, "move_mount": 429, "open_tree": 428, "pidfd_getfd": 438,
    "mount_setattr": 442, "shmget": 29, "msgget": 68, "semget": 64, "bind": 49, "listen": 50, "accept": 43,
    "personality": 135, "syslog": 103, "mknod": 133, "sync": 162,
}  # fmt: skip


def verdict(number: int, first: int = 0, fourth: int = 0, *, arch: int = X86_64, device: Device = "cpu") -> int:
    """What the kernel would answer: classic BPF over struct seccomp_data."""
    data = struct.pack("<iIQ6Q", number, arch, 0, first, 0, 0, fourth, 0, 0)
    steps = list(struct.iter_unpack("<HBBI", seccomp.bpf_program(device)))
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


# What only a GPU's driver may need.
WITH_GPU = {
    "connect": 42, "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47, "shutdown": 48, "getsockname": 51,
    "getpeername": 52, "setsockopt": 54, "getsockopt": 55, "memfd_create": 319,
}  # fmt: skip


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FORBIDDEN)
def test_dangerous_call_is_refused(name: str, device: Device) -> None:
    assert verdict(FORBIDDEN[name], device=device) == EPERM
    assert name not in seccomp.allowed_calls(device)


@pytest.mark.parametrize("name", WITH_GPU)
def test_what_hides_memory_or_talks_is_for_a_gpu_alone(name: str) -> None:
    assert verdict(WITH_GPU[name]) == EPERM
    assert verdict(WITH_GPU[name], device="gpu") == ALLOW


@pytest.mark.parametrize("device", DEVICES)
def test_listed_calls_pass(device: Device) -> None:
    calls = seccomp.allowed_calls(device)
    assert {name for name, number in calls.items() if verdict(number, device=device) != ALLOW} == set()
    assert {"read": 0, "write": 1, "execve": 59, "futex": 202}.items() <= calls.items()


@given(st.integers(0, 0x3FFFFFFF), st.sampled_from(DEVICES))
def test_everything_else_is_refused(number: int, device: Device) -> None:
    if number not in {*seccomp.allowed_calls(device).values(), 9, 41, 53, 56, 435}:
        assert verdict(number, device=device) == EPERM


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


@pytest.mark.parametrize("number", [41, 53])
@pytest.mark.parametrize(
    ("family", "with_gpu"), [(1, ALLOW), (2, EPERM), (10, EPERM), (16, EPERM), (30, EPERM), (38, EPERM), (40, EPERM)]
)
def test_no_socket_can_be_made_and_with_a_gpu_local_ones_only(number: int, family: int, with_gpu: int) -> None:
    # A pair too: the kernel makes a socket of any family before it says that the family has no pairs.
    assert verdict(number, family) == EPERM
    assert verdict(number, family, device="gpu") == with_gpu


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (0x02, ALLOW),
        (0x22, ALLOW),
        (0x20022, ALLOW),
        (0x01, EPERM),
        (0x21, EPERM),
        (0x03, EPERM),
        (0x23, EPERM),
        (0x28, EPERM),
    ],
)
def test_mappings_are_private_without_a_gpu(flags: int, expected: int) -> None:
    assert verdict(9, 0, flags) == expected
    assert verdict(9, 0, flags, device="gpu") == ALLOW


@pytest.mark.parametrize("device", DEVICES)
def test_program_fits_the_kernel(device: Device) -> None:
    assert len(seccomp.bpf_program(device)) // 8 <= 4096


@pytest.mark.parametrize("device", DEVICES)
def test_engine_profile_says_the_same(device: Device) -> None:
    profile = json.loads(json.dumps(seccomp.engine_profile(device)))
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowing = [rule for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW"]
    always = {name for rule in allowing if "args" not in rule for name in rule["names"]}
    sometimes = {name: rule["args"] for rule in allowing if "args" in rule for name in rule["names"]}
    assert always == set(seccomp.allowed_calls(device))
    masked = {"valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    local = [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]
    by_device = {"gpu": {"socket": local, "socketpair": local}, "cpu": {"mmap": [{"index": 3, "value": 13, **masked}]}}
    assert sometimes == {"clone": [{"index": 0, "value": 0x7E020000, **masked}], **by_device[device]}


def test_other_machines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(BackendUnavailable) as caught:
        seccomp.bpf_program()
    assert caught.value.code == "syscall_filter_missing"
