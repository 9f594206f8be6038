"""The other commands, and the README's words about them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from appliance.cli import main
from appliance.expectations import Expected, objection
from appliance.report import render_report
from appliance.tables import table
from tests.appliance.cases import POST
from tests.backends import quickest
from tests.episodes import Episode, build_episode

README = Path(__file__).resolve().parents[2] / "README.md"


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


@pytest.mark.storm
def test_render_writes_the_profiles_pictures_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "post.usda").write_text(POST)
    done = run("render", tmp_path / "post.usda", "--out", tmp_path / "a", "--sandbox", quickest(), "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert len(list((tmp_path / "a").glob("*.png"))) == len(facts["images"]) == 12
    assert json.loads((tmp_path / "a" / "render.json").read_text()) == facts
    again = run("render", tmp_path / "post.usda", "--out", tmp_path / "b", "--sandbox", quickest(), "--json")
    assert json.loads(again.stdout)["images"] == facts["images"], "twice the same bytes"
    full = run("render", tmp_path / "post.usda", "--out", tmp_path / "a", "--sandbox", quickest(), "--json")
    assert (full.exit_code, json.loads(full.stdout)["reason"]) == (2, "out_not_empty")
    missing = run("render", tmp_path / "none.usda", "--out", tmp_path / "c", "--sandbox", quickest(), "--json")
    assert (missing.exit_code, json.loads(missing.stdout)["reason"]) == (3, "submission_missing")
    assert not (tmp_path / "c").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "post.usda"]


@pytest.fixture
def episode(tmp_path: Path) -> Episode:
    return build_episode(tmp_path / "store")


def test_verify_answers_four_questions_and_fails_with_six(episode: Episode, tmp_path: Path) -> None:
    from receipt.keys import public_pem

    (tmp_path / "k.pub").write_bytes(public_pem(episode.signer))
    good = run("verify", episode.folder, "--public-key", tmp_path / "k.pub", "--json")
    assert good.exit_code == 0, good.output
    assert [one["question"] for one in json.loads(good.stdout)["answers"]] == [
        "authenticity",
        "integrity",
        "completeness",
        "identity",
    ]
    other = run("verify", episode.folder, "--public-key", tmp_path / "k.pub", "--case", "case-1", "--episode", "ep-2")
    assert other.exit_code == 6, "another episode in its place"
    (episode.folder / "images" / "candidate" / "front.clay.png").write_bytes(b"x")
    bad = run("verify", episode.folder, "--public-key", tmp_path / "k.pub")
    assert bad.exit_code == 6
    assert "NOT VERIFIED" in bad.stdout
    assert run("verify", episode.folder).exit_code == 2


def test_keygen_makes_a_key_once(tmp_path: Path) -> None:
    made = run("keygen", "--out", tmp_path / "k.pem", "--json")
    assert made.exit_code == 0
    assert Path(json.loads(made.stdout)["public_key"]).is_file()
    again = run("keygen", "--out", tmp_path / "k.pem")
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_profiles_lists_the_first_profile() -> None:
    assert "studio-v1" in run("profiles").stdout
    assert json.loads(run("profiles", "--json").stdout)[0]["id"] == "studio-v1"


def test_every_command_has_json_and_help() -> None:
    for name, command in main.commands.items():
        assert "--json" in {option for one in command.params for option in one.opts}, name
        assert command.help


def test_the_readme_names_only_commands_and_options_that_exist() -> None:
    text = README.read_text(encoding="utf-8").replace("\\\n", " ")
    calls = re.findall(r"^ +render-judge (\w+)(.*)$", text, re.MULTILINE)
    assert {name for name, _ in calls} >= {"episode", "render", "verify", "doctor", "keygen"}
    for name, rest in calls:
        known = {option for one in main.commands[name].params for option in one.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, name


MARKUP = "<script>alert(1)</script>"


def test_threat_10_markup_in_observations_and_names_stays_text(episode: Episode) -> None:
    verdict: dict[str, Any] = {
        "status": "scored",
        "score": 0.5,
        "criteria": [{"id": MARKUP, "level": 2, "weight": "1", "observation": MARKUP}],
    }
    facts = {
        "size_metres": [1, 1, 1],
        "meters_per_unit": 1,
        "up_axis": MARKUP,
        "notes": [{"code": "x", "subject": MARKUP, "message": MARKUP}],
        **dict.fromkeys(("prims", "meshes", "points", "layers", "materials", "textures"), 0),
    }
    role = {"root_layer": MARKUP, "reported_by_sandbox": facts, "measured_by_trusted_side": {"wall_seconds": 1}}
    evidence = episode.load()
    # A receipt of the tests' own has none of the settings that the page shows.
    settings = evidence.renderer.settings | {
        "versions": {"openusd": MARKUP},
        "machine_class": {"gl_renderer": MARKUP, "gl_version": "", "cpu": ""},
        "device": "cpu",
        "isolation": {"backend": MARKUP},
    }
    page = render_report(
        evidence, verdict, json.dumps({"reference": role, "candidate": role}).encode(), (MARKUP,), settings=settings
    )
    assert MARKUP not in page
    assert page.count("&lt;script&gt;") >= 8
    assert page.count("<script") == 1


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "a\nb", "\u202egnp", "\x07"])
def test_words_from_outside_do_no_harm_to_a_terminal(hostile: str) -> None:
    shown = table([["name", hostile]])
    assert not any(ord(letter) < 32 or letter in "\u202e\x1b" for letter in shown)


SCORED = {"status": "scored", "score": 0.7, "criteria": [{"id": "shape", "level": 2}, {"id": "surface", "level": 4}]}


@pytest.mark.parametrize(
    ("expected", "undamaged", "wrong"),
    [
        ({"exact": 1}, {}, "not exactly 1"),
        ({"min_level": 3}, {}, "shape below level 3"),
        ({"min_level": 2}, {}, None),
        ({"criterion": "shape"}, {"shape": 4}, None),
        ({"criterion": "shape"}, {"shape": 2}, "shape is at 2"),
        ({"criterion": "surface"}, {"surface": 4}, "surface is at 4"),
        ({"criterion": "other"}, {}, "other is at None"),
    ],
)
def test_an_examples_expectation_can_fail(
    expected: dict[str, Any], undamaged: dict[str, int | None], wrong: str | None
) -> None:
    found = objection(Expected(submission="s", **expected), SCORED, undamaged)
    assert (found is None) == (wrong is None)
    assert wrong is None or (found is not None and wrong in found)
    assert objection(Expected(submission="s", **expected), {"status": "failed"}, undamaged) is not None
