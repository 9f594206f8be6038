"""The table of the visual judging contract: every sentence has a row, and every row a test that exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = (ROOT / "docs" / "contract-visual-judging.md").read_text(encoding="utf-8")
ROWS: list[tuple[str, str, str]] = re.findall(
    r"^\| (\d\.\d|-) \| [^|]+ \| `(test_\w+)` \| `([\w/]+\.py)` \|$", TABLE, re.MULTILINE
)
SENTENCES = {1: 4, 2: 4, 3: 6, 4: 4, 5: 4, 6: 5, 7: 2}
"""The contract's paragraphs after its title, and how many sentences or listed fields each has."""


@cache
def _tests(path: Path) -> frozenset[str]:
    return frozenset(
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def test_every_line_of_a_table_is_a_row() -> None:
    lines = [line for line in TABLE.splitlines() if line.startswith("|") and not line.startswith("|---")]
    assert len(ROWS) == len(lines) - TABLE.count("| sentence | clause | test | file |")
    assert len(set(ROWS)) == len(ROWS)


def test_every_sentence_has_a_row_and_no_row_a_sentence_that_is_not_there() -> None:
    expected = {f"{paragraph}.{one}" for paragraph, count in SENTENCES.items() for one in range(1, count + 1)}
    assert {number for number, _, _ in ROWS} - {"-"} == expected


@pytest.mark.parametrize(("number", "name", "file"), ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS])
def test_every_test_that_the_table_names_exists(number: str, name: str, file: str) -> None:
    path = ROOT / file if "/" in file else HERE / file
    assert name in _tests(path), f"{file} has no {name}, which sentence {number} counts on"
