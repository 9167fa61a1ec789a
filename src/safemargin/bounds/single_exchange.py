"""Exchanges of answers around one cell, and between profiles that no published table distinguishes.

A profile p of a cell exchanges answers with q outside it, which differs from p in one published block only; two
profiles outside the cell, in the same two slices, exchange them back. Every published sum stays. Twins, which lie in
the same slice of every block, need no way back. One exchange after another leads further (`MOST_STEPS`).
"""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds.exchange import Exchanges
from safemargin.core import BoolArray, FloatArray, Generator, IntArray

MOST_STEPS = 6


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


def exchanged(
    exchanges: Exchanges, twins: IntArray, matrix: IntArray, members: BoolArray, gives: Sequence[bool]
) -> IntArray | None:
    """A table in which people of the cell give up options that `gives` marks for others; nothing if none is found."""
    changed, some = matrix, False
    whole = np.isin(twins, twins[members])  # with their twins, who can pass on what they get
    for _ in range(MOST_STEPS):
        steps, units = _best_exchange(exchanges, twins, changed, members, gives)
        if not units:
            steps, units = _best_exchange(exchanges, twins, changed, whole, gives)
        if not units:
            break
        changed, some = changed.copy(), True
        for profile, old, new in steps:
            changed[profile, old] -= units
            changed[profile, new] += units
    return changed if some else None


def _best_exchange(
    exchanges: Exchanges, twins: IntArray, matrix: IntArray, members: BoolArray, gives: Sequence[bool]
) -> tuple[list[tuple[int, int, int]], int]:
    """Who changes from which option to which, and how many of each."""
    options = range(matrix.shape[1])
    swaps = [(g, h) for g in options for h in options if gives[g] and not gives[h]]
    pools: list[tuple[IntArray, IntArray, IntArray | None]] = [(*_twin_pairs(twins, members), None)]
    for block in exchanges.tops:
        pairs = exchanges.pairs(block)
        pools += [(pairs.first, pairs.second, pairs.key), (pairs.second, pairs.first, pairs.key)]
    best: tuple[list[tuple[int, int, int]], int] = ([], 0)
    for first, second, key in pools:
        leaving = members[first] & ~members[second]
        for g, h in swaps if leaving.any() else ():
            there = np.where(leaving, np.minimum(matrix[first, g], matrix[second, h]), 0)
            back = np.zeros(0, dtype=np.int64)
            if key is not None:
                back = np.minimum(matrix[first, h], matrix[second, g])
                back = np.where(members[first] | members[second], 0, back)
                # The largest way back of every key: pairs of one key share no profile.
                largest = np.zeros(int(key.max()) + 1, dtype=np.int64)
                np.maximum.at(largest, key, back)
                there = np.minimum(there, largest[key])
            pair = int(np.argmax(there))
            units = int(there[pair])
            if units <= best[1]:
                continue
            steps = [(int(first[pair]), g, h), (int(second[pair]), h, g)]
            if key is not None:
                other = int(np.argmax(np.where(key == key[pair], back, 0)))
                steps += [(int(first[other]), h, g), (int(second[other]), g, h)]
            best = steps, units
    return best


def _twin_pairs(twins: IntArray, members: BoolArray) -> tuple[IntArray, IntArray]:
    """Profiles of a cell, each with one outside it that no published table distinguishes from it."""
    outside = np.full(int(twins.max(initial=0)) + 1, -1)
    outside[twins[~members]] = np.flatnonzero(~members)
    own = np.flatnonzero(members)
    own = own[outside[twins[own]] >= 0]
    return own, outside[twins[own]]
