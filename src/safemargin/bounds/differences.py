"""What two releases about one population disclose by subtraction, if those who stayed kept their answers.

The count of a group now, less its count then, is the answers of those who came into it less those of the people who
went out of it. With `came` and `went` people and a difference per option, the count of every option among those who
came lies between `max(0, difference)` and that plus `free`, where `free` is what the differences leave of the people;
the same holds for those who went. Both ends are attained. If `free` is negative, somebody who stayed must have changed
their answer, and the assumption is refuted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from safemargin.bounds.exposure import Exposed
from safemargin.core import (
    CROSS,
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
    for cycle, release in enumerate(past.earlier):
        before = totals_of(release.tables, options)
        if total is not None and before is not None:
            for side in _sides(past, past.axes[0], cycle, None, total - before, slack) or ():
                yield release.cycle, side


def refuted_by_totals(tables: Sequence[PublishedTable], past: Past, slack: int = 0) -> tuple[str, ...]:
    """Earlier cycles since which somebody who stayed must have changed their answer, by the totals alone."""
    options = tables[0].options
    total = totals_of(tables, options)
    refuted = []
    for cycle, release in enumerate(past.earlier):
        before = totals_of(release.tables, options)
        if total is not None and before is not None:
            if _sides(past, past.axes[0], cycle, None, total - before, slack) is None:
                refuted.append(release.cycle)
    return tuple(refuted)


def changes_of_groups(
    tables: Sequence[PublishedTable], past: Past, slack: int = 0
) -> Iterator[tuple[int, tuple[str, ...], Group | None, bool]]:
    """Every group published now or in an earlier cycle (none: everybody), and whether its own figures refute that all
    kept their answers who were in it in both: with the number of the earlier cycle and the axes.

    A group that only one of two releases states has no figures of its own, and nothing refutes it.
    """
    options = tables[0].options
    total = totals_of(tables, options)
    for cycle, release in enumerate(past.earlier):
        before_total = totals_of(release.tables, options)
        if total is not None and before_total is not None:
            yield cycle, (), None, _sides(past, past.axes[0], cycle, None, total - before_total, slack) is None
        by_axes = {table.axes: table for table in release.tables if table.axes and past.knows(table.axes)}
        for table in tables:
            if table.axes not in by_axes:
                continue
            axis = CROSS.join(table.axes)
            now, before = parts_of(table, total, options), parts_of(by_axes[table.axes], before_total, options)
            partitions = [group for group, _ in now], [group for group, _ in before]
            figures = unions(*partitions)
            for group in dict.fromkeys([*figures, *partitions[0], *partitions[1]]):
                is_refuted = False
                if group in figures:
                    change = _sum(now, group) - _sum(before, group)
                    is_refuted = _sides(past, axis, cycle, group, change, slack) is None
                yield cycle, table.axes, group, is_refuted


def differences(
    axis: str, parts: CountedGroups, options: Sequence[str], past: Past, limits: Limits, slack: int = 0
) -> tuple[list[Exposed], int]:
    """The same for the groups of one axis (or cells of several, joined), against every earlier release of it.

    For somebody who believes it of everybody at once, a group that holds all who came or went discloses what the
    totals disclose, and one refuted group refutes it all.
    """
    exposed: list[Exposed] = []
    looked = 0
    for cycle, release in enumerate(past.earlier):
        before_total = totals_of(release.tables, options)
        for table in release.tables:
            if table.axes != tuple(axis.split(CROSS)):
                continue
            before = parts_of(table, before_total, options)
            changed: dict[Group, tuple[Side, ...] | None] = {}
            for union in unions([group for group, _ in parts], [group for group, _ in before]):
                change = _sum(parts, union) - _sum(before, union)
                changed[union] = _sides(past, axis, cycle, union, change, slack)
            if not past.by_group:
                is_refuted = any(sides is None for sides in changed.values())
                all_of_it = _turnover(past, axis, cycle, None)
                changed = {
                    union: sides
                    for union, sides in changed.items()
                    if not is_refuted and _turnover(past, axis, cycle, union) != all_of_it
                }
            for union, side in [(union, side) for union, sides in changed.items() for side in sides or ()]:
                looked += 1
                side = _with_sets(side, limits)
                verdicts = limits.verdicts(side.lower[None, :], side.upper[None, :], np.array([side.people]))[0]
                cell = _named(axis, union) | {past.axis: side.words}
                exposed += _exposed(cell, side, verdicts == 2, release.cycle, limits)
    return exposed, looked


def _named(axis: str, union: Group) -> dict[str, str]:
    """A group by axis, in words."""
    parts = zip(*(category.split(CROSS) for category in union), strict=True)
    return {name: label(frozenset(part)) for name, part in zip(axis.split(CROSS), parts, strict=True)}


def _turnover(past: Past, axis: str, cycle: int, group: Group | None) -> tuple[int, int, int]:
    """People who came into a group (none: the population) since an earlier cycle, who went, and who of these moved."""
    came = went = moved = 0
    for (then, now), people in past.flow(axis, cycle).items():
        was = then is not None and (group is None or then in group)
        is_there = now is not None and (group is None or now in group)
        if was != is_there:
            came, went = came + people * is_there, went + people * was
            moved += people * (then is not None and now is not None)
    return came, went, moved


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
    counts = [counts for group, counts in parts if group <= union]
    total: IntArray = np.sum(counts, axis=0, dtype=np.int64)
    return total


def _sides(
    past: Past, axis: str, cycle: int, group: Group | None, change: IntArray, slack: int
) -> tuple[Side, ...] | None:
    """Who came into a group (none: the population) since an earlier cycle, and who went; none if that is refuted."""
    came, went, moved = _turnover(past, axis, cycle, group)
    every = np.append(change, came - went - int(change.sum()))  # those without a listed answer last
    least, most = np.maximum(every, 0), np.maximum(-every, 0)
    free = came - int(least.sum())
    if free + 2 * slack * len(change) < 0:
        return None
    since = past.earlier[cycle].cycle
    # Where counts may be off, the interval must be safe however they are read: both ends move inwards. The lower one
    # follows one difference, the upper one also what all differences leave. Where they meet, 0 stands for unsafe.
    off, left = 2 * slack, 2 * slack * (len(change) + 1)
    room = max(free, 0) >= off + left
    sides = (
        (f"joined or moved here since {since}" if moved else f"joined since {since}", came, least[:-1]),
        (f"left or moved away since {since}" if moved else f"left since {since}", went, most[:-1]),
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
    names = ("",) * limits.options + limits.names
    return [
        Exposed(cell, option, side.people, int(side.lower[option]), int(side.upper[option]), cycle, names[option])
        for option in np.flatnonzero(which).tolist()
    ]
