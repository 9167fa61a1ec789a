"""Proofs that a sum cannot exceed a number: integer multipliers of the public rows over one denominator.

Objects
    goal        way * sum of x over some places, to be limited from above (way is 1 or -1; -1 for lower ends)
    y[r]        integer multiplier of row r: of its upper end if positive, of its lower end if negative
    z[e] >= 0   integer multiplier of the people of profile e
    D           the common denominator
    d           D * goal - y A - z: what the multipliers leave of the goal, one number per variable

Statement (weak duality, in integers)
    For every possible table x

        D * goal . x  =  y A x + z x + d x
                     <=  sum of y[r] * (upper if y[r] > 0 else lower) + sum of z[e] N[e] + sum of max(d low, d high)

    so goal . x is at most the right side over D, rounded down, as goal . x is an integer (a Chvatal-Gomory cut of rank
    1). Any multipliers give a valid limit; good ones give the sharp one.

Method
    A single row, or a row less the ceilings of its other cells, settles most ends (`Shortcuts`). For the others the
    duals of a linear program are rounded to a common denominator (`DualProgram`): basic duals are rationals with small
    denominators, and rounding wrongly costs sharpness, never truth.

What callers may rely on
    * `Facts.limit` is exact integer arithmetic without overflow; it returns nothing where a sum could leave 64 bits.
    * What it accepts, the checker of a certificate computes anew from the files (`check.py`, `checker.py`).

Example
    x + y <= 3 with both at least 0: the multiplier 1 of this row limits x by 3, as it leaves d = -1 for y.
    The multipliers 1/2 of x + y <= 3, y + z <= 3 and x + z <= 3 limit x + y + z by 9/2, so by 4.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from scipy import sparse

from safemargin.bounds.certificate import Dual
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.search import Targets
from safemargin.bounds.solver import PRIMAL, form_of, is_optimal, solver_of
from safemargin.bounds.system import System, joint_rows
from safemargin.core import UNBOUNDED, FloatArray, IntArray

CLOSE = 1e-6
SAFE = 2**62
"""Sums below this cannot overflow."""


@dataclass(frozen=True)
class DualObjective:
    """`way * sum(x[places])`, to be limited from above by `wanted`; `way` is 1 or -1.

    A limit of `wanted` proves the end; a larger one is valid and leaves a gap.
    """

    places: IntArray
    way: int
    wanted: int


@dataclass(frozen=True)
class UpperLimit:
    """A dual and the whole number that it limits its goal by: `goal . x <= value` for every possible table."""

    value: int
    dual: Dual


def goal_of(targets: Targets, target: int, upwards: bool, end: int) -> DualObjective:
    """What has to be limited for one end of one target.

    For `t = offset + sign * sum`, the upper end asks for `sign * sum <= end - offset`, the lower one for `-sign * sum
    <= offset - end`.
    """
    a, b = targets.matrix.indptr[target], targets.matrix.indptr[target + 1]
    way = int(targets.sign[target]) * (1 if upwards else -1)
    offset = int(targets.offset[target])
    return DualObjective(
        np.asarray(targets.matrix.indices[a:b], dtype=np.int64), way, end - offset if upwards else offset - end
    )


class Facts:
    """The rows of a system, ready to be weighed; what a certificate may use and nothing else.

    Propagated intervals are not used here: a checker would have to propagate too. `reach` bounds the absolute value of
    any sum of ends, so that overflow is excluded before anything is added.
    """

    def __init__(self, system: System) -> None:
        self.system, self.rows = system, system.rows
        self.shared = system.people is not None and system.n_free_options > 1
        self.by_variable = sparse.csr_array(self.rows.T)
        self.limited = system.upper < UNBOUNDED
        self.capped = system.high < UNBOUNDED
        self.deepest = int(np.diff(self.by_variable.indptr).max(initial=0)) + 2
        caps = int(system.high[self.capped].sum()) + (0 if system.people is None else int(system.people.sum()))
        self.reach = caps + int(system.upper[self.limited].sum()) + int(system.lower.sum()) + 1

    def limit(self, goal: DualObjective, dual: Dual) -> int | None:
        """The whole number that `dual` limits `goal` by, or none if it does not limit it.

        None too if a multiplier asks for an end that its row does not have, if a variable without a ceiling keeps a
        positive rest, or if numbers are so large that 64 bits might not do.
        """
        system, times = self.system, dual.denominator
        top = max(times, _largest(dual.rows), _largest(dual.people))
        # No sum below can leave 64 bits; if one could, the caller takes another dual.
        if top * self.deepest * self.reach >= SAFE:
            return None
        value = 0
        rest = np.zeros(system.size, dtype=np.int64)
        rest[goal.places] = goal.way * times
        for row, number in dual.rows.items():
            end = int(system.upper[row] if number > 0 else system.lower[row])
            if end >= UNBOUNDED:
                return None
            value += number * end
            a, b = self.rows.indptr[row], self.rows.indptr[row + 1]
            rest[self.rows.indices[a:b]] -= number * self.rows.data[a:b]
        for profile, number in dual.people.items():
            assert system.people is not None
            value += number * int(system.people[profile])
            rest[profile * system.n_free_options : (profile + 1) * system.n_free_options] -= number
        above = rest > 0
        if (above & ~self.capped).any():
            return None
        value += int((rest[above] * system.high[above]).sum()) + int((rest[~above] * system.low[~above]).sum())
        # Rounding down is valid: the counts, and so the goal, are integers (a Chvatal-Gomory cut of rank 1).
        return value // times

    def covering(self, variable: int) -> IntArray:
        """Rows with an upper end that a variable stands in, the least first."""
        a, b = self.by_variable.indptr[variable], self.by_variable.indptr[variable + 1]
        rows = self.by_variable.indices[a:b]
        rows = rows[self.limited[rows]]
        return np.asarray(rows[np.argsort(self.system.upper[rows], kind="stable")], dtype=np.int64)


class Shortcuts:
    """Proofs without a program: caps, one row, or one row less the ceilings of its other cells.

    `best[v]` is the row of least upper end that variable v stands in, -1 where its own cap is lower; `ceiling` is what
    that gives for every variable.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts, system = facts, facts.system
        self.best = np.full(system.size, -1, dtype=np.int64)
        self.ceiling = system.high.copy()
        order = np.argsort(-system.upper, kind="stable")
        for row in order[facts.limited[order]].tolist():  # the least is written last
            inside = facts.rows.indices[facts.rows.indptr[row] : facts.rows.indptr[row + 1]]
            lower = inside[self.ceiling[inside] > system.upper[row]]
            self.ceiling[lower], self.best[lower] = system.upper[row], row
        self.unlimited = self._per_row((self.ceiling >= UNBOUNDED).astype(np.int64))
        self.sums = self._per_row(np.where(self.ceiling >= UNBOUNDED, 0, self.ceiling))
        self.lengths = np.diff(facts.rows.indptr)

    def _per_row(self, values: IntArray) -> IntArray:
        return np.asarray(self.facts.rows @ values, dtype=np.int64)

    def prove(self, goal: DualObjective) -> UpperLimit | None:
        """The best proof of this kind."""
        best: UpperLimit | None = None
        for dual in self._from_above(goal) if goal.way > 0 else self._from_below(goal):
            value = self.facts.limit(goal, dual)
            if value is not None and (best is None or value < best.value):
                best = UpperLimit(value, dual)
                if value <= goal.wanted:
                    break
        return best

    def _around(self, goal: DualObjective) -> IntArray:
        """Rows that all variables of the goal stand in."""
        touched = self.facts.by_variable[goal.places].indices
        rows, times = np.unique(touched, return_counts=True)
        return np.asarray(rows[times == len(goal.places)], dtype=np.int64)

    def _from_above(self, goal: DualObjective) -> Iterator[Dual]:
        """Multipliers for an upper end: the least row that holds all of it, the people of its profiles, or every place
        alone.
        """
        system = self.facts.system
        rows = self._around(goal)
        rows = rows[self.facts.limited[rows]]
        if len(rows):
            yield Dual(1, {int(rows[np.argmin(system.upper[rows])]): 1})
        if self.facts.shared:
            yield Dual(1, {}, dict.fromkeys(np.unique(goal.places // system.n_free_options).tolist(), 1))
        yield self._ceilings(goal.places, {})

    def _from_below(self, goal: DualObjective) -> Iterator[Dual]:
        """Multipliers for a lower end: none, the largest row inside, or the row around it less the ceilings of its
        other cells.
        """
        system = self.facts.system
        yield Dual()
        touched, times = np.unique(self.facts.by_variable[goal.places].indices, return_counts=True)
        inside = touched[times == self.lengths[touched]]
        if len(inside):
            yield Dual(1, {int(inside[np.argmax(system.lower[inside])]): -1})
        goal_ceiling = int(np.where(self.ceiling >= UNBOUNDED, 0, self.ceiling)[goal.places].sum())
        loose = int((self.ceiling[goal.places] >= UNBOUNDED).sum())
        rows = touched[times == len(goal.places)]
        rows = rows[self.unlimited[rows] <= loose]
        if len(rows):
            row = int(rows[np.argmax(system.lower[rows] - (self.sums[rows] - goal_ceiling))])
            a, b = self.facts.rows.indptr[row], self.facts.rows.indptr[row + 1]
            others = np.setdiff1d(self.facts.rows.indices[a:b], goal.places)
            yield self._ceilings(others, {row: -1})

    def _ceilings(self, places: IntArray, numbers: dict[int, int]) -> Dual:
        """Every place limited by the least row it stands in, or by its cap."""
        for row in self.best[places].tolist():
            if row >= 0:
                numbers[row] = numbers.get(row, 0) + 1
        return Dual(1, {row: number for row, number in numbers.items() if number})


class DualProgram:
    """One linear program over the rows and caps as published, kept warm; its duals become proofs."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solver = solver_of(form_of(joint_rows(facts.system), facts.system.low, facts.system.high), PRIMAL)
        self.last = np.zeros(0, dtype=np.int64)

    def prove(self, goal: DualObjective) -> tuple[UpperLimit | None, FloatArray | None]:
        """The best proof that rounded duals give, and the table where the program has its optimum."""
        places = np.unique(np.r_[self.last, goal.places]).astype(np.int32)
        cost = np.zeros(self.facts.system.size)
        cost[goal.places] = -goal.way
        self.solver.changeColsCost(len(places), places, cost[places])
        self.last = goal.places
        self.solver.run()
        if not is_optimal(self.solver):
            return None, None
        solution = self.solver.getSolution()
        best: UpperLimit | None = None
        for dual in self._rounded(-np.asarray(solution.row_dual)):
            value = self.facts.limit(goal, dual)
            # Rounding may leave an unlimited variable with a positive rest: a row that covers it takes that up.
            if value is None:
                dual = self._mended(goal, dual)
                value = self.facts.limit(goal, dual)
            if value is not None and (best is None or value < best.value):
                best = UpperLimit(value, dual)
                if value <= goal.wanted:
                    break
        return best, np.asarray(solution.col_value)

    def _rounded(self, multipliers: FloatArray) -> Iterator[Dual]:
        """The multipliers over growing denominators, those that fit well first."""
        used = np.flatnonzero(np.abs(multipliers) > CLOSE)
        values = multipliers[used]
        fits = [d for d in EFFORT.denominators if np.abs(values - np.rint(values * d) / d).max(initial=0.0) < CLOSE]
        # Basic duals of integer matrices are rationals; continued fractions recover denominators up to 840.
        exact = lcm(*(Fraction(value).limit_denominator(840).denominator for value in np.unique(values.round(9))))
        for denominator in dict.fromkeys(
            [*fits[:2], min(exact, EFFORT.common_denominator), EFFORT.denominators[-1], EFFORT.finest_denominator]
        ):
            yield self._dual(used, np.rint(values * denominator).astype(np.int64), denominator)

    def _dual(self, used: IntArray, numbers: IntArray, denominator: int) -> Dual:
        """Multipliers as integers: rows first, then the people of profiles; those with a useless sign are dropped."""
        count = len(self.facts.system.lower)
        rows, people = {}, {}
        for row, number in zip(used.tolist(), numbers.tolist(), strict=True):
            if row >= count:
                if number > 0:
                    people[row - count] = number
            elif number < 0 or (number > 0 and self.facts.limited[row]):
                rows[row] = number
        return Dual(denominator, rows, people)

    def _mended(self, goal: DualObjective, dual: Dual) -> Dual:
        """Where rounding left a variable without a cap to be limited, a row that limits it takes a little more."""
        facts = self.facts
        rest = np.zeros(facts.system.size, dtype=np.int64)
        rest[goal.places] = goal.way * dual.denominator
        for row, number in dual.rows.items():
            rest[facts.rows.indices[facts.rows.indptr[row] : facts.rows.indptr[row + 1]]] -= number
        rows = dict(dual.rows)
        for variable in np.flatnonzero((rest > 0) & ~facts.capped).tolist():
            over, by = int(rest[variable]), facts.covering(variable)
            if over <= 0 or not len(by):
                continue
            row = int(by[0])
            rows[row] = rows.get(row, 0) + over
            rest[facts.rows.indices[facts.rows.indptr[row] : facts.rows.indptr[row + 1]]] -= over
        return Dual(dual.denominator, {row: number for row, number in rows.items() if number}, dual.people)


def _largest(numbers: object) -> int:
    assert isinstance(numbers, dict)
    return max((abs(number) for number in numbers.values()), default=0)
