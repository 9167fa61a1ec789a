"""Which single cells of a table of several axes are suppressed, and which others cover them.

A cell that may not be printed is suppressed, and so is every cell of a group that the table of its axis suppresses.
What the suppressed cells of a published group add up to follows by subtraction. So there are at least two of them, and
what they add up to is within the strict limits; until then one more cell of the group is suppressed: the smallest with
at least a third as many people, first among those whose other groups have suppressed cells too, where a subtraction
ends at two unknown counts. The certificate of all tables together decides whether that is enough. Each cell that it
finds disclosed, or leaves undecided, gets one more cover in every group that it lies in.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from safemargin.bounds import Exposed, Proof, hull, suspects
from safemargin.core import JOINER, BoolArray, IntArray, Limits
from safemargin.release.decide.hide import is_regular, next_cover
from safemargin.release.decide.split import Version

ROUNDS = 12
"""Tests of one table, each with more covers than the one before."""
AT_ONCE = 20
"""Disclosed cells that get a cover before the next test."""
LEAST_CELLS = 2

Prove = Callable[[Version], tuple[bool, Proof]]
"""Whether a table may be published beside single axes, and the proof or its failure."""


def with_cells_suppressed(finest: Version, limits: Limits, prove: Prove) -> Version | None:
    """The table with single cells suppressed that passes the test; none if that takes too many of them."""
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
    """Whether cells of these sizes that add up to `counts`, one of them outside the strict limits, disclose one."""
    named = {str(position): int(size) for position, size in enumerate(sizes.tolist()) if size}
    parts = suspects(frozenset(named), named, limits.kappa) if len(named) > 1 else []
    if not parts:
        return False
    people = np.array([size for _, size in parts])
    lower, upper = hull(people, np.asarray(counts), limits.strict)
    return bool((limits.verdicts(lower, upper, people) == 2).any())
