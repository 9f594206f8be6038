"""A counting frame: a hundred beads on ten wires, in five colours, in an oak frame on two feet. 380 mm wide."""

from __future__ import annotations

from examples.authoring.drawing import (
    Corner,
    Drawing,
    Extrusion,
    Lathe,
    Node,
    Paint,
    circle,
    disc,
    rectangle,
)

PAINTS = {
    "Oak": Paint((0.3, 0.125, 0.04), 0.55),
    "Wire": Paint((0.45, 0.46, 0.48), 0.42, 1.0),
    "Brass": Paint((0.72, 0.47, 0.15), 0.42, 1.0),
    "Crimson": Paint((0.5, 0.02, 0.03), 0.4),
    "Amber": Paint((0.75, 0.32, 0.015), 0.4),
    "Leaf": Paint((0.06, 0.28, 0.04), 0.4),
    "Azure": Paint((0.02, 0.14, 0.5), 0.4),
    "Plum": Paint((0.16, 0.03, 0.24), 0.4),
}

COLOURS = ("Crimson", "Amber", "Leaf", "Azure", "Plum")
_LEFT = (10, 7, 4, 8, 5, 2, 9, 3, 6, 1)
"""Beads pushed to the left, wire by wire from the top."""

_WIDTH, _HEIGHT, _RAIL, _DEPTH = 0.38, 0.34, 0.026, 0.026
_PITCH = 0.0168


def bead() -> Lathe:
    """A turned wooden bead, standing on its hole."""
    ring = ((0.0026, -0.008, 0.0012), (0.0132, -0.008, 0.0068), (0.0132, 0.008, 0.0068), (0.0026, 0.008, 0.0012))
    return Lathe(tuple(Corner(*corner) for corner in ring), closed=True)


def _places(left: int) -> tuple[tuple[float, float, float], ...]:
    """Along the wire, which is the bead's own Y."""
    end = _WIDTH / 2 - _RAIL - _PITCH / 2 - 0.001
    heights = [-end + i * _PITCH for i in range(left)] + [end - i * _PITCH for i in range(10 - left)]
    return tuple((0.0, round(height, 6), 0.0) for height in heights)


def draw() -> Drawing:
    """The whole frame, beads pushed about as after a sum."""
    step = (_HEIGHT - 2 * _RAIL) / 10
    tops = [_HEIGHT / 2 - _RAIL - step * (i + 0.5) for i in range(10)]
    wire = disc(0.002, _WIDTH - 2 * _RAIL + 0.01, 0.0003)
    wires = tuple(
        Node(f"Wire{i}", wire, "Wire", (-(_WIDTH / 2 - _RAIL + 0.005), y, 0), (0, 0, -90)) for i, y in enumerate(tops)
    )
    groups = tuple(
        Node(
            f"{colour}Beads",
            paint=colour,
            children=tuple(
                Node(
                    f"Row{i}",
                    bead(),
                    translate=(0, tops[i], 0),
                    rotate=(0, 0, -90),
                    places=_places(_LEFT[i]),
                    prototype="Bead",
                )
                for i in (2 * pair, 2 * pair + 1)
            ),
        )
        for pair, colour in enumerate(COLOURS)
    )
    hole = rectangle(_WIDTH - 2 * _RAIL, _HEIGHT - 2 * _RAIL, 0.006)
    shape = (
        Corner(-0.075, -0.011, 0.004), Corner(0.075, -0.011, 0.004), Corner(0.075, 0.001, 0.005),
        Corner(0.03, 0.011, 0.02),
        Corner(-0.03, 0.011, 0.02), Corner(-0.075, 0.001, 0.005),
    )  # fmt: skip
    low = -_HEIGHT / 2 - 0.0085
    feet = tuple(
        Node(name, Extrusion(shape, 0.034, 0.0025), translate=(x, low, 0), rotate=(0, 90, 0))
        for name, x in (("FootLeft", -0.14), ("FootRight", 0.14))
    )
    corners = [
        (a * (_WIDTH - _RAIL) / 2, b * (_HEIGHT - _RAIL) / 2, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)
    ]
    dowel = Extrusion(circle(0.0055), 0.0026, 0.0008)
    caps = tuple(
        Node(f"Dowel{i}", dowel, "Brass", (x, y, c * (_DEPTH / 2 + 0.0008)), (0, 90 - 90 * c, 0), prototype="Dowel")
        for i, (x, y, c) in enumerate(corners)
    )
    frame = Node(
        "Frame",
        paint="Oak",
        children=(Node("Surround", Extrusion(rectangle(_WIDTH, _HEIGHT, 0.014), _DEPTH, 0.003, (hole,))), *feet, *caps),
    )
    return Drawing(
        Node("Abacus", children=(frame, Node("Wires", children=wires), Node("Beads", children=groups))), PAINTS
    )
