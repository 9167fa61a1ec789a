"""The command group `election`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.election import api
from safemargin.ui import Json, call, note, print_result, progress_bar

election = typer.Typer(
    help="Collect answers without knowing who gave them.", no_args_is_help=True, rich_markup_mode=None
)
PlanFile = Annotated[Path, typer.Argument(help="Plan of the election (TOML).")]
Folder = Annotated[Path, typer.Argument(help="Folder of a party, with its keys.json and manifest.json.")]
Database = Annotated[str | None, typer.Option(help="PostgreSQL address; without it, SQLite files in the folder.")]


@election.command()
def rehearse(
    out: Annotated[Path, typer.Option(help="New folder for board, release and views.html.")],
    voters: Annotated[int, typer.Option(min=2, max=100_000, help="Made-up people.")] = 200,
    plan: Annotated[Path | None, typer.Option(help="Plan of the election (TOML); default: a small vote.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the made-up people; keys are always new.")] = 0,
    kill: Annotated[bool, typer.Option("--kill", help="Kill every role at random points and start it again.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Run a whole election on this machine, every role as a process, and end in a release.

    Example: safemargin election rehearse --voters 200 --out folder
    """
    with progress_bar("starting") as progress:
        result = call(api.rehearse, locals())
    print_result(result, as_json)
    if not result.holds:
        raise typer.Exit(1)


@election.command()
def verify(
    board: Annotated[Path, typer.Argument(help="Folder with a copy of the board.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that check records; default: all cores.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every entry, record and count of a board; no secret is needed.

    Example: safemargin election verify folder/board
    """
    with progress_bar("verifying") as progress:
        result = api.verify(board, processes=processes, progress=progress)
    print_result(result, as_json)
    if not result.is_verified:
        raise typer.Exit(1)


@election.command()
def plan(
    title: Annotated[str, typer.Option(help="Title of the election.")],
    question: Annotated[str, typer.Option(help="Question that people answer.")],
    option: Annotated[list[str], typer.Option(help="Option; at least two.")],
    dimension: Annotated[
        list[str],
        typer.Option(help="age=young,old (the registrar attests it) or health=well:80,ill:20 (people report it)."),
    ],
    collector: Annotated[str, typer.Option(help="Organisation that collects.")],
    other: Annotated[list[str], typer.Option(help="Another organisation; at least two.")],
    out: Annotated[Path, typer.Option(help="Plan to write.")] = Path("plan.toml"),
    as_json: Json = False,
) -> None:
    """Write a plan with the roles spread over organisations, to be read and changed.

    Example: safemargin election plan --title Vote --question "Shall we?" --option yes --option no
    --dimension age=young,old --collector Company --other Union --other Court
    """
    dimensions = {name: _sizes(content.split(",")) for name, _, content in (text.partition("=") for text in dimension)}
    given = {"options": option, "dimensions": dimensions, "others": other}
    result = call(api.plan, locals(), "option", "dimension", "other", "given", **given)
    print_result(result, as_json)


def _sizes(parts: list[str]) -> list[str] | dict[str, int]:
    """Categories, or people per category where every part states a number."""
    pairs = [part.rpartition(":") for part in parts]
    sized = [bool(sign) and number.isdecimal() for _, sign, number in pairs]
    if any(sized) and not all(sized):
        raise InputError(f"dimension: {','.join(parts)}: state the people of every category, or of none")
    return {name: int(number) for name, _, number in pairs} if any(sized) else parts


@election.command()
def keys(
    plan: PlanFile,
    party: Annotated[str, typer.Argument(help="Name of the party in the plan.")],
    out: Annotated[Path, typer.Option(help="Folder of the party.")],
    as_json: Json = False,
) -> None:
    """Make the keys of one party: a secret file to keep, a public one to hand in.

    Example: safemargin election keys plan.toml issuer-1 --out issuer-1
    """
    print_result(api.keys(plan, party, out), as_json)


@election.command()
def manifest(
    plan: PlanFile,
    roll: Annotated[Path, typer.Option(help="Roll (CSV): a column row, and one per attested dimension.")],
    public: Annotated[list[Path], typer.Option(help="Public keys of a party; once per party.")],
    out: Annotated[Path, typer.Option(help="Manifest to write.")] = Path("manifest.json"),
    as_json: Json = False,
) -> None:
    """Make the manifest: the one file that fixes the election, for all parties to sign.

    Example: safemargin election manifest plan.toml --roll roll.csv --public issuer-1/public.json
    """
    print_result(api.manifest(plan, roll, public, out), as_json)


@election.command()
def step(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Step of the role, such as close; a wrong name lists all.")],
    out: Annotated[Path, typer.Option(help="File for the answer.")],
    message: Annotated[Path | None, typer.Option(help="File with the message; default: an empty one.")] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Do one step of a role offline, from file to file.

    Example: safemargin election step issuer-1 close --out issued.json
    """
    print_result(api.step(folder, name, message=message, out=out, database=database), as_json)


@election.command()
def serve(
    folder: Folder,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port of loopback.")],
    database: Database = None,
) -> None:
    """Run a role as a service on loopback; /openapi.json describes it.

    Example: safemargin election serve issuer-1 --port 8001
    """
    api.serve(folder, port=port, database=database)


@election.command()
def vote(
    wallet: Annotated[Path, typer.Argument(help="Your wallet; never show it to anybody.")],
    manifest: Annotated[Path, typer.Option(help="Manifest of the election.")],
    step: Annotated[str, typer.Option(help="page (in your browser), enrol, tokens, cast or check.")] = "page",
    row: Annotated[str, typer.Option(help="Your number on the roll, for enrol.")] = "",
    code: Annotated[str, typer.Option(help="The code from your letter, for enrol.")] = "",
    option: Annotated[str, typer.Option(help="Your answer, for cast.")] = "",
    category: Annotated[
        list[str] | None, typer.Option(help="Your category in a self-reported dimension, as in health=well.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Dimension to stay out of.")] = None,
    texts: Annotated[Path | None, typer.Option(help="Texts of the page in another language (JSON).")] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; default: a free one.")] = 0,
    as_json: Json = False,
) -> None:
    """Enrol, answer and check that your answer counts, in a page of your own or by commands.

    Example: safemargin election vote wallet.json --manifest manifest.json
    """
    pairs = [text.partition("=") for text in category or []]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise InputError(f"category = {wrong[0]!r}: write dimension=category")
    chosen = {"category": {name: value for name, _, value in pairs}, "skip": tuple(skip or ()), "announce": note}
    result = call(api.vote, locals(), "pairs", "wrong", "chosen", **chosen)
    print_result(result, as_json)
    if step == "check" and not all(receipt["included"] for receipt in result.details["receipts"]):
        raise typer.Exit(1)
