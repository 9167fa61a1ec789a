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
        """Switch votes inside profiles until twins have the wanted sums; everybody keeps a vote."""
        missing = wanted - self.sums(counts)
        for twins in np.flatnonzero(missing.any(axis=1)).tolist():
            members, gap = np.flatnonzero(self.of == twins), missing[twins]
            while gap.any():
                given, taken = int(gap.argmin()), int(gap.argmax())
                moved = spread(counts[members, given], int(min(-gap[given], gap[taken])))
                counts[members, given] -= moved
                counts[members, taken] += moved
                gap[given] += moved.sum()
                gap[taken] -= moved.sum()


def spread(room: IntArray, units: int) -> IntArray:
    """`units` taken from places in proportion to what each has, never more than that; some place has any.

    >>> spread(np.array([6, 3, 1]), 5).tolist()
    [4, 1, 0]
    """
    total = int(room.sum())
    units = min(units, total)
    share = (room.astype(np.float64) * (units / total)).astype(np.int64)
    share = np.minimum(share, room)
    left = units - int(share.sum())
    spare = np.flatnonzero(room > share)
    spare = spare[np.argsort(-room[spare], kind="stable")][:left]
    share[spare] += 1
    return share
