"""``make demo``: the main job on every example, in fixture mode, and a table of what came of it.

    python scripts/demo.py [--sandbox bubblewrap] [--out demo-out] [CASE...]

Every episode is a call of the command line, as a verifier would make it. Ends with exit code 1 when a
verdict is not what the example expects.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from appliance.expectations import Expected, levels_of, objection  # noqa: E402
from appliance.tables import table  # noqa: E402

COMMAND = Path(sys.executable).with_name("render-judge")


def main() -> int:
    """Runs the chosen cases; the exit code."""
    options = _options()
    names = options.cases or sorted(path.parent.name for path in (CHECKOUT / "examples").glob("*/case.json"))
    out = Path(options.out).absolute()
    if out.exists():
        shutil.rmtree(out)
    words = ["--mode", "fixture", "--sandbox", options.sandbox, "--client", "metrics", "--authorize", "demo"]
    words.append("--allow-fixtures")
    print("Fixture mode: each receipt is labelled a fixture and signed with a key that is thrown away.")
    print("Nothing authorises itself, so each episode is called with:\n")
    print(
        f"  render-judge episode CASE.json --submission ... --objective ... --out ... {' '.join(words)}\n", flush=True
    )
    rows: list[list[str]] = []
    bad = 0
    for name in names:
        for row in _case(name, out, words):
            bad += row[-1] != "as expected"
            rows.append(row)
    print(f"\n{table(rows, ('case', 'candidate', 'score', 'components', 'shape', 'surface', 'artifacts', 'outcome'))}")
    print(f"\n{len(rows) - bad} of {len(rows)} verdicts are as expected. Reports:")
    for name in names:
        print(
            f"  {out / json.loads((CHECKOUT / 'examples' / name / 'case.json').read_text())['case_id']}/*/report.html"
        )
    return 1 if bad else 0


def _options() -> Any:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sandbox", choices=["docker", "bubblewrap", "process"], default="bubblewrap")
    parser.add_argument("--out", default=str(CHECKOUT / "demo-out"))
    parser.add_argument("cases", nargs="*", metavar="CASE")
    return parser.parse_args()


def _case(name: str, out: Path, words: list[str]) -> list[list[str]]:
    folder = CHECKOUT / "examples" / name
    expected = {
        candidate: Expected.model_validate(value)
        for candidate, value in json.loads((folder / "expected.json").read_text("utf-8")).items()
    }
    undamaged: dict[str, int | None] = {}
    rows = []
    for candidate, wanted in sorted(expected.items(), key=lambda item: item[1].criterion is not None):
        print(f"{name}: {candidate} ...", flush=True)
        result = _episode(folder, folder / wanted.submission, out, candidate, words)
        verdict = result.get("verdict") or {}
        levels = levels_of(verdict)
        if candidate == "independent":
            undamaged = levels
        wrong = objection(wanted, verdict, undamaged) if verdict else f"{result.get('reason')}: {result.get('message')}"
        score = verdict.get("score")
        shown = [
            "" if levels.get(one) is None else str(levels[one])
            for one in ("components", "shape", "surface", "artifacts")
        ]
        rows.append([name, candidate, "" if score is None else f"{score:.4f}", *shown, wrong or "as expected"])
    return rows


def _episode(folder: Path, submission: Path, out: Path, episode: str, words: list[str]) -> dict[str, Any]:
    command = [COMMAND, "episode", folder / "case.json", "--submission", submission]
    command += ["--objective", folder / "objective.json", "--out", out, "--episode", episode, "--json", *words]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    try:
        result: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"reason": f"exit code {done.returncode}", "message": " ".join(done.stderr.split())[-300:]}
    return result


if __name__ == "__main__":
    sys.exit(main())
