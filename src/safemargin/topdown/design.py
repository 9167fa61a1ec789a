"""What TopDown measures, how precisely, and what its tables must satisfy. All of it is public."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import BoolArray, InputError, IntArray, rounded
from safemargin.topdown.attributes import Attributes, Query
from safemargin.topdown.spine import Spine

MOST = 2**53
"""Stands for no upper limit; sums of counts stay below it."""

LARGE = MOST >> 20
"""Upper limits from which on a sum of them says nothing."""


LEAST_VARIANCE, MOST_VARIANCE = Fraction(1, 10**12), Fraction(10**12)
"""Of noise that is drawn."""


@dataclass(frozen=True)
class AreaLimit:
    """The counts of a margin lie between `low` and `high`, one row per area of a level."""

    query: Query
    low: IntArray
    high: IntArray


@dataclass(frozen=True)
class Design:
    """Areas, attributes, shares of the budget, and constraints.

    `rho` is that of zero-concentrated differential privacy, for data sets that differ in one person's record. `shares`
    and `queries` are by level, widest first. `exact` lists margins that are published as they are (level, query);
    `impossible` marks cells that hold nobody; `bounds` are limits by level that are public and true of the data;
    `earlier` are margins by level that tables must agree with because they were published before.
    """

    spine: Spine
    attributes: Attributes
    rho: Fraction
    delta: float
    shares: tuple[Fraction, ...]
    queries: tuple[Mapping[Query, Fraction], ...]
    exact: tuple[tuple[int, Query], ...]
    impossible: BoolArray
    bounds: tuple[tuple[int, AreaLimit], ...]
    earlier: tuple[tuple[int, AreaLimit], ...]
    passes: tuple[Query, ...]

    def __post_init__(self) -> None:
        if self.rho <= 0:
            raise InputError(f"budget.rho = {self.rho}: must be positive")
        _check_shares("budget.levels", self.shares)
        for level, queries in zip(self.spine.levels, self.queries, strict=True):
            _check_shares(f"budget.queries of {level}", list(queries.values()))
        if self.shares[-1] == 0 or self.queries[-1].get(self.attributes.detailed, 0) == 0:
            raise InputError(
                f"budget: {self.spine.levels[-1]}: give the query 'detailed' a share, so that every count is measured"
            )
        for place, name in enumerate(self.spine.levels):
            for query, variance in self.measured(place).items():
                if not LEAST_VARIANCE <= variance <= MOST_VARIANCE:
                    raise InputError(
                        f"budget: {name}: {self.attributes.title(query)}: noise of variance {rounded(variance, 3)} is "
                        f"{'too small' if variance < 1 else 'too large'} to be drawn; change rho or the share"
                    )
        for narrow, wide in zip(self.passes, self.passes[1:], strict=False):
            if not narrow <= wide or narrow == wide:
                raise InputError("tables.passes: each must hold all attributes of the one before it, and more")
        if self.passes[-1] != self.attributes.detailed:
            raise InputError("tables.passes: the last must be 'detailed'")

    def measured(self, level: int) -> dict[Query, Fraction]:
        """The queries of a level with the variance of their noise.

        Moving one person changes two counts of a margin by one, so a margin with variance `v` costs `1 / v`.
        """
        share = self.shares[level]
        parts = self.queries[level].items()
        return {query: 1 / (self.rho * share * part) for query, part in parts if share * part > 0}

    @property
    def moved(self) -> Mapping[float, int]:
        """Noise variances of the counts that a changed record moves by one at most, two for every query, with their
        number.
        """
        return Counter(
            float(variance)
            for level in range(len(self.spine.levels))
            for variance in self.measured(level).values()
            for _ in range(2)
        )


def _check_shares(what: str, shares: Sequence[Fraction]) -> None:
    if any(share < 0 for share in shares):
        raise InputError(f"{what}: a share is negative")
    if (found := sum(shares, Fraction(0))) != 1:
        raise InputError(f"{what}: the shares add up to {found} ({rounded(found)}), not to 1")


@dataclass(frozen=True)
class Measured:
    """What leaves: noisy counts by level and query, and exact ones. Estimates read nothing else about people."""

    noisy: tuple[Mapping[Query, IntArray], ...]
    exact: Mapping[tuple[int, Query], IntArray]


def limits(design: Design, exact: Mapping[tuple[int, Query], IntArray]) -> tuple[dict[Query, AreaLimit], ...]:
    """What tables of every level must satisfy: its own constraints, and those of the levels below, added up.

    Refused if two of them contradict each other in one area.
    """
    spine = design.spine
    found: list[dict[Query, AreaLimit]] = [{} for _ in spine.levels]
    given = [(level, AreaLimit(query, values, values)) for (level, query), values in exact.items()]
    for level, limit in (*given, *design.bounds, *design.earlier):
        _tighten(found[level], limit)
    for level in range(spine.last, 0, -1):
        starts = spine.starts[level]
        for limit in list(found[level].values()):
            low = np.add.reduceat(limit.low, starts, axis=0)
            high = np.minimum(np.add.reduceat(np.minimum(limit.high, LARGE), starts, axis=0), MOST)
            open_above = np.add.reduceat((limit.high >= LARGE).astype(np.int64), starts, axis=0) > 0
            _tighten(found[level - 1], AreaLimit(limit.query, low, np.where(open_above, MOST, high)))
    for level, here in reversed(list(enumerate(found))):  # the smallest area that cannot be is the one to look at
        for limit in here.values():
            _check(design, level, limit, limit, "the bounds")
            for wider in here.values():
                if limit.query <= wider.query and limit.query != wider.query:
                    summed = summed_limit(design.attributes, wider, limit.query)
                    text = f"its {design.attributes.title(wider.query)} counts"
                    _check(design, level, AreaLimit(limit.query, limit.low, summed.high), limit, text)
                    _check(design, level, AreaLimit(limit.query, summed.low, limit.high), limit, text)
    return tuple(found)


def summed_limit(attributes: Attributes, limit: AreaLimit, query: Query) -> AreaLimit:
    """What a limit says about a margin within its own."""
    if query == limit.query:
        return limit
    low = attributes.margin(limit.low, query, limit.query)
    high = attributes.margin(np.minimum(limit.high, LARGE), query, limit.query)
    endless = attributes.margin((limit.high >= LARGE).astype(np.int64), query, limit.query) > 0
    return AreaLimit(query, low, np.where(endless, MOST, high))


def limits_within(attributes: Attributes, limits: Mapping[Query, AreaLimit], margin: Query) -> list[AreaLimit]:
    """What limits say about a margin."""
    found: dict[Query, AreaLimit] = {}
    for limit in limits.values():
        _tighten(found, summed_limit(attributes, limit, limit.query & margin))
    return list(found.values())


def _tighten(found: dict[Query, AreaLimit], limit: AreaLimit) -> None:
    before = found.get(limit.query)
    if before is not None:
        limit = AreaLimit(limit.query, np.maximum(before.low, limit.low), np.minimum(before.high, limit.high))
    found[limit.query] = limit


def _check(design: Design, level: int, joint: AreaLimit, about: AreaLimit, other: str) -> None:
    wrong = np.argwhere(joint.low > joint.high)
    if len(wrong):
        area, cell = wrong[0].tolist()
        place = f"{design.spine.levels[level]} {design.spine.names[level][area]!r}"
        least, most = int(joint.low[area, cell]), int(joint.high[area, cell])
        what = design.attributes.labels(about.query, cell)
        raise InputError(
            f"constraints cannot hold together: {place}: {what}: at least {least:,} and at most {most:,} "
            f"by exact counts, {other} and those of its parts"
        )


def check_truth(design: Design, counts: tuple[IntArray, ...]) -> None:
    """Refuse data of which the stated bounds are not true; earlier tables need not be."""
    kinds = design.attributes
    inside = np.argwhere(counts[-1] * design.impossible)
    if len(inside):
        area, cell = inside[0].tolist()
        raise InputError(
            f"zeros: {kinds.labels(kinds.detailed, cell)} is said to be impossible, but "
            f"{design.spine.levels[-1]} {design.spine.names[-1][area]!r} has such people"
        )
    for level, limit in design.bounds:
        values = kinds.margin(counts[level], limit.query)
        wrong = np.argwhere((values < limit.low) | (values > limit.high))
        if len(wrong):
            area, cell = wrong[0].tolist()
            raise InputError(
                f"bounds: {design.spine.levels[level]} {design.spine.names[level][area]!r}: "
                f"{kinds.labels(limit.query, cell)}: the data do not lie in "
                f"{int(limit.low[area, cell])} to {int(limit.high[area, cell])}"
            )
