"""Small counts that are printed: nobody has to infer what a table states about one, two or three people."""

import numpy as np

from safemargin.audit.situation import Attempt, Finding, Situation, people_in
from safemargin.core import PublishedTable
from safemargin.ui import plural

SMALLEST = 3
"""The largest group that is small where nobody says otherwise; offices protect counts below 3, 4 or 5."""


def small(situation: Situation) -> Attempt:
    """Look for groups of 1 to `situation.small` people whose count, or all of whose answers, a table prints."""
    findings: list[Finding] = []
    looked = 0
    for table in situation.release.tables:
        if table.axes:
            disclosed, groups = _attack(situation, table)
            findings += disclosed
            looked += groups
    cells = plural(len(findings), "cell")
    summary = f"none of {looked:,} printed groups has 1 to {situation.small} people"
    if findings:
        summary = f"{cells} of 1 to {situation.small} people {'is' if len(findings) == 1 else 'are'} printed"
    return Attempt("small", summary, looked, tuple(findings), people_in(findings))


def _attack(situation: Situation, table: PublishedTable) -> tuple[list[Finding], int]:
    keys, group_of = np.unique(table.codes, axis=0, return_inverse=True)
    group_of = group_of.ravel()
    exact = (table.lower == table.upper) & np.isin(table.status, ("exact", "merged"))
    whole = np.bincount(group_of, ~exact, minlength=len(keys)) == 0
    people = np.bincount(group_of, table.lower, minlength=len(keys)).astype(np.int64)
    sizes = situation.sizes(table)
    if sizes is not None:  # a count of some answer is small only if the group is
        people = np.array([sizes.get(tuple(key), 0) for key in keys.tolist()], dtype=np.int64)
    first = np.full(len(keys), len(group_of))
    np.minimum.at(first, group_of, np.arange(len(group_of)))
    findings = []
    for group in np.flatnonzero(whole & (people >= 1) & (people <= situation.small)).tolist():
        count = int(people[group])
        text = f"the table prints {plural(count, 'person')}"
        findings.append(Finding("small", table.cell(int(first[group])), None, count, count, count, text))
    return findings, int((whole & (people > 0)).sum())
