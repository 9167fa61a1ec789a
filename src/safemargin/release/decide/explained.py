"""Other answers to several questions for which the program publishes the same: one reason per merged block.

Every merged block gets a reason in one question (`shared_groups.py` states why that is enough): a part of it in the
guard band between the strict limits of decisions and those of the target. The question is chosen by what is
published of it: the one whose counts in the block are nearest to one answer. Its tables are then certified together
with the reasons of all blocks that it explains; the others are certified by what is published of them. Then the rule is
run on tuples of these tables, one table per question.

Only published sums, rolls and the rule are read, never the true answers: before anything is searched, the votes of
every question are replaced by ones that are dealt out from its published sums.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from safemargin.bounds import Proof, build_system
from safemargin.core import IntArray, Progress, Tally
from safemargin.release.decide.decide import ProofResult, prove_with_reasons
from safemargin.release.decide.possible_tables import only_table, votes_by_axis
from safemargin.release.decide.rerun import ExplanationSearch
from safemargin.release.rule.candidates import Candidate, ReleaseRule
from safemargin.release.rule.hide import dealt
from safemargin.release.rule.questions import CommonCandidate, CommonRule
from safemargin.release.rule.split import AxisPartition, GroupBlock
from safemargin.release.rule.steps import has_equal_counts
from safemargin.release.witnesses import listed_tables

MOST_QUESTIONS = 6
"""Questions that are tried as the one that explains a block."""
MOST_ATTEMPTS = 12
"""Ways to assign blocks to questions that are tried."""
MOST_TUPLES = 16
"""Tuples of witnesses that the rule is run on."""

Block = tuple[int, GroupBlock]


class QuestionExplanationSearch(ExplanationSearch):
    """Reasons in one question for some of the blocks that all questions share."""

    def __init__(self, rule: ReleaseRule, candidate: Candidate, blocks: Sequence[Block], progress: Progress) -> None:
        super().__init__(rule, candidate, progress)
        self.blocks = list(blocks)

    def leads_here(self, votes: Sequence[IntArray]) -> bool:
        """Whether these votes keep every block together that they are to explain, and publish the same counts.

        No cut may lie above a published group: other questions could not undo that.
        """
        rule = self.rule.on(votes)
        for axis, split in enumerate(self.candidate.splits):
            cut = [block.whole for block in rule.covers[axis].cut()]
            mine = [block.whole for place, block in self.blocks if place == axis]
            if not all(any(block <= whole for whole in cut) for block in mine):
                return False
            if split.is_published and not all(any(whole <= group for group in split.groups) for whole in cut):
                return False
        return has_equal_counts(rule, self.candidate, self.rule, self.candidate)


def explained(
    rule: CommonRule, candidate: CommonCandidate, proofs: Sequence[Proof], progress: Progress
) -> tuple[ProofResult, ...] | None:
    """What is shown of every question against somebody who knows the rule; nothing where it is not shown.

    All onlookers must know the rule and the joint roll, and nothing else. Every merged block is assigned to one
    question that explains it (`_assigned`); then tuples of witnesses, one table per question, are run through the
    common rule.
    """
    for own in rule.rules:
        names = own.table.schema.names
        if own.slack or not all(
            onlooker.knows_rule and onlooker.composition(names) == "joint" and not onlooker.facts and not onlooker.past
            for onlooker in own.onlookers
        ):
            return None
    if any(split.flagged for each in candidate.each for split in each.splits) or _hides_for_answers(rule, candidate):
        return None
    blocks: list[Block] = [
        (axis, block)
        for axis, (cover, split) in enumerate(zip(rule.covers, candidate.shared, strict=True))
        if cover is not None and split is not None
        for block in cover.merged_blocks(split)
    ]
    public = [_public(each) for each in candidate.each]
    shown = _assigned(rule, public, blocks, progress) if blocks else {}
    if shown is None:
        return None
    every = tuple(
        shown[question] if question in shown else _plain(own, candidate.each[question], proof, not blocks)
        for question, (own, proof) in enumerate(zip(rule.rules, proofs, strict=True))
    )
    return every if not blocks or _tuples_lead_here(rule, candidate, every) else None


def _hides_for_answers(rule: CommonRule, candidate: CommonCandidate) -> bool:
    """Whether a question suppresses groups of an axis, or all of it, beside axes that are merged for all."""
    return any(
        own.covers[axis].merged_blocks(each.splits[axis])
        for question, (own, each) in enumerate(zip(rule.rules, candidate.each, strict=True))
        for axis, cover in enumerate(rule.covers)
        if cover is None and question not in rule.few[axis]
    )


def _plain(rule: ReleaseRule, candidate: Candidate, proof: Proof, data_independent: bool) -> ProofResult:
    """A question that explains nothing: all its tables that agree with the release are possible."""
    system = build_system(candidate.tables(rule.table), rule.onlookers[0])
    same = [counts for counts in proof.tables if counts.shape == system.low.shape and system.admits(counts)]
    return ProofResult(
        proof, True, data_independent, listed_tables(same or only_table(system), system, rule.table.schema)
    )


def _public(candidate: Candidate) -> Candidate:
    """The candidate with votes that are dealt out from its published sums."""
    return replace(candidate, splits=tuple(map(_dealt, candidate.splits)))


def _dealt(split: AxisPartition) -> AxisPartition:
    """The partition with votes that are dealt out from its published sums, in proportion to people.

    From here on true votes of categories are out of sight: whatever is found is a function of the release.
    """
    votes = np.zeros_like(split.votes)
    for group in split.groups:
        codes = sorted(split.axis.index[category] for category in group)
        people, counts = split.people[codes], split.counts(group)
        pool = np.append(counts, int(people.sum()) - int(counts.sum()))
        votes[codes] = dealt(pool, people)[:, :-1]
    return replace(split, votes=votes)


def _assigned(
    rule: CommonRule, public: Sequence[Candidate], blocks: Sequence[Block], progress: Progress
) -> dict[int, ProofResult] | None:
    """A question for every block, with what is shown of the questions that explain any; nothing if attempts run out.

    Blocks whose question fails move on to their next one. What a question shows of a set of blocks is kept. Greedy: a
    failure of a set moves all its blocks on, though one of them may be the cause.
    """
    ranked = [_ranked(rule, public, axis, block) for axis, block in blocks]
    place = [0] * len(blocks)
    found: dict[object, ProofResult] = {}
    for _ in range(MOST_ATTEMPTS):
        if any(at >= len(questions) for at, questions in zip(place, ranked, strict=True)):
            return None
        chosen: dict[int, list[int]] = {}
        for number, (at, questions) in enumerate(zip(place, ranked, strict=True)):
            chosen.setdefault(questions[at], []).append(number)
        failed = []
        for question, numbers in chosen.items():
            key = question, tuple(numbers)
            if key not in found:
                mine = [blocks[number] for number in numbers]
                found[key] = _explain(rule.rules[question], public[question], mine, progress)
            failed += [] if found[key].proof.holds else numbers
        if not failed:
            return {question: found[question, tuple(numbers)] for question, numbers in chosen.items()}
        for number in failed:
            place[number] += 1
    return None


def _ranked(rule: CommonRule, public: Sequence[Candidate], axis: int, block: GroupBlock) -> list[int]:
    """Questions for a block, those first of which the published counts are nearest to one answer."""
    nearest = {}
    for question in rule.asked(axis):
        split = public[question].splits[axis]
        people = split.size(block.whole)
        if people:
            nearest[question] = float(split.counts(block.whole).max()) / people
    return sorted(nearest, key=lambda question: (-nearest[question], question))[:MOST_QUESTIONS]


def _explain(rule: ReleaseRule, candidate: Candidate, blocks: Sequence[Block], progress: Progress) -> ProofResult:
    """The weakest proof over all onlookers, or the first that fails."""
    shown = []
    for onlooker in rule.onlookers:
        reasons = QuestionExplanationSearch(rule, candidate, blocks, progress)
        if not all(reasons.triggers):
            return ProofResult(Proof((), {}, undecided=1))
        shown.append(prove_with_reasons(rule, reasons, onlooker, progress))
        if not shown[-1].proof.holds:
            return shown[-1]
    return max(shown, key=lambda each: (each.proof.linear, sum(each.proof.checked.values())))


def _tuples_lead_here(rule: CommonRule, candidate: CommonCandidate, shown: Sequence[ProofResult]) -> bool:
    """Run the rule on tuples of witnesses. Theory says that all lead here; they are run all the same."""
    rows = max(len(each.tables) for each in shown)
    for number in range(min(rows, MOST_TUPLES)):
        votes = []
        for own, each, own_candidate in zip(rule.rules, shown, candidate.each, strict=True):
            tables: Sequence[Tally] = each.tables
            if tables:
                votes.append(votes_by_axis(own.table, tables[number % len(tables)]))
            else:  # every group is contained by sums alone: any votes that agree with the release will do
                votes.append([split.votes for split in _public(own_candidate).splits])
        other = rule.on(votes)
        again = other.first()
        if again.key() != candidate.key():
            return False
        for own, new, before, after in zip(rule.rules, other.rules, candidate.each, again.each, strict=True):
            pairs = zip(before.tables(own.table), after.tables(new.table), strict=True)
            if not all((a.lower == b.lower).all() and (a.upper == b.upper).all() for a, b in pairs):
                return False
    return True
