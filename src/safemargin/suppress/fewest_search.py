"""Look for the weights of cuts that prove that no pattern has fewer cells; `fewest.py` states what they prove.

The weights of one case are the dual of its covering program, a linear one; cases part a cell of which the program takes
a fraction. What is found is rounded to fractions and added up again in integers before it is returned. The search is
limited in programs, not in seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, is_optimal, solver_of
from safemargin.core import FloatArray, IntArray
from safemargin.suppress.cuts import MAX_SCALE, Cut, common_fractions
from safemargin.suppress.fewest import FewestProof, Need, least_value
from safemargin.suppress.moves import PUBLIC, Problem

PROGRAMS = 120
"""Linear programs for the cases of one proof."""
DEEPEST = 30
MOST_NUMBERS = 200_000
"""Multipliers of a proof; a larger one is not written."""
ROUNDED = 1e-6


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
