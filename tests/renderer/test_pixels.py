"""Half floats to final levels: exact, monotone, the same everywhere."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from renderer.pixels import background_linear, finish, srgb_decode, srgb_encode, table
from renderer.profile import Look

LOOK = Look(exposure_ev=0.0, transform="srgb", background_srgb=(214, 221, 233), clay_srgb=(166, 166, 166))


def test_the_table_of_the_first_profile_never_changes() -> None:
    digest = hashlib.sha256(table(0.0, 8).tobytes() + table(0.0, 16).tobytes()).hexdigest()
    assert digest == "201a279ea76ecfb31cd40ce09f9daf6559d35273332d3bfa6de01c34271d77b0"


@pytest.mark.parametrize(("ev", "depth"), [(0.0, 8), (0.0, 16), (-2.5, 8), (3.0, 16)])
def test_the_table_is_monotone_and_defined_for_every_half(ev: float, depth: int) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    levels = table(ev, depth)
    order = np.argsort(halves[~np.isnan(halves)], kind="stable")
    assert (np.diff(levels[~np.isnan(halves)][order].astype(int)) >= 0).all()
    assert (levels[np.isnan(halves)] == 0).all()
    assert (levels[halves <= 0] == 0).all()
    assert (levels[np.isposinf(halves)] == (1 << depth) - 1).all()


@pytest.mark.parametrize("level", range(256))
def test_every_level_survives_decoding_and_encoding(level: int) -> None:
    assert round(srgb_encode(srgb_decode(level)) * 255) == level


@pytest.mark.parametrize("ev", [0.0, 1.0, -1.0])
def test_the_background_comes_out_as_the_profile_states_it(ev: float) -> None:
    look = LOOK.model_copy(update={"exposure_ev": ev})
    frame = np.zeros((2, 3, 4), np.float16)
    frame[..., :3] = background_linear(look)
    image = finish(frame.view(np.uint16), look, 8)
    assert np.frombuffer(image.data, np.uint8).reshape(2, 3, 3).tolist() == [[[214, 221, 233]] * 3] * 2
    assert image.coverage == 0


def test_rows_are_turned_and_alpha_is_coverage_and_bad_pixels_are_counted() -> None:
    frame = np.zeros((2, 2, 4), np.float16)
    frame[0, :, 0] = 1  # the bottom row is red
    frame[0, :, 3] = 1
    frame[1, 0, 1] = np.nan
    frame[1, 1, 2] = np.inf
    image = finish(frame.view(np.uint16), LOOK, 8)
    pixels = np.frombuffer(image.data, np.uint8).reshape(2, 2, 3)
    assert pixels[1].tolist() == [[255, 0, 0]] * 2
    assert pixels[0].tolist() == [[0, 0, 0], [0, 0, 255]]
    assert (image.coverage, image.non_finite) == (0.5, 2)


def test_sixteen_bits_are_big_endian() -> None:
    frame = np.full((1, 1, 4), 0.5, np.float16)
    image = finish(frame.view(np.uint16), LOOK, 16)
    assert int.from_bytes(image.data[:2], "big") == round(srgb_encode(0.5) * 65535)
