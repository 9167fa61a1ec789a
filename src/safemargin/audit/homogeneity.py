"""Homogeneous groups: a published group in which everybody answered alike discloses the answer of each of them.

The homogeneity attack of Machanavajjhala et al. (2007, l-diversity), on the tables as they are printed.
"""

import numpy as np

from safemargin.audit.situation import Attempt, Finding, Situation, people_in
from safemargin.core import BoolArray, IntArray, PublishedTable
from safemargin.ui import plural


def homogeneity(situation: Situation) -> Attempt:
    """Look at every published group by itself: is one answer that of all, or all but tau, of its people?"""
    findings: list[Finding] = []
    looked = exposed = people = unanimous = 0
    for table in situation.release.tables:
        if table.axes:
            disclosed, groups = _attack(situation, table)
            findings += disclosed
            looked += groups
            exposed += people_in(disclosed)
            alike = [finding for finding in disclosed if finding.lower in (0, finding.people)]
            unanimous += len(alike)
            people += people_in(alike)
    nearly = len(findings) - unanimous
    summary = _summary(looked, unanimous, people, nearly, situation.limits.tau)
    tally = {"unanimous": unanimous, "nearly_unanimous": nearly}
    return Attempt("homogeneity", summary, looked, tuple(findings), exposed, tally)


def _summary(looked: int, unanimous: int, people: int, nearly: int, tau: int) -> str:
    summary = f"none of {looked:,} non-empty groups is unanimous"
    if unanimous:
        are = "is" if unanimous == 1 else "are"
        summary = f"{unanimous:,} of {looked:,} non-empty groups {are} unanimous: "
        summary += f"how {plural(people, 'person')} answered can be read off the tables"
    few = "1 person" if tau == 1 else f"1 to {tau:,} people"
    more = f"{nearly:,} more" if unanimous else f"{nearly:,}"
    return f"{summary}; in {more}, all but {few} answered alike" if nearly else summary


def _attack(situation: Situation, table: PublishedTable) -> tuple[list[Finding], int]:
    keys, group_of = np.unique(table.codes, axis=0, return_inverse=True)
    group_of = group_of.ravel()
    whole = np.bincount(group_of, table.lower != table.upper, minlength=len(keys)) == 0
    sizes = situation.sizes(table)
    if sizes is not None:
        people = np.array([sizes.get(tuple(key), 0) for key in keys.tolist()], dtype=np.int64)
    elif table.options:
        people = np.bincount(group_of, table.lower, minlength=len(keys)).astype(np.int64)
    else:
        return [], 0
    # A group in which only one option could be chosen discloses nothing, unless the roll says who did not choose it.
    # A file that lists no zero at all omits them: then an option that a group does not list was chosen by nobody there.
    omits = len(table.options) > 1 and bool((table.upper > 0).all())
    listed = np.bincount(group_of, minlength=len(keys))
    contested = whole & (people > 0) & ((listed > 1) | omits | (sizes is not None))
    return _findings(situation, table, group_of, contested, people), int(contested.sum())


def _findings(
    situation: Situation, table: PublishedTable, group_of: IntArray, contested: BoolArray, people: IntArray
) -> list[Finding]:
    size, slack = people[group_of], situation.limits.tolerance(people)[group_of]
    everybody = contested[group_of] & (table.lower >= size - slack)
    nobody = contested[group_of] & (table.upper <= slack) & (len(table.options) < 2)
    alike = (table.lower == size) | (table.upper == 0)
    for code, name in enumerate(table.options or ("",)):  # all but tau of many people may be within the limits
        chosen = table.option == code if table.options else np.ones(len(size), dtype=bool)
        alike |= chosen & (situation.verdicts(name, table.lower, table.upper, size) != 0)
    findings = []
    for row in np.flatnonzero((everybody | nobody) & alike).tolist():
        option = table.options[table.option[row]] if table.option[row] >= 0 else None
        count, group = int(table.lower[row]), int(size[row])
        text = f"{count} of {group} gave {repr(option) if option else 'the counted answer'}"
        findings.append(Finding("homogeneity", table.cell(row), option, group, count, count, text))
    return findings
