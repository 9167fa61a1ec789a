"""From a table and a target to a plan: what happens to every cell, and the proof that the whole is safe."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np

from safemargin.bounds import Exposed, Proof
from safemargin.core import InputError, Limits, Onlooker, Past, Progress, Table, Target, no_progress, onlooker_with_roll
from safemargin.guarantees import NoiseBudget, check_noise, choice_epsilon, is_vacuous
from safemargin.release.decide.candidate import Candidate, prove
from safemargin.release.decide.earlier import by_difference, earlier_words, remembered
from safemargin.release.decide.protect import Lot, Reach, by_lot, by_rate, by_size, flag
from safemargin.release.decide.split import Split, covers_everybody, irregular, population, slack_of, unmerged_split
from safemargin.release.decide.statements import budget_of, certificate_of, noise_guarantee, refusal_of
from safemargin.release.plan import TOO_SMALL, Action, Decision, Plan, Refusal

PROTECTIONS = {"merge": Action.MERGED, "noise": Action.NOISED, "suppress": Action.SUPPRESSED}
"""What may be done with groups whose share is outside the target."""

SMALL_STEPS = 12
"""Merges of two groups that are tried before whole axes are omitted."""

Finish = Callable[[Split], Split]


def decide(
    table: Table,
    target: Target,
    onlookers: Sequence[Onlooker] = (),
    *,
    protect: str = "merge",
    progress: Progress = no_progress,
) -> Plan:
    """Decide every cell of a release that meets `target` against all `onlookers`, or a plan that says why none does."""
    if protect not in PROTECTIONS:
        raise InputError(f"target.protect = {protect!r}: must be one of {', '.join(PROTECTIONS)}")
    watching = tuple(onlookers) or (onlooker_with_roll(table, "joint"),)
    limits = target.limits(table.totals.tolist(), population(table))
    plain = tuple(unmerged_split(table, name) for name in table.schema.names)
    pasts = tuple(onlooker.past for onlooker in watching if onlooker.past is not None)
    # Small groups first (Thm. 6(b) of the paper): this step reads the roll only, so everybody could repeat it and it
    # discloses no answer.
    sized = tuple(by_size(split, target.kappa) for split in plain)
    axes = sum(split.is_published for split in sized)
    if protect == "noise":
        check_noise(table.schema, axes, covers_everybody(table), target)
    # One lot for the whole search: a second draw for the same group would let the search prefer a lucky one, which the
    # epsilon of the choice does not cover.
    lot = Lot(choice_epsilon(axes, target.epsilon_max))
    finish = partial(_finish, table=table, limits=limits, protect=protect, pasts=pasts, reach=lot)
    # That every group is regular is not enough: Thm. 6(a) and 7(1) of the paper are false if the roll is public
    # (docs/decide.md has counter-examples). Only the joint certificate decides.
    candidate, proof, refused = _search(table, Candidate(tuple(map(finish, sized))), watching, limits, finish, progress)
    budget = budget_of(table, candidate.splits, target, lot.epsilon) if protect == "noise" else None
    guarantees = () if budget is None else (noise_guarantee(table, candidate.splits, sized, budget, bool(pasts)),)
    bad, people = _irregular(table, plain, limits)
    is_total_only = not any(split.is_published for split in candidate.splits)
    only_total = ["Only the total is published: no axis could be published safely."] if is_total_only else []
    return Plan(
        target=target,
        decisions=tuple(d for split in candidate.splits for d in _decisions(split, PROTECTIONS[protect], budget)),
        refusals=tuple(refused),
        guarantees=guarantees,
        certificate=certificate_of(table, proof, target, watching),
        irregular=bad,
        exposed_people=people,
        witness=proof.tables,
        notes=(*only_total, *remembered(candidate.tables(table), pasts, limits, slack_of(table))),
    )


def _finish(split: Split, *, table: Table, limits: Limits, protect: str, pasts: Sequence[Past], reach: Reach) -> Split:
    """Make every group of an axis regular, or flag it, in the way that was asked for."""
    apart = partial(by_difference, pasts=pasts, options=table.schema.options, limits=limits, slack=slack_of(table))
    if protect == "merge":
        return _merged(split, limits, apart)
    # A merge changes which groups are irregular, so earlier flags are dropped and drawn up again.
    split = apart(replace(split, flagged=frozenset()))
    if protect == "suppress":
        return flag(split, limits, "suppressed")
    flagged = by_lot(split, limits, reach)
    if not flagged.flagged:
        return flagged
    # Exact groups are invariants: noise on counts that these fix guarantees nothing, whatever its epsilon.
    if is_vacuous(table, split.axis.name, sorted(flagged.flagged, key=sorted)):
        return flagged.collapse("noise would guarantee nothing: no two people could exchange answers unnoticed")
    if not split.regular(frozenset().union(*flagged.flagged), limits):  # which the total less the rest would disclose
        return _merged(split, limits, apart)
    return flagged


def _merged(split: Split, limits: Limits, apart: Callable[[Split], Split]) -> Split:
    split = by_rate(split, limits)
    # Each rule may undo what the other needs; both only merge, so this ends.
    while (merged := apart(split)).groups != split.groups:
        split = by_rate(merged, limits)
    return split


def _search(
    table: Table,
    candidate: Candidate,
    onlookers: Sequence[Onlooker],
    limits: Limits,
    finish: Finish,
    progress: Progress,
) -> tuple[Candidate, Proof, list[Refusal]]:
    """Merge on until the certificate holds or nothing is left to merge."""
    refused: list[Refusal] = []
    # Every turn merges two groups or omits an axis, so that there are fewer groups than before: it ends.
    for turn in count():
        proof = prove(table, candidate, onlookers, limits, progress=progress)
        if proof.holds:
            return candidate, proof, refused
        what = "Publishing every regular group exactly" if not refused else "Publishing what was left after that"
        # What is not decided is treated as disclosed: a release needs a proof, not the absence of a refutation.
        shown = (proof.exposed or proof.doubtful)[: 1 if refused else 5]
        refused.extend(refusal_of(table, what, exposed, bool(proof.exposed)) for exposed in shown)
        better = _improve(table, candidate, proof, onlookers, limits, finish, in_small_steps=turn < SMALL_STEPS)
        if better is None:
            return candidate, proof, refused
        candidate = better
    raise AssertionError("every step leaves fewer groups")


def _improve(
    table: Table,
    candidate: Candidate,
    proof: Proof,
    onlookers: Sequence[Onlooker],
    limits: Limits,
    finish: Finish,
    in_small_steps: bool,
) -> Candidate | None:
    """The change to one axis that leaves fewest people plainly exposed, then loses least."""
    seen = {candidate.key()}
    ranked: list[tuple[int, Fraction, int, Candidate]] = []
    for exposed in (proof.exposed or proof.doubtful)[:3]:
        reason = _together(exposed, bool(proof.exposed), onlookers)
        for changed in _changes(candidate, exposed, finish, in_small_steps, reason):
            trial = candidate.with_split(changed)
            if trial.key() in seen:
                continue
            seen.add(trial.key())
            # Closed forms rank the trials; the full proof of the winner is the next turn of the search.
            left = prove(table, trial, onlookers, limits, quick=True)
            ranked.append((sum(cell.people for cell in left.exposed), trial.loss(), len(ranked), trial))
    return min(ranked, key=lambda entry: entry[:3])[3] if ranked else None


def _changes(candidate: Candidate, exposed: Exposed, finish: Finish, in_small_steps: bool, reason: str) -> list[Split]:
    """Ways to say less about one of the axes of an exposed cell; about any axis, if none of them is published."""
    changes = []
    published = [split for split in candidate.splits if split.is_published]
    for split in [split for split in published if split.axis.name in exposed.cell] or published:
        whole = " | ".join(split.axis.categories)
        members = frozenset(exposed.cell.get(split.axis.name, whole).split(" | "))
        for group in [group for group in split.groups if group & members][:2] if in_small_steps else []:
            for partner in split.partners(group)[:2]:
                changes.append(finish(split.merge(group, partner, reason)))
        changes.append(split.collapse(reason))
    return changes


def _together(exposed: Exposed, proved: bool, onlookers: Sequence[Onlooker]) -> str:
    if exposed.earlier and proved:
        return earlier_words(exposed, next(onlooker.past.axis for onlooker in onlookers if onlooker.past is not None))
    cell = ", ".join(f"{axis} {value}" for axis, value in exposed.cell.items())
    would = "would disclose the answers of" if proved else "could not be proved safe for"
    return f"the tables together {would} the {exposed.people} people with {cell}"


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


def _decisions(split: Split, flagged: Action, budget: NoiseBudget | None) -> list[Decision]:
    decisions = []
    epsilon = budget.epsilon if budget else None
    for group in split.groups:
        reason = split.reasons.get(group, "")
        if not split.is_published:
            action, reason = Action.SUPPRESSED, reason or "the axis has one category only"
        elif group in split.flagged:
            action = flagged
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
