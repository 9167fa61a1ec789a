"""What is to be protected in linked tables: primary cells, cells to suppress with them, and what onlookers know.

Objects
    primary     cells with a count in the primary range, such as 1 to 3 people: they must not be printed
    forced      primary cells, cells that were suppressed before, and cells that no table lists
    candidates  cells that secondary suppression may choose: all others but the grand total and those to keep
    views       what the public knows, then each coalition of insiders (`views.py`)

The grand total, empty cells and everything published before are always printed. A cell that *no* table lists has a
count too, with which every sum holds: `complete_counts` finds one population; its value is not claimed to be true.

Example
    >>> from safemargin.core import Hierarchy, lattice
    >>> from safemargin.suppress.linked import single
    >>> table = lattice([Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"])], [[1, 4], [5, 0]])
    >>> problem = build_problem(single(table), (1, 3))
    >>> problem.counts.tolist(), problem.primary.tolist()  # the empty cell is printed and has no variable
    ([10, 6, 4, 5, 1, 4, 5, 5], [False, False, False, False, True, False, False, False])
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, is_infeasible, solver_of, values_of
from safemargin.core import InputError, IntArray, TooLargeError
from safemargin.suppress.linked import UNKNOWN, LinkedTables
from safemargin.suppress.moves import PUBLIC, Boxes, Problem, View
from safemargin.suppress.views import coalition_views

SECONDS_TO_COMPLETE = 60.0


def build_problem(
    tables: LinkedTables,
    primary: tuple[int, int],
    protect: int | None = None,
    tau: int = 0,
    insiders: int = 0,
    disclosed: Sequence[int] = (),
    cost: IntArray | None = None,
    kept: Sequence[int] = (),
) -> Problem:
    """Protect counts from `primary[0]` to `primary[1]`; with `protect`, each must be possibly that large.

    No onlooker and no coalition of `insiders` may know a suppressed count to within `tau`. Cells in `disclosed` follow
    from what was published before and are not protected. `kept` cells are suppressed only if they are primary; without
    `cost`, every cell costs 1. Cells are renumbered: `Problem.cell_ids` leads back to those of the tables.
    """
    all_counts = complete_counts(tables)
    people = len(all_counts) - len(tables.counts)
    new, gaps, known = (np.r_[part, np.zeros(people, dtype=bool)] for part in (tables.new, tables.gaps, tables.known))
    known[list(disclosed)] = True
    in_no_table = ~new & ~gaps & ~known
    cell_ids = np.flatnonzero((all_counts > 0) | in_no_table)
    counts = all_counts[cell_ids]
    rows = sparse.csr_array(tables.equations[:, cell_ids])
    sums = np.flatnonzero(np.diff(rows.indptr) > 0)
    rows = sparse.csr_array(rows[sums])
    free = ~known[cell_ids] & (cell_ids != 0)
    is_primary = (counts >= primary[0]) & (counts <= primary[1]) & free & new[cell_ids]
    unlisted = in_no_table[cell_ids]
    forced = is_primary | unlisted | (gaps[cell_ids] & free)
    required = np.zeros(len(counts), dtype=np.int64)
    if protect is not None:
        required = np.where(is_primary, np.maximum(protect - counts, 0), 0)
    position = {int(cell): index for index, cell in enumerate(cell_ids.tolist())}
    views = [
        View(tuple(position[cell] for cell in view.known), tuple((position[cell], n) for cell, n in view.at_least))
        for view in coalition_views(tables, insiders)
    ]
    return Problem(
        cell_ids=cell_ids,
        counts=counts,
        minimum=minimum_counts(tables)[cell_ids],
        equations=rows,
        sums=sums,
        primary=is_primary,
        forced=forced,
        unlisted=unlisted,
        candidates=~forced & free & ~np.isin(cell_ids, kept),
        required_rise=required,
        width=tau + 1,
        preferred_rise=np.where(is_primary, primary[1] + 1 - counts, 0),
        views=(PUBLIC, *views),
        to_publish=new[cell_ids],
        cost=np.r_[np.ones_like(tables.counts) if cost is None else cost, np.ones(people, dtype=np.int64)][cell_ids],
        level=np.r_[levels(tables), np.zeros(people, dtype=np.int64)][cell_ids],
        boxes=Boxes(tables.trees, cell_ids) if len(tables.axes) == 1 else None,
    )


def levels(tables: LinkedTables) -> IntArray:
    """For every cell, over how many steps of its hierarchies it adds up, more than the cell with the fewest."""
    level = np.zeros(len(tables.nodes), dtype=np.int64)
    for a, tree in enumerate(tables.trees):
        height = np.zeros(len(tree.labels), dtype=np.int64)
        for _ in tree.splits:  # as often as there can be steps
            for parent, children in tree.splits:
                height[parent] = 1 + height[list(children)].max()
        level += height[tables.nodes[:, a]]
    return np.asarray(level - level.min(), dtype=np.int64)


def minimum_counts(tables: LinkedTables) -> IntArray:
    """Lower limits of counts that are not printed: 1 if suppressed, since zeros are published, else 0."""
    people = np.zeros(len(tables.people), dtype=np.int64)
    minimum: IntArray = np.r_[(tables.new | tables.gaps).astype(np.int64), people]
    return minimum


def complete_counts(tables: LinkedTables) -> IntArray:
    """Counts of one population that has all known counts: for every cell, then for every combination of people."""
    counts: IntArray = np.r_[tables.counts, np.full(len(tables.people), UNKNOWN, dtype=np.int64)]
    missing = np.flatnonzero(counts == UNKNOWN)
    if not len(missing):
        return counts
    remainder = (-(tables.equations @ np.where(counts == UNKNOWN, 0, counts))).astype(np.float64)
    matrix = sparse.csc_array(tables.equations[:, missing].astype(np.float64))
    lower = minimum_counts(tables)[missing].astype(np.float64)
    form = Form(matrix, np.zeros(len(missing)), lower, np.full(len(missing), np.inf), remainder, remainder)
    solver = solver_of(form, {"time_limit": SECONDS_TO_COMPLETE}, whole=True)
    solver.run()
    values = values_of(solver)
    if values is None and is_infeasible(solver):
        raise InputError("the tables contradict each other: no population has all of these counts")
    if values is not None:
        counts[missing] = np.rint(values).astype(np.int64)
    # HiGHS accepts integers to within 1e-6, so the rounded solution is checked again by addition.
    if values is None or (tables.equations @ counts).any():
        limit = f"{SECONDS_TO_COMPLETE:.0f} s"
        raise TooLargeError(f"no population with all of these counts was found in {limit}; give fewer tables")
    return counts
