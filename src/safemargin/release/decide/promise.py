"""What is promised about noise: its epsilons, whom they cover, and what they leave out."""

import hashlib
from collections.abc import Sequence

from safemargin.core import Guarantee, Invariant, Nested, Population, Table, Target, label, named
from safemargin.guarantees.noise import NoiseBudget, noise_budget, one_count_suffices, partnered
from safemargin.release.decide.candidate import Candidate
from safemargin.release.decide.split import Split

LONGEST = 120
"""Letters of a list of groups that is written out; a digest stands for a longer one."""


def population(table: Table) -> int:
    """Everybody on the roll."""
    return int(table.people(()).counts.sum()) if table.roll else int(table.totals.sum())


def covers_everybody(table: Table) -> bool:
    """Whether the options cover everybody on the roll."""
    return int(table.totals.sum()) == population(table)


def budget_of(table: Table, candidate: Candidate, target: Target, choice: float) -> NoiseBudget | None:
    """What the noise of a release costs; nothing if there is none."""
    noised = sum(1 for one in candidate.splits if one.flagged)
    return noise_budget(table.schema, noised, covers_everybody(table), target, choice) if noised else None


def promise(
    table: Table, candidate: Candidate, sized: Sequence[Split], budget: NoiseBudget, remembers: bool
) -> Guarantee:
    """The promise about the noise of a release. `sized` are the axes as the roll alone would part them.

    The law of the choice covers releases in which no axis is parted otherwise: what is merged further, or left out,
    follows from answers by a path that no epsilon covers, and everybody sees that it happened.
    """
    noised = [one for one in candidate.splits if one.flagged]
    counts = "one count" if one_count_suffices(table.schema, covers_everybody(table)) else "every option's count"
    changed = [
        one.axis.name
        for one, before in zip(candidate.splits, sized, strict=True)
        if set(one.groups) != set(before.groups)
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
        words.append(_whom(table, candidate, noised))
    invariants = (named("tier 0"), *(_exact(one) for one in candidate.splits if one.is_published))
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


def _whom(table: Table, candidate: Candidate, noised: Sequence[Split]) -> str:
    groups = {one.axis.name: one.groups for one in candidate.splits if one.is_published}
    hidden = {one.axis.name: one.flagged for one in noised}
    covered = partnered(table, groups, hidden)
    inside = partnered(table, groups, hidden, least=1)
    if covered == inside:
        return f"Each of the {inside} people in noised groups has somebody to exchange with so."
    return (
        f"Of {inside} people in noised groups, {inside - covered} have nobody to exchange with so: "
        "it promises them nothing."
    )
