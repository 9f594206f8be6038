"""The container backend: pure parts anywhere, everything marked ``docker`` on a real engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.profile import load_profile
from sandbox import BackendUnavailable, RunFailed, RuntimeMissing, open_backend, self_check, take_snapshot
from sandbox.docker_engine import LABEL, LABEL_OWNER, LABEL_UNTIL, DockerBackend, _left_behind, _owner, reap
from sandbox.docker_worker import Demultiplexer, engine_errors
from sandbox.errors import ProtocolBreach, RendererRefused
from sandbox.runtime import source_folder
from tests.sandbox.samples import CUBE, budget, job

IMAGE = "sha256:" + "a" * 64


def piece(stream: int, data: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=30)), max_size=8), st.integers(1, 50))
def test_attached_stream_is_taken_apart(pieces: list[tuple[int, bytes]], step: int) -> None:
    got: dict[int, bytes] = {1: b"", 2: b""}
    demultiplexer = Demultiplexer(
        lambda data: got.update({1: got[1] + data}), lambda data: got.update({2: got[2] + data})
    )
    whole = b"".join(piece(stream, data) for stream, data in pieces)
    for at in range(0, len(whole), step):
        demultiplexer.feed(whole[at : at + step])
    assert got == {wanted: b"".join(data for stream, data in pieces if stream == wanted) for wanted in (1, 2)}


@pytest.mark.parametrize(
    "head", [b"\3\0\0\0\0\0\0\1", b"\0\0\0\0\0\0\0\1", b"\1\1\0\0\0\0\0\1", b"\1\0\0\0\xff\xff\xff\xff"]
)
def test_what_no_engine_sends_is_infrastructure(head: bytes) -> None:
    with pytest.raises(ProtocolBreach) as caught:
        Demultiplexer(len, len).feed(head)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.fault) == ("protocol_bad_stream", "infrastructure")


@given(st.binary(max_size=100))
def test_taking_apart_survives_any_bytes(data: bytes) -> None:
    try:
        Demultiplexer(len, len).feed(data)  # type: ignore[arg-type]
    except ProtocolBreach as error:
        assert error.code == "protocol_bad_stream"


def test_owner_tells_a_live_process_from_a_dead_one() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner, until = _owner(process.pid), str(int(time.time()) + 1000)
    labels = {LABEL_OWNER: owner, LABEL_UNTIL: until}
    assert not _left_behind(labels)
    process.communicate(b"\n")
    assert _left_behind(labels)
    boot, space, pid, started = owner.split("/")
    assert not _left_behind({**labels, LABEL_OWNER: f"other/{space}/{pid}/{started}"})
    assert _left_behind({**labels, LABEL_OWNER: f"{boot}/{space}/{os.getpid()}/1"})
    assert not _left_behind({**labels, LABEL_OWNER: _owner(os.getpid())})


@pytest.mark.parametrize("until", ["0", "", "soon", "1000"])
def test_overdue_container_belongs_to_nobody(until: str) -> None:
    assert _left_behind({LABEL_OWNER: "other/1/1/1", LABEL_UNTIL: until})


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (docker.errors.ImageNotFound("no"), "image_missing"),
        (docker.errors.APIError("no"), "engine_refused"),
        (docker.errors.DockerException("no"), "engine_down"),
        (ConnectionRefusedError(), "engine_down"),
    ],
)
def test_engine_failure_is_named(raised: Exception, code: str) -> None:
    with pytest.raises(BackendUnavailable) as caught, engine_errors("to work"):
        raise raised
    assert (caught.value.code, caught.value.fault) == (code, "infrastructure")


def test_engine_that_is_down_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images.json").write_text(f'{{"{IMAGE}": "{"b" * 64}"}}')
    monkeypatch.setenv("RENDER_JUDGE_RUNTIME", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(BackendUnavailable) as caught:
        open_backend("docker")
    assert (caught.value.code, caught.value.fault, caught.value.retry) == ("engine_down", "infrastructure", True)


def test_image_that_the_lock_does_not_hold_is_never_started(tmp_path: Path) -> None:
    lock = tmp_path / "images.json"
    lock.write_text(f'{{"{IMAGE}": "{"b" * 64}"}}')
    for image in ("sha256:" + "c" * 64, "debian:latest"):
        with pytest.raises(RuntimeMissing) as caught:
            DockerBackend(image, lock=lock)
        assert caught.value.code == "image_not_locked"


@pytest.fixture
def engine() -> Iterator[docker.APIClient]:
    try:
        api = docker.APIClient(base_url=os.environ.get("DOCKER_HOST") or None, version="auto", timeout=30)
    except docker.errors.DockerException:
        pytest.fail("This test needs a container engine: start one, or set DOCKER_HOST. It does not skip.")
    yield api
    api.close()


@pytest.fixture
def backend(engine: docker.APIClient) -> Iterator[DockerBackend]:
    try:
        opened = open_backend("docker")
    except (BackendUnavailable, RuntimeMissing) as error:
        pytest.fail(f"This test needs the renderer's image: {error.message} {error.remedy}")
    assert isinstance(opened, DockerBackend)
    yield opened
    assert engine.containers(all=True, filters={"label": LABEL}) == []


@pytest.mark.docker
def test_container_keeps_every_promise(backend: DockerBackend) -> None:
    report = self_check(backend)
    assert {finding.promise: finding.broken for finding in report.findings} == dict.fromkeys(backend.promises)


@pytest.mark.docker
@pytest.mark.storm
def test_container_draws(backend: DockerBackend, tmp_path: Path) -> None:
    loaded = load_profile(source_folder() / "profiles", "studio-v1")
    (tmp_path / "a.usda").write_bytes(CUBE)
    snapshot = take_snapshot(tmp_path / "a.usda", tmp_path / "staging")
    wanted = job(profile_id="studio-v1", profile_sha256=loaded.sha256)
    frames: dict[str, int] = {}
    report = backend.run(
        snapshot, wanted, loaded.profile.budget, lambda frame, pixels: frames.update({frame.view_id: len(pixels)})
    )
    assert set(frames.values()) == {768 * 768 * 3}
    assert len(frames) == len(loaded.profile.views) * len(loaded.profile.image.passes)
    assert report.usage.cpu_seconds is not None
    assert report.usage.cpu_seconds > 0.1
    assert backend.describe()["image"] == backend.image


@pytest.mark.docker
@pytest.mark.storm
def test_submission_that_is_no_usd_is_refused_in_the_container(backend: DockerBackend, tmp_path: Path) -> None:
    loaded = load_profile(source_folder() / "profiles", "studio-v1")
    (tmp_path / "a.usda").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    snapshot = take_snapshot(tmp_path / "a.usda", tmp_path / "staging")
    wanted = job(profile_id="studio-v1", profile_sha256=loaded.sha256)
    with pytest.raises(RendererRefused) as caught:
        backend.run(snapshot, wanted, loaded.profile.budget, lambda frame, pixels: None)
    assert caught.value.fault == "candidate"


BUDGETS = {
    "memory_bomb": ("import os\nfor _ in range(3): os.fork()\nheld = bytearray(b'x') * (100 << 20)", "memory_exceeded"),
    "disk_bomb": ("f = open('f', 'wb')\nwhile True: f.write(bytes(1 << 24))", "memory_exceeded"),
    "endless_loop": ("while True: pass", "cpu_exceeded"),
    "fork_bomb": ("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass", "memory_exceeded cpu_exceeded"),
    "sleep_for_ever": ("import time\ntime.sleep(1000)", "stalled"),
}


@pytest.mark.docker
@pytest.mark.parametrize("name", BUDGETS)
def test_budget_ends_the_container(backend: DockerBackend, name: str) -> None:
    source, codes = BUDGETS[name]
    with pytest.raises(RunFailed) as caught:
        backend.probe(source, budget(cpu_seconds=3, memory_bytes=256 << 20, wall_seconds=10))
    assert caught.value.code in codes.split()
    assert caught.value.fault == ("infrastructure" if name == "sleep_for_ever" else "candidate")


@pytest.mark.docker
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_end_by_signal_is_seen_from_outside(backend: DockerBackend, number: int) -> None:
    report = backend.probe(f"import os\nos.kill(os.getpid(), {int(number)})", budget())
    assert (report.exit_code, report.signal) == (None, number)


@pytest.mark.docker
def test_large_stream_goes_in_and_nothing_is_mounted(backend: DockerBackend) -> None:
    source = "import sys\nprint(len(sys.stdin.buffer.read()), end='')"
    report = backend.probe(source, budget(), bytes(50_000_000))
    assert report.output == b"50000000"
    assert report.inspection["Mounts"] == []


@pytest.mark.docker
def test_what_a_killed_run_left_behind_is_reaped(backend: DockerBackend, engine: docker.APIClient) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner, until = _owner(dead.pid), str(int(time.time()) + 1000)
    dead.communicate(b"\n")
    labels = {LABEL: "1", LABEL_OWNER: owner, LABEL_UNTIL: until}
    left = engine.create_container(backend.image, ["/bin/sleep", "1000"], labels=labels)["Id"]
    engine.start(left)
    mine = {**labels, LABEL_OWNER: _owner(os.getpid())}
    alive = engine.create_container(backend.image, ["/bin/true"], labels=mine)["Id"]
    try:
        assert reap(engine) == 1
        found = [container["Id"] for container in engine.containers(all=True, filters={"label": LABEL})]
        assert found == [alive]
    finally:
        engine.remove_container(alive, force=True)


@pytest.mark.docker
def test_container_removed_in_mid_run_is_infrastructure(backend: DockerBackend, engine: docker.APIClient) -> None:
    def remove() -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for container in engine.containers(filters={"label": LABEL}):
                engine.remove_container(container["Id"], force=True)
                return
            time.sleep(0.05)

    actor = threading.Thread(target=remove)
    actor.start()
    with pytest.raises(BackendUnavailable) as caught:
        backend.probe("import time\ntime.sleep(30)", budget())
    actor.join()
    assert (caught.value.code, caught.value.fault, caught.value.retry) == ("engine_refused", "infrastructure", True)


@pytest.mark.docker
def test_many_containers_leave_no_descriptor_and_no_volume(backend: DockerBackend, engine: docker.APIClient) -> None:
    backend.probe("print(1)", budget())
    volumes = engine.volumes()["Volumes"] or []
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(8):
        assert backend.probe("print(1)", budget()).output == b"1\n"
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert (engine.volumes()["Volumes"] or []) == volumes
