"""The command that attacks noisy tables."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError, PublishedTable
from safemargin.io import axes, read_tables
from safemargin.noise.attack_report import denoised_document, show_denoised
from safemargin.noise.attacks.denoising import SURE, denoise
from safemargin.noise.attacks.noisy import OPTION
from safemargin.ui import By, Count, Json, Option, Skip, notes, out, print_json


def attack(
    files: Annotated[list[Path], typer.Argument(help="Published tables (tidy), noisy rows with the status noised.")],
    variance: Annotated[float | None, typer.Option(help="Variance of the noise; otherwise estimated.")] = None,
    bound: Annotated[int | None, typer.Option(help="Largest size of the noise, if it is known.")] = None,
    before: Annotated[
        list[Path] | None, typer.Option(help="Tables published earlier about almost the same people; repeatable.")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="Axes of counts to average, e.g. sex,age.")] = None,
    truth: Annotated[list[Path] | None, typer.Option(help="True tables, to count right guesses; repeatable.")] = None,
    confidence: Annotated[float, typer.Option(help="How sure an attack must be.")] = SURE,
    count: Count = "count",
    option: Option = "option",
    by: By = None,
    skip: Skip = None,
    limit: Annotated[int, typer.Option(help="How many counts to print per attack.")] = 10,
    as_json: Json = False,
) -> None:
    """Attack noisy tables: averaging, revealing the bound, exploiting margins, differencing.

    Example: safemargin noise attack published/*.csv --variance 2
    """
    if not 0 < confidence <= 1:
        raise InputError(f"confidence = {confidence:g}: must be above 0 and at most 1; the nearest is {SURE:g} or so")
    tables = read_tables(files, count, option, by, skip)
    earlier = read_tables(before or [], count, option, by, skip)
    known = None if truth is None else _counts(read_tables(truth, count, option, by, skip))
    with notes.status("attacking"):
        found = denoise(
            tables,
            variance=variance,
            bound=bound,
            before=earlier,
            targets=None if target is None else [axes(each) or () for each in target],
            confidence=confidence,
        )
    inputs = {"files": [str(file) for file in files], "variance": variance, "bound": bound, "confidence": confidence}
    if as_json:
        print_json(denoised_document(found, confidence, inputs, known))
    else:
        show_denoised(out, found, confidence, limit, known)
    if found.sure(confidence):
        raise typer.Exit(1)


def _counts(tables: tuple[PublishedTable, ...]) -> dict[tuple[tuple[str, str], ...], int]:
    """True counts by cell."""
    found = {}
    for table in tables:
        for row, count in enumerate(table.lower.tolist()):
            cell = table.cell(row)
            if table.options:
                cell[OPTION] = table.options[table.option[row]]
            found[tuple(sorted(cell.items()))] = count
    return found
