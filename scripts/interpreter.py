"""Finds Storm's interpreter, CPython 3.13, wherever the usual tools put it, and proves that it can draw.

Where this machine has none, or no EGL for it, set-up makes a Debian 13 root. The sandbox takes that root
as its own; ``runtime/python3.13`` starts its Python beside the machine's files, for what runs unconfined.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.debian import make_debian
from scripts.host import CHECKOUT, Missing, apt_install, say

MESA = ("libegl1", "libgl1", "libgl1-mesa-dri", "libegl-mesa0", "libglx-mesa0")
X11 = ("libx11-6", "libxext6", "libsm6", "libice6", "libxi6", "libxrender1", "libxkbcommon0")
SYSTEM_PYTHONS = (Path("/usr/bin/python3.13"), Path("/usr/local/bin/python3.13"))
_WHICH = "import os, sys; print(sys.version_info[:2] == (3, 13), os.path.realpath(sys.executable))"
_PROBE = """
import sys
site, checkout = sys.argv[1:]
storm = site + "/bpy/5.2/python/lib/python3.13/site-packages"
sys.path[:0] = [checkout, storm, site]
from renderer import egl
print(egl.make_context("cpu").renderer)
from pxr import UsdImagingGL
"""
# Every exec replaces the last, so the pid, signals and limits are those of the Python that runs.
_STARTER = """\
#!/bin/sh
# Python 3.13 and Mesa of the Debian root beside this file, over this machine's /usr, for one process.
if [ "$(id -u)" = 0 ]; then as=; else as=--map-root-user; fi
exec unshare $as --mount --propagation private -- \\
    /bin/sh -c 'mount --bind "$0/usr" /usr && unset PWD && exec /usr/bin/python3 "$@"' "${0%/*}/root" "$@"
"""


def candidates() -> Iterator[Path]:
    """Places where PATH, pyenv, Debian and uv keep a Python 3.13."""
    for name in ("python3.13", "python3"):
        found = shutil.which(name)
        if found:
            yield Path(found)
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    yield from sorted(pyenv.glob("versions/3.13*/bin/python3.13"), reverse=True)
    yield from sorted(uv.glob("cpython-3.13*/bin/python3.13"), reverse=True)
    yield from SYSTEM_PYTHONS


def find_interpreter() -> Path | None:
    """The real path of the first candidate that is CPython 3.13; uv fetches one where it can."""
    for candidate in candidates():
        found = _real(candidate)
        if found is not None:
            return found
    uv = shutil.which("uv")
    if uv and subprocess.run([uv, "python", "install", "3.13"], capture_output=True, check=False).returncode == 0:
        done = subprocess.run([uv, "python", "find", "3.13"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return _real(Path(done.stdout.strip()))
    return None


def _real(candidate: Path) -> Path | None:
    if not os.access(candidate, os.X_OK):
        return None
    done = subprocess.run([candidate, "-I", "-c", _WHICH], capture_output=True, text=True, check=False)
    version, _, path = done.stdout.strip().partition(" ")
    return Path(path) if done.returncode == 0 and version == "True" else None


def why_not(interpreter: Path, site: Path) -> str | None:
    """What keeps this interpreter from loading Storm and drawing with Mesa; None where nothing does."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {"PATH": "/usr/bin:/bin", "HOME": empty, "TMPDIR": empty, "LANG": "C.UTF-8"}
        command = [str(word) for word in (interpreter, "-I", "-B", "-c", _PROBE, site, CHECKOUT)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=empty, check=False)
        except OSError as error:
            return f"{interpreter} cannot be started: {error.strerror}"
    if done.returncode == 0:
        return None if "llvmpipe" in done.stdout else f"it draws with {done.stdout.strip()} instead of Mesa's llvmpipe"
    return (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]


def set_up_interpreter(runtime: Path) -> None:
    """Notes an interpreter that can draw in ``runtime/interpreter``; makes ``runtime/root`` where it has to.

    Raises :class:`Missing` where neither is possible.
    """
    note, site = runtime / "interpreter", runtime / "site"
    if note.is_file() and why_not(Path(note.read_text(encoding="utf-8").strip()), site) is None:
        return
    note.unlink(missing_ok=True)
    found = None if (runtime / "root").exists() else _of_this_machine(site)
    if found is None:
        found = _of_a_root(runtime)
    say(f"Storm runs on {found}")
    partial = note.with_suffix(".partial")
    partial.write_text(f"{found}\n", encoding="utf-8")
    partial.rename(note)


def _of_this_machine(site: Path) -> Path | None:
    found = find_interpreter()
    if found is None:
        return None
    if why_not(found, site) is not None:
        try:
            apt_install([*MESA, *X11], "Drawing without a display")
        except Missing as error:
            say(f"{error.message} Trying a Debian root instead")
    reason = why_not(found, site)
    if reason is not None:
        say(f"{found} cannot draw ({reason})")
    return found if reason is None else None


def _of_a_root(runtime: Path) -> Path:
    root = runtime / "root"
    needs = f"Install Python 3.13 and {' '.join((*MESA, *X11))} on this machine (Debian's names), or"
    if not root.exists():
        say("making a Debian 13 root for Storm (a minute or more)")
        try:
            make_debian(root, ("ca-certificates", "python3", *MESA, *X11))
        except Missing as error:
            raise Missing(
                f"There is no Python 3.13 here that can draw. {error.message}", f"{needs} run set-up once as root."
            ) from error
    starter = runtime / "python3.13"
    partial = starter.with_suffix(".partial")
    partial.write_text(_STARTER, encoding="utf-8")
    partial.chmod(0o755)
    partial.rename(starter)
    reason = why_not(starter, runtime / "site")
    if reason is not None:
        raise Missing(
            f"The Debian root cannot be used here: {reason}.",
            f"{needs} allow this user to mount in a namespace of its own.",
        )
    return starter
