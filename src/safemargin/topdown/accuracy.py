"""Errors of the estimate, of the whole tables and of other ways to publish, by level and by size of area."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from safemargin.core import FloatArray, IntArray
from safemargin.samplers.geometric import Geometric
from safemargin.topdown.design import Design
from safemargin.topdown.error_values import CELLS, PEOPLE, Accuracy, LevelError, QueryError, SizeError
from safemargin.topdown.least_squares import expected_errors

UNBIASED, WHOLE, FLAT = "unbiased estimate", "whole tables", "flat geometric noise"

TWO_SIDED = 1.96
"""Standard errors within which 19 of 20 estimates lie."""

Squares = tuple[FloatArray, FloatArray]
"""Of one method on one level: squared errors of the people of every area, and mean squared errors of its counts."""


def accuracy(
    design: Design,
    counts: Sequence[IntArray],
    methods: Mapping[str, Sequence[IntArray | FloatArray]],
) -> Accuracy:
    """Errors of methods (their counts by level, a row per area) beside those that flat noise is expected to have."""
    found = {
        name: [_squares(mine, true) for mine, true in zip(tables, counts, strict=True)]
        for name, tables in methods.items()
    }
    ours = {name: found.pop(name) for name in (UNBIASED, WHOLE) if name in found}
    found = {**ours, FLAT: _flat(design), **found}
    levels = tuple(
        LevelError(name, level, len(people), kind, math.sqrt(float(values.mean())))
        for name, squares in found.items()
        for level, (people, cells) in zip(design.spine.levels, squares, strict=True)
        for kind, values in ((PEOPLE, people), (CELLS, cells))
    )
    size = np.concatenate([true.sum(axis=1) for true in counts])
    sizes = []
    for name, squares in found.items():
        people = np.concatenate([people for people, _ in squares])
        for least, most in _classes(int(size.max(initial=0))):
            here = (size >= least) & (size <= most)
            if here.any():
                error = math.sqrt(float(people[here].mean()))
                sizes.append(SizeError(name, least, most, int(here.sum()), error))
    return Accuracy(
        levels, tuple(sizes), _queries(design, counts, methods) if {UNBIASED, WHOLE} <= set(methods) else ()
    )


def _queries(
    design: Design, counts: Sequence[IntArray], methods: Mapping[str, Sequence[IntArray | FloatArray]]
) -> tuple[QueryError, ...]:
    """Errors of our estimate and tables by query, beside the standard errors that were told."""
    kinds, found = design.attributes, []
    for level, errors in enumerate(expected_errors(design)):
        mine, tables, true = methods[UNBIASED][level], methods[WHOLE][level], counts[level]
        for query, error in errors.items():
            off = kinds.margin((mine - true).astype(np.float64), query)
            whole = kinds.margin((tables - true).astype(np.float64), query)
            noisy = error > 0
            covered = float((np.abs(off)[noisy] <= TWO_SIDED * error[noisy]).mean()) if noisy.any() else None
            found.append(
                QueryError(
                    design.spine.levels[level], kinds.title(query), _root(error), _root(off), _root(whole), covered
                )
            )
    return tuple(found)


def _root(values: FloatArray) -> float:
    return math.sqrt(float((values**2).mean()))


def flat_geometric(design: Design) -> Geometric:
    """Noise on every count of the smallest areas alone, at the same loss in zero-concentrated differential privacy.

    A loss of epsilon in pure differential privacy is `epsilon ** 2 / 2` there. Moving a person changes two counts.
    """
    return Geometric(math.sqrt(2 * float(design.rho)) / 2)


def _flat(design: Design) -> list[Squares]:
    """Expected squares: the noise of the smallest areas adds up."""
    spine, cells = design.spine, design.attributes.cells(design.attributes.detailed)
    below = spine.counts(np.ones((len(spine.names[-1]), 1), dtype=np.int64))
    variance = flat_geometric(design).variance
    noise = [areas[:, 0].astype(np.float64) * variance for areas in below]
    return [(each * np.float64(cells), each) for each in noise]


def _squares(mine: IntArray | FloatArray, true: IntArray) -> Squares:
    people = (mine.sum(axis=1) - true.sum(axis=1)).astype(np.float64) ** 2
    cells = ((mine - true).astype(np.float64) ** 2).mean(axis=1)
    return people, cells


def _classes(largest: int) -> list[tuple[int, int]]:
    """Classes of size: nobody, then one per power of ten."""
    found = [(0, 0)]
    while found[-1][1] < largest:
        found.append((found[-1][1] + 1, (found[-1][1] + 1) * 10 - 1))
    return found
