"""A table of several axes as it could be published: every cell regular, groups merged as far as that takes."""

from itertools import islice

import numpy as np

from safemargin.bounds.rule import hull, suspects
from safemargin.core import BoolArray, Group, IntArray, Limits
from safemargin.release.decide.split import Version, group_place

MOST_VERSIONS = 3
PARTNERS = 3
"""How many partners of a group are tried, the closest first."""


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
        np.array([group_place(mine.groups, group) for group in fine.groups])
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
    """Whether a merged cell discloses one of those it is made of, for its size alone."""
    named = {str(at): int(size) for at, size in enumerate(sizes.tolist()) if size}
    parts = suspects(frozenset(named), named, limits.kappa) if len(named) > 1 else []
    if not parts:
        return False
    people = np.array([size for _, size in parts])
    lower, upper = hull(people, counts, limits)
    return bool((limits.verdicts(lower, upper, people) == 2).any())
