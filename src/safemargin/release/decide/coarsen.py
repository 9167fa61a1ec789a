"""Which categories of an axis to merge so that every group is allowed and as little as possible is lost.

The loss of a group is the weight of its members times how many others each is thrown together with. Ordered categories
are merged with neighbours only: exact by dynamic programming. Along a hierarchy, whole children of one area are merged:
exact by dynamic programming from the leaves up, where each area has few children. Otherwise any two may be merged,
which is exact for few categories; for many an integer program over groups of two and three finds the merges, and a
bound says how far from the best they can be.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import Axis, BoolArray, Group, IntArray
from safemargin.release.decide.pack import Item, Packing, pack

Allowed = Callable[[IntArray, IntArray], BoolArray]
"""Per group, from its people and its votes per option, whether it may be published."""

NO_WAY = 2**62
"""More than any loss: there is no way to part what comes before."""


@dataclass(frozen=True)
class Coarsening:
    """Groups that are all allowed, what they lose, and the least that any such groups lose; no groups if none are."""

    groups: tuple[Group, ...]
    loss: int
    bound: int

    @property
    def found(self) -> bool:
        """Whether there is any way."""
        return bool(self.groups)


@dataclass(frozen=True)
class Merging:
    """A problem: the categories of an axis with people, votes and weights, and which groups may be published.

    `start` are groups that stay together, each category by itself if none are given. Categories that are `apart` never
    share a group, and groups that are `banned` do not occur as they are.
    """

    axis: Axis
    people: IntArray
    votes: IntArray
    weights: IntArray
    allowed: Allowed
    start: tuple[Group, ...] = ()
    apart: frozenset[Group] = frozenset()
    banned: frozenset[Group] = frozenset()

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
        for place in np.flatnonzero(possible).tolist() if self.apart or self.banned else ():
            group = groups[place]
            possible[place] = group not in self.banned and not any(pair <= group for pair in self.apart)
        return possible


def coarsen(problem: Merging) -> Coarsening:
    """Groups with the least loss that could be found; with several hierarchies, along the best of them."""
    start = problem.start or tuple(frozenset([category]) for category in problem.axis.categories)
    if problem.axis.ordered:
        return _neighbours(problem, start)
    trees = problem.axis.hierarchy.trees if problem.axis.hierarchy else ()
    found = [_along(problem, start, tree) for tree in trees if tree] or [_freely(problem, start)]
    possible = [one for one in found if one.found]
    bound = min((one.bound for one in possible), default=0)
    best = min(possible, key=lambda one: one.loss, default=Coarsening((), 0, 0))
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
    banned = _segments(problem.banned, order)
    best, came = np.zeros(len(order) + 1, dtype=np.int64), np.zeros(len(order) + 1, dtype=np.int64)
    for end in range(1, len(order) + 1):
        begins = np.arange(first[end], end)
        possible = np.asarray(problem.allowed(people[end] - people[begins], votes[end] - votes[begins])).copy()
        possible &= best[begins] < NO_WAY
        possible[[begin - first[end] for begin in banned.get(end, ()) if begin >= first[end]]] = False
        loss = (weight[end] - weight[begins]) * (members[end] - members[begins] - 1)
        cost = np.where(possible, best[begins] + loss, NO_WAY)
        place = int(cost.argmin()) if len(cost) else 0
        best[end], came[end] = (cost[place], begins[place]) if len(cost) else (NO_WAY, 0)
    if best[-1] >= NO_WAY:
        return Coarsening((), 0, 0)
    groups, end = [], len(order)
    while end:
        groups.append(frozenset().union(*order[int(came[end]) : end]))
        end = int(came[end])
    return Coarsening(tuple(reversed(groups)), int(best[-1]), int(best[-1]))


def _before(values: Sequence[int] | Sequence[IntArray]) -> IntArray:
    """Sums of all values before each place, and of all of them."""
    rows = np.asarray(values, dtype=np.int64)
    return np.concatenate([np.zeros_like(rows[:1]), np.cumsum(rows, axis=0)])


def _first_begins(problem: Merging, order: Sequence[Group]) -> IntArray:
    """Per end of a segment, the first place where it may begin without throwing together what is to stay apart."""
    place = {category: at for at, group in enumerate(order) for category in group}
    first = np.zeros(len(order) + 1, dtype=np.int64)
    for pair in problem.apart:
        at = [place[category] for category in pair if category in place]
        if len(at) == len(pair):
            first[max(at) + 1] = max(first[max(at) + 1], min(at) + 1)
    return np.maximum.accumulate(first)


def _segments(groups: frozenset[Group], order: Sequence[Group]) -> dict[int, list[int]]:
    """Groups that are segments of the order: where they begin, by where they end."""
    found: dict[int, list[int]] = {}
    for group in groups:
        at = [place for place, part in enumerate(order) if part <= group]
        if at and frozenset().union(*order[at[0] : at[-1] + 1]) == group:
            found.setdefault(at[-1] + 1, []).append(at[0])
    return found


def _freely(problem: Merging, start: tuple[Group, ...]) -> Coarsening:
    found = pack([_leaf(problem, group) for group in start], problem.permits)
    return Coarsening(found.groups, found.loss, found.bound)


def _leaf(problem: Merging, group: Group) -> Item:
    item = problem.item(group)
    single = problem.permits([group], np.array([item.people]), item.votes[None, :])[0]
    return problem.item(group, problem.loss(group) if single else None)


def _along(problem: Merging, start: tuple[Group, ...], parents: Mapping[str, str]) -> Coarsening:
    """From the leaves up: the best for each area by itself, then what its children are merged to."""
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
            whole = frozenset().union(*(item.group for item in area.packing.items))
            below[whole] = area
            items.append(problem.item(whole, area.packing.loss if area.packing.found else None))
        found = pack(items, problem.permits)
        if found.found and any(area.packing.loss != area.packing.bound for area in below.values()):
            least = [problem.item(one.group, _least(one, below)) for one in items]
            bound = min(found.bound, pack(least, problem.permits).bound)
            found = Packing(found.items, found.groups, found.loss, bound)
        return _Area(found, below)

    top = solve(None)
    return Coarsening(tuple(top.groups()), top.packing.loss, top.packing.bound)


@dataclass(frozen=True)
class _Area:
    """How the children of an area are parted, and the areas among them."""

    packing: Packing
    below: Mapping[Group, "_Area"]

    def groups(self) -> list[Group]:
        """What is published of it."""
        single = {item.group for item in self.packing.items}
        found: list[Group] = []
        for group in self.packing.groups:
            found += self.below[group].groups() if group in single and group in self.below else [group]
        return found


def _least(item: Item, below: Mapping[Group, _Area]) -> int | None:
    """What an item by itself loses at least."""
    return item.alone if item.alone is None or item.group not in below else below[item.group].packing.bound


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
