"""The command that swaps records."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.guarantees.guarantee_file import GUARANTEE_FILE, guarantee_text
from safemargin.guarantees.swap_loss import rate_of
from safemargin.io import axes
from safemargin.swap.report import show_swapped, swap_page, swapped_document
from safemargin.swap.swap import FORMS, Swapped, swap_folder
from safemargin.swap.tables import FORMATS
from safemargin.ui import Json, note, out, print_json, progress_bar, write_text


def swap(
    file: Annotated[Path, typer.Argument(help="Records (CSV, Parquet or JSON lines).")],
    folder: Annotated[Path, typer.Option("--out", help="New folder for published/ and inside/.")],
    swapped: Annotated[str, typer.Option("--swap", help="Columns whose values are exchanged, e.g. county,tract.")],
    match: Annotated[str | None, typer.Option(help="Columns that records must agree on to exchange.")] = None,
    hold: Annotated[str | None, typer.Option(help="Columns that stay; others are left out. Default: all.")] = None,
    rate: Annotated[str | None, typer.Option(help="Swap rate, e.g. 0.05.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="In place of the rate: what is to be guaranteed.")] = None,
    higher: Annotated[bool, typer.Option("--higher", help="Of the two rates for an epsilon, the higher one.")] = False,
    unit: Annotated[str, typer.Option(help="What a record is: person, household, ...")] = "person",
    household: Annotated[
        str | None, typer.Option(help="Column that numbers households: they are exchanged as a whole.")
    ] = None,
    imputed: Annotated[str | None, typer.Option(help="Column with 0 or 1: records with 1 are never moved.")] = None,
    form: Annotated[str, typer.Option(help=f"What is written: {' or '.join(FORMS)}.")] = "table",
    file_format: Annotated[str, typer.Option("--format", help=f"{' or '.join(FORMATS)}.")] = "parquet",
    as_json: Json = False,
) -> None:
    """Exchange values between records at random: two tables stay exact, the rest gets a guarantee.

    Example: safemargin swap people.parquet --swap county --match state,size --rate 0.05 --out swapped
    """
    if (rate is None) == (epsilon is None):
        raise InputError("--rate, --epsilon: give one of them")
    if higher and epsilon is None:
        raise InputError("--higher: goes with --epsilon, which has two rates")

    def tell(found: Swapped, draft: Path) -> None:
        write_text(draft / "published" / GUARANTEE_FILE, guarantee_text(found.guarantee))
        write_text(draft / "inside" / "report.html", swap_page(f"{file.stem}, swapped", found))

    with progress_bar("swapping") as progress:
        found = swap_folder(
            file,
            folder,
            tell,
            swapped=axes(swapped) or (),
            match=axes(match) or (),
            hold=axes(hold),
            rate=None if rate is None else rate_of(rate),
            epsilon=epsilon,
            higher=higher,
            unit=unit,
            household=household,
            imputed=imputed,
            form=form,
            file_format=file_format,
            progress=progress,
        )
    if as_json:
        print_json(swapped_document(found))
    else:
        show_swapped(out, found)
        note(f"written to {folder}")
