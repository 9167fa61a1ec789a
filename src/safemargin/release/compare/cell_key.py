"""The cell key method: bounded noise, the same wherever the same people are counted."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from safemargin.core import Onlooker, Publication, PublishedTable, frozen, numpy_generator
from safemargin.release.compare.global_dp import noised
from safemargin.release.compare.method import Case, Method, Tables, exact_tables
from safemargin.samplers.cell_key import SIMULATED, noise_of, simulated_keys
from safemargin.samplers.ptable import PTable
from safemargin.samplers.ptable_design import reference_ptable, request

BOUND, VARIANCE = 3, 1
"""Noise as the R package ptable makes it with these settings."""


def cell_key(case: Case) -> list[Method]:
    """Fresh record keys for every draw."""
    noise = reference_ptable(request(BOUND, VARIANCE))
    at_bound = float(noise.matrix[-1, -1])
    return [
        Method(
            name=f"cell key, at most {BOUND}",
            family="cell key",
            does=f"noise of variance {VARIANCE:g}, at most {BOUND}, picked by the people in the cell",
            draw=partial(_draw, case, noise),
            known=lambda tables, onlooker: Publication(_bounded(case, noise, tables, onlooker), case.target),
            is_random=True,
            expected=noise.rows[-1].mean_size,
            auxiliary=(
                f"noise at its upper end, on {at_bound:.2%} of the counts, tells who knows every answer but one the "
                "last"
            ),
        )
    ]


def _draw(case: Case, noise: PTable, draws: int) -> Iterator[Tables]:
    generator = numpy_generator(case.seed)
    for _ in range(draws):
        keys = exact_tables(simulated_keys(case.table, generator))
        yield tuple(
            noised(table, table.lower + noise_of(noise, table.lower, key.lower, SIMULATED))
            for table, key in zip(case.exact, keys, strict=True)
        )


def _bounded(case: Case, noise: PTable, tables: Tables, onlooker: Onlooker) -> Tables:
    """Who knows the rule knows how far a printed count can be off, and that a count of zero is printed as zero."""
    if not onlooker.knows_rule:
        return tables
    return tuple(_ranges(case, noise, table, onlooker) for table in tables)


def _ranges(case: Case, noise: PTable, table: PublishedTable, onlooker: Onlooker) -> PublishedTable:
    assert table.noisy is not None
    lower = np.maximum(table.noisy - BOUND, np.minimum(table.noisy, 1))
    upper = table.noisy + BOUND
    consistent = case.covers_everybody and case.table.inconsistency.rate == 0
    if consistent and (people := _sizes(case, table, onlooker)) is not None:
        shape = (-1, len(table.options))
        low, high = lower.reshape(shape), upper.reshape(shape)
        lower = np.maximum(low, people - (high.sum(axis=1, keepdims=True) - high)).ravel()
        upper = np.minimum(high, people - (low.sum(axis=1, keepdims=True) - low)).ravel()
    return replace(table, lower=frozen(lower), upper=frozen(upper), status=("range",) * len(lower), noisy=None)


def _sizes(case: Case, table: PublishedTable, onlooker: Onlooker) -> np.ndarray | None:
    """People of every group (rows), if the onlooker has a roll: all options together must come to that."""
    if not onlooker.roll:
        return None
    by_axis = {one.axis.name: one.people for one in case.splits}
    return by_axis[table.axes[0]][:, None] if table.axes else np.array([[case.people]])
