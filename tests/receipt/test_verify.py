"""Verification names the question that failed, and only that one, wherever one thing was changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from receipt.digests import sha256_hex
from receipt.errors import ReceiptError
from receipt.verify import QUESTIONS, verify_episode
from tests.receipt.adversary import FIRST, SECOND, SIGNER, STRANGER, Bundle, Placed, bundle, picture

GOOD = bundle()


@pytest.fixture
def placed(tmp_path: Path) -> Placed:
    return GOOD.put(tmp_path / "episode")


def _envelope(change: Callable[[dict[str, Any]], Any]) -> Callable[[Placed], None]:
    return lambda placed: placed.edit("attestation.dsse.json", change)


def _signature(**changes: Any) -> Callable[[Placed], None]:
    return _envelope(lambda v: v["signatures"][0].update(changes))


def _instead(placed: Placed, make: Callable[[Path], Any]) -> None:
    (placed.folder / FIRST).unlink()
    make(placed.folder / FIRST)


def _beside(placed: Placed) -> None:
    for name in ("verdict.json", "report.html", "objective.json", "fixture-key.pub"):
        _spare(placed, name)


def _spare(placed: Placed, name: str) -> None:
    (placed.folder / name).parent.mkdir(exist_ok=True)
    (placed.folder / name).write_text("x")


ON_DISK: dict[str, tuple[Callable[[Placed], Any], dict[str, str]]] = {
    "signature gone": (_envelope(lambda v: v.update(signatures=[])), {"authenticity": "signature_invalid"}),
    "signature garbled": (_signature(sig="AAAA"), {"authenticity": "signature_invalid"}),
    "signature empty": (_signature(sig=""), {"authenticity": "signature_invalid"}),
    "signature under another id": (_signature(keyid="0" * 64), {"authenticity": "signature_invalid"}),
    "signature with a field more": (_signature(note="x"), {}),
    "image changed": (lambda p: p.replace(FIRST, b"x"), {"integrity": "subject_changed"}),
    "image truncated": (
        lambda p: p.replace(FIRST, (p.folder / FIRST).read_bytes()[:-1]),
        {"integrity": "subject_changed"},
    ),
    "image replaced by the other role's": (
        lambda p: p.replace(FIRST, (p.folder / SECOND).read_bytes()),
        {"integrity": "subject_changed"},
    ),
    "image is a link": (
        lambda p: _instead(p, lambda place: place.symlink_to(p.folder / SECOND)),
        {"integrity": "not_regular"},
    ),
    "image is a fifo": (
        lambda p: _instead(p, os.mkfifo),
        {"integrity": "not_regular"},
    ),
    "receipt spaced": (lambda p: p.edit("receipt.json", lambda v: None), {"integrity": "subject_changed"}),
    "receipt of another case": (
        lambda p: p.edit("receipt.json", lambda v: v.update(case_id="case-2")),
        {"integrity": "subject_changed", "identity": "identity_differs"},
    ),
    "receipt no longer a fixture": (
        lambda p: p.edit("receipt.json", lambda v: v.update(fixture=True)),
        {"integrity": "subject_changed", "identity": "identity_differs"},
    ),
    "diagnostics spaced": (lambda p: p.edit("diagnostics.json", lambda v: None), {"integrity": "subject_changed"}),
    "diagnostics of another asset": (
        lambda p: p.edit("diagnostics.json", lambda v: v["candidate"].update(asset_sha256="0" * 64)),
        {"integrity": "subject_changed", "identity": "identity_differs"},
    ),
    "image missing": (lambda p: (p.folder / FIRST).unlink(), {"completeness": "file_missing"}),
    "file added": (lambda p: _spare(p, "extra.txt"), {"completeness": "surplus_file"}),
    "image added": (lambda p: _spare(p, "images/reference/x.png"), {"completeness": "surplus_file"}),
    "hidden file added": (lambda p: _spare(p, ".hidden"), {"completeness": "surplus_file"}),
    "verdict in a wrong folder": (lambda p: _spare(p, "images/verdict.json"), {"completeness": "surplus_file"}),
    "empty folder added": (lambda p: (p.folder / "more").mkdir(), {"completeness": "surplus_file"}),
    "link to a folder added": (lambda p: (p.folder / "more").symlink_to("/"), {"completeness": "surplus_file"}),
    "folders too deep": (
        lambda p: (p.folder / "/".join("d" * 40)).mkdir(parents=True),
        {"completeness": "tree_too_big"},
    ),
    "verdict and report beside it": (
        _beside,
        {},
    ),
}


@pytest.mark.parametrize("name", ON_DISK)
def test_threat_7_verification_says_which_question_a_change_on_disk_fails(placed: Placed, name: str) -> None:
    assert placed.failures() == {}
    change, expected = ON_DISK[name]
    change(placed)
    assert placed.failures() == expected


BROKEN: dict[str, tuple[Callable[[Placed], Any], str]] = {
    "envelope missing": (lambda p: (p.folder / "attestation.dsse.json").unlink(), "file_missing"),
    "envelope no JSON": (lambda p: p.replace("attestation.dsse.json", b"{"), "json_malformed"),
    "envelope a list": (lambda p: p.replace("attestation.dsse.json", b"[]"), "json_malformed"),
    "envelope empty": (lambda p: p.replace("attestation.dsse.json", b"{}"), "envelope_malformed"),
    "signatures a number": (_envelope(lambda v: v.update(signatures=1)), "envelope_malformed"),
    "signatures of texts": (_envelope(lambda v: v.update(signatures=["x"])), "envelope_malformed"),
    "signature without an id": (_envelope(lambda v: v["signatures"][0].pop("keyid")), "envelope_malformed"),
    "signature's id a list": (_signature(keyid=[]), "envelope_malformed"),
    "signature no base64": (_signature(sig="é"), "envelope_malformed"),
    "signature a number": (_signature(sig=5), "envelope_malformed"),
    "one id twice": (_envelope(lambda v: v.update(signatures=v["signatures"] * 2)), "envelope_malformed"),
    "payload missing": (_envelope(lambda v: v.pop("payload")), "envelope_malformed"),
    "payload null": (_envelope(lambda v: v.update(payload=None)), "envelope_malformed"),
    "payload type of another": (_envelope(lambda v: v.update(payloadType="text/plain")), "payload_type"),
    "payload type a number": (_envelope(lambda v: v.update(payloadType=1)), "payload_type"),
    "payload cut": (_envelope(lambda v: v.update(payload=v["payload"][:40])), "signature_invalid"),
    "payload of nothing": (_envelope(lambda v: v.update(payload="")), "signature_invalid"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_threat_7_a_broken_envelope_is_not_authentic_and_leaks_no_foreign_error(placed: Placed, name: str) -> None:
    change, code = BROKEN[name]
    change(placed)
    report = placed.verify()
    assert not report.holds
    assert (report.answers[0].question, report.answers[0].code) == ("authenticity", code)
    assert (report.case_id, report.episode_id, report.fixture, report.key_ids) == ("", "", None, ())


def _predicate(**changes: Any) -> Callable[[Bundle], Any]:
    return lambda b: b.predicate.update(changes)


def _size(b: Bundle) -> None:
    b.pngs[FIRST] = picture("reference", "front.beauty", height=5)
    b.refresh()


def _tail(b: Bundle) -> None:
    b.pngs[FIRST] += b"tail"
    b.receipt["images"][0]["sha256"] = sha256_hex(b.pngs[FIRST])


SIGNED: dict[str, tuple[Callable[[Bundle], Any], dict[str, str]]] = {
    "case in the statement": (_predicate(case_id="case-2"), {"identity": "identity_differs"}),
    "threat 11: fixture as real in the statement": (
        _predicate(fixture=True, mode="fixture"),
        {"identity": "identity_differs"},
    ),
    "threat 11: mode against label": (_predicate(mode="fixture"), {"identity": "identity_differs"}),
    "asset in the diagnostics": (
        lambda b: b.diagnostics["reference"].update(asset_sha256="0" * 64),
        {"identity": "identity_differs"},
    ),
    "assets exchanged in the receipt": (
        lambda b: b.receipt.update(
            candidate_asset_sha256=b.receipt["reference_asset_sha256"],
            reference_asset_sha256=b.receipt["candidate_asset_sha256"],
        ),
        {"identity": "identity_differs"},
    ),
    "image's hash in the receipt": (
        lambda b: b.receipt["images"][0].update(sha256="0" * 64),
        {"integrity": "image_hash"},
    ),
    "image not strict": (_tail, {"integrity": "png_trailing_bytes"}),
    "pixels in the diagnostics": (
        lambda b: b.diagnostics["reference"]["pixel_sha256"].update({"front.clay": "0" * 64}),
        {"integrity": "pixels_differ"},
    ),
    "pixels not recorded": (
        lambda b: b.diagnostics["reference"]["pixel_sha256"].clear(),
        {"integrity": "pixels_differ"},
    ),
    "pair of two sizes": (_size, {"completeness": "image_sizes"}),
    "view map": (
        lambda b: b.receipt["renderer"]["settings"]["views"].pop("front.clay"),
        {"completeness": "view_map"},
    ),
    "receipt malformed": (
        lambda b: b.receipt.update(score=1),
        dict.fromkeys(("integrity", "completeness", "identity"), "receipt_malformed"),
    ),
    "diagnostics malformed": (
        lambda b: b.diagnostics.pop("candidate"),
        dict.fromkeys(("integrity", "identity"), "diagnostics_malformed"),
    ),
    "diagnostics of another schema": (
        lambda b: b.diagnostics.pop("schema"),
        dict.fromkeys(("integrity", "identity"), "diagnostics_schema"),
    ),
    "pair left out of the receipt": (
        lambda b: b.receipt.update(images=b.receipt["images"][2:]),
        {"completeness": "subjects_differ"},
    ),
}


@pytest.mark.parametrize("name", SIGNED)
def test_threat_7_verification_says_which_question_a_signed_lie_fails(tmp_path: Path, name: str) -> None:
    change, expected = SIGNED[name]
    changed = GOOD.copy()
    change(changed)
    assert changed.seal().put(tmp_path / "episode").failures() == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda named: named.pop("diagnostics.json"), {"completeness": "subjects_differ"}),
        (lambda named: named.pop("receipt.json"), {"completeness": "subjects_differ"}),
        (lambda named: named.pop(FIRST), {"completeness": "subjects_differ"}),
        (lambda named: named.update(more="0" * 64), {"completeness": "subjects_differ"}),
        (lambda named: named.update({"../up": "0" * 64}), {"completeness": "subjects_differ"}),
        (lambda named: named.update({FIRST: "0" * 64}), {"integrity": "subject_changed"}),
        (lambda named: named.update({"diagnostics.json": "0" * 64}), {"integrity": "subject_changed"}),
    ],
)
def test_threat_7_a_statement_about_other_files_is_refused(
    tmp_path: Path, change: Callable[[dict[str, str]], Any], expected: dict[str, str]
) -> None:
    assert GOOD.copy().seal(subjects=change).put(tmp_path / "episode").failures() == expected


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_predicate(mode="real"), "statement_malformed"),
        (_predicate(episode_id="../x"), "statement_malformed"),
        (_predicate(started="yesterday"), "statement_malformed"),
        (_predicate(fixture="no"), "statement_malformed"),
        (_predicate(note=1), "statement_malformed"),
        (lambda b: b.predicate.pop("isolation"), "statement_malformed"),
    ],
)
def test_a_signed_statement_that_is_malformed_is_refused(
    tmp_path: Path, change: Callable[[Bundle], Any], code: str
) -> None:
    changed = GOOD.copy()
    change(changed)
    assert changed.seal().put(tmp_path / "episode").failures()["authenticity"] == code


def test_threat_7_signed_again_with_another_key_fails_authenticity_alone(tmp_path: Path) -> None:
    changed = GOOD.copy()
    changed.signers = [STRANGER]
    placed = changed.seal().put(tmp_path / "episode")
    assert placed.failures() == {"authenticity": "signature_invalid"}
    assert placed.verify(STRANGER.public_key).holds


def test_threat_7_an_episode_put_in_anothers_place_is_refused(placed: Placed) -> None:
    assert placed.failures(case_id="case-1", episode_id="ep-1") == {}
    assert placed.failures(case_id="case-2") == {"identity": "case_identity"}
    assert placed.failures(episode_id="ep-2") == {"identity": "episode_identity"}


def test_threat_7_another_episodes_statement_over_these_files_is_refused(placed: Placed) -> None:
    other = GOOD.copy()
    other.pngs[FIRST] = picture("candidate", "other")
    placed.replace("attestation.dsse.json", other.refresh().seal().files["attestation.dsse.json"])
    assert placed.failures() == {"integrity": "subject_changed"}


def test_several_signatures_and_a_threshold(tmp_path: Path) -> None:
    changed = GOOD.copy()
    changed.signers = [SIGNER, STRANGER]
    placed = changed.seal().put(tmp_path / "episode")
    one, other = SIGNER.public_key, STRANGER.public_key
    report = placed.verify(one, other, threshold=2)
    assert report.holds
    assert report.key_ids == tuple(sorted((one.keyid, other.keyid)))
    assert GOOD.put(tmp_path / "single").verify(one, other, threshold=1).holds
    for keys, threshold, code in (
        ([one, one], 2, "no_key"),
        ([], 1, "no_key"),
        ([one], 0, "no_key"),
        ([one], -1, "no_key"),
    ):
        answer = verify_episode(placed.folder, keys, threshold).answers[0]
        assert (answer.holds, answer.code) == (False, code)
    answer = verify_episode(tmp_path / "single", [one, other], 2).answers[0]
    assert (answer.holds, answer.code) == (False, "signature_invalid")


def test_one_key_under_two_ids_counts_once(tmp_path: Path) -> None:
    from securesystemslib.signer import SSlibKey

    one = SIGNER.public_key
    alias = SSlibKey("alias", one.keytype, one.scheme, one.keyval)
    answer = GOOD.put(tmp_path / "episode").verify(one, alias, threshold=2).answers[0]
    assert (answer.holds, answer.code) == (False, "no_key")


def test_an_auditor_need_not_own_what_is_verified(placed: Placed) -> None:
    placed.folder.chmod(0o777)
    report = placed.verify()
    assert report.holds
    assert (report.case_id, report.episode_id, report.fixture) == ("case-1", "ep-1", False)
    assert report.receipt_sha256 == placed.told["expected_receipt_sha256"]
    assert tuple(answer.question for answer in report.answers) == QUESTIONS


def test_where_there_is_no_folder_there_is_no_report(tmp_path: Path) -> None:
    for folder, code in ((tmp_path / "none", "root_missing"), (Path(__file__), "root_not_folder")):
        with pytest.raises(ReceiptError) as caught:
            verify_episode(folder, [SIGNER.public_key])
        assert caught.value.code == code


def test_an_empty_folder_fails_every_question_and_raises_nothing(tmp_path: Path) -> None:
    report = verify_episode(tmp_path, [SIGNER.public_key])
    assert [answer.holds for answer in report.answers] == [False] * 4


def test_the_report_is_plain_enough_to_print(placed: Placed) -> None:
    placed.replace(FIRST, b"x")
    told = {answer.question: (answer.code, answer.detail) for answer in placed.verify().answers}
    assert told["integrity"] == ("subject_changed", f"{FIRST} is not the file that was signed.")
    assert json.dumps(told)
