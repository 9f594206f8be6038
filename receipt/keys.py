"""Signing keys: made here, or named by a ``securesystemslib`` URI (file, HSM, KMS, Vault).

Keys live on the trusted side alone. A public key's id is derived from the key itself, so a verifier
who pins the key pins the id.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from securesystemslib.exceptions import Error as LibraryError
from securesystemslib.signer import SIGNER_FOR_URI_SCHEME, CryptoSigner, Signer, SSlibKey

from receipt.errors import KeyFault

_MAX_KEY_BYTES = 64 << 10
_MAKE_ONE = "Make one with `render-judge keygen`."


def ephemeral_signer() -> CryptoSigner:
    """A key that exists in memory only, for fixtures."""
    return CryptoSigner.generate_ed25519()


def generate_key(private: Path) -> Path:
    """Writes a new Ed25519 key (PEM, 0600) and its public half beside it (``.pub``, 0644).

    Returns the public key's path. Raises :class:`KeyFault`; an existing file is never overwritten.
    """
    public = private.with_name(private.name + ".pub")
    signer = ephemeral_signer()
    written: list[Path] = []
    try:
        if not private.parent.is_dir():
            private.parent.mkdir(parents=True, mode=0o700)
        for path, mode, data in ((private, 0o600, signer.private_bytes), (public, 0o644, public_pem(signer))):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                written.append(path)
                file.write(data)
                os.fchmod(file.fileno(), mode)
                file.flush()
                os.fsync(file.fileno())
    except (OSError, ValueError) as error:
        # Half a pair is of no use, and would stand in the way of the next attempt.
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, FileExistsError) and error.filename in (str(private), str(public)):
            raise KeyFault("key_exists", f"{error.filename} exists already.", "Choose another path.") from error
        raise KeyFault(
            "key_unwritable", f"The key cannot be written to {str(private)!r}.", "Check the path."
        ) from error
    return public


def key_file(uri: str) -> Path | None:
    """The private key's file that a URI names; None for a key that is in no file here."""
    scheme, _, rest = uri.partition(":")
    if scheme == "file2":
        return Path(rest)
    return None if scheme in SIGNER_FOR_URI_SCHEME else Path(uri)


def load_signer(uri: str, public_key: Path | None = None) -> Signer:
    """A signer by URI, or by the plain path of a PEM file.

    A key that is in no file here (HSM, KMS, Vault) needs its public half as a PEM file. Raises
    :class:`KeyFault` when the key cannot be used, or others can read or replace it.
    """
    path = key_file(uri)
    if path is None:
        return _remote_signer(uri, public_key)
    try:
        return CryptoSigner(load_pem_private_key(_private_bytes(path), None))
    except (ValueError, TypeError, UnsupportedAlgorithm, LibraryError) as error:
        raise KeyFault("key_unusable", "The signing key is no key that can be used here.", _MAKE_ONE) from error


def _private_bytes(path: Path) -> bytes:
    try:
        # Without O_NONBLOCK the opening of a FIFO would wait for its writer.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise KeyFault("key_unreadable", f"{str(path)!r} is no plain file.", _MAKE_ONE)
            if status.st_mode & 0o077:
                raise KeyFault(
                    "key_exposed", "Others on this machine can read the signing key.", f"Run: chmod 600 {path}"
                )
            if status.st_uid not in (0, os.geteuid()):
                raise KeyFault("key_not_owned", "The signing key belongs to someone else.", "Use a key of your own.")
            if status.st_nlink != 1:
                raise KeyFault("key_linked", "The signing key has a second name elsewhere.", "Remove the hard link.")
            return file.read(_MAX_KEY_BYTES)
    except FileNotFoundError as error:
        raise KeyFault("key_missing", f"There is no signing key at {path}.", _MAKE_ONE) from error
    except (OSError, ValueError) as error:
        raise KeyFault("key_unreadable", f"The signing key {str(path)!r} cannot be read.", _MAKE_ONE) from error


def _remote_signer(uri: str, public_key: Path | None) -> Signer:
    if public_key is None:
        raise KeyFault("key_public_missing", "A key outside this machine needs its public half.", "Give --public-key.")
    public = load_public_key(public_key)
    # Behind these schemes stand other people's clients, each with exceptions of its own.
    try:
        return Signer.from_priv_key_uri(uri, public)
    except Exception as error:
        raise KeyFault(
            "key_unusable",
            f"The signing key's service cannot be used: {type(error).__name__}.",
            "Check the URI and that the client for its scheme is installed.",
        ) from error


def load_public_key(path: Path) -> SSlibKey:
    """A public key from its PEM file. Raises :class:`KeyFault`."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            data = file.read(_MAX_KEY_BYTES)
    except (OSError, ValueError) as error:
        raise KeyFault("key_unreadable", f"The public key {str(path)!r} cannot be read.", "Check the path.") from error
    try:
        return SSlibKey.from_crypto(load_pem_public_key(data or b""))
    except (ValueError, TypeError, UnsupportedAlgorithm, LibraryError) as error:
        raise KeyFault("key_unusable", f"{str(path)!r} is no public key in PEM form.", _MAKE_ONE) from error


def public_pem(signer: CryptoSigner) -> bytes:
    """The PEM of the public half of a key that is in memory here."""
    key = load_pem_private_key(signer.private_bytes, None).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
