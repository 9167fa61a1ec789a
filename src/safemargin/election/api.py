"""The public functions: one per subcommand of `election`, each returns a `Result`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from safemargin.aggregate.rehearse import free_ports
from safemargin.core import InputError, Progress, no_progress, remove_parts
from safemargin.election.board import MANIFEST, Board
from safemargin.election.client import ask_over_http
from safemargin.election.handover import check_release
from safemargin.election.manifest import KnownElection
from safemargin.election.rehearse import PLAN, run_election
from safemargin.election.report import BoardFindings, Done, ElectionRehearsal
from safemargin.election.secret import Secret, write_private
from safemargin.election.service import KEYS, open_role
from safemargin.election.service import serve as serve_role
from safemargin.election.setup import (
    DimensionSizes,
    make_manifest,
    new_keys,
    plan_text,
    public_keys,
    read_plan,
    read_public_keys,
    read_roll,
)
from safemargin.election.verify import check_board
from safemargin.election.vote import Desk, Page, read_texts, serve_page
from safemargin.io import read_bytes, read_text, write_whole


def plan(
    out: Path | str,
    *,
    title: str,
    question: str,
    options: Sequence[str],
    dimensions: Mapping[str, DimensionSizes],
    collector: str,
    others: Sequence[str],
    settings: Mapping[str, int | str] | None = None,
    target: Mapping[str, float] | None = None,
) -> Done:
    """Write a plan in TOML: the roles are spread over `others`, so that the collector's organisation never suffices.

    A dimension is a list of categories that the registrar attests, or people per category, which people report
    themselves. `settings` has thresholds of the plan, such as `least`, and `target` the limits of the release.
    """
    text = plan_text(
        *(title, question, options, dimensions), collector=collector, others=others, settings=settings, target=target
    )
    write_whole(Path(out), text.encode())
    return Done("Plan of the election; read and change it, then make keys.", (Path(out),))


def rehearse(
    out: Path | str,
    *,
    voters: int = 200,
    plan: Path | str | None = None,
    seed: int = 0,
    kill: bool = False,
    database: str | None = None,
    progress: Progress = no_progress,
) -> ElectionRehearsal:
    """A whole election with made-up people, every role a process on this machine, ending in a release in `out`.

    `plan` is a TOML file, without it a small vote on two dimensions. With `kill` every role is killed and started
    again at random points. `database` is a PostgreSQL address; without it roles keep SQLite files.
    """
    if voters < 2:
        raise InputError(f"voters = {voters}: must be at least 2")
    folder = Path(out)
    text = PLAN if plan is None else read_text(plan)
    result = run_election(voters, folder, plan=text, seed=seed, kill=kill, place=database, progress=progress)
    result.write(folder / "views.html")
    return result


def verify(board: Path | str, *, processes: int | None = None, progress: Progress = no_progress) -> BoardFindings:
    """Check the copy of a board in a folder, offline and without any secret; findings name the entry or record."""
    folder = Path(board)
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder}: is not the folder of a board; it has no {MANIFEST}")
    return BoardFindings(folder, check_board(Board(folder), progress, processes))


def keys(plan: Path | str, party: str, out: Path | str) -> Done:
    """Make the keys of one party of a plan: a secret file for its owner, and a public one for the manifest."""
    folder = Path(out)
    public = folder / "public.json"
    for part in (folder / KEYS, public):
        remove_parts(part)
    if (folder / KEYS).exists() and not public.exists():  # by a run that was interrupted before the second file
        secret = Secret.read(folder / KEYS)
        if secret.name != party:
            raise InputError(f"{folder / KEYS}: holds the keys of {secret.name}, not of {party}; name another folder")
    else:
        secret = new_keys(read_plan(Path(plan)), party)
        secret.write(folder / KEYS)
    write_whole(public, public_keys(secret).document())
    return Done(f"Keys of {party}; hand in {public.name}, keep {KEYS} secret.", (folder / KEYS, public))


def manifest(plan: Path | str, roll: Path | str, public: Sequence[Path | str], out: Path | str) -> Done:
    """Make the manifest from a plan, the roll and the public keys of all parties. The tally key is made here, dealt to
    the trustees in sealed shares, and forgotten.
    """
    given = [read_public_keys(Path(path)) for path in public]
    election = make_manifest(read_plan(Path(plan)), read_roll(read_bytes(roll), str(roll)), given)
    check_release(election)
    write_whole(Path(out), election.content)
    return Done(
        f"Manifest {election.mid.hex()[:16]}; every party signs it next.", (Path(out),), {"id": election.mid.hex()}
    )


def step(
    folder: Path | str, name: str, *, message: Path | str | None = None, out: Path | str, database: str | None = None
) -> Done:
    """Do one step of a role offline: read a message from a file, write the answer to a file.

    `folder` has the role's keys and its manifest. Every step that a service answers can be done this way.
    """
    role = open_role(Path(folder), database)
    try:
        # For its owner alone: the registrar's answer to the roll is everybody's enrolment code.
        write_private(Path(out), role.run(name, b"" if message is None else read_bytes(message)))
    finally:
        role.close()
    return Done(f"{role.name} did the step {name!r}.", (Path(out),))


def serve(folder: Path | str, *, port: int, database: str | None = None) -> Done:
    """Serve the role of a folder on loopback until it is stopped; put TLS in front of it."""
    serve_role(Path(folder), port, database)
    return Done("The service was stopped.")


def vote(
    wallet: Path | str,
    *,
    manifest: Path | str,
    step: str = "page",
    row: str = "",
    code: str = "",
    option: str = "",
    category: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
    texts: Path | str | None = None,
    port: int = 0,
    announce: Callable[[str], None] = print,
) -> Done:
    """A person's side: the steps `enrol`, `tokens`, `cast` and `check`, or `page` for a page on loopback with all.

    `wallet` is the person's file: it is made by `enrol` and must not be shown to anybody. `category` has the categories
    of self-reported dimensions, `skip` the dimensions to stay out of. `cast` sends at random times and takes as long
    as the manifest says.
    """
    election = KnownElection.read(Path(manifest))
    desk = Desk(election, Path(wallet), ask_over_http(election))
    if step == "page":
        page = Page(desk, read_texts(None if texts is None else Path(texts)))
        chosen = port or free_ports(1)[0]
        announce(f"http://127.0.0.1:{chosen}/{page.secret}/")
        serve_page(page, chosen)
        return Done("The page was closed.", (Path(wallet),))
    if step == "enrol":
        desk.enrol(row, code)
        return Done("You are enrolled.", (Path(wallet),))
    if step == "tokens":
        desk.tokens()
        return Done("You have your tokens.", (Path(wallet),))
    if step == "cast":
        names = [name for name in election.dimensions if name not in skip]
        desk.send_all(desk.cast(option, category or {}, names))
        return Done(f"Answers were sent for {', '.join(names)}.", (Path(wallet),))
    if step == "check":
        receipts = desk.check()
        included = [receipt for receipt in receipts if receipt.holds()]
        statement = f"{len(included)} of {len(receipts)} answers are on the board."
        return Done(statement, (), {"receipts": [asdict(receipt) for receipt in receipts]})
    raise InputError(f"step = {step!r}: must be page, enrol, tokens, cast or check")
