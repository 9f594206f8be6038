"""Drives the real renderer in a process of its own, without an isolation backend, for tests of pictures."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import renderer
from renderer.profile import load_profile
from renderer.protocol import Camera, Cameras, Done, Facts, Frame, Hello, Job, Refused, parse_header
from sandbox.process import find_program
from sandbox.runtime import find_runtime

TEST_PROFILES = Path(__file__).parent / "profiles"
SOURCES = Path(renderer.__file__).resolve().parent


@dataclass
class Drawn:
    """Everything that one render said."""

    hello: Hello | None = None
    cameras: tuple[Camera, ...] = ()
    low: tuple[float, float, float] = (0, 0, 0)
    high: tuple[float, float, float] = (0, 0, 0)
    frames: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    coverage: dict[str, float] = field(default_factory=dict)
    refused: Refused | None = None
    facts: Facts | None = None
    exit_code: int = 0
    log: str = ""

    @property
    def codes(self) -> set[str]:
        """Codes of the notes that the render left."""
        return {note.code for note in self.facts.notes} if self.facts else set()


def wire(files: dict[str, bytes], job: Job) -> bytes:
    """The stream that a sandbox gets on its stdin."""
    parts = [len(files).to_bytes(4, "big")]
    for name, data in files.items():
        path = name.encode()
        parts += [len(path).to_bytes(2, "big"), path, len(data).to_bytes(8, "big"), data]
    body = job.model_dump_json().encode()
    return b"".join([*parts, len(body).to_bytes(4, "big"), body])


def draw(
    files: dict[str, bytes],
    root_layer: str,
    *,
    cameras: Sequence[Camera] | None = None,
    focus_prims: Sequence[str] = (),
    view_seed: int | None = None,
) -> Drawn:
    """Draws the files under the small test profile."""
    loaded = load_profile(TEST_PROFILES, "tiny-v1")
    job = Job(
        role="candidate" if cameras else "reference",
        root_layer=root_layer,
        profile_id=loaded.profile.id,
        profile_sha256=loaded.sha256,
        cameras=tuple(cameras) if cameras else None,
        focus_prims=tuple(focus_prims),
        view_seed=view_seed,
    )
    done = run_renderer(wire(files, job))
    return _read(done.stdout, done.returncode, done.stderr.decode("utf-8", "replace"))


def run_renderer(data: bytes) -> subprocess.CompletedProcess[bytes]:
    """Runs the renderer on what a sandbox would get on its stdin, under the tests' own profiles."""
    runtime = find_runtime()
    python = "/usr/bin/python3" if runtime.interpreter is None else str(runtime.interpreter)
    command = [python, "-I", "-B", str(SOURCES / "__main__.py")]
    command += ["--site", str(runtime.site), "--profiles", str(TEST_PROFILES)]
    with tempfile.TemporaryDirectory() as home:
        if runtime.interpreter is None:
            assert runtime.root is not None
            command = [*_inside(runtime.root, runtime.site, home), *command]
        environment = {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}
        return subprocess.run(
            command, input=data, capture_output=True, env=environment, cwd=home, timeout=240, check=False
        )


def _inside(root: Path, site: Path, home: str) -> list[str]:
    """The words that run a command in set-up's own root, where this machine has no Python 3.13.

    Every path keeps its name, and nothing is isolated that a test could rely on.
    """
    words = [find_program("bwrap", "Install bubblewrap."), "--die-with-parent", "--unshare-net"]
    for name in ("usr", "etc"):
        words += ["--ro-bind", str(root / name), f"/{name}"]
    for name in ("bin", "lib", "lib64"):
        words += ["--symlink", f"usr/{name}", f"/{name}"]
    words += ["--proc", "/proc", "--dev", "/dev"]
    for folder in (SOURCES, TEST_PROFILES, site):
        words += ["--ro-bind", str(folder), str(folder)]
    return [*words, "--bind", home, home, "--chdir", home, "--"]


def _read(data: bytes, exit_code: int, log: str) -> Drawn:
    drawn, at = Drawn(exit_code=exit_code, log=log[-4000:]), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        header = parse_header(data[at + 4 : at + 4 + size])
        at += 4 + size
        if isinstance(header, Frame):
            pixels = np.frombuffer(data[at : at + header.payload_bytes], np.uint8)
            drawn.frames[header.view_id] = pixels.reshape(header.height, header.width, 3)
            drawn.coverage[header.view_id] = header.coverage
            at += header.payload_bytes
        elif isinstance(header, Cameras):
            drawn.cameras, drawn.low, drawn.high = header.cameras, header.bounds_min, header.bounds_max
        elif isinstance(header, Hello):
            drawn.hello = header
        elif isinstance(header, Refused):
            drawn.refused = header
        elif isinstance(header, Done):
            drawn.facts = header.facts
    return drawn
