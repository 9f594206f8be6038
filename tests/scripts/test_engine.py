"""The engine that a command gets: the one that answers, or a reason why there is none."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import engine
from scripts.host import CHECKOUT, Missing

TABLE = """\
/dev/vda / ext4 rw 0 0
overlay /data/overlay2/a/merged overlay rw 0 0
shm /data/my\\040box/shm tmpfs rw 0 0
tmpfs /database tmpfs rw 0 0
nsfs /data/exec/netns/default nsfs rw 0 0
"""


@contextlib.contextmanager
def listening(folder: Path, reply: bytes) -> Iterator[str]:
    """Something that answers every connection with the same bytes."""
    path = folder / "docker.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(4096)
                        connection.sendall(reply)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"unix://{path}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.parametrize(
    ("reply", "alive"), [(b"HTTP/1.0 200 OK\r\n\r\nOK", True), (b"HTTP/1.0 500 No\r\n\r\n", False), (b"", False)]
)
def test_only_an_engine_that_says_so_is_one(reply: bytes, alive: bool, tmp_path: Path) -> None:
    with listening(tmp_path, reply) as address:
        assert engine.answers(address) is alive


def test_no_socket_is_no_engine(tmp_path: Path) -> None:
    assert not engine.answers(f"unix://{tmp_path}/docker.sock")
    assert engine.answers("tcp://elsewhere:2376")


def test_command_gets_the_engine_and_keeps_its_exit_code(tmp_path: Path) -> None:
    with listening(tmp_path, b"HTTP/1.0 200 OK\r\n\r\nOK") as address:
        done = subprocess.run(
            [sys.executable, CHECKOUT / "scripts/engine.py", "sh", "-c", "echo $DOCKER_HOST; exit 7"],
            env={**os.environ, "DOCKER_HOST": address},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (7, f"{address}\n")


def test_command_is_ended_with_its_engine(tmp_path: Path) -> None:
    with listening(tmp_path, b"HTTP/1.0 200 OK\r\n\r\nOK") as address:
        process = subprocess.Popen(
            [
                sys.executable,
                CHECKOUT / "scripts/engine.py",
                "sh",
                "-c",
                "trap 'kill $!; exit 9' TERM; sleep 60 & echo up; wait",
            ],
            env={**os.environ, "DOCKER_HOST": address},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 9
        process.stdout.close()


def test_user_who_may_not_start_one_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine, "answers", lambda address: False)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    assert engine.main(["true"]) == 4
    assert "DOCKER_HOST" in capsys.readouterr().err


def test_call_without_a_command_cannot_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert engine.main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_mounts_inside_a_folder_are_found_and_none_beside_it(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    table.write_text(TABLE)
    wanted = ["/data/overlay2/a/merged", "/data/my box/shm", "/data/exec/netns/default"]
    assert engine.mounts_below(Path("/data"), table) == wanted


def test_two_engines_never_share_their_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENDER_JUDGE_RUNTIME", str(tmp_path / "runtime"))
    with engine._data_folder(tmp_path / "a") as (first, _), engine._data_folder(tmp_path / "b") as (second, _):
        assert (first, second) == (tmp_path / "runtime/engine", tmp_path / "b/data")
    with engine._data_folder(tmp_path / "c") as (third, _):
        assert third == first


def test_engine_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "setpriv").write_text("#!/bin/sh\necho no such kernel >&2\nexit 1\n")
    (tmp_path / "setpriv").chmod(0o755)
    monkeypatch.setattr(engine, "_PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    lock = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    try:
        with pytest.raises(Missing, match="no such kernel"), engine._private(tmp_path, tmp_path / "data", lock):
            pass
    finally:
        os.close(lock)
