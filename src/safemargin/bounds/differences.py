"""What two releases about one population disclose by subtraction, if those who stayed kept their answers.

Objects
    group       categories of an axis (or cells of several), published then and now
    came, went  how many people joined the group since, and how many left it (from the rolls)
    change[o]   the count of option o now, less its count then

Statement
    If everybody who stayed kept their answer, change = (answers of those who came) - (answers of those who went). Let
    free = came - sum of max(0, change[o]) over all options, those without a listed answer included. Then among those
    who came the count of o lies between max(0, change[o]) and that plus free; among those who went between
    max(0, -change[o]) and that plus free. Both ends are attained. If free is negative, somebody who stayed must have
    changed their answer, and the assumption is refuted.

    Proof. With a[o] and b[o] for those who came and went, a[o] - b[o] = change[o] and the sum of a is came. So
    a[o] = max(0, change[o]) + s[o] with s[o] >= 0 and the sum of s equal to free; any such s is possible.

Example
    A group of 30 had 18 yes. Now it has 32 people and 20 yes; 2 came and nobody went: both said yes (free = 0).

Invariants
    * Groups are compared where both releases state them: unions of groups of both partitions (`unions`).
    * Where totals may be off (`slack`), the intervals must be safe however they are read: both ends move inwards.
    * An assumption that figures refute is nobody's belief and discloses nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from safemargin.bounds.exposure import Exposed
from safemargin.core import (
    CROSS,
    BoolArray,
    Group,
    IntArray,
    Limits,
    Past,
    PublishedTable,
    label,
)

CountedGroups = Sequence[tuple[Group, IntArray]]
"""Groups that part an axis, with their counts per option."""


@dataclass(frozen=True)
class Side:
    """Those who came into a group, or went out of it: how many, in words, and the ends of the count of every option."""

    words: str
    people: int
    lower: IntArray
    upper: IntArray

    def since(self, cycle: str) -> "Side":
        """The same with the cycle from which on they are counted in words."""
        return replace(self, words=f"{self.words} since {cycle}")


def totals_of(tables: Iterable[PublishedTable], options: Sequence[str]) -> IntArray | None:
    """The exact total per option, if a table states it."""
    for table in tables:
        if not table.axes and table.is_exact and set(table.options) == set(options):
            return _counts(table, np.arange(len(table.lower)), options)
    return None


def parts_of(table: PublishedTable, total: IntArray | None, options: Sequence[str]) -> CountedGroups:
    """The groups of a table of one axis; those without an exact count are one, with what is left of the total.

    Of a table of several axes these are its cells with an exact count, their categories joined.
    """
    shown: list[tuple[Group, IntArray]] = []
    if len(table.axes) > 1:
        for cell in dict.fromkeys(map(tuple, table.codes.tolist())):
            rows = np.flatnonzero((table.codes == cell).all(axis=1))
            if len(rows) == len(options) and (table.lower[rows] == table.upper[rows]).all():
                groups = [sorted(table.groups[axis][code]) for axis, code in enumerate(cell)]
                shown.append((frozenset(map(CROSS.join, product(*groups))), _counts(table, rows, options)))
        return shown
    hidden: Group = frozenset()
    for code, group in enumerate(table.groups[0]):
        rows = np.flatnonzero(table.codes[:, 0] == code)
        if len(rows) == len(options) and (table.lower[rows] == table.upper[rows]).all():
            shown.append((group, _counts(table, rows, options)))
        else:
            hidden |= group
    if hidden and total is not None:
        rest = total - sum((counts for _, counts in shown), np.zeros_like(total))
        shown.append((hidden, rest))
    return shown


def _counts(table: PublishedTable, rows: IntArray, options: Sequence[str]) -> IntArray:
    """One number per option, in the order of `options`, added up over some rows of a table.

    The rows must be exact (callers check that): `lower` is taken for the count.
    """
    counts = np.zeros(len(options), dtype=np.int64)
    for row in rows.tolist():
        counts[options.index(table.options[table.option[row]])] += table.lower[row]
    return counts


def disclosed_by_differences(
    tables: Sequence[PublishedTable], past: Past, limits: Limits, slack: int = 0
) -> tuple[list[Exposed], int]:
    """Groups of people who came or went whose answers follow by subtraction, and how many groups were looked at."""
    options = tables[0].options
    total = totals_of(tables, options)
    exposed, looked = _by_totals(total, past, options, limits, slack)
    for table in tables:
        if len(table.axes) == 1 or (table.axes and past.knows(table.axes)):
            parts = parts_of(table, total, options)
            more, groups = differences(CROSS.join(table.axes), parts, options, past, limits, slack)
            exposed += more
            looked += groups
    return exposed, looked


@dataclass(frozen=True)
class StatedFigures:
    """What a release states in exact counts: its total, and its groups by axes, each worked out once."""

    tables: Sequence[PublishedTable]
    options: Sequence[str]

    @cached_property
    def total(self) -> IntArray | None:
        """Per option, if a table states it."""
        return totals_of(self.tables, self.options)

    def counted_groups(self, axes: tuple[str, ...]) -> list[CountedGroups]:
        """The groups of every table by these axes."""
        known: dict[tuple[str, ...], list[CountedGroups]] = self.__dict__.setdefault("_parts", {})
        if axes not in known:
            tables = [table for table in self.tables if table.axes == axes]
            known[axes] = [parts_of(table, self.total, self.options) for table in tables]
        return known[axes]


def _earlier(past: Past, cycle: int, options: Sequence[str]) -> StatedFigures:
    """The figures of an earlier release; worked out once for each of its kind."""
    known: dict[object, StatedFigures] = past.__dict__.setdefault("_figures", {})
    key = past.kinds[cycle], tuple(options)
    return known.setdefault(key, StatedFigures(past.earlier[cycle].tables, options))


def _by_totals(
    total: IntArray | None, past: Past, options: Sequence[str], limits: Limits, slack: int
) -> tuple[list[Exposed], int]:
    """Totals are published whatever happens; only what they disclose outside the limits counts against a release."""
    exposed, looked = [], 0
    for cycle, side in sides_of_totals(total, past, options, slack):
        looked += 1
        side = _with_sets(side, limits)
        least, most = limits.least(np.array([side.people]))[0], limits.most(np.array([side.people]))[0]
        outside = (side.upper < least) | (side.lower > most)
        exposed += _exposed({past.axis: side.words}, side, outside, cycle, limits)
    return exposed, looked


def sides_of_totals(
    total: IntArray | None, past: Past, options: Sequence[str], slack: int = 0
) -> Iterator[tuple[str, Side]]:
    """Per earlier cycle those who joined and those who left in all, with what the totals alone disclose about them."""
    for cycle, sides in _changes_of_totals(total, past, options, slack):
        for side in sides or ():
            yield cycle, side.since(cycle)


def refuted_by_totals(tables: Sequence[PublishedTable], past: Past, slack: int = 0) -> tuple[str, ...]:
    """Earlier cycles since which somebody who stayed must have changed their answer, by the totals alone."""
    options = tables[0].options
    changes = _changes_of_totals(totals_of(tables, options), past, options, slack)
    return tuple(cycle for cycle, sides in changes if sides is None)


def _changes_of_totals(
    total: IntArray | None, past: Past, options: Sequence[str], slack: int
) -> Iterator[tuple[str, tuple[Side, ...] | None]]:
    """Per earlier cycle with a total, who came and who went; cycles of one kind are compared once.

    None for a cycle whose totals refute that everybody who stayed kept their answer.
    """
    known: dict[int, tuple[Side, ...] | None] = {}
    now = len(past.earlier)
    for cycle, release in enumerate(past.earlier):
        before = _earlier(past, cycle, options).total
        if total is not None and before is not None:
            if (kind := past.kinds[cycle]) not in known:
                known[kind] = _sides(past.turnover(past.axes[0], None, cycle, now), total - before, slack)
            yield release.cycle, known[kind]


GroupChange = tuple[tuple[str, ...], Group | None, bool]
"""Axes, a group of them (none: everybody), and whether its own figures refute that all in it kept their answers."""


def changes_of_groups(
    tables: Sequence[PublishedTable], past: Past, first: int, second: int, slack: int = 0
) -> Iterator[GroupChange]:
    """Every group published in one of two cycles, and whether its own figures refute that all kept their answers who
    were in it in both. The `first` is an earlier one, the `second` a later one or the present one, with its `tables`.

    A group that only one of two releases states has no figures of its own, and nothing refutes it.
    """
    options = tables[0].options
    then = _earlier(past, first, options)
    now = StatedFigures(tables, options) if second == len(past.earlier) else _earlier(past, second, options)
    if now.total is not None and then.total is not None:
        turnover = past.turnover(past.axes[0], None, first, second)
        yield (), None, _sides(turnover, now.total - then.total, slack) is None
    for axes in dict.fromkeys(table.axes for table in tables if table.axes and past.knows(table.axes)):
        for after, before in product(now.counted_groups(axes), then.counted_groups(axes)[-1:]):
            for group, change in _changes_of_parts(after, before):
                is_refuted = False
                if change is not None:
                    turnover = past.turnover(CROSS.join(axes), group, first, second)
                    is_refuted = _sides(turnover, change, slack) is None
                yield axes, group, is_refuted


def _changes_of_parts(now: CountedGroups, before: CountedGroups) -> Iterator[tuple[Group, IntArray | None]]:
    """Every group of two partitions and every union of groups of both, with how its counts changed, if known."""
    partitions = [group for group, _ in now], [group for group, _ in before]
    figures = unions(*partitions)
    for group in dict.fromkeys([*figures, *partitions[0], *partitions[1]]):
        yield group, _sum(now, group) - _sum(before, group) if group in figures else None


def differences(
    axis: str, parts: CountedGroups, options: Sequence[str], past: Past, limits: Limits, slack: int = 0
) -> tuple[list[Exposed], int]:
    """The same for the groups of one axis (or cells of several, joined), against every earlier release of it.

    For somebody who believes it of everybody at once, a group that holds all who came or went discloses what the totals
    disclose, and one refuted group refutes it all. Cycles of one kind (same people, same tables) are compared once.
    Returns the disclosed groups and how many were looked at.
    """
    exposed: list[Exposed] = []
    looked = 0
    known: dict[int, list[tuple[Group, Side, BoolArray]]] = {}
    for cycle, release in enumerate(past.earlier):
        if (kind := past.kinds[cycle]) not in known:
            known[kind] = [
                (union, _with_sets(side, limits), outside)
                for before in _earlier(past, cycle, options).counted_groups(tuple(axis.split(CROSS)))
                for union, side in _sides_of_unions(axis, parts, before, past, cycle, slack)
                for outside in [_unsafe(side, limits)]
            ]
        looked += len(known[kind])
        for union, side, unsafe in known[kind]:
            if unsafe.any():
                side = side.since(release.cycle)
                exposed += _exposed(_named(axis, union) | {past.axis: side.words}, side, unsafe, release.cycle, limits)
    return exposed, looked


def _sides_of_unions(
    axis: str, parts: CountedGroups, before: CountedGroups, past: Past, cycle: int, slack: int
) -> Iterator[tuple[Group, Side]]:
    """Who came into, and went out of, each union of groups of both releases."""
    now = len(past.earlier)
    changed: dict[Group, tuple[Side, ...] | None] = {}
    for union in unions([group for group, _ in parts], [group for group, _ in before]):
        change = _sum(parts, union) - _sum(before, union)
        changed[union] = _sides(past.turnover(axis, union, cycle, now), change, slack)
    if not past.by_group:
        is_refuted = any(sides is None for sides in changed.values())
        all_of_it = past.turnover(axis, None, cycle, now)
        changed = {
            union: sides
            for union, sides in changed.items()
            if not is_refuted and past.turnover(axis, union, cycle, now) != all_of_it
        }
    for union, sides in changed.items():
        for side in sides or ():
            yield union, side


def _unsafe(side: Side, limits: Limits) -> BoolArray:
    """Which options, and further sets of them, would be disclosed."""
    side = _with_sets(side, limits)
    unsafe: BoolArray = limits.verdicts(side.lower[None, :], side.upper[None, :], np.array([side.people]))[0] == 2
    return unsafe


def _named(axis: str, union: Group) -> dict[str, str]:
    """A group by axis, in words."""
    parts = zip(*(category.split(CROSS) for category in union), strict=True)
    return {name: label(frozenset(part)) for name, part in zip(axis.split(CROSS), parts, strict=True)}


def unions(first: Sequence[Group], second: Sequence[Group]) -> list[Group]:
    """The smallest sets of categories that are unions of groups of both partitions, less the whole axis.

    >>> [sorted(union) for union in unions([frozenset("ab"), frozenset("c")], [frozenset(c) for c in "abc"])]
    [['a', 'b'], ['c']]
    """
    joined = list(first)
    for group in second:
        touching = [group_union for group_union in joined if group_union & group]
        joined = [group_union for group_union in joined if not group_union & group] + [group.union(*touching)]
    known = frozenset().union(*first), frozenset().union(*second)
    return [
        group_union
        for group_union in joined
        if group_union <= known[0] and group_union <= known[1] and group_union != known[0] | known[1]
    ]


def _sum(parts: CountedGroups, union: Group) -> IntArray:
    """The counts of the groups inside a union, added up."""
    counts = [counts for group, counts in parts if group <= union]
    total: IntArray = np.sum(counts, axis=0, dtype=np.int64)
    return total


def _sides(turnover: tuple[int, int, int], change: IntArray, slack: int) -> tuple[Side, ...] | None:
    """Who came into a group (none: the population) since an earlier cycle, and who went; none if that is refuted."""
    came, went, moved = turnover
    every = np.append(change, came - went - int(change.sum()))  # those without a listed answer last
    least, most = np.maximum(every, 0), np.maximum(-every, 0)
    free = came - int(least.sum())
    if free + 2 * slack * len(change) < 0:
        return None
    # Where counts may be off, the interval must be safe however they are read: both ends move inwards. The lower one
    # follows one difference, the upper one also what all differences leave. Where they meet, 0 stands for unsafe.
    off, left = 2 * slack, 2 * slack * (len(change) + 1)
    room = max(free, 0) >= off + left
    sides = (
        ("joined or moved here" if moved else "joined", came, least[:-1]),
        ("left or moved away" if moved else "left", went, most[:-1]),
    )
    return tuple(
        Side(
            phrase,
            people,
            np.clip(ends + off, 0, people) * room,
            np.clip(ends + max(free, 0) - left, 0, people) * room,
        )
        for phrase, people, ends in sides
        if people
    )


def _with_sets(side: Side, limits: Limits) -> Side:
    """The same with the ends of every further set of options that is secret, as far as those of options imply them."""
    lower, upper = limits.extended(side.lower[None, :], side.upper[None, :], np.array([side.people]))
    return replace(side, lower=lower[0], upper=upper[0])


def _exposed(cell: dict[str, str], side: Side, which: np.ndarray, cycle: str, limits: Limits) -> list[Exposed]:
    """The columns that `which` marks, as exposed cells: options first, then sets of them.

    `side` has the sets already (`_with_sets`), and the caller has judged what is disclosed.
    """
    names = ("",) * limits.options + limits.names
    return [
        Exposed(cell, option, side.people, int(side.lower[option]), int(side.upper[option]), cycle, names[option])
        for option in np.flatnonzero(which).tolist()
    ]
