"""The rubric: criteria, exact weights, described levels. Frozen data, identified by its hash."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from judge.errors import RubricError
from receipt.errors import FormatError
from receipt.strict_json import parse_object

_MAX_BYTES = 1 << 20


class Criterion(BaseModel):
    """One question with an anchor for each level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")
    title: str = Field(min_length=1, max_length=200)
    weight: str
    """A decimal number as text, so that it is exact."""
    passes: tuple[str, ...] = Field(min_length=1)
    question: str = Field(min_length=1, max_length=2000)
    anchors: dict[str, str]
    unassessable: str = Field(min_length=1, max_length=2000)

    @field_validator("weight")
    @classmethod
    def _positive(cls, value: str) -> str:
        try:
            number = Decimal(value)
        except ArithmeticError as error:
            raise ValueError("must be a decimal number") from error
        if not number.is_finite() or number <= 0:
            raise ValueError("must be positive")
        return value

    @property
    def exact_weight(self) -> Fraction:
        """The weight as a rational number."""
        return Fraction(Decimal(self.weight))


class RubricData(BaseModel):
    """The file's content. Weights sum to 1 exactly; each level from 0 to ``scale_max`` has an anchor."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,127}$")
    scale_max: int = Field(ge=1, le=10)
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=32)

    @model_validator(mode="after")
    def _whole(self) -> RubricData:
        ids = [criterion.id for criterion in self.criteria]
        if len(set(ids)) != len(ids):
            raise ValueError("a criterion stands twice")
        if sum(criterion.exact_weight for criterion in self.criteria) != 1:
            raise ValueError("the weights do not sum to 1")
        levels = {str(level) for level in range(self.scale_max + 1)}
        if any(set(criterion.anchors) != levels for criterion in self.criteria):
            raise ValueError("each level needs exactly one anchor")
        return self


class Rubric(BaseModel):
    """A rubric and the SHA-256 of the bytes that it was read from."""

    model_config = ConfigDict(frozen=True)

    data: RubricData
    sha256: str

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the criteria, in order."""
        return tuple(criterion.id for criterion in self.data.criteria)


def load_rubric(data: bytes) -> Rubric:
    """Reads a rubric. Raises :class:`RubricError`."""
    try:
        parsed = RubricData.model_validate(parse_object(data, max_bytes=_MAX_BYTES))
    except FormatError as error:
        raise RubricError("rubric_malformed", error.message) from error
    except ValidationError as error:
        first: Any = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its top"
        raise RubricError("rubric_malformed", f"The rubric is wrong at {where}: {first['msg']}.") from error
    return Rubric(data=parsed, sha256=hashlib.sha256(data).hexdigest())


@cache
def default_rubric() -> Rubric:
    """The frozen rubric that comes with the judge."""
    return load_rubric(files("judge").joinpath("visual-judge-rubric.json").read_bytes())
