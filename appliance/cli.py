"""``render-judge``: the command line. Every command has ``--json``; an error is one sentence and a remedy."""

from __future__ import annotations

import sys

import click

from appliance.commands.doctor import doctor
from appliance.commands.episode import episode
from appliance.commands.keygen import keygen
from appliance.commands.profiles import profiles
from appliance.commands.render import render
from appliance.commands.verify import verify
from appliance.packing import appliance_version


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(appliance_version(), prog_name="render-judge")
def main() -> None:
    """Render a submitted USD and its reference with Hydra Storm, sign what was drawn, judge that alone."""


for command in (episode, render, verify, doctor, keygen, profiles):
    main.add_command(command)


if __name__ == "__main__":
    sys.exit(main())
