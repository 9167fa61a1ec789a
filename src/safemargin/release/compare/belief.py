"""What a reader believes after each method: the measure by which a release states its noised groups, for all methods.

Beforehand all counts of the categories of an axis are equally probable, as far as they add up to what is printed
exactly: the count of a merged group, or what printed counts leave of an exact total. What is printed with noise has the
law of its method; a count that is suppressed for its size is below the threshold. The posterior that a category is
beyond a limit is that of `guarantees.chances_outside`; here no draw of groups is counted, and other axes imply nothing.
Of two options that cover everybody, both counts of a group are read together; otherwise every option is read by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray, PublishedTable
from safemargin.guarantees import GroupBelief, chances_outside, one_count_suffices
from safemargin.release.compare.methods import Case, PublishingMethod, Tables
from safemargin.release.rule.split import AxisPartition, covers_everybody


def largest_posterior(case: Case, method: PublishingMethod, tables: Tables) -> float:
    """The largest posterior of any category with as many people as a group must have; 0 where there is none."""
    by_axis = {table.axes[0]: table for table in tables if len(table.axes) == 1}
    (total,) = (table for table in tables if not table.axes)
    totals = total.lower if set(total.status) == {"exact"} else None
    both = one_count_suffices(case.table.schema, covers_everybody(case.table))
    unchosen = case.limits.unchosen or (False,) * len(case.limits.floors)
    options = [0] if both else [o for o in range(len(case.table.schema.options)) if not unchosen[o]]
    return max(
        (
            chance
            for split in case.splits
            for option in options
            for chance in _Axis(case, method, split, by_axis.get(split.axis.name), totals, option, both).chances()
        ),
        default=0.0,
    )


@dataclass(frozen=True, eq=False)
class _Axis:
    """One option on one axis; `table` is what is printed of it, if anything is, `totals` the exact total."""

    case: Case
    method: PublishingMethod
    split: AxisPartition
    table: PublishedTable | None
    totals: IntArray | None
    option: int
    both: bool

    def chances(self) -> list[float]:
        """One for every category that is large enough."""
        names = self.split.axis.categories
        groups = [frozenset(names)] if self.table is None else list(self.table.groups[0])
        printed, status = self._printed(len(groups))
        found: list[float] = []
        hidden, noised = [], []
        for number, group in enumerate(groups):
            if status[number] in ("exact", "merged"):
                found += self._within([group], int(printed[number]))
            elif status[number] == "noised":
                noised.append(number)
            else:
                hidden.append(group)
        left = None
        if self.totals is not None:
            known = np.isin(status, ["exact", "merged"])
            left = int(self.totals[self.option]) - int(printed[known].sum())
        if hidden:
            found += self._within(hidden, left, self.method.below if self.table is not None else None)
        return found + self._noised([groups[number] for number in noised], left if not hidden else None)

    def _printed(self, rows: int) -> tuple[IntArray, np.ndarray]:
        """Per group what is printed, and how; of two options, an exact count of the other says it as well."""
        printed, status = np.zeros(rows, dtype=np.int64), np.full(rows, "suppressed", dtype=object)
        if self.table is None:
            return printed, status
        for own in (1 - self.option, self.option) if self.both else (self.option,):
            at = np.flatnonzero(self.table.option == own)
            counts = self._counts(own)
            for row in at.tolist():
                code = int(self.table.codes[row, 0])
                if status[code] in ("exact", "merged"):
                    continue
                size = self.split.size(self.table.groups[0][code])
                printed[code] = counts[code] if own == self.option else size - counts[code]
                status[code] = self.table.status[row]
        return printed, status

    def _counts(self, option: int) -> IntArray:
        assert self.table is not None
        counts = np.zeros(len(self.table.groups[0]), dtype=np.int64)
        rows = np.flatnonzero(self.table.option == option)
        values = self.table.lower.copy()
        if self.table.noisy is not None:
            values = np.where(np.array(self.table.status) == "noised", self.table.noisy, values)
        counts[self.table.codes[rows, 0]] = values[rows]
        return counts

    def _within(self, groups: Sequence[frozenset[str]], total: int | None, below: int | None = None) -> list[float]:
        """Categories of which only the sum is known."""
        sizes = [self.split.size(frozenset([name])) for group in groups for name in group]
        beliefs = []
        for size in sizes:
            counts = np.arange(size + 1)
            likelihood = np.where(counts < below, 1.0, 0.0) if below else np.ones(len(counts))
            beliefs.append(GroupBelief(0, likelihood, self._outside(counts, size)))
        return self._large(sizes, beliefs, total)

    def _noised(self, groups: Sequence[frozenset[str]], total: int | None) -> list[float]:
        sizes, beliefs, law = [self.split.size(group) for group in groups], [], self.method.law
        for group, size in zip(groups, sizes, strict=True):
            assert law is not None and self.table is not None
            counts, code = np.arange(size + 1), self.table.groups[0].index(group)
            likelihood: FloatArray = law(counts, int(self._counts(self.option)[code]), size)
            if self.both and not self.method.one_count:
                likelihood = likelihood * law(size - counts, int(self._counts(1 - self.option)[code]), size)
            beliefs.append(GroupBelief(0, likelihood, self._outside(counts, size)))
        return self._large(sizes, beliefs, total)

    def _outside(self, counts: IntArray, size: int) -> BoolArray:
        people, limits = np.full(len(counts), size), self.case.limits
        outside: BoolArray = counts < limits.least(people)[:, self.option]
        return outside | (counts > limits.most(people)[:, self.option])

    def _large(self, sizes: Sequence[int], beliefs: Sequence[GroupBelief], total: int | None) -> list[float]:
        alone = [belief.chance_alone for belief in beliefs]
        chances = alone if total is None else chances_outside([[each] for each in beliefs], total)
        return [chance for size, chance in zip(sizes, chances, strict=True) if size >= self.case.target.kappa]
