"""From a real-valued table to an integer one with the same margins: the step that makes a witness a proof.

Every profile is rounded to whole people, then votes are exchanged between two profiles that differ in one published
slice only, until every margin is met again. The result is checked by addition; where exchanges do not suffice
(published tables of higher order), there is no answer here and a program has to find one.
"""

import heapq

import numpy as np

from safemargin.bounds.system import System
from safemargin.model.arrays import FloatArray, IntArray, row_keys
from safemargin.model.published import UNBOUNDED

EXCHANGES = 200_000


class Rounder:
    """Rounds tables of one system with a joint roll; what it prepares depends on public facts only."""

    def __init__(self, known: System) -> None:
        if known.people is None:
            raise ValueError("rounding needs a joint roll")
        self.known = known
        self.people = known.people
        self.possible = self._wanted()
        self._links: dict[int, dict[int, dict[int, tuple[IntArray, IntArray]]]] = {}
        self._pairs: dict[int, tuple[IntArray, IntArray, IntArray]] = {}

    def _wanted(self) -> bool:
        """Ranges per slice and option (what is left of the people last); false if a row is not of that form."""
        known, free = self.known, self.known.free
        size = known.slices @ self.people
        self.least = np.zeros((len(size), free + 1), dtype=np.int64)
        self.most = np.full((len(size), free + 1), UNBOUNDED, dtype=np.int64)
        chosen = known.weights.sum(axis=1)
        single, every = (chosen == 1) & (free > 1), chosen == free
        if not (single | every).all():
            return False
        option = known.weights.argmax(axis=1)
        for row in range(len(chosen)):
            at, lower, upper = known.slice_of[row], known.lower[row], known.upper[row]
            if single[row]:
                self._narrow(at, int(option[row]), lower, upper)
            else:
                self._narrow(at, free, size[at] - upper, size[at] - lower)
        if free == 1:
            self.least[:, 0] = np.maximum(size - self.most[:, 1], 0)
            self.most[:, 0] = size - self.least[:, 1]
        self.most = np.minimum(self.most, size[:, None])
        return True

    def _narrow(self, at: int, option: int, lower: int, upper: int) -> None:
        self.least[at, option] = max(self.least[at, option], lower)
        self.most[at, option] = min(self.most[at, option], upper)

    def round(self, values: FloatArray) -> IntArray | None:
        """Integer values of all variables that satisfy every fact, near `values`; or none."""
        if not self.possible:
            return None
        counts = self._whole(values)
        self._match_totals(counts)
        for block in range(len(self.known.blocks)):
            self._match_block(counts, block)
        result: IntArray = counts[:, : self.known.free].ravel()
        return result if self.known.admits(result) else None

    def _whole(self, values: FloatArray) -> IntArray:
        shares = np.maximum(values.reshape(-1, self.known.free), 0.0)
        shares = np.column_stack([shares, np.maximum(self.people - shares.sum(axis=1), 0.0)])
        counts = np.floor(shares + 1e-9).astype(np.int64)
        missing = self.people - counts.sum(axis=1)
        order = np.argsort(-(shares - counts), axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
        counts += rank < missing[:, None]
        return counts

    def _match_totals(self, counts: IntArray) -> None:
        """Switch votes in the largest profiles until the totals of a complete block are met."""
        for block in self.known.blocks:
            if (block < 0).any():
                continue
            mine = np.unique(block)
            if (self.least[mine] != self.most[mine]).any():
                continue
            gap = self.least[mine].sum(axis=0) - counts.sum(axis=0)
            while (gap > 0).any() and (gap < 0).any():
                given, taken = int(gap.argmin()), int(gap.argmax())
                units = int(min(-gap[given], gap[taken]))
                largest = np.argsort(-counts[:, given], kind="stable")[:units]
                largest = largest[counts[largest, given] > 0]
                if not len(largest):
                    return
                counts[largest, given] -= 1
                counts[largest, taken] += 1
                gap[given] += len(largest)
                gap[taken] -= len(largest)
            return

    def _match_block(self, counts: IntArray, block: int) -> None:
        codes = self.known.blocks[block]
        mine = np.unique(codes[codes >= 0])
        sums = np.zeros((self.known.slices.shape[0], counts.shape[1]), dtype=np.int64)
        np.add.at(sums, codes[codes >= 0], counts[codes >= 0])
        for _ in range(EXCHANGES):
            over = np.maximum(sums[mine] - self.most[mine], 0) - np.maximum(self.least[mine] - sums[mine], 0)
            if not over.any():
                return
            move = self._next_move(mine, over)
            if move is None or not self._exchange(counts, sums, block, *move):
                return

    def _next_move(self, mine: IntArray, over: IntArray) -> tuple[int, int, int, int, int] | None:
        """From which slice to which other (-1: any outside the block), which option gives, which takes, how often."""
        place, given = divmod(int(over.argmax()), over.shape[1])
        if over[place, given] <= 0:
            place, taken = divmod(int(over.argmin()), over.shape[1])
            given, other = int(over[place].argmax()), int(over[:, taken].argmax())
            return int(mine[place]), int(mine[other]) if other != place else -1, given, taken, 1
        taken = int(over[place].argmin())
        other = int(over[:, given].argmin())
        units = int(over[place, given])
        if over[other, given] < 0:
            return int(mine[place]), int(mine[other]), given, taken, min(units, int(-over[other, given]))
        return int(mine[place]), -1, given, taken, units

    def _exchange(
        self, counts: IntArray, sums: IntArray, block: int, source: int, goal: int, given: int, taken: int, units: int
    ) -> bool:
        """Up to `units` votes for `given` leave `source` for `goal` against votes for `taken`; false if none can."""
        barred: set[tuple[int, int]] = set()
        while (path := self._path(block, source, goal, barred)) is not None:
            steps, done = [], units
            for here, there in zip(path, path[1:], strict=False):
                first, second = self._linked(block)[here][there]
                usable = np.flatnonzero((counts[first, given] > 0) & (counts[second, taken] > 0))
                usable = _distinct(second, _distinct(first, usable))[:done]
                if not len(usable):
                    barred.add((here, there))
                    break
                done = len(usable)
                steps.append((here, there, first[usable], second[usable]))
            else:
                for here, there, first, second in steps:
                    _switch(counts, sums, here, first[:done], (given, taken))
                    _switch(counts, sums, there, second[:done], (taken, given))
                return True
        return False

    def _path(self, block: int, source: int, goal: int, barred: set[tuple[int, int]]) -> list[int] | None:
        """The way from slice to slice with the most pairs to choose from."""
        links = self._linked(block)
        queue = [(0.0, source, [source])]
        seen: set[int] = set()
        while queue:
            cost, here, path = heapq.heappop(queue)
            if here == goal and len(path) > 1:
                return path
            if here in seen:
                continue
            seen.add(here)
            for there, (first, _) in links.get(here, {}).items():
                if there not in seen and (here, there) not in barred:
                    heapq.heappush(queue, (cost + 1 + 100 / len(first), there, [*path, there]))
        return None

    def _linked(self, block: int) -> dict[int, dict[int, tuple[IntArray, IntArray]]]:
        """Per slice and neighbouring slice: pairs of profiles alike in every other block, largest first."""
        if block not in self._links:
            mine = self.known.blocks[block]
            hub, other, pairs = self.pairs(block)
            links: dict[int, dict[int, tuple[IntArray, IntArray]]] = {}
            order = np.argsort(pairs, kind="stable")
            for chosen in np.split(order, np.flatnonzero(np.diff(pairs[order])) + 1) if len(order) else []:
                a, b = hub[chosen], other[chosen]
                links.setdefault(int(mine[a[0]]), {})[int(mine[b[0]])] = (a, b)
                links.setdefault(int(mine[b[0]]), {})[int(mine[a[0]])] = (b, a)
            self._links[block] = links
        return self._links[block]

    def pairs(self, block: int) -> tuple[IntArray, IntArray, IntArray]:
        """Profiles that differ in `block` only: one of the commonest slice, another, and a key of the two slices."""
        if block in self._pairs:
            return self._pairs[block]
        codes = self.known.blocks
        others = np.delete(codes, block, axis=0).T + 1
        keys = row_keys(others, [int(column.max(initial=0)) + 1 for column in others.T])
        mine = codes[block]
        commonness = np.bincount(mine + 1)[mine + 1]
        order = np.lexsort((-commonness, keys))
        keys = keys[order]
        start = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        hub = np.repeat(order[start], np.diff(np.r_[start, len(keys)]))
        differs = mine[hub] != mine[order]
        hub, other = hub[differs], order[differs]
        largest = np.argsort(-np.minimum(self.people[hub], self.people[other]), kind="stable")
        hub, other = hub[largest], other[largest]
        pairs = row_keys(np.stack([mine[hub], mine[other]], axis=1) + 1, [int(mine.max()) + 2] * 2)
        self._pairs[block] = hub, other, pairs
        return self._pairs[block]

    def reach(self, counts: IntArray) -> tuple[IntArray, IntArray]:
        """Least and most of every entry (options, what is left last) after one exchange and one back elsewhere.

        `counts` satisfies all facts. Two profiles that differ in one slice swap a vote for `given` against one for
        `taken`, two others in the same slices swap the other way: every margin stays, so these tables exist too.
        """
        matrix = counts.reshape(-1, self.known.free)
        matrix = np.column_stack([matrix, self.people - matrix.sum(axis=1)])
        least, most = matrix.copy(), matrix.copy()
        for block in range(len(self.known.blocks)):
            first, second, pairs = self.pairs(block)
            if not len(pairs):
                continue
            key = np.unique(pairs, return_inverse=True)[1]
            for given in range(matrix.shape[1]):
                for taken in range(matrix.shape[1]):
                    if given == taken:
                        continue
                    there = (matrix[first, given] > 0) & (matrix[second, taken] > 0)
                    back = (matrix[first, taken] > 0) & (matrix[second, given] > 0)
                    elsewhere = np.bincount(key[back], minlength=int(key.max()) + 1)[key] - back > 0
                    able = there & elsewhere
                    for profiles, minus, plus in ((first[able], given, taken), (second[able], taken, given)):
                        least[profiles, minus] = np.minimum(least[profiles, minus], matrix[profiles, minus] - 1)
                        most[profiles, plus] = np.maximum(most[profiles, plus], matrix[profiles, plus] + 1)
        return least, most


def _distinct(values: IntArray, places: IntArray) -> IntArray:
    """`places` without those whose value stood at an earlier one."""
    _, first = np.unique(values[places], return_index=True)
    return places[np.sort(first)]


def _switch(counts: IntArray, sums: IntArray, at: int, profiles: IntArray, options: tuple[int, int]) -> None:
    minus, plus = options
    counts[profiles, minus] -= 1
    counts[profiles, plus] += 1
    if at >= 0:
        sums[at, minus] -= len(profiles)
        sums[at, plus] += len(profiles)
