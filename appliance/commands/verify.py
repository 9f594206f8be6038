"""``render-judge verify``."""

from __future__ import annotations

from pathlib import Path

import click

from appliance import tables
from appliance.commands.options import FOLDER, JSON, Refusal, from_receipt
from appliance.errors import EXIT_VERIFICATION, ApplianceError
from receipt.errors import ReceiptError
from receipt.keys import load_public_key
from receipt.verify import verify_episode


@click.command()
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--public-key", "public_keys", type=FOLDER, multiple=True, help="Trusted public key (PEM); repeatable.")
@click.option("--threshold", type=click.IntRange(min=1), default=1, show_default=True, help="Signatures needed.")
@click.option("--case", "case_id", metavar="ID", help="Case that the episode must be of.")
@click.option(
    "--episode", "episode_id", metavar="ID", help="Episode that it must be; catches one put in another's place."
)
@click.option("--fixture-key", is_flag=True, help="Trust the key beside a fixture; proves nothing about its origin.")
@JSON
@click.pass_context
def verify(
    context: click.Context,
    folder: Path,
    public_keys: tuple[Path, ...],
    threshold: int,
    case_id: str | None,
    episode_id: str | None,
    fixture_key: bool,
    as_json: bool,
) -> None:
    """Verify an episode's folder: authenticity, integrity, completeness, identity."""
    paths = (*public_keys, folder / "fixture-key.pub") if fixture_key else public_keys
    if not paths:
        raise click.UsageError("Pass --public-key with the key that you trust; for a fixture, --fixture-key.")
    try:
        keys = [load_public_key(path) for path in paths]
        report = verify_episode(folder, keys, threshold, case_id=case_id, episode_id=episode_id)
    except ReceiptError as error:
        raise Refusal(from_receipt(error), as_json) from error
    if fixture_key and report.fixture is False:
        raise Refusal(
            ApplianceError("not_a_fixture", "This episode is no fixture.", "Pass --public-key instead.", None), as_json
        )
    click.echo(tables.verification_json(report) if as_json else tables.verification_table(report))
    context.exit(0 if report.holds else EXIT_VERIFICATION)
