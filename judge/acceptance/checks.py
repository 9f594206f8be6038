"""What can be measured without a model: how many images there are, and of which size and shape.

Whole numbers throughout. A size is unknown where its image is unavailable; a count never is, because
the request itself says which outputs exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from judge.acceptance.evidence import DecodedMetadata, ResolvedImage
from judge.acceptance.fields import ContractModel, Identifier
from judge.acceptance.reply import CheckVerdict
from judge.acceptance.request import AspectRatio, Deliverable, JudgeRequest

CheckKind = Literal["count", "width", "height", "aspectRatio"]
Problem = Literal["missing", "extra", "mismatch", "unavailable"]


class MeasurableCheck(ContractModel):
    """One measurement: counts are of a deliverable, sizes (pixels) and ratios of one output."""

    kind: CheckKind
    deliverable_id: Identifier
    output_id: Identifier | None
    expected: int | AspectRatio
    actual: int | AspectRatio | None
    verdict: CheckVerdict
    problem: Problem | None


def measure(request: JudgeRequest, images: Sequence[ResolvedImage]) -> tuple[MeasurableCheck, ...]:
    """Every measurement that the goal asks for, deliverable by deliverable in its order."""
    metadata = {image.reference.id: image.item.metadata if image.item else None for image in images}
    checks: list[MeasurableCheck] = []
    for deliverable in request.goal.deliverables:
        outputs = [output.id for output in request.outputs if output.deliverable_id == deliverable.id]
        checks.append(_count(deliverable, len(outputs)))
        for output_id in outputs:
            checks.extend(_sizes(deliverable, output_id, metadata[output_id]))
    return tuple(checks)


def _count(deliverable: Deliverable, actual: int) -> MeasurableCheck:
    problem: Problem | None = None
    if actual != deliverable.count:
        problem = "missing" if actual < deliverable.count else "extra"
    return MeasurableCheck(
        kind="count",
        deliverable_id=deliverable.id,
        output_id=None,
        expected=deliverable.count,
        actual=actual,
        verdict="fail" if problem else "pass",
        problem=problem,
    )


def _sizes(deliverable: Deliverable, output_id: str, metadata: DecodedMetadata | None) -> Iterator[MeasurableCheck]:
    def check(
        kind: CheckKind, expected: int | AspectRatio, actual: int | AspectRatio | None, fits: bool
    ) -> MeasurableCheck:
        problem: Problem | None = "unavailable" if actual is None else None if fits else "mismatch"
        return MeasurableCheck(
            kind=kind,
            deliverable_id=deliverable.id,
            output_id=output_id,
            expected=expected,
            actual=actual,
            verdict="unknown" if actual is None else "pass" if fits else "fail",
            problem=problem,
        )

    width = metadata.width if metadata else None
    height = metadata.height if metadata else None
    if deliverable.width is not None:
        yield check("width", deliverable.width, width, width == deliverable.width)
    if deliverable.height is not None:
        yield check("height", deliverable.height, height, height == deliverable.height)
    ratio = deliverable.aspect_ratio
    if ratio is not None:
        shape = AspectRatio(width=metadata.width, height=metadata.height) if metadata else None
        fits = shape is not None and shape.width * ratio.height == shape.height * ratio.width
        yield check("aspectRatio", ratio, shape, fits)
