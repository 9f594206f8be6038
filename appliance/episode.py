"""One episode, from a submission to its verdict.

Nothing appears in the store before the evidence is whole: a candidate's or a machine's fault leaves no
receipt. A provider's fault keeps the evidence, and gives no score.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from securesystemslib.signer import CryptoSigner, Signer

from appliance.case import Case, LoadedCase, load_case, read_bounded, valid_id
from appliance.clients import open_client
from appliance.code_hash import code_sha256, image_sha256
from appliance.errors import ApplianceError, InfrastructureFault, UsageError
from appliance.machine import machine_class
from appliance.packing import appliance_version, build_diagnostics, build_receipt, write_evidence
from appliance.rendering import Asset, Plan, RenderedRole, fault_of, render_role, take_asset
from appliance.report import render_report
from appliance.request import EpisodeRequest, actor_folders, check_options, check_places, check_submission
from appliance.result import EpisodeResult, failed
from appliance.verdicts import Verdict, judge_episode
from judge.errors import JudgeError
from judge.gates import ObjectiveGates, parse_objective
from receipt.attestation import Predicate
from receipt.digests import canonical_json
from receipt.errors import ReceiptError
from receipt.evidence import TrustedRenderEvidence, load_trusted_render_evidence
from receipt.keys import ephemeral_signer, load_signer, public_pem
from receipt.store import Staged, stage
from renderer.errors import ProfileError, RendererError
from renderer.profile import LoadedProfile, load_profile
from sandbox import Backend, SandboxError, open_backend, read_images, self_check
from sandbox.runtime import runtime_folder, source_folder

_LOG = logging.getLogger(__name__)
Progress = Callable[[str], None]
FIXTURE_WARNING = "Fixture mode: the receipt is labelled fixture and signed with a key that is thrown away."
PROCESS_WARNING = "UNSAFE: the process backend does not isolate; never give it a submission that is not your own."


def run_episode(request: EpisodeRequest, progress: Progress = lambda _: None) -> EpisodeResult:
    """Runs one episode. Never raises for what a submission, a machine or a provider does."""
    warnings = _warnings(request)
    try:
        return _Episode(request, progress, warnings).run()
    except ApplianceError as error:
        return failed(error, warnings)
    except JudgeError as error:
        return failed(UsageError(error.code, error.message, error.remedy), warnings)
    except (SandboxError, ReceiptError, RendererError) as error:
        return failed(InfrastructureFault(error.code, error.message, error.remedy), warnings)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        # A mistake of ours must not read as anything about a submission, and never as a score.
        _LOG.exception("The appliance failed")
        fault = InfrastructureFault(
            "internal_error", f"The appliance itself failed: {type(error).__name__}.", "Report this with its log."
        )
        return failed(fault, warnings)


def _warnings(request: EpisodeRequest) -> tuple[str, ...]:
    found = [FIXTURE_WARNING] if request.mode == "fixture" else []
    return (*found, PROCESS_WARNING) if request.sandbox == "process" else tuple(found)


class _Episode:
    def __init__(self, request: EpisodeRequest, progress: Progress, warnings: tuple[str, ...]) -> None:
        self.request, self.progress, self.warnings = request, progress, warnings
        self.episode_id = request.episode_id or uuid.uuid4().hex
        self.started = _now()

    def run(self) -> EpisodeResult:
        """Everything in order; whatever can be refused early is refused before anything is drawn."""
        request = self.request
        check_options(request)
        loaded = load_case(request.case)
        case = loaded.case
        if not valid_id(self.episode_id):
            raise UsageError("episode_id_invalid", "The episode id is not allowed.", "Use letters, digits, . _ and -.")
        objective = parse_objective(read_bounded(request.objective, "objective"))
        profile = _profile(request, case)
        client = open_client(request.client) if request.client else None
        check_submission(request, loaded.reference)
        check_places(request, (("runtime_folder", runtime_folder()),))
        signer = self._signer()
        plan = self._plan(profile, case)
        code = code_sha256(source_folder(), profile.profile.id)
        with stage(request.out.absolute(), case.case_id, self.episode_id) as staged:
            reference, candidate = self._render(plan, loaded, staged)
            self.progress("signing")
            receipt_sha256 = self._write(staged, plan, code, case, signer, reference, candidate)
            evidence = self._load(staged, case, receipt_sha256, reference, candidate)
            self.progress("judging")
            verdict = judge_episode(request, case, evidence, objective, client, self.episode_id)
            self._finish(staged, evidence, verdict, objective)
            folder = staged.commit()
        return EpisodeResult(
            status="failed" if verdict.fault else "finished",
            fault=verdict.fault,
            reason=verdict.reason,
            message=verdict.message,
            remedy="Judge the stored evidence again." if verdict.fault else None,
            receipt=str(folder / "receipt.json"),
            receipt_sha256=receipt_sha256,
            verdict=verdict.record,
            report=str(folder / "report.html"),
            warnings=self.warnings,
        )

    def _signer(self) -> Signer:
        if self.request.mode == "fixture":
            return ephemeral_signer()
        assert self.request.key is not None  # check_options has seen to it
        return load_signer(self.request.key, self.request.public_key)

    def _plan(self, profile: LoadedProfile, case: Case) -> Plan:
        self.progress("starting the sandbox")
        backend = open_backend(self.request.sandbox, self.request.device)
        require_known_image(backend)
        if self.request.mode == "trusted":
            self_check(backend).require()
        return Plan(backend, profile, self.request.device, case.focus_prims, case.view_seed)

    def _render(self, plan: Plan, loaded: LoadedCase, staged: Staged) -> tuple[RenderedRole, RenderedRole]:
        case, scratch = loaded.case, staged.scratch
        candidate = _taken(self.request.submission, scratch / "candidate", case.submission_root_layer, "candidate")
        source = _taken(loaded.reference, scratch / "reference", case.reference_root_layer, "reference")
        self.progress("drawing the reference")
        reference = render_role(plan, source, "reference", None)
        self.progress("drawing the candidate")
        drawn = render_role(plan, candidate, "candidate", reference.cameras)
        if machine_class(drawn.report.hello) != machine_class(reference.report.hello):
            raise InfrastructureFault(
                "roles_differ", "The two roles were drawn by different drivers.", "Run the episode again."
            )
        return reference, drawn

    def _write(
        self,
        staged: Staged,
        plan: Plan,
        code: str,
        case: Case,
        signer: Signer,
        reference: RenderedRole,
        candidate: RenderedRole,
    ) -> str:
        fixture = self.request.mode == "fixture"
        receipt, images = build_receipt(case.case_id, fixture, plan, code, reference, candidate)
        predicate = Predicate(
            case_id=case.case_id,
            episode_id=self.episode_id,
            fixture=fixture,
            mode=self.request.mode,
            started=self.started,
            finished=_now(),
            host=machine_class(reference.report.hello),
            isolation=plan.backend.describe(),
            appliance_version=appliance_version(),
        )
        diagnostics = build_diagnostics(reference, candidate)
        if fixture and isinstance(signer, CryptoSigner):
            staged.write("fixture-key.pub", public_pem(signer))
        return write_evidence(staged, receipt, images, diagnostics, predicate, [signer])

    def _load(
        self, staged: Staged, case: Case, receipt_sha256: str, reference: RenderedRole, candidate: RenderedRole
    ) -> TrustedRenderEvidence:
        return load_trusted_render_evidence(
            staged.folder.resolve(),
            expected_receipt_sha256=receipt_sha256,
            case_id=case.case_id,
            candidate_asset_sha256=candidate.asset.digest.sha256,
            reference_asset_sha256=reference.asset.digest.sha256,
            actor_roots=actor_folders(self.request) if self.request.mode == "trusted" else (),
        )

    def _finish(
        self, staged: Staged, evidence: TrustedRenderEvidence, verdict: Verdict, objective: ObjectiveGates
    ) -> None:
        staged.write("objective.json", objective.raw)
        staged.write("verdict.json", canonical_json(verdict.record))
        diagnostics = (staged.folder / "diagnostics.json").read_bytes()
        staged.write("report.html", render_report(evidence, verdict.record, diagnostics, self.warnings).encode())


def _profile(request: EpisodeRequest, case: Case) -> LoadedProfile:
    if request.profile is not None and request.profile != case.profile:
        raise UsageError(
            "profile_conflict",
            f"The case is pinned to profile {case.profile}; --profile says {request.profile}.",
            "Leave --profile out.",
        )
    try:
        return load_profile(source_folder() / "profiles", case.profile)
    except ProfileError as error:
        if error.code == "profile_unknown":
            raise UsageError(error.code, error.message, error.remedy) from error
        raise


def _taken(source: Path, staging: Path, root_layer: str | None, role: str) -> Asset:
    try:
        return take_asset(source, staging, root_layer)
    except SandboxError as error:
        raise fault_of(error, "reference" if role == "reference" else "candidate") from error


def require_known_image(backend: Backend) -> None:
    """An image must hold exactly this machine's renderer, profiles and Storm. Raises :class:`InfrastructureFault`."""
    image = backend.describe().get("image")
    if image is None:
        return
    if read_images().get(str(image)) != image_sha256(source_folder()):
        raise InfrastructureFault(
            "image_differs",
            "The image in the trusted lock holds another renderer, profile or Storm than this installation.",
            "Run `make image`.",
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
