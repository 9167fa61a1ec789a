"""Independent representations of every statistic of a programme (annex B, Eqs. 21 and 22).

A table is published with all its margins. A count can be read directly and added up from every finer statistic that is
published, each time with noise of its own: `t` such representations add up `k` noisy counts in all. Where the same
participants have the same noise, a statistic that several tables print is one representation, else one per table.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

from safemargin.core import TooLargeError
from safemargin.noise.programme import Programme, Statistic, load_programme
from safemargin.samplers import at_least
from safemargin.ui import Document, Grid, Report, Result

MOST_PAIRS = 5_000_000
"""Pairs of a statistic and a finer one that are counted."""
COLUMNS = ("statistic", "cells", "t", "k", "k/t^2", "best t", "best k", "best k/t^2", "weighted", "linear")
LISTED = 10
Splits = Mapping[str, Mapping[int, int]]
"""Per variable: how many counts are printed beside their parts, by the number of parts."""


@dataclass(frozen=True)
class Redundancy:
    """How often a cell of one statistic is represented; on nested levels, an average cell.

    `t` and `k` are for all representations, `best_t` and `best_k` for those that the three steps of annex B.3 choose.
    `weighted` replaces `k / t**2` when representations are weighted by their precision: the least that a mean can have,
    and a worse case than the paper's. `linear` is the least that any unbiased linear estimate can have: it also takes
    counts from totals and shares what the tables have in common. Both take noise to be independent.
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

    def to_json(self) -> Document:
        return {
            "statistic": self.statistic,
            "cells": self.cells,
            "t": self.t,
            "k": _plain(self.k),
            "kt2": float(self.ratio),
            "best_t": self.best_t,
            "best_k": _plain(self.best_k),
            "best_kt2": float(self.best_ratio),
            "weighted": self.weighted,
            "linear": self.linear,
        }

    def cells_of_row(self) -> list[str]:
        """The row of a table with `COLUMNS`."""
        integers = (f"{self.cells:,}", f"{self.t:,}", short_number(self.k))
        best = (f"{self.best_t:,}", short_number(self.best_k), f"{float(self.best_ratio):.4g}")
        return [
            *(self.statistic, *integers, f"{float(self.ratio):.4g}", *best),
            *(f"{self.weighted:.4g}", f"{self.linear:.4g}"),
        ]


def _plain(value: Fraction) -> int | float:
    """An integer where it is one."""
    return int(value) if value.denominator == 1 else float(value)


def short_number(value: Fraction) -> str:
    """A number of at most nine characters.

    >>> short_number(Fraction(4818)), short_number(Fraction(7, 2)), short_number(Fraction(3988770624))
    ('4,818', '3.5', '3.99e+09')
    """
    return f"{float(value):.3g}" if value >= 10**7 or value.denominator > 1 else f"{int(value):,}"


@dataclass(frozen=True)
class Redundancies(Result):
    """The redundancies of all statistics of a programme, the easiest to average first."""

    programme: str
    same_noise: bool
    statistics: tuple[Redundancy, ...]
    limit: int = LISTED

    def to_json(self) -> Document:
        return {
            "value": float(min(entry.best_ratio for entry in self.statistics)),
            "inputs": {"programme": self.programme, "same_noise": self.same_noise},
            "details": {"statistics": [entry.to_json() for entry in self.statistics]},
        }

    def to_report(self) -> Report:
        rows = [entry.cells_of_row() for entry in self.statistics]
        return Report(f"{self.programme}: redundancies", Grid(COLUMNS, rows, most=self.limit, wide=True))


@dataclass(frozen=True)
class Output:
    """What constraints on noise follow from: worths of estimates in units of one count's variance, with the same noise
    for the same participants and with new noise in every table, counts beside their parts, and small areas.
    """

    name: str
    ratio: float
    fresh_ratios: tuple[float, ...]
    tuples: Splits
    small_areas: int
    tables: tuple[str, ...] = ()
    statistics: tuple[Redundancy, ...] = ()
    fresh: tuple[Redundancy, ...] = ()
    title: str = "Programme of tables"


def redundancy(programme: Path | str | Programme, same_noise: bool = True, limit: int = LISTED) -> Redundancies:
    """Count how often every statistic of a programme is represented.

    `same_noise` means that the same participants have the same noise in every table, as with cell keys; `limit` is how
    many statistics are shown as text.
    """
    at_least("limit", limit, 0)
    planned = programme if isinstance(programme, Programme) else load_programme(programme)
    name = planned.title if isinstance(programme, Programme) else str(programme)
    return Redundancies(name, same_noise, redundancies(planned, same_noise=same_noise), limit)


def published_statistics(programme: Programme) -> dict[Statistic, int]:
    """Every statistic, and how many tables print it."""
    for planned in programme.tables:
        # Pairs of levels, wide and fine: counted before anything is listed.
        _check_pairs(math.prod((level + 1) * (level + 2) // 2 for _, level in planned.axes))
    return dict(Counter(statistic for planned in programme.tables for statistic in programme.statistics_of(planned)))


def redundancies(programme: Programme, *, same_noise: bool = True) -> tuple[Redundancy, ...]:
    """Every statistic with its representations, the easiest to average first.

    >>> from safemargin.noise.programme import parse_programme
    >>> two = parse_programme("[variables]\\nSEX = 2\\nAGE = 2\\n[[tables]]\\naxes = ['SEX', 'AGE']")
    >>> [(entry.statistic, entry.t, int(entry.k), str(entry.ratio)) for entry in redundancies(two)]
    [('total', 4, 9, '9/16'), ('AGE', 2, 3, '3/4'), ('SEX', 2, 3, '3/4'), ('SEX x AGE', 1, 1, '1')]
    """
    printed = published_statistics(programme)
    _check_pairs(sum(math.prod(level + 1 for _, level in statistic) for statistic in printed))
    terms: dict[Statistic, list[tuple[Fraction, int]]] = defaultdict(list)
    for finer, tables in printed.items():
        for levels in product(*(range(level + 1) for _, level in finer)):
            wider = tuple((v, level) for (v, _), level in zip(finer, levels, strict=True) if level)
            # Eq. (21) counts a statistic once per table that prints it, Eq. (22) once (SPSN).
            added = Fraction(programme.cells(finer), programme.cells(wider))
            terms[wider].append((added, 1 if same_noise else tables))
    # Weights by precision minimise the variance of a mean: 1 / sum(1 / k_i), which is at most k / t^2.
    worth = {statistic: 1 / sum(often / float(added) for added, often in terms[statistic]) for statistic in terms}
    counted = [
        Redundancy(
            programme.label(statistic),
            programme.cells(statistic),
            sum(often for _, often in terms[statistic]),
            sum((added * often for added, often in terms[statistic]), Fraction(0)),
            *optimised(terms[statistic]),
            worth[statistic],
            _linear(programme, statistic, worth),
        )
        for statistic in printed
    ]
    return tuple(sorted(counted, key=lambda entry: (entry.best_ratio, entry.weighted, entry.statistic)))


def _check_pairs(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise TooLargeError(
            f"the tables have {pairs:,} pairs of statistics, more than {MOST_PAIRS:,}; list fewer axes or levels"
        )


def _linear(programme: Programme, statistic: Statistic, worth: Mapping[Statistic, float]) -> float:
    """Variance of the best linear estimate of a cell, in units of that of the noise on one count.

    A table is the sum of its effects: the total spread evenly, then for every set of variables (and level) the
    contrasts within the next wider one. Tables that print an effect each estimate it, from sums as long as for a mean,
    and effects are estimated independently. Nested levels are taken to divide evenly.
    """
    variance = 0.0
    for levels in product(*(range(level + 1) for _, level in statistic)):
        share = 1.0
        for (v, level), lower in zip(statistic, levels, strict=True):
            size = programme.size(v, lower)
            # An effect of few categories is spread evenly over the finer ones; its contrasts lose one dimension.
            share *= (size / programme.size(v, level)) ** 2
            share *= 1 - programme.size(v, lower - 1) / size if lower else 1.0
        effect = tuple((v, lower) for (v, _), lower in zip(statistic, levels, strict=True) if lower)
        variance += worth[effect] * share
    return variance


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
        # (k + added) / (t + 1)^2 <= k / t^2 without division, so that equality is exact.
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
    splits: dict[str, dict[int, int]] = {}
    printed = published_statistics(programme)
    for statistic in printed:
        for position, (v, level) in enumerate(statistic):
            whole = (*statistic[:position], *([(v, level - 1)] if level > 1 else []), *statistic[position + 1 :])
            if whole not in printed:  # a grid has no total
                continue
            parts = programme.size(v, level) // programme.size(v, level - 1)
            others = programme.cells((*statistic[:position], *statistic[position + 1 :]))
            by_parts = splits.setdefault(programme.variables[v].name, {})
            by_parts[parts] = by_parts.get(parts, 0) + others * programme.size(v, level - 1)
    return {variable.name: splits[variable.name] for variable in programme.variables if variable.name in splits}


def count(programme: Programme, name: str) -> Output:
    """What constraints on noise follow from, of a programme."""
    same, fresh = redundancies(programme), redundancies(programme, same_noise=False)
    return Output(
        name,
        min(entry.linear for entry in same),
        tuple(entry.linear for entry in fresh),
        tuples(programme),
        programme.small_areas,
        tuple(table.name for table in programme.tables),
        same,
        fresh,
        programme.title or Output.title,
    )
