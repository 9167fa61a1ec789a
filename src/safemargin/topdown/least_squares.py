"""Generalised least squares on a tree of areas, in closed form and linear time.

In the basis of `basis` every contrast of a table is a problem of its own on the tree, with one number per area, or,
where categories are grouped, one per block. Estimates go up as means weighted by precision; what the area above knows
better comes down in proportion to the variances of its parts. This is the two-pass algorithm of Hay et al. (2010), for
unequal variances and covariance matrices; Cumings-Menon (2024) uses such a one for the measurements of the 2020 census.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, IntArray, TooLargeError
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.basis import Basis
from safemargin.topdown.design import Design, Measurements, Spine

MAX_NUMBERS = 10**8  # entries of covariances on all levels that are held in memory (0.8 GB)
# Directions with less than this share of the largest variance, or of the least noise, are known exactly.
SINGULAR = 1e-11
NO_NOISE = 1e-12  # noise with a smaller variance is zero except in one of so many draws: its count is known


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
