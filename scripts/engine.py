"""Runs a command with a Docker engine: the one that answers, or a private one that is stopped again.

    python3 scripts/engine.py COMMAND...

The private engine has its own socket, data and process id below a temporary folder, no bridge and no
firewall rules; it ends with the command. Needs root. Standard library only.
"""

from __future__ import annotations

import contextlib
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

sys.path.insert(0, str(Path(__file__).resolve().parent))

from host import Missing, apt_install, end, say

_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
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
    for address in (os.environ.get("DOCKER_HOST"), "unix:///var/run/docker.sock"):
        if address and answers(address):
            yield address
            return
    if os.geteuid() != 0:
        raise Missing(
            "No Docker engine answers, and starting a private one needs root.",
            "Start Docker, or set DOCKER_HOST to an engine that answers.",
        )
    if shutil.which("dockerd", path=_PATH) is None or shutil.which("iptables", path=_PATH) is None:
        apt_install(["docker.io", "iptables", "tini"], "A Docker engine")
        if answers("unix:///var/run/docker.sock"):
            yield "unix:///var/run/docker.sock"
            return
    folder = Path(tempfile.mkdtemp(prefix="render-judge-engine-"))
    try:
        with _private(folder) as address:
            yield address
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _private(folder: Path) -> Iterator[str]:
    address = f"unix://{folder}/docker.sock"
    daemon = shutil.which("dockerd", path=_PATH)
    if daemon is None:
        raise Missing("The Docker engine is not installed.", "Install docker.io.")
    command = [daemon, "--iptables=false", "--bridge=none", "--host", address]
    command += ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
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


def main(command: list[str]) -> int:
    """Runs the command; its exit code."""
    if not command:
        print("usage: engine.py COMMAND...", file=sys.stderr)
        return 2
    try:
        with engine() as address:
            process = subprocess.Popen(command, env={**os.environ, "DOCKER_HOST": address})
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda received, _frame: process.send_signal(received))
            return process.wait()
    except Missing as error:
        return end(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
