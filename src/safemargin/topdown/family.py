"""The parts of one area as one problem: their counts of a margin, near an estimate and under constraints."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.topdown.attributes import Attributes, Query
from safemargin.topdown.design import MOST, AreaLimit
from safemargin.topdown.reach import ReachableCounts

NEAR, DIGITS = 1e-7, 1e-13
"""Rows that an estimate may miss by this much, and this share of their size, count as met."""


@dataclass(frozen=True)
class AreaFamily:
    """Counts `x` with `least <= matrix x <= most`, `x >= 0` and `x = 0` where `empty`, near `target`.

    `also` are margins that should stay near those of the target too: a matrix, the weight of each of its rows, and how
    far each is from the target already. `target` and `weight` have one entry per count, part by part.
    """

    matrix: sparse.csr_array
    least: IntArray
    most: IntArray
    empty: BoolArray
    target: FloatArray
    weight: FloatArray
    also: tuple[tuple[sparse.csr_array, FloatArray, FloatArray], ...] = ()

    def is_met(self, values: FloatArray) -> bool:
        """Whether values satisfy everything, but for rounding errors of floating point."""
        sums = self.matrix @ values
        slack = NEAR + DIGITS * np.abs(sums)
        return bool(
            (values >= -NEAR).all()
            and (values[self.empty] <= NEAR).all()
            and (sums >= self.least - slack).all()
            and (sums <= self.most + slack).all()
        )

    def without(self, gone: BoolArray) -> "AreaFamily":
        """The same problem where the counts that must be zero are left out."""
        keep = ~gone
        lost = np.where(gone, self.target, 0.0)
        return AreaFamily(
            self.matrix[:, keep],
            self.least,
            self.most,
            np.zeros(int(keep.sum()), dtype=bool),
            self.target[keep],
            self.weight[keep],
            tuple((matrix[:, keep], weight, far - matrix @ lost) for matrix, weight, far in self.also),
        )


class Forms:
    """The matrices of families of every size, each built once."""

    def __init__(self, attributes: Attributes, margin: Query) -> None:
        self.attributes, self.margin = attributes, margin
        self._matrices: dict[tuple[int, Query | None], sparse.csr_array] = {}
        self._reach: dict[int, sparse.csr_array] = {}

    def sums(self, parts: int, query: Query | None) -> sparse.csr_array:
        """Sums to a narrower margin in each part, or without a query, of every count over the parts."""
        if (parts, query) not in self._matrices:
            cells = self.attributes.cells(self.margin)
            if query is None:
                matrix = sparse.kron(np.ones((1, parts)), sparse.eye_array(cells))
            else:
                groups = self.attributes.groups(query, self.margin)
                shape = (self.attributes.cells(query), cells)
                summed = sparse.csr_array((np.ones(cells), (groups, np.arange(cells))), shape=shape)
                matrix = sparse.kron(sparse.eye_array(parts), summed)
            self._matrices[parts, query] = sparse.csr_array(matrix)
        return self._matrices[parts, query]

    def _sets(self, parts: int, reach: ReachableCounts) -> sparse.csr_array:
        """Sums over sets of cells in each part; `reach` is always the same."""
        if parts not in self._reach:
            rows = sparse.csr_array(reach.sets.astype(np.float64))
            self._reach[parts] = sparse.csr_array(sparse.kron(sparse.eye_array(parts), rows))
        return self._reach[parts]

    def family(
        self,
        above: IntArray | None,
        limits: list[AreaLimit],
        reach: ReachableCounts | None,
        empty: BoolArray,
        target: FloatArray,
        weights: dict[Query, FloatArray],
    ) -> AreaFamily:
        """The parts of an area: `target` and the weights of each margin have a row per part."""
        parts = len(target)
        blocks = [self.sums(parts, limit.query) for limit in limits]
        low, high = [limit.low.reshape(-1) for limit in limits], [limit.high.reshape(-1) for limit in limits]
        if above is not None:
            blocks.append(self.sums(parts, None))
            low.append(above)
            high.append(above)
        if reach is not None:
            blocks.append(self._sets(parts, reach))
            low.append(reach.low.reshape(-1))
            high.append(reach.high.reshape(-1))
        cells = target.shape[1]
        nothing = sparse.csr_array((0, parts * cells))
        return AreaFamily(
            sparse.csr_array(sparse.vstack(blocks)) if blocks else nothing,
            np.concatenate(low) if low else np.zeros(0, dtype=np.int64),
            np.concatenate(high) if high else np.full(0, MOST),
            np.tile(empty, parts),
            target.reshape(-1),
            weights[self.margin].reshape(-1),
            tuple(
                (
                    self.sums(parts, query),
                    weight.reshape(-1),
                    np.zeros(parts * self.attributes.cells(query)),
                )
                for query, weight in weights.items()
                if query != self.margin
            ),
        )
