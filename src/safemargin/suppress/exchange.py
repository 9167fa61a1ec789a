"""Exchanging moves: a pattern as the cells of a set of moves, made cheaper move by move.

Objects (as in `moves.py`)
    M           moves; S = the union of the cells that they change
    cover[j]    how many of them change cell j
    needed      cells that must be suppressed and of which something is claimed (primary ones, old gaps)

Statement
    If tau = 0, no rise is required and the public is the only onlooker, S protects all its cells, whatever the moves:
    each cell of S changes in a move of M, that move lies inside S, so the count has two values in tables that print
    the same. Conversely, in every pattern that protects each cell is in such a move. So the problem is to cover the
    `needed` cells by moves whose union is cheap, and every set of moves that covers them is a pattern: no program has
    to be solved to know that.

Method
    Take away the moves through one secondary cell, and cover what they leave uncovered by the cheapest moves that are
    found, where cells of the others cost nothing. Keep the exchange if the union costs no more than before: steps of
    equal cost leave a local optimum. Boxes come first, linear programs after (`finder.py`), each from its slack basis,
    which was measured to be two to three times as fast as from the basis of the last.

What callers may rely on
    * `accept` is called with every pattern that is cheaper than the last one; each is a union of stored moves.
    * Time decides how cheap the pattern is. There are no cells of unknown protection at any moment.

Example
    Two people in one row, each in a box of its own: six secondary cells. One move of six cells protects both with four.

    >>> from safemargin.core import Hierarchy, lattice
    >>> from safemargin.core import numpy_generator
    >>> from safemargin.suppress.linked import single
    >>> from safemargin.suppress.moves import MoveStore
    >>> from safemargin.suppress.problem import build_problem
    >>> axes = [Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["a", "b", "c", "d"])]
    >>> problem = build_problem(single(lattice(axes, [[1, 1, 8, 9], [7, 6, 8, 9]])), (1, 1))
    >>> store, found = MoveStore(problem.counts), []
    >>> for first, second in ((6, 8), (7, 9)):  # f a with f c, f b with f d
    ...     move = np.zeros(problem.size, dtype=np.int64)
    ...     move[[first, second, first + 5, second + 5]] = 1, -1, -1, 1
    ...     store.add(move)
    >>> builder = PatternBuilder(problem, store)
    >>> builder.generator = numpy_generator(1)
    >>> exchange = MoveExchange(builder)
    >>> int(exchange.pattern.sum())
    8
    >>> exchange.improve(time.monotonic() + 10.0, found.append)
    >>> int(exchange.pattern.sum()), len(found) > 0
    (6, True)
"""

import math
import time
from collections.abc import Callable

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.suppress.feasibility import PatternBuilder
from safemargin.suppress.moves import PUBLIC, Problem

INNER = 0.5
"""Price below which a box is taken at once: all its cells are suppressed already."""
FAILURES = 3
"""Sweeps over all secondary cells without a better pattern after which it stays."""


class MoveExchange:
    """Moves that cover a pattern, of which some are exchanged for cheaper ones."""

    def __init__(self, builder: PatternBuilder) -> None:
        """All moves in the store of `builder` at first: with those that a pattern does not need, `improve` begins."""
        self.problem, self.finder, self.store, self.generator = (
            builder.problem,
            builder.finder,
            builder.store,
            builder.generator,
        )
        problem, store = self.problem, self.store
        self.needed = problem.forced & ~problem.unlisted
        self.cover = np.zeros(problem.size, dtype=np.int64)
        self.through: dict[int, set[int]] = {}
        self.price: FloatArray = np.zeros(problem.size)
        for number in range(len(store.cells)):
            self._put(number)

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether covering is all that is asked: one value more for every suppressed count, for the public."""
        return problem.width == 1 and not problem.required_rise.any() and problem.views == (PUBLIC,)

    @property
    def pattern(self) -> BoolArray:
        """The cells that the moves change, and those that are never printed."""
        return np.asarray((self.cover > 0) | self.problem.forced)

    @property
    def value(self) -> int:
        """What the cells cost that need not be suppressed."""
        return int(self.problem.cost[(self.cover > 0) & ~self.problem.forced].sum())

    def keep(self, pattern: BoolArray) -> None:
        """Only the moves inside a pattern; others would suppress more."""
        for number in {number for cell in np.flatnonzero(~pattern).tolist() for number in self.through.get(cell, ())}:
            self._take(number)

    def improve(self, deadline: float, accept: Callable[[BoolArray], None]) -> None:
        """Exchange moves until `deadline`, or until some sweeps over all secondary cells find nothing better."""
        self._open()
        best, failures = math.inf, 0
        while failures < FAILURES:
            self._drop(range(len(self.store.cells)))
            failures += 1
            if self.value < best:
                best, failures = self.value, 0
                accept(self.pattern)
            cells = self.generator.permutation(np.flatnonzero((self.cover > 0) & ~self.problem.forced))
            for cell in cells.tolist():
                if time.monotonic() > deadline:
                    return
                if self.cover[cell] and self._exchange(cell) and self.value < best:
                    best, failures = self.value, 0
                    accept(self.pattern)

    def _exchange(self, cell: int) -> bool:
        """Cover what the moves through a cell cover by others; False, and nothing changes, if these are dearer."""
        before, taken = self.value, list(self.through[cell])
        for number in taken:
            self._take(number)
        open_cells = {c for number in taken for c in self.store.cells[number].tolist() if self.needed[c]}
        first = len(self.store.cells)
        placed = self._covered([c for c in open_cells if not self.cover[c]], before)
        if placed and self.value <= before:
            self._drop(range(first, len(self.store.cells)))
            return True
        for number in range(first, len(self.store.cells)):
            self._take(number)
        for number in taken:
            self._put(number)
        return False

    def _covered(self, cells: list[int], most: int) -> bool:
        """Cover cells by the cheapest moves that are found; False if one has none, or the union costs more."""
        self.generator.shuffle(cells)
        for cell in cells:
            if self.cover[cell]:
                continue
            found = self._cheapest(cell) if self.value <= most else None
            if found is None:
                return False
            self.store.add(found)
            self._put(len(self.store.cells) - 1)
        return True

    def _cheapest(self, cell: int) -> IntArray | None:
        """A move that protects a cell at the least price among those that boxes and two programs find; None if none is
        found.

        A box inside the pattern is free, so it is taken at once.
        """
        best: tuple[float, IntArray] | None = None
        for amount in (-1, 1):
            if (move := self.finder.box(cell, amount, INNER)) is not None:
                return move
        for amount in (1, -1):
            move, _ = self.finder.find(cell, amount, 0.0, -1.0)
            if move is not None:
                cost = float(self.finder.price[:-1][move != 0].sum())
                best = (cost, move) if best is None or cost < best[0] else best
                if cost < INNER:
                    break
        return None if best is None else best[1]

    def _drop(self, numbers: range) -> None:
        """Take away moves that cover nothing needed which no other one covers; those that free most cells first."""
        inside = [
            n for n in numbers if self.store.cells[n].size and n in self.through.get(int(self.store.cells[n][0]), ())
        ]
        alone = (self.cover == 1) & ~self.problem.forced
        inside.sort(key=lambda number: -int(alone[self.store.cells[number]].sum()))
        for number in inside:
            cells = self.store.cells[number]
            if (self.cover[cells[self.needed[cells]]] > 1).all():
                self._take(number)

    def _put(self, number: int) -> None:
        """Keep a move: its cells are covered once more, and newly covered ones cost nothing for other moves."""
        cells = self.store.cells[number]
        new = cells[self.cover[cells] == 0]
        self.cover[cells] += 1
        for cell in cells.tolist():
            self.through.setdefault(cell, set()).add(number)
        self._reprice(new)

    def _take(self, number: int) -> None:
        """Give up a move: cells that no other move covers have their price again."""
        cells = self.store.cells[number]
        self.cover[cells] -= 1
        for cell in cells.tolist():
            self.through[cell].discard(number)
        self._reprice(cells[self.cover[cells] == 0])

    def _open(self) -> None:
        """All candidates at their price, and cells of the pattern at none."""
        noise = 0.01 * self.generator.random(self.problem.size)
        self.price = np.asarray(self.problem.cost * (1.0 + noise + 0.02 * self.problem.level), dtype=np.float64)
        self.finder.open(self.pattern, np.where(self.problem.candidates, self.price, np.inf))

    def _reprice(self, cells: IntArray) -> None:
        """Set what cells cost now: nothing where a move covers them, their price elsewhere."""
        cells = cells[~self.problem.forced[cells]]
        if len(cells) and self.price.any():
            self.finder.set_price(cells, np.where(self.cover[cells] > 0, 0.0, self.price[cells]))
