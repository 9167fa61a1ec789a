"""Release maximisation: which tables of several axes to publish beside the single ones, by weight, safe together.

Objects
    plan        the certified plan of single axes
    wanted      tables that the office asks for, with weights
    version     a wanted table as it could be published: groups merged, or single cells suppressed (`crossed.py`)
    choice      one version, or none, of every wanted table (`search.py`)

Problem (Problem 1 of the paper on exact reporting, with tests in place of a formula)
    Choose versions of the largest total value such that all tables together pass the same test as a plan does, against
    every onlooker. A version counts in proportion to the cells that it shows.

Invariants
    * The choice that publishes what the plan does is safe, so the result is never worse than the plan.
    * Certificate and witnesses of the result are those of the proof of all its tables, not of the plan.
    * Whoever knows the rule is answered for tables of several axes only if all are published as finely as their axes;
      else the certificate says that the rule is not shown.
    * Tables over axes with noised groups are not published: they would print sums of the counts that noise protects.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from safemargin.bounds import Exposed, Proof
from safemargin.core import SIGN, InputError, Limits, Onlooker, Progress, Table, no_progress, onlooker_with_roll
from safemargin.release.decide.crossed import Prove, Version, crossed_version, versions, with_cells_suppressed
from safemargin.release.decide.judge import SafetyOracle
from safemargin.release.decide.search import TABLES_STEP, Choice, Margin, maximal
from safemargin.release.decide.statements import certificate_of, refusal_of, without_rule
from safemargin.release.plan import Action, Decision, MarginDecision, Maximum, Plan, Refusal, Rejected, Wanted
from safemargin.release.rule.candidates import Candidate
from safemargin.release.rule.earlier import earlier_words
from safemargin.release.rule.split import AxisPartition, population, unmerged_split
from safemargin.ui import plural

__all__ = ["maximise", "withdraw_margins"]

MOST_TESTS = 400
WORK = 400_000
FEWEST_TESTS = 20
"""Releases that are put to the test: so many for small populations, fewer as they have more cells."""

NO_NOISE = 'single cells cannot be noised, protect = "auto" suppresses them'
"""Two people in different cells are in different groups of some axis. If the table of that axis is exact, it shows that
they exchanged answers: no exchange stays unseen, and noise would guarantee nothing (docs/maximise.md)."""
GIVEN_UP = "given up for tables that count for more"


@dataclass(frozen=True)
class _Entry:
    """A margin that was asked for, its axes crossed as they are published, and its versions from the coarsest."""

    wanted: Wanted
    finest: Version | None
    versions: tuple[Version, ...] = ()
    reason: str = ""

    @property
    def all_cells(self) -> int:
        """How many cells with people the table has at its finest."""
        return self.finest.cells if self.finest else 0

    @property
    def weight(self) -> float:
        """What the table counts for at its finest: as stated, or its number of cells."""
        return float(self.all_cells) if self.wanted.weight is None else self.wanted.weight

    def value(self, version: Version) -> float:
        """What a version counts for: the weight, in proportion to its cells."""
        return self.weight * version.cells / max(self.all_cells, 1)


def maximise(
    plan: Plan,
    table: Table,
    wanted: Sequence[Wanted],
    onlookers: Sequence[Onlooker] = (),
    *,
    protect: str = "merge",
    progress: Progress = no_progress,
) -> Plan:
    """Add to a certified plan the tables of several axes, of those that are `wanted`, that are worth most together.

    A single axis is kept, unless it is wanted by itself and other tables count for more. Where `protect` allows it,
    single cells are suppressed if that shows more of a table than to merge its groups does. `progress` reports tests. A
    plan that is not certified, or nothing wanted, gives the plan back; an error says where a joint roll is missing.
    """
    if not wanted or not plan.certificate.certified:
        return plan
    if not table.knows_composition:
        raise InputError("tables of several axes need a roll over all axes together")
    watching = tuple(onlookers) or (onlooker_with_roll(table, "joint"),)
    limits = plan.target.limits(table.totals.tolist(), population(table), table.schema.options)
    splits = {name: _published(plan, table, name) for name in table.schema.names}
    base = Candidate(tuple(splits.values())).tables(table)
    alone = SafetyOracle(table, base, (), watching, limits, plan.certificate.linear)

    def prove(version: Version) -> tuple[bool, Proof]:
        progress(f"{TABLES_STEP}: cells of {SIGN.join(version.axes)} to suppress")
        proof = alone.prove((*base, version.table(table)))
        return alone.holds(proof), proof

    entries = [_entry(table, splits, request, limits, prove if _hides_cells(protect) else None) for request in wanted]
    if protect == "noise":
        entries = [_without_noise(entry) if entry.finest else entry for entry in entries]
    open_entries = [entry for entry in entries if entry.versions]
    traded = {entry.wanted.axes[0]: index for index, entry in enumerate(open_entries) if len(entry.wanted.axes) == 1}
    kept = Candidate(tuple(split for name, split in splits.items() if name not in traded))
    margins = [_margin(entry, traded) for entry in open_entries]

    def report(choice: Choice) -> None:
        names = [entry.wanted.name for entry, level in zip(open_entries, choice, strict=True) if level]
        progress(f"{TABLES_STEP}: testing {', '.join(names)}")

    judge = SafetyOracle(table, kept.tables(table), margins, watching, limits, plan.certificate.linear, report)
    start = tuple(int(len(entry.wanted.axes) == 1) for entry in open_entries)
    # The plan is certified, so the choice that publishes what the plan does needs no test.
    judge.safe.append(start)
    best, bound = maximal(judge, start, _tests(table), progress)
    proof = None if best == start else judge.proof(best)
    chosen = {entry.wanted.name: level for entry, level in zip(open_entries, best, strict=True)}
    decisions = [_decision(entry, chosen.get(entry.wanted.name, 0)) for entry in entries]
    rejected = {entry.wanted.name: refused for entry in entries if (refused := _irregular(table, entry, limits))}
    rejected |= _rejected(judge, open_entries, best)
    earlier = _beside_earlier(judge, open_entries, best)
    decisions = [
        _with_reason(decision, rejected.get(decision.name), earlier.get(decision.name, "")) for decision in decisions
    ]
    value = sum(decision.value for decision in decisions)
    maximum = Maximum(value, max(bound, value), len(judge.proofs), len(judge.loose))
    lost = [name for name, index in traded.items() if not best[index]]
    return _changed(plan, table, watching, proof, decisions, maximum, rejected, lost)


def _hides_cells(protect: str) -> bool:
    """Whether single cells are suppressed: noise and merging are asked for by name."""
    return protect in ("auto", "suppress")


def withdraw_margins(plan: Plan, chosen: Plan, reason: str) -> Plan:
    """The plan without the tables of several axes that were chosen on top of it, for a reason found later."""
    nothing = [
        replace(decision, groups=(), cells=0, value=0.0, reason=reason, hidden=()) for decision in chosen.margins
    ]
    maximum = chosen.maximum and replace(chosen.maximum, value=0.0)
    return replace(plan, margins=tuple(nothing), maximum=maximum, certificate=without_rule(plan.certificate))


def _changed(
    plan: Plan,
    table: Table,
    onlookers: Sequence[Onlooker],
    proof: Proof | None,
    margins: Sequence[MarginDecision],
    maximum: Maximum,
    rejected: Mapping[str, Rejected],
    lost: Sequence[str],
) -> Plan:
    """The plan with the tables that were chosen: margins, certificate and witness of the new proof.

    Without a new proof the certificate of the plan stays, but no longer claims to hold for whoever knows the rule: why
    tables are missing is not among what reruns of single axes look at. Axes that were traded for other tables are
    suppressed, with the reason `GIVEN_UP`.
    """
    certificate, witness = plan.certificate, plan.witness
    # Other tables need another witness: that of the plan need not agree with them.
    if proof is not None:
        # If all that was asked for is published as finely as its axes, every table that agrees leads to the release.
        whole = plan.data_independent and not lost and all(margin.cells == margin.all_cells for margin in margins)
        rule = max(len(proof.tables), 1) if whole and plan.certificate.rule == "rerun" else 0
        certificate, witness = certificate_of(table, proof, plan.target, onlookers, rule), proof.tables
    else:  # why the tables are missing is not among what the reruns of single axes look at
        certificate = without_rule(certificate)
    everybody = {name: frozenset(table.schema.axis(name).categories) for name in lost}
    decisions = [decision for decision in plan.decisions if decision.axis not in everybody]
    for name, group in everybody.items():
        people = sum(decision.people for decision in plan.axis(name))
        decisions.append(Decision(name, group, people, Action.SUPPRESSED, GIVEN_UP))
    order = list(table.schema.names)
    return replace(
        plan,
        decisions=tuple(sorted(decisions, key=lambda decision: order.index(decision.axis))),
        certificate=certificate,
        witness=witness,
        tables=plan.tables if proof is None else (),
        shared_sums=plan.shared_sums if proof is None else (),
        beyond=plan.beyond if proof is None else (),
        margins=tuple(decision for decision in margins if len(decision.axes) > 1),
        maximum=maximum,
        rejected=dict(rejected),
    )


def _published(plan: Plan, table: Table, name: str) -> AxisPartition:
    """An axis as the plan publishes it."""
    decisions = plan.axis(name)
    hidden = frozenset(d.group for d in decisions if d.action in (Action.NOISED, Action.SUPPRESSED))
    groups = tuple(d.group for d in decisions)
    return replace(unmerged_split(table, name), groups=groups, flagged=hidden if len(groups) > 1 else frozenset())


def _entry(
    table: Table, splits: Mapping[str, AxisPartition], wanted: Wanted, limits: Limits, prove: Prove | None
) -> _Entry:
    """What can be done with a wanted table: its versions, or the reason why there are none.

    Merged versions hold regular cells only. If none shows every cell, one with single cells suppressed is tried where
    `prove` is given, and taken if it shows more cells than the finest merged one that passes the same test.
    """
    is_single = len(wanted.axes) == 1
    for axis in wanted.axes:
        if not splits[axis].is_published:
            return _Entry(wanted, None, reason=f"nothing is published about {axis}")
        # A margin over this axis would print sums of counts that are noised or suppressed.
        if splits[axis].flagged and (prove is None or is_single or splits[axis].is_noised):
            return _Entry(wanted, None, reason=f"some groups of {axis} are noised or suppressed")
    finest = crossed_version(table, [splits[axis] for axis in wanted.axes])
    if is_single:
        return _Entry(wanted, finest, (finest,))
    has_hidden = any(splits[axis].flagged for axis in wanted.axes)
    coarser = () if has_hidden else versions(finest, limits)[::-1]
    if prove is not None and not (coarser and coarser[-1].cells == finest.cells):
        single = with_cells_suppressed(finest, limits, prove)
        # The finest merged version that passes the same test; there is no order between what both say.
        merged = next((each for each in coarser[::-1] if prove(each)[0]), None)
        if single is not None and (merged is None or single.cells > merged.cells):
            coarser = (single,)
    return _Entry(
        wanted, finest, coarser, "" if coarser else "some cells are too small or too one-sided, however protected"
    )


def _without_noise(entry: _Entry) -> _Entry:
    """A table that is lost for cells that somebody who asked for noise may expect to be noised."""
    reason = f"some cells are too small or too one-sided; {NO_NOISE}"
    return entry if entry.versions else replace(entry, reason=reason)


def _margin(entry: _Entry, traded: Mapping[str, int]) -> Margin:
    """A wanted table for the search: its versions with their values, and the single axes that it needs."""
    values = tuple(entry.value(version) for version in entry.versions)
    axes = entry.wanted.axes
    needs = tuple(traded[axis] for axis in axes if axis in traded) if len(axes) > 1 else ()
    return Margin(entry.versions, values, needs)


def _tests(table: Table) -> int:
    """How many tests a population of this size is worth."""
    work = len(table.people(table.schema.names).codes) * len(table.schema.options)
    return max(FEWEST_TESTS, min(MOST_TESTS, WORK // max(work, 1)))


def _decision(entry: _Entry, level: int) -> MarginDecision:
    """What is published of a wanted table, and why not more."""
    if not level:
        reason = entry.reason or "not proved safe together with the other tables"
        return MarginDecision(entry.wanted.axes, (), 0, entry.all_cells, 0.0, entry.weight, reason)
    version = entry.versions[level - 1]
    reason = "every cell is large enough, its shares within the target"
    if version.cells < entry.all_cells:
        reason = "merged until every cell is large enough, its shares within the target"
    if hidden := version.hidden_cells:
        reason = f"{plural(len(hidden), 'cell')} suppressed: too small, too one-sided, or covers of these"
    if level < len(entry.versions):
        reason = "merged further: finer, it was not proved safe together with the other tables"
    return MarginDecision(
        entry.wanted.axes,
        version.groups,
        version.cells,
        entry.all_cells,
        entry.value(version),
        entry.weight,
        reason,
        version.hidden_cells,
    )


def _with_reason(decision: MarginDecision, rejected: Rejected | None, earlier: str) -> MarginDecision:
    """The decision with the reason that a test gave: earlier releases, or the tables together."""
    if earlier and not decision.is_published:
        return replace(decision, reason=earlier)
    if rejected is None or not rejected.refusal.proved or "together" not in decision.reason or decision.is_published:
        return decision
    return replace(decision, reason="together with the other tables it would disclose somebody's answer")


def _irregular(table: Table, entry: _Entry, limits: Limits) -> Rejected | None:
    """The largest cell of a margin that may not be printed, however it is merged."""
    if entry.finest is None or entry.versions:
        return None
    finest = entry.finest
    bad = finest.irregular(limits)
    size = np.where(bad, finest.people, -1) if bad.any() else finest.people
    index = np.unravel_index(int(size.argmax()), size.shape)
    counts, people = finest.counts[index], int(finest.people[index])
    verdicts = limits.verdicts(counts[None, :], counts[None, :], np.array([people]))[0]
    option = int(verdicts.argmax())
    count, names = int(limits.columns(counts)[option]), (*table.schema.options, *limits.names)
    cell = finest.cell([int(position) for position in index])
    refusal = Refusal(f"Publishing {entry.wanted.name}", cell, names[option], people, count, count)
    return Rejected(finest.axes, finest.groups, refusal)


def _rejected(judge: SafetyOracle, entries: Sequence[_Entry], best: Choice) -> dict[str, Rejected]:
    """Whom each omitted margin would expose beside those that are published."""
    rejected = {}
    for entry, proof in _refused(judge, entries, best):
        present = [exposed for exposed in proof.exposed or proof.doubtful if not exposed.earlier]
        cells = sorted(present, key=lambda exposed: _is_merged(judge.table, exposed))
        for exposed in cells[:1]:
            refusal = refusal_of(judge.table, f"Publishing {entry.wanted.name}", exposed, bool(proof.exposed))
            rejected[entry.wanted.name] = Rejected(entry.wanted.axes, entry.versions[0].groups, refusal)
    return rejected


def _beside_earlier(judge: SafetyOracle, entries: Sequence[_Entry], best: Choice) -> dict[str, str]:
    """In words whom each omitted margin would expose beside earlier releases."""
    histories = [onlooker.past.axis for onlooker in judge.onlookers if onlooker.past is not None]
    reasons = {}
    for entry, proof in _refused(judge, entries, best) if histories else ():
        with_earlier = [exposed for exposed in proof.exposed if exposed.earlier]
        if with_earlier and len(with_earlier) == len(proof.exposed):
            reasons[entry.wanted.name] = earlier_words(with_earlier[0], histories[0])
    return reasons


def _refused(judge: SafetyOracle, entries: Sequence[_Entry], best: Choice) -> Iterator[tuple[_Entry, Proof]]:
    """Omitted margins, each with the test of publishing it beside those that are not, where one was made.

    No test is made for a reason alone: what was never tested has none.
    """
    for index, entry in enumerate(entries):
        if best[index]:
            continue
        levels = list(best)
        levels[index] = 1
        for need in judge.margins[index].needs:
            levels[need] = max(levels[need], 1)
        proof = judge.reason(tuple(levels), index)
        if proof is not None:
            yield entry, proof


def _is_merged(table: Table, exposed: Exposed) -> bool:
    """Whether a cell has no name of its own: certificates speak about categories."""
    return any(name not in table.schema.axis(axis).index for axis, name in exposed.cell.items())
