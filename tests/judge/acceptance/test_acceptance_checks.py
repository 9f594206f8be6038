"""Measurable checks: exact, independent of the evaluator, reported one by one."""

from __future__ import annotations

import copy

import pytest

from tests.judge.acceptance.acceptance_kit import Access, Inspector, Json, available, judge, request_json, sha256

Row = tuple[str, str, str | None, str, str | None]


def _rows(request: Json, access: Access | None = None) -> list[Row]:
    report = judge(request, access)
    return [
        (check.kind, check.deliverable_id, check.output_id, check.verdict, check.problem)
        for check in report.measurable_checks
    ]


def test_everything_that_the_goal_asks_for_is_reported_one_by_one() -> None:
    assert _rows(request_json()) == [
        ("count", "front", None, "pass", None),
        ("width", "front", "front-1", "pass", None),
        ("height", "front", "front-1", "pass", None),
        ("count", "back", None, "pass", None),
        ("aspectRatio", "back", "back-1", "pass", None),
    ]


@pytest.mark.parametrize(("count", "problem"), [(1, None), (2, "missing"), (7, "missing")])
def test_a_missing_deliverable_fails(count: int, problem: str | None) -> None:
    request = request_json()
    request["goal"]["deliverables"][0]["count"] = count
    assert _rows(request)[0] == ("count", "front", None, "fail" if problem else "pass", problem)


def test_an_extra_deliverable_fails() -> None:
    request = request_json()
    request["outputs"][1]["deliverableId"] = "front"
    rows = _rows(request)
    assert rows[0] == ("count", "front", None, "fail", "extra")
    assert ("count", "back", None, "fail", "missing") in rows


def test_outputs_are_bound_by_name_and_never_by_position() -> None:
    request = request_json()
    request["outputs"].reverse()
    assert _rows(request) == _rows(request_json())


@pytest.mark.parametrize(("name", "wanted"), [("width", 9), ("width", 7), ("height", 11), ("height", 8)])
def test_a_wrong_decoded_size_fails_with_both_numbers(name: str, wanted: int) -> None:
    request = request_json()
    request["goal"]["deliverables"][0][name] = wanted
    report = judge(request)
    (check,) = [item for item in report.measurable_checks if item.verdict == "fail"]
    assert (check.kind, check.expected, check.actual) == (name, wanted, {"width": 8, "height": 10}[name])
    assert report.verdict == "fail"


@pytest.mark.parametrize(
    ("ratio", "fits"),
    [((4, 5), True), ((8, 10), True), ((400, 500), True), ((5, 4), False), ((801, 1000), False), ((1, 1), False)],
)
def test_an_aspect_ratio_is_compared_exactly(ratio: tuple[int, int], fits: bool) -> None:
    request = request_json()
    request["goal"]["deliverables"][1]["aspectRatio"] = {"width": ratio[0], "height": ratio[1]}
    assert (_rows(request)[-1][3] == "pass") is fits


def test_no_float_rounds_a_wrong_ratio_into_a_right_one() -> None:
    n = 10**9
    assert (n + 2) / (n + 1) == (n + 1) / n  # the same float, and not the same ratio
    request = request_json()
    request["goal"]["deliverables"][1]["aspectRatio"] = {"width": n + 1, "height": n}
    request["outputs"][1]["contentHash"] = sha256(b"test")
    answer = available("back-1", width=n + 2, height=n + 1, mediaType="image/next")
    answer |= {"bytes": b"test", "contentHash": sha256(b"test")}
    assert _rows(request, Access(back_1=answer))[-1] == ("aspectRatio", "back", "back-1", "fail", "mismatch")


def test_measurements_do_not_depend_on_the_evaluator() -> None:
    request = request_json()
    request["goal"]["deliverables"][0]["width"] = 9
    one = judge(request)
    two = judge(
        copy.deepcopy(request), inspector=Inspector({"same": ("fail", "critical"), "light": ("unknown", "none")})
    )
    assert one.measurable_checks == two.measurable_checks


def test_product_images_and_style_references_are_not_measured() -> None:
    measured = {check.output_id for check in judge().measurable_checks}
    assert measured == {None, "front-1", "back-1"}
