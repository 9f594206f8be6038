"""A worm gear motor: finned motor, terminal box, cast housing on a slotted foot, output shaft with key.

Some 420 mm long. The motor lies along X, the output shaft points to +Z.
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
    around,
    circle,
    disc,
    polygon,
    rectangle,
    turned,
)

PAINTS = {
    "TealEnamel": Paint((0.02, 0.19, 0.22), 0.45),
    "GraphiteEnamel": Paint((0.055, 0.06, 0.07), 0.5),
    "BlackRubber": Paint((0.012, 0.012, 0.013), 0.75),
    "Steel": Paint((0.5, 0.51, 0.53), 0.42, 1.0),
    "Brass": Paint((0.72, 0.47, 0.15), 0.42, 1.0),
    "SignalYellow": Paint((0.75, 0.42, 0.02), 0.5),
    "SightGlass": Paint((0.55, 0.03, 0.02), 0.36),
}

_TO_X, _TO_Z, _UP = (0.0, 0.0, -90.0), (90.0, 0.0, 0.0), (-90.0, 0.0, 0.0)
_AXIS = 0.045
"""Height of the motor's axis above the output shaft's."""


def _bolt(name: str, x: float, y: float, z: float, rotate: tuple[float, float, float]) -> Node:
    """A hexagon bolt whose head stands along its own +Y."""
    head = Extrusion(polygon(6, 0.0066), 0.0055, 0.0007)
    children = (
        Node("Washer", disc(0.0075, 0.0013, 0.0003)),
        Node("Head", head, translate=(0, 0.00405, 0), rotate=_UP),
    )
    return Node(name, paint="Steel", translate=(x, y, z), rotate=rotate, children=children, prototype="HexBolt")


def _fins() -> Extrusion:
    """The stator's ribbed section: two dozen fins with rounded tips."""
    count, root, tip = 24, 0.0525, 0.0605
    outline: list[Corner] = []
    for fin in range(count):
        middle = 360 / count * fin
        for radius, shift, fillet in ((root, -3.6, 0.0015), (tip, -2.6, 0.001), (tip, 2.6, 0.001), (root, 3.6, 0.0015)):
            (x, y), *_ = around(1, radius, middle + shift)
            outline.append(Corner(x, y, fillet))
    return Extrusion(tuple(outline), 0.128)


def _motor() -> Node:
    cover = turned(
        (0.05, 0), (0.0625, 0, 0.002), (0.0625, 0.046, 0.012), (0.0485, 0.058, 0.004), (0.0455, 0.058), (0.0455, 0.052)
    )
    holes = tuple(
        circle(0.0033, x, y)
        for count, radius, start in ((8, 0.016, 0), (12, 0.0265, 6), (16, 0.037, 2))
        for x, y in around(count, radius, start)
    )
    shield = turned(
        (0, 0),
        (0.0535, 0),
        (0.058, 0.003, 0.002),
        (0.058, 0.014, 0.003),
        (0.054, 0.018, 0.002),
        (0.054, 0.02),
        (0, 0.02),
    )
    fan = (
        Node("Cover", cover, "GraphiteEnamel", rotate=(0, 0, 90)),
        Node("Grille", Extrusion(circle(0.0458), 0.003, 0, holes), "GraphiteEnamel", (-0.0535, 0, 0), (0, -90, 0)),
        Node("Impeller", disc(0.044, 0.012, 0.002), "SignalYellow", (-0.036, 0, 0), (0, 0, 90)),
    )
    flange = Extrusion(rectangle(0.112, 0.112, 0.022), 0.012, 0.0012)
    return Node(
        "Motor",
        translate=(0.016, _AXIS, 0),
        children=(
            Node("Flange", flange, "GraphiteEnamel", (-0.0062, 0, 0), (0, 90, 0)),
            Node("DriveShield", shield, "GraphiteEnamel", (-0.0122, 0, 0), (0, 0, 90), prototype="Shield"),
            Node("Stator", _fins(), "GraphiteEnamel", (-0.0962, 0, 0), (0, 90, 0)),
            Node("FanShield", shield, "GraphiteEnamel", (-0.1802, 0, 0), _TO_X, prototype="Shield"),
            Node("FanCover", translate=(-0.178, 0, 0), children=fan),
            _terminal_box(),
            *(
                _bolt(f"FlangeBolt{i}", -0.0122, y, z, (0, 0, 90))
                for i, (y, z) in enumerate([(0.043, 0.043), (-0.043, 0.043), (-0.043, -0.043), (0.043, -0.043)])
            ),
        ),
    )


def _terminal_box() -> Node:
    gland = turned(
        (0, 0), (0.011, 0), (0.011, 0.006), (0.0095, 0.0075), (0.0095, 0.016, 0.003), (0.0062, 0.0185), (0, 0.0185)
    )
    cable = Tube(((0, 0, 0.006), (0, 0, 0.026), (0, -0.012, 0.05), (0.002, -0.05, 0.062), (0.01, -0.1, 0.064)), 0.0052)
    screws = tuple(
        Node(f"Screw{i}", disc(0.0035, 0.002, 0.0006), "Steel", (x, 0.049, z), prototype="PanScrew")
        for i, (x, z) in enumerate([(0.036, 0.028), (-0.036, 0.028), (-0.036, -0.028), (0.036, -0.028)])
    )
    return Node(
        "TerminalBox",
        translate=(-0.09, 0.056, 0),
        children=(
            Node("Tray", Extrusion(rectangle(0.084, 0.068, 0.008), 0.036, 0.001), "GraphiteEnamel", (0, 0.018, 0), _UP),
            Node("Gasket", Extrusion(rectangle(0.082, 0.066, 0.008), 0.002), "BlackRubber", (0, 0.037, 0), _UP),
            Node("Lid", Extrusion(rectangle(0.09, 0.074, 0.01), 0.011, 0.002), "SignalYellow", (0, 0.0435, 0), _UP),
            Node("GlandNut", Extrusion(polygon(6, 0.0125), 0.006, 0.0008), "Brass", (0.012, 0.018, 0.037)),
            Node("Gland", gland, "BlackRubber", (0.012, 0.018, 0.038), _TO_Z),
            Node("Cable", cable, "BlackRubber", (0.012, 0.018, 0.05)),
            *screws,
        ),
    )


def _housing() -> Node:
    outline = (
        Corner(-0.062, -0.078, 0.016),
        Corner(0.062, -0.078, 0.016),
        Corner(0.062, 0.088, 0.03),
        Corner(-0.062, 0.088, 0.03),
    )
    neck = turned((0, 0), (0.047, 0), (0.047, 0.008, 0.004), (0.051, 0.012), (0.051, 0.03), (0, 0.03))
    end = turned(
        (0, 0), (0.04, 0), (0.04, 0.009, 0.003), (0.033, 0.011, 0.002), (0.02, 0.011), (0.018, 0.009), (0, 0.009)
    )
    foot = Extrusion(
        rectangle(0.17, 0.15, 0.018),
        0.014,
        0.002,
        tuple(rectangle(0.02, 0.011, 0.0055, x, y) for x in (-0.066, 0.066) for y in (-0.058, 0.058)),
    )
    rib = Extrusion(rectangle(0.008, 0.06, 0.003), 0.112, 0.001)
    return Node(
        "Housing",
        paint="TealEnamel",
        translate=(0.092, 0, 0),
        children=(
            Node("Casting", Extrusion(outline, 0.094, 0.006)),
            Node("Neck", neck, translate=(-0.062 - 0.0139, _AXIS, 0), rotate=_TO_X),
            Node("EndCap", end, translate=(0.0615, _AXIS, 0), rotate=_TO_X),
            Node(
                "Pedestal", Extrusion(rectangle(0.112, 0.1, 0.014), 0.03, 0.001), translate=(0, -0.088, 0), rotate=_UP
            ),
            Node("Foot", foot, translate=(0, -0.107, 0), rotate=_UP),
            Node("RibLeft", rib, translate=(-0.03, -0.05, 0)),
            Node("RibRight", rib, translate=(0.03, -0.05, 0)),
        ),
    )


def _cover(name: str, side: int) -> Node:
    """A bearing cover with its seal and six bolts, standing along +Z or -Z."""
    plate = Lathe(
        tuple(
            Corner(*c)
            for c in (
                (0, 0),
                (0.053, 0),
                (0.053, 0.009, 0.002),
                (0.036, 0.009, 0.002),
                (0.033, 0.016, 0.002),
                (0, 0.016),
            )
        )
    )
    rotate = _TO_Z if side > 0 else (-90.0, 0.0, 0.0)
    seal = turned((0, 0), (0.026, 0), (0.026, 0.0185, 0.0015), (0.019, 0.0185), (0.019, 0.0172), (0, 0.0172))
    bolts = (_bolt(f"Bolt{i}", x, 0.0091, z, (0, 0, 0)) for i, (x, z) in enumerate(around(6, 0.0445, 30)))
    children = (
        Node("Plate", plate, "TealEnamel", prototype="CoverPlate"),
        Node("Seal", seal, "BlackRubber", prototype="Seal"),
        *bolts,
    )
    return Node(name, translate=(0, 0, side * 0.0468), rotate=rotate, children=children)


def _output() -> Node:
    shaft = turned(
        (0, 0), (0.0175, 0), (0.0175, 0.05, 0.001), (0.0155, 0.0515), (0.0155, 0.082), (0.0135, 0.084), (0, 0.084)
    )
    key = Extrusion(rectangle(0.006, 0.026, 0.003), 0.007, 0.0004)
    return Node(
        "Output",
        translate=(0.092, 0, 0),
        children=(
            _cover("FrontCover", 1),
            _cover("BackCover", -1),
            Node(
                "Shaft",
                translate=(0, 0, 0.05),
                children=(
                    Node("Journal", shaft, "Steel", rotate=_TO_Z),
                    Node("Key", key, "Brass", (0, 0.0148, 0.067), _UP),
                ),
            ),
        ),
    )


def _fittings() -> Node:
    ring = Tube(tuple((x, y, 0.0) for x, y in around(12, 0.0135)), 0.0042, closed=True)
    collar = turned((0, 0), (0.0125, 0), (0.0125, 0.003, 0.0008), (0.008, 0.006, 0.002), (0.0055, 0.012), (0, 0.012))
    plug = (
        Node("Collar", disc(0.0105, 0.003, 0.0006)),
        Node("Hexagon", Extrusion(polygon(6, 0.0095), 0.008, 0.0009), translate=(0, 0.007, 0), rotate=_UP),
    )
    glass = turned((0, 0), (0.0115, 0), (0.0115, 0.0035), (0.0085, 0.005, 0.003), (0, 0.0062))
    return Node(
        "Fittings",
        translate=(0.092, 0, 0),
        children=(
            Node(
                "EyeBolt",
                paint="Steel",
                translate=(0.0, 0.0878, 0),
                children=(Node("Collar", collar), Node("Ring", ring, translate=(0, 0.0245, 0))),
            ),
            Node("Breather", paint="Brass", translate=(0.034, 0.0875, 0.02), children=plug, prototype="Plug"),
            Node("DrainPlug", None, "Brass", (0.0618, -0.05, 0.024), _TO_X, children=plug, prototype="Plug"),
            Node("SightRim", disc(0.0145, 0.003, 0.0006), "Brass", (0.0618, -0.02, 0.024), _TO_X),
            Node("SightGlass", glass, "SightGlass", (0.0632, -0.02, 0.024), _TO_X),
            Node(
                "RatingPlate",
                Extrusion(rectangle(0.042, 0.03, 0.003), 0.0016, 0.0003),
                "SignalYellow",
                (0.0625, -0.036, -0.02),
                (0, 90, 0),
            ),
        ),
    )


def draw() -> Drawing:
    """The whole gear motor."""
    return Drawing(Node("GearMotor", children=(_motor(), _housing(), _output(), _fittings())), PAINTS)
