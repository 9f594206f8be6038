"""Set-up as a whole: nothing to do is quick, and what cannot be done is exit code 4."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import setup
from scripts.host import Missing


def test_environment_with_the_right_stamp_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []
    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup, "PYTHON", tmp_path / ".venv/bin/python")
    monkeypatch.setattr(setup, "run", called.append)
    monkeypatch.setattr("venv.create", lambda folder, with_pip: Path(folder).mkdir())
    setup.set_up_venv()
    first = len(called)
    (tmp_path / ".venv/kept").touch()
    setup.set_up_venv()
    assert (first, len(called), (tmp_path / ".venv/kept").exists()) == (3, 3, True)
    (tmp_path / ".venv/set-up.stamp").write_text("of another lock")
    setup.set_up_venv()
    assert (len(called), (tmp_path / ".venv/kept").exists()) == (6, False)


PROJECT = {"project": {"name": "a"}, "build-system": {"requires": ["b"]}, "tool": {"ruff": {"line-length": 120}}}


@pytest.mark.parametrize(
    ("lock", "project", "version"),
    [
        (b"other", PROJECT, "3.11"),
        (b"lock", {**PROJECT, "project": {"name": "b"}}, "3.11"),
        (b"lock", {**PROJECT, "build-system": {"requires": []}}, "3.11"),
        (b"lock", PROJECT, "3.12"),
    ],
)
def test_environment_is_made_again_when_what_it_holds_changes(
    lock: bytes, project: dict[str, object], version: str
) -> None:
    assert setup.venv_stamp(lock, project, version) != setup.venv_stamp(b"lock", PROJECT, "3.11")


def test_environment_is_kept_when_a_linters_table_changes() -> None:
    changed = {**PROJECT, "tool": {}}
    assert setup.venv_stamp(b"lock", changed, "3.11") == setup.venv_stamp(b"lock", PROJECT, "3.11")


def test_half_made_environment_has_no_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: object) -> None:
        raise Missing("pip failed.", "Mend it.")

    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(setup, "run", fail)
    monkeypatch.setattr("venv.create", lambda folder, with_pip: Path(folder).mkdir())
    with pytest.raises(Missing, match="pip failed"):
        setup.set_up_venv()
    assert not (tmp_path / ".venv/set-up.stamp").exists()


def test_missing_programs_are_asked_for_by_package(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(setup, "apt_install", lambda packages, purpose: asked.append(packages))
    monkeypatch.setattr("shutil.which", lambda name, path: None if name in ("bwrap", "prlimit") else f"/usr/bin/{name}")
    setup.set_up_programs()
    assert asked == [["bubblewrap", "util-linux"]]
    monkeypatch.setattr("shutil.which", lambda name, path: f"/usr/bin/{name}")
    setup.set_up_programs()
    assert len(asked) == 1


def test_machine_that_cannot_be_set_up_ends_with_4_and_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise Missing("There is no bubblewrap.", "Have an administrator install: bubblewrap")

    monkeypatch.setenv("RENDER_JUDGE_RUNTIME", str(tmp_path / "runtime"))
    monkeypatch.setattr(setup, "set_up_venv", lambda: None)
    monkeypatch.setattr(setup, "set_up_programs", fail)
    assert setup.main() == 4
    assert capsys.readouterr().err == "There is no bubblewrap.\nHave an administrator install: bubblewrap\n"


def test_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.version_info", (3, 10, 4))
    assert setup.main() == 4
    assert "3.11" in capsys.readouterr().err
