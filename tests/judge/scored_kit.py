"""What the scored judge's tests share: synthetic evidence through the real loader, and clients of every temper.

Everything is labelled as a fixture. The pictures are gradients out of a formula, but for those of
:func:`load_renders`, which Storm drew; no model is asked anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from judge.gates import ObjectiveGates
from judge.ports import ControllerAuthorization, JudgeClient, ProviderConfig, ProviderRequest, ProviderResponse, Usage
from judge.result import VisualJudgeResult
from judge.rubric import Rubric, load_rubric
from judge.scored import judge_visuals
from receipt.evidence import TrustedRenderEvidence
from tests.receipt.adversary import bundle

IDS = ("components", "shape", "surface", "artifacts")
VIEWS = ("front.beauty", "back.beauty", "front.clay", "back.clay")
RENDERS = Path(__file__).parents[1] / "fixtures" / "renders" / "crate"
MODEL = "judge-model"
CONFIG = ProviderConfig("some-provider", MODEL, settings={"temperature": 0, "nested": {"a": [1]}}, timeout_seconds=20.0)
CONTROLLER = ControllerAuthorization("controller-1")
PASSED = ObjectiveGates(True, True, True)
USAGE = Usage(100, 20, 120, 0.25)

Levels = Mapping[str, int | float | None]
Answer = Callable[[ProviderRequest], Any]


def load(
    folder: Path,
    *,
    fixture: bool = True,
    views: tuple[str, ...] = VIEWS,
    change: Callable[[dict[str, Any]], Any] | None = None,
) -> TrustedRenderEvidence:
    """Evidence from a new folder, the receipt changed before it is sealed."""
    made = bundle(fixture=fixture, views=views)
    if change:
        change(made.receipt)
    folder.mkdir(parents=True, exist_ok=True)
    return made.seal().put(folder).load()


def load_renders(folder: Path, candidate: str) -> TrustedRenderEvidence:
    """A fixture of real renders of one example: its reference and one of its candidates."""
    views = tuple(sorted(path.stem for path in (RENDERS / "reference").glob("*.png")))
    made = bundle(fixture=True, views=views)
    for record in made.receipt["images"]:
        name = "reference" if record["role"] == "reference" else candidate
        made.pngs[record["path"]] = (RENDERS / name / f"{record['view_id']}.png").read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    return made.refresh().seal().put(folder).load()


def entry(name: str, level: Any, **changes: Any) -> dict[str, Any]:
    """One criterion of a reply."""
    return {"id": name, "level": level, "unassessable": level is None, "observation": f"About {name}."} | changes


def reply(levels: Levels | None = None, **changes: Any) -> dict[str, Any]:
    """A whole reply, level 3 wherever nothing else is said."""
    return {"criteria": [entry(name, (levels or {}).get(name, 3)) for name in IDS]} | changes


def response(value: Any, **changes: Any) -> ProviderResponse:
    """A response around a reply, which is dumped unless it is text or bytes already."""
    words = value if isinstance(value, str | bytes) else json.dumps(value)
    return ProviderResponse(
        **({"reply": words, "served_model": MODEL, "provider_request_id": "r-1", "usage": USAGE} | changes)
    )


class Client:
    """Blocks, and answers each call by the next of its answers, the last one again and again."""

    provider_id: Any = "some-provider"

    def __init__(self, *answers: Any) -> None:
        self.answers = answers or (response(reply()),)
        self.requests: list[ProviderRequest] = []
        self.timeouts: list[float] = []

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
        self.requests.append(request)
        self.timeouts.append(timeout_seconds)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        return answer(request) if callable(answer) else answer


class AsyncClient(Client):
    """The same, to be awaited."""

    async def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
        answer = super().complete(request, timeout_seconds=timeout_seconds)
        return await answer if hasattr(answer, "__await__") else answer


def judged(evidence: TrustedRenderEvidence | None, client: JudgeClient | None, **changes: Any) -> VisualJudgeResult:
    """A judgment for which every condition holds, but for the changes."""
    everything: dict[str, Any] = {
        "evidence": evidence,
        "objective": PASSED,
        "authorization": CONTROLLER,
        "client": client,
        "config": CONFIG,
        "allow_fixtures": True,
    }
    return judge_visuals(**(everything | changes))


def rubric(*weights: str, passes: tuple[str, ...] = ("beauty", "clay")) -> Rubric:
    """A rubric of one's own with these weights; its criteria are c0, c1 and so on."""
    criteria = [
        {
            "id": f"c{index}",
            "title": "T",
            "weight": weight,
            "passes": list(passes),
            "question": "Q?",
            "anchors": {str(level): f"Level {level}." for level in range(5)},
            "unassessable": "Never.",
        }
        for index, weight in enumerate(weights)
    ]
    return load_rubric(json.dumps({"id": "own", "scale_max": 4, "criteria": criteria}).encode())
