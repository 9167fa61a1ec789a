"""The rule: from the votes of every axis to a release, step by step, as everybody can run it on other votes.

Objects
    votes       counts per category and option, one array per axis; single axes are all that the rule reads
    cover       per axis, a tree of blocks of groups made from the roll alone (`protect.AxisCoarsening`)
    forced      blocks of an axis that are published as one although smaller ones are regular, each with its reason
    candidate   how every axis is published once blocks are cut

Definition
    first()     per axis the finest cut of which every block is regular: at least kappa people and shares within the
                strict limits, and no difference from an earlier release discloses who came or went
    coarser()   for an exposed cell, the candidates with one axis cut one step further up, or omitted

    The rule is the map F from votes to the release that `decide.search` comes to. Each step looks at nothing but the
    release before it, and that is public to whoever assumes it; so F can be run on other votes (`on`).

Invariants
    * With equal published sums, the same steps follow: a step reads the release, the roll and the limits.
    * `on` shares the memory of closed forms (`plain`), which depends on tables only, and drops what depends on answers.
    * The lot of noised groups is drawn once per rule. A second draw would let a search prefer a lucky one.
    * Blocks of one tree are nested, so cutting further up always leaves fewer groups: the search ends.

Without tables of several axes it reads single axes only; those come on top (`decide/maximise.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from safemargin.bounds import Exposed, Proof
from safemargin.core import (
    JOINER,
    Group,
    IntArray,
    Limits,
    Onlooker,
    Past,
    PublishedTable,
    Table,
    Tally,
    as_published,
    frozen,
    protected_margin,
)
from safemargin.guarantees import is_vacuous
from safemargin.release.rule.earlier import by_subtraction, earlier_words
from safemargin.release.rule.lot import RandomisedSelection, by_lot
from safemargin.release.rule.protect import (
    AxisCoarsening,
    Forced,
)
from safemargin.release.rule.split import AxisPartition, slack_of

SMALL_STEPS = 12
"""Steps to the next larger block before whole axes are omitted."""


@dataclass(frozen=True)
class Candidate:
    """How every axis would be published.

    `splits` has one partition per axis, in the order of the schema; `forced` are the blocks that some step asked for,
    with reasons; `steps` counts the steps from the first candidate. Candidates that publish the same are equal by
    `key`.
    """

    splits: tuple[AxisPartition, ...]
    forced: tuple[Forced, ...] = field(default=(), hash=False, compare=False)
    steps: int = field(default=0, compare=False)

    @property
    def published(self) -> list[AxisPartition]:
        """The axes of which something is published."""
        return [split for split in self.splits if split.is_published]

    def loss(self) -> Fraction:
        """What the public would miss, in people per axis."""
        return sum((split.loss() for split in self.splits), Fraction(0))

    def key(self) -> tuple[tuple[frozenset[Group], frozenset[Group]], ...]:
        """Equal for candidates that publish the same."""
        return tuple((frozenset(split.groups), split.flagged) for split in self.splits)

    def tables(self, table: Table) -> tuple[PublishedTable, ...]:
        """The total and the published axes, without the counts of flagged groups."""
        published = [as_published(table.margin(()), table.schema, "total")]
        published.extend(
            protected_margin(table, split.axis.name, split.groups, split.flagged) for split in self.published
        )
        return tuple(published)


@dataclass(frozen=True)
class ReleaseRule:
    """What is decided for the votes of `table`; everything else here is public."""

    table: Table
    limits: Limits
    onlookers: tuple[Onlooker, ...]
    protect: str
    lot: RandomisedSelection
    covers: tuple[AxisCoarsening, ...]
    plain: dict[object, Proof] = field(default_factory=dict, compare=False, repr=False)
    """What closed forms showed of tables that were looked at; shared by the rules for other votes."""
    unexplained: dict[object, Proof] = field(default_factory=dict, compare=False, repr=False)
    """The proofs of candidates that no answers were found to explain: they come up again without that demand."""

    @property
    def slack(self) -> int:
        """How many votes a published count may be off."""
        return slack_of(self.table)

    @property
    def pasts(self) -> tuple[Past, ...]:
        """What onlookers remember of earlier releases."""
        return tuple(onlooker.past for onlooker in self.onlookers if onlooker.past is not None)

    def on(self, votes: Sequence[IntArray]) -> "ReleaseRule":
        """The rule for other votes, given per axis as counts of every category and option."""
        schema = self.table.schema
        tallies = [
            Tally((axis.name,), frozen(range(len(axis.categories)), 1), frozen(counts, counts.shape[1]))
            for axis, counts in zip(schema.axes, votes, strict=True)
        ]
        total = Tally((), frozen([[]], 0), frozen(self.table.totals[None, :], len(schema.options)))
        covers = tuple(cover.with_votes(counts) for cover, counts in zip(self.covers, votes, strict=True))
        return replace(self, table=replace(self.table, votes=(*tallies, total)), covers=covers, unexplained={})

    def first(self) -> Candidate:
        """The release before all tables are looked at together."""
        return self._candidate(tuple({} for _ in self.covers), 0)

    def _candidate(self, forced: Sequence[Forced], steps: int) -> Candidate:
        """The release with these blocks published as one."""
        axes = [self._axis(cover, blocks) for cover, blocks in zip(self.covers, forced, strict=True)]
        return Candidate(tuple(split for split, _ in axes), tuple(blocks for _, blocks in axes), steps)

    def _axis(self, cover: AxisCoarsening, forced: Forced) -> tuple[AxisPartition, Forced]:
        """One axis, cut far enough up that no difference from an earlier release discloses who came or went."""
        if cover.split.axis.epsilon is not None:
            return self._noised(cover.split), forced
        options, blocks = self.table.schema.options, dict(forced)
        show = cover.merged_by_force if self.protect == "noise" else cover.merged
        for past in self.pasts:
            exposed = partial(by_subtraction, past=past, options=options, limits=self.limits.strict, slack=self.slack)
            while worst := exposed(show(blocks))[:1]:
                split, union = show(blocks), frozenset(worst[0].cell[cover.split.axis.name].split(JOINER))
                group = min((other for other in split.groups if other & union), key=split.size)
                # A partner from inside the union would leave its sum, which is what the difference discloses.
                while group <= union and group in cover.parents:
                    group = cover.parents[group].whole
                blocks[group] = earlier_words(worst[0], past.axis)
        return self._by_lot(cover, blocks) if self.protect == "noise" else cover.published(blocks), blocks

    def _noised(self, split: AxisPartition) -> AxisPartition:
        """An axis of which every count is noised: no answer decides anything about it."""
        if not split.is_published or is_vacuous(self.table, split.axis.name, split.groups):
            return split.collapse("noise would guarantee nothing: no two people could exchange answers unnoticed")
        return split.flag(frozenset(split.groups), "the axis has an epsilon of its own; noised")

    def _by_lot(self, cover: AxisCoarsening, forced: Forced) -> AxisPartition:
        """An axis with groups near the limits noised by lot; merged instead where noise would guarantee nothing.

        Exact groups are invariants of the guarantee. If no two people could exchange answers without changing one of
        them, or if the total less the exact groups would disclose the noised ones, merging is all that helps.
        """
        split = cover.merged_by_force(forced)
        flagged = by_lot(split, self.limits.strict, self.lot, cover.always)
        if not flagged.flagged:
            return flagged
        # Exact groups are invariants: noise on counts that these fix guarantees nothing, whatever its epsilon.
        if is_vacuous(self.table, split.axis.name, sorted(flagged.flagged, key=sorted)):
            return flagged.collapse("noise would guarantee nothing: no two people could exchange answers unnoticed")
        if not split.regular(frozenset().union(*flagged.flagged), self.limits.strict):  # which the total would disclose
            return cover.merged(forced)
        return flagged

    def coarser(self, candidate: Candidate, cells: Sequence[Exposed], proved: bool) -> Iterator[Candidate]:
        """Candidates with one axis changed for one of the first exposed cells, each once; nothing if none is left to
        merge.

        `proved` says whether the cells are disclosed or merely undecided; it changes the words only.
        """
        seen = {candidate.key()}
        for exposed in cells[:3]:
            reason = self._words(exposed, proved)
            for axis, blocks in self._changes(candidate, exposed):
                forced = list(candidate.forced)
                forced[axis] = {**forced[axis], **dict.fromkeys(blocks, reason)}
                trial = self._candidate(forced, candidate.steps + 1)
                if trial.key() not in seen:
                    seen.add(trial.key())
                    yield trial

    def _changes(self, candidate: Candidate, exposed: Exposed) -> list[tuple[int, list[Group]]]:
        """Blocks to publish as one, for the axes of an exposed cell; for any axis, if none of them is published."""
        changes: list[tuple[int, list[Group]]] = []
        published = [axis for axis, split in enumerate(candidate.splits) if split.is_published]
        named = [axis for axis in published if candidate.splits[axis].axis.name in exposed.cell]
        for axis in named or published:
            cover, split = self.covers[axis], candidate.splits[axis]
            if candidate.steps < SMALL_STEPS:
                members = frozenset(exposed.cell.get(split.axis.name, "").split(JOINER))
                if self.protect == "noise":
                    held = [group for group in split.groups if group & members and group in cover.parents][:2]
                    changes += [(axis, [cover.parents[group].whole]) for group in held]
                else:
                    changes += [(axis, [block]) for block in cover.steps(members, candidate.forced[axis])]
            changes.append((axis, [cover.tree.whole]))
        return changes

    def _words(self, exposed: Exposed, proved: bool) -> str:
        if exposed.earlier and proved:
            return earlier_words(exposed, self.pasts[0].axis)
        cell = ", ".join(f"{axis} {value}" for axis, value in exposed.cell.items())
        would = "would disclose the answers of" if proved else "could not be proved safe for"
        return f"the tables together {would} the {exposed.people:,} people with {cell}"


def join(alone: Proof, other: Proof) -> Proof:
    """Two proofs about one release as one; the witness is that of the first."""
    return replace(
        alone,
        exposed=(*alone.exposed, *other.exposed),
        checked=alone.checked | other.checked,
        linear=alone.linear + other.linear,
        undecided=alone.undecided + other.undecided,
        doubtful=(*alone.doubtful, *other.doubtful),
    )
