"""What is stated about a release: the certificate, and the guarantee of its noise with whom that covers.

Nothing is decided here. Statements follow from a proof and a plan, and never say more than these: a certificate that
does not hold says so, cells that fractional tables alone clear are counted, and a guarantee names the exchanges that it
covers and the people whom it does not. `budget_of` splits `epsilon_max` into noise and choice (`guarantees.noise`).

Objects
    certificate what a proof says: certified or not, by integer or fractional tables, with earlier releases held
                jointly or group by group, and whether for somebody who knows the rule (`rerun`, `not shown`)
    guarantee   of noise: epsilon for two people who exchange answers without changing an exact count
    invariants  the exact counts, which name the exchanges that a guarantee covers
    refusal     an exposed cell as the reason why something is not published

Invariants
    * The certificate against an onlooker with the rule needs witnesses: without any it says "not shown".
    * Numbers of people whom noise covers follow from the roll and are notes for the office (`noise_notes`).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from safemargin.bounds import TOGETHER, Exposed, Proof
from safemargin.core import Guarantee, Invariant, Nested, Onlooker, Population, Table, Target, label, named
from safemargin.guarantees import NoiseBudget, exchange_sensitivity, noise_budget, one_count_suffices, partnered
from safemargin.release.plan import Certificate, Refusal
from safemargin.release.rule.split import AxisPartition, covers_everybody, population

ALONE = "It guarantees nothing to somebody who has nobody to exchange with so."

FAILED = "from every release that was tried, or the opposite could not be proved."

LONGEST = 120
"""Letters of a list of groups that is written out; a digest stands for a longer one."""


def budget_of(table: Table, splits: Sequence[AxisPartition], target: Target, choice: float) -> NoiseBudget | None:
    """What the noise of a release costs; nothing if there is none."""
    noised = sum(1 for split in splits if split.flagged)
    return noise_budget(table.schema, noised, covers_everybody(table), target, choice) if noised else None


def noise_guarantee(
    table: Table, splits: Sequence[AxisPartition], sized: Sequence[AxisPartition], budget: NoiseBudget, remembers: bool
) -> Guarantee:
    """The guarantee of the noise of a release. `sized` are the axes as the roll alone would part them.

    The law of the choice covers releases in which no axis is parted otherwise: what is merged further, or omitted,
    follows from answers by a path that no epsilon covers, and everybody sees that it happened.
    """
    noised = [split for split in splits if split.flagged]
    counts = "one count" if one_count_suffices(table.schema, covers_everybody(table)) else "every option's count"
    changed = [
        split.axis.name for split, before in zip(splits, sized, strict=True) if set(split.groups) != set(before.groups)
    ]
    sentences = [
        f"Two-sided geometric noise with epsilon {budget.epsilon:g} on {counts} of each noised group of "
        f"{', '.join(split.axis.name for split in noised)}. Which groups are noised is drawn, with epsilon "
        f"{budget.choice:g} per group.",
        f"Exchanging the answers of two people changes the odds of what is published, this choice included, by at "
        f"most e^{budget.loss:g}, for exchanges that leave every exact count as it is.",
    ]
    if changed:
        sentences.append(f"That {' and '.join(changed)} is merged further or omitted follows from answers.")
    if remembers:
        sentences.append("So does what is merged for the sake of earlier releases.")
    if changed or remembers:
        sentences.append("No epsilon covers that.")
    sentences.append(ALONE)
    invariants = (named("total"), *(_exact(split) for split in splits if split.is_published))
    return Guarantee(
        "two-sided geometric",
        " ".join(sentences),
        budget.loss,
        invariants,
        Population(f"answers of the {population(table):,} people on the roll", nested=(Nested("answer", "person"),)),
        rule="noise of the sensitivity of an exchange",
        remarks=("Which groups are exact is drawn: the invariants are those of this run, and of no other.",),
        count=budget.epsilon,
        choice=budget.choice,
    )


def axis_guarantee(table: Table, splits: Sequence[AxisPartition], split: AxisPartition) -> Guarantee:
    """The guarantee of an axis of which every count is noised, whatever the answers are."""
    assert split.axis.epsilon is not None
    everybody = covers_everybody(table)
    count = split.axis.epsilon / exchange_sensitivity(table.schema, everybody)
    counts = "one count" if one_count_suffices(table.schema, everybody) else "every option's count"
    sentences = [
        f"Two-sided geometric noise with epsilon {count:g} on {counts} of every group of {split.axis.name}, whatever "
        "the answers are.",
        f"Exchanging the answers of two people changes the odds of what is published of this axis by at most "
        f"e^{split.axis.epsilon:g}, for exchanges that leave every exact count as it is.",
    ]
    sentences.append(ALONE)
    exact = (_exact(other) for other in splits if other.is_published and not other.is_noised)
    return Guarantee(
        "two-sided geometric",
        " ".join(sentences),
        split.axis.epsilon,
        (named("total"), *exact),
        Population(f"answers of the {population(table):,} people on the roll", nested=(Nested("answer", "person"),)),
        rule="noise of the sensitivity of an exchange",
        count=count,
        choice=0.0,  # that the axis is noised follows from the project, not from answers
    )


def _exact(split: AxisPartition) -> Invariant:
    """The groups of an axis whose counts are printed as they are: releases that print others fix something else."""
    labels = [label(group, split.axis.categories) for group in split.groups if group not in split.flagged]
    listed = "; ".join(sorted(labels))
    # The name identifies the invariant when guarantees are compared, so a long list is hashed, not cut.
    if len(listed) > LONGEST:
        listed = f"{len(labels)} groups, {hashlib.sha256(listed.encode()).hexdigest()[:12]}"
    return named(f"every exact and merged count of {split.axis.name} ({listed or 'none'})")


def noise_notes(table: Table, splits: Sequence[AxisPartition]) -> list[str]:
    """Whom the guarantee of the noise covers, in numbers: they follow from the roll, so they are not published."""
    hidden = {split.axis.name: split.flagged for split in splits if split.flagged}
    if not hidden or not table.knows_composition:
        return []
    groups = {split.axis.name: split.groups for split in splits if split.is_published}
    covered, inside = partnered(table, groups, hidden), partnered(table, groups, hidden, least=1)
    if covered == inside:
        return [f"Noise: each of the {inside:,} people in noised groups has somebody to exchange answers with."]
    return [
        f"Noise: of {inside:,} people in noised groups, {inside - covered:,} have nobody to exchange answers with so "
        "that no exact count changes: the noise guarantees them nothing."
    ]


def certificate_of(
    table: Table, proof: Proof, target: Target, onlookers: Sequence[Onlooker], rule: int = 0
) -> Certificate:
    """What a proof says about a release. It holds against those who know the rule if `rule` is not 0.

    `rule` is then the number of witnesses for which the program publishes the same. What holds is stated in words once
    the release is made, from the fields of its certificate (`safemargin.checker.statement`); what fails is stated here.
    Earlier releases are held "jointly" only if the proof says so by `TOGETHER`.
    """
    joint = "joint" in {onlooker.composition(table.schema.names) for onlooker in onlookers}
    earlier = "not"
    if any(onlooker.past is not None and onlooker.past.earlier for onlooker in onlookers):
        earlier = "jointly" if TOGETHER in proof.checked else "group by group"
    method = "integer witness tables" if joint else "closed form for slices"
    if earlier == "group by group" and proof.holds:
        method += "; earlier releases group by group only"
    if proof.linear:
        method += f"; {proof.linear} cells by a real-valued witness only"
    certificate = Certificate(
        proof.holds,
        "" if proof.holds else f"{_named(onlookers)} could infer a share outside the limits {FAILED}",
        "integer" if proof.linear == 0 else "linear",
        method,
        proof.checked,
        linear=proof.linear,
        earlier=earlier,
    )
    return replace(certificate, rule="rerun", witnesses=rule) if rule and proof.holds else certificate


def _named(onlookers: Sequence[Onlooker]) -> str:
    """The onlookers by name, in words."""
    return f"The onlooker{'s' if len(onlookers) > 1 else ''} {', '.join(repr(each.name) for each in onlookers)}"


def without_rule(certificate: Certificate) -> Certificate:
    """The certificate for onlookers who do not know the rule."""
    return replace(certificate, rule="not shown", witnesses=0)


def refusal_of(table: Table, what: str, exposed: Exposed, proved: bool) -> Refusal:
    """An exposed cell as the reason why something is not published."""
    if exposed.earlier:
        what += f", together with the release of {exposed.earlier},"
    option = exposed.secret or table.schema.options[exposed.option]
    return Refusal(what, exposed.cell, option, exposed.people, exposed.lower, exposed.upper, proved)
