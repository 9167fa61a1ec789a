"""The cells that a certificate looks at: joint ones, and those of every smaller set of axes.

Why more than the profiles
    A pair of axes can be disclosed although each profile in it, taken alone, is open: its counts are a sum, and sums of
    wide intervals can be narrow. So all sets of axes are looked at while there is room (`EFFORT.summed_cells`), and
    besides them the published slices themselves and every pair of slices of two tables.

Statements that force cells from outside, each by addition (S a published slice with range [l, u] of an option)
    inside      a slice inside a cell bounds it from below: count(cell) >= sum of l over such slices
    around      a cell C inside S: l - (|S| - |C|) <= count(C) <= u, as the others of S number |S| - |C|
    pair        two slices A and B cross in a cell; with the cell's own people n, Frechet's bounds with caps

                    max(0, a - (|A| - n), b - (|B| - n), a + b - T) <= count <= min(n, a, b, m - T + a + b)

                where a, b are the counts of A and B, T the total and m the people in neither. They are sharp for each
                2 x 2 table by itself (Lemma 1 of the paper of the notes; Frechet 1940 without the caps).

Invariants
    * The first level is that of the profiles; other code relies on it (`Certifying.narrow`).
    * A cell of one person counts like any other: no cell is skipped for its size.
    * What is omitted for lack of room is a set of three or more axes, and the certificate states which sets it checked.

Example
    Of 20 people, 10 are in A and 10 in B, 6 of them in both. 9 of A, 8 of B and 13 of all said yes. Nobody's own answer
    is certain, and still at least 9 - (10 - 6) = 5 of the 6 in both said yes. At most all 6 of them did.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from safemargin.bounds.cells import Level
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.system import SliceRanges, System
from safemargin.core import BoolArray, IntArray, Limits, distinct, label


def levels(system: System, ranges: SliceRanges, limits: Limits, bounded: bool = False) -> list[Level]:
    """The joint cells first, then pairs of axes and larger sets while there is room, then pairs of merged slices.

    Those of which no slice says anything by itself are omitted if only what is `bounded` is asked for, that is, for a
    quick look by closed forms. Every level comes with what single slices, and pairs of them, force.
    """
    count = len(system.axes)
    crossed = any(len(system.axes_of(block)) > 1 for block in range(len(system.blocks)))
    encloses = ranges.stated and (crossed or not (system.blocks >= 0).all(axis=1).any())
    plain = _plain_axes(system)  # pairs of these come with the slices below
    checked = [_level(system, system.axes, system.codes, limits)]
    summed = 0
    for order in range(2, count) if encloses or not bounded else ():
        chosen = list(combinations(range(count), order))
        if order > 2 and summed + len(chosen) * len(system.codes) > EFFORT.summed_cells:
            break
        for columns in chosen:
            names = tuple(system.axes[c] for c in columns)
            if order > 2 or not ranges.stated or not plain.issuperset(names):
                checked.append(_level(system, names, system.codes[:, list(columns)], limits))
        summed += len(chosen) * len(system.codes)
    sensitive = {axis for axis, _ in limits.sensitive}
    if count > 1:
        single = [axis for axis in system.axes if axis not in plain or axis in sensitive]
        checked += [_categories(system, ranges, limits, axis) for axis in single]
    for level in checked:
        if len(level.names) == 1 and level.names[0] in sensitive:
            names = system.categories[system.axes.index(level.names[0])]
            pairs = [(level.names[0], names[code]) for code in level.codes[:, 0].tolist()]
            level.never_contain(np.array([pair in limits.sensitive for pair in pairs]))
    checked += _single_slices(system, ranges, limits) + _slice_pairs(system, ranges, limits)
    if encloses:
        _enclose_all(system, checked[1:], ranges)
    if not (encloses or bounded or plain.issuperset(system.axes)):  # pairs of published axes have sharper ends already
        for level in checked[1:]:
            _surround(system, level, ranges)
    return checked


def _surround(system: System, level: Level, ranges: SliceRanges) -> None:
    """What the published axes of a cell leave of it, where another axis of it is not published.

    The cell lies inside a slice of the published axes: the statement *around* of the module, for each block whose axes
    are a proper part of the level's.
    """
    for number, block in enumerate(system.blocks) if ranges.stated else ():
        axes = system.axes_of(number)
        if axes and set(axes) < set(level.names):
            around, count = block[level.first], len(system.options)
            within, others = (around >= 0)[:, None], (system.slice_people[around] - level.people)[:, None]
            level.force(
                np.where(within, ranges.least[around][:, :count] - others, 0),
                np.where(within, ranges.most[around][:, :count], level.people[:, None]),
            )


def cycle_levels(
    system: System,
    ranges: SliceRanges,
    limits: Limits,
    cycles: Sequence[tuple[tuple[str, ...], BoolArray]],
    history: str,
) -> list[Level]:
    """The cells of several cycles held together: per cycle its axes, and who was there then.

    The profiles first. For every cycle and every set of its axes, while there is room, the people who were there, all
    of them and by `history`; and the groups that were published. A set of people is looked at once.
    """
    checked = [_level(system, system.axes, system.codes, limits)]
    seen, summed = {_partition(checked[0])}, 0
    for axes, there in cycles:
        sets = [names for order in range(len(axes), -1, -1) for names in combinations(axes, order)]
        for names in sorted(sets, key=lambda names: (len(names) not in (0, 1, 2, len(axes)), len(names))):
            if len(names) not in (0, 1, 2, len(axes)) and summed > EFFORT.summed_cells:
                break
            summed += 2 * len(system.codes)
            columns = [system.axes.index(name) for name in names]
            for extra in ((), (system.axes.index(history),)):
                if not names and not extra:
                    continue  # the total of a cycle is published in any case
                codes = np.where(there[:, None], system.codes[:, [*columns, *extra]], -1)
                level = _level(system, (*names, *(system.axes[column] for column in extra)), codes, limits)
                if (key := _partition(level)) not in seen:
                    seen.add(key)
                    level.excused[(level.codes < 0).all(axis=1)] = True  # who was not there is looked at by history
                    checked.append(level)
    for level in _single_slices(system, ranges, limits):
        if (key := _partition(level)) not in seen:
            seen.add(key)
            checked.append(level)
    _enclose_all(system, checked[1:], ranges)
    return checked


def _partition(level: Level) -> bytes:
    """A key that is equal for levels with the same cells, however these are numbered."""
    order = np.argsort(level.first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[level.cell_of].tobytes()


def _level(system: System, names: tuple[str, ...], codes: IntArray, limits: Limits) -> Level:
    """A level of the system's own people and options: cells are given by one row of codes per profile."""
    assert system.people is not None
    return Level(names, codes, system.people, len(system.options), limits)


ENCLOSED = 500_000
"""Entries of blocks that are looked at together: of a hundred cycles all blocks at once, of a large roll one by one."""


def _enclose_all(system: System, levels: Sequence[Level], ranges: SliceRanges) -> None:
    """What single slices leave of cells, where no table is about everybody: slices inside them, and slices around them.

    A slice inside a cell bounds it from below, a slice around it from above: both by addition.
    """
    assert system.people is not None
    step = max(1, ENCLOSED // len(system.people))
    for start in range(0, len(system.blocks) if ranges.stated else 0, step):
        blocks = system.blocks[start : start + step]
        number, profile = np.nonzero(blocks >= 0)
        places = number, profile, blocks[number, profile]
        for level in levels:
            level.force(*_by_slices_inside(system, level, blocks, places, ranges))
            _force_inside(system, level, blocks, ranges)


def _by_slices_inside(
    system: System,
    level: Level,
    blocks: IntArray,
    places: tuple[IntArray, IntArray, IntArray],
    ranges: SliceRanges,
) -> tuple[IntArray, IntArray]:
    """The ends of every cell by the slices that lie in it: those of one block are disjoint, so that they add up.

    `places` are the entries of `blocks` that lie in a slice: the number of the block, the profile and the slice.
    """
    count, size, cells = len(system.options), system.slice_people, len(level.first)
    number, profile, slices = places
    cell = level.cell_of[profile]
    least_cell = np.full(len(size), cells, dtype=np.int64)
    most_cell = np.full(len(size), -1, dtype=np.int64)
    np.minimum.at(least_cell, slices, cell)
    np.maximum.at(most_cell, slices, cell)
    block_of = np.full(len(size), -1, dtype=np.int64)
    block_of[slices] = number
    whole = np.flatnonzero((block_of >= 0) & (least_cell == most_cell))
    place = block_of[whole] * cells + least_cell[whole]
    lower, missing = (np.zeros((count, len(blocks) * cells), dtype=np.int64) for _ in range(2))
    for option in range(count):
        np.add.at(lower[option], place, ranges.least[whole, option])
        np.add.at(missing[option], place, ranges.most[whole, option] - size[whole])
    least, most = (ends.reshape(count, len(blocks), cells) for ends in (lower, missing))
    return least.max(axis=1).T, level.people[:, None] + most.min(axis=1).T


def _categories(system: System, ranges: SliceRanges, limits: Limits, axis: str) -> Level:
    """The categories of an axis that is merged somewhere, with what the slices they lie in leave of them."""
    assert system.people is not None
    level = _level(system, (axis,), system.codes[:, [system.axes.index(axis)]], limits)
    for block in system.blocks if ranges.stated else []:
        _force_inside(system, level, block[None, :], ranges)
    return level


def _force_inside(system: System, level: Level, blocks: IntArray, ranges: SliceRanges) -> None:
    """What a slice of one of the blocks leaves of a cell that lies in it: its range, less its other people."""
    count, size, around = len(system.options), system.slice_people, blocks[:, level.first]
    order, start = level.by_cell
    is_apart = blocks[:, order] != around[:, level.cell_of[order]]
    within = (~np.logical_or.reduceat(is_apart, start[:-1], axis=1) & (around >= 0))[..., None]
    others = (size[around] - level.people)[..., None]
    least = np.where(within, ranges.least[around][..., :count] - others, 0)
    most = np.where(within, ranges.most[around][..., :count], level.people[:, None])
    level.force(least.max(axis=0), most.min(axis=0))


def _single_slices(system: System, ranges: SliceRanges, limits: Limits) -> list[Level]:
    """The published slices themselves, with the range that was published; everybody, where nothing else is.

    Exact counts are checked too: a printed group outside the limits is disclosed by being printed.
    """
    checked = []
    count = len(system.options)
    axes_of = [system.axes_of(block) for block in range(len(system.blocks))]
    for block, axes in zip(system.blocks, axes_of, strict=True) if ranges.stated else []:
        if not axes and (any(axes_of) or len(distinct(block)) > 1):
            continue
        level = _level(system, axes, block[:, None], limits)
        listed = (level.codes[:, 0] >= 0)[:, None]
        code = level.codes[:, 0]
        level.force(
            np.where(listed, ranges.least[code][:, :count], 0),
            np.where(listed, ranges.most[code][:, :count], level.people[:, None]),
        )
        checked.append(level)
    return checked


def _plain_axes(system: System) -> set[str]:
    """Axes of which one table states every category by itself."""
    plain = set()
    for number, block in enumerate(system.blocks):
        axes = system.axes_of(number)
        if len(axes) == 1 and (block >= 0).all():
            column = system.codes[:, system.axes.index(axes[0])]
            if len(distinct(block)) == len(distinct(column)):
                plain.add(axes[0])
    return plain


def _slice_pairs(system: System, ranges: SliceRanges, limits: Limits) -> list[Level]:
    """Two blocks at a time: cells of published slices, with the sharp interval of the 2 x 2 table each stands in.

    Blocks that share an axis are not crossed: their slices are nested, and single slices say all there is.
    """
    if not ranges.stated:
        return []
    axes_of = [system.axes_of(block) for block in range(len(system.blocks))]
    total = _totals(system, ranges)
    checked = []
    for i, j in combinations(range(len(system.blocks)), 2):
        if not axes_of[i] or not axes_of[j] or set(axes_of[i]) & set(axes_of[j]):
            continue
        codes = np.stack([system.blocks[i], system.blocks[j]], axis=1)
        level = _level(system, (*axes_of[i], *axes_of[j]), codes, limits)
        _force_pairs(system, level, ranges, total)
        checked.append(level)
    return checked


def _totals(system: System, ranges: SliceRanges) -> tuple[IntArray, IntArray]:
    """The least and most total per option, the sharpest that a block over all profiles adds up to."""
    assert system.people is not None
    count = len(system.options)
    least = np.zeros(count, dtype=np.int64)
    most = np.full(count, int(system.people.sum()), dtype=np.int64)
    for block in system.blocks:
        if (block >= 0).all():
            slices = distinct(block)
            least = np.maximum(least, ranges.least[slices][:, :count].sum(axis=0))
            most = np.minimum(most, ranges.most[slices][:, :count].sum(axis=0))
    return least, most


def _force_pairs(system: System, level: Level, ranges: SliceRanges, total: tuple[IntArray, IntArray]) -> None:
    """Force cells of two crossing slices: the statement *pair* of the module, sharp for each 2 x 2 table by itself.

    A slice with a range takes its own end in every term. A profile outside all slices of a block (code -1) belongs to
    the rest of that block, of which nothing is stated but its people.
    """
    assert system.people is not None
    count, everybody = len(system.options), int(system.people.sum())
    size = system.slice_people
    both = level.people[:, None]
    ends = []
    for side in (0, 1):
        code = level.codes[:, side]
        inside = np.where(code >= 0, size[code], everybody - size[np.unique(level.codes[:, side][code >= 0])].sum())
        least = np.where((code >= 0)[:, None], ranges.least[code][:, :count], 0)
        most = np.where((code >= 0)[:, None], ranges.most[code][:, :count], inside[:, None])
        ends.append((inside[:, None], least, most))
    (size_a, least_a, most_a), (size_b, least_b, most_b) = ends
    neither = everybody - size_a - size_b + both
    # Frechet's bounds of a 2 x 2 table, with the people of all four cells as caps.
    lower = np.maximum.reduce(
        [least_a - (size_a - both), least_b - (size_b - both), least_a + least_b - total[1], np.zeros_like(least_a)]
    )
    upper = np.minimum.reduce(
        [most_a, most_b, neither - total[0] + most_a + most_b, np.broadcast_to(both, most_a.shape)]
    )
    level.force(lower, upper)


def labels(system: System, level: Level, cell: int) -> dict[str, str]:
    """The cell in words: every category of the axis that its profiles have, where that is not all of them."""
    members = system.codes[level.members(cell)]
    texts = {}
    for name in level.names:
        column = system.axes.index(name)
        categories = system.categories[column]
        texts[name] = label(frozenset(categories[c] for c in members[:, column].tolist()), categories)
    return texts
