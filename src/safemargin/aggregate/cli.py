"""The command group `aggregate`: which parameters of a function can be typed, and their help."""

from pathlib import Path
from typing import Annotated, Any

import typer

from safemargin import aggregate as api
from safemargin.aggregate.backends import BACKENDS
from safemargin.aggregate.sum import write_tally
from safemargin.ui import Json, Page, call, command, print_result

FILE: Any = typer.Argument(metavar="file", help="CSV file: one row per client, one column per question.")
SESSION: Any = typer.Argument(metavar="session", help="Session file.")
BACKEND = f"One of {', '.join(BACKENDS)}."
CLIENT = "Column that names the clients, if there is one."
BITS: Any = typer.Option(min=1, max=1000, help="Bits of every client.")
WEIGHTED = "Weights of the questions between commas, for prio3-statistic."
MOST = "Questions that a client may answer by 1, for prio3-some."
Tally = Annotated[Path | None, typer.Option(help="Write the totals as a tidy tally for a project.")]
Axis = Annotated[str | None, typer.Option(help="Axis of the tally; questions are then 'category: option'.")]


def _show_sum(
    result: Any,
    tally: Tally = None,
    axis: Axis = None,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Print the totals, and write the tally where one is asked."""
    if tally is not None:
        write_tally(result.totals, tally, axis)
    print_result(result, as_json, page)


def _show_collected(result: Any, tally: Tally = None, axis: Axis = None, as_json: Json = False) -> None:
    """Print the totals, and write the tally where one is asked."""
    _show_sum(result, tally, axis, None, as_json)


def _show_submission(result: Any, as_json: Json = False) -> None:
    """Print what every party said; the exit code is 1 if one refused the report."""
    if not result.answers:  # a page says it itself
        return
    print_result(result, as_json)
    if not result.holds:
        raise typer.Exit(1)


def _show_rehearsal(result: Any, page: Page = None, as_json: Json = False) -> None:
    """Print what happened; the exit code is 1 if the totals are wrong."""
    print_result(result, as_json, page)
    if not result.holds:
        raise typer.Exit(1)


COMMANDS = (
    command(
        api.sum,
        "aggregate sum bits.csv --backend prio3",
        _show_sum,
        "adding up",
        data=FILE,
        backend=BACKEND,
        client=CLIENT,
        largest=typer.Option(min=1, help="Largest answer that is allowed."),
        weights=WEIGHTED,
        most=MOST,
        least="Fewest clients that are summed.",
        earlier="File that was summed before; differences of few clients are refused.",
        ledger="File that remembers which clients were summed.",
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
        malicious="Share of clients that lie, where the backend has proofs.",
        one_process="Simulate all parties without sockets, for a million clients.",
        bare="Also time bare posts of the same size.",
        seed="Random seed of the made-up answers and failures.",
    ),
)

RUN = (
    command(
        api.key,
        "aggregate key party.key --host sums.example.org",
        path=typer.Argument(metavar="file", help="File for the secret; it must not exist."),
        host="Name or number of the machine, for a certificate that signs itself.",
        clients="CSV file with a column client: make a key for each of them, all in one file.",
    ),
    command(
        api.plan,
        "aggregate plan --name wards --questions yes,no --parties parties.csv --clients clients.csv --server 9f...",
        name=typer.Option(help="Name of the session; use it once."),
        questions=typer.Option(help="Questions between commas."),
        parties=typer.Option(help="CSV file: role, address, key, certificate."),
        clients=typer.Option(help="CSV file: client, key."),
        server=typer.Option(help="Public key of whoever collects."),
        backend=BACKEND,
        largest=typer.Option(min=1, help="Largest answer that is allowed."),
        least="Fewest clients that are summed.",
        weights=WEIGHTED,
        most=MOST,
        out="Session file to write.",
    ),
    command(
        api.submit,
        "aggregate submit session.json --client Ada --key ada.key --data answers.csv",
        _show_submission,
        "sending",
        session=SESSION,
        client="Your name in the session.",
        key="Your key.",
        keys="Keys of many clients, as `key --clients` writes them: every row of the data is sent, each as its client.",
        data="CSV file with your row, or the rows of all clients.",
        page=typer.Option(min=1, max=65_535, help="Port of a page of your own to type into, instead."),
        patience="Seconds to wait for a party that is away.",
    ),
    command(
        api.collect,
        "aggregate collect session.json --key server.key --out totals.json",
        _show_collected,
        "verifying and agreeing",
        session=SESSION,
        key=typer.Option(help="Key of whoever collects."),
        out="File for totals, set and signed statements.",
    ),
)

aggregate = typer.Typer(
    help="Exact sums over clients whose answers nobody sees.", no_args_is_help=True, rich_markup_mode=None
)
for member in (*COMMANDS, *RUN):
    aggregate.command()(member)


@aggregate.command()
def serve(
    session: Annotated[Path, SESSION],
    role: Annotated[str, typer.Option(help="Role in the session.")],
    key: Annotated[Path, typer.Option(help="Key of this party.")],
    database: Annotated[Path, typer.Option(help="File of this party; it goes on from there.")],
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    certificate: Annotated[Path | None, typer.Option(help="Certificate for TLS.")] = None,
    certificate_key: Annotated[Path | None, typer.Option(help="Key of the certificate.")] = None,
) -> None:
    """Run one party of a session as a service, until it is stopped.

    Example: safemargin aggregate serve session.json --role "aggregator 1" --key party.key --database party.sqlite
    --port 8443 --certificate party.crt --certificate-key party.tls
    """
    call(api.serve, locals())
