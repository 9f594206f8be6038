"""``TrustedRenderEvidence`` and the one function that can build it.

The loader is told the expected receipt hash by the render step itself. It opens every file without
following a link, reads each once, checks hashes, identity, pairing, sizes and PNG structure over
those very bytes, and keeps them; nothing is read again later.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from receipt.digests import sha256_hex
from receipt.errors import EvidenceError, PngError
from receipt.model import MAX_RECEIPT_BYTES, RendererIdentity, Role, parse_receipt
from receipt.places import require_apart, require_owned
from receipt.png import DEFAULT_LIMITS, PngLimits, decode_png

_SEAL = object()
_MAX_TOTAL_BYTES = 2 << 30


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


@dataclass(frozen=True)
class TrustedRenderEvidence:
    """Everything that a judge may see. Only :func:`load_trusted_render_evidence` can build one."""

    receipt_sha256: str
    case_id: str
    candidate_asset_sha256: str
    reference_asset_sha256: str
    fixture: bool
    renderer: RendererIdentity
    images: tuple[EvidenceImage, ...]
    seal: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.seal is not _SEAL:
            raise TypeError("evidence is built by load_trusted_render_evidence and by nothing else")

    @property
    def view_ids(self) -> tuple[str, ...]:
        """View ids in the receipt's order."""
        return tuple(image.view_id for image in self.images if image.role == "reference")

    def image(self, role: Role, view_id: str) -> EvidenceImage:
        """The one picture of a role and view."""
        return next(image for image in self.images if (image.role, image.view_id) == (role, view_id))


def load_trusted_render_evidence(
    trusted_root: Path,
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
    if not trusted_root.is_absolute() or str(trusted_root) != os.path.realpath(trusted_root):
        raise EvidenceError("root_not_canonical", "The evidence folder is not given by its canonical path.")
    require_owned(trusted_root)
    require_apart("evidence_root", trusted_root, actor_roots)
    root = os.open(trusted_root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
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
        passes = view_passes(receipt.renderer.settings, {image.view_id for image in receipt.images})
        images, total = [], 0
        for record in receipt.images:
            png = read_confined(root, record.path, limits.max_bytes)
            total += len(png)
            if total > _MAX_TOTAL_BYTES:
                raise EvidenceError("evidence_too_big", "The images exceed two gibibytes in all.")
            if sha256_hex(png) != record.sha256:
                raise EvidenceError("image_hash", f"The image {record.path} is not the one in the receipt.")
            try:
                decoded = decode_png(png, limits)
            except PngError as error:
                raise EvidenceError(error.code, f"{record.path}: {error.message}") from error
            images.append(
                EvidenceImage(
                    role=record.role,
                    view_id=record.view_id,
                    pass_name=passes.get(record.view_id),
                    sha256=record.sha256,
                    data=png,
                    width=decoded.width,
                    height=decoded.height,
                    bit_depth=decoded.bit_depth,
                )
            )
    finally:
        os.close(root)
    _require_equal_sizes(images)
    return TrustedRenderEvidence(
        receipt_sha256=expected_receipt_sha256,
        case_id=receipt.case_id,
        candidate_asset_sha256=receipt.candidate_asset_sha256,
        reference_asset_sha256=receipt.reference_asset_sha256,
        fixture=receipt.fixture,
        renderer=receipt.renderer,
        images=tuple(images),
        seal=_SEAL,
    )


def view_passes(settings: Mapping[str, Any], view_ids: set[str]) -> Mapping[str, str]:
    """Pass by view id, from ``settings.views``; empty where a receipt has no such map.

    Raises :class:`EvidenceError` for a map that is there and does not fit the images.
    """
    views = settings.get("views")
    if views is None:
        return MappingProxyType({})
    if not isinstance(views, dict) or set(views) != view_ids:
        raise EvidenceError("view_map", "The receipt's view map does not name exactly the views of its images.")
    passes: dict[str, str] = {}
    for view_id, entry in views.items():
        name = entry.get("pass") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name:
            raise EvidenceError("view_map", f"The receipt's view map gives no pass for {view_id}.")
        passes[view_id] = name
    return MappingProxyType(passes)


def _require_equal_sizes(images: Sequence[EvidenceImage]) -> None:
    sizes: dict[str, tuple[int, int]] = {}
    for image in images:
        size = (image.width, image.height)
        if sizes.setdefault(image.view_id, size) != size:
            raise EvidenceError("image_sizes", f"The two images of view {image.view_id} differ in size.")


def read_confined(root: int, relative: str, limit: int) -> bytes:
    """Reads a regular file below an open folder, following no link at any level.

    Raises :class:`EvidenceError`.
    """
    *folders, name = relative.split("/")
    opened: list[int] = []
    try:
        folder = root
        for part in folders:
            folder = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            opened.append(folder)
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        opened.append(descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise EvidenceError("not_regular", f"{relative} is no plain file of its own.")
        if status.st_size > limit:
            raise EvidenceError("file_too_big", f"{relative} is larger than its limit of {limit} bytes.")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            data = file.read(limit + 1)
        if len(data) != status.st_size:
            raise EvidenceError("file_changed", f"{relative} changed while it was read.")
        return data
    except FileNotFoundError as error:
        raise EvidenceError("file_missing", f"{relative} is missing.") from error
    except OSError as error:
        raise EvidenceError("not_regular", f"{relative} cannot be opened as a plain file: {error.strerror}.") from error
    finally:
        for descriptor in opened:
            os.close(descriptor)
