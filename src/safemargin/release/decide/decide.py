"""From a table and a target to a plan: what happens to every cell, and the proof that the whole is safe."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np

from safemargin.bounds.exposure import Exposed, Proof
from safemargin.core import InputError, Limits, Onlooker, Past, Progress, Table, Target, no_progress, onlooker_with_roll
from safemargin.guarantees.noise import NoiseBudget, check_noise, choice_epsilon, is_vacuous
from safemargin.release.decide.candidate import Candidate, prove
from safemargin.release.decide.earlier import by_difference, earlier_words, remembered
from safemargin.release.decide.protect import Lot, Reach, by_lot, by_rate, by_size, flag
from safemargin.release.decide.split import Split, covers_everybody, irregular, population, split
from safemargin.release.decide.statements import budget_of, certificate_of, noise_guarantee
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
    plain = tuple(split(table, name) for name in table.schema.names)
    pasts = tuple(one.past for one in watching if one.past is not None)
    sized = tuple(by_size(one, target.kappa) for one in plain)
    axes = sum(one.is_published for one in sized)
    if protect == "noise":
        check_noise(table.schema, axes, covers_everybody(table), target)
    lot = Lot(choice_epsilon(axes, target.epsilon_max))
    finish = partial(_finish, table=table, limits=limits, protect=protect, pasts=pasts, reach=lot)
    candidate, proof, refused = _search(table, Candidate(tuple(map(finish, sized))), watching, limits, finish, progress)
    budget = budget_of(table, candidate.splits, target, lot.epsilon) if protect == "noise" else None
    guarantees = () if budget is None else (noise_guarantee(table, candidate.splits, sized, budget, bool(pasts)),)
    bad, people = _irregular(table, plain, limits)
    return Plan(
        target=target,
        decisions=tuple(d for one in candidate.splits for d in _decisions(one, PROTECTIONS[protect], budget)),
        refusals=tuple(refused),
        guarantees=guarantees,
        certificate=certificate_of(table, proof, target, watching),
        irregular=bad,
        exposed_people=people,
        witness=proof.tables,
        notes=(*_only_total(candidate), *remembered(candidate.tables(table), pasts, limits, slack_of(table))),
    )


def _only_total(candidate: Candidate) -> list[str]:
    if any(one.is_published for one in candidate.splits):
        return []
    return ["Only the total is published: no axis could be published safely."]


def slack_of(table: Table) -> int:
    """How many votes a published count may be off."""
    return table.inconsistency.slack(int(table.totals.sum()))


def _finish(one: Split, *, table: Table, limits: Limits, protect: str, pasts: Sequence[Past], reach: Reach) -> Split:
    """Make every group of an axis regular, or flag it, in the way that was asked for."""
    apart = partial(by_difference, pasts=pasts, options=table.schema.options, limits=limits, slack=slack_of(table))
    if protect == "merge":
        return _merged(one, limits, apart)
    one = apart(replace(one, flagged=frozenset()))
    if protect == "suppress":
        return flag(one, limits, "suppressed")
    flagged = by_lot(one, limits, reach)
    if not flagged.flagged:
        return flagged
    if is_vacuous(table, one.axis.name, sorted(flagged.flagged, key=sorted)):
        return flagged.collapse("noise would guarantee nothing: no two people could exchange answers unnoticed")
    if not one.regular(frozenset().union(*flagged.flagged), limits):  # which the total less the rest would disclose
        return _merged(one, limits, apart)
    return flagged


def _merged(one: Split, limits: Limits, apart: Callable[[Split], Split]) -> Split:
    one = by_rate(one, limits)
    while (merged := apart(one)).groups != one.groups:
        one = by_rate(merged, limits)
    return one


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
    for turn in count():
        proof = prove(table, candidate, onlookers, limits, progress=progress)
        if proof.holds:
            return candidate, proof, refused
        what = "Publishing every regular group exactly" if not refused else "Publishing what was left after that"
        shown = (proof.exposed or proof.doubtful)[: 1 if refused else 5]
        refused.extend(_refusal(table, what, one, bool(proof.exposed)) for one in shown)
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
    for one in (proof.exposed or proof.doubtful)[:3]:
        reason = _together(one, bool(proof.exposed), onlookers)
        for changed in _changes(candidate, one, finish, in_small_steps, reason):
            trial = candidate.with_split(changed)
            if trial.key() in seen:
                continue
            seen.add(trial.key())
            left = prove(table, trial, onlookers, limits, quick=True)
            ranked.append((sum(each.people for each in left.exposed), trial.loss(), len(ranked), trial))
    return min(ranked, key=lambda entry: entry[:3])[3] if ranked else None


def _changes(candidate: Candidate, exposed: Exposed, finish: Finish, in_small_steps: bool, reason: str) -> list[Split]:
    """Ways to say less about one of the axes of an exposed cell; about any axis, if none of them is published."""
    changes = []
    published = [one for one in candidate.splits if one.is_published]
    for one in [one for one in published if one.axis.name in exposed.cell] or published:
        whole = " | ".join(one.axis.categories)
        members = frozenset(exposed.cell.get(one.axis.name, whole).split(" | "))
        for group in [group for group in one.groups if group & members][:2] if in_small_steps else []:
            for partner in one.partners(group)[:2]:
                changes.append(finish(one.merge(group, partner, reason)))
        changes.append(one.collapse(reason))
    return changes


def _together(exposed: Exposed, proved: bool, onlookers: Sequence[Onlooker]) -> str:
    if exposed.earlier and proved:
        return earlier_words(exposed, next(one.past.axis for one in onlookers if one.past is not None))
    cell = ", ".join(f"{axis} {value}" for axis, value in exposed.cell.items())
    would = "would disclose the answers of" if proved else "could not be proved safe for"
    return f"the tables together {would} the {exposed.people} people with {cell}"


def _refusal(table: Table, what: str, one: Exposed, proved: bool) -> Refusal:
    if one.earlier:
        what += f", together with the release of {one.earlier},"
    return Refusal(what, one.cell, table.schema.options[one.option], one.people, one.lower, one.upper, proved)


def _irregular(table: Table, plain: Sequence[Split], limits: Limits) -> tuple[tuple[Decision, ...], int]:
    """Categories outside the target before anything is done, and how many people are in one of them (Thm. 7)."""
    found = []
    inside = []
    for one in plain:
        bad = irregular(one, limits)
        inside.append(bad)
        for group, is_bad in zip(one.groups, bad, strict=True):
            if is_bad and (size := one.size(group)):
                reason = TOO_SMALL if size < limits.kappa else "a share outside the target"
                found.append(Decision(one.axis.name, group, size, Action.SUPPRESSED, reason))
    if not table.knows_composition:
        by_axis = [sum(d.people for d in found if d.axis == one.axis.name) for one in plain]
        return tuple(found), max(by_axis, default=0)
    roll = table.people(table.schema.names)
    exposed = np.zeros(len(roll.codes), dtype=bool)
    for a, bad in enumerate(inside):
        exposed |= bad[roll.codes[:, a]]
    return tuple(found), int(roll.counts[exposed].sum())


def _decisions(one: Split, flagged: Action, budget: NoiseBudget | None) -> list[Decision]:
    decisions = []
    epsilon = budget.epsilon if budget else None
    for group in one.groups:
        reason = one.reasons.get(group, "")
        if not one.is_published:
            action, reason = Action.SUPPRESSED, reason or "the axis has one category only"
        elif group in one.flagged:
            action = flagged
        elif len(group) > 1:
            action = Action.MERGED
        else:
            action, reason = Action.EXACT, "large enough, share within the target"
        decisions.append(
            Decision(
                one.axis.name, group, one.size(group), action, reason, epsilon if action is Action.NOISED else None
            )
        )
    return decisions
