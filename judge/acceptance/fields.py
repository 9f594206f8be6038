"""The kinds of field that the acceptance contract's messages are made of.

JSON carries the contract's camelCase names, Python attributes are snake_case. Nothing is coerced
that a reader could take for something else: no number from a string, no boolean for a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictStr,
    StringConstraints,
    ValidationError,
    model_serializer,
)
from pydantic.alias_generators import to_camel

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""RFC 8785 and other languages' numbers end here."""


class ContractModel(BaseModel):
    """Frozen, closed to unknown fields, camelCase in JSON."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
    )


class SparseModel(ContractModel):
    """A model whose optional fields are left out where they are absent, in every dump as in the contract."""

    @model_serializer(mode="wrap")
    def _leave_out_what_is_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {name: value for name, value in handler(self).items() if value is not None}


def _utf8(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("must be text that UTF-8 can carry") from None
    return value


def _whole(value: object) -> object:
    """JSON has one kind of number, so 3.0 is 3; a boolean or a string is no number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("must be a whole number")


def _number(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError("must be a number")


def _present(value: object) -> object:
    """An optional field is left out; the contract says so where a null is meant."""
    if value is None:
        raise ValueError("must not be null; leave the field out instead")
    return value


Text = Annotated[StrictStr, AfterValidator(_utf8)]
Identifier = Annotated[StrictStr, StringConstraints(min_length=1), AfterValidator(_utf8)]
Flag = StrictBool
Sha256Hex = Annotated[StrictStr, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
PositiveInteger = Annotated[int, Field(gt=0, le=MAX_SAFE_INTEGER), BeforeValidator(_whole)]
Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER), BeforeValidator(_whole)]
Amount = Annotated[float, Field(ge=0), BeforeValidator(_number)]
NotNull = BeforeValidator(_present)
"""For an optional field: may be absent, must not be null."""


def path_text(path: Sequence[str | int]) -> str:
    """``("goal", "criteria", 1, "id")`` as ``goal.criteria[1].id``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def first_problem(error: ValidationError) -> tuple[str, str]:
    """Path and reason of the first problem, in the words of the field's JSON name.

    A rule that spans fields is found by a validator above them, which hands the path on in the
    error's context.
    """
    problem = error.errors(include_url=False, include_input=False)[0]
    rule_path = problem.get("ctx", {}).get("path")
    path = rule_path if isinstance(rule_path, str) else path_text(problem["loc"])
    return path, problem["msg"].removeprefix("Value error, ")


def named(value: object) -> Mapping[str, object] | None:
    """A port's answer by its JSON names: a mapping as it is, a model by its own; None for anything else."""
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, warnings=False)
    return value if isinstance(value, Mapping) else None
