"""From distances to the rubric's levels: fixed thresholds, the worst views decide.

A level is the number of thresholds that a distance stays below. The thresholds were set on renders of
objects of our own, so that an independent model of the same thing keeps at least level 3 and damage
that a person sees at once falls to 2 or lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from judge.metrics.distances import ShapeDistances, SurfaceDistances

Thresholds = tuple[float, float, float, float]
"""A distance below the first is level 4, below the second 3, and so on."""

COMPONENTS: Final[Thresholds] = (0.002, 0.010, 0.250, 0.600)
SHAPE: Final[Thresholds] = (0.002, 0.015, 0.150, 0.450)
SURFACE: Final[Thresholds] = (0.004, 0.020, 0.350, 0.700)
TONE: Final[Thresholds] = (1.0, 4.0, 12.0, 30.0)
"""Mean CIEDE2000 over the shared surface."""
ARTIFACTS: Final[Thresholds] = (0.004, 0.020, 0.080, 0.250)


@dataclass(frozen=True)
class ViewDistances:
    """Everything measured of one view; None where its pass is missing or cannot be measured."""

    view: int
    shape: ShapeDistances | None
    surface: SurfaceDistances | None
    specks: float | None
    beauty: bool
    """Is there a beauty pair at all?"""


def level(distance: float, thresholds: Thresholds) -> int:
    """4 for a distance below every threshold, 0 for one above all."""
    return sum(distance < threshold for threshold in thresholds)


def worst(values: Sequence[float]) -> float:
    """Mean of the two worst views: one odd view alone decides nothing, a fault seen twice does."""
    ranked = sorted(values, reverse=True)[:2]
    return sum(ranked) / len(ranked)


def components_distance(shapes: Sequence[ShapeDistances]) -> float:
    """The largest coherent difference: a part that is missing, foreign or another."""
    return worst([shape.largest for shape in shapes])


def shape_distance(shapes: Sequence[ShapeDistances]) -> float:
    """All coherent differences together, or the outlines' disagreement where that is more."""
    return worst([max(shape.missing + shape.surplus + shape.changed, shape.outline) for shape in shapes])
