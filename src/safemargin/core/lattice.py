"""One table with all its margins: every sum along every axis and every level of its hierarchies."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from safemargin.core.arrays import IntArray
from safemargin.core.axis import Hierarchy
from safemargin.core.errors import TooLargeError

MOST_CELLS = 2_000_000


@dataclass(frozen=True)
class Lattice:
    """Counts of every combination of nodes, as one array with an axis per tree."""

    trees: tuple[Hierarchy, ...]
    counts: IntArray

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes per axis."""
        return tuple(len(tree.labels) for tree in self.trees)

    def cell(self, place: int) -> dict[str, str]:
        """Labels of a cell by axis; an axis that is summed over is omitted."""
        nodes = np.unravel_index(place, self.shape)
        return {tree.name: tree.labels[int(node)] for tree, node in zip(self.trees, nodes, strict=True) if node}

    @cached_property
    def equations(self) -> sparse.csr_array:
        """Rows that are zero on every table: a node less the nodes that add up to it, all else fixed."""
        index = np.arange(self.counts.size).reshape(self.shape)
        rows, columns, signs, count = [], [], [], 0
        for a, tree in enumerate(self.trees):
            along = np.moveaxis(index, a, 0).reshape(len(tree.labels), -1)
            for parent, children in tree.splits:
                here = np.arange(along.shape[1]) + count
                for node, sign in ((parent, 1), *((child, -1) for child in children)):
                    rows.append(here)
                    columns.append(along[node])
                    signs.append(np.full(len(here), sign, dtype=np.int64))
                count += along.shape[1]
        placed = (np.concatenate(rows), np.concatenate(columns))
        return sparse.csr_array((np.concatenate(signs), placed), shape=(count, self.counts.size))


def lattice(trees: Sequence[Hierarchy], base: IntArray) -> Lattice:
    """All sums of `base`, which has one entry per combination of leaves."""
    # As floats: the product of many sizes overflows integers silently.
    size = int(np.prod([float(len(tree.labels)) for tree in trees]))
    if size > MOST_CELLS:
        raise TooLargeError(f"{size:,} cells with all margins: at most {MOST_CELLS:,}; give fewer axes or categories")
    counts = np.asarray(base, dtype=np.int64)
    for a, tree in enumerate(trees):
        counts = np.moveaxis(np.tensordot(tree.members.astype(np.int64), counts, axes=(1, a)), 0, a)
    counts = np.ascontiguousarray(counts)
    counts.setflags(write=False)
    return Lattice(tuple(trees), counts)
