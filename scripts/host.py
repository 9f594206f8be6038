"""Small things that set-up needs of the machine: running commands, and apt where it may.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
EXIT_INFRASTRUCTURE = 4


class Missing(Exception):
    """This machine lacks something that set-up cannot bring. One sentence, and a remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def runtime_folder() -> Path:
    """Where Storm and the engine's data are kept: the same rule that the appliance follows, for a checkout."""
    named = os.environ.get("RENDER_JUDGE_RUNTIME")
    return Path(named).absolute() if named else CHECKOUT / ".runtime"


def say(text: str) -> None:
    """One line a step."""
    print(f"set-up: {text}", flush=True)


def run(command: Sequence[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Runs a command quietly. Raises :class:`Missing` with the end of its output when it fails."""
    done = subprocess.run(  # type: ignore[call-overload]
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        tail = " ".join((done.stderr or done.stdout).split())[-400:]
        raise Missing(f"{' '.join(map(str, command[:3]))} failed: {tail}", "Mend the cause and run it again.")
    result: subprocess.CompletedProcess[str] = done
    return result


def privileged() -> list[str] | None:
    """Words in front of a command that needs root; None where there is no way to it."""
    if os.geteuid() == 0:
        return []
    if (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        return ["sudo", "-n"]
    return None


def apt_install(packages: Sequence[str], purpose: str) -> None:
    """Installs Debian packages where that is allowed. Raises :class:`Missing` naming them where it is not."""
    words = privileged()
    if words is None or shutil.which("apt-get") is None:
        raise Missing(
            f"{purpose} needs system packages that are not installed.",
            f"Have an administrator install: {' '.join(packages)}",
        )
    say(f"installing {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = [*words, "apt-get", "install", "-y", "--no-install-recommends", *packages]
    if subprocess.run(command, capture_output=True, env=environment, check=False).returncode:
        run([*words, "apt-get", "update"], env=environment)
        run(command, env=environment)


def end(error: Missing) -> int:
    """Says what is missing; the exit code of an infrastructure fault."""
    print(f"{error.message}\n{error.remedy}", file=sys.stderr)
    return EXIT_INFRASTRUCTURE
