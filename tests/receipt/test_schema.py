"""Shipped schemas are frozen: they change when a field changes on purpose, and at no other time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from receipt.errors import FormatError
from receipt.schema import MODELS, frozen_schema, generated_schema


@pytest.mark.parametrize("name", MODELS)
def test_the_shipped_schema_is_the_models_own(name: str) -> None:
    assert frozen_schema(name) == generated_schema(name)


@pytest.mark.parametrize("name", ["", "verdict", "../receipt"])
def test_there_is_no_other_schema(name: str) -> None:
    with pytest.raises(FormatError) as caught:
        frozen_schema(name)
    assert caught.value.code == "schema_unknown"


def test_the_receipts_schema_has_the_contracts_fields_and_is_closed() -> None:
    schema: dict[str, Any] = json.loads(frozen_schema("receipt"))
    top = ["schema", "case_id", "candidate_asset_sha256", "reference_asset_sha256", "fixture", "renderer", "images"]
    assert schema["required"] == top
    assert set(schema["properties"]) == set(top)
    renderer, image = schema["$defs"]["RendererIdentity"], schema["$defs"]["ImageRecord"]
    assert renderer["required"] == ["name", "version", "code_sha256", "profile_id", "settings"]
    assert image["required"] == ["role", "view_id", "path", "sha256"]
    assert [part["additionalProperties"] for part in (schema, renderer, image)] == [False] * 3
