"""What set-up asks of a machine, and what it says where it may not."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts import host


def test_command_that_fails_says_how(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(host.Missing) as caught:
        host.run(["sh", "-c", "echo quiet; echo the very reason >&2; exit 3"])
    assert "the very reason" in caught.value.message
    assert capfd.readouterr() == ("", "")


def test_runtime_folder_follows_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RENDER_JUDGE_RUNTIME", str(tmp_path))
    assert host.runtime_folder() == tmp_path
    monkeypatch.delenv("RENDER_JUDGE_RUNTIME")
    assert host.runtime_folder() == host.CHECKOUT / ".runtime"


def test_only_installed_packages_count_as_there() -> None:
    listed = "libegl1 installed\nlibgl1 config-files\nlibegl1-mesa installed\n"
    assert host.absent(["libegl1", "libgl1", "bubblewrap"], listed) == ["libgl1", "bubblewrap"]


def test_packages_that_may_not_be_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "not_installed", lambda packages: [name for name in packages if name != "util-linux"])
    monkeypatch.setattr(host, "privileged", lambda: None)
    host.apt_install(["util-linux"], "Nothing")
    with pytest.raises(host.Missing) as caught:
        host.apt_install(["bubblewrap", "util-linux", "tini"], "The sandbox")
    assert caught.value.message == "The sandbox needs system packages that are not installed: bubblewrap tini."


@pytest.mark.parametrize(("first", "commands"), [(0, ["install"]), (100, ["install", "update", "install"])])
def test_lists_are_fetched_only_where_the_install_needs_them(
    first: int, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def fake(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        called.append(command[command.index("apt-get") + 1])
        assert command[:4] == ["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive"]
        return subprocess.CompletedProcess(command, first if len(called) == 1 else 0, "", "")

    monkeypatch.setattr(host, "not_installed", list)
    monkeypatch.setattr(host, "privileged", lambda: ["sudo", "-n"])
    monkeypatch.setattr("shutil.which", lambda name, path=None: f"/usr/bin/{name}")
    monkeypatch.setattr("subprocess.run", fake)
    host.apt_install(["bubblewrap"], "The bubblewrap sandbox")
    assert called == commands


def test_program_that_is_not_there_is_named() -> None:
    with pytest.raises(host.Missing, match="/nowhere/at-all cannot be started: No such file or directory"):
        host.run(["/nowhere/at-all"])


def test_end_is_one_sentence_and_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert host.end(host.Missing("It is not there.", "Bring it.")) == 4
    assert capsys.readouterr().err == "It is not there.\nBring it.\n"
