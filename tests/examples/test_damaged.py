"""Each damaged candidate differs from its reference in what it says, and in nothing else."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pxr import Gf
from skimage.color import deltaE_ciede2000, rgb2lab

from tests.examples.oracle import CASES, candidate, pixels, properties, reference, rig_points

MISSING = {
    "abacus": "/Abacus/Beads/LeafBeads",
    "crate": "/Crate/Lid",
    "desk-lamp": "/DeskLamp/Base/LowerArm/UpperArm/Head/Shade",
    "gearbox": "/GearMotor/Motor/TerminalBox",
}
MOVED = {
    "abacus": "/Abacus/Beads/AmberBeads",
    "crate": "/Crate/Lid",
    "desk-lamp": "/DeskLamp/Base/LowerArm/UpperArm/Head/Shade",
    "gearbox": "/GearMotor/Motor",
}
SIZED = {
    "abacus": ("/Abacus", 1.2),
    "crate": ("/Crate", 1.2),
    "desk-lamp": ("/DeskLamp/Base/LowerArm/UpperArm/Head/Shade", 1.4),
    "gearbox": ("/GearMotor", 1.2),
}
REPAINTED = {
    "abacus": ("/Abacus/Frame", "/Abacus/Looks/Oak"),
    "desk-lamp": ("/DeskLamp/Base/LowerArm/UpperArm/Head/Shade/Shell", "/DeskLamp/Looks/VermilionEnamel"),
    "gearbox": ("/GearMotor/Housing", "/GearMotor/Looks/TealEnamel"),
}


def _changes(case: str, name: str) -> tuple[set[str], set[str], set[str]]:
    """Properties that the damage removed, added and changed."""
    before, after = properties(reference(case)), properties(candidate(case, name))
    shared = before.keys() & after.keys()
    return (
        before.keys() - after.keys(),
        after.keys() - before.keys(),
        {path for path in shared if before[path] != after[path]},
    )


@pytest.mark.parametrize("case", CASES)
def test_one_part_is_missing(case: str) -> None:
    removed, added, changed = _changes(case, "part-missing")
    part = MISSING[case]
    assert any(re.match(rf"{part}[/.]", path) for path in removed)
    # A class whose last instance went goes with it.
    assert [path for path in removed if not re.match(rf"{part}[/.]|/_", path)] == []
    assert (added, changed) == (set(), set())


@pytest.mark.parametrize("case", CASES)
def test_one_part_has_moved(case: str) -> None:
    removed, added, changed = _changes(case, "part-moved")
    own = {f"{MOVED[case]}.xformOp:translate", f"{MOVED[case]}.xformOpOrder"}
    assert removed == set()
    assert added | changed <= own
    assert f"{MOVED[case]}.xformOp:translate" in added | changed
    before, after = (
        properties(path).get(f"{MOVED[case]}.xformOp:translate", Gf.Vec3d(0))
        for path in (reference(case), candidate(case, "part-moved"))
    )
    size = np.ptp(rig_points(reference(case)), axis=0).max()
    assert 0.1 < np.linalg.norm(np.array(after) - np.array(before)) / size < 0.15


@pytest.mark.parametrize("case", CASES)
def test_one_thing_has_another_size(case: str) -> None:
    removed, added, changed = _changes(case, "wrong-size")
    node, factor = SIZED[case]
    assert removed == set()
    assert added | changed == {f"{node}.xformOp:scale", f"{node}.xformOpOrder"}
    assert properties(candidate(case, "wrong-size"))[f"{node}.xformOp:scale"] == Gf.Vec3f(factor)


def test_the_whole_is_larger_where_the_whole_was_scaled() -> None:
    for case in ("abacus", "crate", "gearbox"):
        before, after = (np.ptp(rig_points(path), axis=0) for path in (reference(case), candidate(case, "wrong-size")))
        assert np.allclose(after / before, 1.2, atol=1e-4)


@pytest.mark.parametrize("case", sorted(REPAINTED))
def test_one_part_is_painted_in_another_colour(case: str) -> None:
    removed, added, changed = _changes(case, "wrong-colour")
    node, look = REPAINTED[case]
    repaint = f"{look.rpartition('/')[0]}/Repaint"
    assert removed == set()
    assert changed == {f"{node}.material:binding"}
    assert added
    assert all(path.startswith(repaint) for path in added)
    values = properties(candidate(case, "wrong-colour"))
    assert [str(path) for path in values[f"{node}.material:binding"]] == [repaint]  # type: ignore[attr-defined]
    for name in ("metallic", "roughness"):
        assert values[f"{repaint}/Surface.inputs:{name}"] == values[f"{look}/Surface.inputs:{name}"]
    linear = [np.array(values[f"{one}/Surface.inputs:diffuseColor"]) for one in (look, repaint)]
    assert _distance(*(np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055) for c in linear)) > 25


def test_the_wood_of_the_crate_is_stained_and_nothing_else() -> None:
    assert _changes("crate", "wrong-colour") == (set(), set(), set())
    before, after = pixels(reference("crate")), pixels(candidate("crate", "wrong-colour"))
    assert before.shape == after.shape
    assert _distance(before.mean((0, 1)) / 255, after.mean((0, 1)) / 255) > 25


def _distance(first: np.ndarray[tuple[int, ...], np.dtype[np.float64]], second: object) -> float:
    return float(deltaE_ciede2000(rgb2lab(first), rgb2lab(second)))
