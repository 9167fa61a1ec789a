"""The command group `election`."""

from pathlib import Path
from typing import Annotated

import typer

from safemargin.core import InputError
from safemargin.election import api
from safemargin.io import read_text
from safemargin.ui import Json, call, note, print_result, progress_bar

election = typer.Typer(
    help="Collect answers without knowing who gave them.", no_args_is_help=True, rich_markup_mode=None
)
PlanFile = Annotated[Path, typer.Argument(help="Plan of the election (TOML).")]
Folder = Annotated[Path, typer.Argument(help="Folder of a party, with its keys.json and manifest.json.")]
PartyFolder = Annotated[Path, typer.Argument(help="Folder of a party.")]
BoardPlace = Annotated[str, typer.Argument(help="Address of the board (https://...), or the folder of a copy.")]
Database = Annotated[str | None, typer.Option(help="PostgreSQL address; without it, SQLite files in the folder.")]


@election.command()
def rehearse(
    out: Annotated[Path, typer.Option(help="New folder for parties, board, release and views.html.")],
    voters: Annotated[int, typer.Option(min=2, max=100_000, help="Made-up people.")] = 200,
    plan: Annotated[Path | None, typer.Option(help="Plan of the election (TOML); default: a small vote.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the made-up people; keys are always new.")] = 0,
    kill: Annotated[bool, typer.Option("--kill", help="Kill every role at random points and start it again.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Run a whole election on this machine, every party by its own commands and keys, and end in a release.

    Example: safemargin election rehearse --voters 200 --out folder
    """
    with progress_bar("starting") as progress:
        result = call(api.rehearse, locals())
    print_result(result, as_json)
    if not result.holds:
        raise typer.Exit(1)


@election.command()
def verify(
    board: BoardPlace,
    id: Annotated[str, typer.Option(help="Id of the election, from a letter or page.")],
    copy: Annotated[Path | None, typer.Option(help="Folder that keeps what is fetched from an address.")] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that check ballots; default: all cores.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every entry, ballot, proof and published count of a board; no secret is needed.

    Example: safemargin election verify folder/board --id 7K3M-...
    """
    with progress_bar("verifying") as progress:
        result = api.verify(board, id=id, copy=copy, processes=processes, progress=progress)
    print_result(result, as_json)
    if not result.is_verified:
        raise typer.Exit(1)


@election.command()
def simulate(
    plan: PlanFile,
    roll: Annotated[Path | None, typer.Option(help="Roll (CSV); without it, made-up people.")] = None,
    voters: Annotated[int, typer.Option(min=2, max=1_000_000, help="Made-up people, where there is no roll.")] = 200,
    shares: Annotated[str | None, typer.Option(help="Shares of the answers, e.g. yes=.6,no=.4.")] = None,
    draws: Annotated[int | None, typer.Option(help="How often answers are drawn.")] = None,
    as_json: Json = False,
) -> None:
    """Forecast which tables a plan will publish, before anybody votes.

    Example: safemargin election simulate plan.toml --voters 500 --shares yes=.6,no=.4
    """
    with progress_bar("starting") as progress:
        result = call(api.simulate, locals())
    print_result(result, as_json)


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
    box: Annotated[str, typer.Option(help="Organisation that takes ballots in; it has no other role.")],
    out: Annotated[Path, typer.Option(help="Plan to write.")] = Path("plan.toml"),
    as_json: Json = False,
) -> None:
    """Write a plan with the roles spread over organisations, to be read and changed.

    Example: safemargin election plan --title Vote --question "Shall we?" --option yes --option no
    --dimension age=young,old --collector Company --other Union --other Court --box Post
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
def init(
    plan: PlanFile,
    party: Annotated[str, typer.Argument(help="Name of the party in the plan.")],
    out: Annotated[Path, typer.Option(help="New folder of the party.")],
    address: Annotated[str, typer.Option(help="Address at which others reach the party (https://...).")] = "",
    self_signed: Annotated[str, typer.Option(help="Make a certificate for TLS for this host or IP address.")] = "",
    as_json: Json = False,
) -> None:
    """Make the keys of one party, and show the fingerprint that others compare.

    Example: safemargin election init plan.toml issuer-1 --out issuer-1 --address https://issuer.example
    """
    print_result(api.init(plan, party, out, address=address, self_signed=self_signed), as_json)


@election.command()
def join(
    folder: PartyFolder,
    into: Annotated[Path, typer.Option(help="Folder in which all parties hand in.")],
    as_json: Json = False,
) -> None:
    """Hand in the public part of a party; trustees join a second time, when all have joined once.

    Example: safemargin election join issuer-1 --into drop
    """
    print_result(api.join(folder, into), as_json)


@election.command()
def manifest(
    plan: PlanFile,
    roll: Annotated[Path, typer.Option(help="Roll (CSV): a column row, and one per attested dimension.")],
    parts: Annotated[Path, typer.Option(help="Folder in which the parties handed in.")],
    out: Annotated[Path, typer.Option(help="Manifest to write.")] = Path("manifest.json"),
    as_json: Json = False,
) -> None:
    """Make the manifest: the one file that fixes the election, for all parties to approve.

    Example: safemargin election manifest plan.toml --roll roll.csv --parts drop
    """
    print_result(api.manifest(plan, roll, parts, out), as_json)


@election.command()
def approve(
    folder: PartyFolder,
    manifest: Annotated[Path, typer.Option(help="Manifest of the election.")],
    into: Annotated[Path, typer.Option(help="Folder in which all parties hand in.")],
    as_json: Json = False,
) -> None:
    """Check everything about this party and the separation of roles, then sign the manifest.

    Example: safemargin election approve issuer-1 --manifest manifest.json --into drop
    """
    print_result(api.approve(folder, manifest, into), as_json)


@election.command()
def letters(
    folder: PartyFolder,
    roll: Annotated[Path, typer.Option(help="Roll (CSV).")],
    codes: Annotated[Path, typer.Option(help="File for the codes of all rows; secret.")],
    out: Annotated[Path | None, typer.Option(help="Folder for a letter per person, and letters.html to print.")] = None,
    texts: Annotated[str, typer.Option(help="Language of the letters (en, de, fr), or a file (JSON).")] = "en",
    as_json: Json = False,
) -> None:
    """As the registrar: keep the roll, and write codes and letters.

    Example: safemargin election letters registrar --roll roll.csv --codes codes.csv --out letters
    """
    print_result(api.letters(folder, roll, codes, out, texts=texts), as_json)


@election.command()
def close(folder: PartyFolder, as_json: Json = False) -> None:
    """Close: the collector closes the election, then every party states what it has, then ballots are published.

    Example: safemargin election close collector
    """
    print_result(api.close(folder), as_json)


@election.command()
def tally(
    folder: PartyFolder,
    out: Annotated[Path | None, typer.Option(help="Folder for the release with its confidential part.")] = None,
    as_json: Json = False,
) -> None:
    """As a trustee, do what is next: freeze, decrypt the total, compute the release with the others.

    Example: safemargin election tally trustee-1
    """
    print_result(api.tally(folder, out), as_json)


@election.command()
def publish(
    folder: PartyFolder,
    approvals: Annotated[Path | None, typer.Option(help="As the board: folder with the approvals.")] = None,
    as_json: Json = False,
) -> None:
    """Publish what is this party's turn: the board its first entry, the collector the total, trustees the release.

    Example: safemargin election publish trustee-1
    """
    print_result(api.publish(folder, approvals), as_json)


@election.command()
def status(
    folder: Annotated[Path | None, typer.Argument(help="Folder of a party; without it, the whole election.")] = None,
    manifest: Annotated[Path | None, typer.Option(help="Manifest of the election, for its organiser.")] = None,
    as_json: Json = False,
) -> None:
    """Show the numbers of a party, or what the board shows and what is missing.

    Example: safemargin election status --manifest manifest.json
    """
    print_result(api.status(folder, manifest=manifest), as_json)


@election.command()
def backup(
    folder: PartyFolder,
    out: Annotated[Path, typer.Option(help="Encrypted file to write.")],
    passphrase_file: Annotated[Path, typer.Option(help="File whose first line is the passphrase.")],
    as_json: Json = False,
) -> None:
    """Write everything of a party into one encrypted file; stop its service first.

    Example: safemargin election backup trustee-1 --out trustee-1.backup --passphrase-file pass.txt
    """
    print_result(api.backup(folder, out, first_line(passphrase_file)), as_json)


@election.command()
def restore(
    backup: Annotated[Path, typer.Argument(help="Backup of a party.")],
    out: Annotated[Path, typer.Option(help="New folder of the party.")],
    passphrase_file: Annotated[Path, typer.Option(help="File whose first line is the passphrase.")],
    as_json: Json = False,
) -> None:
    """Restore a party; an issuer signs nothing until it has caught up.

    Example: safemargin election restore issuer-1.backup --out issuer-1 --passphrase-file pass.txt
    """
    print_result(api.restore(backup, out, first_line(passphrase_file)), as_json)


@election.command()
def catch_up(folder: PartyFolder, as_json: Json = False) -> None:
    """As a restored issuer or trustee, take over what the issuers signed meanwhile.

    Example: safemargin election catch-up issuer-1
    """
    print_result(api.catch_up(folder), as_json)


@election.command()
def audit(
    opening: Annotated[Path, typer.Argument(help="Opening of an audited ballot, from the voter's page.")],
    manifest: Annotated[Path, typer.Option(help="Manifest of the election.")],
    hash: Annotated[str, typer.Option(help="Hash that was noted before the choice to audit.")],
    as_json: Json = False,
) -> None:
    """On a second device: compute an audited ballot again, and say what it holds.

    Example: safemargin election audit opening.json --manifest manifest.json --hash 3f...
    """
    print_result(api.audit(opening, manifest=manifest, hash=hash), as_json)


@election.command()
def enrolled(
    board: BoardPlace,
    row: Annotated[str, typer.Option(help="Number on the roll, from the letter.")],
    code: Annotated[str, typer.Option(help="Code from the letter.")],
    id: Annotated[str, typer.Option(help="Id of the election, from the letter.")],
    as_json: Json = False,
) -> None:
    """Check whether somebody enrolled with the code of a letter.

    Example: safemargin election enrolled https://board.example --row 17 --code 7K3M-... --id 9QXA-...
    """
    print_result(api.enrolled(board, row=row, code=code, id=id), as_json)


@election.command()
def complaint(
    objections: Annotated[Path, typer.Argument(help="File that `vote --step object` wrote.")],
    board: Annotated[str, typer.Option(help="Address of the board (https://...), or the folder of a copy.")],
    id: Annotated[str, typer.Option(help="Id of the election.")],
    as_json: Json = False,
) -> None:
    """Decide a complaint: is a ballot missing that the box signed a receipt for, and who dropped it.

    Example: safemargin election complaint wallet.complaints.json --board https://board.example --id 9QXA-...
    """
    result = api.complaint(objections, board=board, id=id)
    print_result(result, as_json)
    if result.details["founded"]:
        raise typer.Exit(1)


def first_line(path: Path) -> str:
    """The passphrase in a file."""
    return (read_text(path).splitlines() or [""])[0].strip()


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
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port.")],
    host: Annotated[str, typer.Option(help="Address to listen on; loopback behind a proxy.")] = "127.0.0.1",
    database: Database = None,
) -> None:
    """Run a role as a service, over TLS if its folder has a certificate; /openapi.json describes it.

    Example: safemargin election serve issuer-1 --port 8001
    """
    api.serve(folder, port=port, host=host, database=database)


@election.command()
def vote(
    wallet: Annotated[Path, typer.Argument(help="Your wallet; never show it to anybody.")],
    manifest: Annotated[Path | None, typer.Option(help="Manifest of the election.")] = None,
    board: Annotated[str, typer.Option(help="Address of the board from your letter, instead of the manifest.")] = "",
    id: Annotated[str, typer.Option(help="Id of the election from your letter.")] = "",
    step: Annotated[str, typer.Option(help="page (in your browser), enrol, recover, cast, check or object.")] = "page",
    row: Annotated[str, typer.Option(help="Your number on the roll.")] = "",
    code: Annotated[str, typer.Option(help="The code from your letter.")] = "",
    sheet: Annotated[str, typer.Option(help="Your recovery sheet, for recover.")] = "",
    option: Annotated[str, typer.Option(help="Your answer, for cast.")] = "",
    category: Annotated[
        list[str] | None, typer.Option(help="Your category in a self-reported dimension, as in health=well.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Dimension in which you give no answer.")] = None,
    texts: Annotated[str, typer.Option(help="Language of the page (en, de, fr), or a file with texts (JSON).")] = "en",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; default: a free one.")] = 0,
    as_json: Json = False,
) -> None:
    """Enrol, answer and check that your answer counts, in a page of your own or by commands.

    Example: safemargin election vote wallet.json --board https://board.example --id 9QXA-...
    """
    pairs = [text.partition("=") for text in category or []]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise InputError(f"category = {wrong[0]!r}: write dimension=category")
    chosen = {"category": {name: value for name, _, value in pairs}, "skip": tuple(skip or ()), "announce": note}
    result = call(api.vote, locals(), "pairs", "wrong", "chosen", **chosen)
    print_result(result, as_json)
    if step == "check" and not all(receipt["included"] for receipt in result.details["receipts"]):
        raise typer.Exit(1)
