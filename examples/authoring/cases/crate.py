"""A stencilled wooden crate, 620 mm long: planks on battens, steel corner plates, rope handles, a brass hasp."""

from __future__ import annotations

from examples.authoring.drawing import (
    Board,
    Drawing,
    Extrusion,
    Node,
    Paint,
    Tube,
    disc,
    rectangle,
    turned,
)
from examples.authoring.sheet import strip

PAINTS = {
    "PaintedWood": Paint((0.4, 0.25, 0.12), 0.7, textured=True),
    "BlackSteel": Paint((0.1, 0.105, 0.115), 0.5, 0.6),
    "Rope": Paint((0.42, 0.28, 0.12), 0.85),
    "Brass": Paint((0.72, 0.47, 0.15), 0.42, 1.0),
}

_LONG, _DEEP, _PLANK, _THICK = 0.6, 0.4, 0.088, 0.016
_ROWS = 4
_TOP = _ROWS * (_PLANK + 0.003)


def _plank(
    name: str,
    row: int,
    size: tuple[float, float, float],
    at: tuple[float, float, float],
    turn: tuple[float, float, float],
) -> Node:
    return Node(name, Board(size, 0.0025, strip(row, size[0], size[1])), "PaintedWood", at, turn)


def _walls() -> Node:
    planks = []
    for row in range(_ROWS):
        y = (_PLANK + 0.003) * (row + 0.5)
        size, short = (_LONG, _PLANK, _THICK), (_DEEP - 2 * _THICK - 0.001, _PLANK, _THICK)
        out, end = _DEEP / 2 - _THICK / 2, _LONG / 2 - _THICK / 2 - 0.004
        planks.append(_plank(f"Front{row}", row, size, (0, y, out), (0, 0, 0)))
        planks.append(_plank(f"Back{row}", row, size, (0, y, -out), (0, 180, 0)))
        planks.append(_plank(f"Right{row}", 4 + row, short, (end, y, 0), (0, 90, 0)))
        planks.append(_plank(f"Left{row}", 7 - row, short, (-end, y, 0), (0, -90, 0)))
    return Node("Walls", children=tuple(planks))


def _battens() -> Node:
    height = _TOP - 0.004
    size = (height, 0.07, 0.014)
    found = []
    for i, (a, c) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1))):
        at = (a * (_LONG / 2 - 0.037), height / 2 + 0.002, c * (_DEEP / 2 + 0.0072))
        found.append(_plank(f"Post{i}", 8 + i % 2, size, at, (0, 0 if c > 0 else 180, 90)))
    for i, a in enumerate((-1, 1)):
        at = (a * (_LONG / 2 + 0.0032), _TOP - 0.13, 0)
        found.append(_plank(f"Cleat{i}", 9, (_DEEP - 0.03, 0.06, 0.0142), at, (0, a * 90, 0)))
    skids = [
        _plank(f"Skid{i}", 8, (_DEEP, 0.07, 0.03), (a * 0.2, -0.0155, 0), (90, 90, 0)) for i, a in enumerate((-1, 1))
    ]
    floor = _plank("Floor", 10, (_LONG - 0.05, _DEEP - 0.04, 0.012), (0, 0.012, 0), (-90, 0, 0))
    return Node("Battens", children=(*found, *skids, floor))


def _lid() -> Node:
    depth = 0.082
    planks = [
        _plank(f"Plank{i}", 11 - i, (_LONG + 0.024, depth, 0.018), (0, 0.0095, -0.17 + i * 0.085), (-90, 0, 0))
        for i in range(5)
    ]
    battens = [
        _plank(f"Batten{i}", 9, (_DEEP + 0.01, 0.06, 0.016), (x, 0.0268, 0), (-90, 90, 0))
        for i, x in enumerate((-0.235, 0.235))
    ]
    nails = [
        Node(f"Nail{i}{j}", disc(0.0042, 0.0022, 0.0008), "BlackSteel", (x, 0.0346, z), prototype="NailHead")
        for i, x in enumerate((-0.249, -0.221, 0.221, 0.249))
        for j, z in enumerate((-0.17, -0.085, 0.0, 0.085, 0.17))
    ]
    return Node("Lid", translate=(0, _TOP + 0.0005, 0), children=(*planks, *battens, *nails))


def _ironwork() -> Node:
    """Eight steel plates that hold posts and planks together, each with two rivets."""
    found = []
    for i, y in enumerate((0.05, 0.315)):
        plate = Extrusion(rectangle(0.034, 0.105, 0.006), 0.003, 0.0007)
        for k, (a, c) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1))):
            name = f"{i}{k}"
            found.append(
                Node(
                    f"Corner{name}",
                    plate,
                    "BlackSteel",
                    (a * (_LONG / 2 - 0.05), y, c * (_DEEP / 2 + 0.0157)),
                    (0, 0 if c > 0 else 180, 90),
                    prototype="CornerPlate",
                )
            )
            for n, x in enumerate((-0.04, 0.04)):
                at = (a * (_LONG / 2 - 0.05) + x, y, c * (_DEEP / 2 + 0.0171))
                found.append(
                    Node(
                        f"Rivet{name}{n}",
                        disc(0.0055, 0.003, 0.0012),
                        "BlackSteel",
                        at,
                        (90.0 if c > 0 else -90.0, 0, 0),
                        prototype="Rivet",
                    )
                )
    return Node("Ironwork", children=tuple(found))


def _handles() -> Node:
    path = ((0, 0.004, -0.062), (0.021, 0, -0.06), (0.034, -0.018, -0.045), (0.04, -0.042, 0), (0.034, -0.018, 0.045),
            (0.021, 0, 0.06), (0, 0.004, 0.062))  # fmt: skip
    knot = turned((0, 0), (0.0135, 0, 0.005), (0.0135, 0.012, 0.005), (0, 0.012))

    def one(name: str, side: int) -> Node:
        children = (
            Node("Loop", Tube(path, 0.0085), "Rope"),
            Node("CollarA", knot, "Rope", (0.008, 0.004, -0.062), (0, 0, -90)),
            Node("CollarB", knot, "Rope", (0.008, 0.004, 0.062), (0, 0, -90)),
        )
        at = (side * (_LONG / 2 + 0.0045), _TOP - 0.13, 0)
        return Node(name, translate=at, rotate=(0, 0 if side > 0 else 180, 0), children=children)

    return Node("Handles", children=(one("Right", 1), one("Left", -1)))


def _hasp() -> Node:
    front = _DEEP / 2
    plate = Extrusion(rectangle(0.056, 0.07, 0.008), 0.004, 0.001)
    tongue = Extrusion(rectangle(0.034, 0.09, 0.012), 0.004, 0.001, (rectangle(0.009, 0.024, 0.004, 0, -0.022),))
    staple = Tube(((0, -0.007, 0), (0, -0.0068, 0.012), (0, 0, 0.019), (0, 0.0068, 0.012), (0, 0.007, 0)), 0.0026)
    barrel = turned((0, -0.02), (0.0055, -0.02, 0.001), (0.0055, 0.02, 0.001), (0, 0.02))
    return Node(
        "Hasp",
        paint="Brass",
        children=(
            Node("Plate", plate, translate=(0, _TOP - 0.06, front + 0.0021)),
            Node("Tongue", tongue, translate=(0, _TOP - 0.03, front + 0.0064)),
            Node("Staple", staple, translate=(0, _TOP - 0.052, front + 0.003)),
            Node("Barrel", barrel, translate=(0, _TOP + 0.012, front + 0.013), rotate=(0, 0, 90)),
        ),
    )


def draw() -> Drawing:
    """The crate, closed."""
    return Drawing(
        Node("Crate", children=(_walls(), _battens(), _lid(), _ironwork(), _handles(), _hasp())),
        PAINTS,
    )
