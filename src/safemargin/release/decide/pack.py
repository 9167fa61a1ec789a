"""Parting things into groups that are all allowed, at the least loss: exactly for few things, with a bound for many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from safemargin.core import BoolArray, Group, IntArray

FEW = 12
"""Things up to which every way to part them is considered."""

MOST_COLUMNS = 150_000
SECONDS = 20.0


@dataclass(frozen=True)
class Item:
    """A group of categories that stays together; `alone` is its loss when it is not merged on, None if it must be."""

    group: Group
    people: int
    votes: IntArray
    weight: int
    alone: int | None


@dataclass(frozen=True)
class Packing:
    """The groups that were found (none if there are none), what they lose, and the least that any others lose."""

    items: tuple[Item, ...]
    groups: tuple[Group, ...]
    loss: int
    bound: int

    @property
    def found(self) -> bool:
        """Whether there is any way."""
        return bool(self.groups) or not self.items


Permits = Callable[[Sequence[Group], IntArray, IntArray], BoolArray]


def pack(items: Sequence[Item], permits: Permits) -> Packing:
    """Part `items` into groups: single ones at their own loss, merged ones where `permits` allows them."""
    needy = [item for item in items if item.alone is None]
    if not needy:
        loss = sum(item.alone or 0 for item in items)
        return Packing(tuple(items), tuple(item.group for item in items), loss, loss)
    if len(items) <= FEW:
        return _by_subsets(tuple(items), permits)
    return _by_columns(tuple(items), permits)


def _by_subsets(items: tuple[Item, ...], permits: Permits) -> Packing:
    """Dynamic programming over the sets of items that are parted already."""
    count = len(items)
    sets = np.arange(1 << count)
    inside = (sets[:, None] >> np.arange(count)) & 1
    people = inside @ np.array([item.people for item in items], dtype=np.int64)
    votes = inside @ np.stack([item.votes for item in items]).astype(np.int64)
    weight = inside @ np.array([item.weight for item in items], dtype=np.int64)
    members = inside @ np.array([len(item.group) for item in items], dtype=np.int64)
    groups = [_union(items, row) for row in inside]
    possible = permits(groups, people, votes) & (inside.sum(axis=1) > 1)
    never = np.iinfo(np.int64).max // 4
    cost = np.where(possible, weight * (members - 1), never)
    for place, item in enumerate(items):
        cost[1 << place] = never if item.alone is None else item.alone
    best = np.full(len(sets), never)
    best[0] = 0
    came = np.zeros(len(sets), dtype=np.int64)
    for one in range(1, len(sets)):
        low = one & -one
        rest = one ^ low
        below = _subsets(rest)
        total = cost[below | low] + best[rest ^ below]
        place = int(total.argmin())
        best[one], came[one] = min(int(total[place]), never), below[place] | low
    if best[-1] >= never:
        return Packing(items, (), 0, 0)
    found, left = [], len(sets) - 1
    while left:
        found.append(groups[came[left]])
        left ^= int(came[left])
    return Packing(items, tuple(found), int(best[-1]), int(best[-1]))


def _subsets(mask: int) -> IntArray:
    """All subsets of the bits of a mask."""
    found = np.zeros(1, dtype=np.int64)
    while mask:
        low = mask & -mask
        found = np.concatenate([found, found | low])
        mask ^= low
    return found


def _union(items: tuple[Item, ...], row: IntArray) -> Group:
    return frozenset().union(*(items[place].group for place in np.flatnonzero(row).tolist()))


def _by_columns(items: tuple[Item, ...], permits: Permits) -> Packing:
    """An integer program over groups of two and three; what is left over joins one group of all that must be merged."""
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    needy = {place for place, item in enumerate(items) if item.alone is None}
    columns: list[tuple[int, ...]] = [(place,) for place in range(len(items)) if place not in needy]
    costs = [float(items[place].alone or 0) for place in range(len(items)) if place not in needy]
    paired = dict.fromkeys(needy, 3)
    for size in (2, 3):
        tried = [c for c in combinations(range(len(items)), size) if not needy.isdisjoint(c)]
        if size == 3 and len(tried) > MOST_COLUMNS:
            light = sorted(range(len(items)), key=lambda place: items[place].weight)[:60]
            chosen = set(light) | needy
            tried = [c for c in combinations(sorted(chosen), size) if not needy.isdisjoint(c)][:MOST_COLUMNS]
        if not tried:
            continue
        places = np.array(tried)
        people = np.array([item.people for item in items])[places].sum(axis=1)
        votes = np.stack([item.votes for item in items])[places].sum(axis=1)
        groups = [frozenset().union(*(items[place].group for place in column)) for column in tried]
        for place in np.flatnonzero(permits(groups, people, votes)).tolist():
            columns.append(tried[place])
            costs.append(float(_loss(items, tried[place])))
            if size == 2:
                paired.update({one: 2 for one in tried[place] if one in needy})
    bound = sum(items[place].weight * (len(items[place].group) + least - 2) for place, least in paired.items())
    wide = _all_together(items, needy, permits)
    if columns:
        rows = [place for column in columns for place in column]
        starts = np.cumsum([0, *(len(column) for column in columns)])
        matrix = sparse.csc_array((np.ones(len(rows)), rows, starts), shape=(len(items), len(columns)))
        found = milp(
            np.array(costs),
            integrality=np.ones(len(columns), dtype=np.int64),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, 1, 1),
            options={"time_limit": SECONDS, "mip_rel_gap": 0.0},
        )
        if found.x is not None:
            chosen_columns = [columns[place] for place in np.flatnonzero(found.x > 0.5).tolist()]
            loss = sum(_loss(items, column) for column in chosen_columns)
            parts = tuple(frozenset().union(*(items[p].group for p in column)) for column in chosen_columns)
            if wide is None or loss <= wide.loss:
                return Packing(items, parts, loss, min(bound, loss))
    return Packing(items, (), 0, 0) if wide is None else Packing(items, wide.groups, wide.loss, min(bound, wide.loss))


def _loss(items: tuple[Item, ...], column: tuple[int, ...]) -> int:
    if len(column) == 1:
        return items[column[0]].alone or 0
    return sum(items[place].weight for place in column) * (sum(len(items[place].group) for place in column) - 1)


def _all_together(items: tuple[Item, ...], needy: set[int], permits: Permits) -> Packing | None:
    """One group of all that must be merged, with as many others, lightest first, as make it allowed."""
    others = sorted((place for place in range(len(items)) if place not in needy), key=lambda place: items[place].weight)
    column = sorted(needy)
    for more in [None, *others]:
        if more is not None:
            column = [*column, more]
        if len(column) < 2:
            continue
        group = frozenset().union(*(items[place].group for place in column))
        people = np.array([sum(items[place].people for place in column)])
        votes = np.stack([items[place].votes for place in column]).sum(axis=0)[None, :]
        if permits([group], people, votes)[0]:
            rest = [items[place] for place in others if place not in column]
            loss = _loss(items, tuple(column)) + sum(item.alone or 0 for item in rest)
            return Packing(items, (group, *(item.group for item in rest)), loss, 0)
    return None
