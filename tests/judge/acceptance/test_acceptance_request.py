"""Clause "Frozen request": its fields, and every rule that makes a request invalid, with the field's path."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from judge.acceptance import Goal, Identity, JudgeError, JudgeRequest, parse_request
from judge.acceptance import request_json as dump
from receipt.digests import canonical_json
from tests.judge.acceptance.acceptance_kit import Access, Inspector, Json, judge, request_json

Edit = Callable[[Json], object]


def _set(*path: str | int, to: object) -> Edit:
    def edit(request: Json) -> None:
        place: Json = request
        for step in path[:-1]:
            place = place[step]  # type: ignore[index]
        place[path[-1]] = to  # type: ignore[index]

    return edit


def _drop(*path: str | int) -> Edit:
    def edit(request: Json) -> None:
        place: Json = request
        for step in path[:-1]:
            place = place[step]  # type: ignore[index]
        del place[path[-1]]  # type: ignore[arg-type]

    return edit


CRITERIA = ("goal", "criteria")
DELIVERABLES = ("goal", "deliverables")

RULES: list[tuple[str, Edit, str]] = [
    # identities that repeat, within a list and across the three lists of images
    ("product image id repeats a style's", _set("styleReferences", 0, "id", to="truth"), "styleReferences[0].id"),
    ("output id repeats a product image's", _set("outputs", 1, "id", to="truth"), "outputs[1].id"),
    ("output id repeats an output's", _set("outputs", 1, "id", to="front-1"), "outputs[1].id"),
    ("criterion id repeats", _set(*CRITERIA, 2, "id", to="same"), "goal.criteria[2].id"),
    ("deliverable id repeats", _set(*DELIVERABLES, 1, "id", to="front"), "goal.deliverables[1].id"),
    # rules between fields
    (
        "required and tolerant",
        _set(*CRITERIA, 0, "allowMinorDeviation", to=True),
        "goal.criteria[0].allowMinorDeviation",
    ),
    ("no deliverable named", _set(*CRITERIA, 1, "deliverableIds", to=[]), "goal.criteria[1].deliverableIds"),
    ("deliverable unknown", _set(*CRITERIA, 1, "deliverableIds", to=["side"]), "goal.criteria[1].deliverableIds[0]"),
    (
        "deliverable named twice",
        _set(*CRITERIA, 1, "deliverableIds", to=["front", "front"]),
        "goal.criteria[1].deliverableIds[1]",
    ),
    ("output of an unknown deliverable", _set("outputs", 0, "deliverableId", to="side"), "outputs[0].deliverableId"),
    # numbers
    ("count zero", _set(*DELIVERABLES, 0, "count", to=0), "goal.deliverables[0].count"),
    ("count negative", _set(*DELIVERABLES, 0, "count", to=-1), "goal.deliverables[0].count"),
    ("count fractional", _set(*DELIVERABLES, 0, "count", to=1.5), "goal.deliverables[0].count"),
    ("count a string", _set(*DELIVERABLES, 0, "count", to="1"), "goal.deliverables[0].count"),
    ("count a boolean", _set(*DELIVERABLES, 0, "count", to=True), "goal.deliverables[0].count"),
    ("count beyond other languages", _set(*DELIVERABLES, 0, "count", to=2**53), "goal.deliverables[0].count"),
    ("width zero", _set(*DELIVERABLES, 0, "width", to=0), "goal.deliverables[0].width"),
    ("width null", _set(*DELIVERABLES, 0, "width", to=None), "goal.deliverables[0].width"),
    ("height negative", _set(*DELIVERABLES, 0, "height", to=-5), "goal.deliverables[0].height"),
    ("height infinite", _set(*DELIVERABLES, 0, "height", to=float("inf")), "goal.deliverables[0].height"),
    ("ratio zero", _set(*DELIVERABLES, 1, "aspectRatio", "width", to=0), "goal.deliverables[1].aspectRatio.width"),
    (
        "ratio fractional",
        _set(*DELIVERABLES, 1, "aspectRatio", "height", to=0.8),
        "goal.deliverables[1].aspectRatio.height",
    ),
    ("ratio as text", _set(*DELIVERABLES, 1, "aspectRatio", to="4:5"), "goal.deliverables[1].aspectRatio"),
    ("ratio null", _set(*DELIVERABLES, 1, "aspectRatio", to=None), "goal.deliverables[1].aspectRatio"),
    # other types
    ("media type other than image", _set(*DELIVERABLES, 0, "mediaType", to="video"), "goal.deliverables[0].mediaType"),
    ("media type a MIME type", _set(*DELIVERABLES, 0, "mediaType", to="image/png"), "goal.deliverables[0].mediaType"),
    ("flag a number", _set(*CRITERIA, 0, "required", to=1), "goal.criteria[0].required"),
    ("flag a word", _set(*CRITERIA, 2, "allowMinorDeviation", to="false"), "goal.criteria[2].allowMinorDeviation"),
    ("text a number", _set("goal", "description", to=5), "goal.description"),
    ("text that UTF-8 cannot carry", _set("goal", "description", to="\ud800"), "goal.description"),
    ("id empty", _set("identity", "testId", to=""), "identity.testId"),
    ("label null", _set("outputs", 0, "label", to=None), "outputs[0].label"),
    ("list an object", _set("outputs", to={"0": {}}), "outputs"),
    # hashes
    ("hash upper case", _set("outputs", 0, "contentHash", to="A" * 64), "outputs[0].contentHash"),
    ("hash short", _set("productImages", 0, "contentHash", to="a" * 63), "productImages[0].contentHash"),
    (
        "hash with a line end",
        _set("productImages", 0, "contentHash", to="a" * 64 + "\n"),
        "productImages[0].contentHash",
    ),
    (
        "hash prefixed",
        _set("styleReferences", 0, "contentHash", to="sha256:" + "a" * 57),
        "styleReferences[0].contentHash",
    ),
    ("identity hash no hex", _set("identity", "goalHash", to="g" * 64), "identity.goalHash"),
    # unknown fields, at every level
    ("unknown at the top", _set("extra", to=1), "extra"),
    ("score beside the goal", _set("goal", "score", to=1), "goal.score"),
    ("unknown in identity", _set("identity", "url", to="x"), "identity.url"),
    ("address in an image", _set("outputs", 0, "url", to="https://example.org/a.png"), "outputs[0].url"),
    ("unknown in a deliverable", _set(*DELIVERABLES, 0, "name", to="x"), "goal.deliverables[0].name"),
    ("unknown in a criterion", _set(*CRITERIA, 0, "weight", to=1), "goal.criteria[0].weight"),
    (
        "unknown in a ratio",
        _set(*DELIVERABLES, 1, "aspectRatio", "depth", to=1),
        "goal.deliverables[1].aspectRatio.depth",
    ),
    (
        "a Python name is no JSON name",
        lambda request: request.update(product_images=request.pop("productImages")),
        "productImages",
    ),
]
RULES += [
    (f"missing {'.'.join(map(str, path))}", _drop(*path), text)
    for path, text in [
        *(((name,), name) for name in ("identity", "goal", "productImages", "outputs")),
        *(
            (("identity", name), f"identity.{name}")
            for name in ("testId", "operationId", "skuId", "goalHash", "inputHash", "outputHash", "workflowHash")
        ),
        *((("goal", name), f"goal.{name}") for name in ("description", "expectedOutput", "deliverables", "criteria")),
        *(((*DELIVERABLES, 0, name), f"goal.deliverables[0].{name}") for name in ("id", "count")),
        *(
            ((*CRITERIA, 0, name), f"goal.criteria[0].{name}")
            for name in ("id", "description", "required", "allowMinorDeviation")
        ),
        *((("productImages", 0, name), f"productImages[0].{name}") for name in ("id", "contentHash")),
        *(
            (("outputs", 0, name), f"outputs[0].{name}")
            for name in ("id", "contentHash", "deliverableId", "nodeId", "nodeRunId")
        ),
    ]
]


@pytest.mark.parametrize(("edit", "path"), [rule[1:] for rule in RULES], ids=[rule[0] for rule in RULES])
def test_a_broken_rule_is_an_invalid_request_with_the_path_of_its_field(edit: Edit, path: str) -> None:
    request, access, inspector = request_json(), Access(), Inspector()
    edit(request)
    with pytest.raises(JudgeError) as caught:
        judge(request, access, inspector)
    assert (caught.value.code, caught.value.path) == ("invalid_request", path)  # type: ignore[attr-defined]
    assert path in caught.value.message
    assert access.asked == []
    assert inspector.calls == []


@pytest.mark.parametrize("request_", [[], "text", 5, {1: 2}], ids=repr)
def test_what_is_no_object_at_all_is_an_invalid_request(request_: object) -> None:
    with pytest.raises(JudgeError) as caught:
        judge(request_)
    assert caught.value.code == "invalid_request"


def test_a_request_round_trips_byte_for_byte_in_canonical_form() -> None:
    text = json.dumps(request_json())
    assert canonical_json(dump(parse_request(json.loads(text)))) == canonical_json(json.loads(text))


@pytest.mark.parametrize(
    "path", [("styleReferences",), ("productImages", 0, "label"), (*DELIVERABLES, 0, "width")], ids=str
)
def test_an_absent_field_stays_absent_in_the_round_trip(path: tuple[str | int, ...]) -> None:
    request = request_json()
    _drop(*path)(request)
    assert dump(parse_request(request)) == request


def test_a_whole_number_written_with_a_point_is_that_number() -> None:
    request = request_json()
    request["goal"]["deliverables"][0]["count"] = 1.0
    assert canonical_json(dump(parse_request(request))) == canonical_json(request_json())


def test_an_absent_list_of_style_references_is_empty() -> None:
    request = request_json()
    del request["styleReferences"]
    assert parse_request(request).style_references == ()


def test_the_request_is_frozen() -> None:
    request = parse_request(request_json())
    with pytest.raises(ValidationError):
        request.goal.criteria[0].required = False
    with pytest.raises(ValidationError):
        request.outputs = ()


def test_python_names_build_the_same_request() -> None:
    given = request_json()
    built = JudgeRequest(
        identity=Identity(
            test_id="test-1",
            operation_id="operation-1",
            sku_id="sku-1",
            goal_hash="a" * 64,
            input_hash="b" * 64,
            output_hash="c" * 64,
            workflow_hash="d" * 64,
        ),
        goal=Goal.model_validate(given["goal"]),
        product_images=given["productImages"],
        style_references=given["styleReferences"],
        outputs=given["outputs"],
    )
    assert dump(built) == given
    assert judge(built) == judge(given)


def test_a_model_built_without_validation_is_validated_all_the_same() -> None:
    valid = parse_request(request_json())
    forged = valid.model_copy(update={"outputs": (*valid.outputs, valid.outputs[0])})
    with pytest.raises(JudgeError) as caught:
        judge(forged)
    assert (caught.value.code, caught.value.path) == ("invalid_request", "outputs[2].id")  # type: ignore[attr-defined]


def test_the_json_schema_is_closed_and_speaks_camel_case() -> None:
    schema = JudgeRequest.model_json_schema()
    objects = [schema, *schema["$defs"].values()]
    assert all(part["additionalProperties"] is False for part in objects)
    assert {"productImages", "styleReferences"} <= schema["properties"].keys()
    assert "styleReferences" not in schema["required"]
