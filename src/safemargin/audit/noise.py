"""Noisy counts beside the rule: if the choice of noised groups follows from answers, it sharpens the noisy counts.

The law of the noise is public, so a noisy count leaves a range that the true one is almost surely in. A rule that
noises a group because its share is outside the limits then discloses which group that was, and on which side. Where the
choice is drawn, every count could have led to it, and the guarantee about the noise includes it.
"""

import math

import numpy as np

from safemargin.audit.rule import hidden_groups, noise_guarantee
from safemargin.audit.situation import Attempt, Finding, Situation, people_in
from safemargin.bounds import hull
from safemargin.core import IntArray, PublishedTable

ODDS = 1_000
"""The true counts of a table are within the ranges but for one in so many times."""


def noise(situation: Situation) -> Attempt:
    """Bound the counts of noised groups by the law of the noise, and by the rule if it looks at answers."""
    guarantee = noise_guarantee(situation.release)
    tables = [table for table in situation.release.tables if table.noisy is not None and len(table.axes) == 1]
    if guarantee is None or guarantee.count is None or not tables:
        return Attempt("noise", "no noise whose law is known", 0)
    drawn = guarantee.choice is not None
    findings: list[Finding] = []
    looked = beyond = 0
    for table in tables:
        ranges = _ranges(situation, table, guarantee.count)
        if ranges is not None:
            names, people, sums, lower, upper = ranges
            looked += len(names)
            alone = situation.limits.verdicts(lower, upper, people) == 2
            beyond += int(alone.any(axis=1).sum())
            if not drawn and situation.onlooker.knows_rule:
                low, high = hull(people, sums, situation.limits, (lower, upper))
                disclosed = (situation.limits.verdicts(low, high, people) == 2) & ~alone
                for row, option in np.argwhere(disclosed[:, : len(sums)]).tolist():
                    least, most, size = int(low[row, option]), int(high[row, option]), int(people[row])
                    text = f"that it is noised, beside the noisy count, leaves {least} to {most} of {size} people"
                    cell = {table.axes[0]: names[row]}
                    findings.append(Finding("noise", cell, table.options[option], size, least, most, text))
    how = f"drawn with epsilon {guarantee.choice:g}" if drawn else "no matter of chance"
    how = "settled before the count" if guarantee.choice == 0 else how
    summary = f"which of {looked} groups are noised is {how}; noisy counts alone put {beyond} outside the limits"
    return Attempt("noise", summary, looked, tuple(findings), people_in(findings))


Ranges = tuple[list[str], IntArray, IntArray, IntArray, IntArray]
"""Labels of noised groups, their people, their summed counts, and the range of each count."""


def _ranges(situation: Situation, table: PublishedTable, epsilon: float) -> Ranges | None:
    sizes = situation.category_sizes(table.axes[0])
    hidden = [] if sizes is None else hidden_groups(situation, table, sizes, {"noised"})
    if not hidden or table.noisy is None:
        return None
    names, people, sums = hidden[0]
    rows = np.flatnonzero(np.array(table.status) == "noised")
    codes, group = np.unique(table.codes[rows, 0], return_inverse=True)
    counts = np.zeros((len(codes), len(table.options)), dtype=np.int64)
    counts[group.ravel(), table.option[rows]] = table.noisy[rows]
    # a union bound over all counts of the table: P(|noise| > far) <= exp(-epsilon far) for geometric noise
    far = math.ceil(min(math.log(2 * ODDS * counts.size) / epsilon, int(people.max(initial=0))))
    return names, people, sums, np.clip(counts - far, 0, people[:, None]), np.clip(counts + far, 0, people[:, None])
