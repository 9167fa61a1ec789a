"""Whether somebody who knows the program, and reruns it on every table that prints the same, learns more than the gaps.

Secondary suppression is a rule: which cells it adds depends on the counts that it hides. Costs drawn by chance choose
among patterns that are equally good, so a table could have led to this pattern if no other pattern is better for it.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from safemargin.core import IntArray, Lattice, RefusedError
from safemargin.suppress.linked import LinkedTables
from safemargin.suppress.pattern import Rerun
from safemargin.suppress.problem import Problem
from safemargin.suppress.search import LeastPattern, PatternSearch

MAX_CELLS = 250  # a rerun takes as long as the search; beyond this size, minutes
MAX_TABLES = 40
MAX_SECONDS = 20.0


def rerun(
    tables: LinkedTables,
    problem: Problem,
    optimum: LeastPattern,
    extra: int | None,
    tau: int,
    again: Callable[[LinkedTables], Problem],
    seconds: float,
) -> Rerun:
    """Run the program on tables that print the same, which the search found; `again` states the problem of a table."""
    start = time.monotonic()
    if not optimum.settled or problem.size > MAX_CELLS or tables.earlier or len(tables.people):
        return Rerun(False)
    moves = optimum.store.inside(optimum.suppressed).toarray()
    moves = np.unique(np.r_[moves, -moves], axis=0) if len(moves) else moves
    possible = [move for move in moves if (problem.counts + move >= problem.minimum).all() and move.any()]
    low = high = problem.counts
    tried = same = 0

    def shown() -> bool:
        return bool(((high - low)[optimum.suppressed] > tau).all())

    # Moves that change most counts first: fewer reruns then show all of them.
    for move in sorted(possible, key=lambda move: -np.count_nonzero(move))[:MAX_TABLES]:
        if shown() or time.monotonic() - start > min(seconds, MAX_SECONDS):
            break
        tried += 1
        counts = tables.counts.copy()
        counts[problem.cell_ids] += move
        if _gives(again(_with_counts(tables, counts)), problem, optimum, extra):
            same += 1
            low, high = np.minimum(low, problem.counts + move), np.maximum(high, problem.counts + move)
    return Rerun(shown(), tried, same)


def _gives(problem: Problem, original: Problem, optimum: LeastPattern, extra: int | None) -> bool:
    """Whether no pattern of this table is better than the one that was found, so that chance may choose it."""
    if not np.array_equal(problem.cell_ids, original.cell_ids):  # a cell became empty
        return False
    search = PatternSearch(problem, MAX_SECONDS, lambda *_: None)
    try:
        other = search.run(extra)
    except RefusedError:
        return False
    pattern = optimum.suppressed
    if not other.settled or search.builder.unprotected(pattern) or (problem.forced & ~pattern).any():
        return False
    chosen, others = pattern & ~problem.forced, other.suppressed & ~problem.forced
    return bool(
        search.value(pattern) == search.value(other.suppressed)
        and search.weights[chosen].sum() == search.weights[others].sum()
        and len(search.builder.exposed(pattern)) == len(other.exposed)
    )


def _with_counts(tables: LinkedTables, counts: IntArray) -> LinkedTables:
    lattices = tuple(
        Lattice(table.trees, counts[ids].reshape(table.shape))
        for table, ids in zip(tables.tables, tables.cell_ids, strict=False)
    )
    return replace(tables, counts=counts, tables=lattices)
