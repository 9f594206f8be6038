"""``attestation.dsse.json``: a DSSE envelope (DSSE 1.0) around an in-toto Statement v1.

Subjects are the receipt, the diagnostics and every PNG; what differs between equal renders (episode
id, times, machine) stands in the predicate, so that equal renders give equal receipts.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints, ValidationError
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import Error as LibraryError
from securesystemslib.signer import Key, Signer

from receipt.digests import canonical_json
from receipt.errors import FormatError, KeyFault, VerificationError
from receipt.model import Frozen, Identifier, Sha256, first_mistake
from receipt.strict_json import parse_object

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:render-judge:trusted-render:v1"
MAX_ENVELOPE_BYTES: Final = 8 << 20

Time = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)$")]
"""RFC 3339 in UTC."""


class Digest(Frozen):
    """An in-toto digest set with the one algorithm that is used."""

    sha256: Sha256


class Subject(Frozen):
    """One file that the statement is about."""

    name: str = Field(min_length=1, max_length=1024)
    digest: Digest


class Predicate(Frozen):
    """How, when and where the subjects came to be. Times are RFC 3339, UTC."""

    case_id: Identifier
    episode_id: Identifier
    fixture: bool
    mode: Literal["trusted", "fixture"]
    started: Time
    finished: Time
    host: dict[str, str]
    isolation: dict[str, Any]
    appliance_version: str


class Statement(Frozen):
    """An in-toto Statement v1."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(default=STATEMENT_TYPE, alias="_type")
    subject: list[Subject] = Field(min_length=1, max_length=4096)
    predicate_type: Literal["urn:render-judge:trusted-render:v1"] = Field(default=PREDICATE_TYPE, alias="predicateType")
    predicate: Predicate


def sign(subjects: Mapping[str, str], predicate: Predicate, signers: Sequence[Signer]) -> bytes:
    """The envelope's bytes. ``subjects`` maps each path to its SHA-256.

    Raises :class:`KeyFault` where a key does not sign, :class:`FormatError` for subjects that are none.
    """
    if not signers:
        raise KeyFault("no_signer", "There is no key to sign with.", "Name a signing key.")
    try:
        statement = Statement(
            subject=[Subject(name=name, digest=Digest(sha256=digest)) for name, digest in sorted(subjects.items())],
            predicate=predicate,
        )
    except ValidationError as error:
        raise FormatError("statement_malformed", f"The statement is wrong {first_mistake(error)}.") from error
    envelope = Envelope(canonical_json(statement.model_dump(mode="json", by_alias=True)), PAYLOAD_TYPE, {})
    # A signer may reach an HSM or a KMS and raise anything.
    try:
        for signer in signers:
            envelope.sign(signer)
    except Exception as error:
        raise KeyFault("signing_failed", f"Signing failed: {type(error).__name__}.", "Check the key's URI.") from error
    data = canonical_json(envelope.to_dict())
    if len(data) > MAX_ENVELOPE_BYTES:
        raise FormatError("envelope_too_big", "The attestation exceeds eight mebibytes.")
    return data


def read_envelope(data: bytes) -> Envelope:
    """Parses an envelope without trusting it.

    Raises :class:`FormatError`, and :class:`VerificationError` for a payload of another type.
    """
    value = parse_object(data, max_bytes=MAX_ENVELOPE_BYTES)
    try:
        # The library changes what it is given and leaks KeyError, TypeError and ValueError.
        envelope = Envelope.from_dict(copy.deepcopy(value))
    except (LibraryError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError("envelope_malformed", "The attestation is no DSSE envelope.") from error
    if envelope.payload_type != PAYLOAD_TYPE:
        raise VerificationError("payload_type", f"The envelope's payload type is not {PAYLOAD_TYPE}.")
    return envelope


def verify_signatures(envelope: Envelope, keys: Sequence[Key], threshold: int = 1) -> tuple[str, ...]:
    """Ids of the pinned keys whose signatures hold, at least ``threshold`` of them.

    A key counts once however often it is given: the key itself is what counts, not the id that
    someone gave it. Raises :class:`VerificationError`.
    """
    pinned = {canonical_json(key.keyval): key for key in keys}
    if threshold < 1 or len(pinned) < threshold:
        raise VerificationError("no_key", f"Verification needs {max(threshold, 1)} trusted public keys.")
    message = envelope.pae()
    accepted = []
    for key in pinned.values():
        signature = envelope.signatures.get(key.keyid)
        if signature is None:
            continue
        try:
            key.verify_signature(signature, message)
        except (LibraryError, ValueError, TypeError):
            continue
        accepted.append(key.keyid)
    if len(accepted) < threshold:
        raise VerificationError(
            "signature_invalid", f"{len(accepted)} of the {threshold} signatures needed hold under the trusted keys."
        )
    return tuple(sorted(accepted))


def open_envelope(data: bytes, keys: Sequence[Key], threshold: int = 1) -> tuple[Statement, tuple[str, ...]]:
    """Verifies an envelope; returns its statement and the ids of the keys that signed it.

    Nothing of the payload is looked at before its signatures hold. Raises :class:`FormatError` or
    :class:`VerificationError`.
    """
    envelope = read_envelope(data)
    key_ids = verify_signatures(envelope, keys, threshold)
    return read_statement(envelope), key_ids


def read_statement(envelope: Envelope) -> Statement:
    """The envelope's statement; a claim until its signatures have been verified. Raises :class:`FormatError`."""
    value = parse_object(envelope.payload, max_bytes=MAX_ENVELOPE_BYTES)
    if (value.get("_type"), value.get("predicateType")) != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise FormatError("statement_type", "The statement is of another type, or its predicate is.")
    try:
        statement = Statement.model_validate(value)
    except ValidationError as error:
        raise FormatError("statement_malformed", f"The statement is wrong {first_mistake(error)}.") from error
    names = [subject.name for subject in statement.subject]
    if len(set(names)) != len(names):
        raise FormatError("statement_malformed", "The statement names a subject twice.")
    return statement
