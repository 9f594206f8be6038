"""The workshops themselves: areas, fillets and surfaces that can be reckoned by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Usd

from examples.authoring import quads, triangles
from examples.authoring.drawing import (
    Board,
    Extrusion,
    Lathe,
    Node,
    Solid,
    Tube,
    circle,
    disc,
    edit,
    flatten,
    rectangle,
)
from examples.authoring.ears import triangulate
from examples.authoring.subdivided import write_ring


def _volume(solid: Solid) -> tuple[float, float]:
    """Volume by each of the workshops, in litres."""
    mesh, soup = quads.build(solid), triangles.build(solid)
    fans, at = [], 0
    for count in mesh.counts:
        corners = mesh.indices[at : at + count]
        fans += [(corners[0], corners[i], corners[i + 1]) for i in range(1, count - 1)]
        at += count
    volumes = []
    for points, faces in ((np.array(mesh.points), fans), (np.array(soup.points), soup.triangles)):
        a, b, c = (points[np.array(faces)[:, i]] for i in range(3))
        volumes.append(1000 * float((a * np.cross(b, c)).sum()) / 6)
    return volumes[0], volumes[1]


@pytest.mark.parametrize(
    ("solid", "litres"),
    [
        (disc(0.1, 0.2, 0.0001), math.pi * 0.01 * 0.2 * 1000),
        (Extrusion(rectangle(0.2, 0.1), 0.3), 6.0),
        (Extrusion(rectangle(0.2, 0.1), 0.3, 0, (rectangle(0.05, 0.02, 0, 0.06), rectangle(0.1, 0.05, 0, -0.04))), 4.2),
        (Extrusion(circle(0.1), 0.2), math.pi * 0.01 * 0.2 * 1000),
        (Tube(((0, 0, 0), (0.1, 0, 0), (0.2, 0, 0)), 0.03), math.pi * 0.0009 * 0.2 * 1000),
        (Board((0.3, 0.2, 0.1), 0.0, (0, 0, 1, 1)), 6.0),
        (Lathe((*rectangle(0.04, 0.1, 0, 0.1),), closed=True), math.pi * (0.12**2 - 0.08**2) * 0.1 * 1000),
    ],
    ids=["disc", "prism", "prism with holes", "round bar", "tube", "board", "ring"],
)
def test_both_workshops_enclose_the_volume_that_was_drawn(solid: Solid, litres: float) -> None:
    first, second = _volume(solid)
    assert first == pytest.approx(litres, rel=0.06)
    assert second == pytest.approx(litres, rel=0.06)


def test_a_fillet_touches_both_sides_and_keeps_its_radius() -> None:
    (run,) = quads.runs(rectangle(0.2, 0.1, 0.02), closed=True)
    for (x, y), (nx, ny) in run:
        # Every point of a rounded rectangle lies a radius away from the core, along its normal.
        core = x - 0.02 * nx, y - 0.02 * ny
        assert abs(core[0]) == pytest.approx(0.08, abs=1e-9)
        assert abs(core[1]) == pytest.approx(0.03, abs=1e-9)


@given(
    st.lists(st.floats(0.5, 1.0), min_size=5, max_size=40),
    st.floats(0.02, 0.2),
    st.integers(3, 12),
)
def test_triangles_cover_a_star_with_a_hole_exactly(radii: list[float], hole: float, sides: int) -> None:
    count = len(radii)
    rim = [(r * math.cos(2 * math.pi * i / count), r * math.sin(2 * math.pi * i / count)) for i, r in enumerate(radii)]
    inner = [
        (hole * math.cos(-2 * math.pi * i / sides), hole * math.sin(-2 * math.pi * i / sides)) for i in range(sides)
    ]
    points = rim + inner
    faces = triangulate(points, list(range(count)), [list(range(count, count + sides))])

    def area(loop: list[tuple[float, float]]) -> float:
        return sum(ax * by - ay * bx for (ax, ay), (bx, by) in zip(loop, loop[1:] + loop[:1], strict=True)) / 2

    assert len(faces) == count + sides
    pieces = [area([points[i] for i in face]) for face in faces]
    assert min(pieces) >= -1e-12
    assert sum(pieces) == pytest.approx(area(rim) + area(inner))


def test_outlines_that_cross_are_refused() -> None:
    with pytest.raises(ValueError, match="crosses itself"):
        triangulate([(0, 0), (0, 1), (1, 1), (1, 0)], [0, 1, 2, 3], [])


def test_the_limit_of_the_subdivided_ring_is_the_drawn_outline() -> None:
    solid = Lathe(circle(0.01, 0.05), closed=True)
    stage = Usd.Stage.CreateInMemory()
    mesh = write_ring(stage, "/ring", solid, 1.0)
    points = np.array(mesh.GetPointsAttr().Get(), dtype=np.float64).reshape(12, -1, 3)
    for axis in (0, 1):
        points = (np.roll(points, 1, axis) + 4 * points + np.roll(points, -1, axis)) / 6
    from_core = np.hypot(np.hypot(points[..., 1], points[..., 2]) - 0.05, points[..., 0])
    assert np.abs(from_core - 0.01).max() < 0.0002


def test_nodes_turn_about_x_then_y_then_z_and_children_ride_along() -> None:
    child = Node("Child", disc(1, 1, 0.1), "P", translate=(0, 1, 0))
    root = Node("Root", translate=(10, 0, 0), rotate=(90, 0, 90), scale=2, children=(child,))
    (placed,) = flatten(root)
    # Scaled (0 2 0), about X (0 0 2), about Z unchanged, moved.
    assert placed.matrix[3, :3] == pytest.approx([10, 0, 2])
    assert placed.path == "/Root/Child"
    with pytest.raises(KeyError):
        edit(root, "Nobody", None)
    with pytest.raises(ValueError, match="no paint"):
        list(flatten(Node("Bare", disc(1, 1, 0.1))))
