"""Profiles that agree in every published table: how votes are dealt out among them changes no margin.

Twins arise where axes are omitted or merged: 1,000 profiles of six axes may be 60 classes of two published ones.
`TwinPools` turns a problem about profiles into one about classes, solves it there, and deals the votes out again.

Invariant: dealing keeps the people of every profile and the sums of every class, so every margin stays.
"""

import numpy as np

from safemargin.bounds.exchange import Exchanges
from safemargin.core import IntArray, grouped, row_keys


class TwinPools:
    """Profiles that agree in every published table, as one: where axes are omitted, there are many.

    `of[e]` is the class of profile e. `exchanges` is the same kind of object over classes: people and ceilings added
    up. Votes of twins are exchanged without changing any margin, so only their sums have to be matched.
    """

    def __init__(self, exchanges: Exchanges) -> None:
        blocks = exchanges.blocks[list(exchanges.tops)]
        keys = row_keys(blocks.T + 1, [int(block.max(initial=-1)) + 2 for block in blocks])
        first, self.of = grouped(keys)
        self.count, self.are_fewer = len(first), len(first) < len(keys)
        ends = (self.sums(end) for end in (exchanges.low, exchanges.high))
        people = self.sums(exchanges.people[:, None])[:, 0]
        self.exchanges = Exchanges(exchanges.blocks[:, first], exchanges.slices, people, *ends)

    def sums(self, counts: IntArray) -> IntArray:
        """Counts (one row per profile) added up over twins."""
        total = np.zeros((self.count, counts.shape[1]), dtype=np.int64)
        np.add.at(total, self.of, counts)
        return total

    def deal(self, wanted: IntArray, counts: IntArray) -> None:
        """Switch votes inside profiles until twins have the wanted sums; everybody keeps a vote.

        Every round takes the option with the largest surplus of each pool and gives to the one that lacks most, so
        that the gap of one of the two is closed: there are fewer rounds than options, whatever the number of pools.
        """
        gap = wanted - self.sums(counts)
        place = np.empty(self.count, dtype=np.int64)
        while len(open_pools := np.flatnonzero(gap.any(axis=1))):
            left = gap[open_pools]
            given, taken = left.argmin(axis=1), left.argmax(axis=1)
            place[:] = -1
            place[open_pools] = np.arange(len(open_pools))
            members = np.flatnonzero(place[self.of] >= 0)
            pool = place[self.of[members]]
            units = np.minimum(-left.min(axis=1), left.max(axis=1))
            moved = spread_in_pools(counts[members, given[pool]], pool, units)
            counts[members, given[pool]] -= moved
            counts[members, taken[pool]] += moved
            total = np.zeros(len(open_pools), dtype=np.int64)
            np.add.at(total, pool, moved)
            gap[open_pools, given] += total
            gap[open_pools, taken] -= total


def spread(room: IntArray, units: int) -> IntArray:
    """`units` taken from places in proportion to what each has, never more than that; some place has any.

    >>> spread(np.array([6, 3, 1]), 5).tolist()
    [4, 1, 0]
    """
    total = int(room.sum())
    units = min(units, total)
    share = np.minimum((room.astype(np.float64) * (units / total)).astype(np.int64), room)
    spare = np.flatnonzero(room > share)
    share[spare[np.argsort(-room[spare], kind="stable")][: units - int(share.sum())]] += 1
    return share


def spread_in_pools(room: IntArray, pool: IntArray, units: IntArray) -> IntArray:
    """The same for many pools at once, each with its own `units`; `pool` numbers the pool of every place.

    What rounding leaves over is taken from the places that have most, of equals the first.
    """
    total = np.zeros(len(units), dtype=np.int64)
    np.add.at(total, pool, room)
    units = np.minimum(units, total)
    share = np.minimum((room.astype(np.float64) * (units / total)[pool]).astype(np.int64), room)
    left = units.copy()
    np.subtract.at(left, pool, share)
    spare = np.flatnonzero(room > share)
    order = spare[np.lexsort((-room[spare], pool[spare]))]  # stable: of equals, the first
    first = np.searchsorted(pool[order], np.arange(len(units)))
    rank = np.arange(len(order)) - first[pool[order]]
    share[order[rank < left[pool[order]]]] += 1
    return share
