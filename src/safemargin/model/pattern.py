"""Which cells of a table with all its margins are withheld, and why nobody can tell what is in them."""

from dataclasses import dataclass

import numpy as np

from safemargin.model.arrays import BoolArray, IntArray
from safemargin.model.lattice import Lattice

KIND = "safemargin-pattern"

Move = tuple[tuple[int, int], ...]
"""Changes of withheld counts, as pairs of a place among the withheld cells and what is added there."""


@dataclass(frozen=True)
class Pattern:
    """A table less its `withheld` cells (places in the lattice, ascending).

    Every move leads from the true table to another with whole counts of at least one that prints the same; each
    withheld cell is changed by one of them. No pattern has fewer than `lower_bound` cells. `exposed` are the primary
    cells that are known to hold no more than the largest primary count.
    """

    table: Lattice
    primary: tuple[int, int]
    withheld: IntArray
    is_primary: BoolArray
    moves: tuple[Move, ...]
    lower_bound: int
    exposed: IntArray
    extra: int = 0
    protect: int | None = None

    @property
    def gap(self) -> int:
        """How many cells more than the lower bound are withheld."""
        return len(self.withheld) - self.lower_bound

    @property
    def counts(self) -> IntArray:
        """The true counts of the withheld cells."""
        counts: IntArray = self.table.counts.ravel()[self.withheld]
        return counts

    def certificate(self, pattern_file: str, digest: str) -> dict[str, object]:
        """For a checker who adds: the axes, one table of the withheld counts, and the changes that lead to others.

        The true table is among them: it stays inside.
        """
        nodes = np.stack(np.unravel_index(self.withheld, self.table.shape), axis=1)
        return {
            "schema": 1,
            "kind": KIND,
            "statement": "each withheld count has at least two values in whole tables that print the same",
            "files": {pattern_file: digest},
            "axes": [
                {"name": tree.name, "labels": list(tree.labels), "splits": [[p, list(c)] for p, c in tree.splits]}
                for tree in self.table.trees
            ],
            "withheld": nodes.tolist(),
            "counts": self.counts.tolist(),
            "changes": [[list(step) for step in move] for move in self.moves],
            "lower_bound": self.lower_bound,
            "protect": self.protect,
        }
