"""From cells that must be withheld to a pattern that protects them all, and back to fewer cells."""

import time

import numpy as np
from scipy import sparse

from safemargin.bounds.moves import Moves
from safemargin.decide.withhold.pool import Pool
from safemargin.decide.withhold.problem import Problem
from safemargin.model.arrays import BoolArray, IntArray
from safemargin.randomness import numpy_generator

SEED = 40_000
LARGE = 1_500
TURNS = 4
"""Rounds over cells for which no whole move was found, each with other prices."""


class Repair:
    """Completes and thins patterns of one problem; every move found goes into the pool."""

    def __init__(self, asked: Problem, pool: Pool) -> None:
        self.asked, self.pool = asked, pool
        self.moves = Moves(asked.equations, asked.counts)
        self.generator = numpy_generator(SEED)
        self.short: list[int] = []
        """Cells that the last completion found in need of cells beyond the pattern."""

    def stuck(
        self,
        withheld: BoolArray,
        needs: IntArray | None = None,
        most: int | None = None,
        among: BoolArray | None = None,
    ) -> list[int]:
        """Withheld cells whose requirement nothing inside the pattern meets; stops after `most` of them."""
        needs = self.asked.needs if needs is None else needs
        met = self.pool.meets(withheld, needs)
        found: list[int] = []
        inside = Inside(self, withheld)
        for cell in np.flatnonzero((withheld if among is None else among) & ~met).tolist():
            if met[cell]:
                continue
            move = inside.move(cell, int(needs[cell]))
            if move is None:
                found.append(cell)
                if most is not None and len(found) >= most:
                    break
            else:
                self._take(move, met, needs)
        return found

    def _take(self, move: IntArray, met: BoolArray, needs: IntArray) -> None:
        self.pool.add(move)
        met |= (move != 0) & ((needs == 0) | (move >= needs))

    def complete(self, withheld: BoolArray, deadline: float) -> BoolArray | None:
        """More cells, until every withheld cell's requirement is met; None if that cannot be or takes too long."""
        needs, pattern = self.asked.needs, withheld.copy()
        met = self.pool.meets(pattern, needs)
        self.short = []
        for turn in range(TURNS):
            price = np.where(
                self.asked.candidates, 1.0 + (0.01 + turn) * self.generator.random(self.asked.size), np.inf
            )
            self.moves.open(pattern, price)
            for cell in np.flatnonzero(pattern & ~met).tolist():
                if time.monotonic() > deadline:
                    return None
                if not met[cell]:
                    move = self._cheapest(cell, int(needs[cell]), pattern)
                    if move is not None:
                        self._take(move, met, needs)
                        new = (move != 0) & ~pattern
                        if new.any():
                            self.short += [cell] if withheld[cell] else []
                            self.moves.cheapen(np.flatnonzero(new))
                            pattern |= new
            if not (pattern & ~met).any():
                return pattern
        return None

    def _cheapest(self, cell: int, need: int, pattern: BoolArray) -> IntArray | None:
        """The move that meets the requirement of a cell with the fewest cells beyond the pattern."""
        best: tuple[int, IntArray] | None = None
        for amount in (need,) if need else (1, -1):
            move, _ = self.moves.find(cell, amount, seconds=1.0)
            if move is not None:
                new = int(((move != 0) & ~pattern).sum())
                best = (new, move) if best is None or new < best[0] else best
                if new == 0:
                    break
        return None if best is None else best[1]

    def thin(self, withheld: BoolArray, deadline: float) -> BoolArray:
        """The pattern less secondary cells that it can do without, one at a time."""
        pattern = withheld.copy()
        order = self.generator.permutation(np.flatnonzero(pattern & ~self.asked.primary))
        for cell in order.tolist():
            if time.monotonic() > deadline:
                break
            pattern[cell] = False
            if self.stuck(pattern, most=1):
                pattern[cell] = True
        return pattern


class Inside:
    """Moves inside one pattern; where that is a small part of a large table, its cells get a model of their own."""

    def __init__(self, repair: Repair, withheld: BoolArray) -> None:
        asked, self.cells = repair.asked, np.arange(repair.asked.size)
        self.size, self.moves = asked.size, repair.moves
        if asked.size > LARGE and withheld.sum() < asked.size / 2:
            self.cells = np.flatnonzero(withheld)
            self.moves = Moves(sparse.csr_array(asked.equations[:, self.cells]), asked.counts[self.cells])
        self.moves.open(withheld[self.cells])

    def move(self, cell: int, need: int) -> IntArray | None:
        """One that changes a cell, or lets it rise by `need`."""
        place = int(np.searchsorted(self.cells, cell))
        for amount in (need,) if need else (1, -1):
            part, _ = self.moves.find(place, amount, seconds=1.0)
            if part is not None:
                move = np.zeros(self.size, dtype=np.int64)
                move[self.cells] = part
                return move
        return None
