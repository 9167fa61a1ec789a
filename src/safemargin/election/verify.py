"""Check a board offline, with no secret: every statement, every record, every count."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import InputError, Progress, no_progress, safe_children
from safemargin.election.board import Board, BoardEntry
from safemargin.election.keys import parse
from safemargin.election.manifest import NO_ANSWER, TOTAL, Dimension, KnownElection
from safemargin.election.merkle import leaf_hash, root_of
from safemargin.election.records import RecordFormat, read_items
from safemargin.election.turnout import published_totals, turnout
from safemargin.io import hash_file, read_bytes

STAGES = {"manifest": 0, "roll": 1, "issued": 2, "casting": 3, "closed": 4, "mix": 5, "batch": 5, "total": 5}
STAGES |= {"ceremony": 6, "release": 7}
"""Types of entries in the order of an election: none stands before one of an earlier stage; mixes and batches of
different dimensions may alternate."""
BLOCK = 4_000
"""Records that one task checks."""
NAMED = 100
"""Wrong records of a dimension that are named one by one."""


READING = (InputError, OSError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""What an entry that somebody signed, and that makes no sense, may raise."""


@dataclass
class BoardCheck:
    """What was found, and the figures beside it."""

    findings: list[str] = field(default_factory=list)
    dimensions: dict[str, dict[str, Any]] = field(default_factory=dict)
    entries: int = 0
    records: int = 0
    enrolled: int = 0
    complete: bool = False
    certified: bool = False
    turnout: dict[str, Any] = field(default_factory=dict)


def check_board(board: Board, progress: Progress = no_progress, processes: int | None = None) -> BoardCheck:
    """All checks; the findings name the entry, dimension or record that is wrong."""
    check = BoardCheck()
    try:
        entries = board.entries
        check.entries = len(entries)
        check.findings += [*_entry_faults(board, entries), *_head_faults(board)]
        if check.findings:
            return check  # what follows reads the entries
        check.findings += [*_count_faults(board, check), *_mix_faults(board)]
        for dimension in board.election.manifest.dimensions:
            check.findings += _record_faults(board, dimension, check, progress, processes)
        check.findings += [*_total_faults(board, check), *_release_faults(board, check), *_escrow_faults(entries)]
    except READING as error:
        check.findings.append(f"the board cannot be read to its end ({type(error).__name__}: {error})")
    return check


def named_board(election: KnownElection, body: bytes) -> Board:
    """The copy of the board that a message names; refused unless it is of this election and verifies."""
    folder = parse(body).get("board")
    if not isinstance(folder, str):
        raise InputError("the message does not name the folder with the copy of the board")
    board = Board(Path(folder))
    if board.election.mid != election.mid:
        raise InputError(f"{folder}: is the board of another election")
    if findings := check_board(board).findings:
        raise InputError(f"{folder}: does not verify: {findings[0]}")
    return board


def _named(index: int, entry: BoardEntry) -> str:
    dimension = entry.body.get("dimension")
    return f"entry {index} ({entry.type} of {entry.author}{f', {dimension}' if dimension else ''})"


def _entry_faults(board: Board, entries: list[BoardEntry]) -> Iterator[str]:
    election = board.election
    names = sorted(path.name for path in (board.folder / "entries").glob("*.json"))
    if names != [f"{index:06d}.json" for index in range(len(entries))]:
        yield "entries: the files are not numbered without gaps"
    stage = 0
    subjects: set[tuple[str, str, object]] = set()
    for index, entry in enumerate(entries):
        if fault := entry.fault(election):
            yield f"{_named(index, entry)}: {fault}"
        if board.contents[index] != entry.content:
            yield f"{_named(index, entry)}: is not written in its canonical form"
        if entry.subject in subjects:
            yield f"{_named(index, entry)}: is there twice; entries never change"
        subjects.add(entry.subject)
        if (own := STAGES.get(entry.type, stage)) < stage:
            yield f"{_named(index, entry)}: comes too late in the log"
        stage = max(stage, own)
    first = entries[0] if entries else None
    if first is None or first.type != "manifest" or first.body.get("manifest") != election.mid.hex():
        yield "entry 0: is not about this manifest; the manifest was changed"
        return
    signatures = first.body.get("signatures", {})
    for name in election.parties:
        if not election.is_signed(signatures.get(name), name, "all", "manifest", election.content):
            yield f"entry 0 (manifest): {name} did not sign the manifest"


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
    """`spent <= issued <= enrolled <= electorate`; records are counted later against what is noted here."""
    manifest = board.election.manifest
    rolls, issued, casting = board.of("roll"), board.of("issued"), board.of("casting")
    check.enrolled = rolls[0].body["enrolled"] if rolls else 0
    if check.enrolled > manifest.electorate:
        yield f"roll: {check.enrolled:,} enrolled of {manifest.electorate:,} on the roll"
    if not casting:
        return
    signers = set(board.signers)
    stated = [entry.body for entry in issued if entry.author in signers]
    if len(stated) != manifest.signers or any(body != stated[0] for body in stated):
        yield "casting: the active issuers did not all state the same numbers of tokens"
        return
    if gone := sorted(signers & set(stated[0].get("left", []))):
        yield f"casting: {gone[0]} left during issuing and cannot be active"
    for dimension in manifest.dimensions:
        counts = stated[0]["counts"][dimension.name]
        check.dimensions[dimension.name] = {"issued": sum(counts.values()), "by_label": counts}
        if set(counts) != set(dimension.labels) or min(counts.values()) < 0:
            yield f"{dimension.name}: the issuers did not state a number of tokens for every key"
        if sum(counts.values()) > check.enrolled:
            yield f"{dimension.name}: {sum(counts.values()):,} tokens issued to {check.enrolled:,} enrolled people"
        for label, count in counts.items():
            if not dimension.self_reported and count > dimension.sizes[label]:
                yield f"{dimension.name}: {label}: {count:,} tokens for {dimension.sizes[label]:,} people on the roll"


def _mix_faults(board: Board) -> Iterator[str]:
    mixers = [party.name for party in board.election.manifest.of("mixer")]
    for dimension in board.election.dimensions:
        statements = {entry.author: entry.body for entry in board.of("mix") if entry.body["dimension"] == dimension}
        for before, after in zip(mixers, mixers[1:], strict=False):
            if after in statements and (
                before not in statements
                or statements[before]["out_root"] != statements[after]["in_root"]
                or statements[before]["out_count"] != statements[after]["in_count"]
            ):
                yield f"{dimension}: {after} did not mix what {before} passed on"
        for mixer, body in statements.items():
            path = board.folder / "mixes" / f"{mixer}-{dimension}"
            listed = read_bytes(path) if path.exists() else b""
            # Also its length: the collector must not be able to call records rejected that were never passed on.
            if not board.is_named("mixes", path.name, listed) or len(listed) != 32 * body["out_count"]:
                yield f"mixes/{path.name}: is not the list that the mixer signed"
            if body["out_count"] > body["in_count"]:
                yield f"{dimension}: {mixer} passed on more than it took in"


@dataclass
class BlockCheck:
    """What was found in some records of a dimension; 32 bytes per record are kept of leaves and of spent tokens."""

    faults: list[str] = field(default_factory=list)
    leaves: bytearray = field(default_factory=bytearray)
    names: bytearray = field(default_factory=bytearray)
    categories: Counter[int] = field(default_factory=Counter)
    options: Counter[str] = field(default_factory=Counter)
    first: bytes = b""
    last: bytes = b""
    is_sorted: bool = True
    more: int = 0
    """Faults that are not named."""

    def take(self, other: "BlockCheck") -> None:
        """Add the next block."""
        self.is_sorted &= other.is_sorted and (not self.last or self.last < other.first)
        self.last = other.last or self.last
        self.leaves += other.leaves
        self.names += other.names
        self.categories.update(other.categories)
        self.options.update(other.options)
        room = max(0, NAMED - len(self.faults))
        self.faults += other.faults[:room]
        self.more += len(other.faults[room:])

    def leaf_hashes(self) -> Iterator[bytes]:
        """The leaves one by one."""
        return (bytes(self.leaves[place : place + 32]) for place in range(0, len(self.leaves), 32))


def check_block(folder: Path, name: str, start: int, stop: int) -> BlockCheck:
    """Some records of a dimension; runs in a process of its own."""
    board = Board(folder)
    format_ = RecordFormat(board.election, board.election.dimension(name), board.signers)
    check = BlockCheck()
    for index, content in enumerate(read_items(folder / "records" / name, format_.size, start, stop), start):
        check.first = check.first or content
        check.is_sorted &= check.last < content
        check.last = content
        check.leaves += leaf_hash(content)
        if fault := format_.fault(content):
            check.faults.append(f"records/{name}: record {index}: {fault}")
            continue
        check.names += format_.nullifier(content)
        check.categories[int.from_bytes(content[33:35], "big")] += 1
        if format_.dimension.is_open and (option := format_.option(content)) is not None:
            check.options[option] += 1
    return check


def _record_faults(
    board: Board, dimension: Dimension, check: BoardCheck, progress: Progress, processes: int | None
) -> Iterator[str]:
    name = dimension.name
    batch = next((entry.body for entry in board.of("batch") if entry.body["dimension"] == name), None)
    noted = check.dimensions.setdefault(name, {"issued": 0, "by_label": {}})
    noted |= {"accepted": batch["accepted"] if batch else 0, "opened": bool(batch and batch["opened"])}
    if batch is None:
        return
    if batch["accepted"] > noted["issued"]:
        yield f"{name}: {batch['accepted']:,} records accepted, {noted['issued']:,} tokens issued"
    if batch["opened"] != (batch["accepted"] >= board.election.manifest.least):
        yield f"{name}: {batch['accepted']:,} records; the minimum is {board.election.manifest.least:,}"
    last = board.election.manifest.of("mixer")[-1].name
    mixed = [entry.body for entry in board.of("mix") if entry.author == last and entry.body["dimension"] == name]
    if not mixed or mixed[0]["out_count"] != batch["accepted"] + sum(batch["rejected"].values()):
        yield f"{name}: the records accepted and rejected are not those that {last} passed on"
    path = board.folder / "records" / name
    if not batch["opened"]:
        if path.exists():
            yield f"records/{name}: is there although too few people answered"
        return
    size = RecordFormat(board.election, dimension, board.signers).size
    content_hash = hash_file(path)
    length = path.stat().st_size
    if content_hash != batch["sha256"] or length % size:
        yield f"records/{name}: is not the file that the collector signed"
        if length % size:
            return
    count = length // size
    check.records += count
    faults = _check_records(board, name, count, progress, processes)
    noted["options"] = faults.options
    if count != batch["accepted"] or root_of(faults.leaf_hashes()).hex() != batch["root"]:
        yield f"records/{name}: {count:,} records are not the {batch['accepted']:,} that the collector signed"
    if not faults.is_sorted:
        yield f"records/{name}: the records are not sorted, or one is there twice"
    passed = np.fromfile(board.folder / "mixes" / f"{last}-{name}", "S32")
    if not np.isin(np.frombuffer(faults.leaves, "S32"), passed).all():
        yield f"records/{name}: has a record that {last} did not pass on"
    yield from faults.faults
    if faults.more:
        yield f"records/{name}: {faults.more:,} more records are wrong"
    names = np.frombuffer(faults.names, "S32")
    if len(np.unique(names)) != len(names):
        yield f"records/{name}: two records were made with one token"
    for index, label in enumerate(dimension.labels):
        seen = faults.categories.total() if dimension.self_reported else faults.categories[index]
        if seen > noted["by_label"].get(label, 0):
            yield f"{name}: {label}: {seen:,} records, {noted['by_label'].get(label, 0):,} tokens issued"


def _check_records(board: Board, name: str, count: int, progress: Progress, processes: int | None) -> BlockCheck:
    blocks = [(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
    faults, workers = BlockCheck(), processes or os.cpu_count() or 1
    if workers == 1 or len(blocks) < 4:
        for start, stop in blocks:
            faults.take(check_block(board.folder, name, start, stop))
            progress(f"verifying {name}", stop, count)
        return faults
    with safe_children(), ProcessPoolExecutor(workers) as pool:
        # Results are taken in order; those that wait hold 64 bytes per record.
        tasks = [pool.submit(check_block, board.folder, name, *block) for block in blocks]
        for number, (_, stop) in enumerate(blocks):
            faults.take(tasks[number].result())
            tasks[number] = None  # type: ignore[call-overload]
            progress(f"verifying {name}", stop, count)
    return faults


def _total_faults(board: Board, check: BoardCheck) -> Iterator[str]:
    """The total is recounted: it is what the open records say."""
    stated = board.of("total")
    batch = [entry.body for entry in board.of("batch") if entry.body["dimension"] == TOTAL]
    if not stated or not batch or not batch[0]["opened"]:
        if stated:
            yield "total: is stated although too few people answered"
        return
    counts = check.dimensions[TOTAL].get("options", Counter())
    index = next(i for i, entry in enumerate(board.entries) if entry.type == "total")
    said = stated[0].body["counts"]
    for option in board.election.manifest.options:  # also those that are not stated: their records count
        if counts[option] != (count := said.get(option, 0)):
            yield f"{_named(index, stated[0])}: {option}: {count:,} stated, {counts[option]:,} records"
    for option in sorted(set(said) - set(board.election.manifest.options)):
        yield f"{_named(index, stated[0])}: {option}: no such option"


def _release_faults(board: Board, check: BoardCheck) -> Iterator[str]:
    stated, ceremony = board.of("release"), board.of("ceremony")
    openable = {name for name, noted in check.dimensions.items() if noted["opened"]}
    if ceremony and set(ceremony[0].body["open"]) != openable:
        yield "ceremony: names other dimensions than those with enough records"
    if not stated:
        return
    if any(entry.body != stated[0].body for entry in stated):
        yield "release: the trustees signed different releases"
    if len({entry.author for entry in stated}) < board.election.manifest.openers:
        yield f"release: is signed by {len(stated)} trustees; {board.election.manifest.openers} are needed"
    body = stated[0].body
    check.certified = bool(body["certified"])
    if check.certified and not body["files"]:
        yield "release: is called certified, and has no files"
    check.complete = True
    check.turnout = body["turnout"]
    if not set(body["opened"]) <= openable:
        yield "release: opens a dimension with too few records"
    files = {}
    for name, digest in body["files"].items():
        path = board.folder / "release" / name
        files[name] = read_bytes(path) if path.exists() else b""
        if hashlib.sha256(files[name]).hexdigest() != digest:
            yield f"release/{name}: is not the file that the trustees signed"
            return
    for path in (board.folder / "release").glob("*") if (board.folder / "release").exists() else ():
        if path.name not in files:
            yield f"release/{path.name}: is not part of the release"
    accepted = {name: noted["accepted"] for name, noted in check.dimensions.items()}
    if body["kappa"] != board.election.kappa(accepted[TOTAL]):
        yield "release: the minimum group does not follow the rule of the manifest"
    if body["turnout"] != turnout(accepted, board.election.manifest.electorate, files):
        yield "release: the turnout does not follow from the records and the published tables"
    if files:
        totals, counts = published_totals(files["total.csv"]), board.of("total")[0].body["counts"]
        expected = +Counter(counts)
        if totals is not None and NO_ANSWER in totals:  # with a joint roll, people without a record are an option
            expected += Counter({NO_ANSWER: board.election.manifest.electorate - sum(counts.values())})
        if totals is None or +totals != expected:
            yield "release/total.csv: is not the total of the records"


def _escrow_faults(entries: list[BoardEntry]) -> Iterator[str]:
    """Nobody decides about a record before the request for it is public, and nobody twice."""
    requested: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.type == "escrow request":
            requested.add(entry.body["nullifier"])
        elif entry.type == "escrow decision" and entry.body["nullifier"] not in requested:
            yield f"{_named(index, entry)}: nobody asked for this record before"
