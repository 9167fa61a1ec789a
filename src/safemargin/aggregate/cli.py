"""The command group `aggregate`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.aggregate import api
from safemargin.aggregate.api import VARIANTS
from safemargin.aggregate.backends import BACKENDS
from safemargin.aggregate.privacy import paper_curves
from safemargin.aggregate.session import LEAST_CLIENTS
from safemargin.aggregate.sum import sum as aggregate_sum
from safemargin.aggregate.sum import write_tally
from safemargin.ui import Json, Page, call, notes, print_result, progress_bar, write_text

aggregate = typer.Typer(
    help="Exact sums over clients whose answers nobody sees.", no_args_is_help=True, rich_markup_mode=None
)
Backend = Annotated[str, typer.Option(help=f"One of {', '.join(BACKENDS)}.")]
Bits = Annotated[int, typer.Option(min=1, max=1000, help="Bits of every client.")]
Weights = Annotated[int, typer.Option(min=2, help="Decoys of every client.")]


@aggregate.command()
def sum(
    file: Annotated[Path, typer.Argument(help="CSV file: one row per client, one column per question.")],
    backend: Backend = "shares",
    client: Annotated[str, typer.Option(help="Column that names the clients, if there is one.")] = "client",
    largest: Annotated[int | None, typer.Option(min=1, help="Largest answer that is allowed.")] = None,
    least: Annotated[int, typer.Option(help="Fewest clients that are summed.")] = LEAST_CLIENTS,
    earlier: Annotated[
        list[Path] | None, typer.Option(help="File that was summed before; differences of few clients are refused.")
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="File that remembers which clients were summed.")] = None,
    tally: Annotated[Path | None, typer.Option(help="Write the totals as a tidy tally for a project.")] = None,
    axis: Annotated[str | None, typer.Option(help="Axis of the tally; questions are then 'category: option'.")] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Add up clients' answers exactly; no party sees a single answer.

    Example: safemargin aggregate sum bits.csv --backend shares
    """
    with progress_bar("adding up") as progress:
        result = call(aggregate_sum, locals(), "file", "tally", "axis", data=file, earlier=tuple(earlier or ()))
    if tally is not None:
        write_tally(result, tally, axis)
    print_result(result, as_json, page)


@aggregate.command()
def views(
    file: Annotated[Path, typer.Argument(help="CSV file: one row per client, one column per question.")],
    backend: Backend = "shares",
    client: Annotated[str, typer.Option(help="Column that names the clients, if there is one.")] = "client",
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Show what every party of a sum sees, byte for byte, and what coalitions work out.

    Example: safemargin aggregate views bits.csv --backend polyveil-two-layer
    """
    result = api.views(file, backend=backend, client=client)
    print_result(result, as_json, page)


@aggregate.command()
def attack(
    variant: Annotated[str, typer.Option(help=f"One of {', '.join(VARIANTS)}.")] = "full",
    bits: Bits = 10,
    weights: Weights = 20,
    trials: Annotated[int, typer.Option(min=2, help="Simulated clients.")] = 300,
    seed: Annotated[int, typer.Option(help="Random seed of the simulation.")] = 0,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Try every attack on simulated clients and measure how often it is right.

    Example: safemargin aggregate attack --variant full --bits 10 --weights 20
    """
    with notes.status("attacking"):
        result = api.attack(variant=variant, bits=bits, weights=weights, trials=trials, seed=seed)
    print_result(result, as_json, page)


@aggregate.command()
def privacy(
    bits: Bits = 100,
    weights: Weights = 9,
    delta: Annotated[float, typer.Option(help="Allowed probability of failure.")] = 1e-6,
    clients: Annotated[int, typer.Option(min=3, help="Clients that are shuffled.")] = 1000,
    curves: Annotated[Path | None, typer.Option(help="Write the paper's Figure 6 as a CSV file.")] = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Show what one masked number discloses: the paper's figures and valid ones.

    Example: safemargin aggregate privacy --bits 100 --weights 9 --delta 1e-6
    """
    with notes.status("computing the law of the noise"):
        result = api.privacy(bits=bits, weights=weights, delta=delta, clients=clients)
    if curves is not None:
        lines = ["decoys,epsilon_eq_79,signal_to_noise,remainder,mmse_eq_87"]
        lines += [",".join(f"{value:.6g}" for value in row) for row in paper_curves(bits, delta)]
        write_text(curves, "\n".join(lines) + "\n")
    print_result(result, as_json, page)


@aggregate.command()
def structure(
    bits: Annotated[int, typer.Option(min=1, max=20, help="Bits of every client.")] = 2,
    weights: Weights = 18,
    draws: Annotated[int, typer.Option(min=10, help="Simulated masks.")] = 200,
    seed: Annotated[int, typer.Option(help="Random seed of the simulation.")] = 0,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Show quantities of the paper's hardness section on simulated masks.

    Example: safemargin aggregate structure --bits 2 --weights 18
    """
    with notes.status("simulating"):
        result = api.structure(bits=bits, weights=weights, draws=draws, seed=seed)
    print_result(result, as_json, page)


@aggregate.command()
def rehearse(
    clients: Annotated[int, typer.Option(min=3, max=1_000_000, help="Made-up clients.")] = 1_000,
    bits: Bits = 10,
    backend: Backend = "shares",
    dropouts: Annotated[float, typer.Option(help="Share of clients that drop out.")] = 0.05,
    one_process: Annotated[
        bool, typer.Option("--one-process", help="Simulate all parties without sockets, for a million clients.")
    ] = False,
    bare: Annotated[bool, typer.Option("--bare", help="Also time bare posts of the same size.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the made-up answers and failures.")] = 0,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Run all parties as processes on this machine, with failures, and check the totals.

    Example: safemargin aggregate rehearse --clients 200 --bits 10 --dropouts 0.05
    """
    with progress_bar("sending") as progress:
        result = call(api.rehearse, locals())
    print_result(result, as_json, page)
    if not result.rehearsal.holds:
        raise typer.Exit(1)
