"""Public facts as integer constraints over occupied profiles, and the tables that satisfy them.

Objects
    e           a profile: one category per axis; a row of `System.codes`
    o           an option; `System.options`, of which the first `n_free_options` are variables
    x[e, o]     the unknown count, variable number `e * n_free_options + o`
    N[e]        people of a profile (`people`), where a joint roll states them
    slice       the profiles of one published cell; a *block* is a set of slices that share no profile (one table)
    row r       a published count: lower[r] <= sum of x over slice_of[r] and the options in weights[r] <= upper[r]

Statement
    A table x is possible for an onlooker if and only if it is a vector of integers with

        lower <= A x <= upper,    low <= x <= high,    sum over o of x[e, o] <= N[e]

    where A is `System.rows`. Everything in this package asks about the set of these x, the *fiber* (Diaconis and
    Sturmfels 1998): its projections (`bound.py`), single members of it (*witnesses*), or their number (`fiber_*.py`).

Invariants that callers may rely on
    * All facts are integers. `System.admits` adds integers and compares them; no floating point enters it. Whatever a
      search proposes becomes evidence only by passing it.
    * Where the options cover everybody (`reference`), the last option is no variable: its count is N[e] less the sum of
      the others. `System.listed` puts it back.
    * A range is never narrower than what was published. `build.py` widens ranges where totals disagree (`slack`).

Example
    Two districts and two ages with 3, 4, 3 and 4 people. Published are the total and the votes by district and by age.
    Of two options the second is what the first leaves, so there are four variables, one per profile:

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import Axis, Schema, Table, Tally, exact_margins, frozen, onlooker_with_roll
    >>> names, codes = ("district", "age"), frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2)
    >>> axes = Axis("district", ("N", "S")), Axis("age", ("old", "young"))
    >>> votes = Tally(names, codes, frozen([[2, 1], [0, 4], [1, 2], [3, 1]], 2))
    >>> roll = Tally(names, codes, frozen([3, 4, 3, 4], 1))
    >>> table = Table(Schema(axes, ("yes", "no")), (votes,), (roll,))
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> system.size, system.reference, system.people.tolist()
    (4, True, [3, 4, 3, 4])

    The counts themselves are possible, and so is every table that two opposite corners trade a vote in; a table that
    misses the margin of a district is not, and `residual` says by how much each row is missed:

    >>> import numpy as np
    >>> [system.admits(np.array(x)) for x in ([2, 0, 1, 3], [1, 1, 2, 2], [2, 1, 1, 3])]
    [True, True, False]
    >>> sorted(set(system.residual(np.array([2, 1, 1, 3])).tolist()))
    [-1, 0]
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from scipy import sparse

from safemargin.core import (
    UNBOUNDED,
    ContradictionError,
    FloatArray,
    Group,
    IntArray,
    Onlooker,
    PublishedTable,
    row_keys,
)

EVERY = slice(None)
"""All profiles."""


@dataclass(frozen=True)
class CellSet:
    """Rows of a table whose cells do not overlap, with the group that each category falls in, per axis."""

    rows: IntArray
    groups: tuple[Mapping[str, int], ...]


def disjoint_cell_sets(table: PublishedTable) -> Iterator[CellSet]:
    """The rows of `table` in as few sets of disjoint cells as a greedy pass finds: one, unless groups overlap."""
    levels = [_levels(groups) for groups in table.groups]
    depth = [max(level, default=0) + 1 for level in levels]
    for combination in product(*(range(d) for d in depth)):
        keep = np.ones(len(table.lower), dtype=bool)
        for a, wanted in enumerate(combination):
            keep &= np.array(levels[a], dtype=np.int64)[table.codes[:, a]] == wanted
        if keep.any():
            groups = tuple(
                {name: g for g, group in enumerate(table.groups[a]) if levels[a][g] == wanted for name in group}
                for a, wanted in enumerate(combination)
            )
            yield CellSet(np.flatnonzero(keep), groups)


def _levels(groups: tuple[Group, ...]) -> list[int]:
    """The number of the disjoint set that each group goes to: the first one in which no category of it is taken.

    Groups of one axis may overlap, for example a region beside its districts. Greedy colouring in the order given; with
    groups that part the axis, every number is 0.
    """
    taken: list[set[str]] = []
    levels: list[int] = []
    for group in groups:
        level = next((number for number, used in enumerate(taken) if not used & group), len(taken))
        if level == len(taken):
            taken.append(set())
        taken[level] |= group
        levels.append(level)
    return levels


def has_gaps(table: PublishedTable) -> bool:
    """Whether some combination of the categories that a table lists has no row."""
    cells = row_keys(table.codes, [len(groups) for groups in table.groups])
    combinations = math.prod(len(groups) for groups in table.groups)
    return any(len(np.unique(cells[table.option == option])) < combinations for option in np.unique(table.option))


def complete(onlooker: Onlooker) -> tuple[PublishedTable, ...]:
    """The facts of an onlooker that speak about everybody: of what the others omit, nothing is known."""
    return tuple(fact for fact in onlooker.facts if not has_gaps(fact))


def categories_of(tables: Sequence[PublishedTable], axis: str) -> tuple[str, ...]:
    """Every category of an axis that some table lists, in the order in which they are first listed.

    Inside one merged group the order is alphabetical: a group is a set, and an order by chance would number profiles
    otherwise in every run.
    """
    seen: dict[str, None] = {}
    for table in tables:
        if axis in table.axes:
            for group in table.groups[table.axes.index(axis)]:
                seen.update(dict.fromkeys(sorted(group)))
    return tuple(seen)


def joint_roll(roll: Sequence[PublishedTable], axes: tuple[str, ...]) -> PublishedTable | None:
    """The roll that gives the people of every profile of `axes`, by as many axes as any does."""
    candidates = [
        table
        for table in roll
        if set(table.axes) >= set(axes)
        and table.is_exact
        and all(len(group) == 1 for groups in table.groups for group in groups)
    ]
    return max(candidates, key=lambda table: len(table.axes), default=None)


@dataclass(frozen=True)
class System:
    """Unknown counts `x[profile, option]` with everything that is known of them.

    Variables are numbered `profile * n_free_options + option`. With a joint roll, `people` caps the sum over the
    options of every profile, and if the options cover everybody the last one (`reference`) is not a variable but what
    the others leave.
    Without it, rolls of single axes are rows, with one unlisted option more where the listed ones leave people over.
    `blocks[b, profile]` is the slice that a profile lies in according to block `b` of disjoint slices, or -1.
    """

    axes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    codes: IntArray
    options: tuple[str, ...]
    n_free_options: int
    reference: bool
    people: IntArray | None
    blocks: IntArray
    slices: sparse.csr_array
    slice_of: IntArray
    weights: IntArray
    lower: IntArray
    upper: IntArray
    low: IntArray
    high: IntArray
    sources: tuple[tuple[PublishedTable, int], ...] = field(compare=False)

    @cached_property
    def rows(self) -> sparse.csr_array:
        """Row `r` adds the options in `weights[r]` over the profiles of slice `slice_of[r]`."""
        picked = self.slices[self.slice_of].tocoo()
        row_parts, column_parts = [], []
        for option in range(self.n_free_options):
            keep = self.weights[picked.row, option] > 0
            row_parts.append(picked.row[keep])
            column_parts.append(picked.col[keep].astype(np.int64) * self.n_free_options + option)
        rows, variables = np.concatenate(row_parts), np.concatenate(column_parts)
        ones = np.ones(len(rows), dtype=np.int64)
        return sparse.csr_array((ones, (rows, variables)), shape=(len(self.lower), self.size))

    def sums(self, counts: IntArray) -> IntArray:
        """The value of every row, exactly: `rows @ counts` without building `rows`.

        Sums per slice come first, so that a slice that several rows are about is added up once.
        """
        per_slice = self.slices @ counts.reshape(-1, self.n_free_options)
        sums: IntArray = (per_slice[self.slice_of] * self.weights).sum(axis=1)
        return sums

    @cached_property
    def slice_people(self) -> IntArray:
        """People of every slice, where a joint roll is known."""
        assert self.people is not None
        sizes: IntArray = self.slices @ self.people
        return sizes

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.low)

    def residual(self, counts: IntArray) -> IntArray:
        """How far each row is from its range, for integer values of all variables; 0 where it holds.

        Positive if the row has too little, negative if it has too much. This is the check that makes a table a proof:
        only integers are added and compared here. Do not replace it by anything that tolerates a difference.
        """
        sums = self.sums(counts)
        # Integer addition only: this is the check that makes a table a proof.
        gap: IntArray = np.maximum(self.lower - sums, 0) + np.minimum(self.upper - sums, 0)
        return gap

    def admits(self, counts: IntArray) -> bool:
        """Whether integer `counts` satisfy every fact, checked by addition alone."""
        if (counts < self.low).any() or (counts > self.high).any() or self.residual(counts).any():
            return False
        if self.people is None:
            return True
        return bool((counts.reshape(-1, self.n_free_options).sum(axis=1) <= self.people).all())

    def listed(self, counts: IntArray, profiles: IntArray | slice = EVERY) -> IntArray:
        """Counts per profile (rows; all, or some) and listed option (columns), the reference option included."""
        matrix = counts.reshape(-1, self.n_free_options)[profiles]
        if self.reference:
            assert self.people is not None
            return np.column_stack([matrix, self.people[profiles] - matrix.sum(axis=1)])
        return matrix[:, : len(self.options)]

    def listed_ends(self, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
        """Intervals per profile and listed option from those of the variables; the reference option's follow from its
        people.
        """
        least, most = low.reshape(-1, self.n_free_options), high.reshape(-1, self.n_free_options)
        if self.reference:
            assert self.people is not None
            left = np.maximum(self.people - most.sum(axis=1), 0)
            return np.column_stack([least, left]), np.column_stack([most, self.people - least.sum(axis=1)])
        count = len(self.options)
        return least[:, :count], most[:, :count]

    @property
    def seen(self) -> "Seen":
        """Every category by axis."""
        return dict(zip(self.axes, self.categories, strict=True))

    def cell(self, profile: int) -> dict[str, str]:
        """The labels of a profile by axis."""
        return {axis: self.categories[a][self.codes[profile, a]] for a, axis in enumerate(self.axes)}

    def axes_of(self, block: int) -> tuple[str, ...]:
        """The axes of the table that a block of slices comes from."""
        rows = np.flatnonzero(self.slice_of == self.blocks[block].max(initial=-1))
        return self.sources[int(rows[0])][0].axes if len(rows) else ()

    def explain(self, row: int) -> str:
        """A row in words, for a message: its table, its cell and its option."""
        table, entry = self.sources[row]
        cell = cell_text(table.cell(entry))
        option = f", {table.options[table.option[entry]]}" if table.option[entry] >= 0 else ""
        return f"{table.name} ({cell}{option})"


def cell_text(cell: Mapping[str, str]) -> str:
    """A cell in words, for a message."""
    return ", ".join(f"{axis} {value}" for axis, value in cell.items()) or "everybody"


Seen = Mapping[str, Collection[str]]
"""Every category of an axis that somebody lists."""


def seen_in(tables: Sequence[PublishedTable]) -> Seen:
    """The categories that `tables` list, by axis.

    A table that omits one of these may be about some people only, so nothing is concluded from its total.
    """
    return {axis: categories_of(tables, axis) for table in tables for axis in table.axes}


def complete_total(table: PublishedTable, seen: Seen) -> tuple[int, ...] | None:
    """Totals per option (one entry without options) of a table whose cells are exact and part the population.

    A table that leaves a category of `seen` out may be about some people only.
    """
    if not table.is_exact or len(list(disjoint_cell_sets(table))) != 1:
        return None
    for a, axis in enumerate(table.axes):
        if not set(seen.get(axis, ())) <= frozenset().union(*table.groups[a]):
            return None
    if not table.options:
        return (int(table.lower.sum()),)
    return tuple(int(table.lower[table.option == o].sum()) for o in range(len(table.options)))


def stated_totals(system: System, tables: Sequence[PublishedTable]) -> tuple[int, ...]:
    """The total per option that the first complete table of it states; 0 if none does."""
    totals: dict[str, int] = {}
    for table in tables:
        for name, total in zip(table.options or ("",), complete_total(table, system.seen) or (), strict=False):
            totals.setdefault(name, total)
    return tuple(totals.get(name, 0) for name in system.options)


def stated_population(system: System, rolls: Sequence[PublishedTable]) -> int | None:
    """How many people the rolls count, if one is complete."""
    totals = [total for table in rolls if (total := complete_total(table, system.seen)) is not None]
    return max((sum(total) for total in totals), default=None)


def check_totals(tables: Sequence[PublishedTable], slack: int, seen: Seen) -> None:
    """Raise if two complete tables disagree on a total by more than `slack` allows each of them."""
    first: dict[str, tuple[PublishedTable, int]] = {}
    for table in tables:
        totals = complete_total(table, seen)
        for name, total in zip(table.options or ("",), totals or (), strict=False):
            other, value = first.setdefault(name, (table, total))
            if abs(value - total) > 2 * slack:
                what = f"of {name!r} " if name else ""
                raise ContradictionError(
                    f"totals {what}disagree: {other.name} adds up to {value}, {table.name} to {total}"
                )


def measured_slack(tables: Sequence[PublishedTable], tolerance: float) -> int:
    """How many votes the totals of complete tables are apart; raises if that is beyond `tolerance` of the total."""
    by_option: dict[str, list[int]] = {}
    seen = seen_in(tables)
    for table in tables:
        for name, total in zip(table.options or ("",), complete_total(table, seen) or (), strict=False):
            by_option.setdefault(name, []).append(total)
    apart = max((max(totals) - min(totals) for totals in by_option.values()), default=0)
    if apart > tolerance * sum(max(totals) for totals in by_option.values()):
        check_totals(tables, 0, seen)
    return apart


def integer_table(system: System, values: FloatArray) -> IntArray | None:
    """`values` in integers if they satisfy every fact exactly; else nothing.

    The only way from a floating-point solver to a witness: rounding proposes, `System.admits` decides.
    """
    # Rounding proposes, `admits` decides: floating point never enters a proof.
    counts = np.rint(values).astype(np.int64)
    return counts if system.admits(counts) else None


def joint_rows(system: System) -> tuple[sparse.csr_array, IntArray, IntArray]:
    """The rows of the system, with one more per profile where several options share its people.

    Returns `(A, lower, upper)` for linear programs. With one free option per profile its ceiling `high` is `N[e]`
    already; with several, the cap is on their sum, which a box cannot state.
    """
    if system.people is None or system.n_free_options == 1:
        return system.rows, system.lower, system.upper
    # With one option, `high` already caps each profile; with several, the cap is on their sum and needs a row.
    profiles = np.arange(system.size) // system.n_free_options
    shared = sparse.csr_array((np.ones(system.size, dtype=np.int64), (profiles, np.arange(system.size))))
    matrix = sparse.csr_array(sparse.vstack([system.rows, shared]))
    nothing = np.zeros(len(system.people), dtype=np.int64)
    return matrix, np.r_[system.lower, nothing], np.r_[system.upper, system.people]


@dataclass(frozen=True)
class SliceRanges:
    """Least and most count per slice and option, what is left of the people in the last column.

    `stated` is false where a row adds some options but not all of them: then there is no such range.
    """

    stated: bool
    least: IntArray
    most: IntArray


def slice_ranges(system: System) -> SliceRanges:
    """The ranges that the rows of a system with a joint roll state, tightened by the people of every slice.

    For a slice of n people with counts c[0], ..., c[k] that add up to n (the rest is one of them), every count
    satisfies `c[o] >= n - sum of the other ceilings` and `c[o] <= n - sum of the other floors`. One pass of both is
    enough for sharp ranges: the polytope `sum c = n, least <= c <= most` is a box cut by one equation.
    """
    assert system.people is not None
    free, size = system.n_free_options, system.slice_people
    least = np.zeros((len(size), free + 1), dtype=np.int64)
    most = np.full((len(size), free + 1), UNBOUNDED, dtype=np.int64)
    chosen = system.weights.sum(axis=1)
    single, every = (chosen == 1) & (free > 1), chosen == free
    if not (single | every).all():
        return SliceRanges(False, least, most)
    # A row over all options bounds what they leave of the people: the last column, from the other side.
    column = np.where(single, system.weights.argmax(axis=1), free)
    people = size[system.slice_of]
    np.maximum.at(least, (system.slice_of, column), np.where(single, system.lower, people - system.upper))
    np.minimum.at(most, (system.slice_of, column), np.where(single, system.upper, people - system.lower))
    if free == 1:
        least[:, 0] = np.maximum(size - most[:, 1], 0)
        most[:, 0] = size - least[:, 1]
    most = np.minimum(most, size[:, None])
    others = most.sum(axis=1, keepdims=True) - most
    least = np.maximum(least, size[:, None] - others)  # the options and the rest share the people
    others = least.sum(axis=1, keepdims=True) - least
    most = np.maximum(np.minimum(most, size[:, None] - others), least)
    return SliceRanges(True, least, most)
