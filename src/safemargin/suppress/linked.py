"""Tables of one population seen together: the same cell in two of them is one cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, InputError, IntArray, Lattice, Tree

MOST_PEOPLE = 50_000
"""Combinations of all categories up to which the people behind a ring of tables are looked at one by one."""
NOT_TOLD = -1


@dataclass(frozen=True)
class Earlier:
    """A table that is out already: counts where `known`, `gaps` where they were suppressed; the rest is not told."""

    trees: tuple[Tree, ...]
    counts: IntArray
    known: BoolArray
    gaps: BoolArray


@dataclass(frozen=True)
class Linked:
    """Cells of `tables` and of `earlier` ones, numbered: those of the first table first, in their order.

    `trees` are the axes of all tables put together, `nodes` has a row per cell with its node of each; `places` says for
    each table, earlier ones last, which cell is where. A count that nobody told is -1. If the tables hang together in
    a ring, `people` are the combinations of categories that somebody may have; they are numbered after the cells.
    """

    names: tuple[str, ...]
    tables: tuple[Lattice, ...]
    earlier: tuple[Earlier, ...]
    trees: tuple[Tree, ...]
    nodes: IntArray
    places: tuple[IntArray, ...]
    counts: IntArray
    new: BoolArray
    """Cells of the tables to be published."""
    known: BoolArray
    """Cells published before."""
    gaps: BoolArray
    """Cells suppressed before."""
    people: IntArray
    unseen: bool = False
    """Whether they hang together in a ring that is too large for this."""

    def cell(self, number: int) -> dict[str, str]:
        """Labels of a cell by axis; an axis that is summed over is left out."""
        nodes = self.nodes[number].tolist()
        return {tree.name: tree.labels[node] for tree, node in zip(self.trees, nodes, strict=True) if node}

    @property
    def every(self) -> tuple[tuple[Tree, ...], ...]:
        """The axes of each table, earlier ones last."""
        return (*(each.trees for each in self.tables), *(each.trees for each in self.earlier))

    @cached_property
    def equations(self) -> sparse.csr_array:
        """Rows that are zero for every population: each sum of each table, then who makes up its inner cells."""
        size = len(self.counts) + len(self.people)
        parts = []
        for trees, places in zip(self.every, self.places, strict=True):
            rows = Lattice(trees, np.zeros(_shape(trees), dtype=np.int64)).equations.tocoo()
            parts.append(sparse.csr_array((rows.data, (rows.row, places[rows.col])), shape=(rows.shape[0], size)))
        if len(self.people):
            parts += [self._made_of(trees, places) for trees, places in zip(self.every, self.places, strict=True)]
        return sparse.csr_array(sparse.vstack(parts)) if len(parts) > 1 else parts[0]

    def _made_of(self, trees: tuple[Tree, ...], places: IntArray) -> sparse.csr_array:
        """Inner cells of one table less the people in them."""
        inner = inner_places(trees)
        row_of = np.full(len(places), -1, dtype=np.int64)
        row_of[inner] = np.arange(len(inner))
        rows = np.r_[row_of[inner], row_of[falls_into(self.trees, self.people, trees)]]
        columns = np.r_[places[inner], len(self.counts) + np.arange(len(self.people))]
        signs = np.r_[np.ones(len(inner), dtype=np.int64), np.full(len(self.people), -1, dtype=np.int64)]
        return sparse.csr_array((signs, (rows, columns)), shape=(len(inner), len(self.counts) + len(self.people)))


def alone(table: Lattice) -> Linked:
    """One table by itself."""
    size = table.counts.size
    nodes = np.stack(np.unravel_index(np.arange(size), table.shape), axis=1)
    no, yes = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
    people = np.zeros((0, len(table.trees)), dtype=np.int64)
    places = (np.arange(size),)
    return Linked(("",), (table,), (), table.trees, nodes, places, table.counts.ravel(), yes, no, no, people)


def link(tables: Mapping[str, Lattice], earlier: Mapping[str, Earlier] | None = None) -> Linked:
    """Tables about the same people, by the names of their files, and those that are out already."""
    before = dict(earlier or {})
    if len(tables) == 1 and not before:
        return alone(next(iter(tables.values())))
    names = (*tables, *before)
    every = [*(each.trees for each in tables.values()), *(each.trees for each in before.values())]
    trees, nodes, places = number(every)
    _check_covered(names, every, trees)
    counts = np.full(len(nodes), NOT_TOLD, dtype=np.int64)
    new, known, gaps = (np.zeros(len(nodes), dtype=bool) for _ in range(3))
    told_by: list[str | None] = [None] * len(nodes)
    for at, name in enumerate(names):
        if name in tables and at < len(tables):
            values, told = tables[name].counts.ravel(), np.ones(len(places[at]), dtype=bool)
            new[places[at]] = True
        else:
            out = before[name]
            values, told = out.counts, out.known
            known[places[at][told]] = True
            gaps[places[at][out.gaps]] = True
        mine = places[at][told]
        wrong = np.flatnonzero((counts[mine] != NOT_TOLD) & (counts[mine] != values[told]))
        if len(wrong):
            cell, value = int(mine[wrong[0]]), int(values[told][wrong[0]])
            words = ", ".join(tree.labels[node] for tree, node in zip(trees, nodes[cell], strict=True) if node) or "all"
            raise InputError(
                f"{name}: {words}: {value:,}, but {told_by[cell]} says {counts[cell]:,}; are they the same people?"
            )
        for cell in mine[counts[mine] == NOT_TOLD].tolist():
            told_by[cell] = name
        counts[mine] = values[told]
    people: IntArray | None = np.zeros((0, len(trees)), dtype=np.int64)
    if is_ring(trees, every):
        people = _people(trees, every, places, counts)
        if people is not None and not len(people) and counts[0]:
            raise InputError(f"{', '.join(names)}: contradict each other: nobody can be in all of these tables")
    return Linked(
        names=names,
        tables=tuple(tables.values()),
        earlier=tuple(before.values()),
        trees=trees,
        nodes=nodes,
        places=places,
        counts=counts,
        new=new,
        known=known,
        gaps=gaps & ~known,
        people=np.zeros((0, len(trees)), dtype=np.int64) if people is None else people,
        unseen=people is None,
    )


def number(every: Sequence[Sequence[Tree]]) -> tuple[tuple[Tree, ...], IntArray, tuple[IntArray, ...]]:
    """The axes of some tables put together, the nodes of every cell, and which cell is at each place of each table."""
    trees = _together([tree for each in every for tree in each])
    stacked = np.concatenate([_nodes(trees, each) for each in every])
    _, first, inverse = np.unique(stacked, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    places = np.split(rank[inverse.ravel()], np.cumsum([int(np.prod(_shape(each))) for each in every])[:-1])
    return trees, stacked[np.sort(first)], tuple(places)


def inner_places(trees: Sequence[Tree]) -> IntArray:
    """Places of the cells that nothing adds up to."""
    index = np.arange(int(np.prod(_shape(trees)))).reshape(_shape(trees))
    return index[np.ix_(*(tree.leaves for tree in trees))].ravel()


def falls_into(every: Sequence[Tree], people: IntArray, trees: Sequence[Tree]) -> IntArray:
    """The inner place of a table that people with these leaves of all axes are in."""
    at = np.zeros(len(people), dtype=np.int64)
    for tree in trees:
        column = next(place for place, each in enumerate(every) if each.name == tree.name)
        at = at * len(tree.labels) + _leaf_of(every[column], tree)[people[:, column]]
    return at


def is_ring(trees: Sequence[Tree], every: Sequence[Sequence[Tree]]) -> bool:
    """Whether tables that agree on all they share may still have no population behind them."""
    ranks = {tree.name: _ranks(tree, every) for tree in trees}
    if any(rank is None for rank in ranks.values()):
        return len(every) > 2
    scopes = []
    for each in every:
        scope = set()
        for tree in each:
            rank = ranks[tree.name] or {}
            scope |= {(tree.name, level) for level in range(rank[_leaves(tree)] + 1)}
        scopes.append(scope)
    while len(scopes) > 1:
        single = {v for v in set().union(*scopes) if sum(v in scope for scope in scopes) == 1}
        smaller = [scope - single for scope in scopes]
        kept = [
            s for at, s in enumerate(smaller) if not any(s < o or (s == o and at < b) for b, o in enumerate(smaller))
        ]
        if kept == scopes:
            return True
        scopes = kept
    return False


def _shape(trees: Sequence[Tree]) -> tuple[int, ...]:
    return tuple(len(tree.labels) for tree in trees)


def _leaves(tree: Tree) -> frozenset[str]:
    return frozenset(tree.labels[leaf] for leaf in tree.leaves)


def _together(trees: Sequence[Tree]) -> tuple[Tree, ...]:
    """One tree per axis with the nodes and sums of all that have its name."""
    found: dict[str, tuple[dict[str, int], dict[tuple[int, tuple[int, ...]], None]]] = {}
    for tree in trees:
        place, splits = found.setdefault(tree.name, ({tree.labels[0]: 0}, {}))
        nodes = [0, *(place.setdefault(label, len(place)) for label in tree.labels[1:])]
        for parent, children in tree.splits:
            splits[nodes[parent], tuple(nodes[child] for child in children)] = None
    return tuple(Tree(name, tuple(place), tuple(splits)) for name, (place, splits) in found.items())


def _nodes(trees: Sequence[Tree], mine: Sequence[Tree]) -> IntArray:
    """A row per place of one table with its nodes of all axes."""
    found = np.zeros((int(np.prod(_shape(mine))), len(trees)), dtype=np.int64)
    for tree, nodes in zip(mine, np.unravel_index(np.arange(len(found)), _shape(mine)), strict=True):
        column = next(place for place, each in enumerate(trees) if each.name == tree.name)
        where = {label: node for node, label in enumerate(trees[column].labels)}
        found[:, column] = np.array([0, *(where[label] for label in tree.labels[1:])])[nodes]
    return found


def _leaf_of(tree: Tree, mine: Tree) -> IntArray:
    """For every node of `tree` that is a leaf, the leaf of `mine` that holds it; -1 if none."""
    found = np.full(len(tree.labels), -1, dtype=np.int64)
    where = {label: node for node, label in enumerate(tree.labels)}
    for leaf in mine.leaves:
        inside = tree.members[where[mine.labels[leaf]]]
        found[np.array(tree.leaves)[inside]] = leaf
    return found


def _check_covered(names: Sequence[str], every: Sequence[Sequence[Tree]], trees: Sequence[Tree]) -> None:
    """Categories of an axis in one table must be told by those of another: as the same, as parts, or as wider ones."""
    for tree in trees:
        mine = [
            (name, each) for name, table in zip(names, every, strict=True) for each in table if each.name == tree.name
        ]
        for (name, one), (other, two) in combinations(mine, 2):
            here, there = _leaf_of(tree, one) >= 0, _leaf_of(tree, two) >= 0
            if (here & ~there).any() and (there & ~here).any():
                label = tree.labels[int(np.flatnonzero(here & ~there)[0])]
                raise InputError(
                    f"{name}: {tree.name} = {label!r} is not in {other}; say with --hierarchy what it is part of"
                )


def _ranks(tree: Tree, every: Sequence[Sequence[Tree]]) -> dict[frozenset[str], int] | None:
    """The sets of categories that tables use for one axis, the widest first; None if they cut across each other."""
    mine = {_leaves(each): each for table in every for each in table if each.name == tree.name}
    order = sorted(mine.values(), key=lambda each: len(each.leaves))
    for wide, fine in zip(order, order[1:], strict=False):
        pairs = {(a, b) for a, b in zip(_leaf_of(tree, fine).tolist(), _leaf_of(tree, wide).tolist(), strict=True)}
        if len({a for a, _ in pairs}) < len(pairs):
            return None
    return {_leaves(each): at for at, each in enumerate(order)}


def _people(
    trees: Sequence[Tree], every: Sequence[Sequence[Tree]], places: Sequence[IntArray], counts: IntArray
) -> IntArray | None:
    """Combinations of leaves that no table says are empty; None if there are too many."""
    found = np.zeros((1, len(trees)), dtype=np.int64)
    column = {tree.name: at for at, tree in enumerate(trees)}
    for at, tree in enumerate(trees):
        leaves = np.array(tree.leaves, dtype=np.int64)
        if len(found) * len(leaves) > 20 * MOST_PEOPLE:
            return None
        found = np.repeat(found, len(leaves), axis=0)
        found[:, at] = np.tile(leaves, len(found) // len(leaves))
        for mine, cells in zip(every, places, strict=True):
            axes = [column[each.name] for each in mine]
            if max(axes) == at:
                inside = [(_leaf_of(trees[a], each) >= 0)[found[:, a]] for a, each in zip(axes, mine, strict=True)]
                found = found[np.all(inside, axis=0)]
                found = found[counts[cells[falls_into(trees, found, mine)]] != 0]
    return found if len(found) <= MOST_PEOPLE else None
