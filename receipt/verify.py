"""Verification of a stored episode by anyone who has its folder and a public key.

Four questions, answered apart:

* authenticity: is the statement signed by enough of the keys that the verifier pins?
* integrity: is every file that is there the one that was stated, a strict picture, with the pixels recorded?
* completeness: is everything there that receipt and statement name, in equal pairs, and nothing else?
* identity: do receipt, statement and diagnostics speak of the same case, assets and kind, and of the
  case and episode that the verifier asked for?

The last three compare with the statement whether or not it is authentic, so that a failed signature
does not hide what else is wrong; the report as a whole holds only where all four do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeVar

from securesystemslib.signer import Key

from receipt.attestation import MAX_ENVELOPE_BYTES, Statement, read_envelope, read_statement, verify_signatures
from receipt.diagnostics import MAX_DIAGNOSTICS_BYTES, Diagnostics, RoleDiagnostics, parse_diagnostics
from receipt.digests import sha256_hex
from receipt.errors import EvidenceError, ReceiptError, VerificationError
from receipt.evidence import MAX_TOTAL_BYTES, check_image, require_equal_sizes, view_passes
from receipt.files import list_tree, open_folder, read_confined
from receipt.model import MAX_RECEIPT_BYTES, Receipt, Role, parse_receipt
from receipt.png import DEFAULT_LIMITS, DecodedPng, PngLimits

Question = Literal["authenticity", "integrity", "completeness", "identity"]
QUESTIONS: Final[tuple[Question, ...]] = ("authenticity", "integrity", "completeness", "identity")
_ENVELOPE: Final = "attestation.dsse.json"
_UNSIGNED: Final = {_ENVELOPE, "fixture-key.pub", "objective.json", "verdict.json", "report.html"}
"""What may lie beside the signed files: it is judged or shown later, and proves nothing by itself."""

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """One question's answer; ``code`` is empty where it holds."""

    question: Question
    holds: bool
    code: str
    detail: str


@dataclass(frozen=True)
class VerificationReport:
    """All four answers and what they are about; names are empty where nothing authentic gives them."""

    case_id: str
    episode_id: str
    fixture: bool | None
    receipt_sha256: str
    key_ids: tuple[str, ...]
    answers: tuple[Answer, ...]

    @property
    def holds(self) -> bool:
        """Does every answer hold?"""
        return all(answer.holds for answer in self.answers)


@dataclass
class _Parts:
    """What the folder holds, each file read once; in place of a part that is refused stands the refusal."""

    statement: Statement | ReceiptError
    key_ids: tuple[str, ...] | ReceiptError
    receipt: Receipt | ReceiptError
    diagnostics: Diagnostics | ReceiptError
    digests: dict[str, str] = field(default_factory=dict)
    pictures: dict[tuple[Role, str], DecodedPng | ReceiptError] = field(default_factory=dict)
    pixels: dict[tuple[Role, str], str] = field(default_factory=dict)
    refused: dict[str, ReceiptError] = field(default_factory=dict)
    present: tuple[str, ...] | ReceiptError = ()


def verify_episode(
    folder: Path,
    keys: Sequence[Key],
    threshold: int = 1,
    *,
    case_id: str | None = None,
    episode_id: str | None = None,
    limits: PngLimits = DEFAULT_LIMITS,
) -> VerificationReport:
    """Checks an episode's folder, which may belong to anyone: an auditor need not own it.

    With ``case_id`` or ``episode_id`` the episode must be that one, and not another put in its place.
    Raises :class:`ReceiptError` only when there is no folder to check.
    """
    root = open_folder(folder)
    try:
        parts = _read(root, keys, threshold, limits)
    finally:
        os.close(root)
    answers = (
        _ask("authenticity", lambda: _authenticity(parts)),
        _ask("integrity", lambda: _integrity(parts)),
        _ask("completeness", lambda: _completeness(parts)),
        _ask("identity", lambda: _identity(parts, case_id, episode_id)),
    )
    authentic = answers[0].holds and isinstance(parts.statement, Statement)
    known = parts.statement.predicate if authentic and isinstance(parts.statement, Statement) else None
    return VerificationReport(
        case_id=known.case_id if known else "",
        episode_id=known.episode_id if known else "",
        fixture=known.fixture if known else None,
        receipt_sha256=_stated(parts).get("receipt.json", "") if known else "",
        key_ids=parts.key_ids if known and isinstance(parts.key_ids, tuple) else (),
        answers=answers,
    )


def _ask(question: Question, check: Callable[[], str]) -> Answer:
    try:
        return Answer(question, True, "", check())
    except ReceiptError as error:
        return Answer(question, False, error.code, error.message)


def _attempt(make: Callable[[], T]) -> T | ReceiptError:
    try:
        return make()
    except ReceiptError as error:
        return error


def _need(part: T | ReceiptError) -> T:
    if isinstance(part, ReceiptError):
        raise part
    return part


def _read(root: int, keys: Sequence[Key], threshold: int, limits: PngLimits) -> _Parts:
    """Reads every file once and keeps its hash; a picture's bytes are decoded and let go."""
    digests: dict[str, str] = {}
    refused: dict[str, ReceiptError] = {}

    def read(name: str, limit: int) -> bytes:
        try:
            data = read_confined(root, name, limit)
        except ReceiptError as error:
            refused[name] = error
            raise
        digests[name] = sha256_hex(data)
        return data

    envelope = _attempt(lambda: read_envelope(read(_ENVELOPE, MAX_ENVELOPE_BYTES)))
    parts = _Parts(
        key_ids=_attempt(lambda: verify_signatures(_need(envelope), keys, threshold)),
        statement=_attempt(lambda: read_statement(_need(envelope))),
        receipt=_attempt(lambda: parse_receipt(read("receipt.json", MAX_RECEIPT_BYTES))),
        diagnostics=_attempt(lambda: parse_diagnostics(read("diagnostics.json", MAX_DIAGNOSTICS_BYTES))),
        digests=digests,
        refused=refused,
        present=_attempt(lambda: tuple(list_tree(root))),
    )
    left = MAX_TOTAL_BYTES
    for record in parts.receipt.images if isinstance(parts.receipt, Receipt) else ():
        try:
            data = read(record.path, min(limits.max_bytes, left))
        except ReceiptError:
            continue
        left -= len(data)
        picture = _attempt(lambda record=record, data=data: check_image(record, data, limits))  # type: ignore[misc]
        parts.pictures[(record.role, record.view_id)] = picture
        if isinstance(picture, DecodedPng):
            parts.pixels[(record.role, record.view_id)] = sha256_hex(picture.pixels)
    return parts


def _stated(parts: _Parts) -> Mapping[str, str]:
    if isinstance(parts.statement, ReceiptError):
        return {}
    return {subject.name: subject.digest.sha256 for subject in parts.statement.subject}


def _authenticity(parts: _Parts) -> str:
    key_ids = _need(parts.key_ids)
    _need(parts.statement)
    return f"signed by {', '.join(one[:16] for one in key_ids)}"


def _integrity(parts: _Parts) -> str:
    stated = _stated(parts)
    for name, error in parts.refused.items():
        if error.code != "file_missing" and name != _ENVELOPE:
            raise error
    for name, digest in parts.digests.items():
        if name in stated and stated[name] != digest:
            raise VerificationError("subject_changed", f"{name} is not the file that was signed.")
    for part in (parts.receipt, parts.diagnostics, *parts.pictures.values()):
        if isinstance(part, ReceiptError) and part.code != "file_missing":
            raise part
    if isinstance(parts.diagnostics, Diagnostics):
        recorded = {
            (role, view): digest
            for role, facts in _facts(parts.diagnostics).items()
            for view, digest in facts.pixel_sha256.items()
        }
        for (role, view), digest in parts.pixels.items():
            if recorded.get((role, view)) != digest:
                raise VerificationError("pixels_differ", f"The {role}'s pixels of {view} are not those recorded.")
    if not stated:
        raise VerificationError("nothing_stated", "Without a statement there is nothing to compare the files with.")
    return f"{len(parts.digests.keys() & stated.keys())} files unchanged"


def _completeness(parts: _Parts) -> str:
    for name in ("receipt.json", "diagnostics.json"):
        if name in parts.refused and parts.refused[name].code == "file_missing":
            raise parts.refused[name]
    receipt = _need(parts.receipt)
    expected = {"receipt.json", "diagnostics.json"} | {image.path for image in receipt.images}
    for name in sorted(expected & parts.refused.keys()):
        if parts.refused[name].code == "file_missing":
            raise parts.refused[name]
    if isinstance(parts.statement, Statement) and _stated(parts).keys() != expected:
        odd = sorted(_stated(parts).keys() ^ expected)[0]
        raise VerificationError("subjects_differ", f"Receipt and statement do not name the same files: {odd[:200]}.")
    for surplus in sorted(set(_need(parts.present)) - expected - _UNSIGNED):
        raise VerificationError("surplus_file", f"{surplus[:200]} is not part of the episode.")
    view_passes(receipt.renderer.settings, {image.view_id for image in receipt.images})
    require_equal_sizes(
        {key: (one.width, one.height) for key, one in parts.pictures.items() if isinstance(one, DecodedPng)}
    )
    return f"{len(receipt.images)} images in pairs"


def _identity(parts: _Parts, case_id: str | None, episode_id: str | None) -> str:
    receipt, statement = _need(parts.receipt), _need(parts.statement)
    diagnostics, told = _need(parts.diagnostics), statement.predicate
    if (told.case_id, told.fixture) != (receipt.case_id, receipt.fixture):
        raise VerificationError("identity_differs", "Receipt and statement are about different cases.")
    if told.fixture != (told.mode == "fixture"):
        raise EvidenceError("identity_differs", "The statement's mode and its fixture label contradict each other.")
    claimed = {role: facts.asset_sha256 for role, facts in _facts(diagnostics).items()}
    if claimed != {"candidate": receipt.candidate_asset_sha256, "reference": receipt.reference_asset_sha256}:
        raise VerificationError("identity_differs", "Receipt and diagnostics are about different assets.")
    for code, found, wanted in (
        ("case_identity", told.case_id, case_id),
        ("episode_identity", told.episode_id, episode_id),
    ):
        if wanted is not None and found != wanted:
            raise VerificationError(code, f"This is about {found}, not about {wanted[:140]}.")
    return f"case {receipt.case_id}, episode {told.episode_id}"


def _facts(diagnostics: Diagnostics) -> dict[Role, RoleDiagnostics]:
    return {"reference": diagnostics.reference, "candidate": diagnostics.candidate}
