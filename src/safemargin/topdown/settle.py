"""Tables of whole people, level by level from the widest down; every constraint holds exactly.

Counts of an area may leave its parts without a solution, where constraints of several margins cross. The area is then
marked and settled once more, with its siblings, such that its parts have one; if there is none, the area above is
marked too, and so on. At worst everything is one integer program, so that tables are found whenever there are any.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import InputError, IntArray, TooLargeError
from safemargin.topdown.ahead import Area, Limits, marked_below
from safemargin.topdown.design import Design
from safemargin.topdown.least_squares import LeastSquaresFit
from safemargin.topdown.nonnegative import Infeasible
from safemargin.topdown.tidy import AreaLevel, all_reach


@dataclass(frozen=True)
class SettledLevel:
    """A level that has been gone through: its counts, those above, and by family the areas whose parts were looked at.

    Families without a solution have none.
    """

    table: IntArray
    above: IntArray | None
    ahead: list[frozenset[Area] | None]


def settle(
    design: Design,
    limits: Limits,
    fit: LeastSquaresFit,
    found: Sequence[IntArray] = (),
    advance: Callable[[int, int], None] = lambda level, families: None,
    keep: Callable[[int, IntArray], None] = lambda level, table: None,
    drop: Callable[[], None] = lambda: None,
) -> list[IntArray]:
    """Whole tables of all levels; `found` are those of the first levels that an earlier run kept.

    `keep` is called with every level that is settled. If levels have to be settled again, `drop` is called first, once,
    and every level is kept at the end.
    """
    reachable = all_reach(design, limits)
    levels: list[SettledLevel | None] = [None] * len(design.spine.levels)
    for level, table in enumerate(found):
        above = found[level - 1] if level else None
        levels[level] = SettledLevel(table, above, [frozenset()] * (1 if above is None else len(above)))
    marks: frozenset[Area] = frozenset()
    at, first = len(found), ""
    while at < len(levels):
        here = AreaLevel(design, limits, reachable[at], fit, at, _table(levels[at - 1]) if at else None)
        settled = levels[at] = _settled(here, levels[at], marks, advance)
        failed = {(at - 1, family) for family, ahead in enumerate(settled.ahead) if ahead is None}
        if not failed:
            if not marks:
                keep(at, settled.table)
            at += 1
            continue
        if not marks:
            first = here.words(min(family for _, family in failed))
            drop()
        if at == 0:
            raise InputError(
                f"no whole tables satisfy all exact counts, bounds and earlier tables together: see {first}"
            )
        marks |= failed
        at -= 1
        _check_change(design, levels[at], at, marks, failed)
    tables = [_table(each) for each in levels]
    if marks:
        for level, table in enumerate(tables):
            keep(level, table)
    return tables


def _table(settled: SettledLevel | None) -> IntArray:
    assert settled is not None
    return settled.table


def _settled(
    here: AreaLevel, before: SettledLevel | None, marks: frozenset[Area], advance: Callable[[int, int], None]
) -> SettledLevel:
    """All families of a level; those about which nothing has changed stay."""
    spine, kinds = here.design.spine, here.design.attributes
    table = np.zeros((len(spine.names[here.level]), kinds.cells(kinds.detailed)), dtype=np.int64)
    same = np.zeros(here.families, dtype=bool)
    if before is not None:
        table[:] = before.table
        same[:] = True
        if here.above is not None and before.above is not None:
            same &= (here.above == before.above).all(axis=1)
    looked: list[frozenset[Area] | None] = []
    for family in range(here.families):
        places = here.places(family)
        ahead = marked_below(here.design, here.level, places, marks) if marks else marks
        if before is not None and same[family] and before.ahead[family] == ahead:
            looked.append(ahead)
            continue
        try:
            table[places.start : places.stop] = here.settled(family, ahead)
            looked.append(ahead)
        except Infeasible:
            looked.append(None)
        except TooLargeError as error:
            raise TooLargeError(f"{here.words(family)}: {error}; drop an exact count or a bound that crosses") from None
        advance(here.level, 1)
    return SettledLevel(table, here.above, looked)


def _check_change(
    design: Design, settled: SettledLevel | None, level: int, marks: frozenset[Area], failed: set[Area]
) -> None:
    """Refuse to settle families again that were settled with an eye to the same parts, in vain."""
    assert settled is not None
    parents = design.spine.parents[level]
    for _, place in failed:
        family = int(parents[place]) if level else 0
        places = design.spine.parts(level - 1, family) if level else range(1)
        if settled.ahead[family] == marked_below(design, level, places, marks):
            name = f"{design.spine.levels[level]} {design.spine.names[level][place]!r}"
            raise TooLargeError(f"the parts of {name}: no whole counts were found, and none are known not to exist")
