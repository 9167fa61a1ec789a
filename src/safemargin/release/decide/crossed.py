"""Tables of several axes as they could be published: groups merged, or single cells suppressed with others as covers.

Objects
    version     axes crossed, each as its partition, with votes and people per cell (`Version`)
    irregular   a cell with people that is not contained in the strict limits, or all of one mind
    cover       a cell that is suppressed for others

Merged groups
    Every cell is regular, and nobody who knows why cells are merged sees through one: given that one of the cells
    inside
    was irregular, the hull over which of them it was still does not disclose any (`looks_through`, `bounds.hull`).

Single cells
    One that may not be printed is suppressed, and so is every cell of a group that the table of its axis suppresses.
    What the suppressed cells of a published group add up to follows by subtraction. So there are at least two of them,
    and what they add up to is within the strict limits; until then one more cell of the group is suppressed: the
    smallest with at least a third as many people, first among those whose other groups have suppressed cells too, where
    a subtraction ends at two unknown counts.

Invariants
    * The certificate of all tables together decides; these rules only propose.
    * Each cell that it finds disclosed, or leaves undecided, gets one more cover in every group that it lies in, so
      rounds end with a safe version or none.
    * Covers are chosen by people, never by votes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from safemargin.bounds import Exposed, Proof, hull, suspects
from safemargin.core import JOINER, BoolArray, Group, IntArray, Limits, PublishedTable, Table, label, printed
from safemargin.release.rule.hide import is_regular, next_cover
from safemargin.release.rule.split import AxisPartition


@dataclass(frozen=True)
class Version:
    """Some axes crossed: how each is parted, with votes and people per cell as arrays over the groups.

    `counts` has the shape (groups of axis 1, ..., options) and `people` the same without options. `hidden` says which
    cells are suppressed, if any are. Values: methods return other versions.
    """

    splits: tuple[AxisPartition, ...]
    counts: IntArray
    people: IntArray
    hidden: BoolArray | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(split.axis.name for split in self.splits)

    @property
    def groups(self) -> tuple[tuple[Group, ...], ...]:
        """How each axis is parted."""
        return tuple(split.groups for split in self.splits)

    @property
    def partitions(self) -> Mapping[str, tuple[Group, ...]]:
        """The same by axis."""
        return dict(zip(self.axes, self.groups, strict=True))

    @property
    def cells(self) -> int:
        """Cells that have people and are shown."""
        return int(((self.people > 0) & ~self.hidden).sum() if self.hidden is not None else (self.people > 0).sum())

    @property
    def hidden_cells(self) -> tuple[tuple[Group, ...], ...]:
        """The cells with people that are suppressed, by their groups."""
        if self.hidden is None:
            return ()
        places = np.argwhere(self.hidden & (self.people > 0)).tolist()
        return tuple(tuple(groups[code] for groups, code in zip(self.groups, place, strict=True)) for place in places)

    def table(self, table: Table) -> PublishedTable:
        """The table that would be published."""
        return printed(table, self.axes, self.partitions, self.hidden_cells)

    def irregular(self, limits: Limits) -> BoolArray:
        """Cells with people that may not be printed as they are: not contained in the limits, or all of one mind.

        The strict limits are meant: a missing table then does not disclose that one of its cells is outside the target.
        """
        flat, size = self.counts.reshape(-1, self.counts.shape[-1]), self.people.ravel()
        bad = (limits.strict.verdicts(flat, flat, size) != 0).any(axis=1)
        answered, most = flat.sum(axis=1), flat.max(axis=1)
        # If all who answered chose alike, the cell discloses them, even if silence keeps the share within the limits.
        alike = (most == size) | ((most == answered) & (answered > 0) if flat.shape[1] > 1 else answered == 0)
        return np.asarray((bad | alike) & (size > 0)).reshape(self.people.shape)

    def merged(self, axis: int, first: Group, second: Group) -> "Version":
        """The version with two groups of an axis made one."""
        merged = self.splits[axis].merge(first, second, "")
        target = np.array([group_place(merged.groups, group) for group in self.splits[axis].groups])
        splits = tuple(merged if a == axis else split for a, split in enumerate(self.splits))
        return Version(
            splits,
            _added(self.counts, axis, target, len(merged.groups)),
            _added(self.people, axis, target, len(merged.groups)),
        )

    def cell(self, position: Sequence[int]) -> dict[str, str]:
        """The labels of one cell."""
        return {
            split.axis.name: label(split.groups[code], split.axis.categories)
            for split, code in zip(self.splits, position, strict=True)
        }


def crossed_version(table: Table, splits: Sequence[AxisPartition]) -> Version:
    """Axes crossed as they are published by themselves."""
    names = tuple(split.axis.name for split in splits)
    shape = [len(split.groups) for split in splits]
    lookups = [np.array([group_place(split.groups, frozenset([c])) for c in split.axis.categories]) for split in splits]
    votes, roll = table.margin(names), table.people(names)
    counts = np.zeros((*shape, votes.counts.shape[1]), dtype=np.int64)
    people = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(lookup[votes.codes[:, a]] for a, lookup in enumerate(lookups)), votes.counts)
    np.add.at(people, tuple(lookup[roll.codes[:, a]] for a, lookup in enumerate(lookups)), roll.counts[:, 0])
    return Version(tuple(splits), counts, people)


def group_place(groups: Sequence[Group], part: Group) -> int:
    """Which of the groups holds a part."""
    return next(position for position, group in enumerate(groups) if part <= group)


def _added(values: IntArray, axis: int, target: IntArray, count: int) -> IntArray:
    """Slices along an axis added up where they have the same target."""
    moved = np.moveaxis(values, axis, 0)
    total = np.zeros((count, *moved.shape[1:]), dtype=np.int64)
    np.add.at(total, target, moved)
    return np.moveaxis(total, 0, axis)


ROUNDS = 12
"""Tests of one table, each with more covers than the one before."""
AT_ONCE = 20
"""Disclosed cells that get a cover before the next test."""
LEAST_CELLS = 2
Prove = Callable[[Version], tuple[bool, Proof]]
"""Whether a table may be published beside single axes, and the proof or its failure."""


def with_cells_suppressed(finest: Version, limits: Limits, prove: Prove) -> Version | None:
    """The table with single cells suppressed that passes the test; none if that takes too many of them.

    Rounds of covering and testing: first what every published group needs, then more covers for each cell that the test
    names. `prove` tests a version beside the single axes. Ends after `ROUNDS` tests, or when no cell is left to show.
    """
    hidden = finest.irregular(limits)
    for axis, split in enumerate(finest.splits):
        for code, group in enumerate(split.groups):
            if group in split.flagged:
                _slice(hidden, axis, code)[...] = True
    hidden &= finest.people > 0
    for _ in range(ROUNDS):
        _cover(finest, hidden, limits)
        version = replace(finest, hidden=hidden.copy())
        if not version.cells:
            return None
        holds, proof = (False, Proof((), {})) if _is_seen_through(version, limits) else prove(version)
        if holds:
            return version
        before = int(hidden.sum())
        for exposed in (proof.exposed or proof.doubtful)[:AT_ONCE]:
            _cover_exposed(finest, hidden, exposed)
        if int(hidden.sum()) == before:
            _cover_all(finest, hidden)
    return None


def _slice(values: BoolArray, axis: int, code: int) -> BoolArray:
    """The cells of one group of an axis, as a view."""
    view: BoolArray = np.moveaxis(values, axis, 0)[code, ...]
    return view


def _cover(version: Version, hidden: BoolArray, limits: Limits) -> None:
    """Suppress cells until what those of every published group add up to may be known."""
    before = -1
    while int(hidden.sum()) > before:
        before = int(hidden.sum())
        for axis, code in _published(version):
            counts = np.moveaxis(version.counts, axis, 0)[code]
            people = np.moveaxis(version.people, axis, 0)[code]
            inside = _slice(hidden, axis, code)
            while inside.any() and not _is_covered(people[inside], counts[inside], limits):
                if not _suppress_one(version, hidden, axis, code):
                    break


def _published(version: Version) -> list[tuple[int, int]]:
    """Groups whose sum is published, as axis and place."""
    return [
        (axis, code)
        for axis, split in enumerate(version.splits)
        for code, group in enumerate(split.groups)
        if group not in split.flagged
    ]


def _is_covered(people: IntArray, counts: IntArray, limits: Limits) -> bool:
    """Whether suppressed cells of one group are two or more and add up to something that may be known."""
    pool, size = counts.sum(axis=0)[None, :], np.array([people.sum()])
    return len(people) >= LEAST_CELLS and bool(is_regular(pool, size, limits.strict)[0])


def _suppress_one(version: Version, hidden: BoolArray, axis: int, code: int) -> bool:
    """Suppress one more cell of a group, if one with people is left."""
    people = version.people.copy()
    np.moveaxis(people, axis, 0)[np.arange(people.shape[axis]) != code] = 0
    needed = int(people[hidden].sum())
    people[hidden] = 0
    # A cell in a row and a column that have suppressed cells already needs no further ones there.
    crossing = people > 0
    for other in range(people.ndim):
        if other != axis:
            crossing &= hidden.any(axis=tuple(a for a in range(people.ndim) if a != other), keepdims=True)
    left = np.flatnonzero(np.where(crossing, people, 0) if crossing.any() else people)
    if not len(left):
        return False
    left = left[np.argsort(people.ravel()[left], kind="stable")]
    hidden.ravel()[left[next_cover(people.ravel()[left], needed)]] = True
    return True


def _cover_exposed(version: Version, hidden: BoolArray, exposed: Exposed) -> None:
    """Suppress the shown cells that an exposed one is made of, the smallest first; else cover it along every axis."""
    inside = version.people > 0
    for axis, split in enumerate(version.splits):
        if (name := exposed.cell.get(split.axis.name)) is not None:
            members = frozenset([name] if name in split.axis.index else name.split(JOINER))
            far = [code for code, group in enumerate(split.groups) if not group & members]
            np.moveaxis(inside, axis, 0)[far] = False
    shown = np.flatnonzero(inside & ~hidden)
    if len(shown) and not hidden[inside].any():
        hidden.ravel()[shown[version.people.ravel()[shown].argmin()]] = True
        return
    for place in np.argwhere(inside & hidden)[:LEAST_CELLS].tolist():
        for axis, code in enumerate(place):
            if version.splits[axis].groups[code] not in version.splits[axis].flagged:
                _suppress_one(version, hidden, axis, code)


def _cover_all(version: Version, hidden: BoolArray) -> None:
    """One more suppressed cell in every published group that has any."""
    for axis, code in _published(version):
        if _slice(hidden, axis, code).any():
            _suppress_one(version, hidden, axis, code)


def _is_seen_through(version: Version, limits: Limits) -> bool:
    """Whether somebody infers a cell from the fact that one of those suppressed with it is outside the strict limits.

    Cells that share a group are suppressed for each other; what such a set adds up to is taken as known.
    """
    assert version.hidden is not None
    places = np.argwhere(version.hidden)
    for members in _linked(places):
        at = tuple(places[members].T)
        if looks_through(version.people[at], version.counts[at].sum(axis=0), limits):
            return True
    return False


def _linked(places: IntArray) -> list[list[int]]:
    """Cells that share a group with each other, directly or by others, as sets of numbers."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(places):
        return []
    offsets = np.concatenate([[0], np.cumsum(places.max(axis=0) + 1)[:-1]]) + len(places)
    rows = np.repeat(np.arange(len(places)), places.shape[1])
    columns = (places + offsets).ravel()
    size = int(columns.max()) + 1
    _, part = connected_components(coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size)), directed=False)
    own = part[: len(places)]
    return [np.flatnonzero(own == number).tolist() for number in np.unique(own)]


def looks_through(sizes: IntArray, counts: IntArray | Sequence[int], limits: Limits) -> bool:
    """Whether cells of these sizes that add up to `counts`, one of them outside the strict limits, disclose one.

    Who knows the rule knows that one of the merged cells was irregular. The hull is taken over which of them it was
    (`bounds.hull`); a verdict of 2 says that some part is disclosed in every case.
    """
    named = {str(position): int(size) for position, size in enumerate(sizes.tolist()) if size}
    parts = suspects(frozenset(named), named, limits.kappa) if len(named) > 1 else []
    if not parts:
        return False
    people = np.array([size for _, size in parts])
    lower, upper = hull(people, np.asarray(counts), limits.strict)
    return bool((limits.verdicts(lower, upper, people) == 2).any())


MOST_VERSIONS = 3
PARTNERS = 3
"""How many partners of a group are tried, the closest first."""


def versions(finest: Version, limits: Limits) -> tuple[Version, ...]:
    """Versions with nothing but regular cells, each coarser than the one before: a few, or none.

    Two groups are merged at a time until all cells are regular and none can be seen through; each further version has
    at most half the cells, since every version costs tests.
    """
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
