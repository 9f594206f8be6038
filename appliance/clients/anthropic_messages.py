"""``anthropic:MODEL[@BASE_URL]``: messages with pictures and a JSON schema, by the provider's own package."""

from __future__ import annotations

from typing import Any, Final

import anthropic

from appliance.clients.provider import (
    Endpoint,
    at,
    failure_of,
    http_options,
    portable,
    read_body,
    read_endpoint,
    sent,
    sidecar_of,
    text_or_none,
    usage_of,
)
from judge.failures import ProviderFailure
from judge.ports import ProviderConfig, ProviderRequest, ProviderResponse

MAX_TOKENS: Final = 8192
TIMEOUT_SECONDS: Final = 300.0
_NOT_TAKEN: Final = frozenset(
    {"maxLength", "minLength", "minimum", "maximum", "minItems", "maxItems", "title", "default"}
)


def open_anthropic(words: str) -> tuple[AnthropicMessages, ProviderConfig]:
    """Client and configuration for ``MODEL[@BASE_URL]``. Raises :class:`appliance.errors.UsageError`."""
    endpoint = read_endpoint(words, key_name="ANTHROPIC_API_KEY", url_name="ANTHROPIC_BASE_URL")
    config = ProviderConfig(
        provider_id=endpoint.provider_id("anthropic"),
        model=endpoint.model,
        settings={"max_tokens": MAX_TOKENS},
        timeout_seconds=TIMEOUT_SECONDS,
    )
    return AnthropicMessages(endpoint), config


class AnthropicMessages:
    """A judge client over messages. One call is one request over HTTP; the settings go out as they are."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @property
    def provider_id(self) -> str:
        """``anthropic``, or ``anthropic-compatible@BASE_URL``."""
        return self._endpoint.provider_id("anthropic")

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> ProviderResponse:
        """One call. Raises :class:`ProviderFailure` and nothing else."""
        try:
            images = [sent(image) for image in request.images]
            content: list[dict[str, Any]] = [{"type": "text", "text": request.untrusted_context}]
            for image in images:
                source = {"type": "base64", "media_type": "image/png", "data": image.base64}
                content += [{"type": "text", "text": image.label}, {"type": "image", "source": source}]
            schema = portable(request.response_schema, _NOT_TAKEN)
            data = self._post(
                {
                    **request.settings,
                    "model": request.model,
                    "system": request.instructions,
                    "messages": [{"role": "user", "content": content}],
                    "output_config": {"format": {"type": "json_schema", "schema": schema}},
                },
                timeout_seconds,
            )
        except Exception as error:  # noqa: BLE001 - whatever the package raises becomes a named failure
            raise failure_of(error) from None
        return read_message(read_body(data[0]), data[1], sidecar_of(images))

    def _post(self, body: dict[str, Any], timeout_seconds: float) -> tuple[bytes, str | None]:
        options = http_options(self._endpoint, timeout_seconds)
        with (
            anthropic.DefaultHttpxClient(**options) as http,
            anthropic.Anthropic(
                api_key=self._endpoint.key,
                base_url=self._endpoint.base_url,
                max_retries=0,
                timeout=timeout_seconds,
                http_client=http,
            ) as client,
        ):
            answer = client.messages.with_raw_response.create(**body)
            return answer.http_response.content, answer.headers.get("request-id")


def read_message(body: dict[str, Any], request_id: str | None, sidecar: Any) -> ProviderResponse:
    """A message's answer. Raises :class:`ProviderFailure`, which keeps the usage that was reported. Pure.

    Tokens that came out of a cache or went into one were read, too, and count as input.
    """
    counts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    read = [at(body, "usage", name) for name in counts]
    given = sum(one for one in read if isinstance(one, int)) if isinstance(read[0], int) else None
    known = ProviderResponse(
        reply="",
        served_model=text_or_none(body.get("model")),
        provider_request_id=request_id or text_or_none(body.get("id")),
        usage=usage_of(given, at(body, "usage", "output_tokens")),
        sidecar=sidecar,
    )
    stopped = body.get("stop_reason")
    if stopped == "refusal":
        raise ProviderFailure("reply_refused", known)
    if stopped in ("max_tokens", "model_context_window_exceeded"):
        raise ProviderFailure("reply_truncated", known)
    blocks = body.get("content")
    texts = [at(one, "text") for one in blocks if at(one, "type") == "text"] if isinstance(blocks, list) else []
    if stopped not in ("end_turn", "stop_sequence") or len(texts) != 1 or not isinstance(texts[0], str):
        raise ProviderFailure("provider_malformed", known)
    return ProviderResponse(texts[0], known.served_model, known.provider_request_id, known.usage, known.sidecar)
