"""The tables that were audited as coloured tables: what could be inferred in red, and for each gap its interval."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from safemargin.audit.situation import Attempt, Finding
from safemargin.bounds import Exposure, bound_cell, extreme_pairs
from safemargin.core import UNBOUNDED, BoolArray, InputError, Onlooker, PublishedTable, Target, frozen
from safemargin.ui import CountNote, CountTable, Key, count_range, crosstab, plural

MOST_CELLS = 60_000
"""Counts of a table that is drawn."""
LISTED = 8
"""Cells that differ between two extreme tables, as the drawer lists them."""
MOST_FIXES, MOST_TRIES = 12, 6
"""Cells for which one more gap is tried, and how many of them; each try bounds the cell anew."""


def coloured_tables(
    tables: Sequence[PublishedTable],
    exposure: Exposure,
    printed: BoolArray | None,
    attempts: Sequence[Attempt],
    target: Target,
    *,
    slack: int = 0,
    noted: bool = False,
) -> Iterator[CountTable]:
    """Every table that is no margin of another; the others are the totals.

    With `noted`, each gap has its two extreme tables and, where the count follows, one more gap that would hide it.
    """
    findings = {_key(finding): finding for attempt in attempts for finding in attempt.findings}
    known = _known(exposure, printed)
    details = [table for table in tables if not _is_margin(table, tables) and len(table.lower) <= MOST_CELLS]
    for table in details:
        inside = {key for key in known if {axis for axis, _ in key[0]} == set(table.axes)}
        notes = {}
        if noted and inside:
            own = {key: value for key, value in known.items() if key in inside}
            notes = _notes(tables, table, exposure, own, findings, target, slack)
        yield crosstab(table, tables, known=known, exposed=findings.keys(), notes=notes)


def _key(finding: Finding) -> Key:
    return frozenset(finding.cell.items()), finding.option or ""


def _is_margin(table: PublishedTable, tables: Sequence[PublishedTable]) -> bool:
    """Whether another table has all its axes and more, and this one has neither gap nor range nor noise."""
    is_plain = all(status in ("exact", "merged") for status in table.status)
    return is_plain and any(set(table.axes) < set(other.axes) for other in tables)


def _known(exposure: Exposure, printed: BoolArray | None) -> dict[Key, tuple[int, int]]:
    """The intervals of cells that no table prints."""
    options = exposure.options or ("",)
    rows = np.arange(len(exposure.cells)) if printed is None else np.flatnonzero(~printed)
    known: dict[Key, tuple[int, int]] = {}
    for row in rows.tolist():
        cell = frozenset(exposure.cells.cell(row).items())
        for column, option in enumerate(options):
            known[cell, option] = int(exposure.lower[row, column]), int(exposure.upper[row, column])
    return known


def _notes(
    tables: Sequence[PublishedTable],
    table: PublishedTable,
    exposure: Exposure,
    known: Mapping[Key, tuple[int, int]],
    findings: Mapping[Key, Finding],
    target: Target,
    slack: int,
) -> dict[Key, CountNote]:
    options = exposure.options or ("",)
    names: dict[int, str] = {}
    places: dict[Key, int] = {}
    for row in range(len(exposure.cells)):
        cell = exposure.cells.cell(row)
        for column, option in enumerate(options):
            place = row * len(options) + column
            places[frozenset(cell.items()), option] = place
            names[place] = ", ".join([*cell.values(), *([option] if option else [])])
    wanted = [places[key] for key in known if key in places]
    pairs = extreme_pairs(tables, exposure, wanted, slack)
    notes, tried = {}, 0
    for key, (low, high) in sorted(known.items(), key=lambda item: item[0] not in findings):
        place = places[key]
        differing = [(names[other], lowest, highest) for other, lowest, highest in pairs.get(place, [])[:LISTED]]
        if key in findings:
            why = findings[key].words
            fix = ""
            if low == high and tried < MOST_FIXES and len(table.lower) <= 2_000:
                fix, tried = _fix(tables, table, exposure.onlooker, key, target, slack), tried + 1
            notes[key] = CountNote(names[place], [f"{why[:1].upper()}{why[1:]}."], differing, fix)
        elif differing:
            more = len(pairs[place]) - len(differing)
            left = [f"{more:,} further cells differ."] if more > 1 else []
            notes[key] = CountNote(names[place], left, differing, known=f"Anybody can infer: {count_range(low, high)}.")
    return notes


def _fix(
    tables: Sequence[PublishedTable], table: PublishedTable, onlooker: Onlooker, key: Key, target: Target, slack: int
) -> str:
    """One more count, in the same row or column, without which this one cannot be inferred; it is bounded anew."""
    cell, option = dict(key[0]), key[1]
    found = []
    for row in range(len(table.lower)):
        other = table.cell(row)
        named = table.options[table.option[row]] if table.option[row] >= 0 else ""
        apart = sum(other[axis] != cell[axis] for axis in table.axes) + (named != option)
        if apart == 1 and table.status[row] in ("exact", "merged") and table.lower[row] > 0:
            found.append((int(table.lower[row]), row, ", ".join([*other.values(), *([named] if named else [])])))
    for count, row, name in sorted(found)[:MOST_TRIES]:
        upper = np.array(table.upper)
        lower = np.array(table.lower)
        lower[row], upper[row] = 0, UNBOUNDED
        status = tuple("suppressed" if place == row else each for place, each in enumerate(table.status))
        changed = replace(table, lower=frozen(lower), upper=frozen(upper), status=status)
        others = [changed if each is table else each for each in tables]
        asked = cell | ({"option": option} if option else {})
        try:
            exposure, extremes = bound_cell(others, onlooker, asked, target, slack=slack, attain=False)
        except InputError:
            continue
        low, high = extremes.ends
        if high > low:
            return f"Suppress {name} too ({plural(count, 'person')}). Then this count is {count_range(low, high)}."
    return "No single count in its row or column that was tried is enough. The command suppress finds the fewest."
