"""Which file is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.errors import SubmissionError
from sandbox.root_layer import choose_root_layer
from sandbox.snapshot import Snapshot, SnapshotFile


def snapshot(*paths: str, name: str = "robot") -> Snapshot:
    return Snapshot(Path("/nowhere"), tuple(SnapshotFile(path, 1, "0" * 64) for path in sorted(paths)), True, name)


@pytest.mark.parametrize(
    ("paths", "requested", "expected"),
    [
        (["a.usda"], None, "a.usda"),
        (["deep/a.usdz"], None, "deep/a.usdz"),
        (["a.USDA", "tex/b.png"], None, "a.USDA"),
        (["a.usda", "parts/b.usd", "parts/c.usdc"], None, "a.usda"),
        (["robot.usd", "other.usd"], None, "robot.usd"),
        (["Scene.usda", "x.usda"], None, "Scene.usda"),
        (["root.usda", "robot.usda", "main.usda"], None, "robot.usda"),
        (["a.usda", "b.usda"], "b.usda", "b.usda"),
        (["a.usda", "parts/b.usda"], "parts/b.usda", "parts/b.usda"),
    ],
)
def test_root_layer_is_found(paths: list[str], requested: str | None, expected: str) -> None:
    assert choose_root_layer(snapshot(*paths), requested) == expected


@pytest.mark.parametrize(
    ("paths", "requested", "code"),
    [
        ([], None, "no_usd_file"),
        (["a.png", "b.txt"], None, "no_usd_file"),
        (["a.png"], None, "no_usd_file"),
        (["a.usda", "b.usda"], None, "ambiguous_root_layer"),
        (["x/a.usda", "y/b.usda"], None, "ambiguous_root_layer"),
        (["root.usda", "main.usda"], None, "ambiguous_root_layer"),
        (["a.usda"], "b.usda", "root_layer_missing"),
        (["a.usda"], "../a.usda", "root_layer_missing"),
        (["a.usda"], "./a.usda", "root_layer_missing"),
        (["a.usda"], "/etc/passwd", "root_layer_missing"),
        (["a.usda"], "", "root_layer_missing"),
        (["a.usda", "b.png"], "b.png", "no_usd_file"),
    ],
)
def test_root_layer_is_refused(paths: list[str], requested: str | None, code: str) -> None:
    with pytest.raises(SubmissionError) as caught:
        choose_root_layer(snapshot(*paths), requested)
    assert (caught.value.code, caught.value.fault) == (code, "candidate")
