"""Fibers seen through the cells that are asked about."""

from dataclasses import replace

import numpy as np

from brute import published
from safemargin.bounds.build import build_system
from safemargin.bounds.exposure import CellIndex, Exposure, Fiber
from safemargin.bounds.fiber_count import count_tables, glance
from safemargin.bounds.report import classical, entries, gap_words
from safemargin.bounds.system import System
from safemargin.bounds.targets import cells_asked, targets_of
from safemargin.core import Onlooker, Target


def cube(size: int) -> System:
    """Six people in every cell, published by all pairs of three axes."""
    every = [(i, j) for i in range(size) for j in range(size)]
    shown = [
        published(a + b, [a, b], [((f"{a}{i}", f"{b}{j}"), None, 6 * size) for i, j in every])
        for a, b in ("AB", "AC", "BC")
    ]
    return build_system(shown, Onlooker())


def test_all_or_nobody_is_disclosed() -> None:
    """Every count that is possible is a share outside the limits, although the interval reaches from end to end."""
    cells = CellIndex(("A",), (("A0", "A1"),), np.array([[0], [1]]))
    ends = np.array([[0], [0]]), np.array([[20], [20]])
    whole = np.ones((2, 1), dtype=bool)
    hull = Exposure(
        cells, (), np.array([20, 20]), *ends, whole, np.zeros((2, 1), dtype=np.int64), Onlooker(), (20,), 40
    )
    target = Target(beta=0.05, kappa=10, tau=0)
    assert hull.tallied(target) == {"contained": 0, "open": 2, "disclosed": 0}
    gaps = replace(hull, fiber=Fiber(1, 2, 2, "", ((0, 20), (0, 10, 20))))
    assert gaps.verdicts(target).ravel().tolist() == [2, 1]
    assert gaps.fiber is not None and gaps.fiber.gaps == (0, 1)
    assert Fiber(1, 3, 3, "", ((0, 1, 2),)).gaps == ()
    assert [entry.get("attained") for entry in entries(gaps, target)] == [[0, 20], [0, 10, 20]]
    assert gap_words(gaps) == "Not every count in an interval is possible: A0 is one of 0, 20, and 1 more gap."
    only = replace(hull, fiber=Fiber(1, 1, 1, "", ((0,), (20,))))
    assert gap_words(only) == "Only one integer table is possible." and gap_words(hull) == ""


def test_classical_measures_of_two_cells_of_which_nothing_is_known() -> None:
    """20 people each, and 20 of 40 say yes: anything from none to all may, so the share may be off by a half."""
    cells = CellIndex(("A",), (("A0", "A1"),), np.array([[0], [1]]))
    ends = np.array([[0], [0]]), np.array([[20], [20]])
    whole, method = np.ones((2, 1), dtype=bool), np.zeros((2, 1), dtype=np.int64)
    found = Exposure(cells, (), np.array([20, 20]), *ends, whole, method, Onlooker(), (20,), 40)
    assert classical(found) == {"k": 20, "l": 2, "t": 0.5, "sharp": True}


def test_a_first_look_is_short() -> None:
    system = cube(6)
    found = count_tables(system, quick=True)
    assert not found.exact
    cells, cell_of = cells_asked(system, None)
    assert glance(system, targets_of(system, cell_of, len(cells))).tables is None
    large = cube(8)
    cells, cell_of = cells_asked(large, None)
    assert glance(large, targets_of(large, cell_of, len(cells))) == Fiber(None, None)
