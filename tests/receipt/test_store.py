"""The store: whole or not at all, once and never again; and where it may lie."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from receipt.errors import PlaceError, ReceiptError, StoreError
from receipt.places import require_owned
from receipt.store import stage
from tests.episodes import build_episode

REPOSITORY = Path(__file__).resolve().parents[2]
WRITER = """
import sys
from pathlib import Path
from receipt.store import stage
print("start", flush=True)
with stage(Path(sys.argv[1]), "case", sys.argv[2]) as staged:
    for index in range(40):
        staged.write(f"images/{index}.png", bytes(20_000))
    if len(sys.argv) > 3:
        print("ready", flush=True); sys.stdin.readline()
    staged.commit()
"""


def _writer(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _whole_or_nothing(root: Path) -> bool:
    found = root / "case" / "e"
    return not found.exists() or len(list(found.rglob("*.png"))) == 40


def test_an_existing_episode_is_never_overwritten(tmp_path: Path) -> None:
    first = build_episode(tmp_path)
    before = (first.folder / "receipt.json").read_bytes()
    with pytest.raises(StoreError) as caught:
        build_episode(tmp_path)
    assert caught.value.code == "episode_exists"
    assert (first.folder / "receipt.json").read_bytes() == before


def test_what_is_not_committed_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), stage(tmp_path, "case", "e") as staged:
        staged.write("a/b", b"x")
        raise ZeroDivisionError
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_of_two_writers_of_one_episode_one_wins_and_the_other_says_so(tmp_path: Path) -> None:
    writers = [_writer(str(tmp_path), "e", "wait") for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None
        assert [writer.stdout.readline(), writer.stdout.readline()] == [b"start\n", b"ready\n"]
    outcomes = [writer.communicate(b"go\n", timeout=60) for writer in writers]
    assert sorted(writer.returncode for writer in writers) == [0, 1]
    loser = next(errors for writer, (_, errors) in zip(writers, outcomes, strict=True) if writer.returncode)
    assert b"StoreError" in loser
    assert _whole_or_nothing(tmp_path)
    assert not list((tmp_path / ".staging").iterdir())


def _kill_at_moments(tmp_path: Path, count: int) -> None:
    """Kills writers at moments spread over the time that an undisturbed one takes, and a little longer."""
    took = _run_until_killed(tmp_path / "measured", None)
    found = {True: 0, False: 0}
    for index in range(count):
        root = tmp_path / str(index)
        _run_until_killed(root, took * 1.2 * index / count)
        assert _whole_or_nothing(root), f"half an episode after a kill at {index} of {count}"
        found[(root / "case" / "e").exists()] += 1
        with stage(root, "case", "after") as staged:
            assert len(list((root / ".staging").iterdir())) == 1, "what the killed left behind is tidied away"
            staged.write("x", b"x")
            staged.commit()
    assert found[False], "no writer was killed before its end; nothing has been tested"


def _run_until_killed(root: Path, moment: float | None) -> float:
    """Seconds from the writer's start to its end."""
    writer = _writer(str(root), "e")
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"start\n"
    started = time.monotonic()
    if moment is not None:
        time.sleep(moment)
        writer.send_signal(signal.SIGKILL)
    writer.communicate(timeout=60)
    return time.monotonic() - started


def test_killed_at_some_moments_there_is_a_whole_episode_or_none(tmp_path: Path) -> None:
    _kill_at_moments(tmp_path, 12)


@pytest.mark.slow
def test_killed_at_a_hundred_moments_there_is_a_whole_episode_or_none(tmp_path: Path) -> None:
    _kill_at_moments(tmp_path, 100)


@pytest.mark.parametrize("name", ["", ".x", "..", "a/b", "a\nb", "a" * 129, "é", "a\x00"])
def test_ids_that_are_no_names_are_refused(tmp_path: Path, name: str) -> None:
    for arguments in ((name, "e"), ("c", name)):
        with pytest.raises(StoreError) as caught, stage(tmp_path, *arguments):
            pass
        assert caught.value.code.endswith("_id_invalid")
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A file size limit stands in for the disk: the kernel refuses the write half-way."""
    code = (
        "import resource, signal, sys; from pathlib import Path; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); sys.argv = ['', sys.argv[1], 'e'];"
        f"exec({WRITER!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=REPOSITORY, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert b"StoreError" in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_root_that_is_not_ours_alone_is_refused(tmp_path: Path) -> None:
    folder, link = tmp_path / "f", tmp_path / "l"
    folder.mkdir(mode=0o755)
    link.symlink_to(folder)
    require_owned(folder)
    for path, code in ((link, "root_not_folder"), (tmp_path / "none", "root_missing")):
        with pytest.raises(PlaceError) as caught:
            require_owned(path)
        assert caught.value.code == code
    folder.chmod(0o777)
    with pytest.raises(ReceiptError) as refused, stage(folder, "c", "e"):
        pass
    assert refused.value.code == "root_writable_by_others"


@pytest.mark.skipif(os.geteuid() != 0, reason="root may enter every folder; only root can make one of someone else's")
def test_a_root_of_someone_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    with pytest.raises(PlaceError) as caught, stage(folder, "c", "e"):
        pass
    assert caught.value.code == "root_not_owned"


def test_a_root_below_a_folder_that_everybody_can_write_is_refused(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    (open_to_all / "root").mkdir(parents=True)
    open_to_all.chmod(0o777)
    with pytest.raises(PlaceError) as caught:
        require_owned(open_to_all / "root")
    assert caught.value.code == "root_parent_writable"
    open_to_all.chmod(0o1777)
    require_owned(open_to_all / "root")


def test_a_case_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "case").symlink_to(elsewhere)
    with pytest.raises(PlaceError) as caught, stage(root, "case", "e") as staged:
        staged.write("x", b"x")
        staged.commit()
    assert caught.value.code == "root_not_folder"
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("occupied", ["folder", "file", "link", "empty folder"])
def test_whatever_has_the_name_first_keeps_it(tmp_path: Path, occupied: str) -> None:
    """Another writer takes the name between the first look and the rename."""
    target = tmp_path / "case" / "e"
    with pytest.raises(StoreError) as caught, stage(tmp_path, "case", "e") as staged:
        staged.write("x", b"mine")
        target.parent.mkdir()
        if occupied == "file":
            target.write_bytes(b"theirs")
        elif occupied == "link":
            target.symlink_to("nowhere")
        else:
            target.mkdir()
            if occupied == "folder":
                (target / "x").write_bytes(b"theirs")
        staged.commit()
        if occupied == "empty folder":
            # An empty folder is no episode: there is nothing in it to overwrite.
            assert (target / "x").read_bytes() == b"mine"
            raise StoreError("episode_exists", "as expected", "")
    assert caught.value.code == "episode_exists"
    if occupied == "folder":
        assert (target / "x").read_bytes() == b"theirs"


def test_an_episode_of_nothing_is_not_stored(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught, stage(tmp_path, "case", "e") as staged:
        staged.commit()
    assert caught.value.code == "episode_empty"
    assert not (tmp_path / "case").exists()


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "", ".", "a//b", "a\\b", "a\0b"])
def test_nothing_is_written_outside_the_episode(tmp_path: Path, path: str) -> None:
    with pytest.raises(StoreError) as caught, stage(tmp_path, "case", "e") as staged:
        staged.write(path, b"x")
    assert caught.value.code == "path_not_confined"


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "store_full"), (errno.EIO, "store_unwritable")])
def test_a_disk_that_fails_at_the_last_flush_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.raises(StoreError) as caught, stage(tmp_path, "case", "e") as staged:
        staged.write("x", b"x")
        monkeypatch.setattr(os, "fsync", fail)
        staged.commit()
    assert caught.value.code == code
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_every_file_and_folder_is_flushed_before_the_name_appears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    real = os.fsync

    def note(descriptor: int) -> None:
        visible = (tmp_path / "case" / "e").exists()
        flushed.append(("after " if visible else "before ") + Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    with stage(tmp_path, "case", "e") as staged:
        staged.write("images/a.png", b"x")
        staged.commit()
    assert flushed == [
        "before a.png",
        "before images",
        "before episode",
        "after case",
        f"after {tmp_path.name}",
    ]


def test_a_running_writers_folder_is_not_taken_for_a_dead_ones(tmp_path: Path) -> None:
    with stage(tmp_path, "case", "one") as one:
        one.write("x", b"1")
        with stage(tmp_path, "case", "two") as two:
            two.write("x", b"2")
            two.commit()
        one.commit()
    assert {path.name for path in (tmp_path / "case").iterdir()} == {"one", "two"}


def test_many_writers_at_once_lose_nothing_to_each_others_tidying(tmp_path: Path) -> None:
    """Between making a folder and locking it, another process's tidying must not take it away."""
    code = (
        "import sys; from pathlib import Path; from receipt.store import stage\n"
        "for index in range(60):\n"
        "    with stage(Path(sys.argv[1]), 'case', f'{sys.argv[2]}-{index}') as staged:\n"
        "        staged.write('x', b'x'); staged.commit()\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(n)], cwd=REPOSITORY, stderr=subprocess.PIPE)
        for n in range(3)
    ]
    errors = [writer.communicate(timeout=120)[1] for writer in writers]
    assert errors == [b""] * 3
    assert len(list((tmp_path / "case").iterdir())) == 180
