"""Whole episodes with the real Storm: what comes out, what does not, and whose fault it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from receipt.keys import load_public_key
from receipt.verify import verify_episode
from tests.appliance.cases import FIXTURE, GATES, POST, CaseFiles, make_case
from tests.backends import quickest

pytestmark = pytest.mark.storm


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[CaseFiles, int, dict[str, Any]]:
    files = make_case(tmp_path_factory.mktemp("judged"))
    return files, *files.run("--sandbox", "bubblewrap", "--episode", "e1", *FIXTURE)


def test_an_identical_candidate_scores_exactly_one(judged: tuple[CaseFiles, int, dict[str, Any]]) -> None:
    _, code, result = judged
    assert code == 0, result
    assert (result["status"], result["fault"], result["reason"]) == ("finished", None, None)
    assert result["verdict"]["score"] == 1
    assert result["verdict"]["kind"] == "fixture"
    assert {one["level"] for one in result["verdict"]["criteria"]} == {4}


def test_the_episode_is_whole_signed_and_verifies(judged: tuple[CaseFiles, int, dict[str, Any]]) -> None:
    files, _, result = judged
    folder = files.out / "post" / "e1"
    assert result["receipt"] == str(folder / "receipt.json")
    report = verify_episode(folder, [load_public_key(folder / "fixture-key.pub")])
    assert report.holds, report.answers
    assert (report.case_id, report.episode_id, report.fixture) == ("post", "e1", True)
    assert report.receipt_sha256 == result["receipt_sha256"]
    assert len(list((folder / "images").rglob("*.png"))) == 24
    assert (folder / "objective.json").read_bytes() == files.objective.read_bytes()
    assert json.loads((folder / "verdict.json").read_bytes()) == result["verdict"]
    assert not list((files.out / ".staging").iterdir())


def test_equal_renders_give_equal_receipts_on_every_run(judged: tuple[CaseFiles, int, dict[str, Any]]) -> None:
    files, _, first = judged
    words = ["--mode", "fixture", "--samples", "3", "--both-orders"]
    code, second = files.run("--sandbox", "bubblewrap", "--episode", "e2", *words)
    assert (code, second["reason"]) == (0, "no_authorization")
    assert second["verdict"]["sampling"] == {"samples": 3, "both_orders": True}
    assert second["receipt_sha256"] == first["receipt_sha256"]


def test_the_report_is_one_file_that_fetches_nothing(judged: tuple[CaseFiles, int, dict[str, Any]]) -> None:
    text = Path(judged[2]["report"]).read_text(encoding="utf-8")
    assert "Score 1.000" in text
    assert "default-src 'none'" in text
    assert text.count("<figure>") == 12
    assert "http://" not in text and "https://" not in text and "url(" not in text


def test_a_repeated_episode_id_is_refused_and_nothing_is_overwritten(
    judged: tuple[CaseFiles, int, dict[str, Any]],
) -> None:
    files, _, first = judged
    before = Path(first["receipt"]).read_bytes()
    code, result = files.run("--sandbox", "bubblewrap", "--episode", "e1", *FIXTURE)
    assert (code, result["reason"]) == (4, "episode_exists")
    assert Path(first["receipt"]).read_bytes() == before


def test_nothing_authorises_itself(tmp_path: Path) -> None:
    files = make_case(tmp_path)
    words = ["--client", "metrics", "--authorize", "tester"]
    code, result = files.run("--mode", "fixture", "--sandbox", quickest(), *words)
    assert (code, result["status"], result["reason"]) == (0, "finished", "fixture_not_allowed")
    assert (result["verdict"]["status"], result["verdict"]["score"]) == ("not_run", None)
    assert Path(result["receipt"]).is_file()


def test_a_failed_gate_is_not_run(tmp_path: Path) -> None:
    files = make_case(tmp_path)
    files.objective.write_text(json.dumps(GATES | {"preservation_pass": "true"}))
    code, result = files.run("--sandbox", quickest(), *FIXTURE)
    assert (code, result["reason"]) == (0, "gate_failed:preservation_pass")


def test_damage_lowers_what_it_concerns(tmp_path: Path) -> None:
    files = make_case(tmp_path)
    files.submission.write_text(POST.replace("(0.7, 0.1, 0.08)", "(0.05, 0.2, 0.7)"))
    code, result = files.run("--sandbox", quickest(), *FIXTURE)
    assert code == 0, result
    levels = {one["id"]: one["level"] for one in result["verdict"]["criteria"]}
    assert levels["surface"] <= 2
    assert levels["shape"] == levels["components"] == 4


BAD: dict[str, tuple[str, str]] = {
    "text renamed": ("hello", "not_usd"),
    "empty file": ("", "not_usd"),
    "empty stage": ("#usda 1.0\n", "empty_stage"),
    "no geometry": ('#usda 1.0\ndef Xform "World"\n{\n}\n', "no_geometry"),
    "broken layer": ("#usda 1.0\ndef (", "unreadable_layer"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_submission_that_cannot_be_rendered_is_the_candidates_fault(tmp_path: Path, name: str) -> None:
    files = make_case(tmp_path)
    content, code = BAD[name]
    files.submission.write_text(content)
    exit_code, result = files.run("--sandbox", "bubblewrap", *FIXTURE)
    assert (exit_code, result["fault"], result["reason"]) == (3, "candidate", code)
    assert result["message"].count("\n") == 0 and result["remedy"].endswith(".")
    assert (result["receipt"], result["verdict"], result["report"]) == (None, None, None)
    assert [path for path in files.out.rglob("*") if path.is_file()] == []


def test_a_missing_file_and_a_folder_without_usd_are_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    files = make_case(tmp_path)
    code, result = files.run("--sandbox", "bubblewrap", *FIXTURE, submission=tmp_path / "nothing.usda")
    assert (code, result["reason"]) == (3, "submission_missing")
    folder = tmp_path / "actor" / "empty"
    folder.mkdir()
    (folder / "readme.txt").write_text("no USD here")
    code, result = files.run("--sandbox", "bubblewrap", *FIXTURE, submission=folder)
    assert (code, result["reason"]) == (3, "no_usd_file")
    assert [path for path in files.out.rglob("*") if path.is_file()] == []


def test_a_broken_reference_is_never_the_candidates_fault(tmp_path: Path) -> None:
    files = make_case(tmp_path)
    (files.case.parent / "reference.usda").write_text("#usda 1.0\n")
    code, result = files.run("--sandbox", quickest(), *FIXTURE)
    assert (code, result["fault"], result["reason"]) == (4, "infrastructure", "reference_empty_stage")


@pytest.mark.docker
def test_trusted_mode_in_a_container_with_a_key_of_ones_own(tmp_path: Path) -> None:
    from receipt.keys import generate_key

    files = make_case(tmp_path)
    public = generate_key(tmp_path / "keys" / "judge.pem")
    words = ["--sandbox", "docker", "--key", str(tmp_path / "keys" / "judge.pem"), "--episode", "t1"]
    words += ["--actor-root", str(tmp_path / "actor"), "--client", "metrics", "--authorize", "tester"]
    code, result = files.run(*words)
    assert code == 0, result
    assert (result["verdict"]["kind"], result["verdict"]["score"]) == ("evaluation", 1)
    report = verify_episode(files.out / "post" / "t1", [load_public_key(public)])
    assert report.holds, report.answers
    assert report.fixture is False
