"""The only step of TopDown that reads people: margins with discrete Gaussian noise, drawn by OpenDP."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from safemargin.model.arrays import IntArray
from safemargin.model.design import Design
from safemargin.model.spine import Query

if TYPE_CHECKING:
    from opendp.prelude import Measurement

CHUNK = 50_000
"""Counts that are drawn between two signs of progress."""


def gaussian(variance: Fraction) -> "Measurement":
    """OpenDP's discrete Gaussian on vectors of counts, with at least this variance parameter."""
    import opendp.prelude as dp  # it takes long to import

    dp.enable_features("contrib")
    scale = math.sqrt(variance)
    while Fraction(scale) ** 2 < variance:
        scale = math.nextafter(scale, math.inf)
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)


def measure(
    design: Design, level: int, counts: IntArray, progress: Callable[[int], None] = lambda drawn: None
) -> Mapping[Query, IntArray]:
    """The margins of one level with fresh noise; `counts` has a row per area and a column per cell."""
    found: dict[Query, IntArray] = {}
    for query, variance in design.measured(level).items():
        exact = design.attributes.margin(counts, query)
        noisy = np.empty(exact.size, dtype=np.int64)
        mechanism = gaussian(variance)
        for start in range(0, exact.size, CHUNK):
            part = np.ascontiguousarray(exact.reshape(-1)[start : start + CHUNK])
            noisy[start : start + len(part)] = mechanism(part)
            progress(len(part))
        found[query] = noisy.reshape(exact.shape)
    return found
