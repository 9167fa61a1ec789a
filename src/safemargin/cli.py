"""The menu: every command, where its function is, and the group it is listed in. Nothing is decided here."""

import os
import re
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup

from safemargin import __version__
from safemargin.core import InputError, RefusedError, SafemarginError
from safemargin.ui import note

__all__ = ["app", "main"]

REFUSED, WRONG_INPUT, INTERNAL_ERROR, INTERRUPTED, CLOSED_PIPE = 1, 2, 70, 130, 141
"""Exit codes beside 0. 70 is EX_SOFTWARE of sysexits.h; the last two are 128 plus the signal, as shells count."""


class MenuEntry(NamedTuple):
    """A line of the menu: the function `module:name`, and what the menu says about it."""

    place: str
    summary: str


MENU = {
    "Publish": {
        "demo": MenuEntry("release.cli:demo", "Release a synthetic city of 500,000 voters: the quickest look"),
        "init": MenuEntry("release.cli:init", "Write a first project file for a data file"),
        "release": MenuEntry("release.cli:release", "Decide, prove and publish what is safe of a data file or project"),
        "compare": MenuEntry("release.cli:compare", "Measure other ways to publish the same data"),
        "suppress": MenuEntry("suppress.cli:suppress", "Suppress small counts of tables and as few others as possible"),
        "ledger": MenuEntry("release.cli:ledger", "List earlier releases about the same population"),
        "schema": MenuEntry("release.cli:schema", "Print the JSON Schema of project files"),
    },
    "Check": {
        "audit": MenuEntry("audit.cli:audit", "Attack published tables, ours or not"),
        "bound": MenuEntry("release.bound_cli:bound", "Show what could be inferred about each cell"),
        "fiber": MenuEntry("fiber.cli:fiber", "Count, list or sample every consistent table"),
        "verify": MenuEntry("verify.cli:verify", "Verify a certificate with integer addition alone"),
    },
    "Noise and swapping": {
        "noise": MenuEntry("noise.cli:noise", "Plan, apply and attack noise on counts"),
        "swap": MenuEntry("swap.cli:swap", "Swap values between records, with a privacy guarantee"),
        "swap-rates": MenuEntry("swap.cli:swap_rates", "Measure the error of tables at several swap rates"),
        "simulate": MenuEntry("swap.cli:simulate", "Swapping methods with no known privacy guarantee"),
        "topdown": MenuEntry("topdown.cli:topdown", "Publish counts of areas with differential privacy"),
        "guarantee": MenuEntry("guarantees.cli:guarantee", "State, convert, compose and compare guarantees"),
    },
    "Research": {
        "aggregate": MenuEntry("aggregate.cli:aggregate", "Add up clients' answers that nobody sees"),
        "outcome": MenuEntry("voting.cli:outcome", "How private the exact result of a vote is"),
    },
}
"""Every command in the order of the help. A module is loaded only for its own command."""

COMMANDS = {name: entry for group in MENU.values() for name, entry in group.items()}

ADDED = {"guarantee": {"check": "swap.check_cli:check"}}
"""Members of a group that another feature holds."""

OF_PROJECTS = {"outcome": "release.outcome_cli:outcome"}
"""Commands that are another function where a project file is given."""


EXTRAS = {"aggregate"}
"""Features that are installed with an extra of their name."""


class _Menu(TyperGroup):
    """The help in groups; the exit codes of an interrupt and of a closed pipe."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, entries in MENU.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS:
            close = get_close_matches(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {close[0]!r}?' if close else ''}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Standard output was closed. Python would report it once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(CLOSED_PIPE) from None


def app(names: Iterable[str] = COMMANDS, project: bool = False) -> typer.Typer:
    """The program with these commands loaded."""
    program = typer.Typer(
        cls=_Menu,
        help="Publish group counts exactly where that is provably safe, protected where it is not.",
        epilog="safemargin COMMAND --help explains a command and shows an example.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    program.callback(invoke_without_command=True)(_root)
    for name in names:
        command = _load(OF_PROJECTS[name] if project and name in OF_PROJECTS else COMMANDS[name].place)
        if isinstance(command, typer.Typer):
            for member, place in ADDED.get(name, {}).items():
                if member not in {info.name for info in command.registered_commands}:
                    command.command(member)(_load(place))
            program.add_typer(command, name=name)
        else:
            program.command(name)(command)
    return program


def _load(place: str) -> typer.Typer:
    module, _, name = place.partition(":")
    try:
        command: typer.Typer = getattr(import_module(f"safemargin.{module}"), name)
    except ModuleNotFoundError as error:
        feature = module.partition(".")[0]
        if feature not in EXTRAS or (error.name or "").startswith("safemargin"):
            raise
        raise InputError(f"{error.name} is not installed; run: pip install 'safemargin[{feature}]'") from None
    return command


def main() -> None:
    """Run the command. An error of ours is one line; one that we did not foresee is one line and a file."""
    warnings.simplefilter("always")
    warnings.showwarning = _note_warning
    arguments = sys.argv[1:]
    try:
        is_project = any(text.endswith(".toml") for text in arguments[1:])
        program = app([name for name in arguments[:1] if name in COMMANDS], is_project)
        try:
            program(prog_name="safemargin")
        except SafemarginError as error:
            note(with_flags(str(error), program, arguments))
            sys.exit(REFUSED if isinstance(error, RefusedError) else WRONG_INPUT)
    except InputError as error:  # a feature that is not installed
        note(str(error))
        sys.exit(WRONG_INPUT)
    except KeyboardInterrupt:  # while modules were loaded
        sys.exit(INTERRUPTED)
    except Exception as error:
        note(f"internal error: {type(error).__name__}: {error}; the details are in {_write_traceback(arguments)}")
        sys.exit(INTERNAL_ERROR)


def with_flags(message: str, program: typer.Typer, arguments: list[str]) -> str:
    """The message of the library with the flags of the command for its parameters.

    A parameter stands in front (`tau = -1: must be ...`) or in backquotes.
    """
    command: Any = typer.main.get_command(program)
    for word in arguments:
        members = getattr(command, "commands", {})
        if word not in members:
            break
        command = members[word]
    flags: dict[str, str] = {param.name: param.opts[0] for param in command.params if param.opts[0].startswith("--")}

    def flag(match: re.Match[str]) -> str:
        return flags.get(match[1], match[0])

    return re.sub(r"`(\w+)`", flag, re.sub(r"^(\w+)(?= = |: )", flag, message))


def _write_traceback(arguments: list[str]) -> str:
    number, name = tempfile.mkstemp(prefix="safemargin-", suffix=".txt")
    with os.fdopen(number, "w", encoding="utf-8") as file:
        print(f"safemargin {__version__} {arguments}\n\n{traceback.format_exc()}", file=file)
    return name


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"warning: {message}")


def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit
