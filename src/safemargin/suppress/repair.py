"""From cells that must be suppressed to a pattern that protects them all, and back to fewer cells."""

import time
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray, numpy_generator
from safemargin.suppress.coalition import PUBLIC, View
from safemargin.suppress.moves import Moves
from safemargin.suppress.pool import Pool, Reach
from safemargin.suppress.problem import Problem

SEED = 40_000
LARGE = 1_500
TURNS = 4
"""Rounds over cells for which no whole move was found, each with other prices."""
MOST_LACKS = 60
"""Cells that insiders know, after which no others are looked for in this round."""
MOST_SPLITS = 6
"""Ways of rising and falling that together are wide enough, up to which all are tried."""

Lack = tuple[View, int]
"""Somebody's view, and a suppressed cell whose requirement is not met in it."""


class Repair:
    """Completes and thins patterns of one problem; every move found goes into the pool."""

    def __init__(self, asked: Problem, pool: Pool) -> None:
        self.asked, self.pool = asked, pool
        self.moves = Moves(asked.equations, asked.counts, asked.floor)
        self.generator = numpy_generator(SEED)
        self.short: list[Lack] = []
        """What the last completion found in need of cells beyond the pattern."""

    def lacks(self, suppressed: BoolArray, most: int | None = None) -> list[Lack]:
        """Suppressed cells whose requirement nothing inside the pattern meets; stops after `most` of them.

        Insiders are looked at where the public knows nothing, and not all of them where some know something.
        """
        asked, reach, inside = self.asked, Reach(self.pool, suppressed), Inside(self, suppressed)
        found: list[Lack] = []
        for view in asked.views:
            if view == PUBLIC or view.sees_more(suppressed):
                cells = self._concerned(suppressed, view)
                room = None if most is None else most - len(found)
                short = self._stuck(reach, inside, view, cells, asked.asks(view), asked.width, room)
                found += [(view, cell) for cell in short]
                if found and (view == PUBLIC or len(found) >= (most or MOST_LACKS)):
                    break
        return found

    def exposed(self, suppressed: BoolArray, wishes: IntArray, among: BoolArray) -> list[int]:
        """Cells among some whose count cannot rise as far as wished, for the public."""
        return self._stuck(Reach(self.pool, suppressed), Inside(self, suppressed), PUBLIC, among, wishes, 0, None)

    def _concerned(self, suppressed: BoolArray, view: View) -> BoolArray:
        cells: BoolArray = suppressed & ~self.asked.untold
        cells[list(view.known)] = False
        return cells

    def _stuck(
        self,
        reach: Reach,
        inside: "Inside",
        view: View,
        among: BoolArray,
        needs: IntArray,
        width: int,
        most: int | None,
    ) -> list[int]:
        up, down = reach.ends(view)
        cells = np.flatnonzero(among & ((up < needs) | (up + down < width)))
        found: list[int] = []
        if len(cells):
            inside.see(view)
        for cell in cells.tolist():
            for move in inside.moves_of(cell, int(needs[cell]), width, int(up[cell]), int(down[cell])):
                reach.add(move)
                up, down = np.maximum(up, move), np.maximum(down, -move)
            if up[cell] < needs[cell] or up[cell] + down[cell] < width:
                found.append(cell)
                if most is not None and len(found) >= most:
                    break
        return found

    def complete(self, suppressed: BoolArray, deadline: float) -> BoolArray | None:
        """More cells, until every suppressed cell's requirement is met; None if that cannot be or takes too long."""
        asked, pattern = self.asked, suppressed.copy()
        self.short = []
        failed = 0
        while failed < TURNS:
            price = np.where(asked.candidates, 1.0 + (0.01 + failed) * self.generator.random(asked.size), np.inf)
            unmet = missed = 0
            reach = Reach(self.pool, pattern)
            for view in asked.views:
                if view != PUBLIC and not view.sees_more(pattern):
                    continue
                needs, width = asked.asks(view), asked.width
                up, down = reach.ends(view)
                cells = np.flatnonzero(self._concerned(pattern, view) & ((up < needs) | (up + down < width)))
                if len(cells):
                    self.moves.open(pattern, price, view.known, view.at_least)
                for cell in cells.tolist():
                    if time.monotonic() > deadline:
                        return None
                    if up[cell] >= needs[cell] and up[cell] + down[cell] >= width:
                        continue
                    unmet += 1
                    moves = self._cheapest(cell, int(needs[cell]), pattern, int(up[cell]), int(down[cell]))
                    missed += moves is None
                    for move in moves or ():
                        reach.add(move)
                        up, down = np.maximum(up, move), np.maximum(down, -move)
                        new = (move != 0) & ~pattern
                        if new.any():
                            self.short += [(view, cell)] if suppressed[cell] else []
                            self.moves.cheapen(np.flatnonzero(new))
                            pattern |= new
            if not unmet:
                return pattern
            failed += bool(missed)
        return None

    def _cheapest(self, cell: int, need: int, pattern: BoolArray, up: int, down: int) -> list[IntArray] | None:
        """Moves that meet the requirement of a cell with the fewest cells beyond the pattern."""
        best: tuple[int, list[IntArray]] | None = None
        for amounts in _ways(need, self.asked.width, up, down):
            found = [self.moves.find(cell, amount, seconds=1.0)[0] for amount in amounts]
            moves = [move for move in found if move is not None]
            if len(moves) == len(amounts):
                new = int((np.any([move != 0 for move in moves], axis=0) & ~pattern).sum())
                best = (new, moves) if best is None or new < best[0] else best
                if new == 0:
                    break
        return None if best is None else best[1]

    def thin(self, suppressed: BoolArray, deadline: float) -> BoolArray:
        """The pattern less cells that it can do without, one at a time."""
        pattern = suppressed.copy()
        order = self.generator.permutation(np.flatnonzero(pattern & ~self.asked.gone))
        for cell in order.tolist():
            if time.monotonic() > deadline:
                break
            pattern[cell] = False
            if self.lacks(pattern, most=1):
                pattern[cell] = True
        return pattern


def _ways(need: int, width: int, up: int, down: int) -> Iterator[tuple[int, ...]]:
    """Steps, upwards or downwards, that make a count able to rise by `need` and wide enough, given its ends so far."""
    most = max(need, width)
    rises = list(range(most, need - 1, -1))
    if len(rises) > MOST_SPLITS:
        some = np.linspace(need, most, MOST_SPLITS).astype(int).tolist()
        rises = sorted({*some, max(need, width - down)}, reverse=True)
    for rise in rises:
        fall = max(width - max(rise, up), 0)
        steps = ((rise,) if rise > up else ()) + ((-fall,) if fall > down else ())
        if steps:
            yield steps


class Inside:
    """Moves inside one pattern; where that is a small part of a large table, its cells get a model of their own."""

    def __init__(self, repair: Repair, suppressed: BoolArray) -> None:
        asked, self.cells = repair.asked, np.arange(repair.asked.size)
        self.size, self.moves, self.suppressed = asked.size, repair.moves, suppressed
        self.parted = asked.size > LARGE and suppressed.sum() < asked.size / 2
        if self.parted:
            self.cells = np.flatnonzero(suppressed)
            part = sparse.csr_array(asked.equations[:, self.cells])
            self.moves = Moves(part, asked.counts[self.cells], asked.floor[self.cells])

    def see(self, view: View) -> None:
        """Look for moves that an onlooker with this view cannot rule out."""
        known = [cell for cell in view.known if self.suppressed[cell]]
        at_least = [(cell, least) for cell, least in view.at_least if self.suppressed[cell]]
        self.moves.open(
            self.suppressed[self.cells],
            None,
            np.searchsorted(self.cells, known).tolist(),
            [(int(np.searchsorted(self.cells, cell)), least) for cell, least in at_least],
        )

    def moves_of(self, cell: int, need: int, width: int, up: int, down: int) -> Iterator[IntArray]:
        """Moves that let a count rise by `need` and take it `width` apart, as far as there are any."""
        place = int(np.searchsorted(self.cells, cell))
        if up < need:
            if (move := self._move(place, need)) is None:
                return
            up, down = max(up, int(move[cell])), max(down, -int(move[cell]))
            yield move
        for rise in range(width - down, up, -1):
            if (move := self._move(place, rise)) is not None:
                up = max(up, int(move[cell]))
                yield move
                break
        if up + down < width and (move := self._move(place, up - width)) is not None:
            yield move

    def _move(self, place: int, amount: int) -> IntArray | None:
        part, _ = self.moves.find(place, amount, seconds=1.0)
        if part is None:
            return None
        move = np.zeros(self.size, dtype=np.int64)
        move[self.cells] = part
        return move
