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

Statement (docs/decide.md, *Several questions*)
    Let every merged block have a reason X in one question: sums of its parts, one of them outside the strict limits.
    Every tuple (W_q) of tables that agree with the published files P and with X leads to P. The question with the
    reason keeps the cut at the block or above, because a part outside the limits is never published. No question cuts
    above a published block, because its counts there are published and regular. So F^-1(P) contains the product of the
    tables of every question that agree with P and with the reasons of that question, and each question is certified
    over its own factor, as one question alone is (`rerun.py`).

    Where some axes are merged and a single group of others is suppressed, this is not claimed, and the label is "not
    shown". Where every axis suppresses, the rolls alone make the groups, and decisions about q read q only: F^-1(P) is
    the product of the sets of single questions, each of which is decided and certified as one question alone is.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from safemargin.bounds import Exposed, Proof
from safemargin.core import JOINER, BoolArray, Group, IntArray, Limits, Onlooker, Progress, Table, Target, no_progress
from safemargin.release.decide.decide import PROTECTIONS, WITHOUT, ProofResult, by_reach, plan_of, search
from safemargin.release.decide.explained import explained
from safemargin.release.decide.judge import prove_counts
from safemargin.release.decide.rerun import STEP, plainly_exposed
from safemargin.release.decide.statements import refusal_of
from safemargin.release.plan import Plan, Refusal
from safemargin.release.rule.candidates import SMALL_STEPS, Candidate, ReleaseRule
from safemargin.release.rule.coarsen import Merging, coarsen
from safemargin.release.rule.lot import RandomisedSelection
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


def decide_common(
    everybody: Table,
    tables: Sequence[Table],
    targets: Sequence[Target],
    onlookers: Sequence[Sequence[Onlooker]],
    *,
    protect: str = "auto",
    progress: Progress = no_progress,
) -> tuple[Plan, ...]:
    """A plan for every question, all with the same groups, that meets every target against all onlookers."""
    rule = common_rule(everybody, tables, targets, onlookers, protect)
    if not any(rule.covers):  # nothing is merged for answers, so decisions about a question read that question only
        return tuple(
            plan_of(own, target, *search(own, progress)) for own, target in zip(rule.rules, targets, strict=True)
        )
    candidate, proofs, refused = search_common(rule, progress)
    shown = explained(rule, candidate, proofs, progress) if all(proof.holds for proof in proofs) else None
    shown = shown or tuple(ProofResult(proof) for proof in proofs)
    return tuple(plan_of(*each) for each in zip(rule.rules, targets, candidate.each, shown, refused, strict=True))


def search_common(
    rule: CommonRule, progress: Progress
) -> tuple[CommonCandidate, tuple[Proof, ...], list[list[Refusal]]]:
    """Cut axes further up until every question is proved safe, or nothing is left to merge.

    Returns the candidate, a proof per question (which may fail where nothing is left to merge), and the refusals.
    Questions that failed last are looked at first.
    """
    refused: list[list[Refusal]] = [[] for _ in rule.rules]
    proved: dict[object, Proof] = {}
    order, candidate = list(range(len(rule.rules))), rule.first()
    # Every turn merges blocks or omits an axis, so that there are fewer groups than before: it ends.
    while True:
        failed = _failing(rule, candidate, order, proved, progress)
        if failed is None:
            return candidate, tuple(proved[q, candidate.each[q].key()] for q in range(len(rule.rules))), refused
        question, proof = failed
        order.remove(question)
        order.insert(0, question)  # what failed last is looked at first
        cells, is_exposed = proof.exposed or proof.doubtful, bool(proof.exposed)
        what = WITHOUT if refused[question] else "Publishing every regular group exactly"
        few = 1 if refused[question] else 5
        table = rule.rules[question].table
        refused[question].extend(refusal_of(table, what, cell, is_exposed) for cell in cells[:few])
        coarser = _next(rule, candidate, question, cells, is_exposed)
        if coarser is None:
            proofs = [_proof(rule, candidate, q, proved, progress) for q in range(len(rule.rules))]
            return candidate, tuple(proofs), refused
        candidate = coarser


def _failing(
    rule: CommonRule, candidate: CommonCandidate, order: Sequence[int], proved: dict[object, Proof], progress: Progress
) -> tuple[int, Proof] | None:
    """The first question that is not safe: closed forms of all come first, since they are quick."""
    for question in order:
        plain = plainly_exposed(rule.rules[question], candidate.each[question])
        if plain.exposed:
            return question, plain
    for question in order:
        progress(STEP)
        proof = _proof(rule, candidate, question, proved, progress)
        if not proof.holds:
            return question, proof
    return None


def _proof(
    rule: CommonRule, candidate: CommonCandidate, question: int, proved: dict[object, Proof], progress: Progress
) -> Proof:
    """The proof of one question, kept by what it publishes."""
    own, each = rule.rules[question], candidate.each[question]
    key = question, each.key()
    if key not in proved:
        proved[key] = prove_counts(own.table, each, own.onlookers, own.limits, progress=progress)
    return proved[key]


def _next(
    rule: CommonRule, candidate: CommonCandidate, question: int, cells: Sequence[Exposed], proved: bool
) -> CommonCandidate | None:
    """The change that leaves fewest people of this question plainly exposed, then loses least."""
    best, fewest = None, -1
    for trial in sorted(
        rule.coarser(candidate, question, cells, proved), key=lambda trial: trial.each[question].loss()
    ):
        exposed = plainly_exposed(rule.rules[question], trial.each[question]).exposed
        left = sum(cell.people for cell in exposed)
        if best is None or left < fewest:
            best, fewest = trial, left
        if not left:
            break
    return best
