"""Normals from shape alone: pure arithmetic, checked on bodies whose normals are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderer.normals import Floats, Indices, agree, corner_normals


def ints(values: list[int]) -> Indices:
    return np.array(values, np.int64)


def cube() -> tuple[Floats, Indices, Indices]:
    points = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
    faces = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
    return points, ints([4] * 6), ints(faces)


def tube(sides: int, split: bool) -> tuple[Floats, Indices, Indices]:
    """The side of a cylinder of radius 1 along Z; ``split`` gives each face points of its own."""
    ring = [(math.cos(2 * math.pi * i / sides), math.sin(2 * math.pi * i / sides)) for i in range(sides)]
    points: list[tuple[float, float, float]] = []
    faces: list[int] = []
    if split:
        for i in range(sides):
            (a, b), (c, d) = ring[i], ring[(i + 1) % sides]
            faces += range(len(points), len(points) + 4)
            points += [(a, b, 0), (c, d, 0), (c, d, 1), (a, b, 1)]
    else:
        points = [(x, y, z) for z in (0, 1) for x, y in ring]
        for i in range(sides):
            j = (i + 1) % sides
            faces += [i, j, j + sides, i + sides]
    return np.array(points, np.float32), ints([4] * sides), ints(list(faces))


def test_a_cube_stays_sharp() -> None:
    points, counts, indices = cube()
    normals = corner_normals(points, counts, indices)
    assert normals is not None
    outward = points[indices].reshape(6, 4, 3).mean(1) - 0.5
    assert np.allclose(normals.reshape(6, 4, 3), 2 * outward[:, None], atol=1e-6)


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("sides", [8, 12, 64])
def test_a_tube_is_round_whether_its_faces_share_points_or_not(sides: int, split: bool) -> None:
    points, counts, indices = tube(sides, split)
    normals = corner_normals(points, counts, indices)
    assert normals is not None
    radial = points[indices] * (1, 1, 0)
    assert np.allclose(normals, radial, atol=1e-5)


def test_a_hexagon_is_not_round() -> None:
    normals = corner_normals(*tube(6, False))
    assert normals is not None
    assert np.allclose(normals.reshape(6, 4, 3), normals.reshape(6, 4, 3)[:, :1], atol=1e-6)


@pytest.mark.parametrize(
    ("counts", "indices"),
    [([], []), ([3], [0, 1]), ([3], [0, 1, 99]), ([3], [0, 1, -1]), ([0, 3], [0, 1, 2]), ([-3, 6], [0, 1, 2])],
)
def test_what_does_not_fit_has_no_normals(counts: list[int], indices: list[int]) -> None:
    assert corner_normals(cube()[0], ints(counts), ints(indices)) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.floats(width=32)] * 3), min_size=1, max_size=12),
    st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=6), min_size=1, max_size=12),
)
def test_normals_are_units_whatever_the_points_are(
    points: list[tuple[float, float, float]], faces: list[list[int]]
) -> None:
    inside = [[index % len(points) for index in face] for face in faces]
    indices = ints([index for face in inside for index in face])
    normals = corner_normals(np.array(points, np.float32), ints([len(face) for face in inside]), indices)
    assert normals is not None and normals.shape == (len(indices), 3)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-3)


def test_many_faces_at_one_point_cost_no_more_than_their_number() -> None:
    sides = 20_000
    ring = [(math.cos(2 * math.pi * i / sides), math.sin(2 * math.pi * i / sides), 0) for i in range(sides)]
    faces = [corner for i in range(sides) for corner in (0, 1 + i, 1 + (i + 1) % sides)]
    normals = corner_normals(np.array([(0, 0, 0), *ring], np.float32), ints([3] * sides), ints(faces))
    assert normals is not None and np.allclose(normals, (0, 0, 1), atol=1e-5)


def test_turned_normals_are_told_by_their_majority() -> None:
    points, counts, indices = tube(8, False)
    normals = corner_normals(points, counts, indices)
    assert normals is not None
    assert agree(normals, normals) and not agree(normals, -normals)
    painted = normals.copy()
    painted[:8] *= -1
    assert agree(normals, painted)
