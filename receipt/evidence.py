"""``TrustedRenderEvidence`` and the one function that can build it.

The loader is told the expected receipt hash by the render step itself. It opens every file without
following a link, reads each once, checks hashes, identity, pairing, sizes and PNG structure over
those very bytes, and keeps them; nothing is read again later.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NoReturn

from receipt.digests import sha256_hex
from receipt.errors import EvidenceError, PngError
from receipt.files import open_folder, read_confined
from receipt.model import MAX_RECEIPT_BYTES, ImageRecord, Receipt, RendererIdentity, Role, parse_receipt
from receipt.places import require_apart, require_owned
from receipt.png import DEFAULT_LIMITS, DecodedPng, PngLimits, decode_png

MAX_TOTAL_BYTES: Final = 2 << 30


@dataclass(frozen=True)
class EvidenceImage:
    """One verified picture: the bytes that were hashed and decoded."""

    role: Role
    view_id: str
    pass_name: str | None
    """The pass that the receipt's view map gives; None where a receipt has no map: it serves every criterion."""
    sha256: str
    data: bytes = field(repr=False)
    width: int
    height: int
    bit_depth: Literal[8, 16]


@dataclass(frozen=True, init=False)
class TrustedRenderEvidence:
    """Everything that a judge may see.

    Only :func:`load_trusted_render_evidence` builds one: there is no constructor, ``replace`` and
    ``pickle`` are refused, and what it hands out cannot change it.
    """

    receipt_sha256: str
    case_id: str
    candidate_asset_sha256: str
    reference_asset_sha256: str
    fixture: bool
    images: tuple[EvidenceImage, ...]
    renderer_json: str = field(repr=False)
    """The receipt's ``renderer`` as JSON text."""

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("evidence is built by load_trusted_render_evidence and by nothing else")

    def __init_subclass__(cls, **_: object) -> None:
        raise TypeError("evidence has no subclasses")

    def __reduce__(self) -> NoReturn:
        raise TypeError("evidence is loaded from a trusted folder, not from a pickle")

    def __copy__(self) -> TrustedRenderEvidence:
        return self

    def __deepcopy__(self, _: object) -> TrustedRenderEvidence:
        return self

    @property
    def renderer(self) -> RendererIdentity:
        """Which renderer drew; a copy of its own each time, since settings are a plain dictionary."""
        return RendererIdentity.model_validate_json(self.renderer_json)

    @property
    def view_ids(self) -> tuple[str, ...]:
        """View ids in the receipt's order."""
        return tuple(image.view_id for image in self.images if image.role == "reference")

    def image(self, role: Role, view_id: str) -> EvidenceImage:
        """The one picture of a role and view. Raises :class:`EvidenceError` where there is none."""
        for image in self.images:
            if (image.role, image.view_id) == (role, view_id):
                return image
        raise EvidenceError("image_unknown", f"The evidence has no {role} image of view {view_id}.")


def load_trusted_render_evidence(
    trusted_root: Path | str,
    *,
    expected_receipt_sha256: str,
    case_id: str,
    candidate_asset_sha256: str,
    reference_asset_sha256: str,
    actor_roots: Sequence[Path] = (),
    limits: PngLimits = DEFAULT_LIMITS,
) -> TrustedRenderEvidence:
    """Loads one episode's folder as evidence.

    ``trusted_root`` is the canonical path of the folder that holds ``receipt.json``, owned by this
    process and writable by nobody else. Raises :class:`ReceiptError`, each refusal with its own code.
    """
    folder = _canonical(trusted_root)
    root = open_folder(folder)
    try:
        require_owned(folder, root)
        require_apart("evidence_root", folder, actor_roots)
        data = read_confined(root, "receipt.json", MAX_RECEIPT_BYTES)
        if sha256_hex(data) != expected_receipt_sha256:
            raise EvidenceError("receipt_hash", "The receipt is not the one that the render step announced.")
        receipt = parse_receipt(data)
        for code, found, expected in (
            ("case_identity", receipt.case_id, case_id),
            ("candidate_digest", receipt.candidate_asset_sha256, candidate_asset_sha256),
            ("reference_digest", receipt.reference_asset_sha256, reference_asset_sha256),
        ):
            if found != expected:
                raise EvidenceError(code, f"The receipt is about {found}, not about {expected}.")
        images = load_images(receipt, lambda path: read_confined(root, path, limits.max_bytes), limits)
    finally:
        os.close(root)
    return _build(expected_receipt_sha256, receipt, images)


def _canonical(trusted_root: Path | str) -> Path:
    """The root as a path, if it is spelt the one way that leads through no link."""
    text = os.fspath(trusted_root)
    try:
        canonical = os.path.isabs(text) and text == os.path.realpath(text)  # noqa: PTH117
    except (OSError, ValueError):
        canonical = False
    if not canonical:
        raise EvidenceError("root_not_canonical", "The evidence folder is not given by its canonical path.")
    return Path(text)


def _build(receipt_sha256: str, receipt: Receipt, images: tuple[EvidenceImage, ...]) -> TrustedRenderEvidence:
    evidence = object.__new__(TrustedRenderEvidence)
    values = {
        "receipt_sha256": receipt_sha256,
        "case_id": receipt.case_id,
        "candidate_asset_sha256": receipt.candidate_asset_sha256,
        "reference_asset_sha256": receipt.reference_asset_sha256,
        "fixture": receipt.fixture,
        "images": images,
        "renderer_json": receipt.renderer.model_dump_json(),
    }
    for name, value in values.items():
        object.__setattr__(evidence, name, value)
    return evidence


def load_images(
    receipt: Receipt, read: Callable[[str], bytes], limits: PngLimits = DEFAULT_LIMITS
) -> tuple[EvidenceImage, ...]:
    """A receipt's pictures, hashed, decoded and paired, in its order; ``read`` gives a path's bytes.

    Raises :class:`EvidenceError`.
    """
    passes = view_passes(receipt.renderer.settings, {image.view_id for image in receipt.images})
    images, total = [], 0
    for record in receipt.images:
        data = read(record.path)
        total += len(data)
        if total > MAX_TOTAL_BYTES:
            raise EvidenceError("evidence_too_big", "The images exceed two gibibytes in all.")
        decoded = check_image(record, data, limits)
        images.append(
            EvidenceImage(
                role=record.role,
                view_id=record.view_id,
                pass_name=passes.get(record.view_id),
                sha256=record.sha256,
                data=data,
                width=decoded.width,
                height=decoded.height,
                bit_depth=decoded.bit_depth,
            )
        )
    require_equal_sizes({(image.role, image.view_id): (image.width, image.height) for image in images})
    return tuple(images)


def check_image(record: ImageRecord, data: bytes, limits: PngLimits) -> DecodedPng:
    """Decodes one picture whose hash is the receipt's. Raises :class:`EvidenceError`."""
    if sha256_hex(data) != record.sha256:
        raise EvidenceError("image_hash", f"The image {record.path} is not the one in the receipt.")
    try:
        return decode_png(data, limits)
    except PngError as error:
        raise EvidenceError(error.code, f"{record.path}: {error.message}") from error


def view_passes(settings: Mapping[str, Any], view_ids: set[str]) -> Mapping[str, str]:
    """Pass by view id, from ``settings.views``; empty where a receipt has no such map.

    Raises :class:`EvidenceError` for a map that is there and does not fit the images.
    """
    if "views" not in settings:
        return MappingProxyType({})
    views = settings["views"]
    if not isinstance(views, dict) or set(views) != view_ids:
        raise EvidenceError("view_map", "The receipt's view map does not name exactly the views of its images.")
    passes: dict[str, str] = {}
    for view_id, entry in views.items():
        name = entry.get("pass") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            raise EvidenceError("view_map", f"The receipt's view map gives no pass for {view_id}.")
        passes[view_id] = name
    return MappingProxyType(passes)


def require_equal_sizes(sizes: Mapping[tuple[Role, str], tuple[int, int]]) -> None:
    """Both pictures of a view have one size; views may differ. Raises :class:`EvidenceError`."""
    by_view: dict[str, tuple[int, int]] = {}
    for (_, view_id), size in sizes.items():
        if by_view.setdefault(view_id, size) != size:
            raise EvidenceError("image_sizes", f"The two images of view {view_id} differ in size.")
