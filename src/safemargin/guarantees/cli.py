"""The command `guarantee`: state, convert, compose, compare and check privacy guarantees."""

from typing import Any

import typer

from safemargin import guarantees, ui
from safemargin.guarantees.exact import Holds
from safemargin.guarantees.verify import Verified
from safemargin.ui import command, show_with_page

FILE: Any = typer.Argument(help="Guarantee (JSON), or the manifest of a release.")
DELTA = "Probability with which epsilon may be exceeded."


def _show_verdict(result: Verified, as_json: ui.Json = False) -> None:
    """Print the verdict.

    The exit code is 1 if the guarantee is violated.
    """
    ui.print_result(result, as_json)
    if result.verdict is Holds.VIOLATED:
        raise typer.Exit(1)


COMMANDS = (
    command(
        guarantees.swap,
        "guarantee swap --rate 0.05 --largest-stratum 13475623",
        show_with_page,
        largest=typer.Option("--largest-stratum", help="Records in the largest stratum that varies."),
        rate="Swap rate, e.g. 0.05 or 1/20.",
        epsilon="Find the two rates with this epsilon.",
    ),
    command(
        guarantees.rates,
        "guarantee rates --largest-stratum 2,1000,1000000 --rates 0.05,0.5 --out curves.html",
        show_with_page,
        largest=typer.Option("--largest-stratum", help="Records in the largest stratum that varies, several of them."),
        rates="Swap rates to tabulate.",
        census="The strata of the 2020 census, had its households been swapped.",
    ),
    command(
        guarantees.convert,
        "guarantee convert --rho-squared 2.63 --delta 1e-10",
        rho_squared="Parameter of zCDP, e.g. 2.63 or 293764/114921.",
        epsilon="Epsilon at the delta: find its rho squared.",
        delta=DELTA,
        times="Records that one unit stands in.",
    ),
    command(
        guarantees.compare,
        "guarantee compare swapped/published/guarantee.json release/published/manifest.json",
        show_with_page,
        first=FILE,
        second=typer.Argument(help="The other guarantee."),
    ),
    command(
        guarantees.beside,
        "guarantee beside swapped/published/guarantee.json release/published/manifest.json",
        show_with_page,
        sources=typer.Argument(help="Guarantees (JSON), or manifests of releases."),
        delta=DELTA,
    ),
    command(
        guarantees.compose,
        "guarantee compose first.json second.json --json > both.json",
        sources=typer.Argument(help="Guarantees about the same records."),
        unit="First convert them to this unit, by what their populations declare.",
        zcdp="First convert pure guarantees to zCDP.",
    ),
    command(
        guarantees.show,
        "guarantee show swapped/published/guarantee.json",
        source=FILE,
        depth="Steps of the derivation to print.",
    ),
    command(
        guarantees.verify,
        "guarantee verify mechanism.json",
        _show_verdict,
        "reading",
        source=typer.Argument(help="Data sets, laws of the output and the guarantee (JSON)."),
    ),
    command(
        guarantees.budget,
        "guarantee budget survey.toml --delta 1e-6",
        source=typer.Argument(help="Scale, levels and queries with their shares (TOML)."),
        delta=DELTA,
    ),
    command(
        guarantees.census,
        "guarantee census --person-change stays",
        show_with_page,
        delta=DELTA,
        person_change="What one changed person may do: moves (also to another household) or stays.",
    ),
)

guarantee = typer.Typer(
    help="Privacy guarantees: state, convert, compose, compare and check them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for member in COMMANDS:
    guarantee.command()(member)
