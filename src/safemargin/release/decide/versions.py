"""A table of several axes as it could be published: every cell regular, groups merged as far as that takes."""

from itertools import islice

import numpy as np

from safemargin.core import BoolArray, Group, Limits
from safemargin.release.decide.cells import looks_through
from safemargin.release.decide.split import Version, group_place

MOST_VERSIONS = 3
PARTNERS = 3
"""How many partners of a group are tried, the closest first."""


def versions(finest: Version, limits: Limits) -> tuple[Version, ...]:
    """Versions with nothing but regular cells, each coarser than the one before: a few, or none."""
    kept: list[Version] = []
    seen: dict[tuple[Group, ...], bool] = {}
    version: Version | None = finest
    while version is not None and len(kept) < MOST_VERSIONS:
        bad = version.irregular(limits)
        if not bad.any():
            bad = _leaks(version, finest, limits, seen)
        # Each further version costs tests, so the next one has at most half the cells.
        if not bad.any() and (not kept or version.cells * 2 <= kept[-1].cells):
            kept.append(version)
        version = _coarser(version, bad, limits)
    return tuple(kept)


def _coarser(version: Version, bad: BoolArray, limits: Limits) -> Version | None:
    """The merge of two groups that leaves fewest people in irregular cells, then loses fewest cells."""
    if bad.any():  # the largest cell that is not regular: one of its groups has to grow
        worst = np.unravel_index(int(np.where(bad, version.people, -1).argmax()), bad.shape)
        choices = [(a, version.splits[a].groups[int(position)]) for a, position in enumerate(worst)]
    else:
        choices = [(a, min(split.groups, key=split.size)) for a, split in enumerate(version.splits)]
    ranked: list[tuple[int, int, int, Version]] = []
    for axis, group in choices:
        if len(version.splits[axis].groups) < 3:  # one group alone would say nothing of this axis
            continue
        for partner in islice(version.splits[axis].partners(group), PARTNERS):
            trial = version.merged(axis, group, partner)
            left = int(trial.people[trial.irregular(limits)].sum())
            ranked.append((left, -trial.cells, len(ranked), trial))
    return min(ranked, key=lambda entry: entry[:3])[3] if ranked else None


def _leaks(version: Version, finest: Version, limits: Limits, seen: dict[tuple[Group, ...], bool]) -> BoolArray:
    """Merged cells that an onlooker who knows why cells are merged can see through; `seen` keeps what was found."""
    leaking = np.zeros(version.people.shape, dtype=bool)
    homes = [
        np.array([group_place(coarse.groups, group) for group in fine.groups])
        for coarse, fine in zip(version.splits, finest.splits, strict=True)
    ]
    inside = [
        [np.flatnonzero(home == position) for position in range(len(coarse.groups))]
        for home, coarse in zip(homes, version.splits, strict=True)
    ]
    for index in np.argwhere(version.people > 0).tolist():
        parts = [inside[axis][position] for axis, position in enumerate(index)]
        if all(len(part) == 1 for part in parts):
            continue
        cell = tuple(split.groups[position] for split, position in zip(version.splits, index, strict=True))
        if cell not in seen:
            seen[cell] = looks_through(finest.people[np.ix_(*parts)].ravel(), version.counts[tuple(index)], limits)
        leaking[tuple(index)] = seen[cell]
    return leaking
