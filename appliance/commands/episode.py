"""``render-judge episode``."""

from __future__ import annotations

from typing import Any

import click

from appliance import tables
from appliance.commands.options import DEVICES, FOLDER, JSON, SANDBOXES
from appliance.episode import run_episode
from appliance.request import EpisodeRequest
from judge.ports import MAX_SAMPLES


@click.command()
@click.argument("case", metavar="CASE.json", type=FOLDER)
@click.option("--submission", type=FOLDER, required=True, help="File or folder that was handed in.")
@click.option("--objective", type=FOLDER, required=True, help="JSON with the three objective gates.")
@click.option("--out", type=FOLDER, required=True, help="Evidence root; the actor must have no access to it.")
@click.option("--mode", type=click.Choice(["trusted", "fixture"]), default="trusted", show_default=True)
@click.option("--sandbox", type=SANDBOXES, default="docker", show_default=True)
@click.option("--device", type=DEVICES, default="cpu", show_default=True)
@click.option("--profile", metavar="ID", help="Must be the case's own, if given.")
@click.option("--client", metavar="SPEC", help="Judge client: metrics, or module:factory.")
@click.option("--authorize", metavar="CONTROLLER_ID", help="Who lets the judge run. Without it nothing is scored.")
@click.option("--allow-fixtures", is_flag=True, help="Let fixture evidence be judged.")
@click.option("--samples", type=click.IntRange(1, MAX_SAMPLES), default=1, help="Ask N times; the lower median counts.")
@click.option("--both-orders", is_flag=True, help="Ask with the candidate first, too; keep only what both orders give.")
@click.option("--policy", type=click.Choice(["scored", "acceptance"]), default="scored", show_default=True)
@click.option("--episode", "episode_id", metavar="ID", help="Name of the episode; a random one by default.")
@click.option("--actor-root", "actor_roots", type=FOLDER, multiple=True, help="Folder that the actor can write.")
@click.option("--actor-remote", is_flag=True, help="The actor has no access to this machine.")
@click.option("--key", metavar="URI", envvar="RENDER_JUDGE_KEY", help="Signing key: a file, or a URI of an HSM or KMS.")
@click.option("--public-key", type=FOLDER, help="Public half of a key that is in no file here.")
@JSON
@click.pass_context
def episode(context: click.Context, /, as_json: bool, **options: Any) -> None:
    """Run one episode: render, sign, verify, judge, report."""
    progress = tables.progress_printer(quiet=as_json)
    result = run_episode(EpisodeRequest(**options), progress)
    if as_json:
        click.echo(result.to_json())
    elif result.status == "failed" and result.receipt is None:
        click.echo(tables.result_error(result), err=True)
    else:
        click.echo(tables.episode_table(result))
    context.exit(result.exit_code)
