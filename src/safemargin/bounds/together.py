"""Whether a release and the earlier ones about the same people, held together, disclose anybody's answer.

First groups are compared one by one (`differences`). Then all cycles are one larger population: a profile is who was
there when, and a table of a cycle is a fact about those who were there then. Somebody who believes of certain groups
that those who stayed kept their answers knows that such people gave one answer; of others, the answers then and now
are two unknowns. For every maximal set of beliefs that is possible (`beliefs`), the larger population is certified
like any other: every cell of every cycle, and every cell by history, is cleared by integer tables.

Invariants: a belief that figures refute by themselves is nobody's; a set of beliefs that no table satisfies is
nobody's; what is not decided counts as unsafe. Of somebody who believes less, intervals are wider, never narrower, so
cells that are contained count as safe only if every interval around them that is as narrow as `tau` is, too
(`hypothetical`).

What is decided depends on its arguments alone: no clock, no chance. So the last decisions are kept (`_DECIDED`), keyed
by all that is published, known and asked for: one release is decided, attacked, and compared with alternatives, which
often come to the same tables.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from safemargin.bounds.beliefs import KeptBelief, TooManyError, beliefs_of, is_possible_of_all, maximal_sets, parts_by
from safemargin.bounds.build import build_system
from safemargin.bounds.cells import Level
from safemargin.bounds.certify import certify
from safemargin.bounds.differences import disclosed_by_differences
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import Exposed, Proof
from safemargin.bounds.levels import cycle_levels
from safemargin.bounds.methods import settle
from safemargin.bounds.programs import program_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.system import SliceRanges, System
from safemargin.bounds.targets import cells_asked, targets_of
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

DIFFERENCES, TOGETHER = "differences with earlier releases", "cells with earlier releases"


def certify_with_earlier(
    tables: Sequence[PublishedTable],
    past: Past,
    limits: Limits,
    slack: int = 0,
    quick: bool = False,
    progress: Progress = no_progress,
    assumed: Sequence[PublishedTable] = (),
) -> Proof:
    """Decide whether `tables` and the earlier releases together disclose anybody's answer.

    With `quick` only closed forms are used: then a proof may name exposed cells and never clears any. Tables that are
    `assumed` beside take the place of those of the same axes: beliefs are about groups that are published, not about
    these. The proof names `TOGETHER` if all were held together; without that name groups were compared one by one only,
    and a certificate says so. Callers keep the result: equal arguments give the same object (`_DECIDED`).
    """
    key = (_content(tables), _content(assumed), _past_content(past), limits, slack, quick)
    if key not in _DECIDED:
        decided = _certify_with_earlier(tables, past, limits, slack, quick, progress, assumed)
        while len(_DECIDED) >= MOST_DECIDED:
            del _DECIDED[next(iter(_DECIDED))]
        _DECIDED[key] = decided
    return _DECIDED[key]


_DECIDED: dict[object, Proof] = {}
MOST_DECIDED = 64
"""Decisions that are kept, the oldest forgotten first."""


def _content(tables: Sequence[PublishedTable]) -> tuple[object, ...]:
    """Everything that tables state."""
    return tuple(
        (
            (t.name, t.axes, t.groups, t.options, t.status, t.measure),
            *(None if a is None else a.tobytes() for a in (t.codes, t.option, t.lower, t.upper, t.noisy)),
        )
        for t in tables
    )


def _past_content(past: Past) -> tuple[object, ...]:
    """Everything that is known of earlier cycles; worked out once for each."""
    if "_content" not in past.__dict__:
        earlier = tuple((release.cycle, _content(release.tables)) for release in past.earlier)
        histories = tuple((axes, tuple(people.items())) for axes, people in past.histories.items())
        past.__dict__["_content"] = (past.axes, past.now, earlier, histories, past.by_group, past.slack, past.net)
    content: tuple[object, ...] = past.__dict__["_content"]
    return content


def _certify_with_earlier(
    tables: Sequence[PublishedTable],
    past: Past,
    limits: Limits,
    slack: int,
    quick: bool,
    progress: Progress,
    assumed: Sequence[PublishedTable],
) -> Proof:
    """The decision itself, without the memory: groups one by one first, then all cycles as one population.

    If something is disclosed by a single subtraction, nothing else needs to be looked at.
    """
    slack = max(slack, past.slack)
    exposed, looked = disclosed_by_differences(tables, past, limits, slack)
    checked = {DIFFERENCES: looked}
    # Totals that disagree would make the larger system easier, never harder: then groups are compared one by one.
    if exposed or slack or past.larger is None or len(past.larger.roll.lower) > EFFORT.earlier_profiles:
        return Proof(tuple(exposed), checked)
    said = {table.axes for table in assumed}
    facts = [*(table for table in tables if table.axes not in said), *assumed]
    possible, compared = is_possible_of_all(tables, past, slack)
    if quick:
        proof = _certified(facts, past.larger, limits, True, progress) if possible else None
    else:
        proof = _by_beliefs(tables, facts, past, possible and compared, slack, limits, progress, bool(assumed))
    if proof is None:
        return Proof((), checked | {TOGETHER: 0})
    cycles = " and ".join(release.cycle for release in past.earlier)
    return replace(
        proof,
        exposed=tuple(replace(cell, earlier=cycles) for cell in proof.exposed),
        doubtful=tuple(replace(cell, earlier=cycles) for cell in proof.doubtful),
        checked=checked | {TOGETHER: sum(v for name, v in proof.checked.items() if "cells" in name)},
        tables=(),
    )


def _by_beliefs(
    tables: Sequence[PublishedTable],
    facts: Sequence[PublishedTable],
    past: Past,
    everything: bool,
    slack: int,
    limits: Limits,
    progress: Progress,
    is_assumed: bool,
) -> Proof | None:
    """The proof for every maximal set of beliefs: the first that fails, or the one that says most; none without any.

    It is enough to look at maximal sets: fewer beliefs leave more tables, so whatever a table clears stays cleared.
    """
    limits = replace(limits, hypothetical=True)
    assert past.larger is not None
    if everything:  # nothing refutes that nobody changed their answer: whoever believes that believes everything
        # What is assumed is often impossible, which one program shows sooner than a search for tables.
        is_refuted = is_assumed and not _is_possible(facts, past.larger)
        proof = None if is_refuted else _certified(facts, past.larger, limits, False, progress)
        if proof is not None:
            return proof
        if is_assumed and _is_possible(tables, past.larger):
            return _undecided(past)
    if not past.by_group:
        return None
    try:
        sets = maximal_sets(
            beliefs_of(tables, past, slack),
            lambda chosen: _is_possible(tables, _divided(past, tuple(chosen))),
            EFFORT.belief_sets,
            max(EFFORT.belief_work // len(past.larger.roll.lower), EFFORT.belief_tests),
        )
    except TooManyError:
        return _undecided(past)
    best: Proof | None = None
    for chosen in sets:
        if not chosen:
            continue
        proof = _certified(facts, _divided(past, tuple(chosen)), limits, False, progress) or _undecided(past)
        if not proof.holds:
            return proof
        if best is None or (proof.linear, sum(proof.checked.values())) > (best.linear, sum(best.checked.values())):
            best = proof
    return best


def _divided(past: Past, chosen: Sequence[KeptBelief]) -> Larger:
    """The larger population in which a history is split into the parts that beliefs tie together."""
    larger = past.divided(parts_by(chosen))
    assert larger is not None
    return larger


def _undecided(past: Past) -> Proof:
    """What stays in doubt because it was not looked at: everybody who was there in all cycles. Callers treat it as
    unsafe.
    """
    histories = past.histories[past.axes]
    people = sum(size for history, size in histories.items() if None not in history)
    return Proof((), {}, undecided=1, doubtful=(Exposed({}, 0, people, 0, people),))


def _known(facts: Sequence[PublishedTable], larger: Larger) -> tuple[System, list[PublishedTable]]:
    """The system of the larger population, with the present tables placed in it."""
    placed = [larger.placed(table) for table in facts]
    onlooker = Onlooker(roll=(larger.roll,), facts=_once(larger.facts, placed))
    return build_system(placed, onlooker, check=False), placed


def _once(facts: Sequence[PublishedTable], said: Sequence[PublishedTable] = ()) -> tuple[PublishedTable, ...]:
    """The facts that state something else than those before them, and than what is `said` already.

    A system of equations and inequalities has the same solutions without a copy of one of its rows. So a cycle in which
    nobody came, went or moved, and that published what another one did, adds nothing to the larger population: whether
    everything is safe together, and every interval, is the same with it and without it. Of equal facts the last one
    stays, in its place.
    """
    before = {table.stated for table in said}
    return tuple({fact.stated: fact for fact in reversed(facts) if fact.stated not in before}.values())[::-1]


def _is_possible(facts: Sequence[PublishedTable], larger: Larger) -> bool:
    """Whether some table, fractional or not, satisfies all facts of the larger population.

    A relaxation: true may still mean that no integer table does. Then the set of beliefs is kept, which is the safe
    side.
    """
    try:
        system = _known(facts, larger)[0]
        program_of(system, *propagate(system)).maximise(np.zeros(system.size))
    except ContradictionError:
        return False
    return True


def _certified(
    facts: Sequence[PublishedTable], larger: Larger, limits: Limits, quick: bool, progress: Progress
) -> Proof | None:
    """The certificate of the larger population; none if somebody must have changed their answer.

    A contradiction means that nobody's beliefs are these, so nothing is disclosed by them.
    """
    try:
        system, placed = _known(facts, larger)
        public = _public_histories(placed, larger, system, limits)
        if quick:
            return certify(
                system, limits, quick=True, excused=public, cells=lambda ranges: _first(system, ranges, limits)
            )
        proof = certify(
            system, limits, progress, excused=public, cells=lambda ranges: _cells(system, larger, ranges, limits)
        )
        if not proof.tables and not proof.holds and not _is_possible(facts, larger):
            return None
        return proof
    except ContradictionError:
        return None


def _cells(system: System, larger: Larger, ranges: SliceRanges, limits: Limits) -> list[Level]:
    """The cells of all cycles: who was there when, by the axes of each cycle."""
    column = system.axes.index(larger.roll.axes[-1])
    history = np.array(system.categories[column])[system.codes[:, column]]
    # The present cycle first; one with the same people at the same places has no cells of its own.
    cycles = dict.fromkeys(
        (tuple(columns.values()), there)
        for columns, there in zip(larger.columns[::-1], larger.there[::-1], strict=True)
    )
    there_then = [(axes, np.isin(history, sorted(there))) for axes, there in cycles]
    return cycle_levels(system, ranges, limits, there_then, larger.roll.axes[-1])


def _first(system: System, ranges: SliceRanges, limits: Limits) -> list[Level]:
    """The cells that closed forms say something about: profiles, and published groups."""
    return cycle_levels(system, ranges, limits, (), system.axes[-1])


def _public_histories(
    placed: Sequence[PublishedTable], larger: Larger, system: System, limits: Limits
) -> list[tuple[BoolArray, BoolArray]]:
    """Whose answers the totals of all cycles alone disclose within the limits: people of one history.

    These cells are no fault of a release that adds nothing to the totals, and `certify` does not look at them
    (`excused`). Only shares inside the limits are excused: a total that discloses more than the target allows is still
    a finding.
    """
    axis = larger.roll.axes[-1]
    totals = list(_once([table for table in (*placed, *larger.facts) if table.axes == (axis,)]))
    if not totals:
        return []
    column = system.axes.index(axis)
    history = np.array(system.categories[column])[system.codes[:, column]]
    return [(history == name, options) for name, options in _public_names(totals, larger.only_history(), limits)]


def _public_names(
    totals: Sequence[PublishedTable], roll: PublishedTable, limits: Limits
) -> tuple[tuple[str, BoolArray], ...]:
    """The histories and options that totals disclose, worked out once: all that may be published has these totals."""
    key = (tuple(table.stated for table in totals), roll.stated, limits)
    if key not in _PUBLIC:
        found = _find_public_names(totals, roll, limits)
        while len(_PUBLIC) >= MOST_DECIDED:
            del _PUBLIC[next(iter(_PUBLIC))]
        _PUBLIC[key] = found
    return _PUBLIC[key]


_PUBLIC: dict[object, tuple[tuple[str, BoolArray], ...]] = {}


def _find_public_names(
    totals: Sequence[PublishedTable], roll: PublishedTable, limits: Limits
) -> tuple[tuple[str, BoolArray], ...]:
    """The same, worked out."""
    axis = roll.axes[-1]
    small = build_system(totals, Onlooker(roll=(roll,)))
    assert small.people is not None
    cells, cell_of = cells_asked(small, None)
    settled = settle(small, targets_of(small, cell_of, len(cells)))
    lower, upper = (ends.reshape(len(cells), -1) for ends in (settled.lower, settled.upper))
    lower, upper = limits.extended(lower, upper, small.people)
    narrow = limits.verdicts(lower, upper, small.people) == 2
    narrow &= (upper >= limits.least(small.people)) & (lower <= limits.most(small.people))
    return tuple((cells.cell(row)[axis], narrow[row]) for row in np.flatnonzero(narrow.any(axis=1)).tolist())
