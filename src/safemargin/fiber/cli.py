"""Arguments of the command `fiber`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin import ui
from safemargin.fiber.fiber import fiber as run_fiber
from safemargin.fiber.report import TableFiber


def fiber(
    files: Annotated[list[Path] | None, typer.Argument(help="Published tables, in files of any format.")] = None,
    statistics: Annotated[
        Path | None, typer.Option(help="JSON file of counts, means and medians, instead of tables.")
    ] = None,
    roll: ui.Rolls = None,
    fact: ui.Facts = None,
    target: ui.Axes = None,
    count: ui.Count = "count",
    option: ui.Option = "option",
    by: ui.By = None,
    skip: ui.Skip = None,
    tolerance: ui.Tolerance = 0.0,
    sample: Annotated[int | None, typer.Option(help="Also draw so many tables at random.")] = None,
    law: Annotated[str, typer.Option(help="Law of a random table: uniform or hypergeometric.")] = "uniform",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    limit: Annotated[int, typer.Option(min=0, help="How many cells to print.")] = 30,
    reading: ui.Reading = None,
    as_json: ui.Json = False,
) -> None:
    """Count, list or sample every table that is consistent with the published ones.

    Example: safemargin fiber hair.csv eye.csv --sample 1000
    """
    with ui.progress_bar("counting") as progress:
        read = {"tables": files or (), "roll": roll or (), "facts": fact or (), "skip": skip or ()}
        result = ui.call(run_fiber, locals(), "read", "files", "fact", "limit", **read)
    if as_json:
        ui.print_json(result.to_json())
    elif isinstance(result, TableFiber):
        result.show(ui.out, limit)
    else:
        result.show(ui.out)
    if isinstance(result, TableFiber) and result.doubts:
        raise typer.Exit(ui.DOUBTFUL)
