"""Who would be exposed if every table that is asked for were published exactly: names, sizes, reasons, and a map."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.core import InputError, IntArray, Limits, Table, Target
from safemargin.release.plan import Wanted
from safemargin.ui import Map, Square, named_cell_label, percent, plural

MOST_COLUMNS = 130
"""Columns of a map; where an axis has more categories, those with somebody exposed come first."""
EXPECTED, MANY = 10, 0.2
"""How many people of a group would give an answer by its share of all people, where nobody does (by chance: e^-10), and
the share of the groups of an axis in which that happens before a hint is shown."""
ONLY = "only"
KINDS = {"exposed": "exposed if published exactly", "within": "within the limits"}


@dataclass(frozen=True)
class ExposedCell:
    """A group that would miss the target, and why; `small` says that its size alone does."""

    cell: dict[str, str] = field(hash=False)
    people: int
    why: str
    small: bool
    rare: bool = False
    """Whether it misses the target since too few chose an option, which is no sign of one mind."""


@dataclass(frozen=True)
class ExposedGroup:
    """Every group of the tables asked for that would miss the target, the people in them, and the map of two axes."""

    cells: tuple[ExposedCell, ...] = ()
    people: int = 0
    map: Map | None = None
    hint: str = ""
    """What the data may hold that no limit can mend."""


def exposed(table: Table, target: Target, margins: Sequence[tuple[str, ...]] = ()) -> ExposedGroup:
    """Judge every cell of every axis, of `margins`, and of both axes where there are two."""
    names = table.schema.names
    asked = list(dict.fromkeys([*((name,) for name in names), *margins, *([tuple(names)] if len(names) == 2 else [])]))
    people = int(table.people(()).counts.sum()) if table.roll else int(table.totals.sum())
    limits = target.limits(table.totals.tolist(), people, table.schema.options)
    cells: list[ExposedCell] = []
    listed: set[tuple[tuple[str, ...], ...]] = set()
    for axes in asked:
        for cell in _judged(table, axes, limits) or ():
            within = [(axis,) for axis in axes if len(axes) > 1 and ((axis,), (cell.cell[axis],)) in listed]
            key = (axes, tuple(cell.cell.values()))
            if cell.why and not within:  # a part of a group that is listed adds nobody
                listed.add(key)
                cells.append(cell)
    found = tuple(sorted(cells, key=lambda cell: (cell.small, -cell.people)))
    hint = next((hint for name in names if (hint := _several_contests(table, name, limits))), "")
    return ExposedGroup(found, _people_in(table, found), _map(table, limits), hint)


def asked_cells(table: Table, wanted: Sequence[Wanted]) -> dict[str, int]:
    """By table of several axes: how many combinations of categories somebody on the roll has."""
    margins = [margin for margin in wanted if len(margin.axes) > 1]
    return {margin.name: int((table.people(margin.axes).counts[:, 0] > 0).sum()) for margin in margins}


def _several_contests(table: Table, axis: str, limits: Limits) -> str:
    """A sentence, where many groups of an axis have nobody with an answer that many people gave."""
    votes = table.margin((axis,)).counts
    expected = votes.sum(axis=1, keepdims=True) * (table.totals / max(table.totals.sum(), 1)) >= EXPECTED
    absent, groups = ((votes == 0) & expected).sum(axis=0), expected.sum(axis=0)
    often = np.where(absent >= np.maximum(MANY * groups, 2), absent, 0)
    if len(table.schema.options) < 2 or not often.max():
        return ""
    option = int(often.argmax())
    return (
        f"In {absent[option]:,} of {plural(int(groups[option]), 'large group')} of {axis} nobody chose "
        f"{table.schema.options[option]}: if the data hold several contests, release each by itself (contest, in the "
        "section [data] of a project)."
    )


def judge(table: Table, target: Target, axes: tuple[str, ...]) -> list[ExposedCell]:
    """Every cell with people over `axes`; `why` says how it would miss the target if it were published exactly."""
    people = int(table.people(()).counts.sum()) if table.roll else int(table.totals.sum())
    cells = _judged(table, axes, target.limits(table.totals.tolist(), people, table.schema.options))
    if cells is None:
        raise InputError(f"{' x '.join(axes)}: sealed tallies do not say how answers and these axes go together")
    return [cell for cell in cells if cell.people]


def _judged(table: Table, axes: tuple[str, ...], limits: Limits) -> list[ExposedCell] | None:
    """Every cell with people over `axes`, with the reason why it misses the target, if it does."""
    try:
        votes, roll = table.margin(axes), table.people(axes)
    except InputError:  # sealed tallies do not know these axes jointly
        return None
    sizes = {tuple(code): int(count) for code, count in zip(roll.codes.tolist(), roll.counts.ravel(), strict=True)}
    size = np.array([sizes.get(tuple(code), 0) for code in votes.codes.tolist()], dtype=np.int64)
    size = np.maximum(size, votes.counts.sum(axis=1))
    bad = (limits.verdicts(votes.counts, votes.counts, size) == 2) & (size > 0)[:, None]
    categories = [table.schema.axis(axis).categories for axis in axes]
    cells = []
    for row, codes in enumerate(votes.codes.tolist()):
        cell = {axis: names[code] for axis, names, code in zip(axes, categories, codes, strict=True)}
        small = bool(0 < size[row] < limits.kappa)
        why = _why(votes.counts[row], int(size[row]), table.schema.options, limits) if bad[row].any() or small else ""
        cells.append(ExposedCell(cell, int(size[row]), why, small, why.startswith(ONLY)))
    return cells


def _why(counts: IntArray, people: int, options: Sequence[str], limits: Limits) -> str:
    """The reason in words: the size, or the share that is farthest outside."""
    if people < limits.kappa:
        return f"{plural(people, 'person')}, fewer than {limits.kappa:,}"
    shares, options = limits.columns(counts) / max(people, 1), (*options, *limits.names)
    above = [share - float(ceiling) for share, ceiling in zip(shares, limits.ceilings, strict=True)]
    top = int(np.argmax(above))
    if above[top] > 0 or not len(options):
        return f"{percent(float(shares[top]))} chose {options[top] if len(options) else 'it'}"
    below = [float(floor) - share for share, floor in zip(shares, limits.floors, strict=True)]
    low = int(np.argmax(below))
    return f"{ONLY} {percent(float(shares[low]))} chose {options[low]}"


def _people_in(table: Table, cells: Sequence[ExposedCell]) -> int:
    """How many people are in at least one of the cells; at least so many, where the roll is not known jointly."""
    if not table.knows_composition:
        return max((cell.people for cell in cells), default=0)
    roll = table.people(table.schema.names)
    inside = np.zeros(len(roll.codes), dtype=bool)
    for cell in cells:
        here = np.ones(len(inside), dtype=bool)
        for axis, name in cell.cell.items():
            here &= roll.codes[:, roll.axes.index(axis)] == table.schema.axis(axis).index[name]
        inside |= here
    return int(roll.counts[inside].sum())


def _map(table: Table, limits: Limits) -> Map | None:
    """All cells of the longest axis crossed with the shortest other one."""
    axes = sorted(table.schema.axes, key=lambda axis: len(axis.categories))
    if len(axes) < 2:
        return None
    row, column = axes[0], axes[-1]
    cells = _judged(table, (column.name, row.name), limits)
    if cells is None:
        return None
    cells = [cell for cell in cells if cell.people]
    exposed_columns = {cell.cell[column.name] for cell in cells if cell.why}
    shown = sorted(column.categories, key=lambda name: name not in exposed_columns)[:MOST_COLUMNS]
    kept = [name for name in column.categories if name in set(shown)]
    largest = max((cell.people for cell in cells), default=1)
    squares = [square(cell, row.name, column.name, largest) for cell in cells if cell.cell[column.name] in set(shown)]
    cut = "" if len(kept) == len(column.categories) else f" ({len(kept)} of {len(column.categories):,} shown)"
    return Map(f"Every {column.name} by {row.name}{cut}", list(row.categories), kept, squares, KINDS)


def square(cell: ExposedCell, row: str, column: str, largest: int) -> Square:
    """A cell on a map of two axes whose largest cell has so many people."""
    return Square(
        cell.cell[row],
        cell.cell[column],
        (cell.people / largest) ** 0.5,
        "exposed" if cell.why else "within",
        f"{named_cell_label(cell.cell)}: {plural(cell.people, 'person')}; {cell.why or 'within the limits'}.",
    )
