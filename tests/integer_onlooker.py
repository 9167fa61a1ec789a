"""An onlooker who solves integer programs over everybody's full profile; shares no code with the package.

A *fact* is a row of zeros and ones over all profiles, with the least and the most people that it can hold. What is
public, and what members of a coalition know beside it, is a list of facts; a table that satisfies them is possible.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp

Vector = npt.NDArray[np.int64]
Fact = tuple[Vector, int, float]
MANY = float("inf")


class People:
    """All profiles of some axes; a label of an axis is a category, a wider area (`areas`), or absent for everybody."""

    def __init__(
        self,
        axes: Mapping[str, Sequence[str]],
        areas: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    ) -> None:
        self.axes = {axis: list(labels) for axis, labels in axes.items()}
        self.areas = areas or {}
        self.profiles = [dict(zip(self.axes, labels, strict=True)) for labels in product(*self.axes.values())]

    def parts(self, axis: str, label: str) -> Sequence[str]:
        return self.areas.get(axis, {}).get(label, [label])

    def row(self, cell: Mapping[str, str]) -> Vector:
        """Which profiles a cell holds."""
        parts = {axis: set(self.parts(axis, label)) for axis, label in cell.items()}
        return np.array(
            [all(profile[axis] in parts[axis] for axis in cell) for profile in self.profiles], dtype=np.int64
        )


class Possible:
    """The integer tables that satisfy some facts; those that were found are kept, since each serves many questions."""

    def __init__(self, facts: Sequence[Fact], known: Iterable[Vector] = ()) -> None:
        self.rows = np.array([row for row, _, _ in facts])
        self.least = np.array([least for _, least, _ in facts], dtype=float)
        self.most = np.array([most for _, _, most in facts], dtype=float)
        self.tables = [table for table in known if self.holds(table)]

    def holds(self, table: Vector) -> bool:
        sums = self.rows @ table
        return bool((sums >= self.least).all() and (sums <= self.most).all() and (table >= 0).all())

    def end(self, row: Vector, sign: int) -> int | None:
        """The least (`sign` 1) or largest (-1) value of a sum over all possible tables; nothing if there is none."""
        # The linear program first, in a sixth of the time: no integer table does better than it, so one that does as
        # well has the end. Where its optimum has fractions, the integer program follows.
        for is_integer in (False, True):
            solved = milp(
                sign * row,
                integrality=np.full(len(row), int(is_integer)),
                bounds=Bounds(0, np.inf),
                constraints=LinearConstraint(self.rows, self.least, self.most),
                options={"mip_rel_gap": 0},
            )
            if solved.status == 2:
                return None
            assert solved.status == 0 or not is_integer, solved.message
            table = np.rint(solved.x).astype(np.int64) if solved.status == 0 else None
            end = solved.fun
            if table is not None and end is not None and self.holds(table) and abs(sign * (row @ table) - end) < 1e-6:
                self.tables.append(table)
                return int(row @ table)
        raise AssertionError("the table of the solver breaks a fact")  # it has floats; `holds` is integer addition

    def interval(self, row: Vector) -> tuple[int, int]:
        low, high = self.end(row, 1), self.end(row, -1)
        assert low is not None and high is not None, "no table satisfies the facts"
        return low, high

    def is_wide(self, row: Vector, tau: int = 0) -> bool:
        """Whether two possible tables differ by more than `tau` in a sum."""
        seen = [int(row @ table) for table in self.tables]
        if seen and max(seen) - min(seen) > tau:
            return True
        low, high = self.interval(row)
        return high - low > tau


def coalitions(counts: Vector, size: int) -> Iterable[Vector]:
    """Every choice of up to `size` people, as numbers by profile."""
    if size == 0 or not len(counts):
        yield np.zeros(len(counts), dtype=np.int64)
        return
    for members in range(min(size, int(counts[0])) + 1):
        for rest in coalitions(counts[1:], size - members):
            yield np.concatenate([[members], rest]).astype(np.int64)
