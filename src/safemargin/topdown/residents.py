"""Households whose tables must leave room for tables of persons, which are made later.

Objects
    h[s]        households of size s in an area; size s holds from low[s] to high[s] people
    p           people of the area who live in households; exact counts, bounds, zeros and earlier tables limit p

Statement
    Tables of persons exist beside tables of households if and only if in every smallest area some p within

        sum of low[s] h[s]  <=  p  <=  sum of high[s] h[s]

    fits all limits of persons, over all levels at once. Tables of households for which none exist must not be
    published: the noise on households would be spent for nothing.

Method
    Households are solved alone first, and checked (`always_fit`, `fit_into`). Where they leave no room, the counts of
    persons that anything limits become further unknowns of the same problem. Counts of households and of persons both
    add up over areas, so together they are one table of *cells* per area, and the solver of tables applies as it is.

What callers may rely on
    * The data are a solution, so the solver finds one.
    * Persons' counts enter with a standard error of 1,000: they make room, and hardly pull at anything.

Example
    Two homes of at most two people, and an exact count of five persons in the area: 2 + 2 < 5, so one of them must be
    counted among larger homes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import or_

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, TooLargeError
from safemargin.topdown.attributes import Attributes, MarginQuery
from safemargin.topdown.design import (
    MAX_COUNT,
    Design,
    MarginLimit,
    Measurements,
    WeightedLimit,
    combine_limits,
)
from safemargin.topdown.groups_of_areas import with_groups_of_areas
from safemargin.topdown.household_limits import Residents
from safemargin.topdown.least_squares import LeastSquaresFit, fit
from safemargin.topdown.tables import solve_tables

UNKNOWN = 1e3  # standard error of a count of persons, which nothing has measured yet: it hardly has a weight
TOTAL = MarginQuery(())

Limits = Sequence[tuple[int, MarginLimit]]


def fit_into(residents: Residents, homes: IntArray) -> bool:
    """Whether there are tables of persons beside these households of the smallest areas, by size."""
    design = replace(residents.design, earlier=((residents.design.spine.last, residents.limit(homes)),))
    try:
        wide = with_groups_of_areas(design)[0]
        solve_tables(wide, combine_limits(wide, {}), _unmeasured(wide))
    except (InputError, TooLargeError):
        return False
    return True


def limits_of(design: Design, exact: Mapping[tuple[int, MarginQuery], IntArray]) -> list[tuple[int, MarginLimit]]:
    """All that limits single counts of a design."""
    known = [(level, MarginLimit(query, values, values)) for (level, query), values in exact.items()]
    return [*known, *design.bounds, *design.earlier]


def always_fit(persons: Design, living: MarginQuery, inside: int) -> bool:
    """Whether persons fit into all households that keep to the people of every area, whatever their sizes.

    This is proved for exact counts that `living` has no part in, and bounds on people outside households in areas that
    are not wider than any of these. In each of the smallest areas with an exact total, people in households and outside
    are then free of each other but for the total, both in every interval from the sum of the least to the sum of the
    most of their parts. That the intervals meet is what `WeightedLimit` says of the households.
    """
    (axis,), (codes,), kinds = living.axes, living.groups, persons.attributes
    last = max(level for level, _ in persons.exact)
    free = not persons.earlier and all(axis not in query.axes for _, query in persons.exact)
    groups = np.arange(kinds.sizes[axis]) if codes is None else np.array(codes)
    for level, limit in persons.bounds:
        # Bounds of one margin: each of its cells is an interval of its own. Those of people in households are open.
        if limit.query.axes != (axis,) or limit.query != persons.bounds[0][1].query or level < last:
            return False
        cells = np.unique(kinds.cell_of(limit.query, MarginQuery((axis,)))[groups == inside])
        free &= bool((limit.low[:, cells] == 0).all() and (limit.high[:, cells] >= MAX_COUNT).all())
    possible = kinds.margin(np.vstack([~persons.impossible, np.ones_like(persons.impossible)]).astype(np.int64), living)
    return free and bool(((possible[0] == possible[1]) | (possible[0] == 0)).all() and possible[0, inside] > 0)


def residents_of(
    persons: Design, limits: Limits, living: MarginQuery, inside: int, size: MarginQuery, people: IntArray
) -> Residents:
    """The persons of a design by the attributes that `limits` and `living` name; the others can be anything."""
    used = reduce(or_, (limit.query for _, limit in limits), living).axes
    kinds, last = persons.attributes, persons.spine.last

    def renumbered(query: MarginQuery) -> MarginQuery:
        return MarginQuery(tuple(map(used.index, query.axes)), query.groups)

    groupings = [replace(kind, axis=used.index(kind.axis)) for kind in kinds.groupings if kind.axis in used]
    attributes = Attributes(
        tuple(kinds.names[axis] for axis in used), tuple(kinds.categories[axis] for axis in used), tuple(groupings)
    )
    possible = kinds.margin((~persons.impossible)[None, :].astype(np.int64), MarginQuery(used))[0] > 0
    design = replace(
        persons,
        attributes=attributes,
        rho_squared=Fraction(1),  # nothing is measured: the shares are formal
        shares=(Fraction(0),) * last + (Fraction(1),),
        queries=({attributes.detailed: Fraction(1)},) * (last + 1),
        exact=(),
        impossible=~possible,
        bounds=tuple((level, replace(limit, query=renumbered(limit.query))) for level, limit in limits),
        earlier=(),
        passes=(attributes.detailed,),
    )
    return Residents(design, renumbered(living), inside, size, people)


def _unmeasured(design: Design) -> LeastSquaresFit:
    """An estimate that knows nothing: parts of an area have equal shares of it."""
    detailed = design.attributes.detailed
    zeros = np.zeros((len(design.spine.names[-1]), design.attributes.cells(detailed)), dtype=np.int64)
    return fit(design, Measurements(({},) * design.spine.last + ({detailed: zeros},), {}))


@dataclass(frozen=True)
class _Both:
    """The counts of households and of persons as categories of one attribute: households come first."""

    homes: Attributes
    persons: Attributes

    @property
    def widths(self) -> tuple[int, int]:
        return self.homes.cells(self.homes.detailed), self.persons.cells(self.persons.detailed)

    @property
    def attributes(self) -> Attributes:
        return Attributes(("cell",), (tuple(f"{cell}" for cell in range(sum(self.widths))),))

    def query(self, of_homes: MarginQuery = TOTAL, of_persons: MarginQuery = TOTAL) -> MarginQuery:
        """A margin of households beside one of persons: groups of cells, in order of first occurrence."""
        first = self.homes.cell_of(of_homes, self.homes.detailed)
        codes = (*first.tolist(), *(first.max() + 1 + self.persons.cell_of(of_persons, self.persons.detailed)).tolist())
        return MarginQuery((0,), (None if len(set(codes)) == len(codes) else codes,))

    def limit(self, limit: MarginLimit, *, of_homes: bool) -> MarginLimit:
        """A limit of one of the two; the total of the other is not limited."""
        free = np.zeros((len(limit.low), 1), dtype=np.int64)
        low, high = ([limit.low, free], [limit.high, free + MAX_COUNT])
        query = self.query(limit.query) if of_homes else self.query(of_persons=limit.query)
        return MarginLimit(
            query, np.hstack(low if of_homes else low[::-1]), np.hstack(high if of_homes else high[::-1])
        )


@dataclass(frozen=True)
class _BothFits:
    """Estimates of households, beside persons of whom nothing is known; `queries` names the margins of households."""

    homes: LeastSquaresFit
    persons: LeastSquaresFit
    width: int
    queries: Mapping[MarginQuery, tuple[MarginQuery, int]]

    def estimate(self, level: int) -> FloatArray:
        return np.hstack([self.homes.estimate(level), self.persons.estimate(level)])

    def given(self, level: int, above: IntArray) -> FloatArray:
        parts = self.homes.given(level, above[:, : self.width]), self.persons.given(level, above[:, self.width :])
        return np.hstack(parts)

    def standard_error(self, level: int, query: MarginQuery) -> FloatArray:
        """Of every count of a margin: that of the households, and `UNKNOWN` for persons, who were not measured yet."""
        own, further = self.queries[query]
        errors = self.homes.standard_error(level, own)
        return np.hstack([errors, np.full((len(errors), further), UNKNOWN)])


def solve_with_residents(
    design: Design,
    exact: Mapping[tuple[int, MarginQuery], IntArray],
    best: LeastSquaresFit,
    residents: Residents,
    advance: Callable[[int, int], None] = lambda level, parents: None,
) -> list[IntArray]:
    """Tables of households on every level for which there are tables of persons."""
    persons = with_groups_of_areas(residents.design)[0]
    cells, own, theirs = _Both(design.attributes, persons.attributes), limits_of(design, exact), persons.bounds
    width, further = cells.widths
    asked = (*(limit.query for _, limit in own), *(limit.query for _, limit in design.weighted))
    first_own = reduce(or_, asked, residents.size)
    first_theirs = reduce(or_, (limit.query for _, limit in theirs), residents.living)
    first, detailed = cells.query(first_own, first_theirs), cells.attributes.detailed
    names = {query: cells.query(query) for here in design.queries for query in here}
    names[design.attributes.detailed] = detailed
    queries = {first: (first_own, persons.attributes.cells(first_theirs))}
    queries |= {name: (query, 1) for query, name in names.items()} | {detailed: (design.attributes.detailed, further)}
    both = replace(
        design,
        attributes=cells.attributes,
        queries=tuple({names[query]: share for query, share in here.items()} for here in design.queries),
        exact=(),
        impossible=np.concatenate([design.impossible, persons.impossible]),
        bounds=(
            *((level, cells.limit(limit, of_homes=True)) for level, limit in own),
            *((level, cells.limit(limit, of_homes=False)) for level, limit in theirs),
        ),
        earlier=(),
        passes=tuple(dict.fromkeys((first, detailed))),
        weighted=tuple(_weighted(design, residents, cells)),
    )
    fits = _BothFits(best, _unmeasured(persons), width, queries)
    return [table[:, :width] for table in solve_tables(both, combine_limits(both, {}), fits, advance=advance)]


def _weighted(design: Design, residents: Residents, cells: _Both) -> Iterator[tuple[int, WeightedLimit]]:
    """The weighted limits of households, and that people in households are as many as fit, in every area."""
    for level, limit in design.weighted:
        weights = np.pad(limit.weights, ((0, 0), (0, 1)))  # no weight on persons
        yield level, replace(limit, query=cells.query(limit.query), weights=weights)
    least, most = residents.people
    living = (np.arange(cells.persons.cells(residents.living)) == residents.inside).astype(np.int64)
    # People there minus the most who fit, and the fewest who fit minus people there, are at most zero.
    rows = np.vstack([np.concatenate([-most, living]), np.concatenate([least, -living])])
    for level, names in enumerate(design.spine.names):
        ends = np.full((len(names), 2), -MAX_COUNT), np.zeros((len(names), 2), dtype=np.int64)
        yield level, WeightedLimit(cells.query(residents.size, residents.living), rows, *ends)
