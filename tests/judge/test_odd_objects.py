"""Objects that raise where they are touched, and names and settings that no record could hold, end in a record too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from judge.conditions import MAX_CONFIG_BYTES
from judge.ports import ControllerAuthorization
from receipt.evidence import TrustedRenderEvidence
from tests.judge.scored_kit import CONFIG, Client, judged, reply, response


class Raising(Mapping[str, Any]):
    """Has one key, and raises at one kind of touch."""

    def __init__(self, touch: str) -> None:
        self.touch = touch

    def _touched(self, touch: str) -> None:
        if touch == self.touch:
            raise RuntimeError(touch)

    def __getitem__(self, key: str) -> int:
        self._touched("item")
        return 1

    def __iter__(self) -> Iterator[str]:
        self._touched("iteration")
        return iter(["a"])

    def __len__(self) -> int:
        self._touched("length")
        return 1


class Undeclared(Client):
    """Raises instead of saying who it is."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    @property
    def provider_id(self) -> Any:
        raise self.error


@pytest.mark.parametrize("touch", ["item", "iteration"])
def test_a_sidecar_that_cannot_be_read_costs_no_score(evidence: TrustedRenderEvidence, touch: str) -> None:
    result = judged(evidence, Client(response(reply(), sidecar=Raising(touch))))
    assert (result.status, result.sidecar) == ("scored", None)


@pytest.mark.parametrize("sidecar", [Raising("length"), Raising("never")], ids=["length", "never"])
def test_a_sidecar_is_read_by_its_members_alone(evidence: TrustedRenderEvidence, sidecar: Any) -> None:
    assert judged(evidence, Client(response(reply(), sidecar=sidecar))).sidecar == {"a": 1}


@pytest.mark.parametrize("touch", ["item", "iteration"])
def test_settings_that_cannot_be_read_are_no_configuration(evidence: TrustedRenderEvidence, touch: str) -> None:
    client = Client()
    result = judged(evidence, client, config=replace(CONFIG, settings=Raising(touch)))
    assert (result.status, result.reason) == ("not_run", "provider_configuration_invalid")
    assert client.requests == []


@pytest.mark.parametrize("error", [RuntimeError("no"), AttributeError("no"), SystemExit(3)], ids=repr)
def test_a_client_that_raises_when_asked_who_it_is_declares_nothing(
    evidence: TrustedRenderEvidence, error: BaseException
) -> None:
    client = Undeclared(error)
    assert judged(evidence, client).reason == "provider_mismatch"
    assert client.requests == []


@pytest.mark.parametrize("name", ["", " ", "\u200b", "\n\u202e", "\x00"], ids=ascii)
def test_a_name_of_which_the_record_would_show_nothing_is_none(evidence: TrustedRenderEvidence, name: str) -> None:
    client = Client()
    client.provider_id = name
    assert judged(evidence, client, authorization=ControllerAuthorization(name)).reason == "no_authorization"
    for config in (replace(CONFIG, model=name), replace(CONFIG, provider_id=name)):
        assert judged(evidence, client, config=config).reason == "no_provider_configuration"
    config = replace(CONFIG, accepted_models=(name,))
    assert judged(evidence, client, config=config).reason == "provider_configuration_invalid"
    assert client.requests == []


@pytest.mark.parametrize("field", ["model", "provider_id", "accepted_models"])
def test_a_name_that_no_json_can_carry_is_no_configuration(evidence: TrustedRenderEvidence, field: str) -> None:
    name: Any = "model-\ud800"
    client = Client()
    client.provider_id = name if field == "provider_id" else client.provider_id
    changes: dict[str, Any] = {field: (name,) if field == "accepted_models" else name}
    config = replace(CONFIG, **changes)
    assert judged(evidence, client, config=config).reason == "provider_configuration_invalid"
    assert client.requests == []


def test_settings_are_recorded_whole_or_refused(evidence: TrustedRenderEvidence) -> None:
    largest = {"note": "x" * (MAX_CONFIG_BYTES - 100)}
    result = judged(evidence, Client(), config=replace(CONFIG, settings=largest))
    assert result.status == "scored"
    assert result.provider is not None
    assert result.provider.settings == largest
    result = judged(evidence, Client(), config=replace(CONFIG, settings={"note": "x" * MAX_CONFIG_BYTES}))
    assert result.reason == "provider_configuration_invalid"
