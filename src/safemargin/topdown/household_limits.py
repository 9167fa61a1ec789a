"""What is public about persons limits the households in which they live.

An area with h[s] households of size s holds from sum low[s] h[s] to sum high[s] h[s] people in households. Where exact
counts, bounds or earlier tables say how many there are, tables of households without room for them must not be
published: no tables of persons could stand beside them. `residents.py` has the statement and the method; this file is
the value that both, and the folder of a release, share.
"""

from dataclasses import dataclass

import numpy as np

from safemargin.core import IntArray
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import MAX_COUNT, Design, MarginLimit


@dataclass(frozen=True)
class Residents:
    """What is public about the persons who live in households.

    `design` has the attributes of persons that anything limits, and these limits as bounds; nothing is measured.
    `living` and `inside` are the margin and its cell of persons in households. `size` is the margin of households by
    size; `people` has the least and the most people in a household of each (two rows).
    """

    design: Design
    living: MarginQuery
    inside: int
    size: MarginQuery
    people: IntArray

    def limit(self, homes: IntArray) -> MarginLimit:
        """How many people can live in households of the smallest areas, which are given by size."""
        low = np.zeros((len(homes), self.design.attributes.cells(self.living)), dtype=np.int64)
        high = np.full_like(low, MAX_COUNT)
        low[:, self.inside], high[:, self.inside] = self.people @ homes.T
        return MarginLimit(self.living, low, high)
