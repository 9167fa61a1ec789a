"""From a real-valued table to an integer one with the same margins: the step that makes a witness a proof.

Every profile is rounded to whole people, then votes are exchanged between two profiles that differ in one published
slice only, until every margin is met again. The result is checked by addition; where exchanges do not suffice
(tables of several axes in a circle), there is no answer here and a program has to find one.
"""

import heapq
from functools import cached_property

import numpy as np

from safemargin.bounds.chain import Step, chain
from safemargin.bounds.exchange import Exchanges, Links
from safemargin.bounds.reach import Reach
from safemargin.bounds.scaling import Scaling
from safemargin.bounds.system import System
from safemargin.core import UNBOUNDED, FloatArray, IntArray, distinct

EXCHANGES = 200_000
PATIENCE = 50


class Rounder:
    """Rounds tables of one system with a joint roll; what it prepares depends on public facts only."""

    def __init__(self, known: System) -> None:
        if known.people is None:
            raise ValueError("rounding needs a joint roll")
        self.known = known
        self.people = known.people
        self.possible = self._wanted()
        self.exchanges = Exchanges(known)

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
        others = self.most.sum(axis=1, keepdims=True) - self.most
        self.least = np.maximum(self.least, size[:, None] - others)  # the options and the rest share the people
        others = self.least.sum(axis=1, keepdims=True) - self.least
        self.most = np.maximum(np.minimum(self.most, size[:, None] - others), self.least)
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
        start = counts.copy() if self._chain else None
        for block in range(len(self.known.blocks)):
            self._match_block(counts, block, self.exchanges.links(block), self._slices(block))
        found = self._checked(counts)
        if found is None and start is not None:
            for block, links, parts in self._chain:
                for slices in parts:
                    self._match_block(start, block, links, slices)
            return self._checked(start)
        return found

    @cached_property
    def reach(self) -> Reach:
        """How far single exchanges lead."""
        return Reach(self.exchanges)

    @cached_property
    def scaling(self) -> Scaling | None:
        """Fits by scaling, where tables of several axes are published and every count of theirs is exact."""
        tops = self.exchanges.tops
        if not self.possible or all(len(self.known.axes_of(top)) < 2 for top in tops):
            return None
        scaling = Scaling(self.known, tops, self.least, self.most)
        return scaling if scaling.possible else None

    @cached_property
    def _chain(self) -> tuple[Step, ...]:
        return chain(self.exchanges)

    @cached_property
    def in_circles(self) -> bool:
        """Whether tables of several axes stand in no order in which exchanges could match them."""
        return not self._chain and any(len(self.known.axes_of(top)) > 1 for top in self.exchanges.tops)

    def _checked(self, counts: IntArray) -> IntArray | None:
        result: IntArray = counts[:, : self.known.free].ravel()
        return result if self.known.admits(result) else None

    def guess(self) -> FloatArray:
        """A table near the published shares of the slices each profile lies in: a start that costs nothing."""
        if self.scaling is not None:
            return self.scaling.fit()
        size = self.known.slices @ self.people
        everybody = max(int(self.people.sum()), 1)
        middle = (self.least + self.most) / 2
        overall = np.ones(self.least.shape[1])
        logs = np.zeros((len(self.people), self.least.shape[1]))
        used = 0
        for block in self.known.blocks:
            if (block < 0).any() or (self.least[block[:1]] != self.most[block[:1]]).any():
                continue
            mine = distinct(block)
            overall = (middle[mine].sum(axis=0) + 0.5) / (everybody + 1)
            logs += np.log((middle[block] + 0.5) / (size[block][:, None] + 1))
            used += 1
        logs -= max(used - 1, 0) * np.log(overall)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares *= (self.people / shares.sum(axis=1))[:, None]
        return np.asarray(shares[:, : self.known.free].ravel())

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
            mine = distinct(block)
            if (self.least[mine] != self.most[mine]).any():
                continue
            gap = self.least[mine].sum(axis=0) - counts.sum(axis=0)
            while (gap > 0).any() and (gap < 0).any():
                given, taken = int(gap.argmin()), int(gap.argmax())
                units = int(min(-gap[given], gap[taken]))
                moved = _spread(counts[:, given], units)
                if not moved.any():
                    return
                counts[:, given] -= moved
                counts[:, taken] += moved
                gap[given] += moved.sum()
                gap[taken] -= moved.sum()
            return

    def _slices(self, block: int) -> IntArray:
        mine = distinct(self.known.blocks[block])
        return mine[mine >= 0]

    def _match_block(self, counts: IntArray, block: int, links: Links, mine: IntArray) -> None:
        codes = self.known.blocks[block]
        sums = np.zeros((self.known.slices.shape[0], counts.shape[1]), dtype=np.int64)
        for option in range(counts.shape[1]):
            sums[:, option] = np.bincount(codes + 1, counts[:, option], minlength=len(sums) + 1)[1:]
        best, since = np.inf, 0
        for _ in range(EXCHANGES):
            over = np.maximum(sums[mine] - self.most[mine], 0) - np.maximum(self.least[mine] - sums[mine], 0)
            miss = int(np.abs(over).sum())
            best, since = (miss, 0) if miss < best else (best, since + 1)
            if miss == 0 or since > PATIENCE:  # exchanges can go round in a circle
                return
            move = self._next_move(mine, over)
            if move is None or not self._exchange(counts, sums, links, *move):
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
        self,
        counts: IntArray,
        sums: IntArray,
        links: Links,
        source: int,
        goal: int,
        given: int,
        taken: int,
        units: int,
    ) -> bool:
        """Up to `units` votes for `given` leave `source` for `goal` against votes for `taken`; false if none can."""
        barred: set[tuple[int, int]] = set()
        while (path := _path(links, source, goal, barred)) is not None:
            steps, done = [], units
            for here, there in zip(path, path[1:], strict=False):
                first, second = links[here][there]
                room = np.minimum(counts[first, given], counts[second, taken])
                done = min(done, int(room.sum()))
                if done <= 0:
                    barred.add((here, there))
                    break
                steps.append((here, there, first, second, room))
            else:
                for here, there, first, second, room in steps:
                    moved = _spread(room, done)  # none is emptied that others could exchange with
                    _switch(counts, sums, here, first, moved, (given, taken))
                    _switch(counts, sums, there, second, moved, (taken, given))
                return True
        return False


def _path(links: Links, source: int, goal: int, barred: set[tuple[int, int]]) -> list[int] | None:
    """The way from slice to slice with the most pairs to choose from."""
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


def _spread(room: IntArray, units: int) -> IntArray:
    """`units` taken from places in proportion to what each has, never more than that."""
    total = int(room.sum())
    if total == 0:
        return np.zeros_like(room)
    units = min(units, total)
    share = (room.astype(np.float64) * (units / total)).astype(np.int64)
    share = np.minimum(share, room)
    left = units - int(share.sum())
    spare = np.flatnonzero(room > share)
    spare = spare[np.argsort(-room[spare], kind="stable")][:left]
    share[spare] += 1
    return share


def _switch(
    counts: IntArray, sums: IntArray, at: int, profiles: IntArray, moved: IntArray, options: tuple[int, int]
) -> None:
    minus, plus = options
    counts[profiles, minus] -= moved
    counts[profiles, plus] += moved
    if at >= 0:
        sums[at, minus] -= moved.sum()
        sums[at, plus] += moved.sum()
