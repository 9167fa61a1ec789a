"""The exact loss of swapping where every stratum is small: a smaller epsilon that the invariants alone give.

Theorem 1 bounds the loss of any stratum of so many records. Which data sets a stratum may be, and what each loses,
follows from how often the held and the swapped values occur in it, which is published exactly. So the largest exact
loss over all strata may be stated as well: it is the same number for all data sets that the guarantee compares.
"""

from collections import Counter, defaultdict
from fractions import Fraction

from safemargin.core import IntArray
from safemargin.guarantees import check_laws, hamming, outcomes, stratum, universe
from safemargin.swap.permutation import Stratified

MOST_RECORDS = 5
"""Of a stratum whose exchanges are all gone through: a second for the slowest one."""

Margins = tuple[tuple[int, ...], tuple[int, ...]]


def exact_epsilon(cells: Stratified, held: IntArray, rate: Fraction, most: int) -> float | None:
    """The largest exact loss over all strata, or None where one holds more than `MOST_RECORDS`."""
    if not 1 < most <= MOST_RECORDS or not 0 < rate < 1:
        return None
    counts: dict[int, tuple[Counter[int], Counter[int]]] = defaultdict(lambda: (Counter(), Counter()))
    for place, kind, value, number in zip(cells.stratum, held, cells.swapped, cells.numbers, strict=True):
        counts[int(place)][0][int(kind)] += int(number)
        counts[int(place)][1][int(value)] += int(number)
    # The names of values do not matter, so that equal counts lose the same.
    different = {(_sizes(kinds), _sizes(values)) for kinds, values in counts.values()}
    return max((_loss(margins, rate) for margins in different), default=0.0)


def _sizes(values: Counter[int]) -> tuple[int, ...]:
    return tuple(sorted(values.values(), reverse=True))


def _loss(margins: Margins, rate: Fraction) -> float:
    if sum(margins[0]) < 2:
        return 0.0
    data = universe(stratum(*margins))
    laws = {each: outcomes(each).law([rate] * len(each)) for each in data}
    return check_laws(laws, {"stratum": data}, hamming, lambda _: None).losses["stratum"].value
