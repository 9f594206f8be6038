"""Builds the renderer's image, hashes what is in it, and writes the trusted lock.

The image gets the prepared Storm site and this checkout's renderer and profiles; no package index is
needed inside the build. What was really built is read back as a stream and hashed on the trusted side;
only an image that holds exactly what this checkout holds goes into the lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import docker
from docker.errors import APIError, DockerException, ImageNotFound
from requests.exceptions import RequestException

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from appliance.code_hash import image_sha256
from receipt.digests import Entry, manifest_sha256
from sandbox import SandboxError, find_runtime, storm_files
from scripts.debian import SUITE, make_debian
from scripts.host import (
    CHECKOUT,
    Missing,
    end,
    privileged,
    run,
    runtime_folder,
    say,
)

REPOSITORY, BASE_TAG = "debian", f"{SUITE}-slim"
TAG = "render-judge-renderer"


class _Chunks(io.RawIOBase):
    """A readable stream over the chunks of a generator."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._left = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = next(self._chunks, b"")
        taken = self._left[: len(buffer)]
        buffer[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        return len(taken)


def main() -> int:
    """Builds and locks the image unless the lock has this very content; the exit code."""
    try:
        client = docker.from_env(timeout=600)
        wanted = image_sha256(CHECKOUT)
        lock = runtime_folder() / "images.json"
        locked = json.loads(lock.read_text("utf-8")) if lock.is_file() else {}
        if any(code == wanted and _there(client, image) for image, code in locked.items()):
            return 0
        _require_base(client, lock.parent)
        say("building the renderer's image")
        image = _build(client)
        found = _hash_image(client, image)
        if found != wanted:
            raise Missing("The built image does not hold this checkout's renderer.", "Build it again.")
        _write_lock(lock, {str(image.id): found})
        _forget(client, [old for old in locked if old != image.id])
        size = int(image.attrs["Size"]) / 1e6
        say(f"image {image.id[:19]} of {size:.0f} MB is locked")
        return 0
    except Missing as error:
        return end(error)
    except SandboxError as error:
        return end(Missing(error.message, error.remedy))
    except (DockerException, RequestException) as error:
        return end(Missing(f"The Docker engine failed: {error}", "Start an engine, and run `make image` again."))


def _forget(client: docker.DockerClient, images: Iterable[str]) -> None:
    """Removes what earlier builds left in the engine; what is in use, or not there, stays as it is."""
    for image in images:
        with contextlib.suppress(APIError):
            client.images.remove(image)


def _there(client: docker.DockerClient, image: str) -> bool:
    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


def _require_base(client: docker.DockerClient, runtime: Path) -> None:
    """The base image: there, pulled, or made by debootstrap where none can be pulled."""
    if _there(client, f"{REPOSITORY}:{BASE_TAG}"):
        return
    try:
        client.images.pull(REPOSITORY, tag=BASE_TAG)
        return
    except APIError:
        say("no base image can be pulled; making one with debootstrap")
    words = privileged()
    if words is None:
        raise Missing(
            "The base image can be neither pulled nor made, which needs root.",
            f"Load {REPOSITORY}:{BASE_TAG} into the engine, or run `make image` once as root.",
        )
    with tempfile.TemporaryDirectory(prefix="base-", dir=runtime) as folder:
        root, archive = Path(folder) / "root", Path(folder) / "root.tar"
        try:
            make_debian(root, ("ca-certificates",))
            run([*words, "tar", "-C", root, "-cf", archive, "."])
        finally:
            run([*words, "rm", "-rf", root])
        client.api.import_image_from_file(str(archive), repository=REPOSITORY, tag=BASE_TAG)


def _build(client: docker.DockerClient) -> Any:
    with tempfile.TemporaryFile() as context:
        _write_context(cast("IO[bytes]", context))
        context.seek(0)
        output = client.api.build(
            fileobj=context, custom_context=True, tag=TAG, target="renderer", rm=True, decode=True, network_mode="host"
        )
        for line in output:
            if "error" in line:
                raise Missing(f"The image cannot be built: {line['error'].strip()}", "Mend the cause and build again.")
    return client.images.get(TAG)


def _write_context(target: IO[bytes]) -> None:
    """Only what the Dockerfile copies, with fixed owners and times."""
    site = find_runtime().site
    with tarfile.open(fileobj=target, mode="w") as tar:
        _add(tar, CHECKOUT / "Dockerfile", "Dockerfile")
        for folder, pattern in (("renderer", "*.py"), ("profiles", "*")):
            for path in sorted((CHECKOUT / folder).rglob(pattern)):
                if path.is_file():
                    _add(tar, path, path.relative_to(CHECKOUT).as_posix())
        listed = set(storm_files(site))
        for base, _, names in os.walk(site):
            for name in sorted(names):
                path = Path(base, name)
                relative = path.relative_to(site).as_posix()
                if relative in listed or (not relative.startswith("bpy/") and not name.endswith(".pyc")):
                    _add(tar, path, f"site/{relative}")


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    info = tar.gettarinfo(path, name)
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    with path.open("rb") as file:
        tar.addfile(info, file)


def _hash_image(client: docker.DockerClient, image: Any) -> str:
    """Hash of renderer, profiles and Storm as they lie in the image, which is never started for it."""
    container = client.containers.create(image.id, command=["true"], network_mode="none")
    try:
        stream, _ = container.get_archive("/opt")
        return manifest_sha256(_entries(io.BufferedReader(_Chunks(iter(stream)), 1 << 20)))
    finally:
        container.remove(force=True)


def _entries(stream: IO[bytes]) -> Iterator[Entry]:
    patterns = set(storm_files(find_runtime().site))
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            name = member.name.removeprefix("opt/")
            if member.isdir():
                continue
            if name.startswith("render-judge/"):
                shown = name.removeprefix("render-judge/")
            elif name.startswith("storm/") and (
                name.removeprefix("storm/") in patterns or name.startswith("storm/bpy/")
            ):
                shown = name
            else:
                continue
            file = tar.extractfile(member) if member.isreg() else None
            if file is None:
                raise Missing(f"The image holds a link at {name}.", "Build it again.")
            digest, size = hashlib.sha256(), 0
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
            yield shown, size, digest.hexdigest()


def _write_lock(lock: Path, images: dict[str, str]) -> None:
    partial = lock.with_suffix(".partial")
    partial.write_text(json.dumps(images, indent=2) + "\n", encoding="utf-8")
    subprocess.run(["sync", str(partial)], check=False)
    partial.rename(lock)


if __name__ == "__main__":
    sys.exit(main())
