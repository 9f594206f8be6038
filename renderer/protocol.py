"""What crosses the wall between the trusted side and the sandbox, and how much of it may cross.

Towards the sandbox (its stdin), all integers big-endian:

    u32 number of files
    for each file: u16 length of the path, the path (UTF-8), u64 size in bytes, the bytes
    u32 length of the job, the job as JSON (:class:`Job`)

Out of the sandbox (its stdout), a sequence of messages:

    u32 length of the header, the header as JSON (one of :data:`Header`), then its payload

Only a :class:`Frame` has a payload, and its size follows from width, height and bit depth: final
RGB, row by row from the top, 8 bits or big-endian 16 bits a channel. The last message is
:class:`Done` or :class:`Refused`. Everything that the sandbox says is a claim: the trusted side
bounds it, validates it and marks it as reported by the sandbox.

Standard library and pydantic only: this is the one module of the renderer that ``sandbox`` imports.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

PROTOCOL_VERSION: Final = 1

MAX_HEADER_BYTES: Final = 1 << 20
"""A header longer than this is a breach of the protocol; diagnostics are cut to fit by the sender."""
MAX_JOB_BYTES: Final = 1 << 20
MAX_PATH_BYTES: Final = 4096
MAX_MESSAGES: Final = 4096
MAX_FRAME_SIDE: Final = 8192

Role = Literal["reference", "candidate"]
PassName = Literal["beauty", "clay"]
Device = Literal["cpu", "gpu"]
FaultName = Literal["candidate", "infrastructure"]

ViewName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(max_length=2000)]
"""Words of the sandbox; never interpreted, always escaped where they are shown."""


class Model(BaseModel):
    """Frozen, and strict about names: a field that is not known is a breach, not an extension."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Camera(Model):
    """One resolved camera, in metres in the rig's frame (right-handed, +Y up)."""

    name: ViewName
    projection: Literal["perspective", "orthographic"]
    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float]
    fov_degrees: float = Field(ge=0, lt=180)
    """Full angle of the square frame; 0 where the projection is orthographic."""
    height_metres: float = Field(ge=0)
    """Height of the frame; 0 where the projection is a perspective."""
    near_metres: float = Field(gt=0)
    far_metres: float = Field(gt=0)
    azimuth_degrees: float
    """The rig's lights turn with this angle, so that each view is lit alike."""

    @field_validator("eye", "target", "up")
    @classmethod
    def _finite(cls, value: tuple[float, float, float]) -> tuple[float, float, float]:
        if not all(math.isfinite(number) for number in value):
            raise ValueError("must be finite")
        return value


class Budget(Model):
    """Counted work; more of any of it is a fault of the candidate. Part of the profile."""

    cpu_seconds: int = Field(gt=0)
    memory_bytes: int = Field(gt=0)
    wall_seconds: int = Field(gt=0)
    max_prims: int = Field(gt=0)
    max_points: int = Field(gt=0)
    max_texels: int = Field(gt=0)
    max_layers: int = Field(gt=0)


class Job(Model):
    """What the sandbox is asked to draw. The files came before it, on the same stream."""

    protocol: Literal[1] = 1
    role: Role
    root_layer: str = Field(min_length=1, max_length=MAX_PATH_BYTES)
    """Relative POSIX path of the root layer among the files handed over."""
    profile_id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    profile_sha256: Sha256
    device: Device = "cpu"
    cameras: tuple[Camera, ...] | None = Field(default=None, max_length=64)
    """None: measure this asset and resolve the cameras from it (the reference, or a plain render)."""
    focus_prims: tuple[str, ...] = Field(default=(), max_length=16)
    view_seed: int | None = Field(default=None, ge=0, le=2**53 - 1)


class Hello(Model):
    """First message: what is really running, read back from the libraries and the driver."""

    kind: Literal["hello"] = "hello"
    protocol: Literal[1] = 1
    usd_version: Text
    renderer_id: Text
    python: Text
    gl_vendor: Text
    gl_renderer: Text
    gl_version: Text
    numpy: Text


class Cameras(Model):
    """The resolved cameras, measured bounds (metres, rig frame) and where they come from."""

    kind: Literal["cameras"] = "cameras"
    cameras: tuple[Camera, ...] = Field(min_length=1, max_length=64)
    bounds_min: tuple[float, float, float]
    bounds_max: tuple[float, float, float]


class Frame(Model):
    """Announces the raw pixels that follow."""

    kind: Literal["frame"] = "frame"
    view: ViewName
    pass_name: PassName
    width: int = Field(ge=1, le=MAX_FRAME_SIDE)
    height: int = Field(ge=1, le=MAX_FRAME_SIDE)
    bit_depth: Literal[8, 16]
    coverage: float = Field(ge=0, le=1)
    """Share of the frame that the subject covers."""
    non_finite: int = Field(default=0, ge=0)
    """Pixels that were NaN or infinite before they got their defined value."""

    @property
    def view_id(self) -> str:
        return f"{self.view}.{self.pass_name}"

    @property
    def payload_bytes(self) -> int:
        return self.width * self.height * 3 * (self.bit_depth // 8)


class Refused(Model):
    """The sandbox gave up in an orderly way. ``code`` is stable, ``message`` is one sentence."""

    kind: Literal["refused"] = "refused"
    code: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")
    message: Text
    remedy: Text
    fault: FaultName


class Note(Model):
    """One thing that a person should know about a render."""

    code: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")
    message: Text
    subject: Text = ""
    """The prim, layer or asset path concerned."""


class Facts(Model):
    """What the sandbox found out about the asset; bounded by the sender."""

    meters_per_unit: float
    up_axis: Text
    size_metres: tuple[float, float, float]
    prims: int = Field(ge=0)
    meshes: int = Field(ge=0)
    points: int = Field(ge=0)
    layers: int = Field(ge=0)
    textures: int = Field(ge=0)
    materials: int = Field(ge=0)
    notes: tuple[Note, ...] = Field(default=(), max_length=200)
    notes_dropped: int = Field(default=0, ge=0)
    seconds: dict[Annotated[str, Field(max_length=64)], float] = Field(default_factory=dict, max_length=32)
    peak_memory_bytes: int = Field(default=0, ge=0)


class Done(Model):
    """Last message of a render that ran to its end."""

    kind: Literal["done"] = "done"
    facts: Facts


Header = Annotated[Hello | Cameras | Frame | Refused | Done, Field(discriminator="kind")]
_HEADER: Final[TypeAdapter[Hello | Cameras | Frame | Refused | Done]] = TypeAdapter(Header)


def parse_header(data: bytes) -> Hello | Cameras | Frame | Refused | Done:
    """Parses one header. Raises ``ValueError`` (pydantic's or json's) on anything but a valid one."""
    if len(data) > MAX_HEADER_BYTES:
        raise ValueError("the header is longer than the protocol allows")
    return _HEADER.validate_json(data)


def encode_header(header: Hello | Cameras | Frame | Refused | Done) -> bytes:
    """The header with its length in front, ready to be written."""
    body = header.model_dump_json().encode()
    if len(body) > MAX_HEADER_BYTES:
        raise ValueError("the header is longer than the protocol allows")
    return len(body).to_bytes(4, "big") + body


def frame_bytes(header: Any) -> int:
    """Size in bytes of the payload that follows a header."""
    return header.payload_bytes if isinstance(header, Frame) else 0
