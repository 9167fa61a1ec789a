"""Which categories of an axis to merge so that every group is allowed and as little as possible is lost.

Objects
    item        a group of categories that stays together, with people, votes and weight
    permits     which groups may be published; any predicate of people and votes
    loss        of a group: weight of its members times how many others each is merged with; of a partition: the sum
    bound       a number that no permitted partition loses less than

Algorithms
    ordered     segments of neighbours: best[end] = min over begin of best[begin] + loss(begin..end), exact, O(n^2)
    hierarchy   whole children of one area are merged: solved from the leaves up, exact where areas have few children
    few items   every partition, by dynamic programming over subsets, 3^n steps: exact up to `FEW` items
    many items  one group after the other, each of as few as possible; the bound says how far from the best that can be

Invariants
    * Every group that is returned is permitted, or no groups are returned at all.
    * `loss == bound` if and only if the partition is known to be the best.
    * Results depend on the order of categories only through the axis: equal losses are broken by a fixed order.

Example
    Ages with 5, 20, 3 and 30 people, at least 10 in each group: the two small ones join their smaller neighbours.

    >>> ages = Axis("age", ("0", "1", "2", "3"), ordered=True)
    >>> people = np.array([5, 20, 3, 30])
    >>> problem = Merging(ages, people, np.zeros((4, 1), dtype=int), people, lambda size, votes: size >= 10)
    >>> [sorted(group) for group in coarsen(problem).groups]
    [['0', '1', '2'], ['3']]

    Without an order, 5 and 3 join the 20 all the same: 5 and 3 alone would be 8, and the 30 would lose more.

    >>> wards = Axis("ward", ("0", "1", "2", "3"))
    >>> found = coarsen(Merging(wards, people, np.zeros((4, 1), dtype=int), people, lambda size, votes: size >= 10))
    >>> sorted(map(sorted, found.groups)), found.loss, found.bound
    ([['0', '1', '2'], ['3']], 56, 56)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from safemargin.core import Axis, BoolArray, Group, IntArray

FEW = 12
"""Things up to which every way to part them is considered."""


@dataclass(frozen=True)
class Item:
    """A group of categories that stays together; `alone` is its loss when it is not merged on, None if it must be."""

    group: Group
    people: int
    votes: IntArray
    weight: int
    alone: int | None


@dataclass(frozen=True)
class Coarsening:
    """Groups that are all allowed, what they lose, and the least that any such groups lose; no groups if none are.

    `loss - bound` is how much better an unknown partition could be at most; 0 for all exact algorithms.
    """

    groups: tuple[Group, ...]
    loss: int
    bound: int

    @property
    def found(self) -> bool:
        """Whether there is any way."""
        return bool(self.groups)


Permits = Callable[[Sequence[Group], IntArray, IntArray], BoolArray]


def pack(items: Sequence[Item], permits: Permits) -> Coarsening:
    """Part `items` into groups: single ones at their own loss, merged ones where `permits` allows them.

    Exact for up to `FEW` items, by subsets; beyond, groups are grown greedily and `bound` says what that may cost.
    """
    needy = [item for item in items if item.alone is None]
    if not needy:
        loss = sum(item.alone or 0 for item in items)
        return Coarsening(tuple(item.group for item in items), loss, loss)
    if len(items) <= FEW:
        return _by_subsets(tuple(items), permits)
    return _Greedy(tuple(items), permits).packing()


def _by_subsets(items: tuple[Item, ...], permits: Permits) -> Coarsening:
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
    # A quarter of the largest integer: the sum of two such costs does not overflow.
    never = np.iinfo(np.int64).max // 4
    cost = np.where(possible, weight * (members - 1), never)
    for bit, item in enumerate(items):
        cost[1 << bit] = never if item.alone is None else item.alone
    best = np.full(len(sets), never)
    best[0] = 0
    came = np.zeros(len(sets), dtype=np.int64)
    for mask in range(1, len(sets)):
        low = mask & -mask
        rest = mask ^ low
        below = _subsets(rest)
        # The lowest item must be in some group; fixing it there counts every partition once.
        total = cost[below | low] + best[rest ^ below]
        cheapest = int(total.argmin())
        best[mask], came[mask] = min(int(total[cheapest]), never), below[cheapest] | low
    if best[-1] >= never:
        return Coarsening((), 0, 0)
    parts, remaining = [], len(sets) - 1
    while remaining:
        parts.append(groups[came[remaining]])
        remaining ^= int(came[remaining])
    return Coarsening(tuple(parts), int(best[-1]), int(best[-1]))


def _subsets(mask: int) -> IntArray:
    """All subsets of the bits of a mask.

    >>> _subsets(5).tolist()
    [0, 1, 4, 5]
    """
    subsets = np.zeros(1, dtype=np.int64)
    while mask:
        low = mask & -mask
        subsets = np.concatenate([subsets, subsets | low])
        mask ^= low
    return subsets


def _union(items: tuple[Item, ...], row: IntArray) -> Group:
    """All categories of the items in a row of a subset table."""
    return frozenset().union(*(items[code].group for code in np.flatnonzero(row).tolist()))


class _Unions(Sequence[Group]):
    """The groups of some items with one more each; put together only where somebody asks for one."""

    def __init__(self, items: Sequence[Item], part: Sequence[int], more: IntArray) -> None:
        self._items, self._more = items, more
        self._part: Group = frozenset().union(*(items[code].group for code in part))

    def __len__(self) -> int:
        return len(self._more)

    def __getitem__(self, place: Any) -> Any:
        return self._part | self._items[int(self._more[place])].group


class _Greedy:
    """Groups of few items each, the largest that must be merged first; what is left over joins the cheapest groups."""

    def __init__(self, items: tuple[Item, ...], permits: Permits) -> None:
        self.items, self.permits = items, permits
        self.people = np.array([item.people for item in items], dtype=np.int64)
        self.votes = np.stack([item.votes for item in items]).astype(np.int64)
        self.weight = np.array([item.weight for item in items], dtype=np.int64)
        self.members = np.array([len(item.group) for item in items], dtype=np.int64)
        self.parts: list[list[int]] = []

    def packing(self) -> Coarsening:
        """The groups; none if some items could not be placed."""
        needy = np.array([code for code, item in enumerate(self.items) if item.alone is None], dtype=np.int64)
        free = needy[np.argsort(self.people[needy], kind="stable")]
        while len(free) and (part := self._grown(int(free[-1]), free[:-1])) is not None:
            self.parts.append(part)
            free = free[~np.isin(free, part)]
        self.parts += [[code] for code, item in enumerate(self.items) if item.alone is not None]
        for code in free[::-1].tolist():
            if not self._joined(code):
                return Coarsening((), 0, 0)
        loss = sum(self._loss(part) for part in self.parts)
        # Whatever the others do, an item that must be merged shares its group with one other at least.
        bound = int((self.weight * self.members)[needy].sum())
        groups = tuple(frozenset().union(*(self.items[code].group for code in part)) for part in self.parts)
        return Coarsening(groups, loss, min(bound, loss))

    def _grown(self, first: int, mates: IntArray) -> list[int] | None:
        """The first item with the smallest mate that completes a group; if none does, the largest joins as well."""
        part = [first]
        while len(mates):
            allowed = self._allowed(part, mates)
            if allowed.any():
                return [*part, int(mates[int(allowed.argmax())])]
            part.append(int(mates[-1]))
            mates = mates[:-1]
        return None

    def _joined(self, code: int) -> bool:
        """Add an item to the group where that loses least; false if no group is permitted with it."""
        if not self.parts:
            return False
        people = np.array([self.people[part].sum() for part in self.parts]) + self.people[code]
        votes = np.stack([self.votes[part].sum(axis=0) for part in self.parts]) + self.votes[code]
        more = [self._loss([*part, code]) - self._loss(part) for part in self.parts]
        for place in np.argsort(more, kind="stable").tolist():
            group = frozenset().union(*(self.items[member].group for member in [*self.parts[place], code]))
            if self.permits([group], people[[place]], votes[[place]])[0]:
                self.parts[place].append(code)
                return True
        return False

    def _allowed(self, part: list[int], mates: IntArray) -> BoolArray:
        """Which mates complete a part to a group that is permitted."""
        people, votes = self.people[part].sum() + self.people[mates], self.votes[part].sum(axis=0) + self.votes[mates]
        return self.permits(_Unions(self.items, part, mates), people, votes)

    def _loss(self, part: list[int]) -> int:
        """What a part loses: its own loss if it is one item, else that of merging its members."""
        if len(part) == 1:
            return self.items[part[0]].alone or 0
        return int(self.weight[part].sum()) * (int(self.members[part].sum()) - 1)


Allowed = Callable[[IntArray, IntArray], BoolArray]
"""Per group, from its people and its votes per option, whether it may be published."""

NO_WAY = 2**62
"""More than any loss: there is no way to part what comes before."""


@dataclass(frozen=True)
class Merging:
    """A problem: the categories of an axis with people, votes and weights, and which groups may be published.

    `start` are groups that stay together, each category by itself if none are given. Categories that are `apart` never
    share a group.
    """

    axis: Axis
    people: IntArray
    votes: IntArray
    weights: IntArray
    allowed: Allowed
    start: tuple[Group, ...] = ()
    apart: frozenset[Group] = frozenset()

    def item(self, group: Group, alone: int | None = None) -> Item:
        """A group as one thing."""
        codes = sorted(self.axis.index[category] for category in group)
        return Item(group, int(self.people[codes].sum()), self.votes[codes].sum(axis=0), self.weight(group), alone)

    def weight(self, group: Group) -> int:
        """What the members of a group are worth."""
        return int(sum(self.weights[self.axis.index[category]] for category in group))

    def loss(self, group: Group) -> int:
        """What is lost if only the group is published, not its members."""
        return self.weight(group) * (len(group) - 1)

    def permits(self, groups: Sequence[Group], people: IntArray, votes: IntArray) -> BoolArray:
        """Which of some groups may be published."""
        possible = np.asarray(self.allowed(people, votes)).copy()
        for row in np.flatnonzero(possible).tolist() if self.apart else ():
            possible[row] = not any(pair <= groups[row] for pair in self.apart)
        return possible


def coarsen(problem: Merging) -> Coarsening:
    """Groups with the least loss that could be found; with several hierarchies, along the best of them.

    The bound is that of all hierarchies together, so it holds whichever is taken.
    """
    start = problem.start or tuple(frozenset([category]) for category in problem.axis.categories)
    if problem.axis.ordered:
        return _neighbours(problem, start)
    trees = problem.axis.hierarchy.trees if problem.axis.hierarchy else ()
    coarsenings = [_along(problem, start, tree) for tree in trees if tree] or [
        pack([_leaf(problem, group) for group in start], problem.permits)
    ]
    possible = [coarsening for coarsening in coarsenings if coarsening.found]
    bound = min((coarsening.bound for coarsening in possible), default=0)
    best = min(possible, key=lambda coarsening: coarsening.loss, default=Coarsening((), 0, 0))
    return Coarsening(best.groups, best.loss, bound)


def _neighbours(problem: Merging, start: tuple[Group, ...]) -> Coarsening:
    """Segments of the order, by dynamic programming from the left over sums of everything before."""
    order = sorted(start, key=lambda group: min(problem.axis.index[category] for category in group))
    items = [problem.item(group) for group in order]
    people = _before([item.people for item in items])
    weight = _before([item.weight for item in items])
    members = _before([len(group) for group in order])
    votes = _before([item.votes for item in items])
    first = _first_begins(problem, order)
    best, came = np.zeros(len(order) + 1, dtype=np.int64), np.zeros(len(order) + 1, dtype=np.int64)
    for end in range(1, len(order) + 1):
        begins = np.arange(first[end], end)
        possible = np.asarray(problem.allowed(people[end] - people[begins], votes[end] - votes[begins])).copy()
        possible &= best[begins] < NO_WAY
        loss = (weight[end] - weight[begins]) * (members[end] - members[begins] - 1)
        cost = np.where(possible, best[begins] + loss, NO_WAY)
        cheapest = int(cost.argmin()) if len(cost) else 0
        best[end], came[end] = (cost[cheapest], begins[cheapest]) if len(cost) else (NO_WAY, 0)
    if best[-1] >= NO_WAY:
        return Coarsening((), 0, 0)
    groups, end = [], len(order)
    while end:
        groups.append(frozenset().union(*order[int(came[end]) : end]))
        end = int(came[end])
    return Coarsening(tuple(reversed(groups)), int(best[-1]), int(best[-1]))


def _before(values: Sequence[int] | Sequence[IntArray]) -> IntArray:
    """Sums of all values before each position, and of all of them.

    >>> _before([2, 3]).tolist()
    [0, 2, 5]
    """
    rows = np.asarray(values, dtype=np.int64)
    return np.concatenate([np.zeros_like(rows[:1]), np.cumsum(rows, axis=0)])


def _first_begins(problem: Merging, order: Sequence[Group]) -> IntArray:
    """Per end of a segment, the first position where it may begin without merging what is to stay apart.

    A pair that stands at positions a < b forbids segments that hold both: those that end after b must begin after a.
    """
    position = {category: index for index, group in enumerate(order) for category in group}
    first = np.zeros(len(order) + 1, dtype=np.int64)
    for pair in problem.apart:
        positions = [position[category] for category in pair if category in position]
        if len(positions) == len(pair):
            first[max(positions) + 1] = max(first[max(positions) + 1], min(positions) + 1)
    return np.maximum.accumulate(first)


def _leaf(problem: Merging, group: Group) -> Item:
    """A group as an item, with the loss of publishing it by itself where that is permitted."""
    item = problem.item(group)
    single = problem.permits([group], np.array([item.people]), item.votes[None, :])[0]
    return problem.item(group, problem.loss(group) if single else None)


def _along(problem: Merging, start: tuple[Group, ...], parents: Mapping[str, str]) -> Coarsening:
    """From the leaves up: the best for each area by itself, then what its children are merged to.

    A child that is published as one of the merged items gives up its own partition. The bound packs the least losses of
    children, where these were not solved exactly.
    """
    inside: dict[str | None, list[Item]] = {}
    nodes: dict[str | None, set[str]] = {}
    for group in start:
        path = _shared_path(group, parents)
        inside.setdefault(path[0] if path else None, []).append(_leaf(problem, group))
        for child, parent in zip(path, [*path[1:], None], strict=False):
            nodes.setdefault(parent, set()).add(child)

    def solve(node: str | None) -> _Area:
        items, below = list(inside.get(node, [])), {}
        for child in sorted(nodes.get(node, ())):
            area = solve(child)
            whole = frozenset().union(*(item.group for item in area.items))
            below[whole] = area
            items.append(problem.item(whole, area.best.loss if area.best.found else None))
        packing = pack(items, problem.permits)
        # Where a child was not solved exactly, its loss is no bound: pack again with what children lose at least.
        if packing.found and any(area.best.loss != area.best.bound for area in below.values()):
            least = [problem.item(item.group, _least(item, below)) for item in items]
            bound = min(packing.bound, pack(least, problem.permits).bound)
            packing = Coarsening(packing.groups, packing.loss, bound)
        return _Area(tuple(items), packing, below)

    top = solve(None)
    return Coarsening(tuple(top.groups()), top.best.loss, top.best.bound)


@dataclass(frozen=True)
class _Area:
    """How the children of an area are parted, and the areas among them."""

    items: tuple[Item, ...]
    best: Coarsening
    below: Mapping[Group, "_Area"]

    def groups(self) -> list[Group]:
        """What is published of it."""
        single = {item.group for item in self.items}
        published: list[Group] = []
        for group in self.best.groups:
            published += self.below[group].groups() if group in single and group in self.below else [group]
        return published


def _least(item: Item, below: Mapping[Group, _Area]) -> int | None:
    """What an item by itself loses at least."""
    return item.alone if item.alone is None or item.group not in below else below[item.group].best.bound


def _shared_path(group: Group, parents: Mapping[str, str]) -> list[str]:
    """The areas that hold all of a group, from the smallest up."""
    paths = []
    for category in group:
        path, node = [], category
        while node in parents:
            node = parents[node]
            path.append(node)
        paths.append(path)
    return [node for node in paths[0] if all(node in path for path in paths)]
