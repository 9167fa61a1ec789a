"""The schedule for one axis: merge what is small, then what voted nearly alike, or flag it for noise or withholding."""

import numpy as np

from safemargin.bounds.rule import hull, suspects
from safemargin.decide.coarsen import Allowed, coarsen
from safemargin.decide.split import Split, irregular
from safemargin.model.published import Group, label
from safemargin.model.target import Limits, Target

SMALL = "fewer than {kappa} people"
ALIKE = "a share outside the target"
COVER = "covers a group whose count would follow by subtraction"
RULE = "the rule itself would tell which group it was"

MOST_BANNED = 8
"""Merges that tell too much, before larger ones are made at once."""


def by_size(one: Split, kappa: int) -> Split:
    """Merge until every group has `kappa` people; looks at the roll only, so it gives nothing away."""
    if not one.is_published:
        return one
    found = coarsen(one.merging(lambda people, votes: people >= kappa))
    return one.parted(found.groups, SMALL.format(kappa=kappa))


def by_rate(one: Split, limits: Limits) -> Split:
    """Merge groups whose share is outside the limits until all are regular and knowing the rule does not help."""
    banned: frozenset[Group] = frozenset()
    while one.is_published:
        found = coarsen(one.merging(regular_under(limits), banned))
        merged = one.parted(found.groups, ALIKE)
        leak = rule_leaks(merged, limits) if merged.is_published else None
        if leak is None:
            return merged
        if len(banned) >= MOST_BANNED:  # every small merge tells too much
            one = one.parted(found.groups, ALIKE)
            partners = one.partners(leak)
            return by_rate(one.merge(leak, partners[0], RULE), limits) if partners else one.collapse(RULE)
        banned |= {leak}
    return one


def regular_under(limits: Limits) -> Allowed:
    """Which groups are large enough and within the limits."""
    return lambda people, votes: np.asarray((limits.verdicts(votes, votes, people) == 0).all(axis=1))


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
