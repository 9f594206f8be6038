"""From verified evidence to the one request that a model gets."""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any, Final

from judge.instructions import canonical, instructions_for, response_schema
from judge.ports import LabelledImage, Order, ProviderConfig, ProviderRequest
from judge.rubric import Criterion, Rubric
from receipt.digests import canonical_json, sha256_hex
from receipt.evidence import TrustedRenderEvidence
from receipt.model import Role

ROLES: Final[dict[Order, tuple[Role, Role]]] = {
    "reference_first": ("reference", "candidate"),
    "candidate_first": ("candidate", "reference"),
}


def build_request(
    evidence: TrustedRenderEvidence, config: ProviderConfig, rubric: Rubric, order: Order = "reference_first"
) -> ProviderRequest:
    """The frozen request: pairs in the receipt's order, each in the given order, under neutral labels.

    A label says role, number of the view and pass, and nothing that a submission or a file could name.
    Pictures of a pass that no criterion looks at are left out. The configuration has been checked.
    """
    images = _images(evidence, rubric, order)
    instructions, schema = instructions_for(rubric), response_schema(rubric)
    context = canonical({"images": [image.label for image in images], "criteria": list(rubric.ids)})
    settings = copy.deepcopy(dict(config.settings))
    document = {
        "instructions": instructions,
        "context": context,
        "images": [{"label": image.label, "sha256": image.sha256} for image in images],
        "response_schema": schema,
        "model": config.model,
        "settings": settings,
        "timeout_seconds": float(config.timeout_seconds),
    }
    return ProviderRequest(
        instructions=instructions,
        untrusted_context=context,
        images=images,
        response_schema=MappingProxyType(schema),
        model=config.model,
        settings=MappingProxyType(settings),
        timeout_seconds=float(config.timeout_seconds),
        request_sha256=sha256_hex(canonical_json(document)),
    )


def _images(evidence: TrustedRenderEvidence, rubric: Rubric, order: Order) -> tuple[LabelledImage, ...]:
    looked_at = {name for criterion in rubric.data.criteria for name in criterion.passes}
    cameras = _cameras(evidence)
    numbers: dict[str, int] = {}
    labelled: set[tuple[str, str | None]] = set()
    images = []
    for view_id in evidence.view_ids:
        pass_name = evidence.image("reference", view_id).pass_name
        if pass_name is not None and pass_name not in looked_at:
            continue
        camera = cameras[view_id]
        if (camera, pass_name) in labelled:
            camera = _own_camera(view_id)
        labelled.add((camera, pass_name))
        number = numbers.setdefault(camera, len(numbers) + 1)
        for role in ROLES[order]:
            image = evidence.image(role, view_id)
            images.append(
                LabelledImage(
                    label=f"{role}, view {number}" + (f", {pass_name}" if pass_name else ""),
                    role=role,
                    view=number,
                    pass_name=pass_name,
                    media_type="image/png",
                    sha256=image.sha256,
                    data=image.data,
                )
            )
    return tuple(images)


def _cameras(evidence: TrustedRenderEvidence) -> dict[str, str]:
    """The camera of each view, from the receipt's map; a view without one stands for itself."""
    views: Any = evidence.renderer.settings.get("views", {})
    cameras = {}
    for view_id in evidence.view_ids:
        name = views.get(view_id, {}).get("camera")
        cameras[view_id] = f"camera {name}" if isinstance(name, str) else _own_camera(view_id)
    return cameras


def _own_camera(view_id: str) -> str:
    """A camera that no other view has; the prefix keeps it apart from one that is called like the view."""
    return f"view {view_id}"


def has_evidence(criterion: Criterion, images: tuple[LabelledImage, ...]) -> bool:
    """Is there a picture that the criterion may look at? One without a pass serves every criterion."""
    return any(image.pass_name is None or image.pass_name in criterion.passes for image in images)


def input_sha256(evidence: TrustedRenderEvidence, rubric: Rubric) -> str:
    """Hash of what is judged: receipt, every image in order, rubric."""
    images = [[image.role, image.view_id, image.sha256] for image in evidence.images]
    return sha256_hex(canonical_json({"receipt": evidence.receipt_sha256, "images": images, "rubric": rubric.sha256}))
