"""Check a board offline, with no secret: every statement, every ballot, every count, every published number."""

from collections.abc import Iterator
from pathlib import Path

from safemargin.core import InputError, Progress, no_progress
from safemargin.election.ballots import BallotFormat, ballot_key, first_halves
from safemargin.election.board import KINDS, LOCK, Board, BoardEntry
from safemargin.election.board_check import BoardCheck, content_of, entry_name, hashes_of
from safemargin.election.checking import CountedBallots, count_ballots, frozen_root, rank
from safemargin.election.entries import order_fault
from safemargin.election.keys import canonical, parse, typed
from safemargin.election.manifests import KnownElection
from safemargin.election.merkle import root_of
from safemargin.election.tallied import freeze_faults, release_faults, signed_release, total_faults
from safemargin.election.tallies import TallyPlan
from safemargin.io import parse_json, read_bytes

READING = (InputError, OSError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""What an entry that somebody signed, and that makes no sense, may raise."""
SUPERSEDED, COPIED = "a later ballot under the same token counts", "a ciphertext of another ballot"
IDENTITY_FAULT = "a sealed identity that is not the one of its token"


def is_pinned(election: KnownElection, pinned: str) -> bool:
    """Whether an id from a letter or page is the one of this election: 64 digits, or eight groups of four letters."""
    return pinned.strip().lower() == election.mid.hex() or typed(pinned) == typed(election.fingerprint)


def check_board(
    board: Board,
    progress: Progress = no_progress,
    processes: int | None = None,
    pinned: str | None = None,
    known: TallyPlan | None = None,
) -> BoardCheck:
    """All checks; the findings name the entry, file or ballot that is wrong.

    `known` has ballots that this process verified before; their files are compared with the signed hashes only.
    """
    check = BoardCheck()
    try:
        if pinned is not None and not is_pinned(board.election, pinned):
            check.findings.append(f"id: this is the board of another election, {board.election.fingerprint}")
            return check
        entries = board.entries
        check.entries = len(entries)
        check.findings += [*_entry_faults(board, entries), *_head_faults(board)]
        if check.findings:
            return check  # what follows reads the entries
        check.findings += [*_count_faults(board, check), *_file_faults(board)]
        if len(board.of("ballots")) and not check.findings:
            counted = dict(known.counted) if known else _counted(board, check, progress, processes)
            check.findings += _ballot_faults(board, check, counted)
            check.plan = known or TallyPlan(
                board.election, counted, frozen_root(board.election, list(counted.values()))
            )
            check.findings += [*freeze_faults(board, check, check.plan), *total_faults(board, check, check.plan)]
            check.findings += [*release_faults(board, check, check.plan), *_escrow_faults(entries)]
    except READING as error:
        check.findings.append(f"the board cannot be read to its end ({type(error).__name__}: {error})")
    return check


def named_board(election: KnownElection, body: bytes, known: TallyPlan | None = None) -> tuple[Board, BoardCheck]:
    """The copy of the board that a message names; refused unless it is of this election and verifies."""
    folder = parse(body).get("board")
    if not isinstance(folder, str):
        raise InputError("the message does not name the folder with the copy of the board")
    board = Board(Path(folder))
    if board.election.mid != election.mid:
        raise InputError(f"{folder}: is the board of another election")
    check = check_board(board, known=known)
    if check.findings:
        raise InputError(f"{folder}: does not verify: {check.findings[0]}")
    return board, check


def _entry_faults(board: Board, entries: list[BoardEntry]) -> Iterator[str]:
    election = board.election
    names = sorted(path.name for path in (board.folder / "entries").glob("[0-9]*.json"))
    if names != [f"{index:06d}.json" for index in range(len(entries))]:
        yield "entries: the files are not numbered without gaps"
    known: list[tuple[str, str]] = []
    subjects: set[tuple[str, str, object]] = set()
    for index, entry in enumerate(entries):
        if fault := entry.fault(election) or order_fault(election, known, entry.type):
            yield f"{entry_name(index, entry)}: {fault}"
        if board.contents[index] != entry.content:
            yield f"{entry_name(index, entry)}: is not written in its canonical form"
        if entry.subject in subjects:
            yield f"{entry_name(index, entry)}: is there twice; entries never change"
        subjects.add(entry.subject)
        known.append((entry.type, entry.author))
    first = entries[0] if entries else None
    if first is None or first.type != "manifest" or first.body.get("manifest") != election.mid.hex():
        yield "entry 0: is not about this manifest; the manifest was changed"
        return
    signatures = first.body.get("signatures", {})
    if set(signatures) != set(election.parties):
        yield "entry 0 (manifest): is not signed by exactly the parties of the manifest"
    for name in election.parties:
        if not election.is_signed(signatures.get(name), name, "all", "manifest", election.content):
            yield f"entry 0 (manifest): {name} did not sign the manifest"
    if read_bytes(board.folder / "manifest.json") != election.content:
        yield "manifest.json: is not written in its canonical form"


def _head_faults(board: Board) -> Iterator[str]:
    heads, leaves = board.heads(), board.leaves
    for head in heads:
        if head.size > len(leaves) or root_of(leaves[: head.size]) != head.root:
            yield f"head of {head.size} entries: is not the root of the entries; an entry was changed or removed"
        elif board.election.only("board").name not in head.signed_by(board.election):
            yield f"head of {head.size} entries: is not signed by the board"
        elif wrong := sorted(set(head.signatures) - set(head.signed_by(board.election))):
            yield f"head of {head.size} entries: the signature of {wrong[0]} is wrong"
    if not heads or heads[-1].size != len(leaves) or not heads[-1].is_witnessed(board.election):
        yield f"head of {len(leaves)} entries: is not signed by the board and enough witnesses"


def _count_faults(board: Board, check: BoardCheck) -> Iterator[str]:
    """`issued <= enrolled <= roll`; ballots are counted later against what is noted here."""
    manifest = board.election.manifest
    registers, issued = board.of("register"), board.of("issued")
    check.enrolled = registers[0].body["enrolled"] if registers else 0
    if check.enrolled > manifest.electorate:
        yield f"register: {check.enrolled:,} enrolled of {manifest.electorate:,} on the roll"
    for dimension in manifest.dimensions:
        stated = [entry.body["counts"][dimension.name] for entry in issued]
        # A token needs the signature of every issuer: the smallest number counts.
        counts = {label: min((by[label] for by in stated), default=0) for label in dimension.labels}
        check.dimensions[dimension.name] = {"issued": sum(counts.values()), "by_label": counts}
        for entry in issued:
            by = entry.body["counts"][dimension.name]
            if sum(by.values()) > check.enrolled:
                tokens = sum(by.values())
                yield f"{dimension.name}: {entry.author} signed {tokens:,} tokens; {check.enrolled:,} enrolled"
            for label, count in by.items():
                if not dimension.self_reported and count > dimension.sizes[label]:
                    yield f"{dimension.name}: {label}: {entry.author} signed {count:,} of {dimension.sizes[label]:,}"


def _file_faults(board: Board) -> Iterator[str]:
    """Every file is one that an entry names, and every file that an entry names is there.

    Only the board's own lock is passed over: beside a board that verifies, no page and no hidden file may stand.
    """
    expected = {"manifest.json", LOCK}
    expected |= {f"entries/{index:06d}.json" for index in range(len(board.contents))}
    expected |= {f"heads/{head.size:06d}.json" for head in board.heads()}
    lists = [("register", "hashes", e, e.body["enrolled"]) for e in board.of("register")]
    lists += [("register", "letters", e, board.election.manifest.electorate) for e in board.of("register")]
    lists += [("received", "hashes", e, e.body["count"]) for e in board.of("received")]
    for kind, name, entry, count in lists:
        expected.add(f"{kind}/{name}")
        content = content_of(board, f"{kind}/{name}")
        if not board.is_named(kind, name, content) or len(content) != 32 * count:
            yield f"{kind}/{name}: is not the list that {entry.author} signed"
    if not hashes_of(board, "register/hashes") <= hashes_of(board, "register/letters"):
        yield "register/hashes: somebody enrolled who has no letter"
    for entry in board.of("ballots"):
        for name in entry.body["dimensions"]:
            for kind in ("ballots", "rejected"):
                file = f"{name}.{entry.body['part']}"
                expected.add(f"{kind}/{file}")
                if not board.is_named(kind, file, content_of(board, f"{kind}/{file}")):
                    yield f"{kind}/{file}: is not the file that {entry.author} signed"
    for entry in signed_release(board):
        for name in entry.body["files"]:
            expected.add(f"release/{name}")
            if not board.is_named("release", name, content_of(board, f"release/{name}")):
                yield f"release/{name}: is not the file that the trustees signed"
    expected |= {f"release/{name}" for entry in board.of("release") for name in entry.body["files"]}
    for head in board.heads():
        if content_of(board, name := f"heads/{head.size:06d}.json") != canonical(head.document()):
            yield f"{name}: is not written in its canonical form"
    for path in sorted(board.folder.rglob("*")):
        name = path.relative_to(board.folder).as_posix()
        if path.is_symlink() or (name not in KINDS if path.is_dir() else name not in expected):
            yield f"{name}: is a file that no entry names"


def _counted(board: Board, check: BoardCheck, progress: Progress, processes: int | None) -> dict[str, CountedBallots]:
    return {d.name: count_ballots(board, d, progress, processes) for d in board.election.manifest.dimensions}


def _ballot_faults(board: Board, check: BoardCheck, counted: dict[str, CountedBallots]) -> Iterator[str]:
    election = board.election
    entries = board.of("ballots")
    for name, found in counted.items():
        yield from found.faults
        noted, dimension = check.dimensions[name], election.dimension(name)
        noted["accepted"] = found.accepted
        check.ballots += found.accepted
        sizes = BallotFormat(election, dimension).size
        for entry in entries:
            stated, part = entry.body["dimensions"][name], entry.body["part"]
            if len(content_of(board, f"ballots/{name}.{part}")) != sizes * stated["accepted"]:
                yield f"{name}: part {part}: the number of ballots is not the one that the collector stated"
        if found.accepted > noted["issued"]:
            yield f"{name}: {found.accepted:,} ballots accepted, {noted['issued']:,} tokens issued"
        for category, count in found.categories.items():
            label = dimension.labels[0] if dimension.self_reported else category
            if count > noted["by_label"][label]:
                yield f"{name}: {label}: {count:,} ballots, {noted['by_label'][label]:,} tokens issued"
    halves = [half for found in counted.values() for half in found.halves]
    if len(set(halves)) < len(halves):
        yield "ballots: a ciphertext occurs twice in the election"
    yield from _rejected_faults(board, check, counted, set(halves))


def _rejected_faults(
    board: Board, check: BoardCheck, counted: dict[str, CountedBallots], halves: set[bytes]
) -> Iterator[str]:
    """Every ballot that was turned away is published, and the reason is true; together they are all of the box."""
    used = halves | set(_superseded_halves(board))
    for entry in board.of("ballots"):
        part, seen = entry.body["part"], entry.body["unreadable"]
        if seen:
            check.unchecked.append(
                f"That {seen:,} messages of the box hold no ballot, or one twice, as the collector states: whoever "
                "sent one can prove otherwise with its receipt."
            )
        if part and seen:
            yield "ballots: part 1 states unreadable objections, which nobody counted"
        for name, stated in entry.body["dimensions"].items():
            file = f"rejected/{name}.{part}"
            listed = parse_json(content_of(board, file).decode(), file)
            seen += stated["accepted"] + len(listed)
            if len(listed) != stated["turned_away"]:
                yield f"{file}: has {len(listed):,} ballots; the collector stated {stated['turned_away']:,}"
            format_ = BallotFormat(board.election, board.election.dimension(name))
            for number, (reason, text) in enumerate(listed):
                if not _is_true(format_, counted[name], reason, bytes.fromhex(text), used):
                    yield f"{file}: ballot {number}: was turned away for no true reason"
        received = board.of("received")[0].body["count"]
        if part == 0 and seen != received:
            yield f"ballots: {seen:,} are accounted for; the box took {received:,} in"


def _superseded_halves(board: Board) -> Iterator[bytes]:
    """First halves of valid ballots that later ones replaced: a voter may use them again, and that is a copy, too."""
    for entry in board.of("ballots"):
        for name in entry.body["dimensions"]:
            format_ = BallotFormat(board.election, board.election.dimension(name))
            file = f"rejected/{name}.{entry.body['part']}"
            for reason, text in parse_json(content_of(board, file).decode(), file):
                content = bytes.fromhex(text)
                if reason == SUPERSEDED and format_.fault(content) is None:
                    yield from first_halves(format_, content)


def _is_true(format_: BallotFormat, counted: CountedBallots, reason: str, content: bytes, halves: set[bytes]) -> bool:
    fault = format_.fault(content)
    if fault is not None:
        return reason == fault
    own = list(first_halves(format_, content))
    if reason == COPIED:
        return len(set(own)) < len(own) or not halves.isdisjoint(own)
    if reason == IDENTITY_FAULT:
        return format_.escrow is not None
    best = counted.best.get(ballot_key(content))
    return reason == SUPERSEDED and best is not None and best < rank(content)


def _escrow_faults(entries: list[BoardEntry]) -> Iterator[str]:
    """Nobody decides about a record before the request for it is public, and nobody twice."""
    requested: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.type == "escrow request":
            requested.add(entry.body["nullifier"])
        elif entry.type == "escrow decision" and entry.body["nullifier"] not in requested:
            yield f"{entry_name(index, entry)}: nobody asked for this record before"
