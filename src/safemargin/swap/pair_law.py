"""The exact law of targeted pair swapping, on a few records.

Probabilities are fractions. The law of pairs goes through all selections and all orders of the records, and forms the
pairs with the code that forms them in a large file.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from safemargin.core import InputError, TooLargeError
from safemargin.guarantees import Law, Stratum, table
from safemargin.swap.pairing import Risk, pair_up

MOST_RECORDS = 5
"""Of a stratum whose selections and orders are all gone through."""

Area = tuple[int, ...]


def chances(records: Stratum, risk: Risk, unique: bool) -> list[Fraction]:
    """How likely each household is to be selected; the held value is what it may be unique in."""
    held = Counter(records)
    size = Counter(home for _, home in records)
    return [risk.chance(size[home], unique and held[kind, home] == 1, False, 0, 0) for kind, home in records]


def targeted_law(
    records: Stratum, rate: Fraction, unique: bool = True, areas: Sequence[Area] = (), small: int = 0
) -> Law:
    """The law of the table after targeted pair swapping of one stratum: records are (held value, block).

    `areas` gives the wider areas of each block, from wide to narrow; without them, all blocks lie together.

    >>> law = targeted_law(((0, 0), (1, 1)), Fraction(1, 10))
    >>> law == {((0, 1), (1, 0)): 1}
    True
    """
    _check_size(records)
    risk = Risk(rate, small)
    chance = chances(records, risk, unique)
    blocks = [home for _, home in records]
    if areas and (len({len(area) for area in areas}) > 1 or max(blocks) >= len(areas)):
        raise InputError("areas: every block needs as many wider areas as any other")
    levels = [[area[n] for area in areas] for n in range(len(areas[0]))] if areas else []
    places = tuple((*(level[home] for level in levels), home) for home in blocks)
    law: Law = {}
    # The pairs depend on the selection and on a uniform order only: both are listed, with whole numbers of ways.
    ends = _ends(places, tuple(float(probability) for probability in chance))
    for chosen, ways in ends.items():
        weight = prod(
            (p if is_chosen else 1 - p for p, is_chosen in zip(chance, chosen, strict=True)), start=Fraction(1)
        )
        if not weight:
            continue
        for partner, number in ways.items():
            end = table([(kind, blocks[to]) for (kind, _), to in zip(records, partner, strict=True)])
            law[end] = law.get(end, Fraction(0)) + weight * Fraction(number, factorial(len(records)))
    return law


@cache
def _ends(places: tuple[Area, ...], at_risk: tuple[float, ...]) -> dict[tuple[bool, ...], dict[tuple[int, ...], int]]:
    """For every selection: with whom records change places, and in how many orders. All of it is one call."""
    size = len(places)
    chosen = np.array(list(product([False, True], repeat=size)))
    orders = np.array(list(permutations(range(size))), dtype=np.int64)
    # All selections and orders are strata of one call, so the law tests the code that pairs large files.
    copies = len(chosen) * len(orders)
    strata = np.repeat(np.arange(copies), size)
    selected = np.repeat(chosen, len(orders), axis=0).ravel()
    pairs = pair_up(
        strata,
        [np.tile(np.array(level), copies) for level in zip(*places, strict=True)],
        selected,
        np.zeros(len(selected), dtype=np.bool_),
        np.tile(np.array(at_risk), copies),
        np.tile(orders, (len(chosen), 1)).ravel(),
    )
    start = strata * size
    to = np.where(pairs.partner < 0, np.arange(len(strata)), pairs.partner) - start
    ends_by_selection: dict[tuple[bool, ...], dict[tuple[int, ...], int]] = {}
    for selection, ends in zip(chosen, to.reshape(len(chosen), len(orders), size), strict=True):
        moves, ways = np.unique(ends, axis=0, return_counts=True)
        ends_by_selection[tuple(selection.tolist())] = {
            tuple(move): int(n) for move, n in zip(moves.tolist(), ways.tolist(), strict=True)
        }
    return ends_by_selection


def _check_size(records: Stratum) -> None:
    if len(records) > MOST_RECORDS:
        raise TooLargeError(
            f"{len(records)} records have {2 ** len(records) * factorial(len(records)):,} selections and orders; "
            f"at most {MOST_RECORDS} will do"
        )
