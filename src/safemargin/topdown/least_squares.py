"""Generalised least squares on a tree of areas, in closed form and linear time.

In an orthonormal basis of tables, noisy margins split into small independent problems. The groupings of an attribute
cut its categories into *blocks*, so that every group is a union of blocks; without groupings all categories are one
block. On each attribute the first coordinates are the sums of the blocks, divided by the root of their size, and the
others are contrasts within a block, which only margins by all categories see. A *component* says for every attribute
which of the two. A margin sees all its contrasts alike, with independent noise; each contrast has as many coordinates
as the other attributes have combinations of blocks. Without groupings this is the residual basis of marginal queries
(Xiao et al., "An Optimal and Scalable Matrix Mechanism for Noisy Marginals", 2023).

Every contrast is then a problem of its own on the tree. Estimates go up as means weighted by precision; what the area
above knows better comes down in proportion to the variances of its parts. This is the two-pass algorithm of Hay et al.
(2010), for unequal variances and covariance matrices; Cumings-Menon (2024) uses such a one for the 2020 census.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from scipy.linalg import helmert

from safemargin.core import FloatArray, IntArray, TooLargeError
from safemargin.topdown.attributes import Attributes, MarginQuery
from safemargin.topdown.design import Design, Measurements, Spine

MAX_NUMBERS = 10**8  # entries of covariances on all levels that are held in memory (0.8 GB)
# Directions with less than this share of the largest variance, or of the least noise, are known exactly.
SINGULAR = 1e-11
NO_NOISE = 1e-12  # noise with a smaller variance is zero except in one of so many draws: its count is known
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
            codes = finest.parts.get(axis, range(size)) if finest.axes else [0] * size
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
        parts, shape = query.parts, self.attributes.shape(query)
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
        """Whether a margin counts by all categories of the attributes with contrasts."""
        parts = query.parts
        return all(axis in parts and parts[axis] is None for axis, fine in enumerate(component.fine) if fine)

    def matrix(self, query: MarginQuery, component: Component) -> FloatArray:
        """What a margin sees of the coordinates of a contrast, if it sees it."""
        matrix: FloatArray = np.ones((1, 1))
        for axis, is_fine in enumerate(component.fine):
            if not is_fine:
                by_category = query.parts.get(axis, ()) is None
                matrix = _kron(matrix, np.eye(self.counts[axis]) if by_category else self._sums(query, axis))
        return matrix

    def loads(self, query: MarginQuery, component: Component) -> tuple[FloatArray, FloatArray]:
        """For each count of a margin: the share of contrasts in it, and the weights of their coordinates."""
        share: FloatArray = np.ones(1)
        weights: FloatArray = np.ones((1, 1))
        for axis, is_fine in enumerate(component.fine):
            blocks, by_category = self.blocks[axis], query.parts.get(axis, ()) is None
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
        blocks, codes = self.blocks[axis], query.parts.get(axis) or (0,) * len(self.blocks[axis])
        sums = np.zeros((max(codes) + 1, self.counts[axis]))
        sums[np.array(codes), blocks] = np.sqrt(np.bincount(blocks))[blocks]
        return sums

    def _select(self, shaped: FloatArray, query: MarginQuery, component: Component) -> FloatArray:
        slices = list(self._slices(component))
        for axis in range(len(self.counts)):
            if query.parts.get(axis, ()) is not None:
                slices[axis + 1] = slice(None)
        selected = np.transpose(shaped[tuple(slices)], self._order(component))
        return np.ascontiguousarray(selected).reshape(len(shaped), component.contrasts, -1)

    def _slices(self, component: Component) -> tuple[slice, ...]:
        axes = zip(component.fine, self.counts, strict=True)
        return slice(None), *(slice(count, None) if is_fine else slice(count) for is_fine, count in axes)

    def _order(self, component: Component) -> list[int]:
        """Rows first, then the attributes with contrasts, then the others."""
        return [0, *sorted(range(1, len(self.counts) + 1), key=lambda position: not component.fine[position - 1])]


def _kron(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.kron(left, right), dtype=np.float64)


@dataclass(frozen=True)
class ComponentEstimate:
    """Coordinates of one component by area and contrast, and their covariance by area."""

    values: FloatArray
    covariance: FloatArray


@dataclass(frozen=True)
class LeastSquaresFit:
    """The estimate, in coordinates: from an area and its parts (`up`), and from everything (`best`).

    Both by level and component. Variances below `floor` are rounding errors of zero.
    """

    spine: Spine
    basis: Basis
    up: tuple[tuple[ComponentEstimate, ...], ...]
    best: tuple[tuple[ComponentEstimate, ...], ...]
    floor: float

    def estimate(self, level: int) -> FloatArray:
        """Unbiased estimate of every count of a level; the parts of an area add up to it."""
        return self.basis.back([belief.values for belief in self.best[level]])

    def standard_error(self, level: int, query: MarginQuery) -> FloatArray:
        """Of every count of a margin, by area."""
        variance = self.basis.variance(query, [belief.covariance for belief in self.best[level]])
        return np.sqrt(np.where(variance > self.floor, variance, 0.0))

    def given(self, level: int, above: IntArray) -> FloatArray:
        """Estimate of every count of a level, given the counts one level up."""
        coordinates = []
        values = self.basis.forward(above, self.basis.attributes.detailed)
        for own, parents in zip(self.up[level], values, strict=True):
            assert parents is not None
            # Counts above are fixed, so their covariance is zero.
            known = ComponentEstimate(parents, np.zeros((len(above), *own.covariance.shape[1:])))
            coordinates.append(_down(self.spine, level, own, known, self.floor).values)
        return self.basis.back(coordinates)


def check_size(design: Design) -> None:
    """Refuse groupings with too many numbers to estimate together."""
    sizes = [component.size for component in Basis(design.attributes).components if component.size > 1]
    if design.spine.areas * sum(size**2 for size in sizes) > MAX_NUMBERS:
        raise TooLargeError(
            f"groupings: they cut the attributes into {max(sizes):,} combinations of blocks, too many for "
            f"{design.spine.areas:,} areas; use fewer or coarser groupings that do not cross"
        )


def fit(design: Design, measured: Measurements) -> LeastSquaresFit:
    """The best linear unbiased estimate from all noisy margins and exact ones."""
    check_size(design)
    spine, basis, floor = design.spine, Basis(design.attributes), _floor(design)
    up: list[list[ComponentEstimate]] = [[] for _ in spine.levels]
    for level in range(spine.last, -1, -1):
        exact = {query: values for (exact_level, query), values in measured.exact.items() if exact_level == level}
        below = None
        if level < spine.last:  # parts have independent noise: estimates and covariances add up
            below = [
                ComponentEstimate(spine.sums(level + 1, belief.values), spine.sums(level + 1, belief.covariance))
                for belief in up[level + 1]
            ]
        up[level] = _up(design, basis, level, measured.noisy[level], exact, below, floor)
    best = [up[0]]
    for level in range(1, len(spine.levels)):
        best.append([_down(spine, level, own, above, floor) for own, above in zip(up[level], best[-1], strict=True)])
    return LeastSquaresFit(spine, basis, tuple(map(tuple, up)), tuple(map(tuple, best)), floor)


def expected_errors(design: Design) -> tuple[dict[MarginQuery, FloatArray], ...]:
    """Standard errors of every query, by level and area, before anything is measured: they do not depend on counts."""
    attributes, spine = design.attributes, design.spine

    def zeros(level: int, query: MarginQuery) -> IntArray:
        return np.zeros((len(spine.names[level]), attributes.cells(query)), dtype=np.int64)

    levels = range(len(spine.levels))
    noisy = tuple({query: zeros(level, query) for query in design.measured(level)} for level in levels)
    result = fit(design, Measurements(noisy, {(level, query): zeros(level, query) for level, query in design.exact}))
    asked = [query for level in levels for query in design.measured(level)]
    queries = sorted(dict.fromkeys([MarginQuery(()), *asked, attributes.detailed]), key=lambda query: len(query.axes))
    return tuple({query: result.standard_error(level, query) for query in queries} for level in levels)


def _up(
    design: Design,
    basis: Basis,
    level: int,
    noisy: Mapping[MarginQuery, IntArray],
    exact: Mapping[MarginQuery, IntArray],
    below: list[ComponentEstimate] | None,
    floor: float,
) -> list[ComponentEstimate]:
    """Coordinates of a level from the sums of its parts and its own margins."""
    variances = _variances(design, level)
    beliefs: list[ComponentEstimate | None] = list(below) if below else [None] * len(basis.components)
    detailed = design.attributes.detailed
    # The detailed margin comes first: it alone sees every component, so that the others are updates.
    margins = [(query, noisy[query], variances[query]) for query in sorted(noisy, key=lambda query: query != detailed)]
    margins += [(query, values, 0.0) for query, values in exact.items()]
    for query, values, variance in margins:
        for index, seen in enumerate(basis.forward(values, query)):
            if seen is not None:
                matrix = basis.matrix(query, basis.components[index])
                beliefs[index] = _update(beliefs[index], seen, matrix, variance, floor)
    assert all(belief is not None for belief in beliefs), "the smallest areas have detailed counts"
    return [belief for belief in beliefs if belief is not None]


def _variances(design: Design, level: int) -> dict[MarginQuery, float]:
    """Of the noise on the queries of a level; zero where there is hardly ever any."""
    return {query: variance if variance > NO_NOISE else 0.0 for query, variance in design.noise(level).items()}


def _floor(design: Design) -> float:
    """Variances of what is not known exactly are larger than this: no count is measured nearly that often."""
    variances = [v for level in range(len(design.spine.levels)) for v in _variances(design, level).values() if v]
    return SINGULAR * min(variances, default=0.0)


def _update(
    belief: ComponentEstimate | None, seen: FloatArray, matrix: FloatArray, variance: float, floor: float
) -> ComponentEstimate:
    """The belief after `matrix` times the coordinates was seen with noise, or exactly if `variance` is zero."""
    if belief is None:
        size = len(matrix)
        return ComponentEstimate(seen, np.broadcast_to(variance * np.eye(size), (len(seen), size, size)))
    covariance = belief.covariance
    if matrix.shape == (1, 1):
        load = float(matrix[0, 0])
        total = load * load * covariance + variance
        gain = np.divide(load * covariance, total, out=np.zeros_like(total), where=total > 0)
        rest = np.divide(variance, total, out=np.zeros_like(total), where=total > 0)
        return ComponentEstimate(belief.values + (seen - load * belief.values) * gain, covariance * rest)
    crossed = matrix @ covariance
    total = crossed @ matrix.T + variance * np.eye(len(matrix))
    gain = np.swapaxes(crossed, 1, 2) @ (np.linalg.inv(total) if variance else _pseudo_inverse(total, floor))
    left = np.eye(matrix.shape[1]) - gain @ matrix
    # Joseph's form of the update keeps covariances symmetric and positive semidefinite in floating point.
    covariance = left @ covariance @ np.swapaxes(left, 1, 2) + variance * (gain @ np.swapaxes(gain, 1, 2))
    return ComponentEstimate(belief.values + (seen - belief.values @ matrix.T) @ np.swapaxes(gain, 1, 2), covariance)


def _down(
    spine: Spine, level: int, own: ComponentEstimate, above: ComponentEstimate, floor: float
) -> ComponentEstimate:
    """Coordinates of a level given the better estimate of the area above."""
    parents, covariance = spine.parents[level], own.covariance
    total = spine.sums(level, covariance)
    missing = (above.values - spine.sums(level, own.values))[parents]
    if covariance.shape[1] == 1:
        part = np.divide(covariance, total[parents], out=np.zeros_like(covariance), where=total[parents] > 0)
        return ComponentEstimate(
            own.values + part * missing, covariance * (1 - part) + part**2 * above.covariance[parents]
        )
    part = covariance @ _pseudo_inverse(total, floor)[parents]
    turned = np.swapaxes(part, 1, 2)
    values = own.values + missing @ turned
    return ComponentEstimate(values, covariance - part @ covariance + part @ above.covariance[parents] @ turned)


def _pseudo_inverse(covariance: FloatArray, floor: float) -> FloatArray:
    """The pseudo-inverse of covariances some of whose directions are known exactly."""
    values, vectors = np.linalg.eigh(covariance)
    unknown = values > np.maximum(SINGULAR * values[:, -1:], floor)  # eigenvalues of known directions are rounding
    precision = np.divide(1.0, values, out=np.zeros_like(values), where=unknown)
    return np.asarray((vectors * precision[:, None, :]) @ np.swapaxes(vectors, 1, 2), dtype=np.float64)
