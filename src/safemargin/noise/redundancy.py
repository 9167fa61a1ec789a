"""Independent representations of every statistic of a programme (annex B, Eqs. 21 and 22).

A table is published with all its margins. A count can be read off directly and added up from every finer statistic
that is published, each time with noise of its own: `t` such representations add up `k` noisy counts in all. Where the
same participants have the same noise, a statistic that several tables print is one representation, else one per table.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from safemargin.core import TooLargeError
from safemargin.noise.programme import PlannedTable, Programme, Statistic

MOST_PAIRS = 5_000_000
"""Pairs of a statistic and a finer one that are looked at."""


@dataclass(frozen=True)
class Redundancy:
    """How often a cell of one statistic is represented; on nested levels, an average cell.

    `t` and `k` are for all representations, `best_t` and `best_k` for those that the three steps of annex B.3 choose.
    `weighted` is what stands for `k / t**2` when representations are weighted by their precision: the least that a
    mean can have, and a worse case than the paper's. `linear` is the least that any unbiased linear estimate can have:
    it also takes counts from totals and shares what the tables have in common. Both take noise to be independent.
    """

    statistic: str
    cells: int
    t: int
    k: Fraction
    best_t: int
    best_k: Fraction
    weighted: float
    linear: float

    @property
    def ratio(self) -> Fraction:
        """`k / t**2` over all representations."""
        return self.k / self.t**2

    @property
    def best_ratio(self) -> Fraction:
        """The smallest `k / t**2` of the paper's three steps."""
        return self.best_k / self.best_t**2


def statistics_of(table: PlannedTable) -> Iterator[Statistic]:
    """Every combination of levels that a table prints, the total included."""
    for levels in product(*(range(level + 1) for _, level in table.axes)):
        yield tuple((at, level) for (at, _), level in zip(table.axes, levels, strict=True) if level)


def published_statistics(programme: Programme) -> dict[Statistic, int]:
    """Every statistic, and how many tables print it."""
    for table in programme.tables:
        _check_pairs(math.prod((level + 1) * (level + 2) // 2 for _, level in table.axes))
    return dict(Counter(each for table in programme.tables for each in statistics_of(table)))


def redundancies(programme: Programme, *, same_noise: bool = True) -> tuple[Redundancy, ...]:
    """Every statistic with its representations, the easiest to average first.

    >>> from safemargin.noise.programme import parse_programme
    >>> two = parse_programme("[variables]\\nSEX = 2\\nAGE = 2\\n[[tables]]\\naxes = ['SEX', 'AGE']")
    >>> [(each.statistic, each.t, int(each.k), str(each.ratio)) for each in redundancies(two)]
    [('total', 4, 9, '9/16'), ('AGE', 2, 3, '3/4'), ('SEX', 2, 3, '3/4'), ('SEX x AGE', 1, 1, '1')]
    """
    printed = published_statistics(programme)
    _check_pairs(sum(_below(statistic) for statistic in printed))
    terms: dict[Statistic, list[tuple[Fraction, int]]] = defaultdict(list)
    for finer, tables in printed.items():
        for levels in product(*(range(level + 1) for _, level in finer)):
            wider = tuple((at, level) for (at, _), level in zip(finer, levels, strict=True) if level)
            if wider in printed:
                added = Fraction(programme.cells(finer), programme.cells(wider))
                terms[wider].append((added, 1 if same_noise else tables))
    worth = {each: 1 / sum(often / float(added) for added, often in terms[each]) for each in printed}
    found = [
        _counted(
            programme.label(each), programme.cells(each), terms[each], worth[each], _linear(programme, each, worth)
        )
        for each in printed
    ]
    return tuple(sorted(found, key=lambda each: (each.best_ratio, each.weighted, each.statistic)))


def _check_pairs(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise TooLargeError(
            f"the tables have {pairs:,} pairs of statistics, more than {MOST_PAIRS:,}; list fewer axes or levels"
        )


def _below(statistic: Statistic) -> int:
    found = 1
    for _, level in statistic:
        found *= level + 1
    return found


def _counted(
    label: str, cells: int, terms: Sequence[tuple[Fraction, int]], weighted: float, linear: float
) -> Redundancy:
    """Sums over representations, given as how many counts each adds up and how often there is such a one."""
    t = sum(often for _, often in terms)
    k = sum((added * often for added, often in terms), Fraction(0))
    return Redundancy(label, cells, t, k, *optimised(terms), weighted, linear)


def _linear(programme: Programme, statistic: Statistic, worth: Mapping[Statistic, float]) -> float:
    """Variance of the best linear estimate of a cell, in units of that of the noise on one count.

    A table is the sum of its effects: the total spread evenly, then for every set of variables (and level) the
    contrasts within the next wider one. Tables that print an effect each estimate it, from sums as long as for a mean,
    and effects are estimated independently. Nested levels are taken to divide evenly.
    """
    found = 0.0
    for levels in product(*(range(level + 1) for _, level in statistic)):
        share = 1.0
        for (at, level), lower in zip(statistic, levels, strict=True):
            size = programme.size(at, lower)
            share *= (size / programme.size(at, level)) ** 2
            share *= 1 - programme.size(at, lower - 1) / size if lower else 1.0
        effect = tuple((at, lower) for (at, _), lower in zip(statistic, levels, strict=True) if lower)
        found += worth[effect] * share
    return found


def optimised(terms: Sequence[tuple[Fraction, int]]) -> tuple[int, Fraction]:
    """`t` and `k` of the mean that annex B.3 arrives at.

    Representations are taken from the shortest sum up, one at a time, until `k / t**2` would grow.

    >>> optimised([(Fraction(1), 1), (Fraction(2), 2), (Fraction(4), 1)])
    (3, Fraction(5, 1))
    >>> optimised([(Fraction(1), 1), (Fraction(9), 50)])
    (1, Fraction(1, 1))
    """
    t, k = 0, Fraction(0)
    for added, often in sorted(terms):
        taken = 0
        while taken < often and (t == 0 or (k + added) * t * t <= k * (t + 1) ** 2):
            t, k, taken = t + 1, k + added, taken + 1
        if taken < often:
            break
    return t, k


def tuples(programme: Programme) -> dict[str, dict[int, int]]:
    """Per variable: how many counts are printed beside the parts they divide into, by the number of parts.

    Tuples of one variable with one level share no cell, so that their noise is independent. With nested levels a count
    may be the whole of one tuple and a part of another; an area has as many parts as on average, rounded down.

    >>> from safemargin.noise.programme import parse_programme
    >>> tuples(parse_programme("[variables]\\nSEX = 2\\nAGE = 3\\n[[tables]]\\naxes = ['SEX', 'AGE']"))
    {'SEX': {2: 4}, 'AGE': {3: 3}}
    """
    found: dict[str, dict[int, int]] = {}
    for statistic in published_statistics(programme):
        for place, (at, level) in enumerate(statistic):
            variable = programme.variables[at]
            parts = programme.size(at, level) // programme.size(at, level - 1)
            split = programme.cells((*statistic[:place], *statistic[place + 1 :])) * programme.size(at, level - 1)
            mine = found.setdefault(variable.name, {})
            mine[parts] = mine.get(parts, 0) + split
    return {each.name: found[each.name] for each in programme.variables if each.name in found}
