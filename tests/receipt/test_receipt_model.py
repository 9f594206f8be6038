"""The receipt: the contract's fields, nothing missing, nothing more."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from receipt.digests import asset_digest, canonical_json, manifest_sha256, sha256_hex
from receipt.errors import FormatError, ReceiptError
from receipt.model import confined, dump_receipt, parse_receipt
from receipt.strict_json import parse_object
from tests.episodes import build_episode


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = build_episode(tmp_path_factory.mktemp("root")).folder
    value: dict[str, Any] = json.loads((folder / "receipt.json").read_bytes())
    return value


Edit = Callable[[dict[str, Any]], Any]


def _image(index: int, **changes: Any) -> Edit:
    return lambda value: value["images"][index].update(changes)


EDITS: dict[str, Edit] = {
    "no case": lambda v: v.pop("case_id"),
    "no fixture": lambda v: v.pop("fixture"),
    "no renderer": lambda v: v.pop("renderer"),
    "no images": lambda v: v.pop("images"),
    "empty images": lambda v: v.update(images=[]),
    "unknown field": lambda v: v.update(score=1),
    "unknown in renderer": lambda v: v["renderer"].update(gpu=True),
    "unknown in image": _image(0, label="x"),
    "fixture as text": lambda v: v.update(fixture="false"),
    "fixture as number": lambda v: v.update(fixture=0),
    "upper-case hex": lambda v: v.update(candidate_asset_sha256="A" * 64),
    "short hex": lambda v: v.update(reference_asset_sha256="a" * 63),
    "code hash missing": lambda v: v["renderer"].pop("code_sha256"),
    "settings as list": lambda v: v["renderer"].update(settings=[]),
    "case with dot": lambda v: v.update(case_id=".x"),
    "case with slash": lambda v: v.update(case_id="a/b"),
    "case too long": lambda v: v.update(case_id="a" * 129),
    "role unknown": _image(0, role="judge"),
    "hash of image": _image(0, sha256="x"),
    "absolute path": _image(0, path="/etc/passwd"),
    "parent path": _image(0, path="images/../../x.png"),
    "dot path": _image(0, path="./x.png"),
    "backslash path": _image(0, path="images\\x.png"),
    "empty segment": _image(0, path="images//x.png"),
    "trailing slash": _image(0, path="images/x/"),
    "control in path": _image(0, path="images/\nx.png"),
    "shared path": lambda v: v["images"][0].update(path=v["images"][1]["path"]),
    "view missing": lambda v: v["images"].pop(),
    "view twice": lambda v: v["images"].append(dict(v["images"][0], path="images/again.png")),
    "view renamed": _image(0, view_id="other"),
    "view with slash": _image(0, view_id="a/b"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_receipt_that_is_wrong_anywhere_is_refused(good: dict[str, Any], name: str) -> None:
    value = copy.deepcopy(good)
    parse_receipt(json.dumps(value).encode())
    EDITS[name](value)
    with pytest.raises(FormatError) as caught:
        parse_receipt(json.dumps(value).encode())
    assert caught.value.code == "receipt_malformed"


@pytest.mark.parametrize("schema", [None, "simrepairbench-trusted-renders-v2", 1])
def test_another_schema_is_refused(good: dict[str, Any], schema: object) -> None:
    with pytest.raises(FormatError) as caught:
        parse_receipt(json.dumps(good | {"schema": schema}).encode())
    assert caught.value.code == "receipt_schema"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\xef\xbb\xbf{}", "json_bom"),
        (b'{"a":1,"a":1}', "json_duplicate_key"),
        (b'{"a":{"b":1,"b":2}}', "json_duplicate_key"),
        (b'{"a":NaN}', "json_malformed"),
        (b'{"a":Infinity}', "json_malformed"),
        (b'{"a":1e999}', "json_malformed"),
        (b'{"a":-1e999}', "json_malformed"),
        (b'{"a":"\\ud800"}', "json_malformed"),
        (b'{"\\udfff":1}', "json_malformed"),
        (b'{"a":' + b"9" * 5000 + b"}", "json_malformed"),
        (b'{"a":"\t"}', "json_malformed"),
        ('{"a":1}'.encode("utf-16"), "json_malformed"),
        (b"[]", "json_malformed"),
        (b"{} x", "json_malformed"),
        (b"\xff", "json_malformed"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "json_too_deep"),
        (b'{"a":' + b"[" * 100_000, "json_too_deep"),
        (b'{"a":"' + b"x" * 2000 + b'"}', "json_too_big"),
    ],
)
def test_json_that_could_mean_two_things_is_refused(data: bytes, code: str) -> None:
    limit = 1000 if code == "json_too_big" else 1 << 20
    with pytest.raises(FormatError) as caught:
        parse_object(data, max_bytes=limit)
    assert caught.value.code == code


@given(st.binary(max_size=300))
def test_any_bytes_raise_nothing_but_a_receipt_error(data: bytes) -> None:
    with pytest.raises(ReceiptError):
        parse_receipt(data)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_receipt_with_anything_in_any_place_raises_nothing_but_a_receipt_error(
    good: dict[str, Any], data: st.DataObject
) -> None:
    value = copy.deepcopy(good)
    here: Any = value
    while True:
        key = data.draw(st.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here))))
        if not isinstance(here[key], dict | list) or not here[key] or data.draw(st.booleans()):
            break
        here = here[key]
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    here[key] = data.draw(st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
    try:
        receipt = parse_receipt(json.dumps(value).encode())
        dump_receipt(receipt)
    except ReceiptError as error:
        assert error.code in {"receipt_malformed", "receipt_schema", "json_malformed", "json_too_deep", "not_canonical"}
    else:
        assert parse_receipt(dump_receipt(receipt)) == receipt


def test_bytes_decide_and_equal_receipts_are_equal_bytes(good: dict[str, Any]) -> None:
    spaced = json.dumps(good, indent=4).encode()
    assert dump_receipt(parse_receipt(spaced)) == dump_receipt(parse_receipt(canonical_json(good)))


@pytest.mark.parametrize("path", ["a", "a/b.png", "a.b/c-d_e", "..a/b"])
def test_normal_paths_are_confined(path: str) -> None:
    assert confined(path)


def test_a_folders_digest_depends_on_names_bytes_and_root_layer_and_a_files_does_not() -> None:
    entries = [("a.usda", 1, sha256_hex(b"a")), ("b.usda", 1, sha256_hex(b"b"))]
    folder = asset_digest(entries, is_folder=True, root_layer="a.usda")
    assert folder == asset_digest(entries[::-1], is_folder=True, root_layer="a.usda")
    assert folder.kind == "folder"
    others = {
        asset_digest(entries, is_folder=True, root_layer="b.usda").sha256,
        asset_digest(entries[:1], is_folder=True, root_layer="a.usda").sha256,
        asset_digest([("c.usda", 1, sha256_hex(b"a")), entries[1]], is_folder=True, root_layer="a.usda").sha256,
        manifest_sha256(entries),
    }
    assert len(others | {folder.sha256}) == 5
    single = asset_digest(entries[:1], is_folder=False, root_layer="a.usda")
    assert (single.kind, single.sha256) == ("file", sha256_hex(b"a"))


@pytest.mark.parametrize(
    ("entries", "is_folder"),
    [([], True), ([], False), ([("a", 1, "0"), ("b", 1, "0")], False), ([("a", 1, "0"), ("a", 2, "1")], True)],
)
def test_what_is_no_asset_has_no_digest(entries: list[tuple[str, int, str]], is_folder: bool) -> None:
    with pytest.raises(FormatError) as caught:
        asset_digest(entries, is_folder=is_folder, root_layer="a")
    assert caught.value.code == "asset_entries"


@pytest.mark.parametrize("value", [float("nan"), 2**60, {"a": "\ud800"}, object()])
def test_what_json_cannot_carry_exactly_is_refused(value: object) -> None:
    with pytest.raises(FormatError) as caught:
        canonical_json(value)
    assert caught.value.code == "not_canonical"


def test_a_test_episode_is_what_it_says(tmp_path: Path) -> None:
    evidence = build_episode(tmp_path).load()
    assert evidence.fixture is True
    assert [image.pass_name for image in evidence.images][:4] == ["beauty", "beauty", "clay", "clay"]
