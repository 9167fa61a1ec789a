"""Feasible patterns: complete a set of suppressed cells until all are protected; remove cells that are not needed."""

import math
import time
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray, RefusedError, numpy_generator
from safemargin.suppress.moves import MoveFinder
from safemargin.suppress.problem import Problem
from safemargin.suppress.views import PUBLIC, MoveStore, PatternMoves, View

LARGE = 1_500  # cells from which on moves inside a small pattern get a model of their own
ATTEMPTS = 4  # rounds over cells for which no integer move was found, each with other prices
MAX_UNPROTECTED = 60  # cells disclosed to insiders after which the round stops looking for more
MAX_SPLITS = 6  # ways to split a width into a rise and a fall up to which all are tried

Unprotected = tuple[View, int]  # an onlooker's view, and a suppressed cell whose requirement is not met in it


class PatternBuilder:
    """Completes and reduces patterns of one problem; every move found is stored."""

    def __init__(self, problem: Problem, store: MoveStore) -> None:
        self.problem, self.store = problem, store
        self.finder = MoveFinder(problem.equations, problem.counts, problem.minimum)
        # Prices and orders come from the entropy of the system in every run and are kept nowhere: a pattern that
        # followed from the table alone would disclose more than its gaps hide.
        self.generator = numpy_generator(None)
        self.deadline = math.inf
        self.needed_more: list[Unprotected] = []  # cells for which the last completion had to add cells

    def unprotected(self, suppressed: BoolArray, most: int | None = None) -> list[Unprotected]:
        """Suppressed cells whose requirement no move inside the pattern meets; stops after `most` of them.

        Insiders are considered only if the public can infer nothing.
        """
        problem, moves, inner = self.problem, PatternMoves(self.store, suppressed), InnerFinder(self, suppressed)
        result: list[Unprotected] = []
        for view in problem.views:
            if view == PUBLIC or view.sees_more(suppressed):
                cells = self._claimed(suppressed, view)
                limit = None if most is None else most - len(result)
                stuck = self._stuck(moves, inner, view, cells, problem.rise_for(view), problem.width, limit)
                result += [(view, cell) for cell in stuck]
                if result and (view == PUBLIC or len(result) >= (most or MAX_UNPROTECTED)):
                    break
        return result

    def exposed(self, suppressed: BoolArray) -> IntArray:
        """Primary cells whose count is known to lie in the primary range."""
        problem, inner = self.problem, InnerFinder(self, suppressed)
        cells, rise = problem.primary & (problem.preferred_rise > 0), problem.preferred_rise
        moves = PatternMoves(self.store, suppressed)
        try:
            return np.array(self._stuck(moves, inner, PUBLIC, cells, rise, 0, None), dtype=np.int64)
        except TimeoutError:  # those that no move found so far shows beyond the range count as known to lie in it
            return np.flatnonzero(cells & (moves.ranges()[0] < rise))

    def _claimed(self, suppressed: BoolArray, view: View) -> BoolArray:
        cells: BoolArray = suppressed & ~self.problem.unlisted
        cells[list(view.known)] = False
        return cells

    def _stuck(
        self,
        moves: PatternMoves,
        inner: "InnerFinder",
        view: View,
        among: BoolArray,
        rise: IntArray,
        width: int,
        most: int | None,
    ) -> list[int]:
        up, down = moves.ranges(view)
        cells = np.flatnonzero(among & ((up < rise) | (up + down < width)))
        stuck: list[int] = []
        if len(cells):
            inner.open(view)
        for cell in cells.tolist():
            self.check_time()
            for move in inner.moves_of(cell, int(rise[cell]), width, int(up[cell]), int(down[cell])):
                moves.add(move)
                up, down = np.maximum(up, move), np.maximum(down, -move)
            if up[cell] < rise[cell] or up[cell] + down[cell] < width:
                stuck.append(cell)
                if most is not None and len(stuck) >= most:
                    break
        return stuck

    def check_time(self) -> None:
        """Raise TimeoutError after the deadline."""
        if time.monotonic() > self.deadline:
            raise TimeoutError

    def complete(self, suppressed: BoolArray) -> BoolArray | None:
        """Add cells until every suppressed cell is protected; None if that is impossible."""
        problem, pattern = self.problem, suppressed.copy()
        self.needed_more = []
        failed = 0
        while failed < ATTEMPTS:
            # Random prices near the cost break ties, and of equal cells the inner one is cheaper; prices spread further
            # after a round without an integer move.
            noise = (0.01 + failed) * self.generator.random(problem.size)
            price = np.where(problem.candidates, problem.cost * (1.0 + noise + 0.02 * problem.level), np.inf)
            unmet = missed = 0
            moves = PatternMoves(self.store, pattern)
            for view in problem.views:
                if view != PUBLIC and not view.sees_more(pattern):
                    continue
                rise, width = problem.rise_for(view), problem.width
                up, down = moves.ranges(view)
                cells = np.flatnonzero(self._claimed(pattern, view) & ((up < rise) | (up + down < width)))
                if len(cells):
                    self.finder.open(pattern, price, view.known, view.at_least)
                for cell in cells.tolist():
                    self.check_time()
                    if up[cell] >= rise[cell] and up[cell] + down[cell] >= width:
                        continue
                    unmet += 1
                    cheapest = self._cheapest(cell, int(rise[cell]), pattern, int(up[cell]), int(down[cell]))
                    missed += cheapest is None
                    for move in cheapest or ():
                        moves.add(move)
                        up, down = np.maximum(up, move), np.maximum(down, -move)
                        new = (move != 0) & ~pattern
                        if new.any():
                            self.needed_more += [(view, cell)] if suppressed[cell] else []
                            self.finder.add_suppressed(np.flatnonzero(new))
                            pattern |= new
            if not unmet:
                return pattern
            failed += bool(missed)
        return None

    def _cheapest(self, cell: int, rise: int, pattern: BoolArray, up: int, down: int) -> list[IntArray] | None:
        """Moves that protect a cell with the fewest cells beyond the pattern."""
        best: tuple[int, list[IntArray]] | None = None
        for amounts in _splits(rise, self.problem.width, up, down):
            candidates = [self.finder.find(cell, amount, seconds=1.0)[0] for amount in amounts]
            moves = [move for move in candidates if move is not None]
            if len(moves) == len(amounts):
                new = int((np.any([move != 0 for move in moves], axis=0) & ~pattern).sum())
                best = (new, moves) if best is None or new < best[0] else best
                if new == 0:
                    break
        return None if best is None else best[1]

    def reduce(self, suppressed: BoolArray) -> BoolArray:
        """The pattern without the cells that it does not need, tried one at a time: dear ones and totals first."""
        pattern, problem = suppressed.copy(), self.problem
        order = self.generator.permutation(np.flatnonzero(pattern & ~problem.forced))
        order = order[np.lexsort((-problem.level[order], -problem.cost[order]))]
        for cell in order.tolist():
            pattern[cell] = False
            try:
                needed = bool(self.unprotected(pattern, most=1))
            except TimeoutError:
                needed = True
            if needed:
                pattern[cell] = True
            if time.monotonic() > self.deadline:
                break
        return pattern


def _splits(rise: int, width: int, up: int, down: int) -> Iterator[tuple[int, ...]]:
    """Rises and falls that together give the required rise and width, given what is possible already."""
    most = max(rise, width)
    rises = list(range(most, rise - 1, -1))
    if len(rises) > MAX_SPLITS:
        some = np.linspace(rise, most, MAX_SPLITS).astype(int).tolist()
        rises = sorted({*some, max(rise, width - down)}, reverse=True)
    for amount in rises:
        fall = max(width - max(amount, up), 0)
        steps = ((amount,) if amount > up else ()) + ((-fall,) if fall > down else ())
        if steps:
            yield steps


class InnerFinder:
    """Moves inside one pattern; if that is a small part of a large table, its cells get a model of their own."""

    def __init__(self, builder: PatternBuilder, suppressed: BoolArray) -> None:
        problem, self.cells = builder.problem, np.arange(builder.problem.size)
        self.size, self.finder, self.suppressed = problem.size, builder.finder, suppressed
        if problem.size > LARGE and suppressed.sum() < problem.size / 2:
            self.cells = np.flatnonzero(suppressed)
            part = sparse.csr_array(problem.equations[:, self.cells])
            self.finder = MoveFinder(part, problem.counts[self.cells], problem.minimum[self.cells])

    def open(self, view: View) -> None:
        """Look for moves that an onlooker with this view cannot exclude."""
        known = [cell for cell in view.known if self.suppressed[cell]]
        at_least = [(cell, least) for cell, least in view.at_least if self.suppressed[cell]]
        self.finder.open(
            self.suppressed[self.cells],
            None,
            np.searchsorted(self.cells, known).tolist(),
            [(int(np.searchsorted(self.cells, cell)), least) for cell, least in at_least],
        )

    def moves_of(self, cell: int, rise: int, width: int, up: int, down: int) -> Iterator[IntArray]:
        """Moves that let a count rise by `rise` and give it two values `width` apart, as far as there are any."""
        position = int(np.searchsorted(self.cells, cell))
        if up < rise:
            if (move := self._move(position, rise)) is None:
                return
            up, down = max(up, int(move[cell])), max(down, -int(move[cell]))
            yield move
        for amount in range(width - down, up, -1):
            if (move := self._move(position, amount)) is not None:
                up = max(up, int(move[cell]))
                yield move
                break
        if up + down < width and (move := self._move(position, up - width)) is not None:
            yield move

    def _move(self, position: int, amount: int) -> IntArray | None:
        part, _ = self.finder.find(position, amount, seconds=1.0)
        if part is None:
            return None
        move = np.zeros(self.size, dtype=np.int64)
        move[self.cells] = part
        return move


def select_moves(problem: Problem, store: MoveStore, suppressed: BoolArray) -> sparse.csr_array:
    """Few moves, a row each, that prove every suppressed cell protected in every view."""
    matrix, moves = store.inside(suppressed), PatternMoves(store, suppressed)
    chosen = _greedy_cover(problem, matrix, suppressed & ~problem.unlisted)
    for view in problem.views:
        if view == PUBLIC or view.sees_more(suppressed):
            _add_missing(problem, moves, chosen, view, suppressed)
    return matrix[np.flatnonzero(chosen)]


def _greedy_cover(problem: Problem, matrix: sparse.csr_array, suppressed: BoolArray) -> BoolArray:
    """Rows that let counts change at all, or rise as required, for the public: those that cover most come first."""
    missing = suppressed.copy()
    covers: list[IntArray] = []
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, changes = matrix.indices[part], matrix.data[part]
        covers.append(cells[(problem.required_rise[cells] == 0) | (changes >= problem.required_rise[cells])])
    left = sorted(range(len(covers)), key=lambda row: -len(covers[row]))
    chosen = np.zeros(len(covers), dtype=bool)
    while left and missing.any():
        best = max(left, key=lambda row: int(missing[covers[row]].sum()))
        chosen[best] = bool(missing[covers[best]].any())
        missing[covers[best]] = False
        left = [row for row in left if missing[covers[row]].any()]
    return chosen


def _add_missing(problem: Problem, moves: PatternMoves, chosen: BoolArray, view: View, suppressed: BoolArray) -> None:
    """Choose more moves until all requirements are met in a view."""
    rise, width = problem.rise_for(view), problem.width
    possible = moves.possible(view)
    up, down = np.zeros(problem.size, dtype=np.int64), np.zeros(problem.size, dtype=np.int64)

    def use(entries: BoolArray) -> None:
        np.maximum.at(up, moves.cells[entries], moves.changes[entries])
        np.maximum.at(down, moves.cells[entries], -moves.changes[entries])

    use((possible & chosen)[moves.rows])
    short = suppressed & ~problem.unlisted & ((up < rise) | (up + down < width))
    short[list(view.known)] = False
    for cell in np.flatnonzero(short).tolist():
        entries = np.flatnonzero((moves.cells == cell) & possible[moves.rows])
        for sign in (1, -1):
            if len(entries) and (up[cell] < rise[cell] or up[cell] + down[cell] < width):
                entry = entries[np.argmax(sign * moves.changes[entries])]
                if sign * moves.changes[entry] > 0:
                    chosen[moves.rows[entry]] = True
                    use(moves.rows == moves.rows[entry])
        if up[cell] < rise[cell] or up[cell] + down[cell] < width:
            raise RefusedError("a suppressed cell has no moves that protect it")
