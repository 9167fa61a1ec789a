"""The commands that swap in ways without a guarantee, for comparison."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.guarantees.guarantee_file import GUARANTEE_FILE, guarantee_text
from safemargin.guarantees.swap_loss import rate_of
from safemargin.io import axes
from safemargin.swap.across import swap_across_file
from safemargin.swap.pairing import Risk
from safemargin.swap.simulate_report import show_simulated, simulated_document, simulated_page
from safemargin.swap.simulated import Simulate, Simulated
from safemargin.swap.simulated import simulate as run_simulation
from safemargin.swap.tables import FORMATS
from safemargin.swap.targeted import Targeting, swap_targeted
from safemargin.ui import Json, note, out, print_json, progress_bar, write_text

simulate = typer.Typer(
    help="Swap records in ways that guarantee nothing known, to compare them with those that do.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(help="Records (CSV, Parquet or JSON lines).")]
Out = Annotated[Path, typer.Option("--out", help="New folder; all of it stays inside.")]
Hold = Annotated[str | None, typer.Option(help="Columns that stay; others are left out. Default: all.")]
Unit = Annotated[str, typer.Option(help="What a record is: person, household, ...")]
Household = Annotated[str | None, typer.Option(help="Rows are people: the column that numbers their households.")]
Format = Annotated[str, typer.Option("--format", help=f"{' or '.join(FORMATS)}.")]


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
    wish = Targeting(
        axes(geography) or (),
        axes(match) or (),
        Risk(rate_of(rate), small),
        axes(unique) or (),
        within,
        axes(rare) or (),
        imputed,
        axes(hold),
        household,
        age,
        rate_of(most),
        unit,
    )
    with progress_bar("swapping") as progress:
        found = _folder(
            file,
            folder,
            file_format,
            lambda place: swap_targeted(file, place, wish, file_format=file_format, progress=progress),
        )
    _print(found, folder, as_json)


@simulate.command()
def across(
    file: File,
    folder: Out,
    swapped: Annotated[str, typer.Option("--swap", help="Columns whose values are exchanged, e.g. county,tract.")],
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
    with progress_bar("swapping") as progress:
        found = _folder(
            file,
            folder,
            file_format,
            lambda place: swap_across_file(
                file,
                place,
                axes(swapped) or (),
                axes(match) or (),
                axes(loose) or (),
                rate=rate_of(rate),
                alpha=rate_of(alpha),
                hold=axes(hold),
                unit=unit,
                household=household,
                file_format=file_format,
                progress=progress,
            ),
        )
    _print(found, folder, as_json)


def _folder(file: Path, folder: Path, file_format: str, run: Simulate) -> Simulated:
    def tell(found: Simulated, inside: Path) -> None:
        write_text(inside / GUARANTEE_FILE, guarantee_text(found.guarantee))
        write_text(inside / "report.html", simulated_page(f"{file.stem}: {found.method}, simulated", found))

    return run_simulation(folder, file_format, run, tell)


def _print(found: Simulated, folder: Path, as_json: bool) -> None:
    if as_json:
        print_json(simulated_document(found))
    else:
        show_simulated(out, found)
        note(f"written to {folder}")
