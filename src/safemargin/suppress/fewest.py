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
    * `least_value` and `FewestCells.shown` are exact, and need no solver.
    * Cuts that rest on integrality, on coalitions, or on people behind a cycle of tables are not used: the proof may
      show less than the search did, never more than what holds. `fewest_search.py` looks for weights.

Example
    A row with one primary cell and two others: one of the two is suppressed as well.

    >>> least_value({"times": 1, "weights": [[0, 1]]}, [(0, frozenset({1, 2}))], frozenset({1, 2}))
    1
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray

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
