"""The envelope: what is signed, how it can fail, and that other tools can read it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.signer import Key, Signature, Signer

from receipt.attestation import PAYLOAD_TYPE, PREDICATE_TYPE, Predicate, open_envelope, sign
from receipt.digests import canonical_json
from receipt.errors import FormatError, KeyFault, ReceiptError, VerificationError
from receipt.keys import public_pem
from tests.receipt.adversary import SIGNER, bundle, envelope

PREDICATE = Predicate.model_validate(bundle().predicate)
KEYS = [SIGNER.public_key]
GOOD = sign({"b": "1" * 64, "a": "0" * 64}, PREDICATE, [SIGNER])


def _payload(data: bytes) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(base64.b64decode(json.loads(data)["payload"]))
    return value


def test_the_statement_says_what_in_toto_asks_for() -> None:
    value = _payload(GOOD)
    assert value["_type"] == "https://in-toto.io/Statement/v1"
    assert value["predicateType"] == PREDICATE_TYPE
    assert value["subject"] == [
        {"name": "a", "digest": {"sha256": "0" * 64}},
        {"name": "b", "digest": {"sha256": "1" * 64}},
    ]
    assert set(value["predicate"]) >= {"episode_id", "started", "finished", "host", "isolation"}


def test_the_same_words_signed_twice_are_the_same_bytes() -> None:
    assert sign({"a": "0" * 64, "b": "1" * 64}, PREDICATE, [SIGNER]) == GOOD


def test_what_was_signed_is_read_back() -> None:
    statement, key_ids = open_envelope(GOOD, KEYS)
    assert statement.predicate == PREDICATE
    assert key_ids == (SIGNER.public_key.keyid,)


def test_someone_who_has_only_securesystemslib_verifies_the_envelope(tmp_path: Path) -> None:
    """In a process of its own that imports nothing of this project."""
    (tmp_path / "attestation.dsse.json").write_bytes(GOOD)
    (tmp_path / "k.pub").write_bytes(public_pem(SIGNER))
    code = (
        "import json, sys\n"
        "from cryptography.hazmat.primitives.serialization import load_pem_public_key\n"
        "from securesystemslib.dsse import Envelope\n"
        "from securesystemslib.signer import SSlibKey\n"
        "key = SSlibKey.from_crypto(load_pem_public_key(open('k.pub', 'rb').read()))\n"
        "envelope = Envelope.from_dict(json.load(open('attestation.dsse.json')))\n"
        "assert envelope.payload_type == 'application/vnd.in-toto+json'\n"
        "envelope.verify([key], 1)\n"
        "assert 'receipt' not in sys.modules\n"
        "print(json.loads(envelope.payload)['predicate']['episode_id'])\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, check=True, timeout=60)
    assert done.stdout == b"ep-1\n"


def test_an_envelope_put_together_by_another_tool_is_read_here() -> None:
    data = envelope(json.dumps(_payload(GOOD), indent=1).encode(), [SIGNER])
    assert open_envelope(data, KEYS)[0].predicate == PREDICATE


@pytest.mark.parametrize("kind", ["", "text/plain", "application/vnd.in-toto+json; x"])
def test_a_valid_signature_over_another_kind_of_payload_is_refused(kind: str) -> None:
    with pytest.raises(VerificationError) as caught:
        open_envelope(envelope(canonical_json(_payload(GOOD)), [SIGNER], kind), KEYS)
    assert caught.value.code == "payload_type"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"_type": "https://in-toto.io/Statement/v0.1"}, "statement_type"),
        ({"predicateType": "https://slsa.dev/provenance/v1"}, "statement_type"),
        ({"_type": None}, "statement_type"),
        ({"subject": []}, "statement_malformed"),
        ({"subject": [{"name": "a", "digest": {"sha256": "0" * 64}}] * 2}, "statement_malformed"),
        ({"subject": [{"name": "a", "digest": {"sha1": "0" * 40}}]}, "statement_malformed"),
        ({"subject": [{"name": "", "digest": {"sha256": "0" * 64}}]}, "statement_malformed"),
        ({"subject": [{"name": "a", "digest": {"sha256": "A" * 64}}]}, "statement_malformed"),
        ({"predicate": None}, "statement_malformed"),
        ({"more": 1}, "statement_malformed"),
    ],
)
def test_a_signed_payload_that_is_no_statement_of_ours_is_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(FormatError) as caught:
        open_envelope(envelope(canonical_json(_payload(GOOD) | changes), [SIGNER]), KEYS)
    assert caught.value.code == code


def test_a_signed_payload_with_a_key_twice_is_refused() -> None:
    payload = canonical_json(_payload(GOOD))[:-1] + b',"_type":"https://in-toto.io/Statement/v1"}'
    with pytest.raises(FormatError) as caught:
        open_envelope(envelope(payload, [SIGNER]), KEYS)
    assert caught.value.code == "json_duplicate_key"


class _BrokenSigner(Signer):
    """A key service that fails as services do."""

    @property
    def public_key(self) -> Key:
        return SIGNER.public_key

    def sign(self, payload: bytes) -> Signature:
        raise ConnectionResetError("the module went away")

    @classmethod
    def from_priv_key_uri(cls, *_: Any, **__: Any) -> Signer:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("subjects", "signers", "kind", "code"),
    [
        ({"a": "0" * 64}, [], KeyFault, "no_signer"),
        ({"a": "0" * 64}, [_BrokenSigner()], KeyFault, "signing_failed"),
        ({}, [SIGNER], FormatError, "statement_malformed"),
        ({"a": "x"}, [SIGNER], FormatError, "statement_malformed"),
        ({"": "0" * 64}, [SIGNER], FormatError, "statement_malformed"),
        ({str(n).zfill(1024): "0" * 64 for n in range(4096)}, [SIGNER], None, ""),
        ({str(n): "0" * 64 for n in range(4097)}, [SIGNER], FormatError, "statement_malformed"),
    ],
    ids=["no key", "broken key", "no subject", "no hash", "no name", "the most subjects", "one more"],
)
def test_what_cannot_be_signed_is_refused_by_name(
    subjects: dict[str, str], signers: list[Signer], kind: type[ReceiptError] | None, code: str
) -> None:
    if kind is None:
        assert len(open_envelope(sign(subjects, PREDICATE, signers), KEYS)[0].subject) == len(subjects)
        return
    with pytest.raises(kind) as caught:
        sign(subjects, PREDICATE, signers)
    assert caught.value.code == code


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "payload": JSON,
            "payloadType": st.just(PAYLOAD_TYPE) | JSON,
            "signatures": st.lists(
                st.fixed_dictionaries({}, optional={"keyid": st.just(KEYS[0].keyid) | JSON, "sig": JSON})
            )
            | JSON,
        },
    )
)
def test_any_envelope_raises_nothing_but_a_receipt_error(value: dict[str, Any]) -> None:
    with pytest.raises(ReceiptError):
        open_envelope(json.dumps(value).encode(), KEYS)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_signed_payload_raises_nothing_but_a_receipt_error(data: st.DataObject) -> None:
    payload = data.draw(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
    with pytest.raises(FormatError):
        open_envelope(envelope(payload, [SIGNER]), KEYS)
