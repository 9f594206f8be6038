"""The judge stands alone: no environment, no socket, no provider's package, and no way to reach for one in secret."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "judge").rglob("*.py"))

PLAIN = {
    "__future__", "asyncio", "collections", "contextlib", "copy", "dataclasses", "datetime", "fractions", "functools",
    "hashlib", "importlib.resources", "inspect", "io", "json", "queue", "re", "threading", "types", "typing",
    "unicodedata", "warnings",
    "PIL", "pydantic", "pydantic_core", "judge", "receipt",
}  # fmt: skip
MEASURING = {"numpy", "skimage", "flip_evaluator"}

NAMES = {
    "environ", "environb", "getenv", "getenvb", "putenv", "socket", "socketpair", "create_connection",
    "open_connection", "start_server", "urlopen", "sock_connect", "subprocess", "create_subprocess_exec",
    "create_subprocess_shell", "getpass", "keyring", "netrc",
    "__import__", "import_module", "__loader__", "__builtins__", "modules", "exec", "eval", "compile", "globals",
}  # fmt: skip
"""Ways to the environment, to a socket, to credentials, and ways to get at any of these by another name."""


def _modules(tree: ast.AST) -> set[str]:
    """Every imported module; relative imports as a lone point."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add("." if node.level else node.module or ".")
    return found


def _names(tree: ast.AST) -> set[str]:
    """Every name that is read, bound, imported, reached by a dot or spelt out in a string."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found |= set(node.name.split(".")) | {node.asname or ""}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def _allowed(module: str, allowed: set[str]) -> bool:
    return module in allowed or module.partition(".")[0] in allowed


def test_the_whole_room_is_looked_at() -> None:
    names = {path.relative_to(ROOT / "judge").as_posix() for path in SOURCES}
    assert {"__init__.py", "scored.py", "calling.py", "acceptance/judgment.py", "metrics/__init__.py"} <= names


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_source_names_the_environment_a_socket_or_a_provider(source: Path) -> None:
    tree = ast.parse(source.read_text())
    measuring = (ROOT / "judge" / "metrics") in source.parents
    allowed = PLAIN | MEASURING if measuring else PLAIN
    assert [module for module in sorted(_modules(tree)) if not _allowed(module, allowed)] == []
    spared = {"compile"} if "re" in _modules(tree) else set()  # regular expressions are compiled, too
    assert _names(tree) & NAMES <= spared


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.environ['KEY']", "from os import environ as e", "import socket", "import anthropic",
        "from openai import OpenAI", "import urllib.request", "from importlib import import_module", "import importlib",
        "__import__('so' + 'cket')", "asyncio.open_connection('h', 1)", "from . import calling",
        "getattr(os, 'environ')",
    ],
)  # fmt: skip
def test_the_look_at_the_sources_sees_what_it_looks_for(text: str) -> None:
    tree = ast.parse(text)
    assert _names(tree) & NAMES or any(not _allowed(module, PLAIN) for module in _modules(tree))


SCRIPT = """
import asyncio, os, socket, sys
from pathlib import Path

import judge
from tests.judge import scored_kit as kit
from tests.judge.acceptance import acceptance_kit
from tests.receipt.adversary import bundle


def refuse(*args, **kwargs):
    raise AssertionError("reached for the environment or a socket")


placed = bundle(fixture=True, views=kit.VIEWS).seal().put(Path(sys.argv[1]))
with asyncio.Runner() as runner:
    runner.get_loop()  # an event loop makes a pair of sockets of its own; the host has it before the door is shut
    for name in ("__getitem__", "__iter__", "__len__", "__contains__", "__setitem__", "__delitem__", "copy"):
        setattr(type(os.environ), name, refuse)
    sys.addaudithook(lambda event, args: refuse() if event.startswith("socket.") or event == "os.putenv" else None)
    for reach in (lambda: os.environ.get("HOME"), lambda: os.getenv("HOME"), lambda: dict(os.environ), socket.socket):
        try:
            reach()
        except AssertionError:
            continue
        sys.exit("the door is not shut")

    evidence = judge.load_trusted_render_evidence(placed.folder, **placed.told)
    result = kit.judged(evidence, kit.Client(), allow_fixtures=True)
    assert (result.status, result.score) == ("scored", 0.75), result
    result = kit.judged(evidence, kit.Client(), sampling=judge.Sampling(2, True), allow_fixtures=True)
    assert (result.status, len(result.calls)) == ("scored", 4), result
    result = judge.judge_visuals(evidence=evidence, objective=kit.PASSED)
    assert result.reason == "no_authorization", result

    made = judge.create_judge(evaluator=acceptance_kit.Inspector(), evidence_access=acceptance_kit.Access())
    report = runner.run(made.judge(acceptance_kit.request_json()))
    assert report.verdict == "pass", report
    print("whole")
    sys.stdout.flush()
    os._exit(0)
"""


def test_loader_and_both_judges_run_whole_where_the_environment_and_sockets_are_out_of_reach(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path.resolve() / "episode")],
        cwd=ROOT,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "whole\n"), ended.stderr


def test_the_judge_alone_loads_nothing_that_measures_pixels_and_no_provider() -> None:
    script = "import sys, judge; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert not set(ended.stdout.split()) & (
        MEASURING - {"numpy"} | {"openai", "anthropic", "httpx", "requests", "aiohttp", "docker", "pxr", "appliance"}
    )
