"""Threat 6 and the way in: what a submission may consist of, and that the hashed bytes are the copied ones."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import snapshot as module
from sandbox.errors import StagingError, SubmissionError
from sandbox.snapshot import SnapshotLimits, take_snapshot

SMALL = SnapshotLimits(
    max_files=4,
    max_folders=4,
    max_depth=2,
    max_name_bytes=20,
    max_path_bytes=40,
    max_file_bytes=100,
    max_total_bytes=150,
)


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    folder = tmp_path / "asset"
    folder.mkdir()
    (folder / "a.usda").write_bytes(b"#usda 1.0\n")
    return folder


def refusal(source: Path, staging: Path, limits: SnapshotLimits | None = None) -> SubmissionError:
    with pytest.raises(SubmissionError) as caught:
        take_snapshot(source, staging, limits)
    assert caught.value.fault == "candidate"
    assert caught.value.message
    assert caught.value.remedy
    return caught.value


def test_folder_is_copied_and_hashed(asset: Path, tmp_path: Path) -> None:
    (asset / "tex").mkdir()
    (asset / "tex" / "ä b.png").write_bytes(b"pixels")
    (asset / "empty.txt").write_bytes(b"")
    taken = take_snapshot(asset, tmp_path / "staging")
    assert [file.path for file in taken.files] == ["a.usda", "empty.txt", "tex/ä b.png"]
    assert (taken.is_folder, taken.name, taken.total_bytes) == (True, "asset", 16)
    for file in taken.files:
        data = (taken.root / file.path).read_bytes()
        assert data == (asset / file.path).read_bytes()
        assert (file.size, file.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert stat.S_IMODE((tmp_path / "staging").stat().st_mode) == 0o700


def test_single_file_is_copied(asset: Path, tmp_path: Path) -> None:
    taken = take_snapshot(asset / "a.usda", tmp_path / "staging")
    assert ([file.path for file in taken.files], taken.is_folder, taken.name) == (["a.usda"], False, "a.usda")


def test_links_in_the_callers_own_path_are_followed(asset: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(asset)
    assert take_snapshot(tmp_path / "latest", tmp_path / "staging").name == "asset"


def link_to(target: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "x.usda").symlink_to(target)


def hard_link(folder: Path) -> None:
    os.link(folder / "a.usda", folder / "b.usda")


def local_socket(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "s"))


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "link_out": (link_to("/etc/passwd"), "link"),
    "link_to_directory": (link_to("/etc"), "link"),
    "link_dangling": (link_to("nowhere"), "link"),
    "link_inside": (link_to("a.usda"), "link"),
    "link_to_itself": (link_to("x.usda"), "link"),
    "link_in_a_parent": (lambda folder: (folder / "sub").symlink_to(folder.parent), "link"),
    "hard_link": (hard_link, "hard_link"),
    "fifo": (lambda folder: os.mkfifo(folder / "f"), "special_file"),
    "socket": (local_socket, "special_file"),
    "name_with_newline": (lambda folder: (folder / "a\nb").touch(), "bad_name"),
    "name_with_escape": (lambda folder: (folder / "a\x1b[31m").touch(), "bad_name"),
    "name_that_turns_direction": (lambda folder: (folder / "a\u202eb").touch(), "bad_name"),
    "name_with_backslash": (lambda folder: (folder / "..\\a").touch(), "bad_name"),
    "name_not_utf8": (lambda folder: open(os.fsencode(folder) + b"/\xff", "wb").close(), "bad_name"),  # noqa: PTH123
    "name_of_255_bytes": (lambda folder: (folder / ("n" * 255)).touch(), "name_too_long"),
    "sparse_file": (lambda folder: os.truncate((folder / "a.usda"), 1 << 40), "file_too_large"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_submission_is_refused(name: str, asset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, code = HOSTILE[name]
    make(asset)
    assert refusal(asset, tmp_path / "staging").code == code


def kind_refused(path: str, device: int) -> str:
    """The rule alone, since making devices and mounting take rights that tests may not have."""
    with pytest.raises(SubmissionError) as caught:
        module._check_kind(module._Copy(SnapshotLimits(), device), Path(path).stat(), path)
    return caught.value.code


def test_device_is_refused() -> None:
    assert kind_refused("/dev/zero", Path("/dev/zero").stat().st_dev) == "special_file"


def test_other_file_system_is_refused(asset: Path) -> None:
    assert kind_refused(str(asset), asset.stat().st_dev + 1) == "other_device"


def many(folder: Path) -> None:
    for number in range(5):
        (folder / f"{number}").touch()


def deep(folder: Path) -> None:
    (folder / "1" / "2" / "3").mkdir(parents=True)


def long_path(folder: Path) -> None:
    (folder / ("x" * 19) / ("y" * 19)).mkdir(parents=True)
    (folder / ("x" * 19) / ("y" * 19) / "zz").touch()


def heavy(folder: Path) -> None:
    (folder / "1").write_bytes(bytes(100))
    (folder / "2").write_bytes(bytes(41))


def folders(count: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for number in range(count):
            (folder / f"{number}").mkdir()

    return make


def other_bytes(path: Path) -> None:
    path.write_bytes(b"y" * 10)
    os.utime(path, ns=(1, 1))


LIMITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "files": (many, "too_many_files"),
    "folders": (folders(5), "too_many_files"),
    "entries": (folders(12), "too_many_files"),
    "depth": (deep, "too_deep"),
    "name": (lambda folder: (folder / ("x" * 21)).touch(), "name_too_long"),
    "path": (long_path, "name_too_long"),
    "file_bytes": (lambda folder: (folder / "b").write_bytes(bytes(101)), "file_too_large"),
    "total_bytes": (heavy, "too_large"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limit_is_kept(name: str, asset: Path, tmp_path: Path) -> None:
    make, code = LIMITS[name]
    make(asset)
    assert refusal(asset, tmp_path / "staging", SMALL).code == code


@pytest.mark.parametrize("path", ["absent", "asset/absent", "asset/a.usda/x", "nul\0"])
def test_missing_submission_has_its_own_code(path: str, asset: Path, tmp_path: Path) -> None:
    assert refusal(tmp_path / path, tmp_path / "staging").code == "submission_missing"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda path: path.write_bytes(bytes(5000)), id="grows"),
        pytest.param(lambda path: path.write_bytes(b""), id="shrinks"),
        pytest.param(other_bytes, id="same_size_and_mtime"),
        pytest.param(lambda path: os.link(path, path.with_name("second")), id="gets_a_second_name"),
    ],
)
def test_change_while_reading_is_refused(
    change: Callable[[Path], object], asset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = asset / "a.usda"
    os.utime(target, ns=(1, 1))
    real = os.read
    done: list[bool] = []

    def reading(descriptor: int, count: int) -> bytes:
        if not done:
            done.append(True)
            # One clock tick of the file system, so that its change time surely differs.
            threading.Event().wait(0.02)
            change(target)
        return real(descriptor, count)

    monkeypatch.setattr(os, "read", reading)
    assert refusal(asset, tmp_path / "staging").code == "changed_while_read"


def test_exchange_between_look_and_open_is_refused(
    asset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    real = module._check_kind

    def exchanging(copy: module._Copy, found: os.stat_result, path: str) -> None:
        real(copy, found, path)
        if not (asset / "a.usda").is_symlink():
            (asset / "a.usda").unlink()
            (asset / "a.usda").symlink_to(tmp_path / "secret")

    monkeypatch.setattr(module, "_check_kind", exchanging)
    assert refusal(asset, tmp_path / "staging").code == "changed_while_read"


def test_atomic_exchanges_never_part_hash_from_copy(asset: Path, tmp_path: Path) -> None:
    stop = threading.Event()
    contents = [bytes([65 + n]) * 4096 for n in range(2)]
    (asset / "a.usda").write_bytes(contents[0])

    def exchange() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            spare = tmp_path / "spare"
            spare.write_bytes(contents[turn % 2])
            spare.rename(asset / "a.usda")

    actor = threading.Thread(target=exchange)
    actor.start()
    try:
        for attempt in range(100):
            try:
                got = take_snapshot(asset, tmp_path / f"staging{attempt}")
            except SubmissionError as error:
                assert error.code in {"changed_while_read", "hard_link"}
                continue
            data = (got.root / "a.usda").read_bytes()
            assert hashlib.sha256(data).hexdigest() == got.files[0].sha256
            assert data in contents
    finally:
        stop.set()
        actor.join()


def test_existing_staging_is_infrastructure(asset: Path, tmp_path: Path) -> None:
    with pytest.raises(StagingError) as caught:
        take_snapshot(asset, asset)
    assert (caught.value.code, caught.value.fault) == ("staging_failed", "infrastructure")


def test_full_disk_is_infrastructure(asset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StagingError) as caught:
        take_snapshot(asset, tmp_path / "staging")
    assert (caught.value.code, caught.value.fault, caught.value.retry) == ("disk_full", "infrastructure", True)


def test_no_descriptor_is_left_open(asset: Path, tmp_path: Path) -> None:
    (asset / "sub").mkdir()
    (asset / "sub" / "link").symlink_to("/")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        refusal(asset, tmp_path / f"staging{number}")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.binary(min_size=1, max_size=40).filter(lambda name: b"/" not in name and b"\0" not in name))
def test_any_name_is_copied_or_refused(name: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("names")
    folder = base / "asset"
    folder.mkdir()
    if name in (b".", b".."):
        return
    with open(os.fsencode(folder) + b"/" + name, "wb") as file:  # noqa: PTH123
        file.write(b"x")
    try:
        taken = take_snapshot(folder, base / "staging")
    except SubmissionError as error:
        assert error.code == "bad_name"
        assert error.message.isprintable()
    else:
        assert taken.files[0].path.encode() == name
