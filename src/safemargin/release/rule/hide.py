"""Which single groups of an axis are suppressed, and which answers could have been the reason.

Objects
    bad         groups outside the strict limits
    kind        which group of another axis holds nearly all people of a group; sums of one kind may be public
    cover       a group that is suppressed so that the sum of all suppressed ones is regular
    pool        the votes of all suppressed groups together, which follow from the total

Rule
    A group outside the strict limits is suppressed. What the suppressed groups add up to follows from the total, and
    what those of one kind add up to may follow from another axis. So this sum must be within the limits too, and until
    it is, one more group is suppressed: the smallest with at least a third as many people as those before, or else the
    largest. Only sizes choose that group.

Statement
    Everybody can see which groups are suppressed, and who knows the rule infers which of them must be outside the
    strict
    limits. `explanations` makes up counts from `people` and `pool` alone for which the rule suppresses exactly these
    groups while every group is within the target: the guard band between the strict limits and those of the target
    leaves room for all of them. So the onlooker cannot exclude that nobody is outside the target.

Example
    Three bad groups of 30, 40 and 50 people; the smallest other group with a third of 120 is the one of 45:

    >>> next_cover(np.array([10, 20, 45, 60]), 120)
    2
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from safemargin.core import BoolArray, IntArray, Limits

PART = 3
"""A cover has at least one person for so many in the groups that it covers, where there is such a group."""
MOST_COVERS = 3
"""Suppressed groups that answers are made up for as covers of all the others."""
MOST_TRIED = 150


def dealt(pool: IntArray, people: IntArray) -> IntArray:
    """Counts (columns) dealt out to groups in proportion to their people; rows add up to people, columns to the pool.

    >>> dealt(np.array([3, 5]), np.array([4, 4])).tolist()
    [[2, 2], [1, 3]]
    """
    left, rows = pool.astype(np.int64), []
    for size, rest in zip(people.tolist(), np.cumsum(people[::-1])[::-1].tolist(), strict=True):
        share = left * size
        whole = share // max(rest, 1)
        # Largest remainders first; never more than is left, since the rest is at least as many people.
        order = np.argsort(-(share - whole * rest), kind="stable")
        row = whole.copy()
        row[order[: size - int(whole.sum())]] += 1
        rows.append(row)
        left = left - row
    return np.stack(rows)


def is_regular(counts: IntArray, people: IntArray, limits: Limits) -> BoolArray:
    """Per group whether its exact counts are contained."""
    return np.asarray((limits.verdicts(counts, counts, people) == 0).all(axis=1))


def suppressed(
    people: IntArray,
    counts: IntArray,
    bad: Sequence[int],
    kinds: Sequence[str],
    always: frozenset[int],
    limits: Limits,
) -> set[int]:
    """The groups to suppress, by number: those that are `bad`, `always`, and others that cover these.

    First within every kind, whose sum another axis may publish, then over all: each time covers are added until what
    the suppressed groups add up to is regular, or nobody is left to cover them.
    """
    hidden = {code for code in bad if code not in always}
    for kind in sorted({kinds[code] for code in hidden}):
        inside = {code for code in hidden if kinds[code] == kind}
        others = [c for c in range(len(people)) if kinds[c] == kind and c not in hidden and c not in always]
        hidden |= _covered(people, counts, inside, others, limits)
    everything = hidden | always
    others = [code for code in range(len(people)) if code not in everything]
    return _covered(people, counts, everything, others, limits)


def _covered(people: IntArray, counts: IntArray, inside: set[int], others: Sequence[int], limits: Limits) -> set[int]:
    """Add covers to suppressed groups until what they add up to is regular, or nobody is left to cover them."""
    codes, left = sorted(inside), sorted(others, key=lambda code: (people[code], code))
    size, sums = int(people[codes].sum()), counts[codes].sum(axis=0)
    while size and left and not is_regular(sums[None, :], np.array([size]), limits)[0]:
        cover = left.pop(next_cover(people[left], size))
        codes.append(cover)
        size, sums = size + int(people[cover]), sums + counts[cover]
    return set(codes)


def next_cover(sizes: IntArray, people: int) -> int:
    """The place of the group, of those with these ascending sizes, that covers so many people next."""
    return min(int(np.searchsorted(sizes * PART, people)), len(sizes) - 1)


@dataclass(frozen=True, eq=False)
class GroupEnds:
    """The ends of every group (row) and column of options, worked out once for all explanations of one block.

    `least` and `most` are those of the target, `strict_least` and `strict_most` of decisions, `rest_least` and
    `rest_most` those of decisions for everybody but the group; `spare` is how much narrower than the target a count is.
    """

    least: IntArray
    most: IntArray
    strict_least: IntArray
    strict_most: IntArray
    rest_least: IntArray
    rest_most: IntArray
    spare: IntArray

    @classmethod
    def of(cls, people: IntArray, limits: Limits) -> "GroupEnds":
        """The ends of groups of so many people."""
        strict, rest = limits.strict, int(people.sum()) - people
        return cls(
            limits.least(people),
            limits.most(people),
            strict.least(people),
            strict.most(people),
            strict.least(rest),
            strict.most(rest),
            np.maximum(limits.tolerance(people), 0),
        )


def explanations(people: IntArray, pool: IntArray, limits: Limits) -> Iterator[IntArray]:
    """Counts per suppressed group and option, the last one for no listed answer, for which the rule suppresses them.

    Only `people` and what the groups add up to (`pool`) are used. All groups but a few covers are in the guard band
    between the strict limits and those of the target, on one side of one option, or on both sides without any cover.
    Each yielded table is within the target in every group and has the sums of `pool`; nothing is yielded where a group
    has fewer than `kappa` people, as nothing is within the target then.
    """
    if (people < limits.kappa).any():
        return  # nothing is within the target
    sets, sums = list(_cover_sets(people)), limits.columns(pool[: limits.options])
    ends = GroupEnds.of(people, limits)
    for option in np.argsort(-sums, kind="stable").tolist():
        if limits.unchosen and limits.unchosen[option]:
            continue
        for high in (True, False):
            for covers in sets if (limits.has_ceiling if high else limits.has_floor)[option] else ():
                chosen = _one_side(people, int(sums[option]), option, high, covers, ends)
                if (
                    chosen is not None
                    and (rows := _completed(people, pool, option, chosen, covers, limits, ends)) is not None
                ):
                    yield rows
        if not (limits.has_floor & limits.has_ceiling)[option]:
            continue
        chosen = _both_sides(people, int(sums[option]), option, ends)
        if chosen is not None and (rows := _completed(people, pool, option, chosen, (), limits, ends)) is not None:
            yield rows


def _cover_sets(people: IntArray) -> Iterator[tuple[int, ...]]:
    """Groups in the order in which the rule would take them as covers, if all others were bad.

    At most `MOST_COVERS` covers and `MOST_TRIED` sets: more covers rarely explain what fewer do not.
    """
    tried = 0
    order = np.argsort(people, kind="stable").tolist()
    for count in range(1, min(MOST_COVERS, len(people) - 1) + 1):
        for chosen in combinations(order[::-1], count):
            tried += 1
            if tried > MOST_TRIED:
                return
            size, left, taken = (
                int(people.sum()) - int(people[list(chosen)].sum()),
                [c for c in order if c in chosen],
                [],
            )
            while left:
                taken.append(left.pop(next_cover(people[left], size)))
                size += int(people[taken[-1]])
            yield tuple(taken)


def _one_side(
    people: IntArray, total: int, option: int, high: bool, covers: tuple[int, ...], ends: GroupEnds
) -> IntArray | None:
    """Counts of one option: all but the covers just outside its strict limit, and within only with the last cover.

    Nothing if the guard band is too narrow, or if the pool has too many or too few such votes. For floors the same is
    done with those who did not choose the option.
    """
    last, spare = covers[-1], ends.spare
    inner, outer, floor = ends.strict_most[:, option], ends.most[:, option], ends.strict_least[:, option]
    without = int(ends.rest_most[last, option])
    if not high:  # the same with those who did not choose it
        total = int(people.sum()) - total
        inner, outer, floor = people - floor, people - ends.least[:, option], people - inner
        without = int(people.sum()) - int(people[last]) - int(ends.rest_least[last, option])
    counts = inner.copy()
    bad = np.setdiff1d(np.arange(len(people)), covers)
    counts[bad] = inner[bad] + 1
    room = outer[bad] - spare[bad] - counts[bad]
    if (room < 0).any():
        return None
    most = min(total - without - 1, int(inner[last]))
    left = total - int(np.delete(counts, last).sum())
    raised = dealt_up_to(max(left - most, 0), room)
    if raised is None:
        return None
    counts[bad] += raised
    counts[last] = total - int(np.delete(counts, last).sum())
    if not floor[last] <= counts[last] <= most:
        return None
    return counts if high else people - counts


def dealt_up_to(amount: int, room: IntArray) -> IntArray | None:
    """An amount dealt out to places with limited room, in proportion to it; nothing if there is not enough.

    >>> dealt_up_to(4, np.array([2, 6])).tolist(), dealt_up_to(9, np.array([2, 6]))
    ([1, 3], None)
    """
    if amount > int(room.sum()):
        return None
    shares = np.array(room) * amount // max(int(room.sum()), 1)
    short = np.flatnonzero(shares < room)[: amount - int(shares.sum())]
    shares[short] += 1
    return shares


def _both_sides(people: IntArray, total: int, option: int, ends: GroupEnds) -> IntArray | None:
    """Counts of one option, each just outside one of its strict limits: some groups high, others low."""
    high, low = ends.strict_most[:, option] + 1, ends.strict_least[:, option] - 1
    up, down = ends.most[:, option] - ends.spare - high, low - ends.least[:, option] - ends.spare
    if (up < 0).any() or (down < 0).any():
        return None
    counts = low.copy()
    for code in np.argsort(-people, kind="stable").tolist():
        if int(counts.sum()) + int(high[code] - low[code]) <= total + int(down.sum()):
            counts[code] = high[code]
    missing = total - int(counts.sum())
    room = np.where(counts == high, up, 0) if missing > 0 else np.where(counts == low, down, 0)
    moved = dealt_up_to(abs(missing), room)
    if moved is None:
        return None
    return counts + moved if missing > 0 else counts - moved


def _completed(
    people: IntArray,
    pool: IntArray,
    option: int,
    chosen: IntArray,
    covers: tuple[int, ...],
    limits: Limits,
    ends: GroupEnds,
) -> IntArray | None:
    """The counts of all options, if every group is within the target, the covers within the strict limits.

    The other options are dealt out in proportion; what does not stay within the target explains nothing.
    """
    inside = [option] if option < limits.options else list(limits.sets[option - limits.options])
    others = [column for column in range(len(pool)) if column not in inside]
    rows = np.zeros((len(people), len(pool)), dtype=np.int64)
    rows[:, inside] = dealt(pool[inside], chosen)
    if others:
        rows[:, others] = dealt(pool[others], people - chosen)
    listed, spare = rows[:, : limits.options], ends.spare[:, None]
    counts = limits.columns(listed)
    judged = ~np.array(limits.unchosen or (False,) * counts.shape[1])
    within = (counts >= ends.least + spare) & (counts <= ends.most - spare)
    within &= (counts == 0) | (counts > limits.few(people) + spare)
    if not within[:, judged].all():
        return None
    taken = list(covers)
    return rows if is_regular(listed[taken], people[taken], limits.strict).all() else None
