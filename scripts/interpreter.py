"""Finds Storm's interpreter, CPython 3.13, wherever the usual tools put it, and proves that it can draw.

Where this machine has none, or no EGL for it, set-up makes a Debian 13 root instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.host import CHECKOUT, Missing, apt_install, privileged, run, say

MESA = ("libegl1", "libgl1", "libgl1-mesa-dri", "libegl-mesa0", "libglx-mesa0")
X11 = ("libx11-6", "libxext6", "libsm6", "libice6", "libxi6", "libxrender1", "libxkbcommon0")
SUITE = "trixie"
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
    yield Path("/usr/bin/python3.13")
    yield Path("/usr/local/bin/python3.13")


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


def can_draw(interpreter: Path, site: Path) -> bool:
    """Does Storm load, and does Mesa give an OpenGL context, under this interpreter?"""
    with tempfile.TemporaryDirectory() as empty:
        environment = {"PATH": "/usr/bin:/bin", "HOME": empty, "TMPDIR": empty, "LANG": "C.UTF-8"}
        command = [str(word) for word in (interpreter, "-I", "-B", "-c", _PROBE, site, CHECKOUT)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=empty, check=False)
    return done.returncode == 0 and "llvmpipe" in done.stdout


def set_up_interpreter(runtime: Path) -> None:
    """Notes an interpreter that can draw in ``runtime/interpreter``, or makes ``runtime/root``.

    Raises :class:`Missing` where neither is possible.
    """
    note, site, root = runtime / "interpreter", runtime / "site", runtime / "root"
    if note.is_file() and can_draw(Path(note.read_text(encoding="utf-8").strip()), site):
        return
    note.unlink(missing_ok=True)  # one that cannot draw any more must not hide a root that can
    if (root / "usr" / "bin" / "python3").exists():
        return
    found = find_interpreter()
    if found is not None and not can_draw(found, site):
        try:
            apt_install([*MESA, *X11], "Drawing without a display")
        except Missing as error:
            say(error.message)
    if found is not None and can_draw(found, site):
        say(f"Storm runs on {found}")
        note.write_text(f"{found}\n", encoding="utf-8")
        return
    make_root(root)


def make_root(root: Path) -> None:
    """A Debian 13 file system with Python 3.13 and Mesa, whole or not at all. Raises :class:`Missing`."""
    words = privileged()
    if words is None:
        raise Missing(
            "This machine has no Python 3.13 with Mesa's EGL, and making a Debian root for it needs root.",
            f"Install Python 3.13 and {' '.join(MESA)}, or run set-up once as root.",
        )
    if shutil.which("debootstrap", path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
        apt_install(["debootstrap"], "Making a Debian root")
    say("making a Debian 13 root for Storm (about a minute)")
    partial = root.with_name("root.partial")
    run([*words, "rm", "-rf", partial])
    packages = ",".join(("ca-certificates", "python3", *MESA, *X11))
    try:
        run([*words, "debootstrap", "--variant=minbase", f"--include={packages}", SUITE, partial])
    except Missing as error:
        run([*words, "rm", "-rf", partial])
        raise Missing(
            f"A Debian 13 root cannot be made: {error.message}",
            f"Install Python 3.13 and {' '.join(MESA)} on this machine instead.",
        ) from error
    run([*words, "rm", "-rf", *(partial / "var/cache/apt/archives", partial / "var/lib/apt/lists")])
    run([*words, "mv", partial, root])
