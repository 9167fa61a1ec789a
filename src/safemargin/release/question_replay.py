"""The whole program on other answers to several questions: a rerun runs a tuple, one table per question.

With groups of their own, or where every axis suppresses single groups, decisions about a question read that question
and rolls only: each is rerun by itself (`replay.py`), which is the same as rerunning every tuple. With groups that are
merged for all questions, the first tuple goes through the whole search, and the rule must cut every axis at the same
blocks for each further one; the sums that are fixed must explain every merged block in one question.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from safemargin.audit.rerun import as_seen
from safemargin.checker import WITNESSES, Files
from safemargin.core import (
    IntArray,
    Onlooker,
    Progress,
    PublishedTable,
    Table,
    Tally,
    Target,
    frozen,
    label,
    no_progress,
    onlooker_with_roll,
)
from safemargin.release.decide.beyond import is_beyond
from safemargin.release.decide.decide import search
from safemargin.release.decide.maximise import maximise
from safemargin.release.decide.possible_tables import votes_by_axis
from safemargin.release.decide.shared_groups import decide_common, search_common
from safemargin.release.plan import Plan
from safemargin.release.publish import publish
from safemargin.release.question_witnesses import CarriedQuestions, carried_questions_in
from safemargin.release.replay import led_elsewhere, rerun_failures
from safemargin.release.rule.questions import CommonCandidate, CommonRule, common_rule

Printed = Sequence[Sequence[PublishedTable]]
"""The tables of every question as a reader has them."""


def rerun_questions(
    files: Files, targets: Sequence[Target], printed: Printed, progress: Progress = no_progress
) -> tuple[int, list[str]]:
    """How many tuples a folder for auditors carries, and those for which the program publishes something else."""
    carried = carried_questions_in(files)
    if not carried.is_common:
        failures = [
            f"{name}: {said}"
            for name, own, target, shown in zip(carried.names, carried.each, targets, printed, strict=True)
            for said in rerun_failures(own, target, shown, progress)
        ]
    else:
        failures = list(_Program(carried, targets).failures(printed, progress))
    return carried.tuples, failures


class _Program:
    """The program for questions with common groups, on the roll and rule that are carried."""

    def __init__(self, carried: CarriedQuestions, targets: Sequence[Target]) -> None:
        self.carried, self.targets = carried, targets
        self.everybody = Table(carried.schema, (carried.everybody,), (carried.everybody,))
        self.protect = carried.each[0].protect

    def rule(self, tables: Sequence[Table]) -> CommonRule:
        """The rule for these answers."""
        return common_rule(self.everybody, tables, self.targets, _watching(tables), self.protect)

    def published(self, tables: Sequence[Table]) -> list[tuple[PublishedTable, ...]]:
        """What the program publishes of every question."""
        watching, shown = _watching(tables), []
        plans: Sequence[Plan] = decide_common(self.everybody, tables, self.targets, watching, protect=self.protect)
        for own, table, plan, onlookers in zip(self.carried.each, tables, plans, watching, strict=True):
            if own.wanted:
                plan = maximise(plan, table, own.wanted, onlookers, protect=self.protect)
            shown.append(publish(plan, table).tables)
        return shown

    def failures(self, printed: Printed, progress: Progress) -> Iterator[str]:
        """Tuples for which something else is published."""
        first, *others = self.carried.tables()
        rule = self.rule(first)
        if any(own.wanted for own in self.carried.each):
            yield from self._by_whole_program([first, *others], printed, progress)
        elif not any(rule.covers):
            yield from self._by_question(rule, first, printed, progress)
        else:
            candidate = search_common(rule, no_progress)[0]
            pairs = zip(candidate.each, first, printed, strict=True)
            if any(as_seen(each.tables(table)) != as_seen(shown) for each, table, shown in pairs):
                yield f"{WITNESSES}: tuple 1: the rule, run on it, publishes something else"
            elif block := _unexplained(rule, candidate, self.carried):
                yield f"{WITNESSES}: fixes no sums that explain why {block} is merged or omitted"
            else:
                yield from _led_elsewhere(rule, candidate, others, printed, progress)

    def _by_whole_program(
        self, tuples: Sequence[Sequence[Table]], printed: Printed, progress: Progress
    ) -> Iterator[str]:
        for number, tables in enumerate(tuples, 1):
            progress(f"running the rule on tuple {number} of {len(tuples)}")
            if [as_seen(shown) for shown in self.published(tables)] != [as_seen(shown) for shown in printed]:
                yield f"{WITNESSES}: tuple {number}: the rule, run on it, publishes something else"
                return

    def _by_question(
        self, rule: CommonRule, first: Sequence[Table], printed: Printed, progress: Progress
    ) -> Iterator[str]:
        for number, (own, shown) in enumerate(zip(self.carried.each, printed, strict=True)):
            mine = rule.rules[number]
            said = led_elsewhere(own, mine, search(mine, no_progress)[0], self._other(first, number), shown)
            progress(f"running the rule on question {number + 1} of {len(printed)}")
            yield from (f"{self.carried.names[number]}: {failure}" for failure in said)

    def _other(self, first: Sequence[Table], number: int) -> Callable[[IntArray], tuple[PublishedTable, ...]]:
        """The program on other answers to one question."""

        def rerun(votes: IntArray) -> tuple[PublishedTable, ...]:
            roll = first[number].roll[0]
            tally = Tally(roll.axes, roll.codes, frozen(votes, votes.shape[1]))
            table = replace(first[number], votes=(tally,))
            mine = self.rule([*first[:number], table, *first[number + 1 :]]).rules[number]
            return search(mine, no_progress)[0].tables(table)

        return rerun


def _watching(tables: Sequence[Table]) -> list[tuple[Onlooker, ...]]:
    return [(onlooker_with_roll(table, "joint"),) for table in tables]


def _led_elsewhere(
    rule: CommonRule,
    candidate: CommonCandidate,
    tuples: Sequence[Sequence[Table]],
    printed: Printed,
    progress: Progress,
) -> Iterator[str]:
    """Further tuples for which the first cut of the rule, which the first tuple showed to be safe, is another."""
    for number, tables in enumerate(tuples, 2):
        progress(f"running the rule on tuple {number} of {len(tuples) + 1}")
        votes = [votes_by_axis(own.table, table.votes[0]) for own, table in zip(rule.rules, tables, strict=True)]
        again = rule.on(votes).first()
        shown = zip(again.each, tables, printed, strict=True)
        if again.key() != candidate.key() or any(as_seen(each.tables(t)) != as_seen(p) for each, t, p in shown):
            yield f"{WITNESSES}: tuple {number}: the rule, run on it, publishes something else"
            return


def _unexplained(rule: CommonRule, candidate: CommonCandidate, carried: CarriedQuestions) -> str:
    """A block that is merged for all, of which no question fixes the sum of a part outside its strict limits."""
    for axis, (cover, split) in enumerate(zip(rule.covers, candidate.shared, strict=True)):
        for block in cover.merged_blocks(split) if cover is not None and split is not None else ():
            explained = False
            for question in rule.asked(axis):
                mine, name = rule.rules[question], cover.split.axis.name if cover else ""
                fixed = dict(carried.each[question].shared_sums).get(name, ())
                own = mine.covers[axis].split
                explained |= set(block.groups) <= set(fixed) or any(
                    part.whole in fixed and not own.regular(part.whole, mine.limits.strict) for part in block.children
                )
                ranges = [each for each in carried.each[question].beyond if each.axis == name]
                explained |= is_beyond(own, block, ranges, mine.limits)
            if not explained and cover is not None:
                return f"{cover.split.axis.name} {label(block.whole, cover.split.axis.categories)}"
    return ""
