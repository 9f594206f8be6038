"""The input fingerprint: golden, order-free in its keys, sensitive to everything but the operation ID."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from judge.acceptance import CHECKS_VERSION, PACKAGE_VERSION, POLICY_VERSION, SCHEMA_VERSION, fingerprint
from tests.judge.acceptance.acceptance_kit import Access, Inspector, Json, available, judge, request_json, unavailable


class Pinned(Access):
    """Bytes that no encoder's version can change."""

    def __init__(self, request: Json) -> None:
        super().__init__()
        for _, image in _images(request):
            data = f"bytes of {image['id']}".encode()
            image["contentHash"] = hashlib.sha256(data).hexdigest()
            answer = available(image["id"], mediaType="image/next") | {"bytes": data}
            self.answers[image["id"]] = answer | {"contentHash": image["contentHash"]}


def _images(request: Json) -> Iterator[tuple[str, Json]]:
    for role, name in (
        ("product_truth", "productImages"),
        ("style_reference", "styleReferences"),
        ("output", "outputs"),
    ):
        for image in request.get(name, []):
            yield role, image


def _fingerprint(request: Json, access: Access | None = None) -> str:
    return judge(request, access or Pinned(request)).input_fingerprint


def test_golden_value() -> None:
    assert _fingerprint(request_json()) == "5d9eed5a82b7d7d409d0fa6ca3735a7203cff7b2690522835ce76b617c18abee"


def test_golden_value_with_non_ascii_text_nothing_optional_and_an_image_unavailable() -> None:
    request = request_json()
    request["goal"]["description"] = 'Größe \U0001f6cb\u2028 "quoted" \\ \x7f'
    for deliverable in request["goal"]["deliverables"]:
        for name in ("width", "height", "aspectRatio", "mediaType"):
            deliverable.pop(name, None)
    del request["styleReferences"]
    access = Pinned(request)
    truth = request["productImages"][0]
    access.answers["truth"] = unavailable("truth") | {"contentHash": truth["contentHash"]}
    assert _fingerprint(request, access) == "a80c81e28b129cf8b39e94d217ccfe3b4073a2568240b595fd91a95eae30d7d7"


def test_the_value_can_be_computed_by_anybody_from_the_documented_form() -> None:
    """Sorted keys without spaces are RFC 8785 for ASCII text and whole numbers."""
    request = request_json()
    access = Pinned(request)
    covered = copy.deepcopy(request)
    del covered["identity"]["operationId"]
    evidence = [
        {
            "id": image["id"],
            "role": role,
            "contentHash": image["contentHash"],
            "metadata": access.answers[image["id"]]["metadata"],  # type: ignore[index]
        }
        for role, image in _images(request)
    ]
    versions = {
        "package": PACKAGE_VERSION,
        "policy": POLICY_VERSION,
        "schema": SCHEMA_VERSION,
        "checks": CHECKS_VERSION,
    }
    document = {"versions": versions, "request": covered, "evidence": evidence}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert _fingerprint(request, access) == hashlib.sha256(text.encode()).hexdigest()


def _reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reordered(value[key]) for key in sorted(value, reverse=True)}
    return [_reordered(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_keys_does_not_matter() -> None:
    request = request_json()
    assert list(_reordered(request)) != list(request)
    assert _fingerprint(_reordered(request)) == _fingerprint(request)


def test_the_operation_id_does_not_matter_so_that_a_confirmation_stays_comparable() -> None:
    request = request_json()
    request["identity"]["operationId"] = "operation-2"
    report = judge(request, Pinned(request))
    assert report.input_fingerprint == _fingerprint(request_json())
    assert report.identity.operation_id == "operation-2"


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*path, key))
    else:
        yield path


_LINKED = {"operationId", "contentHash", "mediaType", "deliverableId", "id"}
CHANGEABLE = [path for path in _leaves(request_json()) if path[-1] not in _LINKED and "deliverableIds" not in path]


@pytest.mark.parametrize("path", CHANGEABLE, ids=str)
def test_every_other_field_matters(path: tuple[str | int, ...]) -> None:
    request = request_json()
    place: Any = request
    for step in path[:-1]:
        place = place[step]
    old = place[path[-1]]
    match old:
        case bool():
            request["goal"]["criteria"][path[2]] |= {"required": False, "allowMinorDeviation": False}
            base = copy.deepcopy(request)
            place[path[-1]] = True
            assert _fingerprint(request) != _fingerprint(base)
            return
        case int():
            place[path[-1]] = old + 1
        case str():
            place[path[-1]] = "e" * 64 if len(old) == 64 else old + "!"
    assert _fingerprint(request) != _fingerprint(request_json())


def test_ids_bindings_and_their_order_matter() -> None:
    seen = {_fingerprint(request_json())}
    for change in ("output order", "criterion order", "coverage order", "coverage", "binding", "criterion id", "style"):
        request = request_json()
        criteria = request["goal"]["criteria"]
        match change:
            case "output order":
                request["outputs"].reverse()
            case "criterion order":
                criteria.reverse()
            case "coverage order":
                criteria[2]["deliverableIds"].reverse()
            case "coverage":
                del criteria[2]["deliverableIds"]
            case "binding":
                request["outputs"][0]["deliverableId"] = "back"
            case "criterion id":
                criteria[0]["id"] = "identical"
            case "style":
                request["styleReferences"] = []
        seen.add(_fingerprint(request))
    assert len(seen) == 8


def test_an_absent_and_an_empty_list_of_style_references_are_one_request() -> None:
    absent, empty = request_json(), request_json() | {"styleReferences": []}
    del absent["styleReferences"]
    assert _fingerprint(absent) == _fingerprint(empty)


@pytest.mark.parametrize(
    "metadata",
    [
        {"width": 50},
        {"height": 60},
        {"mediaType": "image/other"},
        {"decoder": {"name": "some-decoder", "version": "2"}},
    ],
    ids=str,
)
def test_the_decoded_metadata_of_every_image_matter(metadata: Json) -> None:
    for image_id in ("truth", "style", "front-1", "back-1"):
        request = request_json()
        access = Pinned(request)
        answer: Any = access.answers[image_id]
        answer["metadata"] = answer["metadata"] | metadata
        assert _fingerprint(request, access) != _fingerprint(request_json())


def test_the_bytes_matter() -> None:
    request = request_json()
    access = Pinned(request)
    data = b"other bytes"
    request["outputs"][0]["contentHash"] = hashlib.sha256(data).hexdigest()
    answer: Any = access.answers["front-1"]
    answer |= {"bytes": data, "contentHash": request["outputs"][0]["contentHash"]}
    assert _fingerprint(request, access) != _fingerprint(request_json())


def test_availability_matters_and_the_words_about_it_do_not() -> None:
    values = []
    for reason in ("gone", "not allowed"):
        request = request_json()
        access = Pinned(request)
        image = request["styleReferences"][0]
        access.answers["style"] = unavailable("style") | {"contentHash": image["contentHash"], "reason": reason}
        values.append(_fingerprint(request, access))
    assert values[0] == values[1] != _fingerprint(request_json())


@pytest.mark.parametrize("name", ["PACKAGE_VERSION", "POLICY_VERSION", "SCHEMA_VERSION", "CHECKS_VERSION"])
def test_every_version_constant_matters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _fingerprint(request_json())
    monkeypatch.setattr(fingerprint, name, "another")
    assert _fingerprint(request_json()) != before


def test_what_the_evaluator_answers_does_not_matter() -> None:
    request = request_json()
    access = Pinned(request)
    other = judge(request, access, Inspector({"same": ("fail", "critical")}))
    assert other.input_fingerprint == _fingerprint(request_json())
