"""The other workshop: welded points, triangles only, normals found from the faces and kept a corner.

It shares the drawing with :mod:`examples.authoring.quads`, and nothing else: curves get other points, and a
normal is the mean of the faces that meet at less than the crease angle, weighted by area.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from examples.authoring.drawing import Board, Extrusion, Lathe, Line, Matrix, Solid, Tube
from examples.authoring.ears import triangulate

Array = NDArray[np.float64]

_FINEST, _COARSEST = 50, 18
_ARC_DEGREES, _SMALL_ARC_DEGREES, _SMALL_METRES = 12.5, 24.0, 0.0038
_CREASE_DEGREES = 31.0

Point = tuple[float, float]


@dataclass
class Soup:
    """Welded points, shape (n, 3); triangles with a smoothed normal a corner, and a sheet position where painted."""

    points: list[Array] = field(default_factory=list)
    triangles: list[tuple[int, int, int]] = field(default_factory=list)
    normals: list[tuple[Array, Array, Array]] = field(default_factory=list)
    st: list[tuple[Point, Point, Point]] = field(default_factory=list)

    def moved(self, matrix: Matrix) -> Soup:
        """In another frame; ``matrix`` turns, moves and scales evenly."""
        turn = matrix[:3, :3]
        scale = float(np.linalg.norm(turn[0]))
        return Soup(
            [point @ turn + matrix[3, :3] for point in self.points],
            self.triangles,
            [(a @ turn / scale, b @ turn / scale, c @ turn / scale) for a, b, c in self.normals],
            self.st,
        )


def build(solid: Solid) -> Soup:
    """The solid in its own frame."""
    if isinstance(solid, Board):
        return _box(solid)
    rings, caps, wrap = _rings(solid)
    soup = Soup()
    at = []
    for ring in rings:
        start = len(soup.points)
        pole = len({tuple(point) for point in ring}) == 1
        soup.points.extend(ring[:1] if pole else ring)
        at.append([start] * len(ring) if pole else list(range(start, start + len(ring))))
    pairs = list(pairwise(at)) + ([(at[-1], at[0])] if wrap else [])
    for low, high in pairs:
        if len(low) == len(high):
            _band(soup, low, high)
    if caps:
        _cap(soup, at)
    _smooth(soup)
    return soup


def _flat(line: Line, closed: bool) -> list[Point]:
    """The line as points, fillets rounded out around their centres."""
    points: list[Point] = []
    for i, corner in enumerate(line):
        if not corner.radius:
            points.append((corner.x, corner.y))
            continue
        before, after = line[i - 1], line[(i + 1) % len(line)]
        here = np.array([corner.x, corner.y])
        back, on = (np.array([other.x, other.y]) - here for other in (before, after))
        back, on = back / np.linalg.norm(back), on / np.linalg.norm(on)
        angle = math.acos(float(np.clip(back @ on, -1, 1)))
        middle = (back + on) / np.linalg.norm(back + on)
        centre = here + middle * corner.radius / math.sin(angle / 2)
        spread = math.pi - angle
        arc = _ARC_DEGREES if corner.radius > _SMALL_METRES else _SMALL_ARC_DEGREES
        steps = max(2, math.ceil(math.degrees(spread) / arc))
        across = back - on
        across /= np.linalg.norm(across)
        for step in range(steps + 1):
            lean = spread * (0.5 - step / steps)
            spoke = -middle * math.cos(lean) + across * math.sin(lean)
            points.append((float(centre[0] + corner.radius * spoke[0]), float(centre[1] + corner.radius * spoke[1])))
    return [p for i, p in enumerate(points) if (i == 0 and not closed) or math.dist(p, points[i - 1]) > 1e-7]


def _rings(solid: Lathe | Extrusion | Tube) -> tuple[list[list[Array]], bool, bool]:
    """Rings of points to be joined in turn, whether the ends are caps, and whether the last meets the first."""
    if isinstance(solid, Lathe):
        spokes = round(min(_FINEST, max(_COARSEST, 320 * max(corner.x for corner in solid.line) ** 0.5)))
        angles = [2 * math.pi * (i + 0.5) / spokes for i in range(spokes)]
        profile = _flat(solid.line, solid.closed)
        return (
            [[np.array([r * math.sin(a), y, r * math.cos(a)]) for a in angles] for r, y in profile],
            False,
            solid.closed,
        )
    if isinstance(solid, Extrusion):
        half, cut = solid.depth / 2, solid.chamfer
        rings = []
        for line in (solid.outline, *(tuple(reversed(hole)) for hole in solid.holes)):
            loop = _flat(line, True)
            small = _shrunk(loop, cut)
            levels = [(small, -half), (loop, cut - half), (loop, half - cut), (small, half)] if cut else []
            levels = levels or [(loop, -half), (loop, half)]
            rings += [[np.array([x, y, z]) for x, y in each] for each, z in levels]
            rings.append([])
        return rings, True, False
    return _tube_rings(solid), not solid.closed, solid.closed


def _shrunk(loop: list[Point], cut: float) -> list[Point]:
    found = []
    for i, (x, y) in enumerate(loop):
        (ax, ay), (bx, by) = loop[i - 1], loop[(i + 1) % len(loop)]
        first, second = math.dist((ax, ay), (x, y)), math.dist((x, y), (bx, by))
        n1, n2 = ((y - ay) / first, (ax - x) / first), ((by - y) / second, (x - bx) / second)
        scale = cut / (1 + n1[0] * n2[0] + n1[1] * n2[1])
        found.append((x - scale * (n1[0] + n2[0]), y - scale * (n1[1] + n2[1])))
    return found


def _tube_rings(solid: Tube) -> list[list[Array]]:
    """Rings set along a cubic Hermite curve, oriented by the plane that halves each bend."""
    per_span, segments = 4, 16
    knots = [np.array(point, dtype=np.float64) for point in solid.path]
    count = len(knots)
    slopes = [
        (knots[(i + 1) % count] - knots[i - 1]) / 2
        if solid.closed or 0 < i < count - 1
        else (knots[1] - knots[0] if i == 0 else knots[-1] - knots[-2])
        for i in range(count)
    ]
    centres = []
    for i in range(count if solid.closed else count - 1):
        a, b, da, db = knots[i], knots[(i + 1) % count], slopes[i], slopes[(i + 1) % count]
        for step in range(per_span):
            t = step / per_span
            h = (1 + 2 * t) * (1 - t) ** 2, t * (1 - t) ** 2, t * t * (3 - 2 * t), t * t * (t - 1)
            centres.append(h[0] * a + h[1] * da + h[2] * b + h[3] * db)
    if not solid.closed:
        centres.append(knots[-1])
    total, rings = len(centres), []
    spoke = None
    for i, centre in enumerate(centres):
        ahead = centres[(i + 1) % total] if solid.closed or i + 1 < total else centre
        behind = centres[i - 1] if solid.closed or i > 0 else centre
        along = (ahead - behind) / np.linalg.norm(ahead - behind)
        if spoke is None:
            spoke = np.cross(along, [0.31, 0.77, 0.56])
        spoke = spoke - along * (spoke @ along)
        spoke = spoke / np.linalg.norm(spoke)
        other = np.cross(along, spoke)
        turns = [2 * math.pi * step / segments for step in range(segments)]
        rings.append([centre + solid.radius * (spoke * math.cos(a) + other * math.sin(a)) for a in turns])
    if solid.closed:
        gap = [float(np.linalg.norm(point - rings[-1][0])) for point in rings[0]]
        turn = int(np.argmin(gap))
        # The twist that is left over is spread along the whole tube.
        extra = 2 * math.pi * turn / segments
        rings = [
            _twisted(ring, centre, extra * i / total)
            for i, (ring, centre) in enumerate(zip(rings, centres, strict=True))
        ]
    return rings


def _twisted(ring: list[Array], centre: Array, angle: float) -> list[Array]:
    a, b = ring[0] - centre, ring[len(ring) // 4] - centre  # a quarter turn apart
    cos, sin = math.cos(angle), math.sin(angle)
    u, v = a * cos + b * sin, b * cos - a * sin
    turns = [2 * math.pi * step / len(ring) for step in range(len(ring))]
    return [centre + u * math.cos(t) + v * math.sin(t) for t in turns]


def _band(soup: Soup, low: list[int], high: list[int]) -> None:
    count = len(low)
    for i in range(count):
        a, b, c, d = low[i], low[(i + 1) % count], high[(i + 1) % count], high[i]
        for triangle in ((a, b, c), (a, c, d)) if i % 2 else ((a, b, d), (b, c, d)):
            if len(set(triangle)) == 3:
                soup.triangles.append(triangle)


def _cap(soup: Soup, rings: list[list[int]]) -> None:
    """Closes the first and the last ring of each group; groups after the first are holes through it."""
    groups: list[list[list[int]]] = [[]]
    for ring in rings:
        if ring:
            groups[-1].append(ring)
        else:
            groups.append([])
    groups = [group for group in groups if group]
    for end in (-1, 0):
        loops = [group[end] for group in groups]
        frame = _plane(soup, loops[0])
        flat = {
            index: (float(x), float(y)) for loop in loops for index in loop for x, y in [frame @ soup.points[index]]
        }
        keys = list(flat)
        place = {index: at for at, index in enumerate(keys)}
        local = [[place[index] for index in loop] for loop in loops]
        for a, b, c in triangulate([flat[index] for index in keys], local[0], local[1:]):
            triangle = (keys[a], keys[b], keys[c])
            soup.triangles.append(triangle if end else (triangle[0], triangle[2], triangle[1]))


def _plane(soup: Soup, loop: list[int]) -> Array:
    """Two axes of the loop's plane in which it runs counter-clockwise, shape (2, 3)."""
    points = np.array([soup.points[index] for index in loop])
    facing = np.cross(points, np.roll(points, -1, axis=0)).sum(0)
    facing /= np.linalg.norm(facing)
    across = np.cross(facing, np.eye(3)[int(np.argmin(np.abs(facing)))])
    across /= np.linalg.norm(across)
    return np.array([across, np.cross(facing, across)])


def _smooth(soup: Soup) -> None:
    points = np.array(soup.points)
    corners = np.array(soup.triangles)
    weighted = np.cross(points[corners[:, 1]] - points[corners[:, 0]], points[corners[:, 2]] - points[corners[:, 0]])
    unit = weighted / np.linalg.norm(weighted, axis=1, keepdims=True)
    touching: dict[int, list[int]] = defaultdict(list)
    for face, triangle in enumerate(soup.triangles):
        for index in triangle:
            touching[index].append(face)
    limit = math.cos(math.radians(_CREASE_DEGREES))
    for face, triangle in enumerate(soup.triangles):
        found = []
        for index in triangle:
            near = [other for other in touching[index] if float(unit[face] @ unit[other]) > limit]
            total = weighted[near].sum(0)
            found.append(total / np.linalg.norm(total))
        soup.normals.append((found[0], found[1], found[2]))


def _box(board: Board) -> Soup:
    """A box as the hull of 24 points: six inner faces, twelve bevels, eight corners."""
    size = np.array(board.size)
    soup, index = Soup(), {}
    for signs in ((x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)):
        for axis in range(3):
            inner = size / 2 - board.chamfer
            inner[axis] = size[axis] / 2
            index[(*signs, axis)] = len(soup.points)
            soup.points.append(np.array(signs) * inner)
    faces: list[tuple[list[int], Array, int]] = []
    for axis in range(3):
        b, c = [other for other in range(3) if other != axis]
        for sign in (-1, 1):
            ring = [_key(index, axis, sign, b, i, c, j, axis) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            faces.append((ring, sign * np.eye(3)[axis], axis))
        for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
            ring = [_key(index, axis, end, b, i, c, j, face) for end, face in ((-1, b), (1, b), (1, c), (-1, c))]
            faces.append((ring, i * np.eye(3)[b] + j * np.eye(3)[c], max(b, c)))
    for x, y, z in ((x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)):
        faces.append(([index[x, y, z, axis] for axis in range(3)], np.array([x, y, z], dtype=np.float64), 2))
    for drawn, facing, axis in faces:
        p = [soup.points[i] for i in drawn]
        ring = drawn if np.cross(p[1] - p[0], p[2] - p[0]) @ facing > 0 else drawn[::-1]
        normal = facing / np.linalg.norm(facing)
        for k in range(1, len(ring) - 1):
            soup.triangles.append((ring[0], ring[k], ring[k + 1]))
            soup.normals.append((normal, normal, normal))
            first, second, third = (_unwrap(board, soup.points[i], axis) for i in (ring[0], ring[k], ring[k + 1]))
            soup.st.append((first, second, third))
    return soup


def _key(
    index: dict[tuple[int, int, int, int], int], axis: int, sign: int, b: int, i: int, c: int, j: int, face: int
) -> int:
    signs = [0, 0, 0]
    signs[axis], signs[b], signs[c] = sign, i, j
    return index[signs[0], signs[1], signs[2], face]


def _unwrap(board: Board, point: Array, axis: int) -> Point:
    """Fraction of the board's own strip of the sheet, before the sheet's layout."""
    spread = point / np.array(board.size) + 0.5
    depth = float((board.size[2] / 2 - point[2]) / board.size[1 if axis == 1 else 0])
    along, across = float(spread[0]), float(spread[1])
    if axis == 0:
        along = depth if point[0] < 0 else 1 - depth
    if axis == 1:
        across = depth if point[1] < 0 else 1 - depth
    u0, v0, u1, v1 = board.rect
    return u0 + along * (u1 - u0), v0 + across * (v1 - v0)
