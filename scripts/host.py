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
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"


class Missing(Exception):
    """This machine lacks something that set-up cannot bring. One sentence, and a remedy."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def say(text: str) -> None:
    """One line a step."""
    print(f"set-up: {text}", flush=True)


def runtime_folder() -> Path:
    """Where set-up puts what it makes: the same rule that the appliance follows, for a checkout."""
    named = os.environ.get("RENDER_JUDGE_RUNTIME")
    return Path(named).absolute() if named else CHECKOUT / ".runtime"


def run(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> str:
    """Runs a command quietly; its output. Raises :class:`Missing` with the end of it when it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, env=environment)
    except OSError as error:
        raise Missing(f"{words[0]} cannot be started: {error.strerror}.", f"Install {words[0]}.") from error
    if done.returncode:
        tail = " ".join((done.stderr.strip() or done.stdout).split())[-400:]
        raise Missing(f"`{' '.join(words[:3])}` failed: {tail}", "Mend the cause and run it again.")
    return done.stdout


def privileged() -> list[str] | None:
    """Words in front of a command that needs root; None where there is no way to it."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode == 0:
        return [sudo, "-n"]
    return None


def not_installed(packages: Sequence[str]) -> list[str]:
    """Those of the Debian packages that are not installed; all where there is no dpkg to ask."""
    if shutil.which("dpkg-query", path=SYSTEM_PATH) is None:
        return list(packages)
    command = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *packages]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return absent(packages, listed)


def absent(packages: Sequence[str], listed: str) -> list[str]:
    """Those that a listing of "name status" lines does not call installed. Pure."""
    present = set(listed.splitlines())
    return [package for package in packages if f"{package} installed" not in present]


def apt_install(packages: Sequence[str], purpose: str) -> None:
    """Installs Debian packages where that is allowed. Raises :class:`Missing` naming those that are missing."""
    packages = not_installed(packages)
    if not packages:
        return
    words = privileged()
    if words is None or shutil.which("apt-get", path=SYSTEM_PATH) is None:
        raise Missing(
            f"{purpose} needs system packages that are not installed: {' '.join(packages)}.",
            "Have an administrator install them (these are Debian's names), and run it again.",
        )
    say(f"installing {' '.join(packages)}")
    # By env, since sudo keeps no variables.
    apt = [*words, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    command = [*apt, "install", "-y", "--no-install-recommends", *packages]
    try:
        run(command)
    except Missing:
        run([*apt, "update"])
        run(command)


def end(error: Missing) -> int:
    """Says what is missing; the exit code of an infrastructure fault."""
    print(f"{error.message}\n{error.remedy}", file=sys.stderr)
    return EXIT_INFRASTRUCTURE
