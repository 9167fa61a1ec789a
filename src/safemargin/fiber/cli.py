"""The command about fibers: which tables are possible."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from safemargin.bounds.fiber_sample import LAWS
from safemargin.bounds.possible import draw, possible
from safemargin.bounds.system import measured_slack
from safemargin.core import InputError
from safemargin.fiber.report import possible_document, show_possible
from safemargin.io import axes, public, read_tables
from safemargin.ui import (
    Axes,
    By,
    Count,
    Facts,
    Json,
    Option,
    Rolls,
    Skip,
    Tolerance,
    check_tolerance,
    out,
    print_json,
    progress_bar,
)


def fiber(
    files: Annotated[list[Path], typer.Argument(help="Published tables (tidy CSV or Parquet).")],
    roll: Rolls = None,
    fact: Facts = None,
    target: Axes = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    tolerance: Tolerance = 0.0,
    sample: Annotated[int | None, typer.Option(help="Also draw so many tables at random.")] = None,
    law: Annotated[str, typer.Option(help="How likely a table is: uniform or hypergeometric.")] = "uniform",
    seed: Annotated[int, typer.Option(min=0, help="Where the draw begins: the same seed, the same tables.")] = 0,
    limit: Annotated[int, typer.Option(help="How many cells to print.")] = 30,
    as_json: Json = False,
) -> None:
    """All tables that the published ones leave possible: how many, which counts they hold, and random ones.

    Example: safemargin fiber hair.csv eye.csv --sample 1000
    """
    if law not in LAWS:
        raise InputError(f"--law {law!r}: must be one of {', '.join(LAWS)}")
    if sample is not None and sample < 2:
        raise InputError(f"--sample {sample}: must be at least 2")
    tables, wanted = read_tables(files, count, option, by, skip), axes(target)
    onlooker = public(tables, roll, fact, count, option)
    slack = measured_slack(tables, check_tolerance(tolerance))
    with progress_bar("counting") as progress:
        found = possible(tables, onlooker, target=wanted, slack=slack, progress=progress)
    if sample is not None:
        with progress_bar("drawing") as progress:
            drawn = draw(
                tables, onlooker, count=sample, law=law, seed=seed, target=wanted, slack=slack, progress=progress
            )
        found = replace(found, drawn=drawn)
    if as_json:
        print_json(possible_document(found))
    else:
        show_possible(out, found, limit)
