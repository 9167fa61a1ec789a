"""The command `audit`: arguments and one call."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin import ui
from safemargin.audit.audit import audit as run_audit
from safemargin.audit.small import SMALLEST
from safemargin.core import Target


def audit(
    files: Annotated[
        list[Path], typer.Argument(help="Published tables: files of any format, folders or patterns in quotes.")
    ],
    roll: ui.Rolls = None,
    fact: ui.Facts = None,
    target: ui.Axes = None,
    beta: ui.Beta = None,
    kappa: Annotated[
        int | None,
        typer.Option(
            help="Minimum number of people in a published group. Default: what the manifest states, else "
            f"{Target.kappa}; without this option, only printed groups of 1 to {SMALLEST} people are "
            "found by their size."
        ),
    ] = None,
    tau: ui.Tau = None,
    count: ui.Count = "count",
    option: ui.Option = "option",
    by: ui.By = None,
    skip: ui.Skip = None,
    hierarchy: ui.Hierarchy = None,
    tolerance: ui.Tolerance = 0.0,
    decide: ui.DecideOnly = False,
    manifest: Annotated[
        Path | None, typer.Option(help="Manifest of a release: its target; its rule is then known.")
    ] = None,
    earlier: ui.EarlierTables = None,
    earlier_roll: ui.EarlierRolls = None,
    export: Annotated[Path | None, typer.Option(help="Also write all cells to this CSV file.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Also prove every interval in this JSON file.")] = None,
    reading: ui.Reading = None,
    page: ui.Page = None,
    as_json: ui.Json = False,
) -> None:
    """Attack tables that somebody published, ours or not.

    Example: safemargin audit published/*.csv --roll roll.csv
    """
    ui.check_page(page)
    with ui.progress_bar("attacking") as progress:
        read = {"roll": roll or (), "facts": fact or (), "skip": skip or (), "hierarchy": hierarchy or ()}
        read |= {"earlier": earlier or (), "earlier_roll": earlier_roll or ()}
        findings = ui.call(run_audit, locals(), "read", "files", "fact", "export", tables=files, **read)
    if export is not None:
        findings.write_cells(export)
    ui.print_result(findings, as_json, page)
    if not findings.is_safe:
        raise typer.Exit(1)
    if findings.doubts:
        raise typer.Exit(ui.DOUBTFUL)
