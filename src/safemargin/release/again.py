"""The whole program on other answers: for an attack, for what a release carries, and for whoever verifies it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from safemargin.audit.rerun import Rerun, as_seen
from safemargin.bounds import build_system
from safemargin.core import (
    Group,
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
from safemargin.release.decide.decide import decide, decided
from safemargin.release.decide.maximise import maximise
from safemargin.release.decide.prove import listed_tables, only_table, votes_by_axis
from safemargin.release.decide.rerun import Reasons
from safemargin.release.draft import Draft
from safemargin.release.inputs import Inputs
from safemargin.release.plan import Wanted
from safemargin.release.publish import publish
from safemargin.release.witnesses import EARLIER, FACTS, NO_ROLL, NO_TABLES, WITNESSES, Carried, in_order


def rule_of(
    table: Table, target: Target, onlookers: Sequence[Onlooker], protect: str, wanted: Sequence[Wanted] = ()
) -> Rerun | None:
    """The whole rule as a function of votes, for an onlooker who runs it backwards; none without a joint roll."""
    if not table.knows_composition:
        return None
    roll = onlooker_with_roll(table, "joint").roll[0]
    codes = frozen(roll.codes[roll.lower > 0], len(roll.axes))

    def rerun(votes: IntArray) -> tuple[PublishedTable, ...]:
        other = replace(table, votes=(Tally(roll.axes, codes, frozen(votes, votes.shape[1])),))
        plan = decide(other, target, onlookers, protect=protect)
        if wanted:
            plan = maximise(plan, other, wanted, onlookers, protect=protect)
        return publish(plan, other).tables

    return rerun


def carried_by(inputs: Inputs, draft: Draft) -> Carried | str:
    """The witnesses of a release for its folder, or why they are not carried.

    They follow from the release, the roll and the rule (`Reasons` and `certify` read nothing else, and a test has other
    true answers lead to the same ones). Only where an onlooker holds facts, or knows who came and went, they follow
    from that too, and would disclose it to everybody who has the roll.
    """
    table, plan = inputs.table, draft.plan
    if plan.guarantees or inputs.slack:
        return "counts are noised, or may be off"
    if any(onlooker.facts for onlooker in inputs.onlookers):
        return FACTS
    if any(onlooker.past is not None for onlooker in inputs.onlookers):
        return EARLIER
    if not table.knows_composition or not all(o.composition(table.schema.names) == "joint" for o in inputs.onlookers):
        return NO_ROLL
    tables = plan.tables
    if plan.maximum is not None and not tables:
        known = build_system(draft.publication.tables, inputs.onlookers[0])
        same = [counts for counts in plan.witness if known.admits(counts)]
        tables = listed_tables(same or only_table(known), known, table.schema)
    roll = table.people(table.schema.names)
    here = roll.counts[:, 0] > 0
    held = in_order(table.schema, roll.codes[here], roll.counts[here])
    if not tables:
        return NO_TABLES if plan.certificate.rule == "rerun" else "no integer tables were found that show it"
    return Carried(table.schema, inputs.project.protect, inputs.project.wanted, held, tables, plan.parts)


def rerun_failures(
    carried: Carried, target: Target, printed: Sequence[PublishedTable], progress: Progress = no_progress
) -> Iterator[str]:
    """Witnesses for which the program publishes something else than what is `printed`."""
    published, known = as_seen(printed), Table(carried.schema, carried.tables[:1], (carried.roll,))
    rerun = rule_of(known, target, (onlooker_with_roll(known, "joint"),), carried.protect, carried.wanted)
    assert rerun is not None
    rule, candidate = decided(known, target, (onlooker_with_roll(known, "joint"),), protect=carried.protect)
    reasons = None if carried.wanted else Reasons(rule, candidate)
    if reasons is not None and (block := _unexplained(reasons, dict(carried.parts))):
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


def _unexplained(reasons: Reasons, parts: Mapping[str, tuple[Group, ...]]) -> str:
    """A merged block, or omitted axis, that other tables with the same sums need not have; or nothing.

    It is explained if the sum of one of its parts lies outside the strict limits, or all its groups are fixed.
    """
    for axis, block in reasons.blocks:
        split = reasons.rule.covers[axis].split
        fixed = [group for group in parts.get(split.axis.name, ()) if group <= block.whole]
        outside = [part.whole for part in block.parts if not split.regular(part.whole, reasons.rule.limits.strict)]
        if not set(block.groups) <= set(fixed) and not set(outside) & set(fixed):
            return f"{split.axis.name} {label(block.whole, split.axis.categories)}"
    return ""
