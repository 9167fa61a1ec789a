"""Small trees of areas for tests, and least squares on them with dense matrices."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from safemargin.core import FloatArray, IntArray, numpy_generator
from safemargin.topdown.attributes import Attributes, Grouping, MarginQuery
from safemargin.topdown.design import Design, MarginLimit, Measurements, Spine, build_spine

KINDS = Attributes(("sex", "age", "tenure"), (("f", "m"), ("young", "mid", "old"), ("own", "rent")))
TOTAL, DETAILED = KINDS.query("total"), KINDS.detailed
GROUPED = Attributes(
    ("sex", "age", "tenure"),
    (("f", "m"), ("child", "teen", "adult", "mature", "old"), ("own", "rent", "home")),
    (
        Grouping("voting", 1, ("minor", "major"), (0, 0, 1, 1, 1)),
        Grouping("helped", 1, ("child", "no", "old"), (0, 1, 1, 1, 2)),
        Grouping("housed", 2, ("private", "home"), (0, 0, 1)),
    ),
)
"""Groups of unequal size; those of age cross."""
SPLIT = {"total": "1/4", "sex*age": "1/4", "detailed": "1/2"}


def uneven_spine(seed: int = 1, depth: int = 3) -> Spine:
    """A tree whose areas have one to four parts each."""
    random = numpy_generator(seed)
    paths: list[tuple[str, ...]] = [()]
    for _ in range(depth):
        paths = [
            (*path, f"{path[-1] if path else ''}{'abcd'[part]}")
            for path in paths
            for part in range(1 + int(random.integers(4)))
        ]
    return build_spine(["land", "region", "tract", "block"][: depth + 1], "land", paths)


def designed(
    spine: Spine,
    exact: Sequence[tuple[int, str]] = ((0, "total"),),
    rho: Fraction = Fraction(1, 2),
    split: Mapping[str, str] = SPLIT,
    bounds: tuple[tuple[int, MarginLimit], ...] = (),
    earlier: tuple[tuple[int, MarginLimit], ...] = (),
    impossible: Sequence[int] = (),
    passes: Sequence[str] = ("total", "detailed"),
    kinds: Attributes = KINDS,
) -> Design:
    """A design with equal shares for all levels."""
    count = len(spine.levels)
    cells = np.zeros(kinds.cells(kinds.detailed), dtype=bool)
    cells[list(impossible)] = True
    queries = {kinds.query(title): Fraction(share) for title, share in split.items()}
    return Design(
        spine,
        kinds,
        rho,
        1e-10,
        (Fraction(1, count),) * count,
        (queries,) * count,
        tuple((level, kinds.query(title)) for level, title in exact),
        cells,
        bounds,
        earlier,
        tuple(map(kinds.query, passes)),
    )


def people(spine: Spine, seed: int = 1, mean: float = 3.0, kinds: Attributes = KINDS) -> tuple[IntArray, ...]:
    """Counts by level: many small ones and a few large."""
    random = numpy_generator(seed)
    shape = (len(spine.names[-1]), kinds.cells(kinds.detailed))
    return spine.counts(random.poisson(random.gamma(0.5, 2 * mean, size=shape)).astype(np.int64))


def exact_counts(design: Design, counts: Sequence[IntArray]) -> dict[tuple[int, MarginQuery], IntArray]:
    """What is published as it is."""
    return {(level, query): design.attributes.margin(counts[level], query) for level, query in design.exact}


def rounded_noise(design: Design, counts: Sequence[IntArray], seed: int) -> Measurements:
    """Measurements that are the same in every run: for tests of what follows from them, not of noise."""
    random, kinds = numpy_generator(seed), design.attributes
    noisy = [
        {
            query: kinds.margin(counts[level], query)
            + np.rint(random.normal(0, float(variance) ** 0.5, (len(counts[level]), kinds.cells(query)))).astype(
                np.int64
            )
            for query, variance in design.measured(level).items()
        }
        for level in range(len(design.spine.levels))
    ]
    return Measurements(tuple(noisy), exact_counts(design, counts))


def dense_fit(design: Design, measured: Measurements) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
    """Generalised least squares by dense algebra: counts of the smallest areas, their covariance, and the sums by
    level.
    """
    spine, kinds = design.spine, design.attributes
    cells = kinds.cells(kinds.detailed)
    leaves = len(spine.names[-1])
    sums = [np.eye(leaves)]
    for level in range(spine.last, 0, -1):
        sums.insert(0, np.add.reduceat(sums[0], spine.starts[level], axis=0))
    rows, values, weights = [], [], []
    exact_rows, exact_values = [], []
    for level in range(len(spine.levels)):
        for query, variance in design.measured(level).items():
            rows.append(np.kron(sums[level], summing(query, kinds)))
            values.append(measured.noisy[level][query].reshape(-1))
            weights.append(np.full(len(values[-1]), 1 / float(variance)))
    for (level, query), known in measured.exact.items():
        exact_rows.append(np.kron(sums[level], summing(query, kinds)))
        exact_values.append(known.reshape(-1))
    matrix, weight, value = np.vstack(rows), np.concatenate(weights), np.concatenate(values)
    # x = base + free @ z, where `free` spans what exact counts leave open
    fixed, said = np.vstack(exact_rows), np.concatenate(exact_values)
    base = np.linalg.lstsq(fixed, said, rcond=None)[0]
    _, size, turned = np.linalg.svd(fixed)
    free = turned[int((size > 1e-9).sum()) :].T
    information = (matrix @ free).T * weight @ (matrix @ free)
    covariance = free @ np.linalg.inv(information) @ free.T
    best = base + covariance @ ((matrix.T * weight) @ (value - matrix @ base))
    return best.reshape(leaves, cells), covariance, sums


def summing(query: MarginQuery, kinds: Attributes = KINDS) -> FloatArray:
    """The matrix that sums all cells to a margin: ones where the labels of a cell lie in those of the margin."""
    places = np.indices(kinds.sizes).reshape(len(kinds.sizes), -1)
    rows = np.indices(kinds.shape(query)).reshape(len(query.axes), kinds.cells(query))
    found = np.ones((kinds.cells(query), places.shape[1]))
    for row, (axis, codes) in zip(rows, query.groups_by_axis.items(), strict=True):
        group = np.arange(kinds.sizes[axis]) if codes is None else np.array(codes)
        found *= row[:, None] == group[places[axis]][None, :]
    return found
