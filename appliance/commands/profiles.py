"""``render-judge profiles``."""

from __future__ import annotations

import click

from appliance import tables
from appliance.commands.options import JSON
from renderer.profile import list_profiles, load_profile
from sandbox.runtime import source_folder


@click.command()
@JSON
def profiles(as_json: bool) -> None:
    """List the profiles."""
    folder = source_folder() / "profiles"
    loaded = [load_profile(folder, name) for name in list_profiles(folder)]
    click.echo(tables.profiles_json(loaded) if as_json else tables.profiles_table(loaded))
