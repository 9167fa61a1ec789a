"""The whole program on other answers: for an attack, for what a release carries, and for whoever verifies it."""

from collections.abc import Iterator, Sequence

from safemargin.audit.rerun import Rerun, as_seen
from safemargin.checker import WITNESSES
from safemargin.core import (
    Progress,
    PublishedTable,
    Table,
    Target,
    label,
    no_progress,
    onlooker_with_roll,
)
from safemargin.release.decide.beyond import is_beyond
from safemargin.release.decide.decide import decided
from safemargin.release.decide.possible_tables import votes_by_axis
from safemargin.release.decide.rerun import ExplanationSearch
from safemargin.release.rerun import rule_of
from safemargin.release.rule.candidates import Candidate, ReleaseRule
from safemargin.release.witnesses import WitnessBundle


def rerun_failures(
    carried: WitnessBundle, target: Target, printed: Sequence[PublishedTable], progress: Progress = no_progress
) -> Iterator[str]:
    """Witnesses for which the program publishes something else than what is `printed`."""
    known = Table(carried.schema, carried.tables[:1], (carried.roll,))
    onlookers = (onlooker_with_roll(known, "joint"),)
    rerun = rule_of(known, target, onlookers, carried.protect, carried.wanted)
    assert rerun is not None
    rule, candidate = decided(known, target, onlookers, protect=carried.protect)
    yield from led_elsewhere(carried, rule, candidate, rerun, printed, progress)


def led_elsewhere(
    carried: WitnessBundle,
    rule: ReleaseRule,
    candidate: Candidate,
    rerun: Rerun,
    printed: Sequence[PublishedTable],
    progress: Progress = no_progress,
) -> Iterator[str]:
    """The same where the `rule` came to a `candidate` for the first witness; `rerun` is the whole program."""
    published, known = as_seen(printed), rule.table
    reasons = None if carried.wanted else ExplanationSearch(rule, candidate)
    if reasons is not None and (block := _unexplained(reasons, carried)):
        yield f"{WITNESSES}: fixes no sums that explain why {block} is merged or omitted"
        return
    for number, table in enumerate(carried.tables, 1):
        progress(f"running the rule on witness {number} of {len(carried.tables)}")
        # The first goes through the whole program. Of the others it is enough that the rule comes to this release:
        # that it stops there was shown with the first, since the proof reads what is published and the roll only.
        if reasons is None:
            same = as_seen(rerun(table.counts)) == published
        elif number == 1:
            same = as_seen(candidate.tables(known)) == published
        else:
            same = reasons.leads_here(votes_by_axis(known, table)) or as_seen(rerun(table.counts)) == published
        if not same:
            yield f"{WITNESSES}: table {number}: the rule, run on it, publishes something else"
            return


def _unexplained(reasons: ExplanationSearch, carried: WitnessBundle) -> str:
    """A merged block, or omitted axis, that other tables with the same sums need not have; or nothing.

    It is explained if the sum of one of its parts lies outside the strict limits, or all its groups are fixed.
    """
    parts = dict(carried.shared_sums)
    for axis, block in reasons.blocks:
        split = reasons.rule.covers[axis].split
        fixed = [group for group in parts.get(split.axis.name, ()) if group <= block.whole]
        outside = [part.whole for part in block.children if not split.regular(part.whole, reasons.rule.limits.strict)]
        own = [each for each in carried.beyond if each.axis == split.axis.name]
        if is_beyond(split, block, own, reasons.rule.limits):
            continue
        if not set(block.groups) <= set(fixed) and not set(outside) & set(fixed):
            return f"{split.axis.name} {label(block.whole, split.axis.categories)}"
    return ""
