"""Replies: one strict JSON object with each criterion once, a whole level or none, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import ReplyError
from judge.instructions import response_schema
from judge.parsing import MAX_REPLY_BYTES, clean_text, parse_reply, reply_bytes
from judge.rubric import default_rubric
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import IDS, Client, entry, judged, reply, response

GOOD = json.dumps(reply())


def _with(**changes: Any) -> dict[str, Any]:
    """A reply whose second criterion is changed."""
    value = reply()
    value["criteria"][1] |= changes
    return value


def _dropped(key: str) -> dict[str, Any]:
    value = reply()
    del value["criteria"][1][key]
    return value


def _raw(level: str) -> str:
    return GOOD.replace('"level": 3', f'"level": {level}', 1)


NOT_JSON = {
    "prose": "The candidate looks good.",
    "prose-before": f"Here you are: {GOOD}",
    "prose-after": f"{GOOD}\nI hope that helps.",
    "fenced": f"```json\n{GOOD}\n```",
    "twice": GOOD + GOOD,
    "cut-short": GOOD[:-1],
    "nan": _raw("NaN"),
    "infinity": _raw("Infinity"),
    "minus-infinity": _raw("-Infinity"),
    "beyond-a-double": _raw("1e999"),
    "duplicate-key": GOOD.replace('"level": 3', '"level": 0, "level": 4', 1),
    "duplicate-top": GOOD[:-1] + ', "criteria": []}',
    "single-quotes": GOOD.replace('"', "'"),
    "comment": GOOD + " // done",
    "byte-order-mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "no-utf-8": GOOD.encode("utf-16"),
    "bad-byte": GOOD.encode() + b"\xff",
    "half-surrogate": GOOD.replace("About", "\\ud800"),
    "half-surrogate-raw": GOOD.replace("About", "\ud800"),
    "deep": '{"criteria": ' + "[" * 100_000,
    "list": "[]",
    "number": "4",
    "null": "null",
    "text": '"4"',
}
INVALID: dict[str, Any] = {
    "empty-object": {},
    "no-criteria": {"criteria": []},
    "criteria-null": {"criteria": None},
    "criteria-mapping": {"criteria": dict.fromkeys(IDS, 3)},
    "aggregate": reply(score=1.0),
    "verdict": reply(verdict="pass"),
    "one-too-few": {"criteria": reply()["criteria"][:-1]},
    "one-too-many": {"criteria": [*reply()["criteria"], entry("mass", 4)]},
    "one-twice": {"criteria": [*reply()["criteria"], entry("shape", 3)]},
    "one-twice-instead": {"criteria": [*reply()["criteria"][:-1], entry("shape", 3)]},
    "unknown": _with(id="physics"),
    "id-null": _with(id=None),
    "id-list": _with(id=["shape"]),
    "id-case": _with(id="Shape"),
    "entry-text": {"criteria": [*reply()["criteria"][:-1], "artifacts"]},
    "unknown-member": _with(confidence=0.9),
    "value-member": _with(value=0.75),
    "level-missing": _dropped("level"),
    "unassessable-missing": _dropped("unassessable"),
    "observation-missing": _dropped("observation"),
    "above": _with(level=5),
    "below": _with(level=-1),
    "far-above": _with(level=1e15),
    "half": _with(level=2.5),
    "nearly": _with(level=3.0000001),
    "text": _with(level="3"),
    "boolean": _with(level=True),
    "list": _with(level=[3]),
    "share": _with(level=0.75),
    "value-beside-unassessable": _with(level=3, unassessable=True),
    "zero-beside-unassessable": _with(level=0, unassessable=True),
    "neither": _with(level=None, unassessable=False),
    "unassessable-null": _with(unassessable=None),
    "unassessable-text": _with(unassessable="false"),
    "unassessable-number": _with(unassessable=0),
    "observation-null": _with(observation=None),
    "observation-list": _with(observation=["a"]),
}


def _fails(evidence: TrustedRenderEvidence, words: Any, reason: str) -> None:
    client = Client(response(words))
    result = judged(evidence, client)
    assert (result.status, result.reason, result.score, result.criteria) == ("failed", reason, None, ())
    assert len(client.requests) == 1
    assert result.usage is not None and result.usage.total_tokens == 120


@pytest.mark.parametrize("name", NOT_JSON)
def test_a_reply_that_is_not_one_strict_json_object_gives_no_score(evidence: TrustedRenderEvidence, name: str) -> None:
    _fails(evidence, NOT_JSON[name], "reply_not_json")


@pytest.mark.parametrize("name", INVALID)
def test_a_reply_that_breaks_the_rubrics_form_gives_no_score(evidence: TrustedRenderEvidence, name: str) -> None:
    _fails(evidence, INVALID[name], "reply_invalid")


@pytest.mark.parametrize("words", ["", " \n\t", b"", b"  "])
def test_an_empty_reply_gives_no_score(evidence: TrustedRenderEvidence, words: str | bytes) -> None:
    _fails(evidence, words, "reply_empty")


def test_an_oversized_reply_gives_no_score(evidence: TrustedRenderEvidence) -> None:
    _fails(evidence, GOOD + " " * MAX_REPLY_BYTES, "reply_too_big")
    assert judged(evidence, Client(response(GOOD + " " * (MAX_REPLY_BYTES - len(GOOD))))).status == "scored"


@pytest.mark.parametrize(
    "value", [None, 5, reply(), [GOOD], bytearray(GOOD.encode())], ids=lambda one: type(one).__name__
)
def test_a_reply_that_is_neither_text_nor_bytes_gives_no_score(evidence: TrustedRenderEvidence, value: Any) -> None:
    result = judged(evidence, Client(response("{}", reply=value)))
    assert (result.status, result.reason, result.response_sha256) == ("failed", "provider_type", None)


@pytest.mark.parametrize(
    ("written", "level"), [("0", 0), ("4", 4), ("4.0", 4), ("3e0", 3), ("-0", 0), ("-0.0", 0), ("20e-1", 2)]
)
def test_a_whole_number_counts_however_json_writes_it(
    evidence: TrustedRenderEvidence, written: str, level: int
) -> None:
    result = judged(evidence, Client(response(_raw(written))))
    assert result.criteria[0].level == level
    assert isinstance(result.criteria[0].level, int)


def test_space_round_the_object_and_any_order_of_criteria_are_fine(evidence: TrustedRenderEvidence) -> None:
    value = reply({"shape": 1})
    value["criteria"].reverse()
    result = judged(evidence, Client(response(f"\n {json.dumps(value)}\r\n".encode())))
    assert [one.id for one in result.criteria] == list(IDS)
    assert [one.level for one in result.criteria] == [3, 1, 3, 3]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\r\nmore", "two lines and more"),
        ("\x1b[31mred\x07\x00", "[31mred"),
        ("\u202egnirts\u2066 \u200bx\ufeff", "gnirts x"),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("soft\u00adhyphen", "softhyphen"),
        ("\U000e0041tag", "tag"),
        ("\ue000private", "private"),
        ("Größe 寸法", "Größe 寸法"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
        ("x" * 5000, "x" * 1000),
    ],
    ids=ascii,
)
def test_observations_are_bounded_and_free_of_control_characters(
    evidence: TrustedRenderEvidence, text: str, clean: str
) -> None:
    assert clean_text(text) == clean
    assert judged(evidence, Client(response(_with(observation=text)))).criteria[1].observation == clean


@given(st.text(max_size=300))
def test_clean_text_is_printable_and_settled(text: str) -> None:
    clean = clean_text(text, 100)
    assert len(clean) <= 100
    assert all(letter.isprintable() or letter.isspace() for letter in clean)
    assert clean_text(clean, 100) == clean.strip()


@given(
    st.binary(max_size=300)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["criteria", "id", "level", "unassessable", "observation"]), inner)
        ),
        max_leaves=20,
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_raise_nothing_but_a_reply_error(data: bytes) -> None:
    try:
        parse_reply(reply_bytes(data), default_rubric())
    except ReplyError as error:
        assert error.code in {"reply_empty", "reply_not_json", "reply_invalid"}


def test_the_schema_that_a_model_is_given_is_closed_and_asks_for_no_aggregate() -> None:
    schema = response_schema(default_rubric())
    one = schema["properties"]["criteria"]["items"]
    assert schema["additionalProperties"] is one["additionalProperties"] is False
    assert set(schema["properties"]) == {"criteria"}
    assert set(one["required"]) == set(one["properties"]) == {"id", "level", "unassessable", "observation"}
    assert one["properties"]["id"]["enum"] == list(IDS)
    assert (one["properties"]["level"]["minimum"], one["properties"]["level"]["maximum"]) == (0, 4)
    assert schema["properties"]["criteria"]["minItems"] == schema["properties"]["criteria"]["maxItems"] == 4
