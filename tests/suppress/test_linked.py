"""Suppressing against those who see several tables, remember earlier ones, or are in them: against listing everything.

Every population of so many people is listed; an onlooker cannot distinguish those that print the same.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from evidence import seeds
from safemargin.core import Hierarchy, InputError, IntArray, Lattice, RefusedError, lattice, numpy_generator
from safemargin.history.contents import GAP
from safemargin.suppress.linked import LinkedTables, is_cycle, link, single
from safemargin.suppress.pattern import Pattern
from safemargin.suppress.suppress import find_pattern

AXES = "pqr"


def table(population: IntArray, axes: tuple[int, ...]) -> Lattice:
    """The table of some axes of a population."""
    others = tuple(a for a in range(population.ndim) if a not in axes)
    trees = [Hierarchy.flat(AXES[a], [f"{AXES[a]}{c}" for c in range(population.shape[a])]) for a in axes]
    return lattice(trees, population.sum(axis=others))


def populations(people: int, size: int) -> IntArray:
    """All ways of so many people to be in so many places."""
    bars = np.array(list(combinations(range(people + size - 1), size - 1)), dtype=np.int64)
    ends = np.full((len(bars), 1), people + size - 1)
    found: IntArray = np.diff(np.hstack([np.full_like(ends, -1), bars, ends]), axis=1) - 1
    return found


def cells_of(tables: LinkedTables, scopes: list[tuple[int, ...]], population: IntArray) -> IntArray:
    """Counts of all cells in one population."""
    counts = np.zeros(len(tables.counts), dtype=np.int64)
    for places, axes in zip(tables.cell_ids, scopes, strict=True):
        counts[places] = table(population, axes).counts.ravel()
    return counts


def coalitions(counts: IntArray, inner: IntArray, most: int) -> Iterator[dict[int, int]]:
    """How many of up to `most` people there are in each inner cell."""
    for size in range(1, most + 1):
        for chosen in combinations_with_replacement(inner[counts[inner] > 0].tolist(), size):
            members = {cell: chosen.count(cell) for cell in chosen}
            if all(counts[cell] >= number for cell, number in members.items()):
                yield members


class World:
    """All populations, in cells; which patterns protect."""

    def __init__(self, tables: LinkedTables, scopes: list[tuple[int, ...]], population: IntArray) -> None:
        self.tables = tables
        self.truth = cells_of(tables, scopes, population)
        units = np.eye(population.size, dtype=np.int64).reshape(-1, *population.shape)
        adding = np.array([cells_of(tables, scopes, unit) for unit in units])
        self.all = np.unique(populations(int(population.sum()), population.size) @ adding, axis=0)
        # A bit per cell: thousands of patterns are tried.
        self.bits = 1 << np.arange(len(self.truth), dtype=np.int64)
        assert len(self.bits) < 63
        self.differs, self.empty = (self.all != self.truth) @ self.bits, (self.all < 1) @ self.bits

    def alike(self, hidden: IntArray) -> IntArray:
        """Populations that print the same: the other counts are the true ones, and no hidden one is 0."""
        gone = int(self.bits[hidden].sum())
        found: IntArray = self.all[(self.differs & ~gone == 0) & (self.empty & gone == 0)]
        return found

    def protects(self, hidden: IntArray, tau: int = 0) -> bool:
        """Whether no count of `hidden` cells (those suppressed before included) is known to within `tau`."""
        alike = self.alike(hidden)
        return bool((np.ptp(alike[:, hidden], axis=0) > tau).all())

    def keeps_out(self, hidden: IntArray, insiders: int) -> bool:
        """Whether no coalition can infer the count of a hidden cell that includes others."""
        alike = self.alike(hidden)
        trees = self.tables.tables[0].trees
        index = np.arange(len(self.truth)).reshape([len(tree.labels) for tree in trees])
        inner = index[np.ix_(*(tree.leaves for tree in trees))]
        for members in coalitions(self.truth, inner.ravel(), insiders):
            mine = alike
            for cell, number in members.items():
                left = mine[:, cell] == number if self.truth[cell] == number else mine[:, cell] >= number
                mine = mine[left]
            for cell in hidden.tolist():
                nodes = np.unravel_index(cell, index.shape)
                inside = inner[np.ix_(*(tree.members[node] for tree, node in zip(trees, nodes, strict=True)))].ravel()
                filled = sum(n for c, n in members.items() if c in inside and self.truth[c] == n) == self.truth[cell]
                if not filled and np.ptp(mine[:, cell]) == 0:
                    return False
        return True


def fewest(world: World, primary: IntArray, others: IntArray, protects: object) -> int | None:
    """The size of the smallest pattern that protects, by trying all."""
    for size in range(len(others) + 1):
        for more in combinations(others.tolist(), size):
            if protects(np.array(sorted([*primary.tolist(), *more]), dtype=np.int64)):  # type: ignore[operator]
                return len(primary) + size
    return None


def random_populations(seed: int, shapes: list[tuple[int, ...]], count: int, most: int) -> Iterator[IntArray]:
    generator = numpy_generator(seed)
    found = 0
    while found < count:
        shape = shapes[generator.integers(len(shapes))]
        population = generator.integers(0, 4, size=shape) * (generator.random(shape) < 0.8)
        if 3 <= population.sum() <= most:
            found += 1
            yield population


def split(world: World, most: int) -> tuple[IntArray, IntArray]:
    tables, truth = world.tables, world.truth
    free = tables.new & ~tables.known & (np.arange(len(truth)) > 0)
    return np.flatnonzero(free & (truth >= 1) & (truth <= most)), np.flatnonzero(free & (truth > most))


def run(tables: LinkedTables, most: int, **options: int) -> Pattern | None:
    try:
        return find_pattern(tables, (1, most), extra=0, **options)
    except RefusedError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scopes", "count"),
    [
        ([(0, 1), (1, 2)], 25),
        ([(0, 1), (1, 2), (0, 2)], 25),
        ([(0, 1), (2,)], 25),
    ],
    ids=str,
)
def test_linked_tables_against_listing(scopes: list[tuple[int, ...]], count: int) -> None:
    """Tables in a row, in a ring and side by side: the fewest cells that protect from somebody who sees all."""
    protected = 0
    for population in random_populations(1, [(2, 2, 2)], count, 7):
        tables = link({str(at): table(population, axes) for at, axes in enumerate(scopes)})
        world = World(tables, scopes, population)
        primary, others = split(world, 1)
        best = fewest(world, primary, others, world.protects)
        pattern = run(tables, 1)
        assert (pattern is None) == (best is None), population
        if pattern is not None:
            assert world.protects(pattern.suppressed), population
            assert (len(pattern.suppressed), pattern.gap) == (best, 0), population
            protected += len(pattern.suppressed) > 0
    assert protected >= count // 8


def test_each_table_is_safe_alone_and_both_together_are_not() -> None:
    """Ages alone may suppress the sums of two towns, which the kinds print, if ages within towns are to be kept."""
    kinds = lattice([Hierarchy.flat("town", "abc"), Hierarchy.flat("kind", "xy")], np.array([[0, 6], [7, 5], [6, 9]]))
    ages = lattice([Hierarchy.flat("town", "abc"), Hierarchy.flat("age", "oy")], np.array([[6, 0], [9, 3], [9, 6]]))
    assert len(find_pattern(kinds).suppressed) == 0
    alone = find_pattern(ages, keep=["town,age=o"]).suppressed.tolist()
    assert {"town": "b"} in [ages.cell(place) for place in alone]
    tables = link({"kinds": kinds, "ages": ages})
    pattern = find_pattern(tables, extra=0)
    cells = [tables.cell(number) for number in pattern.suppressed.tolist()]
    assert sorted(cell["town"] for cell in cells) == ["b", "b", "c", "c"]
    assert all("age" in cell for cell in cells)


@pytest.mark.parametrize(
    ("scopes", "ring"),
    [
        (["ab", "bc", "ac"], True),
        (["ab", "bc", "cd"], False),
        (["ab", "bc", "cd", "da"], True),
        (["ab", "bc", "ac", "abc"], False),
        (["a", "b", "c"], False),
        (["ab", "ac", "ad"], False),
    ],
)
def test_which_tables_hang_together_in_a_ring(scopes: list[str], ring: bool) -> None:
    trees = {name: Hierarchy.flat(name, [f"{name}1", f"{name}2"]) for name in "abcd"}
    assert is_cycle(list(trees.values()), [[trees[name] for name in scope] for scope in scopes]) is ring


def test_tables_in_a_ring_without_people_behind_them_are_refused() -> None:
    """Who has p1 has q1, who has q1 has r1, but who has p1 has r2: any two tables agree, all three do not."""
    p, q, r = (Hierarchy.flat(name, [f"{name}1", f"{name}2"]) for name in AXES)
    alike, unlike = np.array([[4, 0], [0, 4]]), np.array([[0, 4], [4, 0]])
    tables = {"pq": lattice([p, q], alike), "qr": lattice([q, r], alike), "pr": lattice([p, r], unlike)}
    with pytest.raises(InputError, match="pq, qr, pr: contradict each other"):
        link(tables)


def test_a_member_who_knows_no_more_than_their_own_answer_learns_nothing() -> None:
    """Somebody in a suppressed cell knows that it is not empty; the public knows that too."""
    for population in random_populations(6, [(2, 3), (3, 2)], 12, 11):
        tables = single(table(population, (0, 1)))
        pattern = run(tables, 1)
        world = World(tables, [(0, 1)], population)
        for cell in () if pattern is None else pattern.suppressed.tolist():
            gone = np.isin(np.arange(len(world.truth)), pattern.suppressed)
            alike = world.all[(world.all[:, ~gone] == world.truth[~gone]).all(axis=1)]
            public = alike[(alike[:, gone] >= 1).all(axis=1)]
            assert (public[:, cell] >= 1).all()
            assert np.ptp(public[:, gone], axis=0).min() > 0


@pytest.mark.slow
def test_earlier_tables_against_listing() -> None:
    """Some cells are out, some were suppressed then: neither what is suppressed now nor then becomes known."""
    protected = 0
    for population in random_populations(2, [(2, 2, 2), (2, 3, 1)], 60, 9):
        old = table(population, (1, 2))
        then = run(single(old), 1)
        if then is None:
            continue
        gaps = np.isin(np.arange(old.counts.size), then.suppressed)
        out = Lattice(old.trees, np.where(gaps.reshape(old.shape), GAP, old.counts))
        tables = link({"new": table(population, (0, 1))}, {"old": out})
        world = World(tables, [(0, 1), (1, 2)], population)
        primary, others = split(world, 1)
        before = np.flatnonzero(tables.gaps)

        def safe(hidden: IntArray, world: World = world, before: IntArray = before) -> bool:
            return world.protects(np.union1d(hidden, before))

        best = fewest(world, np.setdiff1d(primary, before), np.setdiff1d(others, before), safe)
        pattern = run(tables, 1)
        if best is None:  # a primary count follows from what is out
            assert pattern is None or len(pattern.known), population
            continue
        assert pattern is not None, population
        assert safe(pattern.suppressed), population
        assert len(np.setdiff1d(pattern.suppressed, before)) == best, population
        protected += len(pattern.suppressed) > 0
    assert protected >= 5


def protected_as_listed(seed: int, most: int, safe: Callable[[World, IntArray], bool], **options: int) -> int:
    """How many random tables are protected; each with as few cells as listing all choices finds `safe`."""
    protected = 0
    for population in random_populations(seed, [(2, 3), (3, 2), (2, 2)], 40, most):
        tables = single(table(population, (0, 1)))
        world = World(tables, [(0, 1)], population)
        primary, others = split(world, 1)
        best = fewest(world, primary, others, partial(safe, world))
        pattern = run(tables, 1, **options)
        assert (pattern is None) == (best is None), population
        if pattern is not None:
            assert safe(world, pattern.suppressed), population
            assert (len(pattern.suppressed), pattern.gap) == (best, 0), population
            protected += len(pattern.suppressed) > 0
    return protected


@pytest.mark.slow
@pytest.mark.parametrize("insiders", seeds(1, 1, 2))
def test_insiders_against_listing(insiders: int) -> None:
    def safe(world: World, hidden: IntArray) -> bool:
        return world.protects(hidden) and world.keeps_out(hidden, insiders)

    assert protected_as_listed(3, 11, safe, insiders=insiders) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("tau", seeds(1, 1, 2))
def test_tau_against_listing(tau: int) -> None:
    assert protected_as_listed(4, 12, lambda world, hidden: world.protects(hidden, tau), tau=tau) >= 3
