"""Small cases for tests of whole episodes: a slab with a post, authored as text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from appliance.cli import main

POST = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Y"
)
def Xform "World"
{
    def Cube "Slab"
    {
        double size = 1
        color3f[] primvars:displayColor = [(0.3, 0.3, 0.35)]
        double3 xformOp:scale = (2, 0.3, 1.2)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }
    def Cylinder "Post"
    {
        uniform token axis = "Y"
        double height = 1.6
        double radius = 0.25
        color3f[] primvars:displayColor = [(0.7, 0.1, 0.08)]
        double3 xformOp:translate = (0.4, 0.9, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
}
"""
GATES = {"submission_valid": True, "preservation_pass": True, "objective_success": True}
FIXTURE = ["--mode", "fixture", "--client", "metrics", "--authorize", "tester", "--allow-fixtures"]


@dataclass
class CaseFiles:
    """A case in a folder of its own, and an evidence root apart from it."""

    case: Path
    objective: Path
    submission: Path
    out: Path

    def run(self, *options: str, submission: Path | None = None) -> tuple[int, dict[str, Any]]:
        """One episode through the command line; exit code and the one JSON object."""
        result = self.invoke(*options, "--json", submission=submission)
        value: dict[str, Any] = json.loads(result.stdout)
        return result.exit_code, value

    def invoke(self, *options: str, submission: Path | None = None) -> Result:
        """One episode as a person would call it."""
        words = ["episode", str(self.case), "--submission", str(submission or self.submission)]
        words += ["--objective", str(self.objective), "--out", str(self.out), *options]
        return CliRunner().invoke(main, words, env={"RENDER_JUDGE_KEY": None}, catch_exceptions=False)


def make_case(folder: Path, **changes: Any) -> CaseFiles:
    """A case whose submission is a byte-identical copy of its reference."""
    for name in ("case", "actor/submission"):
        (folder / name).mkdir(parents=True)
    (folder / "case" / "reference.usda").write_text(POST)
    submission = folder / "actor" / "submission" / "post.usda"
    submission.write_text(POST)
    case = folder / "case" / "case.json"
    case.write_text(json.dumps({"case_id": "post", "reference": "reference.usda"} | changes))
    objective = folder / "case" / "objective.json"
    objective.write_text(json.dumps(GATES | {"note": "kept as it is"}, indent=3))
    return CaseFiles(case, objective, submission, folder / "evidence")
