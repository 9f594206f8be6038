"""What the clients of model providers share: address and key, bounded answers, pictures as sent, named failures.

The key is read from the environment here and goes to the provider's own package; it is in no configuration,
record, log or error. Where a base URL is given, the key is that of ``RENDER_JUDGE_CLIENT_KEY``: the key of one
provider never travels to an address that somebody typed. Nothing is tried again and no redirection is followed.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
import numpy as np

from appliance.errors import UsageError
from judge.failures import ProviderFailure
from judge.parsing import MAX_REPLY_BYTES
from judge.ports import LabelledImage, ProviderResponse, Usage
from receipt.digests import sha256_hex
from receipt.errors import FormatError
from receipt.png import decode_png, encode_png, to_rgb8
from receipt.strict_json import parse_object

MAX_ANSWER_BYTES: Final = 4 * MAX_REPLY_BYTES
"""Of an answer as a whole; a reply of the greatest size, escaped as JSON, fits."""
OWN_KEY: Final = "RENDER_JUDGE_CLIENT_KEY"
NO_KEY: Final = "no-key"
_SPEC: Final = re.compile(r"(?P<model>[!-?A-~]{1,200}(?:@[0-9]+)?)(?:@(?P<url>https?://[!-~]{1,1000}))?")
"""In a model's own name only a date follows an at sign, so that a mistyped address is never taken for a name."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Endpoint:
    """Model, address (None: the provider's own) and key, which shows in no representation."""

    model: str
    base_url: str | None
    key: str = field(repr=False)

    def provider_id(self, name: str) -> str:
        """The provider by name, or the protocol and the address that speaks it."""
        return name if self.base_url is None else f"{name}-compatible@{self.base_url}"

    @property
    def loopback(self) -> bool:
        """Is it on this machine? No proxy of the environment's is used then."""
        return self.base_url is not None and urlsplit(self.base_url).hostname in _LOOPBACK


def read_endpoint(words: str, *, key_name: str, url_name: str) -> Endpoint:
    """``MODEL[@BASE_URL]`` with its key. Raises :class:`UsageError`, which never shows address or key."""
    found = _SPEC.fullmatch(words)
    if found is None:
        raise UsageError("client_unknown", "The model's name or base URL cannot be meant.", "Write MODEL@BASE_URL.")
    model, url = found["model"], found["url"]
    if url is not None:
        key = os.environ.get(OWN_KEY, "").strip()
        return Endpoint(model, _checked_url(url, keyed=bool(key)), key or NO_KEY)
    if os.environ.get(url_name):
        raise UsageError(
            "client_address_hidden",
            f"{url_name} would send the pictures to another address than the record says.",
            f"Unset it, and give the address openly: MODEL@BASE_URL, with its key in {OWN_KEY}.",
        )
    key = os.environ.get(key_name, "").strip()
    if not key:
        raise UsageError("client_key_missing", "The provider's key is missing.", f"Put it into {key_name}.")
    return Endpoint(model, None, key)


def _checked_url(url: str, *, keyed: bool) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        # Not shown: a name and password in an address would go into logs and records.
        raise UsageError(
            "client_address_invalid",
            "The base URL is none, or holds a name, a password, a query or a fragment.",
            f"Give scheme, host, port and path alone; a key belongs into {OWN_KEY}.",
        )
    if keyed and parts.scheme != "https" and host not in _LOOPBACK:
        raise UsageError(
            "client_address_unsafe",
            "A key would travel unencrypted to another machine.",
            f"Use https, or unset {OWN_KEY} where the server needs no key.",
        )
    return url.rstrip("/")


class _Bounded(httpx2.SyncByteStream):
    """An answer's bytes, up to a number of them and a moment."""

    def __init__(self, stream: Any, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._stream:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise ProviderFailure("reply_too_big")
            if time.monotonic() > self._deadline:
                raise ProviderFailure("provider_timeout")
            yield chunk

    def close(self) -> None:
        self._stream.close()


def http_options(endpoint: Endpoint, timeout_seconds: float) -> dict[str, Any]:
    """For the packages' own HTTP client: no redirection, no compression, an answer bounded in bytes and time."""
    for name in ("openai", "anthropic", "httpx2", "httpcore2"):
        # Their debug logs hold whole requests, pictures included; what they warn of is told by our own record.
        logging.getLogger(name).setLevel(logging.WARNING)
    deadline = time.monotonic() + timeout_seconds

    def bound(response: Any) -> None:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise ProviderFailure("provider_malformed")  # nothing compressed was asked for: it could unpack for ever
        response.stream = _Bounded(response.stream, deadline)

    return {
        "follow_redirects": False,
        "trust_env": not endpoint.loopback,
        "timeout": timeout_seconds,
        "headers": {"accept-encoding": "identity"},
        "event_hooks": {"response": [bound]},
    }


def failure_of(error: BaseException) -> ProviderFailure:
    """A failure of a provider's package as one of the closed list. What the provider said is not taken over."""
    found: BaseException | None = error
    while found is not None:  # the packages wrap what a stream or a hook raises
        if isinstance(found, ProviderFailure):
            return found
        found = found.__cause__ or found.__context__
    status, request_id = getattr(error, "status_code", None), getattr(error, "request_id", None)
    if isinstance(status, int):
        known = ProviderResponse("", None, request_id if isinstance(request_id, str) else None)
        return ProviderFailure(_of_status(status), known)
    found = error
    while found is not None:
        if isinstance(found, TimeoutError | httpx2.TimeoutException) or type(found).__name__ == "APITimeoutError":
            return ProviderFailure("provider_timeout")
        if isinstance(found, httpx2.HTTPError | OSError) or type(found).__name__ == "APIConnectionError":
            return ProviderFailure("provider_unreachable")
        found = found.__cause__ or found.__context__
    return ProviderFailure("provider_malformed" if isinstance(error, ValueError) else "provider_error")


def _of_status(status: int) -> str:
    if status in (401, 403):
        return "provider_credentials"
    if status == 408:
        return "provider_timeout"
    if status == 429:
        return "provider_rate_limited"
    return "provider_unavailable" if status >= 500 else "provider_rejected"


def read_body(data: bytes) -> dict[str, Any]:
    """An answer's JSON object. Raises :class:`ProviderFailure`."""
    try:
        return parse_object(data, max_bytes=MAX_ANSWER_BYTES)
    except FormatError as error:
        raise ProviderFailure("provider_malformed") from error


def at(value: Any, *path: str | int) -> Any:
    """What stands at a path of an answer, None where nothing does."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def text_or_none(value: object) -> str | None:
    """A text, None for anything else."""
    return value if isinstance(value, str) else None


def usage_of(given: object, taken: object, total: object = None) -> Usage:
    """Tokens as reported; the judge makes unknown what is no amount."""
    return Usage(*(one if isinstance(one, int) else None for one in (given, taken, total)))


@dataclass(frozen=True)
class SentImage:
    """A picture as it goes out: the request's own bytes, unless its samples have 16 bits."""

    label: str
    base64: str
    reduced: dict[str, str] | None


def sent(image: LabelledImage) -> SentImage:
    """Providers read 8 bits a sample; 16 are reduced here, by a rounding that is the same everywhere, and recorded."""
    decoded = decode_png(image.data)
    if decoded.bit_depth == 8:
        return SentImage(image.label, base64.b64encode(image.data).decode("ascii"), None)
    pixels = np.ascontiguousarray(to_rgb8(decoded))
    data = encode_png(pixels.tobytes(), decoded.width, decoded.height, 8)
    note = {"label": image.label, "sent_sha256": sha256_hex(data)}
    return SentImage(image.label, base64.b64encode(data).decode("ascii"), note)


def sidecar_of(images: list[SentImage]) -> Mapping[str, Any]:
    """The pictures that were reduced to 8 bits, with the hashes of what was sent; empty where none was."""
    reduced = [image.reduced for image in images if image.reduced is not None]
    return {"reduced_to_8_bits": reduced} if reduced else {}


def portable(schema: Any, dropped: frozenset[str]) -> Any:
    """A schema without the keywords that a provider does not take; the judge checks all of them itself."""
    if isinstance(schema, list):
        return [portable(one, dropped) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: value for key, value in schema.items() if key not in dropped}
    # Names of properties are no keywords.
    names = ("properties", "$defs")
    return {
        key: {name: portable(one, dropped) for name, one in value.items()}
        if key in names and isinstance(value, Mapping)
        else portable(value, dropped)
        for key, value in kept.items()
    }
