"""Verification of a stored episode by anyone who has its folder and a public key.

Four questions, answered apart: authenticity (is it signed by a key that is trusted), integrity (is
every byte the one that was signed), completeness (is everything there and nothing else), identity
(do receipt, statement and diagnostics speak of the same case, episode and assets).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from securesystemslib.signer import Key

from receipt.attestation import MAX_ENVELOPE_BYTES, Statement, open_envelope
from receipt.diagnostics import MAX_DIAGNOSTICS_BYTES, parse_diagnostics
from receipt.digests import sha256_hex
from receipt.errors import EvidenceError, ReceiptError, VerificationError
from receipt.evidence import load_trusted_render_evidence, read_confined
from receipt.model import MAX_RECEIPT_BYTES, parse_receipt

Question = Literal["authenticity", "integrity", "completeness", "identity"]
QUESTIONS: tuple[Question, ...] = ("authenticity", "integrity", "completeness", "identity")
_UNSIGNED = {"attestation.dsse.json", "fixture-key.pub", "objective.json", "verdict.json", "report.html"}


@dataclass(frozen=True)
class Answer:
    """One question's answer; ``code`` is empty where it holds."""

    question: Question
    holds: bool
    code: str
    detail: str


@dataclass(frozen=True)
class VerificationReport:
    """All four answers and what they are about."""

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


def verify_episode(folder: Path, keys: Sequence[Key], threshold: int = 1) -> VerificationReport:
    """Checks an episode's folder. Raises :class:`ReceiptError` only when there is no folder to check."""
    try:
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise VerificationError("folder_missing", f"{str(folder)!r} is no folder: {error.strerror}.") from error
    try:
        return _verify(folder, root, keys, threshold)
    finally:
        os.close(root)


def _verify(folder: Path, root: int, keys: Sequence[Key], threshold: int) -> VerificationReport:
    statement: Statement | None = None
    key_ids: tuple[str, ...] = ()
    answers: list[Answer] = []

    def ask(question: Question, check: Callable[[], str]) -> None:
        try:
            answers.append(Answer(question, True, "", check()))
        except ReceiptError as error:
            answers.append(Answer(question, False, error.code, error.message))

    def authenticity() -> str:
        nonlocal statement, key_ids
        statement, key_ids = open_envelope(
            read_confined(root, "attestation.dsse.json", MAX_ENVELOPE_BYTES), keys, threshold
        )
        return f"signed by {', '.join(one[:16] for one in key_ids)}"

    def signed() -> Statement:
        if statement is None:
            raise VerificationError("not_authentic", "Without a valid signature there is nothing to compare with.")
        return statement

    ask("authenticity", authenticity)
    ask("integrity", lambda: _integrity(root, signed()))
    ask("completeness", lambda: _completeness(folder, root, signed()))
    ask("identity", lambda: _identity(folder, root, signed()))
    known = statement.predicate if statement else None
    return VerificationReport(
        case_id=known.case_id if known else "",
        episode_id=known.episode_id if known else "",
        fixture=known.fixture if known else None,
        receipt_sha256=_subjects(statement).get("receipt.json", "") if statement else "",
        key_ids=key_ids,
        answers=tuple(answers),
    )


def _subjects(statement: Statement) -> dict[str, str]:
    return {subject.name: subject.digest.sha256 for subject in statement.subject}


def _integrity(root: int, statement: Statement) -> str:
    subjects = _subjects(statement)
    for name, digest in subjects.items():
        if sha256_hex(read_confined(root, name, 256 << 20)) != digest:
            raise VerificationError("subject_changed", f"{name} is not the file that was signed.")
    return f"{len(subjects)} files unchanged"


def _completeness(folder: Path, root: int, statement: Statement) -> str:
    subjects = _subjects(statement)
    receipt = parse_receipt(read_confined(root, "receipt.json", MAX_RECEIPT_BYTES))
    expected = {"receipt.json", "diagnostics.json"} | {image.path for image in receipt.images}
    if set(subjects) != expected:
        odd = sorted(set(subjects) ^ expected)[0]
        raise VerificationError("subjects_differ", f"Receipt and statement do not name the same files: {odd}.")
    present = {
        (Path(base) / name).relative_to(folder).as_posix() for base, _, names in os.walk(folder) for name in names
    }
    for surplus in sorted(present - expected - _UNSIGNED):
        raise VerificationError("surplus_file", f"{surplus} is not part of the episode.")
    return f"{len(receipt.images)} images in pairs"


def _identity(folder: Path, root: int, statement: Statement) -> str:
    data = read_confined(root, "receipt.json", MAX_RECEIPT_BYTES)
    receipt = parse_receipt(data)
    predicate = statement.predicate
    diagnostics = parse_diagnostics(read_confined(root, "diagnostics.json", MAX_DIAGNOSTICS_BYTES))
    if (predicate.case_id, predicate.fixture) != (receipt.case_id, receipt.fixture):
        raise VerificationError("identity_differs", "Receipt and statement are about different cases.")
    claimed = (diagnostics.candidate.asset_sha256, diagnostics.reference.asset_sha256)
    if claimed != (receipt.candidate_asset_sha256, receipt.reference_asset_sha256):
        raise VerificationError("identity_differs", "Receipt and diagnostics are about different assets.")
    if predicate.fixture != (predicate.mode == "fixture"):
        raise EvidenceError("identity_differs", "The statement's mode and its fixture label contradict each other.")
    load_trusted_render_evidence(
        Path(os.path.realpath(folder)),
        expected_receipt_sha256=sha256_hex(data),
        case_id=receipt.case_id,
        candidate_asset_sha256=receipt.candidate_asset_sha256,
        reference_asset_sha256=receipt.reference_asset_sha256,
    )
    return f"case {receipt.case_id}, episode {predicate.episode_id}"
