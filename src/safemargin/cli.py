"""The menu: every command, the function that holds it, and the group it is listed in. Nothing is decided here."""

import os
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Annotated, NoReturn

import typer

from safemargin.core import SafemarginError
from safemargin.ui import note

__all__ = ["app", "main", "process"]

COMMANDS = {
    "demo": "release.project_cli:demo",
    "init": "release.project_cli:init",
    "release": "release.cli:release",
    "compare": "release.compare.cli:compare",
    "bound": "release.bound_cli:bound",
    "audit": "audit.cli:audit",
    "suppress": "suppress.cli:suppress",
    "swap": "swap.cli:swap",
    "swap-rates": "swap.rates_cli:swap_rates",
    "simulate": "swap.simulate_cli:simulate",
    "guarantee": "guarantees.cli:guarantee",
    "fiber": "fiber.cli:fiber",
    "topdown": "topdown.cli:topdown",
    "verify": "verify.cli:verify",
    "ledger": "release.ledger.cli:ledger",
    "noise": "noise.cli:noise",
    "outcome": "voting.cli:outcome",
    "schema": "release.project_cli:schema",
}
"""Every command in the order of the help, and where its function is. A file is loaded only for its own command."""

ADDED = {"guarantee": {"check": "swap.check_cli:check"}}
"""Members of a group that another feature holds."""

OF_PROJECTS = {"outcome": "release.outcome_cli:outcome"}
"""Commands that are another function where a project file is given."""


def app(names: Iterable[str] = COMMANDS, project: bool = False) -> typer.Typer:
    """The program with these commands."""
    program = typer.Typer(
        help="Publish group counts exactly where that is provably safe, protected where it is not.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    program.callback(invoke_without_command=True)(_root)
    for name in names:
        command = _load(OF_PROJECTS.get(name, COMMANDS[name]) if project else COMMANDS[name])
        if isinstance(command, typer.Typer):
            for member, place in ADDED.get(name, {}).items():
                if member not in {each.name for each in command.registered_commands}:
                    command.command(member)(_load(place))
            program.add_typer(command, name=name)
        else:
            program.command(name)(command)
    return program


def _load(place: str) -> typer.Typer:
    module, _, name = place.partition(":")
    command: typer.Typer = getattr(import_module(f"safemargin.{module}"), name)
    return command


def main() -> None:
    """Run the command; an error of ours is one line and exit code 2."""
    warnings.simplefilter("always")
    warnings.showwarning = _note_warning
    try:
        name, given = sys.argv[1:2], sys.argv[2:]
        project = any(text.endswith(".toml") for text in given)
        app(name if name and name[0] in COMMANDS else COMMANDS, project)(prog_name="safemargin")
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
    except OSError:  # stdout was closed (broken pipe)
        code = 1
    os._exit(code)


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"warning: {message}")


def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(installed_version("safemargin"))
        raise typer.Exit
