"""Is anybody exposed once a release is read together with all earlier ones?

All cycles are one larger population, in which somebody is there in some of them. If those who stayed kept their
answers, every table of every cycle is a sum over that population, and the certificate is the usual one.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from safemargin.bounds.bound import bound
from safemargin.bounds.certify import Proof, certify
from safemargin.bounds.differences import given_away
from safemargin.bounds.linear import Program
from safemargin.bounds.propagate import propagate
from safemargin.bounds.system import System, system
from safemargin.core import (
    BoolArray,
    ContradictionError,
    Larger,
    Limits,
    Onlooker,
    Past,
    Progress,
    PublishedTable,
    no_progress,
)

MOST_TOGETHER = 12_000
"""Unknown counts of all cycles up to which combinations of groups are cleared; beyond it, only looked at closely enough
to see what is plainly exposed.
"""

DIFFERENCES, TOGETHER = "differences with earlier releases", "cells with earlier releases"


def certify_with_earlier(
    tables: Sequence[PublishedTable],
    past: Past,
    limits: Limits,
    slack: int = 0,
    quick: bool = False,
    progress: Progress = no_progress,
) -> Proof:
    """Decide whether `tables` and the earlier releases together give anybody away."""
    slack = max(slack, past.slack)
    exposed, looked = given_away(tables, past, limits, slack)
    checked = {DIFFERENCES: looked}
    if exposed or past.larger is None:
        return Proof(tuple(exposed), checked)
    proof = _together(tables, past, past.larger, limits, slack, quick, progress)
    if proof is None:
        return Proof((), checked)
    cycles = " and ".join(each.cycle for each in past.earlier)
    return replace(
        proof,
        exposed=tuple(replace(one, earlier=cycles) for one in proof.exposed),
        doubtful=tuple(replace(one, earlier=cycles) for one in proof.doubtful),
        checked=checked | {TOGETHER: sum(v for name, v in proof.checked.items() if "cells" in name)},
        tables=(),
    )


def _together(
    tables: Sequence[PublishedTable],
    past: Past,
    larger: Larger,
    limits: Limits,
    slack: int,
    quick: bool,
    progress: Progress,
) -> Proof | None:
    """The certificate of the larger population; none if it is too large, or somebody must have changed their answer."""
    placed = [larger.placed(table) for table in tables]
    onlooker = Onlooker(roll=(larger.roll,), facts=larger.facts)
    try:
        known = system(placed, onlooker, slack, check=False)
        told = _told(placed, larger, known, limits, slack)
        if known.size > MOST_TOGETHER:
            proof = certify(known, limits, quick=True, told=told)
            return proof if quick else replace(proof, undecided=0) if proof.exposed else None
        if not quick:
            _check_possible(known)
        return certify(known, limits, progress, quick, told=told)
    except ContradictionError:
        return None


def _check_possible(known: System) -> None:
    """Raise if no table, with fractions of people allowed, satisfies all facts."""
    low, high = propagate(known)
    Program(known, low, high).maximise(np.zeros(known.size))


def _told(
    placed: Sequence[PublishedTable], larger: Larger, known: System, limits: Limits, slack: int
) -> list[tuple[BoolArray, BoolArray]]:
    """Who is given away by the totals of all cycles alone, without lying outside the limits: people of one history."""
    axis = larger.roll.axes[-1]
    totals = [table for table in (*placed, *larger.facts) if table.axes == (axis,)]
    if not totals:
        return []
    exposure = bound(totals, Onlooker(roll=(larger.only_history(),)), slack=slack)
    assert exposure.people is not None
    least, most = limits.least(exposure.people), limits.most(exposure.people)
    narrow = limits.verdicts(exposure.lower, exposure.upper, exposure.people) == 2
    inside = (exposure.upper >= least) & (exposure.lower <= most)
    at = known.axes.index(axis)
    history = np.array(known.categories[at])[known.codes[:, at]]
    found = []
    for row in np.flatnonzero((narrow & inside).any(axis=1)).tolist():
        members = history == exposure.cells.cell(row)[axis]
        found.append((members, (narrow & inside)[row]))
    return found
