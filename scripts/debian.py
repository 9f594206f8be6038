"""A Debian 13 file system made by debootstrap: the image's base, and Storm's home where the host has none.

Standard library only.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from scripts.host import SYSTEM_PATH, Missing, apt_install, privileged, run

SUITE = "trixie"


def make_debian(root: Path, packages: Sequence[str]) -> None:
    """Makes ``root`` with ``packages``, whole or not at all; its owner is root. Raises :class:`Missing`."""
    words = privileged()
    if words is None:
        raise Missing("Making a Debian 13 file system needs root.", "Run this once as root, or with sudo.")
    if shutil.which("debootstrap", path=SYSTEM_PATH) is None:
        apt_install(["debootstrap", "debian-archive-keyring"], "Making a Debian 13 file system")
    partial = root.with_name(f"{root.name}.partial")
    run([*words, "rm", "-rf", partial])
    try:
        # Without the keyring debootstrap would go on unsigned.
        command = ["debootstrap", "--force-check-gpg", "--variant=minbase", f"--include={','.join(packages)}"]
        run([*words, *command, SUITE, partial])
        # Neither what apt fetched nor a table of another machine's disks belongs to it.
        run(
            [
                *words,
                "rm",
                "-rf",
                *(partial / name for name in ("var/cache/apt/archives", "var/lib/apt/lists", "etc/fstab")),
            ]
        )
        run([*words, "mv", "--no-target-directory", partial, root])
    except Missing as error:
        run([*words, "rm", "-rf", partial])
        raise Missing(
            f"A Debian 13 file system cannot be made: {error.message}", "Mend the cause and run it again."
        ) from error
