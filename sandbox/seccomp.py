"""The filter of system calls, once as a BPF program (bubblewrap) and once as an engine's JSON profile.

Both come from the one list in ``system_calls.txt`` and refuse everything that it does not name. Some
calls depend on their arguments: ``clone`` may make threads and processes but no namespaces, ``clone3``
says that it does not exist (its flags lie in memory, where no filter can look; libraries fall back to
``clone``), and ``mmap`` makes private mappings only: pages of a shared one stay when no process maps them
any more, so nobody can count them. There are no sockets at all. With a GPU mappings may be shared, and
``socket`` and ``socketpair`` make local ones, hence no AF_INET, AF_VSOCK, AF_ALG, AF_NETLINK.

Sources: seccomp(2), mmap(2), the kernel's ``linux/filter.h``, ``linux/seccomp.h`` and ``linux/audit.h``.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct
from pathlib import Path
from typing import Final

from renderer.protocol import Device
from sandbox.errors import BackendUnavailable

LIST: Final = Path(__file__).with_name("system_calls.txt")

_MMAP, _SOCKET, _SOCKETPAIR, _CLONE, _CLONE3 = 9, 41, 53, 56, 435
_NAMESPACE_FLAGS: Final = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET; NEWTIME is for clone3 and unshare alone."""
_NOT_PRIVATE: Final = 0x0D
"""What MAP_TYPE holds beside MAP_PRIVATE: MAP_SHARED, MAP_SHARED_VALIDATE, MAP_DROPPABLE and what may come."""

# struct seccomp_data: int nr; u32 arch; u64 instruction_pointer; u64 args[6] (little-endian halves).
_NUMBER, _ARCH, _FIRST_ARGUMENT, _FOURTH_ARGUMENT = 0, 4, 16, 40
_ARCH_X86_64: Final = 0xC000003E
_X32_BIT: Final = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000


def allowed_calls(device: Device = "cpu") -> dict[str, int]:
    """Names and x86-64 numbers of the calls that are allowed whatever their arguments."""
    lines = (line.split() for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    calls = {line[0]: int(line[1]) for line in lines if device == "gpu" or line[2:] != ["gpu"]}
    return {**calls, "mmap": _MMAP} if device == "gpu" else calls


def _refuse(code: int) -> int:
    return 0x00050000 | code


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _unless_any(number: int, argument: int, bits: int) -> list[bytes]:
    """Allows a call unless its argument (at that offset, low half) has any of the bits."""
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, argument),
        _step(_ANY_BIT, bits, 1, 0),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _refuse(errno.EPERM)),
    ]


def _local_only(number: int) -> list[bytes]:
    return [
        _step(_EQUAL, number, 0, 4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_EQUAL, socket.AF_UNIX, 0, 1),
        _step(_RETURN, _ALLOW),
        _step(_RETURN, _refuse(errno.EPERM)),
    ]


def bpf_program(device: Device = "cpu") -> bytes:
    """The filter as an array of ``struct sock_filter``. Raises :class:`BackendUnavailable` off x86-64."""
    if platform.machine() != "x86_64":
        raise BackendUnavailable(
            "syscall_filter_missing",
            f"There is no system call filter for {platform.machine()}.",
            "Use the docker backend, or an x86-64 machine.",
        )
    steps = [
        _step(_LOAD, _ARCH),
        _step(_EQUAL, _ARCH_X86_64, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        # The x32 interface is another door to the same calls.
        _step(_AT_LEAST, _X32_BIT, 0, 1),
        _step(_RETURN, _KILL),
    ]
    for number in sorted(allowed_calls(device).values()):
        steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _ALLOW)]
    steps += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _refuse(errno.ENOSYS))]
    steps += _unless_any(_CLONE, _FIRST_ARGUMENT, _NAMESPACE_FLAGS)
    if device == "gpu":
        steps += _local_only(_SOCKET) + _local_only(_SOCKETPAIR)
    else:
        steps += _unless_any(_MMAP, _FOURTH_ARGUMENT, _NOT_PRIVATE)
    steps.append(_step(_RETURN, _refuse(errno.EPERM)))
    return b"".join(steps)


def engine_profile(device: Device = "cpu") -> dict[str, object]:
    """The filter as a container engine's seccomp profile (the JSON that ``--security-opt seccomp=`` takes)."""

    def allow(names: list[str], **condition: object) -> dict[str, object]:
        return {"names": names, "action": "SCMP_ACT_ALLOW", **({"args": [condition]} if condition else {})}

    def none_of(index: int, bits: int) -> dict[str, object]:
        return {"index": index, "value": bits, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}

    if device == "gpu":
        rule = allow(["socket", "socketpair"], index=0, value=int(socket.AF_UNIX), op="SCMP_CMP_EQ")
    else:
        rule = allow(["mmap"], **none_of(3, _NOT_PRIVATE))
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "archMap": [{"architecture": "SCMP_ARCH_X86_64"}, {"architecture": "SCMP_ARCH_AARCH64"}],
        "syscalls": [
            allow(sorted(allowed_calls(device))),
            allow(["clone"], **none_of(0, _NAMESPACE_FLAGS)),
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
            rule,
        ],
    }
