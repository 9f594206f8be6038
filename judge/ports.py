"""The port to a model: what it is given, what it must give back. No provider's package is named here."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, runtime_checkable

from judge.errors import JudgeError

Order = Literal["reference_first", "candidate_first"]
MAX_SAMPLES: Final = 32


@dataclass(frozen=True)
class LabelledImage:
    """One picture of a request, in the order that the instructions speak of."""

    label: str
    """Neutral: role, view number and pass; never a file's or a prim's name."""
    role: Literal["reference", "candidate"]
    view: int
    """Number of the view, from 1; both roles of a view share it."""
    pass_name: str | None
    """The pass; None where the receipt gives none and the picture serves every criterion."""
    media_type: Literal["image/png"]
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class ProviderRequest:
    """Everything that a model gets. Only ``instructions`` belongs into an instruction channel.

    Schema and settings are a copy of the request's own: what a client does to them reaches nobody else.
    """

    instructions: str
    untrusted_context: str
    """JSON text about the evidence; data, not instruction."""
    images: tuple[LabelledImage, ...]
    response_schema: Mapping[str, Any]
    """JSON Schema of the reply."""
    model: str
    settings: Mapping[str, Any]
    timeout_seconds: float
    request_sha256: str = ""
    """SHA-256 of the canonical JSON of everything above, each picture standing there by its label and hash."""


@dataclass(frozen=True)
class Usage:
    """What a call took, as reported; None is unknown, never zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True)
class ProviderResponse:
    """What came back, and apart from it what the adapter knows of the call."""

    reply: str | bytes
    """The model's own words: one JSON object and nothing else."""
    served_model: str | None
    """The model that the provider says it served; None gives no score."""
    provider_request_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    sidecar: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Further measurements for people; recorded, never part of a score."""


@runtime_checkable
class JudgeClient(Protocol):
    """A way to a model. ``complete`` may return the response or an awaitable of it."""

    @property
    def provider_id(self) -> str:
        """The provider that this client speaks to; compared with the configured one before any call."""
        ...

    def complete(
        self, request: ProviderRequest, *, timeout_seconds: float
    ) -> ProviderResponse | Awaitable[ProviderResponse]:
        """One call. Must honour the timeout; whatever it raises becomes a provider's failure."""
        ...


@dataclass(frozen=True)
class ProviderConfig:
    """Which provider and model are asked, and how. Credentials have no place here: settings are recorded."""

    provider_id: str
    model: str
    accepted_models: tuple[str, ...] = ()
    """Other names, each listed, under which the requested model may answer."""
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Settings of the model, as plain JSON."""
    timeout_seconds: float = 120.0
    """For each call; above 0, at most a day."""


@dataclass(frozen=True)
class Sampling:
    """How often a model is asked. One call by default; everything beyond is recorded with the result."""

    samples: int = 1
    """Calls with one and the same request, from 1 to 32; the lower median of their answers counts."""
    both_orders: bool = False
    """Asks as often with the candidate first; where the orders disagree, the criterion is unassessable."""

    def __post_init__(self) -> None:
        """Raises :class:`JudgeError` (``sampling_invalid``)."""
        whole = isinstance(self.samples, int) and not isinstance(self.samples, bool)
        if not whole or not 1 <= self.samples <= MAX_SAMPLES or not isinstance(self.both_orders, bool):
            raise JudgeError(
                "sampling_invalid",
                f"The number of samples is no whole number from 1 to {MAX_SAMPLES}, or both_orders is no boolean.",
                "Ask once, which is the default, or correct the numbers.",
            )


@dataclass(frozen=True)
class ControllerAuthorization:
    """Who lets the judge run. Nothing authorises itself: there is no default."""

    controller_id: str
