"""The one difference map of the project: LDR-FLIP (Andersson et al. 2020) between two sRGB pictures."""

from __future__ import annotations

from typing import Any

import flip_evaluator
import numpy as np
from numpy.typing import NDArray

Rgb8 = NDArray[np.uint8]
"""Shape (height, width, 3), sRGB."""
Error = NDArray[np.float32]
"""Shape (height, width), 0 equal to 1 different."""

_LDR = "LDR"


def flip_error(reference: Rgb8, candidate: Rgb8) -> Error:
    """FLIP per pixel at 67 pixels per degree. Raises ``ValueError`` for sizes that differ or are empty."""
    _check(reference, candidate)
    if np.array_equal(reference, candidate):
        return np.zeros(reference.shape[:2], np.float32)
    error, _, _ = _evaluate(reference, candidate, magma=False)
    return np.asarray(error, np.float32).reshape(reference.shape[:2])


def difference_map(reference: Rgb8, candidate: Rgb8) -> Rgb8:
    """The FLIP map in the magma colours, black where nothing differs. Raises ``ValueError``."""
    _check(reference, candidate)
    if np.array_equal(reference, candidate):
        return np.zeros_like(reference)
    shown, _, _ = _evaluate(reference, candidate, magma=True)
    return (np.clip(np.asarray(shown, np.float32), 0, 1) * 255 + 0.5).astype(np.uint8)


def _check(reference: Rgb8, candidate: Rgb8) -> None:
    # The library ends the process on bad arguments, so none may reach it.
    shapes = {reference.shape, candidate.shape}
    if len(shapes) != 1 or reference.ndim != 3 or reference.shape[2] != 3 or 0 in reference.shape:
        raise ValueError("two RGB pictures of one size are needed")


def _evaluate(reference: Rgb8, candidate: Rgb8, *, magma: bool) -> tuple[Any, Any, Any]:
    one, other = (np.ascontiguousarray(image.astype(np.float32) / 255) for image in (reference, candidate))
    result: tuple[Any, Any, Any] = flip_evaluator.evaluate(
        one, other, _LDR, inputsRGB=True, applyMagma=magma, computeMeanError=False, parameters={"ppd": 67.0}
    )
    return result
