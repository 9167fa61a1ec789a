"""The command that tries swap rates."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.guarantees.swap_loss import rate_of
from safemargin.io import axes
from safemargin.swap.rates import RATES, RUNS, try_rates
from safemargin.swap.rates_report import rates_document, rates_tried_page, show_rates_tried
from safemargin.ui import Json, out, print_json, progress_bar, write_text

DEFAULT = ",".join(f"{float(rate):g}" for rate in RATES)


def swap_rates(
    file: Annotated[Path, typer.Argument(help="Records (CSV, Parquet or JSON lines).")],
    swapped: Annotated[str, typer.Option("--swap", help="Columns whose values are exchanged, e.g. county,tract.")],
    match: Annotated[str | None, typer.Option(help="Columns that records must agree on to exchange.")] = None,
    hold: Annotated[str | None, typer.Option(help="Columns that stay; others are left out. Default: all.")] = None,
    rates: Annotated[str, typer.Option(help="Swap rates to try.")] = DEFAULT,
    runs: Annotated[int, typer.Option(help="How often each is tried.")] = RUNS,
    unit: Annotated[str, typer.Option(help="What a record is: person, household, ...")] = "person",
    household: Annotated[
        str | None, typer.Option(help="Column that numbers households: they are exchanged as a whole.")
    ] = None,
    imputed: Annotated[str | None, typer.Option(help="Column with 0 or 1: records with 1 are never moved.")] = None,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with pictures (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """What swapping would do to the tables at several rates, and what each guarantees; nothing is published.

    Example: safemargin swap-rates people.parquet --swap county --match state,size --out rates.html
    """
    with progress_bar("swapping") as progress:
        found = try_rates(
            file,
            axes(swapped) or (),
            axes(match) or (),
            axes(hold),
            rates=[rate_of(each) for each in axes(rates) or ()],
            runs=runs,
            unit=unit,
            household=household,
            imputed=imputed,
            progress=progress,
        )
    if page is not None:
        write_text(page, rates_tried_page(f"{file.stem}: swap rates", found))
    if as_json:
        print_json(rates_document(found))
    else:
        show_rates_tried(out, found)
