"""What is done where the first attempt fails, on systems so small that the answer is known."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from brute import published
from safemargin.bounds.bound import infer
from safemargin.bounds.build import build_system
from safemargin.bounds.certificate import Dual
from safemargin.bounds.conflict import FRACTIONS
from safemargin.bounds.duals import DualObjective, DualProgram, Facts
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.pooled import pooled
from safemargin.bounds.programs import nearby, program_budget, program_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.search import Search
from safemargin.bounds.solver import DUAL, solver_of
from safemargin.bounds.system import System
from safemargin.bounds.targets import cells_asked, targets_of
from safemargin.bounds.widths import _cut_fractions
from safemargin.bounds.witness import SoftmaxDual, newton_step
from safemargin.core import (
    ContradictionError,
    InputError,
    Onlooker,
    PublishedTable,
    TooLargeError,
)

HALVES = [("x|y", 1), ("y|z", 1), ("x|z", 1)]
"""Only a half each satisfies these."""


def one_axis(*groups: tuple[str, int | tuple[int, int]]) -> PublishedTable:
    """Sums over some categories of one axis."""
    return published("a.csv", ["a"], [((names,), None, count) for names, count in groups])


def two_way(rows: list[int], columns: list[int]) -> list[PublishedTable]:
    return [
        published(f"{name}.csv", [name], [((f"{name}{place}",), None, count) for place, count in enumerate(counts)])
        for name, counts in (("r", rows), ("c", columns))
    ]


def roll_of(people: dict[str, int]) -> Onlooker:
    roll = published("roll.csv", ["a"], [((name,), None, count) for name, count in people.items()], measure="people")
    return Onlooker(roll=(roll,))


def known_of(*tables: PublishedTable) -> System:
    return build_system(tables, Onlooker())


def message(tables: list[PublishedTable], onlooker: Onlooker | None = None) -> str:
    with pytest.raises(ContradictionError) as caught:
        infer(tables, onlooker, fiber=True)
    return str(caught.value)


# Proofs


def test_a_rounded_proof_that_leaves_a_count_unlimited_is_mended() -> None:
    """No roll caps a count; the least of the sums that it stands in does."""
    system = known_of(*two_way([4, 9], [6, 7]))
    facts = Facts(system)
    for place, least in zip(range(4), (4, 4, 6, 7), strict=True):
        goal, empty = DualObjective(np.array([place]), 1, 0), Dual(7)
        assert facts.limit(goal, empty) is None
        assert facts.limit(goal, DualProgram(facts)._mended(goal, empty)) == least


# Contradictions


def test_facts_that_only_halves_satisfy_are_refused() -> None:
    assert message([one_axis(*HALVES)]) == FRACTIONS


def test_cells_that_a_table_does_not_list_are_said_to_be_empty() -> None:
    cells = published("rc.csv", ["r", "c"], [(("r0", "c0"), None, 3), (("r1", "c1"), None, 4)])
    rows = published("r.csv", ["r"], [(("r0",), None, (5, 9))])
    assert message([cells, rows]).endswith("r.csv (r r0) from 5 to 9, if cells that a table does not list are empty")


def test_many_entries_of_a_roll_that_are_no_cell_are_counted() -> None:
    """All 30 must be among the 20 people of a and y: 20 entries of one person, which no table lists as a cell."""
    first = published("r.csv", ["r"], [(("a",), "yes", 30), (("b",), "yes", 0)], ["yes"])
    second = published("s.csv", ["s"], [(("x",), "yes", 0), (("y",), "yes", 30)], ["yes"])
    people = [((r, s, f"t{t}"), None, 1) for r, s, t in product("ab", "xy", range(20))]
    roll = published("roll.csv", ["r", "s", "t"], people, measure="people")
    assert message([first, second], Onlooker(roll=(roll,))).endswith("; roll.csv (20 entries) = 20 people")


def test_tables_that_cannot_be_read_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no table was given"):
        known_of()
    with pytest.raises(InputError, match="a cell is listed twice"):
        known_of(published("a.csv", ["a"], [(("x",), None, 3), (("x",), None, 3)]))
    monkeypatch.setattr("safemargin.bounds.bound.EFFORT", replace(EFFORT, profiles=3))
    with pytest.raises(TooLargeError, match="4 combinations of r x c"):
        infer(two_way([4, 9], [6, 7]))


def test_combinations_that_some_table_omits_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all combinations would be too many, those of the tables give the same system."""
    cells = published("rc.csv", ["r", "c"], [((f"r{i}", f"c{i}"), None, i + 1) for i in range(3)])
    tables = [cells, published("r.csv", ["r"], [((f"r{i}",), None, i + 1) for i in range(3)])]
    whole = infer(tables)
    monkeypatch.setattr("safemargin.bounds.build.EFFORT", replace(EFFORT, profiles=3))
    fewer = infer(tables)
    assert len(fewer.cells) == 3
    for row in range(3):
        same = next(place for place in range(len(whole.cells)) if whole.cells.cell(place) == fewer.cells.cell(row))
        assert fewer.lower[row] == fewer.upper[row] == whole.lower[same] == whole.upper[same]
    monkeypatch.setattr("safemargin.bounds.build.EFFORT", replace(EFFORT, profiles=2))
    with pytest.raises(TooLargeError, match="more than 2 combinations of r x c"):
        infer(tables)


# Programs


def test_fractions_are_cut_off_until_a_table_is_whole() -> None:
    """Three counts of which any two add up to at most one: most with halves, and one person in integers."""
    system = known_of(one_axis(*((names, (0, 1)) for names, _ in HALVES)))
    program = program_of(system, *propagate(system))
    for seed in range(4):
        solver = solver_of(program.form, DUAL)
        solver.changeColsCost(3, np.arange(3, dtype=np.int32), -np.ones(3))
        solver.run()
        assert np.allclose(solver.getSolution().col_value, 0.5)
        rng = np.random.default_rng(seed)
        whole = _cut_fractions(solver, program.form.low.copy(), program.form.high.copy(), rng)
        assert whole is not None and sorted(whole.tolist()) == [0, 0, 1]


def test_fractions_that_no_cut_removes_give_no_table() -> None:
    system = known_of(one_axis(*HALVES))
    program = program_of(system, *propagate(system))
    solver = solver_of(program.form, DUAL)
    solver.run()
    low, high = program.form.low.copy(), program.form.high.copy()
    assert _cut_fractions(solver, low, high, np.random.default_rng(1)) is None


def test_tables_near_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only table is far from where the search starts, or nowhere; and large systems are left alone."""
    system = known_of(*two_way([9, 0], [9, 0]))
    far = np.array([0.0, 0.0, 0.0, 9.0])
    found = nearby(system, far, system.low, np.full(4, 20))
    assert found is None, "the table is more than six away"
    assert nearby(system, np.array([4.2, 0.0, 0.0, 0.0]), system.low, np.full(4, 20)).tolist() == [9, 0, 0, 0]
    monkeypatch.setattr("safemargin.bounds.programs.EFFORT", replace(EFFORT, circle_counts=3))
    assert nearby(system, np.array([9.0, 0.0, 0.0, 0.0]), system.low, np.full(4, 20)) is None


def system_of_many_tables(count: int) -> System:
    """Two profiles, and the same counts by each of some axes."""
    axes = [f"a{axis}" for axis in range(count)]
    roll = published("roll", axes, [(("x",) * count, None, 4), (("y",) * count, None, 5)], measure="people")
    rows = [(("x",), "yes", 1), (("y",), "yes", 2)]
    return build_system([published(axis, [axis], rows, ["yes"]) for axis in axes], Onlooker(roll=(roll,)))


def test_many_tables_are_worth_fewer_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 16 tables the budget falls, except where unknowns are few: a small population in many releases."""
    for few, budgets in ((1, {16: 400, 17: 60}), (2, {16: 400, 17: 400, 40: 400})):
        effort = replace(EFFORT, work_for_400_programs=10, changed_early=few)
        monkeypatch.setattr("safemargin.bounds.programs.EFFORT", effort)
        assert {count: program_budget(system_of_many_tables(count)) for count in budgets} == budgets


def test_what_is_wide_enough_is_not_open() -> None:
    system = known_of(*two_way([4, 9], [6, 7]))
    cells, cell_of = cells_asked(system, None)
    search = Search(targets_of(system, cell_of, len(cells)), *propagate(system), 2, True)
    assert search.is_open(0, True, linear=False)
    search.take(np.array([0, 4, 6, 3]))
    search.take(np.array([3, 1, 3, 6]))
    assert not search.is_open(0, True, linear=False), "3 apart"
    search.upper[1], search.inner_lower[1], search.inner_upper[1] = search.lower[1] + 2, 1, 1
    assert not search.is_open(1, True, linear=False), "never more than 2 apart"


# Fits


def test_a_step_along_which_nothing_bends_is_finite() -> None:
    slope = np.array([1.0, -2.0])
    assert np.isfinite(newton_step(np.zeros((2, 2)), slope)).all()
    bend = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert newton_step(bend, slope) == pytest.approx(np.linalg.solve(bend, slope), rel=1e-6)


def test_limits_that_no_table_meets_are_proved_impossible() -> None:
    """9 of 10 people say yes: no table has the share between 30 and 70 %, and none has floors of more than all."""
    table = published("a.csv", ["a"], [(("x",), "yes", 9), (("y",), "yes", 5)], ["yes"])
    system = build_system([table], roll_of({"x": 10, "y": 10}))
    family = SoftmaxDual(system, system.low, system.high)
    assert family.fit().found
    assert family.fit(floors=np.array([0.3, 0.3])).impossible
    assert family.fit(floors=np.array([0.6, 0.6])).impossible


# Suppressed groups


def test_groups_that_cannot_be_pooled_are_left_as_they_are() -> None:
    """One option of a group is known and the other is not; or the groups add up to more than the total."""
    total = published("total", [], [((), "yes", 9), ((), "no", 9)], ["yes", "no"])
    for known in ((3, None, 4, 4), (None, None, 10, 4)):
        cells = [((name,), option, n) for (name, option), n in zip(product("xy", ("yes", "no")), known, strict=True)]
        table = published("a.csv", ["a"], cells, ["yes", "no"])
        assert pooled((total, table), {"a": ("x", "y")})[1] is table
