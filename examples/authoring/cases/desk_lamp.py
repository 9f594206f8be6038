"""A jointed desk lamp: weighted base, two arms of twin rods, a bell shade; posed as if somebody read under it.

Some 470 mm high. The arms bend in the XY plane, about joints that turn on Z.
"""

from __future__ import annotations

from examples.authoring.drawing import (
    Corner,
    Drawing,
    Extrusion,
    Lathe,
    Node,
    Paint,
    Tube,
    disc,
    rectangle,
    turned,
)

PAINTS = {
    "VermilionEnamel": Paint((0.58, 0.07, 0.02), 0.42),
    "DarkSteel": Paint((0.22, 0.23, 0.25), 0.45, 1.0),
    "Brass": Paint((0.72, 0.47, 0.15), 0.42, 1.0),
    "Bakelite": Paint((0.02, 0.017, 0.015), 0.55),
    "LinerEnamel": Paint((0.62, 0.47, 0.2), 0.6),
    "BulbGlass": Paint((0.85, 0.5, 0.08), 0.4),
}

JOINTS = ("Base", "Base/LowerArm", "Base/LowerArm/UpperArm", "Base/LowerArm/UpperArm/Head")
"""Nodes that turn against their parents, root first."""

_TO_Z = (90.0, 0.0, 0.0)
_LOWER, _UPPER = 0.25, 0.22


def _knob(name: str, y: float) -> Node:
    """A clamping joint: a drum across both rods and a knurled nut at the front."""
    drum = turned((0, -0.021), (0.0145, -0.021, 0.002), (0.0145, 0.021, 0.002), (0, 0.021))
    nut = turned((0, 0), (0.005, 0), (0.005, 0.005), (0.0125, 0.005, 0.0015), (0.0125, 0.014, 0.0025), (0, 0.014))
    return Node(
        name,
        translate=(0, y, 0),
        children=(
            Node("Drum", drum, "DarkSteel", rotate=_TO_Z, prototype="Drum"),
            Node("Nut", nut, "Brass", (0, 0, 0.0205), _TO_Z, prototype="Nut"),
            Node("Pin", disc(0.007, 0.005, 0.001), "Brass", (0, 0, -0.0205), (-90, 0, 0), prototype="Pin"),
        ),
    )


def _rods(length: float) -> tuple[Node, ...]:
    rod = disc(0.0042, length - 0.02, 0.0005)
    brace = Extrusion(rectangle(0.008, 0.034, 0.003), 0.01, 0.001)
    return (
        Node("RodFront", rod, "DarkSteel", (0, 0.01, 0.0125)),
        Node("RodBack", rod, "DarkSteel", (0, 0.01, -0.0125)),
        Node("Brace", brace, "VermilionEnamel", (0, length / 2, 0), (-90, 0, 0)),
    )


def _ring(*corners: tuple[float, ...]) -> Lathe:
    return Lathe(tuple(Corner(*corner) for corner in corners), closed=True)


def _head() -> Node:
    shell = _ring(
        (0.016, -0.012),
        (0.03, -0.034, 0.03),
        (0.0745, -0.098, 0.05),
        (0.0765, -0.126, 0.0006),
        (0.079, -0.126, 0.0006),
        (0.0775, -0.096, 0.055),
        (0.034, -0.032, 0.03),
        (0.024, -0.006, 0.003),
        (0.016, -0.006),
    )
    liner = _ring(
        (0.012, -0.0215),
        (0.0285, -0.036, 0.029),
        (0.0735, -0.0985, 0.049),
        (0.0752, -0.1245),
        (0.0758, -0.1245),
        (0.0741, -0.0978, 0.0496),
        (0.0293, -0.035, 0.0296),
        (0.012, -0.0205),
    )
    socket = turned(
        (0, -0.05), (0.014, -0.05, 0.002), (0.0165, -0.03), (0.0165, 0.012, 0.003), (0.0205, 0.014, 0.001),
        (0.0205, 0.02, 0.002), (0.012, 0.026, 0.004), (0.008, 0.032), (0, 0.032),
    )  # fmt: skip
    bulb = turned(
        (0, -0.108), (0.034, -0.108, 0.024), (0.03, -0.07, 0.03), (0.013, -0.052, 0.012), (0.012, -0.046), (0, -0.046)
    )
    shade = (
        Node("Shell", shell, "VermilionEnamel"),
        Node("Liner", liner, "LinerEnamel"),
        Node("Socket", socket, "Bakelite"),
        Node("Bulb", bulb, "BulbGlass"),
    )
    return Node(
        "Head",
        translate=(0, _UPPER, 0),
        rotate=(0, 0, 72),
        children=(_knob("Knob", 0), Node("Shade", translate=(0, -0.044, 0), children=shade)),
    )


def draw() -> Drawing:
    """The lamp in its pose."""
    base = turned(
        (0, 0.002), (0.088, 0.002, 0.001), (0.094, 0.006, 0.004), (0.094, 0.015, 0.006), (0.05, 0.024, 0.02),
        (0.024, 0.028, 0.006), (0.0195, 0.046, 0.004), (0.012, 0.049), (0, 0.049),
    )  # fmt: skip
    turret = turned((0, 0.046), (0.013, 0.046), (0.013, 0.06, 0.002), (0.008, 0.062), (0, 0.062))
    switch = turned((0, 0), (0.0105, 0), (0.0105, 0.006, 0.001), (0.0065, 0.006), (0.0065, 0.0115, 0.002), (0, 0.0125))
    cable = Tube(
        (
            (-0.086, 0.009, 0),
            (-0.104, 0.0085, 0.0),
            (-0.13, 0.0042, 0.01),
            (-0.15, 0.0038, 0.04),
            (-0.14, 0.0038, 0.075),
        ),
        0.0036,
    )
    upper = Node(
        "UpperArm", translate=(0, _LOWER, 0), rotate=(0, 0, -72), children=(_knob("Knob", 0), *_rods(_UPPER), _head())
    )
    lower = Node(
        "LowerArm", translate=(0, 0.068, 0), rotate=(0, 0, 22), children=(_knob("Knob", 0), *_rods(_LOWER), upper)
    )
    return Drawing(
        Node(
            "DeskLamp",
            children=(
                Node(
                    "Base",
                    children=(
                        Node("Weight", base, "VermilionEnamel"),
                        Node("Felt", disc(0.086, 0.0026, 0.0005), "Bakelite"),
                        Node("Turret", turret, "DarkSteel"),
                        Node("Switch", switch, "Brass", (0.058, 0.0205, 0.025), (0, 0, -9)),
                        Node("Cable", cable, "Bakelite"),
                        lower,
                    ),
                ),
            ),
        ),
        PAINTS,
    )
