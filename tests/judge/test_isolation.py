"""The judge holds no provider's kit, names neither the environment nor sockets, and reaches for neither."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import judge

ROOM = Path(judge.__file__).parent
SOURCES = sorted(ROOM.rglob("*.py"))
FORBIDDEN = {
    "environ",
    "environb",
    "getenv",
    "getenvb",
    "putenv",
    "socket",
    "socketpair",
    "create_connection",
    "urlopen",
}
STANDARD = {
    "__future__", "asyncio", "collections", "contextlib", "copy", "dataclasses", "datetime", "fractions", "functools",
    "hashlib", "importlib", "inspect", "io", "json", "math", "queue", "re", "threading", "types", "typing",
    "unicodedata", "warnings",
}  # fmt: skip
NEEDED = {"PIL", "pydantic", "pydantic_core", "judge", "receipt"}
MEASURING = {"numpy", "skimage", "flip_evaluator"}


def _named(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found |= {*node.name.split("."), node.asname or ""}
        elif isinstance(node, ast.ImportFrom):
            found |= set((node.module or "").split("."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def _imported(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("source", SOURCES, ids=[str(path.relative_to(ROOM)) for path in SOURCES])
def test_no_source_names_the_environment_or_a_socket(source: Path) -> None:
    assert _named(ast.parse(source.read_text())) & FORBIDDEN == set()


@pytest.mark.parametrize("source", SOURCES, ids=[str(path.relative_to(ROOM)) for path in SOURCES])
def test_no_source_imports_a_providers_kit(source: Path) -> None:
    measuring = MEASURING if source.parent.name == "metrics" else set()
    assert _imported(ast.parse(source.read_text())) <= STANDARD | NEEDED | measuring


@pytest.mark.parametrize(
    "text", ["import os\nos.environ['KEY']", "from os import getenv", "import socket as s", "getattr(os, 'environ')"]
)
def test_the_look_at_the_sources_finds_what_it_looks_for(text: str) -> None:
    assert _named(ast.parse(text)) & FORBIDDEN


SEALED = textwrap.dedent(
    """
    import os, socket, sys
    from pathlib import Path
    from judge import judge_visuals, load_trusted_render_evidence, parse_objective
    from tests.judge import scored_kit as kit
    from tests.receipt.adversary import bundle

    placed = bundle(views=kit.VIEWS).put(Path(sys.argv[1]))

    def refuse(*args, **kwargs):
        print("REACHED")
        os._exit(3)

    class Nothing:
        __getitem__ = __contains__ = __iter__ = __len__ = get = keys = items = values = copy = refuse

    os.environ, os.environb, os.getenv, os.getenvb = Nothing(), Nothing(), refuse, refuse
    sys.addaudithook(lambda event, args: refuse() if event.startswith("socket.") else None)

    PROVE
    evidence = load_trusted_render_evidence(str(placed.folder), **placed.told)
    result = judge_visuals(
        evidence=evidence,
        objective=parse_objective(b'{"submission_valid":true,"preservation_pass":true,"objective_success":true}'),
        authorization=kit.CONTROLLER,
        client=kit.Client(),
        config=kit.CONFIG,
    )
    print(result.status, result.score_exact)
    foreign = {"pxr", "openai", "anthropic", "httpx", "requests"}
    print(sorted(foreign & set(sys.modules)))
    sys.stdout.flush()
    os._exit(0)
    """
)


def _sealed(folder: Path, prove: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SEALED.replace("PROVE", prove), str(folder)],
        cwd=ROOM.parent,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_loader_and_judgment_run_whole_where_environment_and_sockets_are_out_of_reach(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    ended = _sealed(tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "scored 3/4\n[]\n"), ended.stderr


@pytest.mark.parametrize(
    "reach", ["os.environ.get('KEY')", "os.getenv('KEY')", "socket.socket()", "socket.socketpair()"]
)
def test_the_seal_holds(tmp_path: Path, reach: str) -> None:
    assert _sealed(tmp_path, reach).returncode == 3
