"""What cells and their sum tell together, to an onlooker who knows the p-table and how keys add up.

The key of a sum is the sum of the keys of its parts. So the noise on it is not independent of theirs: whoever guesses
the counts knows the ranges that the parts' keys lie in, hence roughly the key of the sum.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product

from safemargin.core import InputError, TooLargeError
from safemargin.noise.belief import Beliefs, CountBelief
from safemargin.samplers.ptable import PTable

UNIT = 2**60
"""Keys from 0 to 1 in whole numbers."""

MOST_PARTS = 4
MOST_GUESSES = 200_000

Range = tuple[int, int]
Guess = tuple[int, Range, float]
"""A count, the keys with which it becomes what is printed, and its weight beforehand."""


def posterior_of_sum(
    table: PTable,
    parts: Sequence[int],
    total: int,
    prior: Mapping[int, float] | None = None,
    *,
    small: int = 3,
    keyed: bool = True,
) -> Beliefs:
    """Beliefs about the counts behind the printed `parts`, in order, and then behind their printed `total`.

    `prior` gives weights of counts of the parts; without it all are equally likely beforehand. If not `keyed`, noise is
    taken to be independent, as where it is drawn afresh for every cell.
    """
    if not 2 <= len(parts) <= MOST_PARTS:
        raise InputError(
            f"{len(parts)} parts: give from 2 to {MOST_PARTS}; nearest is {2 if len(parts) < 2 else MOST_PARTS}"
        )
    guesses = [_guesses(table, number, prior) for number in parts]
    if math.prod(map(len, guesses)) > MOST_GUESSES:
        raise TooLargeError(
            f"{len(parts)} parts with noise of at most {table.bound}: too many guesses; give fewer parts"
        )
    found: list[dict[int, float]] = [{} for _ in range(len(parts) + 1)]
    for guess in product(*guesses):
        people = sum(count for count, _, _ in guess)
        keys = _keys(table, people, total)
        if keys is None:
            continue
        boxes = [where for count, where, _ in guess if count]
        chance = _volume(boxes, keys) if keyed else math.prod((high - low) / UNIT for low, high in (*boxes, keys))
        weight = chance * math.prod(w for _, _, w in guess)
        if weight > 0:
            for place, count in enumerate((*(count for count, _, _ in guess), people)):
                found[place][count] = found[place].get(count, 0.0) + weight
    if not found[-1]:
        raise InputError(
            f"{', '.join(map(str, parts))} and their sum {total} cannot be printed together with this p-table"
        )
    return Beliefs(tuple(map(_belief, (*parts, total), found)), small)


def _belief(printed: int, weights: Mapping[int, float]) -> CountBelief:
    whole = math.fsum(weights.values())
    counts = tuple(sorted(weights))
    return CountBelief(printed, counts, tuple(weights[count] / whole for count in counts))


def _guesses(table: PTable, printed: int, prior: Mapping[int, float] | None) -> list[Guess]:
    found = []
    for count in range(max(printed - table.bound, 0), printed + table.bound + 1):
        weight = 1.0 if prior is None else prior.get(count, 0.0)
        keys = _keys(table, count, printed)
        if weight > 0 and keys is not None:
            found.append((count, keys, weight))
    return found


def _keys(table: PTable, count: int, printed: int) -> Range | None:
    """The keys with which `count` becomes `printed`."""
    law, before = table.law(count), 0
    for v, part in zip(law.noise, law.parts, strict=True):
        if count + v == printed and part:
            return before * UNIT // law.total, (before + part) * UNIT // law.total
        before += part
    return None


def _volume(boxes: Sequence[Range], goal: Range) -> float:
    """Probability that uniform keys lie in these ranges and their sum, modulo one, in `goal`.

    An empty part adds no key, and without any part the sum is 0.
    """
    if not boxes:
        return float(goal[0] == 0)
    size = len(boxes)
    low, high = goal
    total = sum(_below(boxes, high + turn * UNIT) - _below(boxes, low + turn * UNIT) for turn in range(size))
    scale: int = math.factorial(size) * UNIT**size
    return total / scale


def _below(boxes: Sequence[Range], top: int) -> int:
    """Volume of the box where coordinates add up to at most `top`, times the factorial of its dimension."""
    size = len(boxes)
    total = 0
    for ends in product((0, 1), repeat=size):
        rest = top - sum(box[end] for box, end in zip(boxes, ends, strict=True))
        if rest > 0:
            total += (-1) ** sum(ends) * rest**size
    return total
