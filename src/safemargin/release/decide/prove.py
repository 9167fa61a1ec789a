"""Whether a release is safe, also against somebody who knows the rule: certified with sums that lead to it again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from safemargin.bounds import (
    TOGETHER,
    Exposed,
    Proof,
    System,
    build_system,
    certify,
    certify_with_earlier,
    propagate,
    some_table,
)
from safemargin.core import (
    ContradictionError,
    Group,
    IntArray,
    Onlooker,
    Progress,
    Schema,
    Table,
    Tally,
    frozen,
    no_progress,
    row_keys,
)
from safemargin.release.decide.candidate import prove_counts
from safemargin.release.decide.rerun import Reasons
from safemargin.release.decide.rule import Candidate, ReleaseRule, join
from safemargin.release.decide.split import unmerged_split


@dataclass(frozen=True)
class Shown:
    """A proof about a release; `rule` says whether it holds against an onlooker who knows the rule, and `is_plain` that
    nothing is merged or omitted for its answers: then every table that agrees with the release leads to it.
    """

    proof: Proof
    rule: bool = False
    is_plain: bool = False
    tables: tuple[Tally, ...] = field(default=(), compare=False)
    """The witnesses of the proof, as counts by profile."""
    parts: tuple[tuple[str, tuple[Group, ...]], ...] = ()
    """Per axis the groups whose sums the witnesses share: every table with these sums leads to the release."""

    @property
    def witnesses(self) -> int:
        """How many tables show it against somebody who knows the rule; 0 if it is not shown."""
        return max(len(self.tables), 1) if self.rule else 0


def prove(rule: ReleaseRule, candidate: Candidate, progress: Progress = no_progress, insist: bool = True) -> Shown:
    """Whether the candidate is safe against every onlooker, with a proof that fails or the one that says most.

    With `insist`, it must be shown against those who know the rule, too, where that is possible at all.
    """
    plain = rule.plainly_exposed(candidate)
    if plain.exposed:
        return Shown(plain)
    reasons = Reasons(rule, candidate, progress)
    names, watching = rule.table.schema.names, rule.onlookers
    # Noised counts say something to whoever reruns the program, too: only their epsilon covers that.
    is_public = not (rule.slack or rule.protect == "noise" or any(split.is_noised for split in candidate.splits))
    is_joint = all(onlooker.composition(names) == "joint" for onlooker in watching)
    if reasons.blocks and is_public and is_joint and all(onlooker.knows_rule for onlooker in watching):
        shown = [_prove_with_reasons(rule, reasons, onlooker, progress) for onlooker in watching]
        failed = [each for each in shown if not each.proof.holds]
        if not failed:  # the certificate states the weakest proof
            return max(shown, key=lambda each: (each.proof.linear, sum(each.proof.checked.values())))
        # Facts and earlier releases may leave no answers that explain it, and nothing coarser would.
        if insist and not any(onlooker.past or onlooker.facts for onlooker in watching):
            return failed[0]
    proof = prove_counts(rule.table, candidate, watching, rule.limits, progress=progress)
    tables: tuple[Tally, ...] = ()
    if proof.holds and is_public and is_joint:
        known = build_system(candidate.tables(rule.table), watching[0])
        same = [counts for counts in proof.tables if counts.shape == known.low.shape and known.admits(counts)]
        tables = listed_tables(same or only_table(known), known, rule.table.schema)
    # If nothing is merged for its answers, every table that agrees with the release leads to it.
    return Shown(proof, is_public and proof.holds and not reasons.blocks, not reasons.blocks, tables)


def _prove_with_reasons(rule: ReleaseRule, reasons: Reasons, onlooker: Onlooker, progress: Progress) -> Shown:
    """Certify the release together with sums that could have led to it: a smaller set of tables, and all lead to it."""
    limits, tables = replace(rule.limits, hypothetical=True), reasons.candidate.tables(rule.table)
    failed = Proof((), {}, undecided=1, doubtful=_unexplained(rule, reasons))
    for answers in reasons.trials():
        # The made-up sums of an axis part it as finely as the release does, or more, so they say all that it says.
        said = {table.axes for table in answers.tables}
        assumed = (*(table for table in tables if table.axes not in said), *answers.tables)
        try:
            # The caps `0 <= T[e] <= N[e]` of a known roll are in the system; the closed forms of the paper ignore them.
            known = build_system(assumed, onlooker)
            proof = certify(known, limits, progress)
            if onlooker.past is not None and proof.holds:
                proof = join(proof, certify_with_earlier(assumed, onlooker.past, limits, progress=progress))
                if TOGETHER not in proof.checked:  # nobody may have changed their answer: that was not shown of these
                    continue
        except ContradictionError:  # votes of single axes that nobody can cast together
            continue
        # Where sums decide every cell, no table was searched for: the certificate carries one all the same.
        fitting = (proof.tables or only_table(known) or _any_table(known)) if proof.holds else ()
        listed = listed_tables(fitting, known, rule.table.schema)
        # Theory says that they all lead here (docs/decide.md); they are run all the same.
        if listed and all(reasons.leads_here(votes_by_axis(rule.table, tally)) for tally in listed):
            parts = tuple((table.axes[0], table.groups[0]) for table in answers.tables)
            return Shown(proof, True, tables=listed, parts=parts)
        failed = proof
        reasons.failed = tuple(cell for exposed in (proof.exposed or proof.doubtful)[:1] for cell in exposed.cell)
    return Shown(failed)


def _any_table(known: System) -> list[IntArray]:
    table = some_table(known)
    return [] if table is None else [table]


def only_table(known: System) -> list[IntArray]:
    """The table that alone agrees with what is public, as where all answered alike; it needs no search."""
    least, most = propagate(known)
    return [least] if (least == most).all() else []


def votes_by_axis(table: Table, votes: Tally) -> list[IntArray]:
    """Votes per axis, category and option."""
    other = replace(table, votes=(votes,))
    return [unmerged_split(other, name).votes for name in table.schema.names]


def _unexplained(rule: ReleaseRule, reasons: Reasons) -> tuple[Exposed, ...]:
    """The blocks that no answers within the target explain, as cells; all of them if each could be explained alone."""
    names = rule.table.schema.names
    empty = [place for place, triggers in zip(reasons.blocks, reasons.triggers, strict=True) if not triggers]
    return tuple(
        Exposed({names[axis]: " | ".join(sorted(block.whole))}, 0, rule.covers[axis].split.size(block.whole), 0, 0)
        for axis, block in empty or reasons.blocks
    )


def listed_tables(tables: Sequence[IntArray], known: System, schema: Schema) -> tuple[Tally, ...]:
    """Tables of a system as tallies over all axes of the schema, in the order of their categories."""
    columns = []
    for axis in schema.axes:
        own = known.axes.index(axis.name)
        codes = np.array([axis.index[category] for category in known.categories[own]], dtype=np.int64)
        columns.append(codes[known.codes[:, own]])
    profiles = np.stack(columns, axis=1)
    order = np.argsort(row_keys(profiles, [len(axis.categories) for axis in schema.axes]))
    codes, count = frozen(profiles[order], len(columns)), len(schema.options)
    return tuple(Tally(schema.names, codes, frozen(known.listed(counts)[order], count)) for counts in tables)
