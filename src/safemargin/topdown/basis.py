"""Orthonormal coordinates of tables, in which noisy margins become small independent problems.

Objects
    block       a set of categories of an attribute that no grouping separates
    U           of an attribute: an orthonormal matrix whose first rows are sums of blocks over the root of their size,
                and whose other rows are contrasts within one block (Helmert rows, which sum to zero)
    component   for every attribute, either the block sums or the contrasts; tables are the sum of their components

Statement
    In the coordinates (U1 x U2 x ...) x, a margin sees a component either not at all, or as one fixed matrix times the
    coordinates of each of its contrasts. Independent noise of equal variance stays so, since U is orthonormal. So all
    contrasts of a component are the same problem, with the same covariance (Xiao et al. 2023, for margins alone).

Example
    Three categories without a grouping are one block: a sum and two contrasts. Going there and back changes nothing.

    >>> basis = Basis(Attributes(("age",), (("young", "middle", "old"),)))
    >>> [(component.fine, component.contrasts, component.size) for component in basis.components]
    [((False,), 1, 1), ((True,), 2, 1)]
    >>> table = np.array([[1, 2, 6]])
    >>> coordinates = basis.forward(table, basis.attributes.detailed)
    >>> round(float(coordinates[0][0, 0, 0] * 3**0.5), 9), basis.back(coordinates).round(9).tolist()
    (9.0, [[1.0, 2.0, 6.0]])
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from scipy.linalg import helmert

from safemargin.core import FloatArray, IntArray
from safemargin.topdown.attributes import Attributes, MarginQuery

ROUNDING = 1e-12  # variances below this share of their summands are rounding errors of zero


@dataclass(frozen=True)
class Component:
    """Attributes whose coordinates are contrasts; the number of contrasts, and of coordinates of each."""

    fine: tuple[bool, ...]
    contrasts: int
    size: int


@dataclass(frozen=True)
class Basis:
    """Orthonormal coordinates of tables with these attributes."""

    attributes: Attributes

    @cached_property
    def blocks(self) -> tuple[IntArray, ...]:
        """By attribute, the block of every category."""
        blocks = []
        for axis, size in enumerate(self.attributes.sizes):
            finest = MarginQuery(())
            for grouping in self.attributes.groupings:
                if grouping.axis == axis:
                    finest |= MarginQuery((axis,), (grouping.codes,))
            codes = finest.groups_by_axis.get(axis, range(size)) if finest.axes else [0] * size
            blocks.append(np.array(range(size) if codes is None else codes, dtype=np.int64))
        return tuple(blocks)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """By attribute, the number of blocks."""
        return tuple(int(blocks.max()) + 1 for blocks in self.blocks)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """All with at least one coordinate."""
        components = []
        for fine in product((False, True), repeat=len(self.counts)):
            axes = list(zip(fine, self.attributes.sizes, self.counts, strict=True))
            contrasts = prod(size - count for is_fine, size, count in axes if is_fine)
            if contrasts:
                components.append(Component(fine, contrasts, prod(count for is_fine, _, count in axes if not is_fine)))
        return tuple(components)

    @cached_property
    def rotations(self) -> tuple[FloatArray, ...]:
        """By attribute, the coordinates as orthonormal rows: block sums, then Helmert contrasts within each block."""
        rotations = []
        for blocks, count in zip(self.blocks, self.counts, strict=True):
            sums, contrasts = np.zeros((count, len(blocks))), []
            for block in range(count):
                inside = np.flatnonzero(blocks == block)
                sums[block, inside] = len(inside) ** -0.5
                rows = np.zeros((len(inside) - 1, len(blocks)))
                if len(inside) > 1:
                    rows[:, inside] = helmert(len(inside))
                contrasts.append(rows)
            rotations.append(np.vstack([sums, *contrasts]))
        return tuple(rotations)

    def forward(self, values: IntArray | FloatArray, query: MarginQuery) -> list[FloatArray | None]:
        """What tables of a margin (rows) say about each component: by row and contrast; None if nothing."""
        parts, shape = query.groups_by_axis, self.attributes.shape(query)
        shaped = values.astype(np.float64).reshape(len(values), *shape)
        for position, axis in enumerate(query.axes, 1):
            if parts[axis] is None:
                turned = np.tensordot(shaped, self.rotations[axis], axes=([position], [1]))
                shaped = np.moveaxis(turned, -1, position)
        sizes = iter(shape)
        shaped = shaped.reshape(len(values), *(next(sizes) if axis in parts else 1 for axis in range(len(self.counts))))
        return [
            self._select(shaped, query, component) if self.sees(query, component) else None
            for component in self.components
        ]

    def back(self, coordinates: list[FloatArray]) -> FloatArray:
        """Rows with all cells from the coordinates of every component."""
        sizes, count = self.attributes.sizes, len(coordinates[0])
        shaped = np.zeros((count, *sizes))
        for component, values in zip(self.components, coordinates, strict=True):
            order = self._order(component)
            inside = [
                size - blocks if is_fine else blocks
                for is_fine, size, blocks in zip(component.fine, sizes, self.counts, strict=True)
            ]
            turned = values.reshape(count, *(inside[axis - 1] for axis in order[1:]))
            shaped[self._slices(component)] = np.transpose(turned, np.argsort(order))
        for position, rotation in enumerate(self.rotations, 1):
            shaped = np.moveaxis(np.tensordot(shaped, rotation, axes=([position], [0])), -1, position)
        return np.ascontiguousarray(shaped).reshape(count, -1)

    def sees(self, query: MarginQuery, component: Component) -> bool:
        """Whether a margin counts by all categories of the attributes with contrasts; others say nothing about the
        component.
        """
        parts = query.groups_by_axis
        return all(axis in parts and parts[axis] is None for axis, fine in enumerate(component.fine) if fine)

    def matrix(self, query: MarginQuery, component: Component) -> FloatArray:
        """What a margin sees of the coordinates of a contrast, if it sees it."""
        matrix: FloatArray = np.ones((1, 1))
        for axis, is_fine in enumerate(component.fine):
            if not is_fine:
                by_category = query.groups_by_axis.get(axis, ()) is None
                matrix = _kron(matrix, np.eye(self.counts[axis]) if by_category else self._sums(query, axis))
        return matrix

    def loads(self, query: MarginQuery, component: Component) -> tuple[FloatArray, FloatArray]:
        """For each count of a margin: the share of contrasts in it, and the weights of their coordinates.

        So the variance of a count is share times w' C w, summed over components, where C is the covariance of the
        coordinates of one contrast (`variance`): all contrasts of a component have the same.
        """
        share: FloatArray = np.ones(1)
        weights: FloatArray = np.ones((1, 1))
        for axis, is_fine in enumerate(component.fine):
            blocks, by_category = self.blocks[axis], query.groups_by_axis.get(axis, ()) is None
            size = np.bincount(blocks)[blocks]
            if is_fine:
                # Helmert rows of a block of n project onto the complement of its mean: every diagonal entry is 1 - 1/n.
                share, weights = _kron(share, 1 - 1 / size), np.repeat(weights, len(blocks), axis=0)
            else:
                categories = (blocks[:, None] == np.arange(self.counts[axis])) / np.sqrt(size)[:, None]
                sums = categories if by_category else self._sums(query, axis)
                share, weights = np.repeat(share, len(sums)), _kron(weights, sums)
        return share, weights

    def variance(self, query: MarginQuery, covariances: list[FloatArray]) -> FloatArray:
        """Of every count of a margin, by row, from the covariances of the coordinates of each component."""
        variance = np.zeros((len(covariances[0]), self.attributes.cells(query)))
        for component, covariance in zip(self.components, covariances, strict=True):
            if self.sees(query, component):
                share, weights = self.loads(query, component)
                rows, inverse = np.unique(weights, axis=0, return_inverse=True)
                square = np.einsum("cb,abd,cd->ac", rows, covariance, rows, optimize=True)
                most = (np.sqrt(np.maximum(np.einsum("abb->ab", covariance), 0)) @ np.abs(rows).T) ** 2
                square[square <= ROUNDING * most] = 0.0  # what is known exactly must not get a standard error
                variance += share * square[:, inverse.reshape(-1)]
        return variance

    def _sums(self, query: MarginQuery, axis: int) -> FloatArray:
        """Sums of groups, or of all categories, from the coordinates of blocks."""
        blocks, codes = self.blocks[axis], query.groups_by_axis.get(axis) or (0,) * len(self.blocks[axis])
        sums = np.zeros((max(codes) + 1, self.counts[axis]))
        sums[np.array(codes), blocks] = np.sqrt(np.bincount(blocks))[blocks]
        return sums

    def _select(self, shaped: FloatArray, query: MarginQuery, component: Component) -> FloatArray:
        """The coordinates of one component in a table that was turned, by row, contrast and block."""
        slices = list(self._slices(component))
        for axis in range(len(self.counts)):
            if query.groups_by_axis.get(axis, ()) is not None:
                slices[axis + 1] = slice(None)
        selected = np.transpose(shaped[tuple(slices)], self._order(component))
        return np.ascontiguousarray(selected).reshape(len(shaped), component.contrasts, -1)

    def _slices(self, component: Component) -> tuple[slice, ...]:
        """Where the coordinates of a component stand along every attribute: contrasts behind, block sums in front."""
        axes = zip(component.fine, self.counts, strict=True)
        return slice(None), *(slice(count, None) if is_fine else slice(count) for is_fine, count in axes)

    def _order(self, component: Component) -> list[int]:
        """Rows first, then the attributes with contrasts, then the others."""
        return [0, *sorted(range(1, len(self.counts) + 1), key=lambda position: not component.fine[position - 1])]


def _kron(left: FloatArray, right: FloatArray) -> FloatArray:
    """The Kronecker product, as floats."""
    return np.asarray(np.kron(left, right), dtype=np.float64)
