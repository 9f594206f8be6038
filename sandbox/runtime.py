"""Where set-up put Storm, the interpreter that runs it, and the trusted lock of images.

The runtime folder is ``$RENDER_JUDGE_RUNTIME``, else ``.runtime`` of the checkout, else
``$XDG_DATA_HOME/render-judge``. In it: ``site/``, optionally ``root/`` (a Debian 13 file system),
``interpreter`` (a text file with one path) and ``images.json``.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import RuntimeMissing

_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SET_UP = "Run `make setup`, or point RENDER_JUDGE_RUNTIME at a folder that set-up filled."


@dataclass(frozen=True)
class Runtime:
    """What a host backend needs in order to start the renderer."""

    interpreter: Path | None
    """Python 3.13 of this machine; None where only ``root`` brings one."""
    site: Path
    root: Path | None
    """A whole Debian 13 file system whose /usr/bin/python3 is 3.13; None where set-up made none."""


def source_folder() -> Path:
    """The folder that holds ``renderer/`` and ``profiles/``: a checkout's top, or site-packages."""
    return Path(__file__).resolve().parent.parent


def runtime_folder() -> Path:
    """The runtime folder by the rule above; it need not exist."""
    named = os.environ.get("RENDER_JUDGE_RUNTIME")
    if named:
        return Path(named).absolute()
    checkout = source_folder() / ".runtime"
    if checkout.is_dir():
        return checkout
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "render-judge"


def find_runtime() -> Runtime:
    """Finds Storm and its interpreter. Raises :class:`RuntimeMissing` where either is not there."""
    folder = runtime_folder()
    site = folder / "site"
    if not (site / "bpy" / "lib" / "libusd_ms.so").is_file():
        raise RuntimeMissing("storm_missing", f"There is no Storm in {site}.", _SET_UP)
    root = folder / "root"
    interpreter = _interpreter(folder / "interpreter")
    has_root = (root / "usr" / "bin" / "python3").exists()
    if interpreter is None and not has_root:
        raise RuntimeMissing("interpreter_missing", f"There is neither an interpreter nor a root in {folder}.", _SET_UP)
    return Runtime(interpreter, site, root if has_root else None)


def _interpreter(note: Path) -> Path | None:
    try:
        path = Path(note.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise RuntimeMissing("interpreter_missing", f"{note} cannot be read.", _SET_UP) from error
    if not path.is_absolute() or not os.access(path, os.X_OK) or not path.is_file():
        raise RuntimeMissing("interpreter_missing", f"{note} names {path}, which is no program.", _SET_UP)
    return path


def read_images(lock: Path | None = None) -> dict[str, str]:
    """The trusted lock: image ID to the code_sha256 that was hashed in that image, last built last.

    Raises :class:`RuntimeMissing` where the lock is absent or is not such a mapping.
    """
    lock = runtime_folder() / "images.json" if lock is None else lock
    remedy = "Build the images with `make image`."
    try:
        found = json.loads(lock.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise RuntimeMissing("image_lock_missing", f"There is no lock of images at {lock}.", remedy) from error
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeMissing("image_lock_invalid", f"The lock of images at {lock} cannot be read.", remedy) from error
    valid = isinstance(found, dict) and all(
        _IMAGE_ID.fullmatch(image) and isinstance(code, str) and _SHA256.fullmatch(code)
        for image, code in found.items()
    )
    if not valid:
        raise RuntimeMissing("image_lock_invalid", f"The lock at {lock} does not map image IDs to hashes.", remedy)
    return dict(found)
