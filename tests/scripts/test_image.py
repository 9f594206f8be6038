"""The lock of images, and how a call that cannot be meant or cannot succeed ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts import image


def test_lock_is_replaced_whole(tmp_path: Path) -> None:
    lock = tmp_path / "images.json"
    lock.write_text('{"sha256:old": "1"}')
    image._write_lock(lock, {"sha256:new": "2"})
    assert json.loads(lock.read_text()) == {"sha256:new": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["images.json"]


@pytest.mark.parametrize("words", [["everything"], ["renderer", "appliance"]])
def test_only_the_two_images_can_be_built(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert image.main(words) == 2
    assert "usage" in capsys.readouterr().err


def test_engine_that_is_down_is_infrastructure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert image.main(["renderer"]) == 4
    assert "Start an engine" in capsys.readouterr().err
