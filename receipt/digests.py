"""Hashes and canonical JSON (RFC 8785): one definition for everything that is compared by hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import rfc8785

from receipt.errors import FormatError

Entry = tuple[str, int, str]
"""(relative POSIX path, size in bytes, SHA-256 in lower-case hex)."""


def sha256_hex(data: bytes) -> str:
    """SHA-256 in lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes. Raises :class:`FormatError` for what JSON cannot carry exactly."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError) as error:
        raise FormatError("not_canonical", f"This value has no canonical JSON: {error}.") from error


def manifest_sha256(entries: Iterable[Entry]) -> str:
    """SHA-256 of the canonical JSON list of (path, size, sha256), sorted by path."""
    listing = [{"path": path, "size": size, "sha256": digest} for path, size, digest in sorted(entries)]
    return sha256_hex(canonical_json(listing))


@dataclass(frozen=True)
class AssetDigest:
    """What an asset's SHA-256 is taken over: the bytes of one file, or a folder's canonical listing."""

    kind: Literal["file", "folder"]
    sha256: str


def asset_digest(entries: Iterable[Entry], *, is_folder: bool, root_layer: str) -> AssetDigest:
    """Digest of an asset.

    A single self-contained file: SHA-256 of its bytes. A folder: SHA-256 of the canonical JSON of
    its files with the root layer named, so that the same bytes opened at another layer differ.
    Raises :class:`FormatError` for entries that are no asset.
    """
    listed = sorted(entries)
    if not listed or (not is_folder and len(listed) != 1) or len({path for path, _, _ in listed}) != len(listed):
        raise FormatError("asset_entries", "An asset is one file, or a folder of files with different paths.")
    if not is_folder:
        return AssetDigest("file", listed[0][2])
    files = [{"path": path, "size": size, "sha256": digest} for path, size, digest in listed]
    return AssetDigest("folder", sha256_hex(canonical_json({"files": files, "root_layer": root_layer})))
