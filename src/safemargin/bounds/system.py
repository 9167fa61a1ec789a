"""Public facts as integer constraints over occupied profiles."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from safemargin.bounds.membership import Layer, complete, has_gaps, layers
from safemargin.bounds.profiles import categories_of, combinations, joint_roll, occupied
from safemargin.core import (
    UNBOUNDED,
    BoolArray,
    ContradictionError,
    InputError,
    IntArray,
    MismatchError,
    Onlooker,
    PublishedTable,
    row_keys,
)


@dataclass(frozen=True)
class System:
    """Unknown counts `x[profile, option]` with everything that is known of them.

    Variables are numbered `profile * free + option`. With a joint roll, `people` caps the sum over the options of every
    profile, and if the options cover everybody the last one (`reference`) is not a variable but what the others leave.
    Without it, rolls of single axes are rows, with one unlisted option more where the listed ones leave people over.
    `blocks[b, profile]` is the slice that a profile lies in according to block `b` of disjoint slices, or -1.
    """

    axes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    codes: IntArray
    options: tuple[str, ...]
    free: int
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
        at, columns = [], []
        for option in range(self.free):
            keep = self.weights[picked.row, option] > 0
            at.append(picked.row[keep])
            columns.append(picked.col[keep].astype(np.int64) * self.free + option)
        rows, place = np.concatenate(at), np.concatenate(columns)
        ones = np.ones(len(rows), dtype=np.int64)
        return sparse.csr_array((ones, (rows, place)), shape=(len(self.lower), self.size))

    def sums(self, counts: IntArray) -> IntArray:
        """The value of every row, exactly."""
        per_slice = self.slices @ counts.reshape(-1, self.free)
        sums: IntArray = (per_slice[self.slice_of] * self.weights).sum(axis=1)
        return sums

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.low)

    def residual(self, counts: IntArray) -> IntArray:
        """How far each row is from its range, for integer values of all variables; 0 where it holds."""
        sums = self.sums(counts)
        gap: IntArray = np.maximum(self.lower - sums, 0) + np.minimum(self.upper - sums, 0)
        return gap

    def admits(self, counts: IntArray) -> bool:
        """Whether integer `counts` satisfy every fact, checked by addition alone."""
        if (counts < self.low).any() or (counts > self.high).any() or self.residual(counts).any():
            return False
        if self.people is None:
            return True
        return bool((counts.reshape(-1, self.free).sum(axis=1) <= self.people).all())

    def listed(self, counts: IntArray) -> IntArray:
        """Counts per profile (rows) and listed option (columns), the reference option included."""
        matrix = counts.reshape(-1, self.free)
        if self.reference:
            assert self.people is not None
            return np.column_stack([matrix, self.people - matrix.sum(axis=1)])
        return matrix[:, : len(self.options)]

    def axes_of(self, block: int) -> tuple[str, ...]:
        """The axes of the table that a block of slices comes from."""
        rows = np.flatnonzero(self.slice_of == self.blocks[block].max(initial=-1))
        return self.sources[int(rows[0])][0].axes if len(rows) else ()

    def explain(self, row: int) -> str:
        """A row in words, for a message."""
        table, place = self.sources[row]
        cell = ", ".join(f"{axis} {value}" for axis, value in table.cell(place).items()) or "everybody"
        option = f", {table.options[table.option[place]]}" if table.option[place] >= 0 else ""
        return f"{table.name} ({cell}{option})"


def system(
    tables: Sequence[PublishedTable], onlooker: Onlooker, slack: int = 0, check: bool = True, conclude: bool = True
) -> System:
    """All that `onlooker` knows once `tables` are published; `slack` widens every published count.

    Without `check`, totals that disagree are left for others to find. Without `conclude`, nothing is concluded from
    totals that agree: every row is one fact as it was published.
    """
    facts = (*tables, *onlooker.facts)
    if not facts:
        raise InputError("no table was given: nothing is known")
    axes = tuple(dict.fromkeys(axis for table in facts for axis in table.axes))
    options = tuple(dict.fromkeys(name for table in facts for name in table.options)) or ("",)
    joint = joint_roll(onlooker.roll, axes)
    rolls = onlooker.roll if joint is None else (joint,)
    axes = tuple(dict.fromkeys([*axes, *(axis for roll in rolls for axis in roll.axes)]))
    known = (*facts, *onlooker.roll)
    categories = tuple(categories_of(known, axis) for axis in axes)
    if check:
        check_totals((*tables, *complete(onlooker)), slack, dict(zip(axes, categories, strict=True)))
    if joint is not None:
        codes, people = occupied(joint, axes, categories)
    else:
        codes, people = combinations((*tables, *complete(onlooker), *onlooker.roll), axes, categories), None
    builder = _Builder(axes, categories, codes, options, people, slack)
    builder.choose_form((*tables, *complete(onlooker)), onlooker.roll, conclude)
    for table in tables:
        builder.add(table)
    for fact in onlooker.facts:
        builder.add(fact, leaves_out=not has_gaps(fact))
    if people is None:
        for table in onlooker.roll:
            builder.add(table)
    return builder.build()


Seen = Mapping[str, Collection[str]]
"""Every category of an axis that somebody lists."""


def seen_in(tables: Sequence[PublishedTable]) -> Seen:
    """The categories that `tables` list, by axis."""
    return {axis: categories_of(tables, axis) for table in tables for axis in table.axes}


def complete_total(table: PublishedTable, seen: Seen) -> tuple[int, ...] | None:
    """Totals per option (one entry without options) of a table whose cells are exact and part the population.

    A table that leaves a category of `seen` out may be about some people only.
    """
    if not table.is_exact or len(list(layers(table))) != 1:
        return None
    for a, axis in enumerate(table.axes):
        if not set(seen.get(axis, ())) <= frozenset().union(*table.groups[a]):
            return None
    if not table.options:
        return (int(table.lower.sum()),)
    return tuple(int(table.lower[table.option == o].sum()) for o in range(len(table.options)))


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


def _words(cell: Mapping[str, str]) -> str:
    return ", ".join(f"{axis} {category!r}" for axis, category in cell.items()) or "everybody"


class _Builder:
    """Collects rows; exists only while a system is built."""

    def __init__(
        self,
        axes: tuple[str, ...],
        categories: tuple[tuple[str, ...], ...],
        codes: IntArray,
        options: tuple[str, ...],
        people: IntArray | None,
        slack: int,
    ) -> None:
        self.axes, self.categories, self.codes = axes, categories, codes
        self.options, self.people, self.slack = options, people, slack
        self.free, self.reference, self.hidden = len(options), False, False
        self.slices: list[tuple[IntArray, IntArray]] = []
        self.blocks: list[IntArray] = []
        self.slice_count = 0
        self.slice_of: list[IntArray] = []
        self.weights: list[IntArray] = []
        self.lower: list[IntArray] = []
        self.upper: list[IntArray] = []
        self.sources: list[tuple[PublishedTable, int]] = []
        self.high = np.zeros(0, dtype=np.int64)

    def choose_form(self, facts: Sequence[PublishedTable], roll: Sequence[PublishedTable], conclude: bool) -> None:
        """Which options are variables, and the first ceilings of the variables."""
        seen = dict(zip(self.axes, self.categories, strict=True))
        everybody = {sum(totals) for table in roll if (totals := complete_total(table, seen)) is not None}
        answered = {
            sum(totals)
            for table in facts
            if set(table.options) == set(self.options) and (totals := complete_total(table, seen)) is not None
        }
        covering = bool(everybody & answered) or self._all_answered(facts)
        covering &= conclude and len(self.options) > 1 and self.slack == 0
        if self.people is not None and covering:
            self.free, self.reference = len(self.options) - 1, True
        elif self.people is None and roll and not covering:
            self.free, self.hidden = len(self.options) + 1, True
        size = len(self.codes) * self.free
        self.high = np.full(size, UNBOUNDED, dtype=np.int64)
        if self.people is not None:
            self.high = np.repeat(self.people, self.free)

    def _all_answered(self, facts: Sequence[PublishedTable]) -> bool:
        """Whether exact tables, each about a part of the people, count as many answers as there are people in it."""
        if self.people is None or any(set(table.options) != set(self.options) for table in facts):
            return False
        sure = np.zeros(len(self.codes), dtype=bool)
        for table in facts:
            if table.is_exact and len(list(layers(table))) == 1:
                inside = self._appears(table)
                if int(self.people[inside].sum()) == int(table.lower.sum()):
                    sure |= inside
        return bool(sure.all())

    def add(self, table: PublishedTable, leaves_out: bool = True) -> None:
        """The rows of one table; unless it `leaves_out` what is empty, nothing is known of combinations without one."""
        sizes = [len(group) for group in table.groups]
        covered: dict[int, BoolArray] = {}
        for layer in layers(table):
            keys = row_keys(table.codes[layer.rows], sizes)
            found, place = np.unique(keys, return_inverse=True)
            where = self._place(table, layer, found, sizes)
            inside = np.flatnonzero(where >= 0)
            self.slices.append((where[inside] + self.slice_count, inside))
            self.blocks.append(np.where(where >= 0, where + self.slice_count, -1))
            for option in np.unique(table.option[layer.rows]).tolist():
                chosen = table.option[layer.rows] == option
                if len(np.unique(place[chosen])) < int(chosen.sum()):
                    raise InputError(f"{table.name}: a cell is listed twice")
                mine = self._add_option(table, layer.rows[chosen], place[chosen], where, option)
                covered[option] = covered[option] | mine if option in covered else mine
            self.slice_count += len(found)
        for option, mine in covered.items() if leaves_out else ():
            self._leave_out(table, option, self._appears(table) & ~mine)

    def _appears(self, table: PublishedTable) -> BoolArray:
        """Profiles whose categories all appear in the table."""
        appears = np.ones(len(self.codes), dtype=bool)
        for a, axis in enumerate(table.axes):
            at, names = self.axes.index(axis), frozenset().union(*table.groups[a])
            appears &= np.array([name in names for name in self.categories[at]])[self.codes[:, at]]
        return appears

    def _place(self, table: PublishedTable, layer: Layer, found: IntArray, sizes: list[int]) -> IntArray:
        """Which listed cell of the layer each profile lies in, -1 for none."""
        groups = np.zeros((len(self.codes), len(table.axes)), dtype=np.int64)
        for a, axis in enumerate(table.axes):
            at = self.axes.index(axis)
            lookup = np.array([layer.groups[a].get(name, -1) for name in self.categories[at]], dtype=np.int64)
            groups[:, a] = lookup[self.codes[:, at]]
        keys = row_keys(np.maximum(groups, 0), sizes)
        at_key = np.minimum(np.searchsorted(found, keys), len(found) - 1)
        listed = (groups >= 0).all(axis=1) & (found[at_key] == keys)
        return np.where(listed, at_key, -1).astype(np.int64)

    def _add_option(
        self, table: PublishedTable, rows: IntArray, place: IntArray, where: IntArray, option: int
    ) -> BoolArray:
        """Rows of one option; returns which profiles they cover."""
        row_of = np.full(int(max(where.max(initial=0), place.max(initial=0))) + 1, -1, dtype=np.int64)
        row_of[place] = np.arange(len(rows))
        mine = np.where(where >= 0, row_of[np.maximum(where, 0)], -1)
        lower, upper = table.lower[rows].copy(), table.upper[rows].copy()
        if self.slack and not table.is_roll:
            lower, upper = np.maximum(lower - self.slack, 0), np.minimum(upper + self.slack, UNBOUNDED)
        columns = self._columns(table, option)
        covered: BoolArray = mine >= 0
        if columns is None:  # the reference option: what the people of the cell leave over; or any option: all of them
            assert self.people is not None
            size = np.bincount(mine[covered], weights=self.people[covered], minlength=len(rows)).astype(np.int64)
            wrong = (size < lower) | ((size > upper) & (option < 0))
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                unlisted = "" if size[row] else self._unlisted(table)
                raise (MismatchError if unlisted else ContradictionError)(
                    f"{table.name}: {_words(table.cell(int(rows[row])))} has {size[row]} people on the roll, "
                    f"but {lower[row]} are counted{unlisted}"
                )
            if option < 0:
                return covered
            lower, upper = np.maximum(size - upper, 0), size - lower
            columns = list(range(self.free))
        weight = np.isin(np.arange(self.free), columns).astype(np.int64)
        self.slice_of.append(place + self.slice_count)
        self.weights.append(np.broadcast_to(weight, (len(rows), self.free)))
        self.lower.append(lower)
        self.upper.append(upper)
        self.sources.extend((table, row) for row in rows.tolist())
        return covered

    def _unlisted(self, table: PublishedTable) -> str:
        """The first category on the roll that a table does not list, in words."""
        for a, axis in enumerate(table.axes):
            at, listed = self.axes.index(axis), frozenset().union(*table.groups[a])
            for code in np.unique(self.codes[:, at]).tolist():
                if (name := self.categories[at][code]) not in listed:
                    return f"; it does not list {_words({axis: name})}, which is on the roll"
        return ""

    def _leave_out(self, table: PublishedTable, option: int, empty: BoolArray) -> None:
        """A combination that a table lists no cell for, although its categories appear, is empty."""
        columns = self._columns(table, option)
        for column in columns or []:
            self.high[np.flatnonzero(empty) * self.free + column] = 0
        if columns is None and empty.any():  # nobody there has the reference option: all have one of the others
            assert self.people is not None
            people = np.array([self.people[empty].sum()])
            inside = np.flatnonzero(empty)
            self.slices.append((np.full(len(inside), self.slice_count), inside))
            self.blocks.append(np.where(empty, self.slice_count, -1))
            self.slice_of.append(np.array([self.slice_count]))
            self.weights.append(np.ones((1, self.free), dtype=np.int64))
            self.lower.append(people if option >= 0 else people + 1)
            self.upper.append(people)
            self.sources.append((table, int(np.flatnonzero(table.option == option)[0])))
            self.slice_count += 1

    def _columns(self, table: PublishedTable, option: int) -> list[int] | None:
        if table.is_roll:
            return list(range(self.free))
        if option < 0:
            return None if self.reference else list(range(self.free - self.hidden))
        at = self.options.index(table.options[option])
        return [at] if at < self.free - self.hidden else None

    def build(self) -> System:
        """The finished system."""
        size = len(self.codes) * self.free
        at = np.concatenate([rows for rows, _ in self.slices])
        profiles = np.concatenate([inside for _, inside in self.slices])
        ones = np.ones(len(at), dtype=np.int64)
        return System(
            axes=self.axes,
            categories=self.categories,
            codes=self.codes,
            options=self.options,
            free=self.free,
            reference=self.reference,
            people=self.people,
            blocks=np.stack(self.blocks),
            slices=sparse.csr_array((ones, (at, profiles)), shape=(self.slice_count, len(self.codes))),
            slice_of=np.concatenate(self.slice_of),
            weights=np.concatenate(self.weights),
            lower=np.concatenate(self.lower),
            upper=np.concatenate(self.upper),
            low=np.zeros(size, dtype=np.int64),
            high=self.high,
            sources=tuple(self.sources),
        )
