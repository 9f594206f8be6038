"""``--client SPEC``: from words on a command line to a client and its configuration."""

from __future__ import annotations

import importlib
from typing import Any

from appliance.errors import UsageError
from judge.ports import JudgeClient, ProviderConfig

_KNOWN = "Use metrics, or module:factory for a client of your own."


def open_client(spec: str) -> tuple[JudgeClient, ProviderConfig]:
    """A client by its spec. Raises :class:`UsageError`.

    ``metrics`` is the offline evaluator. ``module:factory`` imports a module of the caller's own and
    calls the factory, which returns a ``(JudgeClient, ProviderConfig)`` pair.
    """
    if spec == "metrics":
        from judge.metrics import MetricsClient, metrics_config

        return MetricsClient(), metrics_config()
    module, separator, factory = spec.partition(":")
    if not separator or not module or not factory:
        raise UsageError("client_unknown", f"There is no judge client {spec[:200]!r}.", _KNOWN)
    try:
        made: Any = getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            "client_unknown", f"The judge client {spec[:200]!r} cannot be loaded: {error}.", _KNOWN
        ) from error
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], ProviderConfig)):
        raise UsageError("client_invalid", f"{spec[:200]!r} returned no client with its configuration.", _KNOWN)
    return made[0], made[1]
