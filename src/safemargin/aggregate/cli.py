"""The command group `aggregate`: which parameters of a function can be typed, and their help."""

from pathlib import Path
from typing import Annotated, Any

import typer

from safemargin import aggregate as api
from safemargin.aggregate.api import VARIANTS
from safemargin.aggregate.backends import BACKENDS
from safemargin.aggregate.privacy import paper_curves
from safemargin.aggregate.sum import write_tally
from safemargin.ui import Json, Page, command, print_result, show_with_page, write_text

FILE: Any = typer.Argument(metavar="file", help="CSV file: one row per client, one column per question.")
BACKEND = f"One of {', '.join(BACKENDS)}."
CLIENT = "Column that names the clients, if there is one."
BITS: Any = typer.Option(min=1, max=1000, help="Bits of every client.")
WEIGHTS: Any = typer.Option(min=2, help="Decoys of every client.")
SEED = "Random seed of the simulation."


def _show_sum(
    result: Any,
    tally: Annotated[Path | None, typer.Option(help="Write the totals as a tidy tally for a project.")] = None,
    axis: Annotated[str | None, typer.Option(help="Axis of the tally; questions are then 'category: option'.")] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Print the totals, and write the tally where one is asked."""
    if tally is not None:
        write_tally(result, tally, axis)
    print_result(result, as_json, page)


def _show_privacy(
    result: Any,
    curves: Annotated[Path | None, typer.Option(help="Write the paper's Figure 6 as a CSV file.")] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Print the figures, and write the curves where they are asked."""
    if curves is not None:
        lines = ["decoys,epsilon_eq_79,signal_to_noise,remainder,mmse_eq_87"]
        setting = result.figures.setting
        lines += [",".join(f"{value:.6g}" for value in row) for row in paper_curves(setting.bits, setting.delta)]
        write_text(curves, "\n".join(lines) + "\n")
    print_result(result, as_json, page)


def _show_rehearsal(result: Any, page: Page = None, as_json: Json = False) -> None:
    """Print what happened; the exit code is 1 if the totals are wrong."""
    print_result(result, as_json, page)
    if not result.holds:
        raise typer.Exit(1)


COMMANDS = (
    command(
        api.sum,
        "aggregate sum bits.csv --backend shares",
        _show_sum,
        "adding up",
        data=FILE,
        backend=BACKEND,
        client=CLIENT,
        largest=typer.Option(min=1, help="Largest answer that is allowed."),
        least="Fewest clients that are summed.",
        earlier="File that was summed before; differences of few clients are refused.",
        ledger="File that remembers which clients were summed.",
    ),
    command(
        api.views,
        "aggregate views bits.csv --backend polyveil-two-layer",
        show_with_page,
        data=FILE,
        backend=BACKEND,
        client=CLIENT,
    ),
    command(
        api.attack,
        "aggregate attack --variant full --bits 10 --weights 20",
        show_with_page,
        "attacking",
        variant=f"One of {', '.join(VARIANTS)}.",
        bits=BITS,
        weights=WEIGHTS,
        trials=typer.Option(min=2, help="Simulated clients."),
        seed=SEED,
    ),
    command(
        api.privacy,
        "aggregate privacy --bits 100 --weights 9 --delta 1e-6",
        _show_privacy,
        "computing the law of the noise",
        bits=BITS,
        weights=WEIGHTS,
        delta="Allowed probability of failure.",
        clients=typer.Option(min=3, help="Clients that are shuffled."),
    ),
    command(
        api.structure,
        "aggregate structure --bits 2 --weights 18",
        show_with_page,
        "simulating",
        bits=typer.Option(min=1, max=20, help="Bits of every client."),
        weights=WEIGHTS,
        draws=typer.Option(min=10, help="Simulated masks."),
        seed=SEED,
    ),
    command(
        api.rehearse,
        "aggregate rehearse --clients 200 --bits 10 --dropouts 0.05",
        _show_rehearsal,
        "sending",
        clients=typer.Option(min=3, max=1_000_000, help="Made-up clients."),
        bits=BITS,
        backend=BACKEND,
        dropouts="Share of clients that drop out.",
        one_process="Simulate all parties without sockets, for a million clients.",
        bare="Also time bare posts of the same size.",
        seed="Random seed of the made-up answers and failures.",
    ),
)

aggregate = typer.Typer(
    help="Exact sums over clients whose answers nobody sees.", no_args_is_help=True, rich_markup_mode=None
)
for member in COMMANDS:
    aggregate.command()(member)
