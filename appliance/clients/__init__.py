"""``--client SPEC``: from words on a command line to a client and its configuration.

metrics                      the offline evaluator; no model
openai:MODEL[@BASE_URL]      chat completions, at the provider's or at any compatible server
anthropic:MODEL[@BASE_URL]   messages, likewise
module:factory               a client of the caller's own: the factory returns (JudgeClient, ProviderConfig)
"""

from __future__ import annotations

import importlib
from typing import Any

from appliance.errors import UsageError
from judge.ports import JudgeClient, ProviderConfig

_KNOWN = "Use metrics, openai:MODEL, anthropic:MODEL, or module:factory for a client of your own."

Opened = tuple[JudgeClient, ProviderConfig]


def open_client(spec: str) -> Opened:
    """A client by its spec. Raises :class:`UsageError`.

    Nothing is called yet. A key is looked for here, so that a missing one is known before anything is drawn.
    """
    if spec == "metrics":
        from judge.metrics import MetricsClient, metrics_config

        return MetricsClient(), metrics_config()
    kind, separator, rest = spec.partition(":")
    if not separator or not kind or not rest:
        raise UsageError("client_unknown", f"There is no judge client {spec[:200]!r}.", _KNOWN)
    try:
        if kind == "openai":
            from appliance.clients.openai_chat import open_openai

            return open_openai(rest)
        if kind == "anthropic":
            from appliance.clients.anthropic_messages import open_anthropic

            return open_anthropic(rest)
    except ImportError as error:
        raise UsageError(
            "client_not_installed",
            f"The package for {kind} is not installed.",
            f"Install render-judge with its extra: pip install 'render-judge[{kind}]'.",
        ) from error
    return _own(spec, kind, rest)


def _own(spec: str, module: str, factory: str) -> Opened:
    """The caller's own client; a failure is told by its kind alone, as its words may hold a key."""
    try:
        made: Any = getattr(importlib.import_module(module), factory)()
    except Exception as error:  # noqa: BLE001 - a module of the caller's may raise anything
        why = str(error) if isinstance(error, ImportError | AttributeError) else type(error).__name__
        raise UsageError(
            "client_unknown", f"The judge client {spec[:200]!r} cannot be loaded: {why[:300]}.", _KNOWN
        ) from None
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], ProviderConfig)):
        raise UsageError("client_invalid", f"{spec[:200]!r} returned no client with its configuration.", _KNOWN)
    return made[0], made[1]
