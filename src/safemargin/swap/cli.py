"""The commands `swap`, `swap-rates` and `simulate`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.guarantees import Holds
from safemargin.io import axes, check_folder
from safemargin.swap.across import simulate_across
from safemargin.swap.check import WAYS, check as check_swapping
from safemargin.swap.swap import FORMS, swap as swap_records
from safemargin.swap.swap_rates import RATES, RUNS, swap_rates as try_rates
from safemargin.swap.tables import FORMATS
from safemargin.swap.targeted import simulate_targeted
from safemargin.ui import Engine, Json, Master, Result, call, note, notes, parse_integers, print_result, progress_bar

DEFAULT_RATES = ",".join(f"{float(share):g}" for share in RATES)
simulate = typer.Typer(
    help="Swapping methods with no known privacy guarantee, for comparison.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(help="Records (CSV, Parquet or JSON lines).")]
Out = Annotated[Path, typer.Option("--out", help="New folder; all of it is confidential.")]
Swapped = Annotated[str, typer.Option("--swap", help="Columns whose values are exchanged, e.g. county,tract.")]
Match = Annotated[str | None, typer.Option(help="Columns that records must agree on to exchange.")]
Hold = Annotated[str | None, typer.Option(help="Columns that stay; others are omitted. Default: all.")]
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


def swap_rates(
    file: File,
    swapped: Swapped,
    match: Match = None,
    hold: Hold = None,
    rates: Annotated[str, typer.Option(help="Swap rates to try.")] = DEFAULT_RATES,
    runs: Annotated[int, typer.Option(help="Runs at each rate.")] = RUNS,
    unit: Unit = "person",
    household: Household = None,
    imputed: Imputed = None,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with pictures (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """Show what swapping would do to the tables at several rates, and what each guarantees; nothing is published.

    Example: safemargin swap-rates people.parquet --swap county --match state,size --out rates.html
    """
    with progress_bar("swapping") as progress:
        columns = _columns(swapped=swapped, match=match, rates=rates)
        result = call(try_rates, locals(), "file", "columns", data=file, hold=axes(hold), **columns)
    print_result(result, as_json, page)


@simulate.command()
def targeted(
    file: File,
    folder: Out,
    geography: Annotated[str, typer.Option(help="Areas from wide to narrow, e.g. state,county,tract,block.")],
    match: Annotated[str, typer.Option(help="What pairs agree on, e.g. adults,minors,tenure.")],
    rate: Annotated[str, typer.Option(help="Chance to be selected if nothing is special, e.g. 0.02.")],
    unique: Annotated[str | None, typer.Option(help="Unique in these columns: always selected.")] = None,
    within: Annotated[str | None, typer.Option("--unique-in", help="... in this area. Default: the last.")] = None,
    rare: Annotated[str | None, typer.Option(help="Columns whose values, alone in a block, double the chance.")] = None,
    small: Annotated[int, typer.Option("--small-block", help="Blocks below this size raise the chance.")] = 10,
    imputed: Annotated[str | None, typer.Option(help="Column with the share imputed; 1 is never moved.")] = None,
    most: Annotated[str, typer.Option(help="Largest share of a first area that is selected, e.g. 0.04.")] = "1",
    hold: Hold = None,
    unit: Unit = "household",
    household: Household = None,
    age: Annotated[str | None, typer.Option(help="With --household: the age, which gives adults and minors.")] = None,
    file_format: Format = "parquet",
    as_json: Json = False,
) -> None:
    """Swap households at risk in pairs, as far as is public about the 2010 census.

    Example: safemargin simulate targeted homes.csv --geography state,county,block --match size --rate 0.02 --out pairs
    """
    check_folder(folder)
    with progress_bar("swapping") as progress:
        columns = _columns(geography=geography, match=match, unique=unique, rare=rare)
        result = call(simulate_targeted, locals(), "file", "columns", data=file, hold=axes(hold), **columns)
    _write(result, folder, as_json)


@simulate.command()
def across(
    file: File,
    folder: Out,
    swapped: Swapped,
    match: Annotated[str, typer.Option(help="Columns that records agree on to exchange, e.g. state,size.")],
    loose: Annotated[str, typer.Option(help="Those of them that need not always agree, e.g. size.")],
    rate: Annotated[str, typer.Option(help="Swap rate, e.g. 0.05.")],
    alpha: Annotated[str, typer.Option(help="Chance that a selected record need not agree, e.g. 0.01.")],
    hold: Hold = None,
    unit: Unit = "household",
    household: Household = None,
    file_format: Format = "parquet",
    as_json: Json = False,
) -> None:
    """Swap within strata, but with a small probability across them: probabilistic unit matching.

    Example: safemargin simulate across homes.csv --swap county --match state,size --loose size --rate 0.05
    --alpha 0.01 --out across
    """
    check_folder(folder)
    with progress_bar("swapping") as progress:
        columns = _columns(swapped=swapped, match=match, loose=loose)
        result = call(simulate_across, locals(), "file", "columns", data=file, hold=axes(hold), **columns)
    _write(result, folder, as_json)


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
