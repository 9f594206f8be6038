"""Whatever a client does ends in a record with a stable reason, in bounded time, and after one call."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from judge.calling import check_served_model, checked_usage
from judge.errors import ReplyError
from judge.failures import FAILURES, ProviderFailure
from judge.ports import ProviderConfig, ProviderRequest, ProviderResponse, Usage
from judge.result import FAILED
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import CONFIG, MODEL, AsyncClient, Client, judged, reply, response

QUICK = replace(CONFIG, timeout_seconds=0.2)


def _raise(error: BaseException) -> Any:
    def answer(request: ProviderRequest) -> Any:
        raise error

    return answer


class _Own(Exception):
    pass


RAISED = [
    RuntimeError("key sk-secret-1"), ValueError(), KeyError("x"), _Own(), SystemExit(0), KeyboardInterrupt(),
    GeneratorExit(), MemoryError(), RecursionError(), StopIteration(),
]  # fmt: skip


@pytest.mark.parametrize("error", RAISED, ids=lambda one: type(one).__name__)
def test_whatever_a_client_raises_is_the_providers_failure(
    evidence: TrustedRenderEvidence, error: BaseException
) -> None:
    client = Client(_raise(error))
    result = judged(evidence, client)
    assert (result.status, result.reason, result.score) == ("failed", "provider_error", None)
    assert len(client.requests) == len(result.calls) == 1
    assert (result.usage, result.response_sha256) == (None, None)
    assert result.request_sha256 == client.requests[0].request_sha256
    assert "sk-secret" not in result.model_dump_json()


@pytest.mark.parametrize("error", [*RAISED, asyncio.CancelledError()], ids=lambda one: type(one).__name__)
def test_whatever_an_asynchronous_client_raises_is_the_providers_failure(
    evidence: TrustedRenderEvidence, error: BaseException
) -> None:
    client = AsyncClient(_raise(error))
    result = judged(evidence, client)
    assert (result.status, result.reason, result.score) == ("failed", "provider_error", None)
    assert len(client.requests) == 1


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_says_it_ran_out_of_time_is_believed(evidence: TrustedRenderEvidence, kind: type[Client]) -> None:
    assert judged(evidence, kind(_raise(TimeoutError("slow")))).reason == "provider_timeout"


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_both_kinds_of_client_work_and_are_handed_the_timeout(
    evidence: TrustedRenderEvidence, kind: type[Client]
) -> None:
    client = kind()
    assert judged(evidence, client).status == "scored"
    assert client.timeouts == [20.0]
    assert client.requests[0].timeout_seconds == 20.0


def test_an_awaitable_out_of_a_plain_function_is_awaited(evidence: TrustedRenderEvidence) -> None:
    async def later() -> ProviderResponse:
        await asyncio.sleep(0)
        return response(reply())

    assert judged(evidence, Client(lambda request: later())).status == "scored"


def test_an_asynchronous_client_works_beneath_a_running_loop(evidence: TrustedRenderEvidence) -> None:
    async def host() -> str:
        return judged(evidence, AsyncClient()).status

    assert asyncio.run(host()) == "scored"


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that nobody sets until the test is over."""
    event = threading.Event()
    yield event
    event.set()


def test_a_client_that_ignores_the_timeout_is_left_behind(
    evidence: TrustedRenderEvidence, never: threading.Event
) -> None:
    def answer(request: ProviderRequest) -> Any:
        never.wait(60)
        return response(reply())

    client = Client(answer)
    begun = time.monotonic()
    result = judged(evidence, client, config=QUICK)
    assert time.monotonic() - begun < 10
    assert (result.status, result.reason, result.score) == ("failed", "provider_timeout", None)
    assert len(client.requests) == 1
    waiting = [thread for thread in threading.enumerate() if thread.name == "judge-client"]
    assert waiting and all(thread.daemon for thread in waiting)


def test_an_asynchronous_client_that_ignores_the_timeout_is_cancelled(evidence: TrustedRenderEvidence) -> None:
    ended = threading.Event()

    async def forever() -> Any:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    assert judged(evidence, AsyncClient(lambda request: forever()), config=QUICK).reason == "provider_timeout"
    assert ended.wait(10)


def test_an_asynchronous_client_that_cannot_be_cancelled_is_left_behind(
    evidence: TrustedRenderEvidence, never: threading.Event
) -> None:
    async def stubborn() -> Any:
        while not never.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return response(reply())

    begun = time.monotonic()
    assert judged(evidence, AsyncClient(lambda request: stubborn()), config=QUICK).reason == "provider_timeout"
    assert time.monotonic() - begun < 10


class _More(ProviderResponse):
    pass


@dataclass
class _Alike:
    reply: str
    served_model: str
    provider_request_id: str | None = None
    usage: Usage | None = None


@pytest.mark.parametrize(
    "answer",
    [
        None, "{}", b"{}", reply(), 1, (response(reply()),), SimpleNamespace(reply="{}", served_model=MODEL),
        _Alike("{}", MODEL), _More("{}", MODEL), ProviderResponse,
    ],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_anything_but_a_response_is_refused(evidence: TrustedRenderEvidence, kind: type[Client], answer: Any) -> None:
    client = kind(lambda request: answer)
    result = judged(evidence, client)
    assert (result.status, result.reason) == ("failed", "provider_type")
    assert len(client.requests) == 1


def test_the_reasons_for_a_failure_are_a_closed_list() -> None:
    assert set(FAILED) == {
        "provider_timeout", "provider_error", "provider_type", "reply_empty", "reply_too_big", "reply_not_json",
        "reply_invalid", "served_model_missing", "served_model_mismatch", "provider_unreachable",
        "provider_unavailable", "provider_rate_limited", "provider_credentials", "provider_rejected",
        "provider_malformed", "reply_refused", "reply_truncated",
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("code", sorted(FAILURES))
def test_a_client_may_name_its_failure_and_what_is_known_is_kept(
    evidence: TrustedRenderEvidence, kind: type[Client], code: str
) -> None:
    known = response("key sk-secret-1", provider_request_id="r-9")
    result = judged(evidence, kind(_raise(ProviderFailure(code, known))))
    assert (result.status, result.reason, result.detail, result.score) == ("failed", code, FAILURES[code], None)
    assert result.usage is not None and result.usage.total_tokens == 120
    assert result.provider is not None
    assert (result.provider.served_model, result.provider.provider_request_id) == (MODEL, "r-9")
    assert result.response_sha256 is None
    assert "sk-secret" not in result.model_dump_json()


@pytest.mark.parametrize("code", ["own_code", "served_model_mismatch", "", None, 5, ["provider_error"]])
def test_a_failure_that_is_on_no_list_has_no_name(evidence: TrustedRenderEvidence, code: Any) -> None:
    result = judged(evidence, Client(_raise(ProviderFailure(code, "nothing known"))))  # type: ignore[arg-type]
    assert (result.reason, result.usage) == ("provider_error", None)


def test_no_thread_to_be_had_is_the_calls_failure(
    evidence: TrustedRenderEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert judged(evidence, Client()).reason == "provider_error"


@pytest.mark.parametrize("served", [None, "", "  ", "\n", 5, b"judge-model", [MODEL]], ids=repr)
def test_threat_9_a_provider_that_omits_its_model_gets_no_score(evidence: TrustedRenderEvidence, served: Any) -> None:
    result = judged(evidence, Client(response(reply(), served_model=served)))
    assert (result.status, result.reason, result.score) == ("failed", "served_model_missing", None)
    assert result.response_sha256 is not None
    assert result.usage is not None and result.usage.total_tokens == 120


ACCEPTED = [
    MODEL, f"{MODEL}-20260131", f"{MODEL}-2026-01-31", f"{MODEL}@20251201", f"{MODEL}:2025-12-01", "alias-1",
    "Alias Two",
]  # fmt: skip
REFUSED = [
    "other-model", MODEL.upper(), f"{MODEL}-mini", f"{MODEL} ", f" {MODEL}", f"{MODEL}20260131", f"{MODEL}-2026013",
    f"{MODEL}-20261301", f"{MODEL}-20260132", f"{MODEL}-2026-0131", f"{MODEL}-202601-31", f"{MODEL}-20260131\n",
    f"{MODEL}\n", f"{MODEL}-20260131-mini", f"{MODEL}--20260131", f"{MODEL}-19991231", f"{MODEL}-0131",
    f"x{MODEL}-20260131", f"{MODEL}-２０２６０１３１", "alias-1-20260131", "alias", "A", MODEL[:-1], "-20260131",
]  # fmt: skip


@pytest.mark.parametrize("served", ACCEPTED)
def test_a_model_may_answer_by_its_name_with_a_date_or_by_a_listed_alias(
    evidence: TrustedRenderEvidence, served: str
) -> None:
    config = replace(CONFIG, accepted_models=("alias-1", "Alias Two"))
    result = judged(evidence, Client(response(reply(), served_model=served)), config=config)
    assert result.status == "scored"
    assert result.provider is not None
    assert (result.provider.requested_model, result.provider.served_model) == (MODEL, served)


@pytest.mark.parametrize("served", REFUSED, ids=ascii)
def test_threat_9_another_model_than_the_one_asked_for_gets_no_score(
    evidence: TrustedRenderEvidence, served: str
) -> None:
    config = replace(CONFIG, accepted_models=("alias-1", "Alias Two"))
    result = judged(evidence, Client(response(reply(), served_model=served)), config=config)
    assert (result.status, result.reason, result.score) == ("failed", "served_model_mismatch", None)
    assert result.provider is not None
    assert result.provider.served_model == " ".join(served.split())


def test_the_served_models_name_is_harmless_in_the_record() -> None:
    hostile = "\x1b[31mjudge\u202e" + "x" * 5000
    with pytest.raises(ReplyError) as caught:
        check_served_model(ProviderResponse("{}", hostile), ProviderConfig("p", "m"))
    assert "\x1b" not in caught.value.message and "\u202e" not in caught.value.message
    assert len(caught.value.message) < 500


@pytest.mark.parametrize(
    ("reported", "kept"),
    [
        (Usage(1, 2, 3, 0.5), Usage(1, 2, 3, 0.5)),
        (Usage(0, 0, 0, 0), Usage(0, 0, 0, 0.0)),
        (Usage(1, None, None, None), Usage(1, None, None, None)),
        (Usage(-1, True, 1.5, -0.1), Usage()),  # type: ignore[arg-type]
        (Usage("1", b"2", [3], "4"), Usage()),  # type: ignore[arg-type]
        (Usage(2**53, 10**400, 5, 10**400), Usage(None, None, 5, None)),
        (Usage(1, 1, 1, float("nan")), Usage(1, 1, 1, None)),
        (Usage(1, 1, 1, float("inf")), Usage(1, 1, 1, None)),
        (None, Usage()),
        ({"input_tokens": 5}, Usage()),
    ],
    ids=repr,
)
def test_usage_is_kept_as_reported_and_what_is_no_amount_is_unknown(reported: Any, kept: Usage) -> None:
    assert checked_usage(reported) == kept


@pytest.mark.parametrize("words", ["", "no json", "{}"])
def test_usage_and_request_id_are_kept_when_the_reply_is_of_no_use(evidence: TrustedRenderEvidence, words: str) -> None:
    result = judged(evidence, Client(response(words)))
    assert result.status == "failed"
    assert result.usage is not None
    assert result.usage.model_dump() == {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "cost_usd": 0.25,
    }
    assert result.provider is not None and result.provider.provider_request_id == "r-1"
    assert result.response_sha256 is not None


def test_a_failure_is_not_tried_again(evidence: TrustedRenderEvidence) -> None:
    client = Client(_raise(RuntimeError("once")), response(reply()))
    assert judged(evidence, client).status == "failed"
    assert len(client.requests) == 1
