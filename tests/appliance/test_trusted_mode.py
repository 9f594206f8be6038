"""Trusted mode's conditions, and what the command line says when they do not hold. Nothing is drawn here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from receipt.keys import generate_key
from tests.appliance.cases import CaseFiles, make_case


@pytest.fixture
def files(tmp_path: Path) -> CaseFiles:
    generate_key(tmp_path / "keys" / "judge.pem")
    return make_case(tmp_path)


def _key(files: CaseFiles) -> list[str]:
    return ["--key", str(files.out.parent / "keys" / "judge.pem")]


def test_the_plain_process_is_never_trusted(files: CaseFiles) -> None:
    code, result = files.run("--sandbox", "process", "--actor-remote", *_key(files))
    assert (code, result["fault"], result["reason"]) == (2, None, "unsafe_sandbox")


def test_a_key_is_required(files: CaseFiles) -> None:
    code, result = files.run("--sandbox", "bubblewrap", "--actor-remote")
    assert (code, result["reason"]) == (2, "key_required")


@pytest.mark.parametrize("words", [["--samples", "2"], ["--both-orders"]])
def test_only_the_scored_policy_asks_more_than_once(files: CaseFiles, words: list[str]) -> None:
    for mode in ("trusted", "fixture"):
        code, result = files.run("--mode", mode, "--policy", "acceptance", *words)
        assert (code, result["reason"]) == (2, "sampling_scored_only")
    assert files.invoke("--samples", "0").exit_code == files.invoke("--samples", "33").exit_code == 2


def test_the_actors_folders_have_to_be_told(files: CaseFiles) -> None:
    code, result = files.run("--sandbox", "bubblewrap", *_key(files))
    assert (code, result["reason"]) == (2, "actor_unknown")


def test_threat_13_evidence_within_the_actors_reach_is_refused(files: CaseFiles) -> None:
    actor = files.submission.parent
    for out in (actor, actor / "deep" / "er", actor.parent.parent):
        inside = CaseFiles(files.case, files.objective, files.submission, out)
        code, result = inside.run("--sandbox", "bubblewrap", "--actor-remote", *_key(files))
        assert (code, result["reason"]) == (4, "evidence_root_within_reach"), out
    link = files.out.parent / "link"
    link.symlink_to(actor)
    linked = CaseFiles(files.case, files.objective, files.submission, link / "evidence")
    code, result = linked.run("--sandbox", "bubblewrap", "--actor-remote", *_key(files))
    assert (code, result["reason"]) == (4, "evidence_root_within_reach")
    assert not (actor / "evidence").exists()


def test_threat_13_a_key_within_the_actors_reach_is_refused(files: CaseFiles) -> None:
    keys = files.out.parent / "keys"
    code, result = files.run("--sandbox", "bubblewrap", "--actor-root", str(keys), *_key(files))
    assert (code, result["reason"]) == (4, "key_file_within_reach")


def test_threat_3_a_submission_that_is_a_link_to_the_reference_is_refused(files: CaseFiles) -> None:
    reference = files.case.parent / "reference.usda"
    files.submission.unlink()
    files.submission.symlink_to(reference)
    roots = ["--actor-root", str(files.submission.parent)]
    code, result = files.run("--sandbox", "bubblewrap", *roots, *_key(files))
    assert (code, result["fault"], result["reason"]) == (3, "candidate", "submission_leaves_actor_root")
    code, result = files.run("--sandbox", "bubblewrap", "--actor-remote", *_key(files))
    assert (code, result["fault"], result["reason"]) == (3, "candidate", "submission_is_reference")
    assert not files.out.exists()


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("no json", "case_malformed"),
        ({"case_id": "x"}, "case_malformed"),
        ({"case_id": "../x", "reference": "r.usda"}, "case_malformed"),
        ({"case_id": "x", "reference": "r.usda", "gpu": True}, "case_malformed"),
        ({"case_id": "x", "reference": "r.usda", "profile": "none-v9"}, "profile_unknown"),
        (None, "case_unreadable"),
    ],
)
def test_a_case_that_cannot_be_meant_is_a_usage_error(files: CaseFiles, case: object, reason: str) -> None:
    if case is None:
        files.case.unlink()
    else:
        files.case.write_text(case if isinstance(case, str) else json.dumps(case))
    code, result = files.run("--mode", "fixture", "--sandbox", "process")
    assert (code, result["fault"], result["reason"]) == (2, None, reason)


@pytest.mark.parametrize("objective", ["[]", "no json", '"text"'])
def test_an_objective_that_is_no_object_is_a_usage_error(files: CaseFiles, objective: str) -> None:
    files.objective.write_text(objective)
    code, result = files.run("--mode", "fixture", "--sandbox", "process")
    assert (code, result["reason"]) == (2, "objective_malformed")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--profile", "other-v1"], "profile_conflict"),
        (["--client", "nobody"], "client_unknown"),
        (["--client", "no_such_module:make"], "client_unknown"),
        (["--episode", "../x"], "episode_id_invalid"),
    ],
)
def test_an_option_that_cannot_be_meant_is_a_usage_error(files: CaseFiles, options: list[str], reason: str) -> None:
    code, result = files.run("--mode", "fixture", "--sandbox", "process", *options)
    assert (code, result["reason"]) == (2, reason)


def test_a_person_reads_one_sentence_and_a_remedy(files: CaseFiles) -> None:
    shown = files.invoke("--sandbox", "bubblewrap", "--actor-remote")
    assert shown.exit_code == 2
    assert shown.stdout == ""
    assert shown.stderr.splitlines() == [
        "Trusted mode needs a signing key.",
        "Make one with `render-judge keygen` and pass --key, or set RENDER_JUDGE_KEY.",
    ]
