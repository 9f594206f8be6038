"""Bytes refused by name before OpenUSD sees them."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderer.errors import AssetError
from renderer.preflight import check_layer_head, declared_texels, preflight, usdz_entries
from renderer.profile import load_profile
from tests.storm import TEST_PROFILES

BUDGET = load_profile(TEST_PROFILES, "tiny-v1").profile.budget


def package(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip archive with every entry's data aligned to 64 bytes, as a usdz has it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            gap = -(buffer.tell() + 30 + len(name.encode()) + 4) % 64
            info.extra = struct.pack("<HH", 0x1986, gap) + bytes(gap)
            archive.writestr(info, data)
    return buffer.getvalue()


GOOD = package({"a.usda": b"#usda 1.0\n", "t.png": b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 8, 4)})


@pytest.mark.parametrize(
    ("name", "head", "code"),
    [
        ("a.usda", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "lfs_pointer"),
        ("a.usdz", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "lfs_pointer"),
        ("a.usd", b"hello, this is a text file", "not_usd"),
        ("a.usda", b"PXR-USDC\0\0", "not_usd"),
        ("a.usdz", b"#usda 1.0", "not_usd"),
        ("a.usda", b"", "not_usd"),
        ("a.obj", b"v 0 0 0", "not_usd"),
        ("a", b"#usda 1.0", "not_usd"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(name: str, head: bytes, code: str) -> None:
    with pytest.raises(AssetError) as caught:
        check_layer_head(name, head)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("name", "head"),
    [("a.usda", b"#usda 1.0"), ("A.USD", b"PXR-USDC"), ("a.usd", b"#usda 1.0"), ("a.usdz", b"PK\x03\x04")],
)
def test_a_file_that_is_what_its_name_says_passes(name: str, head: bytes) -> None:
    check_layer_head(name, head)


def test_a_sound_package_yields_the_head_of_every_entry() -> None:
    heads = list(usdz_entries(io.BytesIO(GOOD), "a.usdz"))
    assert [head[:5] for head in heads] == [b"#usda", b"\x89PNG\r"]
    assert sum(map(declared_texels, heads)) == 32


def _entry_name(old: bytes, new: bytes) -> bytes:
    return GOOD.replace(old, new)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (GOOD[: len(GOOD) // 2], "truncated"),
        (package({"a.usda": b"#usda 1.0\n" * 50}, zipfile.ZIP_DEFLATED), "compressed"),
        (_entry_name(b"a.usda", b"../ a."), "leaves"),
        (_entry_name(b"t.png", b"/root"), "leaves"),
        (GOOD.replace(b"a.usda", b"b.usda", 1), "disagree"),
        (b"xx" + GOOD, "damaged"),
        (GOOD[:-22] + b"PK\x05\x06" + bytes(18), "outside|no central"),
        (package({"a.usda": b"1"})[:0] + b"PK\x03\x04" + bytes(40), "truncated"),
    ],
)
def test_a_package_with_a_trick_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(AssetError, match=why) as caught:
        list(usdz_entries(io.BytesIO(data), "a.usdz"))
    assert caught.value.code == "usdz_malformed"


def test_an_entry_that_is_there_twice_is_refused() -> None:
    with pytest.warns(UserWarning):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("a.usda", b"1")
            archive.writestr("a.usda", b"2")
    with pytest.raises(AssetError, match="twice"):
        list(usdz_entries(io.BytesIO(buffer.getvalue()), "a.usdz"))


@settings(max_examples=300)
@given(at=st.integers(0, len(GOOD) - 1), value=st.integers(0, 255))
def test_any_changed_byte_of_a_package_is_a_package_or_a_named_refusal(at: int, value: int) -> None:
    data = bytearray(GOOD)
    data[at] = value
    try:
        heads = list(usdz_entries(io.BytesIO(bytes(data)), "a.usdz"))
    except AssetError as error:
        assert error.code == "usdz_malformed"
    else:
        assert len(heads) == 2


@given(st.binary(max_size=200))
def test_declared_texels_takes_any_bytes(data: bytes) -> None:
    assert declared_texels(b"\xff\xd8" + data) >= 0
    assert declared_texels(b"\x89PNG\r\n\x1a\n" + data) >= 0


def test_textures_over_the_budget_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.usda").write_bytes(b"#usda 1.0\n")
    (tmp_path / "t.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8) + struct.pack(">II", 16384, 16384) + bytes(9))
    with pytest.raises(AssetError) as caught:
        preflight(tmp_path, "a.usda", BUDGET)
    assert caught.value.code == "too_many_texels"
