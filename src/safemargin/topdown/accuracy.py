"""How far published counts of areas are from the truth. Errors disclose counts of people, so they are confidential.

Objects
    error       published count less true count, of an area and cell
    RMSE        the root of the mean of squared errors: over the areas of a level, or over areas of similar size
    covered     the share of counts within 1.96 published standard errors of their estimate

Statement
    The estimate is unbiased, with a covariance that follows from the design alone (Gauss and Markov). So its RMSE is
    about the published standard error, and about 95 % of the counts are covered, at any truth. Neither holds for the
    integer tables: no count below 0 means that empty cells come out too large and others too small.

Compared with
    *flat noise*: the same budget, all of it on the detailed counts of the smallest areas, added up to areas above.
    Variances add up, so that an area of k smallest areas and c cells has k c times that of one count. Geometric noise
    is that of pure epsilon with epsilon^2 / 2 = rho² (Bun and Steinke 2016), and has a larger variance.

What callers may rely on
    * Expected errors (`plan_errors`) read the design and never the data; they may be published.
    * Measured ones read both. They are written into `confidential/` alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, IntArray
from safemargin.samplers import Geometric
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import Design, noise_variance

PEOPLE, CELLS = "people of an area", "detailed counts"
UNBIASED, INTEGER = "unbiased estimate", "integer tables"
FLAT, GAUSSIAN = "flat geometric noise", "flat Gaussian noise"
TWO_SIDED = 1.96  # standard errors within which 95 % of normal errors lie

StandardErrors = Sequence[Mapping[MarginQuery, FloatArray]]  # by level, query and area
# Of one method on one level: squared errors of the people of every area, and mean squared errors of its counts.
Squares = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class LevelError:
    """Root mean square error of one method on the areas of a level; `counts` says of which counts."""

    method: str
    level: str
    areas: int
    counts: str
    rmse: float


@dataclass(frozen=True)
class SizeError:
    """Root mean square error of the number of people of areas with `least` to `most` people, on all levels."""

    method: str
    least: int
    most: int
    areas: int
    rmse: float


@dataclass(frozen=True)
class ExpectedError:
    """Of a query on a level: its share of the budget, its noise, and the standard error of its estimate."""

    level: str
    query: str
    share: str
    noise: float | None  # standard deviation; None if nothing is measured
    standard_error: float  # root mean square over the areas


@dataclass(frozen=True)
class QueryError:
    """Of a query on a level: the published standard error, and actual errors, as root mean squares."""

    level: str
    query: str
    standard_error: float
    estimate: float
    integer_tables: float
    covered: float | None  # share of counts within 1.96 standard errors of their estimate; None if all are exact


@dataclass(frozen=True)
class Accuracy:
    """Errors by level, by size of area, and by query."""

    levels: tuple[LevelError, ...]
    sizes: tuple[SizeError, ...]
    queries: tuple[QueryError, ...] = ()

    @property
    def methods(self) -> list[str]:
        """All methods, ours first."""
        return list(dict.fromkeys(error.method for error in self.levels))


def measure_accuracy(
    design: Design,
    counts: Sequence[IntArray],
    methods: Mapping[str, Sequence[IntArray | FloatArray]],
    expected: StandardErrors,
) -> Accuracy:
    """Errors of methods (their counts by level, a row per area) beside the expected errors of flat noise.

    `expected` are the published standard errors. The result compares with the data: it is confidential.
    """
    # A changed record moves two counts. Pure epsilon is epsilon ** 2 / 2 in rho² (Bun and Steinke 2016, Prop. 1.4).
    geometric = Geometric(math.sqrt(2 * float(design.rho_squared)) / 2)
    flat = {FLAT: geometric.variance, GAUSSIAN: noise_variance(1 / design.rho_squared)}
    measured = {name: list(map(_squares, tables, counts)) for name, tables in methods.items()}
    ours = {name: measured.pop(name) for name in (UNBIASED, INTEGER)}
    squares = ours | {name: _flat(design, variance) for name, variance in flat.items()} | measured
    levels = tuple(
        LevelError(name, level, len(people), kind, math.sqrt(float(values.mean())))
        for name, errors in squares.items()
        for level, (people, cells) in zip(design.spine.levels, errors, strict=True)
        for kind, values in ((PEOPLE, people), (CELLS, cells))
    )
    size = np.concatenate([true.sum(axis=1) for true in counts])
    sizes = []
    for name, errors in squares.items():
        people = np.concatenate([people for people, _ in errors])
        for least, most in _size_classes(int(size.max(initial=0))):
            here = (size >= least) & (size <= most)
            if here.any():
                error = math.sqrt(float(people[here].mean()))
                sizes.append(SizeError(name, least, most, int(here.sum()), error))
    return Accuracy(levels, tuple(sizes), _queries(design, counts, methods, expected))


def plan_errors(design: Design, expected: StandardErrors) -> tuple[ExpectedError, ...]:
    """The standard error of every query on every level, before anything is measured."""
    rows = []
    for level, (name, errors) in enumerate(zip(design.spine.levels, expected, strict=True)):
        noise = design.noise(level)
        for query, error in errors.items():
            share = design.shares[level] * design.queries[level].get(query, 0)
            deviation = math.sqrt(noise[query]) if query in noise else None
            rows.append(ExpectedError(name, design.attributes.title(query), str(share), deviation, _rms(error)))
    return tuple(rows)


def _queries(
    design: Design,
    counts: Sequence[IntArray],
    methods: Mapping[str, Sequence[IntArray | FloatArray]],
    expected: StandardErrors,
) -> tuple[QueryError, ...]:
    """Errors of the estimate and the tables by query, beside the published standard errors."""
    attributes, rows = design.attributes, []
    for level, errors in enumerate(expected):
        true = counts[level]
        for query, error in errors.items():
            off = attributes.margin((methods[UNBIASED][level] - true).astype(np.float64), query)
            integer = attributes.margin((methods[INTEGER][level] - true).astype(np.float64), query)
            noisy = error > 0  # exact counts would be covered trivially
            covered = float((np.abs(off)[noisy] <= TWO_SIDED * error[noisy]).mean()) if noisy.any() else None
            name, title = design.spine.levels[level], attributes.title(query)
            rows.append(QueryError(name, title, _rms(error), _rms(off), _rms(integer), covered))
    return tuple(rows)


def _rms(values: FloatArray) -> float:
    """The root of the mean of some squares; none of nothing.

    >>> _rms(np.array([3.0, 3.0]))
    3.0
    """
    return math.sqrt(float((values**2).mean()))


def _flat(design: Design, variance: float) -> list[Squares]:
    """Expected squares of noise on the smallest areas alone, with the same loss: it adds up."""
    spine, cells = design.spine, design.attributes.cells(design.attributes.detailed)
    below = spine.counts(np.ones((len(spine.names[-1]), 1), dtype=np.int64))
    noise = [areas[:, 0].astype(np.float64) * variance for areas in below]
    return [(level * np.float64(cells), level) for level in noise]


def _squares(table: IntArray | FloatArray, true: IntArray) -> Squares:
    """Squared errors of one method on one level: of the people of every area, and of its detailed counts on average."""
    people = (table.sum(axis=1) - true.sum(axis=1)).astype(np.float64) ** 2
    cells = ((table - true).astype(np.float64) ** 2).mean(axis=1)
    return people, cells


def _size_classes(largest: int) -> list[tuple[int, int]]:
    """Empty areas, then one class per power of ten.

    >>> _size_classes(500)
    [(0, 0), (1, 9), (10, 99), (100, 999)]
    """
    classes = [(0, 0)]
    while classes[-1][1] < largest:
        classes.append((classes[-1][1] + 1, (classes[-1][1] + 1) * 10 - 1))
    return classes
