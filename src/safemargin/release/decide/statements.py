"""What is stated about a release: the certificate, and the guarantee of its noise with whom that covers."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from safemargin.bounds import TOGETHER, Exposed, Proof
from safemargin.core import Guarantee, Invariant, Nested, Onlooker, Population, Table, Target, label, named
from safemargin.guarantees import NoiseBudget, exchange_sensitivity, noise_budget, one_count_suffices, partnered
from safemargin.release.decide.split import Split, covers_everybody, population
from safemargin.release.plan import RULE_NOT_SHOWN, RULE_SHOWN, Certificate, Refusal

NET = (
    " Between cycles only net changes of the roll are compared: if people of one kind came and others of it left at "
    "once, they are not covered."
)
EXPOSES = " The total alone shows how everybody voted; publishing it is the decision of the office."
NOISED = " Noised counts of large groups are close to the true ones."
ALONE = "It guarantees nothing to somebody who has nobody to exchange with so."

LONGEST = 120
"""Letters of a list of groups that is written out; a digest stands for a longer one."""


def budget_of(table: Table, splits: Sequence[Split], target: Target, choice: float) -> NoiseBudget | None:
    """What the noise of a release costs; nothing if there is none."""
    noised = sum(1 for split in splits if split.flagged)
    return noise_budget(table.schema, noised, covers_everybody(table), target, choice) if noised else None


def noise_guarantee(
    table: Table, splits: Sequence[Split], sized: Sequence[Split], budget: NoiseBudget, remembers: bool
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


def axis_guarantee(table: Table, splits: Sequence[Split], split: Split) -> Guarantee:
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


def _exact(split: Split) -> Invariant:
    """The groups of an axis whose counts are printed as they are: releases that print others fix something else."""
    labels = [label(group, split.axis.categories) for group in split.groups if group not in split.flagged]
    listed = "; ".join(sorted(labels))
    # The name identifies the invariant when guarantees are compared, so a long list is hashed, not cut.
    if len(listed) > LONGEST:
        listed = f"{len(labels)} groups, {hashlib.sha256(listed.encode()).hexdigest()[:12]}"
    return named(f"every exact and merged count of {split.axis.name} ({listed or 'none'})")


def noise_notes(table: Table, splits: Sequence[Split]) -> list[str]:
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
    table: Table, proof: Proof, target: Target, onlookers: Sequence[Onlooker], rule: int = 0, noised: bool = False
) -> Certificate:
    """What a proof says about a release, in words. It holds against those who know the rule if `rule` is not 0.

    `rule` is then the number of witnesses for which the program publishes the same.
    """
    people = population(table)
    names = (
        f"The onlooker{'s' if len(onlookers) > 1 else ''} {', '.join(repr(onlooker.name) for onlooker in onlookers)}"
    )
    who = "who know" if len(onlookers) > 1 else "who knows"
    # The statement is about all onlookers together, so it names the most that any of them knows.
    compositions = {onlooker.composition(table.schema.names) for onlooker in onlookers}
    joint = "joint" in compositions
    knows = "how many people there are of every kind" if joint else "no sizes of groups"
    if not joint and "sizes" in compositions:
        knows = "how many people each group has"
    totals = table.totals.tolist()
    inferred = secrets_words(target, table.schema.options, totals, people)
    near = "exactly"
    if target.tau:
        near = f"to an interval no wider than {target.tau} (in small groups: a quarter of their people)"
    cycles = dict.fromkeys(
        release.cycle for onlooker in onlookers if onlooker.past is not None for release in onlooker.past.earlier
    )
    if cycles:
        knows += f", and remember{'s' if len(onlookers) == 1 else ''} the release of {' and '.join(cycles)}"
        knows += (
            f" and believe{'s' if len(onlookers) == 1 else ''} of everybody, or of any published groups, that nobody"
        )
        knows += " who stayed changed their answer"
    apart = tuple(dict.fromkeys(cycle for onlooker in onlookers for cycle in onlooker.apart))
    earlier = "not" if not cycles else "jointly" if TOGETHER in proof.checked else "group by group"
    if proof.holds:
        statement = (
            f"{names}, {who} {knows}, cannot infer that {inferred.limits}. {inferred.count} can be inferred "
            f"{near} only for groups of {target.kappa:,} people or more that lie within these limits, as all published "
            "groups do."
            f"{inferred.unprotected}"
            f"{_sensitive(target)}{NOISED if noised else ''}{RULE_SHOWN if rule else RULE_NOT_SHOWN}"
            f"{' What the totals of all cycles disclose by themselves is not covered.' if cycles else ''}"
            f"{NET if any(onlooker.past is not None and onlooker.past.net for onlooker in onlookers) else ''}"
            f"{_known_before(table, proof)}{_qualified(proof, earlier, apart)}"
            f"{EXPOSES if target.total_exposes(totals, people, table.schema.options) else ''}"
        )
    else:
        statement = (
            f"{names}, {who} {knows}, could infer a share outside the limits from every release that "
            "was tried, or the opposite could not be proved."
        )
    proved = "integer" if proof.linear == 0 else "linear"
    method = "integer witness tables" if joint else "closed form for slices"
    if earlier == "group by group" and proof.holds:
        method += "; earlier releases group by group only"
    if proof.linear:
        method += f"; {proof.linear} cells by a real-valued witness only"
    certificate = Certificate(
        proof.holds, statement, proved, method, proof.checked, linear=proof.linear, earlier=earlier
    )
    return replace(certificate, rule="rerun", witnesses=rule) if rule and proof.holds else certificate


def _qualified(proof: Proof, earlier: str, apart: Sequence[str] = ()) -> str:
    """What was proved less strictly, or not looked at, in words."""
    sentences = []
    if proof.linear:
        cells = f"{proof.linear:,} cell{'s' if proof.linear > 1 else ''}"
        sentences.append(
            f" {cells} are shown to be safe by fractional tables only: whole numbers of people may disclose them."
        )
    if earlier == "group by group":
        sentences.append(" Earlier releases were compared group by group only, not all groups together.")
    if apart:
        sentences.append(
            f" People were asked again since {' and '.join(apart)}: nothing is concluded from the answers given then."
        )
    return "".join(sentences)


@dataclass(frozen=True)
class SecretsWords:
    """What a statement says about secrets: the limits, of which counts it speaks, and what is not protected."""

    limits: str
    count: str
    unprotected: str


def secrets_words(target: Target, options: Sequence[str], totals: Sequence[int], people: int) -> SecretsWords:
    """The secrets of a target in words, for an electorate with these totals."""
    columns = target.secrets.columns(options, sum(totals) == people)
    low, high = f"{100 * target.beta:g} %", f"{100 * (1 - target.beta):g} %"
    singles, sets = columns[: len(options)], columns[len(options) :]
    # As in `Target.limits`: an option that few, or nearly all, chose has limits of its own.
    fewest = [min(total, people - total) for total in totals]
    excepted = ", options that nobody or everybody chose excepted" if 0 in fewest else ""
    if all(column.has_floor and column.has_ceiling for column in singles) and not sets:
        rare = " (options that few or nearly all chose: within half of what the total leaves)"
        rare = rare if any(0 < few < 2 * target.beta * people for few in fewest) else ""
        stated = f"fewer than {low} or more than {high} of any checked group chose an option{rare}{excepted}"
        return SecretsWords(stated + _least_words(target), "A count", "")
    ceilings = [option for option, column in zip(options, singles, strict=True) if column.has_ceiling]
    large = [total for total, column in zip(totals, singles, strict=True) if column.has_ceiling]
    rare = " (an option that nearly all chose: more than half of what the total leaves)"
    rare = rare if any(0 < people - total < 2 * target.beta * people for total in large) else ""
    which = "one option" if len(ceilings) == len(options) else _or(ceilings)
    stated = f"more than {high} of any checked group chose {which}{rare}{excepted}"
    for column in sets:
        stated += f", nor that more than {high} chose {_or([options[o] for o in column.members])}"
        stated += f" or that fewer than {low} did" if column.has_floor else ""
    floors = [option for option, column in zip(options, singles, strict=True) if column.has_floor]
    if floors:
        stated += f", nor that fewer than {low} chose {_or(floors) if len(floors) < len(options) else 'an option'}"
    free = [o for o, c in zip(options, singles, strict=True) if not (c.has_floor or c.has_ceiling or c.least)]
    listed = [f"that people chose {_or(free)}"] if free else []
    if len(floors) < len(options):
        listed += [
            "that nobody chose an option",
            "that all chose among several",
            f'and small counts in groups of {target.kappa:,} people or more (secrets = "both" asks for the first)',
        ]
    unprotected = f" Not protected: {', '.join(listed)}." if listed else ""
    return SecretsWords(stated + _least_words(target), "A count above 0 of these", unprotected)


def _or(options: Sequence[str]) -> str:
    return " or ".join(map(repr, options))


def _least_words(target: Target) -> str:
    return "".join(f", nor that 1 to {least - 1} chose {option!r}" for option, least in target.secrets.least)


def without_rule(certificate: Certificate) -> Certificate:
    """The certificate for onlookers who do not know the rule."""
    statement = certificate.statement.replace(RULE_SHOWN, RULE_NOT_SHOWN)
    return replace(certificate, statement=statement, rule="not shown", witnesses=0)


def _sensitive(target: Target) -> str:
    """What holds for sensitive categories, in words."""
    named = "; ".join(" ".join(pair) for pair in target.sensitive[:10])
    more = f" and {len(target.sensitive) - 10:,} more" if len(target.sensitive) > 10 else ""
    near = f"to an interval no wider than {target.tau}" if target.tau else "exactly"
    return f" The counts of {named}{more}, which are sensitive, cannot be inferred {near}." if named else ""


def _known_before(table: Table, proof: Proof) -> str:
    """What was known without the release, in words."""
    nobody = [option for option, total in zip(table.schema.options, table.totals.tolist(), strict=True) if total == 0]
    sentences = [f" The total says that nobody chose {' or '.join(map(repr, nobody))}."] if nobody else []
    if proof.before:
        cells = len({str(exposed.cell) for exposed in proof.before})
        sentences.append(
            f" {cells:,} group{'s were' if cells > 1 else ' was'} known before, from the total, the roll and the facts "
            "that onlookers hold; the release adds nothing about them."
        )
    return "".join(sentences)


def refusal_of(table: Table, what: str, exposed: Exposed, proved: bool) -> Refusal:
    """An exposed cell as the reason why something is not published."""
    if exposed.earlier:
        what += f", together with the release of {exposed.earlier},"
    option = exposed.secret or table.schema.options[exposed.option]
    return Refusal(what, exposed.cell, option, exposed.people, exposed.lower, exposed.upper, proved)
