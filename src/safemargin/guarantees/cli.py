"""The command `guarantee`: state, convert, compose, compare and check privacy guarantees."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin import guarantees, ui
from safemargin.guarantees.conversion import DELTA, exact_amount
from safemargin.guarantees.exact import Holds
from safemargin.guarantees.swap_curves import SIZES

guarantee = typer.Typer(
    help="Privacy guarantees: state, convert, compose, compare and check them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
File = Annotated[Path, typer.Argument(help="Guarantee (JSON), or the manifest of a release.")]
Files = Annotated[list[Path], typer.Argument(help="Guarantees (JSON), or manifests of releases.")]
Delta = Annotated[str, typer.Option(help="Probability with which epsilon may be exceeded.")]


def _delta(text: str) -> float:
    return float(exact_amount("delta", text))


@guarantee.command()
def swap(
    largest: Annotated[int, typer.Option("--largest-stratum", help="Records in the largest stratum that varies.")],
    rate: Annotated[str | None, typer.Option(help="Swap rate, e.g. 0.05 or 1/20.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Find the two rates with this epsilon.")] = None,
    page: ui.Page = None,
    as_json: ui.Json = False,
) -> None:
    """What permutation swapping guarantees at a rate, or which rates guarantee an epsilon.

    Example: safemargin guarantee swap --rate 0.05 --largest-stratum 13475623
    """
    wanted = None if epsilon is None else float(exact_amount("epsilon", epsilon))
    ui.print_result(guarantees.swap(largest, rate=rate, epsilon=wanted), as_json, page)


@guarantee.command()
def rates(
    largest: Annotated[
        str, typer.Option("--largest-stratum", help="Records in the largest stratum that varies, several of them.")
    ] = ",".join(map(str, SIZES)),
    chosen: Annotated[str, typer.Option("--rates", help="Swap rates to tabulate.")] = "0.05,0.5",
    census: Annotated[
        bool, typer.Option("--census", help="The strata of the 2020 census, had its households been swapped.")
    ] = False,
    page: ui.Page = None,
    as_json: ui.Json = False,
) -> None:
    """What permutation swapping guarantees at several rates for several strata, as a table and a picture.

    Example: safemargin guarantee rates --largest-stratum 2,1000,1000000 --rates 0.05,0.5 --out curves.html
    """
    result = guarantees.rates(ui.parse_integers(largest), rates=chosen.split(","), census=census)
    ui.print_result(result, as_json, page)


@guarantee.command()
def convert(
    rho_squared: Annotated[str | None, typer.Option(help="Parameter of zCDP, e.g. 2.63 or 293764/114921.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Epsilon at the delta: find its rho squared.")] = None,
    delta: Delta = str(DELTA),
    times: Annotated[int, typer.Option(min=1, help="Records that one unit stands in.")] = 1,
    as_json: ui.Json = False,
) -> None:
    """Convert a budget of zCDP to epsilon at a delta, and back.

    Example: safemargin guarantee convert --rho-squared 2.63 --delta 1e-10
    """
    result = guarantees.convert(rho_squared=rho_squared, epsilon=epsilon, delta=delta, times=times)
    ui.print_result(result, as_json)


@guarantee.command()
def compare(
    first: File,
    second: Annotated[Path, typer.Argument(help="The other guarantee.")],
    page: ui.Page = None,
    as_json: ui.Json = False,
) -> None:
    """Compare two guarantees block by block; budgets alone are never ranked.

    Example: safemargin guarantee compare swapped/published/guarantee.json release/published/manifest.json
    """
    ui.print_result(guarantees.compare(first, second), as_json, page)


@guarantee.command()
def beside(files: Files, delta: Delta = str(DELTA), page: ui.Page = None, as_json: ui.Json = False) -> None:
    """Show several guarantees side by side: what each covers, which implies which, and what they omit.

    Example: safemargin guarantee beside swapped/published/guarantee.json release/published/manifest.json
    """
    ui.print_result(guarantees.beside(files, delta=_delta(delta)), as_json, page)


@guarantee.command()
def compose(
    files: Annotated[list[Path], typer.Argument(help="Guarantees about the same records.")],
    unit: Annotated[
        str | None, typer.Option(help="First convert them to this unit, by what their populations declare.")
    ] = None,
    zcdp: Annotated[bool, typer.Option("--zcdp", help="First convert pure guarantees to zCDP.")] = False,
    as_json: ui.Json = False,
) -> None:
    """Compose the guarantees of several publications about the same records.

    Example: safemargin guarantee compose first.json second.json --json > both.json
    """
    ui.print_result(guarantees.compose(files, unit=unit, zcdp=zcdp), as_json)


@guarantee.command()
def show(
    file: File,
    depth: Annotated[int | None, typer.Option(help="Steps of the derivation to print.")] = None,
    as_json: ui.Json = False,
) -> None:
    """Show one guarantee in words, with what it rests on.

    Example: safemargin guarantee show swapped/published/guarantee.json
    """
    ui.print_result(guarantees.show(file, depth=depth), as_json)


@guarantee.command()
def verify(
    file: Annotated[Path, typer.Argument(help="Data sets, laws of the output and the guarantee (JSON).")],
    as_json: ui.Json = False,
) -> None:
    """Verify a guarantee about a small mechanism exactly, over all pairs of data sets.

    Example: safemargin guarantee verify mechanism.json
    """
    with ui.progress_bar("reading") as progress:
        result = guarantees.verify(file, progress=progress)
    ui.print_result(result, as_json)
    if result.verdict is Holds.VIOLATED:
        raise typer.Exit(1)


@guarantee.command()
def budget(
    file: Annotated[Path, typer.Argument(help="Scale, levels and queries with their shares (TOML).")],
    delta: Delta = str(DELTA),
    as_json: ui.Json = False,
) -> None:
    """Show what a plan of noisy queries guarantees, per attribute and inside areas, and the noise of every query.

    Example: safemargin guarantee budget survey.toml --delta 1e-6
    """
    ui.print_result(guarantees.budget(file, delta=_delta(delta)), as_json)


@guarantee.command()
def census(delta: Delta = str(DELTA), page: ui.Page = None, as_json: ui.Json = False) -> None:
    """Show the budgets of the 2020 census: certificates, composition, all products side by side.

    Example: safemargin guarantee census
    """
    ui.print_result(guarantees.census(delta=_delta(delta)), as_json, page)
