"""Calls a client so that nothing that it does can hang, crash or mislead the judge."""

from __future__ import annotations

import asyncio
import inspect
import queue
import re
import threading
from typing import Any

from judge.errors import ReplyError
from judge.failures import FAILURES, ProviderFailure
from judge.parsing import clean_text
from judge.ports import JudgeClient, ProviderConfig, ProviderRequest, ProviderResponse, Usage

_GRACE_SECONDS = 0.25
_DATE_SUFFIX = re.compile(r"[-@:](20[0-9]{2})(-?)(0[1-9]|1[0-2])\2(0[1-9]|[12][0-9]|3[01])")
_EXACT_INTEGERS = 2**53


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

    try:
        threading.Thread(target=work, name="judge-client", daemon=True).start()
    except RuntimeError as error:
        raise ReplyError("provider_error", "No thread could be started for the provider's call.") from error
    try:
        succeeded, answer = answers.get(timeout=request.timeout_seconds + _GRACE_SECONDS)
    except queue.Empty as error:
        raise _timeout(request) from error
    if not succeeded:
        raise failure_of(answer, request) from None
    if type(answer) is not ProviderResponse:
        raise ReplyError("provider_type", "The client did not return a ProviderResponse.")
    return answer


def failure_of(error: BaseException, request: ProviderRequest) -> ReplyError:
    """What a client raised, as the record has it: a reason of the closed list, and none of the client's own words.

    The error itself is no cause of what is returned: a log of it may hold addresses and keys.
    """
    if isinstance(error, TimeoutError):
        return _timeout(request)
    if isinstance(error, ProviderFailure) and isinstance(error.code, str) and error.code in FAILURES:
        known = error.known if type(error.known) is ProviderResponse else None
        return ReplyError(error.code, FAILURES[error.code], known)
    return ReplyError("provider_error", f"The provider failed: {clean_text(type(error).__name__, 100)}.")


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
    dated = served.startswith(config.model) and _DATE_SUFFIX.fullmatch(served, len(config.model))
    if dated or served in (config.model, *config.accepted_models):
        return served
    raise ReplyError(
        "served_model_mismatch",
        f"Asked for {clean_text(config.model, 200)}, the provider served {clean_text(served, 200)}.",
    )


def checked_usage(usage: object) -> Usage:
    """Usage with every member that is no plain amount (a finite number, not below zero) made unknown."""
    if not isinstance(usage, Usage):
        return Usage()

    def number(value: object) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value if 0 <= value < _EXACT_INTEGERS else None

    def whole(value: object) -> int | None:
        return value if isinstance(value, int) and number(value) is not None else None

    cost = number(usage.cost_usd)
    return Usage(
        whole(usage.input_tokens),
        whole(usage.output_tokens),
        whole(usage.total_tokens),
        None if cost is None else float(cost),
    )
