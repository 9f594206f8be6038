"""``render-judge doctor``."""

from __future__ import annotations

import click

from appliance import tables
from appliance.commands.options import JSON
from appliance.doctor import examine


@click.command()
@click.option("--key", metavar="URI", envvar="RENDER_JUDGE_KEY", help="Signing key to look at.")
@JSON
@click.pass_context
def doctor(context: click.Context, key: str | None, as_json: bool) -> None:
    """Look at Storm, the sandboxes and the key; say what is missing and what to do."""
    findings = examine(key)
    click.echo(tables.doctor_json(findings) if as_json else tables.doctor_table(findings))
    context.exit(0 if all(finding.well for finding in findings) else 4)
