"""The proof that everybody may hold: integer tables with the printed counts, found from what is printed and no more.

Objects
    x0          one table of integers with every printed count, and at least one where a count is suppressed
    moves       integer changes of x0 to other such tables (`moves.py`)

Statement
    x0 and the moves are computed from the printed counts, the gaps and the sums alone: two true tables that are printed
    alike give the same file, so the file discloses nothing beyond what is printed. If x0 is the true table, nobody can
    see that. Every suppressed count takes values more than `tau` apart in these tables, except those listed as
    `unproved`, for which no such tables were found in time.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from safemargin.checker_tables import statement
from safemargin.core import BoolArray, InputError, IntArray, Lattice, TooLargeError
from safemargin.suppress.feasibility import PatternBuilder
from safemargin.suppress.linked import UNKNOWN, LinkedTables, link
from safemargin.suppress.moves import MoveStore, PatternMoves, Problem
from safemargin.suppress.order import sorted_labels
from safemargin.suppress.pattern import Move, Pattern, people_documents, table_documents
from safemargin.suppress.problem import build_problem

SECONDS = 60.0


@dataclass(frozen=True)
class PublicProof:
    """Counts of the `hidden` cells (numbers as in the linked tables, people behind them), and changes by place there.

    `known` are gaps of earlier tables that earlier tables disclose: nothing is claimed about them.
    """

    tables: LinkedTables
    tau: int
    hidden: IntArray
    counts: IntArray
    moves: tuple[Move, ...]
    known: IntArray
    unproved: IntArray

    def certificate(self, files: Mapping[str, str]) -> dict[str, Any]:
        """The document beside the published tables; `files` are the hashes of the files of all tables, in order."""
        size = len(self.tables.counts)
        cells, people = self.hidden[self.hidden < size], self.hidden[self.hidden >= size] - size
        document: dict[str, Any] = {
            "schema": 2,
            "kind": "suppressed tables",
            "statement": "",
            "tau": self.tau,
            "files": dict(files),
            "tables": [each.model_dump(mode="json") for each in table_documents(self.tables, files)],
            "suppressed": [self.tables.cell(cell) for cell in cells.tolist()],
            "people": list(people_documents(self.tables, people)),
            "counts": self.counts.tolist(),
            "changes": [[list(step) for step in move] for move in self.moves],
            "known_before": [self.tables.cell(cell) for cell in self.known.tolist()],
            "unproved": len(self.unproved),
        }
        return {**document, "statement": statement(document)}


def prove_in_public(pattern: Pattern) -> PublicProof | None:
    """A proof from what is printed, in its order; nothing if no table with the printed counts is found in time.

    The search is the one for patterns with the gaps given: every gap is forced, no further cell may be suppressed. It
    never sees the true counts (`as_printed`), so that it may fail where the office's own proof does not.
    """
    pattern = in_printed_order(pattern)
    tables = as_printed(pattern)
    known = np.intersect1d(pattern.known, np.flatnonzero(tables.gaps))
    try:
        problem = build_problem(tables, (1, 1), tau=pattern.tau, disclosed=known.tolist())
    except (InputError, TooLargeError):
        return None
    store, hidden = MoveStore(problem.counts), problem.forced
    claimed = hidden & ~problem.unlisted
    short = _short(problem, store)
    matrix = store.inside(hidden)
    chosen = _fewest(problem, store, claimed)
    used = np.zeros(problem.size, dtype=bool)
    used[matrix[chosen].indices] = True
    fixed = np.isin(problem.cell_ids, known)
    order = np.flatnonzero(claimed | fixed | (problem.unlisted & (used | (problem.counts > 0))))
    position: IntArray = np.full(problem.size, -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    moves = []
    for row in chosen.tolist():
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        places, steps = position[matrix.indices[part]].tolist(), matrix.data[part].tolist()
        moves.append(tuple(sorted(zip(places, steps, strict=True))))
    return PublicProof(
        tables,
        pattern.tau,
        problem.cell_ids[order],
        problem.counts[order],
        tuple(moves),
        known,
        problem.cell_ids[short],
    )


def in_printed_order(pattern: Pattern) -> Pattern:
    """The same gaps in tables whose labels, sums and cells stand in the order in which they are printed.

    A certificate lists labels, sums and gaps, and which witness is found depends on their order. Where the order of the
    file may be that of suppressed counts, labels are printed sorted; nothing of the former order may be left here.
    """
    tables, axes = pattern.tables, pattern.by_labels
    new = [sorted_labels(table, axes) for table in tables.tables]
    if all(table.trees == old.trees for table, old in zip(new, tables.tables, strict=True)):
        return pattern
    count = len(new)
    linked = link(
        dict(zip(tables.names[:count], new, strict=True)),
        dict(zip(tables.names[count:], tables.earlier, strict=True)),
    )
    number = {frozenset(linked.cell(cell).items()): cell for cell in range(len(linked.nodes))}

    def moved(cells: IntArray) -> IntArray:
        found = [number[frozenset(tables.cell(cell).items())] for cell in cells.tolist()]
        return np.sort(np.array(found, dtype=np.int64))

    return replace(pattern, tables=linked, suppressed=moved(pattern.suppressed), known=moved(pattern.known))


def as_printed(pattern: Pattern) -> LinkedTables:
    """The tables as a reader has them: what is printed is known, every other count is not.

    This is the door to the proof: all that comes after it reads the result alone, which is why two true tables that
    print alike have one certificate.
    """
    tables = pattern.tables
    suppressed = np.zeros(len(tables.counts), dtype=bool)
    suppressed[pattern.suppressed] = True
    is_printed = tables.known | (tables.new & ~suppressed)
    counts = np.where(is_printed, tables.counts, UNKNOWN)
    return replace(
        tables,
        tables=tuple(
            Lattice(table.trees, counts[ids].reshape(table.shape))
            for table, ids in zip(tables.tables, tables.cell_ids, strict=False)
        ),
        counts=counts,
        new=np.zeros_like(tables.new),
        known=is_printed,
        gaps=~is_printed & (suppressed | tables.gaps),
    )


def _short(problem: Problem, store: MoveStore) -> IntArray:
    """Look for moves until every suppressed count takes values far enough apart; those for which time ran out.

    They are named in the certificate as `unproved`: the statement does not cover them.
    """
    builder = PatternBuilder(problem, store)
    builder.deadline = time.monotonic() + SECONDS
    try:
        builder.unprotected(problem.forced)
    except TimeoutError:
        pass
    up, down = PatternMoves(store, problem.forced).ranges()
    return np.flatnonzero(problem.forced & ~problem.unlisted & (up + down < problem.width))


def _fewest(problem: Problem, store: MoveStore, claimed: BoolArray) -> IntArray:
    """Numbers of a few moves inside the pattern that show as much as all: the largest first, while they help."""
    matrix, moves = store.inside(problem.forced), PatternMoves(store, problem.forced)
    best_up, best_down = (np.minimum(side, problem.width) for side in moves.ranges())
    up, down = np.zeros(problem.size, dtype=np.int64), np.zeros(problem.size, dtype=np.int64)
    chosen = []
    for row in np.argsort(-np.diff(matrix.indptr), kind="stable").tolist():
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, steps = matrix.indices[part], matrix.data[part]
        short = claimed[cells] & (up[cells] + down[cells] < np.minimum(best_up + best_down, problem.width)[cells])
        if (short & ((steps > up[cells]) | (-steps > down[cells]))).any():
            chosen.append(row)
            up[cells], down[cells] = np.maximum(up[cells], steps), np.maximum(down[cells], -steps)
    return np.array(chosen, dtype=np.int64)
