"""The store: whole or not at all, once and never again; and where it may lie."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from securesystemslib.signer import CryptoSigner

from receipt.errors import KeyFault, PlaceError, ReceiptError, StoreError
from receipt.keys import generate_key, load_public_key, load_signer, public_pem
from receipt.places import inside, require_apart, require_outside, require_owned
from receipt.store import stage
from tests.episodes import build_episode

REPOSITORY = Path(__file__).resolve().parents[2]
WRITER = """
import sys, time
from pathlib import Path
from receipt.store import stage
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
        assert writer.stdout.readline() == b"ready\n"
    outcomes = [writer.communicate(b"go\n", timeout=60) for writer in writers]
    assert sorted(writer.returncode for writer in writers) == [0, 1]
    loser = next(errors for writer, (_, errors) in zip(writers, outcomes, strict=True) if writer.returncode)
    assert b"StoreError" in loser
    assert _whole_or_nothing(tmp_path)
    assert not list((tmp_path / ".staging").iterdir())


def _kill_at(root: Path, moments: list[float]) -> None:
    for moment in moments:
        writer = _writer(str(root), "e")
        time.sleep(moment)
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=60)
        assert _whole_or_nothing(root), f"half an episode after a kill at {moment} s"
        if (root / "case" / "e").exists():
            (root / "case" / "e").rename(root / f"done{moment}")


def test_killed_at_some_moments_there_is_a_whole_episode_or_none(tmp_path: Path) -> None:
    _kill_at(tmp_path, [0.05 * step for step in range(1, 13)])
    with stage(tmp_path, "case", "after") as staged:
        staged.write("x", b"x")
        assert len(list((tmp_path / ".staging").iterdir())) == 1, "leftovers of the killed are reaped"


@pytest.mark.slow
def test_killed_at_a_hundred_moments_there_is_a_whole_episode_or_none(tmp_path: Path) -> None:
    _kill_at(tmp_path, [0.006 * step for step in range(100)])


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


def test_threat_13_places_are_compared_by_identity_and_not_by_spelling(tmp_path: Path) -> None:
    actor, safe = tmp_path / "actor", tmp_path / "safe"
    (actor / "deep").mkdir(parents=True)
    safe.mkdir()
    alias = tmp_path / "alias"
    alias.symlink_to(actor)
    assert inside(alias / "deep" / "not" / "yet", actor)
    assert not inside(safe, actor)
    for path in (actor, actor / "deep", actor / "new" / "er", alias / "x", tmp_path):
        with pytest.raises(PlaceError) as caught:
            require_apart("evidence_root", path, [actor])
        assert caught.value.code == "evidence_root_within_reach"
    require_apart("evidence_root", safe, [actor, tmp_path / "actor-not-there"])
    require_outside("key_file", tmp_path / "key.pem", [actor])
    with pytest.raises(PlaceError):
        require_outside("key_file", alias / "key.pem", [actor])


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


def test_a_made_key_signs_and_is_private(tmp_path: Path) -> None:
    private = tmp_path / "keys" / "k.pem"
    public = generate_key(private)
    assert (private.stat().st_mode & 0o777, public.stat().st_mode & 0o777) == (0o600, 0o644)
    signer = load_signer(f"file2:{private}")
    assert isinstance(signer, CryptoSigner)
    assert signer.public_key.keyid == load_public_key(public).keyid == load_signer(str(private)).public_key.keyid
    assert public.read_bytes() == public_pem(signer)
    with pytest.raises(KeyFault) as caught:
        generate_key(private)
    assert caught.value.code == "key_exists"


def test_keys_that_cannot_be_used_are_refused_by_name(tmp_path: Path) -> None:
    private = tmp_path / "k.pem"
    generate_key(private)
    private.chmod(0o644)
    garbage = tmp_path / "g.pem"
    garbage.write_text("no key")
    garbage.chmod(0o600)
    for uri, code in (
        (str(private), "key_exposed"),
        (str(garbage), "key_unusable"),
        (str(tmp_path / "none"), "key_missing"),
        (str(tmp_path), "key_unreadable"),
        ("hsm:", "key_public_missing"),
    ):
        with pytest.raises(KeyFault) as caught:
            load_signer(uri)
        assert caught.value.code == code, uri
    with pytest.raises(KeyFault):
        load_public_key(garbage)
