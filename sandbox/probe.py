"""Runs inside a live sandbox in the renderer's place, tries every way out, and tells what happened as JSON.

Read as text by ``self_check`` and handed to the sandbox's own Python (3.13, isolated); standard library
only. Its stdin is a JSON list of host paths that it must not be able to read.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import stat
import sys

_CALLS = {
    # name: (x86-64 number, arguments that a kernel without the filter takes or answers otherwise)
    "ptrace": (101, (0, 0, 0, 0)),
    "mount": (165, (0, 0, 0, 0, 0)),
    "keyctl": (250, (0, -3, 0)),
    "unshare": (272, (0,)),
    "setns": (308, (-1, 0)),
    "process_vm_readv": (310, (0, 0, 0, 0, 0, 0)),
    "bpf": (321, (0, 0, 0)),
    "userfaultfd": (323, (1,)),
    "io_uring_setup": (425, (1, 0)),
    "clone3": (435, (0, 0)),
    "shmget": (29, (0, 4096, 0o1600)),
    "msgget": (68, (0, 0o1600)),
}
_FAMILIES = {"inet": 2, "inet6": 10, "netlink": 16, "packet": 17, "alg": 38, "vsock": 40}
_LIMITS = ("CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "CORE")
_WRITE_HERE = ("/", "/usr", "/etc", "/opt", "/opt/storm", "/opt/render-judge", "/dev", "/run", "/var", "/proc", "/sys")
_MAX_CHILDREN = 2000


def _calls() -> dict[str, int]:
    libc = ctypes.CDLL(None, use_errno=True)
    found = {}
    for name, (number, arguments) in _CALLS.items():
        ctypes.set_errno(0)
        result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
        found[name] = ctypes.get_errno() if result == -1 else 0
    return found


def _families() -> dict[str, int]:
    found = {}
    for name, family in _FAMILIES.items():
        try:
            socket.socket(family, socket.SOCK_RAW if name in ("netlink", "packet") else socket.SOCK_STREAM).close()
            found[name] = 0
        except OSError as error:
            found[name] = error.errno or -1
            # The other call that makes sockets. A family without pairs has made one of its own by then and says so.
            if _pair(family) not in (errno.EPERM, errno.ENOSYS):
                found[name] = 0
    return found


def _pair(family: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    libc.socketpair(family, socket.SOCK_STREAM, 0, (ctypes.c_int * 2)())
    return ctypes.get_errno()


def _writable() -> list[str]:
    found = []
    for folder in _WRITE_HERE:
        path = os.path.join(folder, ".probe")  # noqa: PTH118
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            os.unlink(path)  # noqa: PTH108
            found.append(folder)
        except OSError:
            pass
    return found


def _readable(paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        try:
            os.close(os.open(path, os.O_RDONLY))
            found.append(path)
        except OSError:
            pass
    return found


def _devices() -> list[str]:
    found = []
    for place, _, names in os.walk("/dev"):
        for name in names:
            path = os.path.join(place, name)  # noqa: PTH118
            try:
                mode = os.stat(path, follow_symlinks=False).st_mode  # noqa: PTH116
            except OSError:
                continue
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                found.append(path)
    return sorted(found)


def _descriptors() -> list[int]:
    found = []
    for descriptor in range(256):
        try:
            os.fstat(descriptor)
            found.append(descriptor)
        except OSError:
            pass
    return found


def _scratch() -> dict[str, object]:
    here = os.getcwd()  # noqa: PTH109
    listed = os.listdir(here)  # noqa: PTH208
    with open("written", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    os.unlink("written")  # noqa: PTH108
    room = os.statvfs(here)
    kinds = {line.split()[1]: line.split()[2] for line in open("/proc/self/mounts", encoding="utf-8")}  # noqa: PTH123, SIM115
    return {"folder": here, "listed": listed, "bytes": room.f_blocks * room.f_frsize, "kind": kinds.get(here, "")}


def _status() -> dict[str, str]:
    with open("/proc/self/status", encoding="utf-8") as file:  # noqa: PTH123
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def _children() -> int:
    """How many processes can live at once; each ends as soon as it has been counted."""
    held, release = os.pipe()
    pids: list[int] = []
    try:
        while len(pids) < _MAX_CHILDREN:
            pid = os.fork()
            if pid == 0:
                os.close(release)
                os.read(held, 1)
                os._exit(0)
            pids.append(pid)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.ENOMEM):
            raise
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return len(pids)


def main() -> None:
    paths = json.load(sys.stdin)
    descriptors = _descriptors()
    namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("ipc", "mnt", "net", "pid", "uts")}  # noqa: PTH115
    facts = {
        "environment": dict(os.environ),
        "descriptors": descriptors,
        "scratch": _scratch(),
        "limits": {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in _LIMITS},
        "status": _status(),
        "calls": _calls(),
        "families": _families(),
        "interfaces": [name for _, name in socket.if_nameindex()] if _families()["netlink"] == 0 else [],
        "writable": _writable(),
        "readable": _readable(paths),
        "devices": _devices(),
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),  # noqa: PTH208
        "namespaces": namespaces,
        "children": _children() if os.getpid() < 100 else -1,
    }
    sys.stdout.write(json.dumps(facts))


if __name__ == "__main__":
    main()
