"""What noised counts say about every noised group, and which axes are omitted because they say too much.

The reader of a noised count knows its law. The posterior of `guarantees.chances_outside` is that of somebody who takes
all count vectors of the noised groups of one axis as equally probable, as far as they agree with their exact sum and
with bounds from every other axis. With more than two options, every secret is looked at by itself: how many chose
within it, out of the group, against what is printed of it and of all others.

The draw that chose the groups is in the likelihood where one count per group says it all (two options that cover
everybody). Otherwise it looks at several counts at once, and is not counted.

An axis above `posterior_max` is omitted, and nothing is drawn again. That is a function of counts that would have been
printed, and so is covered by the epsilon of the noise and by the exact counts that its guarantee leaves unchanged
(post-processing); the guarantee stays what it was, although fewer counts are printed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from safemargin.core import (
    BoolArray,
    FloatArray,
    Group,
    Guarantee,
    IntArray,
    Limits,
    NoisedGroup,
    Onlooker,
    Publication,
    PublishedTable,
    Table,
    label,
)
from safemargin.guarantees import (
    GroupBelief,
    chances_outside,
    lot_chance,
    noise_likelihood,
    one_count_suffices,
    rounded_up,
)
from safemargin.release.plan import Action, Decision, Plan
from safemargin.release.rule.lot import rooms, units
from safemargin.release.rule.protect import sensitive_groups
from safemargin.release.rule.split import AxisPartition, covers_everybody, slack_of, unmerged_split

TOO_MUCH = "its noised counts would say too much"
"""Why an axis is omitted that is above `posterior_max`."""


def with_posterior(
    plan: Plan, publication: Publication, table: Table, onlookers: Sequence[Onlooker]
) -> tuple[Plan, Publication]:
    """The plan and what it publishes, with what noised counts say; without the axes that say too much."""
    noised = noised_groups(plan, publication, table, onlookers)
    limit = plan.target.posterior_max
    above = {each.axis for each in noised if limit is not None and float(each.chance) > limit}
    omitted = tuple(name for name in table.schema.names if name in above)
    publication = replace(publication, noised=noised)
    if not omitted:
        return plan, publication
    tables = tuple(each for each in publication.tables if each.axes not in {(axis,) for axis in omitted})
    guarantees = tuple(_after_omission(each, omitted, limit) for each in plan.guarantees)
    decisions: list[Decision] = []
    for decision in plan.decisions:
        if decision.axis not in above:
            decisions.append(decision)
        elif all(other.axis != decision.axis for other in decisions):
            axis = table.schema.axis(decision.axis)
            why = f"{TOO_MUCH}: the probability that a group is beyond a limit would be above {limit:g}"
            people = int(table.people((axis.name,)).counts.sum())
            decisions.append(Decision(axis.name, frozenset(axis.categories), people, Action.SUPPRESSED, why))
    left = tuple(each for each in noised if each.axis not in above)
    plan = replace(plan, decisions=tuple(decisions), guarantees=guarantees)
    return plan, replace(publication, tables=tables, guarantees=guarantees, noised=left, omitted=omitted)


def _after_omission(guarantee: Guarantee, omitted: Sequence[str], limit: float | None) -> Guarantee:
    """The same guarantee: that something is omitted follows from counts that it covers or leaves unchanged."""
    said = (
        f"{' and '.join(omitted)} was noised as well and then omitted, since the probability that a group is beyond a "
        f"limit was above {limit:g}: that follows from its noised and exact counts alone, so this guarantee covers it."
    )
    return replace(guarantee, statement=f"{guarantee.statement} {said}")


def noised_groups(
    plan: Plan, publication: Publication, table: Table, onlookers: Sequence[Onlooker]
) -> tuple[NoisedGroup, ...]:
    """A line for every noised group, for the onlooker who knows most; none where nobody knows the sizes of groups."""
    knows = {onlooker.composition(table.schema.names) for onlooker in onlookers} or {"joint"}
    if not knows & {"joint", "sizes"}:
        return ()
    people = int(table.people(()).counts.sum())
    limits = plan.target.limits(table.totals.tolist(), people, table.schema.options)
    reader = _Reader(plan, publication, table, limits, "joint" in knows and table.knows_composition)
    return tuple(each for axis in table.schema.names for each in reader.axis(axis))


@dataclass(frozen=True, eq=False)
class _Reader:
    """Somebody who reads a release and knows the roll; `joint` says whether of all axes together."""

    plan: Plan
    publication: Publication
    table: Table
    limits: Limits
    joint: bool

    @cached_property
    def _tables(self) -> Mapping[str, PublishedTable]:
        return {table.axes[0]: table for table in self.publication.tables if len(table.axes) == 1}

    @cached_property
    def _is_one_count(self) -> bool:
        return one_count_suffices(self.table.schema, covers_everybody(self.table))

    def axis(self, name: str) -> list[NoisedGroup]:
        """The noised groups of one axis."""
        noised = {d.group: d for d in self.plan.axis(name) if d.action is Action.NOISED}
        if not noised or name not in self._tables:
            return []
        groups = tuple(decision.group for decision in self.plan.axis(name))
        split = replace(unmerged_split(self.table, name), groups=groups)
        order = [unit for unit in units(split) if all(group in noised for group in unit)]
        left = [group for group in noised if not any(group in unit for unit in order)]
        order += [tuple(left)] if left else []
        guarantee = self._guarantee(split)
        worst: dict[Group, tuple[float, str]] = {}
        for members in self._columns:
            for group, chance in self._chances(split, order, members, guarantee).items():
                if chance > worst.get(group, (-1.0, ""))[0]:
                    worst[group] = chance, self._secret(members)
        counted = self._is_one_count or guarantee is None or not guarantee.choice
        return [
            NoisedGroup(name, group, rounded_up(worst[group][0]), worst[group][1], counted)
            for group in groups
            if group in worst
        ]

    @cached_property
    def _columns(self) -> list[tuple[int, ...]]:
        """The secrets, as sets of options; of two options that cover everybody, the first says it all."""
        options: list[tuple[int, ...]] = [(option,) for option in range(self.limits.options)]
        if self._is_one_count:
            return options[:1]
        unchosen = self.limits.unchosen or (False,) * len(self.limits.floors)
        sets = [*options, *self.limits.sets]
        return [members for members, skipped in zip(sets, unchosen, strict=True) if not skipped]

    def _secret(self, members: Sequence[int]) -> str:
        options = self.table.schema.options
        return "" if self._is_one_count else " or ".join(options[option] for option in members)

    def _guarantee(self, split: AxisPartition) -> Guarantee | None:
        """What the noise of this axis guarantees; its law is in it."""
        own = [each for each in self.plan.guarantees if bool(each.choice) == (split.axis.epsilon is None)]
        return own[0] if own else None

    def _chances(
        self,
        split: AxisPartition,
        order: Sequence[Sequence[Group]],
        members: Sequence[int],
        guarantee: Guarantee | None,
    ) -> dict[Group, float]:
        epsilon = next(d.epsilon for d in self.plan.axis(split.axis.name) if d.epsilon)
        choice = guarantee.choice if guarantee is not None and self._is_one_count else None
        sensitive = sensitive_groups(split, self.limits.sensitive)
        beliefs = [
            [
                self._belief(split, group, members, epsilon, None if sensitive & set(unit) else choice or None)
                for group in unit
            ]
            for unit in order
        ]
        groups = [group for unit in order for group in unit]
        if slack_of(self.table):  # the sum of the noised groups is not known exactly
            return dict(zip(groups, (each.chance_alone for unit in beliefs for each in unit), strict=True))
        return dict(zip(groups, chances_outside(beliefs, self._sum(split, members)), strict=True))

    def _belief(
        self, split: AxisPartition, group: Group, members: Sequence[int], epsilon: float, choice: float | None
    ) -> GroupBelief:
        size = split.size(group)
        lower, upper = self._bounds(split, group, members)
        counts = np.arange(lower, upper + 1)
        printed = _printed(self._tables[split.axis.name], group)
        inside = int(sum(printed[option] for option in members))
        likelihood: FloatArray = noise_likelihood(counts, inside, epsilon, len(members))
        others = [option for option in range(len(printed)) if option not in members]
        if others and not self._is_one_count and covers_everybody(self.table):
            rest = int(sum(printed[option] for option in others))
            likelihood = likelihood * noise_likelihood(size - counts, rest, epsilon, len(others))
        people = np.full(len(counts), size)
        if not self._is_one_count:
            return GroupBelief(lower, likelihood, self._is_outside(counts, people, members))
        both = np.stack([counts, size - counts], axis=1)
        beyond: BoolArray = (both < self.limits.least(people)) | (both > self.limits.most(people))
        outside: BoolArray = np.logical_or.reduce(beyond, axis=1)
        drawn = None if choice is None else lot_chance(rooms(both, people, self.limits.strict), choice)
        return GroupBelief(lower, likelihood, outside, drawn)

    def _is_outside(self, counts: IntArray, people: IntArray, members: Sequence[int]) -> BoolArray:
        sets = [(option,) for option in range(self.limits.options)] + list(self.limits.sets)
        column = sets.index(tuple(members))
        least, most = self.limits.least(people)[:, column], self.limits.most(people)[:, column]
        return (counts < least) | (counts > most)

    def _sum(self, split: AxisPartition, members: Sequence[int]) -> int:
        """How many of all noised groups together chose within a secret: what the exact ones leave of the total."""
        published = self._tables[split.axis.name]
        shown = (np.array(published.status) != "noised") & np.isin(published.option, members)
        return int(self.table.totals[list(members)].sum()) - int(published.lower[shown].sum())

    def _bounds(self, split: AxisPartition, group: Group, members: Sequence[int]) -> tuple[int, int]:
        """Least and most of a group, from the sums that every other axis prints (Frechet, slice by slice)."""
        size, lower, upper = split.size(group), 0, split.size(group)
        if not self.joint or slack_of(self.table):
            return lower, upper
        roll = self.table.people(self.table.schema.names)
        own = self.table.schema.names.index(split.axis.name)
        codes = [split.axis.index[category] for category in group]
        here = np.isin(roll.codes[:, own], codes)
        for other, published in self._tables.items():
            if other == split.axis.name:
                continue
            place = self.table.schema.names.index(other)
            slices, sums = _slices(published, members, int(self.table.totals[list(members)].sum()))
            home = np.array([slices[category] for category in self.table.schema.axis(other).categories])
            at = home[roll.codes[:, place]]
            whole = np.bincount(at, roll.counts[:, 0], minlength=len(sums)).astype(np.int64)
            part = np.bincount(at[here], roll.counts[here, 0], minlength=len(sums)).astype(np.int64)
            lower = max(lower, int(np.maximum(sums - (whole - part), 0).sum()))
            upper = min(upper, int(np.minimum(sums, part).sum()))
        return min(lower, size), max(upper, min(lower, size))


def _printed(table: PublishedTable, group: Group) -> IntArray:
    """What is printed of a group, per option."""
    rows = np.flatnonzero(table.codes[:, 0] == table.groups[0].index(group))
    printed = np.zeros(len(table.options), dtype=np.int64)
    printed[table.option[rows]] = (table.lower if table.noisy is None else table.noisy)[rows]
    return printed


def _slices(table: PublishedTable, members: Sequence[int], total: int) -> tuple[dict[str, int], IntArray]:
    """Categories of an axis by slice, and the sum of every slice; what is not printed exactly is one slice."""
    exact = np.isin(np.array(table.status), ["exact", "merged"]) & np.isin(table.option, members)
    sums = np.bincount(table.codes[exact, 0], table.lower[exact], minlength=len(table.groups[0])).astype(np.int64)
    hidden = np.ones(len(table.groups[0]), dtype=bool)
    hidden[table.codes[exact, 0]] = False
    slices = {c: len(hidden) if hidden[g] else g for g, group in enumerate(table.groups[0]) for c in group}
    return slices, np.append(np.where(hidden, 0, sums), total - int(sums[~hidden].sum()))


def stated_posterior(
    publication: Publication, axes: Sequence[str], orders: Mapping[str, Sequence[str]]
) -> list[dict[str, object]]:
    """What a certificate states of every noised group of these axes."""
    return [
        {
            "axis": each.axis,
            "group": label(each.group, tuple(orders.get(each.axis, ()))),
            "chance": each.chance,
            "secret": each.secret,
            "draw": "counted" if each.counted else "not counted",
        }
        for each in publication.noised
        if each.axis in axes
    ]
