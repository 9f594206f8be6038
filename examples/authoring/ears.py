"""Cuts a polygon with holes into triangles by clipping ears."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float, float]
Triangle = tuple[int, int, int]


def triangulate(points: Sequence[Point], outline: Sequence[int], holes: Sequence[Sequence[int]]) -> list[Triangle]:
    """Triangles over ``points``, counter-clockwise. The outline runs counter-clockwise, holes clockwise.

    Raises :class:`ValueError` where the loops cross each other.
    """
    loop = list(outline)
    for hole in sorted(holes, key=lambda one: -max(points[index][0] for index in one)):
        loop = _bridge(points, loop, list(hole))
    triangles: list[Triangle] = []
    while len(loop) > 3:
        at = _best_ear(points, loop)
        triangles.append((loop[at - 1], loop[at], loop[(at + 1) % len(loop)]))
        del loop[at]
    triangles.append((loop[0], loop[1], loop[2]))
    return triangles


def _area(a: Point, b: Point, c: Point) -> float:
    """Twice the signed area."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _best_ear(points: Sequence[Point], loop: list[int]) -> int:
    """First ear from the front, skipping slivers while there is something better."""
    count, sliver = len(loop), None
    for at in range(count):
        corners = points[loop[at - 1]], points[loop[at]], points[loop[(at + 1) % count]]
        area = _area(*corners)
        if area < -1e-16:
            continue
        skip = set(corners)
        if area > 1e-12 and not any(points[index] not in skip and _inside(points[index], *corners) for index in loop):
            return at
        if area <= 1e-12 and sliver is None:
            sliver = at
    if sliver is None:
        raise ValueError("the outline crosses itself")
    return sliver


def _inside(p: Point, a: Point, b: Point, c: Point) -> bool:
    return _area(a, b, p) >= -1e-15 and _area(b, c, p) >= -1e-15 and _area(c, a, p) >= -1e-15


def _bridge(points: Sequence[Point], loop: list[int], hole: list[int]) -> list[int]:
    """Joins a hole to the loop by the shortest cut that crosses nothing."""
    edges = [(points[ring[i - 1]], points[ring[i]]) for ring in (loop, hole) for i in range(len(ring))]
    start = max(range(len(hole)), key=lambda i: points[hole[i]])
    ordered = sorted(range(len(loop)), key=lambda i: _distance(points[loop[i]], points[hole[start]]))
    for at in ordered:
        a, b = points[loop[at]], points[hole[start]]
        if not any(_cross(a, b, c, d) for c, d in edges):
            return [*loop[: at + 1], *hole[start:], *hole[: start + 1], *loop[at:]]
    raise ValueError("a hole lies outside the outline")


def _distance(a: Point, b: Point) -> float:
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    if {a, b} & {c, d}:
        return False
    return _area(a, b, c) * _area(a, b, d) <= 0 and _area(c, d, a) * _area(c, d, b) <= 0
