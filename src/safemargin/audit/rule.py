"""The rule itself: what it means that just these groups were merged, noised or suppressed."""

from collections.abc import Set

import numpy as np

from safemargin.audit.findings import Attempt, Finding
from safemargin.audit.situation import Situation
from safemargin.bounds.rule import hull, suspects
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
    people_exposed = sum({str(f.cell): f.people or 0 for f in findings}.values())
    summary = (
        f"{len(findings)} counts follow from the rule" if findings else f"the rule tells nothing about {looked} groups"
    )
    return Attempt("rule", summary, looked, tuple(findings), people_exposed)


Suspects = tuple[list[str], np.ndarray, np.ndarray]
"""Labels of groups of which at least one voted outside the limits, their sizes, and their summed counts."""


def _suspects(situation: Situation, table: PublishedTable) -> list[Suspects]:
    sizes = category_sizes(situation, table.axes[0])
    if sizes is None:
        return []
    found: list[Suspects] = []
    for code, group in enumerate(table.groups[0]):
        rows = np.flatnonzero(table.codes[:, 0] == code)
        if len(group) < 2 or "merged" not in (table.status[row] for row in rows):
            continue
        parts = suspects(group, sizes, situation.limits.kappa)
        if parts:
            names = [label(part) for part, _ in parts]
            found.append((names, np.array([size for _, size in parts]), _counts(table, rows)))
    promise = promise_of(situation.release)
    drawn = promise is not None and promise.choice is not None  # then any count could have led to it
    return found + hidden_groups(situation, table, sizes, {"suppressed"} if drawn else {"noised", "suppressed"})


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
    lower, upper = hull(people, sums, situation.limits)
    verdicts = situation.limits.verdicts(lower, upper, people)
    findings = []
    for row, option in np.argwhere(verdicts == 2).tolist():
        low, high, size = int(lower[row, option]), int(upper[row, option]), int(people[row])
        words = f"that the rule protected it leaves {low} to {high} of {size} people"
        cell = {table.axes[0]: names[row]}
        findings.append(Finding("rule", cell, table.options[option], size, low, high, words))
    return findings


def _counts(table: PublishedTable, rows: np.ndarray) -> np.ndarray:
    counts = np.zeros(len(table.options), dtype=np.int64)
    counts[table.option[rows]] = table.lower[rows]
    return counts


def promise_of(release: Publication) -> Guarantee | None:
    """What a release promises about its noise."""
    return next((each for each in release.guarantees if each.count is not None), None)


def category_sizes(situation: Situation, axis: str) -> dict[str, int] | None:
    """People per category of an axis, if a roll tells them."""
    for roll in situation.onlooker.roll:
        if roll.is_exact and axis in roll.axes:
            column = roll.axes.index(axis)
            sums = np.bincount(roll.codes[:, column], roll.lower, minlength=len(roll.groups[column]))
            if all(len(group) == 1 for group in roll.groups[column]):
                return {next(iter(group)): int(sums[g]) for g, group in enumerate(roll.groups[column])}
    return None
