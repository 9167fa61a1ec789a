"""Exchanges of answers around one cell, and between profiles that no published table distinguishes.

Objects
    matrix      counts per profile and option (the rest last), of a table with all published sums
    p, q        a profile of the cell and one outside it that differ in one published block only (a pair)
    g, h        the option that is given up in the cell, and the one that is taken up

Statement
    If u people of p go from g to h, u of q from h to g, and two profiles outside the cell in the same two slices
    exchange u back, every published sum stays (`exchange.py`). Twins, which lie in the same slice of every block, need
    no way back. So the count of g in the cell falls by u. One exchange after another leads further (`MOST_STEPS`).

Invariants
    * Nobody is created or lost: rows of `matrix` keep their sums, and no count falls below 0, as u is at most each of
      the four counts that fall.
    * The result is checked by addition before it is used (`further_tables.py`).
    * Choices by chance come from a generator that the caller seeds.

Example
    In the running example four old people of N give up yes: four of S young do as well, and the other two profiles take
    it up, so that every district and every age keeps its 12.

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.bounds.rounding import Rounder
    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> exchanges = Rounder(system).exchanges
    >>> cell = np.array([True, False, False, False])
    >>> exchanged(exchanges, Twins(exchanges), exchanges.matrix(np.full(4, 6)), cell, [True, False]).tolist()
    [[2, 8], [10, 0], [10, 0], [2, 8]]
"""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds.exchange import Exchanges, common_options, places_of
from safemargin.core import BoolArray, FloatArray, Generator, IntArray, distinct, grouped, row_keys

MOST_STEPS = 6


class Twins:
    """Classes of profiles that lie in the same slice of every published block: one code per profile.

    Sorted once, so that the twins of a cell are found by binary search.
    """

    def __init__(self, exchanges: Exchanges) -> None:
        tops = exchanges.blocks[list(exchanges.tops)].T + 1
        _, self.codes = grouped(row_keys(tops, [int(column.max(initial=0)) + 1 for column in tops.T]))
        self.order = np.argsort(self.codes, kind="stable")
        self.ranked = self.codes[self.order]

    def outside(self, members: BoolArray, own: IntArray) -> IntArray:
        """The twins of a cell's profiles `own` that are not in it (`members` marks them), ascending."""
        found = places_of(self.order, self.ranked, distinct(self.codes[own]))
        return found[~members[found]]

    def pairs(self, own: IntArray, outside: IntArray) -> tuple[IntArray, IntArray]:
        """Profiles of a cell, each with a twin that is outside of it."""
        if not len(outside):
            return outside, outside
        outside = outside[np.argsort(self.codes[outside], kind="stable")]
        codes = self.codes[outside]
        place = np.searchsorted(codes, self.codes[own], side="right") - 1
        has = codes[place] == self.codes[own]
        return own[has], outside[place[has]]


def exchange_between_twins(matrix: IntArray, twins: IntArray, want: FloatArray, generator: Generator) -> None:
    """Exchange answers between profiles that no published table distinguishes, two by two, towards what is wanted."""
    order = np.lexsort((generator.random(len(twins)), twins))
    same = np.flatnonzero(twins[order][1:] == twins[order][:-1])
    # Pairs that do not overlap: of a run of profiles of one class, every second place.
    starts = np.flatnonzero(np.r_[True, np.diff(twins[order]) > 0])
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    same = same[place[same] % 2 == 0]
    first, second = order[same], order[same + 1]
    options = generator.permutation(matrix.shape[1])
    for given, taken in zip(options[::2].tolist(), options[1::2].tolist(), strict=False):
        gain = want[first, taken] - want[first, given] + want[second, given] - want[second, taken]
        gain = gain + generator.random(len(first)) - 0.5
        for a, b, here in ((first, second, gain > 0), (second, first, gain <= 0)):
            units = np.where(here, np.minimum(matrix[a, given], matrix[b, taken]), 0)
            for profiles, minus, plus in ((a, given, taken), (b, taken, given)):
                matrix[profiles, minus] -= units
                matrix[profiles, plus] += units


def exchange_profiles(exchanges: Exchanges, matrix: IntArray, wanted: BoolArray, gives: BoolArray) -> None:
    """Let people of many profiles give up options, every profile in at most one exchange.

    `wanted` marks per profile and secret whether somebody should, `gives` per secret and option which options are given
    up for one that is not. The exchanges of one block, two slices and two options share no profile, so all are made at
    once: the n-th pair that is wanted with the n-th pair of the same key that is not.
    """
    unused, anybody = np.ones(len(matrix), dtype=bool), np.asarray(wanted.any(axis=1))
    spare: BoolArray = np.logical_not(anybody)  # and in no exchange yet
    totals = matrix.sum(axis=0)
    order = np.argsort(-totals, kind="stable")
    # With many options each is given up for one of the commonest: linear in the options, and they have most to give.
    order = order[common_options(totals)[order]]
    for block in exchanges.tops:
        pairs = exchanges.pairs(block)
        for first, second in ((pairs.first, pairs.second), (pairs.second, pairs.first)):
            concerned = np.flatnonzero(anybody[first])
            for number in range(len(gives)):
                concerned = concerned[unused[first[concerned]] & unused[second[concerned]]]
                asked = concerned[wanted[first[concerned], number]]
                for g in np.flatnonzero(gives[number]).tolist() if len(asked) else ():
                    left = asked[matrix[first[asked], g] > 0]
                    for h in order[~gives[number][order]].tolist():
                        left = left[unused[first[left]] & unused[second[left]]]
                        if not len(left):
                            break
                        out = left[matrix[second[left], h] > 0]
                        home = pairs.of_same_key(out)[0] if len(out) else out
                        home = home[spare[first[home]]]
                        home = home[spare[second[home]]]
                        home = home[(matrix[first[home], h] > 0) & (matrix[second[home], g] > 0)]
                        if len(home):
                            _exchange_all(matrix, unused, (first, second, pairs.key), (out, home), (g, h))
                            spare &= unused


def _exchange_all(
    matrix: IntArray,
    unused: BoolArray,
    pairs: tuple[IntArray, IntArray, IntArray],
    ways: tuple[IntArray, IntArray],
    options: tuple[int, int],
) -> None:
    """Exchange `options` through pairs that lead `out` and others of the same key that lead back, each profile once.

    Changes `matrix` and marks the profiles in `unused`. The n-th pair out and the n-th pair home of a key go together;
    ways that share a profile with an earlier one are dropped, so that all the others can be made at once.
    """
    first, second, key = pairs
    ranked = []
    for way in ways:
        _, start, place = np.unique(key[way], return_index=True, return_inverse=True)
        ranked.append(key[way] * (len(key) + 1) + np.arange(len(way)) - start[place])
    _, there, back = np.intersect1d(ranked[0], ranked[1], assume_unique=True, return_indices=True)
    out, home = ways[0][there], ways[1][back]
    profiles = np.stack([first[out], second[out], first[home], second[home]])
    alone = np.zeros(profiles.size, dtype=bool)
    alone[np.unique(profiles, return_index=True)[1]] = True
    profiles = profiles[:, alone.reshape(profiles.shape).all(axis=0)]
    old, new = np.array([options, options[::-1], options[::-1], options]).T
    units = matrix[profiles, old[:, None]].min(axis=0)
    for row, minus, plus in zip(profiles, old, new, strict=True):
        matrix[row, minus] -= units
        matrix[row, plus] += units
        unused[row] = False


def exchanged(
    exchanges: Exchanges, twins: Twins, matrix: IntArray, members: BoolArray, gives: Sequence[bool]
) -> IntArray | None:
    """A table in which people of the cell give up options that `gives` marks for others; nothing if none is found."""
    changed = matrix.copy()
    return changed if exchange_in_place(exchanges, twins, changed, members, gives) else None


def exchange_in_place(
    exchanges: Exchanges, twins: Twins, matrix: IntArray, members: BoolArray, gives: Sequence[bool]
) -> bool:
    """Let people of the cell give up options that `gives` marks for others; false if no exchange does it.

    Changes `matrix`. Each step takes the exchange for most people; where none leaves the cell, the cell with its twins
    is tried, which can pass on what they get.
    """
    own, given = np.flatnonzero(members), np.flatnonzero(gives)
    swaps = _swaps(gives)
    for step in range(MOST_STEPS):
        most = int(matrix[own[:, None], given].sum())
        if not most:
            return step > 0
        steps, units = _best_exchange(exchanges, twins, matrix, (members, own), swaps, most)
        if not units and len(beside := twins.outside(members, own)):
            # with their twins, who can pass on what they get
            whole = members.copy()
            whole[beside] = True
            steps, units = _best_exchange(exchanges, twins, matrix, (whole, np.flatnonzero(whole)), swaps, most)
        if not units:
            return step > 0
        for profile, old, new in steps:
            matrix[profile, old] -= units
            matrix[profile, new] += units
    return True


def _swaps(gives: Sequence[bool]) -> tuple[IntArray, IntArray]:
    """Every option that is given up with every one that is taken up, as two rows.

    >>> [row.tolist() for row in _swaps([True, False, False])]
    [[0, 0], [1, 2]]
    """
    given, taken = np.flatnonzero(gives), np.flatnonzero(np.logical_not(gives))
    return np.repeat(given, len(taken)), np.tile(taken, len(given))


def _best_exchange(
    exchanges: Exchanges,
    twins: Twins,
    matrix: IntArray,
    cell: tuple[BoolArray, IntArray],
    swaps: tuple[IntArray, IntArray],
    most: int,
) -> tuple[list[tuple[int, int, int]], int]:
    """Who changes from which option to which, and how many of each; the first found if it is for `most` people.

    Pairs of one key share no profile and stand together, so only the keys of pairs that leave the cell are looked at.
    Returns steps (profile, from, to) and the number of people of each; no steps if no exchange is possible.
    """
    members, own = cell
    best = _best_of_twins(*twins.pairs(own, twins.outside(members, own)), matrix, swaps)
    given, taken = swaps
    for block in exchanges.tops:
        pairs = exchanges.pairs(block)
        for first, second, leaving in (
            (pairs.first, pairs.second, pairs.with_first(own)),
            (pairs.second, pairs.first, pairs.with_second(own)),
        ):
            if best[1] >= most:
                return best
            leaving = leaving[~members[second[leaving]]]
            if not len(leaving):
                continue
            here, other = matrix[first[leaving]], matrix[second[leaving]]
            there = np.minimum(here[:, given], other[:, taken])
            if not there.any():
                continue
            rows, starts, place = pairs.of_same_key(leaving)
            outside = ~(members[first[rows]] | members[second[rows]])
            here, other = matrix[first[rows]], matrix[second[rows]]
            back = np.minimum(here[:, taken], other[:, given]) * outside[:, None]
            # The largest way back of every key: pairs of one key share no profile.
            there = np.minimum(there, np.maximum.reduceat(back, starts, axis=0)[place])
            chosen, swap = np.unravel_index(int(np.argmax(there)), there.shape)
            units = int(there[chosen, swap])
            if units > best[1]:
                end = np.append(starts, len(rows))[place[chosen] + 1]
                way = int(starts[place[chosen]] + np.argmax(back[starts[place[chosen]] : end, swap]))
                g, h = int(given[swap]), int(taken[swap])
                out, home = leaving[chosen], rows[way]
                steps = [(int(first[out]), g, h), (int(second[out]), h, g)]
                best = [*steps, (int(first[home]), h, g), (int(second[home]), g, h)], units
    return best


def _best_of_twins(
    first: IntArray, second: IntArray, matrix: IntArray, swaps: tuple[IntArray, IntArray]
) -> tuple[list[tuple[int, int, int]], int]:
    """The largest exchange between two twins, which needs no way back."""
    if not len(first):
        return [], 0
    given, taken = swaps
    there = np.minimum(matrix[first][:, given], matrix[second][:, taken])
    pair, swap = np.unravel_index(int(np.argmax(there)), there.shape)
    g, h = int(given[swap]), int(taken[swap])
    return [(int(first[pair]), g, h), (int(second[pair]), h, g)], int(there[pair, swap])
