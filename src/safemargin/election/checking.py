"""Checking ballots, block by block and on all cores: what collector, trustees and every reader do alike."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from safemargin.core import Progress, no_progress, safe_children
from safemargin.election.ballots import (
    BallotFormat,
    ballot_category,
    ballot_key,
    ballot_name,
    ballot_number,
    first_halves,
    read_ballots,
)
from safemargin.election.board import Board
from safemargin.election.group import name_of, negate_point
from safemargin.election.manifests import Dimension, KnownElection
from safemargin.election.merkle import root_of
from safemargin.election.proofs import EMPTY, Ciphertext

BLOCK = 400
"""Ballots that one task checks: about a second."""
NAMED = 100
"""Wrong ballots of a dimension that are named one by one."""
Sums = dict[tuple[int, int], Ciphertext]
"""Sums of ciphertexts by category (its place) and cell."""


def wins(one: bytes, other: bytes) -> bool:
    """Whether a ballot counts and not the other one under the same token: the higher number, then the smaller hash."""
    return rank(one) < rank(other)


def rank(content: bytes) -> tuple[int, bytes]:
    """What decides between two ballots under one token: the smaller one counts."""
    return -ballot_number(content), ballot_name(content)


def faults_of(format_: BallotFormat, contents: Sequence[bytes], processes: int | None = None) -> list[str | None]:
    """Why each ballot is invalid, or None."""
    workers = processes or os.cpu_count() or 1
    if workers == 1 or len(contents) < 4 * BLOCK:
        return [format_.fault(content) for content in contents]
    blocks = [list(contents[place : place + BLOCK]) for place in range(0, len(contents), BLOCK)]
    arguments = format_.election.content, format_.dimension.name
    with safe_children(), ProcessPoolExecutor(workers) as pool:
        found = pool.map(_faults_of_block, [arguments] * len(blocks), blocks)
        return [fault for block in found for fault in block]


def _faults_of_block(election: tuple[bytes, str], contents: list[bytes]) -> list[str | None]:
    known = KnownElection.parse(election[0])
    format_ = BallotFormat(known, known.dimension(election[1]))
    return [format_.fault(content) for content in contents]


@dataclass
class BlockCheck:
    """What was found in some ballots: faults, sums, and per ballot what uniqueness needs."""

    faults: list[str] = field(default_factory=list)
    more: int = 0
    sums: Sums = field(default_factory=dict)
    ballots: list[tuple[bytes, int, bytes, int]] = field(default_factory=list)
    """One-time key, negative number, hash and category."""
    halves: list[bytes] = field(default_factory=list)
    first: bytes = b""
    last: bytes = b""
    is_sorted: bool = True

    def take(self, other: "BlockCheck") -> None:
        """Add the next block."""
        self.is_sorted &= other.is_sorted and (not self.last or self.last < other.first)
        self.last = other.last or self.last
        self.ballots += other.ballots
        self.halves += other.halves
        add_sums(self.sums, other.sums)
        room = max(0, NAMED - len(self.faults))
        self.faults += other.faults[:room]
        self.more += other.more + len(other.faults[room:])


def add_sums(sums: Sums, other: Sums) -> None:
    """Add ciphertexts cell by cell."""
    for place, total in other.items():
        sums[place] = sums[place] + total if place in sums else total


def sums_of(format_: BallotFormat, content: bytes) -> Sums:
    """The ciphertexts of one ballot by category and cell."""
    ballot = format_.read(content)
    assert ballot is not None
    category = 0 if format_.dimension.self_reported else ballot.category
    return {(category, number): cell for number, cell in enumerate(ballot.cells)}


def check_block(folder: Path, name: str, file: str, start: int, stop: int) -> BlockCheck:
    """Some ballots of a dimension; runs in a process of its own."""
    board = Board(folder)
    format_ = BallotFormat(board.election, board.election.dimension(name))
    check = BlockCheck()
    for index, content in enumerate(read_ballots(folder / "ballots" / file, format_.size, start, stop), start):
        check.first = check.first or content
        check.is_sorted &= check.last < content
        check.last = content
        if fault := format_.fault(content):
            check.faults.append(f"ballots/{file}: ballot {index}: {fault}")
            continue
        check.ballots.append(
            (ballot_key(content), -ballot_number(content), ballot_name(content), ballot_category(content))
        )
        check.halves += first_halves(format_, content)
        add_sums(check.sums, sums_of(format_, content))
    return check


@dataclass
class CountedBallots:
    """The ballots of one dimension that count: their root, their numbers by category, and the sums of ciphertexts."""

    dimension: Dimension
    accepted: int = 0
    root: bytes = b""
    categories: Counter[str] = field(default_factory=Counter)
    sums: Sums = field(default_factory=dict)
    best: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    """Negative number and hash of the ballot that counts, by one-time key."""
    names: set[bytes] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    halves: list[bytes] = field(default_factory=list)

    def total(self, categories: Sequence[str], cell: int) -> Ciphertext:
        """The sum of one cell over some attested categories."""
        total = EMPTY
        for category in categories:
            total = total + self.sums.get((self.dimension.categories.index(category), cell), EMPTY)
        return total


def count_ballots(
    board: Board, dimension: Dimension, progress: Progress = no_progress, processes: int | None = None
) -> CountedBallots:
    """Check all ballots of a dimension and find those that count: one per token, over both parts."""
    format_ = BallotFormat(board.election, dimension)
    check, counted = BlockCheck(), CountedBallots(dimension)
    for part in (0, 1):
        file = f"{dimension.name}.{part}"
        block = BlockCheck()
        for each in _blocks(board, format_, file, progress, processes):
            block.take(each)
        if not block.is_sorted:
            counted.faults.append(f"ballots/{file}: the ballots are not sorted, or one is there twice")
        if len({key for key, *_ in block.ballots}) < len(block.ballots):
            counted.faults.append(f"ballots/{file}: two ballots of one part were made with one token")
        block.first = block.last = b""
        check.take(block)
    counted.faults += check.faults
    if check.more:
        counted.faults.append(f"ballots/{dimension.name}: {check.more:,} more ballots are wrong")
    best: dict[bytes, tuple[bytes, int, bytes, int]] = {}
    for ballot in check.ballots:
        if ballot[0] not in best or ballot[1:3] < best[ballot[0]][1:3]:
            best[ballot[0]] = ballot
    counted.sums, counted.halves = check.sums, check.halves
    names = {name for _, _, name, _ in best.values()}
    if len(names) < len(check.ballots):
        _subtract(board, format_, counted, names)
    counted.names, counted.accepted = names, len(best)
    counted.best = {key: (number, name) for key, number, name, _ in best.values()}
    counted.root = root_of(sorted(names))
    for _, _, _, category in best.values():
        counted.categories["" if dimension.self_reported else dimension.categories[category]] += 1
    return counted


def _subtract(board: Board, format_: BallotFormat, counted: CountedBallots, names: set[bytes]) -> None:
    """Take ballots that a later part superseded out of the sums."""
    for part in (0, 1):
        path = board.folder / "ballots" / f"{format_.dimension.name}.{part}"
        for content in read_ballots(path, format_.size):
            if ballot_name(content) not in names and format_.fault(content) is None:
                for place, cell in sums_of(format_, content).items():
                    inverse = Ciphertext(negate_point(cell.first), negate_point(cell.second))
                    counted.sums[place] = counted.sums[place] + inverse


def _blocks(
    board: Board, format_: BallotFormat, file: str, progress: Progress, processes: int | None
) -> Iterator[BlockCheck]:
    path = board.folder / "ballots" / file
    count = path.stat().st_size // format_.size if path.exists() else 0
    blocks = [(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
    workers, name = processes or os.cpu_count() or 1, format_.dimension.name
    if workers == 1 or len(blocks) < 4:
        for start, stop in blocks:
            yield check_block(board.folder, name, file, start, stop)
            progress(f"verifying {name}", stop, count)
        return
    with safe_children(), ProcessPoolExecutor(workers) as pool:
        tasks = [pool.submit(check_block, board.folder, name, file, *block) for block in blocks]
        for task, (_, stop) in zip(tasks, blocks, strict=True):
            yield task.result()
            progress(f"verifying {name}", stop, count)


def frozen_root(election: KnownElection, counted: Sequence[CountedBallots]) -> bytes:
    """One root for the ballots of all dimensions."""
    parts = [election.mid]
    for each in counted:
        parts += [each.dimension.name.encode(), each.accepted.to_bytes(8, "big"), each.root]
    return name_of("freeze", parts)
