"""One step of the rule, and all steps: which candidate follows from what closed forms disclose.

Objects
    P_0         the first candidate (`ReleaseRule.first`)
    exposed     cells of a candidate that closed forms show to be outside the strict limits (`plainly_exposed`)
    P_{i+1}     the change to one axis that leaves fewest people exposed, then loses least (`next_candidate`)

Statement
    `plainly_exposed` is a function of the published tables and of what onlookers know, so P_{i+1} is a function of P_i.
    The chain ends, since every step leaves fewer groups. Votes v lead to a release P if P is in their chain, the counts
    are those of P, and every candidate before P is exposed (`leads_to`). Whether the search stops at P is the same for
    all votes that lead there: the proof reads nothing but P and the roll (`decide.search`).

Invariants
    * Closed forms only: no program is solved, and the only chance is the lot that a rule with noise has drawn already.
    * A candidate that is not exposed and is not P ends the chain: then the votes are not said to lead to P.
    * `rule.plain` only remembers results. Clearing it changes the time and nothing else.

Example
    Four wards; c and d have 10 people each, so that the roll alone merges them. The votes themselves lead to the first
    release; with one vote moved in ward a they lead to other counts.

    >>> import numpy as np
    >>> from safemargin.core import Target, table_of
    >>> from safemargin.release.rule.make import made_rule
    >>> votes = [[30, 20], [20, 30], [28, 22], [22, 28], [1, 9], [2, 8], [5, 5], [5, 5]]
    >>> people = [50, 50, 50, 50, 10, 10, 10, 10]
    >>> table = table_of({"ward": ("a", "b", "c", "d"), "sex": ("f", "m")}, votes, people)
    >>> rule = made_rule(table, Target(kappa=30), (), protect="merge")
    >>> release = rule.first()
    >>> [sorted(group) for group in release.splits[0].groups]
    [['a'], ['b'], ['c', 'd']]
    >>> true = [cover.split.votes for cover in rule.covers]
    >>> other = [true[0] + np.array([[1, -1], [-1, 1], [0, 0], [0, 0]]), true[1]]
    >>> leads_to(rule, release, true), leads_to(rule, release, other)
    (True, False)
"""

from collections.abc import Sequence

from safemargin.bounds import Exposed, Proof, build_system, certify, certify_with_earlier
from safemargin.core import ContradictionError, IntArray, Progress, PublishedTable, no_progress
from safemargin.release.rule.candidates import Candidate, ReleaseRule, join

STEP = "deciding"
"""What progress calls this work."""


def plainly_exposed(rule: ReleaseRule, candidate: Candidate) -> Proof:
    """What closed forms show to be outside the strict limits; nothing if only the total is published.

    A function of the tables and of what onlookers know: results are kept per rule and shared by reruns on other votes.
    """
    if not candidate.published:
        return Proof((), {})
    tables = candidate.tables(rule.table)
    # Each candidate is ranked, and the best of them proved; and the rule often publishes the same of other answers.
    key = tuple((t.axes, t.groups, *(a.tobytes() for a in (t.codes, t.option, t.lower, t.upper))) for t in tables)
    if key not in rule.plain:
        rule.plain[key] = _plainly_exposed(rule, tables)
    return rule.plain[key]


def _plainly_exposed(rule: ReleaseRule, tables: Sequence[PublishedTable]) -> Proof:
    """The same, computed: cells alone for every onlooker with a joint roll, and cells beside earlier releases."""
    limits, exposed = rule.limits.strict, Proof((), {})
    # What facts disclose by themselves is not for the release to hide; only the full proof separates the two.
    for onlooker in [each for each in rule.onlookers if not each.facts]:
        if onlooker.composition(rule.table.schema.names) == "joint":
            system = build_system(tables, onlooker, rule.slack)
            exposed = join(exposed, certify(system, limits, quick=True))
        if onlooker.past is not None:
            exposed = join(exposed, certify_with_earlier(tables, onlooker.past, limits, rule.slack, quick=True))
    return exposed


def next_candidate(rule: ReleaseRule, candidate: Candidate, cells: Sequence[Exposed], proved: bool) -> Candidate | None:
    """The change to one axis of the first exposed cells that leaves fewest people exposed, then loses least.

    Trials are looked at by rising loss; the first that leaves nobody exposed ends the search, as the others lose as
    much or more. None if nothing is left to merge.
    """
    best, fewest = None, -1
    for trial in sorted(rule.coarser(candidate, cells, proved), key=Candidate.loss):  # stable: of equals, the first
        left = sum(cell.people for cell in plainly_exposed(rule, trial).exposed)
        if best is None or left < fewest:
            best, fewest = trial, left
        if not left:  # the others lose as much or more, and none leaves fewer
            break
    return best


def leads_to(
    rule: ReleaseRule, release: Candidate, votes: Sequence[IntArray], progress: Progress = no_progress
) -> bool:
    """Whether the rule, run on these votes, comes to `release`: the same groups, and the same counts.

    Follows the candidates from the first one, by closed forms only. If a candidate is not disclosed by these and is
    another one than the release, the votes do not lead here. A true answer is never a matter of luck or time; a false
    one may only mean that a stronger proof would have moved the rule on.
    """
    other = rule.on(votes)
    candidate: Candidate | None = other.first()
    try:
        while candidate is not None:
            progress(STEP)  # each turn may take a second, and whoever waits may have no time left
            if candidate.key() == release.key():
                return has_equal_counts(other, candidate, rule, release)
            exposed = plainly_exposed(other, candidate).exposed
            candidate = next_candidate(other, candidate, exposed, True) if exposed else None
    except ContradictionError:  # votes of single axes that nobody can cast together
        return False
    return False


def has_equal_counts(other: ReleaseRule, candidate: Candidate, rule: ReleaseRule, release: Candidate) -> bool:
    """Whether every count that is published of one table is published of the other."""
    pairs = zip(candidate.tables(other.table), release.tables(rule.table), strict=True)
    return all((a.lower == b.lower).all() and (a.upper == b.upper).all() for a, b in pairs)
