"""Sealed totals that disagree: the ways to reconcile them, all of which a release must be safe in.

Objects
    binding total   the counts of the election that decides; every axis was counted in an election of its own
    flow            answers that moved from one option to another between the two: (from, to, how many)
    reading         a table whose axes agree with the binding total, after moving some flows back

Statement
    The ends of the count of a cell are a concave and a convex function of the margins, so the worst reading is a corner
    of the polytope of all readings: every flow of every axis moves into as few groups as there is room in. If all
    corners are safe, so is every reading. Where corners are many, one flow is moved at a time, as many times as far as
    there are flows: every corner is a mean of these, so they are at least as bad.

Invariants
    * Disagreement never makes anything safe: a reading that no margins have counts as unsafe (`_doubt`).
    * At most `MOST_READINGS` readings are certified; more make the release undecided.
    * Corners of one axis: flows out of different options do not meet; those out of one option share its room.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from math import prod

import numpy as np

from safemargin.bounds import Exposed
from safemargin.core import Group, Inconsistency, IntArray, Table, Tally, frozen, label
from safemargin.release.rule.split import AxisPartition, unmerged_split

MOST_READINGS = 400
"""Readings of totals that disagree; more are not certified, which makes the search merge on."""
MOST_CORNERS = 64
"""Corners of all readings that are looked at one by one."""
MOST_FLOWS = 6
"""Options that may disagree on one axis: up to so many, corners of the flows between them are all north-west ones."""


def shown_groups(split: AxisPartition) -> list[Group]:
    """The groups of an axis whose counts are known; those that are flagged as one."""
    hidden: Group = frozenset().union(*split.flagged)
    return [*(group for group in split.groups if group not in split.flagged), *([hidden] if hidden else [])]


def readings(table: Table, splits: Sequence[AxisPartition]) -> Iterator[Table | Exposed]:
    """Ways to reconcile the axes of a release with the binding total: if all are safe, so is every other.

    Sealed elections of which the totals disagree leave open in which groups people answered otherwise. The ends of the
    count of a cell are a concave and a convex function of the margins, so the worst reading is a corner of all
    readings, which moves every flow of every axis into as few groups as there is room in. Where corners are many, one
    flow is moved at a time, as many times as far as there are flows: every corner is a mean of these. A cell is yielded
    instead of a reading that no margins have: nothing is known then, which counts as unsafe.
    """
    axes = [(split, flows) for split in splits if split.is_published and (flows := _flows(table, split))]
    if not axes:
        yield replace(table, inconsistency=Inconsistency())
        return
    count = 0
    for choice in product(*(flows for _, flows in axes)):
        moved = [(split, flow) for (split, _), flows in zip(axes, choice, strict=True) for flow in flows]
        for counts in _corner_counts(table, moved) or _single_shifts(table, moved):
            count += 1
            listed = -1 if table.inconsistency.apart else None  # whoever did not answer is on no roll then
            if count > MOST_READINGS or any((rows[:, :listed] < 0).any() for rows in counts.values()):
                yield _doubt(moved[0][0], moved[0][0].groups[0], moved[0][1][0])
                return
            yield _reading(table, splits, counts)


Flow = tuple[int, int, int]
"""From an option, to an option, and how many answers; the last place stands for no listed answer."""
Moved = Sequence[tuple[AxisPartition, Flow]]
Counts = dict[str, IntArray]
"""By axis, the counts of the groups that are shown."""


def _corner_counts(table: Table, moved: Moved) -> list[Counts]:
    """All corners; nothing if there are too many."""
    axes: dict[str, list[tuple[AxisPartition, Flow]]] = {}
    for split, flow in moved:
        axes.setdefault(split.axis.name, []).append((split, flow))
    corners = {name: _axis_corners(table, flows) for name, flows in axes.items()}
    if not 0 < prod(map(len, corners.values())) <= MOST_CORNERS:
        return []
    return [dict(zip(corners, chosen, strict=True)) for chosen in product(*corners.values())]


def _axis_corners(table: Table, moved: Moved) -> list[IntArray]:
    """Counts of one axis in the corners of all ways to move some flows; nothing if there are too many.

    Flows out of different options do not meet. Flows out of one option take people from the same groups: where these
    have no room for every pair of corners, all ways in integers are listed, among which the corners are.
    """
    raw = shown_counts(table, moved[0][0])
    found = [raw]
    for source in dict.fromkeys(flow[0] for _, flow in moved):
        flows = [flow for _, flow in moved if flow[0] == source]
        room = _room(table, raw, flows)
        single = [_corners(room, flow[2]) for flow in flows]
        if prod(map(len, single)) > MOST_CORNERS:
            return []
        choices = list(product(*single))
        if any((sum(shifts) > room).any() for shifts in choices):
            choices = _all_ways(room, [flow[2] for flow in flows])
        if len(found) * len(choices) > MOST_CORNERS:
            return []
        found = [_moved(counts, flows, shifts) for counts in found for shifts in choices]
    return found


def _moved(counts: IntArray, flows: Sequence[Flow], shifts: Sequence[IntArray]) -> IntArray:
    """Counts after moving these flows by these shifts."""
    after = counts.copy()
    for flow, shift in zip(flows, shifts, strict=True):
        _move(after, flow, shift)
    return after


def _all_ways(room: IntArray, amounts: Sequence[int]) -> list[tuple[IntArray, ...]]:
    """All ways to take several amounts from groups with limited room, in integers; too many are cut off.

    >>> [[shift.tolist() for shift in way] for way in _all_ways(np.array([1, 1]), [1, 1])]
    [[[0, 1], [1, 0]], [[1, 0], [0, 1]]]
    """
    if not amounts:
        return [()]
    ways: list[tuple[IntArray, ...]] = []
    for shift in _shares(room.tolist(), amounts[0]):
        first = np.array(shift, dtype=np.int64)
        ways += [(first, *rest) for rest in _all_ways(room - first, amounts[1:])]
        if len(ways) > MOST_CORNERS:
            break
    return ways


def _shares(room: Sequence[int], people: int) -> Iterator[tuple[int, ...]]:
    """All ways to take so many people from groups with limited room.

    >>> list(_shares([1, 2], 2))
    [(0, 2), (1, 1)]
    """
    if not room:
        if not people:
            yield ()
        return
    for taken in range(max(people - sum(room[1:]), 0), min(room[0], people) + 1):
        for rest in _shares(room[1:], people - taken):
            yield (taken, *rest)


def _corners(room: IntArray, people: int) -> list[IntArray]:
    """The corners of all ways to take so many people from groups with limited room: all are full but one.

    >>> [shift.tolist() for shift in _corners(np.array([1, 2]), 2)]
    [[0, 2], [1, 1]]
    """
    small = [group for group, size in enumerate(room.tolist()) if 0 < size < people]
    corners: dict[tuple[int, ...], IntArray] = {}
    full = (
        [chosen for count in range(len(small) + 1) for chosen in combinations(small, count)] if len(small) < 9 else ()
    )
    for chosen in full:
        left = people - int(room[list(chosen)].sum())
        for last in range(len(room)) if left >= 0 else ():
            if last not in chosen and room[last] >= left:
                shift = np.where(np.isin(np.arange(len(room)), chosen), room, 0)
                shift[last] = left
                corners[tuple(shift.tolist())] = shift
    return list(corners.values()) or [np.zeros_like(room)] * (MOST_CORNERS + 1)


def _single_shifts(table: Table, moved: Moved) -> Iterator[Counts]:
    """One flow at a time into one group, the others spread over all groups.

    Each is moved as many times as far as there are flows, so that every corner is a mean of these tables: since the
    ends of a count are concave and convex in the margins, a corner is no worse than the worst of them.
    """
    spread = {split.axis.name: shown_counts(table, split) for split, _ in moved}
    shifts = []
    for split, flow in moved:
        shifts.append(_spread(_room(table, spread[split.axis.name], [flow]), flow[2]))
        _move(spread[split.axis.name], flow, shifts[-1])
    yield spread
    for (split, flow), shift in zip(moved, shifts, strict=True):
        for row in range(len(shift)):
            counts = spread[split.axis.name].copy()
            alone = np.where(np.arange(len(shift)) == row, flow[2], 0)
            _move(counts, flow, len(moved) * (alone - shift))
            yield {**spread, split.axis.name: counts}


def _room(table: Table, counts: IntArray, flows: Sequence[Flow]) -> IntArray:
    """How many people of each group flows out of one option may take: as many as chose it.

    Where turnout is apart, whoever answered the binding election and not this one may be in any group.
    """
    if table.inconsistency.apart and flows[0][0] == counts.shape[1] - 1:
        return np.full(len(counts), sum(flow[2] for flow in flows), dtype=np.int64)
    return np.asarray(counts[:, flows[0][0]], dtype=np.int64)


def _move(counts: IntArray, flow: Flow, shift: IntArray) -> None:
    """Move a flow, group by group, in place."""
    counts[:, flow[0]] -= shift
    counts[:, flow[1]] += shift


def _doubt(split: AxisPartition, group: Group, option: int) -> Exposed:
    """A cell that stands for all that is not known in a reading: it counts as undecided."""
    cell = {split.axis.name: label(group, split.axis.categories)}
    return Exposed(cell, min(option, split.votes.shape[1] - 1), split.size(group), 0, split.size(group))


def shown_counts(table: Table, split: AxisPartition) -> IntArray:
    """Votes per group that is shown and option, those without a listed answer last."""
    plain = unmerged_split(table, split.axis.name)
    rows = [[*plain.counts(group), plain.size(group) - plain.counts(group).sum()] for group in shown_groups(split)]
    return np.array(rows, dtype=np.int64)


def _flows(table: Table, split: AxisPartition) -> list[tuple[Flow, ...]]:
    """The corners of all ways in which the fewest people changed their answer between this election and the total."""
    counts = shown_counts(table, split).sum(axis=0)
    binding = np.append(table.totals, counts.sum() - table.totals.sum())
    surplus = {o: int(d) for o, d in enumerate(counts - binding) if d > 0}
    deficit = {o: int(-d) for o, d in enumerate(counts - binding) if d < 0}
    if len(surplus) + len(deficit) > MOST_FLOWS:
        return [((next(iter(surplus)), next(iter(deficit)), int(counts.sum())),)]  # more than any group has
    corners = {}
    for rows, columns in product(permutations(surplus), permutations(deficit)) if surplus else ():
        left, right, flows = dict(surplus), dict(deficit), []
        # The north-west rule, in every order of options, gives every corner of a transportation problem this small.
        for row, column in product(rows, columns):
            if moved := min(left[row], right[column]):
                flows.append((row, column, moved))
                left[row], right[column] = left[row] - moved, right[column] - moved
        corners[frozenset(flows)] = tuple(flows)
    return list(corners.values())


def _spread(room: IntArray, people: int) -> IntArray:
    """So many people in proportion to the room of groups, rounded by the largest remainders.

    >>> _spread(np.array([10, 20, 30]), 6).tolist()
    [1, 2, 3]
    """
    exact = people * room / max(int(room.sum()), 1)
    shift = np.floor(exact).astype(np.int64)
    order = np.argsort(shift - exact, kind="stable")
    shift[order[: people - int(shift.sum())]] += 1
    return shift


def _reading(table: Table, splits: Sequence[AxisPartition], counts: Counts) -> Table:
    """The table with other counts of the groups that are shown; each is booked on the first category of its group."""
    votes = {tally.axes: tally for tally in table.votes}
    roll = {tally.axes: tally for tally in table.roll}
    for split in splits:
        if (rows := counts.get(split.axis.name)) is not None:
            codes = [min(split.axis.index[category] for category in group) for group in shown_groups(split)]
            tally = Tally((split.axis.name,), frozen(np.array(codes), 1), frozen(rows[:, :-1], rows.shape[1] - 1))
            votes[tally.axes] = tally
            if table.inconsistency.apart:
                roll[tally.axes] = Tally(tally.axes, tally.codes, frozen(rows[:, :-1].sum(axis=1), 1))
    return replace(table, votes=tuple(votes.values()), roll=tuple(roll.values()), inconsistency=Inconsistency())
