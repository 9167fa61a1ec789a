"""What single onlookers know: without the joint roll, with facts of their own, and in front of totals that disagree.

Everything here serves the one question of `prove`: does a release add something that the target forbids?
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product
from math import prod

import numpy as np

from safemargin.bounds import Exposed, Proof, System, build_system, certify, propagate, settle, targets_of
from safemargin.core import (
    JOINER,
    BoolArray,
    Group,
    Inconsistency,
    IntArray,
    Limits,
    Onlooker,
    PublishedTable,
    Table,
    Tally,
    as_published,
    frozen,
    label,
    protected_margin,
)
from safemargin.release.decide.split import Split, unmerged_split

MOST_CROSSED = 200_000
"""Combinations of groups of three axes or more that are looked at one by one."""
MOST_READINGS = 400
"""Readings of totals that disagree; more are not certified, which makes the search merge on."""
MOST_CORNERS = 64
"""Corners of all readings that are looked at one by one."""
MOST_FLOWS = 6
"""Options that may disagree on one axis: up to so many, corners of the flows between them are all north-west ones."""


def certify_by_sizes(table: Table, splits: Sequence[Split], limits: Limits) -> Proof:
    """The certificate against somebody who knows the sizes of groups at most, not who is in two of them.

    Each axis by itself is a system with a known roll. Of a cell of several axes the number of people is unknown, and
    the answers of each option are any table with the published sums: every option is free by itself. So the ends of
    the count of an option are those of Frechet, and the share reaches from its least beside the most of the others to
    its most beside their least. Both are attained.
    """
    published = [split for split in splits if split.is_published]
    total = as_published(table.margin(()), table.schema, "total")
    exposed: list[Exposed] = []
    checked, linear, undecided = 0, 0, 0
    for split in published:
        roll = as_published(table.people((split.axis.name,)), table.schema, "roll", roll=True)
        shown = protected_margin(table, split.axis.name, split.groups, split.flagged)
        proof = certify(build_system((total, shown), Onlooker(roll=(roll,))), limits)
        exposed += proof.exposed
        checked += proof.checked["joint cells"]
        linear, undecided = linear + proof.linear, undecided + proof.undecided
    for count in range(2, len(published) + 1):
        for chosen in combinations(published, count):
            sizes = [len(_shown(split)) for split in chosen]
            if count > 2 and checked + int(np.prod(sizes)) > MOST_CROSSED:
                continue  # the certificate states how many combinations were looked at
            exposed += _crossed(table, chosen, limits)
            checked += int(np.prod(sizes))
    return Proof(tuple(exposed), {"groups and combinations": checked}, linear, undecided)


def _shown(split: Split) -> list[Group]:
    """The groups of an axis whose counts are known; those that are flagged as one."""
    hidden: Group = frozenset().union(*split.flagged)
    return [*(group for group in split.groups if group not in split.flagged), *([hidden] if hidden else [])]


def _crossed(table: Table, splits: Sequence[Split], limits: Limits) -> list[Exposed]:
    """Cells of several axes whose count is known to within tau, or whose share lies outside the limits."""
    totals = table.totals
    silent = int(table.people(()).counts.sum()) - int(totals.sum())
    everybody = np.append(totals, silent)  # those without a listed answer last
    shape = [len(_shown(split)) for split in splits]
    most = np.broadcast_to(everybody, (*shape, len(everybody)))
    surplus = np.zeros((*shape, len(everybody)), dtype=np.int64)
    for place, split in enumerate(splits):
        rows = _counts(table, split)
        rows = rows.reshape([-1 if axis == place else 1 for axis in range(len(splits))] + [len(everybody)])
        most = np.minimum(most, rows)
        surplus = surplus + everybody - rows
    least = np.maximum(everybody - surplus, 0)
    listed = len(totals)
    others_most = most.sum(axis=-1, keepdims=True) - most
    others_least = least.sum(axis=-1, keepdims=True) - least
    bad = most[..., :listed] - least[..., :listed] <= limits.tau
    for option, (floor, ceiling) in enumerate(zip(limits.floors, limits.ceilings, strict=True)):
        up, down, rest_up, rest_down = (a[..., option] for a in (most, least, others_most, others_least))
        bad[..., option] |= _below(up, rest_down, floor) | _below(rest_up, down, 1 - ceiling)
    bad &= ~np.array(limits.unchosen) & (most.sum(axis=-1, keepdims=True) > 0)
    exposed = []
    for *cell, option in np.argwhere(bad).tolist():
        names = {s.axis.name: label(_shown(s)[code], s.axis.categories) for s, code in zip(splits, cell, strict=True)}
        people = int(most[tuple(cell)].sum())
        ends = int(least[(*cell, option)]), int(most[(*cell, option)])
        exposed.append(Exposed(names, option, people, *ends))
    return exposed


def _below(count: IntArray, others: IntArray, share: Fraction) -> BoolArray:
    """Where `count` is less than `share` of itself and the others, without rounding."""
    return np.asarray(count * (share.denominator - share.numerator) < share.numerator * others)


def without_known(proof: Proof, known: System, total: PublishedTable, onlooker: Onlooker, limits: Limits) -> Proof:
    """The proof of a release without what was known before: cells that it narrows count, others do not.

    Section 9 of the release specification: what the total, the roll and the facts of the onlooker disclose by
    themselves is no fault of the release, as long as the release leaves the same interval.
    """
    before = build_system((total,), onlooker)
    excused: list[tuple[BoolArray, BoolArray]] = []
    cells: list[Exposed] = []
    while proof.exposed:
        fresh = [cell for cell in proof.exposed if not _is_unchanged(cell, known, before, limits)]
        if fresh:
            return replace(proof, exposed=tuple(fresh))
        for cell in proof.exposed:
            options = np.arange(len(known.options)) == cell.option
            excused.append((_members(cell, known), options))
        cells += proof.exposed
        # Deciding stops at the first cells that closed forms disclose, so the others are looked at again.
        proof = certify(known, limits, excused=excused)
    return replace(proof, before=tuple(cells))


def _members(cell: Exposed, known: System) -> BoolArray:
    inside = np.ones(len(known.codes), dtype=bool)
    for axis, names in cell.cell.items():
        column = known.axes.index(axis)
        chosen = {*names.split(JOINER), names}
        inside &= np.array([name in chosen for name in known.categories[column]])[known.codes[:, column]]
    return inside


def _is_unchanged(cell: Exposed, known: System, before: System, limits: Limits) -> bool:
    """Whether a cell was disclosed before, and integer tables of the release attain both ends of its interval then."""
    least, most = before.listed_ends(*propagate(before))
    inside = _members(cell, before)
    if least[inside, cell.option].sum() == most[inside, cell.option].sum():
        return True  # it was known exactly: there is nothing to narrow
    ends = []
    for system in (before, known):
        cell_of = (~_members(cell, system)).astype(np.int64)
        settled = settle(system, targets_of(system, cell_of, 2))
        option = cell.option
        ends.append((int(settled.lower[option]), int(settled.upper[option]), bool(settled.integer[option])))
    (lower, upper, _), (lower_now, upper_now, attained) = ends
    if not attained or (lower, upper) != (lower_now, upper_now):
        return False
    low, high = np.zeros((1, len(known.options)), dtype=np.int64), np.full((1, len(known.options)), cell.people)
    low[0, cell.option], high[0, cell.option] = lower, upper
    return bool(limits.verdicts(low, high, np.array([cell.people]))[0, cell.option] == 2)


def readings(table: Table, splits: Sequence[Split]) -> Iterator[Table | Exposed]:
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
            if count > MOST_READINGS or any((rows < 0).any() for rows in counts.values()):
                yield _doubt(moved[0][0], moved[0][0].groups[0], moved[0][1][0])
                return
            yield _reading(table, splits, counts)


Flow = tuple[int, int, int]
"""From an option, to an option, and how many answers; the last place stands for no listed answer."""
Moved = Sequence[tuple[Split, Flow]]
Counts = dict[str, IntArray]
"""By axis, the counts of the groups that are shown."""


def _corner_counts(table: Table, moved: Moved) -> list[Counts]:
    """All corners; nothing if there are too many."""
    raw = {split.axis.name: _counts(table, split) for split, _ in moved}
    corners = [_corners(raw[split.axis.name][:, flow[0]], flow[2]) for split, flow in moved]
    if prod(map(len, corners)) > MOST_CORNERS:
        return []
    readings = []
    for shifts in product(*corners):
        counts = {name: rows.copy() for name, rows in raw.items()}
        for (split, flow), shift in zip(moved, shifts, strict=True):
            _move(counts[split.axis.name], flow, shift)
        readings.append(counts)
    return readings


def _corners(room: IntArray, people: int) -> list[IntArray]:
    """The corners of all ways to take so many people from groups with limited room: all are full but one."""
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
    """One flow at a time into one group, the others spread over all groups."""
    spread = {split.axis.name: _counts(table, split) for split, _ in moved}
    shifts = []
    for split, flow in moved:
        shifts.append(_spread(spread[split.axis.name][:, flow[0]], flow[2]))
        _move(spread[split.axis.name], flow, shifts[-1])
    yield spread
    for (split, flow), shift in zip(moved, shifts, strict=True):
        for row in range(len(shift)):
            counts = spread[split.axis.name].copy()
            alone = np.where(np.arange(len(shift)) == row, flow[2], 0)
            _move(counts, flow, len(moved) * (alone - shift))
            yield {**spread, split.axis.name: counts}


def _move(counts: IntArray, flow: Flow, shift: IntArray) -> None:
    counts[:, flow[0]] -= shift
    counts[:, flow[1]] += shift


def _doubt(split: Split, group: Group, option: int) -> Exposed:
    cell = {split.axis.name: label(group, split.axis.categories)}
    return Exposed(cell, min(option, split.votes.shape[1] - 1), split.size(group), 0, split.size(group))


def _counts(table: Table, split: Split) -> IntArray:
    """Votes per group that is shown and option, those without a listed answer last."""
    plain = unmerged_split(table, split.axis.name)
    rows = [[*plain.counts(group), plain.size(group) - plain.counts(group).sum()] for group in _shown(split)]
    return np.array(rows, dtype=np.int64)


def _flows(table: Table, split: Split) -> list[tuple[Flow, ...]]:
    """The corners of all ways in which the fewest people changed their answer between this election and the total."""
    counts = _counts(table, split).sum(axis=0)
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
    """So many people in proportion to the room of groups, rounded by the largest remainders."""
    exact = people * room / max(int(room.sum()), 1)
    shift = np.floor(exact).astype(np.int64)
    order = np.argsort(shift - exact, kind="stable")
    shift[order[: people - int(shift.sum())]] += 1
    return shift


def _reading(table: Table, splits: Sequence[Split], counts: Counts) -> Table:
    """The table with other counts of the groups that are shown; each is booked on the first category of its group."""
    votes = {tally.axes: tally for tally in table.votes}
    for split in splits:
        if (rows := counts.get(split.axis.name)) is not None:
            codes = [min(split.axis.index[category] for category in group) for group in _shown(split)]
            tally = Tally((split.axis.name,), frozen(np.array(codes), 1), frozen(rows[:, :-1], rows.shape[1] - 1))
            votes[tally.axes] = tally
    return replace(table, votes=tuple(votes.values()), inconsistency=Inconsistency())
