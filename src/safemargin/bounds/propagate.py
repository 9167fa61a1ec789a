"""Intervals without a program: integer propagation over all rows, and closed forms; proofs by addition alone.

Objects (those of `system.py`)
    low, high   the interval of every variable so far; lower, upper the range of every row
    spare[r]    upper[r] less the floors of row r: what its variables may have above their floors, together
    surplus[r]  the ceilings of row r less lower[r]: what its variables may lack of their ceilings, together

Statements, each true of every integer table with these facts
    propagation     x <= low + min over its rows of spare,  x >= high - min over its rows of surplus. Repeated until
                    nothing moves (bounds consistency; Dobra and Fienberg 2001 call it the shuttle).
    decomposable    if the published faces form a junction tree with cliques C and separators S, then for every cell
                    max(0, sum of n(C) - sum of n(S)) <= n <= min of n(C), and both ends are attained
                    (Dobra and Fienberg, PNAS 2000, theorem 1).
    shuttle         the same propagation over all 2^d collapsed tables of a cell, "the category" against "the rest" per
                    axis (Buzzigoli and Giusti 1999; Dobra 2002): sharper, and dearer by 2^d.
    order one       with single axes only: max(0, sum of the margins - (d - 1) M) <= n <= min of the margins: the first
                    statement for d cliques of one axis each, whose separators are the total M.

What callers may rely on
    * Intervals only shrink and every one of them holds, however early the loop stops (`EFFORT.propagation_rounds`).
    * Closed forms are for systems without a roll. With caps they are valid but not sharp, and used nowhere.
    * If the facts contradict each other in one row, `ContradictionError` names it; other contradictions may pass.
    * `standard_form` brings what is left open into equations, for counting and drawing (`fiber_*.py`).

Example
    Rows of 9 and 1 and columns of 8 and 2, ten in all: the first cell is at least 9 + 8 - 10.

    >>> from safemargin.bounds.grid import MarginGrid
    >>> two = MarginGrid(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), (2, 2), (frozenset({0}), frozenset({1})),
    ...                  {frozenset({0}): np.array([9, 9, 1, 1]), frozenset({1}): np.array([8, 2, 8, 2])})
    >>> [ends.tolist() for ends in decomposable(two)]
    [[7, 1, 0, 0], [8, 2, 1, 1]]
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy import sparse

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.fiber_equations import Equations, Rows
from safemargin.bounds.grid import Face, MarginGrid, junction
from safemargin.bounds.system import System, cell_text, complete_total, joint_rows, seen_in
from safemargin.core import UNBOUNDED, ContradictionError, IntArray, Onlooker, PublishedTable, TooLargeError, row_keys


def propagate(system: System) -> tuple[IntArray, IntArray]:
    """Intervals of all variables that hold in every table with these facts; valid, not always the sharpest.

    One round applies the statement *propagation* to all rows at once, and the people of every profile as one more row.
    Raises `ContradictionError` if an interval or a row becomes empty: then no table, fractional or not, has these
    facts.
    """
    low, high = system.low.copy(), np.minimum(system.high, UNBOUNDED)
    for _ in range(EFFORT.propagation_rounds):
        # Bound propagation on linear rows (Dobra and Fienberg's shuttle; constraint programming calls it bounds
        # consistency): a cell is at most its floor plus what the other floors of a row leave, and at least its ceiling
        # less the surplus.
        spare = np.where(system.upper < UNBOUNDED, system.upper - system.sums(low), 2 * UNBOUNDED)
        surplus, alone = _surplus(system, high)
        _check(system, spare, surplus)
        # Where exactly one cell of a row has no ceiling, the others still bound it from below: `alone` instead of
        # `surplus`.
        unlimited = high >= UNBOUNDED
        new_high = np.minimum(high, low + _least(system, spare))
        left = np.where(unlimited, _least(system, alone), _least(system, surplus))
        new_low = np.maximum(low, np.where(unlimited, 0, high) - left)
        # The options of a profile share its people: one more row that is not stored as a row.
        if system.people is not None:
            taken = system.people - new_low.reshape(-1, system.n_free_options).sum(axis=1)
            new_high = np.minimum(new_high, new_low + np.repeat(taken, system.n_free_options))
        if (new_high < new_low).any():
            name = cell_text(system.cell(int(np.flatnonzero(new_high < new_low)[0]) // system.n_free_options))
            raise ContradictionError(f"the facts contradict each other: no count is possible for {name}")
        if (new_high == high).all() and (new_low == low).all():
            break
        low, high = new_low, new_high
    return low, high


def _surplus(system: System, high: IntArray) -> tuple[IntArray, IntArray]:
    """How far the ceilings of a row exceed its least: if none is unlimited, and what the others do if just one is.

    With two unlimited variables in a row, neither is bounded from below by it.
    """
    unlimited = system.sums((high >= UNBOUNDED).astype(np.int64))
    excess = system.sums(np.where(high >= UNBOUNDED, 0, high)) - system.lower
    return np.where(unlimited == 0, excess, UNBOUNDED), np.where(unlimited == 1, excess, UNBOUNDED)


def _least(system: System, values: IntArray) -> IntArray:
    """Per variable the least of `values` over the rows it stands in."""
    # Minimum over the rows of each slice first, then over the slices of each profile: no row is expanded to its cells.
    per_slice = np.full((system.slices.shape[0] + 1, system.n_free_options), UNBOUNDED, dtype=np.int64)
    for option in range(system.n_free_options):
        rows = system.weights[:, option] > 0
        np.minimum.at(per_slice[:, option], system.slice_of[rows], values[rows])
    least = np.full((len(system.codes), system.n_free_options), UNBOUNDED, dtype=np.int64)
    for block in system.blocks:  # -1, no slice, reads the last row
        np.minimum(least, per_slice[block], out=least)
    return least.ravel()


def _check(system: System, spare: IntArray, surplus: IntArray) -> None:
    """Raise if a row cannot reach its range: its floors add up to too much, or its ceilings to too little."""
    for gap in (spare, surplus):
        if (gap < 0).any():
            row = int(np.flatnonzero(gap < 0)[0])
            raise ContradictionError(f"the facts contradict each other at {system.explain(row)}")


def grids(system: System) -> tuple[MarginGrid, ...]:
    """One grid per option of a plain system; none if it is not plain.

    Plain means: every row is an exact count of one option over a slice of single categories, every block covers all
    profiles, and options share nobody. Then options are independent tables with published margins.
    """
    if system.people is not None and system.n_free_options > 1:
        return ()
    if (system.lower != system.upper).any() or not ((system.weights.sum(axis=1) == 1).all()):
        return ()
    shape = tuple(len(names) for names in system.categories)
    plain = []
    for option in range(system.n_free_options):
        values: dict[Face, IntArray] = {}
        for block in system.blocks:
            stated = _stated(system, block, option)
            face = _face(system, block)
            if stated is None or face is None:
                return ()
            if not (block >= 0).all():
                return ()
            values.setdefault(face, stated)
        tops = tuple(f for f in values if not any(f < other for other in values))
        if not tops:
            return ()
        plain.append(MarginGrid(system.codes, shape, tops, {face: values[face] for face in tops}))
    return tuple(plain)


def _face(system: System, block: IntArray) -> Face | None:
    """The axes whose categories the slices of a block are; none if a slice merges several."""
    rows = np.flatnonzero(system.slice_of == block.max(initial=-1))
    if not len(rows):
        return None
    table, _ = system.sources[int(rows[0])]
    face = frozenset(system.axes.index(axis) for axis in table.axes)
    columns = sorted(face)
    keys = row_keys(system.codes[:, columns], [len(system.categories[c]) for c in columns])
    alone = len(np.unique(keys)) == len(np.unique(block))
    return face if alone else None


def _stated(system: System, block: IntArray, option: int) -> IntArray | None:
    """The published count of the slice that each profile lies in; none if some slice has no count of this option."""
    value = np.full(system.slices.shape[0], -1, dtype=np.int64)
    rows = system.weights[:, option] > 0
    value[system.slice_of[rows]] = system.lower[rows]
    stated = value[block]
    return None if (stated < 0).any() else stated


def by_option(
    grids: Sequence[MarginGrid],
    narrow: Callable[[MarginGrid, IntArray, IntArray], tuple[IntArray, IntArray]],
    low: IntArray,
    high: IntArray,
) -> tuple[IntArray, IntArray]:
    """Intervals of all variables, narrowed one option (and its grid) at a time.

    `narrow` gets a grid and the intervals of its option, one per profile, and returns them no wider.
    """
    low, high = low.copy(), high.copy()
    for option, grid in enumerate(grids):
        own = slice(option, None, len(grids))
        low[own], high[own] = narrow(grid, low[own], high[own])
    return low, high


def decomposable(grid: MarginGrid) -> tuple[IntArray, IntArray]:
    """Lower and upper counts of every profile (Dobra and Fienberg): cliques less separators, and the least clique.

    The faces of the grid must have a junction order (`grid.junction`), which the caller has checked. Both ends are
    attained by integer tables: of two rows of 9 and 1 and columns of 8 and 2, the first cell has 9 + 8 - 10 = 7 to 8.
    """
    order = junction(grid.faces)
    assert order is not None
    # Dobra and Fienberg (PNAS 2000), theorem 1: max(0, cliques - separators) <= n <= min of the cliques, both attained.
    cliques = [grid.margin(face) for face in order.faces]
    lower = sum(cliques) - sum((grid.margin(face) for face in order.separators), np.zeros_like(cliques[0]))
    return np.maximum(lower, 0), np.minimum.reduce(cliques)


def shuttle(grid: MarginGrid, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Tighten intervals of one option (one per profile); valid for every table with these margins.

    Per profile there are 2^d collapsed cells: pattern p has axis a at "the rest" where bit a is set, and pattern 0 is
    the cell itself. Every published face gives rows over these patterns (`_collapsed`), and propagation runs on them.
    Without enough room (`EFFORT.shuttle_counts`) the intervals are returned as they came.
    """
    count = len(grid.shape)
    patterns = 2**count
    if count < 2 or len(low) * patterns > EFFORT.shuttle_counts:
        return low, high
    lower = np.zeros((len(low), patterns), dtype=np.int64)
    upper = np.full((len(low), patterns), UNBOUNDED, dtype=np.int64)
    lower[:, 0], upper[:, 0] = low, high
    # Buzzigoli and Giusti's shuttle, generalised by Dobra: 2^d collapsed cells per cell, all cells at once.
    rows = [row for face in grid.faces for row in _collapsed(grid, face, count)]
    for _ in range(EFFORT.shuttle_rounds):
        changed = False
        for members, value in rows:
            spare = value - lower[:, members].sum(axis=1)
            surplus = np.minimum(upper[:, members], UNBOUNDED).sum(axis=1) - value
            top = np.minimum(upper[:, members], lower[:, members] + spare[:, None])
            bottom = np.maximum(lower[:, members], upper[:, members] - surplus[:, None])
            changed |= bool((top < upper[:, members]).any() or (bottom > lower[:, members]).any())
            upper[:, members], lower[:, members] = top, bottom
        if not changed:
            break
    return lower[:, 0], upper[:, 0]


def _collapsed(grid: MarginGrid, face: Face, count: int) -> list[tuple[list[int], IntArray]]:
    """Rows of the collapsed tables for one face: which patterns of "rest" add up to which margin.

    Bit `a` of a pattern says that axis `a` is at the rest. The margin with some axes at the rest follows from those
    with the cell's own categories by inclusion and exclusion.
    """
    axes = sorted(face)
    own = {
        frozenset(part): grid.margin(frozenset(part)) for k in range(len(axes) + 1) for part in combinations(axes, k)
    }
    outside = [axis for axis in range(count) if axis not in face]
    rows = []
    for size in range(len(axes) + 1):
        for rest in combinations(axes, size):
            value = np.zeros(len(grid.codes), dtype=np.int64)
            for k in range(size + 1):
                for part in combinations(rest, k):
                    # Inclusion and exclusion: the margin at "rest" on some axes from the margins at the cell's own
                    # categories.
                    value += (-1) ** k * own[(face - frozenset(rest)) | frozenset(part)]
            base = sum(1 << axis for axis in rest)
            members = [
                base + sum(1 << axis for axis in free)
                for k in range(len(outside) + 1)
                for free in combinations(outside, k)
            ]
            rows.append((members, value))
    return rows


def closed_form_applies(tables: Sequence[PublishedTable], onlooker: Onlooker) -> bool:
    """Whether each table is complete and exact over at most one axis, no axis twice, and nothing else is known.

    A roll or a fact puts caps on cells; the closed form ignores them, so it is switched off (docs/decide.md has two
    releases that it would call safe and that disclose every vote of a cell).
    """
    axes = [axis for table in tables for axis in table.axes]
    seen = seen_in(tables)
    return (
        not onlooker.roll
        and not onlooker.facts
        and all(len(table.axes) <= 1 and complete_total(table, seen) is not None for table in tables)
        and len({table.options for table in tables}) == 1
        and len(axes) == len(set(axes)) > 0
        and all(_covers(table) for table in tables)
    )


def order_one_bounds(
    tables: Sequence[PublishedTable], axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...], codes: IntArray
) -> tuple[IntArray, IntArray]:
    """Lower and upper counts per cell (rows of `codes`) and option: `sum m - (d - 1) M` and `min m`.

    Inside a merged category everything may sit in the other members, so nothing is forced there from below.
    """
    options = max(len(tables[0].options), 1)
    total = np.array(complete_total(tables[0], {}), dtype=np.int64)
    upper = np.broadcast_to(total, (len(codes), options)).copy()
    lower = np.broadcast_to(total, (len(codes), options)).copy()
    for table in tables:
        if not table.axes:
            continue
        column = axes.index(table.axes[0])
        counts = np.zeros((len(categories[column]), options), dtype=np.int64)
        alone = np.zeros(len(categories[column]), dtype=bool)
        for row, code in enumerate(table.codes[:, 0]):
            group = table.groups[0][code]
            for name in group:
                member = categories[column].index(name)
                counts[member, max(int(table.option[row]), 0)] = table.lower[row]
                alone[member] = len(group) == 1
        own = counts[codes[:, column]]
        upper = np.minimum(upper, own)
        lower = np.where(alone[codes[:, column]][:, None], lower + own - total, np.iinfo(np.int64).min // 4)
    return np.maximum(lower, 0), upper


def _covers(table: PublishedTable) -> bool:
    """Whether a table has a row for every group and option."""
    cells = len(table.groups[0]) if table.axes else 1
    return len(table.lower) == cells * max(len(table.options), 1)


def standard_form(system: System) -> Equations:
    """The open part of a system as equations; raises if propagation finds a contradiction or nothing limits some count.

    Variables are counted from their floors; those that propagation fixes are dropped, rows that no table in the box can
    violate too, and a row with a range gets one slack unknown. Solutions correspond to integer tables one to one.
    """
    low, high = propagate(system)
    high[_unlimited(system, high)] = 0
    if (high >= UNBOUNDED).any():
        raise TooLargeError("nothing that is published limits some count: there is no end to the possible tables")
    loose = np.flatnonzero(low < high)
    matrix, lower, upper = joint_rows(system)
    shift = matrix @ low
    room = (high - low)[loose]
    part = sparse.csr_array(matrix[:, loose])
    # Rows that no table in the box can violate say nothing; dropping them lets the system fall into components.
    least, most = _row_reach(part, room)
    lower, upper = np.maximum(lower - shift, least), np.minimum(upper - shift, most)
    part, lower, upper = _distinct(part, lower, upper, np.flatnonzero((lower > least) | (upper < most)))
    if (lower > upper).any():
        raise ContradictionError("the facts contradict each other: no table satisfies all of them")
    # A range becomes an equation with one slack unknown, whose ceiling is the width of the range.
    ranged = np.flatnonzero(lower < upper)
    ones = np.ones(len(ranged), dtype=np.int64)
    slack = sparse.csr_array((ones, (ranged, np.arange(len(ranged)))), shape=(len(lower), len(ranged)))
    whole = sparse.csr_array(sparse.hstack([part, slack]))
    return Equations(whole, upper, np.r_[room, (upper - lower)[ranged]], loose, low)


def _unlimited(system: System, high: IntArray) -> IntArray:
    """People without a listed option whom no roll counts: they are omitted."""
    hidden = np.arange(system.size) % system.n_free_options >= len(system.options)
    limiting = np.bincount(system.rows.indices, minlength=system.size)
    return np.flatnonzero(hidden & (high >= UNBOUNDED) & (limiting == 0))


def _row_reach(matrix: sparse.csr_array, room: IntArray) -> tuple[IntArray, IntArray]:
    """Least and largest value of every row over all values up to `room`."""
    negative = sparse.csr_array((np.minimum(matrix.data, 0), matrix.indices, matrix.indptr), shape=matrix.shape)
    return negative @ room, (matrix - negative) @ room


def _distinct(matrix: sparse.csr_array, lower: IntArray, upper: IntArray, chosen: IntArray) -> Rows:
    """The chosen rows; what is said several times about the same sum is said once."""
    matrix.sort_indices()
    seen: dict[bytes, int] = {}
    for row in chosen.tolist():
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        key = matrix.indices[part].tobytes() + b"|" + matrix.data[part].tobytes()
        first = seen.setdefault(key, row)
        lower[first], upper[first] = max(lower[first], lower[row]), min(upper[first], upper[row])
    keep = np.array(sorted(seen.values()), dtype=np.int64)
    return matrix[keep], lower[keep], upper[keep]
