"""The files that set-up, the image and a reader rely on say the same thing."""

from __future__ import annotations

import re

import pytest

from scripts.debian import SUITE
from scripts.host import CHECKOUT
from scripts.interpreter import MESA, X11

REQUIREMENT = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;]+)( ; .*)?$")
LOCKS = ("trusted.txt", "appliance.txt", "storm.txt")


@pytest.mark.parametrize("name", LOCKS)
def test_lock_names_no_address_and_pins_everything(name: str) -> None:
    lines = (CHECKOUT / "locks" / name).read_text().replace(" \\\n", " ").splitlines()
    requirements = [line for line in lines if line and not line.startswith("#")]
    assert len(requirements) >= 6
    for line in requirements:
        words, *hashes = line.split(" --hash=")
        assert REQUIREMENT.match(words.strip()), words
        assert hashes, words
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one.strip()) for one in hashes), words


def test_image_and_root_get_the_same_packages() -> None:
    text = (CHECKOUT / "Dockerfile").read_text().replace("\\\n", " ")
    listed = re.search(r"apt-get install -y --no-install-recommends(.*?)&&", text)
    assert listed is not None
    assert sorted(listed.group(1).split()) == sorted(("python3", *MESA, *X11))
    assert f"ARG BASE=debian:{SUITE}-slim" in text


def test_container_has_no_privilege_and_no_way_to_an_index() -> None:
    text = (CHECKOUT / "Dockerfile").read_text()
    assert text.rindex("USER 65534:65534") > text.rindex("COPY ")
    assert "pip" not in text.split()


def test_readme_names_only_targets_that_exist() -> None:
    makefile = (CHECKOUT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"(?:^    |`)make ([a-z-]+)", (CHECKOUT / "README.md").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named <= targets
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    assert set(phony.group(1).split()) == targets


def test_appliance_gets_the_versions_that_the_tests_ran_with() -> None:
    def pins(lock: str) -> set[str]:
        lines = (CHECKOUT / "locks" / lock).read_text("utf-8").splitlines()
        return {line.split(" ")[0] for line in lines if "==" in line and not line.startswith(" ")}

    assert pins("appliance.txt") < pins("trusted.txt")


def test_check_of_a_clean_checkout_runs_every_test() -> None:
    script = CHECKOUT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    last = script.read_text().splitlines()[-1].split()
    assert last[last.index("make") :][-3:] == ["image", "test", "test-slow"]
