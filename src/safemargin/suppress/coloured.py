"""The tables of a pattern as coloured tables, with primary and secondary gaps: for the office, not for the public.

Objects
    kind        of a gap: primary (its count is small) or secondary (it covers others); printed cells have none
    move        a change that leads to another table with the same printed counts (`moves.py`)
    note        per gap two such tables: one with its lowest count among the moves, one with its highest

The colours would disclose which gaps are primary, so these tables are never in what is published. A note says what
nobody can exclude, not what the true count is, though the office's own page may print that as its price.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from safemargin.core import Lattice
from safemargin.suppress.pattern import Pattern
from safemargin.ui import CountCell, CountNote, CountTable, Key, layout, pivot, plural

MOST_CELLS, MOST_NOTES = 60_000, 200
"""Cells of a table that is drawn, and gaps that have a note."""
LISTED = 8
"""Cells that differ between two tables, as a note lists them."""
Cell = frozenset[tuple[str, str]]


def coloured_patterns(pattern: Pattern, names: Sequence[str], noted: bool = False) -> Iterator[CountTable]:
    """Every table with its gaps; with `noted`, each gap has two tables that print the same."""
    kinds = ("secondary", "primary")
    hidden = dict(zip(pattern.suppressed.tolist(), pattern.is_primary.tolist(), strict=True))
    for name, table, numbers in zip(names, pattern.tables.tables, pattern.tables.cell_ids, strict=False):
        if table.counts.size > MOST_CELLS:
            continue
        ids = numbers.ravel().tolist()
        given = [
            CountCell(None, kinds[hidden[cell_id]]) if cell_id in hidden else CountCell(count)
            for cell_id, count in zip(ids, table.counts.ravel().tolist(), strict=True)
        ]
        notes = _notes(pattern, table, ids, hidden) if noted else None
        yield _crossed(name, table, given, notes)


def _crossed(name: str, table: Lattice, given: Sequence[CountCell], notes: dict[Key, CountNote] | None) -> CountTable:
    """One table: sums over the axis across, and over all others together, are totals; other sums are rows."""
    categories = {tree.name: list(tree.labels[1:]) or list(tree.labels) for tree in table.trees}
    across, axes = layout(categories, has_options=False)
    if len(axes) > 1:
        categories |= {tree.name: list(tree.labels) for tree in table.trees if tree.name != across}
    values: dict[Key, CountCell] = {}
    printed: dict[Cell, CountCell] = {}
    for cell, summed, count in zip(*_cells(table), given, strict=True):
        if summed >= set(axes):  # the row of totals
            printed[frozenset(part for part in cell if part[0] == across and across not in summed)] = count
        elif across in summed:  # the column of totals
            printed[frozenset(part for part in cell if part[0] != across)] = count
        else:
            values[cell, ""] = count
    return pivot(name, categories, values, printed=printed, notes=notes, sums=False)


def _cells(table: Lattice) -> tuple[list[Cell], list[set[str]]]:
    """Every cell by its labels, in the order of the array, and the axes that it is summed over.

    A node 0 with splits is the sum over its axis; an axis of one node only is never summed over.
    """
    cells, summed = [], []
    for codes in product(*(range(len(tree.labels)) for tree in table.trees)):
        pairs = list(zip(table.trees, codes, strict=True))
        cells.append(frozenset((tree.name, tree.labels[code]) for tree, code in pairs))
        summed.append({tree.name for tree, code in pairs if not code and tree.splits})
    return cells, summed


def _notes(pattern: Pattern, table: Lattice, ids: Sequence[int], hidden: dict[int, bool]) -> dict[Key, CountNote]:
    """Two tables that print the same, for each gap of a table: they are moves of the proof."""
    size, numbers = len(pattern.tables.counts), pattern.hidden.tolist()
    base = dict(zip(numbers, pattern.counts.tolist(), strict=True))
    by_cell: dict[int, list[dict[int, int]]] = {}
    for move in pattern.moves:
        steps = {numbers[place]: step for place, step in move}
        for cell_id in steps:
            by_cell.setdefault(cell_id, []).append(steps)
    notes: dict[Key, CountNote] = {}
    for cell_id, cell in zip(ids, _cells(table)[0], strict=True):
        if cell_id not in hidden or len(notes) == MOST_NOTES:
            continue
        reached: list[dict[int, int]] = sorted([{}, *by_cell.get(cell_id, [])], key=lambda steps: steps.get(cell_id, 0))
        low, high = reached[0], reached[-1]
        moved = [each for each in dict.fromkeys([cell_id, *low, *high]) if each < size]
        differing = [
            (pattern.tables.name(each), base[each] + low.get(each, 0), base[each] + high.get(each, 0))
            for each in moved
            if low.get(each, 0) != high.get(each, 0)
        ]
        first, last = (base[cell_id] + steps.get(cell_id, 0) for steps in (low, high))
        said = f"Nobody who reads the tables can exclude {first:,}, nor {last:,}."
        price = _price(pattern, base[cell_id], hidden[cell_id])
        notes[cell, ""] = CountNote(pattern.tables.name(cell_id), [said], differing[:LISTED], price=price)
    return notes


def _price(pattern: Pattern, count: int, is_primary: bool) -> str:
    """What the gap costs; whether it could be printed is said only where no pattern has fewer gaps."""
    others = len(pattern.suppressed) - int(pattern.is_primary.sum())
    if is_primary:
        hiding = f"{plural(others, 'other count')} {'is' if others == 1 else 'are'} not printed to hide all small ones"
        return f"A small count, {count:,}, is not printed. {hiding}."
    if pattern.gap == 0 and not pattern.extra:
        return f"The count {count:,} is not printed. It cannot be spared: no pattern with fewer gaps protects all."
    return f"The count {count:,} is not printed; it helps to hide the small ones."
