"""The drawing that both workshops read: solids by their dimensions, nodes that place them, paints.

Metres, right-handed, +Y up. Nothing here knows of meshes or of USD: how many points a curve gets, how
normals are made, and how the prims are arranged are the business of whoever builds from the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Vec3 = tuple[float, float, float]
Matrix = NDArray[np.float64]
"""Shape (4, 4), row vectors: ``point @ matrix``."""


@dataclass(frozen=True)
class Corner:
    """A corner of a line in the plane, rounded by a fillet of ``radius`` metres where that is not 0."""

    x: float
    y: float
    radius: float = 0.0


Line = tuple[Corner, ...]


@dataclass(frozen=True)
class Lathe:
    """A line (x: radius, y: height) turned about Y; drawn upwards, so that the material lies to its left."""

    line: Line
    closed: bool = False


@dataclass(frozen=True)
class Extrusion:
    """An outline in XY drawn along Z, centred, its rims broken by a chamfer; all lines run counter-clockwise."""

    outline: Line
    depth: float
    chamfer: float = 0.0
    holes: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Tube:
    """A round rod along a smooth curve through ``path``."""

    path: tuple[Vec3, ...]
    radius: float
    closed: bool = False


@dataclass(frozen=True)
class Board:
    """A chamfered box, X along the grain, that shows the part ``rect`` (u0, v0, u1, v1) of the painted sheet."""

    size: Vec3
    chamfer: float
    rect: tuple[float, float, float, float]


Solid = Lathe | Extrusion | Tube | Board


@dataclass(frozen=True)
class Paint:
    """A UsdPreviewSurface; ``colour`` is linear. A textured one takes its colour from the painted sheet."""

    colour: Vec3
    roughness: float
    metallic: float = 0.0
    textured: bool = False


@dataclass(frozen=True)
class Node:
    """A thing at a place: turned about X, then Y, then Z (degrees), scaled, moved. Children ride along."""

    name: str
    solid: Solid | None = None
    paint: str | None = None
    translate: Vec3 = (0.0, 0.0, 0.0)
    rotate: Vec3 = (0.0, 0.0, 0.0)
    scale: float = 1.0
    children: tuple[Node, ...] = ()
    prototype: str | None = None
    """Nodes with the same name here are equal but for their place and paint: the reference instances them."""
    places: tuple[Vec3, ...] = ()
    """Where copies of the solid stand, if there are many: the reference scatters them with an instancer."""


@dataclass(frozen=True)
class Drawing:
    """One object: its tree and its paints."""

    root: Node
    paints: dict[str, Paint]


@dataclass(frozen=True)
class Placed:
    """One solid in the world."""

    path: str
    solid: Solid
    paint: str
    matrix: Matrix


def local_matrix(node: Node) -> Matrix:
    """Node to parent, as ``xformOpOrder = [translate, rotateXYZ, scale]`` means it."""
    matrix = np.diag([node.scale, node.scale, node.scale, 1.0])
    for axis, degrees in enumerate(node.rotate):
        if degrees:
            turn, (a, b) = np.eye(4), [(1, 2), (2, 0), (0, 1)][axis]
            turn[a, a] = turn[b, b] = math.cos(math.radians(degrees))
            turn[a, b] = math.sin(math.radians(degrees))
            turn[b, a] = -turn[a, b]
            matrix = matrix @ turn
    matrix[3, :3] = node.translate
    return matrix


def flatten(node: Node, parent: Matrix | None = None, path: str = "", paint: str | None = None) -> Iterator[Placed]:
    """Every solid below a node, with its place in the world; scattered copies are told one by one."""
    matrix = local_matrix(node) @ (np.eye(4) if parent is None else parent)
    path, paint = f"{path}/{node.name}", node.paint or paint
    if node.solid is not None:
        if paint is None:
            raise ValueError(f"{path} has no paint")
        for place in node.places or ((0.0, 0.0, 0.0),):
            shift = np.eye(4)
            shift[3, :3] = place
            yield Placed(path, node.solid, paint, shift @ matrix)
    for child in node.children:
        yield from flatten(child, matrix, path, paint)


def edit(root: Node, path: str, change: dict[str, object] | None) -> Node:
    """A copy of the tree in which the node at ``path`` (below the root) has the changed fields, or is gone for None.

    Raises :class:`KeyError` where there is no such node.
    """
    name, _, rest = path.partition("/")
    if name not in {child.name for child in root.children}:
        raise KeyError(path)
    kept: list[Node] = []
    for child in root.children:
        if child.name != name:
            kept.append(child)
        elif rest:
            kept.append(edit(child, rest, change))
        elif change is not None:
            kept.append(replace(child, **change))  # type: ignore[arg-type]
    return replace(root, children=tuple(kept))


def find(root: Node, path: str) -> Node:
    """The node at ``path`` below the root. Raises :class:`KeyError` where there is none."""
    for name in path.split("/"):
        root = {child.name: child for child in root.children}[name]
    return root


def rectangle(width: float, height: float, radius: float = 0.0, x: float = 0.0, y: float = 0.0) -> Line:
    """A centred rectangle with rounded corners, counter-clockwise."""
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return tuple(Corner(x + a * width / 2, y + b * height / 2, radius) for a, b in signs)


def circle(radius: float, x: float = 0.0, y: float = 0.0) -> Line:
    """A full circle: a square whose fillets meet."""
    return rectangle(2 * radius, 2 * radius, radius, x, y)


def polygon(sides: int, radius: float, fillet: float = 0.0) -> Line:
    """A regular polygon by the radius of its corners."""
    angles = [2 * math.pi * (step + 0.5) / sides for step in range(sides)]
    return tuple(Corner(radius * math.cos(a), radius * math.sin(a), fillet) for a in angles)


def turned(*corners: tuple[float, float] | tuple[float, float, float]) -> Lathe:
    """A lathe solid by its corners (radius, height, fillet)."""
    return Lathe(tuple(Corner(*corner) for corner in corners))


def disc(radius: float, height: float, chamfer: float) -> Lathe:
    """A cylinder from height 0 upwards with both rims broken."""
    return turned(
        (0, 0),
        (radius - chamfer, 0),
        (radius, chamfer),
        (radius, height - chamfer),
        (radius - chamfer, height),
        (0, height),
    )


def around(count: int, radius: float, start_degrees: float = 0.0) -> list[tuple[float, float]]:
    """Points evenly spread on a circle."""
    angles = [math.radians(start_degrees + 360 * step / count) for step in range(count)]
    return [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]
