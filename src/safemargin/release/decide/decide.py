"""From a table and a target to a plan: what happens to every cell, and the proof that the whole is safe.

Objects
    rule        everything that decides except the answers: roll, limits, onlookers, trees of blocks (`release/rule`)
    candidate   how every axis would be published: a cut through its tree
    proof       whether a candidate is safe against every onlooker (`judge.py`, `bounds.certify`)
    plan        the decision about every group, the certificate, and the alternatives that were rejected

Method
    1. Groups below kappa people are merged: this reads the roll only (`rule.make`).
    2. The first candidate cuts every axis as finely as the shares of single groups allow (`ReleaseRule.first`).
    3. It is proved (`prove`). If a cell is disclosed, or not shown to be safe, one axis is cut further up its tree, and
       so on (`search`). Every step leaves fewer groups, so this ends; at the end only the total is published.

Why an onlooker who knows the rule learns nothing more (docs/decide.md has the proof)
    What is merged depends on answers, so a merge says something about them. `ExplanationSearch` (`rerun.py`) makes up
    answers from published sums alone, runs the rule on them, and certifies a set of tables all of which lead to this
    very
    release. So the certificate holds for the set of tables that somebody who knows the rule cannot exclude, and whether
    that succeeds is a function of the release.

Invariants
    * What is not decided counts as disclosed: a release needs a proof, not the absence of a refutation.
    * No step looks at more than the release before it and what is public, except for the proof of the true table.
    * A plan is never weakened to publish more. Steps only merge, suppress or omit.
    * Randomness enters only where groups are noised (`rule/lot.py`); everything else is a function of its arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from safemargin.bounds import TOGETHER, Exposed, Proof, build_system, certify, certify_with_earlier
from safemargin.core import (
    ContradictionError,
    Group,
    Limits,
    Onlooker,
    Progress,
    Table,
    Tally,
    Target,
    no_progress,
)
from safemargin.guarantees import NoiseBudget, exchange_sensitivity
from safemargin.release.decide.beyond import range_table
from safemargin.release.decide.elsewhere import explained_way
from safemargin.release.decide.judge import prove_counts
from safemargin.release.decide.possible_tables import any_table, only_table, votes_by_axis
from safemargin.release.decide.rerun import ExplanationSearch
from safemargin.release.decide.statements import (
    axis_guarantee,
    budget_of,
    certificate_of,
    noise_guarantee,
    noise_notes,
    refusal_of,
)
from safemargin.release.plan import TOO_SMALL, Action, Decision, Plan, Refusal, SumRange
from safemargin.release.rule.candidates import Candidate, ReleaseRule, join
from safemargin.release.rule.earlier import remembered
from safemargin.release.rule.make import made_rule
from safemargin.release.rule.split import (
    AxisPartition,
    covers_everybody,
    irregular,
    slack_of,
    unmerged_split,
)
from safemargin.release.rule.steps import next_candidate, plainly_exposed
from safemargin.release.witnesses import listed_tables

COARSER = 3
"""Releases that are tried until one can be explained to somebody who knows the rule, with `auto`."""
PLAIN_STEPS = 12
"""Releases that are tried after that, whether one can be explained or not."""
WITHOUT = "Publishing what was left after that"


@dataclass(frozen=True)
class ProofResult:
    """A proof about a release, and against whom it holds.

    `rule` says whether it holds against an onlooker who knows the rule. `data_independent` says that nothing is merged
    or omitted for its answers: then every table that agrees with the release leads to it.
    """

    proof: Proof
    rule: bool = False
    data_independent: bool = False
    tables: tuple[Tally, ...] = field(default=(), compare=False)
    """The witnesses of the proof, as counts by profile."""
    shared_sums: tuple[tuple[str, tuple[Group, ...]], ...] = ()
    """Per axis the groups whose sums the witnesses share: every table with these sums leads to the release."""
    beyond: tuple[SumRange, ...] = ()
    """Counts beyond a strict limit that all witnesses have: every table with such counts leads to the release."""

    @property
    def witnesses(self) -> int:
        """How many tables show it against somebody who knows the rule; 0 if it is not shown."""
        return max(len(self.tables), 1) if self.rule else 0


def prove(
    rule: ReleaseRule, candidate: Candidate, progress: Progress = no_progress, insist: bool = True
) -> ProofResult:
    """Whether the candidate is safe against every onlooker, with a proof that fails or the one that says most.

    First what closed forms disclose; then, where answers decided a merge, a proof with reasons (`prove_with_reasons`);
    else a proof of the release alone. With `insist`, it must be shown against those who know the rule, too, where that
    is possible at all: the certificate then says `rerun`.
    """
    plain = plainly_exposed(rule, candidate)
    if plain.exposed:
        return ProofResult(plain)
    reasons = ExplanationSearch(rule, candidate, progress)
    names, watching = rule.table.schema.names, rule.onlookers
    # Noised counts say something to whoever reruns the program, too: only their epsilon covers that.
    is_public = not (rule.slack or rule.protect == "noise" or any(split.is_noised for split in candidate.splits))
    is_joint = all(onlooker.composition(names) == "joint" for onlooker in watching)
    if reasons.blocks and is_public and is_joint and all(onlooker.knows_rule for onlooker in watching):
        key = candidate.key()
        if key not in rule.unexplained:
            shown = [prove_with_reasons(rule, reasons, onlooker, progress) for onlooker in watching]
            failed = [each.proof for each in shown if not each.proof.holds]
            if not failed and all(_is_whole(rule, each.proof) for each in shown):
                # The certificate states the weakest proof.
                return max(shown, key=lambda each: (each.proof.linear, sum(each.proof.checked.values())))
            rule.unexplained[key] = failed[0] if failed else replace(shown[0].proof, undecided=1)
        # Facts and earlier releases may leave no answers that explain it, and nothing coarser would.
        if insist and not any(onlooker.past or onlooker.facts for onlooker in watching):
            return ProofResult(rule.unexplained[key])
    proof = prove_counts(rule.table, candidate, watching, rule.limits, progress=progress)
    tables: tuple[Tally, ...] = ()
    if proof.holds and is_public and is_joint:
        system = build_system(candidate.tables(rule.table), watching[0])
        same = [counts for counts in proof.tables if counts.shape == system.low.shape and system.admits(counts)]
        tables = listed_tables(same or only_table(system), system, rule.table.schema)
    # If nothing is merged for its answers, every table that agrees with the release leads to it.
    is_shown = is_public and proof.holds and not reasons.blocks and _is_whole(rule, proof)
    return ProofResult(proof, is_shown, not reasons.blocks, tables)


def _is_whole(rule: ReleaseRule, proof: Proof) -> bool:
    """Whether integer tables prove every cell, together with all earlier releases."""
    return proof.linear == 0 and (not rule.pasts or TOGETHER in proof.checked)


def prove_with_reasons(
    rule: ReleaseRule, reasons: ExplanationSearch, onlooker: Onlooker, progress: Progress
) -> ProofResult:
    """Certify the release together with sums that could have led to it: a smaller set of tables, and all lead to it.

    Every set of causes that leads here (`ExplanationSearch.trials`) is tried until one is certified. The limits are
    those of the target, assumed counts included (`hypothetical`), and fractional tables do not count. The tables of the
    proof are run through the rule, too. What failed last is returned if nothing holds: it says which cell to hide next.
    """
    limits, tables = replace(rule.limits, hypothetical=True, allow_linear=False), reasons.candidate.tables(rule.table)
    failed = Proof((), {}, undecided=1, doubtful=_unexplained(rule, reasons))
    further = reasons.further_trials() if onlooker.past is None else iter(())
    for answers in chain(reasons.trials(), further):
        # The made-up sums of an axis part it as finely as the release does, or more, so they say all that it says.
        said = {table.axes for table in answers.tables}
        ranges = [range_table(each, rule.table.schema) for each in answers.beyond]
        assumed = (*(table for table in tables if table.axes not in said), *answers.tables, *ranges)
        try:
            # The caps `0 <= T[e] <= N[e]` of a known roll are in the system; the closed forms of the paper ignore them.
            system = build_system(assumed, onlooker)
            proof = certify(system, limits, progress)
            if onlooker.past is not None and proof.holds:
                past, made = onlooker.past, answers.tables
                proof = join(proof, certify_with_earlier(tables, past, limits, progress=progress, assumed=made))
                if TOGETHER not in proof.checked:  # nobody may have changed their answer: that was not shown of these
                    continue
        except ContradictionError:  # votes of single axes that nobody can cast together
            continue
        # Where sums decide every cell, no table was searched for: the certificate carries one all the same.
        fitting = (proof.tables or only_table(system) or any_table(system)) if proof.holds else ()
        listed = listed_tables(fitting, system, rule.table.schema)
        # Theory says that they all lead here (docs/decide.md); they are run all the same.
        if listed and all(reasons.leads_here(votes_by_axis(rule.table, tally)) for tally in listed):
            parts = tuple((table.axes[0], table.groups[0]) for table in answers.tables)
            return ProofResult(proof, True, tables=listed, shared_sums=parts, beyond=answers.beyond)
        failed = proof
        reasons.failed = tuple(cell for exposed in (proof.exposed or proof.doubtful)[:1] for cell in exposed.cell)
    return ProofResult(failed)


def _unexplained(rule: ReleaseRule, reasons: ExplanationSearch) -> tuple[Exposed, ...]:
    """The blocks that no answers within the target explain, as cells; all of them if each could be explained alone."""
    names = rule.table.schema.names
    empty = [place for place, triggers in zip(reasons.blocks, reasons.triggers, strict=True) if not triggers]
    return tuple(
        Exposed({names[axis]: " | ".join(sorted(block.whole))}, 0, rule.covers[axis].split.size(block.whole), 0, 0)
        for axis, block in empty or reasons.blocks
    )


def decide(
    table: Table,
    target: Target,
    onlookers: Sequence[Onlooker] = (),
    *,
    protect: str = "auto",
    progress: Progress = no_progress,
) -> Plan:
    """Decide every cell of a release that meets `target` against all `onlookers`, or a plan that says why none does.

    Without onlookers, one who knows the joint roll is assumed. `protect` is one of `PROTECTIONS` (`rule/make.py`). The
    plan may be made into a release only if its certificate holds; `publish` sees to that.

    Four wards, of which c and d are too small to be published by themselves. The rest is exact, and somebody who reruns
    the program on every possible table learns nothing more (`rerun`):

    >>> from safemargin.core import table_of
    >>> votes = [[30, 20], [20, 30], [28, 22], [22, 28], [1, 9], [2, 8], [5, 5], [5, 5]]
    >>> people = [50, 50, 50, 50, 10, 10, 10, 10]
    >>> table = table_of({"ward": ("a", "b", "c", "d"), "sex": ("f", "m")}, votes, people)
    >>> plan = decide(table, Target(kappa=30), protect="merge")
    >>> plan.certificate.certified, plan.certificate.rule
    (True, 'rerun')
    >>> [(" | ".join(sorted(each.group)), str(each.action)) for each in plan.axis("ward")]
    [('a', 'exact'), ('b', 'exact'), ('c | d', 'merged')]
    """
    rule = made_rule(table, target, onlookers, protect)
    return plan_of(rule, target, *search(rule, progress))


def plan_of(
    rule: ReleaseRule, target: Target, candidate: Candidate, shown: ProofResult, refused: Sequence[Refusal] = ()
) -> Plan:
    """The plan of a candidate and what was shown of it, with the releases that were refused before.

    Nothing is decided here: statements, guarantees and notes follow from the candidate and its proof. A plan whose
    proof does not hold is a plan all the same, with a certificate that says so; nothing publishes it.
    """
    table, watching, limits, protect = rule.table, rule.onlookers, rule.limits, rule.protect
    plain = tuple(unmerged_split(table, name) for name in table.schema.names)
    proof, sized, lot, pasts = shown.proof, [cover.split for cover in rule.covers], rule.lot, rule.pasts
    budget = budget_of(table, candidate.splits, target, lot.epsilon) if protect == "noise" else None
    guarantees = [axis_guarantee(table, candidate.splits, split) for split in candidate.splits if split.is_noised]
    if budget is not None:
        guarantees.append(noise_guarantee(table, candidate.splits, sized, budget, bool(pasts)))
    bad, people = _irregular(table, plain, limits)
    is_total_only = not any(split.is_published for split in candidate.splits)
    only_total = ["Only the total is published: no axis could be published safely."] if is_total_only else []
    whom = noise_notes(table, candidate.splits) if guarantees else ()
    return Plan(
        target=target,
        decisions=tuple(d for split in candidate.splits for d in _decisions(table, split, budget)),
        refusals=tuple(refused),
        guarantees=tuple(guarantees),
        certificate=certificate_of(table, proof, target, watching, shown.witnesses),
        irregular=bad,
        exposed_people=people,
        witness=proof.tables,
        tables=shown.tables,
        shared_sums=shown.shared_sums,
        beyond=shown.beyond,
        data_independent=shown.data_independent,
        notes=(*only_total, *whom, *remembered(candidate.tables(table), pasts, limits, slack_of(table))),
    )


def decided(
    table: Table, target: Target, onlookers: Sequence[Onlooker], *, protect: str
) -> tuple[ReleaseRule, Candidate]:
    """The rule for a table, and the release that it comes to: what a rerun computes, without reasons and words."""
    rule = made_rule(table, target, onlookers, protect)
    return rule, search(rule, no_progress)[0]


def search(rule: ReleaseRule, progress: Progress) -> tuple[Candidate, ProofResult, list[Refusal]]:
    """The first candidate, in the order of the rule, that is proved safe, with its proof and the refusals before it.

    Each refusal says which cell would have been disclosed, or could not be proved safe. With `auto`, after a few
    candidates that fail only because nothing explains them, candidates are proved without that demand, and the
    certificate says that the rule is not shown.
    """
    refused: list[Refusal] = []
    candidate = rule.first()
    unexplained: list[Candidate] = []
    finest: Candidate | None = None
    """The first release that fails only because nothing was found that explains it."""
    # Every turn merges blocks or omits an axis, so that there are fewer groups than before: it ends.
    while True:
        shown = prove(rule, candidate, progress)
        if shown.proof.holds:
            return _rather_plain(rule, finest, (candidate, shown), refused, progress)
        proof = shown.proof
        if finest is None and candidate.key() in rule.unexplained:
            finest = candidate
        unexplained += [] if proof.exposed or rule.protect not in ("auto", "suppress") else [candidate]
        if len(unexplained) == COARSER:
            # An axis is not omitted because no answers were found that explain the release: the certificate says so.
            found = _search_plain(rule, unexplained[0], refused, progress)
            for plain in unexplained[1:] if found is None else ():
                if (shown := prove(rule, plain, progress, insist=False)).proof.holds:
                    found = plain, shown
                    break
            if found is not None:
                return *_rather_explained(rule, found, progress), refused
        what = "Publishing every regular group exactly" if not refused else WITHOUT
        # What is not decided is treated as disclosed: a release needs a proof, not the absence of a refutation.
        cells = proof.exposed or proof.doubtful
        refused.extend(refusal_of(rule.table, what, cell, bool(proof.exposed)) for cell in cells[: 1 if refused else 5])
        coarser = next_candidate(rule, candidate, cells, bool(proof.exposed))
        if coarser is None:
            # Nothing is left to merge: the total is published in any case, and the certificate says what it hides.
            shown = prove(rule, candidate, progress, insist=False)
            return _rather_plain(rule, finest, (candidate, shown), refused, progress)
        candidate = coarser


def _rather_plain(
    rule: ReleaseRule,
    finest: Candidate | None,
    found: tuple[Candidate, ProofResult],
    refused: list[Refusal],
    progress: Progress,
) -> tuple[Candidate, ProofResult, list[Refusal]]:
    """What was found; but not the total alone where a finer release is safe and only could not be explained.

    The certificate then says that the rule is not shown: whoever wants it shown merges (`protect = "merge"`).
    """
    if finest is not None and not found[0].published and rule.protect in ("auto", "suppress"):
        plain = _search_plain(rule, finest, refused, progress)
        if plain is not None and plain[0].published:
            found = _rather_explained(rule, plain, progress)
    return *found, refused


def _rather_explained(
    rule: ReleaseRule, plain: tuple[Candidate, ProofResult], progress: Progress
) -> tuple[Candidate, ProofResult]:
    """A release that is shown against those who know the rule, if another way to coarsen leads to one with as many
    axes."""
    return explained_way(rule, len(plain[0].published), lambda way: prove(rule, way, progress)) or plain


def _search_plain(
    rule: ReleaseRule, candidate: Candidate, refused: list[Refusal], progress: Progress
) -> tuple[Candidate, ProofResult] | None:
    """The same without answers that explain the release: every step follows a cell that is disclosed or undecided.

    At most `PLAIN_STEPS` releases are tried. What is found is safe against somebody who does not know the rule; the
    certificate says that the rule is not shown.
    """
    for _ in range(PLAIN_STEPS):
        shown = prove(rule, candidate, progress, insist=False)
        if shown.proof.holds:
            return candidate, shown
        cells, proved = shown.proof.exposed or shown.proof.doubtful, bool(shown.proof.exposed)
        refused.extend(refusal_of(rule.table, WITHOUT, cell, proved) for cell in cells[:1])
        coarser = next_candidate(rule, candidate, cells, proved)
        if coarser is None:
            return None
        candidate = coarser
    return None


def _irregular(table: Table, plain: Sequence[AxisPartition], limits: Limits) -> tuple[tuple[Decision, ...], int]:
    """Categories outside the target before anything is done, and how many people are in one of them (Thm. 7)."""
    decisions = []
    inside = []
    for split in plain:
        bad = irregular(split, limits)
        inside.append(bad)
        for group, is_bad in zip(split.groups, bad, strict=True):
            if is_bad and (size := split.size(group)):
                reason = TOO_SMALL if size < limits.kappa else "a share outside the target"
                decisions.append(Decision(split.axis.name, group, size, Action.SUPPRESSED, reason))
    # Without a joint roll, the same people may be irregular on several axes: the largest axis is a lower bound.
    if not table.knows_composition:
        by_axis = [sum(d.people for d in decisions if d.axis == split.axis.name) for split in plain]
        return tuple(decisions), max(by_axis, default=0)
    roll = table.people(table.schema.names)
    exposed = np.zeros(len(roll.codes), dtype=bool)
    for a, bad in enumerate(inside):
        exposed |= bad[roll.codes[:, a]]
    return tuple(decisions), int(roll.counts[exposed].sum())


def _decisions(table: Table, split: AxisPartition, budget: NoiseBudget | None) -> list[Decision]:
    """What happens to every group of an axis, and why: in words for the office, without counts of suppressed groups."""
    decisions = []
    epsilon = budget.epsilon if budget else None
    if split.axis.epsilon is not None:
        epsilon = split.axis.epsilon / exchange_sensitivity(table.schema, covers_everybody(table))
    for group in split.groups:
        reason = split.reasons.get(group, "")
        if not split.is_published:
            action, reason = Action.SUPPRESSED, reason or "the axis has one category only"
        elif group in split.flagged:
            action = Action.SUPPRESSED if epsilon is None else Action.NOISED
        elif len(group) > 1:
            action = Action.MERGED
        else:
            action, reason = Action.EXACT, "large enough, share within the target"
        decisions.append(
            Decision(
                split.axis.name, group, split.size(group), action, reason, epsilon if action is Action.NOISED else None
            )
        )
    return decisions
