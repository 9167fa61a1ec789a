"""A table with all its margins after noise by cell keys."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from safemargin.core import FloatArray, Guarantee, Hierarchy, IntArray


@dataclass(frozen=True, eq=False)
class Perturbed:
    """True counts of every combination of nodes, the noise on them, and true weighted counts if there are weights.

    Only `printed` and `weighted_printed` may leave.
    """

    trees: tuple[Hierarchy, ...]
    counts: IntArray
    noise: IntArray
    guarantee: Guarantee
    weighted: FloatArray | None = None

    @cached_property
    def printed(self) -> IntArray:
        """Counts as they are published."""
        return self.counts + self.noise

    @cached_property
    def weighted_printed(self) -> FloatArray | None:
        """Weighted counts as they are published: the published count times the mean weight of the cell."""
        if self.weighted is None:
            return None
        mean: FloatArray = np.zeros(self.counts.shape)
        np.divide(self.weighted, self.counts, out=mean, where=self.counts > 0)
        return mean * self.printed
