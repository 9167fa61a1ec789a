"""Attacks on noise with a bound: infer it from counts beside their parts, and true counts once it is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from safemargin.core import UNBOUNDED, BoolArray, FloatArray, InputError, IntArray, row_keys
from safemargin.noise.calculators import Figure
from safemargin.noise.laws import keyed_gap_law, sum_law
from safemargin.noise.layout import ENOUGH, LARGE, Layout, Recovered, tuples_in
from safemargin.samplers import at_least, bounded_law
from safemargin.ui import count_range

CANDIDATES = 10
"""Bounds from the smallest possible up that are compared."""
MOST_PARTS = 6
"""Parts of a total that is used; more hardly ever disclose anything."""
FLOOR = 1e-7
"""Chances below this are not distinguished: the law of keyed noise is computed in steps."""
ROUNDS = 50
"""How often intervals are narrowed at most; each round keeps them valid."""


@dataclass(frozen=True)
class Revealed:
    """The bound of the noise: at least `least`, for sure; `least` itself with this confidence.

    `keyed` is how likely keys add up, so that the noise of a total depends on that of its parts.
    """

    least: int
    tuples: int
    confidence: float
    keyed: float = 0.0


def revealing(layout: Layout, variance: float) -> Revealed:
    """The smallest bound that explains every gap, and how likely a larger one would have shown itself.

    Noise has the largest entropy for `variance`; it is independent or selected by keys that add up. Both, and bounds
    from the smallest up, are taken to be equally likely beforehand.
    """
    least, count = 0, 0
    gaps: dict[int, list[IntArray]] = {}
    for pair in tuples_in(layout):
        noisy = pair.terms > 0
        count += int(noisy.sum())
        # Eq. (10): a gap of n noisy terms needs noise of at least gap / n, rounded up.
        least = max([least, *(-(-np.abs(pair.gap[noisy]) // pair.terms[noisy])).tolist()])
        fit = noisy & (pair.whole == 1) & (pair.least >= LARGE) & (pair.parts <= MOST_PARTS)
        for parts in np.unique(pair.parts[fit]).tolist():
            gaps.setdefault(parts, []).append(pair.gap[fit & (pair.parts == parts)])
    seen = {parts: np.concatenate(arrays) for parts, arrays in gaps.items() if parts > 1}
    smallest = max(least, 1)
    while smallest * (smallest + 1) / 3 < variance:  # even uniform noise within less has a smaller variance
        smallest += 1
    if sum(map(len, seen.values())) < ENOUGH:
        return Revealed(least, count, 0.0)
    bounds = range(smallest, smallest + CANDIDATES)
    logs = np.array([[_likelihood(seen, bound, variance, keyed) for keyed in (False, True)] for bound in bounds])
    weights = np.exp(logs - logs.max())  # thousands of gaps: likelihoods themselves would underflow
    weights /= weights.sum()
    sure = float(weights[0].sum()) if smallest == max(least, 1) else 0.0
    return Revealed(least, count, sure, float(weights[:, 1].sum()))


def _likelihood(seen: dict[int, IntArray], bound: int, variance: float, keyed: bool) -> float:
    """Logarithm of the probability of the gaps."""
    total = 0.0
    for parts, gaps in seen.items():
        chances = _gap_law(bound, variance, parts, keyed)
        values, often = np.unique(gaps, return_counts=True)
        total += float(often @ np.log(chances[len(chances) // 2 + values]))
    return total


@lru_cache(maxsize=256)
def _gap_law(bound: int, variance: float, parts: int, keyed: bool) -> FloatArray:
    law = bounded_law(bound, variance)
    chances: FloatArray = np.maximum(keyed_gap_law(law, parts) if keyed else sum_law(law, parts + 1), FLOOR)
    return chances


def exploiting(layout: Layout, bound: int) -> list[Recovered]:
    """Counts that only one value fits: each within `bound` of what is printed, parts adding up, none negative."""
    blocks = layout.blocks
    lower = [np.maximum(0, block.values - bound * block.noised) for block in blocks]
    upper = [block.values + bound * block.noised for block in blocks]
    sums_and_parts = _sums_and_parts(layout)
    for _ in range(ROUNDS):
        changed = False
        # Bound propagation: a sum is between the sums of its parts' ends, a part is what the others leave of the sum.
        for whole, parts, rows, cells, complete in sums_and_parts:
            low, high = (np.zeros(len(lower[whole]), dtype=np.int64) for _ in range(2))
            np.add.at(low, cells, lower[parts][rows])
            np.add.at(high, cells, upper[parts][rows])
            high[~complete] = UNBOUNDED
            changed |= _raise(lower[whole], low) | _cut(upper[whole], high)
            least, most = lower[parts].copy(), upper[parts].copy()
            least[rows] = lower[whole][cells] - (high[cells] - upper[parts][rows])
            most[rows] = upper[whole][cells] - (low[cells] - lower[parts][rows])
            changed |= _raise(lower[parts], least) | _cut(upper[parts], most)
        if any((low > high).any() for low, high in zip(lower, upper, strict=True)):
            raise InputError(f"bound = {bound}: does not explain the tables; the nearest bound is larger")
        if not changed:
            break
    recovered: dict[tuple[tuple[str, str], ...], Recovered] = {}
    for block, low, high in zip(blocks, lower, upper, strict=True):
        for row in np.flatnonzero((low == high) & (block.noised == 1)).tolist():
            cell = layout.cell(block.axes, block.codes[row].tolist())
            recovered[cell] = Recovered("exploiting", cell, int(low[row]), 1.0, int(block.values[row]))
    return list(recovered.values())


def _sums_and_parts(layout: Layout) -> list[tuple[int, int, IntArray, IntArray, BoolArray]]:
    """Tables (by number) of which one adds up the other, or prints the same.

    With each pair: the rows of parts, the row of the sum that each is in, and which sums have all their parts. A sum
    without any row among its parts is empty, if the table of parts lists all of its categories.
    """
    pairs = []
    for number, whole in enumerate(layout.blocks):
        sizes = layout.sizes(whole.axes)
        sums = row_keys(whole.codes, sizes)
        order = np.argsort(sums)
        wanted = [whole.listed(axis) for axis in whole.axes]
        for other, block in enumerate(layout.blocks):
            if other == number or not set(whole.axes) <= set(block.axes):
                continue
            parts = layout.parts(block, whole.axes, wanted)
            if parts is None:
                continue
            keys = row_keys(parts.cells, sizes)
            cells = np.minimum(np.searchsorted(sums[order], keys), len(sums) - 1)
            kept = sums[order][cells] == keys
            complete = np.ones(len(sums), dtype=bool)
            for axis, codes in enumerate(parts.complete):
                complete &= np.isin(whole.codes[:, axis], codes)
            pairs.append((number, other, parts.rows[kept], order[cells[kept]], complete))
    return pairs


def _raise(values: IntArray, least: IntArray) -> bool:
    higher = least > values
    values[higher] = least[higher]
    return bool(higher.any())


def _cut(values: IntArray, most: IntArray) -> bool:
    lower = most < values
    values[lower] = most[lower]
    return bool(lower.any())


def true_ranges(counts: Sequence[int], total: int, bound: int, zeros: bool = False) -> tuple[tuple[int, int], ...]:
    """Least and most of every true count, the total last, that fit noisy ones with noise within `bound`.

    With `zeros`, only counts of somebody have noise (footnote 16).

    >>> true_ranges([3, 2], 11, bound=2), true_ranges([3, 2], 9, bound=2)
    (((5, 5), (4, 4), (9, 9)), ((3, 5), (2, 4), (7, 9)))
    """
    at_least("bound", bound, 0)
    if len(counts) < 2:
        raise InputError(f"counts = {', '.join(map(str, counts)) or '(none)'}: give at least two, which the total adds")
    low = [max(int(zeros and count != 0), count - bound) for count in counts]
    high = [count + bound for count in counts]
    least, most = max(total - bound, sum(low)), min(total + bound, sum(high))
    if least > most or min(high) < 0:
        raise InputError(
            f"counts = {', '.join(map(str, counts))} and total = {total} are too far apart for noise within {bound}"
            + ("" if zeros else f"; the nearest bound is {_least_bound(counts, total)}")
        )
    # A count is at least what the total leaves when all others are at their most, and the other way round. One pass is
    # enough for one equation.
    ranges = [(max(a, least - (sum(high) - b)), min(b, most - (sum(low) - a))) for a, b in zip(low, high, strict=True)]
    return (*ranges, (least, most))


def exploit(counts: Sequence[int], total: int, bound: int, zeros: bool = False) -> Figure:
    """True counts that fit noisy ones and their total, once the bound is known.

    With `zeros`, counts of nobody get no noise, so that a printed count other than 0 is one of somebody.
    """
    ranges = true_ranges(counts, total, bound, zeros)
    is_disclosed = all(low == high for low, high in ranges)
    verdict = "All true counts are disclosed" if is_disclosed else "The true counts are not all disclosed"
    *parts, whole = (count_range(*ends) for ends in ranges)
    return Figure(
        [low for low, _ in ranges] if is_disclosed else None,
        {"counts": list(counts), "total": total, "bound": bound, "zeros": zeros},
        f"{verdict}: {', '.join(parts)}, total {whole}.",
        {"intervals": [list(ends) for ends in ranges]},
    )


def _least_bound(counts: Sequence[int], total: int) -> int:
    """The smallest bound with which the counts fit their total and nobody is negative."""
    gap = abs(sum(counts) - total)
    bound = max(-(-gap // (len(counts) + 1)), 0, *(-count for count in counts), -total)
    while True:
        low = sum(max(0, count - bound) for count in counts)
        if max(total - bound, low) <= min(total + bound, sum(counts) + bound * len(counts)):
            return bound
        bound += 1
