"""Whether a judgment may run at all. Nothing authorises itself, and nothing is called before all of this holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from judge.gates import ObjectiveGates
from judge.parsing import clean_text
from judge.ports import ControllerAuthorization, JudgeClient, ProviderConfig
from receipt.digests import canonical_json
from receipt.evidence import TrustedRenderEvidence

MAX_TIMEOUT_SECONDS: Final = 86400
MAX_CONFIG_BYTES: Final = 1 << 20
"""For names and settings together as JSON: all of it is recorded."""

WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "evidence_missing": "There is no verified evidence to judge.",
        "no_authorization": "No controller has authorised a judgment.",
        "no_client": "No judge client was given.",
        "no_provider_configuration": "No provider and model are configured.",
        "provider_configuration_invalid": "The provider's timeout, settings or accepted models cannot be used.",
        "provider_mismatch": "The client speaks to another provider than the configured one.",
        "gate_failed": "An objective gate has not passed, so there is nothing to score.",
        "fixture_not_allowed": "The evidence is a fixture, and fixtures were not allowed.",
    }
)
"""The closed list of reasons for ``not_run``, for people; ``gate_failed`` is followed by a colon and the gate."""


def why_not(
    *,
    evidence: TrustedRenderEvidence | None,
    objective: ObjectiveGates | None,
    authorization: ControllerAuthorization | None,
    client: JudgeClient | None,
    config: ProviderConfig | None,
    allow_fixtures: bool,
) -> str | None:
    """The reason for ``not_run``, the first in the order of :data:`WORDS`; None where every condition holds."""
    if evidence is None:
        return "evidence_missing"
    if not isinstance(authorization, ControllerAuthorization) or not _named(authorization.controller_id):
        return "no_authorization"
    if client is None:
        return "no_client"
    if not isinstance(config, ProviderConfig) or not _named(config.provider_id) or not _named(config.model):
        return "no_provider_configuration"
    if not _usable(config):
        return "provider_configuration_invalid"
    if _provider_id(client) != config.provider_id:
        return "provider_mismatch"
    failed = objective.first_failed() if isinstance(objective, ObjectiveGates) else "submission_valid"
    if failed is not None:
        return f"gate_failed:{failed}"
    if evidence.fixture and allow_fixtures is not True:
        return "fixture_not_allowed"
    return None


def _named(value: object) -> bool:
    return isinstance(value, str) and bool(clean_text(value))


def _provider_id(client: JudgeClient) -> str | None:
    """What the client declares; None where it declares nothing or fails to."""
    try:
        declared: object = client.provider_id
    except (Exception, SystemExit):  # noqa: BLE001 - a client's property may raise anything; it then declares nothing
        return None
    return declared if isinstance(declared, str) else None


def _usable(config: ProviderConfig) -> bool:
    seconds: object = config.timeout_seconds
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MAX_TIMEOUT_SECONDS:
        return False
    names: object = config.accepted_models
    if not isinstance(names, tuple) or not all(_named(name) for name in names):
        return False
    try:
        data = canonical_json([config.provider_id, config.model, *names, dict(config.settings)])
    except Exception:  # noqa: BLE001 - a mapping may raise anything; such settings are none
        return False
    return len(data) <= MAX_CONFIG_BYTES
