"""Replies of a model: one strict JSON object, nothing round it, nothing in it that was not asked for."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any

from judge.errors import ReplyError
from judge.rubric import Rubric
from receipt.errors import FormatError
from receipt.strict_json import parse_object

MAX_REPLY_BYTES = 1 << 20
MAX_OBSERVATION = 1000


@dataclass(frozen=True)
class CriterionReply:
    """One criterion's level, None where it was marked unassessable, and what was observed."""

    id: str
    level: int | None
    observation: str


def raw_reply(reply: object) -> bytes:
    """A reply's bytes, whatever they are. Raises :class:`ReplyError` for what is neither text nor bytes."""
    if isinstance(reply, str):
        return reply.encode("utf-8", "surrogatepass")
    if isinstance(reply, bytes):
        return reply
    raise ReplyError("provider_type", "The client returned a reply that is neither text nor bytes.")


def reply_bytes(reply: object) -> bytes:
    """The bytes of a reply. Raises :class:`ReplyError` for what is no text, empty or oversized."""
    data = raw_reply(reply)
    if not data.strip():
        raise ReplyError("reply_empty", "The model's reply is empty.")
    if len(data) > MAX_REPLY_BYTES:
        raise ReplyError("reply_too_big", "The model's reply is over one mebibyte.")
    return data


def parse_json_object(reply: str | bytes) -> dict[str, Any]:
    """The one strict JSON object of a reply. Raises :class:`ReplyError`."""
    try:
        return parse_object(reply_bytes(reply), max_bytes=MAX_REPLY_BYTES)
    except FormatError as error:
        raise ReplyError("reply_not_json", f"The model's reply is no strict JSON: {error.message}") from error


def parse_reply(data: bytes, rubric: Rubric) -> tuple[CriterionReply, ...]:
    """Every criterion exactly once, in the rubric's order. Raises :class:`ReplyError` (``reply_invalid``)."""
    value = parse_json_object(data)
    if set(value) != {"criteria"} or not isinstance(value["criteria"], list):
        raise _invalid("it must hold a list of criteria and nothing else")
    found: dict[str, CriterionReply] = {}
    for entry in value["criteria"]:
        if not isinstance(entry, dict) or set(entry) != {"id", "level", "unassessable", "observation"}:
            raise _invalid("a criterion has the wrong members")
        reply = _criterion(entry, rubric)
        if reply.id in found:
            raise _invalid(f"criterion {reply.id} stands twice")
        found[reply.id] = reply
    missing = [one for one in rubric.ids if one not in found]
    if missing:
        raise _invalid(f"criterion {missing[0]} is missing")
    return tuple(found[one] for one in rubric.ids)


def _criterion(entry: dict[str, Any], rubric: Rubric) -> CriterionReply:
    name, level, unassessable, observation = (entry[key] for key in ("id", "level", "unassessable", "observation"))
    if not isinstance(name, str) or name not in rubric.ids:
        raise _invalid("it names a criterion that the rubric does not have")
    if not isinstance(unassessable, bool) or not isinstance(observation, str):
        raise _invalid(f"criterion {name} has a member of the wrong type")
    if unassessable != (level is None):
        raise _invalid(f"criterion {name} has a level beside unassessable, or neither")
    if level is not None:
        if isinstance(level, bool) or not isinstance(level, int | float) or level != int(level):
            raise _invalid(f"criterion {name} has a level that is no whole number")
        if not 0 <= level <= rubric.data.scale_max:
            raise _invalid(f"criterion {name} has a level off the scale")
        level = int(level)
    return CriterionReply(name, level, clean_text(observation))


def clean_text(text: str, limit: int = MAX_OBSERVATION) -> str:
    """Words from outside, made harmless to print: no control or direction characters, one line, bounded."""
    spaced = "".join(" " if letter.isspace() else letter for letter in text)
    kept = "".join(letter for letter in spaced if unicodedata.category(letter)[0] != "C")
    return " ".join(kept.split())[:limit]


def _invalid(why: str) -> ReplyError:
    return ReplyError("reply_invalid", f"The model's reply is invalid: {why}.")
