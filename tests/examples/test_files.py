"""The committed files: what the code writes, small, well formed, and what the case files say."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf, UsdValidation

from tests.examples.oracle import CASES, DAMAGES, LAYERS, ROOT, candidate, opened, pixels, reference

MEGABYTE = 1_000_000
ALL_LAYERS = sorted(path for case in CASES for path in (ROOT / case).rglob("*") if path.suffix in LAYERS)


def _files(folder: Path) -> dict[str, Path]:
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def _same(ours: Path, theirs: Path) -> bool:
    """Equal bytes; or equal content, where another compressor or compiler wrote the same thing otherwise."""
    if ours.read_bytes() == theirs.read_bytes():
        return True
    if ours.suffix == ".png":
        return np.array_equal(pixels(ours.parent / "x"), pixels(theirs.parent / "x"))
    if ours.suffix not in LAYERS:
        return False
    layers = [Sdf.Layer.FindOrOpen(str(path)).ExportToString() for path in (ours, theirs)]
    textured = ours.suffix == ".usdz"
    return layers[0] == layers[1] and (not textured or np.array_equal(pixels(ours), pixels(theirs)))


@pytest.mark.parametrize("case", CASES)
def test_committed_files_are_what_the_code_writes(case: str, written: Path) -> None:
    ours, theirs = _files(ROOT / case), _files(written / case)
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if not _same(ours[name], theirs[name])] == []


def test_files_are_small() -> None:
    sizes = [path.stat().st_size for case in CASES for path in (ROOT / case).rglob("*") if path.is_file()]
    assert max(sizes) < MEGABYTE / 2
    assert sum(sizes) < 5 * MEGABYTE


@pytest.mark.parametrize("case", CASES)
def test_identical_candidate_is_identical_to_the_byte(case: str) -> None:
    original, copy = _files(ROOT / case / "reference"), _files(ROOT / case / "candidates" / "identical")
    assert {name: path.read_bytes() for name, path in original.items()} == {
        name: path.read_bytes() for name, path in copy.items()
    }


@pytest.mark.parametrize("path", ALL_LAYERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_layer_passes_the_validators_of_usd(path: Path) -> None:
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert len(validators) >= 20
    stage = opened(path)
    assert stage.GetDefaultPrim()
    errors = UsdValidation.ValidationContext(validators).Validate(stage)
    assert [(error.GetName(), error.GetMessage()) for error in errors] == []


@pytest.mark.parametrize("case", CASES)
def test_case_files_name_what_is_there(case: str) -> None:
    told = json.loads((ROOT / case / "case.json").read_text("utf-8"))
    assert told["case_id"] == case
    assert told["profile"] == "studio-v1"
    assert (ROOT / case / told["reference"]).exists()
    objective = json.loads((ROOT / case / "objective.json").read_text("utf-8"))
    gates = {"submission_valid", "preservation_pass", "objective_success"}
    assert all(objective[gate] is True for gate in gates)
    assert len(objective.keys() - gates) >= 2


@pytest.mark.parametrize("case", CASES)
def test_expectations_cover_every_candidate(case: str) -> None:
    expected = json.loads((ROOT / case / "expected.json").read_text("utf-8"))
    assert set(expected) == {path.name for path in (ROOT / case / "candidates").iterdir()}
    assert set(expected) == {"identical", "independent", *DAMAGES}
    assert all((ROOT / case / entry["submission"]).exists() for entry in expected.values())
    assert expected["identical"]["exact"] == 1
    assert expected["independent"]["min_level"] == 3
    assert {name: expected[name]["criterion"] for name in DAMAGES} == {
        "part-missing": "components",
        "part-moved": "shape",
        "wrong-colour": "surface",
        "wrong-size": "shape",
    }


def test_the_crate_is_a_package_as_usdz_wants_it() -> None:
    with zipfile.ZipFile(reference("crate")) as package:
        entries = package.infolist()
        assert [entry.filename for entry in entries] == ["crate.usdc", "textures/planks.png"]
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        data = reference("crate").read_bytes()
        for entry in entries:
            name, extra = (int.from_bytes(data[entry.header_offset + at :][:2], "little") for at in (26, 28))
            assert (entry.header_offset + 30 + name + extra) % 64 == 0
    assert candidate("crate", "independent").suffix != ".usdz"
