"""Public facts as integer constraints over occupied profiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from scipy import sparse

from safemargin.bounds.membership import Layer, layers
from safemargin.errors import ContradictionError, InputError, TooLargeError
from safemargin.model.arrays import IntArray, group_sums, row_keys
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import UNBOUNDED, PublishedTable

MOST_PROFILES = 2_000_000
"""Without a joint roll every combination of categories is a cell; beyond this many, those that no table empties."""


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

    def explain(self, row: int) -> str:
        """A row in words, for a message."""
        table, place = self.sources[row]
        cell = ", ".join(f"{axis} {value}" for axis, value in table.cell(place).items()) or "everybody"
        option = f", {table.options[table.option[place]]}" if table.option[place] >= 0 else ""
        return f"{table.name} ({cell}{option})"


def system(tables: Sequence[PublishedTable], onlooker: Onlooker, slack: int = 0) -> System:
    """All that `onlooker` knows once `tables` are published; `slack` widens every published count."""
    facts = (*tables, *onlooker.facts)
    if not facts:
        raise InputError("no table was given: nothing is known")
    axes = tuple(dict.fromkeys(axis for table in facts for axis in table.axes))
    options = tuple(dict.fromkeys(name for table in facts for name in table.options)) or ("",)
    joint = _joint_roll(onlooker.roll, axes)
    if joint is None:
        axes = tuple(dict.fromkeys([*axes, *(axis for table in onlooker.roll for axis in table.axes)]))
    known = (*facts, *onlooker.roll)
    categories = tuple(_categories(known, axis) for axis in axes)
    check_totals(facts, slack)
    if joint is not None:
        codes, people = _occupied(joint, axes, categories)
    else:
        codes, people = _combinations(known, axes, categories), None
    builder = _Builder(axes, categories, codes, options, people, slack)
    builder.choose_form(facts, onlooker.roll)
    for table in facts:
        builder.add(table)
    if people is None:
        for table in onlooker.roll:
            builder.add(table)
    return builder.build()


def complete_total(table: PublishedTable) -> tuple[int, ...] | None:
    """Totals per option (one entry without options) of a table whose cells are exact and part the population."""
    parts = list(layers(table))
    if not table.is_exact or len(parts) != 1:
        return None
    if not table.options:
        return (int(table.lower.sum()),)
    return tuple(int(table.lower[table.option == o].sum()) for o in range(len(table.options)))


def check_totals(tables: Sequence[PublishedTable], slack: int = 0) -> None:
    """Raise if two complete tables disagree on a total by more than `slack` allows each of them."""
    first: dict[str, tuple[PublishedTable, int]] = {}
    for table in tables:
        totals = complete_total(table)
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
    for table in tables:
        for name, total in zip(table.options or ("",), complete_total(table) or (), strict=False):
            by_option.setdefault(name, []).append(total)
    apart = max((max(totals) - min(totals) for totals in by_option.values()), default=0)
    if apart > tolerance * sum(max(totals) for totals in by_option.values()):
        check_totals(tables)
    return apart


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

    def choose_form(self, facts: Sequence[PublishedTable], roll: Sequence[PublishedTable]) -> None:
        """Which options are variables, and the first ceilings of the variables."""
        everybody = {sum(totals) for table in roll if (totals := complete_total(table)) is not None}
        answered = {
            sum(totals)
            for table in facts
            if table.options == self.options and (totals := complete_total(table)) is not None
        }
        covering = len(self.options) > 1 and bool(everybody & answered) and self.slack == 0
        if self.people is not None and covering:
            self.free, self.reference = len(self.options) - 1, True
        elif self.people is None and roll and not covering:
            self.free, self.hidden = len(self.options) + 1, True
        size = len(self.codes) * self.free
        self.high = np.full(size, UNBOUNDED, dtype=np.int64)
        if self.people is not None:
            self.high = np.repeat(self.people, self.free)

    def add(self, table: PublishedTable) -> None:
        """The rows of one table."""
        sizes = [len(group) for group in table.groups]
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
                self._add_option(table, layer.rows[chosen], place[chosen], where, option)
            self.slice_count += len(found)

    def _place(self, table: PublishedTable, layer: Layer, found: IntArray, sizes: list[int]) -> IntArray:
        """Which listed cell of the layer each profile lies in: -1 in none, -2 in one that the table leaves out."""
        groups = np.zeros((len(self.codes), len(table.axes)), dtype=np.int64)
        for a, axis in enumerate(table.axes):
            at = self.axes.index(axis)
            lookup = np.array([layer.groups[a].get(name, -1) for name in self.categories[at]], dtype=np.int64)
            groups[:, a] = lookup[self.codes[:, at]]
        inside = (groups >= 0).all(axis=1)
        keys = row_keys(np.maximum(groups, 0), sizes)
        at_key = np.minimum(np.searchsorted(found, keys), len(found) - 1)
        listed = found[at_key] == keys
        return np.where(inside, np.where(listed, at_key, -2), -1).astype(np.int64)

    def _add_option(self, table: PublishedTable, rows: IntArray, place: IntArray, where: IntArray, option: int) -> None:
        row_of = np.full(int(max(where.max(initial=0), place.max(initial=0))) + 1, -2, dtype=np.int64)
        row_of[place] = np.arange(len(rows))
        mine = np.where(where >= 0, row_of[np.maximum(where, 0)], where)
        lower, upper = table.lower[rows].copy(), table.upper[rows].copy()
        if self.slack and not table.is_roll:
            lower, upper = np.maximum(lower - self.slack, 0), np.minimum(upper + self.slack, UNBOUNDED)
        columns = self._columns(table, option)
        profiles = np.flatnonzero(mine >= 0)
        if columns is None:  # the reference option: what the people of the cell leave over
            assert self.people is not None
            size = np.bincount(mine[profiles], weights=self.people[profiles], minlength=len(rows)).astype(np.int64)
            lower, upper = np.maximum(size - upper, 0), size - lower
            if (upper < 0).any():
                row = int(np.flatnonzero(upper < 0)[0])
                raise ContradictionError(
                    f"{table.name}: {table.cell(int(rows[row])) or 'everybody'} has {size[row]} people on the roll, "
                    f"fewer than the {size[row] - upper[row]} counted"
                )
            columns = list(range(self.free))
        weight = np.isin(np.arange(self.free), columns).astype(np.int64)
        self.slice_of.append(place + self.slice_count)
        self.weights.append(np.broadcast_to(weight, (len(rows), self.free)))
        self._leave_out(mine, self._columns(table, option))
        self.lower.append(lower)
        self.upper.append(upper)
        self.sources.extend((table, row) for row in rows.tolist())

    def _leave_out(self, mine: IntArray, columns: list[int] | None) -> None:
        """A combination that a table lists no cell for is empty."""
        empty = np.flatnonzero(mine == -2)
        for column in columns or []:
            self.high[empty * self.free + column] = 0

    def _columns(self, table: PublishedTable, option: int) -> list[int] | None:
        if table.is_roll:
            return list(range(self.free))
        if option < 0:
            return list(range(self.free - self.hidden))
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


def _categories(tables: Sequence[PublishedTable], axis: str) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    for table in tables:
        if axis in table.axes:
            for group in table.groups[table.axes.index(axis)]:
                seen.update(dict.fromkeys(sorted(group)))
    return tuple(seen)


def _joint_roll(roll: Sequence[PublishedTable], axes: tuple[str, ...]) -> PublishedTable | None:
    for table in roll:
        plain = table.is_exact and all(len(group) == 1 for groups in table.groups for group in groups)
        if plain and set(table.axes) >= set(axes):
            return table
    return None


def _occupied(
    roll: PublishedTable, axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...]
) -> tuple[IntArray, IntArray]:
    codes = np.zeros((len(roll.lower), len(axes)), dtype=np.int64)
    for a, axis in enumerate(axes):
        at = roll.axes.index(axis)
        index = {name: code for code, name in enumerate(categories[a])}
        lookup = np.array([index[next(iter(group))] for group in roll.groups[at]], dtype=np.int64)
        codes[:, a] = lookup[roll.codes[:, at]]
    first, sums = group_sums(row_keys(codes, [len(names) for names in categories]), roll.lower[:, None])
    occupied = sums[:, 0] > 0
    return codes[first][occupied], sums[occupied, 0]


def _combinations(
    tables: Sequence[PublishedTable], axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...]
) -> IntArray:
    """Every combination of categories; where that is too many, those that no single table leaves out."""
    if math.prod(len(names) for names in categories) <= MOST_PROFILES:
        grids = np.indices([len(names) for names in categories]).reshape(len(axes), -1)
        return grids.T.astype(np.int64).reshape(-1, len(axes))
    index = [{name: code for code, name in enumerate(names)} for names in categories]
    partial: dict[tuple[int, ...], None] = {}
    covered: tuple[str, ...] = ()
    for table in sorted(tables, key=lambda table: -len(table.axes)):
        if set(table.axes) <= set(covered):
            continue
        listed: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        shared = [axis for axis in table.axes if axis in covered]
        fresh = [axis for axis in table.axes if axis not in covered]
        for row in np.flatnonzero(table.upper > 0):
            members = {
                axis: [index[axes.index(axis)][name] for name in table.groups[a][table.codes[row, a]]]
                for a, axis in enumerate(table.axes)
            }
            for key in product(*(members[axis] for axis in shared)):
                listed.setdefault(key, []).extend(product(*(members[axis] for axis in fresh)))
        at = [covered.index(axis) for axis in shared]
        rows = partial if covered else {(): None}
        partial = {
            (*row, *tail): None for row in rows for tail in dict.fromkeys(listed.get(tuple(row[i] for i in at), ()))
        }
        covered = (*covered, *fresh)
        if len(partial) > MOST_PROFILES:
            raise TooLargeError(
                f"more than {MOST_PROFILES:,} combinations of {' x '.join(axes)}: give a joint roll, or fewer tables"
            )
    order = [covered.index(axis) for axis in axes]
    return np.array(sorted(tuple(row[i] for i in order) for row in partial), dtype=np.int64).reshape(-1, len(axes))
