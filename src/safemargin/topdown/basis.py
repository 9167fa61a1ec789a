"""Coordinates of tables in which noisy margins take a table apart into small problems that have nothing to do with
each other.

The groupings of an attribute cut its categories into *blocks*, such that every group is made of whole blocks; without
groupings all categories are one block. On each attribute the first coordinates are the sums of the blocks, divided by
the root of their size, and the others are contrasts within a block, which only margins by all categories see. A
*component* says for every attribute which of the two. A margin sees all its contrasts alike, with independent noise;
to each contrast belong as many numbers as the other attributes have combinations of blocks.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from scipy.linalg import helmert

from safemargin.core import FloatArray, IntArray
from safemargin.topdown.attributes import Attributes, Query

NOTHING = 1e-12
"""Variances below this share of what they are made of are rounding errors of zero."""


@dataclass(frozen=True)
class Component:
    """Attributes of which coordinates are contrasts; how many contrasts there are, and numbers to each."""

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
        found = []
        for axis, size in enumerate(self.attributes.sizes):
            whole = Query(())
            for each in self.attributes.groupings:
                if each.axis == axis:
                    whole |= Query((axis,), (each.codes,))
            codes = whole.parts.get(axis, range(size)) if whole.axes else [0] * size
            found.append(np.array(range(size) if codes is None else codes, dtype=np.int64))
        return tuple(found)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """By attribute, how many blocks there are."""
        return tuple(int(blocks.max()) + 1 for blocks in self.blocks)

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """All with at least one coordinate."""
        found = []
        for fine in product((False, True), repeat=len(self.counts)):
            pairs = list(zip(fine, self.attributes.sizes, self.counts, strict=True))
            contrasts = prod(size - count for here, size, count in pairs if here)
            if contrasts:
                found.append(Component(fine, contrasts, prod(count for here, _, count in pairs if not here)))
        return tuple(found)

    @cached_property
    def turns(self) -> tuple[FloatArray, ...]:
        """By attribute, the coordinates as rows."""
        found = []
        for blocks, count in zip(self.blocks, self.counts, strict=True):
            sums, contrasts = np.zeros((count, len(blocks))), []
            for block in range(count):
                inside = np.flatnonzero(blocks == block)
                sums[block, inside] = len(inside) ** -0.5
                rows = np.zeros((len(inside) - 1, len(blocks)))
                if len(inside) > 1:
                    rows[:, inside] = helmert(len(inside))
                contrasts.append(rows)
            found.append(np.vstack([sums, *contrasts]))
        return tuple(found)

    def forward(self, values: IntArray | FloatArray, query: Query) -> list[FloatArray | None]:
        """What rows that are tables of a margin say about each component: by row and contrast."""
        parts, shape = query.parts, self.attributes.shape(query)
        shaped = values.astype(np.float64).reshape(len(values), *shape)
        for place, axis in enumerate(query.axes, 1):
            if parts[axis] is None:
                shaped = np.moveaxis(np.tensordot(shaped, self.turns[axis], axes=([place], [1])), -1, place)
        sizes = iter(shape)
        shaped = shaped.reshape(len(values), *(next(sizes) if axis in parts else 1 for axis in range(len(self.counts))))
        return [self._taken(shaped, query, each) if self.sees(query, each) else None for each in self.components]

    def back(self, coordinates: list[FloatArray]) -> FloatArray:
        """Rows with all cells from the coordinates of every component."""
        sizes, count = self.attributes.sizes, len(coordinates[0])
        shaped = np.zeros((count, *sizes))
        for each, values in zip(self.components, coordinates, strict=True):
            order = self._order(each)
            inside = [
                size - blocks if here else blocks
                for here, size, blocks in zip(each.fine, sizes, self.counts, strict=True)
            ]
            turned = values.reshape(count, *(inside[axis - 1] for axis in order[1:]))
            shaped[self._slices(each)] = np.transpose(turned, np.argsort(order))
        for place, turn in enumerate(self.turns, 1):
            shaped = np.moveaxis(np.tensordot(shaped, turn, axes=([place], [0])), -1, place)
        return np.ascontiguousarray(shaped).reshape(count, -1)

    def sees(self, query: Query, component: Component) -> bool:
        """Whether a margin counts by all categories of the attributes with contrasts."""
        parts = query.parts
        return all(axis in parts and parts[axis] is None for axis, here in enumerate(component.fine) if here)

    def matrix(self, query: Query, component: Component) -> FloatArray:
        """What a margin sees of the numbers of a contrast, if it sees it."""
        found: FloatArray = np.ones((1, 1))
        for axis, here in enumerate(component.fine):
            if not here:
                one = query.parts.get(axis, ()) is None
                found = _product(found, np.eye(self.counts[axis]) if one else self._sums(query, axis))
        return found

    def loads(self, query: Query, component: Component) -> tuple[FloatArray, FloatArray]:
        """What counts of a margin are made of: the share of contrasts, and the weights of the numbers of each."""
        share: FloatArray = np.ones(1)
        weights: FloatArray = np.ones((1, 1))
        for axis, here in enumerate(component.fine):
            blocks, one = self.blocks[axis], query.parts.get(axis, ()) is None
            size = np.bincount(blocks)[blocks]
            if here:
                share, weights = _product(share, 1 - 1 / size), np.repeat(weights, len(blocks), axis=0)
            else:
                every = (blocks[:, None] == np.arange(self.counts[axis])) / np.sqrt(size)[:, None]
                mine = every if one else self._sums(query, axis)
                share, weights = np.repeat(share, len(mine)), _product(weights, mine)
        return share, weights

    def variance(self, query: Query, spreads: list[FloatArray]) -> FloatArray:
        """Of every count of a margin, by row, from the covariances of the numbers of each component."""
        found = np.zeros((len(spreads[0]), self.attributes.cells(query)))
        for component, spread in zip(self.components, spreads, strict=True):
            if self.sees(query, component):
                share, weights = self.loads(query, component)
                rows, place = np.unique(weights, axis=0, return_inverse=True)
                square = np.einsum("cb,abd,cd->ac", rows, spread, rows, optimize=True)
                most = (np.sqrt(np.maximum(np.einsum("abb->ab", spread), 0)) @ np.abs(rows).T) ** 2
                square[square <= NOTHING * most] = 0.0
                found += share * square[:, place.reshape(-1)]
        return found

    def _sums(self, query: Query, axis: int) -> FloatArray:
        """Sums of groups, or of all categories, from the coordinates of blocks."""
        blocks, codes = self.blocks[axis], query.parts.get(axis) or (0,) * len(self.blocks[axis])
        found = np.zeros((max(codes) + 1, self.counts[axis]))
        found[np.array(codes), blocks] = np.sqrt(np.bincount(blocks))[blocks]
        return found

    def _taken(self, shaped: FloatArray, query: Query, component: Component) -> FloatArray:
        slices = list(self._slices(component))
        for axis in range(len(self.counts)):
            if query.parts.get(axis, ()) is not None:
                slices[axis + 1] = slice(None)
        taken = np.transpose(shaped[tuple(slices)], self._order(component))
        return np.ascontiguousarray(taken).reshape(len(shaped), component.contrasts, -1)

    def _slices(self, component: Component) -> tuple[slice, ...]:
        pairs = zip(component.fine, self.counts, strict=True)
        return slice(None), *(slice(count, None) if here else slice(count) for here, count in pairs)

    def _order(self, component: Component) -> list[int]:
        """Rows first, then the attributes with contrasts, then the others."""
        return [0, *sorted(range(1, len(self.counts) + 1), key=lambda place: not component.fine[place - 1])]


def _product(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(np.kron(one, other), dtype=np.float64)
