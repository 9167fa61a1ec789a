"""What TopDown measures, how precisely, and what its tables must satisfy. All of it is public.

Objects
    spine       the tree of areas by level, from the whole land down to the smallest areas
    query       a margin of the attributes that is measured at a level
    rho²        the budget of zero-concentrated differential privacy: the noise on query Q at level l is discrete
                Gaussian with parameter v[l, Q] = 1 / (rho² * share[l] * share[l, Q])
    constraints exact margins (invariants), bounds, impossible cells, and tables published earlier

Statement
    One changed record moves at most two counts of a margin by one each, so noise of parameter v costs 1 / v in rho²
    (Canonne, Kamath and Steinke 2022), and shares that add up to 1 spend the budget exactly.

The algorithm is that of the 2020 census of the United States: Abowd et al., "The 2020 Census Disclosure Avoidance
System TopDown Algorithm", Harvard Data Science Review, special issue 2 (2022). It has a measurement phase, which adds
discrete Gaussian noise to margins, and an estimation phase, which reads nothing but what the first has published.

Invariants
    * Shares are fractions that add up to exactly 1: no rounding spends more than the budget.
    * The smallest areas measure every count (`detailed`), so that the least-squares estimate has one solution.
    * Limits that contradict each other are refused before any noise is drawn, with the area and the cell.

Example
    A land with two towns; counts of the land are the sums of theirs:

    >>> spine = build_spine(["land", "town"], "all", [("b",), ("a",)])
    >>> [level.tolist() for level in spine.counts(np.array([[1, 2], [3, 4]]))]
    [[[4, 6]], [[1, 2], [3, 4]]]
    >>> spine.children(0, 0), spine.name(1, 0)
    (range(0, 2), "town 'a'")
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, InputError, IntArray, frozen, rounded
from safemargin.samplers import DiscreteGaussian
from safemargin.topdown.attributes import Attributes, MarginQuery, Numbers

MAX_COUNT = 2**53  # stands for no upper limit. Sums of counts stay below it, so they are exact in floating point.
LARGE = MAX_COUNT >> 20  # upper limits from which on a sum of them limits nothing
MIN_VARIANCE, MAX_VARIANCE = Fraction(1, 10**12), Fraction(10**12)  # of noise that is drawn
# Parameters from which on the variance of discrete Gaussian noise equals the parameter in floating point.
LARGE_VARIANCE = 10

Area = tuple[int, int]  # level and index


@dataclass(frozen=True)
class Spine:
    """Areas by level, the widest first; the parts of an area are contiguous.

    `parents[level][index]` is the index of the area one level up that an area is part of. Level 0 has one area. Tables
    of a level are arrays with a row per area, so sums over parts are `np.add.reduceat` at `starts`.
    """

    # Not a `core.Hierarchy`, which has a matrix of nodes by leaves (10 GB with 100,000 leaves). Here all leaves are on
    # the last level and every step adds up whole levels: with arrays of parents that is one `reduceat` per level.

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    parents: tuple[IntArray, ...]

    @property
    def last(self) -> int:
        """The level of the smallest areas."""
        return len(self.levels) - 1

    @property
    def areas(self) -> int:
        """Number of areas on all levels."""
        return sum(map(len, self.names))

    @cached_property
    def starts(self) -> tuple[IntArray, ...]:
        """By level, the index of the first part of every area one level up."""
        return tuple(frozen(np.flatnonzero(np.diff(above, prepend=-1))) for above in self.parents)

    def children(self, level: int, area: int) -> range:
        """Indices of the parts of an area, one level down; they are contiguous, so a range is enough."""
        starts = self.starts[level + 1]
        end = int(starts[area + 1]) if area + 1 < len(starts) else len(self.names[level + 1])
        return range(int(starts[area]), end)

    def sums(self, level: int, values: Numbers) -> Numbers:
        """Rows of the areas of `level` summed to those one level up."""
        summed: Numbers = np.add.reduceat(values, self.starts[level], axis=0)
        return summed

    def counts(self, smallest: IntArray) -> tuple[IntArray, ...]:
        """Counts of every level from those of the smallest areas."""
        levels = [smallest]
        for level in range(self.last, 0, -1):
            levels.append(self.sums(level, levels[-1]))
        return tuple(levels[::-1])

    def name(self, level: int, area: int) -> str:
        """An area in words."""
        return f"{self.levels[level]} {self.names[level][area]!r}"


def build_spine(levels: Sequence[str], root: str, paths: Iterable[tuple[str, ...]]) -> Spine:
    """The tree of areas from the names on the path to each smallest area; `levels[0]` is the level of the root.

    >>> build_spine(["land", "town"], "all", [("b",), ("a",)]).names
    (('all',), ('a', 'b'))
    """
    ordered = sorted(set(paths))
    if not ordered:
        raise InputError("spine: there are no areas")
    index_of: dict[str, int] = {root: 0}
    names: list[tuple[str, ...]] = [(root,)]
    parents: list[IntArray] = [frozen([])]
    for depth, level in enumerate(levels[1:]):
        parent_of: dict[str, str] = {}
        for path in ordered:
            name, parent = path[depth], path[depth - 1] if depth else root
            if not name:
                raise InputError(f"spine: an area of {parent!r} has no {level}; name every area on every level")
            if parent_of.setdefault(name, parent) != parent:
                raise InputError(
                    f"spine: is not a tree: {level} {name!r} lies in {parent_of[name]!r} and in {parent!r}; "
                    "give every area a code of its own"
                )
        names.append(tuple(parent_of))
        parents.append(frozen([index_of[parent] for parent in parent_of.values()]))
        index_of = {name: index for index, name in enumerate(parent_of)}
    return Spine(tuple(levels), tuple(names), tuple(parents))


@dataclass(frozen=True)
class MarginLimit:
    """The counts of a margin lie between `low` and `high`, one row per area of a level.

    `MAX_COUNT` in `high` stands for no limit. Limits are public facts or earlier tables; data that break a public one
    are refused (`check_truth`).
    """

    query: MarginQuery
    low: IntArray
    high: IntArray

    def of_areas(self, part: slice) -> "MarginLimit":
        """The limit of some areas."""
        return MarginLimit(self.query, self.low[part], self.high[part])


LevelLimits = Mapping[MarginQuery, MarginLimit]


@dataclass(frozen=True)
class WeightedLimit:
    """Weighted sums of the counts of a margin (a row of `weights` each) lie between `low` and `high`, by area."""

    query: MarginQuery
    weights: IntArray
    low: IntArray
    high: IntArray

    def of_areas(self, part: slice) -> "WeightedLimit":
        """The limit of some areas."""
        return replace(self, low=self.low[part], high=self.high[part])

    def on_cells(self, attributes: Attributes, margin: MarginQuery) -> IntArray:
        """The weights of the cells of a finer margin."""
        return self.weights[:, attributes.cell_of(self.query, margin)]


@dataclass(frozen=True)
class LookAhead:
    """Rows `least <= here x + below y <= most` with integer `y >= 0`: counts `y` of parts of areas with counts `x`.

    Added to a sibling problem, they make sure that its counts can be divided further down.
    """

    here: sparse.csr_array
    below: sparse.csr_array
    least: IntArray
    most: IntArray


@dataclass(frozen=True)
class Design:
    """Areas, attributes, shares of the budget, and constraints.

    `rho_squared` is that of zero-concentrated differential privacy, for data sets that differ in one person's record.
    `shares` and `queries` are by level, widest first. `exact` lists margins that are published exactly (level, query);
    `impossible` marks cells that are empty in all data; `bounds` are public limits by level that the data satisfy;
    `earlier` are margins by level that tables must agree with because they were published before. A record is a `unit`.
    `weighted` are public limits of weighted sums, by level: how many people fit into households.
    """

    spine: Spine
    attributes: Attributes
    rho_squared: Fraction
    delta: float
    shares: tuple[Fraction, ...]
    queries: tuple[Mapping[MarginQuery, Fraction], ...]
    exact: tuple[tuple[int, MarginQuery], ...]
    impossible: BoolArray
    bounds: tuple[tuple[int, MarginLimit], ...]
    earlier: tuple[tuple[int, MarginLimit], ...]
    passes: tuple[MarginQuery, ...]
    unit: str = "person"
    weighted: tuple[tuple[int, WeightedLimit], ...] = ()

    def __post_init__(self) -> None:
        """Refuse a design that cannot be carried out: shares that do not add up to 1, noise that cannot be drawn, bad
        passes.
        """
        if self.rho_squared <= 0:
            raise InputError(f"budget.rho_squared = {self.rho_squared}: must be positive")
        _check_shares("budget.levels", self.shares)
        for level, queries in zip(self.spine.levels, self.queries, strict=True):
            _check_shares(f"budget.queries of {level}", list(queries.values()))
        if self.shares[-1] == 0 or self.queries[-1].get(self.attributes.detailed, 0) == 0:
            raise InputError(
                f"budget: {self.spine.levels[-1]}: give the query 'detailed' a share, so that every count is measured"
            )
        for index, name in enumerate(self.spine.levels):
            for query, variance in self.measured(index).items():
                if not MIN_VARIANCE <= variance <= MAX_VARIANCE:
                    raise InputError(
                        f"budget: {name}: {self.attributes.title(query)}: noise of variance {rounded(variance, 3)} is "
                        f"{'too small' if variance < 1 else 'too large'} to be drawn; change rho_squared or the share"
                    )
        for narrow, wide in zip(self.passes, self.passes[1:], strict=False):
            if not narrow <= wide or narrow == wide:
                raise InputError("tables.passes: each must have all attributes of the one before it, and more")
        if self.passes[-1] != self.attributes.detailed:
            raise InputError("tables.passes: the last must be 'detailed'")

    def measured(self, level: int) -> dict[MarginQuery, Fraction]:
        """The queries of a level with the variance parameter of their noise."""
        # Changing one record moves two counts of a margin by one: squared sensitivity 2, so a margin with parameter v
        # costs 2 / (2 v) = 1 / v in rho² (Canonne, Kamath and Steinke 2022).
        share = self.shares[level]
        parts = self.queries[level].items()
        return {query: 1 / (self.rho_squared * share * part) for query, part in parts if share * part > 0}

    def noise(self, level: int) -> dict[MarginQuery, float]:
        """The queries of a level with the variance of their noise."""
        return {query: noise_variance(parameter) for query, parameter in self.measured(level).items()}

    @property
    def moved(self) -> Mapping[float, int]:
        """Parameters of the noise on counts that one changed record moves, two for every query, with their number."""
        return Counter(
            float(variance)
            for level in range(len(self.spine.levels))
            for variance in self.measured(level).values()
            for _ in range(2)
        )


def noise_variance(parameter: Fraction) -> float:
    """Variance of discrete Gaussian noise: the parameter, except for small ones, where noise is mostly zero.

    >>> noise_variance(Fraction(32)), round(noise_variance(Fraction(1, 4)), 6)
    (32.0, 0.215013)
    """
    return float(parameter) if parameter > LARGE_VARIANCE else DiscreteGaussian(parameter).variance


def _check_shares(where: str, shares: Sequence[Fraction]) -> None:
    """Raise unless shares are not negative and add up to 1 exactly, as fractions."""
    if any(share < 0 for share in shares):
        raise InputError(f"{where}: a share is negative")
    if (total := sum(shares, Fraction(0))) != 1:
        raise InputError(f"{where}: the shares add up to {total} ({rounded(total)}), not to 1")


@dataclass(frozen=True)
class Measurements:
    """What the measurement phase publishes: noisy counts by level and query, and exact ones."""

    noisy: tuple[Mapping[MarginQuery, IntArray], ...]
    exact: Mapping[tuple[int, MarginQuery], IntArray]

    def placed(self, places: Sequence[int]) -> "Measurements":
        """The same on levels that are numbered otherwise; levels between them have none.

        `places[level]` is the new number of `level`, ascending.
        """
        at = {place: level for level, place in enumerate(places)}
        noisy = tuple(self.noisy[at[place]] if place in at else {} for place in range(places[-1] + 1))
        return Measurements(noisy, {(places[level], query): values for (level, query), values in self.exact.items()})


def combine_limits(
    design: Design, exact: Mapping[tuple[int, MarginQuery], IntArray]
) -> tuple[dict[MarginQuery, MarginLimit], ...]:
    """What tables of every level must satisfy: its own constraints, and the sums of those of the levels below.

    Refused if two of them contradict each other in one area.
    """
    spine = design.spine
    levels: list[dict[MarginQuery, MarginLimit]] = [{} for _ in spine.levels]
    given = [(level, MarginLimit(query, values, values)) for (level, query), values in exact.items()]
    for level, limit in (*given, *design.bounds, *design.earlier):
        _tighten(levels[level], limit)
    for level in range(spine.last, 0, -1):
        for limit in list(levels[level].values()):
            low = spine.sums(level, limit.low)
            high = np.minimum(spine.sums(level, np.minimum(limit.high, LARGE)), MAX_COUNT)
            unlimited = spine.sums(level, (limit.high >= LARGE).astype(np.int64)) > 0
            _tighten(levels[level - 1], MarginLimit(limit.query, low, np.where(unlimited, MAX_COUNT, high)))
    for level, here in reversed(list(enumerate(levels))):  # name the smallest area with a contradiction
        for limit in here.values():
            _check_limit(design, level, limit, limit)
            for wider in here.values():
                if limit.query <= wider.query and limit.query != wider.query:
                    summed = summed_limit(design.attributes, wider, limit.query)
                    _check_limit(design, level, MarginLimit(limit.query, limit.low, summed.high), limit, wider)
                    _check_limit(design, level, MarginLimit(limit.query, summed.low, limit.high), limit, wider)
    return tuple(levels)


def summed_limit(attributes: Attributes, limit: MarginLimit, query: MarginQuery) -> MarginLimit:
    """What a limit implies for a coarser margin: sums of its ends, without a limit where one summand has none.

    >>> sex = Attributes(("sex",), (("f", "m"),))
    >>> limit = MarginLimit(sex.detailed, np.array([[1, 2]]), np.array([[5, MAX_COUNT]]))
    >>> total = summed_limit(sex, limit, MarginQuery(()))
    >>> total.low.tolist(), bool(total.high[0, 0] == MAX_COUNT)
    ([[3]], True)
    """
    if query == limit.query:
        return limit
    low = attributes.margin(limit.low, query, limit.query)
    high = attributes.margin(np.minimum(limit.high, LARGE), query, limit.query)
    unlimited = attributes.margin((limit.high >= LARGE).astype(np.int64), query, limit.query) > 0
    return MarginLimit(query, low, np.where(unlimited, MAX_COUNT, high))


def limits_within(attributes: Attributes, limits: LevelLimits, margin: MarginQuery) -> list[MarginLimit]:
    """What limits imply for a margin: each is summed to what it has in common with the margin, and equal ones are
    combined.
    """
    implied: dict[MarginQuery, MarginLimit] = {}
    for limit in limits.values():
        _tighten(implied, summed_limit(attributes, limit, limit.query & margin))
    return list(implied.values())


def _tighten(limits: dict[MarginQuery, MarginLimit], limit: MarginLimit) -> None:
    """Combine a limit with those of the same margin: the largest lower and the smallest upper ends."""
    before = limits.get(limit.query)
    if before is not None:
        limit = MarginLimit(limit.query, np.maximum(before.low, limit.low), np.minimum(before.high, limit.high))
    limits[limit.query] = limit


def _check_limit(
    design: Design, level: int, joint: MarginLimit, about: MarginLimit, by: MarginLimit | None = None
) -> None:
    """Refuse limits of which the lower end is above the upper one in some area and cell; the error names both."""
    wrong = np.argwhere(joint.low > joint.high)
    if len(wrong):
        area, cell = wrong[0].tolist()
        least, most = int(joint.low[area, cell]), int(joint.high[area, cell])
        other = "the bounds" if by is None else f"its {design.attributes.title(by.query)} counts"
        raise InputError(
            f"constraints cannot hold together: {design.spine.name(level, area)}: "
            f"{design.attributes.label(about.query, cell)}: at least {least:,} and at most {most:,} "
            f"by exact counts, {other} and those of its parts"
        )


def check_truth(design: Design, counts: tuple[IntArray, ...]) -> None:
    """Refuse data that violate the stated bounds or zeros; earlier tables need not agree with the data.

    Bounds are public and hold for every data set of the scope of the guarantee. Publishing with bounds that the data
    break would state a guarantee about other data.
    """
    attributes, spine = design.attributes, design.spine
    occupied = np.argwhere(counts[-1] * design.impossible)
    if len(occupied):
        area, cell = occupied[0].tolist()
        label = attributes.label(attributes.detailed, cell)
        raise InputError(f"zeros: {label} is stated as impossible, but {spine.name(spine.last, area)} has such people")
    for level, limit in design.bounds:
        values = attributes.margin(counts[level], limit.query)
        wrong = np.argwhere((values < limit.low) | (values > limit.high))
        if len(wrong):
            area, cell = wrong[0].tolist()
            raise InputError(
                f"bounds: {spine.name(level, area)}: {attributes.label(limit.query, cell)}: the data are not in "
                f"{int(limit.low[area, cell])} to {int(limit.high[area, cell])}"
            )
    for level, weighted in design.weighted:
        sums = attributes.margin(counts[level], weighted.query) @ weighted.weights.T
        wrong = np.argwhere((sums < weighted.low) | (sums > weighted.high))
        if len(wrong):
            area, row = wrong[0].tolist()
            raise InputError(
                f"{spine.name(level, area)}: its {design.unit}s do not fit the exact counts of persons, which leave "
                f"{int(weighted.low[area, row]):,} to {int(weighted.high[area, row]):,} people in them"
            )
