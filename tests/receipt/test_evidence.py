"""Threat 7 and 11: receipts forged, swapped, replayed, truncated, re-signed; fixtures passed as real.

An adversary changes one thing at a time, signs again where it can, and is refused for the right reason.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from receipt import attestation
from receipt.digests import sha256_hex
from receipt.errors import PlaceError, ReceiptError
from receipt.evidence import TrustedRenderEvidence
from receipt.keys import ephemeral_signer
from receipt.model import Role
from receipt.png import encode_png
from receipt.verify import verify_episode
from tests.episodes import Episode, Picture, build_episode, predicate, synthetic

FIRST = "images/reference/front.beauty.png"


@pytest.fixture
def episode(tmp_path: Path) -> Episode:
    return build_episode(tmp_path / "store")


def _replace(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


def _link(episode: Episode, how: Callable[[Path, Path], None]) -> None:
    target = episode.folder / FIRST
    kept = episode.folder.parent / "kept.png"
    shutil.copy(target, kept)
    target.unlink()
    how(kept, target)


def _folder_link(episode: Episode) -> None:
    real = episode.folder / "images" / "reference"
    moved = episode.folder.parent / "moved"
    real.rename(moved)
    real.symlink_to(moved)


def _truncate(episode: Episode) -> None:
    path = episode.folder / FIRST
    _replace(path, path.read_bytes()[:-5])


def _receipt_folder(episode: Episode) -> None:
    (episode.folder / "receipt.json").unlink()
    (episode.folder / "receipt.json").mkdir()


CHANGES: dict[str, tuple[Callable[[Episode], Any], str]] = {
    "receipt changed": (lambda e: _replace(e.folder / "receipt.json", b"{}"), "receipt_hash"),
    "receipt missing": (lambda e: (e.folder / "receipt.json").unlink(), "file_missing"),
    "receipt is a folder": (_receipt_folder, "not_regular"),
    "image changed": (lambda e: _replace(e.folder / FIRST, b"x"), "image_hash"),
    "image truncated": (_truncate, "image_hash"),
    "image missing": (lambda e: (e.folder / FIRST).unlink(), "file_missing"),
    "images swapped": (
        lambda e: _replace(e.folder / FIRST, (e.folder / FIRST.replace("reference", "candidate")).read_bytes()),
        "image_hash",
    ),
    "image is a symlink": (lambda e: _link(e, lambda kept, target: target.symlink_to(kept)), "not_regular"),
    "image is a hard link": (lambda e: _link(e, lambda kept, target: target.hardlink_to(kept)), "not_regular"),
    "image is a fifo": (lambda e: _link(e, lambda kept, target: os.mkfifo(target)), "not_regular"),
    "image's folder is a symlink": (_folder_link, "not_regular"),
    "folder writable by all": (lambda e: e.folder.chmod(0o777), "root_writable_by_others"),
    "folder writable by group": (lambda e: e.folder.chmod(0o775), "root_writable_by_others"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_threat_7_a_changed_folder_is_refused(episode: Episode, name: str) -> None:
    episode.load()
    change, code = CHANGES[name]
    change(episode)
    with pytest.raises(ReceiptError) as caught:
        episode.load()
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"expected_receipt_sha256": "0" * 64}, "receipt_hash"),
        ({"expected_receipt_sha256": ""}, "receipt_hash"),
        ({"case_id": "case-2"}, "case_identity"),
        ({"candidate_asset_sha256": "0" * 64}, "candidate_digest"),
        ({"reference_asset_sha256": "0" * 64}, "reference_digest"),
    ],
)
def test_threat_7_a_receipt_of_another_case_or_asset_is_refused(
    episode: Episode, changes: dict[str, str], code: str
) -> None:
    with pytest.raises(ReceiptError) as caught:
        episode.load(**changes)
    assert caught.value.code == code


def _views(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], None]:
    def edit(value: dict[str, Any]) -> None:
        change(value["renderer"]["settings"]["views"])

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        _views(lambda views: views.pop("front.clay")),
        _views(lambda views: views.update(more={"camera": "x", "pass": "clay"})),
        _views(lambda views: views["front.clay"].pop("pass")),
        _views(lambda views: views.update({"front.clay": "clay"})),
        _views(lambda views: views["front.clay"].update({"pass": 1})),
        lambda value: value["renderer"]["settings"].update(views=[]),
    ],
)
def test_a_view_map_that_does_not_fit_is_refused(tmp_path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    with pytest.raises(ReceiptError) as caught:
        build_episode(tmp_path, edit_receipt=edit).load()
    assert caught.value.code == "view_map"


def test_a_receipt_without_a_view_map_serves_every_criterion(tmp_path: Path) -> None:
    evidence = build_episode(tmp_path, view_map=False).load()
    assert {image.pass_name for image in evidence.images} == {None}


def test_a_pair_of_different_sizes_is_refused_and_views_may_differ(tmp_path: Path) -> None:
    def by_view(role: Role, view_id: str) -> Picture:
        return synthetic(role, view_id)[: 6 if view_id.startswith("back") else 12]

    def by_role(role: Role, view_id: str) -> Picture:
        return synthetic(role, view_id)[: 6 if role == "candidate" else 12]

    assert {image.height for image in build_episode(tmp_path / "a", picture=by_view).load().images} == {6, 12}
    with pytest.raises(ReceiptError) as caught:
        build_episode(tmp_path / "b", picture=by_role).load()
    assert caught.value.code == "image_sizes"


def test_a_png_that_is_not_strict_is_refused_even_when_its_hash_is_signed(tmp_path: Path) -> None:
    good = encode_png(synthetic("reference", "front.beauty").tobytes(), 16, 12, 8)

    def edit(value: dict[str, Any]) -> None:
        value["images"][0]["sha256"] = sha256_hex(good + b"tail")

    episode = build_episode(tmp_path, edit_receipt=edit)
    first = json.loads((episode.folder / "receipt.json").read_bytes())["images"][0]["path"]
    _replace(episode.folder / first, good + b"tail")
    with pytest.raises(ReceiptError) as caught:
        episode.load()
    assert caught.value.code == "png_trailing_bytes"


def test_threat_13_a_root_by_another_name_or_within_the_actors_reach_is_refused(
    episode: Episode, tmp_path: Path
) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(episode.folder)
    moved = Episode(alias, episode.signer, episode.receipt_sha256, episode.candidate_sha256, episode.reference_sha256)
    with pytest.raises(ReceiptError) as caught:
        moved.load()
    assert caught.value.code == "root_not_canonical"
    for actor in (tmp_path, episode.folder, episode.folder / "images", alias):
        with pytest.raises(PlaceError) as place:
            episode.load(actor_roots=[actor])
        assert place.value.code == "evidence_root_within_reach"


def test_evidence_keeps_the_bytes_that_it_checked(episode: Episode) -> None:
    evidence = episode.load()
    shutil.rmtree(episode.folder)
    image = evidence.image("candidate", "back.clay")
    assert sha256_hex(image.data) == image.sha256
    assert np.prod((image.width, image.height)) == 12 * 16


def test_evidence_can_be_built_by_nothing_but_the_loader(episode: Episode) -> None:
    evidence = episode.load()
    fields = {name: getattr(evidence, name) for name in evidence.__dataclass_fields__}
    with pytest.raises(TypeError):
        TrustedRenderEvidence(**(fields | {"seal": object()}))
    with pytest.raises(AttributeError):
        evidence.fixture = False  # type: ignore[misc]


def _sign_again(episode: Episode, subjects: dict[str, str] | None = None, **changes: Any) -> None:
    path = episode.folder / "attestation.dsse.json"
    statement, _ = attestation.open_envelope(path.read_bytes(), [episode.signer.public_key])
    found = {subject.name: subject.digest.sha256 for subject in statement.subject}
    told = statement.predicate.model_copy(update=changes)
    _replace(path, attestation.sign(subjects if subjects is not None else found, told, [episode.signer]))


def _strange_key(episode: Episode) -> None:
    _replace(
        episode.folder / "attestation.dsse.json",
        attestation.sign({"receipt.json": "0" * 64}, predicate(), [ephemeral_signer()]),
    )


def _edit_envelope(change: Callable[[dict[str, Any]], Any]) -> Callable[[Episode], None]:
    def edit(episode: Episode) -> None:
        path = episode.folder / "attestation.dsse.json"
        value = json.loads(path.read_bytes())
        change(value)
        _replace(path, json.dumps(value).encode())

    return edit


FORGERIES: dict[str, tuple[Callable[[Episode], Any], str, str]] = {
    "signed with another key": (_strange_key, "authenticity", "signature_invalid"),
    "no signatures": (_edit_envelope(lambda v: v.update(signatures=[])), "authenticity", "signature_invalid"),
    "signature garbled": (
        _edit_envelope(lambda v: v["signatures"][0].update(sig="AAAA")),
        "authenticity",
        "signature_invalid",
    ),
    "signature is no list": (_edit_envelope(lambda v: v.update(signatures=1)), "authenticity", "envelope_malformed"),
    "payload missing": (_edit_envelope(lambda v: v.pop("payload")), "authenticity", "envelope_malformed"),
    "payload type": (_edit_envelope(lambda v: v.update(payloadType="x")), "authenticity", "payload_type"),
    "payload changed": (
        _edit_envelope(lambda v: v.update(payload=v["payload"][:-8] + "AAAAAAA=")),
        "authenticity",
        "signature_invalid",
    ),
    "envelope missing": (lambda e: (e.folder / "attestation.dsse.json").unlink(), "authenticity", "file_missing"),
    "image changed": (lambda e: _replace(e.folder / FIRST, b"x"), "integrity", "subject_changed"),
    "diagnostics changed": (lambda e: _replace(e.folder / "diagnostics.json", b"{}"), "integrity", "subject_changed"),
    "image missing": (lambda e: (e.folder / FIRST).unlink(), "integrity", "file_missing"),
    "subject dropped and signed": (
        lambda e: _sign_again(e, {"receipt.json": e.receipt_sha256}),
        "completeness",
        "subjects_differ",
    ),
    "file added": (lambda e: (e.folder / "extra.txt").write_text("x"), "completeness", "surplus_file"),
    "image added": (lambda e: (e.folder / "images" / "x.png").write_text("x"), "completeness", "surplus_file"),
    "case replayed and signed": (lambda e: _sign_again(e, case_id="case-2"), "identity", "identity_differs"),
    "threat 11, fixture as real": (
        lambda e: _sign_again(e, fixture=False, mode="trusted"),
        "identity",
        "identity_differs",
    ),
    "threat 11, mode as real": (lambda e: _sign_again(e, mode="trusted"), "identity", "identity_differs"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_threat_7_verification_says_which_question_failed(episode: Episode, name: str) -> None:
    keys = [episode.signer.public_key]
    assert verify_episode(episode.folder, keys).holds
    change, question, code = FORGERIES[name]
    change(episode)
    report = verify_episode(episode.folder, keys)
    assert not report.holds
    failed = {answer.question: answer.code for answer in report.answers if not answer.holds}
    assert failed[question] == code  # type: ignore[index]


def test_several_signatures_and_a_threshold(episode: Episode) -> None:
    path = episode.folder / "attestation.dsse.json"
    statement, _ = attestation.open_envelope(path.read_bytes(), [episode.signer.public_key])
    second, third = ephemeral_signer(), ephemeral_signer()
    subjects = {subject.name: subject.digest.sha256 for subject in statement.subject}
    _replace(path, attestation.sign(subjects, statement.predicate, [episode.signer, second]))
    known = [episode.signer.public_key, second.public_key]
    assert verify_episode(episode.folder, known, threshold=2).holds
    assert not verify_episode(episode.folder, [known[0], third.public_key], threshold=2).holds
    assert not verify_episode(episode.folder, [known[0], known[0]], threshold=2).holds
    assert not verify_episode(episode.folder, [], threshold=1).holds


def test_another_dsse_reader_verifies_the_envelope(episode: Episode) -> None:
    """Only the specification's own pre-authentication encoding and a plain Ed25519 check."""
    import base64

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    value = json.loads((episode.folder / "attestation.dsse.json").read_bytes())
    payload, kind = base64.b64decode(value["payload"]), value["payloadType"].encode()
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(episode.signer.public_key.keyval["public"]))
    key.verify(base64.b64decode(value["signatures"][0]["sig"]), message)
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"
