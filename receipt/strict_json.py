"""JSON that can be trusted to mean one thing: bounded, shallow, no key twice, UTF-8 without BOM."""

from __future__ import annotations

import json
from typing import Any

from receipt.errors import FormatError

_MAX_DEPTH = 32


def parse_object(data: bytes, *, max_bytes: int) -> dict[str, Any]:
    """Parses one JSON object. Raises :class:`FormatError`."""
    if len(data) > max_bytes:
        raise FormatError("json_too_big", f"The JSON is larger than {max_bytes} bytes.")
    if data.startswith(b"\xef\xbb\xbf"):
        raise FormatError("json_bom", "The JSON begins with a byte order mark.")
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError as error:
        raise FormatError("json_too_deep", "The JSON is nested too deeply.") from error
    except ValueError as error:
        raise FormatError("json_malformed", f"This is no strict JSON: {str(error)[:200]}.") from error
    if not isinstance(value, dict):
        raise FormatError("json_malformed", "The JSON is no object.")
    if _depth(value) > _MAX_DEPTH:
        raise FormatError("json_too_deep", "The JSON is nested too deeply.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level and deepest <= _MAX_DEPTH:
        deepest += 1
        nested = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in nested for child in (item.values() if isinstance(item, dict) else item)]
    return deepest
