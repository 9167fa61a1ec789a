"""The schedule for one axis: merge what is small, then what voted nearly alike, or flag it for noise or withholding."""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds.certify import Exposed
from safemargin.bounds.differences import Parts, differences
from safemargin.bounds.rule import hull, suspects
from safemargin.decide.split import Split, irregular
from safemargin.model.past import Past
from safemargin.model.published import JOINER, Group, label
from safemargin.model.target import Limits, Target

SMALL = "fewer than {kappa} people"
ALIKE = "a share outside the target"
COVER = "covers a group whose count would follow by subtraction"
RULE = "the rule itself would tell which group it was"
MOST_PARTNERS = 8
"""Groups that a merge is tried with before the best of them is taken."""


def by_size(one: Split, kappa: int) -> Split:
    """Merge until every group has `kappa` people; looks at the roll only, so it gives nothing away."""
    while one.is_published:
        small = [group for group in one.groups if one.size(group) < kappa]
        if not small:
            return one
        group = min(small, key=lambda each: (one.size(each), label(each, one.axis.categories)))
        one = one.merge(group, one.partners(group)[0], SMALL.format(kappa=kappa))
    return one


def by_rate(one: Split, limits: Limits) -> Split:
    """Merge groups whose share is outside the limits until every group is regular."""
    while one.is_published:
        bad = [group for group, is_bad in zip(one.groups, irregular(one, limits), strict=True) if is_bad]
        if not bad:
            return one
        group = min(bad, key=lambda each: (one.size(each), label(each, one.axis.categories)))
        one = one.merge(group, best_partner(one, group, limits), ALIKE)
    return one


def best_partner(one: Split, group: Group, limits: Limits) -> Group:
    """The smallest partner that makes the merged group regular; failing that, the one that brings it closest."""
    partners = one.partners(group)
    for partner in partners:
        if one.merge(group, partner, "").regular(group | partner, limits):
            return partner
    return max(partners, key=one.size) if one.axis.parents else partners[0]


def flag(one: Split, target: Target, limits: Limits, word: str) -> Split:
    """Mark irregular groups to be noised or withheld, with as many others as it takes to hide them.

    The groups of an axis add up to the exact total, so a single protected one would follow by subtraction.
    """
    bad = frozenset(group for group, is_bad in zip(one.groups, irregular(one, limits), strict=True) if is_bad)
    if not bad:
        return one
    one = one.flag(bad, f"{ALIKE}; {word}")
    rest = sorted(set(one.groups) - bad, key=lambda each: (one.size(each), label(each, one.axis.categories)))
    while recoverable(one, limits):
        if not rest:
            return one.collapse(f"{ALIKE}, and no other group covers it")
        one = one.flag(frozenset([rest.pop(0)]), f"{COVER}; {word}")
    return one


def recoverable(one: Split, limits: Limits) -> bool:
    """Whether some flagged group is given away by subtracting what is exact from the total, rule known."""
    flagged = sorted(one.flagged, key=lambda each: label(each, one.axis.categories))
    if not flagged:
        return False
    if len(flagged) == 1:
        return True
    people = np.array([one.size(group) for group in flagged])
    sums = sum(one.counts(group) for group in flagged)
    lower, upper = hull(people, np.asarray(sums), limits)
    return bool((limits.verdicts(lower, upper, people) == 2).any())


def rule_leaks(one: Split, limits: Limits) -> Group | None:
    """A merged group that an onlooker who knows the rule can see through."""
    sizes = dict(zip(one.axis.categories, one.people.tolist(), strict=True))
    for group in one.groups:
        parts = suspects(group, sizes, limits.kappa) if len(group) > 1 else []
        if parts:
            people = np.array([size for _, size in parts])
            lower, upper = hull(people, one.counts(group), limits)
            if (limits.verdicts(lower, upper, people) == 2).any():
                return group
    return None


def by_rule(one: Split, limits: Limits) -> Split:
    """Merge further until knowing the rule does not help."""
    while one.is_published and (group := rule_leaks(one, limits)) is not None:
        one = by_rate(one.merge(group, one.partners(group)[0], RULE), limits)
    return one


def by_difference(one: Split, pasts: Sequence[Past], options: Sequence[str], limits: Limits, slack: int) -> Split:
    """Merge until no group, less its count in an earlier release, gives away those who came or went since."""
    for past in pasts:
        while one.is_published:
            exposed = _by_subtraction(one, past, options, limits, slack)
            if not exposed:
                break
            worst = max(exposed, key=lambda each: (each.people, str(each.cell)))
            union = frozenset(worst.cell[one.axis.name].split(JOINER))
            group = min((each for each in one.groups if each & union), key=one.size)
            partners = [each for each in one.partners(group) if not each & union] or one.partners(group)
            trials = [one.merge(group, each, earlier_words(worst, past.axis)) for each in partners[:MOST_PARTNERS]]
            one = min(trials, key=lambda trial: _people(_by_subtraction(trial, past, options, limits, slack)))
    return one


def _by_subtraction(one: Split, past: Past, options: Sequence[str], limits: Limits, slack: int) -> list[Exposed]:
    parts: Parts = [(group, one.counts(group)) for group in one.groups]
    return differences(one.axis.name, parts, options, past, limits, slack)[0] if one.is_published else []


def _people(exposed: Sequence[Exposed]) -> int:
    return sum({str(each.cell): each.people for each in exposed}.values())


def earlier_words(exposed: Exposed, history: str) -> str:
    """Why a count is not published once earlier releases are remembered."""
    cell = ", ".join(f"{axis} {value}" for axis, value in exposed.cell.items() if axis != history)
    who = f" who {exposed.cell[history]}" if history in exposed.cell else ""
    return (
        f"together with the release of {exposed.earlier} it would give away the {exposed.people} "
        f"{'person' if exposed.people == 1 else 'people'}{who}{f' with {cell}' if cell else ''}"
    )
