"""The command that bounds every cell."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.bounds.bound import bound as run_bound
from safemargin.bounds.cli import Ask, export_cells
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.report import SORTS, exposure_document, show_exposure
from safemargin.bounds.system import measured_slack
from safemargin.core import InputError, Onlooker, PublishedTable, Target
from safemargin.io import public, read_tables
from safemargin.release.inputs import read_inputs
from safemargin.release.project import Project
from safemargin.ui import (
    Axes,
    Beta,
    By,
    Count,
    DecideOnly,
    Facts,
    Json,
    Kappa,
    Option,
    Rolls,
    Skip,
    Tau,
    Tolerance,
    check_tolerance,
    out,
    override_target,
    print_json,
    progress_bar,
    project_file,
)


def bound(
    files: Annotated[list[Path], typer.Argument(help="One project file (.toml), or tidy tables.")],
    roll: Rolls = None,
    fact: Facts = None,
    target: Axes = None,
    beta: Beta = None,
    kappa: Kappa = None,
    tau: Tau = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    tolerance: Tolerance = 0.0,
    decide: DecideOnly = False,
    sort: Annotated[str, typer.Option(help="verdict, width, people or cell.")] = "verdict",
    limit: Annotated[int, typer.Option(help="How many cells to print.")] = 30,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    as_json: Json = False,
) -> None:
    """Interval, shares, width, t and verdict of every cell, if every axis were published exactly.

    Example: safemargin bound project.toml --target religion,age
    """
    if sort not in SORTS:
        raise InputError(f"--sort {sort!r}: must be one of {', '.join(SORTS)}")
    given = project_file(files, {"--roll": roll, "--fact": fact, "--by": by, "--skip": skip})
    if given is not None:
        project = Project.load(given)
        aim = override_target(project.target, beta, kappa, tau)
        exposure = _bound_project(project, Ask.of(target, aim, decide))
    else:
        aim = override_target(Target(), beta, kappa, tau)
        tables = read_tables(files, count, option, by, skip)
        onlooker = public(tables, roll, fact, count, option)
        exposure = _bound_tables(tables, onlooker, check_tolerance(tolerance), Ask.of(target, aim, decide))
    export_cells(export, exposure, aim)
    if as_json:
        print_json(exposure_document(exposure, aim))
    else:
        show_exposure(out, exposure, aim, limit=limit, sort=sort)
    if exposure.tallied(aim)["disclosed"]:
        raise typer.Exit(1)


def _bound_project(project: Project, effort: Ask) -> Exposure:
    inputs = read_inputs(project)
    with progress_bar("bounding") as progress:
        return run_bound(
            inputs.table,
            inputs.onlookers[0],
            target=effort.target,
            enough=effort.enough,
            fiber=effort.fiber,
            progress=progress,
        )


def _bound_tables(tables: tuple[PublishedTable, ...], onlooker: Onlooker, tolerance: float, effort: Ask) -> Exposure:
    slack = measured_slack(tables, tolerance)
    with progress_bar("bounding") as progress:
        return run_bound(
            tables,
            onlooker,
            target=effort.target,
            slack=slack,
            enough=effort.enough,
            fiber=effort.fiber,
            progress=progress,
        )
