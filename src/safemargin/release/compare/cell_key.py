"""The cell key method: bounded noise, the same wherever the same people are counted."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from safemargin.core import Onlooker, Publication, PublishedTable, frozen, numpy_generator
from safemargin.release.compare.global_dp import noised
from safemargin.release.compare.method import Case, Method, Tables, exact_tables
from safemargin.samplers.cell_key import CellKey, with_keys


def cell_key(case: Case) -> list[Method]:
    """Fresh record keys for every draw."""
    noise = CellKey()
    at_bound = float(noise.table[-1, -1])
    return [
        Method(
            name=f"cell key, at most {noise.distance}",
            family="cell key",
            does=f"noise of variance {noise.variance:g}, at most {noise.distance}, picked by the people in the cell",
            draw=partial(_draw, case, noise),
            known=lambda tables, onlooker: Publication(_bounded(case, noise, tables, onlooker), case.target),
            is_random=True,
            expected=noise.mean_size,
            auxiliary=(
                f"noise at its upper end, on {at_bound:.2%} of the counts, tells who knows every answer but one the "
                "last"
            ),
        )
    ]


def _draw(case: Case, noise: CellKey, draws: int) -> Iterator[Tables]:
    generator = numpy_generator(case.seed)
    for _ in range(draws):
        keys = exact_tables(with_keys(case.table, generator))
        yield tuple(
            noised(table, noise.protect(table.lower, key.lower)) for table, key in zip(case.exact, keys, strict=True)
        )


def _bounded(case: Case, noise: CellKey, tables: Tables, onlooker: Onlooker) -> Tables:
    """Who knows the rule knows how far a printed count can be off, and that a count of zero is printed as zero."""
    if not onlooker.knows_rule:
        return tables
    return tuple(_ranges(case, noise, table, onlooker) for table in tables)


def _ranges(case: Case, noise: CellKey, table: PublishedTable, onlooker: Onlooker) -> PublishedTable:
    assert table.noisy is not None
    lower = np.maximum(table.noisy - noise.distance, np.minimum(table.noisy, 1))
    upper = table.noisy + noise.distance
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
