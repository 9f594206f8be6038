"""A frozen episode verifies for ever: nothing that was once signed may stop being read.

The pictures are synthetic and the receipt says fixture; its private key was thrown away.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from receipt.evidence import load_trusted_render_evidence
from receipt.keys import load_public_key
from receipt.model import dump_receipt, parse_receipt
from receipt.verify import verify_episode

GOLDEN = Path(__file__).parent / "golden"
RECEIPT_SHA256 = {"v1": "5ae2ccea48689f368043353b8e955caa739c46dad0c56e638e00444e1c2b2c08"}


@pytest.mark.parametrize("name", RECEIPT_SHA256)
def test_a_frozen_episode_still_verifies_and_loads(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(GOLDEN / name / "episode", folder)
    folder.chmod(0o755)
    report = verify_episode(folder, [load_public_key(GOLDEN / name / "key.pub")], case_id="case-1", episode_id="ep-1")
    assert report.holds, report.answers
    assert report.receipt_sha256 == RECEIPT_SHA256[name]
    receipt = parse_receipt((folder / "receipt.json").read_bytes())
    evidence = load_trusted_render_evidence(
        folder,
        expected_receipt_sha256=RECEIPT_SHA256[name],
        case_id="case-1",
        candidate_asset_sha256=receipt.candidate_asset_sha256,
        reference_asset_sha256=receipt.reference_asset_sha256,
    )
    assert evidence.fixture is True
    assert evidence.view_ids == ("front.beauty", "front.clay")
    assert dump_receipt(receipt) == (folder / "receipt.json").read_bytes()


def test_every_frozen_episode_is_tested() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(RECEIPT_SHA256)
