"""What is to be protected: primary cells, cells that may be suppressed with them, and what each onlooker knows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from safemargin.bounds.solver import Form, is_infeasible, solver_of, values_of
from safemargin.core import BoolArray, InputError, IntArray, TooLargeError
from safemargin.suppress.linked import UNKNOWN, LinkedTables, inner_cells

MAX_COALITIONS = 20_000
SECONDS_TO_COMPLETE = 60.0


@dataclass(frozen=True)
class View:
    """What an onlooker knows beside what is printed: counts of some cells, and lower limits of others."""

    known: tuple[int, ...] = ()
    at_least: tuple[tuple[int, int], ...] = ()

    def sees_more(self, suppressed: BoolArray) -> bool:
        """Whether some of it is not printed."""
        return any(suppressed[cell] for cell in self.known) or any(suppressed[cell] for cell, _ in self.at_least)


PUBLIC = View()


@dataclass(frozen=True)
class Problem:
    """Cells with a count of at least one, and cells that no table lists; `cell_ids` are their numbers in the tables.

    Empty cells, the grand total and what was published before are always printed.
    """

    cell_ids: IntArray
    counts: IntArray
    minimum: IntArray  # what a count is at least if it is not printed
    equations: sparse.csr_array
    primary: BoolArray
    forced: BoolArray  # cells that are never printed: primary, suppressed before, or in no table
    unlisted: BoolArray  # of these, the cells in no table; nothing is claimed about them
    candidates: BoolArray  # cells that secondary suppression may choose
    required_rise: IntArray  # how far the count of a primary cell must be able to rise; 0 where nothing is required
    width: int  # how far apart two possible values of a suppressed count must be
    preferred_rise: IntArray  # how far a primary count must be able to rise to leave the primary range
    views: tuple[View, ...]  # what onlookers know, the public first; `required_rise` is about the public only
    to_publish: BoolArray  # cells of the tables to be published

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.counts)

    def rise_for(self, view: View) -> IntArray:
        """`required_rise`, as far as it is about this onlooker."""
        return self.required_rise if view == PUBLIC else np.zeros(self.size, dtype=np.int64)


def build_problem(
    tables: LinkedTables,
    primary: tuple[int, int],
    protect: int | None = None,
    tau: int = 0,
    insiders: int = 0,
    disclosed: Sequence[int] = (),
) -> Problem:
    """Protect counts from `primary[0]` to `primary[1]`; with `protect`, each must be possibly that large.

    No onlooker and no coalition of `insiders` may know a suppressed count to within `tau`. Cells in `disclosed` follow
    from what was published before and are not protected.
    """
    all_counts = complete_counts(tables)
    people = len(all_counts) - len(tables.counts)
    new, gaps, known = (np.r_[part, np.zeros(people, dtype=bool)] for part in (tables.new, tables.gaps, tables.known))
    known[list(disclosed)] = True
    in_no_table = ~new & ~gaps & ~known
    cell_ids = np.flatnonzero((all_counts > 0) | in_no_table)
    counts = all_counts[cell_ids]
    rows = sparse.csr_array(tables.equations[:, cell_ids])
    rows = sparse.csr_array(rows[np.flatnonzero(np.diff(rows.indptr) > 0)])
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
        primary=is_primary,
        forced=forced,
        unlisted=unlisted,
        candidates=~forced & free,
        required_rise=required,
        width=tau + 1,
        preferred_rise=np.where(is_primary, primary[1] + 1 - counts, 0),
        views=(PUBLIC, *views),
        to_publish=new[cell_ids],
    )


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


def coalition_views(tables: LinkedTables, insiders: int) -> tuple[View, ...]:
    """What every coalition of up to `insiders` respondents knows, in cells of `tables`.

    They know how many of them are in an inner cell, and its count if nobody else is in it; likewise of sums. In
    several tables each of them may be in any cells that have a combination of categories in common.
    """
    if not insiders:
        return ()
    views: dict[View, None] = {}
    sums = _small_sums(tables, insiders)
    choices = [[(), *_memberships(tables, index, insiders)] for index in range(len(tables.tables))]
    for chosen in product(*choices):
        items = sorted({item for group in chosen for item in group})
        if not items or (insiders == 1 and not _compatible(tables, [cell for cell, _ in items])):
            continue
        inner = {cell for cell, members in items if members == tables.counts[cell]}
        known = inner | {cell for part in inner for cell, parts in sums.get(part, ()) if parts <= inner}
        views[View(tuple(sorted(known)), tuple(item for item in items if item[0] not in known))] = None
        if len(views) > MAX_COALITIONS:
            raise TooLargeError(f"insiders = {insiders}: more than {MAX_COALITIONS:,} coalitions; give fewer insiders")
    return tuple(views)


def _small_sums(tables: LinkedTables, most: int) -> dict[int, list[tuple[int, frozenset[int]]]]:
    """For every inner cell, the sums of at most `most` people that it is part of, each with its inner cells."""
    sums: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for table, ids in zip(tables.tables, tables.cell_ids, strict=False):
        inner = ids[inner_cells(table.trees)].reshape([len(tree.leaves) for tree in table.trees])
        for position in np.flatnonzero((table.counts > 0) & (table.counts <= most)).tolist():
            nodes = np.unravel_index(position, table.shape)
            inside = [tree.members[int(node)] for tree, node in zip(table.trees, nodes, strict=True)]
            parts = inner[np.ix_(*inside)].ravel()
            occupied = frozenset(parts[tables.counts[parts] > 0].tolist())
            for part in occupied:
                sums.setdefault(part, []).append((int(ids[position]), occupied))
    return sums


def _memberships(tables: LinkedTables, table: int, most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Inner cells of one table with the number of insiders in each, where that says more than "not empty"."""
    inner = tables.cell_ids[table][inner_cells(tables.tables[table].trees)]
    items = [
        (cell, members)
        for cell, count in zip(inner.tolist(), tables.counts[inner].tolist(), strict=True)
        for members in range(1, min(count, most) + 1)
        if members == count or members >= 2
    ]
    yield from _subsets(items, most)


def _subsets(items: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    for index, (cell, members) in enumerate(items):
        if members <= most:
            yield ((cell, members),)
            rest = [item for item in items[index + 1 :] if item[0] != cell]
            for more in _subsets(rest, most - members):
                yield ((cell, members), *more)


def _compatible(tables: LinkedTables, cells: Sequence[int]) -> bool:
    """Whether one person can be in all of these cells."""
    return all(
        tree.members[np.unique(nodes)].all(axis=0).any()
        for tree, nodes in zip(tables.trees, tables.nodes[list(cells)].T, strict=True)
    )
