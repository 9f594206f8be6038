"""What a person reads on a terminal, and the JSON that stands for it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from appliance.doctor import Finding
from appliance.errors import ApplianceError
from appliance.report import headline
from appliance.result import EpisodeResult
from judge.parsing import clean_text
from receipt.verify import VerificationReport
from renderer.profile import LoadedProfile


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Left-aligned columns; words from outside are made harmless to a terminal."""
    cleaned = [[clean_text(cell, 400) for cell in row] for row in ([header, *rows] if header else rows)]
    widths = [max(len(row[column]) for row in cleaned) for column in range(len(cleaned[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cleaned]
    if header:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def progress_printer(*, quiet: bool) -> Callable[[str], None]:
    """Prints progress to stderr, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        return lambda _: None
    return lambda text: click.echo(f"... {text}", err=True)


def error_text(error: ApplianceError) -> str:
    """One sentence and a remedy."""
    return f"{clean_text(error.message, 2000)}\n{clean_text(error.remedy, 500)}"


def error_json(error: ApplianceError) -> str:
    """The same for machines."""
    return json.dumps(
        {
            "status": "failed",
            "fault": error.fault,
            "reason": error.code,
            "message": error.message,
            "remedy": error.remedy,
        },
        indent=2,
    )


def result_error(result: EpisodeResult) -> str:
    """An episode that left no evidence."""
    whose = f" ({result.fault} fault)" if result.fault else ""
    return f"{clean_text(result.message or '', 2000)}{whose}\n{clean_text(result.remedy or '', 500)}"


def episode_table(result: EpisodeResult) -> str:
    """Verdict, criteria and where the evidence is."""
    verdict: dict[str, Any] = result.verdict or {}
    blocks = list(result.warnings)
    rows = [["verdict", headline(verdict)]]
    if result.fault:
        rows.append(["fault", f"{result.fault}: {result.message or ''}"])
    rows += [
        ["receipt", result.receipt or ""],
        ["sha256", result.receipt_sha256 or ""],
        ["report", result.report or ""],
    ]
    blocks.append(table(rows))
    criteria = [
        [one["id"], "unassessable" if one["level"] is None else f"{one['level']} of 4", one["observation"]]
        for one in verdict.get("criteria", [])
    ]
    if criteria:
        blocks.append(table(criteria, ("criterion", "level", "observation")))
    return "\n\n".join(blocks)


def render_table(facts: dict[str, Any], out: Path) -> str:
    """Pictures written and what a person should know about them."""
    reported = facts["reported_by_sandbox"]
    size = " x ".join(f"{value:.4g}" for value in reported["size_metres"])
    rows = [
        ["pictures", f"{len(facts['images'])} in {out}"],
        ["size", f"{size} metres, {reported['up_axis']} up, {reported['meters_per_unit']:g} metres per unit"],
        ["content", f"{reported['prims']} prims, {reported['meshes']} meshes, {reported['points']} points"],
        ["asset", f"{facts['asset_sha256']}"],
        ["seconds", f"{facts['wall_seconds']}"],
    ]
    rows += [["note", f"{note['code']}: {note['subject']} {note['message']}"] for note in reported["notes"][:20]]
    return table(rows)


def verification_table(report: VerificationReport) -> str:
    """The four answers."""
    label = " (fixture)" if report.fixture else ""
    rows = [[a.question, "holds" if a.holds else f"FAILS ({a.code})", a.detail] for a in report.answers]
    head = f"{report.case_id}/{report.episode_id}{label}: {'verified' if report.holds else 'NOT VERIFIED'}"
    return f"{head}\n\n{table(rows, ('question', 'answer', 'detail'))}"


def verification_json(report: VerificationReport) -> str:
    """The same for machines."""
    return json.dumps(
        {
            "verified": report.holds,
            "case_id": report.case_id,
            "episode_id": report.episode_id,
            "fixture": report.fixture,
            "receipt_sha256": report.receipt_sha256,
            "key_ids": list(report.key_ids),
            "answers": [answer.__dict__ for answer in report.answers],
        },
        indent=2,
    )


def doctor_table(findings: Sequence[Finding]) -> str:
    """What is well, what is not, and the remedy of each."""
    rows = [[one.name, "ok" if one.well else "MISSING", f"{one.detail} {one.remedy}".strip()] for one in findings]
    return table(rows, ("part", "state", "detail"))


def doctor_json(findings: Sequence[Finding]) -> str:
    """The same for machines."""
    return json.dumps([one.__dict__ for one in findings], indent=2)


def key_table(made: dict[str, str]) -> str:
    """Where a new key is."""
    return table([[name.replace("_", " "), value] for name, value in made.items()])


def profiles_table(loaded: Sequence[LoadedProfile]) -> str:
    """Profiles with their size and hash."""
    rows = [
        [
            one.profile.id,
            f"{len(one.profile.views)} views of {one.profile.image.width} x {one.profile.image.height}, "
            f"{' and '.join(one.profile.image.passes)}",
            one.sha256[:16],
        ]
        for one in loaded
    ]
    return table(rows, ("profile", "pictures", "sha256"))


def profiles_json(loaded: Sequence[LoadedProfile]) -> str:
    """The same for machines, whole."""
    return json.dumps(
        [{"id": one.profile.id, "sha256": one.sha256, **one.profile.model_dump(mode="json")} for one in loaded],
        indent=2,
    )
