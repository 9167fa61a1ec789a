"""What a method costs and discloses: people exposed, errors of counts as read, and the properties of section 15."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from safemargin.audit.findings import Finding
from safemargin.core import JOINER, BoolArray, FloatArray, PublishedTable, Table
from safemargin.release.compare.comparison import Binding, CountWithInterval, Learnt, MeasuredMethod, PropertyAnswer
from safemargin.release.compare.methods import Case, PublishingMethod, Tables
from safemargin.release.rule.split import AxisPartition, irregular


def people_in(findings: Iterable[Finding], table: Table) -> int:
    """How many people are in at least one of the cells; at least so many, where nobody knows the joint roll."""
    cells = {tuple(sorted(finding.cell.items())): finding for finding in findings}.values()
    if not table.knows_composition:
        return max((_alone(finding, table) for finding in cells), default=0)
    roll = table.people(table.schema.names)
    inside = np.zeros(len(roll.codes), dtype=bool)
    for finding in cells:
        here = np.ones(len(inside), dtype=bool)
        for axis, codes in _codes(finding.cell, table).items():
            here &= np.isin(roll.codes[:, roll.axes.index(axis)], codes)
        inside |= here
    return int(roll.counts[inside].sum())


def _alone(finding: Finding, table: Table) -> int:
    if finding.people is not None or len(finding.cell) != 1:
        return finding.people or 0
    ((axis, codes),) = _codes(finding.cell, table).items()
    roll = table.people((axis,))
    return int(roll.counts[np.isin(roll.codes[:, 0], codes)].sum())


def _codes(cell: Mapping[str, str], table: Table) -> dict[str, list[int]]:
    """The categories of a cell on every axis that it names; merged ones are written together."""
    codes = {}
    for axis, name in cell.items():
        index = table.schema.axis(axis).index
        codes[axis] = [index[name]] if name in index else [index[part] for part in name.split(JOINER) if part in index]
    return codes


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
    axes = [_read_axis(by_axis.get(split.axis.name), split, totals) for split in case.splits]
    counts, exact, alone = zip(*axes, strict=True) if axes else ((), (), ())
    return Reading(counts, exact, alone, totals, set(total.status) == {"exact"})


def _shown(table: PublishedTable) -> tuple[FloatArray, BoolArray]:
    """Printed counts per group (rows) and option, and which are printed."""
    status = np.array(table.status)
    counts = np.where(status == "noised", table.lower if table.noisy is None else table.noisy, table.lower)
    shape = (-1, max(len(table.options), 1))
    return counts.astype(float).reshape(shape), (status != "suppressed").reshape(shape)


def _read_axis(
    table: PublishedTable | None, split: AxisPartition, totals: FloatArray
) -> tuple[FloatArray, BoolArray, BoolArray]:
    people = split.people.astype(float)
    if table is None:
        nothing = np.zeros(split.votes.shape, dtype=bool)
        return np.outer(people / max(people.sum(), 1.0), totals), nothing, nothing[:, 0]
    counts, known = _shown(table)
    home = np.zeros(len(people), dtype=np.int64)
    for row, group in enumerate(table.groups[0]):
        home[[split.axis.index[category] for category in group]] = row
    sizes = np.bincount(home, people, minlength=len(counts))
    hidden = sizes[:, None] * ~known
    left = np.maximum(totals - np.where(known, counts, 0.0).sum(axis=0), 0.0)
    counts = np.where(known, counts, left * hidden / np.maximum(hidden.sum(axis=0), 1.0))
    alone = np.bincount(home, minlength=len(counts))[home] == 1
    share = np.where(alone, 1.0, people / np.maximum(sizes[home], 1.0))
    exact = (np.array(table.status) == "exact").reshape(counts.shape)[home]
    return counts[home] * share[:, None], exact & alone[:, None], alone & known[home].all(axis=1)


def measure_errors(
    case: Case, method: PublishingMethod, drawn: Iterable[Tables], learnt: tuple[Learnt, ...]
) -> "MethodFacts":
    """Compare every draw with the truth; what is exact and alone is the same in each, and taken from the last."""
    truth = np.concatenate([split.votes.ravel() for split in case.splits]).astype(float)
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
    ends = np.cumsum([split.votes.size for split in case.splits])[:-1]
    parts = zip(np.split(sums / draws, ends), case.splits, strict=True)
    people = [split.people[exact.all(axis=1)].sum() for split, exact in zip(case.splits, reading.exact, strict=True)]
    measured = MeasuredMethod(
        method=method.name,
        family=method.family,
        does=method.does,
        draws=draws,
        mean_error=float(np.mean(means)),
        standard_error=float(np.std(means, ddof=1) / np.sqrt(draws)) if draws > 1 else 0.0,
        worst_error=worst,
        mean_relative_error=mean_relative,
        worst_relative_error=worst_relative,
        exact_cells=float(np.concatenate([exact.ravel() for exact in reading.exact]).mean()),
        exact_people=float(sum(people)) / max(sum(int(split.people.sum()) for split in case.splits), 1),
        binding=Binding(reading.totals_exact, float(np.mean(off)), kept / draws),
        loss=method.loss,
        learnt=learnt,
        guarantees=method.guarantees,
    )
    by_group = tuple(part.reshape(split.votes.shape).mean(axis=1) for part, split in parts)
    return MethodFacts(case, method, measured, reading, by_group)


MOST_INTERVALS = 200


def counts_with_intervals(case: Case, method: PublishingMethod, tables: Tables) -> tuple[CountWithInterval, ...]:
    """Printed counts with their intervals, spread over all tables where there are many."""
    if method.interval is None:
        return ()
    sizes = {split.axis.name: split.people for split in case.splits}
    rows = []
    for table in tables:
        shown, _ = _shown(table)
        names = [", ".join(sorted(group)) for group in table.groups[0]] if table.axes else [""]
        people = sizes[table.axes[0]].tolist() if table.axes else [case.people]
        for name, size, counts in zip(names, people, shown.astype(np.int64).tolist(), strict=True):
            for option, count in zip(case.table.schema.options, counts, strict=True):
                rows.append((table.axes[0] if table.axes else "", name, option, count, size))
    step = -(-len(rows) // MOST_INTERVALS)
    return tuple(
        CountWithInterval(axis, name, option, count, *method.interval(count, size))
        for axis, name, option, count, size in rows[::step]
    )


def winners(totals: FloatArray, people: int) -> frozenset[int]:
    """The options with most votes; of a single option, whether more than half of the people chose it.

    >>> sorted(winners(np.array([3.0, 5.0, 5.0]), 13))
    [1, 2]
    """
    if len(totals) == 1:
        return frozenset([0] if 2 * totals[0] > people else [])
    return frozenset(np.flatnonzero(totals == totals.max()).tolist())


USABLE = 0.05
"""A small group is resolved if it is printed by itself and its counts are off by at most this share of its people."""

FLAT = 0.5
"""Noise is flat if regular counts are off by at least this much of what the others are."""


@dataclass(frozen=True)
class MethodFacts:
    """One method with what was measured of it: the last draw as it is read, None where nothing is published, and per
    axis the mean error of the counts of every category.
    """

    case: Case
    method: PublishingMethod
    measured: MeasuredMethod
    reading: Reading | None = None
    by_group: tuple[FloatArray, ...] = ()

    @property
    def regular(self) -> tuple[BoolArray, ...]:
        """Per axis, the categories that meet the target by themselves."""
        return tuple(~irregular(split, self.case.limits) & (split.people > 0) for split in self.case.splits)

    @property
    def others(self) -> tuple[BoolArray, ...]:
        """Per axis, the categories with people that do not."""
        return tuple((split.people > 0) & ~fine for split, fine in zip(self.case.splits, self.regular, strict=True))


def answers(facts: MethodFacts) -> dict[str, PropertyAnswer]:
    """One answer per property; a release that is refused has none of them but costs nothing by surprise."""
    if facts.reading is None:
        return {name: PropertyAnswer("no", facts.method.refused) for name in PROPERTIES}
    return {name: answer(facts, facts.reading) for name, answer in PROPERTIES.items()}


def _binding(facts: MethodFacts, reading: Reading) -> PropertyAnswer:
    binding, draws = facts.measured.binding, facts.measured.draws
    if binding.exact:
        return PropertyAnswer("yes", "every total is exact")
    changed = round((1 - binding.winner_kept) * draws)
    return PropertyAnswer(
        "no", f"totals are off by {binding.mean_error:.3g}; another winner in {changed} of {draws} draws"
    )


def _regular(facts: MethodFacts, reading: Reading) -> PropertyAnswer:
    exact = [exact_counts.all(axis=1) for exact_counts in reading.exact]
    kept = sum(int((fine & exact_counts).sum()) for fine, exact_counts in zip(facts.regular, exact, strict=True))
    count = sum(int(fine.sum()) for fine in facts.regular)
    return PropertyAnswer(_all_of(kept, count), f"{kept} of {count} regular groups are exact")


def _per_cell(facts: MethodFacts, reading: Reading) -> PropertyAnswer:
    regular, others = _mean(facts, facts.regular), _mean(facts, facts.others)
    if regular is None:
        return PropertyAnswer("no", "no group is regular")
    fact = f"regular counts are off by {regular:.3g}"
    fact += "" if others is None else f", the others by {others:.3g}"
    if regular == 0:
        return PropertyAnswer("yes", fact)
    return PropertyAnswer("partly" if others is not None and regular < FLAT * others else "no", fact)


def _in_advance(facts: MethodFacts, reading: Reading) -> PropertyAnswer:
    measured, expected = facts.measured, facts.method.expected
    if not facts.method.is_random:
        return PropertyAnswer("yes", f"off by {measured.mean_error:.3g}, the same in every run")
    law = "" if expected is None else f"the law says {expected:.3g} per count, "
    return PropertyAnswer(
        "partly", f"{law}{measured.draws} draws gave {measured.mean_error:.3g}; not known for a single count"
    )


def _small_areas(facts: MethodFacts, reading: Reading) -> PropertyAnswer:
    resolved = count = 0
    for split, off, alone in zip(facts.case.splits, facts.by_group, reading.alone, strict=True):
        occupied = split.people > 0
        small = occupied & (split.people <= np.median(split.people[occupied])) if occupied.any() else occupied
        resolved += int((small & alone & (off <= USABLE * split.people)).sum())
        count += int(small.sum())
    fact = f"{resolved} of {count} small groups are resolved to within {USABLE:.0%} of their people"
    return PropertyAnswer(_all_of(resolved, count), fact.replace("%", " %"))


def _guarantee(facts: MethodFacts, reading: Reading) -> PropertyAnswer:
    if facts.method.guarantee:
        return PropertyAnswer("yes", facts.method.guarantee)
    people = facts.measured.people_exposed
    return PropertyAnswer("no", f"none is stated; the audit finds {people:,} people exposed")


def _unconditional(facts: MethodFacts, reading: Reading) -> PropertyAnswer:
    unconditional = facts.method.loss is not None and not any(exact.any() for exact in reading.exact)
    return PropertyAnswer("yes" if unconditional and not facts.measured.binding.exact else "no", facts.method.auxiliary)


def _mean(facts: MethodFacts, chosen: tuple[BoolArray, ...]) -> float | None:
    values = np.concatenate([off[rows] for off, rows in zip(facts.by_group, chosen, strict=True)])
    return float(values.mean()) if len(values) else None


def _all_of(met: int, count: int) -> str:
    return "yes" if met == count else "partly" if met else "no"


PROPERTIES: Mapping[str, Callable[[MethodFacts, Reading], PropertyAnswer]] = {
    "binding_outcome_exact": _binding,
    "regular_cells_exact": _regular,
    "per_cell_cost": _per_cell,
    "cost_computable_in_advance": _in_advance,
    "small_area_resolution": _small_areas,
    "guarantee_on_regular_cells": _guarantee,
    "unconditional_against_auxiliary": _unconditional,
}
"""In the order of the paper."""
