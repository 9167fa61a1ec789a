"""Further witness tables, for counts that those of a proof do not show within the limits.

Every table here comes from one that agrees with all that is published by exchanging answers between profiles, so that
every published sum stays; addition checks it all the same. Cheap ways come first, each for what is still missing:

    many exchanges at once      random ones that lean towards the cells that are not shown (`Exchanges.shuffle`, twins)
    one for every profile       that is not shown, all in one table (`exchanged_at_once`)
    one after the other         every cell that is not shown exchanges in the same table (`exchanged_together`)
    one cell, one table         from the table in which its count is smallest or largest (`single_exchanges`)
    somebody answers otherwise  and rounding mends the margins (`_repaired`)
    integer programs            for small systems (`_extremes`)

A table is kept with the number of the one that it was made from: auditors get the difference only.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from safemargin.bounds.exchange import Exchanges
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.single_exchange import (
    Twins,
    exchange_between_twins,
    exchange_in_place,
    exchange_profiles,
    exchanged,
)
from safemargin.bounds.witnessed import WitnessCoverage
from safemargin.core import IntArray, numpy_generator

IDLE_STEPS, SLOW_STEPS, FEW_PROFILES = 20, 3, 1_000
"""Exchanged tables in a row that show nothing new before the search ends, or less than a tenth of what is missing where
there are more than a few profiles.
"""
MOST_PASSES, FEW_MISSING = 12, 20
"""Tables that exchanges for many cells start from, and counts that are missing for which all profiles are looked at."""
MOST_TABLES, MOST_EXCHANGES = 24, 5_000
MOST_MISSING = 1_000
"""Counts that may be missing once whole tables were tried. One takes 1 to 20 ms: of the demo city 200 are left,
and all are shown; of Adult 4,900 are left, 40 s show half of them, and one that is missing makes the others useless.
"""
MOST_REPAIRS = 200
MOST_PROGRAMS, PROGRAM_COUNTS, NODES = 200, 20_000, 50
"""Integer programs that are solved at most, the unknown counts that they may have, and the nodes of each."""


def further_tables(shown: WitnessCoverage, tables: Sequence[IntArray]) -> list[tuple[int, IntArray]]:
    """Tables that show more cells, each with the number of the one in `tables` that it was made from.

    `shown` takes all of them, and the caller reads from it what is still missing. Ways are tried in the order of the
    module; each stops when nothing is missing. `tables` must agree with everything public.
    """
    system = shown.system
    assert system.people is not None
    found: list[tuple[int, IntArray]] = []
    left = shown.count_missing()
    for counts in tables:
        shown.take(counts)
        left = shown.count_missing()  # sets of cells that are shown already cost nothing from here on
    if not left:
        return []
    ends = system.low.reshape(-1, system.n_free_options), system.high.reshape(-1, system.n_free_options)
    exchanges = Exchanges(system.blocks, system.slices.shape[0], system.people, *ends)
    twins = Twins(exchanges)
    shuffled: list[tuple[int, IntArray]] = []
    for way in (_shuffled, exchanged_at_once, exchanged_together):
        if way is exchanged_together and left > MOST_MISSING:
            return found
        new = way(shown, exchanges, twins, tables) if left else []
        shuffled = new if way is _shuffled else shuffled
        found += new
        left = shown.count_missing()
    for origins, bases in ((list(range(len(tables))), tables), ([a for a, _ in shuffled], [b for _, b in shuffled])):
        if left and bases:
            found += [(origins[a], counts) for a, counts in single_exchanges(shown, exchanges, twins, bases)]
            left = shown.count_missing()
    for source in (_repaired(shown, exchanges, tables), _extremes(shown)):
        found += [each for each in (source if left else ()) if shown.take_if_useful(each[1])]
        left = shown.count_missing()
    return found


def _shuffled(
    shown: WitnessCoverage, exchanges: Exchanges, twins: Twins, tables: Sequence[IntArray]
) -> list[tuple[int, IntArray]]:
    """Tables many random exchanges away, which lean towards what is not shown."""
    system, generator = shown.system, numpy_generator(0)
    found: list[tuple[int, IntArray]] = []
    left, idle, slow = shown.count_missing(), 0, 0
    while left and idle < IDLE_STEPS and slow < SLOW_STEPS and len(found) < MOST_TABLES:
        start = int(generator.integers(len(tables)))
        want = shown.wanted(generator)
        columns = want if system.reference else np.column_stack([want, np.zeros(len(want))])
        counts = tables[start]
        if generator.random() < 0.5:
            counts = exchanges.shuffle(counts, columns, generator)
        matrix = exchanges.matrix(counts).copy()
        for _ in range(2):
            exchange_between_twins(matrix, twins.codes, columns, generator)
        counts = matrix[:, : system.n_free_options].ravel()
        if not system.admits(counts):
            idle += 1
            continue
        useful = shown.take_if_useful(counts)
        found += [(start, counts)] if useful else []
        before, left = left, shown.count_missing() if useful else left
        idle = 0 if useful else idle + 1
        slow = slow + 1 if left > 0.9 * before and len(system.codes) > FEW_PROFILES else 0
    return found


def _repaired(
    shown: WitnessCoverage, exchanges: Exchanges, tables: Sequence[IntArray]
) -> Iterator[tuple[int, IntArray]]:
    """Tables in which somebody of a cell that is not shown answers otherwise, and exchanges make up for it.

    One person of one profile changes to an option outside the secret, or into it; rounding the changed table to the
    published sums (`Rounder.round`) either finds a table near by or nothing. At most `MOST_REPAIRS` are tried.
    """
    rounder, tried = Rounder(shown.system), 0
    for cells in shown.cells:
        for cell, number in np.argwhere(cells.missing()).tolist():
            members = np.flatnonzero(cells.cell_of == cell)
            inside = [option in shown.secrets[number][0] for option in range(len(shown.system.options) + 1)]
            for start, down in ((place, way) for place in range(len(tables)) for way in (True, False)):
                if tried >= MOST_REPAIRS or not shown.missing_one(cells, cell, number):
                    break
                matrix = exchanges.matrix(tables[start]).copy()
                options = range(matrix.shape[1])
                changes = [
                    (p, g, h) for p in members for g in options for h in options if inside[g] == down != inside[h]
                ]
                held = [change for change in changes if matrix[change[0], change[1]] > 0]
                for profile, old, new in held[:1]:
                    tried += 1
                    matrix[profile, old] -= 1
                    matrix[profile, new] += 1
                    counts = rounder.round(matrix[:, : exchanges.n_free_options].ravel().astype(np.float64))
                    if counts is not None and shown.system.admits(counts):
                        yield start, counts


def exchanged_at_once(
    shown: WitnessCoverage, exchanges: Exchanges, twins: Twins, tables: Sequence[IntArray]
) -> list[tuple[int, IntArray]]:
    """Tables in which somebody of every profile that is not shown has exchanged answers, where that is possible.

    Worth it where many profiles are missing: one table then shows hundreds. Below `FEW_MISSING` it is not tried.
    """
    found: list[tuple[int, IntArray]] = []
    every = range(exchanges.n_free_options + 1)
    gives = np.array([[option in options for option in every] for options, _, _ in shown.secrets])
    for start, table in enumerate(tables[:MOST_PASSES]):
        profiles = shown.cells[0]
        missing = profiles.missing()
        if missing.sum() < FEW_MISSING:
            break
        matrix = exchanges.matrix(table).copy()
        exchange_profiles(exchanges, matrix, missing[profiles.cell_of], gives)
        counts = matrix[:, : exchanges.n_free_options].ravel()
        if shown.system.admits(counts) and shown.take_if_useful(counts):
            found.append((start, counts))
    return found


def exchanged_together(
    shown: WitnessCoverage, exchanges: Exchanges, twins: Twins, tables: Sequence[IntArray]
) -> list[tuple[int, IntArray]]:
    """Tables in which every cell that is not shown has exchanged answers, one after the other in one table.

    An exchange keeps every published sum, so it may follow any others. It may undo what an earlier one did for another
    cell: the sums of the whole table say which cells it shows, and the next pass starts from another table.
    """
    found: list[tuple[int, IntArray]] = []
    for start, table in enumerate(tables[:MOST_PASSES]):
        matrix, some = exchanges.matrix(table).copy(), False
        for cells in shown.cells:
            for cell, number in np.argwhere(cells.missing()).tolist():
                some = True
                inside = [option in shown.secrets[number][0] for option in range(matrix.shape[1])]
                exchange_in_place(exchanges, twins, matrix, cells.cell_of == cell, inside)
        counts = matrix[:, : exchanges.n_free_options].ravel()
        if some and shown.system.admits(counts) and shown.take_if_useful(counts):
            found.append((start, counts))
    return found


def single_exchanges(
    shown: WitnessCoverage, exchanges: Exchanges, twins: Twins, tables: Sequence[IntArray]
) -> Iterator[tuple[int, IntArray]]:
    """Tables a few exchanges away from a given one, for counts that are not shown: smaller, or larger, than in all.

    For each missing count the tables are tried from the one with its smallest value downwards and from the one with its
    largest upwards, in turn, as these are nearest to a new end. What is yielded has been taken already (`take_beside`).
    """
    matrices = [exchanges.matrix(counts) for counts in tables]
    bases = [[cells.sums(shown.columns(counts)) for cells in shown.cells] for counts in tables]
    tried = 0
    for cells in shown.cells:
        for cell, number in np.argwhere(cells.missing()).tolist():
            if not shown.missing_one(cells, cell, number) or tried >= MOST_EXCHANGES:
                continue
            tried += 1
            members = cells.cell_of == cell
            inside = [option in shown.secrets[number][0] for option in range(matrices[0].shape[1])]
            values = [int(matrix[members][:, inside].sum()) for matrix in matrices]
            order = np.argsort(values, kind="stable").tolist()
            for start, down in [
                pair for low, high in zip(order, order[::-1], strict=True) for pair in ((low, True), (high, False))
            ]:
                matrix = exchanged(exchanges, twins, matrices[start], members, [each == down for each in inside])
                if matrix is None:
                    continue
                counts = matrix[:, : exchanges.n_free_options].ravel()
                if shown.system.admits(counts):
                    shown.take_beside(bases[start], tables[start], counts)
                    yield start, counts
                if not shown.missing_one(cells, cell, number):
                    break


def _extremes(shown: WitnessCoverage) -> Iterator[tuple[int, IntArray]]:
    """Tables in which a count that is not shown is as small, or as large, as it can be: by integer programs.

    Stops for good beyond `MOST_PROGRAMS` programs or for systems beyond `PROGRAM_COUNTS` counts. Each is limited in
    nodes and not in seconds, so that every run finds the same tables.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load, and few releases come here

    system, tried = shown.system, 0
    assert system.people is not None
    caps = sparse.kron(sparse.eye_array(len(system.people)), np.ones((1, system.n_free_options)))
    facts = [
        LinearConstraint(system.rows, system.lower, np.minimum(system.upper, shown.everybody)),
        LinearConstraint(caps, 0, system.people),
    ]
    whole = np.ones(system.size, dtype=np.int64)
    ends = Bounds(system.low, np.minimum(system.high, np.repeat(system.people, system.n_free_options)))
    for cells in shown.cells:
        for cell, number in np.argwhere(cells.missing()).tolist():
            if not shown.missing_one(cells, cell, number):
                continue
            for way in (1, -1):
                if tried >= MOST_PROGRAMS or system.size > PROGRAM_COUNTS:
                    return
                tried += 1
                goal = way * shown.functional(cells.cell_of == cell, number)
                found = milp(
                    goal,
                    constraints=facts,
                    bounds=ends,
                    integrality=whole,
                    options={"node_limit": NODES},
                )
                if found.x is not None:
                    counts = np.rint(found.x).astype(np.int64)
                    if system.admits(counts):
                        yield 0, counts
