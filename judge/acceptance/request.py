"""The frozen request: what is to be judged, against which goal, by which images.

Shapes are pydantic's; the rules that span fields are in :func:`broken_rules`. Both are reported with
the path of the field in its JSON name. An image reference holds no address and no credential: access
belongs to the evidence port.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import JsonValue, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from judge.acceptance.errors import AcceptanceError
from judge.acceptance.fields import (
    ContractModel,
    Flag,
    Identifier,
    NotNull,
    PositiveInteger,
    Sha256Hex,
    SparseModel,
    Text,
    first_problem,
)

ImageRole = Literal["product_truth", "style_reference", "output"]


class Identity(ContractModel):
    """Whose judgment this is. The hashes belong to the host and come back verbatim."""

    test_id: Identifier
    operation_id: Identifier
    sku_id: Identifier
    goal_hash: Sha256Hex
    input_hash: Sha256Hex
    output_hash: Sha256Hex
    workflow_hash: Sha256Hex


class AspectRatio(ContractModel):
    """Width to height in whole numbers, so that a comparison is exact: 4:5 is width 4, height 5."""

    width: PositiveInteger
    height: PositiveInteger


class Deliverable(SparseModel):
    """So many images, and of which size in pixels or which shape."""

    id: Identifier
    count: PositiveInteger
    width: Annotated[PositiveInteger | None, NotNull] = None
    height: Annotated[PositiveInteger | None, NotNull] = None
    aspect_ratio: Annotated[AspectRatio | None, NotNull] = None
    media_type: Annotated[Literal["image"] | None, NotNull] = None


class Criterion(SparseModel):
    """One question for the evaluator. Without ``deliverable_ids`` it concerns every output."""

    id: Identifier
    description: Text
    required: Flag
    """Not negotiable: no deviation of any severity is tolerated."""
    allow_minor_deviation: Flag
    deliverable_ids: Annotated[tuple[Identifier, ...] | None, NotNull] = None

    def covers(self, deliverable_id: str) -> bool:
        return self.deliverable_ids is None or deliverable_id in self.deliverable_ids

    @property
    def tolerant(self) -> bool:
        return self.allow_minor_deviation and not self.required


class Goal(ContractModel):
    """What was ordered."""

    description: Text
    expected_output: Text
    deliverables: tuple[Deliverable, ...]
    criteria: tuple[Criterion, ...]


class ImageReference(SparseModel):
    """One image by the SHA-256 of its bytes; the label is untrusted words."""

    id: Identifier
    content_hash: Sha256Hex
    label: Annotated[Text | None, NotNull] = None


class OutputReference(ImageReference):
    """One image of the final set, bound to its deliverable by the host, never by its position."""

    deliverable_id: Identifier
    node_id: Identifier
    node_run_id: Identifier


class JudgeRequest(ContractModel):
    """Everything that one judgment rests on, frozen before it starts."""

    identity: Identity
    goal: Goal
    product_images: tuple[ImageReference, ...]
    style_references: tuple[ImageReference, ...] = ()
    outputs: tuple[OutputReference, ...]

    @model_validator(mode="after")
    def _keeps_the_rules(self) -> Self:
        for path, reason in broken_rules(self):
            raise PydanticCustomError("judge_rule", "{reason}", {"path": path, "reason": reason})
        return self

    def images(self) -> Iterator[tuple[ImageRole, ImageReference]]:
        """Every image with its role, in the one order that is used everywhere."""
        for truth in self.product_images:
            yield "product_truth", truth
        for style in self.style_references:
            yield "style_reference", style
        for output in self.outputs:
            yield "output", output

    def covered_outputs(self, criterion: Criterion) -> tuple[str, ...]:
        """IDs of the outputs that a criterion concerns, in the request's order."""
        return tuple(output.id for output in self.outputs if criterion.covers(output.deliverable_id))


def broken_rules(request: JudgeRequest) -> Iterator[tuple[str, str]]:
    """Path and reason of each rule between fields that a request breaks."""
    goal = request.goal
    yield from _repeated("goal.deliverables", (item.id for item in goal.deliverables))
    yield from _repeated("goal.criteria", (item.id for item in goal.criteria))
    known = {deliverable.id for deliverable in goal.deliverables}
    for index, criterion in enumerate(goal.criteria):
        yield from _broken_by_criterion(f"goal.criteria[{index}]", criterion, known)
    seen: set[str] = set()
    for name, images in (
        ("productImages", request.product_images),
        ("styleReferences", request.style_references),
        ("outputs", request.outputs),
    ):
        yield from _repeated(name, (image.id for image in images), seen)
    for index, output in enumerate(request.outputs):
        if output.deliverable_id not in known:
            yield f"outputs[{index}].deliverableId", "must name a deliverable of the goal"


def _broken_by_criterion(path: str, criterion: Criterion, known: set[str]) -> Iterator[tuple[str, str]]:
    if criterion.required and criterion.allow_minor_deviation:
        yield f"{path}.allowMinorDeviation", "must be false where the criterion is required"
    if criterion.deliverable_ids is None:
        return
    path += ".deliverableIds"
    if not criterion.deliverable_ids:
        yield path, "must name a deliverable, or be left out to mean every output"
    seen: set[str] = set()
    for index, deliverable_id in enumerate(criterion.deliverable_ids):
        if deliverable_id not in known:
            yield f"{path}[{index}]", "must name a deliverable of the goal"
        if deliverable_id in seen:
            yield f"{path}[{index}]", "must not repeat"
        seen.add(deliverable_id)


def _repeated(path: str, ids: Iterable[str], seen: set[str] | None = None) -> Iterator[tuple[str, str]]:
    seen = set() if seen is None else seen
    for index, identifier in enumerate(ids):
        if identifier in seen:
            yield f"{path}[{index}].id", "must be unique"
        seen.add(identifier)


def parse_request(request: JudgeRequest | Mapping[str, object]) -> JudgeRequest:
    """Validate a request, given as a model or by its JSON names.

    A model is validated again: it may have been built without validation.

    :raises AcceptanceError: ``invalid_request``, with the ``path`` of the field.
    """
    try:
        if isinstance(request, JudgeRequest):
            request = request.model_dump(exclude_unset=True, warnings=False)
        return JudgeRequest.model_validate(request, by_alias=True, by_name=False)
    except ValidationError as error:
        path, reason = first_problem(error)
        raise AcceptanceError(
            "invalid_request", f"The request is invalid at {path or 'its top'}: {reason}.", path=path
        ) from None


def request_json(request: JudgeRequest) -> dict[str, JsonValue]:
    """A request as JSON data, with the fields that were given and no others."""
    data: dict[str, JsonValue] = request.model_dump(mode="json", exclude_unset=True, warnings=False)
    return data
