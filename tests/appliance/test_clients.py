"""The clients of model providers, with their real packages, against a real server on this machine."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from appliance.clients import open_client
from appliance.clients.provider import MAX_ANSWER_BYTES, OWN_KEY
from appliance.errors import UsageError
from judge.parsing import MAX_REPLY_BYTES
from judge.result import VisualJudgeResult
from receipt.digests import sha256_hex
from receipt.evidence import TrustedRenderEvidence
from receipt.png import decode_png, encode_png, to_rgb8
from tests.appliance.provider_server import Handler, Protocol, Server, good, serving
from tests.judge import scored_kit
from tests.judge.scored_kit import MODEL, judged, reply
from tests.receipt.adversary import bundle

PROTOCOLS: tuple[Protocol, ...] = ("openai", "anthropic")
SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", OWN_KEY):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(OWN_KEY, SECRET)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):  # a proxy that would answer nothing: none is to be asked
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as state:
        yield state


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> TrustedRenderEvidence:
    return scored_kit.load(tmp_path_factory.mktemp("evidence"))


def ask(server: Server, protocol: Protocol, evidence: TrustedRenderEvidence, **changes: Any) -> VisualJudgeResult:
    """One judgment through the client that a command line would open."""
    client, config = open_client(f"{protocol}:{MODEL}@{server.address}/v1")
    return judged(evidence, client, config=replace(config, **({"timeout_seconds": 20.0} | changes)))


def test_the_evidence_is_labelled_as_a_fixture(evidence: TrustedRenderEvidence) -> None:
    assert evidence.fixture is True


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_good_answer_is_scored_with_model_request_and_usage(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol
) -> None:
    server.answers(good(protocol))
    result = ask(server, protocol, evidence)
    assert (result.status, result.score) == ("scored", 0.75), result
    assert result.provider is not None and result.usage is not None
    assert result.provider.provider_id == f"{protocol}-compatible@{server.address}/v1"
    assert (result.provider.served_model, result.provider.provider_request_id) == (MODEL, "req-1")
    total = 1050 if protocol == "openai" else None
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.total_tokens) == (1000, 50, total)
    assert len(server.asked) == 1


def _parts(protocol: Protocol, body: dict[str, Any]) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """Instructions, the user's parts, the reply's schema, out of a request as it came over the wire."""
    if protocol == "openai":
        system, user = body["messages"]
        assert system["role"] == "system" and user["role"] == "user"
        form = body["response_format"]["json_schema"]
        assert form["strict"] is True
        return system["content"], user["content"], form["schema"]
    (user,) = body["messages"]
    return body["system"], user["content"], body["output_config"]["format"]["schema"]


def _picture(part: dict[str, Any]) -> bytes:
    if part["type"] == "image_url":
        kind, _, data = part["image_url"]["url"].partition(",")
        assert kind == "data:image/png;base64"
        return base64.b64decode(data, validate=True)
    assert part["source"]["media_type"] == "image/png"
    return base64.b64decode(part["source"]["data"], validate=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_exact_pictures_go_out_in_order_under_neutral_labels(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol
) -> None:
    server.answers(good(protocol))
    ask(server, protocol, evidence)
    path, headers, body = server.asked[0]
    assert path == ("/v1/chat/completions" if protocol == "openai" else "/v1/v1/messages")
    assert sum(SECRET in value for value in headers.values()) == 1
    instructions, parts, schema = _parts(protocol, body)
    client = scored_kit.Client()
    judged(evidence, client)
    request = client.requests[0]
    assert (instructions, parts[0]["text"]) == (request.instructions, request.untrusted_context)
    assert [part["text"] for part in parts[1::2]] == [image.label for image in request.images]
    assert [_picture(part) for part in parts[2::2]] == [image.data for image in request.images]
    assert body["model"] == MODEL
    assert schema["additionalProperties"] is False and schema["required"] == ["criteria"]
    assert "maxLength" not in json.dumps(schema)
    assert set(schema["properties"]["criteria"]["items"]["properties"]) == {
        "id",
        "level",
        "unassessable",
        "observation",
    }


FAULTS: list[tuple[int, str]] = [
    (400, "provider_rejected"),
    (401, "provider_credentials"),
    (403, "provider_credentials"),
    (404, "provider_rejected"),
    (408, "provider_timeout"),
    (409, "provider_rejected"),
    (413, "provider_rejected"),
    (422, "provider_rejected"),
    (429, "provider_rate_limited"),
    (500, "provider_unavailable"),
    (503, "provider_unavailable"),
    (529, "provider_unavailable"),
    (302, "provider_rejected"),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("status", "reason"), FAULTS)
def test_an_error_of_the_providers_is_named_and_not_tried_again(
    server: Server,
    evidence: TrustedRenderEvidence,
    protocol: Protocol,
    status: int,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    words = {"error": {"type": "x", "message": f"your key {SECRET} is bad", "code": SECRET}}
    server.answers(words, status, {"retry-after": "0", "location": f"{server.address}/elsewhere"})
    result = ask(server, protocol, evidence)
    assert (result.status, result.reason, result.score) == ("failed", reason, None)
    assert len(server.asked) == 1, "neither tried again nor led elsewhere"
    assert result.provider is not None and result.provider.provider_request_id == "req-1"
    assert SECRET not in result.model_dump_json() + caplog.text


def _cut(handler: Handler) -> None:
    """Half an answer, and then a reset."""
    handler.begin(200, {"content-length": "1000"})
    handler.wfile.write(b'{"id": ')
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def _close(handler: Handler) -> None:
    handler.connection.close()


def _no_http(handler: Handler) -> None:
    handler.wfile.write(b"220 this is another protocol\r\n\r\n")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("temper", [_cut, _close, _no_http])
def test_a_cut_connection_is_unreachable(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol, temper: Any
) -> None:
    server.temper = temper
    result = ask(server, protocol, evidence)
    assert (result.status, result.reason) == ("failed", "provider_unreachable")
    assert len(server.asked) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nobody_at_the_address_is_unreachable(evidence: TrustedRenderEvidence, protocol: Protocol) -> None:
    with serving() as gone:
        pass
    assert ask(gone, protocol, evidence).reason == "provider_unreachable"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_answer_beyond_the_timeout_is_none(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol
) -> None:
    def silent(handler: Handler) -> None:
        server.over.wait(30)

    def dripping(handler: Handler) -> None:
        handler.begin(200, {"content-length": "100000"})
        while not server.over.wait(0.02):  # each byte in time, the whole never
            handler.wfile.write(b" ")
            handler.wfile.flush()

    for temper in (silent, dripping):
        server.temper = temper
        assert ask(server, protocol, evidence, timeout_seconds=0.5).reason == "provider_timeout"
    assert len(server.asked) == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_client_ends_by_itself_when_an_answer_drips(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol
) -> None:
    from judge.failures import ProviderFailure

    def dripping(handler: Handler) -> None:
        handler.begin(200, {"content-length": "100000"})
        while not server.over.wait(0.02):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    server.temper = dripping
    recorder = scored_kit.Client()
    judged(evidence, recorder)
    client, config = open_client(f"{protocol}:{MODEL}@{server.address}/v1")
    request = replace(recorder.requests[0], settings=config.settings)
    begun = time.monotonic()
    with pytest.raises(ProviderFailure) as caught:
        client.complete(request, timeout_seconds=0.3)
    assert caught.value.code == "provider_timeout"
    assert time.monotonic() - begun < 20, "no thread is left behind"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"<html>", b'{"a": 1, "a": 2}', b'{"a": NaN}', b"\xff\xfe", b"[" * 10000, b"{}"],
    ids=repr,
)  # fmt: skip
def test_an_answer_that_is_not_of_the_protocol_is_malformed(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol, body: bytes
) -> None:
    server.answers(body)
    result = ask(server, protocol, evidence)
    assert (result.status, result.reason) == ("failed", "provider_malformed")
    assert len(server.asked) == 1


ODD: list[tuple[Protocol, dict[str, Any]]] = [
    ("openai", {"choices": []}),
    ("openai", {"choices": None}),
    ("openai", {"choices": [{"finish_reason": "stop", "message": {"content": None}}]}),
    ("openai", {"choices": [{"finish_reason": "stop", "message": {"content": [{"type": "text", "text": "{}"}]}}]}),
    ("openai", {"choices": [{"finish_reason": "tool_calls", "message": {"content": "{}"}}]}),
    ("openai", {"choices": [{"message": {"content": "{}"}}]}),
    ("anthropic", {"content": []}),
    ("anthropic", {"content": None}),
    ("anthropic", {"content": [{"type": "text", "text": "{}"}, {"type": "text", "text": "{}"}]}),
    ("anthropic", {"content": [{"type": "tool_use", "input": {}}], "stop_reason": "tool_use"}),
    ("anthropic", {"stop_reason": None}),
    ("anthropic", {"stop_reason": "pause_turn"}),
]


@pytest.mark.parametrize(("protocol", "changes"), ODD, ids=str)
def test_an_answer_without_one_text_is_malformed_and_its_usage_is_kept(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol, changes: dict[str, Any]
) -> None:
    server.answers(good(protocol, **changes))
    result = ask(server, protocol, evidence)
    assert (result.status, result.reason) == ("failed", "provider_malformed")
    assert result.usage is not None and result.usage.output_tokens == 50


def _ended(protocol: Protocol, how: str) -> dict[str, Any]:
    """A whole and valid reply, whose end says that it is none."""
    if protocol == "anthropic":
        return good(protocol, stop_reason={"refused": "refusal", "cut": "max_tokens"}[how])
    answer = good(protocol)
    answer["choices"][0]["finish_reason"] = {"refused": "content_filter", "cut": "length"}[how]
    return answer


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("how", "reason"), [("refused", "reply_refused"), ("cut", "reply_truncated")])
def test_a_refusal_or_a_reply_that_was_cut_off_gives_no_score_and_keeps_usage(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol, how: str, reason: str
) -> None:
    server.answers(_ended(protocol, how))
    result = ask(server, protocol, evidence)
    assert (result.status, result.reason, result.score) == ("failed", reason, None)
    assert result.usage is not None and result.usage.input_tokens == 1000
    assert result.provider is not None and result.provider.served_model == MODEL
    assert result.response_sha256 is None


def test_a_refusal_in_a_field_of_its_own_is_one(server: Server, evidence: TrustedRenderEvidence) -> None:
    answer = good("openai")
    answer["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    server.answers(answer)
    assert ask(server, "openai", evidence).reason == "reply_refused"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "another-model"}, "served_model_mismatch"),
        ({"model": None}, "served_model_missing"),
        ({"model": ""}, "served_model_missing"),
        ({"model": [MODEL]}, "served_model_missing"),
    ],
)
def test_threat_9_a_server_that_serves_another_model_or_names_none_gets_no_score(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol, changes: dict[str, Any], reason: str
) -> None:
    server.answers(good(protocol, **changes))
    result = ask(server, protocol, evidence)
    assert (result.status, result.reason, result.score) == ("failed", reason, None)
    assert result.usage is not None and result.usage.output_tokens == 50


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("Here it is: {}", "reply_not_json"),
        ("", "reply_empty"),
        (json.dumps(reply({"shape": 5})), "reply_invalid"),
        (json.dumps(reply(score=1)), "reply_invalid"),
        ("x" * (MAX_REPLY_BYTES + 1), "reply_too_big"),
    ],
    ids=["prose", "empty", "off the scale", "an aggregate", "oversized"],
)
def test_a_reply_of_no_use_is_the_judges_to_refuse(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol, words: str, reason: str
) -> None:
    answer = good(protocol)
    if protocol == "openai":
        answer["choices"][0]["message"]["content"] = words
    else:
        answer["content"][0]["text"] = words
    server.answers(answer)
    assert ask(server, protocol, evidence).reason == reason


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_flood_is_cut_off(server: Server, evidence: TrustedRenderEvidence, protocol: Protocol) -> None:
    sent: list[int] = []

    def flood(handler: Handler) -> None:
        handler.begin(200, {"content-length": str(1 << 40)})
        while not server.over.is_set():
            handler.wfile.write(b" " * (1 << 20))
            sent.append(1 << 20)

    server.temper = flood
    assert ask(server, protocol, evidence).reason == "reply_too_big"
    assert sum(sent) < 8 * MAX_ANSWER_BYTES


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_is_unpacked(server: Server, evidence: TrustedRenderEvidence, protocol: Protocol) -> None:
    server.answers(gzip.compress(b" " * (64 << 20)), 200, {"content-encoding": "gzip"})
    assert ask(server, protocol, evidence).reason == "provider_malformed"
    assert server.asked[0][1]["accept-encoding"] == "identity"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sixteen_bits_are_reduced_openly(server: Server, tmp_path: Path, protocol: Protocol) -> None:
    made = bundle(fixture=True, views=("front.beauty", "front.clay"))
    deep = (np.arange(2 * 2 * 3, dtype=">u2") * 5000).tobytes()
    for record in made.receipt["images"]:
        made.pngs[record["path"]] = encode_png(deep, 2, 2, 16)
    evidence = made.refresh().seal().put(tmp_path).load()
    server.answers(good(protocol))
    result = ask(server, protocol, evidence)
    assert result.status == "scored", result
    _, parts, _ = _parts(protocol, server.asked[0][2])
    data = _picture(parts[2])
    shown = decode_png(data)
    assert shown.bit_depth == 8
    assert (to_rgb8(shown) == to_rgb8(decode_png(encode_png(deep, 2, 2, 16)))).all()
    assert result.sidecar == {
        "reduced_to_8_bits": [
            {"label": f"{role}, view 1, {one}", "sent_sha256": sha256_hex(data)}
            for one in ("beauty", "clay")
            for role in ("reference", "candidate")
        ]
    }


HIDDEN = ["http://user:pass@127.0.0.1/v1", f"http://127.0.0.1/v1?key={SECRET}", f"http://{SECRET}@127.0.0.1"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        *((url, "client_address_invalid") for url in HIDDEN),
        ("http://127.0.0.1/#x", "client_address_invalid"),
        ("http://", "client_unknown"),
        ("http://127.0.0.1:port/v1", "client_address_invalid"),
        ("http://[::1/v1", "client_address_invalid"),
        ("http://models.example/v1", "client_address_unsafe"),
    ],
)
def test_an_address_that_could_leak_a_key_is_refused_and_not_shown(protocol: Protocol, url: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_client(f"{protocol}:{MODEL}@{url}")
    assert caught.value.code == reason
    assert SECRET not in caught.value.message + caught.value.remedy and "pass" not in caught.value.message.split()


@pytest.mark.parametrize(("protocol", "name"), [("openai", "OPENAI"), ("anthropic", "ANTHROPIC")])
def test_one_providers_key_never_goes_to_an_address_that_somebody_typed(
    server: Server,
    evidence: TrustedRenderEvidence,
    protocol: Protocol,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(OWN_KEY)
    monkeypatch.setenv(f"{name}_API_KEY", SECRET)
    server.answers(good(protocol))
    assert ask(server, protocol, evidence).status == "scored"
    assert SECRET not in json.dumps(server.asked[0][1])
    client, config = open_client(f"{protocol}:{MODEL}")
    assert (client.provider_id, config.provider_id, config.model) == (protocol, protocol, MODEL)
    assert SECRET not in repr(client.__dict__) + repr(config)
    monkeypatch.setenv(f"{name}_BASE_URL", server.address)
    with pytest.raises(UsageError) as caught:
        open_client(f"{protocol}:{MODEL}")
    assert caught.value.code == "client_address_hidden"
    monkeypatch.delenv(f"{name}_BASE_URL")
    monkeypatch.delenv(f"{name}_API_KEY")
    with pytest.raises(UsageError) as caught:
        open_client(f"{protocol}:{MODEL}")
    assert caught.value.code == "client_key_missing"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_key_is_in_no_log_at_any_level(
    server: Server, evidence: TrustedRenderEvidence, protocol: Protocol, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "anthropic", "httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name)
    server.answers(good(protocol))
    assert ask(server, protocol, evidence).status == "scored"
    assert SECRET not in caplog.text
    assert base64.b64encode(evidence.images[0].data)[:40].decode() not in caplog.text


def test_a_name_with_a_date_behind_an_at_sign_is_a_model() -> None:
    _, config = open_client("anthropic:model@20260101@http://127.0.0.1:1/v1")
    assert (config.model, config.provider_id) == (
        "model@20260101",
        "anthropic-compatible@http://127.0.0.1:1/v1",
    )


@pytest.mark.parametrize("spec", [
        "openai:", "openai", "anthropic: x", "openai:a b", "openai:\x1b[31m", "openai:m@localhost:8000/v1",
        "openai:m@http:/x", "openai:m@", "openai:m@ftp://x",
    ])  # fmt: skip
def test_a_spec_that_cannot_be_meant_is_refused(spec: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_client(spec)
    assert caught.value.code == "client_unknown"
