"""Criteria answered by measures: which outputs count, how levels become findings, and what stays unknown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from judge.acceptance import CriterionCheck, JudgeReport, MeasuredEvaluator, Pair
from judge.errors import JudgeError, ReplyError
from judge.ports import ProviderConfig, ProviderRequest, ProviderResponse, Usage
from judge.rubric import default_rubric
from tests.judge.acceptance.acceptance_kit import Access, Json, judge, picture, sha256
from tests.judge.acceptance.acceptance_kit import request_json as kit_request

CONFIG = ProviderConfig("metrics", "no-model-1")
VIEWS = ("front", "back")
PASSES = ("beauty", "clay")
NAMES = [f"{view}.{name}" for view in VIEWS for name in PASSES]
PAIRS = [Pair(f"c:{name}", f"r:{name}", *name.split(".")) for name in NAMES]
BYTES = {
    f"{role}:{name}": picture(4, 4, f"#{index:02x}{role_index:02x}00")
    for index, name in enumerate(NAMES)
    for role_index, role in enumerate("rc")
}
Levels = Mapping[str, int | None]


class Metrics:
    """Answers with levels by view number."""

    provider_id = "metrics"

    def __init__(self, *levels: Levels, usage: Usage | None = None, served: str | None = "no-model-1") -> None:
        self.levels = levels or ({}, {})
        self.usage = usage or Usage()
        self.served = served
        self.requests: list[ProviderRequest] = []

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> ProviderResponse:
        self.requests.append(request)
        number = request.images[0].view
        given = self.levels[number - 1]
        criteria = []
        for name in default_rubric().ids:
            level = given.get(name, 4)
            criteria.append(
                {
                    "id": name,
                    "level": level,
                    "unassessable": level is None,
                    "observation": f"{name} is {level} in view {number}",
                }
            )
        return ProviderResponse(json.dumps({"criteria": criteria}), self.served, None, self.usage)


def _request(*criteria: Json) -> Json:
    request = kit_request()
    request["goal"]["deliverables"] = [{"id": name, "count": 1} for name in NAMES]
    request["goal"]["criteria"] = [
        {"id": f"k{index}", "description": "?", "required": False, "allowMinorDeviation": True} | criterion
        for index, criterion in enumerate(criteria)
    ]
    request["productImages"] = [{"id": f"r:{name}", "contentHash": sha256(BYTES[f"r:{name}"])} for name in NAMES]
    request["styleReferences"] = []
    request["outputs"] = [
        {
            "id": f"c:{name}",
            "contentHash": sha256(BYTES[f"c:{name}"]),
            "deliverableId": name,
            "nodeId": "n",
            "nodeRunId": "r",
        }
        for name in NAMES
    ]
    return request


class Renders(Access):
    def __init__(self) -> None:
        super().__init__()
        for image_id, data in BYTES.items():
            self.answers[image_id] = {
                "status": "available",
                "id": image_id,
                "contentHash": sha256(data),
                "bytes": data,
                "metadata": {
                    "source": "decoded",
                    "decoder": {"name": "d", "version": "1"},
                    "width": 4,
                    "height": 4,
                    "mediaType": "image/png",
                },
            }


def _judge(client: Metrics, measures: Mapping[str, str], *criteria: Json, pairs: Any = None) -> JudgeReport:
    evaluator = MeasuredEvaluator(
        client, CONFIG, rubric=default_rubric(), measures=measures, pairs=PAIRS if pairs is None else pairs
    )
    return judge(_request(*criteria), Renders(), evaluator)


def _one(client: Metrics, measure: str | None, **criterion: Any) -> CriterionCheck:
    report = _judge(client, {"k0": measure} if measure else {}, criterion)
    assert report.criteria is not None
    return report.criteria[0]


def _passes(measure: str) -> tuple[str, ...]:
    return next(criterion.passes for criterion in default_rubric().data.criteria if criterion.id == measure)


@pytest.mark.parametrize(
    ("level", "verdict", "severity"),
    [(4, "pass", "none"), (3, "fail", "minor"), (2, "fail", "major"), (1, "fail", "critical"), (0, "fail", "critical")],
)
@pytest.mark.parametrize("measure", ["components", "shape", "surface", "artifacts"])
def test_a_level_becomes_a_finding_on_the_passes_that_the_measure_looks_at(
    level: int, verdict: str, severity: str, measure: str
) -> None:
    found = _one(Metrics({}, {measure: level}), measure)
    assert (found.verdict, found.severity) == (verdict, severity)
    affected = [f"c:back.{name}" for name in PASSES if name in _passes(measure)]
    assert list(found.affected_output_ids) == ([] if level == 4 else affected)
    assert found.output_ids == tuple(f"c:{name}" for name in NAMES)


def test_the_worst_view_decides_and_every_imperfect_view_is_affected() -> None:
    found = _one(Metrics({"shape": 3}, {"shape": 1}), "shape")
    assert (found.severity, found.observed_evidence) == ("critical", "shape is 1 in view 2")
    assert found.affected_output_ids == ("c:front.clay", "c:back.clay")


def test_an_unassessable_view_makes_the_criterion_unknown() -> None:
    found = _one(Metrics({"shape": None}, {}), "shape")
    assert (found.verdict, found.severity, found.affected_output_ids) == ("unknown", "none", ("c:front.clay",))
    assert found.observed_evidence == "shape is None in view 1"


def test_a_known_failure_outranks_an_unassessable_view() -> None:
    found = _one(Metrics({"shape": None}, {"shape": 2}), "shape")
    assert (found.verdict, found.severity, found.affected_output_ids) == ("fail", "major", ("c:back.clay",))


def test_a_criterion_without_a_measure_is_unknown() -> None:
    found = _one(Metrics({"shape": 0}, {"shape": 0}), None)
    assert (found.verdict, found.affected_output_ids) == ("unknown", ())


def test_only_views_that_the_criterion_covers_count() -> None:
    client = Metrics({"shape": 0}, {})
    assert _one(client, "shape", deliverableIds=["back.clay"]).verdict == "pass"
    assert _one(client, "shape", deliverableIds=["front.clay"]).verdict == "fail"


def test_a_criterion_that_covers_no_pass_of_its_measure_is_unknown() -> None:
    assert "beauty" not in _passes("shape")
    assert _one(Metrics({"shape": 0}, {"shape": 0}), "shape", deliverableIds=["front.beauty"]).verdict == "unknown"


def test_a_picture_without_a_pass_serves_every_measure() -> None:
    pairs = [Pair(f"c:{name}", f"r:{name}", name, None) for name in NAMES]
    client = Metrics({}, {}, {}, {"shape": 2})
    report = _judge(client, {"k0": "shape", "k1": "surface"}, {}, {}, pairs=pairs)
    assert report.criteria is not None
    assert report.criteria[0].affected_output_ids == ("c:back.clay",)
    assert report.criteria[1].verdict == "pass"


def test_each_view_is_asked_once_with_neutral_labels_and_paired_images() -> None:
    client = Metrics()
    _judge(client, {"k0": "shape", "k1": "surface"}, {}, {})
    assert [[image.label for image in request.images] for request in client.requests] == [
        [f"{role}, view {number}, {name}" for name in PASSES for role in ("reference", "candidate")]
        for number in (1, 2)
    ]
    assert client.requests[1].images[1].data == BYTES["c:back.beauty"]
    assert len({request.request_sha256 for request in client.requests}) == 2


def test_it_names_itself_as_measures_and_not_as_a_model_that_read_the_criteria() -> None:
    report = _judge(Metrics(), {"k0": "shape"}, {})
    assert report.evaluator is not None
    assert (report.evaluator.evaluator_id, report.evaluator.provider) == ("measures", "metrics")
    assert default_rubric().data.id in report.evaluator.evaluator_version


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        (Usage(), (None, None, None, None)),
        (Usage(3, 2, 5, 0.25), (6, 4, 10, 0.5)),
        (Usage(3, None, 5, None), (6, None, 10, None)),
    ],
)
def test_usage_is_the_sum_of_the_calls_and_unknown_where_a_part_is(usage: Usage, total: tuple[Any, ...]) -> None:
    report = _judge(Metrics({}, {}, usage=usage), {"k0": "shape"}, {})
    assert report.usage is not None
    assert tuple(report.usage.model_dump().values()) == total


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda client: setattr(client, "served", "other"), "served_model_mismatch"),
        (lambda client: setattr(client, "served", None), "served_model_missing"),
        (lambda client: setattr(client, "levels", ({"shape": 9}, {})), "reply_invalid"),
        (lambda client: setattr(client, "levels", ()), "provider_error"),
    ],
)
def test_a_client_that_fails_is_a_technical_error(spoil: Callable[[Metrics], None], code: str) -> None:
    client = Metrics()
    spoil(client)
    with pytest.raises(ReplyError) as caught:
        _judge(client, {"k0": "shape"}, {})
    assert caught.value.code == code


def test_a_client_of_another_provider_is_refused_before_any_call() -> None:
    with pytest.raises(JudgeError) as caught:
        MeasuredEvaluator(Metrics(), ProviderConfig("x", "m"), rubric=default_rubric(), measures={}, pairs=[])
    assert caught.value.code == "provider_mismatch"
