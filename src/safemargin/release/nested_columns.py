"""Columns of an unknown file that follow from others: wider areas, other names, flags of one value."""

from collections.abc import Sequence

import numpy as np

from safemargin.io import Profiles, is_finite
from safemargin.release.battery import FLAGS
from safemargin.release.column_texts import is_whole
from safemargin.release.scales import plain_number

CHANCES = 4
"""A column depends on another if pure chance would have broken that at least this often."""


def nested_columns(profiles: Profiles, axes: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Columns with the columns of their wider areas, from fine to coarse; and columns that say no more than another.

    What follows from another column and says yes or no, or is a fraction, is no area.
    """
    sizes = {name: len(profiles.column(name)[0]) for name in axes}
    nested: dict[str, tuple[str, ...]] = {}
    same: dict[str, str] = {}
    for fine in sorted(axes, key=lambda name: -sizes[name]):
        if fine in same or any(fine in levels for levels in nested.values()):
            continue
        chain = [fine]
        for coarse in sorted(axes, key=lambda name: -sizes[name]):
            used = coarse in same or any(coarse in levels for levels in nested.values())
            if coarse in chain or used or "" in profiles.column(coarse)[0] or not depends(profiles, chain[-1], coarse):
                continue
            if sizes[coarse] == sizes[chain[-1]]:
                same[coarse] = f"says the same as {chain[-1]!r}"
            elif _is_fractional(profiles.column(coarse)[0]):
                same[coarse] = f"follows from {chain[-1]!r}"
            elif _is_flag(profiles.column(coarse)[0]):
                if (value := _flagged(profiles, fine, coarse)) is not None:
                    same[coarse] = f"says whether {fine!r} is {value!r}"
            elif sizes[coarse] < sizes[chain[-1]]:
                chain.append(coarse)
        if len(chain) > 1:
            nested[fine] = tuple(chain[1:])
    return nested, same


def _is_fractional(labels: Sequence[str]) -> bool:
    """Whether labels are numbers with decimals: what an area is called has none."""
    return all(map(is_finite, labels)) and any(not is_whole(plain_number(label).lstrip("-")) for label in labels)


def _is_flag(labels: Sequence[str]) -> bool:
    return {plain_number(label.strip().lower()) for label in labels} in FLAGS


def _flagged(profiles: Profiles, fine: str, flag: str) -> str | None:
    """The one value of a column that a flag stands for."""
    (labels, codes), (_, flags) = profiles.column(fine), profiles.column(flag)
    held = [np.unique(codes[flags == value]) for value in np.unique(flags)]
    alone = [labels[int(values[0])] for values in held if len(values) == 1]
    return next((label for label in alone if label.strip()), None)


def depends(profiles: Profiles, fine: str, coarse: str) -> bool:
    """Whether every value of `fine` has one value of `coarse`, by more than accident."""
    (labels, inner), (_, outer) = profiles.column(fine), profiles.column(coarse)
    parent = np.zeros(len(labels), dtype=np.int64)
    parent[inner] = outer
    if not np.array_equal(parent[inner], outer):
        return False
    people = float(profiles.counts.sum())
    shares = np.bincount(outer, weights=profiles.counts) / people
    return bool((people - len(labels)) * (1 - (shares**2).sum()) >= CHANCES)
