"""Feasible patterns: complete a set of suppressed cells until all are protected; remove cells that are not needed.

Objects (as in `moves.py`)
    rise[j]     how far the count of cell j must be able to rise (`protect`), 0 where nothing is required
    width       tau + 1: two values of every suppressed count must be that far apart
    up, down    how far stored moves let each count rise and fall

Statement
    A pattern protects if, for every onlooker and every suppressed cell, moves give up >= rise and up + down >= width.
    Moves are the witnesses: `unprotected` returns the cells for which none is found. If it returns nothing, the pattern
    protects, whatever the search overlooked; `decided` says whether each cell it did return is proved to be disclosed.

Method
    `complete` asks for each unprotected cell for the move that needs the fewest cells beyond the pattern (prices: next
    to nothing inside, about 1 outside), and suppresses them. That is the greedy heuristic of Kelly, Golden and Assad
    (Networks 22, 1992) with integer moves. `reduce` tries to print each secondary cell again, dear ones first.

What callers may rely on
    * `complete` returns a pattern that protects, or None.
    * `reduce` keeps that: the pattern protects after every step, also where time runs out.
    * Prices are random, from the system's entropy, in every run: a choice that follows from the table alone would
      disclose more than the gaps do to somebody who reruns the program.

Example
    One person in the first cell. Three more gaps are needed, and none of them can be printed again:

    >>> from safemargin.core import Hierarchy, lattice
    >>> from safemargin.suppress.linked import single
    >>> from safemargin.suppress.problem import build_problem
    >>> table = lattice([Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"])], [[1, 4], [5, 6]])
    >>> problem = build_problem(single(table), (1, 1))
    >>> builder = PatternBuilder(problem, MoveStore(problem.counts))
    >>> len(builder.unprotected(problem.primary))
    1
    >>> pattern = builder.complete(problem.primary, box=math.inf)
    >>> int(pattern.sum()), builder.unprotected(pattern), int(builder.reduce(pattern).sum())
    (4, [], 4)
"""

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray, RefusedError, numpy_generator
from safemargin.suppress.finder import MoveFinder
from safemargin.suppress.moves import PUBLIC, MoveStore, PatternMoves, Problem, View

LARGE = 1_500  # cells from which on moves inside a small pattern get a model of their own, and one cell more is taken
ATTEMPTS = 4  # rounds over cells for which no integer move was found, each with other prices
MAX_UNPROTECTED = 60  # cells disclosed to insiders after which the round stops looking for more
SECONDS_PER_MOVE = 1.0  # of an integer program
MAX_SPLITS = 6  # ways to split a width into a rise and a fall up to which all are tried

Unprotected = tuple[View, int]  # an onlooker's view, and a suppressed cell whose requirement is not met in it


class PatternBuilder:
    """Completes and reduces patterns of one problem; every move found is stored."""

    def __init__(self, problem: Problem, store: MoveStore) -> None:
        self.problem, self.store = problem, store
        self.finder = self.inner = MoveFinder(problem)
        # Prices and orders come from the entropy of the system in every run and are kept nowhere: a pattern that
        # followed from the table alone would disclose more than its gaps hide.
        self.generator = numpy_generator(None)
        self.deadline = math.inf
        self.decided = True  # whether every cell that counted as disclosed or exposed is proved to be
        self.proved = True  # whether the last cell was decided
        self.exposed_in: dict[bytes, IntArray] = {}

    def unprotected(self, suppressed: BoolArray, most: int | None = None, quick: bool = False) -> list[Unprotected]:
        """Suppressed cells whose requirement no move inside the pattern meets; stops after `most` of them.

        Insiders are considered only if the public can infer nothing. A `quick` answer counts cells among them that
        only an integer program could decide.
        """
        problem, moves = self.problem, PatternMoves(self.store, suppressed)
        result: list[Unprotected] = []
        for view in problem.views:
            if view == PUBLIC or view.sees_more(suppressed):
                cells = self._claimed(suppressed, view)
                limit = None if most is None else most - len(result)
                stuck = self._stuck(moves, suppressed, view, cells, problem.rise_for(view), problem.width, limit, quick)
                result += [(view, cell) for cell in stuck]
                if result and (view == PUBLIC or len(result) >= (most or MAX_UNPROTECTED)):
                    break
        return result

    def exposed(self, suppressed: BoolArray, proved: IntArray) -> IntArray:
        """Primary cells that the public knows to lie in the primary range.

        These are the `proved` ones, which are not examined again, and those for which no move is found that leaves it.
        Undecided cells count as exposed, and `decided` becomes False. The answer is kept per pattern, so `proved` may
        only hold what is true of the pattern.
        """
        key = suppressed.tobytes()
        if key not in self.exposed_in:
            rise, moves = self.problem.preferred_rise.copy(), PatternMoves(self.store, suppressed)
            rise[proved] = 0
            try:
                stuck = self._stuck(moves, suppressed, PUBLIC, rise > 0, rise, 0, None)
            except TimeoutError:  # those that no move found so far shows beyond the range count as known to lie in it
                self.decided = False
                stuck = np.flatnonzero(moves.ranges()[0] < rise).tolist()
            self.exposed_in[key] = np.union1d(proved, np.array(stuck, dtype=np.int64))
        return self.exposed_in[key]

    def _claimed(self, suppressed: BoolArray, view: View) -> BoolArray:
        cells: BoolArray = suppressed & ~self.problem.unlisted
        cells[list(view.known)] = False
        return cells

    def _stuck(
        self,
        moves: PatternMoves,
        suppressed: BoolArray,
        view: View,
        among: BoolArray,
        rise: IntArray,
        width: int,
        most: int | None,
        quick: bool = False,
    ) -> list[int]:
        """The cells `among` the suppressed ones that no move lets rise by `rise` and take values `width` apart.

        Cheapest evidence first: stored moves; sums with a single unknown, which give it back; then linear programs;
        then, only if no cell is stuck yet, integer programs of a second each. A cell that no program decides counts
        as stuck, and `decided` becomes false: what is unknown counts as unsafe.
        """
        up, down = moves.ranges(view)
        cells = np.flatnonzero(among & ((up < rise) | (up + down < width)))
        if not len(cells):
            return []
        unknown = suppressed.copy()
        unknown[list(view.known)] = False
        rows = self.problem.equations[self.problem.alone(unknown)]
        stuck: list[int] = np.intersect1d(cells, rows.indices[unknown[rows.indices]]).tolist()
        if most is not None and len(stuck) >= most:
            return stuck[:most]
        self._open_inside(suppressed, view)
        undecided = np.setdiff1d(cells, stuck).tolist()
        # Integer programs take longest, so they come last: not at all where other cells are stuck anyway.
        for seconds in (0.0, SECONDS_PER_MOVE):
            waiting, undecided = undecided, []
            for cell in waiting:
                if up[cell] >= rise[cell] and up[cell] + down[cell] >= width:
                    continue
                self.check_time()
                self.proved = True
                for move in self._moves_of(cell, int(rise[cell]), width, int(up[cell]), int(down[cell]), seconds):
                    moves.add(move)
                    up, down = np.maximum(up, move), np.maximum(down, -move)
                if up[cell] < rise[cell] or up[cell] + down[cell] < width:
                    if self.proved or seconds:
                        stuck.append(cell)
                        self.decided &= self.proved
                    else:
                        undecided.append(cell)
                    if most is not None and len(stuck) >= most:
                        return stuck
            if stuck and width:
                break
            if quick:
                return [*stuck, *undecided]
        return stuck

    def _open_inside(self, suppressed: BoolArray, view: View) -> None:
        """Look for moves inside a pattern; if that is a small part of a large table, in a model of its cells only."""
        size = int(suppressed.sum())
        if self.problem.size > LARGE and size < self.problem.size / 2:
            if self.inner.count > 1.2 * size + 10 or not np.isin(np.flatnonzero(suppressed), self.inner.cells).all():
                self.inner = MoveFinder(self.problem, np.flatnonzero(suppressed))
        else:
            self.inner = self.finder
        self.inner.open(suppressed, None, view)

    def _moves_of(self, cell: int, rise: int, width: int, up: int, down: int, seconds: float) -> Iterator[IntArray]:
        """Moves that let a count rise by `rise` and give it two values `width` apart, as far as there are any."""
        if not rise and width == 1 and (move := self.inner.box(cell, -1)) is not None:
            yield move  # before a linear program looks for a rise
            return
        if up < rise:
            if (move := self._move(cell, rise, seconds)) is None:
                return
            up, down = max(up, int(move[cell])), max(down, -int(move[cell]))
            yield move
        for amount in range(width - down, up, -1):
            if (move := self._move(cell, amount, seconds)) is not None:
                up = max(up, int(move[cell]))
                yield move
                break
        if up + down < width and (move := self._move(cell, up - width, seconds)) is not None:
            yield move

    def _move(self, cell: int, amount: int, seconds: float) -> IntArray | None:
        move, proved = self.inner.find(cell, amount, seconds)
        self.proved &= proved
        return move

    def check_time(self) -> None:
        """Raise TimeoutError after the deadline."""
        if time.monotonic() > self.deadline:
            raise TimeoutError

    def complete(self, suppressed: BoolArray, box: float) -> BoolArray | None:
        """Add cells until every suppressed cell is protected; None if that is impossible.

        Of boxes, those that cost no more than `box` are taken at once.
        """
        problem, pattern = self.problem, suppressed.copy()
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
                    self.finder.open(pattern, price, view)
                for cell in cells.tolist():
                    self.check_time()
                    if up[cell] >= rise[cell] and up[cell] + down[cell] >= width:
                        continue
                    unmet += 1
                    cheapest = self._cheapest(cell, int(rise[cell]), pattern, int(up[cell]), int(down[cell]), box)
                    missed += cheapest is None
                    for move in cheapest or ():
                        moves.add(move)
                        up, down = np.maximum(up, move), np.maximum(down, -move)
                        new = (move != 0) & ~pattern
                        if new.any():
                            self.finder.add_suppressed(np.flatnonzero(new))
                            pattern |= new
            if not unmet:
                return pattern
            failed += bool(missed)
        return None

    def _cheapest(
        self, cell: int, rise: int, pattern: BoolArray, up: int, down: int, box: float
    ) -> list[IntArray] | None:
        """Moves that protect a cell with the fewest cells beyond the pattern.

        A width of tau + 1 can be split into a rise and a fall in tau + 2 ways; the best of some of them is taken.
        """
        best: tuple[int, list[IntArray]] | None = None
        for amounts in _splits(rise, self.problem.width, up, down):
            candidates = [self.finder.find(cell, amount, SECONDS_PER_MOVE, box)[0] for amount in amounts]
            moves = [move for move in candidates if move is not None]
            if len(moves) == len(amounts):
                new = int((np.any([move != 0 for move in moves], axis=0) & ~pattern).sum())
                best = (new, moves) if best is None or new < best[0] else best
                if new == 0:
                    break
        return None if best is None else best[1]

    def reduce(
        self, suppressed: BoolArray, quick: bool = False, accept: Callable[[BoolArray], None] | None = None
    ) -> BoolArray:
        """The pattern without the cells that it does not need, tried one at a time: dear ones and totals first.

        Invariant: `pattern` protects all its cells whenever the loop begins, so `accept` is called with each smaller
        one, and a caller whose time is up keeps what was reached.
        """
        pattern, problem = suppressed.copy(), self.problem
        order = self.generator.permutation(np.flatnonzero(pattern & ~problem.forced))
        order = order[np.lexsort((-problem.level[order], -problem.cost[order]))]
        for cell in order.tolist():
            pattern[cell] = False
            try:
                pattern[cell] = bool(self.unprotected(pattern, 1, quick))
            except TimeoutError:
                pattern[cell] = True
                break
            if accept is not None and not pattern[cell]:
                accept(pattern)
        return pattern


def _splits(rise: int, width: int, up: int, down: int) -> Iterator[tuple[int, ...]]:
    """Rises and falls that together give the required rise and width, given what is possible already.

    A width of 2 is reached by a rise of 2, by a rise and a fall of 1, or by a fall of 2:

    >>> list(_splits(0, 2, 0, 0))
    [(2,), (1, -1), (-2,)]
    """
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


def select_moves(problem: Problem, store: MoveStore, suppressed: BoolArray) -> sparse.csr_array:
    """Moves, a row each, that prove every suppressed cell protected in every view: the largest that still help.

    Greedy, as every move of a certificate is read by its checker. Raises `RefusedError` if all moves together do not
    protect a cell, so that no certificate is ever written that its own checker would fail.
    """
    matrix, moves = store.inside(suppressed), PatternMoves(store, suppressed)
    starts, chosen = matrix.indptr, np.zeros(matrix.shape[0], dtype=bool)
    order = np.argsort(-np.diff(starts), kind="stable")
    for view in problem.views:
        if view != PUBLIC and not view.sees_more(suppressed):
            continue
        rise, possible = problem.rise_for(view), moves.possible(view)
        up, down = np.zeros(problem.size, dtype=np.int64), np.zeros(problem.size, dtype=np.int64)
        claimed = suppressed & ~problem.unlisted
        claimed[list(view.known)] = False
        for row in (*np.flatnonzero(chosen & possible), *order[(~chosen & possible)[order]]):
            part = slice(starts[row], starts[row + 1])
            cells, changes = matrix.indices[part], matrix.data[part]
            short = claimed[cells] & ((up[cells] < rise[cells]) | (up[cells] + down[cells] < problem.width))
            if chosen[row] or (short & ((changes > up[cells]) | (-changes > down[cells]))).any():
                chosen[row] = True
                up[cells], down[cells] = np.maximum(up[cells], changes), np.maximum(down[cells], -changes)
        if (claimed & ((up < rise) | (up + down < problem.width))).any():
            raise RefusedError("a suppressed cell has no moves that protect it")
    return matrix[np.flatnonzero(chosen)]
