"""Whether somebody who knows the program, and reruns it on every table that prints the same, learns more than the gaps.

Objects
    x           the true counts, and S the pattern chosen for them
    M           all tables x + m that print the same with pattern S (`moves.py`)
    R(S)        the tables of M for which the program may choose S too

Statement
    An onlooker without the program knows that the table is in M; one who reruns it knows that it is in R(S), a subset.
    The program chooses at random, with full support, among the patterns that are best for a table. So x + m is in R(S)
    exactly if no pattern is better than S for it in cost, totals and exposed cells. If every suppressed count takes
    values more than tau apart in R(S), the rule discloses nothing beyond the gaps: the label is `rerun`.

Method
    Tables near x in which all cuts that prove S optimal still hold are in R(S) by the same proof (`_limits` states
    that as inequalities). Others are searched again, with the moves and cuts of the first search (`exchange`).
    A table that is not decided in time does not count: the label then stays `not shown`.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from safemargin.core import IntArray, Lattice, no_progress
from safemargin.suppress.finder import Limits, MoveFinder
from safemargin.suppress.linked import LinkedTables
from safemargin.suppress.moves import Problem
from safemargin.suppress.pattern import Rerun
from safemargin.suppress.search import LeastPattern, PatternSearch

MAX_CELLS = 250  # beyond this size, a rerun may take as long as the search
MAX_TABLES = 200
MAX_SECONDS = 20.0


def rerun(
    tables: LinkedTables,
    problem: Problem,
    optimum: LeastPattern,
    primary: tuple[int, int],
    extra: int | None,
    again: Callable[[LinkedTables], Problem],
    seconds: float,
) -> Rerun:
    """Decide for tables that print the same whether they may lead to the pattern; `again` states their problem.

    Not shown, without trying, where the search was not settled, the table is large, or earlier tables or unlisted
    people take part: a rerun would take as long as the search. Every table that counts was searched to its end.
    """
    end = time.monotonic() + min(seconds, MAX_SECONDS)
    if not optimum.settled or problem.size > MAX_CELLS or tables.earlier or len(tables.people):
        return Rerun(False)
    low = high = problem.counts
    tried: set[bytes] = set()
    same = 0

    def missing() -> IntArray:
        return np.flatnonzero(optimum.suppressed & (high - low < problem.width))

    for move in _moves(problem, optimum, primary, missing):
        if len(tried) == MAX_TABLES or time.monotonic() > end:
            break
        if move.tobytes() in tried:
            continue
        tried.add(move.tobytes())
        counts = tables.counts.copy()
        counts[problem.cell_ids] += move
        other = PatternSearch(again(_with_counts(tables, counts)), max(end - time.monotonic(), 0.0), no_progress)
        if other.is_best(optimum, extra):
            same += 1
            low, high = np.minimum(low, problem.counts + move), np.maximum(high, problem.counts + move)
    return Rerun(not len(missing()), len(tried), same)


def _moves(
    problem: Problem, optimum: LeastPattern, primary: tuple[int, int], missing: Callable[[], IntArray]
) -> Iterator[IntArray]:
    """Moves to tables that change a count that is still missing.

    First those with the same primary cells in which all cuts hold, so that the pattern is best there too; then those
    that the search found.
    """
    finder = MoveFinder(problem, limits=_limits(problem, optimum, primary))
    finder.open(optimum.suppressed)
    for cell in np.flatnonzero(optimum.suppressed).tolist():
        for amount in dict.fromkeys((problem.width, -problem.width, 1, -1)):
            if cell in missing() and (move := finder.find(cell, amount, seconds=1.0)[0]) is not None:
                yield move
    moves = optimum.search.store.inside(optimum.suppressed).toarray()
    moves = np.unique(np.r_[moves, -moves], axis=0)
    # Moves that change most counts first: fewer tables then show all of them.
    for move in sorted(moves, key=np.count_nonzero, reverse=True):
        if move[missing()].any() and (problem.counts + move >= problem.minimum).all():
            yield move


def _limits(problem: Problem, optimum: LeastPattern, primary: tuple[int, int]) -> Limits:
    """What a move may change so that the primary cells stay the same and the proof of every cut holds."""
    least, most = primary
    rows: list[dict[int, int]] = []
    limits: list[int] = []
    for cell in np.flatnonzero(optimum.suppressed).tolist():
        count = int(problem.counts[cell])
        lowest, highest = (0, least - 1) if count < least else (least, most) if count <= most else (most + 1, None)
        rows.append({cell: -1})
        limits.append(count - lowest)
        if highest is not None:
            rows.append({cell: 1})
            limits.append(highest - count)
    for cut in optimum.cuts:
        room = problem.room(cut.view)
        for bound in cut.proof or ():
            row = dict(zip(bound.cells.tolist(), bound.coefficients.tolist(), strict=True))
            if cut.rise:  # a count that is larger need not rise as far
                row[cut.cell] = row.get(cut.cell, 0) + bound.scale
            rows.append(row)
            limits.append(bound.amount * bound.scale - 1 - int(bound.coefficients @ room[bound.cells]))
    matrix = sparse.csr_array(
        (
            np.array([value for row in rows for value in row.values()], dtype=np.int64),
            np.array([cell for row in rows for cell in row], dtype=np.int64),
            np.r_[0, np.cumsum([len(row) for row in rows])],
        ),
        shape=(len(rows), problem.size),
    )
    return matrix, np.array(limits, dtype=np.int64)


def _with_counts(tables: LinkedTables, counts: IntArray) -> LinkedTables:
    """The linked tables with other counts of the same cells."""
    lattices = tuple(
        Lattice(table.trees, counts[ids].reshape(table.shape))
        for table, ids in zip(tables.tables, tables.cell_ids, strict=False)
    )
    return replace(tables, counts=counts, tables=lattices)
