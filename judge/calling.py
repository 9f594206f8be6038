"""Calls a client so that nothing that it does can hang, crash or mislead the judge."""

from __future__ import annotations

import asyncio
import inspect
import queue
import re
import threading
from typing import Any

from judge.errors import ReplyError
from judge.ports import JudgeClient, ProviderConfig, ProviderRequest, ProviderResponse, Usage

_GRACE_SECONDS = 0.25
_DATE_SUFFIX = re.compile(r"^[-@:]?(\d{8}|\d{4}-\d{2}-\d{2})$")


def call(client: JudgeClient, request: ProviderRequest) -> ProviderResponse:
    """One call, never repeated. Raises :class:`ReplyError` with a stable code.

    The timeout is handed over and enforced from here as well: a client that ignores it is left
    behind on a daemon thread.
    """
    answers: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answer: Any = client.complete(request, timeout_seconds=request.timeout_seconds)
            if inspect.isawaitable(answer):
                answer = asyncio.run(_wait(answer, request.timeout_seconds))
        except BaseException as error:  # noqa: BLE001 - a client may raise anything, SystemExit included
            answers.put((False, error))
        else:
            answers.put((True, answer))

    threading.Thread(target=work, name="judge-client", daemon=True).start()
    try:
        succeeded, answer = answers.get(timeout=request.timeout_seconds + _GRACE_SECONDS)
    except queue.Empty as error:
        raise _timeout(request) from error
    if not succeeded:
        if isinstance(answer, TimeoutError):
            raise _timeout(request) from answer
        raise ReplyError("provider_error", f"The provider failed: {type(answer).__name__}.") from answer
    if not isinstance(answer, ProviderResponse):
        raise ReplyError("provider_type", "The client did not return a ProviderResponse.")
    return answer


async def _wait(answer: Any, seconds: float) -> Any:
    return await asyncio.wait_for(answer, seconds)


def _timeout(request: ProviderRequest) -> ReplyError:
    return ReplyError("provider_timeout", f"The provider did not answer within {request.timeout_seconds:g} seconds.")


def check_served_model(response: ProviderResponse, config: ProviderConfig) -> str:
    """The served model's name. Raises :class:`ReplyError` when it is missing or not the one asked for.

    Accepted: the requested name, that name with a date suffix, or a name that is listed.
    """
    served = response.served_model
    if not isinstance(served, str) or not served.strip():
        raise ReplyError("served_model_missing", "The provider does not say which model it served.")
    rest = served[len(config.model) :] if served.startswith(config.model) else None
    if served in (config.model, *config.accepted_models) or (rest and _DATE_SUFFIX.match(rest)):
        return served
    raise ReplyError("served_model_mismatch", f"Asked for {config.model}, the provider served {served[:200]}.")


def checked_usage(usage: object) -> Usage:
    """Usage with every member that is no non-negative number made unknown."""
    if not isinstance(usage, Usage):
        return Usage()

    def whole(value: object) -> int | None:
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    cost = usage.cost_usd
    known = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < float("inf")
    return Usage(
        whole(usage.input_tokens),
        whole(usage.output_tokens),
        whole(usage.total_tokens),
        float(cost) if known and cost is not None else None,
    )
