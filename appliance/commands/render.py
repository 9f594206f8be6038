"""``render-judge render``."""

from __future__ import annotations

import json
from typing import Any

import click

from appliance import tables
from appliance.commands.options import DEVICES, FOLDER, JSON, SANDBOXES, Refusal
from appliance.errors import ApplianceError
from appliance.render_asset import RenderRequest, render_asset


@click.command()
@click.argument("asset", type=FOLDER)
@click.option("--profile", metavar="ID", default="studio-v1", show_default=True)
@click.option("--out", type=FOLDER, required=True, help="Folder for the pictures; new or empty.")
@click.option("--root-layer", help="Layer to open, where the asset is a folder.")
@click.option("--sandbox", type=SANDBOXES, default="bubblewrap", show_default=True)
@click.option("--device", type=DEVICES, default="cpu", show_default=True)
@JSON
def render(as_json: bool, **options: Any) -> None:
    """Render any USD file or folder to a profile's PNGs."""
    try:
        facts = render_asset(RenderRequest(**options))
    except ApplianceError as error:
        raise Refusal(error, as_json) from error
    click.echo(json.dumps(facts, indent=2) if as_json else tables.render_table(facts, options["out"]))
