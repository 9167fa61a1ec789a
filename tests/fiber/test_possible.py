"""Fibers seen through the cells that are asked about."""

from dataclasses import replace

import numpy as np

from brute import published
from safemargin.bounds.build import build_system
from safemargin.bounds.exposure import CellIndex, Exposure, Fiber
from safemargin.bounds.fiber_count import count_tables, glance
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


def test_a_first_look_is_short() -> None:
    known = cube(6)
    found = count_tables(known, quick=True)
    assert not found.exact
    cells, cell_of = cells_asked(known, None)
    assert glance(known, targets_of(known, cell_of, len(cells))).tables is None
    large = cube(8)
    cells, cell_of = cells_asked(large, None)
    assert glance(large, targets_of(large, cell_of, len(cells))) == Fiber(None, None)
