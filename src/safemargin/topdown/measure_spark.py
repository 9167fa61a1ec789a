"""TopDown's measuring in Spark: a task answers the queries of some areas and draws their noise.

The budget pays for one draw, and one draw is all that anybody sees, although Spark runs a task again when a worker
dies. Nothing is published from a task: all noisy counts come to this process in one action, which takes one result of
every task. What else a task drew, on a worker that died or was slow, is dropped with the task. If the whole action
fails, nothing of it is seen and nothing was written, so that the next run may draw; and whether it fails does not
depend on what was drawn, so that the law stays that of one draw.

Workers import this module from the code that is sent to them, and need numpy only (and OpenDP, if it is to draw).
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from safemargin.core import IntArray
from safemargin.io import in_tasks
from safemargin.samplers import DiscreteGaussian, chosen_sampler
from safemargin.topdown.attributes import Attributes, MarginQuery

Margin = tuple[int, MarginQuery]
"""A level and a query."""
AT_ONCE = 2**18
"""Counts that a task reads, or draws noise on, at most, unless one area has more."""


def measure_in_spark(
    path: Path, master: str | None, attributes: Attributes, counts: Sequence[IntArray], laws: Mapping[Margin, Fraction]
) -> dict[Margin, IntArray]:
    """Noisy counts of every margin in `laws`, which has the parameters of their discrete Gaussian noise."""
    items: list[tuple[int, IntArray]] = []
    for level in dict.fromkeys(level for level, _ in laws):
        drawn = sum(attributes.cells(query) for depth, query in laws if depth == level)
        areas = max(1, AT_ONCE // max(drawn, attributes.cells(attributes.detailed)))
        starts = range(0, len(counts[level]), areas)
        items += [(level, _packed(counts[level][start : start + areas])) for start in starts]
    if not items:
        return {}
    # The environment of this process selects the sampler, not that of a worker.
    parts = in_tasks(path, master, partial(_measured, attributes, dict(laws), chosen_sampler()), items)
    noisy = {}
    for level, query in laws:
        here = [part[query] for (depth, _), part in zip(items, parts, strict=True) if depth == level]
        noisy[level, query] = np.concatenate(here, dtype=np.int64)
    return noisy


def _measured(
    attributes: Attributes, laws: Mapping[Margin, Fraction], sampler: str, item: tuple[int, IntArray]
) -> dict[MarginQuery, IntArray]:
    """What a task measures, on a worker.

    The entropy is that of the worker's system (OpenDP's that of its process): no seed is sent, and a process that was
    forked from another repeats nothing, since the daemon of Spark from which workers are forked has drawn nothing.
    """
    level, counts = item[0], item[1].astype(np.int64)
    return {
        query: _packed(DiscreteGaussian(law).protect(attributes.margin(counts, query), sampler))
        for (depth, query), law in laws.items()
        if depth == level
    }


def _packed(values: IntArray) -> IntArray:
    """The same numbers in the fewest bytes, for the way: most counts of small areas fit into one each."""
    return values.astype(np.min_scalar_type(-1 - int(np.abs(values).max(initial=0))))
