"""A proof by addition that no pattern which protects has fewer cells.

Objects (as in `cuts.py`)
    forced      cells that every pattern suppresses: primary ones, and those suppressed before
    free        cells of the new tables that a pattern may suppress; y[j] = 1 if it does
    cut         a cell i and free cells C: a pattern that suppresses i suppresses one of C, so sum of y over C >= y[i]
    sides       why: integers u per sum, and how far i may change at most; see the statement of `cuts.py`
    weights     w >= 0 per cut

Statement (weak duality of the covering program)
    For every y that meets the cuts, the number of free cells is

        sum_j y[j]  >=  sum_j y[j] + sum_cuts w (y[i] - sum of y over C)  =  W + sum_j r[j] y[j]

    where y[i] = 1 if i is forced, W adds up the weights of those cuts, and r[j] = 1 - (weights of cuts with j in C) +
    (weights of cuts of j itself). That is at least W + sum of min(0, r[j]), whatever y is: weights need not be optimal,
    nor feasible. Where that is not enough, a free cell is suppressed in one case and printed in the other, and each
    case has weights of its own: r[j] counts as it is for a cell that is suppressed, and as 0 for one that is printed.

What callers may rely on
    * `least_value` is exact; `prove_fewest` returns only what was added up again in this way.
    * Cuts that rest on integrality, on coalitions, or on people behind a cycle of tables are not used: the proof may
      show less than the search did, never more than what holds.
    * The search for weights is limited in programs, not in seconds.

Example
    A row with one primary cell and two others: one of the two is suppressed as well.

    >>> least_value({"times": 1, "weights": [[0, 1]]}, [(0, frozenset({1, 2}))], frozenset({1, 2}))
    1
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, is_optimal, solver_of
from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.suppress.cuts import MAX_SCALE, Cut, common_fractions
from safemargin.suppress.moves import PUBLIC, Problem

PROGRAMS = 120
"""Linear programs for the cases of one proof."""
DEEPEST = 30
MOST_NUMBERS = 200_000
"""Multipliers of a proof; a larger one is not written."""
ROUNDED = 1e-6

Need = tuple[int, frozenset[int]]
"""A cell, and the free cells of which one is suppressed where it is."""


@dataclass(frozen=True)
class FewestProof:
    """The document of a proof, and how many cells it shows that every pattern has."""

    document: Mapping[str, Any]
    cells: int


def least_value(
    node: Mapping[str, Any], needs: Sequence[Need], free: frozenset[int], said: Mapping[int, bool] | None = None
) -> int:
    """How many free cells every pattern has by the weights of a case and of the cases within it."""
    chosen = dict(said or {})
    if "cell" in node:
        cell = node["cell"]
        if cell not in free or cell in chosen:
            raise ValueError("a case of a cell that is not free")
        cases = ((node["with"], True), (node["without"], False))
        return min(least_value(each, needs, free, {**chosen, cell: inside}) for each, inside in cases)
    times, value = int(node["times"]), 0
    if times < 1:
        raise ValueError("weights with a denominator below 1")
    rest = {cell: times for cell, inside in chosen.items() if inside}
    for number, weight in node["weights"]:
        if weight < 0 or not 0 <= number < len(needs):
            raise ValueError("a weight of no cut, or below 0")
        cell, cells = needs[number]
        if cell in free:
            rest[cell] = rest.get(cell, times) + weight
        else:
            value += weight
        for other in cells:
            rest[other] = rest.get(other, times) - weight
    for cell, left in rest.items():
        value += left if chosen.get(cell) else min(0, left) if cell not in chosen else 0
    return -(-value // times)


def prove_fewest(problem: Problem, cuts: Sequence[Cut], sums: int, lower_bound: int) -> FewestProof | None:
    """A proof from cuts of the search that every pattern has as many cells; none if it would be too large.

    `sums` is the number of sums of all tables; further equations are about people. `lower_bound` is what to show.
    """
    proved = [(cut, sides) for cut in cuts if (sides := sides_of(problem, cut, sums)) is not None]
    free = frozenset(np.flatnonzero(problem.candidates).tolist())
    needs = [(cut.cell, frozenset(cut.cells) & free) for cut, _ in proved]
    forced = int((problem.forced & problem.to_publish).sum())
    tree = Cases(problem, needs, lower_bound - forced).tree() if needs else {"times": 1, "weights": []}
    used = sorted(set(_numbers(tree)))
    place, ids = {number: at for at, number in enumerate(used)}, problem.cell_ids
    size = sum(len(rows) + len(needs[number][1]) for number in used for _, _, rows in proved[number][1])
    if size > MOST_NUMBERS:
        return None
    proofs = [
        {
            "cell": int(ids[needs[number][0]]),
            "cells": ids[sorted(needs[number][1])].tolist(),
            "sides": proved[number][1],
        }
        for number in used
    ]
    document = {"kept": _kept(problem), "proofs": proofs, "tree": _renumbered(tree, place, ids)}
    return FewestProof(document, forced + max(least_value(tree, needs, free), 0))


@dataclass(frozen=True)
class FewestCells:
    """What a certificate says of every cell, by which its proof is checked again.

    `fixed` cells never change, `forced` ones are suppressed by every pattern, `free` ones may be; `room` is how far
    counts may fall, `rise` how far each must be able to rise.
    """

    equations: sparse.csr_array
    fixed: BoolArray
    forced: BoolArray
    free: BoolArray
    claimed: BoolArray
    room: IntArray
    rise: IntArray
    tau: int

    def shown(self, document: Mapping[str, Any]) -> int:
        """How many cells every pattern has; ValueError where the proof does not show it."""
        needs = [self._need(proof) for proof in document["proofs"]]
        _integers(document["tree"])
        free = frozenset(np.flatnonzero(self.free).tolist())
        return int(self.forced.sum()) + max(least_value(document["tree"], needs, free), 0)

    def _need(self, proof: Mapping[str, Any]) -> Need:
        _integers([proof["cell"], proof["cells"], proof["sides"]])
        cell, cells, sides = proof["cell"], proof["cells"], proof["sides"]
        amounts = [amount for amount, _, _ in sides]
        if (
            min([cell, *cells]) < 0
            or not (self.claimed | self.free)[cell]
            or not self.free[cells].all()
            or cell in cells
        ):
            raise ValueError("fewest: a proof is about cells that are never printed")
        asked = sum(amounts) <= self.tau + 2 if len(sides) == 2 else amounts[0] <= self.rise[cell]
        if not 1 <= len(sides) <= 2 or min(amounts) < 1 or not asked:
            raise ValueError("fewest: a proof shows no limit that is asked for")
        moving = ~self.fixed
        moving[cells] = False
        for sign, (amount, times, rows) in zip((1, -1), sides, strict=False):
            rest = np.zeros(len(moving), dtype=object)  # integers of any size
            rest[cell] = -sign * times
            for row, number in rows:
                if not 0 <= row < self.equations.shape[0] or times < 1:
                    raise ValueError("fewest: there is no such sum")
                at = slice(*self.equations.indptr[row : row + 2].tolist())
                rest[self.equations.indices[at]] += self.equations.data[at].astype(object) * number
            left = rest[moving]
            if (left < 0).any() or sum(left * self.room[moving].astype(object)) >= amount * times:
                raise ValueError("fewest: a proof does not add up")
        return cell, frozenset(cells)


def _integers(value: Any) -> None:
    """Refuse what is not made of integers, lists and cases."""
    if isinstance(value, Mapping):
        if set(value) not in ({"cell", "with", "without"}, {"times", "weights"}):
            raise ValueError("fewest: a case of another form")
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _integers(each)
    elif type(value) is not int:
        raise ValueError(f"fewest: {str(value)[:60]!r} is no integer")


def _kept(problem: Problem) -> list[int]:
    """Cells that are never suppressed since the office wants them printed, and not for what they are."""
    inside = problem.to_publish & ~problem.forced & ~problem.candidates & (problem.cell_ids != 0)
    found: list[int] = problem.cell_ids[inside].tolist()
    return found


def sides_of(problem: Problem, cut: Cut, sums: int) -> list[Any] | None:
    """For both directions (or for a rise alone) the amount, the common denominator, and the multipliers of sums.

    None if the cut does not rest on sums and printed counts alone.
    """
    if cut.view != PUBLIC or cut.proof is None or not (cut.proof or cut.row >= 0):
        return None
    if not cut.proof:
        own, at = problem.equations, slice(*problem.equations.indptr[cut.row : cut.row + 2].tolist())
        sign = int(own.data[at][own.indices[at] == cut.cell][0])
        stated = [(1, 1, np.array([cut.row]), np.array([sign])), (1, 1, np.array([cut.row]), np.array([-sign]))]
    else:
        stated = [(part.amount, part.scale, part.rows, part.multipliers) for part in cut.proof]
    room, outside = problem.room(PUBLIC), np.zeros(problem.size, dtype=bool)
    outside[list(cut.cells)] = True
    moving = (problem.forced | problem.candidates) & ~(outside & problem.candidates)
    amounts = [amount for amount, _, _, _ in stated]
    rise = int(problem.required_rise[cut.cell])
    if not (sum(amounts) <= problem.width + 1 if len(stated) == 2 else amounts[0] <= rise):
        return None
    sides = []
    for sign, (amount, times, rows, numbers) in zip((1, -1), stated, strict=False):
        left = numbers @ problem.equations[rows]
        left[cut.cell] -= sign * times
        own = problem.sums[rows]
        wrong = (left[moving] < 0).any() or int(left[moving] @ room[moving]) >= amount * times or (own >= sums).any()
        if wrong:
            return None
        sides.append([amount, times, [list(pair) for pair in zip(own.tolist(), numbers.tolist(), strict=True)]])
    return sides


def _numbers(node: Mapping[str, Any]) -> Iterator[int]:
    if "cell" in node:
        yield from _numbers(node["with"])
        yield from _numbers(node["without"])
    else:
        yield from (number for number, _ in node["weights"])


def _renumbered(node: Mapping[str, Any], place: Mapping[int, int], ids: IntArray) -> dict[str, Any]:
    """The same with the numbers that proofs and cells have in the document."""
    if "cell" not in node:
        return {"times": node["times"], "weights": [[place[number], weight] for number, weight in node["weights"]]}
    inner = {name: _renumbered(node[name], place, ids) for name in ("with", "without")}
    return {"cell": int(ids[node["cell"]]), **inner}


@dataclass
class Cases:
    """Weights for all cases that are needed to show `goal` free cells; `programs` are left."""

    problem: Problem
    needs: Sequence[Need]
    goal: int
    programs: int = field(default=PROGRAMS)

    def __post_init__(self) -> None:
        self.free = sorted(set().union(*(cells for _, cells in self.needs), (c for c, _ in self.needs)))
        self.free = [cell for cell in self.free if self.problem.candidates[cell]]
        column = {cell: at for at, cell in enumerate(self.free)}
        entries = [(number, column[cell], 1.0) for number, (_, cells) in enumerate(self.needs) for cell in cells]
        entries += [(number, column[cell], -1.0) for number, (cell, _) in enumerate(self.needs) if cell in column]
        rows, columns, signs = zip(*entries, strict=True) if entries else ((), (), ())
        shape = (len(self.needs), len(self.free))
        self.matrix = sparse.csc_array((np.array(signs, dtype=float), (rows, columns)), shape=shape)
        self.gain = np.array([float(cell not in column) for cell, _ in self.needs])

    def tree(self) -> dict[str, Any]:
        """Cases until each shows the goal, or the programs are used up; one case alone where more show no more."""
        whole, _ = self._case({})
        free = frozenset(self.free)
        alone = least_value(whole, self.needs, free)
        if alone >= self.goal:
            return whole
        parted = self._parted({})
        return parted if least_value(parted, self.needs, free) > alone else whole

    def _parted(self, chosen: Mapping[int, bool]) -> dict[str, Any]:
        leaf, share = self._case(chosen)
        shown = least_value(leaf, self.needs, frozenset(self.free), chosen)
        between = [(abs(value - 0.5), cell) for cell, value in zip(self.free, share, strict=True) if cell not in chosen]
        cell = min(between, default=(1.0, -1))
        if shown >= self.goal or self.programs <= 0 or len(chosen) >= DEEPEST or cell[0] > 0.5 - ROUNDED:
            return leaf
        with_it = self._parted({**chosen, cell[1]: True})
        return {"cell": cell[1], "with": with_it, "without": self._parted({**chosen, cell[1]: False})}

    def _case(self, chosen: Mapping[int, bool]) -> tuple[dict[str, Any], FloatArray]:
        """The best weights of one case, and how much of each free cell the covering program takes."""
        self.programs -= 1
        fixed = np.array([chosen.get(cell, -1) for cell in self.free], dtype=np.int64)
        # A suppressed cell has no limit: its r counts as it is. Weights beyond the goal show nothing more.
        gain = self.gain - self.matrix @ (fixed == 1).astype(float)
        cuts = sparse.csc_array(sparse.csr_array(self.matrix.T))
        most = np.where(fixed == -1, 1.0, np.inf)
        form = Form(
            cuts,
            -gain,
            np.zeros(len(gain)),
            np.full(len(gain), float(max(self.goal, 1) + 1)),
            np.full(len(most), -np.inf),
            most,
        )
        solver = solver_of(form)
        solver.run()
        if not is_optimal(solver):
            return {"times": 1, "weights": []}, np.zeros(len(self.free))
        solution = solver.getSolution()
        values, share = np.maximum(np.asarray(solution.col_value), 0.0), -np.asarray(solution.row_dual)
        times, weights = common_fractions(values)
        if not times:
            times, weights = MAX_SCALE, np.floor(values * MAX_SCALE).astype(np.int64)
        used = np.flatnonzero(weights).tolist()
        return {"times": times, "weights": [[number, int(weights[number])] for number in used]}, share
