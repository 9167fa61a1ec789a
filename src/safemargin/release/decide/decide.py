"""From a table and a target to a plan: what happens to every cell, and the proof that the whole is safe."""

from collections.abc import Sequence

import numpy as np

from safemargin.core import InputError, Limits, Onlooker, Progress, Table, Target, no_progress, onlooker_with_roll
from safemargin.guarantees import NoiseBudget, exchange_sensitivity
from safemargin.release.decide.earlier import remembered
from safemargin.release.decide.prove import Shown, prove
from safemargin.release.decide.rule import Candidate, ReleaseRule, rule_for
from safemargin.release.decide.split import Split, covers_everybody, irregular, population, slack_of, unmerged_split
from safemargin.release.decide.statements import axis_guarantee, budget_of, certificate_of, noise_guarantee, refusal_of
from safemargin.release.plan import TOO_SMALL, Action, Decision, Plan, Refusal

PROTECTIONS = "auto", "merge", "noise", "suppress"
"""What may be done with groups whose share is outside the target."""

COARSER = 3
"""Releases that are tried until one can be explained to somebody who knows the rule, with `auto`."""
PLAIN_STEPS = 12
"""Releases that are tried after that, whether one can be explained or not."""
WITHOUT = "Publishing what was left after that"


def decide(
    table: Table,
    target: Target,
    onlookers: Sequence[Onlooker] = (),
    *,
    protect: str = "auto",
    progress: Progress = no_progress,
) -> Plan:
    """Decide every cell of a release that meets `target` against all `onlookers`, or a plan that says why none does."""
    rule = _rule(table, target, onlookers, protect)
    watching, limits = rule.onlookers, rule.limits
    plain = tuple(unmerged_split(table, name) for name in table.schema.names)
    candidate, shown, refused = _search(rule, progress)
    proof, sized, lot, pasts = shown.proof, [cover.split for cover in rule.covers], rule.lot, rule.pasts
    budget = budget_of(table, candidate.splits, target, lot.epsilon) if protect == "noise" else None
    guarantees = [axis_guarantee(table, candidate.splits, split) for split in candidate.splits if split.is_noised]
    if budget is not None:
        guarantees.append(noise_guarantee(table, candidate.splits, sized, budget, bool(pasts)))
    bad, people = _irregular(table, plain, limits)
    is_total_only = not any(split.is_published for split in candidate.splits)
    only_total = ["Only the total is published: no axis could be published safely."] if is_total_only else []
    return Plan(
        target=target,
        decisions=tuple(d for split in candidate.splits for d in _decisions(table, split, budget)),
        refusals=tuple(refused),
        guarantees=tuple(guarantees),
        certificate=certificate_of(table, proof, target, watching, shown.witnesses, bool(guarantees)),
        irregular=bad,
        exposed_people=people,
        witness=proof.tables,
        tables=shown.tables,
        parts=shown.parts,
        is_plain=shown.is_plain,
        notes=(*only_total, *remembered(candidate.tables(table), pasts, limits, slack_of(table))),
    )


def decided(
    table: Table, target: Target, onlookers: Sequence[Onlooker], *, protect: str
) -> tuple[ReleaseRule, Candidate]:
    """The rule for a table, and the release that it comes to."""
    rule = _rule(table, target, onlookers, protect)
    return rule, _search(rule, no_progress)[0]


def _rule(table: Table, target: Target, onlookers: Sequence[Onlooker], protect: str) -> ReleaseRule:
    if protect not in PROTECTIONS:
        raise InputError(f"target.protect = {protect!r}: must be one of {', '.join(PROTECTIONS)}")
    noised = [axis for axis in table.schema.axes if axis.epsilon is not None]
    if noised and protect == "noise":
        raise InputError(f'axes.{noised[0].name}.epsilon: choose another target.protect than "noise", or remove it')
    if (spent := sum(axis.epsilon or 0.0 for axis in noised)) > target.epsilon_max:
        raise InputError(
            f"axes.{noised[0].name}.epsilon: the axes cost {spent:g} together, target.epsilon_max is "
            f"{target.epsilon_max:g}"
        )
    limits = target.limits(table.totals.tolist(), population(table))
    return rule_for(table, limits, tuple(onlookers) or (onlooker_with_roll(table, "joint"),), protect, target)


def _search(rule: ReleaseRule, progress: Progress) -> tuple[Candidate, Shown, list[Refusal]]:
    """Cut axes further up until the certificate holds or nothing is left to merge."""
    refused: list[Refusal] = []
    candidate = rule.first()
    unexplained: list[Candidate] = []
    # Every turn merges blocks or omits an axis, so that there are fewer groups than before: it ends.
    while True:
        shown = prove(rule, candidate, progress)
        if shown.proof.holds:
            return candidate, shown, refused
        proof = shown.proof
        unexplained += [] if proof.exposed or rule.protect not in ("auto", "suppress") else [candidate]
        if len(unexplained) == COARSER:
            # An axis is not omitted because no answers were found that explain the release: the certificate says so.
            found = _search_plain(rule, unexplained[0], refused, progress)
            if found is not None:
                return *found, refused
            for plain in unexplained[1:]:
                if (shown := prove(rule, plain, progress, insist=False)).proof.holds:
                    return plain, shown, refused
        what = "Publishing every regular group exactly" if not refused else WITHOUT
        # What is not decided is treated as disclosed: a release needs a proof, not the absence of a refutation.
        cells = proof.exposed or proof.doubtful
        refused.extend(refusal_of(rule.table, what, cell, bool(proof.exposed)) for cell in cells[: 1 if refused else 5])
        coarser = rule.next(candidate, cells, bool(proof.exposed))
        if coarser is None:
            # Nothing is left to merge: the total is published in any case, and the certificate says what it hides.
            return candidate, prove(rule, candidate, progress, insist=False), refused
        candidate = coarser


def _search_plain(
    rule: ReleaseRule, candidate: Candidate, refused: list[Refusal], progress: Progress
) -> tuple[Candidate, Shown] | None:
    """The same without answers that explain the release: every step follows a cell that is disclosed or undecided."""
    for _ in range(PLAIN_STEPS):
        shown = prove(rule, candidate, progress, insist=False)
        if shown.proof.holds:
            return candidate, shown
        cells, proved = shown.proof.exposed or shown.proof.doubtful, bool(shown.proof.exposed)
        refused.extend(refusal_of(rule.table, WITHOUT, cell, proved) for cell in cells[:1])
        coarser = rule.next(candidate, cells, proved)
        if coarser is None:
            return None
        candidate = coarser
    return None


def _irregular(table: Table, plain: Sequence[Split], limits: Limits) -> tuple[tuple[Decision, ...], int]:
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


def _decisions(table: Table, split: Split, budget: NoiseBudget | None) -> list[Decision]:
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
