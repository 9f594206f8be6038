"""Runs a command with a Docker engine: the one that answers, or a private one that is stopped again.

    python3 scripts/engine.py COMMAND...

The private engine has its own socket and process id below a temporary folder, no bridge and no firewall
rules; it ends with the command. Its data stays in the runtime folder, so that the next one finds the base
and the image there. Needs root. Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.host import Missing, apt_install, end, runtime_folder, say

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
_PROGRAMS = ("dockerd", "iptables")
_USUAL = "unix:///var/run/docker.sock"
_SECONDS = 60


def answers(address: str) -> bool:
    """Does an engine answer at this address?"""
    if not address.startswith("unix://"):
        return bool(address)  # somebody configured a remote engine; the client says if it is down
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        try:
            connection.connect(address.removeprefix("unix://"))
            connection.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b"200 OK" in connection.recv(4096)
        except OSError:
            return False


@contextlib.contextmanager
def engine() -> Iterator[str]:
    """Address of an engine that answers. Raises :class:`Missing` where none can be had."""
    for address in (os.environ.get("DOCKER_HOST"), _USUAL):
        if address and answers(address):
            yield address
            return
    if os.geteuid() != 0:
        raise Missing(
            "No Docker engine answers, and starting a private one needs root.",
            "Start Docker, or set DOCKER_HOST to an engine that answers.",
        )
    if any(shutil.which(name, path=_PATH) is None for name in _PROGRAMS):
        apt_install(["docker.io", "iptables", "tini"], "A Docker engine")
        if answers(_USUAL):
            yield _USUAL
            return
    folder = Path(tempfile.mkdtemp(prefix="render-judge-engine-"))
    try:
        with _data_folder(folder) as (data, kept), _private(folder, data, kept) as address:
            yield address
    finally:
        if _unmount_below(folder):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _data_folder(folder: Path) -> Iterator[tuple[Path, int]]:
    """The runtime's own folder for images, and the lock on it; a throw-away one while another engine uses that."""
    runtime = runtime_folder()
    runtime.mkdir(parents=True, exist_ok=True)
    with (runtime / "engine.lock").open("wb") as lock:
        data = runtime / "engine"
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            data = folder / "data"
        yield data, lock.fileno()


@contextlib.contextmanager
def _private(folder: Path, data: Path, lock: int) -> Iterator[str]:
    address = f"unix://{folder}/docker.sock"
    # The kernel ends the engine should this process be killed, and the lock lasts as long as the engine.
    command = ["setpriv", "--pdeathsig", "TERM", "--", "dockerd", "--iptables=false", "--bridge=none"]
    command += ["--host", address, "--data-root", str(data)]
    command += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(lock,),
            env={**os.environ, "PATH": _PATH},
        )
        try:
            deadline = time.monotonic() + _SECONDS
            while not answers(address):
                if process.poll() is not None or time.monotonic() > deadline:
                    tail = " ".join((folder / "log").read_text("utf-8", "replace").split())[-600:]
                    raise Missing(f"The Docker engine does not start here: {tail}", "Use a machine that can run one.")
                time.sleep(0.2)
            say("a private Docker engine runs")
            yield address
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _unmount_below(data)


def _unmount_below(folder: Path) -> bool:
    """Takes down what a killed engine left mounted; nothing may delete through a mount. True when all is down."""
    for point in reversed(mounts_below(folder)):
        subprocess.run(["umount", "--", point], capture_output=True, check=False)
    return not mounts_below(folder)


def mounts_below(folder: Path, table: Path = Path("/proc/self/mounts")) -> list[str]:
    """Mount points inside a folder, in the order in which they were mounted."""
    points = [line.split()[1] for line in table.read_text("utf-8", "surrogateescape").splitlines()]
    plain = [point.replace("\\040", " ") for point in points]
    return [point for point in plain if Path(point).is_relative_to(folder)]


def main(command: list[str]) -> int:
    """Runs the command; its exit code."""
    if not command:
        print("usage: engine.py COMMAND...", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _stop)
    try:
        with engine() as address:
            waiting: list[int] = []
            # From here on the signal is the command's; one that comes before it has started waits for it.
            signal.signal(signal.SIGTERM, lambda number, _frame: waiting.append(number))
            process = subprocess.Popen(command, env={**os.environ, "DOCKER_HOST": address})
            signal.signal(signal.SIGTERM, lambda number, _frame: process.send_signal(number))
            for number in waiting:
                process.send_signal(number)
            # A terminal sends this one to the command as well, whose end is waited for.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return process.wait()
    except Missing as error:
        return end(error)


def _stop(number: int, _frame: object) -> None:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
