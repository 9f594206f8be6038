"""``render-judge``: the command line. Every command has ``--json``; an error is one sentence and a remedy."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from appliance import tables
from appliance.doctor import examine
from appliance.episode import run_episode
from appliance.errors import EXIT_VERIFICATION, ApplianceError
from appliance.packing import appliance_version
from appliance.render_asset import RenderRequest, render_asset
from appliance.request import EpisodeRequest
from judge.ports import MAX_SAMPLES
from receipt.errors import ReceiptError
from receipt.keys import generate_key, load_public_key
from receipt.verify import verify_episode
from renderer.profile import list_profiles, load_profile
from sandbox.runtime import source_folder

FOLDER = click.Path(path_type=Path)
_SANDBOXES = click.Choice(["docker", "bubblewrap", "process"])
_DEVICES = click.Choice(["cpu", "gpu"])
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")


class Refusal(click.ClickException):
    """One sentence, a remedy, and the right exit code."""

    def __init__(self, error: ApplianceError, as_json: bool) -> None:
        super().__init__(error.message)
        self.exit_code = error.exit_code  # type: ignore[misc]
        self._error = error
        self._as_json = as_json

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - click's signature
        """JSON goes to stdout, words to stderr."""
        if self._as_json:
            click.echo(tables.error_json(self._error))
        else:
            click.echo(tables.error_text(self._error), err=True)


def _from_receipt(error: ReceiptError) -> ApplianceError:
    return ApplianceError(error.code, error.message, error.remedy, None)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(appliance_version(), prog_name="render-judge")
def main() -> None:
    """Render a submitted USD and its reference with Hydra Storm, sign what was drawn, judge that alone."""


@main.command()
@click.argument("case", metavar="CASE.json", type=FOLDER)
@click.option("--submission", type=FOLDER, required=True, help="File or folder that was handed in.")
@click.option("--objective", type=FOLDER, required=True, help="JSON with the three objective gates.")
@click.option("--out", type=FOLDER, required=True, help="Evidence root; the actor must have no access to it.")
@click.option("--mode", type=click.Choice(["trusted", "fixture"]), default="trusted", show_default=True)
@click.option("--sandbox", type=_SANDBOXES, default="docker", show_default=True)
@click.option("--device", type=_DEVICES, default="cpu", show_default=True)
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
@_JSON
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


@main.command()
@click.argument("asset", type=FOLDER)
@click.option("--profile", metavar="ID", default="studio-v1", show_default=True)
@click.option("--out", type=FOLDER, required=True, help="Folder for the pictures; new or empty.")
@click.option("--root-layer", help="Layer to open, where the asset is a folder.")
@click.option("--sandbox", type=_SANDBOXES, default="bubblewrap", show_default=True)
@click.option("--device", type=_DEVICES, default="cpu", show_default=True)
@_JSON
def render(as_json: bool, **options: Any) -> None:
    """Render any USD file or folder to a profile's PNGs."""
    try:
        facts = render_asset(RenderRequest(**options))
    except ApplianceError as error:
        raise Refusal(error, as_json) from error
    click.echo(json.dumps(facts, indent=2) if as_json else tables.render_table(facts, options["out"]))


@main.command()
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--public-key", "public_keys", type=FOLDER, multiple=True, help="Trusted public key (PEM); repeatable.")
@click.option("--threshold", type=click.IntRange(min=1), default=1, show_default=True, help="Signatures needed.")
@click.option("--case", "case_id", metavar="ID", help="Case that the episode must be of.")
@click.option(
    "--episode", "episode_id", metavar="ID", help="Episode that it must be; catches one put in another's place."
)
@click.option("--fixture-key", is_flag=True, help="Trust the key beside a fixture; proves nothing about its origin.")
@_JSON
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
        raise Refusal(_from_receipt(error), as_json) from error
    if fixture_key and report.fixture is False:
        raise Refusal(
            ApplianceError("not_a_fixture", "This episode is no fixture.", "Pass --public-key instead.", None), as_json
        )
    click.echo(tables.verification_json(report) if as_json else tables.verification_table(report))
    context.exit(0 if report.holds else EXIT_VERIFICATION)


@main.command()
@click.option("--key", metavar="URI", envvar="RENDER_JUDGE_KEY", help="Signing key to look at.")
@_JSON
@click.pass_context
def doctor(context: click.Context, key: str | None, as_json: bool) -> None:
    """Look at Storm, the sandboxes and the key; say what is missing and what to do."""
    findings = examine(key)
    click.echo(tables.doctor_json(findings) if as_json else tables.doctor_table(findings))
    context.exit(0 if all(finding.well for finding in findings) else 4)


@main.command()
@click.option("--out", type=FOLDER, required=True, help="Private key file to make; the public one gets .pub.")
@_JSON
def keygen(out: Path, as_json: bool) -> None:
    """Make an Ed25519 signing key."""
    try:
        public = generate_key(out)
        key_id = load_public_key(public).keyid
    except ReceiptError as error:
        raise Refusal(_from_receipt(error), as_json) from error
    made = {"private_key": str(out), "public_key": str(public), "key_id": key_id}
    click.echo(json.dumps(made, indent=2) if as_json else tables.key_table(made))


@main.command()
@_JSON
def profiles(as_json: bool) -> None:
    """List the profiles."""
    folder = source_folder() / "profiles"
    loaded = [load_profile(folder, name) for name in list_profiles(folder)]
    click.echo(tables.profiles_json(loaded) if as_json else tables.profiles_table(loaded))


if __name__ == "__main__":
    sys.exit(main())
