"""Counting, listing and drawing where the first way does not do: against exhaustion or a known answer."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from brute import published
from safemargin.bounds.build import build_system
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import Drawn
from safemargin.bounds.fiber_count import TOO_MANY, UNTIED, Count, attained, count_tables, tables
from safemargin.bounds.fiber_equations import Equations, eliminate, rank
from safemargin.bounds.fiber_listing import TableSearch, _branch, count_by_grid
from safemargin.bounds.fiber_sample import reach
from safemargin.bounds.fiber_vertices import count_by_vertices
from safemargin.bounds.possible import STOPPED, draw, possible
from safemargin.core import ContradictionError, InputError, IntArray, Onlooker, PublishedTable, TooLargeError


def equations(matrix: IntArray, total: IntArray, room: IntArray) -> Equations:
    count = len(room)
    return Equations(sparse.csr_array(matrix), total, room, np.arange(count), np.zeros(count, dtype=np.int64))


def solutions(form: Equations) -> IntArray:
    """Every solution, by trying all values of all unknowns."""
    every = np.array(list(product(*(range(top + 1) for top in form.room.tolist()))))
    return every[(every @ form.matrix.toarray().T == form.total).all(axis=1)]


def one_axis(*groups: tuple[str, int | tuple[int, int]]) -> PublishedTable:
    """Sums over some categories of one axis."""
    return published("a.csv", ["a"], [((names,), None, count) for names, count in groups])


def two_way(rows: list[int], columns: list[int]) -> list[PublishedTable]:
    return [
        published(name, [name], [((f"{name}{place}",), None, count) for place, count in enumerate(counts)])
        for name, counts in (("r", rows), ("c", columns))
    ]


HALVES = [("x|y", 1), ("y|z", 1), ("x|z", 1)]
"""Only a half each satisfies these."""


def test_partial_sums_count_what_ceilings_leave() -> None:
    rng = np.random.default_rng(1)
    capped = 0
    for _ in range(20):
        matrix = rng.integers(0, 2, (2, 4)) | np.eye(2, 4, dtype=np.int64) | np.eye(2, 4, 2, dtype=np.int64)
        room = rng.integers(0, 4, 4)
        form = equations(matrix, matrix @ rng.integers(0, room + 1), room)
        assert count_by_grid(form, 10**6) == len(solutions(form))
        capped += bool((room < form.total.max()).any())
    assert capped > 5


def test_partial_sums_are_for_zeros_and_ones_and_find_contradictions() -> None:
    room = np.array([3, 3])
    assert count_by_grid(equations(np.array([[1, 2]]), np.array([3]), room), 10**6) is None
    assert count_by_grid(equations(np.array([[1, 1], [1, 1]]), np.array([3, 2]), room), 10**6) == 0
    assert count_by_grid(equations(np.array([[1, 1]]), np.array([3]), room), 0) is None


def test_vertices_are_left_where_they_are_many() -> None:
    form = equations(np.array([[1, 1, 1]]), np.array([4]), np.array([4, 4, 4]))
    assert count_by_vertices(form, 10) == len(solutions(form)) == 15
    assert count_by_vertices(form, 2) is None


def test_counts_that_no_equation_ties_are_multiplied() -> None:
    """Nothing is published about 3 and 4 people but their number: anything from nobody to all may say yes."""
    hidden = published("a.csv", ["a"], [(("x",), "yes", None), (("y",), "yes", None)], ["yes"])
    roll = published("roll.csv", ["a"], [(("x",), None, 3), (("y",), None, 4)], measure="people")
    system = build_system([hidden], Onlooker(roll=(roll,)))
    assert count_tables(system) == Count(4 * 5, True, UNTIED)


def test_a_first_look_counts_nothing_large() -> None:
    system = build_system(two_way([30] * 25, [30] * 25), Onlooker())
    assert count_tables(system, quick=True) == Count(None, False, TOO_MANY)


def test_pieces_are_listed_together() -> None:
    system = build_system([one_axis(("x|y", 3), ("u|v", 2))], Onlooker())
    listed = {tuple(table) for chunk in tables(system, 12) for table in chunk.tolist()}
    assert len(listed) == count_tables(system).value == 4 * 3
    with pytest.raises(TooLargeError, match="more than 11 tables"):
        list(tables(system, 11))
    assert attained(system, limit=11) is None
    assert list(tables(build_system([one_axis(*HALVES, ("u|v", 2))], Onlooker()))) == []


def test_many_open_counts_are_not_listed() -> None:
    size = int(EFFORT.listing_entries**0.5) + 1
    none = np.zeros(size, dtype=np.int64)
    with pytest.raises(TooLargeError, match="too many open counts"):
        TableSearch(Equations(sparse.csr_array((size, size), dtype=np.int64), none, none, none, none))


@pytest.mark.parametrize("rows", [1, 3])
def test_branches_are_a_partition(rows: int) -> None:
    """Every value of the unknown lies in one case, however small the chunks are."""
    low, high = np.zeros((rows, 2)), np.full((rows, 2), 9.0)
    low[:, 1] = np.arange(rows)
    found = [
        (value, int(first[0, 1]))
        for lows, highs in _branch(low, high, 0, 4)
        for first, last in zip(lows[:, None], highs[:, None], strict=True)
        for value in range(int(first[0, 0]), int(last[0, 0]) + 1)
    ]
    assert sorted(found) == [(value, row) for value in range(10) for row in range(rows)]


def test_rank_of_large_equations() -> None:
    rng = np.random.default_rng(2)
    for shape in ((4, 7), (7, 4)):
        matrix = rng.integers(0, 2, shape)
        matrix[-1] = matrix[0]
        expected = int(np.linalg.matrix_rank(matrix))
        assert rank(sparse.csr_array(matrix), 0) == rank(sparse.csr_array(matrix), 10**9) == expected


def test_elimination_of_very_large_totals() -> None:
    """Sums beyond 2^40, where one more step of elimination could leave 64 bits."""
    matrix, truth = np.array([[1, 1, 0], [3, 1, 2]]), np.array([2**41, 2**41 + 5, 7])
    solved = eliminate(matrix, matrix @ truth, np.array([0, 1, 2]))
    assert solved is not None and solved.free.tolist() == [2]
    assert (solved.scale * truth[solved.pivots] + solved.matrix @ truth[solved.free] == solved.total).all()


def test_exchanges_reach_no_more_tables_than_there_are() -> None:
    rng = np.random.default_rng(3)
    for _ in range(3):
        table = rng.integers(0, 4, (2, 3))
        system = build_system(two_way(table.sum(axis=1).tolist(), table.sum(axis=0).tolist()), Onlooker())
        count = sum(len(chunk) for chunk in tables(system))
        assert 1 < reach(system, table.ravel(), rng) <= count


def test_what_is_not_counted_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no way to count ends in time, exchanges show that there are at least so many tables."""
    shown = two_way([4, 5], [3, 3, 3])
    exact = possible(shown).fiber
    little = replace(EFFORT, search_work=(1, 1), search_work_per_table=0, grid_work=(0, 0), vertices=(0, 0))
    monkeypatch.setattr("safemargin.bounds.fiber_count.EFFORT", little)
    found = possible(shown).fiber
    assert exact.tables is not None and found.tables is None and 1 < found.reached <= exact.tables


def test_an_interrupted_count_is_no_count() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    found = possible(two_way([4, 5], [3, 3, 3]), progress=stop).fiber
    assert (found.tables, found.reached, found.method, found.dimension) == (None, 0, STOPPED, 2)


def test_contradictions_are_explained() -> None:
    with pytest.raises(ContradictionError, match=r"these facts cannot all hold: a.csv \(a x \| y\) = 5; "):
        possible([one_axis(("x|y", 5), ("x|y|z", 4))])


def drawn_from(shown: list[PublishedTable], count: int, stop: int | None = None) -> Drawn:
    def interrupt(_: str, done: int, total: int | None) -> None:
        if done == stop:
            raise KeyboardInterrupt

    return draw(shown, count=count, progress=interrupt)


def test_drawing_ends_with_what_was_drawn() -> None:
    shown = two_way([2, 1], [1, 2])
    whole, part = drawn_from(shown, 20), drawn_from(shown, 20, stop=12)
    assert (whole.tables, part.tables) == (20, 10)  # two were drawn before and omitted
    with pytest.raises(KeyboardInterrupt):
        drawn_from(shown, 20, stop=3)
    with pytest.raises(InputError, match="1 tables to draw: give at least 2"):
        drawn_from(shown, 1)


def test_drawing_starts_from_an_integer_table() -> None:
    """The only one, one that a linear program finds, or one that an integer program has to find; or there is none."""
    assert drawn_from([one_axis(("x", 3), ("y", 0))], 2).mean.tolist() == [3.0, 0.0]
    odd = [("x|y", (0, 1)), ("y|z", (0, 1)), ("x|z", (0, 1)), ("x|y|z", 1)]
    assert drawn_from([one_axis(*odd)], 30).mean.sum() == pytest.approx(1)
    with pytest.raises(ContradictionError):
        drawn_from([one_axis(*HALVES)], 2)
