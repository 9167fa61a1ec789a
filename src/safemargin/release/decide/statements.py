"""What is stated about a release: the certificate, and the guarantee of its noise with whom that covers."""

import hashlib
from collections.abc import Sequence

from safemargin.bounds.certify import TOGETHER
from safemargin.bounds.exposure import Proof
from safemargin.core import Guarantee, Invariant, Nested, Onlooker, Population, Table, Target, label, named
from safemargin.guarantees.noise import NoiseBudget, noise_budget, one_count_suffices, partnered
from safemargin.release.decide.split import Split, covers_everybody, population
from safemargin.release.plan import Certificate

LONGEST = 120
"""Letters of a list of groups that is written out; a digest stands for a longer one."""


def budget_of(table: Table, splits: Sequence[Split], target: Target, choice: float) -> NoiseBudget | None:
    """What the noise of a release costs; nothing if there is none."""
    noised = sum(1 for one in splits if one.flagged)
    return noise_budget(table.schema, noised, covers_everybody(table), target, choice) if noised else None


def noise_guarantee(
    table: Table, splits: Sequence[Split], sized: Sequence[Split], budget: NoiseBudget, remembers: bool
) -> Guarantee:
    """The guarantee of the noise of a release. `sized` are the axes as the roll alone would part them.

    The law of the choice covers releases in which no axis is parted otherwise: what is merged further, or left out,
    follows from answers by a path that no epsilon covers, and everybody sees that it happened.
    """
    noised = [one for one in splits if one.flagged]
    counts = "one count" if one_count_suffices(table.schema, covers_everybody(table)) else "every option's count"
    changed = [
        one.axis.name for one, before in zip(splits, sized, strict=True) if set(one.groups) != set(before.groups)
    ]
    words = [
        f"Two-sided geometric noise with epsilon {budget.epsilon:g} on {counts} of each noised group of "
        f"{', '.join(one.axis.name for one in noised)}. Which groups are noised is drawn, with epsilon "
        f"{budget.choice:g} per group.",
        f"Exchanging the answers of two people changes the odds of what is published, this choice included, by at "
        f"most e^{budget.loss:g}, for exchanges that leave every exact count as it is.",
    ]
    if changed:
        words.append(f"That {' and '.join(changed)} is merged further or left out follows from answers.")
    if remembers:
        words.append("So does what is merged for the sake of earlier releases.")
    if changed or remembers:
        words.append("No epsilon covers that.")
    if table.knows_composition:
        words.append(_whom(table, splits, noised))
    invariants = (named("tier 0"), *(_exact(one) for one in splits if one.is_published))
    return Guarantee(
        "two-sided geometric",
        " ".join(words),
        budget.loss,
        invariants,
        Population(f"answers of the {population(table):,} people on the roll", nested=(Nested("answer", "person"),)),
        rule="noise of the sensitivity of an exchange",
        remarks=("Which groups are exact is drawn: the invariants are those of this run, and of no other.",),
        count=budget.epsilon,
        choice=budget.choice,
    )


def _exact(one: Split) -> Invariant:
    """The groups of an axis whose counts are printed as they are: releases that print others fix something else."""
    labels = [label(group, one.axis.categories) for group in one.groups if group not in one.flagged]
    words = "; ".join(sorted(labels))
    if len(words) > LONGEST:
        words = f"{len(labels)} groups, {hashlib.sha256(words.encode()).hexdigest()[:12]}"
    return named(f"every exact and merged count of {one.axis.name} ({words or 'none'})")


def _whom(table: Table, splits: Sequence[Split], noised: Sequence[Split]) -> str:
    groups = {one.axis.name: one.groups for one in splits if one.is_published}
    hidden = {one.axis.name: one.flagged for one in noised}
    covered = partnered(table, groups, hidden)
    inside = partnered(table, groups, hidden, least=1)
    if covered == inside:
        return f"Each of the {inside} people in noised groups has somebody to exchange with so."
    return (
        f"Of {inside} people in noised groups, {inside - covered} have nobody to exchange with so: "
        "it promises them nothing."
    )


def certificate_of(table: Table, proof: Proof, target: Target, onlookers: Sequence[Onlooker]) -> Certificate:
    """What a proof says about a release, in words."""
    names = f"the onlooker{'s' if len(onlookers) > 1 else ''} {', '.join(repr(one.name) for one in onlookers)}"
    who = "who know" if len(onlookers) > 1 else "who knows"
    compositions = {onlooker.composition(table.schema.names) for onlooker in onlookers}
    joint = "joint" in compositions
    knows = "the joint composition of the population" if joint else "no composition of the population"
    if not joint and "sizes" in compositions:
        knows = "group sizes only"
    limit = f"outside [{target.beta:g}, {1 - target.beta:g}]"
    if len(table.schema.options) > 2:
        limit += " (rarer options: half their overall share)"
    cycles = dict.fromkeys(each.cycle for one in onlookers if one.past is not None for each in one.past.earlier)
    if cycles:
        knows += f", and remember{'s' if len(onlookers) == 1 else ''} the release of {' and '.join(cycles)}"
        knows += f" and believe{'s' if len(onlookers) == 1 else ''} that nobody who stayed changed their answer"
    if proof.holds:
        words = (
            f"Against {names}, {who} {knows}: nothing published forces the share of any option in any checked cell "
            f"{limit}, or tells its count to within {target.tau}."
            f"{' What the totals of all cycles tell by themselves is left aside.' if cycles else ''}"
        )
    else:
        words = f"Not certified against {names}, {who} {knows}: no release that was tried keeps every share inside."
    proved = "integer" if proof.linear == 0 else "linear"
    method = "integer witness tables" if joint else "closed form for slices"
    if cycles and proof.holds and TOGETHER not in proof.checked:
        method += "; earlier releases group by group only"
    if proof.linear:
        method += f"; {proof.linear} cells by a real-valued witness only"
    return Certificate(proof.holds, words, proved, method, proof.checked, linear=proof.linear)
