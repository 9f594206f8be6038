"""What an episode is asked for, and the rules that trusted mode puts on it. Pure, but for looking at folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from appliance.errors import CandidateFault, UsageError
from receipt.keys import key_file
from receipt.places import inside, require_apart, require_outside
from renderer.protocol import Device
from sandbox import BackendName

Mode = Literal["trusted", "fixture"]
Policy = Literal["scored", "acceptance"]


@dataclass(frozen=True)
class EpisodeRequest:
    """One episode as a verifier asks for it. Paths are the caller's own."""

    case: Path
    submission: Path
    objective: Path
    out: Path
    mode: Mode = "trusted"
    sandbox: BackendName = "docker"
    device: Device = "cpu"
    profile: str | None = None
    client: str | None = None
    authorize: str | None = None
    allow_fixtures: bool = False
    policy: Policy = "scored"
    episode_id: str | None = None
    actor_roots: tuple[Path, ...] = ()
    actor_remote: bool = False
    key: str | None = None
    public_key: Path | None = None
    samples: int = 1
    """Calls of a judge client under the scored policy; the lower median of the answers counts."""
    both_orders: bool = False
    """Ask as often with the candidate's pictures first."""


def check_options(request: EpisodeRequest) -> None:
    """Trusted mode's conditions that can be told from the options alone. Raises :class:`UsageError`."""
    if request.policy != "scored" and (request.samples != 1 or request.both_orders):
        raise UsageError(
            "sampling_scored_only",
            "Only the scored policy asks a client more than once.",
            "Leave out --samples and --both-orders, or judge with --policy scored.",
        )
    if request.mode == "fixture":
        return
    if request.sandbox == "process":
        raise UsageError(
            "unsafe_sandbox",
            "Trusted mode never runs a submission in the plain process backend.",
            "Use --sandbox docker or --sandbox bubblewrap, or --mode fixture for a submission of your own.",
        )
    if request.key is None:
        raise UsageError(
            "key_required",
            "Trusted mode needs a signing key.",
            "Make one with `render-judge keygen` and pass --key, or set RENDER_JUDGE_KEY.",
        )
    if not request.actor_roots and not request.actor_remote:
        raise UsageError(
            "actor_unknown",
            "Trusted mode needs to know which folders the actor can write.",
            "Pass --actor-root for each, or --actor-remote if the actor has no access to this machine.",
        )


def actor_folders(request: EpisodeRequest) -> tuple[Path, ...]:
    """Every folder that counts as the actor's; the submission's own always does."""
    submission = request.submission.absolute()
    own = submission if submission.is_dir() else submission.parent
    return (*(root.absolute() for root in request.actor_roots), own)


def check_places(request: EpisodeRequest, extra: Sequence[tuple[str, Path]] = ()) -> None:
    """Trusted mode: evidence, staging, caches and key out of the actor's reach. Raises :class:`PlaceError`.

    Staging lies inside the evidence root, so that one check covers both.
    """
    if request.mode == "fixture":
        return
    actors = actor_folders(request)
    require_apart("evidence_root", request.out.absolute(), actors)
    for what, path in extra:
        require_outside(what, path, actors)
    file = key_file(request.key) if request.key else None
    if file is not None:
        require_outside("key_file", file.absolute(), actors)


def check_submission(request: EpisodeRequest, reference: Path) -> None:
    """Trusted mode: what is handed in must be the actor's own, and not the reference by another name.

    The snapshot follows links in the caller's own path to a submission. An actor who owns a part of that
    path could lead it out of its folder, to the reference above all. Raises :class:`CandidateFault`.
    """
    if request.mode == "fixture":
        return
    given = Path(os.path.normpath(request.submission.absolute()))
    real = Path(os.path.realpath(given))
    if any(given.is_relative_to(root.absolute()) and not inside(real, root) for root in request.actor_roots):
        raise CandidateFault(
            "submission_leaves_actor_root",
            "The submission is a link that leads out of the actor's folder.",
            "Hand in the files themselves.",
        )
    if inside(real, reference) or inside(reference, real):
        raise CandidateFault(
            "submission_is_reference",
            "The submission's path leads to the reference itself.",
            "Hand in the files themselves.",
        )
