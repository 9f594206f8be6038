"""Any :class:`JudgeClient` as an evaluator, so that one way to a model serves both policies."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Literal, TypeVar

from judge.acceptance.errors import AcceptanceError
from judge.acceptance.evidence import EvidenceItem
from judge.acceptance.ports import EvaluatorRequest
from judge.acceptance.reply import (
    EvaluatorCall,
    EvaluatorMetadata,
    EvaluatorResponse,
    EvaluatorResult,
    EvaluatorUsage,
)
from judge.acceptance.request import ImageRole
from judge.acceptance.versions import PACKAGE_VERSION
from judge.calling import call, check_served_model, checked_usage, failure_of
from judge.errors import JudgeError, ReplyError
from judge.ports import JudgeClient, LabelledImage, ProviderConfig, ProviderRequest, ProviderResponse
from receipt.digests import canonical_json, sha256_hex
from receipt.errors import FormatError

T = TypeVar("T")

_ROLES: Final[dict[ImageRole, Literal["reference", "candidate"]]] = {
    "product_truth": "reference",
    "style_reference": "reference",
    "output": "candidate",
}


class ClientEvaluator:
    """Puts the question to a client and its answer before the judge, which alone validates it.

    An asynchronous client is cancelled with the judgment. One that blocks runs on a daemon thread, which
    nothing can end: it is left behind and its answer is dropped.
    """

    def __init__(self, client: JudgeClient, config: ProviderConfig) -> None:
        """:raises JudgeError: ``provider_mismatch``."""
        require_provider(client, config)
        self._client = client
        self._config = config

    async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> EvaluatorResult:  # noqa: ARG002
        """One call.

        :raises ReplyError: the client failed, timed out or returned no response.
        :raises AcceptanceError: ``invalid_evaluator_metadata``: another model was served than the one asked for.
        """
        response = await complete(self._client, provider_request(request, self._config))
        usage = evaluator_usage(response)
        try:
            served = check_served_model(response, self._config)
        except ReplyError as error:
            known = EvaluatorCall(metadata=None, usage=usage)
            raise AcceptanceError(
                "invalid_evaluator_metadata", error.message, path="metadata.model", call=known
            ) from None
        return EvaluatorResult(response=response.reply, metadata=self._metadata(response, served), usage=usage)

    def _metadata(self, response: ProviderResponse, served: str) -> EvaluatorMetadata:
        request_id = response.provider_request_id
        return EvaluatorMetadata(
            evaluator_id="client",
            evaluator_version=PACKAGE_VERSION,
            provider=self._config.provider_id,
            model=self._config.model,
            model_version=served,
            provider_request_id=request_id if isinstance(request_id, str) else None,
        )


def require_provider(client: JudgeClient, config: ProviderConfig) -> None:
    """:raises JudgeError: ``provider_mismatch``: the client speaks to another provider than the configured one."""
    if client.provider_id != config.provider_id:
        raise JudgeError(
            "provider_mismatch",
            "The client speaks to another provider than the configured one.",
            "Configure the provider that the client declares.",
        )


def evaluator_usage(response: ProviderResponse) -> EvaluatorUsage:
    """Usage as reported; what is no amount is unknown."""
    usage = checked_usage(response.usage)
    return EvaluatorUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cost_usd=usage.cost_usd,
    )


def known_of(error: JudgeError) -> EvaluatorCall | None:
    """What is known of a call that failed, usage above all; None where nothing came back."""
    known = error.known if isinstance(error, ReplyError) else None
    if not isinstance(known, ProviderResponse):
        return None
    return EvaluatorCall(metadata=None, usage=evaluator_usage(known))


def provider_request(request: EvaluatorRequest, config: ProviderConfig) -> ProviderRequest:
    """An evaluator's request as a client takes it: the policy in ``instructions``, all else as data.

    :raises JudgeError: ``media_type_unsupported``: clients take PNG.
    """
    counts: dict[ImageRole, int] = {}
    images: list[LabelledImage] = []
    for item in request.evidence:
        counts[item.role] = counts.get(item.role, 0) + 1
        images.append(_labelled(item, counts[item.role]))
    context = canonical_json(
        {
            "inputFingerprint": request.input_fingerprint,
            "request": request.untrusted_context.model_dump(mode="json"),
            "images": [
                {"label": image.label, "id": item.id, "role": item.role}
                for image, item in zip(images, request.evidence, strict=True)
            ],
        }
    ).decode()
    schema = EvaluatorResponse.model_json_schema()
    return seal(
        ProviderRequest(
            instructions=request.instructions,
            untrusted_context=context,
            images=tuple(images),
            response_schema=MappingProxyType(schema),
            model=config.model,
            settings=MappingProxyType(dict(config.settings)),
            timeout_seconds=float(config.timeout_seconds),
        )
    )


def seal(request: ProviderRequest) -> ProviderRequest:
    """The request with the hash of everything in it.

    :raises JudgeError: ``settings_invalid``: the model's settings are no plain JSON.
    """
    document = {
        "instructions": request.instructions,
        "context": request.untrusted_context,
        "images": [{"label": image.label, "sha256": image.sha256} for image in request.images],
        "response_schema": dict(request.response_schema),
        "model": request.model,
        "settings": dict(request.settings),
        "timeout_seconds": request.timeout_seconds,
    }
    try:
        return replace(request, request_sha256=sha256_hex(canonical_json(document)))
    except FormatError as error:
        raise JudgeError(
            "settings_invalid",
            f"The model's settings are no plain JSON: {error.message}",
            "Use settings that JSON can carry.",
        ) from error


def _labelled(item: EvidenceItem, number: int) -> LabelledImage:
    if item.metadata.media_type != "image/png":
        raise JudgeError(
            "media_type_unsupported",
            f"A client takes PNG images, and image {item.id!r} is {item.metadata.media_type}.",
            "Use an evaluator of your own for other formats.",
        )
    return LabelledImage(
        label=f"{item.role} {number}: {item.id}",
        role=_ROLES[item.role],
        view=number,
        pass_name=None,
        media_type="image/png",
        sha256=item.content_hash,
        data=item.bytes,
    )


async def complete(client: JudgeClient, request: ProviderRequest) -> ProviderResponse:
    """One call of a client of either kind, never repeated, under the request's timeout.

    :raises ReplyError: ``provider_type``, or one of :data:`judge.failures.FAILURES`.
    """
    if not inspect.iscoroutinefunction(client.complete):
        return await _on_daemon_thread(lambda: call(client, request))
    try:
        async with asyncio.timeout(request.timeout_seconds):
            answer: object = await client.complete(request, timeout_seconds=request.timeout_seconds)
    except Exception as error:  # noqa: BLE001 - a client may raise anything
        raise failure_of(error, request) from None
    if not isinstance(answer, ProviderResponse):
        raise ReplyError("provider_type", "The client did not return a ProviderResponse.")
    return answer


async def _on_daemon_thread(work: Callable[[], T]) -> T:
    """Unlike the loop's own executor, a daemon thread holds up neither a cancellation nor the loop's end."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(act: Callable[[], None]) -> None:
        # The judgment may be over and its loop closed before a client that blocks comes back.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if outcome.done() else act())

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - carried over to the waiting side unchanged
            failure = error
            settle(lambda: outcome.set_exception(failure))
        else:
            settle(lambda: outcome.set_result(result))

    threading.Thread(target=run, name="acceptance-client", daemon=True).start()
    return await outcome
