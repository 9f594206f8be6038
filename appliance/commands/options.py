"""What the commands share: options of the same name mean the same everywhere, and a refusal looks the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from appliance import tables
from appliance.errors import ApplianceError
from receipt.errors import ReceiptError

FOLDER = click.Path(path_type=Path)
SANDBOXES = click.Choice(["docker", "bubblewrap", "process"])
DEVICES = click.Choice(["cpu", "gpu"])
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")


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


def from_receipt(error: ReceiptError) -> ApplianceError:
    """The same sentence and remedy as an error of the command line's own."""
    return ApplianceError(error.code, error.message, error.remedy, None)
