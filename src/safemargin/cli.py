"""The menu: every command, where its function is, and the group it is listed in. Nothing is decided here."""

import atexit
import gc
import inspect
import os
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from safemargin import __version__
from safemargin.core import (
    InputError,
    RefusedError,
    SafemarginError,
    cannot_read,
    check_address_space,
    limit_memory,
    memory_limit,
    written,
)
from safemargin.ui import note

__all__ = ["app", "main"]

LONGEST = 800
"""Letters of an error that no file can take."""
REFUSED, WRONG_INPUT, INTERNAL_ERROR, INTERRUPTED, CLOSED_PIPE = 1, 2, 70, 130, 141
"""Exit codes beside 0. 70 is EX_SOFTWARE of sysexits.h; the last two are 128 plus the signal, as shells count."""


class MenuEntry(NamedTuple):
    """A line of the menu: the function `module:name`, and what the menu says about it."""

    place: str
    summary: str


MENU = {
    "Publish": {
        "demo": MenuEntry("release.cli:demo", "Release a synthetic city of 500,000 voters: the quickest look"),
        "open": MenuEntry("web.cli:open_command", "Open the workbench in your browser, on this machine alone"),
        "init": MenuEntry("release.init_cli:init", "Write a first project file for a data file"),
        "forecast": MenuEntry(
            "release.forecast_cli:forecast", "Read off the roll what a release will cost, before the count"
        ),
        "lock": MenuEntry("release.lock_cli:lock", "Lock the limits of a project before the count"),
        "release": MenuEntry("release.cli:release", "Decide, prove and publish what is safe of a data file or project"),
        "compare": MenuEntry("release.compare_cli:compare", "Measure other ways to publish the same data"),
        "suppress": MenuEntry("suppress.cli:suppress", "Suppress small counts of tables and as few others as possible"),
        "sign": MenuEntry("verify.cli:sign", "Sign published tables with the key of the office"),
        "ledger": MenuEntry("release.cli:ledger", "List earlier releases about the same population"),
        "election": MenuEntry("election.cli:election", "Collect answers without knowing who gave them"),
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
        "topdown": MenuEntry("topdown.cli:topdown", "Publish counts of areas with differential privacy"),
        "guarantee": MenuEntry("guarantees.cli:guarantee", "State, convert, compose and compare guarantees"),
    },
    "Research": {
        "aggregate": MenuEntry("aggregate.cli:aggregate", "Add up clients' answers that nobody sees"),
        "outcome": MenuEntry("voting.cli:outcome", "How private the exact result of a vote is"),
        "rules": MenuEntry("voting.rules_cli:rules", "Rank voting rules by how private their winner is"),
    },
}
"""Every command in the order of the help. A module is loaded only for its own command."""

COMMANDS = {name: entry for group in MENU.values() for name, entry in group.items()}

ADDED = {"guarantee": {"check": "swap.cli:check"}}
"""Members of a group that another feature holds."""

OF_PROJECTS = {"outcome": "release.outcome_cli:outcome"}
"""Commands that are another function where a project file is given."""


FUNCTIONS = {
    "aggregate": ("attack", "privacy", "structure", "views"),
    "guarantee": ("beside", "budget", "census", "rates", "verify"),
    "noise": (
        *("average", "composition", "distort", "exploit", "independence", "interval", "reconstruct", "redundancy"),
        *("reveal", "tail", "truncated", "utility", "variance"),
    ),
    "growth": (),
    "simulate": (),
    "swap-rates": (),
}
"""Calculators, which are functions of the library and have no command; commands of these names were there once."""


WITH_MEMORY = {
    "audit",
    "bound",
    "compare",
    "fiber",
    "forecast",
    "init",
    "noise",
    "release",
    "suppress",
    "swap",
    "topdown",
}
"""Commands that read tables of any size."""
READING = "rows columns answers totals suppressed rounded encoding decimal thousands sheet header skip_lines".split()
"""What the option `--reading` names, as in `--reading totals=All`."""
MAY_BE_EMPTY = {"--target", "--match", "--hold", "--by"}
"""Options for which no name at all says something; `--target ''` is the total."""
EXTRAS = {"aggregate", "election"}
"""Features that are installed with an extra of their name."""


def _times_given(param: Any, words: list[str]) -> int:
    """How often an option with one value stands among the words of a command, as `--by x` or `--by=x`."""
    if param.param_type_name != "option" or param.multiple or param.is_flag or param.count:
        return 0
    options = words[: words.index("--")] if "--" in words else words
    return sum(word.partition("=")[0] in param.opts for word in options if word.startswith("-"))


class _Command(TyperCommand):
    """A command whose numbers are what they look like, and fit the 64 bits in which everything is counted."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        rest = super().parse_args(ctx, args)
        texts = {word.partition("=")[0]: word.partition("=")[2] for word in given if "=" in word}
        texts |= dict(pairwise(given))
        for param in self.params:
            name, value = param.opts[0], ctx.params.get(param.name or "")
            numbers = [n for n in (value if isinstance(value, list | tuple) else [value]) if isinstance(n, int | float)]
            if _times_given(param, given) > 1:
                raise InputError(f"{name}: given twice, and only the last would count; give it once")
            if texts.get(name) == "" and value == "" and name not in MAY_BE_EMPTY:
                raise InputError(f"{name} '': give a value, or remove it")
            if numbers and not texts.get(name, "").isascii():
                raise InputError(f"{name} {texts[name]!r}: write numbers with the digits 0 to 9")
            if any(isinstance(number, int) and not -(2**63) <= number < 2**63 for number in numbers):
                raise InputError(f"{name} {str(value)[:30]}...: must be a number below 2^63")
        return rest

    def get_short_help_str(self, limit: int = 0) -> str:
        """The first sentence of the help, whole: what a group lists is wrapped, not cut off."""
        return " ".join(inspect.cleandoc(self.help or "").partition("\n\n")[0].split())


class _Menu(TyperGroup):
    """The help in groups; the exit codes of an interrupt and of a closed pipe."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, entries in MENU.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in FUNCTIONS and args[0] not in COMMANDS:
            ctx.fail(_is_function(args[0].replace("-", "_")))
        if any(name in FUNCTIONS.get(args[0], ()) for name in args[1:2]):
            ctx.fail(_is_function(f"{args[0]}.{args[1]}"))
        if args[0] not in COMMANDS:
            close = get_close_matches(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0][:60]!r}.{f' Did you mean {close[0]!r}?' if close else ''}")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; where it reads tables of any size, with an option for the memory that it may use."""
        command = super().get_command(ctx, cmd_name)
        if cmd_name in WITH_MEMORY and command is not None:
            leaves = list(getattr(command, "commands", {cmd_name: command}).values())
            for leaf in leaves:
                names = {param.opts[0] for param in leaf.params}
                # Only what reads a file has an argument; calculators have options alone.
                if "--memory" not in names and any(not name.startswith("-") for name in names):
                    leaf.params.append(_memory_option())
        return command

    def make_context(self, *given: Any, **named: Any) -> Any:
        try:
            return super().make_context(*given, **named)  # prints the help, if that is asked for
        except OSError as error:
            raise _cannot_print(error) from None

    def invoke(self, ctx: Any) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:  # before the exit code is settled: what nobody takes is noticed
                sys.stdout.flush()
        except KeyboardInterrupt:
            note(f"interrupted{_what_is_done()}")
            raise typer.Exit(INTERRUPTED) from None
        except OSError as error:
            if error.filename is not None:
                raise cannot_read(error.filename, error) from None
            raise _cannot_print(error) from None


def _is_function(name: str) -> str:
    return f"safemargin.{name} is a function, not a command: in Python, import safemargin; help(safemargin.{name})"


def _cannot_print(error: OSError) -> typer.Exit:
    """How a command ends whose output nobody takes; only standard output is written without an error of ours."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python would report it again at exit
    is_pipe = isinstance(error, BrokenPipeError)
    if not is_pipe or _what_is_done():
        note(f"standard output cannot be written ({error.strerror or error}){_what_is_done()}")
    return typer.Exit(CLOSED_PIPE if is_pipe else WRONG_INPUT)


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
            for info in command.registered_commands:
                info.cls = _Command
            for member, place in ADDED.get(name, {}).items():
                if member not in {info.name for info in command.registered_commands}:
                    command.command(member, cls=_Command)(_load(place))
            program.add_typer(command, name=name)
        else:
            program.command(name, cls=_Command)(command)
    return program


def _load(place: str) -> typer.Typer:
    module, _, name = place.partition(":")
    collects = gc.isenabled() and f"safemargin.{module}" not in sys.modules
    if collects:
        gc.disable()  # what is loaded stays: to look for garbage among it takes a tenth of the time
    try:
        command: typer.Typer = getattr(import_module(f"safemargin.{module}"), name)
    except ModuleNotFoundError as error:
        feature = module.partition(".")[0]
        if feature not in EXTRAS or (error.name or "").startswith("safemargin"):
            raise
        raise InputError(f"{error.name} is not installed; run: pip install 'safemargin[{feature}]'") from None
    finally:
        if collects:
            gc.freeze()
            atexit.register(gc.unfreeze)  # some libraries count what is left at the end
            gc.enable()
    return command


def main() -> None:
    """Run the command. An error of ours is one line; one that we did not foresee is one line and a file."""
    _open_closed_streams()
    warnings.simplefilter("always")
    warnings.simplefilter("ignore", ResourceWarning)  # of files that an interruption left open
    warnings.showwarning = _note_warning
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what ends a service is handled as Ctrl-C is
    written.clear()
    arguments = sys.argv[1:]
    try:
        check_address_space()
        _check_slashes(arguments)
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
    except MemoryError:
        limit = "the memory that --memory allows" if memory_limit() else "the memory of this machine"
        note(f"the data do not fit in {limit}; use fewer axes or more memory")
        sys.exit(WRONG_INPUT)
    except Exception as error:
        if isinstance(error, RuntimeError) and (looped := re.match("Symlink loop from (.*)", str(error))):
            note(f"{looped[1].strip(chr(39))}: links lead in a circle; name another file")
            sys.exit(WRONG_INPUT)
        what = f"{type(error).__name__}: {str(error)[:200]}"
        details = f"the details are in {_write_traceback(arguments)}, please report them"
        note(f"internal error: {what}{_what_is_done()}; {details}")
        sys.exit(INTERNAL_ERROR)


def _open_closed_streams() -> None:
    """Give standard streams that were closed (`>&-`) their numbers: otherwise the next file that is opened gets them.

    What is printed then fails, as on a full disk; what is noted is lost.
    """
    for number, way in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, way)  # the lowest number that is free
            os.set_inheritable(opened, True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)


def _what_is_done() -> str:
    """What was written before a command ended early, as the end of a message."""
    return f"; but {', '.join(map(str, written))} is complete, and recorded if it has a ledger" if written else ""


def _check_slashes(arguments: list[str]) -> None:
    """Refuse `data.csv/`, which says that a file is a folder; Python drops the slash."""
    for text in arguments:
        if text.endswith("/") and not text.startswith("-") and os.path.isfile(text.rstrip("/")):
            raise InputError(f"{text}: is a file, not a folder; remove the slash")


def _limit(text: str | None) -> str | None:
    if text is not None:
        limit_memory(text)
    return text


def _with_memory(
    memory: Annotated[str | None, typer.Option(callback=_limit, help="Most memory, e.g. 2GiB.")] = None,
) -> None:
    """Only its option is used, in every command of `WITH_MEMORY`."""


def _memory_option() -> Any:
    holder = typer.Typer(add_completion=False)
    holder.command()(_with_memory)
    (option,) = typer.main.get_command(holder).params
    option.expose_value = False  # the callback does all, so no command has to know the option
    return option


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
    if "reading" in flags:
        flags = {name: f"--reading {name}" for name in READING} | flags

    def flag(match: re.Match[str]) -> str:
        return flags.get(match[1], match[0])

    return re.sub(r"`(\w+)`", flag, re.sub(r"^(\w+)(?= = |: )", flag, message))


def _write_traceback(arguments: list[str]) -> str:
    try:
        number, name = tempfile.mkstemp(prefix="safemargin-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            print(f"safemargin {__version__} {arguments}\n\n{traceback.format_exc()}", file=file)
    except OSError:  # no place for it: the last line must do
        return repr(traceback.format_exc()[-LONGEST:])
    return name


def _note_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"warning: {message}")


def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit
