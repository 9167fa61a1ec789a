"""Linked tables: several tables about one population, in which a cell that two tables share is one cell.

Objects
    tree        an axis with all categories and sums that any table uses for it; node 0 is its total
    cell        a node of every tree; tables that sum over an axis have node 0 there, so shared margins coincide
    equations   E x = 0 for the counts of every population: each sum of each table
    people      combinations of all axes, variables of their own where the tables form a cycle

Statement
    Counts that satisfy all sums need not come from people: three tables a x b, b x c, a x c may agree on every margin
    and contradict each other. They always come from people if the tables are decomposable, that is, if their axes
    form an acyclic hypergraph (Graham's reduction; Lauritzen, Graphical Models, 1996). Only where they do not, the
    combinations themselves become variables: a move is then a change of people, and no onlooker can exclude it.

Example
    >>> from safemargin.core import lattice
    >>> a, b, c = (Hierarchy.flat(name, ["1", "2"]) for name in "abc")
    >>> is_cycle((a, b, c), [(a, b), (b, c)]), is_cycle((a, b, c), [(a, b), (b, c), (a, c)])
    (False, True)
    >>> tables = link({"ab": lattice([a, b], [[1, 2], [3, 4]]), "bc": lattice([b, c], [[4, 0], [5, 1]])})
    >>> len(tables.nodes), tables.name(1)  # 9 cells each; b 1, b 2 and the grand total are shared
    (15, 'b 1')
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, Hierarchy, InputError, IntArray, Lattice
from safemargin.history.contents import GAP

# Combinations of all categories up to which the people behind a cycle of tables are variables of their own.
MAX_COMBINATIONS = 50_000
UNKNOWN = -1
"""In place of the count of a cell that no table lists; `GAP` stands for one that was suppressed."""

Axes = Sequence[Hierarchy]


@dataclass(frozen=True)
class LinkedTables:
    """Cells of `tables` and of `earlier` ones, numbered: those of the first table first, in their order.

    `trees` are the axes of all tables together; `nodes` has a row per cell with its node of each tree. `cell_ids` gives
    the number of every cell of each table, earlier tables last. An unknown count is -1. If the tables form a cycle,
    `people` are the combinations of categories that may hold somebody; they are numbered after the cells.
    """

    names: tuple[str, ...]
    tables: tuple[Lattice, ...]
    earlier: tuple[Lattice, ...]
    trees: tuple[Hierarchy, ...]
    nodes: IntArray
    cell_ids: tuple[IntArray, ...]
    counts: IntArray
    new: BoolArray  # cells of the tables to be published
    known: BoolArray  # cells published before
    gaps: BoolArray  # cells suppressed before
    people: IntArray
    cycle_too_large: bool = False  # whether the tables form a cycle with more than MAX_COMBINATIONS combinations

    def cell(self, cell_id: int) -> dict[str, str]:
        """Labels of a cell by axis, without the axes that are summed over."""
        nodes = self.nodes[cell_id].tolist()
        return {tree.name: tree.labels[node] for tree, node in zip(self.trees, nodes, strict=True) if node}

    def name(self, cell_id: int) -> str:
        """The cell in words."""
        return ", ".join(f"{axis} {label}" for axis, label in self.cell(cell_id).items())

    @property
    def axes(self) -> tuple[tuple[Hierarchy, ...], ...]:
        """The axes of each table, earlier tables last."""
        return tuple(table.trees for table in (*self.tables, *self.earlier))

    @cached_property
    def equations(self) -> sparse.csr_array:
        """Rows that are zero for every population: each sum of each table, then the people in each inner cell."""
        size = len(self.counts) + len(self.people)
        parts = []
        for trees, ids in zip(self.axes, self.cell_ids, strict=True):
            rows = Lattice(trees, np.zeros(_shape(trees), dtype=np.int64)).equations.tocoo()
            parts.append(sparse.csr_array((rows.data, (rows.row, ids[rows.col])), shape=(rows.shape[0], size)))
        if len(self.people):
            parts += [self._people_rows(trees, ids) for trees, ids in zip(self.axes, self.cell_ids, strict=True)]
        return sparse.csr_array(sparse.vstack(parts)) if len(parts) > 1 else parts[0]

    @property
    def sums(self) -> int:
        """How many equations are sums of tables; those about people follow them."""
        size = {id(trees): int(np.prod(_shape(trees))) for trees in self.axes}
        return sum(len(tree.splits) * size[id(trees)] // len(tree.labels) for trees in self.axes for tree in trees)

    def _people_rows(self, trees: Axes, ids: IntArray) -> sparse.csr_array:
        """Inner cells of one table minus the people in them."""
        inner = inner_cells(trees)
        row_of = np.full(len(ids), -1, dtype=np.int64)
        row_of[inner] = np.arange(len(inner))
        rows = np.r_[row_of[inner], row_of[containing_cell(self.trees, self.people, trees)]]
        columns = np.r_[ids[inner], len(self.counts) + np.arange(len(self.people))]
        signs = np.r_[np.ones(len(inner), dtype=np.int64), np.full(len(self.people), -1, dtype=np.int64)]
        return sparse.csr_array((signs, (rows, columns)), shape=(len(inner), len(self.counts) + len(self.people)))


def single(table: Lattice) -> LinkedTables:
    """What `link` gives for one table, without a name: all cells new, none known before, no people."""
    size = table.counts.size
    nodes = np.stack(np.unravel_index(np.arange(size), table.shape), axis=1)
    no, yes = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
    people = np.zeros((0, len(table.trees)), dtype=np.int64)
    ids = (np.arange(size),)
    return LinkedTables(("",), (table,), (), table.trees, nodes, ids, table.counts.ravel(), yes, no, no, people)


def link(tables: Mapping[str, Lattice], earlier: Mapping[str, Lattice] | None = None) -> LinkedTables:
    """Tables about the same people by the names of their files, and tables published before, with gaps."""
    before = dict(earlier or {})
    if len(tables) == 1 and not before:
        return single(next(iter(tables.values())))
    names, stated = (*tables, *before), (*tables.values(), *before.values())
    axes = [table.trees for table in stated]
    trees, nodes, cell_ids = number_cells(axes)
    _check_categories(names, axes, trees)
    counts = np.full(len(nodes), UNKNOWN, dtype=np.int64)
    new, known, gaps = (np.zeros(len(nodes), dtype=bool) for _ in range(3))
    source: list[str | None] = [None] * len(nodes)
    for position, (name, table, ids) in enumerate(zip(names, stated, cell_ids, strict=True)):
        values = table.counts.ravel()
        listed = values >= 0
        if position < len(tables):
            new[ids] = True
        else:
            known[ids[listed]] = True
            gaps[ids[values == GAP]] = True
        cells, values = ids[listed], values[listed]
        wrong = np.flatnonzero((counts[cells] != UNKNOWN) & (counts[cells] != values))
        if len(wrong):
            cell, value = int(cells[wrong[0]]), int(values[wrong[0]])
            labels = [tree.labels[node] for tree, node in zip(trees, nodes[cell], strict=True) if node]
            raise InputError(
                f"{name}: {', '.join(labels) or 'all'}: {value:,}, but {source[cell]} says {counts[cell]:,}; "
                "are they the same people?"
            )
        for cell in cells[counts[cells] == UNKNOWN].tolist():
            source[cell] = name
        counts[cells] = values
    people: IntArray | None = np.zeros((0, len(trees)), dtype=np.int64)
    if is_cycle(trees, axes):
        people = _people(trees, axes, cell_ids, counts)
        if people is not None and not len(people) and counts[0]:
            raise InputError(f"{', '.join(names)}: contradict each other: nobody can be in all of these tables")
    return LinkedTables(
        names=names,
        tables=tuple(tables.values()),
        earlier=tuple(before.values()),
        trees=trees,
        nodes=nodes,
        cell_ids=cell_ids,
        counts=counts,
        new=new,
        known=known,
        gaps=gaps & ~known,
        people=np.zeros((0, len(trees)), dtype=np.int64) if people is None else people,
        cycle_too_large=people is None,
    )


def number_cells(axes: Sequence[Axes]) -> tuple[tuple[Hierarchy, ...], IntArray, tuple[IntArray, ...]]:
    """The axes of some tables together, the nodes of every cell, and the cell numbers of each table.

    Cells are numbered in the order in which tables first list them: those of the first table keep their order. Equal
    nodes of all axes are one cell, whichever tables list it: that is what links tables.

    >>> from safemargin.core import Hierarchy
    >>> sex, age = Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"])
    >>> trees, nodes, (first, second) = number_cells([(sex,), (age,)])
    >>> first.tolist(), second.tolist(), len(nodes)
    ([0, 1, 2], [0, 3, 4], 5)
    """
    trees = _union([tree for table in axes for tree in table])
    stacked = np.concatenate([_nodes(trees, table) for table in axes])
    _, first, inverse = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    ids = np.split(rank[inverse.ravel()], np.cumsum([int(np.prod(_shape(table))) for table in axes])[:-1])
    return trees, stacked[np.sort(first)], tuple(ids)


def inner_cells(trees: Axes) -> IntArray:
    """Positions of the cells that are not sums.

    >>> from safemargin.core import Hierarchy
    >>> inner_cells((Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"]))).tolist()
    [4, 5, 7, 8]
    """
    index = np.arange(int(np.prod(_shape(trees)))).reshape(_shape(trees))
    return index[np.ix_(*(tree.leaves for tree in trees))].ravel()


def containing_cell(all_trees: Axes, people: IntArray, trees: Axes) -> IntArray:
    """The position in a table with `trees` of the inner cell that holds people with these leaves of all trees."""
    position = np.zeros(len(people), dtype=np.int64)
    column = {tree.name: index for index, tree in enumerate(all_trees)}
    for tree in trees:
        leaf = _leaf_of(all_trees[column[tree.name]], tree)
        position = position * len(tree.labels) + leaf[people[:, column[tree.name]]]
    return position


def is_cycle(trees: Axes, axes: Sequence[Axes]) -> bool:
    """Whether tables that agree on all shared margins may still have no population behind them.

    That cannot happen if the tables are decomposable; the reduction is Graham's test for an acyclic hypergraph: drop
    axes that one table alone has, then tables that lie inside another, until nothing changes.

    >>> from safemargin.core import Hierarchy
    >>> a, b, c = (Hierarchy.flat(name, ["0", "1"]) for name in "abc")
    >>> is_cycle((a, b, c), [(a, b), (b, c)]), is_cycle((a, b, c), [(a, b), (b, c), (a, c)])
    (False, True)
    """
    ranks = {tree.name: _ranks(tree, axes) for tree in trees}
    if any(rank is None for rank in ranks.values()):
        return len(axes) > 2
    scopes = []
    for table in axes:
        scope = set()
        for tree in table:
            rank = ranks[tree.name] or {}
            scope |= {(tree.name, level) for level in range(rank[_leaves(tree)] + 1)}
        scopes.append(scope)
    while len(scopes) > 1:
        lone = {axis for axis in set().union(*scopes) if sum(axis in scope for scope in scopes) == 1}
        smaller = [scope - lone for scope in scopes]
        kept = [s for a, s in enumerate(smaller) if not any(s < o or (s == o and a < b) for b, o in enumerate(smaller))]
        if kept == scopes:
            return True
        scopes = kept
    return False


def _shape(trees: Axes) -> tuple[int, ...]:
    """Nodes per axis, sums included: the shape of the array of counts."""
    return tuple(len(tree.labels) for tree in trees)


def _leaves(tree: Hierarchy) -> frozenset[str]:
    """The labels of the categories of an axis that are not sums."""
    return frozenset(tree.labels[leaf] for leaf in tree.leaves)


def _union(trees: Axes) -> tuple[Hierarchy, ...]:
    """One tree per axis with the nodes and sums of all trees that have its name."""
    merged: dict[str, tuple[dict[str, int], dict[tuple[int, tuple[int, ...]], None]]] = {}
    for tree in trees:
        node_of, splits = merged.setdefault(tree.name, ({tree.labels[0]: 0}, {}))
        nodes = [0, *(node_of.setdefault(label, len(node_of)) for label in tree.labels[1:])]
        for parent, children in tree.splits:
            splits[nodes[parent], tuple(nodes[child] for child in children)] = None
    return tuple(Hierarchy(name, tuple(node_of), tuple(splits)) for name, (node_of, splits) in merged.items())


def _nodes(trees: Axes, table: Axes) -> IntArray:
    """A row per cell of one table with its nodes of all trees."""
    rows = np.zeros((int(np.prod(_shape(table))), len(trees)), dtype=np.int64)
    column = {tree.name: index for index, tree in enumerate(trees)}
    for tree, nodes in zip(table, np.unravel_index(np.arange(len(rows)), _shape(table)), strict=True):
        node_of = {label: node for node, label in enumerate(trees[column[tree.name]].labels)}
        rows[:, column[tree.name]] = np.array([0, *(node_of[label] for label in tree.labels[1:])])[nodes]
    return rows


def _leaf_of(tree: Hierarchy, other: Hierarchy) -> IntArray:
    """For every leaf of `tree` (by node), the leaf of `other` that holds it; -1 if none."""
    leaf_of = np.full(len(tree.labels), -1, dtype=np.int64)
    node_of = {label: node for node, label in enumerate(tree.labels)}
    for leaf in other.leaves:
        inside = tree.members[node_of[other.labels[leaf]]]
        leaf_of[np.array(tree.leaves)[inside]] = leaf
    return leaf_of


def _check_categories(names: Sequence[str], axes: Sequence[Axes], trees: Axes) -> None:
    """Categories of an axis in one table must be the same, parts or unions of those in another."""
    for tree in trees:
        users = [
            (name, axis) for name, table in zip(names, axes, strict=True) for axis in table if axis.name == tree.name
        ]
        for (name, left), (other, right) in combinations(users, 2):
            here, there = _leaf_of(tree, left) >= 0, _leaf_of(tree, right) >= 0
            if (here & ~there).any() and (there & ~here).any():
                label = tree.labels[int(np.flatnonzero(here & ~there)[0])]
                raise InputError(
                    f"{name}: {tree.name} = {label!r} is not in {other}; a hierarchy must say what it is part of"
                )


def _ranks(tree: Hierarchy, axes: Sequence[Axes]) -> dict[frozenset[str], int] | None:
    """The sets of categories that tables use for one axis, the widest first; None if they are not nested.

    An axis at two levels (regions in one table, districts in another) acts in the test for cycles like two axes, of
    which the finer table has both.
    """
    used = {_leaves(axis): axis for table in axes for axis in table if axis.name == tree.name}
    order = sorted(used.values(), key=lambda axis: len(axis.leaves))
    for wide, fine in zip(order, order[1:], strict=False):
        pairs = set(zip(_leaf_of(tree, fine).tolist(), _leaf_of(tree, wide).tolist(), strict=True))
        if len({a for a, _ in pairs}) < len(pairs):
            return None
    return {_leaves(axis): rank for rank, axis in enumerate(order)}


def _people(trees: Axes, axes: Sequence[Axes], cell_ids: Sequence[IntArray], counts: IntArray) -> IntArray | None:
    """Combinations of leaves that no table says are empty; None if there are too many."""
    rows = np.zeros((1, len(trees)), dtype=np.int64)
    column = {tree.name: index for index, tree in enumerate(trees)}
    for index, tree in enumerate(trees):
        leaves = np.array(tree.leaves, dtype=np.int64)
        if len(rows) * len(leaves) > 20 * MAX_COMBINATIONS:
            return None
        rows = np.repeat(rows, len(leaves), axis=0)
        rows[:, index] = np.tile(leaves, len(rows) // len(leaves))
        for table, ids in zip(axes, cell_ids, strict=True):
            used = [column[axis.name] for axis in table]
            if max(used) == index:  # all axes of the table are filled in: drop what it shows to be empty
                inside = [(_leaf_of(trees[a], axis) >= 0)[rows[:, a]] for a, axis in zip(used, table, strict=True)]
                rows = rows[np.all(inside, axis=0)]
                rows = rows[counts[ids[containing_cell(trees, rows, table)]] != 0]
    return rows if len(rows) <= MAX_COMBINATIONS else None
