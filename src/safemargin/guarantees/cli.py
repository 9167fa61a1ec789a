"""The command `guarantee`: state, convert, compose, compare and check privacy guarantees."""

from typing import Any

import typer

from safemargin import guarantees
from safemargin.ui import command, show_with_page

FILE: Any = typer.Argument(help="Guarantee (JSON), or the manifest of a release.")
DELTA = "Probability with which epsilon may be exceeded."


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
)

guarantee = typer.Typer(
    help="Privacy guarantees: state, convert, compose, compare and check them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for member in COMMANDS:
    guarantee.command()(member)
