"""JSON that can be trusted to mean one thing: bounded, shallow, no key twice, UTF-8 without BOM.

The rules are those of RFC 8259, narrowed as I-JSON (RFC 7493) narrows them.
"""

from __future__ import annotations

import json
import math
from typing import Any

from receipt.errors import FormatError

_MAX_DEPTH = 32
_MAX_WHOLE = 2**53 - 1


def parse_object(data: bytes, *, max_bytes: int) -> dict[str, Any]:
    """Parses one JSON object. Raises :class:`FormatError`."""
    if len(data) > max_bytes:
        raise FormatError("json_too_big", f"The JSON is larger than {max_bytes} bytes.")
    if data.startswith(b"\xef\xbb\xbf"):
        raise FormatError("json_bom", "The JSON begins with a byte order mark.")
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_int=_exact,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except RecursionError as error:
        raise FormatError("json_too_deep", "The JSON is nested too deeply.") from error
    except _TwiceError as error:
        raise FormatError("json_duplicate_key", "An object in the JSON has a key twice.") from error
    except ValueError as error:
        raise FormatError("json_malformed", f"This is no strict JSON: {str(error)[:200]}.") from error
    if not isinstance(value, dict):
        raise FormatError("json_malformed", "The JSON is no object.")
    _inspect(value)
    return value


class _TwiceError(ValueError):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def _finite(text: str) -> float:
    # 1e999 is a number by the grammar and infinity to Python; and RFC 8785 writes a large one as a whole.
    number = float(text)
    if not math.isfinite(number) or abs(number) > _MAX_WHOLE:
        raise ValueError("a number is too large to be exact")
    return number


def _exact(text: str) -> int:
    # RFC 8785 numbers are doubles: beyond this, another reader sees another number.
    if len(text) > 17 or abs(int(text)) > _MAX_WHOLE:
        raise ValueError("a whole number is too large to be exact")
    return int(text)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _inspect(value: Any) -> None:
    """Bounds the depth, and refuses half surrogates, which no path and no UTF-8 can carry."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(item.keys())
                following.extend(item.values())
            elif isinstance(item, list):
                following.extend(item)
            elif isinstance(item, str) and not item.isascii():
                _require_encodable(item)
        level = following
        if not level:
            return
    raise FormatError("json_too_deep", "The JSON is nested too deeply.")


def _require_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FormatError("json_malformed", "A string in the JSON holds half a surrogate pair.") from error
