"""JSON Schemas of what this room writes, frozen as files so that others can validate without this code.

A schema cannot say everything: that each view has one pair, that no path is shared and that paths are
normal is checked by :mod:`receipt.model` alone.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Final

from receipt.attestation import Statement
from receipt.diagnostics import Diagnostics
from receipt.errors import FormatError
from receipt.model import Frozen, Receipt

MODELS: Final[dict[str, type[Frozen]]] = {"receipt": Receipt, "diagnostics": Diagnostics, "statement": Statement}


def frozen_schema(name: str) -> bytes:
    """The shipped schema of ``receipt``, ``diagnostics`` or ``statement``. Raises :class:`FormatError`."""
    if name not in MODELS:
        raise FormatError("schema_unknown", f"There is no schema {name[:80]!r}; there are {', '.join(MODELS)}.")
    return files("receipt").joinpath("schemas", f"{name}.schema.json").read_bytes()


def generated_schema(name: str) -> bytes:
    """The schema as the model gives it now; equal to the frozen one until a field is changed on purpose."""
    value = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **MODELS[name].model_json_schema(by_alias=True, mode="serialization"),
    }
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
