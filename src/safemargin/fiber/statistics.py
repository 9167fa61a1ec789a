"""All databases that published counts, means and medians leave possible, for blocks of few people.

First every way to give the people to combinations of categories is listed, as solutions of the equations between the
counts. For each of them the values are searched person by person, many cases at a time: a mean leaves a range for the
sum, a median a number of people on either side. What is listed in the end satisfies every statistic, checked anew.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError
from scipy import sparse

from safemargin.bounds import Equations, TableSearch, steps
from safemargin.core import BoolArray, InputError, IntArray, TooLargeError
from safemargin.io import ConfigSection, dotted_key, read_text

CASES_AT_ONCE = 400_000
MOST_CASES = 200_000_000
MOST_WORK = 2_000_000_000

Record = tuple[int, tuple[str, ...]]
"""A value, and a category of every axis."""

Database = tuple[Record, ...]
"""Everybody, in order."""

Number = int | str | Fraction


@dataclass(frozen=True)
class Statistic:
    """What is published about some people: how many, from `least` to `most`, their mean and their median.

    They are those in the categories `where` (an axis that is not named: any) with a value from `low` to `high`. Mean
    and median may be off by `within`, which is half a unit of the last digit where they are rounded.
    """

    name: str
    least: int
    most: int
    mean: Fraction | None = None
    median: Fraction | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    low: int | None = None
    high: int | None = None
    within: Fraction = Fraction(0)

    @property
    def is_about_all_values(self) -> bool:
        """Whether who is meant hangs on categories alone."""
        return self.low is None and self.high is None

    @property
    def is_numeric(self) -> bool:
        """Whether it says anything about values."""
        return self.mean is not None or self.median is not None


def statistic(
    name: str,
    count: int | tuple[int, int],
    *,
    mean: Number | None = None,
    median: Number | None = None,
    where: Mapping[str, str | tuple[str, ...]] | None = None,
    low: int | None = None,
    high: int | None = None,
    within: Number = 0,
) -> Statistic:
    """A statistic as it is printed: decimals as text (`"36.7"`), one category or several per axis.

    >>> statistic("2A", 4, median=30, mean="33.5", where={"sex": "female"}).mean
    Fraction(67, 2)
    """
    least, most = (count, count) if isinstance(count, int) else count
    if not 0 <= least <= most:
        raise InputError(f"{name}: {least} to {most} people: must be 0 or more, and in order")
    groups = {axis: (names,) if isinstance(names, str) else tuple(names) for axis, names in (where or {}).items()}
    ends = [None if value is None else Fraction(value) for value in (mean, median)]
    return Statistic(name, least, most, ends[0], ends[1], groups, low, high, Fraction(within))


class ValueRange(ConfigSection):
    """Integers that a value may take."""

    low: int
    high: int


class StatedStatistic(ConfigSection):
    """One statistic of a file; see `statistic`."""

    name: str
    count: int | tuple[int, int]
    mean: int | str | None = None
    median: int | str | None = None
    where: dict[str, str | tuple[str, ...]] = {}
    low: int | None = None
    high: int | None = None
    within: int | str = 0


class StatisticsFile(ConfigSection):
    """A file of statistics: the categories of every axis, the range of the values, and what is published."""

    axes: dict[str, tuple[str, ...]]
    values: ValueRange
    statistics: tuple[StatedStatistic, ...]

    def listed(self) -> list[Statistic]:
        """The statistics as values."""
        return [statistic(**dict(stated)) for stated in self.statistics]


def read_statistics(source: Path | str | Mapping[str, Any]) -> StatisticsFile:
    """Statistics from a JSON file, or from its content; an error names the file and the key."""
    name = "statistics" if isinstance(source, Mapping) else str(source)
    try:
        text = json.dumps(source) if isinstance(source, Mapping) else read_text(source)
        return StatisticsFile.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        key = dotted_key(fault["loc"])
        raise InputError(f"{name}: {key + ': ' if key else ''}{fault['msg'][:1].lower()}{fault['msg'][1:]}") from None


def databases(
    statistics: Sequence[Statistic],
    categories: Mapping[str, Sequence[str]],
    values: tuple[int, int],
    limit: int = 100_000,
) -> tuple[Database, ...]:
    """Every database of people with a whole value in a range and one category per axis that satisfies all statistics.

    Raises `TooLargeError` if there are more than `limit`, or too many cases to look at.
    """
    block = _Block(statistics, categories, values)
    listed: list[Database] = []
    for people in block.compositions():
        for rows in _Values(block, people).all():
            listed += block.databases(people, rows)
            if len(listed) > limit:
                raise TooLargeError(f"more than {limit:,} databases are possible")
    return tuple(sorted(listed))


def common(listed: Sequence[Database]) -> Database:
    """The people who are in every database."""
    if not listed:
        return ()
    shared = Counter(listed[0])
    for database in listed[1:]:
        shared &= Counter(database)
    return tuple(sorted(shared.elements()))


class _Block:
    """Statistics over kinds of people: one kind per combination of categories."""

    def __init__(
        self, statistics: Sequence[Statistic], categories: Mapping[str, Sequence[str]], values: tuple[int, int]
    ) -> None:
        self.statistics, (self.low, self.high), self.work = statistics, values, 0
        self.kinds = list(product(*categories.values()))
        self.about = np.array([_kinds(stated, self.kinds, categories) for stated in statistics], dtype=bool)
        self.about = self.about.reshape(len(statistics), len(self.kinds))
        self.allowed = self._allowed()

    def _allowed(self) -> BoolArray:
        """Values (columns) that nobody rules out for a kind (row)."""
        values = np.arange(self.low, self.high + 1)
        allowed = np.ones((len(self.kinds), len(values)), dtype=bool)
        for stated, about in zip(self.statistics, self.about, strict=True):
            if stated.most == 0:
                allowed[np.ix_(about, self.meant(stated, values))] = False
        return allowed

    def meant(self, stated: Statistic, values: IntArray) -> BoolArray:
        """Whether a statistic is about people with these values."""
        low, high = self.low if stated.low is None else stated.low, self.high if stated.high is None else stated.high
        return (values >= low) & (values <= high)

    def compositions(self) -> Iterator[IntArray]:
        """Every number of people of each kind that the counts allow."""
        exact = np.array([stated.is_about_all_values for stated in self.statistics], dtype=bool)
        least = [max(stated.least, int(stated.is_numeric)) for stated in self.statistics]
        most = np.array([stated.most for stated in self.statistics], dtype=np.int64)
        room = np.where(self.about & exact[:, None], most[:, None], -1)
        top = np.where(room >= 0, room, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
        top[~self.allowed.any(axis=1)] = 0
        if (top == np.iinfo(np.int64).max).any():
            kind = ", ".join(self.kinds[int(top.argmax())]) or "everybody"
            raise TooLargeError(f"no statistic limits how many people there are of the kind {kind}")
        ceiling = np.where(exact, most, self.about @ top)
        rows = np.flatnonzero(self.about.any(axis=1) | (np.array(least) > 0))
        spare = sparse.eye_array(len(rows), dtype=np.int64)
        matrix = sparse.csr_array(sparse.hstack([sparse.csr_array(self.about[rows].astype(np.int64)), spare]))
        left = ceiling[rows] - np.array(least, dtype=np.int64)[rows]
        if (left < 0).any():
            return
        kinds = np.arange(len(self.kinds))
        form = Equations(matrix, ceiling[rows], np.r_[top, left], kinds, np.zeros(len(kinds), dtype=np.int64))
        search = TableSearch(form)
        for bar in search.bars(MOST_WORK):
            yield from search.complete(bar.expand())[:, : len(kinds)]

    def databases(self, people: IntArray, rows: IntArray) -> list[Database]:
        """Databases from the values (rows) of everybody in a composition."""
        kinds = [self.kinds[kind] for kind in np.repeat(np.arange(len(people)), people).tolist()]
        return [tuple(sorted((value, kind) for value, kind in zip(row, kinds, strict=True))) for row in rows.tolist()]


def _kinds(stated: Statistic, kinds: Sequence[tuple[str, ...]], categories: Mapping[str, Sequence[str]]) -> list[bool]:
    """Which kinds a statistic is about."""
    axes = list(categories)
    for axis, names in stated.where.items():
        if axis not in categories:
            raise InputError(f"{stated.name}: axis {axis!r} is unknown; the axes are {', '.join(axes)}")
        for name in names:
            if name not in categories[axis]:
                raise InputError(f"{stated.name}: {axis} has no category {name!r}")
    return [all(kind[axes.index(axis)] in names for axis, names in stated.where.items()) for kind in kinds]


@dataclass(frozen=True)
class _Group:
    """People whose sum, and twice whose median, lie in a range."""

    people: IntArray
    sums: tuple[int, int] | None
    middle: tuple[int, int] | None

    def others(self, sums: IntArray, high: IntArray, low: IntArray, top: IntArray, bottom: IntArray) -> IntArray:
        """Least (row 0) and largest (row 1) value that the sum and the median leave for one person.

        `sums`, `high` and `low` are of those who have a value: their sum, and how many are beyond the middle on either
        side. `top` and `bottom` are the ends of what the remaining others can have.
        """
        count, most, least = len(top), int(top.sum()), int(bottom.sum())
        ends = np.stack([np.full(len(sums), np.iinfo(np.int32).min), np.full(len(sums), np.iinfo(np.int32).max)])
        most_left, least_left = np.full(len(sums), most), np.full(len(sums), least)
        if self.middle is not None:
            half, lower, upper = len(self.people) // 2, -(-self.middle[0] // 2), self.middle[1] // 2
            ends[0] = np.where(low >= half, lower, ends[0])
            ends[1] = np.where(high >= half, upper, ends[1])
            if count:
                highest, lowest = int(top.max()), int(bottom.min())
                above, below = np.clip(half - high, 0, count), np.clip(half - low, 0, count)
                most_left = np.minimum(most, above * highest + (count - above) * min(highest, upper))
                least_left = np.maximum(least, below * lowest + (count - below) * max(lowest, lower))
        if self.sums is not None:
            ends[0] = np.maximum(ends[0], self.sums[0] - sums - most_left)
            ends[1] = np.minimum(ends[1], self.sums[1] - sums - least_left)
        return ends


class _Values:
    """The values of everybody in one composition; people of one kind are in order."""

    def __init__(self, block: _Block, people: IntArray) -> None:
        self.block = block
        self.kind = np.repeat(np.arange(len(people)), people)
        allowed = block.allowed[self.kind]
        self.bottom = block.low + allowed.argmax(axis=1)
        self.top = block.high - allowed[:, ::-1].argmax(axis=1)
        self.members = block.about[:, self.kind]
        self.groups = [
            _group(stated, np.flatnonzero(members))
            for stated, members in zip(block.statistics, self.members, strict=True)
            if stated.is_numeric and stated.is_about_all_values
        ]
        self.order = self._order()

    def _order(self) -> list[int]:
        """Group by group, always the one next in which fewest values are free."""
        order: list[int] = []
        while True:
            left = [np.setdiff1d(group.people, order) for group in self.groups]
            waiting = [
                (len(people) - (group.sums is not None), people.tolist())
                for group, people in zip(self.groups, left, strict=True)
                if len(people)
            ]
            if not waiting:
                return [*order, *np.setdiff1d(np.arange(len(self.kind)), order).tolist()]
            order += min(waiting)[1]

    def all(self) -> Iterator[IntArray]:
        """All values, one database per row, many at a time."""
        stack = [(0, np.zeros((1, len(self.kind)), dtype=np.int64))]
        while stack:
            depth, rows = stack.pop()
            if depth == len(self.order):
                rows = rows[np.all([self._holds(number, rows) for number in range(len(self.members))], axis=0)]
                yield rows
                continue
            low, high = self._ends(rows, depth)
            count = np.maximum(high - low + 1, 0)
            rows, low, count = rows[count > 0], low[count > 0], count[count > 0]
            if len(rows) > 1 and count.sum() > CASES_AT_ONCE:
                middle = len(rows) // 2
                stack += [(depth, rows[:middle]), (depth, rows[middle:])]
                continue
            self.block.work += int(count.sum())
            if self.block.work > MOST_CASES:
                raise TooLargeError("too many cases to look at")
            person = self.order[depth]
            rows = np.repeat(rows, count, axis=0)
            rows[:, person] = np.repeat(low, count) + steps(count)
            rows = self._kept(rows, depth)
            if len(rows):
                stack.append((depth + 1, rows))

    def _ends(self, rows: IntArray, depth: int) -> tuple[IntArray, IntArray]:
        """Least and largest value of the next person."""
        person, done = self.order[depth], np.array(self.order[:depth], dtype=np.int64)
        low, high = np.full(len(rows), self.bottom[person]), np.full(len(rows), self.top[person])
        if person and self.kind[person - 1] == self.kind[person]:
            low = np.maximum(low, rows[:, person - 1])
        for group in self.groups:
            if person in group.people:
                known = rows[:, np.intersect1d(group.people, done)]
                others = np.setdiff1d(group.people, [*done.tolist(), person])
                lower, upper = group.middle or (0, 0)
                beyond = (2 * known > upper).sum(axis=1), (2 * known < lower).sum(axis=1)
                ends = group.others(known.sum(axis=1), *beyond, self.top[others], self.bottom[others])
                low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        return low, high

    def _kept(self, rows: IntArray, depth: int) -> IntArray:
        """Without values that are ruled out, and without what a statistic of people who all have values excludes."""
        person, done = self.order[depth], self.order[: depth + 1]
        rows = rows[self.block.allowed[self.kind[person], rows[:, person] - self.block.low]]
        for number, members in enumerate(self.members):
            if not members[person]:
                continue
            stated, known = self.block.statistics[number], np.intersect1d(np.flatnonzero(members), done)
            if len(known) == members.sum():
                rows = rows[self._holds(number, rows)]
            elif not stated.is_about_all_values:
                rows = rows[self.block.meant(stated, rows[:, known]).sum(axis=1) <= stated.most]
        return rows

    def _holds(self, number: int, rows: IntArray) -> BoolArray:
        """Whether complete rows satisfy a statistic, from its definition."""
        stated, values = self.block.statistics[number], rows[:, self.members[number]]
        meant = self.block.meant(stated, values)
        count = meant.sum(axis=1)
        holds: BoolArray = (count >= stated.least) & (count <= stated.most)
        if stated.mean is not None:
            total = np.where(meant, values, 0).sum(axis=1)
            holds &= (count > 0) & _near(total, count, stated.mean, stated.within)
        if stated.median is not None and values.shape[1]:
            ranked = np.sort(np.where(meant, values, np.iinfo(np.int64).max // 4), axis=1)
            middle = np.stack([np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[1] - 1)], axis=1)
            holds &= (count > 0) & _near(
                np.take_along_axis(ranked, middle, axis=1).sum(axis=1),
                np.full(len(rows), 2),
                stated.median,
                stated.within,
            )
        elif stated.median is not None:
            holds &= False
        return holds


def _near(total: IntArray, count: IntArray, wanted: Fraction, within: Fraction) -> BoolArray:
    """Whether `total / count` is at most `within` from `wanted`, in integers."""
    low, high = wanted - within, wanted + within
    above = total * low.denominator >= count * low.numerator
    return np.asarray(above & (total * high.denominator <= count * high.numerator))


def _group(stated: Statistic, people: IntArray) -> _Group:
    """The ranges that a statistic of so many people means."""

    def ends(wanted: Fraction | None, times: int) -> tuple[int, int] | None:
        if wanted is None:
            return None
        return ceil(times * (wanted - stated.within)), floor(times * (wanted + stated.within))

    return _Group(people, ends(stated.mean, len(people)), ends(stated.median, 2))
