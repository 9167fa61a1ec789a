"""The rule for several questions that share one grouping of every axis.

Objects
    q             a question, with its table T_q, its roll N_q (those who answered it) and its limits
    tree          per axis, blocks of groups made from one roll, that of everybody: the same for all questions
    regular_q(B)  the counts of block B are within the strict limits of q, or nobody of B answered q
    cut           per axis, the smallest blocks B that are regular in every question (`AxisCoarsening.cut`)

Rule
    The first release cuts every axis where all questions are regular: a group is merged if any question needs it. While
    a cell of some question is disclosed, one axis is cut further up for all. An axis of which single groups are
    suppressed has common groups too, but each question suppresses its own. From five questions on, `auto` suppresses.

Invariants
    * Trees, common groups and omitted questions (`few`) read rolls only: that of everybody, and those who answered.
    * No question is cut above a block that is published: its counts there are regular in every question.
    * A question that nobody of a block answered never asks for a merge (`QuestionCoarsening`).

What follows for somebody who knows the rule is stated in `decide/shared_groups.py`.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from safemargin.bounds import Exposed
from safemargin.core import JOINER, BoolArray, Group, IntArray, Limits, Onlooker, Table, Target
from safemargin.release.rule.candidates import SMALL_STEPS, Candidate, ReleaseRule
from safemargin.release.rule.coarsen import Merging, coarsen
from safemargin.release.rule.lot import RandomisedSelection
from safemargin.release.rule.make import PROTECTIONS, by_reach
from safemargin.release.rule.protect import (
    SMALL,
    AxisCoarsening,
    Forced,
    add_complementary_suppression,
    hidden_by_roll,
    kinds_of,
    sensitive_groups,
    suppresses_single,
)
from safemargin.release.rule.split import AxisPartition, population, unmerged_split

MANY_QUESTIONS = 5
"""Questions from which on `auto` suppresses single groups of each: some question nearly always needs a merge, which all
would lose by."""
FEW_ASKED = "too few people answered the question"
"""Why an axis is omitted for a question that would otherwise merge most of it for all."""


class QuestionCoarsening(AxisCoarsening):
    """One axis for one question, on the tree that all questions share. Where nobody answered, nothing is disclosed."""

    @cached_property
    def _regular(self) -> dict[Group, bool]:
        """As for one table; a block in which nobody answered the question is regular."""
        sums = self._before[self._ends[:, 1]] - self._before[self._ends[:, 0]]
        empty = dict(zip((node.whole for node in self._nodes), (sums[:, 0] == 0).tolist(), strict=True))
        return {block: ok or empty[block] for block, ok in AxisCoarsening._regular.func(self).items()}  # type: ignore[attr-defined]


class CommonCoarsening(AxisCoarsening):
    """One axis for all `members`: a block is regular if it is so for each of them."""

    members: tuple[AxisCoarsening, ...] = ()

    @cached_property
    def _regular(self) -> dict[Group, bool]:
        """A block is regular if it is so in every question."""
        regular = [member._regular for member in self.members]
        return {node.whole: all(one[node.whole] for one in regular) for node in self._nodes}

    def for_question(
        self, split: AxisPartition, limits: Limits, always: frozenset[Group] = frozenset()
    ) -> QuestionCoarsening:
        """The same tree with the people and votes of one question."""
        other = copy(self)
        other.__class__ = QuestionCoarsening  # type: ignore[assignment]
        other.split = replace(self.split, votes=split.votes, people=split.people)
        other.limits, other.always = limits, always
        for kept in ("_before", "_leaves", "_regular"):
            other.__dict__.pop(kept, None)
        return other  # type: ignore[return-value]

    def of(self, members: Sequence[AxisCoarsening]) -> "CommonCoarsening":
        """The same axis for these questions."""
        other = copy(self)
        other.__dict__.pop("_regular", None)
        other.members = tuple(members)
        return other


@dataclass(frozen=True)
class CommonCandidate:
    """How every axis would be published for every question.

    `forced` are blocks by axis that all questions publish as one, `own` those that one question suppresses.
    """

    each: tuple[Candidate, ...]
    forced: tuple[Forced, ...]
    own: tuple[tuple[Forced, ...], ...]
    shared: tuple[AxisPartition | None, ...]
    """Per axis its common groups; none where every question suppresses its own."""
    steps: int = 0

    def key(self) -> tuple[object, ...]:
        """Equal for candidates that publish the same groups."""
        return tuple(candidate.key() for candidate in self.each)


@dataclass(frozen=True)
class CommonRule:
    """What is decided for the answers to all questions; `rules` hold the table, roll and limits of each.

    `covers` are the axes that are merged for all; none where single groups are suppressed. `few` are the questions by
    axis that are omitted there, because so few people answered them: the rolls alone say which.
    """

    rules: tuple[ReleaseRule, ...]
    covers: tuple[CommonCoarsening | None, ...]
    few: tuple[frozenset[int], ...]

    def on(self, votes: Sequence[Sequence[IntArray]]) -> "CommonRule":
        """The rule for other answers, per question and axis as counts of every category and option."""
        rules = tuple(rule.on(counts) for rule, counts in zip(self.rules, votes, strict=True))
        covers = tuple(
            None if cover is None else cover.of([rules[q].covers[axis] for q in self.asked(axis)])
            for axis, cover in enumerate(self.covers)
        )
        return replace(self, rules=rules, covers=covers)

    def asked(self, axis: int) -> list[int]:
        """The questions that an axis is published for."""
        return [question for question in range(len(self.rules)) if question not in self.few[axis]]

    def first(self) -> CommonCandidate:
        """The release before all tables are looked at together."""
        axes = range(len(self.covers))
        return self.candidate(tuple({} for _ in axes), tuple(tuple({} for _ in axes) for _ in self.rules), 0)

    def candidate(self, forced: Sequence[Forced], own: Sequence[tuple[Forced, ...]], steps: int) -> CommonCandidate:
        """The release with these blocks published as one."""
        shared = [
            None if cover is None else cover.merged(blocks) for cover, blocks in zip(self.covers, forced, strict=True)
        ]
        each = []
        for question, rule in enumerate(self.rules):
            splits = [self._split(question, axis, shared[axis], own[question][axis]) for axis in range(len(shared))]
            blocks = tuple(own[question][axis] if shared[axis] is None else forced[axis] for axis in range(len(shared)))
            each.append(Candidate(tuple(splits), blocks, steps))
            assert len(splits) == len(rule.covers)
        return CommonCandidate(tuple(each), tuple(forced), tuple(own), tuple(shared), steps)

    def _split(self, question: int, axis: int, shared: AxisPartition | None, own: Forced) -> AxisPartition:
        """One axis for one question: the common groups, its own suppressed ones, or nothing where few were asked."""
        cover = self.rules[question].covers[axis]
        if question in self.few[axis]:
            return cover.split.collapse(FEW_ASKED)
        if shared is None:
            return cover.published(own)
        return replace(cover.split, groups=shared.groups, reasons=dict(shared.reasons))

    def coarser(
        self, candidate: CommonCandidate, question: int, cells: Sequence[Exposed], proved: bool
    ) -> Iterator[CommonCandidate]:
        """Candidates with one axis changed for one of the first exposed cells of a question, each once."""
        seen = {candidate.key()}
        rule = self.rules[question]
        for exposed in cells[:3]:
            reason = rule._words(exposed, proved)
            for axis, block in self._changes(candidate, question, exposed):
                forced, own = list(candidate.forced), [list(blocks) for blocks in candidate.own]
                if candidate.shared[axis] is None:
                    own[question][axis] = {**own[question][axis], block: reason}
                else:
                    forced[axis] = {**forced[axis], block: reason}
                trial = self.candidate(forced, tuple(map(tuple, own)), candidate.steps + 1)
                if trial.key() not in seen:
                    seen.add(trial.key())
                    yield trial

    def _changes(self, candidate: CommonCandidate, question: int, exposed: Exposed) -> Iterator[tuple[int, Group]]:
        """Blocks to publish as one, for the axes of an exposed cell; for any axis, if none of them is published."""
        splits = candidate.each[question].splits
        published = [axis for axis, split in enumerate(splits) if split.is_published]
        named = [axis for axis in published if splits[axis].axis.name in exposed.cell]
        for axis in named or published:
            is_own = candidate.shared[axis] is None
            cover = self.rules[question].covers[axis] if is_own else self.covers[axis]
            assert cover is not None
            if candidate.steps < SMALL_STEPS * max(len(self.rules) // 4, 1):
                members = frozenset(exposed.cell.get(splits[axis].axis.name, "").split(JOINER))
                blocks = candidate.own[question][axis] if is_own else candidate.forced[axis]
                yield from ((axis, block) for block in cover.steps(members, blocks))
            yield axis, cover.tree.whole


def common_rule(
    everybody: Table,
    tables: Sequence[Table],
    targets: Sequence[Target],
    onlookers: Sequence[Sequence[Onlooker]],
    protect: str,
) -> CommonRule:
    """The rule for questions about the same people; `everybody` has the roll that trees are made from.

    All of this reads rolls only: that of everybody, and those who answered each question.
    """
    assert protect in PROTECTIONS and protect != "noise"
    pairs = zip(targets, tables, strict=True)
    limits = [target.limits(t.totals.tolist(), population(t), t.schema.options) for target, t in pairs]
    always_hides = protect == "suppress" or (protect == "auto" and len(tables) >= MANY_QUESTIONS)
    names, kappa = everybody.schema.names, max(target.kappa for target in targets)
    plain = [[unmerged_split(table, name) for name in names] for table in tables]
    sized, few = [], []
    for axis, name in enumerate(names):
        split, omitted = _by_size(unmerged_split(everybody, name), [splits[axis].people for splits in plain], kappa)
        sized.append(split)
        few.append(omitted)
    sized = by_reach(everybody, sized)
    covers: list[CommonCoarsening | None] = []
    own: list[list[AxisCoarsening]] = [[] for _ in tables]
    for axis, (split, kinds) in enumerate(zip(sized, kinds_of(everybody, sized), strict=True)):
        sensitive = sensitive_groups(split, limits[0].sensitive)
        hides = always_hides or (protect == "auto" and suppresses_single(split)) or bool(sensitive)
        shared = CommonCoarsening(split, limits[0].strict, kinds, hides, (), sensitive)
        for question, table in enumerate(tables):
            always = frozenset(sensitive)
            if hides:
                mine = [replace(s, people=plain[question][a].people) for a, s in enumerate(sized)]
                always = add_complementary_suppression(mine[axis], sensitive | hidden_by_roll(table, mine, axis, kappa))
            mine_alone = shared.for_question(plain[question][axis], limits[question].strict, always)
            if question in few[axis]:
                mine_alone = QuestionCoarsening(mine_alone.split.collapse(FEW_ASKED), mine_alone.limits)
            own[question].append(mine_alone)
        asked = [question for question in range(len(tables)) if question not in few[axis]]
        covers.append(None if hides else shared.of([own[question][axis] for question in asked]))
    rules = tuple(
        ReleaseRule(table, limit, tuple(watching), protect, RandomisedSelection(0.0), tuple(mine))
        for table, limit, watching, mine in zip(tables, limits, onlookers, own, strict=True)
    )
    return CommonRule(rules, tuple(covers), tuple(few))


def _by_size(split: AxisPartition, rolls: Sequence[IntArray], kappa: int) -> tuple[AxisPartition, frozenset[int]]:
    """Merge until every group has `kappa` people, or none, of every question; and the questions that are omitted.

    A question that few people answered would merge most of the axis for all. While it leaves fewer than half of the
    groups that everybody would have, the question with the fewest people is omitted from this axis.
    """
    reason, omitted = SMALL.format(kappa=kappa), set[int]()
    most = _groups(split, np.zeros((len(split.people), 0), dtype=np.int64), kappa)
    by_people = sorted(range(len(rolls)), key=lambda question: (int(rolls[question].sum()), -question))
    for dropped in [None, *by_people]:
        omitted |= set() if dropped is None else {dropped}
        kept = [rolls[question] for question in range(len(rolls)) if question not in omitted]
        groups = _groups(split, np.stack(kept, axis=1) if kept else np.zeros((len(split.people), 0), np.int64), kappa)
        if 2 * len(groups) >= len(most) and (len(groups) > 1 or len(most) <= 1):
            break
    return split.parted(groups, reason) if groups else split.collapse(f"{reason}, and no merge helps"), frozenset(
        omitted
    )


def _groups(split: AxisPartition, rolls: IntArray, kappa: int) -> tuple[Group, ...]:
    """Groups of an axis with at least kappa people, in everybody's roll and, unless empty, in each question's."""

    def allowed(people: IntArray, inside: IntArray) -> BoolArray:
        return np.asarray((people >= kappa) & ((inside >= kappa) | (inside == 0)).all(axis=-1))

    axis = split.axis
    return coarsen(Merging(axis, split.people, rolls, split.worth(), allowed, split.groups, axis.apart)).groups
