"""One cell at a time: its interval, and two tables that everything public allows, one at either end of it.

Objects
    cell        categories of some axes; `option` as a key names one option of it
    extremes    integer tables with the lowest and the highest count of that option, over the axes of the cell

Method
    Small systems: the interval is settled over all axes, and its proof has both tables (`proof.py`).
    Large systems: the interval is that of the tables, roll and facts about the axes of the cell alone. These are fewer
    facts, so the interval may be too wide, never too narrow. Tables over all axes come from a first one by exchanges
    towards either end, and may stop before it; `short_words` says so.

What callers may rely on
    * Every table shown passed `System.admits` on the whole system.
    * `integer` is true only if both tables attain both ends.
    * Extremes of an office's own data start from the unpublished counts if nothing else is found: confidential.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.cells import with_rest
from safemargin.bounds.conflict import explained
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import CellIndex, Exposure
from safemargin.bounds.first_table import some_table
from safemargin.bounds.methods import settle
from safemargin.bounds.proof import prove
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.search import Settled, Targets
from safemargin.bounds.system import System, complete, stated_population, stated_totals
from safemargin.bounds.targets import cells_asked, people_of, targets_of
from safemargin.core import (
    VERDICTS,
    BoolArray,
    ContradictionError,
    InputError,
    IntArray,
    Onlooker,
    Progress,
    PublishedTable,
    Table,
    Target,
    Verdict,
    exact_margins,
    frozen,
    no_progress,
    numpy_generator,
    onlooker_with_roll,
)
from safemargin.ui import Document, Grid, Paragraph, Part, Section, cell_label, count_range, plural

OPTION = "option"
"""The key of a cell that names an option; it is reserved, so no axis is called so."""
SEED = 40_000
"""Of the exchanges that lead to extreme tables: the same cell gives the same tables everywhere."""


@dataclass(frozen=True)
class Extremes:
    """Integer tables with the lowest and the highest count of one option in one cell that were found.

    Both agree with everything public. They are counts per cell (row) over the axes of the cell, and option (column);
    None where no integer table was found. Made with the roll and unpublished counts, they are confidential.
    """

    option: str
    cells: CellIndex
    row: int
    options: tuple[str, ...]
    ends: tuple[int, int]
    """The interval of the option in the cell."""
    lowest: IntArray | None = field(hash=False, compare=False)
    highest: IntArray | None = field(hash=False, compare=False)


def bound_cell(
    public: Table | Sequence[PublishedTable],
    onlooker: Onlooker | None,
    cell: Mapping[str, str],
    target: Target,
    *,
    slack: int = 0,
    attain: bool = True,
    progress: Progress = no_progress,
) -> tuple[Exposure, Extremes]:
    """The interval of every option of one cell, and the extreme tables of the option that `cell` names.

    `cell` gives a category for some axes, and an option under the key `option`. Where it names none, the tables are
    those of the option that is disclosed, or else known best. Unless `attain`, no tables are looked for, and intervals
    of large populations may be too wide. Given a `Table` instead of published ones, every margin of it counts as
    public.

    In the running example, of ten old people in N at least 2 said yes, since only 10 of the 12 others can have:

    >>> from safemargin.core import table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> cell = {"district": "N", "age": "old", "option": "yes"}
    >>> exposure, extremes = bound_cell(table, None, cell, Target(beta=0.1, kappa=10, tau=2))
    >>> extremes.ends, extremes.lowest[0].tolist(), extremes.highest[0].tolist()
    ((2, 10), [2, 8], [10, 0])
    """
    counted = public if isinstance(public, Table) else None
    if isinstance(public, Table):
        onlooker = onlooker or onlooker_with_roll(public, "joint")
        slack = slack or public.inconsistency.slack(int(public.totals.sum()))
        public = exact_margins(public)
    onlooker = onlooker or Onlooker()
    asked = tuple(axis for axis in cell if axis != OPTION)
    try:
        system = build_system(public, onlooker, slack)
        cells, cell_of = cells_asked(system, asked)
        row, option = _row(cells, cell), _option(system, cell)
        is_large = system.size > EFFORT.sharp_counts and system.people is not None
        # Few axes first: linear programs over 80,000 counts take minutes, and facts about other axes seldom matter.
        inner = _projected(system, public, onlooker, cells, cell_of, slack) if is_large else system
        places = cells_asked(inner, asked)[1]
        width = len(system.options)
        targets = targets_of(inner, places, len(cells))
        settled = settle(inner, _some(targets, range(row * width, (row + 1) * width)), progress)
        exposure = _exposure(system, public, onlooker, cells, cell_of, row, settled, integer=not is_large)
        option = _worst(exposure, target) if option is None else option
        ends = int(settled.lower[option]), int(settled.upper[option])
        tables: list[IntArray | None] = [None, None]
        if attain and is_large:
            targets = targets_of(system, cell_of, len(cells))
            start = some_table(system)
            # The counts themselves are a table too; they are the office's own, and the result is confidential.
            start = _counted(system, counted) if start is None and counted is not None else start
            tables = _by_exchanges(system, targets, cell_of == row, row * width + option, ends, start)
            exposure.integer[0, option] = _reaches(tables, targets, row * width + option, ends)
        elif attain:
            tables = _attained(inner, targets, row * width + option, *ends)
    except ContradictionError as error:
        raise explained(error, public, onlooker, slack) from None
    shape = (len(cells), width)
    lowest, highest = (None if table is None else targets.of(table).reshape(shape) for table in tables)
    return exposure, Extremes(system.options[option], cells, row, exposure.options, ends, lowest, highest)


def _exposure(
    system: System,
    public: Sequence[PublishedTable],
    onlooker: Onlooker,
    cells: CellIndex,
    cell_of: IntArray,
    row: int,
    settled: Settled,
    integer: bool,
) -> Exposure:
    """The exposure of the one cell; `integer` is false where tables over all axes are still to be found.

    `settled` has the ends of this cell's options only, so the exposure has one row.
    """
    people = people_of(system, onlooker, cells, cell_of)
    return Exposure(
        cells=CellIndex(cells.axes, cells.categories, cells.codes[[row]]),
        options=() if system.options == ("",) else system.options,
        people=None if people is None else people[[row]],
        lower=settled.lower[None, :],
        upper=settled.upper[None, :],
        integer=settled.integer[None, :] & integer,
        method=settled.method[None, :],
        onlooker=onlooker,
        totals=stated_totals(system, (*public, *complete(onlooker))),
        population=stated_population(system, onlooker.roll),
        complete=settled.complete,
    )


def _projected(
    system: System,
    public: Sequence[PublishedTable],
    onlooker: Onlooker,
    cells: CellIndex,
    cell_of: IntArray,
    slack: int,
) -> System:
    """What the tables, the roll and the facts about the axes of `cells` alone allow: fewer facts, so no less.

    A relaxation: every table of the whole system, summed over the other axes, satisfies the smaller one. So its
    intervals hold, and its witnesses are tables over few axes only, which is why `bound_cell` looks for others.
    """
    assert system.people is not None
    people = np.bincount(cell_of, system.people, minlength=len(cells)).astype(np.int64)
    roll = _stated("roll", cells, people[:, None], (), measure="people")
    inside = [table for table in public if set(table.axes) <= set(cells.axes)]
    facts = tuple(fact for fact in onlooker.facts if set(fact.axes) <= set(cells.axes))
    return build_system(inside, Onlooker(onlooker.name, (roll,), facts), slack)


def _by_exchanges(
    system: System, targets: Targets, inside: BoolArray, place: int, ends: tuple[int, int], start: IntArray | None
) -> list[IntArray | None]:
    """Integer tables over all axes as near to either end as exchanges of answers lead from `start`.

    Returns the lowest and the highest table that were met so far, each checked by addition; the start itself if no
    exchange improves on it, and nothing if there is no start. Exchanges lean towards the end (`EFFORT.tilt`).
    """
    if start is None or not (rounder := Rounder(system)).possible:
        return [start, start]
    cell, option = _some(targets, [place]), place % len(system.options)
    tables: list[IntArray | None] = []
    for end, way in zip(ends, (-1, 1), strict=True):
        want = np.zeros((len(system.codes), len(system.options)))
        want[inside, option] = EFFORT.tilt * way
        best = table = start
        generator = numpy_generator(SEED)
        for _ in range(EFFORT.shuffles + EFFORT.rounds):
            if int(cell.of(best)[0]) == end:
                break
            table = rounder.exchanges.shuffle(table, with_rest(want, system.reference), generator)
            if system.admits(table) and way * int(cell.of(table)[0] - cell.of(best)[0]) > 0:
                best = table
        tables.append(best)
    return tables


def _counted(system: System, table: Table) -> IntArray | None:
    """The counts that were made, as a table of the system; None where they are not known by all axes together.

    The office's own data, not a guess: what is made from it is confidential.
    """
    try:
        votes = table.margin(system.axes)
    except InputError:  # sealed tallies
        return None
    names = [table.schema.axis(axis).categories for axis in system.axes]
    position = {
        tuple(listed[code] for listed, code in zip(names, codes, strict=True)): row
        for row, codes in enumerate(votes.codes.tolist())
    }
    counts = np.zeros((len(system.codes), system.n_free_options), dtype=np.int64)
    for profile, codes in enumerate(system.codes.tolist()):
        row = position.get(tuple(listed[code] for listed, code in zip(system.categories, codes, strict=True)))
        if row is not None:
            counts[profile] = votes.counts[row, : system.n_free_options]
    flat: IntArray = counts.ravel()
    return flat if system.admits(flat) else None


def _reaches(tables: Sequence[IntArray | None], targets: Targets, place: int, ends: tuple[int, int]) -> bool:
    """Whether the tables attain both ends."""
    return all(
        table is not None and int(targets.of(table)[place]) == end for table, end in zip(tables, ends, strict=True)
    )


def _stated(
    name: str, cells: CellIndex, counts: IntArray, options: tuple[str, ...], measure: str = "count"
) -> PublishedTable:
    """Counts of cells (rows) and options (columns) as a table that states them exactly."""
    rows, columns = counts.shape
    numbers = frozen(counts.ravel())
    option = np.tile(np.arange(columns), rows) if any(options) else np.full(rows, -1)
    return PublishedTable(
        name,
        cells.axes,
        tuple(tuple(frozenset([text]) for text in names) for names in cells.categories),
        frozen(np.repeat(cells.codes, columns, axis=0), len(cells.axes)),
        options if any(options) else (),
        frozen(option),
        numbers,
        numbers,
        ("exact",) * len(numbers),
        measure=measure,
    )


def _row(cells: CellIndex, cell: Mapping[str, str]) -> int:
    """The place of a cell; an error names what is not there."""
    codes = []
    for axis, names in zip(cells.axes, cells.categories, strict=True):
        if cell[axis] not in names:
            shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
            raise InputError(f"cell: {axis} has no category {cell[axis][:60]!r}; there are {shown}")
        codes.append(names.index(cell[axis]))
    found = np.flatnonzero((cells.codes == np.array(codes, dtype=np.int64)).all(axis=1))
    if not len(found):
        raise InputError(f"cell: nobody has {', '.join(f'{axis} {cell[axis]!r}' for axis in cells.axes)}")
    return int(found[0])


def _option(system: System, cell: Mapping[str, str]) -> int | None:
    """The number of the option that a cell names; none if it names none."""
    if OPTION not in cell:
        return None
    if cell[OPTION] not in system.options or system.options == ("",):
        raise InputError(f"cell: there is no option {cell[OPTION][:60]!r}; there are {', '.join(system.options)}")
    return system.options.index(cell[OPTION])


def _some(targets: Targets, rows: Sequence[int]) -> Targets:
    """Some of the targets."""
    kept = list(rows)
    return Targets(targets.matrix[kept], targets.offset[kept], targets.sign[kept])


def _worst(exposure: Exposure, target: Target) -> int:
    """The option that is disclosed, or else the one whose interval is narrowest."""
    disclosed = exposure.verdicts(target)[0] == VERDICTS.index(Verdict.DISCLOSED)
    return int(np.lexsort((exposure.width[0], ~disclosed))[0])


def _attained(system: System, targets: Targets, place: int, lower: int, upper: int) -> list[IntArray | None]:
    """An integer table at either end of one target, each checked by addition; None where none was found."""
    one = _some(targets, [place])
    proofs = prove(system, one, np.array([lower]), np.array([upper]))
    ends = [end[0].witness for end in (proofs.lower, proofs.upper)]
    return [None if number is None else proofs.tables[number] for number in ends]


def extremes_document(extremes: Extremes) -> Document:
    """As a part of the document of `bound --cell`: every cell and option with its count in both tables, None where
    none was
    found.
    """
    cells = []
    for row, column in np.ndindex(len(extremes.cells), max(len(extremes.options), 1)):
        counts = [None if table is None else int(table[row, column]) for table in (extremes.lowest, extremes.highest)]
        named = {"option": extremes.options[column]} if extremes.options else {}
        cells.append({"cell": extremes.cells.cell(row), **named, "lowest": counts[0], "highest": counts[1]})
    named = {"option": extremes.option} if extremes.options else {}
    lower, upper = extremes.ends
    return {"cell": extremes.cells.cell(extremes.row), **named, "lower": lower, "upper": upper, "tables": cells}


def short_words(ends: tuple[int, int], reached: tuple[int, int]) -> str:
    """Why the tables do not attain the ends of the interval; nothing where they do.

    Two causes that cannot be distinguished without a program over all axes, which takes minutes for so many counts: the
    interval is that of the axes of the cell alone, and exchanges of answers may stop before the best table.
    """
    if reached == ends:
        return ""
    return (
        f"The interval is {count_range(*ends)}; tables were found for {count_range(*reached)}. With so many "
        "cells, the interval follows from the tables of these axes alone and may be too wide, and not every table is "
        "looked at. No count outside the interval is possible."
    )


def extremes_parts(extremes: Extremes, limit: int) -> list[Part]:
    """The two tables side by side: the cell itself, then what differs most; at most `limit` rows."""
    if extremes.lowest is None or extremes.highest is None:
        missing = "lowest" if extremes.lowest is None else "highest"
        return [Paragraph(f"No integer table for the {missing} count was found; the interval holds.", "warning")]
    column = extremes.options.index(extremes.option) if extremes.options else 0
    reached = [int(table[extremes.row, column]) for table in (extremes.lowest, extremes.highest)]
    gap = np.abs(extremes.highest - extremes.lowest)
    gap[extremes.row] += gap.sum() + 1  # first of all
    places = [int(place) for place in np.argsort(-gap.ravel(), kind="stable") if gap.flat[place]]
    rows: list[list[object]] = []
    for place in places[:limit]:
        row, column = divmod(place, gap.shape[1])
        option = [extremes.options[column]] if extremes.options else []
        name = cell_label(extremes.cells.cell(row))
        rows.append([name, *option, int(extremes.lowest[row, column]), int(extremes.highest[row, column])])
    named = ["option"] if extremes.options else []
    what = f"The answer '{extremes.option}' in this cell" if extremes.options else "The count of this cell"
    head = f"cell ({', '.join(extremes.cells.axes)})" if extremes.cells.axes else "cell"
    same = gap.size - len(places)
    equal = f" {plural(same, 'count')} of {gap.size:,} {'is' if same == 1 else 'are'} the same in both." if same else ""
    return [
        Section(
            "Two tables that nobody can exclude",
            "Both agree with every published count and with all that the onlooker knows. "
            f"{what} is lowest in the first and highest in the second.{equal}",
            Paragraph(short_words(extremes.ends, (reached[0], reached[1])), "warning"),
            Grid((head, *named, "lowest", "highest"), rows, total=len(places), sortable=True),
        )
    ]
