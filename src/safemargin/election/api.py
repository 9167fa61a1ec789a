"""The public functions: one per subcommand of `election`, each returns a `Result`."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from safemargin.core import InputError, OutputError, Progress, no_progress, write_whole
from safemargin.election import parties
from safemargin.election.auditing import audit_openings
from safemargin.election.board import MANIFEST, Board
from safemargin.election.board_verification import check_board
from safemargin.election.client import ask_over_http, fetch_board, fetch_manifest
from safemargin.election.desk import Desk
from safemargin.election.forecasting import forecast_plan
from safemargin.election.letter_page import codes_of, letters_of, letters_page
from safemargin.election.manifests import KnownElection
from safemargin.election.operations import Operations
from safemargin.election.receipts import ANOTHER, DROPPED, ENROLLED, judge_objection, registered
from safemargin.election.rehearsal import PLAN, run_election
from safemargin.election.report import BoardFindings, Done, ElectionRehearsal, ElectionStatus, number_text
from safemargin.election.secret import Secret
from safemargin.election.service import KEYS, open_role, serve as serve_role
from safemargin.election.setup import DimensionSizes, plan_text, read_plan
from safemargin.election.state import AWAY, election_status
from safemargin.election.voting_page import Page, serve_page
from safemargin.election.wording import read_texts, shipped_texts
from safemargin.io import read_bytes, read_json, read_text, scratch_folder
from safemargin.parties.files import write_private
from safemargin.release.report.forecast import Forecast


def plan(
    out: Path | str,
    *,
    title: str,
    question: str,
    options: Sequence[str],
    dimensions: Mapping[str, DimensionSizes],
    collector: str,
    others: Sequence[str],
    box: str,
    settings: Mapping[str, int | str] | None = None,
    target: Mapping[str, float] | None = None,
) -> Done:
    """Write a plan in TOML: the roles are spread over `others`, so that no organisation suffices alone.

    A dimension is a list of categories that the registrar attests, or people per category, which people report
    themselves. `box` is an organisation without any other role: it takes ballots in and sees where they come from.
    `settings` has thresholds of the plan, such as `least`, and `target` the limits of the release.
    """
    named = (title, question, options, dimensions)
    text = plan_text(*named, collector=collector, others=others, box=box, settings=settings, target=target)
    write_whole(Path(out), text.encode())
    return Done("Plan of the election; read and change it, then every party makes its keys.", (Path(out),))


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
    """A whole election with made-up people, every party by its own commands and keys, ending in a release in `out`.

    `plan` is a TOML file, without it a small vote on two dimensions. With `kill` every role is killed and started
    again at random points. `database` is a PostgreSQL address for registrar, issuers and collector; without it roles
    keep SQLite files.
    """
    if voters < 2:
        raise InputError(f"voters = {voters}: must be at least 2")
    folder = Path(out)
    text = PLAN if plan is None else read_text(plan)
    result = run_election(voters, folder, plan=text, seed=seed, kill=kill, place=database, progress=progress)
    result.write(folder / "views.html")
    return result


def simulate(
    plan: Path | str,
    *,
    roll: Path | str | None = None,
    voters: int = 200,
    shares: str | None = None,
    draws: int | None = None,
    progress: Progress = no_progress,
) -> Forecast:
    """Whether a plan will publish anything: a forecast of its tables for a roll, or for made-up people."""
    return forecast_plan(read_plan(Path(plan)), roll, voters, shares, draws, progress)


@contextmanager
def _board_of(place: Path | str, pinned: str, keep: Path | str | None = None) -> Iterator[Board]:
    """A copy of a board: its folder, or one that is fetched from its address."""
    if not str(place).startswith("https:"):
        if not (Path(place) / MANIFEST).exists():
            raise InputError(f"{place}: is not the folder of a board; it has no {MANIFEST}")
        yield Board(Path(place))
        return
    election = fetch_manifest(str(place), pinned)
    with scratch_folder() as scratch, ask_over_http(election) as ask:
        yield fetch_board(election, Path(keep) if keep else scratch / "board", ask)


def verify(
    board: Path | str,
    *,
    id: str,
    copy: Path | str | None = None,
    processes: int | None = None,
    progress: Progress = no_progress,
) -> BoardFindings:
    """Check a board without any secret: a copy in a folder, offline, or the one at an address; findings name the entry
    or ballot.

    `id` is the id of the election from a letter or page: a board with another manifest is refused. `copy` is a folder
    that keeps the files of an address.
    """
    with _board_of(board, id, copy) as found:
        return BoardFindings(found.folder, check_board(found, progress, processes, id))


def init(plan: Path | str, party: str, out: Path | str, *, address: str = "", self_signed: str = "") -> Done:
    """Make the keys of one party of a plan in its folder, and show their fingerprint.

    `self_signed` is a host or address for which a certificate for TLS is made that the manifest will state; without it
    the party stands behind a proxy with a certificate of a public authority.
    """
    folder = Path(out)
    public = parties.init_party(Path(plan), party, folder, address, self_signed)
    found = parties.public_fingerprint(public)
    return Done(
        f"Keys of {party}. Fingerprint: {found}", (folder / KEYS, folder / "public.json"), {"fingerprint": found}
    )


def join(folder: Path | str, into: Path | str) -> Done:
    """Hand the public part of a party in; a trustee joins a second time, to show its part of the tally key."""
    written = parties.join_party(Path(folder), Path(into))
    return Done(f"Handed in: {', '.join(path.name for path in written)}.", tuple(written))


def manifest(plan: Path | str, roll: Path | str, parts: Path | str, out: Path | str) -> Done:
    """Make the manifest from a plan, the roll and what all parties handed in."""
    election = parties.assemble(Path(plan), Path(roll), Path(parts))
    write_whole(Path(out), election.content)
    return Done(
        f"Manifest of the election {election.fingerprint}; every party approves it next.",
        (Path(out),),
        {"id": election.mid.hex(), "fingerprint": election.fingerprint},
    )


def approve(folder: Path | str, manifest: Path | str, into: Path | str) -> Done:
    """Check everything about this party and the rules of separation, then sign the manifest."""
    election, path = parties.approve_manifest(Path(folder), Path(manifest), Path(into))
    return Done(f"Approved the election {election.fingerprint}.", (path,), {"fingerprint": election.fingerprint})


@contextmanager
def _operations(folder: Path | str) -> Iterator[Operations]:
    place = Path(folder)
    secret, election = Secret.read(place / KEYS), KnownElection.read(place / MANIFEST)
    with ask_over_http(election) as ask, ask_over_http(election, secret) as signed:
        yield Operations(election, secret.name, ask, signed, place)


def close(folder: Path | str) -> Done:
    """What a party does at the close; the collector closes the election, publishes the ballots and ends objections."""
    with _operations(folder) as desk:
        return Done(f"{desk.name}: {desk.close()}.")


def tally(folder: Path | str, out: Path | str | None = None) -> Done:
    """As a trustee, do what is next: freeze the ballots, decrypt the total, compute the release with the others."""
    with _operations(folder) as desk:
        return Done(f"{desk.name}: {desk.tally(None if out is None else Path(out))}.")


def publish(folder: Path | str, approvals: Path | str | None = None) -> Done:
    """Publish what is this party's turn: the board its first entry, the collector the total, trustees the release."""
    with _operations(folder) as desk:
        if desk.role == "board":
            if approvals is None:
                raise InputError("approvals: the board begins with the signatures of all parties; name their folder")
            return Done(f"{desk.name}: {desk.begin(parties.read_approvals(desk.election, Path(approvals)))}.")
        return Done(f"{desk.name}: {desk.publish()}.")


def status(folder: Path | str | None = None, *, manifest: Path | str | None = None) -> Done | ElectionStatus:
    """Numbers of a party, or, with the manifest alone, every party, what the board shows and what is missing."""
    if folder is not None:
        with _operations(folder) as desk:
            numbers = desk.status()
            said = "; ".join(f"{name} {number_text(number)}" for name, number in numbers.items())
            return Done(f"{desk.name} ({desk.role}): {said}.", (), {"status": numbers})
    if manifest is None:
        raise InputError("folder or manifest: name one of them")
    election = KnownElection.read(Path(manifest))
    with ask_over_http(election, None, AWAY) as ask:
        return election_status(election, ask)


def letters(
    folder: Path | str, roll: Path | str, codes: Path | str, out: Path | str | None = None, *, texts: str = "en"
) -> Done:
    """As the registrar: keep the roll, and write the codes and, into the folder `out`, a letter per person.

    Letters are text for e-mail, and `letters.html` has all of them for printing. `texts` is their language.
    """
    words, language = read_texts(texts)
    with _operations(folder) as desk:
        answer = desk.signed(desk.name, "roll", read_bytes(roll))
        write_private(Path(codes), answer)
        files = [Path(codes)]
        rows = codes_of(answer.decode())
        if out is not None:
            written = letters_of(rows, desk.election, words, texts)
            for number, letter in enumerate(written, 1):
                path = Path(out) / f"letter {number:06d}.txt"
                write_private(path, letter.text.encode())
            files.append(Path(out) / "letters.html")
            write_private(files[-1], letters_page(desk.election, written, language).encode())
        return Done(f"{len(rows):,} letters; they are secret until they are sent.", tuple(files))


def backup(folder: Path | str, out: Path | str, passphrase: str) -> Done:
    """Everything of a party in one encrypted file. A trustee gives two of them to two holders."""
    parties.backup_folder(Path(folder), Path(out), passphrase)
    return Done("Encrypted backup.", (Path(out),))


def restore(backup: Path | str, out: Path | str, passphrase: str) -> Done:
    """A party from its backup. An issuer refuses to sign until it has caught up with the other issuers."""
    parties.restore_folder(Path(backup), Path(out), passphrase)
    return Done("Restored; start the service, then run catch-up.", (Path(out),))


def catch_up(folder: Path | str) -> Done:
    """As a restored issuer: take what the other issuers signed meanwhile, so that nobody gets a second token. As a
    restored issuer or trustee: take the place in the log of the board, so that no other board is signed or read.
    """
    with _operations(folder) as desk:
        return Done(f"{desk.name}: caught up.", (), desk.catch_up())


def step(
    folder: Path | str, name: str, *, message: Path | str | None = None, out: Path | str, database: str | None = None
) -> Done:
    """Do one step of a role offline: read a message from a file, write the answer to a file.

    `folder` has the role's keys and its manifest. Every step that a service answers can be done this way.
    """
    try:
        with closing(open_role(Path(folder), database)) as role:
            # For its owner alone: the registrar's answer to the roll is everybody's enrolment code.
            write_private(Path(out), role.run(name, b"" if message is None else read_bytes(message)))
    except sqlite3.Error as error:
        raise OutputError(f"{folder}: its database cannot be written ({error})") from None
    return Done(f"{role.name} did the step {name!r}.", (Path(out),))


def serve(folder: Path | str, *, port: int, host: str = "127.0.0.1", database: str | None = None) -> Done:
    """Serve the role of a folder until it is stopped, over TLS if the folder has a certificate, else behind a proxy."""
    serve_role(Path(folder), port, database, host)
    return Done("The service was stopped.")


def audit(opening: Path | str, *, manifest: Path | str, hash: str) -> Done:
    """On a second device: compute an audited ballot again, and say what it holds."""
    stated = read_json(Path(opening))
    if not isinstance(stated, dict):
        raise InputError(f"{opening}: is not the opening of an audited ballot")
    return Done(audit_openings(KnownElection.read(Path(manifest)), stated, hash))


def enrolled(board: Path | str, *, row: str, code: str, id: str) -> Done:
    """Whether somebody enrolled with the code of a letter: who never voted can check that nobody did it for them."""
    with _board_of(board, id) as found:
        _require_verified(found, id)
        if not found.of("register"):
            raise InputError(f"{board}: the register is not published yet")
        state = registered(found, row, code)
    return Done(f"Row {row}: {state}.", (), {"enrolled": None if state == ANOTHER else state == ENROLLED})


def _require_verified(board: Board, pinned: str) -> None:
    if findings := check_board(board, pinned=pinned).findings:
        raise InputError(f"{board.folder}: does not verify: {findings[0]}")


def complaint(objections: Path | str, *, board: Path | str, id: str) -> Done:
    """Decide a complaint: whether a ballot with a receipt is missing on the board, and who dropped it.

    `objections` is the file that `vote --step object` writes. The office needs no secret, and has to believe nobody.
    """
    stated = read_json(Path(objections))
    if not isinstance(stated, dict) or not all(isinstance(each, dict) for each in stated.values()):
        raise InputError(f"{objections}: is not a file of objections, which `vote --step object` writes")
    with _board_of(board, id) as found:
        _require_verified(found, id)
        decided = {name: judge_objection(found, name, each) for name, each in stated.items()}
    missing = [name for name, (state, _) in decided.items() if state in DROPPED]
    said = "; ".join(f"{name}: {sentence}" for name, (_, sentence) in decided.items())
    return Done(f"{said}.", (), {"founded": bool(missing), "states": {name: s for name, (s, _) in decided.items()}})


def vote(
    wallet: Path | str,
    *,
    manifest: Path | str | None = None,
    board: str = "",
    id: str = "",
    step: str = "page",
    row: str = "",
    code: str = "",
    sheet: str = "",
    option: str = "",
    category: Mapping[str, str] | None = None,
    skip: Sequence[str] = (),
    texts: str = "en",
    port: int = 0,
    announce: Callable[[str], None] = print,
) -> Done:
    """A person's side: `page` for a page on loopback, or the steps `enrol`, `cast`, `check`, `object` and `recover`.

    The election is a manifest file, or the address of a board with the id from the letter. `wallet` is the person's
    file: it is made by `enrol` and must not be shown to anybody. `category` has the categories of self-reported
    dimensions; in the dimensions of `skip` an encrypted *no answer* is cast. `sheet` is a recovery sheet.
    """
    if manifest is None and not (board and id):
        raise InputError("manifest: give the manifest, or the address of the board and the id from the letter")
    election = fetch_manifest(board, id) if manifest is None else KnownElection.read(Path(manifest))
    with ask_over_http(election) as ask:
        desk = Desk(election, Path(wallet), ask)
        if step == "page":
            page = Page(desk, *read_texts(texts))
            serve_page(page, port, announce)
            return Done("The page was closed.", (Path(wallet),))
        if step in ("enrol", "recover"):
            desk.enrol(row, code) if step == "enrol" else desk.recover(row, code, sheet)
            shown = {"sheet": desk.own.sheet}
            return Done(f"You are enrolled. Recovery sheet: {desk.own.sheet}", (Path(wallet),), shown)
        if step == "cast":
            desk.vote(option, category or {}, skip)
            return Done("Your ballots are in the box.", (Path(wallet),))
        if step == "object":
            said = [receipt.statement for receipt in desk.object()]
            return Done("; ".join(said) or shipped_texts("en")["nothing_missing"], (desk.complaints,) if said else ())
        if step == "check":
            receipts = desk.check()
            included = sum(receipt.included for receipt in receipts)
            documents = [receipt.document() for receipt in receipts]
            missing = "".join(f" {receipt.statement}." for receipt in receipts if not receipt.included)
            counted = f"{included} of {len(receipts)} ballots are on the board.{missing}"
            return Done(counted, (), {"receipts": documents})
    raise InputError(f"step = {step!r}: must be page, enrol, recover, cast, check or object")
