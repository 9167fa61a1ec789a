"""The rule itself: what it means that just these groups were merged, noised or suppressed.

The minimality attack (Wong, Fu, Wang and Pei 2007): a rule that protects no more than it must discloses why it did.
"""

from collections.abc import Set

import numpy as np

from safemargin.audit.situation import Attempt, Finding, Situation, people_in
from safemargin.bounds import hull, suspects
from safemargin.core import Group, Guarantee, Publication, PublishedTable, label


def rule(situation: Situation) -> Attempt:
    """Bound every possibility that could have made the rule protect a group, and take the hull."""
    if not situation.onlooker.knows_rule or not situation.release.rule:
        return Attempt("rule", "the onlooker does not know the rule", 0)
    findings: list[Finding] = []
    looked = 0
    for table in situation.release.tables:
        if len(table.axes) == 1 and table.options:
            for suspected in _suspects(situation, table):
                looked += len(suspected[0])
                findings += _attack(situation, table, suspected)
    nothing = f"the rule discloses nothing about {looked} groups"
    summary = f"{len(findings)} counts follow from the rule" if findings else nothing
    return Attempt("rule", summary, looked, tuple(findings), people_in(findings))


Suspects = tuple[list[str], np.ndarray, np.ndarray]
"""Labels of groups of which at least one voted outside the limits, their sizes, and their summed counts."""


def _suspects(situation: Situation, table: PublishedTable) -> list[Suspects]:
    sizes = situation.category_sizes(table.axes[0])
    if sizes is None:
        return []
    suspected: list[Suspects] = []
    for code, group in enumerate(table.groups[0]):
        rows = np.flatnonzero(table.codes[:, 0] == code)
        if len(group) < 2 or "merged" not in (table.status[row] for row in rows):
            continue
        parts = suspects(group, sizes, situation.limits.kappa)
        if parts:
            names = [label(part) for part, _ in parts]
            suspected.append((names, np.array([size for _, size in parts]), _counts(table, rows)))
    noise = noise_guarantee(situation.release)
    drawn = noise is not None and noise.choice is not None  # then any count could have led to it
    named = {category for axis, category in situation.release.target.sensitive if axis == table.axes[0]}
    if any(group & named for group in table.groups[0]):
        return suspected  # suppressed whatever their answers are, so that it says nothing about these
    return suspected + hidden_groups(situation, table, sizes, {"suppressed"} if drawn else {"noised", "suppressed"})


def hidden_groups(
    situation: Situation, table: PublishedTable, sizes: dict[str, int], statuses: Set[str]
) -> list[Suspects]:
    """Groups with these statuses: their sum is what the exact ones leave of the total."""
    totals = situation.totals()
    hidden = [
        code
        for code in range(len(table.groups[0]))
        if {table.status[row] for row in np.flatnonzero(table.codes[:, 0] == code)} & statuses
    ]
    if not hidden or any(name not in totals for name in table.options):
        return []
    shown = ~np.isin(table.codes[:, 0], hidden)
    published = np.array([table.lower[shown & (table.option == o)].sum() for o in range(len(table.options))])
    sums = np.array([totals[name] for name in table.options]) - published
    groups: list[Group] = [table.groups[0][code] for code in hidden]
    people = np.array([sum(sizes.get(name, 0) for name in group) for group in groups])
    return [([label(group) for group in groups], people, sums)]


def _attack(situation: Situation, table: PublishedTable, suspected: Suspects) -> list[Finding]:
    names, people, sums = suspected
    lower, upper = hull(people, sums, situation.limits.strict)
    verdicts = situation.limits.verdicts(lower, upper, people)[:, : len(sums)]
    findings = []
    for row, option in np.argwhere(verdicts == 2).tolist():
        low, high, size = int(lower[row, option]), int(upper[row, option]), int(people[row])
        text = f"that the rule protected it leaves {low} to {high} of {size} people"
        cell = {table.axes[0]: names[row]}
        findings.append(Finding("rule", cell, table.options[option], size, low, high, text))
    return findings


def _counts(table: PublishedTable, rows: np.ndarray) -> np.ndarray:
    counts = np.zeros(len(table.options), dtype=np.int64)
    counts[table.option[rows]] = table.lower[rows]
    return counts


def noise_guarantee(release: Publication) -> Guarantee | None:
    """What a release guarantees about its noise; of several axes, about the least noise."""
    noised = [guarantee for guarantee in release.guarantees if guarantee.count is not None]
    return max(noised, key=lambda guarantee: guarantee.count or 0.0, default=None)
