"""The command `audit`: arguments and one call."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.audit.audit import audit as run_audit
from safemargin.audit.small import SMALLEST
from safemargin.core import Target
from safemargin.ui import (
    Axes,
    Beta,
    By,
    Count,
    DecideOnly,
    EarlierRolls,
    EarlierTables,
    Facts,
    Hierarchy,
    Json,
    Option,
    Page,
    Rolls,
    Skip,
    Tau,
    Tolerance,
    check_page,
    print_result,
    progress_bar,
)


def audit(
    files: Annotated[list[Path], typer.Argument(help="Published tables, tidy or as other tools write them.")],
    roll: Rolls = None,
    fact: Facts = None,
    target: Axes = None,
    beta: Beta = None,
    kappa: Annotated[
        int | None,
        typer.Option(
            help="Minimum number of people in a published group. Default: what the manifest states, else "
            f"{Target.kappa}; without this option, only printed groups of 1 to {SMALLEST} people are "
            "found by their size."
        ),
    ] = None,
    tau: Tau = None,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    hierarchy: Hierarchy = None,
    tolerance: Tolerance = 0.0,
    decide: DecideOnly = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Manifest of a release: its target; its rule is then known.")
    ] = None,
    earlier: EarlierTables = None,
    earlier_roll: EarlierRolls = None,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Also prove every interval in this JSON file.")] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Attack tables that somebody published, ours or not.

    Example: safemargin audit published/*.csv --roll roll.csv
    """
    check_page(page)
    with progress_bar("attacking") as progress:
        findings = run_audit(
            files,
            roll=roll or (),
            facts=fact or (),
            target=target,
            beta=beta,
            kappa=kappa,
            tau=tau,
            count=count,
            option=option,
            by=by,
            skip=skip or (),
            hierarchy=hierarchy or (),
            tolerance=tolerance,
            decide=decide,
            manifest=manifest,
            earlier=earlier or (),
            earlier_roll=earlier_roll or (),
            certificate=certificate,
            progress=progress,
        )
    if export is not None:
        findings.write_cells(export)
    print_result(findings, as_json, page)
    if not findings.is_safe:
        raise typer.Exit(1)
