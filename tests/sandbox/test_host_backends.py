"""The two backends of this machine, with the real renderer and with programs that try to get out."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from renderer.profile import load_profile
from sandbox import BackendUnavailable, RunFailed, RuntimeMissing, open_backend, take_snapshot
from sandbox.backend import Backend, RunReport
from sandbox.errors import RendererRefused
from sandbox.host_process import Scratch, _scratch_bytes
from sandbox.process import find_program
from sandbox.runtime import Runtime
from tests.backends import host_backends
from tests.sandbox.samples import CUBE, budget, job

PROFILES = Path(__file__).parent.parent / "profiles"


def draw(backend: Backend, folder: Path, asset: bytes = CUBE) -> tuple[RunReport, dict[str, str]]:
    """Draws one file under the small test profile; the frames come back as hashes."""
    loaded = load_profile(PROFILES, "tiny-v1")
    source = folder / "a.usda"
    source.write_bytes(asset)
    snapshot = take_snapshot(source, folder / f"staging-{backend.name}")
    frames: dict[str, str] = {}
    report = backend.run(
        snapshot,
        job(profile_sha256=loaded.sha256),
        loaded.profile.budget,
        lambda frame, pixels: frames.update({frame.view_id: hashlib.sha256(pixels).hexdigest()}),
    )
    return report, frames


def ask(backend: Backend, source: str) -> str:
    report = backend.probe(source, budget())
    assert report.exit_code == 0, report.log_tail
    return report.output.decode()


@pytest.fixture
def bubblewrap() -> Backend:
    return open_backend("bubblewrap", profiles=PROFILES)


@pytest.mark.storm
def test_backends_draw_the_same_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The caller's own settings would break Storm, if they reached it.
    monkeypatch.setenv("PXR_PLUGINPATH_NAME", str(tmp_path))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    monkeypatch.setenv("HDST_ENABLE_MATERIALX", "0")
    drawn = {name: draw(open_backend(name, profiles=PROFILES), tmp_path) for name in host_backends()}
    assert all(len(frames) == 4 for _, frames in drawn.values())
    # An own root brings another driver, whose pixels are compared where classes of machines are.
    if open_backend("bubblewrap").describe()["root"] == "system" and "process" in drawn:
        assert drawn["process"][1] == drawn["bubblewrap"][1]
    for report, _ in drawn.values():
        assert report.cameras is not None
        assert report.facts.prims == 2
        assert report.usage.cpu_seconds is not None
        assert report.usage.cpu_seconds > 0.1
        assert report.usage.peak_memory_bytes is not None
        assert report.usage.peak_memory_bytes > 50 << 20


@pytest.mark.storm
def test_asset_that_is_no_usd_is_refused_by_the_renderer(bubblewrap: Backend, tmp_path: Path) -> None:
    with pytest.raises(RendererRefused) as caught:
        draw(bubblewrap, tmp_path, b"#usda 1.0\ndef {")
    assert caught.value.fault == "candidate"


@pytest.mark.storm
@pytest.mark.parametrize("target", ["/etc/passwd", "/proc/self/environ", "../../../../etc/passwd"])
def test_layer_that_reaches_out_finds_nothing_of_the_host(bubblewrap: Backend, tmp_path: Path, target: str) -> None:
    secret = tmp_path / "secret.usda"
    secret.write_bytes(CUBE.replace(b"cube", b"secret"))
    asset = CUBE + f'\ndef "A" (references = [@{target}@, @{secret}@</World>])\n{{\n}}\n'.encode()
    with pytest.raises(RendererRefused) as caught:
        draw(bubblewrap, tmp_path, asset)
    assert (caught.value.code, caught.value.fault) == ("unresolved_layer", "candidate")


OUTSIDE = {
    # A Debian root of set-up's own has such a file of its own.
    **({"host_tables": "/etc/fstab"} if "process" in host_backends() else {}),
    "host_keys": "/etc/ssh",
    "root_home": "/root/.profile",
    "tests": str(Path(__file__).resolve()),
    "docker_socket": "/var/run/docker.sock",
    "home": os.path.expanduser("~/.bashrc"),  # noqa: PTH111
    "sources_of_the_trusted_side": "/opt/render-judge/sandbox/snapshot.py",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_host_file_is_not_there(bubblewrap: Backend, name: str) -> None:
    assert ask(bubblewrap, f"import os; print(os.path.exists({OUTSIDE[name]!r}))") == "False\n"


ATTACKS = {
    "network_connect": "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)",
    "name_look_up": "import socket\nsocket.getaddrinfo('example.com', 80)",
    "abstract_socket": "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0{name}')",
    "pair_of_sockets": "import socket\nsocket.socketpair()",
    "memory_file": "import os\nos.memfd_create('x')",
    "shared_memory": "import mmap\nmmap.mmap(-1, 4096)",
    "shared_zeros": "import mmap, os\nmmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)",
    "shared_file": "import mmap\nf = open('f', 'w+b', 0)\nf.write(bytes(4096))\nmmap.mmap(f.fileno(), 4096)",
    "write_the_sources": "open('/opt/render-judge/renderer/worker.py', 'w')",
    "write_storm": "open('/opt/storm/evil.pth', 'w')",
    "write_the_system": "open('/usr/bin/evil', 'w')",
    "leave_the_scratch": "open('/run/other', 'w')",
    "become_root": "import os\nos.setuid(0)",
    "change_root": "import os\nos.chroot('/opt')",
    "make_a_device": "import os, stat\nos.mknod('d', 0o600 | stat.S_IFCHR, os.makedev(1, 1))",
    "signal_the_outside": "import os, signal\nos.kill({pid}, signal.SIGKILL)",
    "set_the_host_name": "import socket\nsocket.sethostname('evil')",
    "raise_a_limit": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))",
    "core_pattern": "open('/proc/sys/kernel/core_pattern', 'w').write('|/evil')",
    "fill_the_scratch": "with open('f', 'wb') as f:\n  while True: f.write(bytes(1 << 24)); f.seek(1 << 31)",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_from_inside_fails(bubblewrap: Backend, name: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0sandbox-test-{os.getpid()}")
        server.listen()
        source = ATTACKS[name].replace("{name}", f"sandbox-test-{os.getpid()}").replace("{pid}", str(os.getpid()))
        guarded = "\n".join(f"  {line}" for line in source.splitlines())
        told = ask(bubblewrap, f"try:\n{guarded}\n  print('it worked')\nexcept OSError: print('refused')\n"
                               "except (ValueError, AttributeError): print('refused')")  # fmt: skip
    assert told == "refused\n"


BOMBS = {
    "many_processes": "import os\nfor _ in range(3): os.fork()\nheld = bytearray(b'x') * (100 << 20)",
    # 4 KiB of tables for every 2 MiB touched, and of memory nothing but the one page of zeros.
    "page_tables": (
        "import mmap\nheld = []\nfor _ in range(12):\n"
        "  held.append(mmap.mmap(-1, 1 << 33, flags=mmap.MAP_PRIVATE | mmap.MAP_NORESERVE, prot=mmap.PROT_READ))\n"
        "  held[-1].madvise(mmap.MADV_NOHUGEPAGE)\n"
        "  for at in range(0, 1 << 33, 1 << 21): held[-1][at]"
    ),
    "scratch": "with open('f', 'wb') as file:\n  for _ in range(300): file.write(bytes(1 << 20))",
    "empty_files": "for number in range(200_000): open(str(number), 'w').close()",
}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_bomb_is_the_candidates_fault(bubblewrap: Backend, name: str) -> None:
    with pytest.raises(RunFailed) as caught:
        bubblewrap.probe(f"{BOMBS[name]}\nimport time\ntime.sleep(30)", budget(memory_bytes=128 << 20))
    assert (caught.value.code, caught.value.fault) == ("memory_exceeded", "candidate")


def test_file_system_of_another_size_is_not_taken_for_the_scratch(tmp_path: Path) -> None:
    # Before a sandbox is laid out, the same path may lead to this machine's own files.
    found = os.statvfs(tmp_path)
    size = found.f_blocks * found.f_frsize
    assert _scratch_bytes(os.getpid(), Scratch(str(tmp_path), size)) > 0
    assert _scratch_bytes(os.getpid(), Scratch(str(tmp_path), size + 1)) == 0
    assert _scratch_bytes(os.getpid(), Scratch(str(tmp_path / "absent"), size)) == 0


def test_fork_bomb_ends_with_its_sandbox(bubblewrap: Backend) -> None:
    mark = f"bomb-{os.getpid()}-{time.monotonic_ns()}"
    source = f"""
import os, time  # {mark}
end = time.monotonic() + 1
while time.monotonic() < end:
    try: os.fork()
    except OSError: pass
"""
    try:
        bubblewrap.probe(source, budget(cpu_seconds=3, wall_seconds=20))
    except RunFailed as failure:
        assert failure.fault == "candidate"
    assert not any(mark.encode() in command_of(path) for path in Path("/proc").iterdir() if path.name.isdigit())


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_two_sandboxes_see_nothing_of_each_other(bubblewrap: Backend) -> None:
    source = (
        "import json, os, time\nopen('mine', 'w').close()\ntime.sleep(0.5)\n"
        "print(json.dumps([os.listdir('.'), len([n for n in os.listdir('/proc') if n.isdigit()])]))"
    )
    told: list[str] = []
    threads = [threading.Thread(target=lambda: told.append(ask(bubblewrap, source))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [json.loads(text)[0] for text in told] == [["mine"], ["mine"]]
    assert all(json.loads(text)[1] <= 3 for text in told)


def test_many_probes_leave_nothing(bubblewrap: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    backends = [open_backend(name) for name in host_backends()]
    ask(bubblewrap, "print(1)")
    before = len(list(Path("/proc/self/fd").iterdir()))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    for backend in backends * 10:
        assert ask(backend, "open('left', 'w').close(); print(1)") == "1\n"
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list(tmp_path.iterdir()) == []
    assert Path(f"/proc/self/task/{os.getpid()}/children").read_text() == children


def test_program_is_not_looked_for_on_the_callers_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil").write_text("#!/bin/sh\n")
    (tmp_path / "evil").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendUnavailable) as caught:
        find_program("evil", "Install it.")
    assert (caught.value.code, caught.value.fault) == ("program_missing", "infrastructure")


def test_backend_that_cannot_run_here_is_named(tmp_path: Path) -> None:
    bare = Runtime(None, tmp_path, None)
    for name in ("process", "bubblewrap"):
        with pytest.raises(BackendUnavailable) as caught:
            open_backend(name, runtime=bare)
        assert caught.value.code == "interpreter_missing"
    with pytest.raises(BackendUnavailable) as caught:
        open_backend("chroot")  # type: ignore[arg-type]
    assert caught.value.code == "unknown_backend"


def test_missing_set_up_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RENDER_JUDGE_RUNTIME", str(tmp_path))
    for name in ("process", "bubblewrap", "docker"):
        with pytest.raises(RuntimeMissing):
            open_backend(name)
