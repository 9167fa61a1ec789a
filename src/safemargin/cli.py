"""The command line: parse, call one library function, print. One file per group of commands."""

import os
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Annotated, NoReturn

import typer

from safemargin.core.errors import SafemarginError
from safemargin.ui.terminal import note

__all__ = ["app", "main", "process"]

COMMANDS = {
    "demo": "projects",
    "init": "projects",
    "release": "releases",
    "compare": "comparisons",
    "bound": "tables",
    "audit": "tables",
    "withhold": "withholding",
    "swap": "swapping",
    "swap-rates": "swap_rates",
    "simulate": "simulations",
    "guarantee": "guarantees",
    "fiber": "fibers",
    "topdown": "topdown",
    "verify": "proofs",
    "ledger": "ledgers",
    "noise": "noise",
    "outcome": "outcomes",
    "schema": "projects",
}
"""Every command, in the order of the help, and the file beside this one that holds it under the same name."""


def app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with these commands; a file is loaded only for commands in it."""
    program = typer.Typer(
        help="Publish group counts exactly where that is provably safe, protected where it is not.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    program.callback(invoke_without_command=True)(_root)
    for name in names:
        command = getattr(import_module(f"{__name__}.{COMMANDS[name]}"), name.replace("-", "_"))
        if isinstance(command, typer.Typer):
            program.add_typer(command, name=name)
        else:
            program.command(name)(command)
    return program


def main() -> None:
    """Run the command; an error of ours is one line and exit code 2."""
    warnings.simplefilter("always")
    warnings.showwarning = _note_warning
    try:
        asked = sys.argv[1:2]
        app(asked if asked and asked[0] in COMMANDS else COMMANDS)(prog_name="safemargin")
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


def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(installed_version("safemargin"))
        raise typer.Exit
