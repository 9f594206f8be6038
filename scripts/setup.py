"""All of the project's own set-up, idempotent and quick when there is nothing to do.

    python3 scripts/setup.py

The environment in ``.venv``, the locked packages, Storm in ``.runtime``, an interpreter for it, and the
programs that sandboxes need. Standard library only, Python 3.11 or newer. Exit code 4 with a remedy where
this machine cannot be set up.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.host import CHECKOUT, SYSTEM_PATH, Missing, apt_install, end, run, runtime_folder, say
from scripts.interpreter import set_up_interpreter
from scripts.storm_site import set_up_site

VENV = CHECKOUT / ".venv"
LOCK = CHECKOUT / "locks" / "trusted.txt"
PYTHON = VENV / "bin" / "python"
PROGRAMS = {"bwrap": "bubblewrap", "setpriv": "util-linux", "prlimit": "util-linux", "unshare": "util-linux"}


def venv_stamp(lock: bytes, project: Mapping[str, object], version: str) -> str:
    """What an environment was made from; pyproject's other tables, a linter's say, do not count. Pure."""
    installed = {name: project.get(name) for name in ("build-system", "project")}
    return hashlib.sha256(lock + json.dumps(installed, sort_keys=True).encode() + version.encode()).hexdigest()


def set_up_venv() -> None:
    """``.venv`` with exactly the locked packages and the project itself. Raises :class:`Missing`."""
    import tomllib  # not at the top: an older Python would stop there instead of being told its age

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = venv_stamp(LOCK.read_bytes(), project, sys.version)
    note = VENV / "set-up.stamp"
    if note.is_file() and note.read_text(encoding="utf-8") == wanted:
        return
    if not _has_bundled_pip():
        apt_install([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"], "A virtual environment")
    say("making .venv")
    try:
        note.unlink(missing_ok=True)
        if VENV.exists():
            shutil.rmtree(VENV)
        venv.create(VENV, with_pip=False)
        run([PYTHON, "-m", "ensurepip", "--upgrade", "--default-pip"])
        say("installing the locked packages")
        pip: list[str | Path] = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        run([*pip, "--require-hashes", "--requirement", LOCK])
        run([*pip, "--no-build-isolation", "--editable", CHECKOUT])
        note.write_text(wanted, encoding="utf-8")
    except OSError as error:
        raise Missing(f".venv cannot be made: {error.strerror}.", "Check the disk and its permissions.") from error


def _has_bundled_pip() -> bool:
    """Debian parts ensurepip's wheels from Python; the module can be there without them."""
    try:
        import ensurepip

        return bool(ensurepip.version())
    except (ImportError, OSError, StopIteration, ValueError):
        return False


def set_up_programs() -> None:
    """bubblewrap and the tools of util-linux. Raises :class:`Missing`."""
    missing = sorted({package for name, package in PROGRAMS.items() if shutil.which(name, path=SYSTEM_PATH) is None})
    if missing:
        apt_install(missing, "The bubblewrap sandbox")


def main() -> int:
    """Runs every step in order; the exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this very check is why the script starts on older ones
        return end(Missing("render-judge needs Python 3.11 or newer.", "Run make with PYTHON=python3.11 or newer."))
    runtime = runtime_folder()
    try:
        runtime.mkdir(parents=True, exist_ok=True)
        with (runtime / "set-up.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            set_up_venv()
            set_up_programs()
            set_up_site(runtime, [str(PYTHON), "-m", "pip", "--disable-pip-version-check"])
            set_up_interpreter(runtime)
    except Missing as error:
        return end(error)
    except OSError as error:
        return end(Missing(f"{runtime} cannot be filled: {error.strerror}.", "Check the disk and its permissions."))
    return 0


if __name__ == "__main__":
    sys.exit(main())
