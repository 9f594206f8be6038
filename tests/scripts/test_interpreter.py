"""Where Storm's Python is looked for, and what happens where there is none."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scripts import debian, interpreter
from scripts.host import Missing


def program(path: Path, answer: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {answer}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a PATH of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("PYENV_ROOT", "XDG_DATA_HOME", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_usual_tools_are_asked_in_order(machine: Path) -> None:
    made = [
        program(machine / "bin/python3.13", "x"),
        program(machine / "bin/python3", "x"),
        program(machine / ".pyenv/versions/3.13.9/bin/python3.13", "x"),
        program(machine / ".pyenv/versions/3.13.0/bin/python3.13", "x"),
        program(machine / ".local/share/uv/python/cpython-3.13.1-linux/bin/python3.13", "x"),
    ]
    program(machine / ".pyenv/versions/3.12.1/bin/python3.12", "x")
    system = [Path("/usr/bin/python3.13"), Path("/usr/local/bin/python3.13")]
    assert list(interpreter.candidates()) == [*made, *system]


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("PYENV_ROOT", "versions/3.13.0/bin/python3.13"),
        ("UV_PYTHON_INSTALL_DIR", "cpython-3.13.1/bin/python3.13"),
        ("XDG_DATA_HOME", "uv/python/cpython-3.13.1/bin/python3.13"),
    ],
)
def test_tools_are_found_where_their_variables_say(
    variable: str, place: str, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(machine / "elsewhere"))
    made = program(machine / "elsewhere" / place, "x")
    assert made in list(interpreter.candidates())


def test_first_that_is_3_13_is_taken_by_its_real_path(machine: Path) -> None:
    program(machine / "bin/python3.13", "False /an/old/one")
    program(machine / "bin/python3", "True /the/real/one")
    assert interpreter.find_interpreter() == Path("/the/real/one")


def test_broken_programs_are_passed_over(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = machine / "bin/python3.13"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho True /x\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(interpreter, "candidates", lambda: iter([broken, machine / "not-there"]))
    assert interpreter.find_interpreter() is None


def set_up(
    monkeypatch: pytest.MonkeyPatch, *, found: Path | None, draws: Callable[[], bool], installs: bool = True
) -> list[str]:
    """Puts doubles in place of the machine; what was done to it. A Debian root's Python always draws."""
    done: list[str] = []

    def install(packages: Sequence[str], purpose: str) -> None:
        done.append("apt")
        if not installs:
            raise Missing(f"{purpose} lacks something.", " ".join(packages))

    def make(root: Path, packages: Sequence[str]) -> None:
        done.append("root")
        assert {"python3", *interpreter.MESA, *interpreter.X11} <= set(packages)
        program(root / "usr/bin/python3", "x")

    def why_not(one: Path, site: Path) -> str | None:
        return None if one.parent == site.parent or draws() else "no EGL"

    monkeypatch.setattr(interpreter, "find_interpreter", lambda: found)
    monkeypatch.setattr(interpreter, "why_not", why_not)
    monkeypatch.setattr(interpreter, "apt_install", install)
    monkeypatch.setattr(interpreter, "make_debian", make)
    return done


def test_interpreter_that_draws_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = set_up(monkeypatch, found=Path("/the/real/one"), draws=lambda: True)
    interpreter.set_up_interpreter(tmp_path)
    assert (done, (tmp_path / "interpreter").read_text()) == ([], "/the/real/one\n")


def test_mesa_is_installed_for_an_interpreter_that_cannot_draw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([False, True])
    done = set_up(monkeypatch, found=Path("/the/real/one"), draws=lambda: next(answers))
    interpreter.set_up_interpreter(tmp_path)
    assert (done, (tmp_path / "interpreter").read_text()) == (["apt"], "/the/real/one\n")


@pytest.mark.parametrize(
    ("found", "installs", "steps"),
    [(None, True, ["root"]), (Path("/x"), True, ["apt", "root"]), (Path("/x"), False, ["apt", "root"])],
)
def test_root_is_made_where_nothing_draws(
    found: Path | None, installs: bool, steps: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interpreter").write_text("/one/that/is/gone\n")
    done = set_up(monkeypatch, found=found, draws=lambda: False, installs=installs)
    interpreter.set_up_interpreter(tmp_path)
    assert (done, (tmp_path / "interpreter").read_text()) == (steps, f"{tmp_path}/python3.13\n")
    assert os.access(tmp_path / "python3.13", os.X_OK)


def test_existing_root_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "root/usr/bin/python3", "x")
    done = set_up(monkeypatch, found=None, draws=lambda: False)
    interpreter.set_up_interpreter(tmp_path)
    assert (done, (tmp_path / "interpreter").read_text()) == ([], f"{tmp_path}/python3.13\n")


def test_machine_without_a_python_and_without_root_is_told_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "find_interpreter", lambda: None)
    monkeypatch.setattr(debian, "privileged", lambda: None)
    with pytest.raises(Missing) as caught:
        interpreter.set_up_interpreter(tmp_path)
    assert "no Python 3.13 here that can draw" in caught.value.message
    assert "libegl1" in caught.value.remedy


def test_root_that_cannot_be_used_is_an_error_and_not_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "root/usr/bin/python3", "x")
    set_up(monkeypatch, found=None, draws=lambda: False)
    monkeypatch.setattr(interpreter, "why_not", lambda one, site: "mounting is not permitted")
    with pytest.raises(Missing, match="mounting is not permitted"):
        interpreter.set_up_interpreter(tmp_path)
    assert not (tmp_path / "interpreter").exists()


def test_interpreter_that_cannot_draw_is_told_why(tmp_path: Path) -> None:
    reason = interpreter.why_not(Path(sys.executable), tmp_path)
    # What is missing first depends on the machine: the driver, or a package beside Storm.
    assert reason is not None and re.search(r"libEGL|OpenGL|UsdImagingGL", reason), reason
    nowhere = tmp_path / "python3.13"
    assert interpreter.why_not(nowhere, tmp_path) == f"{nowhere} cannot be started: No such file or directory"


@pytest.mark.parametrize("works", [True, False])
def test_root_is_whole_or_not_there(works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[str]] = []

    def fake(command: Sequence[str | Path]) -> str:
        words = [str(word) for word in command]
        if words[0] != "debootstrap":
            return subprocess.run(words, capture_output=True, text=True, check=True).stdout
        made.append(words)
        program(Path(words[-1]) / "usr/bin/python3", "x")
        program(Path(words[-1]) / "etc/fstab", "x")
        if not works:
            raise Missing("debootstrap failed: no network", "Mend it.")
        return ""

    monkeypatch.setattr(debian, "privileged", list)
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/usr/sbin/{name}")
    monkeypatch.setattr(debian, "run", fake)
    if works:
        debian.make_debian(tmp_path / "root", ("python3", "libegl1"))
    else:
        with pytest.raises(Missing, match="no network"):
            debian.make_debian(tmp_path / "root", ("python3", "libegl1"))
    assert [path.name for path in tmp_path.iterdir()] == (["root"] if works else [])
    assert not (tmp_path / "root/etc/fstab").exists()
    assert {"--force-check-gpg", "--include=python3,libegl1"} <= set(made[0])
