"""From a real-valued table to an integer one with the same margins: the step that makes a witness a proof.

Objects
    counts      integers per profile and option, the rest in the last column; rows add up to the people of profiles
    over        per slice and option, how far the sums are above (positive) or below (negative) what is published
    link        two slices of a block with pairs of profiles that differ in that block only (`exchange.py`)

Method
    1. Round every profile: to the largest remainders, or evenly (each fraction up as often as it says), so that the
       people of profiles hold. Totals are met by switching votes in large profiles.
    2. Block by block, let votes for an option leave slices that have too many of it: along the path of links with most
       pairs, in exchange for another option, so that the margins of all other blocks stay as they are.
    3. Add up. Where a margin is still missed, tables of several axes are tried again in the order of a junction tree
       (`matching_order`): a block is matched by pairs that no earlier block distinguishes.

What callers may rely on
    * `Rounder.round` returns a table that passed `System.admits`, or nothing. A failure is no proof that there is none.
    * For single axes step 2 nearly always succeeds; for tables of several axes in a circle it may not (`in_circles`),
      and an integer program has to find a table (`programs.nearby`).
    * What is prepared depends on public facts only, and the generator is seeded.

Example
    Two districts with 3 yes each and two ages with 3 each, from halves: every profile at 1.5 of 3 people.

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import Axis, Schema, Table, Tally, exact_margins, onlooker_with_roll, frozen
    >>> names, codes = ("district", "age"), frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2)
    >>> axes = Axis("district", ("N", "S")), Axis("age", ("old", "young"))
    >>> votes = Tally(names, codes, frozen([[1, 2], [2, 1], [2, 1], [1, 2]], 2))
    >>> roll = Tally(names, codes, frozen([3] * 4, 1))
    >>> table = Table(Schema(axes, ("yes", "no")), (votes,), (roll,))
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> whole = Rounder(system).round(np.full(4, 1.5))
    >>> system.admits(whole), sorted(whole.tolist())
    (True, [1, 1, 2, 2])
"""

import heapq
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice

import numpy as np

from safemargin.bounds.effort import EFFORT, SEED
from safemargin.bounds.exchange import Exchanges, Links
from safemargin.bounds.grid import junction
from safemargin.bounds.scaling import Scaling
from safemargin.bounds.search import Search
from safemargin.bounds.system import System, slice_ranges
from safemargin.bounds.twins import TwinPools, spread
from safemargin.core import FloatArray, IntArray, distinct, numpy_generator

Move = tuple[int, int, int, int, int]
"""From which slice to which other (-1: any outside the block), which option gives, which takes, how often."""
TINY = 1e-6
"""Above what rounding makes of the cost of a way; ways of equal cost are all followed."""

MatchStep = tuple[int, Links, list[IntArray]]
"""A block to match, pairs of profiles between its slices that no earlier block distinguishes, and the sets of slices
that such pairs connect.
"""


def matching_order(system: System, exchanges: Exchanges) -> tuple[MatchStep, ...]:
    """The blocks in an order in which they can be matched; none if no table has several axes, or there is no order.

    For faces that form a junction tree, a block is matched after those that share its separator, by exchanges between
    profiles that agree in every earlier block: these keep what is matched already.
    """
    axes = {block: system.axes_of(block) for block in exchanges.tops}
    faces = {block: frozenset(system.axes.index(axis) for axis in names) for block, names in axes.items()}
    if all(len(face) < 2 for face in faces.values()):
        return ()
    order = junction(tuple(faces.values()))
    if order is None:
        return ()
    steps: list[MatchStep] = []
    done: list[int] = []
    for whole in order.faces:
        inside = [block for block, face in faces.items() if face <= whole and block not in done]
        for block in sorted(inside, key=lambda other: (-len(faces[other]), len(distinct(system.blocks[other])))):
            outside = [a for a in range(len(system.axes)) if a not in faces[block]]
            others = [system.blocks[other] for other in done] + [_grouping(system, a) for a in outside]
            together = np.stack(others) if others else system.blocks[:0]
            links = exchanges.linked(block, exchanges.alike(block, together), EFFORT.pairs_per_link)
            steps.append((block, links, _connected(links)))
            done.append(block)
    return tuple(steps)


def _grouping(system: System, axis: int) -> IntArray:
    """By profile, the slice of an axis's own table that it lies in (-1: none), or its category without such a table.

    Only whether two are equal matters.
    """
    for block in range(len(system.blocks)):
        if system.axes_of(block) == (system.axes[axis],):
            groups: IntArray = system.blocks[block]
            return groups
    plain: IntArray = system.codes[:, axis]
    return plain


def _connected(links: Links) -> list[IntArray]:
    """The slices that links connect, set by set: votes cannot travel from one set to another."""
    parts: list[IntArray] = []
    left = set(links)
    while left:
        part, fresh = set[int](), {min(left)}
        while fresh:
            part |= fresh
            fresh = {there for here in fresh for there in links[here]} - part
        left -= part
        parts.append(np.array(sorted(part), dtype=np.int64))
    return parts


class Rounder:
    """Rounds tables of one system with a joint roll; what it prepares depends on public facts only.

    `least` and `most` are the published ranges per slice and option (`slice_ranges`); where rows add some options but
    not all there are none, and `possible` is false.
    """

    def __init__(self, system: System) -> None:
        assert system.people is not None
        self.system, self.people = system, system.people
        self.ranges = slice_ranges(system)
        self.possible, self.least, self.most = self.ranges.stated, self.ranges.least, self.ranges.most
        low, high = system.low.reshape(-1, system.n_free_options), system.high.reshape(-1, system.n_free_options)
        self.exchanges = Exchanges(system.blocks, system.slices.shape[0], system.people, low, high)
        self._evenly, self._generator = False, numpy_generator(SEED + 11)

    def round(self, values: FloatArray) -> IntArray | None:
        """Integer values of all variables that satisfy every fact, near `values`; or none."""
        if not self.possible:
            return None
        # Where most profiles are a few people, the nearest integers of all of them miss the margins by more votes than
        # can be exchanged; what worked last is tried first. Every even rounding starts
        # elsewhere, so it is repeated.
        even = (True,) * (EFFORT.even_roundings if (values % 1.0).any() and not self.in_circles else 0)
        for evenly in (*even, False) if self._evenly else (False, *even):
            if (rounded := self._matched(self.near(values, evenly))) is not None:
                self._evenly = evenly
                return rounded
        return None

    def _matched(self, counts: IntArray) -> IntArray | None:
        """The variables of a table that passed `System.admits`, or none, which proves nothing.

        From these counts, which are overwritten, votes are exchanged block by block (step 2), or else from the same
        start along the chain (step 3).
        """
        start = counts.copy() if self._chain else None
        rounded = self._checked(counts) if self._match_blocks(counts) else None
        if rounded is None and start is not None:
            # Later steps keep what earlier ones have matched, so the first that fails decides here too.
            steps = ((block, links, slices) for block, links, parts in self._chain for slices in parts)
            if all(self._match_block(start, self.system.blocks[block], links, part) for block, links, part in steps):
                return self._checked(start)
        return rounded

    def _match_blocks(self, counts: IntArray) -> bool:
        """Exchange votes until every margin holds, profiles that agree in every table as one; false if they do not.

        Exchanges in one block keep the sums of all others, so the first block that stays off decides.
        """
        blocks, twins = self.system.blocks, self._twins
        exchanges = twins.exchanges if twins is not None else self.exchanges
        together = twins.sums(counts) if twins is not None else counts
        for block in range(len(blocks)):
            codes = exchanges.blocks[block]
            links = exchanges.links(block, EFFORT.pairs_per_link)
            # A block that another one refines is matched with that one, and has no pairs of its own.
            if not self._match_block(together, codes, links, self._slices(block)) and links:
                return False
        if twins is not None:
            twins.deal(together, counts)
        return True

    @cached_property
    def _twins(self) -> TwinPools | None:
        """Profiles that agree in every table, as one; none if no two profiles do."""
        twins = TwinPools(self.exchanges)
        return twins if twins.are_fewer else None

    @cached_property
    def scaling(self) -> Scaling | None:
        """Fits by scaling, where tables of several axes are published and every count of theirs is exact."""
        tops = self.exchanges.tops
        if not self.possible or all(len(self.system.axes_of(top)) < 2 for top in tops):
            return None
        scaling = Scaling(self.system, tops, self.least, self.most)
        return scaling if scaling.possible else None

    @cached_property
    def _chain(self) -> tuple[MatchStep, ...]:
        """The steps of `matching_order` for this system."""
        return matching_order(self.system, self.exchanges)

    @cached_property
    def in_circles(self) -> bool:
        """Whether tables of several axes stand in no order in which exchanges could match them."""
        return not self._chain and any(len(self.system.axes_of(top)) > 1 for top in self.exchanges.tops)

    @cached_property
    def middle(self) -> FloatArray:
        """The middle of the range of every slice and option, the rest last."""
        return (self.least + self.most) / 2

    def _checked(self, counts: IntArray) -> IntArray | None:
        """The variables of a table if addition finds that it satisfies every fact; else nothing."""
        result: IntArray = counts[:, : self.system.n_free_options].ravel()
        return result if self.system.admits(result) else None

    def guess(self) -> FloatArray:
        """A table near the published shares of the slices each profile lies in: a start that costs nothing."""
        if self.scaling is not None:
            return self.scaling.fit()
        size = self.system.slice_people
        everybody = max(int(self.people.sum()), 1)
        middle = self.middle
        overall = np.ones(self.least.shape[1])
        logs = np.zeros((len(self.people), self.least.shape[1]))
        used = 0
        for block in self.system.blocks:
            if (block < 0).any() or (self.least[block[:1]] != self.most[block[:1]]).any():
                continue
            slices = distinct(block)
            overall = (middle[slices].sum(axis=0) + 0.5) / (everybody + 1)
            logs += np.log((middle[block] + 0.5) / (size[block][:, None] + 1))
            used += 1
        # Product of the shares over that of the total, as under independence: near every margin, exact for none.
        logs -= max(used - 1, 0) * np.log(overall)
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        shares *= (self.people / shares.sum(axis=1))[:, None]
        return np.asarray(shares[:, : self.system.n_free_options].ravel())

    def near(self, values: FloatArray, evenly: bool = False) -> IntArray:
        """Integers near `values` per profile and option (the rest last); people and totals hold, margins need not."""
        counts = self._whole(values, evenly)
        self._match_totals(counts)
        return counts

    def _whole(self, values: FloatArray, evenly: bool) -> IntArray:
        """Round every profile so that it keeps its people: by largest remainders, or evenly.

        Even rounding is systematic sampling: the cumulated fractions of a profile pass an integer as often as they say,
        from a start that differs from profile to profile. Sums over many profiles then miss their margins by far fewer
        votes.
        """
        shares = np.maximum(values.reshape(-1, self.system.n_free_options), 0.0)
        shares = np.column_stack([shares, np.maximum(self.people - shares.sum(axis=1), 0.0)])
        # 1e-9 keeps integers that floats put just below.
        counts = np.floor(shares + 1e-9).astype(np.int64)
        missing = self.people - counts.sum(axis=1)
        if evenly:
            # Systematic sampling: each fraction is rounded up as often as it says. The starts are multiples of the
            # golden ratio, spread evenly over any run of profiles, and others every time.
            room = np.maximum(missing, 0)[:, None]
            ends = np.minimum(np.cumsum(np.maximum(shares - counts, 0.0), axis=1), room)
            ends[:, -1:] = room  # exactly, so that each profile keeps its people
            start = (np.arange(len(ends)) * ((5**0.5 - 1) / 2) + self._generator.random()) % 1.0
            counts += np.diff(np.floor(ends + start[:, None]).astype(np.int64), axis=1, prepend=0)
            return counts
        # Largest remainders, so that each profile keeps its people.
        order = np.argsort(-(shares - counts), axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
        counts += rank < missing[:, None]
        return counts

    def _match_totals(self, counts: IntArray) -> None:
        """Switch votes in the largest profiles until the totals of a complete block are met."""
        for block in self.system.blocks:
            if (block < 0).any():
                continue
            slices = distinct(block)
            if (self.least[slices] != self.most[slices]).any():
                continue
            gap = self.least[slices].sum(axis=0) - counts.sum(axis=0)
            while (gap > 0).any() and (gap < 0).any():
                given, taken = int(gap.argmin()), int(gap.argmax())
                units = int(min(-gap[given], gap[taken]))
                moved = spread(counts[:, given], units)
                counts[:, given] -= moved
                counts[:, taken] += moved
                gap[given] += moved.sum()
                gap[taken] -= moved.sum()
            return

    def _slices(self, block: int) -> IntArray:
        """The slices of a block that some profile lies in."""
        slices = distinct(self.system.blocks[block])
        return slices[slices >= 0]

    def _match_block(self, counts: IntArray, codes: IntArray, links: Links, slices: IntArray) -> bool:
        """Exchange votes between slices of one block until its sums are where they belong; whether they are."""
        sums = np.zeros((self.system.slices.shape[0], counts.shape[1]), dtype=np.int64)
        for option in range(counts.shape[1]):
            sums[:, option] = np.bincount(codes + 1, counts[:, option], minlength=len(sums) + 1)[1:]
        best, since = np.inf, 0
        for _ in range(EFFORT.rounding_exchanges):
            over = np.maximum(sums[slices] - self.most[slices], 0) - np.maximum(self.least[slices] - sums[slices], 0)
            miss = int(np.abs(over).sum())
            best, since = (miss, 0) if miss < best else (best, since + 1)
            # The sum of misses need not fall at every exchange, so a plateau is allowed, but a limited one.
            if miss == 0 or since > EFFORT.rounding_patience:  # exchanges can go round in a circle
                return miss == 0
            moves = islice(self._moves(slices, over), EFFORT.rounding_tries)
            if not any(self._exchange(counts, sums, links, *move) for move in moves):
                return False
        return False

    def _moves(self, slices: IntArray, over: IntArray) -> Iterator[Move]:
        """Exchanges that bring sums nearer to where they belong: the largest, then others where that is not possible.

        With many options and few people in a profile, two slices often have no two votes to exchange for just these.
        """
        yield self._next_move(slices, over)
        high = [(row, option) for row, option in np.argwhere(over > 0).tolist()]
        for row, given in sorted(high, key=lambda place: -int(over[place[0], place[1]])):
            goals = sorted(np.flatnonzero(over[:, given] < 0).tolist(), key=lambda other: int(over[other, given]))
            for taken in sorted(np.flatnonzero(over[row] < 0).tolist(), key=lambda option: int(over[row, option])):
                for other in goals:
                    yield int(slices[row]), int(slices[other]), given, taken, 1

    def _next_move(self, slices: IntArray, over: IntArray) -> Move:
        """From which slice to which other (-1: any outside the block), which option gives, which takes, how often.

        The largest excess gives to the largest lack of the same option, and takes what it lacks most itself.
        """
        row, given = divmod(int(over.argmax()), over.shape[1])
        if over[row, given] <= 0:
            row, taken = divmod(int(over.argmin()), over.shape[1])
            given, other = int(over[row].argmax()), int(over[:, taken].argmax())
            return int(slices[row]), int(slices[other]) if other != row else -1, given, taken, 1
        taken = int(over[row].argmin())
        other = int(over[:, given].argmin())
        units = int(over[row, given])
        if over[other, given] < 0:
            return int(slices[row]), int(slices[other]), given, taken, min(units, int(-over[other, given]))
        return int(slices[row]), -1, given, taken, units

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
        """Up to `units` votes for `given` leave `source` for `goal` against votes for `taken`; false if none can.

        The path may lead through further slices; each link of it passes on the same number of votes, so that the slices
        in between keep their sums. A link without votes to exchange is barred and the next best path is tried.
        """
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
                    # Spread in proportion: emptied profiles could not take part in later exchanges.
                    moved = spread(room, done)  # none is emptied that others could exchange with
                    _switch(counts, sums, here, first, moved, (given, taken))
                    _switch(counts, sums, there, second, moved, (taken, given))
                return True
        return False


def _path(links: Links, source: int, goal: int, barred: set[tuple[int, int]]) -> list[int] | None:
    """The way from slice to slice with the most pairs to choose from: Dijkstra, where few pairs make a link dear."""
    queue = [(0.0, source, [source])]
    seen: set[int] = set()
    least = {goal: np.inf}
    while queue:
        cost, here, path = heapq.heappop(queue)
        if here == goal and len(path) > 1:
            return path
        if here in seen:
            continue
        seen.add(here)
        near = links.get(here, {})
        if goal in near and goal not in seen and (here, goal) not in barred:
            further = cost + 1 + 100 / len(near[goal][0])
            if further <= least[goal]:
                least[goal] = further
                heapq.heappush(queue, (further, goal, [*path, goal]))
        for there, (first, _) in near.items():
            further = cost + 1 + 100 / len(first)
            # At least one link more is needed: what comes after the best known way is not followed, nor what is dearer.
            if further + links.cheapest > least[goal] + TINY:
                break
            is_open = there != goal and there not in seen and (here, there) not in barred
            if is_open and further <= least.get(there, np.inf):
                least[there] = further
                heapq.heappush(queue, (further, there, [*path, there]))
    return None


def _switch(
    counts: IntArray, sums: IntArray, slice_number: int, profiles: IntArray, moved: IntArray, options: tuple[int, int]
) -> None:
    """Switch votes in some profiles of a slice from one option to another, and keep its sums up to date."""
    minus, plus = options
    counts[profiles, minus] -= moved
    counts[profiles, plus] += moved
    if slice_number >= 0:
        sums[slice_number, minus] -= moved.sum()
        sums[slice_number, plus] += moved.sum()


def attain_by_fits(
    rounder: Rounder,
    fit: Callable[[FloatArray], FloatArray],
    search: Search,
    rounds: int,
    seed: int,
    report: Callable[[], None],
) -> None:
    """Fits tilted towards open ends, rounded; then what single exchanges make of them.

    `fit` gives values of all variables for a tilt. Each round tilts towards the ends that no table attains yet, harder
    the longer nothing moves; it ends when nothing is open or when the strongest tilt gains nothing.
    """
    generator, stale, tilts = numpy_generator(seed), 0, EFFORT.tilts
    for turn in range(rounds):
        before = search.unsettled()
        want = search.open_above.astype(np.float64) - search.open_below.astype(np.float64)
        want += generator.choice([-1.0, 1.0], size=len(want)) * (search.open_above & search.open_below)
        direction = np.sign(search.targets.matrix.T @ (want * search.targets.sign))
        counts = rounder.round(fit(tilts[stale % len(tilts)] * direction))
        if counts is None:
            return
        search.take(counts)
        report()
        if turn > 3:  # the first tables differ enough by themselves
            _exchange_targets(rounder, search, counts)
        left = search.unsettled()
        stale = stale + 1 if turn > 3 and left > 0.97 * before else 0
        if left == 0 or stale == (len(tilts) if left < EFFORT.few_ends else 1):
            return


def _exchange_targets(rounder: Rounder, search: Search, counts: IntArray) -> None:
    """What single exchanges of votes make of a table, where the targets are the joint cells."""
    system, count = rounder.system, len(rounder.system.options)
    if system.n_free_options + system.reference != count or not search.targets.are_joint_cells(
        len(system.codes), count, system.n_free_options
    ):
        return
    wanted = np.asarray((search.open_above | search.open_below).reshape(-1, count).any(axis=1))
    for least, most in rounder.exchanges.reach(counts, wanted, EFFORT.few_pairs):
        search.show(least[:, :count].ravel(), most[:, :count].ravel())
