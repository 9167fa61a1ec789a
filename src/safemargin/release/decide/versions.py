"""A table of several axes as it could be published: every cell regular, groups merged as far as that takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from safemargin.bounds.rule import hull, suspects
from safemargin.core import BoolArray, Group, IntArray, Limits, Table, label
from safemargin.release.decide.split import Split

MOST_VERSIONS = 3
PARTNERS = 3
"""How many partners of a group are tried, the closest first."""


@dataclass(frozen=True)
class Version:
    """Some axes crossed: how each is parted, with votes and people per cell as arrays over the groups."""

    splits: tuple[Split, ...]
    counts: IntArray
    people: IntArray

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(one.axis.name for one in self.splits)

    @property
    def groups(self) -> tuple[tuple[Group, ...], ...]:
        """How each axis is parted."""
        return tuple(one.groups for one in self.splits)

    @property
    def partitions(self) -> Mapping[str, tuple[Group, ...]]:
        """The same by axis."""
        return dict(zip(self.axes, self.groups, strict=True))

    @property
    def cells(self) -> int:
        """Cells that have people."""
        return int((self.people > 0).sum())

    def irregular(self, limits: Limits) -> BoolArray:
        """Cells with people that may not be printed as they are: not contained, all of one mind, or next to it.

        At the last count within a limit they are not printed either: that a table is missing does not tell, then, that
        one of its cells is outside.
        """
        flat, size = self.counts.reshape(-1, self.counts.shape[-1]), self.people.ravel()
        bad = ((limits.verdicts(flat, flat, size) != 0) | limits.last(flat, size)).any(axis=1)
        answered, most = flat.sum(axis=1), flat.max(axis=1)
        alike = (most == size) | ((most == answered) & (answered > 0) if flat.shape[1] > 1 else answered == 0)
        return np.asarray((bad | alike) & (size > 0)).reshape(self.people.shape)

    def merged(self, axis: int, first: Group, second: Group) -> "Version":
        """The version with two groups of an axis made one."""
        one = self.splits[axis].merge(first, second, "")
        target = np.array([_home(one.groups, group) for group in self.splits[axis].groups])
        splits = tuple(one if a == axis else each for a, each in enumerate(self.splits))
        return Version(
            splits,
            _added(self.counts, axis, target, len(one.groups)),
            _added(self.people, axis, target, len(one.groups)),
        )

    def cell(self, place: Sequence[int]) -> dict[str, str]:
        """The labels of one cell."""
        return {
            one.axis.name: label(one.groups[at], one.axis.categories)
            for one, at in zip(self.splits, place, strict=True)
        }


def crossed_version(table: Table, splits: Sequence[Split]) -> Version:
    """Axes crossed as they are published by themselves."""
    names = tuple(one.axis.name for one in splits)
    shape = [len(one.groups) for one in splits]
    lookups = [np.array([_home(one.groups, frozenset([c])) for c in one.axis.categories]) for one in splits]
    votes, roll = table.margin(names), table.people(names)
    counts = np.zeros((*shape, votes.counts.shape[1]), dtype=np.int64)
    people = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(lookup[votes.codes[:, a]] for a, lookup in enumerate(lookups)), votes.counts)
    np.add.at(people, tuple(lookup[roll.codes[:, a]] for a, lookup in enumerate(lookups)), roll.counts[:, 0])
    return Version(tuple(splits), counts, people)


def versions(finest: Version, limits: Limits) -> tuple[Version, ...]:
    """Versions with nothing but regular cells, each coarser than the one before: a few, or none."""
    found: list[Version] = []
    seen: dict[tuple[Group, ...], bool] = {}
    one: Version | None = finest
    while one is not None and len(found) < MOST_VERSIONS:
        bad = one.irregular(limits)
        if not bad.any():
            bad = _leaks(one, finest, limits, seen)
        if not bad.any() and (not found or one.cells * 2 <= found[-1].cells):
            found.append(one)
        one = _coarser(one, bad, limits)
    return tuple(found)


def _coarser(one: Version, bad: BoolArray, limits: Limits) -> Version | None:
    """The merge of two groups that leaves fewest people in irregular cells, then loses fewest cells."""
    if bad.any():  # the largest cell that is not regular: one of its groups has to grow
        worst = np.unravel_index(int(np.where(bad, one.people, -1).argmax()), bad.shape)
        choices = [(a, one.splits[a].groups[int(at)]) for a, at in enumerate(worst)]
    else:
        choices = [(a, min(split.groups, key=split.size)) for a, split in enumerate(one.splits)]
    ranked: list[tuple[int, int, int, Version]] = []
    for axis, group in choices:
        if len(one.splits[axis].groups) < 3:  # one group alone would say nothing of this axis
            continue
        for partner in islice(one.splits[axis].partners(group), PARTNERS):
            trial = one.merged(axis, group, partner)
            left = int(trial.people[trial.irregular(limits)].sum())
            ranked.append((left, -trial.cells, len(ranked), trial))
    return min(ranked, key=lambda entry: entry[:3])[3] if ranked else None


def _leaks(one: Version, finest: Version, limits: Limits, seen: dict[tuple[Group, ...], bool]) -> BoolArray:
    """Merged cells that an onlooker who knows why cells are merged can see through; `seen` keeps what was found."""
    found = np.zeros(one.people.shape, dtype=bool)
    homes = [
        np.array([_home(mine.groups, group) for group in fine.groups])
        for mine, fine in zip(one.splits, finest.splits, strict=True)
    ]
    inside = [
        [np.flatnonzero(home == at) for at in range(len(mine.groups))]
        for home, mine in zip(homes, one.splits, strict=True)
    ]
    for place in np.argwhere(one.people > 0).tolist():
        parts = [inside[axis][at] for axis, at in enumerate(place)]
        if all(len(part) == 1 for part in parts):
            continue
        cell = tuple(split.groups[at] for split, at in zip(one.splits, place, strict=True))
        if cell not in seen:
            seen[cell] = _is_seen_through(finest.people[np.ix_(*parts)].ravel(), one.counts[tuple(place)], limits)
        found[tuple(place)] = seen[cell]
    return found


def _is_seen_through(sizes: IntArray, counts: IntArray, limits: Limits) -> bool:
    """Whether a merged cell tells too much about one of those it is made of, for its size alone."""
    named = {str(at): int(size) for at, size in enumerate(sizes.tolist()) if size}
    parts = suspects(frozenset(named), named, limits.kappa) if len(named) > 1 else []
    if not parts:
        return False
    people = np.array([size for _, size in parts])
    lower, upper = hull(people, counts, limits)
    return bool((limits.verdicts(lower, upper, people) == 2).any())


def _home(groups: Sequence[Group], part: Group) -> int:
    return next(at for at, group in enumerate(groups) if part <= group)


def _added(values: IntArray, axis: int, target: IntArray, count: int) -> IntArray:
    """Slices along an axis added up where they have the same target."""
    moved = np.moveaxis(values, axis, 0)
    total = np.zeros((count, *moved.shape[1:]), dtype=np.int64)
    np.add.at(total, target, moved)
    return np.moveaxis(total, 0, axis)
