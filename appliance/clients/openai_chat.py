"""``openai:MODEL[@BASE_URL]``: chat completions with pictures and a JSON schema, by the provider's own package.

Any server that speaks the protocol will do (vLLM, llama.cpp, hosted ones).
"""

from __future__ import annotations

from typing import Any, Final

import openai

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

MAX_TOKENS: Final = 16384
"""Of an answer, thinking included."""
TIMEOUT_SECONDS: Final = 300.0
_NOT_TAKEN: Final = frozenset({"maxLength", "minLength", "title", "default"})


def open_openai(words: str) -> tuple[OpenAIChat, ProviderConfig]:
    """Client and configuration for ``MODEL[@BASE_URL]``. Raises :class:`appliance.errors.UsageError`."""
    endpoint = read_endpoint(words, key_name="OPENAI_API_KEY", url_name="OPENAI_BASE_URL")
    config = ProviderConfig(
        provider_id=endpoint.provider_id("openai"),
        model=endpoint.model,
        settings={"max_completion_tokens": MAX_TOKENS},
        timeout_seconds=TIMEOUT_SECONDS,
    )
    return OpenAIChat(endpoint), config


class OpenAIChat:
    """A judge client over chat completions. One call is one request over HTTP; the settings go out as they are."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @property
    def provider_id(self) -> str:
        """``openai``, or ``openai-compatible@BASE_URL``."""
        return self._endpoint.provider_id("openai")

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> ProviderResponse:
        """One call. Raises :class:`ProviderFailure` and nothing else."""
        try:
            images = [sent(image) for image in request.images]
            content: list[dict[str, Any]] = [{"type": "text", "text": request.untrusted_context}]
            for image in images:
                url = f"data:image/png;base64,{image.base64}"
                content += [
                    {"type": "text", "text": image.label},
                    {"type": "image_url", "image_url": {"url": url}},
                ]
            schema = portable(request.response_schema, _NOT_TAKEN)
            data = self._post(
                {
                    **request.settings,
                    "model": request.model,
                    "messages": [
                        {"role": "system", "content": request.instructions},
                        {"role": "user", "content": content},
                    ],
                    "response_format": {
                        "type": "json_schema",
                        "json_schema": {"name": "judgment", "strict": True, "schema": schema},
                    },
                },
                timeout_seconds,
            )
        except Exception as error:  # noqa: BLE001 - whatever the package raises becomes a named failure
            raise failure_of(error) from None
        return read_completion(read_body(data[0]), data[1], sidecar_of(images))

    def _post(self, body: dict[str, Any], timeout_seconds: float) -> tuple[bytes, str | None]:
        options = http_options(self._endpoint, timeout_seconds)
        with (
            openai.DefaultHttpxClient(**options) as http,
            openai.OpenAI(
                api_key=self._endpoint.key,
                base_url=self._endpoint.base_url,
                max_retries=0,
                timeout=timeout_seconds,
                http_client=http,
            ) as client,
        ):
            answer = client.chat.completions.with_raw_response.create(**body)
            return answer.http_response.content, answer.headers.get("x-request-id")


def read_completion(body: dict[str, Any], request_id: str | None, sidecar: Any) -> ProviderResponse:
    """A chat completion's answer. Raises :class:`ProviderFailure`, which keeps the usage that was reported. Pure."""
    known = ProviderResponse(
        reply="",
        served_model=text_or_none(body.get("model")),
        provider_request_id=request_id or text_or_none(body.get("id")),
        usage=usage_of(*(at(body, "usage", name) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))),
        sidecar=sidecar,
    )
    choice = at(body, "choices", 0)
    finished = at(choice, "finish_reason")
    if finished == "content_filter" or at(choice, "message", "refusal"):
        raise ProviderFailure("reply_refused", known)
    if finished == "length":
        raise ProviderFailure("reply_truncated", known)
    reply = at(choice, "message", "content")
    if not isinstance(reply, str) or finished != "stop":
        raise ProviderFailure("provider_malformed", known)
    return ProviderResponse(reply, known.served_model, known.provider_request_id, known.usage, known.sidecar)
