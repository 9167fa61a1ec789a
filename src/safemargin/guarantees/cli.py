"""Commands about guarantees: what a swap rate or a budget means, which of two is stronger, and whether one holds."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import Amount, InputError, Population, exact_number
from safemargin.guarantees.census import (
    COUNTERFACTUAL,
    census_2020,
    certificate,
    characteristics_2020,
    counterfactual,
    printed_budgets,
    tabulated,
)
from safemargin.guarantees.census_2020 import DELTA, PRODUCTS, redistricting
from safemargin.guarantees.census_report import CensusReport, census_document, census_page, show_census
from safemargin.guarantees.comparing import contrast
from safemargin.guarantees.conversion import printed_interval, rho_squared_for
from safemargin.guarantees.exact import Holds
from safemargin.guarantees.guarantee_file import LARGEST, document, read_guarantee
from safemargin.guarantees.mechanism_check import check_mechanism
from safemargin.guarantees.mechanism_file import read_mechanism
from safemargin.guarantees.product_file import read_product
from safemargin.guarantees.report import (
    beside_document,
    beside_page,
    certificate_document,
    contrast_document,
    conversion_document,
    show_beside,
    show_contrast,
    show_conversion,
    show_guarantee,
    show_product,
)
from safemargin.guarantees.rules import change_unit, to_zcdp
from safemargin.guarantees.rules import compose as composed
from safemargin.guarantees.swap_curves import (
    Curves,
    by_size,
    census_strata,
    curves_document,
    curves_page,
    rate_document,
    rate_page,
    show_curves,
    show_rate,
    show_rates,
)
from safemargin.guarantees.swap_loss import rate_of, rates_for
from safemargin.guarantees.verified_report import show_verified, verified_document
from safemargin.ui import Json, notes, out, parse_integers, print_json, write_text

guarantee = typer.Typer(
    help="Privacy guarantees: state, convert, compose, compare and check them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Rate = Annotated[str | None, typer.Option(help="Swap rate, e.g. 0.05 or 1/20.")]
Delta = Annotated[str, typer.Option(help="Probability with which epsilon may be exceeded.")]
Page = Annotated[Path | None, typer.Option("--out", help="Also write a page (HTML).")]


@guarantee.command()
def swap(
    largest: Annotated[int, typer.Option("--largest-stratum", help="Records in the largest stratum that varies.")],
    rate: Rate = None,
    epsilon: Annotated[str | None, typer.Option(help="Which rates guarantee this?")] = None,
    page: Annotated[Path | None, typer.Option("--out", help="Also write a page with the picture (HTML).")] = None,
    as_json: Json = False,
) -> None:
    """What permutation swapping guarantees at a rate, or which rates guarantee an epsilon.

    Example: safemargin guarantee swap --rate 0.05 --largest-stratum 13475623
    """
    if (rate is None) == (epsilon is None):
        raise InputError("--rate, --epsilon: give one of them")
    wanted = None if epsilon is None else float(_amount("--epsilon", epsilon))
    chosen = rate_of(rate) if rate is not None else rates_for(wanted or 0.0, largest)[0]
    if page is not None:
        write_text(page, rate_page(chosen, largest))
    if as_json:
        print_json(rate_document(chosen, largest, wanted))
    elif wanted is None:
        show_rate(out, chosen, largest)
    else:
        show_rates(out, wanted, largest)


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
    """What permutation swapping guarantees at several rates for several strata, as a table and a picture.

    Example: safemargin guarantee rates --largest-stratum 2,1000,1000000 --rates 0.05,0.5 --out curves.html
    """
    asked = tuple(rate_of(part) for part in at.split(","))
    found = census_strata(COUNTERFACTUAL, asked) if census else Curves(by_size(parse_integers(largest)), asked)
    if page is not None:
        title = "Had the households of the 2020 census been swapped" if census else "Epsilon of swapping"
        write_text(page, curves_page(title, found))
    if as_json:
        print_json(curves_document(found))
    else:
        show_curves(out, found)


@guarantee.command()
def convert(
    rho2: Annotated[
        str | None, typer.Option(help="Rho squared, the usual parameter of zCDP, e.g. 2.63 or 293764/114921.")
    ] = None,
    rho: Annotated[str | None, typer.Option(help="Its root.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Epsilon at the delta: which rho squared has it?")] = None,
    delta: Delta = str(DELTA),
    times: Annotated[int, typer.Option(min=1, help="Records that one unit stands in.")] = 1,
    as_json: Json = False,
) -> None:
    """A budget of zCDP as epsilon at a delta, and back.

    Example: safemargin guarantee convert --rho2 2.63 --delta 1e-10
    """
    if sum(value is not None for value in (rho2, rho, epsilon)) != 1:
        raise InputError("--rho2, --rho, --epsilon: give one of them")
    at = float(_amount("--delta", delta))
    squared: Amount
    if rho2 is not None:
        squared = _amount("--rho2", rho2)
    elif rho is not None:
        squared = _amount("--rho", rho) ** 2
    else:
        squared = rho_squared_for(float(_amount("--epsilon", epsilon or "")), at)
    if squared * times**2 > LARGEST:
        raise InputError(f"rho squared: is larger than {LARGEST:.0e}")
    found = conversion_document(squared * times**2, at)
    if epsilon is not None and "/" not in epsilon:
        found["rho_squared_between"] = [end * times**2 for end in printed_interval(epsilon, at)]
    if as_json:
        print_json(found)
    else:
        show_conversion(out, found)


@guarantee.command()
def compare(
    one: Annotated[Path, typer.Argument(help="Guarantee (JSON), or the manifest of a release.")],
    other: Annotated[Path, typer.Argument(help="The other guarantee.")],
    as_json: Json = False,
) -> None:
    """Which of two guarantees is the stronger one, block by block; budgets alone are never ranked.

    Example: safemargin guarantee compare swapped/published/guarantee.json release/published/manifest.json
    """
    found = contrast(read_guarantee(one), read_guarantee(other))
    if as_json:
        print_json(contrast_document(found))
    else:
        show_contrast(out, found)


@guarantee.command()
def beside(
    files: Annotated[list[Path], typer.Argument(help="Guarantees (JSON), or manifests of releases.")],
    delta: Delta = str(DELTA),
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Several guarantees side by side: what each is about, how each stands to each, and what they leave out.

    Example: safemargin guarantee beside swapped/published/guarantee.json release/published/manifest.json
    """
    at = float(_amount("--delta", delta))
    found = [read_guarantee(file) for file in files]
    if page is not None:
        write_text(page, beside_page(found, at))
    if as_json:
        print_json(beside_document(found, at))
    else:
        show_beside(out, found, at)


@guarantee.command()
def compose(
    files: Annotated[list[Path], typer.Argument(help="Guarantees about the same records.")],
    unit: Annotated[
        str | None, typer.Option(help="First make them guarantees to this unit, by what their populations declare.")
    ] = None,
    as_zcdp: Annotated[bool, typer.Option("--zcdp", help="First make pure guarantees zero-concentrated ones.")] = False,
    as_json: Json = False,
) -> None:
    """The guarantee of publishing several things about the same records.

    Example: safemargin guarantee compose first.json second.json --json > both.json
    """
    parts = [read_guarantee(file) for file in files]
    if as_zcdp:
        parts = [to_zcdp(part) for part in parts]
    if unit is not None:
        parts = [change_unit(part, unit) for part in parts]
    found = composed(parts, " and ".join(file.stem for file in files))
    if as_json:
        print_json({"schema": 1, **document(found)})
    else:
        show_guarantee(out, found)


@guarantee.command()
def show(
    file: Annotated[Path, typer.Argument(help="Guarantee (JSON).")],
    depth: Annotated[int | None, typer.Option(help="How many steps of the derivation to print.")] = None,
    as_json: Json = False,
) -> None:
    """One guarantee in words, with what it rests on.

    Example: safemargin guarantee show swapped/published/guarantee.json
    """
    found = read_guarantee(file)
    if as_json:
        print_json({"schema": 1, **document(found)})
    else:
        show_guarantee(out, found, depth)


@guarantee.command()
def verify(
    file: Annotated[Path, typer.Argument(help="Data sets, laws of the output and the guarantee (JSON).")],
    as_json: Json = False,
) -> None:
    """Whether a guarantee about a small mechanism holds, is tight or is violated: exact, over all pairs of data sets.

    Example: safemargin guarantee verify mechanism.json
    """
    mechanism = read_mechanism(file)
    with notes.status("comparing all pairs of data sets"):
        found = check_mechanism(mechanism)
    if as_json:
        print_json(verified_document(found))
    else:
        show_verified(out, found)
    if found.verdict is Holds.VIOLATED:
        raise typer.Exit(1)


@guarantee.command()
def budget(
    file: Annotated[Path, typer.Argument(help="Scale, levels and queries with their shares (TOML).")],
    delta: Delta = str(DELTA),
    as_json: Json = False,
) -> None:
    """What a plan of noisy queries guarantees, per attribute and inside areas, and the noise of every query.

    Example: safemargin guarantee budget survey.toml --delta 1e-6
    """
    product = read_product(file)
    found = certificate(product, float(_amount("--delta", delta)))
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
def census(delta: Delta = str(DELTA), page: Page = None, as_json: Json = False) -> None:
    """The budgets of the 2020 census from its configuration: certificates, composition, all products side by side.

    Example: safemargin guarantee census
    """
    at = float(_amount("--delta", delta))
    found = CensusReport(
        [certificate(product, at) for product in PRODUCTS],
        redistricting(),
        characteristics_2020(),
        tabulated(),
        census_2020(),
        counterfactual(),
        printed_budgets(),
        at,
    )
    if page is not None:
        write_text(page, census_page(found))
    if as_json:
        print_json(census_document(found))
    else:
        show_census(out, found)


def _amount(name: str, text: str) -> Fraction:
    try:
        found = exact_number(text)
    except ValueError:
        raise InputError(f"{name} {text}: must be a number or a fraction such as 293764/114921") from None
    if found < 0:
        raise InputError(f"{name} {text}: must not be negative")
    if found > LARGEST:
        raise InputError(f"{name} {text}: is larger than {LARGEST:.0e}")
    return found
