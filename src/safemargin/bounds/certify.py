"""Is anybody exposed? Deciding is far cheaper than computing every interval.

Objects
    cell        a set of profiles, at least one person; levels of cells are listed by `levels.py`
    limits      floors and ceilings of shares, tolerance tau and least size kappa of a target (`core.Limits`)
    witness     an integer table that agrees with everything public
    proof       the cells that are disclosed, those that stay undecided, and the witnesses

Statement
    Let every cell have witnesses that show it inside the limits and, where it is small, an interval wider than tau.
    Then no published sum, and no combination of them, forces any of these cells outside the limits or to within tau:
    a set that contains such tables cannot force what they contradict. (The condition is the one of (beta,
    kappa)-regular
    releases, Definition 5 of the paper on exact reporting, with tau added; see docs/decide.md.)

    A few tables clear nearly all cells at once. Only what no table clears gets a program of its own.

Why cells of fewer axes
    A pair of axes can be disclosed although each profile in it, taken alone, is open.

Invariants
    * `Proof.holds` only if nothing is exposed and nothing undecided. Running out of effort leaves cells undecided.
    * Closed forms may find a cell exposed (`quick`), but never clear one: only tables clear.
    * Cells that fractional tables alone clear are counted as `linear`, and the statement says so.
    * The result depends on the arguments alone: seeds are fixed, programs are limited in nodes and not in seconds.

Example
    Two districts and two ages of ten people per profile, with 12 of 20 yes in each: every count from 2 to 10 of a
    profile is possible, and two tables show it.

    >>> from safemargin.core import Axis, Schema, Table, Tally, Target, exact_margins, frozen, onlooker_with_roll
    >>> names, codes = ("district", "age"), frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2)
    >>> axes = Axis("district", ("N", "S")), Axis("age", ("old", "young"))
    >>> votes, roll = Tally(names, codes, frozen([[6, 4]] * 4, 2)), Tally(names, codes, frozen([10] * 4, 1))
    >>> table = Table(Schema(axes, ("yes", "no")), (votes,), (roll,))
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> limits = Target(beta=0.1, kappa=10, tau=2).limits((24, 16), 40, ("yes", "no"))
    >>> proof = certify(system, limits)
    >>> proof.holds, proof.exposed, proof.undecided
    (True, (), 0)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import is_

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.cells import Level
from safemargin.bounds.exposure import Exposed, Proof
from safemargin.bounds.levels import labels, levels
from safemargin.bounds.methods import attain, tighten
from safemargin.bounds.pooled import pooled
from safemargin.bounds.programs import probe, program_budget
from safemargin.bounds.system import SliceRanges, System, slice_ranges
from safemargin.bounds.tasks import Certifying
from safemargin.bounds.wide import is_wide
from safemargin.core import (
    BoolArray,
    IntArray,
    Limits,
    Onlooker,
    Progress,
    PublishedTable,
    no_progress,
    row_keys,
)


def certify(
    system: System,
    limits: Limits,
    progress: Progress = no_progress,
    quick: bool = False,
    given: Sequence[IntArray] = (),
    excused: Sequence[tuple[BoolArray, BoolArray]] = (),
    most_linear: int | None = None,
    same: tuple[System, IntArray] | None = None,
    cells: Callable[[SliceRanges], list[Level]] | None = None,
) -> Proof:
    """Decide whether any cell of `system` is disclosed under `limits`; needs a joint roll.

    `quick` stops after the closed forms: it finds what is plainly exposed and clears nothing. Tables that are `given`,
    as with a certificate, are checked by addition and spare the search for others. What is `excused` (which
    profiles, which options) counts as public: cells of just these people are not looked at. With `most_linear`,
    fractional tables are used only where at most so many cells are left. A system that says the `same` in other
    slices, given with the place there of every profile, states the cells to look at, or `cells` gives them, those
    of profiles first; a few programs look for a disclosed one before all else, unless tables are given.
    """
    ranges = slice_ranges(system)
    checked = levels(system, ranges, limits, bounded=quick) if cells is None else cells(ranges)
    if same is not None:
        other, order = same
        checked[1:] = [level.reordered(order) for level in levels(other, slice_ranges(other), limits)[1:]]
    for level in checked:
        for members, options in excused:
            level.excuse(members, options)
    task = Certifying(system, given, progress, checked, limits, most_linear)
    tighten(task)
    exposed = _exposed(system, checked)
    if quick:
        sizes = _sizes(checked) if exposed else {}
        return Proof(exposed, sizes, undecided=0 if exposed else 1)
    if exposed:
        return Proof(exposed, _sizes(checked))
    if same is not None and not given and program_budget(system):
        probe(system, checked, task.program, task.tables)
        if exposed := _exposed(system, checked):
            return Proof(exposed, _sizes(checked))
    attain(task)
    undecided = task.open - task.linear
    return Proof(
        exposed=_exposed(system, checked),
        checked=_sizes(checked),
        linear=task.linear,
        undecided=undecided,
        doubtful=_doubtful(system, task) if undecided else (),
        tables=tuple(task.tables),
    )


def _sizes(checked: list[Level]) -> dict[str, int]:
    """How many cells were looked at, for the statement of a certificate."""
    return {
        "joint cells": len(checked[0].codes),
        "cells of fewer axes": sum(len(level.codes) for level in checked[1:]),
        "largest set of fewer axes": max((len(level.names) for level in checked[1:]), default=0),
    }


def _exposed(system: System, checked: list[Level]) -> tuple[Exposed, ...]:
    """The cells that the outer intervals disclose for certain, the largest first."""
    return _worst_first([cell for level in checked for cell in _described(system, level, level.exposed())])


def _doubtful(system: System, task: Certifying) -> tuple[Exposed, ...]:
    """Some cells that nothing cleared: those that programs were tried for first, then those with most people."""
    tried = []
    for level, cell, column in task.failed:
        chosen = np.zeros(level.lower.shape, dtype=bool)
        chosen[cell, column] = True
        tried += _described(system, level, chosen)
    cells = [
        cell for level in task.levels for cell in _described(system, level, np.logical_or(*level.needs()), most=20)
    ]
    return tuple(dict.fromkeys([*tried, *_worst_first(cells)]))[:20]


def _described(system: System, level: Level, chosen: BoolArray, most: int | None = None) -> list[Exposed]:
    """Cells and options with what is known of them, those with most people first."""
    places = sorted(np.argwhere(chosen).tolist(), key=lambda place: -level.people[place[0]])
    count = len(system.options)
    return [
        Exposed(
            labels(system, level, cell),
            option,
            int(level.people[cell]),
            int(level.outer_lower[cell, option]),
            int(level.outer_upper[cell, option]),
            secret=level.limits.names[option - count] if option >= count else "",
        )
        for cell, option in places[:most]
    ]


def _worst_first(exposed: list[Exposed]) -> tuple[Exposed, ...]:
    """Each cell and option once, however many levels have it: most people first, then fewest axes."""
    unique = {(tuple(sorted(cell.cell.items())), cell.option): cell for cell in exposed}
    return tuple(sorted(unique.values(), key=lambda cell: (-cell.people, len(cell.cell), str(cell.cell), cell.option)))


def certify_pooled(
    system: System,
    tables: Sequence[PublishedTable],
    onlooker: Onlooker,
    limits: Limits,
    progress: Progress = no_progress,
    given: Sequence[IntArray] = (),
    most_linear: int | None = None,
) -> Proof:
    """What `certify` says of `system`, that of `tables`, searched with suppressed groups of each axis as one.

    The pooled system (`pooled.py`) has the same possible tables, so its witnesses are witnesses of `system`, once their
    profiles are put back in order; its cells are listed by the system as published (`same`). `system` is
    `build_system(tables, onlooker)`, without slack: with slack call `certify`. Where the pooled system does not have
    the same profiles and options, this is `certify(system)`. Witnesses, those `given` and those of the proof, are
    tables of `system`; `given` ones of another shape are ignored.
    """
    fewer = pooled(tables, dict(zip(system.axes, system.categories, strict=True)))
    merged = system if len(fewer) == len(tables) and all(map(is_, fewer, tables)) else build_system(fewer, onlooker)
    if merged is system or merged.options != system.options or merged.n_free_options != system.n_free_options:
        return certify(system, limits, progress, given=given, most_linear=most_linear)
    order = _places(system, merged)
    # An axis of suppressed groups only is in no pooled table: where no roll names it either, profiles are fewer.
    if order is None:
        return certify(system, limits, progress, given=given, most_linear=most_linear)
    carried = [
        counts.reshape(-1, system.n_free_options)[order].ravel() for counts in given if counts.shape == system.low.shape
    ]
    # Wide axes are searched by programs of their own, which know the slices of the system only.
    wide = is_wide(system)
    same = None if wide else (system, order)
    proof = certify(merged, limits, progress, given=carried, most_linear=most_linear, same=same)
    witnesses = []
    for counts in proof.tables:
        back = np.empty_like(counts).reshape(-1, system.n_free_options)
        back[order] = counts.reshape(-1, merged.n_free_options)
        witnesses.append(back.ravel())
    if wide:
        return certify(system, limits, progress, given=witnesses, most_linear=most_linear)
    return replace(proof, tables=tuple(witnesses))


def _places(system: System, merged: System) -> IntArray | None:
    """The place in `system` of every profile of `merged`, or nothing if the two do not have the same profiles."""
    if set(system.axes) != set(merged.axes) or len(system.codes) != len(merged.codes):
        return None
    columns = []
    for axis, names in zip(system.axes, system.categories, strict=True):
        column, index = merged.axes.index(axis), {name: code for code, name in enumerate(names)}
        codes = np.array([index.get(name, -1) for name in merged.categories[column]], dtype=np.int64)
        columns.append(codes[merged.codes[:, column]])
    named = np.stack(columns, axis=1)
    if (named < 0).any():
        return None
    # One call for both: where keys would overflow, they are numbered, and must be numbered alike.
    keys = row_keys(np.concatenate([system.codes, named]), [len(names) for names in system.categories])
    ours, theirs = keys[: len(named)], keys[len(named) :]
    places = np.argsort(ours)[np.argsort(np.argsort(theirs))]
    return places if (ours[places] == theirs).all() else None
