"""The wire: what may be said, and how much of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderer.protocol import MAX_HEADER_BYTES, Frame, Job, Refused, encode_header, frame_bytes, parse_header


@given(
    width=st.integers(1, 8192),
    height=st.integers(1, 8192),
    depth=st.sampled_from([8, 16]),
    coverage=st.floats(0, 1),
)
def test_a_frame_survives_the_wire_and_announces_its_size(width: int, height: int, depth: int, coverage: float) -> None:
    frame = Frame(
        view="front",
        pass_name="clay",
        width=width,
        height=height,
        bit_depth=8 if depth == 8 else 16,
        coverage=coverage,
    )
    data = encode_header(frame)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert parse_header(data[4:]) == frame
    assert frame_bytes(frame) == width * height * 3 * depth // 8


@given(st.binary(max_size=300))
def test_any_bytes_are_a_header_or_a_value_error(data: bytes) -> None:
    try:
        header = parse_header(data)
    except ValueError:
        return
    assert parse_header(encode_header(header)[4:]) == header


FRAME = {"kind": "frame", "view": "v", "pass_name": "clay", "width": 4, "height": 4, "bit_depth": 8, "coverage": 0.5}


@pytest.mark.parametrize(
    "change",
    [
        {"width": 0},
        {"width": 8193},
        {"bit_depth": 12},
        {"coverage": 1.01},
        {"coverage": "NaN"},
        {"view": "../x"},
        {"view": ""},
        {"view": "a\nb"},
        {"pass_name": "depth"},
        {"extra": 1},
        {"kind": "exec"},
        {"non_finite": -1},
    ],
)
def test_a_frame_outside_the_rules_is_refused(change: dict[str, object]) -> None:
    parse_header(json.dumps(FRAME).encode())
    with pytest.raises(ValueError):
        parse_header(json.dumps(FRAME | change).encode())


def test_a_header_that_is_too_long_is_refused_on_both_sides() -> None:
    with pytest.raises(ValueError, match="longer than the protocol"):
        parse_header(b" " * (MAX_HEADER_BYTES + 1))


def test_a_refusal_keeps_its_words_within_bounds() -> None:
    with pytest.raises(ValueError):
        Refused(code="x", message="m" * 2001, remedy="", fault="candidate")


@pytest.mark.parametrize("change", [{"root_layer": ""}, {"profile_id": "../etc"}, {"profile_sha256": "AB"}, {"x": 1}])
def test_a_job_outside_the_rules_is_refused(change: dict[str, object]) -> None:
    good = {"role": "candidate", "root_layer": "a.usda", "profile_id": "studio-v1", "profile_sha256": "0" * 64}
    Job.model_validate(good)
    with pytest.raises(ValueError):
        Job.model_validate(good | change)
