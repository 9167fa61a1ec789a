"""The schedule for one axis: merge what is small, then what voted nearly alike, or flag it for noise or suppression."""

from safemargin.core import Limits
from safemargin.release.decide.coarsen import coarsen
from safemargin.release.decide.cover import covered
from safemargin.release.decide.lot import Reach, drawn
from safemargin.release.decide.split import Split

SMALL = "fewer than {kappa} people"
ALIKE = "a share outside the target, or at its limit"
LOT = "drawn, or beside a group that was"
COVER = "covers a group whose count would follow by subtraction"


def by_size(one: Split, kappa: int) -> Split:
    """Merge until every group has `kappa` people; looks at the roll only, so it gives nothing away."""
    if not one.is_published:
        return one
    found = coarsen(one.merging(lambda people, votes: people >= kappa))
    return one.parted(found.groups, SMALL.format(kappa=kappa))


def by_rate(one: Split, limits: Limits) -> Split:
    """Merge groups whose share is outside the limits with those that cover them, until all are regular."""
    if not one.is_published:
        return one
    parts = covered(one, limits)
    if parts is None:
        return one.collapse(f"{ALIKE}, and no merge hides it")
    return one.parted(tuple(frozenset().union(*part) for part in parts), ALIKE)


def by_lot(one: Split, limits: Limits, reach: Reach) -> Split:
    """Mark groups to be noised: those outside the limits, others near them by lot, and those of the same units."""
    chosen = frozenset(group for unit in drawn(one, limits, reach) for group in unit) if one.is_published else None
    if not chosen:
        return one
    bad = frozenset(group for group in chosen if not one.regular(group, limits))
    return one.flag(bad, "a share outside the target; noised").flag(chosen, f"{LOT}; noised")


def flag(one: Split, limits: Limits, word: str) -> Split:
    """Mark irregular groups to be suppressed, with those that cover them.

    The groups of an axis add up to the exact total, so a single protected one would follow by subtraction.
    """
    parts = covered(one, limits) if one.is_published else [one.groups]
    if parts is None:
        return one.collapse(f"{ALIKE}, and no other group covers it")
    hidden = frozenset(group for part in parts if len(part) > 1 for group in part)
    bad = frozenset(group for group in hidden if not one.regular(group, limits))
    return one.flag(bad, f"{ALIKE}; {word}").flag(hidden, f"{COVER}; {word}") if hidden else one
