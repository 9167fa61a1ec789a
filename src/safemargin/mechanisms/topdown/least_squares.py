"""Generalised least squares on a tree of areas, in closed form and linear time.

Margins of a table commute: in a basis that starts with the constant vector on every attribute, each coordinate of a
table is seen by some margins as it is, with independent noise of equal variance. Which margins see it depends only on
the attributes in which it is not constant, its *component*. So every coordinate is a problem of its own on the tree,
with one number per area: estimates go up as means weighted by precision, and what the area above knows better comes
down in proportion to the variances of its parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import helmert

from safemargin.model.arrays import BoolArray, FloatArray, IntArray
from safemargin.model.design import Design, Measured
from safemargin.model.spine import Attributes, Query, Spine


@dataclass(frozen=True)
class Basis:
    """Orthonormal coordinates of tables with these attributes."""

    attributes: Attributes

    def forward(self, values: IntArray | FloatArray, query: Query) -> FloatArray:
        """Coordinates of rows that are tables of a margin."""
        return self._turned(values.astype(np.float64), query, False)

    def back(self, coordinates: FloatArray) -> FloatArray:
        """Rows with all cells from their coordinates."""
        return self._turned(coordinates, self.attributes.detailed, True)

    def _turned(self, values: FloatArray, query: Query, back: bool) -> FloatArray:
        sizes = [self.attributes.sizes[axis] for axis in query.axes]
        shaped = values.reshape(len(values), *sizes)
        for place, size in enumerate(sizes, 1):
            if size > 1:
                turn = helmert(size, full=True)
                shaped = np.moveaxis(np.tensordot(shaped, turn, axes=([place], [0 if back else 1])), -1, place)
        return np.ascontiguousarray(shaped).reshape(len(values), -1)

    @cached_property
    def component(self) -> IntArray:
        """For every coordinate, the attributes in which it is not constant, as bits."""
        found = np.zeros(self.attributes.sizes, dtype=np.int64)
        for axis, places in enumerate(np.indices(self.attributes.sizes)):
            found |= (places > 0).astype(np.int64) << axis
        return found.reshape(-1)

    @property
    def components(self) -> int:
        """How many there can be."""
        return int(2 ** len(self.attributes.names))

    def seen(self, query: Query) -> BoolArray:
        """Which components a margin sees."""
        mask = sum(1 << axis for axis in query.axes)
        bits = np.arange(self.components)
        found: BoolArray = (bits & ~mask) == 0
        return found

    def weights(self, query: Query) -> FloatArray:
        """What the variance of each component adds to the variance of a count of a margin."""
        sizes = self.attributes.sizes
        here, everywhere = self.attributes.cells(query), self.attributes.cells(self.attributes.detailed)
        free = np.ones(self.components)
        for axis, size in enumerate(sizes):
            free = np.where(np.arange(self.components) >> axis & 1, free * (size - 1), free)
        return np.where(self.seen(query), free * everywhere / here**2, 0.0)


@dataclass(frozen=True)
class Fit:
    """The estimate, in coordinates: what the areas below say (`up`), and what everything says (`best`), by level.

    `up_variance` and `variance` have a column per component; `below` and `below_variance` are the sums over parts.
    """

    spine: Spine
    basis: Basis
    up: tuple[FloatArray, ...]
    up_variance: tuple[FloatArray, ...]
    best: tuple[FloatArray, ...]
    variance: tuple[FloatArray, ...]

    def estimate(self, level: int) -> FloatArray:
        """Unbiased estimate of every count of a level; the parts of an area add up to it."""
        return self.basis.back(self.best[level])

    def standard_error(self, level: int, query: Query) -> FloatArray:
        """Of a count of a margin, by area: the same for all its cells."""
        return np.sqrt(self.variance[level] @ self.basis.weights(query))

    def given(self, level: int, above: IntArray) -> FloatArray:
        """Estimate of every count of a level, if the counts one level up were `above`."""
        coordinates = self.basis.forward(above, self.basis.attributes.detailed)
        here, variance = self.up[level], self.up_variance[level]
        found, _ = _down(self.spine, self.basis, level, here, variance, coordinates, np.zeros((len(above), 1)))
        return self.basis.back(found)


def fit(design: Design, measured: Measured) -> Fit:
    """The best linear unbiased estimate from all noisy margins and exact ones."""
    spine, basis = design.spine, Basis(design.attributes)
    up: list[FloatArray] = [np.zeros(0)] * len(spine.levels)
    spread: list[FloatArray] = [np.zeros(0)] * len(spine.levels)
    for level in range(spine.last, -1, -1):
        exact = {query: values for (at, query), values in measured.exact.items() if at == level}
        below = None
        if level < spine.last:
            below = spine.sums(level + 1, up[level + 1]), spine.sums(level + 1, spread[level + 1])
        up[level], spread[level] = _up(design, basis, level, measured.noisy[level], exact, below)
    best, variance = [up[0]], [spread[0]]
    for level in range(1, len(spine.levels)):
        found = _down(spine, basis, level, up[level], spread[level], best[-1], variance[-1])
        best.append(found[0])
        variance.append(found[1])
    return Fit(spine, basis, tuple(up), tuple(spread), tuple(best), tuple(variance))


def expected_errors(design: Design) -> tuple[dict[Query, FloatArray], ...]:
    """Standard errors of every query, by level and area, before anything is measured: they depend on no counts."""
    kinds, spine = design.attributes, design.spine
    noisy = tuple(
        {query: np.zeros((len(names), kinds.cells(query)), dtype=np.int64) for query in design.measured(level)}
        for level, names in enumerate(spine.names)
    )
    exact = {
        (level, query): np.zeros((len(spine.names[level]), kinds.cells(query)), dtype=np.int64)
        for level, query in design.exact
    }
    found = fit(design, Measured(noisy, exact))
    asked = [query for level in range(len(spine.levels)) for query in design.measured(level)]
    queries = sorted(dict.fromkeys([Query(()), *asked, kinds.detailed]), key=lambda query: len(query.axes))
    return tuple({query: found.standard_error(level, query) for query in queries} for level in range(len(spine.levels)))


def _up(
    design: Design,
    basis: Basis,
    level: int,
    noisy: Mapping[Query, IntArray],
    exact: Mapping[Query, IntArray],
    below: tuple[FloatArray, FloatArray] | None,
) -> tuple[FloatArray, FloatArray]:
    """Coordinates of a level from its own margins and the sums of its parts, with their variances by component."""
    kinds, count = design.attributes, len(design.spine.names[level])
    everywhere = kinds.cells(kinds.detailed)
    precision = np.zeros((count, basis.components))
    weighted = np.zeros((count, everywhere))
    for query, variance in design.measured(level).items():
        scale = kinds.cells(query) / everywhere
        share = 1 / (float(variance) * scale)
        weighted[:, _places(kinds, query)] += basis.forward(noisy[query], query) * (np.sqrt(scale) * share)
        precision += share * basis.seen(query)
    certain = np.zeros((count, basis.components), dtype=bool)
    known = np.zeros((count, everywhere))
    if below is not None:
        sums, spread = below
        certain |= spread == 0
        known += np.where(certain[:, basis.component], sums, 0.0)
        share_below = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        weighted += sums * share_below[:, basis.component]
        precision += share_below
    for query, values in exact.items():
        places = _places(kinds, query)
        known[:, places] = basis.forward(values, query) * np.sqrt(kinds.cells(query) / everywhere)
        certain |= basis.seen(query)
    spread = np.where(certain, 0.0, np.divide(1.0, precision, out=np.zeros_like(precision), where=precision > 0))
    return np.where(certain[:, basis.component], known, weighted * spread[:, basis.component]), spread


def _down(
    spine: Spine,
    basis: Basis,
    level: int,
    here: FloatArray,
    spread: FloatArray,
    above: FloatArray,
    above_variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Coordinates of a level after what the area above knows, with their variances by component."""
    parents = spine.parents[level]
    total = spine.sums(level, spread)[parents]
    part = np.divide(spread, total, out=np.zeros_like(spread), where=total > 0)
    missing = (above - spine.sums(level, here))[parents]
    return here + part[:, basis.component] * missing, spread * (1 - part) + part**2 * above_variance[parents]


def _places(attributes: Attributes, query: Query) -> IntArray:
    """Coordinates of the whole table that a margin sees, in its own order."""
    places = np.arange(attributes.cells(attributes.detailed)).reshape(attributes.sizes)
    index = tuple(slice(None) if axis in query.axes else 0 for axis in range(len(attributes.names)))
    return np.asarray(places[index], dtype=np.int64).reshape(-1)
