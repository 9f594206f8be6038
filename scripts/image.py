"""Builds the images, hashes what is in them, and writes the trusted lock.

    python scripts/image.py [renderer|appliance]

``renderer`` builds the sandbox alone, and does nothing where the lock has this very content; ``appliance`` (what
``make image`` asks for) builds both. The images get prepared files and this checkout's sources; no package
index is needed inside the build. What was really built is read back as a stream and hashed on the trusted side;
only an image that holds exactly what this checkout holds goes into the lock.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, ContainerError, DockerException, ImageNotFound
from requests.exceptions import RequestException

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from appliance.code_hash import image_sha256
from receipt.digests import manifest_sha256
from sandbox import SandboxError, find_runtime, read_images
from scripts.debian import SUITE, make_debian
from scripts.host import CHECKOUT, Missing, end, privileged, run, runtime_folder, say
from scripts.image_content import Chunks, entries, write_context
from scripts.storm_site import set_up_packages

REPOSITORY, BASE_TAG = "debian", f"{SUITE}-slim"
TAGS = {"renderer": "render-judge-renderer", "appliance": "render-judge"}


def main(words: list[str]) -> int:
    """Builds and locks what is asked for; the exit code."""
    target = words[0] if words else "appliance"
    if target not in TAGS or len(words) > 1:
        print("usage: image.py [renderer|appliance]", file=sys.stderr)
        return 2
    try:
        client = docker.from_env(timeout=600)
        _renderer(client)
        if target == "appliance":
            _appliance(client)
        return 0
    except Missing as error:
        return end(error)
    except SandboxError as error:
        return end(Missing(error.message, error.remedy))
    except (DockerException, RequestException) as error:
        return end(Missing(f"The Docker engine failed: {error}", "Start an engine, and run `make image` again."))


def _renderer(client: docker.DockerClient) -> None:
    """Builds and locks the sandbox, unless the lock has this very content."""
    wanted = image_sha256(CHECKOUT)
    lock = runtime_folder() / "images.json"
    locked = read_images(lock) if lock.is_file() else {}
    if any(code == wanted and _there(client, image) for image, code in locked.items()):
        return
    _require_base(client)
    image = _build(client, "renderer", None)
    _require_content(client, image, wanted)
    _write_lock(lock, {str(image.id): wanted})
    _forget(client, [old for old in locked if old != image.id])


def _appliance(client: docker.DockerClient) -> None:
    """Builds the trusted half around the same renderer, and sees that its command starts."""
    runtime = runtime_folder()
    set_up_packages(runtime, [sys.executable, "-m", "pip", "--disable-pip-version-check"])
    _require_base(client)
    image = _build(client, "appliance", runtime / "packages")
    _require_content(client, image, image_sha256(CHECKOUT))
    try:
        client.containers.run(image.id, ["--version"], network_mode="none", read_only=True, remove=True)
    except ContainerError as error:
        raise Missing(f"The built appliance does not start: {error}", "Mend the cause and build again.") from error


def _there(client: docker.DockerClient, image: str) -> bool:
    try:
        client.images.get(image)
    except ImageNotFound:
        return False
    return True


def _require_base(client: docker.DockerClient) -> None:
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
    with tempfile.TemporaryDirectory(prefix="base-", dir=runtime_folder()) as folder:
        root, archive = Path(folder) / "root", Path(folder) / "root.tar"
        try:
            make_debian(root, ("ca-certificates",))
            run([*words, "tar", "-C", root, "-cf", archive, "."])
        finally:
            run([*words, "rm", "-rf", root])
        client.api.import_image_from_file(str(archive), repository=REPOSITORY, tag=BASE_TAG)


def _build(client: docker.DockerClient, target: str, packages: Path | None) -> Any:
    say(f"building the {target}'s image")
    before = [str(image.id) for image in client.images.list(TAGS[target])]
    with tempfile.TemporaryFile() as context:
        write_context(context, find_runtime().site, packages)
        context.seek(0)
        output = client.api.build(
            fileobj=context,
            custom_context=True,
            tag=TAGS[target],
            target=target,
            buildargs={"BASE": f"{REPOSITORY}:{BASE_TAG}"},
            rm=True,
            forcerm=True,
            decode=True,
            network_mode="host",
        )
        for line in output:
            if "error" in line:
                raise Missing(f"The image cannot be built: {line['error'].strip()}", "Mend the cause and build again.")
    image = client.images.get(TAGS[target])
    _forget(client, [old for old in before if old != image.id])
    say(f"{TAGS[target]} is {image.short_id}, {int(image.attrs['Size']) / 1e6:.0f} MB")
    return image


def _require_content(client: docker.DockerClient, image: Any, wanted: str) -> None:
    """Hashes renderer, profiles and Storm as they lie in the image, which is never started for it."""
    container = client.containers.create(image.id, network_mode="none", command=["true"])
    try:
        stream, _ = container.get_archive("/opt")
        found = manifest_sha256(entries(io.BufferedReader(Chunks(iter(stream)), 1 << 20)))
    finally:
        container.remove(force=True)
    if found != wanted:
        raise Missing("The built image does not hold this checkout's renderer.", "Build it again.")


def _forget(client: docker.DockerClient, images: Iterable[str]) -> None:
    """Removes what earlier builds left in the engine; what is in use, or not there, stays as it is."""
    for image in images:
        with contextlib.suppress(APIError):
            client.images.remove(image)


def _write_lock(lock: Path, images: dict[str, str]) -> None:
    partial = lock.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(json.dumps(images, indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    partial.rename(lock)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
