"""The offline evaluator on pictures that Storm rendered, and the shape of its rules.

The pictures under ``tests/fixtures/renders`` are frozen and labelled there; nothing is rendered here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from judge import ControllerAuthorization, ObjectiveGates, judge_visuals
from judge.metrics import MetricsClient, difference_map, metrics_config
from judge.metrics.client import judge_views, measure
from judge.metrics.difference import Rgb8, flip_error
from judge.metrics.distances import SIDE, ground, reduce, shape_distances, silhouette
from judge.metrics.levels import ARTIFACTS, COMPONENTS, SHAPE, SURFACE, TONE, level, worst
from judge.ports import LabelledImage
from receipt.model import Role
from receipt.png import decode_png, encode_png, to_rgb8
from tests.episodes import build_episode

RENDERS = Path(__file__).resolve().parents[2] / "fixtures" / "renders" / "crate"
VIEWS = ("front-left", "high")
PASSES = ("beauty", "clay")


def picture(kind: str, view: str, pass_name: str) -> Rgb8:
    with Image.open(RENDERS / kind / f"{view}.{pass_name}.png") as image:
        return np.array(image.convert("RGB"))


Edit = Callable[[Rgb8, str], Rgb8]


def images(kind: str, edit: Edit = lambda pixels, _: pixels) -> list[LabelledImage]:
    found = []
    for number, view in enumerate(VIEWS, 1):
        for pass_name in PASSES:
            for role, source in (("reference", "reference"), ("candidate", kind)):
                pixels = picture(source, view, pass_name)
                pixels = edit(pixels, pass_name) if role == "candidate" else pixels
                one: Role = "reference" if role == "reference" else "candidate"
                found.append(LabelledImage("", one, number, pass_name, "image/png", "", _png(pixels)))
    return found


def levels(kind: str, edit: Edit = lambda pixels, _: pixels) -> dict[str, int | None]:
    return {name: answer[0] for name, answer in judge_views(measure(images(kind, edit))).items()}


def test_an_identical_candidate_is_at_every_top() -> None:
    assert levels("reference") == {"components": 4, "shape": 4, "surface": 4, "artifacts": 4}


def test_an_undamaged_one_authored_independently_keeps_level_three() -> None:
    found = levels("independent")
    assert min(level or 0 for level in found.values()) >= 3


@pytest.mark.parametrize(
    ("kind", "criterion"),
    [("part-missing", "components"), ("part-moved", "shape"), ("wrong-colour", "surface"), ("wrong-size", "shape")],
)
def test_damage_falls_to_two_where_it_belongs(kind: str, criterion: str) -> None:
    damaged, undamaged = levels(kind)[criterion], levels("independent")[criterion]
    assert damaged is not None and undamaged is not None
    assert damaged <= 2 < undamaged


def test_colour_does_not_touch_shape() -> None:
    found = levels("wrong-colour")
    assert (found["components"], found["shape"]) == (4, 4)


def _blank(pixels: Rgb8, _: str) -> Rgb8:
    return np.full_like(pixels, pixels[0, 0])


def test_a_blank_candidate_is_at_the_bottom_of_every_scale() -> None:
    assert levels("reference", _blank) == {"components": 0, "shape": 0, "surface": 0, "artifacts": 0}


def test_a_blank_reference_leaves_nothing_to_assess() -> None:
    blank = [dataclasses.replace(image, data=_png(_blank(_pixels(image), ""))) for image in images("reference")]
    assert judge_views(measure(blank)) == {}


def _pixels(image: LabelledImage) -> Rgb8:
    return to_rgb8(decode_png(image.data))


def _png(pixels: Rgb8) -> bytes:
    return encode_png(np.ascontiguousarray(pixels).tobytes(), pixels.shape[1], pixels.shape[0], 8)


def _noise(pixels: Rgb8, _: str) -> Rgb8:
    rng = np.random.default_rng(7)
    spoilt = pixels.copy()
    inside = silhouette(pixels, ground(pixels)) & (rng.random(pixels.shape[:2]) < 0.12)
    spoilt[inside] = 255 - spoilt[inside]
    return spoilt


def test_specks_are_artifacts() -> None:
    assert (levels("reference", _noise)["artifacts"] or 0) <= 2
    assert levels("reference")["artifacts"] == 4


def test_growing_damage_never_raises_a_level_and_always_grows_the_distance() -> None:
    clay = reduce(picture("reference", "high", "clay"))
    rows, columns = np.nonzero(silhouette(clay, ground(clay)))
    top, left = int(np.median(rows)), int(np.median(columns))
    reach, found = [], []
    for size in (6, 12, 24, 48):
        cut = clay.copy()
        cut[top : top + size, left : left + size] = clay[0, 0]
        shape = shape_distances(clay, cut, flip_error(clay, cut))
        assert shape is not None
        reach.append(shape.largest)
        found.append(level(shape.largest, COMPONENTS))
    assert reach == sorted(set(reach))
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("thresholds", [COMPONENTS, SHAPE, SURFACE, TONE, ARTIFACTS])
def test_thresholds_rise_and_levels_fall(thresholds: tuple[float, float, float, float]) -> None:
    assert list(thresholds) == sorted(set(thresholds))
    assert [level(0.0, thresholds), level(1e9, thresholds)] == [4, 0]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_the_two_worst_views_decide(values: list[float]) -> None:
    assert min(values) <= worst(values) <= max(values)
    assert worst(values) >= sum(values) / len(values) - 1e-9


@settings(max_examples=30, deadline=None)
@given(width=st.integers(1, 900), height=st.integers(1, 900))
def test_reduction_keeps_the_longer_side_within_bounds(width: int, height: int) -> None:
    small = reduce(np.full((height, width, 3), 77, np.uint8))
    assert max(small.shape[:2]) <= SIDE or max(width, height) <= SIDE
    assert (small == 77).all()


def test_the_difference_map_is_black_where_nothing_differs_and_refuses_other_sizes() -> None:
    one = reduce(picture("reference", "high", "beauty"))
    assert not difference_map(one, one).any()
    shown = difference_map(one, reduce(picture("wrong-colour", "high", "beauty")))
    assert shown.shape == one.shape
    assert shown.max() > 120
    for other in (one[1:], one[..., :2], np.zeros((0, 0, 3), np.uint8)):
        with pytest.raises(ValueError, match="one size"):
            difference_map(one, other)


def test_it_answers_as_any_client_does_and_says_that_it_is_no_model(tmp_path: Path) -> None:
    def by_role(role: Role, view_id: str) -> Rgb8:
        view, pass_name = view_id.split(".")
        return picture("reference" if role == "reference" else "wrong-colour", view, pass_name)

    evidence = build_episode(
        tmp_path, picture=by_role, views=tuple(f"{view}.{one}" for view in VIEWS for one in PASSES)
    ).load()
    results = [
        judge_visuals(
            evidence=evidence,
            objective=ObjectiveGates(True, True, True),
            authorization=ControllerAuthorization("tester"),
            client=MetricsClient(),
            config=metrics_config(),
            allow_fixtures=True,
        )
        for _ in range(2)
    ]
    first = results[0]
    assert first.status == "scored", first.detail
    assert first.provider is not None and "no model" in str(first.provider.served_model)
    assert first.response_sha256 == results[1].response_sha256, "the same pictures, the same answer"
    assert first.sidecar is not None and len(first.sidecar["views"]) == 2
    assert json.loads(first.model_dump_json())["score"] == first.score
