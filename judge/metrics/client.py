"""``metrics`` as a judge client: reads the same request as a model would, and answers in the same form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from judge.metrics.difference import Rgb8, flip_error
from judge.metrics.distances import (
    reduce,
    shape_distances,
    shared_surface,
    speckles,
    surface_distances,
)
from judge.metrics.levels import (
    ARTIFACTS,
    COMPONENTS,
    SHAPE,
    SURFACE,
    TONE,
    ViewDistances,
    components_distance,
    level,
    shape_distance,
    worst,
)
from judge.ports import LabelledImage, ProviderConfig, ProviderRequest, ProviderResponse
from receipt.png import decode_png, to_rgb8

VERSION: Final = "1"
MODEL: Final = f"image-distances-v{VERSION} (no model)"

Answer = tuple[int | None, str]


def metrics_config() -> ProviderConfig:
    """The configuration that goes with :class:`MetricsClient`."""
    return ProviderConfig(provider_id="metrics", model=MODEL, timeout_seconds=120.0)


class MetricsClient:
    """FLIP, silhouettes, CIEDE2000 and specks, mapped to levels. Deterministic, offline, no weights."""

    @property
    def provider_id(self) -> str:
        """``metrics``."""
        return "metrics"

    def complete(self, request: ProviderRequest, *, timeout_seconds: float) -> ProviderResponse:  # noqa: ARG002
        """Measures every pair. It is quick and bounded, so the timeout needs no watching here."""
        views = measure(request.images)
        answers = judge_views(views)
        reply = {
            "criteria": [
                {
                    "id": name,
                    "level": answers[name][0] if name in answers else None,
                    "unassessable": name not in answers or answers[name][0] is None,
                    "observation": answers[name][1] if name in answers else "No distance measures this criterion.",
                }
                for name in _criteria(request)
            ]
        }
        return ProviderResponse(reply=json.dumps(reply), served_model=MODEL, sidecar=_sidecar(views))


def _criteria(request: ProviderRequest) -> Sequence[str]:
    names: Sequence[str] = json.loads(request.untrusted_context)["criteria"]
    return names


def measure(images: Sequence[LabelledImage]) -> list[ViewDistances]:
    """Distances of every view; a picture without a pass serves as both."""
    pairs: dict[int, dict[str, dict[str, Rgb8]]] = {}
    for image in images:
        for pass_name in (image.pass_name,) if image.pass_name else ("beauty", "clay"):
            pixels = reduce(to_rgb8(decode_png(image.data)))
            pairs.setdefault(image.view, {}).setdefault(pass_name, {})[image.role] = pixels
    return [_view(number, passes) for number, passes in sorted(pairs.items())]


def _view(number: int, passes: dict[str, dict[str, Rgb8]]) -> ViewDistances:
    clay, beauty = passes.get("clay"), passes.get("beauty")
    outlines = clay or beauty
    if outlines is None:
        return ViewDistances(number, None, None, None, False)
    error = flip_error(outlines["reference"], outlines["candidate"])
    shape = shape_distances(clay["reference"], clay["candidate"], error) if clay else None
    shared = shared_surface(outlines["reference"], outlines["candidate"], error)
    surface = surface_distances(beauty["reference"], beauty["candidate"], shared) if beauty else None
    found = [
        value
        for pair in (clay, beauty)
        if pair is not None and (value := speckles(pair["reference"], pair["candidate"], shared)) is not None
    ]
    return ViewDistances(number, shape, surface, max(found, default=None), beauty is not None)


def judge_views(views: Sequence[ViewDistances]) -> dict[str, Answer]:
    """A level and an observation for each criterion that can be assessed."""
    answers: dict[str, Answer] = {}
    shapes = [view.shape for view in views if view.shape is not None]
    if shapes:
        components, shape = components_distance(shapes), shape_distance(shapes)
        answers["components"] = (
            level(components, COMPONENTS),
            f"The largest coherent difference covers {components:.2%} of the silhouette in the worst views.",
        )
        answers["shape"] = (
            level(shape, SHAPE),
            f"Coherent differences of outline and inner shape cover {shape:.2%} in the worst views.",
        )
    surfaces = [view.surface for view in views if view.surface is not None]
    # Where the reference shows an object and no view shares any of it, there is nothing of it to be seen.
    nothing = (0, "The candidate shows nothing of the reference's surface in any view.")
    if shapes and not surfaces and any(view.beauty for view in views):
        answers["surface"] = nothing
    elif surfaces:
        recoloured, tone = (
            worst([surface.recoloured for surface in surfaces]),
            worst([surface.delta_e for surface in surfaces]),
        )
        answers["surface"] = (
            min(level(recoloured, SURFACE), level(tone, TONE)),
            f"{recoloured:.2%} of the shared surface differs in colour in the worst views; mean CIEDE2000 {tone:.2f}.",
        )
    specks = [view.specks for view in views if view.specks is not None]
    if shapes and not specks:
        answers["artifacts"] = nothing
    elif specks:
        share = worst(specks)
        answers["artifacts"] = (
            level(share, ARTIFACTS),
            f"Specks that the reference lacks cover {share:.2%} of the shared surface in the worst views.",
        )
    return answers


def _sidecar(views: Sequence[ViewDistances]) -> dict[str, Any]:
    return {
        "views": [
            {
                "view": view.view,
                "shape": view.shape.__dict__ if view.shape else None,
                "surface": view.surface.__dict__ if view.surface else None,
                "specks": view.specks,
            }
            for view in views
        ]
    }
