"""The command line: parse, call one library function, print. One file per group of commands."""

import os
import sys
import warnings
from importlib.metadata import version as installed_version
from typing import Annotated, NoReturn

import typer

from safemargin.cli.comparisons import compare
from safemargin.cli.fibers import fiber
from safemargin.cli.ledgers import ledger
from safemargin.cli.outcomes import outcome
from safemargin.cli.projects import demo, init, release, schema
from safemargin.cli.proofs import verify
from safemargin.cli.tables import audit, bound
from safemargin.cli.terminal import note
from safemargin.cli.withholding import withhold
from safemargin.errors import SafemarginError

__all__ = ["app", "main", "process"]

app = typer.Typer(
    help="Publish group counts exactly where that is provably safe, protected where it is not.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (demo, init, release, compare, bound, audit, withhold, fiber, verify, ledger, outcome, schema):
    app.command()(command)


def main() -> None:
    """Run the command; an error of ours is one line and exit code 2."""
    warnings.simplefilter("always")
    warnings.showwarning = _note_warning
    try:
        app(prog_name="safemargin")
    except SafemarginError as error:
        note(str(error))
        sys.exit(2)


def process() -> NoReturn:
    """Run the command in a process that ends at once: what is left in memory need not be taken apart first."""
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:  # nobody reads on
        code = 1
    os._exit(code)


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"warning: {message}")


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(installed_version("safemargin"))
        raise typer.Exit
