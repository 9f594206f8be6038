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
    NoEncryption,
    PrivateFormat,
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
    signer = CryptoSigner.generate_ed25519()
    key = load_pem_private_key(signer.private_bytes, None)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        private.parent.mkdir(parents=True, exist_ok=True)
        for path, mode, data in (
            (private, 0o600, secret),
            (public, 0o644, public_pem(signer)),
        ):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
                file.write(data)
    except FileExistsError as error:
        raise KeyFault("key_exists", f"{error.filename} exists already.", "Choose another path.") from error
    except OSError as error:
        raise KeyFault("key_unwritable", f"The key cannot be written: {error.strerror}.", "Check the path.") from error
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
    :class:`KeyFault` when the key cannot be used or others can read it.
    """
    path = key_file(uri)
    try:
        if path is None:
            if public_key is None:
                raise KeyFault(
                    "key_public_missing", "A key outside this machine needs its public half.", "Give --public-key."
                )
            return Signer.from_priv_key_uri(uri, load_public_key(public_key))
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise KeyFault(
                    "key_exposed", "Others on this machine can read the signing key.", f"Run: chmod 600 {path}"
                )
            data = file.read(_MAX_KEY_BYTES)
        return CryptoSigner(load_pem_private_key(data, None))
    except KeyFault:
        raise
    except FileNotFoundError as error:
        raise KeyFault("key_missing", f"There is no signing key at {path}.", _MAKE_ONE) from error
    except OSError as error:
        raise KeyFault("key_unreadable", f"The signing key cannot be read: {error.strerror}.", _MAKE_ONE) from error
    except (ValueError, TypeError, UnsupportedAlgorithm, LibraryError, ImportError) as error:
        raise KeyFault("key_unusable", "The signing key is no key that can be used here.", _MAKE_ONE) from error


def load_public_key(path: Path) -> SSlibKey:
    """A public key from its PEM file. Raises :class:`KeyFault`."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_KEY_BYTES)
        return SSlibKey.from_crypto(load_pem_public_key(data))
    except OSError as error:
        raise KeyFault(
            "key_unreadable", f"The public key {str(path)!r} cannot be read: {error.strerror}.", "Check the path."
        ) from error
    except (ValueError, TypeError, UnsupportedAlgorithm, LibraryError) as error:
        raise KeyFault("key_unusable", f"{str(path)!r} is no public key in PEM form.", _MAKE_ONE) from error


def public_pem(signer: CryptoSigner) -> bytes:
    """The PEM of the public half of a key that is in memory here."""
    key = load_pem_private_key(signer.private_bytes, None).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
