"""Cameras: pure, matched, and framing what they are given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from renderer.cameras import resolve_cameras, turn_of_seed
from renderer.errors import AssetError
from renderer.profile import ViewSpec
from renderer.protocol import Camera

VIEWS = (
    ViewSpec(name="a", azimuth_degrees=35, elevation_degrees=20),
    ViewSpec(name="b", azimuth_degrees=300, elevation_degrees=-40, fov_degrees=50),
    ViewSpec(name="c", azimuth_degrees=0, elevation_degrees=80, projection="orthographic"),
)


def project(camera: Camera, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Picture coordinates in [-1, 1] and the depth in metres, written independently of the code under test."""
    eye, target = np.array(camera.eye), np.array(camera.target)
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, camera.up)
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    local = (points - eye) @ np.array([right, up, forward]).T
    if camera.projection == "orthographic":
        half = np.full(len(points), camera.height_metres / 2)
    else:
        half = local[:, 2] * math.tan(math.radians(camera.fov_degrees) / 2)
    return np.stack([local[:, 0] / half, local[:, 1] / half, local[:, 2]], axis=1)


sizes = st.floats(1e-4, 1e4)
coordinates = st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))


@given(points=st.lists(coordinates, min_size=2, max_size=30), size=sizes, offset=coordinates, turn=st.floats(0, 360))
def test_every_point_is_inside_the_frame_and_between_the_planes(
    points: list[tuple[float, float, float]], size: float, offset: tuple[float, float, float], turn: float
) -> None:
    outline = np.array(points) * size + np.array(offset) * size * 3
    if not np.ptp(outline, axis=0).max() > size * 1e-3:
        return
    for camera in resolve_cameras(VIEWS, outline, turn_degrees=turn):
        picture = project(camera, outline)
        assert np.abs(picture[:, :2]).max() <= 1.0 + 1e-6
        assert camera.near_metres < picture[:, 2].min() + 1e-9
        assert picture[:, 2].max() < camera.far_metres


def test_the_subject_fills_the_frame_but_for_the_margin() -> None:
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    for camera in resolve_cameras(VIEWS, cube):
        reach = np.abs(project(camera, cube)[:, :2]).max()
        assert 1 / 1.15 - 0.06 < reach < 1 / 1.15 + 1e-6


@given(scale=st.floats(1e-3, 1e3))
def test_framing_scales_with_the_subject(scale: float) -> None:
    cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)], float)
    for small, large in zip(resolve_cameras(VIEWS, cube), resolve_cameras(VIEWS, cube * scale), strict=True):
        assert np.allclose(np.array(small.eye) * scale, large.eye, rtol=1e-9)
        assert math.isclose(small.near_metres * scale, large.near_metres, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("outline", "code"),
    [
        ([[0, 0, 0]], "nothing_to_frame"),
        ([[1, 1, 1], [1, 1, 1]], "nothing_to_frame"),
        ([[0, 0, 0], [math.nan, 0, 0]], "nothing_to_frame"),
        ([[0, 0, 0], [math.inf, 0, 0]], "nothing_to_frame"),
        ([[0, 0, 0], [1e12, 0, 0]], "absurd_size"),
    ],
)
def test_what_cannot_be_framed_is_refused_by_name(outline: list[list[float]], code: str) -> None:
    with pytest.raises(AssetError) as caught:
        resolve_cameras(VIEWS, np.array(outline, float))
    assert caught.value.code == code
    assert caught.value.fault == "candidate"


def test_a_seed_turns_all_views_alike_and_no_seed_turns_none() -> None:
    assert turn_of_seed(None) == 0
    assert turn_of_seed(7) == turn_of_seed(7)
    assert len({turn_of_seed(seed) for seed in range(50)}) > 40
    cube = np.array([[0, 0, 0], [1, 1, 1]], float)
    plain, turned = resolve_cameras(VIEWS, cube), resolve_cameras(VIEWS, cube, turn_degrees=90)
    assert [round(b.azimuth_degrees - a.azimuth_degrees, 6) for a, b in zip(plain, turned, strict=True)] == [90] * 3
