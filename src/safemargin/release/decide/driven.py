"""Reasons from whole tables: a cell is driven towards one answer until the rule first does what the release shows.

Objects
    T0, T1      integer and real tables that agree with the release P: one as usual as can be, and one in which a cell
                of a merged group and a published group has as many of one answer as agree with P
    T(u)        the integer table that rounding finds near (1 - u) T0 + u T1
    X           the sums of all groups of the merged blocks, as T(u) has them

Why
    With two options a count of one group alone puts a cell beyond a limit (`rerun.ExplanationSearch`). With more, the
    counts of several options do so together, and counts that are made up for one axis contradict those of another. The
    sums of a whole table agree with P by construction. The smallest u for which the rule comes to P is looked for by
    halving: there the cell is just beyond the strict limits, where it may still be within those of the target.

Statement
    X fixes the sums of all groups of the merged blocks, so every table that agrees with P and X takes the same steps as
    T(u), which come to P (`rerun.py`). Nothing rests on how T(u) was found.

Invariants
    * Only the release, the roll and the rule are read; seeds are fixed. The work is bounded by a number of tables, none
      for large systems.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from safemargin.bounds import Rounder, System, build_system, program_of, propagate, some_table
from safemargin.core import (
    BoolArray,
    ContradictionError,
    FloatArray,
    Generator,
    Group,
    IntArray,
    PublishedTable,
    merged_margin,
    numpy_generator,
)
from safemargin.release.decide.possible_tables import votes_by_axis
from safemargin.release.rule.steps import plainly_exposed
from safemargin.release.witnesses import listed_tables

if TYPE_CHECKING:
    from safemargin.release.decide.rerun import ExplanationSearch

MOST_DRIVEN, HALVINGS, MOST_BLOCKS, WORK, SEED = 24, 6, 2, 40_000, 20_300
"""Cells that are driven, fewer where `WORK` counts are fewer than that many systems have; steps for each; and merged
blocks up to which this is tried: with more, hardly ever one table explains all."""
WITHOUT_PARTNER = 0.2
"""How often a whole group is driven and not its cell with another."""


def driven_tables(search: "ExplanationSearch") -> Iterator[tuple[list[IntArray], tuple[PublishedTable, ...]]]:
    """Votes by axis that lead to the release, with the sums of the merged blocks' groups."""
    counts = len(search.roll.codes) * len(search.totals)
    tries = min(MOST_DRIVEN, WORK // counts)
    if not tries or len(search.blocks) > MOST_BLOCKS or any(cover.hides for cover in search.rule.covers):
        return
    system = build_system(search.candidate.tables(search.rule.table), search.rule.onlookers[0])
    usual, rounder = some_table(system), Rounder(system)
    if usual is None or not rounder.possible:
        return
    program, generator = program_of(system, *propagate(system)), numpy_generator(SEED)
    unmoved = _first(search, _votes(search, system, usual))[0]
    for _ in range(tries):
        cost = sum((_driven(search, system, generator, block) for block in range(len(search.blocks))), start=0.0)
        extreme = program.vertex(np.asarray(cost).ravel())
        low, high, found = 0.0, 2.0, None
        for _ in range(HALVINGS):  # the first step takes the extreme itself
            share = (low + high) / 2
            counts_near = rounder.round(usual * (1 - share) + extreme * share)
            if counts_near is None:
                break
            votes = _votes(search, system, counts_near)
            if _first(search, votes) == (unmoved, False):
                low = share
                if share == 1:
                    break
                continue
            high = share
            if search.leads_here(votes):
                found = votes
        if found is not None:
            yield found, tuple(_sums(search, found))


def _votes(search: "ExplanationSearch", system: System, counts: IntArray) -> list[IntArray]:
    (tally,) = listed_tables([counts], system, search.rule.table.schema)
    return votes_by_axis(search.rule.table, tally)


def _first(search: "ExplanationSearch", votes: list[IntArray]) -> tuple[object, bool]:
    """The first release of these votes, and whether closed forms disclose a cell of it."""
    rule = search.rule.on(votes)
    try:
        first = rule.first()
        return first.key(), bool(plainly_exposed(rule, first).exposed)
    except ContradictionError:
        return (), True


def _driven(search: "ExplanationSearch", system: System, generator: Generator, block: int) -> FloatArray:
    """A cost whose largest value has most of one answer in a cell of a block, drawn by lot."""
    axis, merged = search.blocks[block]
    groups = [part.whole for part in merged.children] + list(merged.groups)
    inside = _members(search, system, axis, groups[int(generator.integers(len(groups)))])
    others = [(a, g) for a, s in enumerate(search.candidate.splits) if a != axis and s.is_published for g in s.groups]
    if others and generator.random() >= WITHOUT_PARTNER:
        inside = inside & _members(search, system, *others[int(generator.integers(len(others)))])
    cost = np.zeros((len(system.codes), system.n_free_options))
    option = int(generator.integers(len(search.totals)))
    if option < system.n_free_options:
        cost[inside, option] = 1.0
    else:  # the option that the others leave
        cost[inside] = -1.0
    return cost


def _members(search: "ExplanationSearch", system: System, axis: int, group: Group) -> BoolArray:
    column = system.axes.index(search.rule.table.schema.names[axis])
    named = np.array([label in group for label in system.categories[column]])
    return np.asarray(named[system.codes[:, column]], dtype=bool)


def _sums(search: "ExplanationSearch", votes: list[IntArray]) -> Iterator[PublishedTable]:
    """The sums of all groups of the merged blocks of every axis, beside what is published of it."""
    table = search.rule.on(votes).table
    for axis, split in enumerate(search.candidate.splits):
        own = [block for place, block in search.blocks if place == axis]
        if own:
            merged: Group = frozenset().union(*(block.whole for block in own))
            parts = [group for group in split.groups if not group <= merged]
            yield merged_margin(table, split.axis.name, (*parts, *(group for block in own for group in block.groups)))
