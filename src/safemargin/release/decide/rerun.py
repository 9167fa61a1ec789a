"""Other answers for which the program publishes the same: what somebody who knows the rule cannot exclude.

Objects
    F           the rule: a map from votes to releases; P = F(true votes) the release in question
    block       groups that P merges or suppresses, or a whole axis that it omits
    cause       answers for one block that could have been the reason: a part of it just outside the strict limits, or a
                group one of whose cells with another group is
    X           the sums of the parts of all blocks, as the chosen causes have them (`shared_sums`)

Statement (docs/decide.md has the proof)
    Let votes v agree with P, have the sums X, and let F(v) = P. Then every table that agrees with P and X leads to P:
    in each block a part with these sums is outside the strict limits, however it is shared inside, so the cut stays at
    the block; everything else that F reads is published. So an onlooker who knows the rule cannot exclude any table of
    this set, and a certificate over the set holds against them.

    The parts lie in the *guard band* between the strict limits of decisions and those of the target: outside the
    former,
    within the latter. So the answers that explain a merge are harmless themselves.

Invariants
    * Only what is published, the roll and the rule are used, never the true answers: whether this succeeds is a
      function
      of P. Code that reads `rule.table` here may only read its roll and totals.
    * The rule is run on the made-up answers, and must lead to P; the witnesses are run as well. Nothing rests on theory
      alone.
    * If no causes are found, nothing is claimed: the release is merged further, or its certificate says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np

from safemargin.bounds import (
    build_system,
    pooled,
    some_table,
)
from safemargin.core import (
    ContradictionError,
    FloatArray,
    Group,
    IntArray,
    Progress,
    PublishedTable,
    Tally,
    merged_margin,
    no_progress,
)
from safemargin.release.decide.beyond import chosen_ranges
from safemargin.release.decide.driven import driven_tables
from safemargin.release.plan import SumRange
from safemargin.release.rule.candidates import Candidate, ReleaseRule
from safemargin.release.rule.hide import dealt, explanations
from safemargin.release.rule.split import AxisPartition, GroupBlock, group_codes
from safemargin.release.rule.steps import leads_to

MOST_TRIGGERS = 24
"""Possible reasons per block that are kept, those first that change least."""
MOST_LEAVES = 12
"""Groups of a block whose cells with other groups are looked at."""
MOST_RERUNS = 80
MOST_PROOFS, FEWEST_PROOFS, WORK = 40, 4, 20_000
"""Sets of reasons that are put through the rule, and how many of those that lead here are put to the proof: fewer for
more counts."""


@dataclass(frozen=True)
class CounterfactualCause:
    """Why a block could have been merged: votes per group of it, and the sums that make it a reason (`shared_sums`)."""

    axis: int
    block: GroupBlock
    shared_sums: tuple[Group, ...]
    votes: IntArray
    change: float


@dataclass(frozen=True)
class MadeAnswers:
    """Made-up votes per axis, category and option, with what is assumed beside the release: sums of groups, or ranges.

    Of ranges (`beyond.py`) there are no votes: the tables of a proof have them.
    """

    votes: tuple[IntArray, ...]
    tables: tuple[PublishedTable, ...]
    beyond: tuple[SumRange, ...] = ()


class ExplanationSearch:
    """All that the search sees: a release, its blocks, and the rule.

    `blocks` lists what P merges or suppresses for answers, per axis. `failed` are the axes of the cell that the last
    set of causes was not shown to hide; `trials` then changes a cause of one of these axes first.
    """

    def __init__(self, rule: ReleaseRule, candidate: Candidate, progress: Progress = no_progress) -> None:
        self.rule, self.candidate, self.progress = rule, candidate, progress
        self.blocks = [
            (axis, block)
            for axis, (cover, split) in enumerate(zip(rule.covers, candidate.splits, strict=True))
            for block in cover.merged_blocks(split)
        ]

        self.totals = rule.table.totals

    @cached_property
    def roll(self) -> Tally:
        """How many people there are of every kind."""
        return self.rule.table.people(self.rule.table.schema.names)

    @cached_property
    def groups(self) -> list[IntArray]:
        """Per axis and category the position of its group in the release."""
        return [group_codes(split) for split in self.candidate.splits]

    @cached_property
    def everybody(self) -> int:
        """All people on the roll."""
        return int(self.roll.counts.sum())

    @cached_property
    def usual(self) -> list[IntArray]:
        """Votes per axis and category that agree with all that is published, where groups are suppressed.

        What the groups of one block add up to may follow from other axes, so a joint table gives it.
        """
        schema = self.rule.table.schema
        seen = {axis.name: axis.categories for axis in schema.axes}
        system = build_system(pooled(self.candidate.tables(self.rule.table), seen), self.rule.onlookers[0])
        found = some_table(system)
        if found is None:
            raise ContradictionError("no table was found that agrees with the release")
        counts, votes = system.listed(found), []
        for axis in schema.axes:
            column = system.axes.index(axis.name)
            codes = np.array([axis.index[category] for category in system.categories[column]])
            votes.append(np.zeros((len(axis.categories), counts.shape[1]), dtype=np.int64))
            np.add.at(votes[-1], codes[system.codes[:, column]], counts)
        return votes

    @cached_property
    def triggers(self) -> list[list[CounterfactualCause]]:
        """Per block its possible reasons, the smallest changes first."""
        try:
            return self._ranked()
        except ContradictionError:
            return [[] for _ in self.blocks]

    def _ranked(self) -> list[list[CounterfactualCause]]:
        """Per block its causes, the smallest changes first, at most `MOST_TRIGGERS`."""
        found = [self._triggers(axis, block) for axis, block in self.blocks]
        first = [list(islice(triggers, 1)) for triggers in found]
        if not all(first):
            return first
        return [
            sorted([*one, *more], key=lambda trigger: trigger.change)[:MOST_TRIGGERS]
            for one, more in zip(first, found, strict=True)
        ]

    def trials(self) -> "Iterator[MadeAnswers]":
        """Sets of causes, one per block, that lead to the release, each as made-up answers with its sums.

        Whoever proves them sets `failed` before the next is made. At most `MOST_RERUNS` sets are put through the rule,
        and of those that lead here a few are yielded, fewer for larger systems. The next set changes one cause: that of
        the block where it changes least, if possible on an axis of the cell that failed.
        """
        choice, proofs = [0] * len(self.blocks), self._proofs
        # The count of one option follows from those of the others, so the same votes come up again under several
        # options: what the rule, and the proof, made of them the first time holds again. Keyed by all that they see.
        made: dict[object, tuple[bool, Sequence[str]]] = {}
        for _ in range(MOST_RERUNS if all(self.triggers) else 0):
            chosen = [triggers[place] for triggers, place in zip(self.triggers, choice, strict=True)]
            key = tuple((trigger.shared_sums, trigger.votes.tobytes()) for trigger in chosen)
            if key in made:
                leads, self.failed = made[key]
            else:
                try:
                    answers = self._answers(chosen)
                except ContradictionError:  # no table was found that agrees with the release: nothing explains it
                    return
                self.failed = ()
                if leads := self.leads_here(answers.votes):
                    yield answers
                made[key] = leads, self.failed
            proofs -= leads
            if not proofs or not self._advance(choice, self.failed):
                return

    @property
    def _proofs(self) -> int:
        """How many sets are put to the proof: fewer for more counts."""
        return min(MOST_PROOFS, max(FEWEST_PROOFS, WORK // (len(self.roll.codes) * len(self.totals))))

    def further_trials(self) -> "Iterator[MadeAnswers]":
        """Ranges of one count in a part of every block: less than the sums of `trials`, for what these do not show.

        Then the sums of whole tables, where few blocks are merged and the system is small (`driven.py`).
        """
        for ranges in chosen_ranges(self, self._proofs):
            yield MadeAnswers((), (), ranges)
        for votes, sums in driven_tables(self):
            yield MadeAnswers(tuple(votes), sums)

    failed: Sequence[str] = ()
    """Axes of the cell that the last set of reasons was not shown to hide."""

    def _advance(self, choice: list[int], failed: Sequence[str]) -> bool:
        """The next reason for the block where it changes least, if possible one of an axis that failed."""
        names = self.rule.table.schema.names
        open_blocks = [b for b in range(len(choice)) if choice[b] + 1 < len(self.triggers[b])]
        concerned = [b for b in open_blocks if names[self.blocks[b][0]] in failed] or open_blocks
        if not concerned:
            return False
        best = min(concerned, key=lambda b: self.triggers[b][choice[b] + 1].change)
        choice[best] += 1
        return True

    def leads_here(self, votes: Sequence[IntArray]) -> bool:
        """Whether the rule, run on these votes, comes to the release: `rule.steps.leads_to` with what is at hand."""
        return leads_to(self.rule, self.candidate, votes, self.progress)

    def _answers(self, chosen: Sequence[CounterfactualCause]) -> MadeAnswers:
        """Votes per axis and category that have the chosen causes in their blocks, and the sums that are assumed with
        them.

        Outside the blocks, the published counts are dealt out to categories in proportion to people: nothing that
        decides looks below a published group.
        """
        votes, partitions = [], []
        for axis, split in enumerate(self.candidate.splits):
            triggers = [trigger for trigger in chosen if trigger.axis == axis]
            merged = frozenset().union(*(trigger.block.whole for trigger in triggers))
            cover = self.rule.covers[axis]
            counts = np.zeros_like(split.votes)
            rest = split.flagged - {group for trigger in triggers for group in trigger.block.groups}
            for group in cover.split.groups:
                if group in rest:  # the roll alone suppresses these: any votes that agree with the release will do
                    codes = [split.axis.index[category] for category in group]
                    counts[codes] = self.usual[axis][codes]
                elif not group <= merged:
                    self._deal(split, group, split.counts(group), counts)
            for trigger in triggers:
                for group, row in zip(trigger.block.groups, trigger.votes, strict=True):
                    self._deal(split, group, row, counts)
            votes.append(counts)
            shown = [group for group in split.groups if not group <= merged and group not in rest]
            shown += [frozenset().union(*rest)] if rest else []
            partitions.append(
                (*shown, *(part for trigger in triggers for part in trigger.shared_sums)) if triggers else ()
            )
        table = self.rule.on(votes).table
        names = table.schema.names
        order = sorted(range(len(names)), key=lambda axis: not self.candidate.splits[axis].is_published)
        tables = [merged_margin(table, names[axis], partitions[axis]) for axis in order if partitions[axis]]
        return MadeAnswers(tuple(votes), tuple(tables))

    def _deal(self, split: AxisPartition, group: Group, counts: IntArray, into: IntArray) -> None:
        """Give the votes of a group to its categories: no decision looks at these, the roll alone merged them."""
        codes = sorted(split.axis.index[category] for category in group)
        people = split.people[codes]
        pool = np.append(counts, int(people.sum()) - int(counts.sum()))
        into[codes] = dealt(pool, people)[:, :-1]

    def public_sums(self, axis: int, block: GroupBlock) -> IntArray:
        """What is public of the votes of a block: their sum, or its part of what all hidden groups add up to."""
        split = self.candidate.splits[axis]
        if not split.is_published:
            return self.totals
        if not split.flagged:
            return split.counts(block.whole)
        votes = self.usual[axis]
        sums: IntArray = votes[[split.axis.index[category] for category in block.whole]].sum(axis=0)
        return sums

    def _triggers(self, axis: int, block: GroupBlock) -> Iterator[CounterfactualCause]:
        """The causes of one block, as votes per group of it: parts in the guard band, and groups with a cell in it.

        For every count of a column that makes the rule merge on, the other options are filled as usual as their ranges
        allow, so that part and rest both stay within the target. Where single groups are suppressed, causes come from
        `hide.explanations` instead. All of this reads sums of the block, its people and the limits.
        """
        split = self.rule.covers[axis].split
        people = np.array([split.size(group) for group in block.groups])
        sums = self.public_sums(axis, block)
        pool = np.append(sums, int(people.sum()) - int(sums.sum()))
        if self.rule.covers[axis].hides and self.candidate.splits[axis].is_published:
            usual = pool[None, :-1] * (people / people.sum())[:, None]
            for votes in explanations(people, pool, self.rule.limits):
                yield CounterfactualCause(
                    axis, block, block.groups, votes[:, :-1], float(abs(votes[:, :-1] - usual).sum())
                )
            return
        position = {group: number for number, group in enumerate(block.groups)}
        wanted: list[tuple[IntArray, tuple[Group, ...], Iterator[tuple[int, int]]]] = []
        for part in block.children:  # a part of the block in the guard band
            inside = np.array([position[group] for group in part.groups])
            parts: tuple[Group, ...] = (part.whole, block.whole - part.whole)
            wanted.append((inside, parts, self._band(int(people[inside].sum()))))
        for group in block.groups[:MOST_LEAVES]:  # a cell of a group in the guard band
            wanted.append((np.array([position[group]]), block.groups, self._by_cells(axis, group)))
        for inside, parts, counts in wanted:
            size = int(people[inside].sum())
            low, high = self._room(pool, size, int(people.sum()) - size)
            if (low > high).any():
                continue
            usual = pool * (size / int(people.sum()))
            columns = self._columns(len(pool))
            ends = [(int(low[chosen].sum()), int(high[chosen].sum()), float(usual[chosen].sum())) for chosen in columns]
            possible = {(column, value) for column, value in counts if ends[column][0] <= value <= ends[column][1]}
            ranked = sorted(possible, key=lambda pair: (abs(pair[1] - ends[pair[0]][2]), pair))
            for column, value in ranked[:MOST_TRIGGERS]:
                part_counts = _completed(usual, low, high, columns[column], value, size)
                if part_counts is not None and self._are_within(part_counts, pool, size, int(people.sum())):
                    votes = np.empty((len(people), len(pool)), dtype=np.int64)
                    outside = np.setdiff1d(np.arange(len(people)), inside)
                    votes[inside] = dealt(part_counts, people[inside])
                    votes[outside] = dealt(pool - part_counts, people[outside])
                    yield CounterfactualCause(axis, block, parts, votes[:, :-1], abs(value - ends[column][2]))

    def _columns(self, options: int) -> list[list[int]]:
        """The options of every column that has limits, those without a listed answer in none."""
        return [*([option] for option in range(options - 1)), *(list(chosen) for chosen in self.rule.limits.sets)]

    def _are_within(self, part: IntArray, pool: IntArray, size: int, people: int) -> bool:
        """Whether a part and the rest are within the target, by `tau`, in sets of options and small counts too."""
        limits = self.rule.limits
        if not (limits.sets or limits.fewest):
            return True  # `_room` has seen to single options
        counts, sizes = np.stack([part, pool - part])[:, :-1], np.array([size, people - size])
        assumed = replace(limits, hypothetical=True, kappa=1)
        return bool((assumed.verdicts(counts, counts, sizes) == 0).all())

    def _band(self, size: int) -> Iterator[tuple[int, int]]:
        """Per option the counts of a part, just outside the strict limits, that make the rule merge it on.

        If the count of several groups is outside, that of one of them is, however they share it: so all of them merge.
        """
        strict = self.rule.limits.strict
        least, most = strict.least(np.array([size]))[0], strict.most(np.array([size]))[0]
        for option in range(len(least)):
            yield option, int(least[option]) - 1
            yield option, int(most[option]) + 1
        for option in np.flatnonzero(np.array(strict.fewest)).tolist():
            yield option, int(strict.few(np.array([size]))[0, option])

    def _by_cells(self, axis: int, group: Group) -> Iterator[tuple[int, int]]:
        """Counts of a group for which Frechet's bounds, with the roll's caps, put a cell of it into the guard band."""
        strict, roll, totals = self.rule.limits.strict, self.roll, self.totals
        member = np.zeros(len(self.rule.covers[axis].split.people), dtype=bool)
        member[[self.rule.covers[axis].split.axis.index[category] for category in group]] = True
        inside = np.flatnonzero(member[roll.codes[:, axis]])
        codes, people = roll.codes[inside], roll.counts[inside, 0]
        size, everybody = int(people.sum()), self.everybody
        for other, split in enumerate(self.candidate.splits):
            if other == axis or not split.is_published:
                continue
            within = np.bincount(self.groups[other][codes[:, other]], people, minlength=len(split.groups))
            sizes = within.astype(np.int64)
            ends = zip(split.groups, sizes.tolist(), strict.least(sizes), strict.most(sizes), strict=True)
            for slice_, both, least, most in ends:
                if slice_ in split.flagged or not both:
                    continue
                neither = everybody - size - split.size(slice_) + both
                rest = self.rule.limits.columns(totals - split.counts(slice_))
                for option in range(len(least)):
                    yield option, int(least[option]) - 1 - neither + int(rest[option])
                    yield option, int(most[option]) + 1 + int(rest[option])
                    yield option, int(least[option]) - 1
                    yield option, int(most[option]) + 1 + size - both

    def _room(self, pool: IntArray, size: int, rest: int) -> tuple[IntArray, IntArray]:
        """Least and most count per option, and of those without any, that leave a part and the rest in the target.

        Within by `tau` (`spare`): the true interval around an assumed count may be wider, and must not be disclosed
        either. Options that hardly anybody chose overall have no limits, only the counts that are left.
        """
        limits, sizes = self.rule.limits, np.array([size, rest])
        # Within by `tau`: the true interval around an assumed count may be wider, and must still not be disclosed.
        spare = np.maximum(limits.tolerance(sizes), 0)[:, None]
        least, most = limits.least(sizes) + spare, limits.most(sizes) - spare
        count = len(pool) - 1
        least, most = least[:, :count], most[:, :count]
        low = np.maximum(np.maximum(least[0], pool[:-1] - most[1]), np.maximum(pool[:-1] - rest, 0))
        high = np.minimum(np.minimum(most[0], pool[:-1] - least[1]), np.minimum(pool[:-1], size))
        unchosen = np.array(limits.unchosen[:count] or (False,) * len(low))
        low = np.where(unchosen, np.maximum(pool[:-1] - rest, 0), low)
        high = np.where(unchosen, np.minimum(pool[:-1], size), high)
        return np.append(low, max(int(pool[-1]) - rest, 0)), np.append(high, min(int(pool[-1]), size))


def _completed(
    usual: FloatArray, low: IntArray, high: IntArray, chosen: Sequence[int], value: int, size: int
) -> IntArray | None:
    """Counts per option that add up to `size`, and to `value` over those chosen, as usual as their ranges allow.

    Nothing if the ranges do not allow it.

    >>> usual, none, nine = np.array([3.2, 4.1, 2.7]), np.zeros(3, dtype=np.int64), np.full(3, 9)
    >>> _completed(usual, none, nine, [0], 5, 10).tolist()
    [5, 2, 3]
    """
    counts = np.clip(np.rint(usual).astype(np.int64), low, high)
    others = [option for option in range(len(usual)) if option not in chosen]
    for inside, wanted in ((list(chosen), value), (others, size - value)):
        for option in sorted(inside, key=lambda option: -int(high[option] - low[option])):
            missing = wanted - int(counts[inside].sum())
            counts[option] += min(max(missing, int(low[option] - counts[option])), int(high[option] - counts[option]))
        if int(counts[inside].sum()) != wanted:
            return None
    return counts
