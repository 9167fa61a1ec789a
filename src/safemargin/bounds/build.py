"""From published tables, a roll and further facts to the system that they state.

Objects
    table       counts (or ranges) of cells over some axes; a merged category is a group of categories
    roll        how many people there are, by some axes; *joint* if by all of them, one category at a time
    fact        a further table that the onlooker holds

What is built (the symbols are those of `system.py`)
    profiles    with a joint roll, the combinations of categories that somebody has; without one, all combinations that
                no complete table excludes. Profiles without people carry no information and no variable.
    rows        one per published count and option. Overlapping groups of one table go to several blocks
                (`disjoint_cell_sets`), so that inside a block no profile is counted twice.
    ceilings    0 for a combination of listed categories that a complete table has no cell for: an unlisted cell is
                empty. A fact that has gaps is taken to speak about its listed cells only.

The last option
    If as many answers were counted as there are people, everybody answered, and the last option is what the others
    leave (`reference`): with K options there are K - 1 variables per profile. Without a joint roll, people beyond the
    answers are one hidden option more.

Invariants
    * No row is stronger than what its table says: ranges are taken over as they are, and `slack` widens them.
    * A contradiction that is visible in one row (more votes than people) raises here, with the file and the cell.
    * What `build_system` returns depends on its arguments alone; rows keep the order of the tables.

The example in `system.py` shows a system and what it admits.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from scipy import sparse

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.system import (
    CellSet,
    System,
    categories_of,
    check_totals,
    complete,
    complete_total,
    disjoint_cell_sets,
    has_gaps,
    joint_roll,
)
from safemargin.core import (
    UNBOUNDED,
    BoolArray,
    ContradictionError,
    InputError,
    IntArray,
    MismatchError,
    Onlooker,
    PublishedTable,
    TooLargeError,
    group_sums,
    row_keys,
)


def occupied(
    roll: PublishedTable, axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...]
) -> tuple[IntArray, IntArray]:
    """The profiles that a joint roll has people in, and how many; an entry that is listed twice is added up."""
    codes = np.zeros((len(roll.lower), len(axes)), dtype=np.int64)
    for a, axis in enumerate(axes):
        column = roll.axes.index(axis)
        index = {name: code for code, name in enumerate(categories[a])}
        lookup = np.array([index[next(iter(group))] for group in roll.groups[column]], dtype=np.int64)
        codes[:, a] = lookup[roll.codes[:, column]]
    first, sums = group_sums(row_keys(codes, [len(names) for names in categories]), roll.lower[:, None])
    filled = sums[:, 0] > 0
    return codes[first][filled], sums[filled, 0]


def combinations(
    tables: Sequence[PublishedTable], axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...]
) -> IntArray:
    """Every combination of categories; where that is too many, those that no single table omits.

    With more than `EFFORT.profiles` combinations, tables are joined one after the other, the widest first, on the axes
    that they share: a combination stays if each table lists the part of it that it speaks about. That is an outer bound
    of the support, so no possible table is lost. Raises `TooLargeError` if even these are too many.
    """
    if not axes:
        return np.zeros((1, 0), dtype=np.int64)
    if math.prod(len(names) for names in categories) <= EFFORT.profiles:
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
        columns = [covered.index(axis) for axis in shared]
        rows = partial if covered else {(): None}
        partial = {
            (*row, *tail): None
            for row in rows
            for tail in dict.fromkeys(listed.get(tuple(row[i] for i in columns), ()))
        }
        covered = (*covered, *fresh)
        if len(partial) > EFFORT.profiles:
            raise TooLargeError(
                f"more than {EFFORT.profiles:,} combinations of {' x '.join(axes)}: give a joint roll, or fewer tables"
            )
    order = [covered.index(axis) for axis in axes]
    return np.array(sorted(tuple(row[i] for i in order) for row in partial), dtype=np.int64).reshape(-1, len(axes))


def build_system(
    tables: Sequence[PublishedTable], onlooker: Onlooker, slack: int = 0, check: bool = True, conclude: bool = True
) -> System:
    """All that `onlooker` knows once `tables` are published; `slack` widens every published count.

    Without `check`, totals that disagree are left for others to find. Without `conclude`, nothing is concluded from
    totals that agree: every row is one fact as it was published.

    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> public = exact_margins(table)
    >>> with_roll, without = build_system(public, onlooker_with_roll(table, "joint")), build_system(public, Onlooker())
    >>> (with_roll.size, with_roll.reference), (without.size, without.reference)
    ((4, True), (8, False))
    """
    facts = (*tables, *onlooker.facts)
    options = tuple(dict.fromkeys(name for table in facts for name in table.options)) or ("",)
    joint, axes, categories = _axes_of(facts, onlooker)
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


def profiles_of(
    tables: Sequence[PublishedTable], onlooker: Onlooker
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], IntArray, IntArray] | None:
    """Axes, categories, codes and people of the profiles that the system of the same arguments has, without its rows.

    None without a joint roll.
    """
    joint, axes, categories = _axes_of((*tables, *onlooker.facts), onlooker)
    return None if joint is None else (axes, categories, *occupied(joint, axes, categories))


def _axes_of(
    facts: Sequence[PublishedTable], onlooker: Onlooker
) -> tuple[PublishedTable | None, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The joint roll, if there is one, and the axes of facts and rolls with their categories."""
    if not facts:
        raise InputError("no table was given: nothing is known")
    axes = tuple(dict.fromkeys(axis for table in facts for axis in table.axes))
    joint = joint_roll(onlooker.roll, axes)
    rolls = onlooker.roll if joint is None else (joint,)
    axes = tuple(dict.fromkeys([*axes, *(axis for roll in rolls for axis in roll.axes)]))
    known = (*facts, *onlooker.roll)
    return joint, axes, tuple(categories_of(known, axis) for axis in axes)


def _cell_text(cell: Mapping[str, str]) -> str:
    """A cell in the words of an error: its axes and categories, or everybody.

    >>> _cell_text({"age": "old"}), _cell_text({})
    ("age 'old'", 'everybody')
    """
    return ", ".join(f"{axis} {category!r}" for axis, category in cell.items()) or "everybody"


class _Builder:
    """Collects rows; exists only while a system is built.

    The order of calls matters: `choose_form` fixes which options are variables, then `add` once per table, then
    `build`. Slices are numbered in the order in which they are added; `blocks[b]` gives the slice of every profile, or
    -1.
    """

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
        # As many answers as people: then the last option is what the others leave, and needs no variable.
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
        """Whether exact tables, each about a part of the people, count as many answers as there are people in it.

        Then everybody answered although no single table is about all: cities that publish their own tables, for
        example.
        """
        if self.people is None or any(set(table.options) != set(self.options) for table in facts):
            return False
        sure = np.zeros(len(self.codes), dtype=bool)
        for table in facts:
            if table.is_exact and len(list(disjoint_cell_sets(table))) == 1:
                inside = self._appears(table)
                if int(self.people[inside].sum()) == int(table.lower.sum()):
                    sure |= inside
        return bool(sure.all())

    def add(self, table: PublishedTable, leaves_out: bool = True) -> None:
        """Add the rows of one table; unless it `leaves_out`, nothing is known of combinations without a row.

        Every disjoint set of its cells becomes a block of slices, and every option of it rows over these slices. A cell
        that is listed twice is an error in the file, not a fact.
        """
        sizes = [len(group) for group in table.groups]
        covered: dict[int, BoolArray] = {}
        for layer in disjoint_cell_sets(table):
            keys = row_keys(table.codes[layer.rows], sizes)
            cells, cell_of = np.unique(keys, return_inverse=True)
            where = self._place(table, layer, cells, sizes)
            inside = np.flatnonzero(where >= 0)
            self.slices.append((where[inside] + self.slice_count, inside))
            self.blocks.append(np.where(where >= 0, where + self.slice_count, -1))
            for option in np.unique(table.option[layer.rows]).tolist():
                chosen = table.option[layer.rows] == option
                if len(np.unique(cell_of[chosen])) < int(chosen.sum()):
                    raise InputError(f"{table.name}: a cell is listed twice")
                filled = self._add_option(table, layer.rows[chosen], cell_of[chosen], where, option)
                covered[option] = covered[option] | filled if option in covered else filled
            self.slice_count += len(cells)
        for option, filled in covered.items() if leaves_out else ():
            self._leave_out(table, option, self._appears(table) & ~filled)

    def _appears(self, table: PublishedTable) -> BoolArray:
        """Profiles whose categories all appear in the table: those that it would have listed if they had any count."""
        appears = np.ones(len(self.codes), dtype=bool)
        for a, axis in enumerate(table.axes):
            column, names = self.axes.index(axis), frozenset().union(*table.groups[a])
            appears &= np.array([name in names for name in self.categories[column]])[self.codes[:, column]]
        return appears

    def _place(self, table: PublishedTable, layer: CellSet, cells: IntArray, sizes: list[int]) -> IntArray:
        """The slice of a disjoint set of cells (`layer`) that each profile lies in, -1 where it lies in none.

        `cells` are the keys of the listed cells, ascending; `sizes` the numbers of groups per axis, from which keys are
        made.
        """
        groups = np.zeros((len(self.codes), len(table.axes)), dtype=np.int64)
        for a, axis in enumerate(table.axes):
            column = self.axes.index(axis)
            lookup = np.array([layer.groups[a].get(name, -1) for name in self.categories[column]], dtype=np.int64)
            groups[:, a] = lookup[self.codes[:, column]]
        keys = row_keys(np.maximum(groups, 0), sizes)
        at_key = np.minimum(np.searchsorted(cells, keys), len(cells) - 1)
        listed = (groups >= 0).all(axis=1) & (cells[at_key] == keys)
        return np.where(listed, at_key, -1).astype(np.int64)

    def _add_option(
        self, table: PublishedTable, rows: IntArray, cell_of: IntArray, where: IntArray, option: int
    ) -> BoolArray:
        """Add the rows of one option and return which profiles they cover.

        For the reference option the row is turned round: `count = people - sum of the others`, so a range `[l, u]` of
        it is the range `[n - u, n - l]` of the sum of the others. A count above the people of its cell is a
        contradiction at once.
        """
        row_of = np.full(int(max(where.max(initial=0), cell_of.max(initial=0))) + 1, -1, dtype=np.int64)
        row_of[cell_of] = np.arange(len(rows))
        row_in = np.where(where >= 0, row_of[np.maximum(where, 0)], -1)
        lower, upper = table.lower[rows].copy(), table.upper[rows].copy()
        if self.slack and not table.is_roll:
            lower, upper = np.maximum(lower - self.slack, 0), np.minimum(upper + self.slack, UNBOUNDED)
        columns = self._columns(table, option)
        covered: BoolArray = row_in >= 0
        if columns is None:  # the reference option: what the people of the cell leave over; or any option: all of them
            assert self.people is not None
            size = np.bincount(row_in[covered], weights=self.people[covered], minlength=len(rows)).astype(np.int64)
            wrong = (size < lower) | ((size > upper) & (option < 0))
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                unlisted = "" if size[row] else self._unlisted(table)
                raise (MismatchError if unlisted else ContradictionError)(
                    f"{table.name}: {_cell_text(table.cell(int(rows[row])))} has {size[row]} people on the roll, "
                    f"but {lower[row]} are counted{unlisted}"
                )
            if option < 0:
                return covered
            lower, upper = np.maximum(size - upper, 0), size - lower
            columns = list(range(self.free))
        weight = np.isin(np.arange(self.free), columns).astype(np.int64)
        self.slice_of.append(cell_of + self.slice_count)
        self.weights.append(np.broadcast_to(weight, (len(rows), self.free)))
        self.lower.append(lower)
        self.upper.append(upper)
        self.sources.extend((table, row) for row in rows.tolist())
        return covered

    def _unlisted(self, table: PublishedTable) -> str:
        """The first category on the roll that a table does not list, in words."""
        for a, axis in enumerate(table.axes):
            column, listed = self.axes.index(axis), frozenset().union(*table.groups[a])
            for code in np.unique(self.codes[:, column]).tolist():
                if (name := self.categories[column][code]) not in listed:
                    return f"; it does not list {_cell_text({axis: name})}, which is on the roll"
        return ""

    def _leave_out(self, table: PublishedTable, option: int, empty: BoolArray) -> None:
        """Say that combinations without a cell are empty, although all their categories appear in the table.

        For an option that is a variable the ceiling of these variables is 0. For the reference option nobody may be
        left: everybody there has one of the other options, which is one row over all of these profiles.
        """
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
        """The variables, per profile, that a row about an option adds up; nothing where that option is not a variable.

        A roll counts everybody, so it adds every variable; a count without options adds all listed ones.
        """
        if table.is_roll:
            return list(range(self.free))
        if option < 0:
            return None if self.reference else list(range(self.free - self.hidden))
        column = self.options.index(table.options[option])
        return [column] if column < self.free - self.hidden else None

    def build(self) -> System:
        """The finished system: everything collected, as arrays; nothing is decided here."""
        size = len(self.codes) * self.free
        slice_rows = np.concatenate([rows for rows, _ in self.slices])
        profiles = np.concatenate([inside for _, inside in self.slices])
        ones = np.ones(len(slice_rows), dtype=np.int64)
        return System(
            axes=self.axes,
            categories=self.categories,
            codes=self.codes,
            options=self.options,
            n_free_options=self.free,
            reference=self.reference,
            people=self.people,
            blocks=np.stack(self.blocks),
            slices=sparse.csr_array((ones, (slice_rows, profiles)), shape=(self.slice_count, len(self.codes))),
            slice_of=np.concatenate(self.slice_of),
            weights=np.concatenate(self.weights),
            lower=np.concatenate(self.lower),
            upper=np.concatenate(self.upper),
            low=np.zeros(size, dtype=np.int64),
            high=self.high,
            sources=tuple(self.sources),
        )
