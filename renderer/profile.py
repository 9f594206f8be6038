"""Profiles: everything about a picture that the submission has no say in.

A profile is a folder with ``profile.toml`` and the files that it names. It is frozen: its hash is
the SHA-256 of the canonical list of its files, and a changed profile needs a new id. Standard
library and pydantic only, so that the trusted side can read profiles too.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from renderer.errors import ProfileError
from renderer.protocol import Budget, Model, PassName, ViewName

_ID = re.compile(r"^[a-z0-9][a-z0-9-]{0,63}$")
_REMEDY = "Name one of the profiles that `render-judge profiles` lists."


class Engine(Model):
    """Versions that must be what runs; anything else is an infrastructure fault."""

    renderer_id: str
    usd_version: str
    complexity: float = Field(ge=1, le=2)
    """Refinement complexity as usdview counts it: 1.0 draws subdivision cages, each 0.1 one level."""
    time_code: float | None = None
    """Time code to draw; absent means the stage's start time code where it has samples, else default."""
    samples: Literal[4]
    """Samples a pixel; 4 is what Storm takes on every driver here."""
    max_passes: int = Field(gt=0)
    """Calls of Render for one image before an endless convergence is called a fault."""


class ImageFormat(Model):
    """Size in pixels and depth in bits of every image."""

    width: int = Field(gt=0, le=8192)
    height: int = Field(gt=0, le=8192)
    bit_depth: Literal[8, 16]
    passes: tuple[PassName, ...] = Field(min_length=1)


class Look(Model):
    """From linear light to final pixels: pixel = OETF(linear * 2**exposure_ev)."""

    exposure_ev: float
    transform: Literal["srgb"]
    background_srgb: tuple[int, int, int]
    """The background as it shall stand in the PNG, 0 to 255 a channel."""
    clay_srgb: tuple[int, int, int]
    """Base colour of the clay pass, sRGB-encoded, 0 to 255 a channel."""


class ViewSpec(Model):
    """One camera, relative to the subject. Azimuth 0 looks along -Z from +Z; elevation is towards +Y."""

    name: ViewName
    azimuth_degrees: float
    elevation_degrees: float = Field(gt=-90, lt=90)
    projection: Literal["perspective", "orthographic"] = "perspective"
    fov_degrees: float = Field(default=30, gt=0, lt=120)
    margin: float = Field(default=1.15, ge=1)
    """Free room around the subject: 1.15 leaves about a seventh."""


class DistantLight(Model):
    """A light of the rig. Its direction turns with the view's azimuth."""

    name: ViewName
    azimuth_degrees: float
    elevation_degrees: float
    intensity: float = Field(ge=0)
    """UsdLux intensity with normalisation off, so that one unit of it is one unit of irradiance/pi."""
    angle_degrees: float = Field(gt=0, le=180)
    color: tuple[float, float, float] = (1.0, 1.0, 1.0)


class Environment(Model):
    """The environment map, in latitude-longitude layout, with its pole along the rig's +Y."""

    file: str = Field(pattern=r"^[a-z0-9_.-]+$")
    intensity: float = Field(ge=0)


class Profile(Model):
    """The parsed ``profile.toml``."""

    id: str
    title: str
    engine: Engine
    image: ImageFormat
    look: Look
    views: tuple[ViewSpec, ...] = Field(min_length=1, max_length=64)
    lights: tuple[DistantLight, ...]
    environment: Environment | None = None
    budget: Budget


@dataclass(frozen=True)
class LoadedProfile:
    """A profile with its folder and the hash of everything in it."""

    profile: Profile
    folder: Path
    sha256: str


def profile_files(folder: Path) -> list[tuple[str, int, str]]:
    """(relative POSIX path, size in bytes, SHA-256) of every file of a profile, sorted by path."""
    entries = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            data = path.read_bytes()
            entries.append((path.relative_to(folder).as_posix(), len(data), hashlib.sha256(data).hexdigest()))
    return sorted(entries)


def profile_sha256(folder: Path) -> str:
    """SHA-256 of the canonical JSON list of (path, size, sha256). Names are ASCII, so this is RFC 8785 too."""
    listing = [{"path": path, "sha256": digest, "size": size} for path, size, digest in profile_files(folder)]
    canonical = json.dumps(listing, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def list_profiles(profiles: Path) -> list[str]:
    """Ids of the profiles in a folder."""
    return sorted(path.parent.name for path in profiles.glob("*/profile.toml"))


def load_profile(profiles: Path, profile_id: str) -> LoadedProfile:
    """Reads one profile. Raises :class:`ProfileError` when it is not there or not well-formed."""
    folder = profiles / profile_id
    if not _ID.match(profile_id) or not (folder / "profile.toml").is_file():
        raise ProfileError("profile_unknown", f"There is no profile called {profile_id[:80]!r}.", _REMEDY)
    try:
        profile = Profile.model_validate(tomllib.loads((folder / "profile.toml").read_text("utf-8")))
    except (ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(
            "profile_malformed", f"Profile {profile_id} is malformed: {error}.", "Restore the profile's files."
        ) from error
    if profile.id != profile_id:
        raise ProfileError(
            "profile_malformed", f"Profile {profile_id} calls itself {profile.id}.", "Restore the profile's files."
        )
    return LoadedProfile(profile, folder, profile_sha256(folder))
