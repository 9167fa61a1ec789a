"""Options that several commands share, and what they stand for."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError, Target

Beta = Annotated[float | None, typer.Option(help="No share forced outside [beta, 1 - beta].")]
Kappa = Annotated[int | None, typer.Option(help="Nobody among fewer than this in a published group.")]
Tau = Annotated[int | None, typer.Option(help="No count known to within this many.")]
Rolls = Annotated[list[Path] | None, typer.Option("--roll", help="Tidy file of people, joint or by axis; repeatable.")]
Facts = Annotated[list[Path] | None, typer.Option("--fact", help="Tidy file of auxiliary facts; repeatable.")]
Axes = Annotated[str | None, typer.Option("--target", help="Bound the cells of these axes, e.g. religion,age.")]
Count = Annotated[str, typer.Option("--count", help="Column that holds the counts.")]
Option = Annotated[str, typer.Option("--option", help="Column that holds the answers.")]
By = Annotated[str | None, typer.Option("--by", help="Columns that are axes, e.g. county,mode; others are ignored.")]
Skip = Annotated[list[str] | None, typer.Option("--skip", help="Leave out rows, e.g. votes=-1; repeatable.")]
Remembered = Annotated[
    list[Path] | None, typer.Option("--earlier", help="Earlier tables, or the folder they are in; repeatable.")
]
EarlierRolls = Annotated[
    list[Path] | None, typer.Option("--earlier-roll", help="Tidy file of people then; repeatable.")
]
Hierarchy = Annotated[
    list[str] | None, typer.Option("--hierarchy", help="Hierarchy of an axis, e.g. region=region.hrc; repeatable.")
]
Deciding = Annotated[
    bool,
    typer.Option("--decide", help="Only decide which cells are known to within tau: quick, intervals may be wide."),
]
Tolerance = Annotated[float, typer.Option(help="How far totals may be apart, as a share of all.")]


def project_in(files: list[Path], others: dict[str, object]) -> Path | None:
    """The project file, if one is given. It says all of it: what it would not use is refused."""
    project = next((file for file in files if file.suffix == ".toml"), None)
    if project is None:
        return None
    if len(files) > 1:
        other = next((file for file in files if file != project), project)
        raise InputError(f"{project}: is a project, which stands alone and names its files itself; leave out {other}")
    for name, value in others.items():
        if value:
            raise InputError(f"{project}: is a project, which says all of it; leave out {name}")
    return project


def share(tolerance: float) -> float:
    """A tolerance that makes sense."""
    if not 0 <= tolerance < 1:
        raise InputError(f"--tolerance = {tolerance}: must be at least 0 and below 1")
    return tolerance


def aimed(stated: Target, beta: float | None, kappa: int | None, tau: int | None) -> Target:
    """The stated target, with what the options say instead."""
    return Target(
        stated.beta if beta is None else beta,
        stated.kappa if kappa is None else kappa,
        stated.tau if tau is None else tau,
        stated.epsilon_max,
    )


def whole_numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{text!r}: must be whole numbers between commas, e.g. 1,1,2,2") from None
