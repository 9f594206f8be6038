"""``render-judge keygen``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from appliance import tables
from appliance.commands.options import FOLDER, JSON, Refusal, from_receipt
from receipt.errors import ReceiptError
from receipt.keys import generate_key, load_public_key


@click.command()
@click.option("--out", type=FOLDER, required=True, help="Private key file to make; the public one gets .pub.")
@JSON
def keygen(out: Path, as_json: bool) -> None:
    """Make an Ed25519 signing key."""
    try:
        public = generate_key(out)
        key_id = load_public_key(public).keyid
    except ReceiptError as error:
        raise Refusal(from_receipt(error), as_json) from error
    made = {"private_key": str(out), "public_key": str(public), "key_id": key_id}
    click.echo(json.dumps(made, indent=2) if as_json else tables.key_table(made))
