"""Evidence: what the host's port returns for an image, and what is believed of it.

An available image is believed when it is the one that was asked for, its bytes have the frozen hash,
and its metadata says what the bytes themselves say wherever they can be decoded here. Anything else is
a technical error. Unavailability is an honest answer and no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import PlainValidator, StringConstraints, ValidationError, WithJsonSchema

from judge.acceptance.decoding import contradiction
from judge.acceptance.errors import AcceptanceError
from judge.acceptance.fields import ContractModel, Identifier, PositiveInteger, Sha256Hex, Text, first_problem, named
from judge.acceptance.reply import EvaluatorCall
from judge.acceptance.request import ImageReference, ImageRole
from receipt.digests import sha256_hex

ImageBytes = bytes
ByteSource = bytes | bytearray | memoryview


def _byte_source(value: object) -> ByteSource:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise ValueError("must be bytes")  # noqa: TRY004 - pydantic reports ValueError only
    if not memoryview(value).nbytes:
        raise ValueError("must not be empty")
    return value


class Decoder(ContractModel):
    """What decoded the bytes."""

    name: Identifier
    version: Identifier


class DecodedMetadata(ContractModel):
    """What a decoder found in the very bytes; sizes in pixels."""

    source: Literal["decoded"]
    decoder: Decoder
    width: PositiveInteger
    height: PositiveInteger
    media_type: Annotated[Text, StringConstraints(pattern=r"^image/[a-z0-9][a-z0-9.+-]{0,126}$")]


class AvailableEvidence(ContractModel):
    """The port's answer for an image that it may give out."""

    status: Literal["available"]
    id: Identifier
    content_hash: Sha256Hex
    bytes: Annotated[ByteSource, PlainValidator(_byte_source), WithJsonSchema({"type": "string", "format": "binary"})]
    metadata: DecodedMetadata


class UnavailableEvidence(ContractModel):
    """The port's answer for a frozen image that it cannot give out; a failed transport raises instead."""

    status: Literal["unavailable"]
    id: Identifier
    content_hash: Sha256Hex
    reason: Text


class EvidenceItem(ContractModel):
    """One image as the evaluator sees it: immutable bytes and a role that no label can change."""

    id: Identifier
    role: ImageRole
    content_hash: Sha256Hex
    bytes: ImageBytes
    metadata: DecodedMetadata


@dataclass(frozen=True, slots=True)
class ResolvedImage:
    """One reference and what became of it: ``item`` and its ``source``, or the ``reason`` why not."""

    reference: ImageReference
    role: ImageRole
    item: EvidenceItem | None
    source: ByteSource | None
    """The host's own buffer, watched during the evaluation where it can change."""
    reason: str | None


def hash_image_bytes(data: ByteSource) -> str:
    """SHA-256 of an image's bytes in lower-case hex: the ``contentHash`` of a reference."""
    return sha256_hex(bytes(data))


def verify_evidence(reference: ImageReference, role: ImageRole, answer: object) -> ResolvedImage:
    """Hold a port's answer (a model or a mapping with JSON names) against its reference.

    :raises AcceptanceError: ``invalid_evidence``.
    """
    evidence = _parse(reference, answer)
    for name, given, frozen in (
        ("id", evidence.id, reference.id),
        ("contentHash", evidence.content_hash, reference.content_hash),
    ):
        if given != frozen:
            raise _invalid(reference, name, "is not the one that was asked for")
    if isinstance(evidence, UnavailableEvidence):
        return ResolvedImage(reference, role, None, None, evidence.reason)
    copy = bytes(evidence.bytes)
    if sha256_hex(copy) != reference.content_hash:
        raise _invalid(reference, "bytes", "do not have the frozen hash")
    lie = contradiction(copy, evidence.metadata.width, evidence.metadata.height, evidence.metadata.media_type)
    if lie:
        raise _invalid(reference, *lie)
    item = EvidenceItem(
        id=reference.id, role=role, content_hash=reference.content_hash, bytes=copy, metadata=evidence.metadata
    )
    return ResolvedImage(reference, role, item, evidence.bytes, None)


def verify_unchanged(images: tuple[ResolvedImage, ...], call: EvaluatorCall | None) -> None:
    """Hash again, after the evaluation, what the evaluator was given and the host's buffers behind it.

    :raises AcceptanceError: ``invalid_evidence``, with what is known of the call.
    """
    for image in images:
        if image.item is None or image.source is None:
            continue
        for data in (image.item.bytes, _current(image.source)):
            if data is not None and sha256_hex(data) != image.reference.content_hash:
                raise _invalid(image.reference, "bytes", "changed while they were evaluated", call)


def _current(source: ByteSource) -> bytes | None:
    try:
        return bytes(source)
    except ValueError:  # a view that its host has released since: the copy is all there is
        return None


def _parse(reference: ImageReference, answer: object) -> AvailableEvidence | UnavailableEvidence:
    fields = named(answer)
    if fields is None:
        raise _invalid(reference, "answer", "is neither a model nor a mapping")
    shape = UnavailableEvidence if fields.get("status") == "unavailable" else AvailableEvidence
    try:
        return shape.model_validate(fields, by_alias=True, by_name=False)
    except ValidationError as error:
        raise _invalid(reference, *first_problem(error)) from None


def _invalid(reference: ImageReference, path: str, reason: str, call: EvaluatorCall | None = None) -> AcceptanceError:
    message = f"The evidence for image {reference.id!r} is invalid: {path} {reason}."
    return AcceptanceError("invalid_evidence", message, path=path, call=call)
