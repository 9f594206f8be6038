"""The rubric: criteria, exact weights, described levels. Frozen data, identified by its hash.

A rubric of one's own has the same form: the scale is 0 to 4 for everybody, since evaluators and
reports count on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from judge.errors import RubricError
from receipt.errors import FormatError
from receipt.strict_json import parse_object

_MAX_BYTES = 1 << 20
Words = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
PassName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]


class Criterion(BaseModel):
    """One question with an anchor for each level."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")
    title: str = Field(min_length=1, max_length=200)
    weight: str = Field(pattern=r"^(0\.[0-9]{1,12}|1(\.0{1,12})?)$")
    """A decimal number above 0 and up to 1, as text, so that it is exact."""
    passes: tuple[PassName, ...] = Field(min_length=1, max_length=16)
    """The passes that this criterion looks at; no other picture is evidence for it."""
    question: Words
    anchors: Annotated[Mapping[str, Words], AfterValidator(lambda found: MappingProxyType(dict(found)))]
    """What each level looks like, by the level's digit."""
    unassessable: Words
    """When no level can be given."""

    @property
    def exact_weight(self) -> Fraction:
        """The weight as a rational number."""
        return Fraction(self.weight)


class RubricData(BaseModel):
    """The file's content. Weights sum to 1 exactly; each level from 0 to ``scale_max`` has an anchor."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,127}$")
    scale_max: Literal[4]
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=32)

    @model_validator(mode="after")
    def _whole(self) -> RubricData:
        ids = [criterion.id for criterion in self.criteria]
        if len(set(ids)) != len(ids):
            raise ValueError("a criterion stands twice")
        if any(criterion.exact_weight == 0 for criterion in self.criteria):
            raise ValueError("a weight is zero")
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
