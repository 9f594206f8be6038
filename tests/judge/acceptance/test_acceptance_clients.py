"""Any judge client as an evaluator: what it is asked, what is believed, and how it ends."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from judge.acceptance import (
    JUDGE_INSTRUCTIONS,
    PACKAGE_VERSION,
    AcceptanceError,
    ClientEvaluator,
    EvaluatorResponse,
    create_judge,
    parse_request,
)
from judge.errors import JudgeError, ReplyError
from judge.ports import ProviderConfig, ProviderRequest, ProviderResponse, Usage
from tests.judge.acceptance.acceptance_kit import (
    FRONT,
    Access,
    Inspector,
    Json,
    available,
    check,
    judge,
    picture,
    request_json,
    run,
    sha256,
)

CONFIG = ProviderConfig("some-provider", "m-1", settings={"temperature": 0}, timeout_seconds=20.0)


def _reply(request: ProviderRequest) -> str:
    context = json.loads(request.untrusted_context)
    frozen = context["request"]
    checks = [check(criterion, frozen["outputs"]) for criterion in frozen["goal"]["criteria"]]
    return json.dumps({"inputFingerprint": context["inputFingerprint"], "checks": checks})


Answer = Callable[[ProviderRequest], Any]


def _good(request: ProviderRequest) -> ProviderResponse:
    return ProviderResponse(_reply(request), "m-1", "r-9", Usage(10, 2, 12, 0.5))


class Blocking:
    provider_id = "some-provider"

    def __init__(self, answer: Answer = _good) -> None:
        self.answer = answer
        self.requests: list[ProviderRequest] = []

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
        assert timeout_seconds == request.timeout_seconds
        self.requests.append(request)
        return self.answer(request)


class Awaiting(Blocking):
    async def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
        await asyncio.sleep(0)
        return super().complete(request, timeout_seconds=timeout_seconds)


class Returning(Blocking):
    """Not a coroutine function, and yet it returns an awaitable."""

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
        answer = super().complete(request, timeout_seconds=timeout_seconds)

        async def later() -> Any:
            return answer

        return later()


KINDS = [Blocking, Awaiting, Returning]


@pytest.mark.parametrize("kind", KINDS)
def test_blocking_and_asynchronous_clients_serve_alike(kind: type[Blocking]) -> None:
    client = kind()
    report = judge(inspector=ClientEvaluator(client, CONFIG))
    assert report.verdict == "pass"
    assert len(client.requests) == 1
    assert report.evaluator is not None
    assert report.evaluator.model_dump(mode="json") == {
        "evaluatorId": "client",
        "evaluatorVersion": PACKAGE_VERSION,
        "provider": "some-provider",
        "model": "m-1",
        "modelVersion": "m-1",
        "providerRequestId": "r-9",
    }
    assert report.usage is not None
    assert report.usage.model_dump(mode="json") == {
        "inputTokens": 10,
        "outputTokens": 2,
        "totalTokens": 12,
        "costUsd": 0.5,
    }


def test_the_client_is_given_the_policy_as_instructions_and_all_else_as_data() -> None:
    client = Blocking()
    judge(inspector=ClientEvaluator(client, CONFIG))
    (request,) = client.requests
    assert request.instructions == JUDGE_INSTRUCTIONS
    context = json.loads(request.untrusted_context)
    assert context["request"] == request_json()
    assert [(image["id"], image["role"]) for image in context["images"]] == [
        ("truth", "product_truth"),
        ("style", "style_reference"),
        ("front-1", "output"),
        ("back-1", "output"),
    ]
    assert [image.label for image in request.images] == [image["label"] for image in context["images"]]
    assert [image.role for image in request.images] == ["reference", "reference", "candidate", "candidate"]
    assert request.images[2].data == FRONT
    assert dict(request.response_schema) == EvaluatorResponse.model_json_schema()
    assert (request.model, dict(request.settings), request.timeout_seconds) == ("m-1", {"temperature": 0}, 20.0)
    assert len(request.request_sha256) == 64


def test_a_request_has_one_hash_and_another_model_another() -> None:
    hashes = []
    for model in ("m-1", "m-1", "m-2"):
        client = Blocking(lambda request: ProviderResponse(_reply(request), request.model))
        judge(inspector=ClientEvaluator(client, ProviderConfig("some-provider", model)))
        hashes.append(client.requests[0].request_sha256)
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize("served", [None, "", "m-2", "m-1-mini", "m-1-2025-1-1"])
def test_another_model_than_the_one_asked_for_is_a_technical_error_that_keeps_the_usage(served: str | None) -> None:
    client = Blocking(lambda request: ProviderResponse(_reply(request), served, None, Usage(total_tokens=7)))
    with pytest.raises(AcceptanceError) as caught:
        judge(inspector=ClientEvaluator(client, CONFIG))
    assert (caught.value.code, caught.value.path) == ("invalid_evaluator_metadata", "metadata.model")
    assert caught.value.call is not None
    assert caught.value.call.usage is not None
    assert caught.value.call.usage.total_tokens == 7


@pytest.mark.parametrize("served", ["m-1-2025-01-31", "alias"])
def test_a_dated_or_listed_name_is_recorded_as_the_models_version(served: str) -> None:
    config = ProviderConfig("some-provider", "m-1", accepted_models=("alias",))
    client = Blocking(lambda request: ProviderResponse(_reply(request), served))
    report = judge(inspector=ClientEvaluator(client, config))
    assert report.evaluator is not None
    assert (report.evaluator.model, report.evaluator.model_version) == ("m-1", served)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (RuntimeError("secret"), "provider_error"),
        (TimeoutError(), "provider_timeout"),
        ("a string", "provider_type"),
        (None, "provider_type"),
    ],
)
def test_a_client_that_fails_is_called_once_and_named_by_its_failure(
    kind: type[Blocking], answer: object, code: str
) -> None:
    def act(request: ProviderRequest) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = kind(act)
    with pytest.raises(ReplyError) as caught:
        judge(inspector=ClientEvaluator(client, CONFIG))
    assert caught.value.code == code
    assert "secret" not in caught.value.message
    assert len(client.requests) == 1


@pytest.mark.parametrize("reply", ["", "prose", "```json\n{}\n```", b"\xff", "[]", 5, "{}"])
def test_a_reply_that_is_no_strict_json_is_refused_with_its_call(reply: Any) -> None:
    client = Blocking(lambda request: ProviderResponse(reply, "m-1", None, Usage(total_tokens=7)))
    with pytest.raises(AcceptanceError) as caught:
        judge(inspector=ClientEvaluator(client, CONFIG))
    assert caught.value.code == "invalid_evaluator_response"
    assert caught.value.call is not None
    assert caught.value.call.usage is not None
    assert caught.value.call.usage.total_tokens == 7


def test_a_client_of_another_provider_is_refused_before_any_call() -> None:
    with pytest.raises(JudgeError) as caught:
        ClientEvaluator(Blocking(), ProviderConfig("other", "m-1"))
    assert caught.value.code == "provider_mismatch"


def test_settings_that_are_no_json_are_refused_before_any_call() -> None:
    client = Blocking()
    config = ProviderConfig("some-provider", "m-1", settings={"temperature": float("nan")})
    with pytest.raises(JudgeError) as caught:
        judge(inspector=ClientEvaluator(client, config))
    assert (caught.value.code, client.requests) == ("settings_invalid", [])


def test_an_image_that_is_no_png_is_refused_before_any_call() -> None:
    request, client = request_json(), Blocking()
    data = picture(8, 10, kind="JPEG")
    request["outputs"][0]["contentHash"] = sha256(data)
    answer: Json = available("front-1", mediaType="image/jpeg") | {"bytes": data, "contentHash": sha256(data)}
    with pytest.raises(JudgeError) as caught:
        judge(request, Access(front_1=answer), ClientEvaluator(client, CONFIG))
    assert (caught.value.code, client.requests) == ("media_type_unsupported", [])


def test_an_asynchronous_client_is_cancelled_with_the_judgment() -> None:
    ended: list[str] = []

    class Slow(Blocking):
        async def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

    async def whole() -> None:
        made = create_judge(evaluator=ClientEvaluator(Slow(), CONFIG), evidence_access=Access())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await made.judge(parse_request(request_json()))

    run(whole())
    assert ended == ["cancelled"]


@pytest.mark.parametrize("kind", ["blocking", "awaiting"])
def test_a_client_that_ignores_its_timeout_is_left_behind(kind: str) -> None:
    release = threading.Event()

    class Deaf(Blocking):
        def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
            release.wait(20)
            return None

    class Asleep(Blocking):
        async def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> Any:
            await asyncio.sleep(20)

    client = Deaf() if kind == "blocking" else Asleep()
    config = ProviderConfig("some-provider", "m-1", timeout_seconds=0.05)
    try:
        with pytest.raises(ReplyError) as caught:
            judge(inspector=ClientEvaluator(client, config))
    finally:
        release.set()
    assert caught.value.code == "provider_timeout"


def test_a_cancelled_judgment_does_not_wait_for_a_client_that_blocks() -> None:
    started, release = threading.Event(), threading.Event()

    def act(request: ProviderRequest) -> object:
        started.set()
        release.wait(20)
        return _good(request)

    async def whole() -> None:
        made = create_judge(evaluator=ClientEvaluator(Blocking(act), CONFIG), evidence_access=Access())
        task = asyncio.create_task(made.judge(request_json()))
        while not started.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not release.is_set()
        # Its late answer is dropped without a word.
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        release.set()
        while any(thread.name in ("judge-client", "acceptance-client") for thread in threading.enumerate()):
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)

    complaints: list[Json] = []
    try:
        run(whole())
    finally:
        release.set()
    assert complaints == []


def test_the_kits_inspector_and_a_client_that_says_the_same_lead_to_the_same_findings() -> None:
    by_client = judge(inspector=ClientEvaluator(Blocking(), CONFIG))
    assert by_client.criteria == judge(inspector=Inspector()).criteria
