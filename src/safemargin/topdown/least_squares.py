"""Generalised least squares on a tree of areas, in closed form and linear time.

Objects
    x[a]        the table of area a: one count per combination of categories
    Q           a margin: sums of x[a] over some attributes, or over groups of their categories
    y[a, Q]     Q x[a] plus independent noise of variance v[level, Q]; v = 0 where the margin is exact
    parts       x[a] is the sum of x over the parts of a, one level down

Statement (Gauss and Markov; two passes by Hay et al. 2010, for unequal variances Cumings-Menon 2024)
    The best linear unbiased estimate of all tables from all y is found by going through the tree twice:

        up      combine what an area's own margins say with the sum of what its parts say, weighted by precision;
        down    what the area above knows better is divided among its parts in proportion to their covariances:
                best[part] = up[part] + C[part] (sum of C over parts)^-1 (best[above] - sum of up over parts).

Method
    In an orthonormal basis of tables the problem splits into small independent ones. The groupings of an attribute
    cut its categories into *blocks*, so that every group is a union of blocks (without groupings there is one block).
    On each attribute the first coordinates are sums of blocks, divided by the root of their size; the others are
    contrasts within a block (Helmert rows), which only margins by all categories see. A *component* says for every
    attribute which of the two. A margin sees all contrasts of a component alike and with independent noise, so one
    covariance per area and component serves them all. Without groupings this is the residual basis of Xiao et al.
    ("An Optimal and Scalable Matrix Mechanism for Noisy Marginals", 2023), and every covariance is a number.

What callers may rely on
    * Parts add up to the area above; exact margins come out exact; standard errors depend on the design alone.
    * Cost: linear in areas times cells; cubic only in the blocks of a component (`check_size` refuses too many).
    * Estimates may be negative and fractional. `tables.py` makes counts of them.

Example
    A land of two towns, one number each, measured once with variance 2 everywhere: 10 for the land, 4 and 8 for the
    towns. The towns sum to 12 with variance 4, so the land is (10 / 2 + 12 / 4) / (1 / 2 + 1 / 4) = 10.67, and the
    towns give up half of the difference each:

    >>> from fractions import Fraction
    >>> from safemargin.topdown.attributes import Attributes
    >>> from safemargin.topdown.design import build_spine
    >>> one, half = MarginQuery(()), Fraction(1, 2)
    >>> spine = build_spine(["land", "town"], "all", [("a",), ("b",)])
    >>> empty, share = np.zeros(1, dtype=bool), {one: Fraction(1)}
    >>> kinds = Attributes((), ())
    >>> design = Design(spine, kinds, Fraction(1), 1e-6, (half, half), (share, share), (), empty, (), (), (one,))
    >>> [float(design.measured(level)[one]) for level in (0, 1)]
    [2.0, 2.0]
    >>> found = fit(design, Measurements(({one: np.array([[10]])}, {one: np.array([[4], [8]])}), {}))
    >>> [round(float(value), 2) for level in (0, 1) for value in found.estimate(level).ravel()]
    [10.67, 3.33, 7.33]
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
    """Coordinates of one component by area and contrast, and their covariance by area.

    All contrasts of a component have the same covariance: it has a row per area, not per contrast.
    """

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
        """Estimate of every count of a level, given the counts one level up.

        The downward step again, with integer counts above in place of their estimates: what tables of this level are
        near.
        """
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
    """The best linear unbiased estimate from all noisy margins and exact ones: one pass up the tree, one pass down.

    Up: what an area and its parts say, by component. Down: what everything else says, from the better estimate above.
    """
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
    """Coordinates of a level from the sums of its parts and its own margins: one Kalman update per margin and
    component.

    The detailed margin comes first, where there is one: it alone sees every component.
    """
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
    """Variances below this are rounding errors of zero: no count is measured so often that its variance comes near."""
    variances = [v for level in range(len(design.spine.levels)) for v in _variances(design, level).values() if v]
    return SINGULAR * min(variances, default=0.0)


def _update(
    belief: ComponentEstimate | None, seen: FloatArray, matrix: FloatArray, variance: float, floor: float
) -> ComponentEstimate:
    """The belief after `matrix` times the coordinates was seen with noise, or exactly if `variance` is zero.

    The update of a Kalman filter without dynamics: gain K = C M' (M C M' + v I)^-1, values + K (seen - M values),
    covariance (I - K M) C (I - K M)' + v K K'. A singular M C M' with v = 0 has directions that are known already.
    """
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
    """Coordinates of a level given the better estimate of the area above.

    P = C (sum of C over the parts)^-1 is the share of an area in what its parent knows better; the shares of all
    parts add up to the identity, so the parts add up to the parent. Covariance: C - P C + P C[above] P'.
    """
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
