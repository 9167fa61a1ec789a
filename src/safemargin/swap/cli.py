"""The commands `swap` and `guarantee check`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.guarantees import Holds
from safemargin.io import axes, check_folder
from safemargin.swap.check import WAYS, check as check_swapping
from safemargin.swap.swap import FORMS, swap as swap_records
from safemargin.swap.tables import FORMATS
from safemargin.ui import Engine, Json, Master, Result, call, note, notes, parse_integers, print_result, progress_bar

File = Annotated[Path, typer.Argument(help="Records (CSV, Parquet or JSON lines).")]
Swapped = Annotated[str, typer.Option("--swap", help="Columns whose values are exchanged, e.g. county,tract.")]
Match = Annotated[str | None, typer.Option(help="Columns that records must agree on to exchange.")]
Unit = Annotated[str, typer.Option(help="What a record is: person, household, ...")]
Household = Annotated[
    str | None, typer.Option(help="Rows are people: the column that numbers the households they form.")
]
Imputed = Annotated[str | None, typer.Option(help="Column with 0 or 1: records with 1 are never moved.")]
Format = Annotated[str, typer.Option("--format", help=f"{' or '.join(FORMATS)}.")]


def swap(
    file: File,
    folder: Annotated[Path, typer.Option("--out", help="New folder for published/ and confidential/.")],
    swapped: Swapped,
    hold: Annotated[str, typer.Option(help="Columns that stay and are published; all others are omitted.")],
    match: Match = None,
    rate: Annotated[str | None, typer.Option(help="Swap rate, e.g. 0.05.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="In place of the rate: the epsilon to guarantee.")] = None,
    higher: Annotated[bool, typer.Option("--higher", help="Of the two rates for an epsilon, the higher one.")] = False,
    rate_by: Annotated[
        str | None, typer.Option(help="In place of the rate: held or matched column with the rate of each record.")
    ] = None,
    near: Annotated[str | None, typer.Option(help="Swapped columns of a second exchange nearby, e.g. county.")] = None,
    near_rate: Annotated[str | None, typer.Option(help="Rate of the second exchange.")] = None,
    vacuous: Annotated[
        bool, typer.Option("--vacuous/--no-vacuous", help="Allow exchanges that change nothing, or draw them again.")
    ] = True,
    perturb: Annotated[
        list[str] | None, typer.Option(help="Draw a held column anew at a rate before swapping, e.g. race=0.1.")
    ] = None,
    unit: Unit = "person",
    household: Household = None,
    imputed: Imputed = None,
    form: Annotated[str, typer.Option(help=f"What is written: {' or '.join(FORMS)}.")] = "table",
    file_format: Format = "parquet",
    engine: Engine = "duckdb",
    master: Master = None,
    as_json: Json = False,
) -> None:
    """Exchange values between records at random: two tables stay exact, the rest gets a guarantee.

    Example: safemargin swap people.parquet --swap county --match state,size --hold tenure --rate 0.05 --out swapped
    """
    check_folder(folder)
    with progress_bar("swapping") as progress:
        columns = _columns(swapped=swapped, match=match, hold=hold, near=near)
        result = call(swap_records, locals(), "file", "columns", data=file, perturb=_pairs(perturb or []), **columns)
    _write(result, folder, as_json)


def _columns(**texts: str | None) -> dict[str, tuple[str, ...]]:
    return {name: axes(text) or () for name, text in texts.items()}


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, sign, rate = text.rpartition("=")
        if not (name and sign and rate):
            raise InputError(f"perturb = {text}: give a column and a rate, e.g. race=0.1")
        pairs[name] = rate
    return pairs


def _write(result: Result, folder: Path, as_json: bool) -> None:
    result.write(folder)
    print_result(result, as_json)
    if not as_json:
        note(f"written to {folder}")


def check(
    held: Annotated[str, typer.Option(help="Counts of the held values of a small stratum, e.g. 1,1,2,2.")],
    swapped: Annotated[str, typer.Option(help="Counts of the swapped values.")],
    rate: Annotated[str, typer.Option(help="Swap rate, e.g. 0.1, or one for each held value.")],
    variant: Annotated[str, typer.Option(help=f"One of {', '.join(WAYS)}.")] = "permutation",
    imputed: Annotated[
        str | None, typer.Option(help="Held values, counted from 0, of imputed records: never selected.")
    ] = None,
    without: Annotated[str, typer.Option(help="Invariant that is dropped: held or swapped.")] = "",
    noise: Annotated[
        str | None, typer.Option(help="Add geometric noise of this epsilon to every count of the swapped table.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the exact loss of swapping on a small stratum, and check the guarantee of Theorem 1 there.

    Example: safemargin guarantee check --held 1,1,1 --swapped 1,1,1 --rate 0.1 --variant pairs
    """
    with notes.status("going through all permutations"):
        result = check_swapping(
            parse_integers(held),
            parse_integers(swapped),
            rate.split(",") if "," in rate else rate,
            variant=variant,
            imputed=() if imputed is None else parse_integers(imputed),
            without=without,
            noise=noise,
        )
    print_result(result, as_json)
    if result.verdict is Holds.VIOLATED:
        raise typer.Exit(1)
