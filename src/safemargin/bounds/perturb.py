"""Further tables near those that are known: by random exchanges, and by people who change an answer.

Objects
    level       cells of one set of axes, with what tables show of each so far (`cells.Level`)
    want        per profile and option, which way the next table should go (`wanted_changes`)
    idle        tables in a row that cleared no further cell

Two ways, for cells that fits and roundings leave open
    random_walk             some exchanges of answers between profiles: every sum stays, so the result is a table at
                            once. Used while few cells are open: each step costs a fraction of a fit.
    perturb_and_repair      a few profiles of open cells change an answer, which breaks some sums, and rounding mends
                            these elsewhere. Reaches tables that no chain of exchanges inside a cell reaches.

Invariants
    * Only a table that satisfies every fact is shown to cells or kept: exchanges keep all sums, and `repair` returns
      nothing where it cannot meet them.
    * A table is kept if it cleared a cell; others are forgotten, so `tables` grows no faster than cells are cleared.
    * Both end after `EFFORT.idle_steps` tables without success, whatever the generator draws.

What may be changed: how far a step goes, and when to give up. No result depends on it, only how much stays open.
"""

from collections.abc import Callable

import numpy as np

from safemargin.bounds.cells import Level, open_cells, show, wanted_changes, with_rest
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.reach import ExchangeGraph, attain_by_exchanges
from safemargin.bounds.system import System
from safemargin.core import FloatArray, Generator, IntArray


def random_walk(
    checked: list[Level], system: System, reach: ExchangeGraph, tables: list[IntArray], generator: Generator
) -> None:
    """Add tables that exchanges lead to, as long as they clear some of a few cells: cheaper than a fit each.

    Starts from the last of `tables` and walks on from each new one. Does nothing where no table is known yet, or where
    more than `EFFORT.cells_for_random_walk` cells are open: fits clear many cells at once, exchanges few.
    """
    counts, idle = tables[-1] if tables else None, 0
    while (
        counts is not None
        and idle < EFFORT.idle_steps
        and 0 < (before := open_cells(checked)) < EFFORT.cells_for_random_walk
    ):
        want = with_rest(wanted_changes(checked, generator), system.reference)
        counts = reach.exchanges.shuffle(counts, want, generator)
        show(checked, system.listed(counts))
        attain_by_exchanges(checked, system, reach, [counts])
        idle += 1
        if open_cells(checked) < before:
            tables.append(counts)
            idle = 0


def perturb_and_repair(
    checked: list[Level],
    system: System,
    reach: ExchangeGraph,
    repair: Callable[[FloatArray], IntArray | None],
    tables: list[IntArray],
    generator: Generator,
    cleared: Callable[[float], None] = lambda share: None,
) -> None:
    """Add tables in which some profiles of open cells change an answer and exchanges make up for that elsewhere.

    `repair` rounds real values to a table that meets every fact, or returns nothing; then half as many profiles change
    next time, down to `EFFORT.least_perturbed_share`, since the perturbation was too large to be mended near by.
    `cleared` is called after every step with the share of cells that were open at first and are not any more.
    """
    idle, share, first = 0, EFFORT.perturbed_share, open_cells(checked)
    for _ in range(EFFORT.perturbations):
        if (
            not tables
            or idle >= EFFORT.idle_steps
            or not 0 < (before := open_cells(checked)) < EFFORT.cells_for_perturbation
        ):
            break
        cleared(1 - before / first)
        want = with_rest(wanted_changes(checked, generator), system.reference)
        rows = np.flatnonzero((want != 0).any(axis=1))
        some = rows[generator.random(len(rows)) < share]
        some = some if len(some) else rows[generator.integers(len(rows), size=1)]
        start = reach.exchanges.matrix(tables[int(generator.integers(len(tables)))]).copy()
        for row in some.tolist():
            _change_answer(start[row], want[row], generator)
        counts = repair(start[:, : system.n_free_options].ravel().astype(np.float64))
        idle += 1
        # No repair: the perturbation was too large for the margins to be met again near by.
        if counts is None:
            share = max(share / 2, EFFORT.least_perturbed_share)
            continue
        show(checked, system.listed(counts))
        attain_by_exchanges(checked, system, reach, [counts])
        if (left := open_cells(checked)) < before:
            tables.append(counts)
            idle = 0 if left < 0.99 * before else idle


def _change_answer(counts: IntArray, want: FloatArray, generator: Generator) -> None:
    """Let one person of a profile answer otherwise, towards what is wanted most; ties are drawn.

    `counts` are the answers of one profile, changed in place: their sum stays, and none falls below 0. Nothing happens
    where nobody has the answer to give up.
    """
    option = int(np.argmax(np.abs(want) + 1e-3 * generator.random(len(want))))
    others = np.arange(len(counts)) != option
    if want[option] > 0:
        given = np.flatnonzero(others & (counts > 0))
        if len(given):
            counts[generator.choice(given)] -= 1
            counts[option] += 1
    elif counts[option] > 0:
        counts[generator.choice(np.flatnonzero(others))] += 1
        counts[option] -= 1
