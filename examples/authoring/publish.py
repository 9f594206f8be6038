"""The four cases as folders: reference, candidates, and what is expected of each."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from examples.authoring import assembly, independent, sheet
from examples.authoring.cases import abacus, crate, desk_lamp, gearbox
from examples.authoring.drawing import Drawing, Paint, Vec3, edit, find
from examples.authoring.package import write_usdz


@dataclass(frozen=True)
class Damage:
    """One thing done to one node of the drawing."""

    criterion: str
    node: str = ""
    """Below the root; the root itself where empty."""
    move: Vec3 | None = None
    scale: float | None = None
    paint: Paint | None = None
    wash: tuple[int, int, int] | None = None
    """Stains the wood of the painted sheet."""

    def apply(self, drawing: Drawing) -> Drawing:
        """The damaged drawing."""
        if self.wash:
            return drawing
        change: dict[str, object] | None = None
        paints = drawing.paints
        if self.move:
            x, y, z = find(drawing.root, self.node).translate
            change = {"translate": (x + self.move[0], y + self.move[1], z + self.move[2])}
        elif self.scale:
            change = {"scale": self.scale}
        elif self.paint:
            paints = {**paints, "Repaint": self.paint}
            change = {"paint": "Repaint"}
        if not self.node:
            return Drawing(replace(drawing.root, scale=self.scale or 1.0), paints)
        return Drawing(edit(drawing.root, self.node, change), paints)


@dataclass(frozen=True)
class Example:
    """One case and its candidates."""

    name: str
    draw: Callable[[], Drawing]
    file: str
    """Name of the reference's file, which every damaged candidate shares."""
    damages: dict[str, Damage]
    objective: dict[str, object]


EXAMPLES = (
    Example(
        "gearbox",
        gearbox.draw,
        "gear_motor.usdc",
        {
            "part-missing": Damage("components", "Motor/TerminalBox"),
            "part-moved": Damage("shape", "Motor", move=(0.0, -0.045, 0.0)),
            "wrong-colour": Damage("surface", "Housing", paint=Paint((0.45, 0.05, 0.03), 0.45)),
            "wrong-size": Damage("shape", scale=1.2),
        },
        {"task": "Restore the worm gear motor", "ratio": 30, "checks": {"manifold": True, "joints": 0}},
    ),
    Example(
        "crate",
        crate.draw,
        "crate.usdz",
        {
            "part-missing": Damage("components", "Lid"),
            "part-moved": Damage("shape", "Lid", move=(0.09, 0.0, 0.0)),
            "wrong-colour": Damage("surface", wash=(74, 112, 138)),
            "wrong-size": Damage("shape", scale=1.2),
        },
        {"task": "Repack the stencilled crate", "textures_found": 1, "warnings": []},
    ),
    Example(
        "desk-lamp",
        desk_lamp.draw,
        "desk_lamp.usdc",
        {
            "part-missing": Damage("components", "Base/LowerArm/UpperArm/Head/Shade"),
            "part-moved": Damage("shape", "Base/LowerArm/UpperArm/Head/Shade", move=(0.0, -0.062, 0.0)),
            "wrong-colour": Damage(
                "surface", "Base/LowerArm/UpperArm/Head/Shade/Shell", paint=Paint((0.02, 0.1, 0.42), 0.42)
            ),
            "wrong-size": Damage("shape", "Base/LowerArm/UpperArm/Head/Shade", scale=1.4),
        },
        {"task": "Pose the lamp for reading", "joint_limits_kept": True, "torque_newton_metres": 0.41},
    ),
    Example(
        "abacus",
        abacus.draw,
        "abacus.usdc",
        {
            "part-missing": Damage("components", "Beads/LeafBeads"),
            "part-moved": Damage("shape", "Beads/AmberBeads", move=(0.0, 0.0, 0.05)),
            "wrong-colour": Damage("surface", "Frame", paint=Paint((0.03, 0.12, 0.3), 0.55)),
            "wrong-size": Damage("shape", scale=1.2),
        },
        {"task": "Set the beads as counted", "beads": 100, "wires": 10},
    ),
)


def publish(folder: Path) -> None:
    """Writes every case below ``folder``; what stood in the cases' own folders before is replaced."""
    for example in EXAMPLES:
        case = folder / example.name
        for part in ("reference", "candidates"):
            shutil.rmtree(case / part, ignore_errors=True)
        _publish(example, case)


def _publish(example: Example, case: Path) -> None:
    drawing = example.draw()
    packed = example.file.endswith(".usdz")
    expected: dict[str, dict[str, object]] = {"identical": {"exact": 1}, "independent": {"min_level": 3}}
    _write(drawing, case / "reference" / example.file, None)
    shutil.copytree(case / "reference", case / "candidates" / "identical")
    independent.WRITERS[example.name](case / "candidates" / "independent")
    for name, damage in example.damages.items():
        _write(damage.apply(drawing), case / "candidates" / name / example.file, damage.wash)
        expected[name] = {"criterion": damage.criterion}
    for name, entry in expected.items():
        single = packed and name != "independent"
        entry["submission"] = f"candidates/{name}/{example.file}" if single else f"candidates/{name}"
    reference = f"reference/{example.file}" if packed else "reference"
    _write_json(case / "case.json", {"case_id": example.name, "reference": reference, "profile": "studio-v1"})
    gates = {"submission_valid": True, "preservation_pass": True, "objective_success": True}
    _write_json(case / "objective.json", {**gates, **example.objective})
    _write_json(case / "expected.json", expected)


def _write(drawing: Drawing, path: Path, wash: tuple[int, int, int] | None) -> None:
    if path.suffix != ".usdz":
        assembly.write(drawing, path)
        return
    with tempfile.TemporaryDirectory() as folder:
        layer = Path(folder) / f"{path.stem}.usdc"
        assembly.write(drawing, layer)
        write_usdz(path, {layer.name: layer.read_bytes(), assembly.SHEET: sheet.png(sheet.paint(wash))})


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
