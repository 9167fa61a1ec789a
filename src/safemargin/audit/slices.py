"""One slice is enough (mode M0): a published group in which everybody answered alike."""

import numpy as np

from safemargin.audit.findings import Attempt, Finding
from safemargin.audit.situation import Situation
from safemargin.core import PublishedTable


def slices(situation: Situation) -> Attempt:
    """Look at every published group by itself: is one answer that of all, or all but tau, of its people?"""
    findings: list[Finding] = []
    looked = people = 0
    for table in situation.release.tables:
        if table.axes:
            found, groups, exposed = _attack(situation, table)
            findings += found
            looked += groups
            people += exposed
    summary = (
        f"{len(findings):,} of {looked:,} non-empty groups are unanimous: "
        f"how {people:,} people answered can be read off the tables"
        if findings
        else f"none of {looked:,} non-empty groups is unanimous"
    )
    return Attempt("slices", summary, looked, tuple(findings), people)


def _attack(situation: Situation, table: PublishedTable) -> tuple[list[Finding], int, int]:
    exact = table.lower == table.upper
    keys, group_of = np.unique(table.codes, axis=0, return_inverse=True)
    group_of = group_of.ravel()
    listed = np.bincount(group_of, minlength=len(keys))
    whole = np.bincount(group_of, exact, minlength=len(keys)) == listed
    sizes = situation.sizes(table)
    answered = np.bincount(group_of, table.lower, minlength=len(keys)).astype(np.int64)
    if sizes is not None:
        people = np.array([sizes.get(tuple(key), 0) for key in keys.tolist()], dtype=np.int64)
    elif table.options:
        people = answered
    else:
        return [], 0, 0
    # a group in which only one option could be chosen tells nothing, unless the roll says who did not choose it
    contested = whole & (people > 0) & ((listed > 1) | (sizes is not None))
    tolerance = situation.limits.tolerance(people)
    findings = _findings(situation, table, group_of, contested, people, tolerance)
    exposed = {str(f.cell): f.people or 0 for f in findings}
    return findings, int(contested.sum()), sum(exposed.values())


def _findings(
    situation: Situation,
    table: PublishedTable,
    group_of: np.ndarray,
    contested: np.ndarray,
    people: np.ndarray,
    tolerance: np.ndarray,
) -> list[Finding]:
    size, slack = people[group_of], tolerance[group_of]
    everybody = contested[group_of] & (table.lower >= size - slack)
    nobody = contested[group_of] & (table.upper <= slack) & (len(table.options) < 2)
    alike = (table.lower == size) | (table.upper == 0)
    for place, name in enumerate(table.options or ("",)):  # all but tau of many people may be within the limits
        mine = table.option == place if table.options else np.ones(len(size), dtype=bool)
        alike |= mine & (situation.verdicts(name, table.lower, table.upper, size) != 0)
    findings = []
    for row in np.flatnonzero((everybody | nobody) & alike).tolist():
        option = table.options[table.option[row]] if table.option[row] >= 0 else None
        count, size_here = int(table.lower[row]), int(size[row])
        answer = repr(option) if option else "the counted answer"
        words = f"{count} of {size_here} gave {answer}"
        findings.append(Finding("slices", table.cell(row), option, size_here, count, count, words))
    return findings
