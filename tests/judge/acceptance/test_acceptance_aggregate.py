"""Clause "Acceptance and errors": the whole table by property, against an oracle written apart from it.

The oracle reads JSON alone. It walks the table's rows as sentences, with fractions for ratios, and shares
no code and no intermediate value with the package.
"""

from __future__ import annotations

import asyncio
import hashlib
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from judge.acceptance import Criterion, CriterionCheck, EvaluatorRequest, ImageReference, create_judge
from judge.acceptance.aggregate import aggregate
from tests.judge.acceptance.acceptance_kit import METADATA, USAGE, Inspector, Json, check, judge, request_json

SIDES = st.integers(1, 4)
FINDINGS = st.sampled_from(
    [("pass", "none")] * 5 + [("fail", "minor")] * 3 + [("fail", "major"), ("fail", "critical"), ("unknown", "none")]
)


@st.composite
def judgments(draw: st.DrawFn) -> tuple[Json, dict[str, Json], dict[str, tuple[str, str]]]:
    """A valid request, decoded metadata (or None where unavailable) by image, a finding by criterion."""
    deliverables: list[Json] = []
    for number in range(draw(st.integers(0, 3))):
        deliverable: Json = {"id": f"d{number}", "count": draw(st.integers(1, 2))}
        for name in ("width", "height"):
            if draw(st.integers(0, 3)) == 0:
                deliverable[name] = draw(SIDES)
        if draw(st.integers(0, 3)) == 0:
            deliverable["aspectRatio"] = {"width": draw(SIDES), "height": draw(SIDES)}
        deliverables.append(deliverable)
    outputs: list[Json] = []
    for deliverable in deliverables:
        count = deliverable["count"] + draw(st.sampled_from([0] * 10 + [-1, 1]))
        outputs += [{"deliverableId": deliverable["id"]} for _ in range(count)]
    outputs = draw(st.permutations(outputs))
    criteria: list[Json] = []
    for number in range(draw(st.integers(0, 4))):
        tolerant = draw(st.booleans())
        criterion: Json = {
            "id": f"c{number}",
            "description": "a question",
            "required": not tolerant and draw(st.booleans()),
            "allowMinorDeviation": tolerant,
        }
        if len(deliverables) > 0 and draw(st.booleans()):
            names = [item["id"] for item in deliverables]
            criterion["deliverableIds"] = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        criteria.append(criterion)
    request = request_json()
    request["goal"] |= {"deliverables": deliverables, "criteria": criteria}
    request["productImages"] = [{"id": f"p{number}"} for number in range(draw(st.integers(0, 2)))]
    request["styleReferences"] = [{"id": f"s{number}"} for number in range(draw(st.integers(0, 1)))]
    request["outputs"] = [
        output | {"id": f"o{number}", "nodeId": "n", "nodeRunId": "r"} for number, output in enumerate(outputs)
    ]
    wanted = {item["id"]: item for item in deliverables}
    decoded: dict[str, Json] = {}
    for image in (*request["productImages"], *request["styleReferences"], *request["outputs"]):
        image["contentHash"] = hashlib.sha256(image["id"].encode()).hexdigest()
        fitting = wanted.get(image.get("deliverableId"), {})
        width = fitting.get("width") or draw(SIDES)
        height = fitting.get("height") or draw(SIDES)
        if "aspectRatio" in fitting and draw(st.integers(0, 3)):
            width, height = (3 * fitting["aspectRatio"][side] for side in ("width", "height"))
        if draw(st.integers(0, 15)) == 0:
            width += 1
        if draw(st.integers(0, 19)) != 0:
            decoded[image["id"]] = {"width": width, "height": height}
    return request, decoded, {criterion["id"]: draw(FINDINGS) for criterion in criteria}


def oracle(request: Json, decoded: dict[str, Json], findings: dict[str, tuple[str, str]]) -> tuple[str, list[str]]:
    """The verdict and the accepted criteria, row by row."""
    every_image = [*request["productImages"], *request["styleReferences"], *request["outputs"]]
    something_unavailable = any(image["id"] not in decoded for image in every_image)

    measurable_failure = False
    for deliverable in request["goal"]["deliverables"]:
        mine = [image for image in request["outputs"] if image["deliverableId"] == deliverable["id"]]
        measurable_failure |= len(mine) != deliverable["count"]
        for image in mine:
            size = decoded.get(image["id"])
            if size is None:
                continue
            measurable_failure |= "width" in deliverable and size["width"] != deliverable["width"]
            measurable_failure |= "height" in deliverable and size["height"] != deliverable["height"]
            if "aspectRatio" in deliverable:
                ratio = Fraction(deliverable["aspectRatio"]["width"], deliverable["aspectRatio"]["height"])
                measurable_failure |= Fraction(size["width"], size["height"]) != ratio

    tolerated: list[str] = []
    intolerable = uncertain = False
    if not something_unavailable:
        for criterion in request["goal"]["criteria"]:
            match findings[criterion["id"]]:
                case ("fail", "minor") if criterion["allowMinorDeviation"] and not criterion["required"]:
                    tolerated.append(criterion["id"])
                case ("fail", _):
                    intolerable = True
                case ("unknown", _):
                    uncertain = True

    if measurable_failure or intolerable:
        return "fail", []
    if something_unavailable or uncertain:
        return "unknown", []
    if tolerated:
        return "pass_with_minor_deviations", tolerated
    return "pass", []


@given(judgments())
@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_whole_table_agrees_with_an_independent_oracle(
    case: tuple[Json, dict[str, Json], dict[str, tuple[str, str]]],
) -> None:
    request, decoded, findings = case

    class Store:
        async def resolve(self, reference: ImageReference, *, role: str, cancel: asyncio.Event) -> Json:
            answer = {"id": reference.id, "contentHash": reference.content_hash}
            if reference.id not in decoded:
                return answer | {"status": "unavailable", "reason": "gone"}
            metadata = {"source": "decoded", "decoder": {"name": "d", "version": "1"}, "mediaType": "image/next"}
            return answer | {
                "status": "available",
                "bytes": reference.id.encode(),
                "metadata": metadata | decoded[reference.id],
            }

    inspector = Inspector(findings)
    report = judge(request, Store(), inspector)
    verdict, accepted = oracle(request, decoded, findings)
    event(verdict)
    assert report.verdict == verdict
    assert [item.criterion_id for item in report.accepted_deviations] == accepted
    available = all(item.status == "available" for item in report.evidence)
    assert len(inspector.calls) == (1 if available else 0)
    assert (report.criteria is not None) == available
    assert judge(request, Store(), Inspector(findings)) == report


ROWS = [
    ({}, "pass", []),
    ({"light": ("fail", "minor")}, "pass_with_minor_deviations", ["light"]),
    ({"plain": ("fail", "minor")}, "fail", []),  # neither required nor tolerant
    ({"same": ("fail", "minor")}, "fail", []),  # required
    ({"light": ("fail", "major")}, "fail", []),  # major blocks, tolerant or not
    ({"light": ("fail", "critical")}, "fail", []),
    ({"light": ("unknown", "none")}, "unknown", []),  # unknown is no minor deviation
    ({"light": ("fail", "minor"), "same": ("unknown", "none")}, "unknown", []),
    ({"light": ("fail", "minor"), "same": ("fail", "minor")}, "fail", []),
    ({"same": ("unknown", "none"), "plain": ("fail", "major")}, "fail", []),  # a known failure outranks doubt
]


@pytest.mark.parametrize(("findings", "verdict", "accepted"), ROWS)
def test_the_rows_of_the_table(findings: dict[str, tuple[str, str]], verdict: str, accepted: list[str]) -> None:
    report = judge(inspector=Inspector(findings))
    assert report.verdict == verdict
    assert [item.criterion_id for item in report.accepted_deviations] == accepted


def test_a_required_criterion_is_not_negotiable_whatever_else_it_says() -> None:
    """No valid request holds such a criterion; the table does not lean on that."""
    criterion = Criterion(id="c", description="", required=True, allow_minor_deviation=True)
    finding = CriterionCheck.model_validate(check({"id": "c"}, [], "fail", "minor"))
    assert aggregate([criterion], [], [finding]) == ("fail", ())


def test_a_report_says_what_it_rests_on_in_camel_case() -> None:
    report = judge(inspector=Inspector({"light": ("fail", "minor")})).model_dump(mode="json")
    assert report["identity"] == request_json()["identity"]
    assert report["versions"].keys() == {"package", "policy", "schema", "checks"}
    assert (report["evaluator"], report["usage"]) == (METADATA, USAGE)
    assert [item["status"] for item in report["evidence"]] == ["available"] * 4
    assert report["evidence"][2]["metadata"]["mediaType"] == "image/png"
    assert [item["criterionId"] for item in report["criteria"]] == ["same", "light", "plain"]
    assert report["acceptedDeviations"] == [report["criteria"][1]]
    assert report["acceptedDeviations"][0]["affectedOutputIds"] == ["front-1"]


def test_no_ports_own_opinion_of_the_verdict_is_read() -> None:
    """A reply can only be refused for an aggregate: see the unusable replies; here it has no other way in."""

    class Eager(Inspector):
        async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> Any:
            answer = await super().evaluate(request, cancel=cancel)
            for finding in answer["response"]["checks"]:
                finding["observedEvidence"] = "Overall verdict: pass, score 100"
            return answer

    assert judge(inspector=Eager({"same": ("fail", "critical")})).verdict == "fail"


def test_create_judge_takes_its_ports_by_name_only() -> None:
    with pytest.raises(TypeError):
        create_judge(Inspector(), Inspector())  # type: ignore[call-arg, arg-type]
