"""Which file of a submission is opened: the one that is asked for, else the only one that it can mean."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from sandbox.errors import SubmissionError
from sandbox.snapshot import Snapshot

USD_SUFFIXES: Final = (".usd", ".usda", ".usdc", ".usdz")
_ROOT_NAMES: Final = ("root", "main", "scene", "asset")


def choose_root_layer(snapshot: Snapshot, requested: str | None = None) -> str:
    """The relative path of the root layer among the snapshot's files.

    In this order: ``requested``; the only file; the only USD file at the top; the one at the top that is
    named like the folder; the one named root, main, scene or asset. Each step must leave exactly one.
    Raises :class:`SubmissionError` ``root_layer_missing``, ``no_usd_file`` or ``ambiguous_root_layer``.
    """
    paths = [file.path for file in snapshot.files]
    if requested is not None:
        return _requested(requested, paths)
    usd = [path for path in paths if PurePosixPath(path).suffix.lower() in USD_SUFFIXES]
    if not usd:
        raise SubmissionError(
            "no_usd_file", "The submission holds no USD file.", f"Hand in one of {', '.join(USD_SUFFIXES)}."
        )
    top = [path for path in usd if "/" not in path]
    for found in (usd if len(paths) == 1 else [], top, _named(top, (snapshot.name,)), _named(top, _ROOT_NAMES)):
        if len(found) == 1:
            return found[0]
    some = ", ".join(ascii(path) for path in (top or usd)[:5])
    raise SubmissionError(
        "ambiguous_root_layer", f"Any of these could be the root layer: {some}.", "Name the root layer."
    )


def _named(paths: list[str], stems: tuple[str, ...]) -> list[str]:
    return [path for path in paths if PurePosixPath(path).stem.lower() in {stem.lower() for stem in stems}]


def _requested(requested: str, paths: list[str]) -> str:
    # Only a name out of the snapshot's own list is ever passed on, so nothing can lead out of it.
    if requested not in paths:
        raise SubmissionError(
            "root_layer_missing",
            f"The submission has no file {requested[-200:]!a}.",
            "Name the root layer as a path relative to the submission.",
        )
    if PurePosixPath(requested).suffix.lower() not in USD_SUFFIXES:
        raise SubmissionError(
            "no_usd_file", f"{requested[-200:]!a} is not a USD file.", f"Name one of {', '.join(USD_SUFFIXES)}."
        )
    return requested
