"""Exchanged moves: every pattern that is met protects by the definition, and each is cheaper than the one before."""

import math
import time
from itertools import product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from safemargin.core import BoolArray, Hierarchy, Lattice, lattice, no_progress
from safemargin.suppress.exchange import MoveExchange
from safemargin.suppress.feasibility import PatternBuilder
from safemargin.suppress.linked import single
from safemargin.suppress.moves import MoveStore, Problem
from safemargin.suppress.problem import build_problem
from safemargin.suppress.search import PatternSearch


def drawn(seed: int, shape: tuple[int, ...]) -> tuple[Lattice, Problem]:
    """A table of people in categories of uneven size, of whom many are alone."""
    rng = np.random.default_rng(seed)
    trees = [Hierarchy.flat(f"axis{a}", [f"c{n}" for n in range(size)]) for a, size in enumerate(shape)]
    table = lattice(trees, rng.poisson(rng.gamma(0.8, 6.0, size=shape)))
    return table, build_problem(single(table), (1, 3))


def cells_known(table: Lattice, hidden: BoolArray) -> list[tuple[int, ...]]:
    """The suppressed cells with one value in all tables that print the same, by integer programs over inner cells."""
    inner = np.zeros(table.shape, dtype=bool)
    inner[tuple(slice(1, None) for _ in table.shape)] = True
    places = {place: n for n, place in enumerate(zip(*(axis.tolist() for axis in np.nonzero(inner)), strict=True))}
    rows, low, high = [], [], []
    for place in product(*map(range, table.shape)):
        row = np.zeros(len(places))
        for cell, n in places.items():
            row[n] = all(p in (0, c) for p, c in zip(place, cell, strict=True))
        rows.append(row)
        low.append(1.0 if hidden[place] else float(table.counts[place]))
        high.append(np.inf if hidden[place] else float(table.counts[place]))
    within, whole = LinearConstraint(np.array(rows), low, high), np.ones(len(places))
    known = []
    for number, place in enumerate(product(*map(range, table.shape))):
        if hidden[place]:
            ends = [
                milp(sign * rows[number], constraints=within, bounds=Bounds(0, np.inf), integrality=whole)
                for sign in (1, -1)
            ]
            if not ends[1].status == 3 and round(abs(ends[0].fun)) == round(abs(ends[1].fun)):
                known.append(place)
    return known


@pytest.mark.parametrize("seed", range(6))
def test_every_pattern_that_is_met_protects_and_is_cheaper(seed: int) -> None:
    table, problem = drawn(seed, [(5, 4), (3, 3, 3), (4, 3, 2)][seed % 3])
    store = MoveStore(problem.counts)
    builder = PatternBuilder(problem, store)
    first = builder.complete(problem.forced, math.inf)
    assert first is not None and MoveExchange.fits(problem)
    exchange = MoveExchange(builder)
    exchange.keep(first)
    found = [first]
    exchange.improve(time.monotonic() + 20.0, lambda pattern: found.append(pattern.copy()))
    values = [int(problem.cost[pattern & ~problem.forced].sum()) for pattern in found]
    assert values[1:] == sorted(values[1:], reverse=True) and values[-1] <= values[0]
    for pattern in found:
        assert (pattern >= problem.forced).all() and not (pattern & ~problem.forced & ~problem.candidates).any()
        hidden = np.zeros(table.counts.size, dtype=bool)
        hidden[problem.cell_ids[pattern]] = True
        assert cells_known(table, hidden.reshape(table.shape)) == []
    again = PatternBuilder(problem, MoveStore(problem.counts))  # nor do programs that know no stored move
    assert again.unprotected(found[-1]) == []


def test_more_than_covering_is_left_to_the_search() -> None:
    """Widths, rises and insiders ask for more than a move through every cell."""
    table, problem = drawn(1, (4, 4))
    tables = single(table)
    assert MoveExchange.fits(problem)
    assert not MoveExchange.fits(build_problem(tables, (1, 3), tau=1))
    assert not MoveExchange.fits(build_problem(tables, (1, 3), protect=5))
    assert not MoveExchange.fits(build_problem(tables, (1, 3), insiders=1))


@pytest.mark.slow
def test_the_first_second_gives_most_of_the_way() -> None:
    """The patterns before the first cut are near what the whole search finds: work is counted, not time."""
    _, problem = drawn(3, (12, 10, 8))
    search = PatternSearch(problem, 60.0, no_progress)
    boxes = search.builder.complete(problem.forced, math.inf)
    assert boxes is not None
    search._first_patterns()
    assert search.best is not None
    secondary = [int((pattern & ~problem.forced).sum()) for pattern in (boxes, search.best)]
    assert secondary[1] < 0.7 * secondary[0]
    assert search.builder.unprotected(search.best) == []
