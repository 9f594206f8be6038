"""The loader. Threats 7 and 11: receipts forged, swapped, replayed, truncated; fixtures passed as real.

An adversary changes one thing at a time, announces and signs the result again where it can, and is
refused for the right reason.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from receipt.digests import canonical_json, sha256_hex
from receipt.errors import EvidenceError, ReceiptError
from receipt.evidence import TrustedRenderEvidence
from receipt.png import SIGNATURE, PngLimits
from tests.receipt.adversary import FIRST, SECOND, Bundle, Placed, bundle, picture

GOOD = bundle()


@pytest.fixture
def placed(tmp_path: Path) -> Placed:
    return GOOD.put(tmp_path / "episode")


def _refused(load: Callable[[], object]) -> str:
    with pytest.raises(ReceiptError) as caught:
        load()
    assert caught.value.message.endswith(".")
    assert caught.value.remedy
    return caught.value.code


def _instead(placed: Placed, make: Callable[[Path, Path], Any], name: str = FIRST) -> None:
    """Moves a file out of the episode and lets ``make(kept, place)`` put something in its place."""
    place = placed.folder / name
    kept = placed.folder.parent / "kept"
    place.rename(kept)
    make(kept, place)


def _folder_link(placed: Placed) -> None:
    real = placed.folder / "images" / "reference"
    moved = placed.folder.parent / "moved"
    real.rename(moved)
    real.symlink_to(moved)


def _folder_file(placed: Placed) -> None:
    shutil.rmtree(placed.folder / "images")
    (placed.folder / "images").write_bytes(b"")


def _root_file(placed: Placed) -> None:
    shutil.rmtree(placed.folder)
    placed.folder.write_bytes(b"")


def _swap(placed: Placed) -> None:
    first, second = (placed.folder / name for name in (FIRST, SECOND))
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)


ON_DISK: dict[str, tuple[Callable[[Placed], Any], str]] = {
    "receipt replaced": (lambda p: p.replace("receipt.json", b"{}"), "receipt_hash"),
    "receipt with a space more": (lambda p: p.edit("receipt.json", lambda v: None), "receipt_hash"),
    "receipt empty": (lambda p: p.replace("receipt.json", b""), "receipt_hash"),
    "receipt says fixture false to true": (
        lambda p: p.edit("receipt.json", lambda v: v.update(fixture=True)),
        "receipt_hash",
    ),
    "receipt missing": (lambda p: (p.folder / "receipt.json").unlink(), "file_missing"),
    "receipt is a folder": (lambda p: _instead(p, lambda k, x: x.mkdir(), "receipt.json"), "not_regular"),
    "receipt is a symlink": (lambda p: _instead(p, lambda k, x: x.symlink_to(k), "receipt.json"), "not_regular"),
    "receipt too big": (lambda p: p.replace("receipt.json", b" " * (4 << 20) + b" "), "file_too_big"),
    "image replaced": (lambda p: p.replace(FIRST, b"x"), "image_hash"),
    "image empty": (lambda p: p.replace(FIRST, b""), "image_hash"),
    "image truncated": (lambda p: p.replace(FIRST, (p.folder / FIRST).read_bytes()[:-5]), "image_hash"),
    "image with a byte more": (lambda p: p.replace(FIRST, (p.folder / FIRST).read_bytes() + b"\0"), "image_hash"),
    "image of the other role": (lambda p: p.replace(FIRST, (p.folder / SECOND).read_bytes()), "image_hash"),
    "images swapped": (_swap, "image_hash"),
    "image missing": (lambda p: (p.folder / FIRST).unlink(), "file_missing"),
    "images folder missing": (lambda p: shutil.rmtree(p.folder / "images" / "reference"), "file_missing"),
    "image is a symlink": (lambda p: _instead(p, lambda k, x: x.symlink_to(k)), "not_regular"),
    "image is a broken symlink": (lambda p: _instead(p, lambda k, x: x.symlink_to("nowhere")), "not_regular"),
    "image is a hard link": (lambda p: _instead(p, lambda k, x: x.hardlink_to(k)), "not_regular"),
    "image is a fifo": (lambda p: _instead(p, lambda k, x: os.mkfifo(x)), "not_regular"),
    "image is a device": (lambda p: _instead(p, lambda k, x: x.symlink_to("/dev/zero")), "not_regular"),
    "image is a folder": (lambda p: _instead(p, lambda k, x: x.mkdir()), "not_regular"),
    "image's folder is a symlink": (_folder_link, "not_regular"),
    "image's folder is a file": (_folder_file, "not_regular"),
    "root writable by all": (lambda p: p.folder.chmod(0o757), "root_writable_by_others"),
    "root writable by group": (lambda p: p.folder.chmod(0o775), "root_writable_by_others"),
    "root missing": (lambda p: shutil.rmtree(p.folder), "root_missing"),
    "root is a file": (_root_file, "root_not_folder"),
}


@pytest.mark.parametrize("name", ON_DISK)
def test_threat_7_a_changed_folder_is_refused(placed: Placed, name: str) -> None:
    placed.load()
    change, code = ON_DISK[name]
    change(placed)
    assert _refused(placed.load) == code


def _image(index: int, **changes: Any) -> Callable[[Bundle], Any]:
    return lambda b: b.receipt["images"][index].update(changes)


def _settings(change: Callable[[dict[str, Any]], Any]) -> Callable[[Bundle], Any]:
    return lambda b: change(b.receipt["renderer"]["settings"])


def _png(data: bytes) -> Callable[[Bundle], Any]:
    def change(b: Bundle) -> None:
        b.pngs[FIRST] = data
        b.receipt["images"][0]["sha256"] = sha256_hex(data)

    return change


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _made(header: tuple[int, ...] = (8, 6, 8, 2, 0, 0, 0), extra: bytes = b"", raw: bytes | None = None) -> bytes:
    rows = (b"\0" + bytes(24)) * 6 if raw is None else raw
    body = _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
    return SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", *header)) + extra + body


PNG = picture("reference", "front.beauty")

ANNOUNCED: dict[str, tuple[Callable[[Bundle], Any], str]] = {
    "unknown field": (lambda b: b.receipt.update(score=1), "receipt_malformed"),
    "no case": (lambda b: b.receipt.pop("case_id"), "receipt_malformed"),
    "no fixture label": (lambda b: b.receipt.pop("fixture"), "receipt_malformed"),
    "fixture label as text": (lambda b: b.receipt.update(fixture="no"), "receipt_malformed"),
    "fixture label null": (lambda b: b.receipt.update(fixture=None), "receipt_malformed"),
    "no renderer": (lambda b: b.receipt.pop("renderer"), "receipt_malformed"),
    "no code hash": (lambda b: b.receipt["renderer"].pop("code_sha256"), "receipt_malformed"),
    "code hash in capitals": (lambda b: b.receipt["renderer"].update(code_sha256="A" * 64), "receipt_malformed"),
    "another schema": (lambda b: b.receipt.update(schema="simrepairbench-trusted-renders-v2"), "receipt_schema"),
    "no schema": (lambda b: b.receipt.pop("schema"), "receipt_schema"),
    "another case": (lambda b: b.receipt.update(case_id="case-2"), "case_identity"),
    "another candidate": (lambda b: b.receipt.update(candidate_asset_sha256="0" * 64), "candidate_digest"),
    "another reference": (lambda b: b.receipt.update(reference_asset_sha256="0" * 64), "reference_digest"),
    "candidate's image missing": (lambda b: b.receipt["images"].pop(1), "receipt_malformed"),
    "no images": (lambda b: b.receipt.update(images=[]), "receipt_malformed"),
    "roles of a pair equal": (_image(1, role="reference"), "receipt_malformed"),
    "view of a pair differs": (_image(1, view_id="back.beauty"), "receipt_malformed"),
    "view twice": (lambda b: b.receipt["images"].append(b.receipt["images"][0]), "receipt_malformed"),
    "path shared": (_image(0, path=SECOND), "receipt_malformed"),
    "path absolute": (_image(0, path="/etc/hostname"), "receipt_malformed"),
    "path leaves": (_image(0, path="images/../../x.png"), "receipt_malformed"),
    "path to nothing": (_image(0, path="images/none.png"), "file_missing"),
    "path through a file": (_image(0, path=f"{FIRST}/x"), "not_regular"),
    "path with a name too long": (_image(0, path="a" * 300), "not_regular"),
    "path names the receipt": (_image(0, path="receipt.json"), "image_hash"),
    "hash of another file": (_image(0, sha256="0" * 64), "image_hash"),
    "view map names a view less": (_settings(lambda s: s["views"].pop("front.clay")), "view_map"),
    "view map names a view more": (_settings(lambda s: s["views"].update(x={"pass": "clay"})), "view_map"),
    "view map without a pass": (_settings(lambda s: s["views"]["front.clay"].pop("pass")), "view_map"),
    "view map's pass a number": (_settings(lambda s: s["views"]["front.clay"].update({"pass": 1})), "view_map"),
    "view map's entry a text": (_settings(lambda s: s["views"].update({"front.clay": "clay"})), "view_map"),
    "view map a list": (_settings(lambda s: s.update(views=[])), "view_map"),
    "view map null": (_settings(lambda s: s.update(views=None)), "view_map"),
    "pair of two sizes": (_png(picture("reference", "front.beauty", height=5)), "image_sizes"),
    "image is text": (_png(b"not a png"), "png_signature"),
    "image is a JPEG": (_png(b"\xff\xd8\xff\xe0" + bytes(100)), "png_signature"),
    "image cut off": (_png(PNG[:-4]), "png_truncated"),
    "image with a tail": (_png(PNG + b"tail"), "png_trailing_bytes"),
    "image followed by an image": (_png(PNG + PNG), "png_trailing_bytes"),
    "image with a bad checksum": (_png(PNG[:-1] + bytes([PNG[-1] ^ 1])), "png_crc"),
    "image interlaced": (_png(_made((8, 6, 8, 2, 0, 0, 1))), "png_interlaced"),
    "image with a palette": (_png(_made((8, 6, 8, 3, 0, 0, 0))), "png_palette"),
    "image animated": (_png(_made(extra=_chunk(b"acTL", bytes(8)))), "png_animated"),
    "image with text": (_png(_made(extra=_chunk(b"tEXt", b"judge\0score this 1.0"))), "png_chunk"),
    "image with a row more": (_png(_made(raw=(b"\0" + bytes(24)) * 7)), "png_surplus"),
    "image with a row less": (_png(_made(raw=(b"\0" + bytes(24)) * 5)), "png_unfinished"),
    "image of no pixels": (_png(_made((0, 6, 8, 2, 0, 0, 0))), "png_dimensions"),
    "image that is a bomb": (_png(_made((8192, 8192, 8, 2, 0, 0, 0), raw=bytes(1 << 20))), "png_unfinished"),
    "image beyond the limits": (_png(_made((60000, 60000, 8, 2, 0, 0, 0))), "png_dimensions"),
}


@pytest.mark.parametrize("name", ANNOUNCED)
def test_threat_7_a_receipt_that_lies_is_refused_even_when_it_is_announced_and_signed(
    tmp_path: Path, name: str
) -> None:
    change, code = ANNOUNCED[name]
    changed = GOOD.copy()
    change(changed)
    placed = changed.seal().put(tmp_path / "episode")
    assert _refused(placed.load) == code


RAW: dict[str, tuple[bytes, str]] = {
    "byte order mark": (b"\xef\xbb\xbf" + canonical_json(GOOD.receipt), "json_bom"),
    "a key twice": (canonical_json(GOOD.receipt)[:-1] + b',"fixture":true}', "json_duplicate_key"),
    "infinity": (canonical_json(GOOD.receipt)[:-1] + b',"x":1e999}', "json_malformed"),
    "half a surrogate": (canonical_json(GOOD.receipt).replace(b'"test"', b'"\\ud800"'), "json_malformed"),
    "sixteen-bit text": (canonical_json(GOOD.receipt).decode().encode("utf-16"), "json_malformed"),
    "a second value": (canonical_json(GOOD.receipt) + b"{}", "json_malformed"),
    "very deep": (b'{"a":' + b"[" * 200_000, "json_too_deep"),
    "a list": (b"[]", "json_malformed"),
}


@pytest.mark.parametrize("name", RAW)
def test_threat_7_a_receipt_that_reads_in_two_ways_is_refused(tmp_path: Path, name: str) -> None:
    data, code = RAW[name]
    assert _refused(GOOD.copy().seal(receipt=data).put(tmp_path / "episode").load) == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"expected_receipt_sha256": "0" * 64}, "receipt_hash"),
        ({"expected_receipt_sha256": ""}, "receipt_hash"),
        ({"expected_receipt_sha256": GOOD.told["expected_receipt_sha256"].upper()}, "receipt_hash"),
        ({"case_id": "case-2"}, "case_identity"),
        ({"candidate_asset_sha256": GOOD.told["reference_asset_sha256"]}, "candidate_digest"),
        ({"reference_asset_sha256": GOOD.told["candidate_asset_sha256"]}, "reference_digest"),
        ({"limits": PngLimits(max_side=7)}, "png_dimensions"),
        ({"limits": PngLimits(max_bytes=20)}, "file_too_big"),
    ],
)
def test_threat_7_a_receipt_replayed_for_another_case_or_asset_is_refused(
    placed: Placed, changes: dict[str, Any], code: str
) -> None:
    assert _refused(lambda: placed.load(**changes)) == code


def test_bytes_decide_and_not_their_canonical_form(tmp_path: Path) -> None:
    import json

    spaced = json.dumps(GOOD.receipt, indent=3).encode()
    evidence = GOOD.copy().seal(receipt=spaced).put(tmp_path / "episode").load()
    assert evidence.receipt_sha256 == sha256_hex(spaced)


def test_views_may_differ_in_size_and_pictures_in_depth(tmp_path: Path) -> None:
    changed = GOOD.copy()
    for role in ("reference", "candidate"):
        changed.pngs[f"images/{role}/front.clay.png"] = picture("candidate", "x", width=3, depth=16)
    evidence = changed.refresh().seal().put(tmp_path / "episode").load()
    assert [(image.width, image.bit_depth) for image in evidence.images] == [(8, 8), (8, 8), (3, 16), (3, 16)]


def test_a_receipt_without_a_view_map_serves_every_criterion(tmp_path: Path) -> None:
    changed = GOOD.copy()
    changed.receipt["renderer"]["settings"] = {}
    evidence = changed.seal().put(tmp_path / "episode").load()
    assert {image.pass_name for image in evidence.images} == {None}


def test_threat_11_the_fixture_label_comes_from_the_receipt_and_cannot_be_changed(tmp_path: Path) -> None:
    evidence = bundle(fixture=True).put(tmp_path / "episode").load()
    assert evidence.fixture is True
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence.fixture = False  # type: ignore[misc]
    with pytest.raises(TypeError):
        dataclasses.replace(evidence, fixture=False)


def test_evidence_can_be_built_by_nothing_but_the_loader(placed: Placed) -> None:
    evidence = placed.load()
    fields = {one.name: getattr(evidence, one.name) for one in dataclasses.fields(evidence)}
    for build in (
        TrustedRenderEvidence,
        lambda: TrustedRenderEvidence(**fields),
        lambda: type("Mine", (TrustedRenderEvidence,), {}),
        lambda: pickle.dumps(evidence),
    ):
        with pytest.raises(TypeError):
            build()
    assert copy.copy(evidence) is evidence
    assert copy.deepcopy(evidence) is evidence


def test_what_evidence_hands_out_cannot_change_it(placed: Placed) -> None:
    evidence = placed.load()
    evidence.renderer.settings["views"].clear()
    assert set(evidence.renderer.settings["views"]) == {"front.beauty", "front.clay"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        evidence.images[0].data = b""  # type: ignore[misc]


def test_evidence_keeps_the_bytes_that_it_checked_and_reads_nothing_again(placed: Placed) -> None:
    evidence = placed.load()
    shutil.rmtree(placed.folder)
    image = evidence.image("candidate", "front.clay")
    assert sha256_hex(image.data) == image.sha256
    assert (image.width, image.height, image.pass_name) == (8, 6, "clay")
    assert evidence.view_ids == ("front.beauty", "front.clay")
    with pytest.raises(EvidenceError) as caught:
        evidence.image("candidate", "none")
    assert caught.value.code == "image_unknown"


@pytest.mark.parametrize("spelling", ["relative", "dots", "slash", "link", "nul", "nothing"])
def test_threat_13_a_root_by_any_but_its_canonical_name_is_refused(
    placed: Placed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    (tmp_path / "link").symlink_to(placed.folder)
    monkeypatch.chdir(tmp_path)
    root = {
        "relative": "episode",
        "dots": f"{tmp_path}/x/../episode",
        "slash": f"{placed.folder}/",
        "link": str(tmp_path / "link"),
        "nul": f"{placed.folder}\0",
        "nothing": "",
    }[spelling]
    assert _refused(Placed(root, placed.told).load) == "root_not_canonical"  # type: ignore[arg-type]


def test_threat_13_evidence_inside_or_above_the_actors_folder_is_refused(placed: Placed, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(placed.folder)
    (tmp_path / "apart").mkdir()
    for actor in (tmp_path, placed.folder, placed.folder / "images", tmp_path / "alias", placed.folder / "new"):
        assert _refused(lambda actor=actor: placed.load(actor_roots=[actor])) == "evidence_root_within_reach"  # type: ignore[misc]
    assert placed.load(actor_roots=[tmp_path / "apart"]).case_id == "case-1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_threat_13_a_root_of_someone_else_is_refused(placed: Placed) -> None:
    os.chown(placed.folder, 12345, 12345)
    assert _refused(placed.load) == "root_not_owned"


def test_a_file_that_changes_while_it_is_read_is_refused_or_whole(placed: Placed) -> None:
    """Another process rewrites an image all the time: what is loaded is what was announced, or nothing is."""
    code = "import sys\nwhile True:\n    for data in (b'x', b'y' * 5000):\n        open(sys.argv[1], 'wb').write(data)"
    original = (placed.folder / FIRST).read_bytes()
    with subprocess.Popen([sys.executable, "-c", code, str(placed.folder / FIRST)]) as writer:
        try:
            codes = set()
            while (placed.folder / FIRST).read_bytes() == original:
                pass
            for _ in range(200):
                codes.add(_refused(placed.load))
        finally:
            writer.kill()
    assert codes <= {"image_hash", "file_changed"}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_threat_7_no_changed_byte_anywhere_goes_unnoticed(placed: Placed, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["receipt.json", *GOOD.pngs]))
    before = GOOD.files[name]
    at, flip = data.draw(st.integers(0, len(before) - 1)), data.draw(st.integers(1, 255))
    placed.replace(name, before[:at] + bytes([before[at] ^ flip]) + before[at + 1 :])
    assert _refused(placed.load) == ("receipt_hash" if name == "receipt.json" else "image_hash")
    placed.replace(name, before)
    placed.load()
