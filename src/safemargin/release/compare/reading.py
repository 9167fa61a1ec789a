"""What a reader takes every count for, and how far off that is."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, FloatArray, PublishedTable
from safemargin.release.compare.comparison import Binding
from safemargin.release.compare.method import Case, Tables
from safemargin.release.decide.split import Split


@dataclass(frozen=True)
class Reading:
    """Per axis: the count of every category (rows) and option (columns) as read, whether it is printed exactly, and
    whether the category is printed by itself.
    """

    counts: tuple[FloatArray, ...]
    exact: tuple[BoolArray, ...]
    alone: tuple[BoolArray, ...]
    totals: FloatArray
    totals_exact: bool


def read(tables: Tables, case: Case) -> Reading:
    """Printed counts are taken as they stand. What is not printed is spread by size: the count of a merged group over
    its categories, what is left of the total over everything suppressed, the total over an axis without a table.
    """
    by_axis = {table.axes[0]: table for table in tables if table.axes}
    (total,) = (table for table in tables if not table.axes)
    shown, known = _shown(total)
    totals = np.where(known, shown, 0.0).ravel()
    found = [_read_axis(by_axis.get(one.axis.name), one, totals) for one in case.splits]
    counts, exact, alone = zip(*found, strict=True) if found else ((), (), ())
    return Reading(counts, exact, alone, totals, set(total.status) == {"exact"})


def _shown(table: PublishedTable) -> tuple[FloatArray, BoolArray]:
    """Printed counts per group (rows) and option, and which are printed."""
    status = np.array(table.status)
    counts = np.where(status == "noised", table.lower if table.noisy is None else table.noisy, table.lower)
    shape = (-1, max(len(table.options), 1))
    return counts.astype(float).reshape(shape), (status != "suppressed").reshape(shape)


def _read_axis(table: PublishedTable | None, one: Split, totals: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
    people = one.people.astype(float)
    if table is None:
        nothing = np.zeros(one.votes.shape, dtype=bool)
        return np.outer(people / max(people.sum(), 1.0), totals), nothing, nothing[:, 0]
    counts, known = _shown(table)
    home = np.zeros(len(people), dtype=np.int64)
    for place, group in enumerate(table.groups[0]):
        home[[one.axis.index[category] for category in group]] = place
    sizes = np.bincount(home, people, minlength=len(counts))
    hidden = sizes[:, None] * ~known
    left = np.maximum(totals - np.where(known, counts, 0.0).sum(axis=0), 0.0)
    counts = np.where(known, counts, left * hidden / np.maximum(hidden.sum(axis=0), 1.0))
    alone = np.bincount(home, minlength=len(counts))[home] == 1
    share = np.where(alone, 1.0, people / np.maximum(sizes[home], 1.0))
    exact = (np.array(table.status) == "exact").reshape(counts.shape)[home]
    return counts[home] * share[:, None], exact & alone[:, None], alone & known[home].all(axis=1)


@dataclass(frozen=True)
class Errors:
    """Errors of all draws of one method; `by_group` is the mean error of the counts of every category, per axis."""

    draws: int
    mean: float
    standard_error: float
    worst: float
    mean_relative: float
    worst_relative: float
    by_group: tuple[FloatArray, ...]
    binding: Binding
    reading: Reading


def errors(drawn: Iterable[Tables], case: Case) -> Errors:
    """Compare every draw with the truth; what is exact and alone is the same in each, and taken from the last."""
    truth = np.concatenate([one.votes.ravel() for one in case.splits]).astype(float)
    means, figures, sums, off, kept = [], [], np.zeros(len(truth)), [], 0
    for tables in drawn:
        reading = read(tables, case)
        gap = abs(np.concatenate([counts.ravel() for counts in reading.counts]) - truth)
        relative = gap / np.maximum(truth, 1.0)
        figures.append((gap.max(), relative.mean(), relative.max()))
        means.append(gap.mean())
        sums += gap
        off.append(abs(reading.totals - case.table.totals).mean())
        kept += winners(reading.totals, case.people) == winners(case.table.totals.astype(float), case.people)
    draws = len(means)
    worst, mean_relative, worst_relative = (float(value) for value in np.mean(figures, axis=0))
    ends = np.cumsum([one.votes.size for one in case.splits])[:-1]
    parts = zip(np.split(sums / draws, ends), case.splits, strict=True)
    return Errors(
        draws=draws,
        mean=float(np.mean(means)),
        standard_error=float(np.std(means, ddof=1) / np.sqrt(draws)) if draws > 1 else 0.0,
        worst=worst,
        mean_relative=mean_relative,
        worst_relative=worst_relative,
        by_group=tuple(part.reshape(one.votes.shape).mean(axis=1) for part, one in parts),
        binding=Binding(reading.totals_exact, float(np.mean(off)), kept / draws),
        reading=reading,
    )


def winners(totals: FloatArray, people: int) -> frozenset[int]:
    """The options with most votes; of a single option, whether more than half of the people chose it.

    >>> sorted(winners(np.array([3.0, 5.0, 5.0]), 13))
    [1, 2]
    """
    if len(totals) == 1:
        return frozenset([0] if 2 * totals[0] > people else [])
    return frozenset(np.flatnonzero(totals == totals.max()).tolist())
