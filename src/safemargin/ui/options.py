"""Options that several commands share, and what they stand for."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from safemargin import core
from safemargin.checker import DEFAULTS
from safemargin.core import InputError

if TYPE_CHECKING:  # a command that needs no target loads no arrays
    from safemargin.core import Onlooker, Target

T = TypeVar("T")
DOUBTFUL = 3
"""Exit code: nothing was found, but how a table was read is doubtful."""
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--reading",
        help="Correct how a table is read, as NAME=VALUE (repeatable): rows=region,sex (columns that label the rows), "
        "columns=employment (name of the axis across), answers=Yes,No (columns with the count of one answer each), "
        "totals=All (label of sums, or none), suppressed=1-4 (range of a gap), rounded=5 (base of rounding), "
        "encoding=cp1252, decimal=comma, thousands=space, sheet=NAME, header=2 (rows that name the columns), "
        "skip_lines=3 (lines before the table).",
    ),
]
"""How tables are to be read; the function behind a command takes it as it is."""
OF_COMMANDS = {"as_json", "folder", "page"}
"""Options that say where a result goes: commands handle them themselves."""
Page = Annotated[Path | None, typer.Option("--out", help="Also write a page (HTML).")]
Beta = Annotated[
    float | None,
    typer.Option(
        help="Disclosure limit: nobody may be able to infer a share below beta or above 1 - beta. "
        f"Default: what the project or manifest states, else {float(DEFAULTS['beta'])}."
    ),
]
Kappa = Annotated[
    int | None,
    typer.Option(
        help="Minimum number of people in a published group. "
        f"Default: what the project or manifest states, else {DEFAULTS['kappa']}."
    ),
]
Tau = Annotated[
    int | None,
    typer.Option(
        help="A count is treated as disclosed if its interval is no wider than this. "
        f"Default: what the project or manifest states, else {DEFAULTS['tau']}; "
        "in audit and bound, 0 for tables without a roll."
    ),
]
Rolls = Annotated[list[Path] | None, typer.Option("--roll", help="Tidy file of people, joint or by axis (repeatable).")]
Facts = Annotated[list[Path] | None, typer.Option("--fact", help="Tidy file of auxiliary facts (repeatable).")]
Axes = Annotated[str | None, typer.Option("--target", help="Bound the cells of these axes, e.g. religion,age.")]
Count = Annotated[str, typer.Option("--count", help="Column that holds the counts.")]
Option = Annotated[str, typer.Option("--option", help="Column that holds the answers.")]
By = Annotated[str | None, typer.Option("--by", help="Columns that are axes, e.g. county,mode; others are ignored.")]
Engine = Annotated[str, typer.Option(help="What reads and counts the rows: duckdb or spark.")]
Master = Annotated[str | None, typer.Option(help="Cluster of Spark, e.g. spark://HOST:7077.")]
Skip = Annotated[
    list[str] | None, typer.Option("--skip", help="Skip rows where COLUMN=VALUE, e.g. votes=-1 (repeatable).")
]
EarlierTables = Annotated[
    list[Path] | None, typer.Option("--earlier", help="Earlier tables, or the folder that holds them (repeatable).")
]
EarlierRolls = Annotated[
    list[Path] | None,
    typer.Option("--earlier-roll", help="Tidy file of people at the time of the earlier tables (repeatable)."),
]
Hierarchy = Annotated[
    list[str] | None, typer.Option("--hierarchy", help="Hierarchy of an axis, e.g. region=region.hrc (repeatable).")
]
DecideOnly = Annotated[
    bool,
    typer.Option("--decide", help="Only classify cells against tau; faster, but intervals are not tightened."),
]
Tolerance = Annotated[float, typer.Option(help="Largest difference between totals, as a share of all people.")]


def call(function: Callable[..., T], options: Mapping[str, object], /, *own: str, **others: object) -> T:
    """Call the function behind a command with the command's options, which have the names of its parameters.

    `own` are further options that the command handles itself; `others` are arguments beside options, or in their place.
    """
    given = {name: value for name, value in options.items() if name not in {*own, *OF_COMMANDS}}
    return function(**given | others)


def project_file(files: list[Path], others: dict[str, object]) -> Path | None:
    """The project file, if one is given. It is complete: what it would not use is refused."""
    project = next((file for file in files if file.suffix == ".toml"), None)
    if project is None:
        return None
    if len(files) > 1:
        other = next((file for file in files if file != project), project)
        raise InputError(f"{project}: a project names its own files; remove {other}")
    for name, value in others.items():
        if value:
            raise InputError(f"{project}: a project is complete by itself; remove {name}")
    return project


def check_tolerance(tolerance: float) -> float:
    """The tolerance, if it is a share below 1."""
    if not 0 <= tolerance < 1:
        raise InputError(f"--tolerance = {tolerance}: must be at least 0 and below 1")
    return tolerance


def override_target(stated: "Target", beta: float | None, kappa: int | None, tau: int | None) -> "Target":
    """The stated target, with the values of the options where they are given."""
    target = stated if beta is None else replace(stated, beta=beta, guard=None)
    target = target if kappa is None else replace(target, kappa=kappa)
    return target if tau is None else replace(target, tau=tau)


def target_of_tables(onlooker: "Onlooker", beta: float | None, kappa: int | None, tau: int | None) -> "Target":
    """The limits for tables that state none; without a roll, a count is disclosed if it is known exactly.

    A suppression of small counts always leaves a count between 0 and 3, and nobody knows of how many people.
    """
    return override_target(core.Target(), beta, kappa, 0 if tau is None and not onlooker.roll else tau)


def parse_integers(text: str) -> tuple[int, ...]:
    """Integers between commas."""
    try:
        if not text.isascii():
            raise ValueError(text)
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{text[:60]!r}: must be integers between commas, e.g. 1,1,2,2") from None
