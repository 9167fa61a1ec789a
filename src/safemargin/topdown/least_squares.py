"""Generalised least squares on a tree of areas, in closed form and linear time.

In a suitable basis (see `basis`) every contrast of a table is a problem of its own on the tree, with one number per
area, or, where categories are grouped, one per block. Estimates go up as means weighted by precision, and what the area
above knows better comes down in proportion to the variances of its parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, IntArray, TooLargeError
from safemargin.topdown.attributes import Query
from safemargin.topdown.basis import Basis
from safemargin.topdown.design import Design, Measured
from safemargin.topdown.measure import noise_variance
from safemargin.topdown.spine import Spine

MOST_NUMBERS = 10**8
"""Of covariances on all levels that are held in memory."""

SINGULAR = 1e-11
"""Directions with less than this share of the largest variance, or of the least noise, are known."""

NEVER = 1e-12
"""Noise with less variance is zero but for one in so many draws: what it is on is known."""


@dataclass(frozen=True)
class Known:
    """Of one component: its numbers by area and contrast, and their covariance by area."""

    values: FloatArray
    spread: FloatArray


@dataclass(frozen=True)
class LeastSquaresFit:
    """The estimate, in coordinates: what the areas below say (`up`), and what everything says (`best`).

    Both by level and component. Variances below `floor` are rounding errors of zero.
    """

    spine: Spine
    basis: Basis
    up: tuple[tuple[Known, ...], ...]
    best: tuple[tuple[Known, ...], ...]
    floor: float

    def estimate(self, level: int) -> FloatArray:
        """Unbiased estimate of every count of a level; the parts of an area add up to it."""
        return self.basis.back([known.values for known in self.best[level]])

    def standard_error(self, level: int, query: Query) -> FloatArray:
        """Of every count of a margin, by area."""
        found = self.basis.variance(query, [known.spread for known in self.best[level]])
        return np.sqrt(np.where(found > self.floor, found, 0.0))

    def given(self, level: int, above: IntArray) -> FloatArray:
        """Estimate of every count of a level, if the counts one level up were `above`."""
        found = []
        for mine, values in zip(self.up[level], self.basis.forward(above, self.basis.attributes.detailed), strict=True):
            assert values is not None
            none = np.zeros((len(above), *mine.spread.shape[1:]))
            found.append(_down(self.spine, level, mine, Known(values, none), self.floor).values)
        return self.basis.back(found)


def check_size(design: Design) -> None:
    """Refuse groupings that leave too many numbers to be estimated together."""
    sizes = [component.size for component in Basis(design.attributes).components if component.size > 1]
    if design.spine.areas * sum(size**2 for size in sizes) > MOST_NUMBERS:
        raise TooLargeError(
            f"groupings: they cut the attributes into {max(sizes):,} combinations of blocks, too many for "
            f"{design.spine.areas:,} areas; use fewer or coarser ones, which need not cross"
        )


def fit(design: Design, measured: Measured) -> LeastSquaresFit:
    """The best linear unbiased estimate from all noisy margins and exact ones."""
    check_size(design)
    spine, basis, floor = design.spine, Basis(design.attributes), _floor(design)
    up: list[list[Known]] = [[] for _ in spine.levels]
    for level in range(spine.last, -1, -1):
        exact = {query: values for (at, query), values in measured.exact.items() if at == level}
        below = None
        if level < spine.last:
            below = [
                Known(spine.sums(level + 1, known.values), spine.sums(level + 1, known.spread))
                for known in up[level + 1]
            ]
        up[level] = _up(design, basis, level, measured.noisy[level], exact, below, floor)
    best = [up[0]]
    for level in range(1, len(spine.levels)):
        best.append([_down(spine, level, mine, above, floor) for mine, above in zip(up[level], best[-1], strict=True)])
    return LeastSquaresFit(spine, basis, tuple(map(tuple, up)), tuple(map(tuple, best)), floor)


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
    below: list[Known] | None,
    floor: float,
) -> list[Known]:
    """Coordinates of a level from the sums of its parts and its own margins."""
    variances = _variances(design, level)
    found: list[Known | None] = list(below) if below else [None] * len(basis.components)
    detailed = design.attributes.detailed
    seen = [(query, noisy[query], variances[query]) for query in sorted(noisy, key=lambda each: each != detailed)]
    seen += [(query, values, 0.0) for query, values in exact.items()]
    for query, values, variance in seen:
        for place, said in enumerate(basis.forward(values, query)):
            if said is not None:
                matrix = basis.matrix(query, basis.components[place])
                found[place] = _told(found[place], said, matrix, variance, floor)
    assert all(known is not None for known in found), "the smallest areas have detailed counts"
    return [known for known in found if known is not None]


def _variances(design: Design, level: int) -> dict[Query, float]:
    """Of the noise on the queries of a level; zero where there is hardly ever any."""
    found = {query: noise_variance(parameter) for query, parameter in design.measured(level).items()}
    return {query: variance if variance > NEVER else 0.0 for query, variance in found.items()}


def _floor(design: Design) -> float:
    """Estimates of what is not known have larger variances than this: no count is measured nearly as often."""
    every = [each for level in range(len(design.spine.levels)) for each in _variances(design, level).values() if each]
    return SINGULAR * min(every, default=0.0)


def _told(known: Known | None, said: FloatArray, matrix: FloatArray, variance: float, floor: float) -> Known:
    """What is known after `matrix` times the numbers was seen with noise of a variance, or exactly if it is zero."""
    if known is None:  # the first to be seen are the detailed counts
        size = len(matrix)
        return Known(said, np.broadcast_to(variance * np.eye(size), (len(said), size, size)))
    spread = known.spread
    if matrix.shape == (1, 1):
        load = float(matrix[0, 0])
        whole = load * load * spread + variance
        gain = np.divide(load * spread, whole, out=np.zeros_like(whole), where=whole > 0)
        rest = np.divide(variance, whole, out=np.zeros_like(whole), where=whole > 0)
        return Known(known.values + (said - load * known.values) * gain, spread * rest)
    seen = matrix @ spread
    whole = seen @ matrix.T + variance * np.eye(len(matrix))
    gain = np.swapaxes(seen, 1, 2) @ (np.linalg.inv(whole) if variance else _inverse(whole, floor))
    left = np.eye(matrix.shape[1]) - gain @ matrix
    spread = left @ spread @ np.swapaxes(left, 1, 2) + variance * (gain @ np.swapaxes(gain, 1, 2))
    return Known(known.values + (said - known.values @ matrix.T) @ np.swapaxes(gain, 1, 2), spread)


def _down(spine: Spine, level: int, here: Known, above: Known, floor: float) -> Known:
    """Coordinates of a level after what the area above knows."""
    parents, spread = spine.parents[level], here.spread
    total = spine.sums(level, spread)
    missing = (above.values - spine.sums(level, here.values))[parents]
    if spread.shape[1] == 1:
        part = np.divide(spread, total[parents], out=np.zeros_like(spread), where=total[parents] > 0)
        return Known(here.values + part * missing, spread * (1 - part) + part**2 * above.spread[parents])
    part = spread @ _inverse(total, floor)[parents]
    turned = np.swapaxes(part, 1, 2)
    return Known(here.values + missing @ turned, spread - part @ spread + part @ above.spread[parents] @ turned)


def _inverse(spread: FloatArray, floor: float) -> FloatArray:
    """The pseudo-inverse of covariances, some of whose directions may be known, or all."""
    values, turns = np.linalg.eigh(spread)
    unknown = values > np.maximum(SINGULAR * values[:, -1:], floor)
    precision = np.divide(1.0, values, out=np.zeros_like(values), where=unknown)
    return np.asarray((turns * precision[:, None, :]) @ np.swapaxes(turns, 1, 2), dtype=np.float64)
