"""Whole runs against stand-ins for the renderer: real processes that misbehave at every stage."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from renderer.protocol import Budget, Frame
from sandbox.backend import RunReport
from sandbox.conduct import conduct
from sandbox.errors import ProtocolBreach, RendererRefused, RunFailed, SandboxError
from tests.sandbox.samples import budget, cameras, good_stream, job, snapshot_of, stand_in

READ = "import os, signal, sys, time\ndata = sys.stdin.buffer.read()\n"
SAY = "def say(text):\n    os.write(1, bytes.fromhex(text))\n"
WHOLE = good_stream().hex()
REFUSAL = b'{"kind":"refused","code":"no_geometry","message":"Nothing.","remedy":"Add some.","fault":"candidate"}'


def run(script: str, folder: Path, limits: Budget | None = None, size: int = 10) -> tuple[RunReport, list[str]]:
    frames: list[str] = []
    limits = limits or budget()
    report = conduct(
        lambda: stand_in(script, limits),
        snapshot_of(folder, {"a.usda": bytes(size)}),
        job(),
        limits,
        lambda header, pixels: frames.append(f"{header.view_id}:{len(pixels)}"),
    )
    return report, frames


def failed(script: str, folder: Path, limits: Budget | None = None, size: int = 10) -> SandboxError:
    with pytest.raises(SandboxError) as caught:
        run(script, folder, limits, size)
    return caught.value


def test_good_run_is_reported(tmp_path: Path) -> None:
    script = f"{READ}{SAY}sys.stderr.write('noted')\nsys.stderr.flush()\nsay('{WHOLE}')\n"
    report, frames = run(script, tmp_path)
    assert frames == ["front.beauty:12"]
    assert report.cameras == cameras("front")
    assert report.usage.log_tail == "noted"
    assert 0 < report.usage.wall_seconds < 60


def test_both_directions_flow_at_once(tmp_path: Path) -> None:
    # It logs more than a pipe holds, and draws, before it reads: blocking pipes would make both sides wait.
    whole = good_stream(tuple(f"v{number}" for number in range(60)))
    script = (
        "import os, sys\n"
        "with open(2, 'wb', closefd=False) as log: log.write(b'x' * 300000)\n"
        f"whole = bytes.fromhex('{whole.hex()}')\n"
        "with open(1, 'wb', closefd=False) as out: out.write(whole[:-1])\n"
        "assert len(sys.stdin.buffer.read()) > 8000000\n"
        "os.write(1, whole[-1:])\n"
    )
    assert len(run(script, tmp_path, size=8_000_000)[1]) == 60


def test_orderly_refusal_keeps_its_words(tmp_path: Path) -> None:
    body = len(REFUSAL).to_bytes(4, "big") + REFUSAL
    error = failed(f"{READ}{SAY}say('{body.hex()}')", tmp_path)
    assert isinstance(error, RendererRefused)
    assert (error.code, error.message, error.fault) == ("no_geometry", "Nothing.", "candidate")


def test_refusal_before_reading_is_heard(tmp_path: Path) -> None:
    body = len(REFUSAL).to_bytes(4, "big") + REFUSAL
    assert (
        failed(f"import os\nos.write(1, bytes.fromhex('{body.hex()}'))", tmp_path, size=5_000_000).code == "no_geometry"
    )


STAGES = {
    "killed_before_reading": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "killed_after_reading": f"{READ}os.kill(os.getpid(), signal.SIGKILL)",
    "killed_after_hello": f"{READ}{SAY}say('{WHOLE}'[:400])\nos.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("name", STAGES)
def test_worker_killed_at_every_stage_is_infrastructure(name: str, tmp_path: Path) -> None:
    error = failed(STAGES[name], tmp_path, size=3_000_000)
    assert isinstance(error, RunFailed)
    assert (error.code, error.fault, error.retry) == ("killed", "infrastructure", True)


LARGE_FILE = """
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.truncate(os.open('f', os.O_CREAT | os.O_WRONLY), 1 << 40)
"""

ENDINGS = {
    "segfault": (f"{READ}os.kill(os.getpid(), signal.SIGSEGV)", "renderer_crashed"),
    "traceback": ("raise RuntimeError('out of ideas')", "renderer_failed"),
    "silent_end": (READ, "renderer_stopped"),
    "half_a_frame": (f"{READ}{SAY}say('{WHOLE}'[:-300])", "renderer_stopped"),
    "garbage": (f"{READ}os.write(1, b'GIF89a' * 100)", "protocol_bad_header"),
    "goes_on_after_the_end": (f"{READ}{SAY}say('{WHOLE}00')", "protocol_trailing_bytes"),
    "output_flood": (f"{READ}{SAY}\nwhile True: os.write(1, bytes(1 << 20))", "protocol_bad_header"),
    "log_flood": ("import os\nwhile True: os.write(2, b'x' * (1 << 16))", "protocol_log_flood"),
    "large_file": (f"{READ}{LARGE_FILE}", "disk_exceeded"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_bad_ending_is_the_candidates_fault(name: str, tmp_path: Path) -> None:
    script, code = ENDINGS[name]
    error = failed(script, tmp_path)
    assert (error.code, error.fault) == (code, "candidate")


def test_traceback_is_kept_in_the_log(tmp_path: Path) -> None:
    assert "out of ideas" in failed("raise RuntimeError('out of ideas\\x1b[0m')", tmp_path).log_tail


def test_endless_loop_ends_at_the_cpu_budget(tmp_path: Path) -> None:
    error = failed("while True: pass", tmp_path, budget(cpu_seconds=1))
    assert (error.code, error.fault) == ("cpu_exceeded", "candidate")


def test_many_processes_share_one_cpu_budget(tmp_path: Path) -> None:
    error = failed("import os\nfor _ in range(3): os.fork()\nwhile True: pass", tmp_path, budget(cpu_seconds=1))
    assert (error.code, error.fault) == ("cpu_exceeded", "candidate")


def test_memory_of_many_processes_is_counted_together(tmp_path: Path) -> None:
    script = "import os, time\nfor _ in range(2): os.fork()\nheld = bytearray(b'x') * (60 << 20)\ntime.sleep(50)"
    error = failed(script, tmp_path, budget(memory_bytes=128 << 20))
    assert (error.code, error.fault) == ("memory_exceeded", "candidate")


SLEEPERS = {
    "sleep_for_ever": f"{READ}time.sleep(1000)",
    "stdin_starvation": "import time\ntime.sleep(1000)",
    "ignored_sigterm": f"{READ}signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)",
}


@pytest.mark.parametrize("name", SLEEPERS)
def test_idle_worker_ends_at_the_wall_clock(name: str, tmp_path: Path) -> None:
    start = time.monotonic()
    error = failed(SLEEPERS[name], tmp_path, budget(wall_seconds=1), size=3_000_000)
    assert (error.code, error.fault, error.retry) == ("stalled", "infrastructure", True)
    assert time.monotonic() - start < 10


def test_worker_that_stays_after_its_last_message_takes_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.conduct._GRACE_SECONDS", 0.2)
    assert run(f"{READ}{SAY}say('{WHOLE}')\ntime.sleep(1000)", tmp_path)[1] == ["front.beauty:12"]


def test_children_die_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.conduct._GRACE_SECONDS", 0.2)
    note = tmp_path / "pid"
    script = f"""{READ}{SAY}
held, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    open({str(note)!r}, 'w').write(str(os.getpid()))
    os.write(told, b'x')
    time.sleep(1000)
os.read(held, 1)
say('{WHOLE}')
time.sleep(1000)
"""
    run(script, tmp_path / "asset")
    child = Path(f"/proc/{note.read_text()}/stat")
    # Nobody here can reap it; it is gone, or a zombie until the machine's first process does.
    assert not child.exists() or child.read_text().rpartition(")")[2].split()[0] == "Z"


def test_what_the_frame_handler_raises_comes_through_and_ends_the_worker(tmp_path: Path) -> None:
    started = []

    def start() -> object:
        started.append(stand_in(f"{READ}{SAY}say('{WHOLE}')\ntime.sleep(1000)", budget()))
        return started[0]

    def full(header: Frame, pixels: bytes) -> None:
        raise OSError(28, "no room")

    with pytest.raises(OSError, match="no room"):
        conduct(start, snapshot_of(tmp_path, {"a.usda": b"x"}), job(), budget(), full)  # type: ignore[arg-type]
    assert not Path(f"/proc/{started[0]._process.pid}").exists()


def test_many_runs_leave_nothing(tmp_path: Path) -> None:
    script = f"{READ}{SAY}say('{WHOLE}')"
    run(script, tmp_path)
    descriptors, threads = len(list(Path("/proc/self/fd").iterdir())), threading.active_count()
    for number in range(20):
        if number % 2:
            run(script, tmp_path)
        else:
            assert isinstance(failed(f"{READ}os.write(1, b'GIF89a')\ntime.sleep(1000)", tmp_path), ProtocolBreach)
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert threading.active_count() == threads
