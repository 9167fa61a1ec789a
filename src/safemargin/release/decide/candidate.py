"""A release under consideration: the tables that would be published, and whether they are safe together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.certify import certify, certify_with_earlier
from safemargin.bounds.exposure import Exposed, Proof
from safemargin.bounds.system import System
from safemargin.core import (
    Group,
    IntArray,
    Limits,
    Onlooker,
    Progress,
    PublishedTable,
    Table,
    as_published,
    no_progress,
    protected_margin,
)
from safemargin.release.decide.split import Split


@dataclass(frozen=True)
class Candidate:
    """How every axis would be published."""

    splits: tuple[Split, ...]

    def loss(self) -> Fraction:
        """What the public would miss, in people per axis."""
        return sum((one.loss() for one in self.splits), Fraction(0))

    def key(self) -> tuple[frozenset[frozenset[str]], ...]:
        """Equal for candidates that publish the same."""
        return tuple(frozenset(one.groups) for one in self.splits)

    def with_split(self, changed: Split) -> "Candidate":
        """The candidate with one axis published another way."""
        return Candidate(tuple(changed if one.axis.name == changed.axis.name else one for one in self.splits))

    def tables(self, table: Table) -> tuple[PublishedTable, ...]:
        """Tier 0 and the published axes, flagged groups left out."""
        published = [as_published(table.margin(()), table.schema, "total")]
        published.extend(
            protected_margin(table, one.axis.name, one.groups, one.flagged) for one in self.splits if one.is_published
        )
        return tuple(published)


def prove(
    table: Table,
    candidate: Candidate,
    onlookers: Sequence[Onlooker],
    limits: Limits,
    quick: bool = False,
    progress: Progress = no_progress,
) -> Proof:
    """Whether the candidate is safe against every onlooker: the first proof that fails, or the one that says most."""
    slack = table.inconsistency.slack(int(table.totals.sum()))
    tables = candidate.tables(table)
    best = Proof((), {})
    for onlooker in onlookers:
        if onlooker.composition(table.schema.names) == "joint":
            known = build_system(tables, onlooker, slack)
            given = () if quick else _as_merged(table, candidate, onlooker, limits, known, slack)
            proof = certify(known, limits, progress, quick, given)
        else:
            proof = _without_composition(table, candidate, limits)
        if onlooker.past is not None and (quick or proof.holds):
            remembered = certify_with_earlier(tables, onlooker.past, limits, slack, quick, progress)
            proof = both(proof, remembered)
        if proof.exposed or (proof.undecided and not quick):
            return proof
        if (proof.linear, sum(proof.checked.values())) >= (best.linear, sum(best.checked.values())):
            best = proof
    return best


def _as_merged(
    table: Table, candidate: Candidate, onlooker: Onlooker, limits: Limits, known: System, slack: int
) -> tuple[IntArray, ...]:
    """Witness tables for a candidate with flagged groups, found with these as one group.

    The total less the exact groups is the sum of the flagged ones, so both say the same; but exact sums are far easier
    to search than groups of which nothing is known.
    """
    if slack or not any(one.flagged for one in candidate.splits):
        return ()
    merged = build_system(replace(candidate, splits=tuple(map(_joined, candidate.splits))).tables(table), onlooker)
    place = {tuple(row): at for at, row in enumerate(_named(known))}
    order = [place[tuple(row)] for row in _named(merged)]
    found = []
    for counts in certify(merged, limits).tables:
        carried = np.empty_like(counts).reshape(-1, known.free)
        carried[order] = counts.reshape(-1, merged.free)
        found.append(carried.ravel())
    return tuple(found)


def _joined(one: Split) -> Split:
    """An axis with its flagged groups as one."""
    if not one.flagged:
        return one
    whole: Group = frozenset().union(*one.flagged)
    groups = tuple(dict.fromkeys(whole if group in one.flagged else group for group in one.groups))
    return replace(one, groups=groups, flagged=frozenset())


def _named(known: System) -> list[tuple[str, ...]]:
    """The categories of every profile, axes by name."""
    axes = sorted(range(len(known.axes)), key=lambda at: known.axes[at])
    return [tuple(known.categories[at][row[at]] for at in axes) for row in known.codes.tolist()]


def both(alone: Proof, remembered: Proof) -> Proof:
    """Two proofs about one release as one; the witness is that of the release alone."""
    return replace(
        alone,
        exposed=(*alone.exposed, *remembered.exposed),
        checked=alone.checked | remembered.checked,
        linear=alone.linear + remembered.linear,
        undecided=alone.undecided + remembered.undecided,
        doubtful=(*alone.doubtful, *remembered.doubtful),
    )


def _without_composition(table: Table, candidate: Candidate, limits: Limits) -> Proof:
    """Cor. 3 of the paper: without cell sizes, a cell is known to within tau only if a slice or its rest is that small.

    The rule extends to any number of axes: `min m - max(0, sum m - (d - 1) M)` is at least the smallest `m` or `M - m`.
    """
    totals = table.totals
    exposed = []
    for one in candidate.splits if len([s for s in candidate.splits if s.is_published]) > 1 else ():
        for group in one.groups if one.is_published else ():
            counts = one.counts(group)
            for option in np.flatnonzero((np.minimum(counts, totals - counts) <= limits.tau) & (totals > 0)).tolist():
                if group not in one.flagged:
                    cell = {one.axis.name: " | ".join(sorted(group))}
                    count = int(counts[option])
                    exposed.append(Exposed(cell, option, one.size(group), count, count))
    return Proof(tuple(exposed), {"slices": sum(len(one.groups) for one in candidate.splits)})
