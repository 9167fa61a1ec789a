"""The command that bounds every cell."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from safemargin.bounds import SORTS
from safemargin.core import InputError
from safemargin.release.bound import bound as run_bound
from safemargin.release.inputs import read_inputs
from safemargin.release.project import Project
from safemargin.ui import (
    DOUBTFUL,
    Axes,
    Beta,
    By,
    Count,
    DecideOnly,
    Facts,
    Json,
    Kappa,
    Option,
    Page,
    Reading,
    Rolls,
    Skip,
    Tau,
    Tolerance,
    check_page,
    check_tolerance,
    out,
    print_json,
    progress_bar,
    project_file,
    write_text,
)

Cell = Annotated[
    list[str] | None,
    typer.Option(help="One cell and its two extreme tables, e.g. age=young (repeatable; option=NAME for one)."),
]


def bound(
    files: Annotated[list[Path], typer.Argument(help="One project file (.toml), or tables of any format.")],
    roll: Rolls = None,
    fact: Facts = None,
    target: Axes = None,
    cell: Cell = None,
    beta: Beta = None,
    kappa: Kappa = None,
    tau: Tau = None,
    rho: Annotated[
        float | None,
        typer.Option(help="Least width of an interval as a share of the cell's people, e.g. 0.2; narrower: exit 1."),
    ] = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    tolerance: Tolerance = 0.0,
    decide: DecideOnly = False,
    sort: Annotated[str, typer.Option(help="verdict, width, people or cell.")] = "verdict",
    limit: Annotated[int, typer.Option(help="How many cells to print.")] = 30,
    reading: Reading = None,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Show what an onlooker could infer about each cell if every margin were published exactly.

    Example: safemargin bound project.toml --target religion,age
    """
    if sort not in SORTS:
        raise InputError(f"--sort {sort!r}: must be one of {', '.join(SORTS)}")
    check_page(page)
    asked = None if cell is None else _cell(cell)
    given = project_file(files, {"--roll": roll, "--fact": fact, "--by": by, "--skip": skip, "--reading": reading})
    with progress_bar("bounding") as progress:
        run = partial(
            run_bound,
            target=target,
            cell=asked,
            beta=beta,
            kappa=kappa,
            tau=tau,
            rho=rho,
            decide=decide,
            progress=progress,
        )
        if given is not None:
            project = Project.load(given)
            inputs = read_inputs(project)
            exposure = run(inputs.table, inputs.onlookers[0], aim=inputs.target)
        else:
            exposure = run(
                files,
                roll=roll or (),
                facts=fact or (),
                count=count,
                option=option,
                by=by,
                skip=skip or (),
                reading=reading,
                tolerance=check_tolerance(tolerance),
            )
    if export is not None:
        write_text(export, exposure.to_csv())
    if page is not None:
        exposure.write(page)
    if as_json:
        print_json(exposure.to_json())
    else:
        exposure.show(out, limit, sort)
    if exposure.disclosed or (exposure.widths is not None and not exposure.widths.holds):
        raise typer.Exit(1)
    if exposure.doubts:
        raise typer.Exit(DOUBTFUL)


def _cell(parts: list[str]) -> dict[str, str]:
    """A cell from its axes and categories."""
    pairs = [part.partition("=") for part in parts]
    for part, (axis, sign, _) in zip(parts, pairs, strict=True):
        if not sign or not axis:
            raise InputError(f"--cell {part[:60]!r}: write AXIS=CATEGORY, e.g. age=young")
        if [other for other, _, _ in pairs].count(axis) > 1:
            raise InputError(f"--cell {part[:60]!r}: {axis!r} is named twice")
    return {axis: category for axis, _, category in pairs}
