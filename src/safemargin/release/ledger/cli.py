"""The command about ledgers: what was published before."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.release.ledger.file import read_ledger
from safemargin.release.ledger.report import ledger_document, show_ledger
from safemargin.ui import Json, out, print_json


def ledger(
    file: Annotated[Path, typer.Argument(help="Ledger (SQLite) that a project names.")],
    as_json: Json = False,
) -> None:
    """List what was published about which population, and how much of the budget is used.

    Example: safemargin ledger ledger.sqlite
    """
    if not file.exists():
        raise InputError(f"{file}: there is no such file")
    entries = read_ledger(file)
    if as_json:
        print_json(ledger_document(entries))
    else:
        show_ledger(out, entries)
