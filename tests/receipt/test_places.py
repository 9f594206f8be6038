"""Threat 13: the evidence folder, the key or the staging inside, above or linked from the actor's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from receipt.errors import PlaceError
from receipt.places import Mount, file_system_place, inside, read_mounts, require_apart, require_outside, require_owned

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def actor(tmp_path: Path) -> Path:
    """The actor's folder, with one folder of its own and a link of its own that leads out to ``safe``."""
    (tmp_path / "safe" / "deep").mkdir(parents=True)
    (tmp_path / "actor" / "deep").mkdir(parents=True)
    (tmp_path / "actor" / "out").symlink_to(tmp_path / "safe")
    (tmp_path / "alias").symlink_to(tmp_path / "actor")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    return tmp_path / "actor"


@pytest.mark.parametrize(
    "place",
    [
        "actor",
        "actor/deep",
        "actor/not/yet",
        "actor/deep/../deep",
        "safe/../actor/x",
        "alias",
        "alias/x",
        "alias/deep/not/yet",
        ".",
        "..",
    ],
)
def test_threat_13_a_place_inside_or_above_the_actors_folder_is_refused(actor: Path, place: str) -> None:
    with pytest.raises(PlaceError) as caught:
        require_apart("evidence_root", actor.parent / place, [actor])
    assert caught.value.code == "evidence_root_within_reach"


@pytest.mark.parametrize(
    "place", ["actor/out", "actor/out/deep", "actor/out/not/yet", "alias/out", "actor/deep/../out/x"]
)
def test_threat_13_a_place_linked_from_the_actors_folder_is_refused(actor: Path, place: str) -> None:
    """The folder at the end is safe, but the actor decides where the link leads the next time."""
    with pytest.raises(PlaceError) as caught:
        require_apart("evidence_root", actor.parent / place, [actor])
    assert caught.value.code == "evidence_root_within_reach"


@pytest.mark.parametrize("place", ["safe", "safe/deep", "safe/not/yet", "actor-2", "safe/../other"])
def test_a_place_apart_is_accepted_though_the_actor_links_to_it(actor: Path, place: str) -> None:
    require_apart("evidence_root", actor.parent / place, [actor, actor.parent / "nowhere"])


def test_threat_13_an_actors_folder_given_by_a_link_is_the_folder_itself(actor: Path) -> None:
    for alias in (actor.parent / "alias", actor.parent / "alias" / "deep" / ".."):
        with pytest.raises(PlaceError):
            require_apart("evidence_root", actor / "deep", [alias])
    with pytest.raises(PlaceError):
        require_apart("evidence_root", actor.parent / "safe" / "deep", [actor / "out"])


def test_threat_13_places_that_are_not_there_yet_are_compared_too(actor: Path) -> None:
    new = actor.parent / "new"
    for place in (new, new / "x", actor.parent):
        with pytest.raises(PlaceError):
            require_apart("evidence_root", place, [new])
    require_apart("evidence_root", actor.parent / "newer", [new])


def test_threat_13_a_key_file_in_the_actors_folder_is_refused_and_one_above_is_not(actor: Path) -> None:
    require_outside("key_file", actor.parent / "key.pem", [actor])
    for key in (actor / "key.pem", actor.parent / "alias" / "key.pem", actor / "out" / "key.pem"):
        with pytest.raises(PlaceError) as caught:
            require_outside("key_file", key, [actor])
        assert caught.value.code == "key_file_within_reach"


@pytest.mark.parametrize("name", ["loop", "loop/x", "a\0b"])
def test_a_path_that_leads_nowhere_is_refused(actor: Path, name: str) -> None:
    with pytest.raises(PlaceError) as caught:
        inside(actor.parent / name, actor)
    assert caught.value.code == "place_unresolvable"


def test_relative_paths_count_from_where_one_is(actor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(actor / "deep")
    assert inside(Path("x"), actor)
    assert inside(Path("../../safe"), actor), "whoever can move `deep` decides where its parent is"
    monkeypatch.chdir(actor.parent / "safe")
    assert inside(Path("../actor/x"), actor)
    assert not inside(Path("deep/../x"), actor)


TABLE = (
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 8:1 /srv/work /workspace rw - ext4 /dev/sda1 rw\n"
    "31 22 8:1 /srv/work/evidence /evidence rw - ext4 /dev/sda1 rw\n"
    "32 22 0:40 / /a\\040b rw - tmpfs tmpfs rw\n"
    "33 22 0:41 / /a\\040b rw - tmpfs tmpfs rw\n"
    "34 broken\n"
)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/etc/x", ("8:1", "/etc/x")),
        ("/workspace", ("8:1", "/srv/work")),
        ("/workspace/deep/x", ("8:1", "/srv/work/deep/x")),
        ("/workspaces", ("8:1", "/workspaces")),
        ("/evidence/case", ("8:1", "/srv/work/evidence/case")),
        ("/a b/x", ("0:41", "/x")),
    ],
)
def test_threat_13_a_bind_mount_is_seen_through(path: str, expected: tuple[str, str]) -> None:
    found = file_system_place(PurePosixPath(path), read_mounts(TABLE))
    assert found == (expected[0], PurePosixPath(expected[1]))


def test_without_a_mount_table_nothing_is_claimed() -> None:
    assert read_mounts("") == ()
    assert file_system_place(PurePosixPath("/x"), ()) is None
    assert file_system_place(PurePosixPath("/x"), (Mount("1:1", PurePosixPath("/"), PurePosixPath("/y")),)) is None


def test_threat_13_evidence_below_the_actors_folder_is_found_through_a_real_bind_mount(tmp_path: Path) -> None:
    """The actor's folder holds the evidence, and a second mount shows the evidence somewhere else."""
    for name in ("actor/sub", "shown", "other"):
        (tmp_path / name).mkdir(parents=True)
    probe = (
        "import sys; from pathlib import Path; from receipt.places import inside; base = Path(sys.argv[1]);"
        "print(inside(base / 'shown' / 'x', base / 'actor'), inside(base / 'other', base / 'actor'))"
    )
    script = 'mount --bind "$1/actor/sub" "$1/shown" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", str(tmp_path), sys.executable, probe],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode and "Traceback" not in done.stderr:
        pytest.skip(f"this machine makes no mount namespace: {done.stderr.strip()[:200]}")
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_an_open_folder_is_judged_and_not_what_its_name_says_by_now(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir(mode=0o755)
    descriptor = os.open(tmp_path / "ours", os.O_RDONLY)
    try:
        require_owned(tmp_path / "ours", descriptor)
        os.fchmod(descriptor, 0o777)
        (tmp_path / "ours").rename(tmp_path / "moved")
        (tmp_path / "ours").mkdir(mode=0o755)
        require_owned(tmp_path / "ours")
        with pytest.raises(PlaceError) as caught:
            require_owned(tmp_path / "ours", descriptor)
    finally:
        os.close(descriptor)
    assert caught.value.code == "root_writable_by_others"
