"""Commands about promises: what a swap rate or a budget means, which of two is stronger, and whether one holds."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.account.census import (
    COUNTERFACTUAL,
    census_2020,
    certificate,
    characteristics_2020,
    counterfactual,
    tabulated,
)
from safemargin.account.census_2020 import DELTA, PRODUCTS, redistricting
from safemargin.account.comparing import contrast
from safemargin.account.conversion import rho_squared_for
from safemargin.account.exact import Holds
from safemargin.account.product_file import read_product
from safemargin.account.rules import compose as composed
from safemargin.account.swap_check import WAYS, check_swapping
from safemargin.cli.terminal import Json, notes, out, print_json, write
from safemargin.errors import InputError
from safemargin.mechanisms.swap_loss import rate_of, rates_for
from safemargin.model.guarantee_file import document, read_guarantee
from safemargin.model.universe import Population
from safemargin.report.promises import (
    census_document,
    certificate_document,
    checked_document,
    contrast_document,
    conversion_document,
    show_census,
    show_checked,
    show_contrast,
    show_guarantee,
    show_product,
)
from safemargin.report.swap_curves import (
    Curves,
    by_size,
    census_strata,
    curves_document,
    curves_page,
    rate_page,
    show_curves,
)
from safemargin.report.swapping import rate_document, show_rate, show_rates

guarantee = typer.Typer(
    help="Privacy promises: state, convert, compose, compare and check them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Rate = Annotated[str | None, typer.Option(help="Swap rate, e.g. 0.05 or 1/20.")]
Delta = Annotated[float, typer.Option(help="Probability with which epsilon may be exceeded.")]


@guarantee.command()
def swap(
    largest: Annotated[int, typer.Option("--largest-stratum", help="Records in the largest stratum that varies.")],
    rate: Rate = None,
    epsilon: Annotated[float | None, typer.Option(help="Which rates promise this?")] = None,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with the picture (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """What permutation swapping promises at a rate, or which rates promise an epsilon.

    Example: safemargin guarantee swap --rate 0.05 --largest-stratum 13475623
    """
    if (rate is None) == (epsilon is None):
        raise InputError("--rate, --epsilon: give one of them")
    chosen = rate_of(rate) if rate is not None else rates_for(epsilon or 0.0, largest)[0]
    if page is not None:
        write(page, rate_page(float(chosen), largest))
    if as_json:
        print_json({**rate_document(chosen, largest), **({} if epsilon is None else {"epsilon": epsilon})})
    elif epsilon is None:
        show_rate(out, chosen, largest)
    else:
        show_rates(out, epsilon, largest)


@guarantee.command()
def rates(
    largest: Annotated[
        str, typer.Option("--largest-stratum", help="Records in the largest stratum that varies, several of them.")
    ] = "2,10,100,1000,10000,100000,1000000",
    at: Annotated[str, typer.Option("--rates", help="Swap rates at which epsilon is told.")] = "0.05,0.5",
    census: Annotated[
        bool, typer.Option("--census", help="The strata of the 2020 census, had its households been swapped.")
    ] = False,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with the picture (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """What permutation swapping promises at several rates for several strata, as a table and a picture.

    Example: safemargin guarantee rates --largest-stratum 2,1000,1000000 --rates 0.05,0.5 --out curves.html
    """
    asked = tuple(rate_of(part) for part in at.split(","))
    found = census_strata(COUNTERFACTUAL, asked) if census else Curves(by_size(_numbers(largest)), asked)
    if page is not None:
        title = "Had the households of the 2020 census been swapped" if census else "Epsilon of swapping"
        write(page, curves_page(title, found))
    if as_json:
        print_json(curves_document(found))
    else:
        show_curves(out, found)


@guarantee.command()
def convert(
    rho2: Annotated[float | None, typer.Option(help="Rho squared, the usual parameter of zCDP.")] = None,
    rho: Annotated[float | None, typer.Option(help="Its root.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon at the delta: which rho squared has it?")] = None,
    delta: Delta = DELTA,
    times: Annotated[int, typer.Option(min=1, help="Records that one unit stands in.")] = 1,
    as_json: Json = False,
) -> None:
    """A budget of zCDP as epsilon at a delta, and back.

    Example: safemargin guarantee convert --rho2 2.63 --delta 1e-10
    """
    given = [value for value in (rho2, rho, epsilon) if value is not None]
    if len(given) != 1:
        raise InputError("--rho2, --rho, --epsilon: give one of them")
    if given[0] < 0:
        raise InputError(f"budget = {given[0]}: must not be negative")
    squared = rho2 if rho2 is not None else rho**2 if rho is not None else rho_squared_for(epsilon or 0.0, delta)
    found = conversion_document(squared * times**2, delta)
    if as_json:
        print_json(found)
        return
    out.print(f"rho² = {found['rho_squared']:.6g} (rho = {found['rho']:.6g}) at delta = {delta:g}:")
    out.print(f"  epsilon {found['epsilon']:.4f} by the published formula (Bun and Steinke)")
    out.print(f"  epsilon {found['epsilon_tight']:.4f} by the tighter one (Canonne, Kamath and Steinke)")


@guarantee.command()
def compare(
    one: Annotated[Path, typer.Argument(help="Promise (JSON), or the manifest of a release.")],
    other: Annotated[Path, typer.Argument(help="The other promise.")],
    as_json: Json = False,
) -> None:
    """Which of two promises is the stronger one, block by block; budgets alone are never ranked.

    Example: safemargin guarantee compare swapped/published/promise.json release/published/manifest.json
    """
    found = contrast(read_guarantee(one), read_guarantee(other))
    if as_json:
        print_json(contrast_document(found))
    else:
        show_contrast(out, found)


@guarantee.command()
def compose(
    files: Annotated[list[Path], typer.Argument(help="Promises about the same records.")],
    as_json: Json = False,
) -> None:
    """The promise of publishing several things about the same records.

    Example: safemargin guarantee compose first.json second.json --json > both.json
    """
    found = composed([read_guarantee(file) for file in files], " and ".join(file.stem for file in files))
    if as_json:
        print_json(document(found))
    else:
        show_guarantee(out, found)


@guarantee.command()
def show(
    file: Annotated[Path, typer.Argument(help="Promise (JSON).")],
    depth: Annotated[int | None, typer.Option(help="How many steps of the derivation to print.")] = None,
    as_json: Json = False,
) -> None:
    """One promise in words, with what it rests on.

    Example: safemargin guarantee show swapped/published/promise.json
    """
    found = read_guarantee(file)
    if as_json:
        print_json(document(found))
    else:
        show_guarantee(out, found, depth)


@guarantee.command()
def check(
    held: Annotated[str, typer.Option(help="Counts of the held values of a small stratum, e.g. 1,1,2,2.")],
    swapped: Annotated[str, typer.Option(help="Counts of the swapped values.")],
    rate: Annotated[str, typer.Option(help="Swap rate, e.g. 0.1, or one for each held value.")],
    variant: Annotated[str, typer.Option(help=f"One of {', '.join(WAYS)}.")] = "permutation",
    imputed: Annotated[
        str | None, typer.Option(help="Held values, counted from 0, of imputed records: never selected.")
    ] = None,
    without: Annotated[str, typer.Option(help="Invariant that is dropped: held or swapped.")] = "",
    as_json: Json = False,
) -> None:
    """The exact loss of swapping on a small stratum, and whether the promise of Theorem 1 holds there.

    Example: safemargin guarantee check --held 1,1,1 --swapped 1,1,1 --rate 0.1 --variant pairs
    """
    rates = [rate_of(part) for part in rate.split(",")]
    with notes.status("going through all permutations"):
        found, claimed, exact = check_swapping(
            _numbers(held),
            _numbers(swapped),
            rates[0] if len(rates) == 1 else rates,
            variant,
            imputed=() if imputed is None else _numbers(imputed),
            without=without,
        )
    if as_json:
        print_json(checked_document(found, claimed, exact))
    else:
        show_checked(out, found, claimed, exact)
    if found.verdict is Holds.VIOLATED:
        raise typer.Exit(1)


@guarantee.command()
def budget(
    file: Annotated[Path, typer.Argument(help="Scale, levels and queries with their shares (TOML).")],
    delta: Delta = DELTA,
    as_json: Json = False,
) -> None:
    """What a plan of noisy queries promises, per attribute and inside areas, and the noise of every query.

    Example: safemargin guarantee budget survey.toml --delta 1e-6
    """
    product = read_product(file)
    found = certificate(product, delta)
    if as_json:
        print_json(
            {
                "schema": 1,
                **certificate_document(found),
                "guarantee": document(product.guarantee(Population(product.name))),
            }
        )
    else:
        show_product(out, found)


@guarantee.command()
def census(delta: Delta = DELTA, as_json: Json = False) -> None:
    """The budgets of the 2020 census from its configuration: certificates, composition, all products side by side.

    Example: safemargin guarantee census
    """
    certificates = [certificate(product, delta) for product in PRODUCTS]
    both, whole = redistricting(), census_2020()
    if as_json:
        print_json(census_document(certificates, both, whole, counterfactual(), delta))
    else:
        promises = [characteristics_2020(), *tabulated(), whole]
        show_census(out, certificates, both, promises, whole, counterfactual(), delta)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{text!r}: must be whole numbers between commas, e.g. 1,1,2,2") from None
