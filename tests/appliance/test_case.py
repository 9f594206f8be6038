"""The case file: what a verifier may write, and what is refused with the place where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.case import load_case, valid_id
from appliance.errors import UsageError


def case(folder: Path, text: str) -> Path:
    path = folder / "case.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_reference_is_relative_to_the_file(tmp_path: Path) -> None:
    loaded = load_case(case(tmp_path, '{"case_id": "a", "reference": "ref/a.usda"}'))
    assert loaded.reference == tmp_path / "ref/a.usda"
    assert loaded.case.profile == "studio-v1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "strict JSON"),
        ("[]", "no object"),
        ('{"case_id": "a", "reference": "r", "reference": "other"}', "key twice"),
        ('{"case_id": "a", "reference": "r", "view_seed": NaN}', "strict JSON"),
        ('{"case_id": "a"}', "wrong at reference"),
        ('{"case_id": "../a", "reference": "r"}', "wrong at case_id"),
        ('{"case_id": "a\\n", "reference": "r"}', "wrong at case_id"),
        ('{"case_id": "a", "reference": "r", "view_seed": -1}', "wrong at view_seed"),
        ('{"case_id": "a", "reference": "r", "more": 1}', "wrong at more"),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_case(case(tmp_path, text))
    assert caught.value.code == "case_malformed"
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("text", "valid"), [("a.b-c_1", True), ("a\n", False), (".a", False), ("", False), ("a/b", False)]
)
def test_ids_are_plain_names(text: str, valid: bool) -> None:
    assert valid_id(text) is valid
