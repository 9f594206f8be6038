"""Keys: private where they are made, refused where others could read, replace or share them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa, x25519
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from securesystemslib.signer import CryptoSigner

from receipt.attestation import Predicate, open_envelope, sign
from receipt.errors import KeyFault
from receipt.keys import ephemeral_signer, generate_key, key_file, load_public_key, load_signer, public_pem
from tests.receipt.adversary import bundle


@pytest.fixture
def private(tmp_path: Path) -> Path:
    generate_key(tmp_path / "k.pem")
    return tmp_path / "k.pem"


def _pem(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_made_key_signs_and_is_private(tmp_path: Path, umask: int) -> None:
    private = tmp_path / "keys" / "k.pem"
    before = os.umask(umask)
    try:
        public = generate_key(private)
    finally:
        os.umask(before)
    assert (private.stat().st_mode & 0o777, public.stat().st_mode & 0o777) == (0o600, 0o644)
    assert private.parent.stat().st_mode & 0o077 == 0
    signer = load_signer(f"file2:{private}")
    assert isinstance(signer, CryptoSigner)
    assert signer.public_key.keyid == load_public_key(public).keyid == load_signer(str(private)).public_key.keyid
    assert public.read_bytes() == public_pem(signer)


@pytest.mark.parametrize("there", ["k.pem", "k.pem.pub"])
def test_an_existing_key_is_never_overwritten_and_no_half_pair_is_left(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(KeyFault) as caught:
        generate_key(tmp_path / "k.pem")
    assert caught.value.code == "key_exists"
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_a_key_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "k.pem").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyFault):
        generate_key(tmp_path / "k.pem")
    assert not (tmp_path / "elsewhere").exists()


def test_where_nothing_can_be_written_there_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KeyFault) as caught:
        generate_key(tmp_path / "file" / "k.pem")
    assert caught.value.code == "key_unwritable"


def test_keys_that_others_can_read_replace_or_share_are_refused(private: Path, tmp_path: Path) -> None:
    for mode in (0o640, 0o604, 0o644, 0o660):
        private.chmod(mode)
        with pytest.raises(KeyFault) as caught:
            load_signer(str(private))
        assert caught.value.code == "key_exposed"
    private.chmod(0o600)
    load_signer(str(private))
    (tmp_path / "second-name").hardlink_to(private)
    with pytest.raises(KeyFault) as caught:
        load_signer(str(private))
    assert caught.value.code == "key_linked"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_someone_else_is_refused(private: Path) -> None:
    os.chown(private, 12345, 12345)
    with pytest.raises(KeyFault) as caught:
        load_signer(str(private))
    assert caught.value.code == "key_not_owned"


def test_keys_that_cannot_be_used_are_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    traditional = (Encoding.PEM, PrivateFormat.PKCS8)
    cases = {
        str(_pem(tmp_path / "garbage", b"no key")): "key_unusable",
        str(_pem(tmp_path / "empty", b"")): "key_unusable",
        str(
            _pem(tmp_path / "x25519", x25519.X25519PrivateKey.generate().private_bytes(*traditional, NoEncryption()))
        ): "key_unusable",
        str(
            _pem(tmp_path / "dsa", dsa.generate_private_key(1024).private_bytes(*traditional, NoEncryption()))
        ): "key_unusable",
        str(
            _pem(
                tmp_path / "locked",
                ec.generate_private_key(ec.SECP256R1()).private_bytes(*traditional, BestAvailableEncryption(b"x")),
            )
        ): "key_unusable",
        str(tmp_path / "none"): "key_missing",
        f"file2:{tmp_path / 'none'}": "key_missing",
        "unknown-scheme:x": "key_missing",
        str(tmp_path): "key_unreadable",
        str(tmp_path / "fifo"): "key_unreadable",
        "a\0b": "key_unreadable",
        "hsm:": "key_public_missing",
    }
    for uri, code in cases.items():
        with pytest.raises(KeyFault) as caught:
            load_signer(uri)
        assert caught.value.code == code, uri


@pytest.mark.parametrize("uri", ["hsm:2?label=x", "gcpkms:projects/x", "awskms:x", "azurekms://x", "hv:x"])
def test_a_key_service_whose_client_is_not_here_is_refused_by_name(private: Path, uri: str) -> None:
    """These services are passed through to their clients, none of which is installed for the tests."""
    with pytest.raises(KeyFault) as caught:
        load_signer(uri, private.with_name("k.pem.pub"))
    assert caught.value.code == "key_unusable"


@pytest.mark.parametrize("kind", ["rsa", "p256", "p384"])
def test_other_kinds_of_keys_sign_and_verify(tmp_path: Path, kind: str) -> None:
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey
    if kind == "rsa":
        key = rsa.generate_private_key(65537, 2048)
    else:
        key = ec.generate_private_key(ec.SECP256R1() if kind == "p256" else ec.SECP384R1())
    path = _pem(tmp_path / "k", key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    signer = load_signer(str(path))
    assert isinstance(signer, CryptoSigner)
    (tmp_path / "k.pub").write_bytes(public_pem(signer))
    data = sign({"a": "0" * 64}, Predicate.model_validate(bundle().predicate), [signer])
    assert open_envelope(data, [load_public_key(tmp_path / "k.pub")])[1] == (signer.public_key.keyid,)


def test_public_keys_that_are_none_are_refused(tmp_path: Path, private: Path) -> None:
    (tmp_path / "garbage").write_text("no key")
    for path, code in (
        (tmp_path / "garbage", "key_unusable"),
        (private, "key_unusable"),
        (tmp_path / "none", "key_unreadable"),
        (tmp_path, "key_unreadable"),
    ):
        with pytest.raises(KeyFault) as caught:
            load_public_key(path)
        assert caught.value.code == code, path


def test_a_uri_names_its_file_and_a_service_has_none() -> None:
    assert key_file("file2:/a/b.pem") == Path("/a/b.pem")
    assert key_file("keys/with:colon.pem") == Path("keys/with:colon.pem")
    assert key_file("hsm:2") is None


def test_an_ephemeral_key_is_new_each_time() -> None:
    assert ephemeral_signer().public_key.keyid != ephemeral_signer().public_key.keyid
