"""The reference's workshop: quads, exact normals a vertex, points doubled where an edge is sharp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from examples.authoring.drawing import Board, Corner, Extrusion, Lathe, Line, Solid, Tube, Vec3
from examples.authoring.ears import triangulate

_SEGMENTS = ((0.0065, 16), (0.017, 24), (float("inf"), 36))
"""Up to which radius (metres) a turned part gets how many spokes."""
_ARC_DEGREES, _SMALL_ARC_DEGREES, _SMALL_METRES = 18.0, 46.0, 0.0035
"""How far apart the points of a fillet stand, and of one that is too small for a picture to tell."""
_PER_SPAN = 5

Point = tuple[float, float]
Sample = tuple[Point, Point]
"""A point of a line and the outward normal there."""


@dataclass
class Mesh:
    """Faces over points that have one normal each; ``st`` is empty or as long as ``points``."""

    points: list[Vec3] = field(default_factory=list)
    normals: list[Vec3] = field(default_factory=list)
    st: list[Point] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)

    def face(self, *corners: int) -> None:
        """One polygon; corners that repeat (at a pole) are merged."""
        kept = [index for at, index in enumerate(corners) if index != corners[at - 1]]
        if len(kept) > 2:
            self.counts.append(len(kept))
            self.indices.extend(kept)

    def vertex(self, point: Vec3, normal: Vec3, st: Point | None = None) -> int:
        """Adds a point; the normal is brought to length 1."""
        length = math.sqrt(sum(value * value for value in normal))
        self.points.append(point)
        self.normals.append((normal[0] / length, normal[1] / length, normal[2] / length))
        if st is not None:
            self.st.append(st)
        return len(self.points) - 1


def build(solid: Solid) -> Mesh:
    """The solid in its own frame."""
    mesh = Mesh()
    if isinstance(solid, Lathe):
        _lathe(mesh, solid)
    elif isinstance(solid, Extrusion):
        _extrusion(mesh, solid)
    elif isinstance(solid, Tube):
        _tube(mesh, solid)
    else:
        _board(mesh, solid)
    return mesh


def runs(line: Line, closed: bool) -> list[list[Sample]]:
    """The line's smooth stretches: fillets are rounded out, a sharp corner ends one stretch and begins the next."""
    found: list[list[Sample]] = [[]]
    for at, corner in enumerate(line):
        before = line[at - 1] if closed or at > 0 else None
        after = line[(at + 1) % len(line)] if closed or at + 1 < len(line) else None
        first, last = _normal(before, corner), _normal(corner, after)
        if first is None or last is None:
            found[-1].append(((corner.x, corner.y), first or last or (1.0, 0.0)))
        elif corner.radius:
            found[-1].extend(_fillet(corner, first, last))
        else:
            found[-1].append(((corner.x, corner.y), first))
            found.append([((corner.x, corner.y), last)])
    if closed and len(found) == 1:
        found[0].append(found[0][0])
    elif closed:
        found[0] = found.pop() + found[0]
    return [_thinned(run) for run in found]


def _thinned(run: list[Sample]) -> list[Sample]:
    """Without repeated points, where neighbouring fillets meet."""
    kept = run[:1]
    for sample in run[1:]:
        if math.dist(sample[0], kept[-1][0]) > 1e-7:
            kept.append(sample)
    return kept


def _normal(start: Corner | None, end: Corner | None) -> Point | None:
    if start is None or end is None:
        return None
    dx, dy = end.x - start.x, end.y - start.y
    length = math.hypot(dx, dy)
    return dy / length, -dx / length


def _fillet(corner: Corner, first: Point, last: Point) -> list[Sample]:
    start, end = math.atan2(first[1], first[0]), math.atan2(last[1], last[0])
    turn = (end - start + math.pi) % (2 * math.pi) - math.pi
    side = math.copysign(corner.radius, turn)
    reach = corner.radius * math.tan(abs(turn) / 2)
    # The tangent runs a quarter turn ahead of the outward normal.
    x, y = corner.x + first[1] * reach - first[0] * side, corner.y - first[0] * reach - first[1] * side
    arc_degrees = _ARC_DEGREES if corner.radius > _SMALL_METRES else _SMALL_ARC_DEGREES
    steps = max(2, math.ceil(math.degrees(abs(turn)) / arc_degrees - 1e-9))
    normals = [(math.cos(start + turn * i / steps), math.sin(start + turn * i / steps)) for i in range(steps + 1)]
    return [((x + side * nx, y + side * ny), (nx, ny)) for nx, ny in normals]


def _lathe(mesh: Mesh, solid: Lathe) -> None:
    widest = max(corner.x for corner in solid.line)
    segments = next(count for limit, count in _SEGMENTS if widest <= limit)
    spokes = [(math.sin(2 * math.pi * i / segments), math.cos(2 * math.pi * i / segments)) for i in range(segments)]
    for run in runs(solid.line, solid.closed):
        rings = []
        for (radius, height), (nr, ny) in run:
            turned = [mesh.vertex((radius * s, height, radius * c), (nr * s, ny, nr * c)) for s, c in spokes]
            rings.append([*turned, turned[0]])
        for low, high in pairwise(rings):
            pole_low, pole_high = (mesh.points[ring[0]][0::2] == (0.0, 0.0) for ring in (low, high))
            for i in range(segments):
                corners = [low[i], low[i + 1], high[i + 1], high[i]]
                if pole_low:
                    corners[1] = corners[0]
                if pole_high:
                    corners[2] = corners[3]
                mesh.face(*corners)


def _strip(mesh: Mesh, low: list[int], high: list[int]) -> None:
    for i in range(len(low) - 1):
        mesh.face(low[i], low[i + 1], high[i + 1], high[i])


def _extrusion(mesh: Mesh, solid: Extrusion) -> None:
    half, cut = solid.depth / 2, solid.chamfer
    caps: list[list[Point]] = []
    for line in (solid.outline, *(tuple(reversed(hole)) for hole in solid.holes)):
        stretches = runs(line, closed=True)
        insets = _insets(stretches, cut)
        for run, inset in zip(stretches, insets, strict=True):
            walls = [[mesh.vertex((*p, z), (*n, 0.0)) for p, n in run] for z in (cut - half, half - cut)]
            _strip(mesh, *walls)
            if cut:
                for side in (1.0, -1.0):
                    outer = [mesh.vertex((*p, side * (half - cut)), (*n, side)) for p, n in run]
                    inner = [mesh.vertex((*p, side * half), (*n, side)) for p, (_, n) in zip(inset, run, strict=True)]
                    _strip(mesh, *((outer, inner) if side > 0 else (inner, outer)))
        rim = [p for inset in insets for p in inset[:-1]]
        caps.append(rim)
    _caps(mesh, caps, half)


def _insets(stretches: list[list[Sample]], cut: float) -> list[list[Point]]:
    """Each stretch moved inwards by ``cut``, mitred where stretches meet."""
    moved: list[list[Point]] = []
    for at, run in enumerate(stretches):
        line: list[Point] = []
        for i, ((x, y), (nx, ny)) in enumerate(run):
            other = (nx, ny)
            if len(stretches) > 1 and i == 0:
                other = stretches[at - 1][-1][1]
            elif len(stretches) > 1 and i == len(run) - 1:
                other = stretches[(at + 1) % len(stretches)][0][1]
            scale = cut / (1 + nx * other[0] + ny * other[1])
            line.append((x - scale * (nx + other[0]), y - scale * (ny + other[1])))
        moved.append(line)
    return moved


def _caps(mesh: Mesh, loops: list[list[Point]], half: float) -> None:
    points = [point for loop in loops for point in loop]
    indices, start = [], 0
    for loop in loops:
        indices.append(list(range(start, start + len(loop))))
        start += len(loop)
    faces: Sequence[Sequence[int]] = [indices[0]]
    if len(loops) > 1 or not _convex(loops[0]):
        faces = triangulate(points, indices[0], indices[1:])
    for side in (1.0, -1.0):
        at = [mesh.vertex((*point, side * half), (0.0, 0.0, side)) for point in points]
        for face in faces:
            mesh.face(*(at[i] for i in (face if side > 0 else tuple(reversed(face)))))


def _convex(loop: list[Point]) -> bool:
    for i, (x, y) in enumerate(loop):
        (ax, ay), (bx, by) = loop[i - 1], loop[(i + 1) % len(loop)]
        if (x - ax) * (by - y) - (y - ay) * (bx - x) < -1e-14:
            return False
    return True


def spline(path: Sequence[Vec3], closed: bool, per_span: int) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """A Catmull-Rom curve through the path, ``per_span`` points a span."""
    knots = [np.array(point, dtype=np.float64) for point in path]
    around = [knots[-1], *knots, *knots[:2]] if closed else [2 * knots[0] - knots[1], *knots, 2 * knots[-1] - knots[-2]]
    curve = []
    for a, b, c, d in zip(around, around[1:], around[2:], around[3:], strict=False):
        for step in range(per_span):
            t = step / per_span
            curve.append(b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))))
    return curve if closed else [*curve, knots[-1]]


def _tube(mesh: Mesh, solid: Tube) -> None:
    segments = 12
    curve = spline(solid.path, solid.closed, _PER_SPAN)
    count = len(curve)
    rings, side = [], np.array([0.0, 0.0, 0.0])
    for i in range(count):
        if solid.closed:
            tangent = curve[(i + 1) % count] - curve[i - 1]
        else:
            tangent = curve[min(i + 1, count - 1)] - curve[max(i - 1, 0)]
        tangent /= np.linalg.norm(tangent)
        if i == 0:
            side = np.cross(tangent, np.eye(3)[int(np.argmin(np.abs(tangent)))])
        side = side - tangent * (side @ tangent)
        side /= np.linalg.norm(side)
        up = np.cross(tangent, side)
        ring = []
        for step in range(segments):
            angle = 2 * math.pi * step / segments
            normal = side * math.cos(angle) + up * math.sin(angle)
            ring.append(mesh.vertex(_vec(curve[i] + solid.radius * normal), _vec(normal)))
        rings.append([*ring, ring[0]])
        if not solid.closed and i in (0, count - 1):
            facing = -tangent if i == 0 else tangent
            cap = [mesh.vertex(mesh.points[index], _vec(facing)) for index in ring]
            mesh.face(*(reversed(cap) if i == 0 else cap))
    if solid.closed:
        rings.append(_nearest(mesh, rings[-1], rings[0]))
    for low, high in pairwise(rings):
        _strip(mesh, low, high)


def _nearest(mesh: Mesh, low: list[int], high: list[int]) -> list[int]:
    """The ring that closes a tube, begun at the point nearest to the other's first."""
    ring = high[:-1]
    best = min(range(len(ring)), key=lambda i: math.dist(mesh.points[ring[i]], mesh.points[low[0]]))
    return [*ring[best:], *ring[:best], ring[best]]


def _vec(value: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Vec3:
    return float(value[0]), float(value[1]), float(value[2])


def _board(mesh: Mesh, solid: Board) -> None:
    half = [size / 2 for size in solid.size]
    cut = solid.chamfer
    # Each flat face, then each chamfer between two faces, then each corner; points in the frame of signs.
    for axis in range(3):
        for sign in (1, -1):
            a, b = (axis + 1) % 3, (axis + 2) % 3
            ring = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
            signs = [_signs(axis, sign, a, i * sign, b, j) for i, j in ring]
            _patch(mesh, solid, [(_corner(half, cut, s, (axis,))) for s in signs], [signs[0]], (axis,))
    if not cut:
        return
    for axis in range(3):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
            ends = [_signs(axis, e, a, i, b, j) for e in (-1, 1)]
            quad = [_corner(half, cut, ends[0], (a,)), _corner(half, cut, ends[0], (b,))]
            quad += [_corner(half, cut, ends[1], (b,)), _corner(half, cut, ends[1], (a,))]
            _patch(mesh, solid, quad, ends[:1], (a, b))
    for i in (1, -1):
        for j in (1, -1):
            for k in (1, -1):
                _patch(
                    mesh, solid, [_corner(half, cut, (i, j, k), (axis,)) for axis in range(3)], [(i, j, k)], (0, 1, 2)
                )


def _signs(axis: int, sign: int, a: int, i: int, b: int, j: int) -> tuple[int, int, int]:
    values = [0, 0, 0]
    values[axis], values[a], values[b] = sign, i, j
    return values[0], values[1], values[2]


def _corner(half: list[float], cut: float, signs: tuple[int, int, int], full: tuple[int, ...]) -> Vec3:
    """The corner of a box by its signs, drawn in by the chamfer on every axis but those in ``full``."""
    x, y, z = (signs[axis] * (half[axis] - (0.0 if axis in full else cut)) for axis in range(3))
    return x, y, z


def _patch(
    mesh: Mesh, solid: Board, corners: list[Vec3], signs: list[tuple[int, int, int]], axes: tuple[int, ...]
) -> None:
    x, y, z = (float(signs[0][axis]) if axis in axes else 0.0 for axis in range(3))
    facing = np.array([x, y, z])
    points = [np.array(corner) for corner in corners]
    if np.cross(points[1] - points[0], points[2] - points[0]) @ facing < 0:
        corners = corners[::-1]
    mesh.face(*(mesh.vertex(corner, (x, y, z), _board_st(solid, corner, max(axes))) for corner in corners))


def _board_st(solid: Board, point: Vec3, axis: int) -> Point:
    """Where a point of a board lies on the sheet, of a patch that faces along ``axis``.

    The picture is laid on front and back, and wrapped over the edges.
    """
    (sx, sy, sz), (u0, v0, u1, v1) = solid.size, solid.rect
    x, y, z = point
    along, across, down = x / sx + 0.5, y / sy + 0.5, sz / 2 - z
    if axis == 0:
        along = down / sx if x < 0 else 1 - down / sx
    elif axis == 1:
        across = down / sy if y < 0 else 1 - down / sy
    return u0 + (u1 - u0) * along, v0 + (v1 - v0) * across
