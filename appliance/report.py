"""``report.html``: one self-contained file for people. Everything in it is escaped, nothing is fetched.

Names, observations and diagnostics come from outside, so the template escapes all of them and the
page's own policy forbids any script but the one below, whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from judge.metrics import difference_map
from judge.metrics.distances import reduce
from receipt.evidence import EvidenceImage, TrustedRenderEvidence
from receipt.png import decode_png, encode_png, to_rgb8

SCRIPT = """\
for (const pair of document.querySelectorAll(".pair")) {
  const slider = pair.querySelector("input");
  const move = () => pair.style.setProperty("--cut", slider.value + "%");
  slider.addEventListener("input", move);
  move();
}
"""


@dataclass(frozen=True)
class PairView:
    """One view and pass as the page shows it; pictures are data URIs."""

    view_id: str
    view: str
    pass_name: str
    reference: str
    candidate: str
    difference: str
    changed_percent: float


def _uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _pair(view_id: str, reference: EvidenceImage, candidate: EvidenceImage) -> PairView:
    one, other = (to_rgb8(decode_png(image.data)) for image in (reference, candidate))
    # Half the size is enough to see where pictures differ, and a quarter of the work.
    shown = difference_map(reduce(one), reduce(other))
    height, width, _ = shown.shape
    changed = (one != other).any(-1).mean() * 100
    return PairView(
        view_id=view_id,
        view=view_id.rsplit(".", 1)[0] if reference.pass_name else view_id,
        pass_name=reference.pass_name or "",
        reference=_uri(reference.data),
        candidate=_uri(candidate.data),
        difference=_uri(encode_png(np.ascontiguousarray(shown).tobytes(), width, height, 8)),
        changed_percent=float(changed),
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("appliance"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2")


def render_report(
    evidence: TrustedRenderEvidence,
    verdict: dict[str, Any],
    diagnostics: bytes,
    warnings: tuple[str, ...] = (),
    *,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """The page's text for verified evidence and the verdict over it."""
    pairs = [
        _pair(view_id, evidence.image("reference", view_id), evidence.image("candidate", view_id))
        for view_id in evidence.view_ids
    ]
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode("ascii")
    return _template().render(
        evidence=evidence,
        settings=evidence.renderer.settings if settings is None else settings,
        verdict=verdict,
        headline=headline(verdict),
        pairs=pairs,
        roles=json.loads(diagnostics),
        warnings=warnings,
        script=SCRIPT,
        script_hash=digest,
    )


def headline(verdict: dict[str, Any]) -> str:
    """The verdict in a few words."""
    if verdict.get("policy") == "acceptance":
        outcome = verdict.get("outcome")
        if outcome is None:
            return f"not run: {verdict.get('notRunReason')}"
        return str(outcome.get("verdict") or "no verdict").replace("_", " ")
    if verdict["status"] == "scored":
        return f"score {verdict['score']:.3f}"
    return f"{verdict['status'].replace('_', ' ')}: {verdict['reason']}"
