"""The table of clauses names tests that exist, and every test of the acceptance judge stands in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
TABLE = (ROOT / "docs" / "contract-qa-judge.md").read_text()
ROW = re.compile(r"^\| .+ \| `(test_\w+)` \| `([\w/]+\.py)` \|$", re.MULTILINE)


def _tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def _file(name: str) -> Path:
    return ROOT / name if "/" in name else HERE / name


def test_every_test_that_the_table_names_exists() -> None:
    rows = ROW.findall(TABLE)
    assert len(rows) == sum(line.startswith("| ") for line in TABLE.splitlines()) - TABLE.count("| clause | test |")
    assert [row for row in rows if row[0] not in _tests(_file(row[1]))] == []


def test_every_test_stands_in_the_table() -> None:
    named = {name for name, _ in ROW.findall(TABLE)}
    files = [path for path in sorted(HERE.glob("test_*.py")) if path != Path(__file__)]
    files.append(ROOT / "tests" / "appliance" / "test_acceptance.py")
    assert {name for path in files for name in _tests(path)} <= named
