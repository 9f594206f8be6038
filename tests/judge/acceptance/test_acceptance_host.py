"""A host that knows the contract's field names and nothing else: JSON text in, JSON text out."""

from __future__ import annotations

import ast
import asyncio
import base64
import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import judge.acceptance as package
from judge.acceptance import create_judge
from tests.judge.acceptance import acceptance_kit
from tests.judge.acceptance.acceptance_kit import BACK, FRONT, STYLE, TRUTH, request_json, sha256

SOURCES = sorted(Path(package.__file__).parent.glob("*.py"))

WIRE = {
    name: json.dumps(
        {
            "status": "available",
            "id": name,
            "contentHash": sha256(data),
            "bytes": base64.b64encode(data).decode(),
            "metadata": {
                "source": "decoded",
                "decoder": {"name": "sharp", "version": "0.34.1"},
                "width": size[0],
                "height": size[1],
                "mediaType": "image/png",
            },
        }
    )
    for name, data, size in [
        ("truth", TRUTH, (6, 6)),
        ("style", STYLE, (5, 7)),
        ("front-1", FRONT, (8, 10)),
        ("back-1", BACK, (8, 10)),
    ]
}


class JsonAccess:
    async def resolve(self, reference: Any, *, role: str, cancel: asyncio.Event) -> dict[str, Any]:
        asked = json.loads(reference.model_dump_json())
        answer: dict[str, Any] = json.loads(WIRE[asked["id"]])
        assert asked["contentHash"] == answer["contentHash"]
        answer["bytes"] = base64.b64decode(answer["bytes"])
        return answer


class JsonEvaluator:
    async def evaluate(self, request: Any, *, cancel: asyncio.Event) -> dict[str, Any]:
        asked = json.loads(request.model_dump_json(exclude={"evidence"}))
        assert asked.keys() == {"instructions", "untrustedContext", "inputFingerprint"}
        assert asked["untrustedContext"] == request_json()
        outputs = [item.id for item in request.evidence if item.role == "output"]
        reply = {
            "inputFingerprint": asked["inputFingerprint"],
            "checks": [
                {
                    "criterionId": "same",
                    "verdict": "pass",
                    "severity": "none",
                    "observedEvidence": "Same shape and label.",
                    "outputIds": outputs,
                    "affectedOutputIds": [],
                    "suggestedChange": None,
                },
                {
                    "criterionId": "light",
                    "verdict": "fail",
                    "severity": "minor",
                    "observedEvidence": "The light comes from the right.",
                    "outputIds": ["front-1"],
                    "affectedOutputIds": ["front-1"],
                    "suggestedChange": "Move the light to the left.",
                },
                {
                    "criterionId": "plain",
                    "verdict": "pass",
                    "severity": "none",
                    "observedEvidence": "Plain grey.",
                    "outputIds": outputs,
                    "affectedOutputIds": [],
                    "suggestedChange": None,
                },
            ],
        }
        result: dict[str, Any] = json.loads(
            json.dumps({"response": reply, "metadata": acceptance_kit.METADATA, "usage": acceptance_kit.USAGE})
        )
        return result


def test_a_host_written_against_the_field_names_works_unchanged() -> None:
    request = json.loads(json.dumps(request_json()))
    made = create_judge(evaluator=JsonEvaluator(), evidence_access=JsonAccess())
    report = json.loads(acceptance_kit.run(made.judge(request)).model_dump_json())
    assert report["verdict"] == "pass_with_minor_deviations"
    assert report["identity"] == request["identity"]
    assert [item["criterionId"] for item in report["acceptedDeviations"]] == ["light"]
    assert report["acceptedDeviations"][0]["suggestedChange"] == "Move the light to the left."
    assert report.keys() == {
        "verdict",
        "identity",
        "inputFingerprint",
        "measurableChecks",
        "criteria",
        "acceptedDeviations",
        "evidence",
        "evaluator",
        "usage",
        "versions",
    }


def test_everything_public_is_there_by_name() -> None:
    ports = {"Evaluator", "EvidenceAccess", "EvaluatorResponse", "JudgeRequest", "JudgeReport", "JudgeError"}
    functions = {"create_judge", "hash_image_bytes", "JUDGE_INSTRUCTIONS"}
    versions = {"PACKAGE_VERSION", "POLICY_VERSION", "SCHEMA_VERSION", "CHECKS_VERSION"}
    assert ports | functions | versions <= set(package.__all__)
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize("source", SOURCES, ids=[path.name for path in SOURCES])
def test_no_source_names_the_environment_a_socket_or_a_provider(source: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").split(".")[0])
    assert imported <= {
        "__future__", "asyncio", "collections", "contextlib", "dataclasses", "inspect", "io", "threading", "types",
        "typing", "warnings",
        "PIL", "pydantic", "pydantic_core", "judge", "receipt",
    }  # fmt: skip


def test_a_judgment_runs_whole_where_the_environment_and_sockets_are_out_of_reach() -> None:
    script = textwrap.dedent(
        """
        import asyncio, os, socket, sys
        from tests.judge.acceptance import acceptance_kit as kit
        from judge.acceptance import create_judge

        def refuse(*args, **kwargs):
            raise AssertionError("reached for the environment or a socket")

        class Nothing:
            __getitem__ = __contains__ = __iter__ = get = keys = items = copy = refuse

        with asyncio.Runner() as runner:
            runner.get_loop()  # the loop's own wake-up pipe is made before the door is shut
            os.environ, os.getenv, os.getenvb = Nothing(), refuse, refuse
            sys.addaudithook(lambda event, args: refuse() if event.startswith("socket.") else None)
            judge = create_judge(evaluator=kit.Inspector(), evidence_access=kit.Access())
            report = runner.run(judge.judge(kit.request_json()))
            print(report.verdict)
            os._exit(0 if report.verdict == "pass" else 1)
        """
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(package.__file__).parents[2],
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
