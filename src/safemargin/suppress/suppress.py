"""Suppress small counts and as few others as possible, so that no onlooker can infer a suppressed count.

Objects
    table       counts with all sums over its axes and areas (`core.Lattice`); several are linked by shared cells
    primary     cells with a count in a range, such as 1 to 3 people: they must not be printed
    pattern     all cells that are not printed; the others are, exactly

Statement
    A pattern protects if every suppressed count takes two values more than tau apart in integer tables that print the
    same: for the public, and for every coalition of insiders who know their own cells. The search ends with such a
    pattern, its moves as proof (`pattern.py`), and a proved lower bound on the size of any.

The road
    read (`read.py`, `found.py`) -> link (`linked.py`) -> what is to be protected (`problem.py`) -> search
    (`search.py`) -> whether rerunning the program discloses more (`rerun.py`) -> write (`report.py`, `written.py`)

Invariants
    * A pattern is returned only with moves that protect every cell of it; else `RefusedError` names the cell.
    * Time decides how many cells more than needed are suppressed, never whether they are protected.
    * What was published before is held together with the new tables; what it discloses already is named, not hidden.

Example
    The smallest table: 1 old woman. Three others must go with her, as every row and every column has a sum.

    >>> from safemargin.core import Hierarchy, lattice
    >>> sex, age = Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"])
    >>> found = find_pattern(lattice([sex, age], [[1, 4], [5, 6]]), (1, 1))
    >>> len(found.suppressed), found.lower_bound, int(found.is_primary.sum())
    (4, 4, 1)
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from safemargin.core import InputError, IntArray, Lattice, Progress, RefusedError, no_progress
from safemargin.io import ReadingOptions, as_reading, read_bytes
from safemargin.suppress.before import EarlierTables
from safemargin.suppress.feasibility import select_moves
from safemargin.suppress.fewest_search import prove_fewest
from safemargin.suppress.found import find_table
from safemargin.suppress.linked import LinkedTables, single
from safemargin.suppress.moves import Problem
from safemargin.suppress.order import axes_by_counts, file_rows
from safemargin.suppress.pattern import Pattern
from safemargin.suppress.problem import build_problem
from safemargin.suppress.read import read_costs, read_linked, table_name
from safemargin.suppress.recording import open_book
from safemargin.suppress.report import PATTERN, Suppression, gaps_csv
from safemargin.suppress.rerun import rerun
from safemargin.suppress.search import LeastPattern, PatternSearch, Unprotectable

SECONDS = 120.0
MAX_NAMED = 10  # cells that a message names


def suppress(
    tables: object,
    primary: tuple[int, int] = (1, 3),
    *,
    hierarchy: Mapping[str, Sequence[Path]] | None = None,
    published: Sequence[Path | str] = (),
    count: str | None = None,
    by: Sequence[str] | None = None,
    protect: int | None = None,
    tau: int = 0,
    insiders: int = 0,
    extra: int | None = None,
    cost: str | None = None,
    keep: Sequence[str] = (),
    seconds: float = SECONDS,
    reading: ReadingOptions | Mapping[str, Any] | Sequence[str] | None = None,
    ledger: Path | str | None = None,
    population: str | None = None,
    cycle: str | None = None,
    progress: Progress = no_progress,
) -> Suppression:
    """Suppress the counts from `primary[0]` to `primary[1]` and as few others as possible.

    `tables` is a table (a file of any format, a DataFrame, an Arrow table or rows as mappings), records that are
    counted `by` some columns, or a list of tables about the same people. `reading` corrects how tables are read.
    `published` are files of tables about them that are public already, `hierarchy` has `.hrc` files by axis, `count` is
    the column of counts, `by` are the axes. `cost` is a column with the cost of suppressing each cell, or `people` for
    its count. `keep` lists margins to print, such as `sex` or `region=north,sex`. `ledger` is a file that remembers the
    tables about each `population`; earlier ones are held together with these, and `write` records these under the name
    `cycle`. For the rest see `find_pattern`. Raises RefusedError if a count cannot be protected.
    """
    book = open_book(ledger, population, cycle, tau, insiders, protect)
    remembered = {} if book is None else book.tables
    several = isinstance(tables, list | tuple) and not (tables and isinstance(tables[0], Mapping))
    sources = list(tables) if several else [tables]  # type: ignore[call-overload]
    earlier = [Path(table) for table in published]
    contents = {path.name: read_bytes(path) for path in earlier}
    for name, content in {name: gaps_csv(table).encode() for name, table in remembered.items()}.items():
        if contents.setdefault(name, content) != content:
            raise InputError(f"{name}: the ledger has another table of this name; rename the file")
        earlier = [path for path in earlier if path.name != name]
    names = _file_names([table_name(source, number) for number, source in enumerate(sources, 1)], list(contents))
    axes = None if by is None else tuple(by)
    column = None if cost == "people" else cost
    said = as_reading(reading)
    found = [None if column or hierarchy else find_table(source, count, axes, said) for source in sources]
    linked = read_linked(
        sources,
        hierarchy or {},
        earlier=earlier,
        remembered=remembered,
        count=count,
        axes=axes,
        cost=column,
        found=found,
    )
    costs = None if column is None else read_costs(linked, sources, hierarchy or {}, count, axes, column)
    pattern = find_pattern(
        linked,
        primary,
        protect=protect,
        tau=tau,
        insiders=insiders,
        extra=extra,
        cost="people" if cost == "people" else costs,
        keep=keep,
        seconds=seconds,
        progress=progress,
    )
    before = linked.names[len(linked.tables) :]
    files = tuple(Path(source) if isinstance(source, str | Path) else None for source in sources)
    rows = file_rows(linked, sources, found, count)
    pattern = replace(pattern, by_labels=axes_by_counts(linked, pattern.suppressed, rows))
    return Suppression(
        pattern, names, {name: contents[name] for name in before}, book, tuple(found), files, count, rows, said
    )


def find_pattern(
    table: Lattice | LinkedTables,
    primary: tuple[int, int] = (1, 3),
    *,
    protect: int | None = None,
    tau: int = 0,
    insiders: int = 0,
    extra: int | None = None,
    cost: IntArray | Literal["people"] | None = None,
    keep: Sequence[str] = (),
    seconds: float = SECONDS,
    progress: Progress = no_progress,
) -> Pattern:
    """Protect the counts from `primary[0]` to `primary[1]`, of inner cells and margins alike.

    The onlooker sees every other cell of all tables, earlier ones included, and knows that zeros are published, so a
    suppressed count is at least one; none may be known to within `tau`. A coalition of `insiders` respondents, who know
    their own cells and whether others are in them, cannot infer any other suppressed count. With `protect`, every
    primary count could be `protect` or more. `extra` cells may be suppressed beyond the fewest, to hide which
    suppressions were primary; by default one in eighty, if more than half of the primary counts are known to be
    primary. Of patterns that cost the same, one with the fewest totals is taken; among equals, chance decides in
    every run. `cost` is that of every cell, 1 by default, or `people` for its count. The search ends after `seconds`.
    """
    least, most = primary
    if not 1 <= least <= most:
        raise InputError(f"primary = {least}-{most}: the first must be at least 1 and not above the last")
    if protect is not None and protect <= most:
        raise InputError(f"protect = {protect}: must be more than the largest primary count, {most}")
    for name, value in (("extra", extra or 0), ("tau", tau), ("insiders", insiders)):
        if value < 0:
            raise InputError(f"{name} = {value}: must be at least 0")
    if not 0 <= seconds < math.inf:
        raise InputError(f"seconds = {seconds}: must be a number of at least 0")
    tables = single(table) if isinstance(table, Lattice) else table
    disclosed: list[int] = []
    before: EarlierTables | None = None
    kept = _kept(tables, keep)
    start = time.monotonic()
    while True:

        def again(of: LinkedTables) -> Problem:
            costs = np.maximum(of.counts, 1) if isinstance(cost, str) else cost
            return build_problem(of, primary, protect, tau, insiders, disclosed, costs, kept)

        problem = again(tables)
        search = PatternSearch(problem, seconds, progress)
        try:
            optimum = search.run(extra)
            break
        except Unprotectable as error:
            # A count may follow from earlier tables alone: then it is named, and the rest protected.
            before = before or (EarlierTables(tables) if tables.earlier else None)
            cell = int(problem.cell_ids[error.cell])
            if before is None or not before.disclose(cell, int(problem.counts[error.cell])):
                raise RefusedError(_refusal(tables, search, error)) from None
            disclosed.append(cell)
    left = seconds - (time.monotonic() - start)
    checked = rerun(tables, problem, optimum, primary, extra, again, left)
    return replace(_pattern(tables, problem, optimum, (primary, protect, tau, insiders), disclosed), rerun=checked)


def _kept(tables: LinkedTables, keep: Sequence[str]) -> list[int]:
    """Cells that secondary suppression may not choose, from `sex` (a margin) or `region=north,sex` (a part of one).

    A text that names an axis or category that is not there is an error: it would keep nothing.
    """
    kept: list[int] = []
    for text in keep:
        terms = dict(term.strip().partition("=")[::2] for term in text.split(","))
        axes = {tree.name: tree.labels for tree in tables.trees}
        for name, label in terms.items():
            if name not in axes or (label and label not in axes[name]):
                what = f"category {label!r} of {name}" if name in axes else f"axis {name!r}"
                raise InputError(f"keep = {text!r}: there is no {what}; the axes are {', '.join(axes)}")
        for cell_id in range(len(tables.nodes)):
            labels = tables.cell(cell_id)
            if labels.keys() == terms.keys() and all(label in ("", labels[name]) for name, label in terms.items()):
                kept.append(cell_id)
    return kept


def _pattern(
    tables: LinkedTables,
    problem: Problem,
    optimum: LeastPattern,
    limits: tuple[tuple[int, int], int | None, int, int],
    disclosed: list[int],
) -> Pattern:
    """What the search found as a value: cells by number, few moves that prove it, and the least number of cells.

    The bound of the search is one of cost; divided by the dearest cell it is one of cells, which is what reports state.
    """
    primary, protect, tau, insiders = limits
    suppressed = np.flatnonzero(optimum.suppressed & problem.to_publish)
    moves = select_moves(problem, optimum.search.store, optimum.suppressed | problem.unlisted)
    used = np.zeros(problem.size, dtype=bool)
    used[moves.indices] = True
    forced = int((problem.forced & problem.to_publish).sum())
    dearest = int(problem.cost[problem.candidates].max(initial=1))
    least = forced + math.ceil((optimum.lower_bound - forced) / dearest)
    before = np.flatnonzero(optimum.suppressed & ~problem.to_publish)
    unlisted = np.flatnonzero(problem.unlisted & (used | (problem.counts > 0)))
    disclosed_then = np.flatnonzero(np.isin(problem.cell_ids, disclosed) & ~problem.to_publish)
    order = np.r_[suppressed, before, disclosed_then, unlisted]
    position: IntArray = np.full(problem.size, -1, dtype=np.int64)
    position[order] = np.arange(len(order))
    in_range = (tables.counts >= primary[0]) & (tables.counts <= primary[1])
    known = np.flatnonzero(tables.known & tables.new & in_range)
    return Pattern(
        tables=tables,
        primary=primary,
        suppressed=problem.cell_ids[suppressed],
        is_primary=problem.primary[suppressed],
        hidden=problem.cell_ids[order],
        counts=problem.counts[order],
        moves=tuple(
            tuple(sorted(zip(position[moves.indices[a:b]].tolist(), moves.data[a:b].tolist(), strict=True)))
            for a, b in zip(moves.indptr[:-1].tolist(), moves.indptr[1:].tolist(), strict=True)
        ),
        lower_bound=least,
        fewest=prove_fewest(problem, [*optimum.search.master.cuts], tables.sums, least),
        cost=(int(problem.cost[suppressed][~problem.primary[suppressed]].sum()), optimum.lower_bound - forced),
        exposed=problem.cell_ids[optimum.exposed],
        known=np.union1d(known, np.array(disclosed, dtype=np.int64)),
        extra=optimum.extra,
        protect=protect,
        tau=tau,
        insiders=insiders,
    )


def _refusal(tables: LinkedTables, search: PatternSearch, error: Unprotectable) -> str:
    """Which count cannot be protected, and from whom: one line, with the parameter that would have to change."""
    problem = search.problem
    cell = tables.name(int(problem.cell_ids[error.cell]))
    whatever = "whatever else is suppressed"
    if error.rise:
        level = error.rise + int(problem.counts[error.cell])
        return f"{cell}: protect = {level} cannot be attained, {whatever}"
    insiders = [*error.view.known, *(position for position, _ in error.view.at_least)]
    if insiders:
        groups = " and ".join(f"({tables.name(int(problem.cell_ids[position]))})" for position in insiders)
        return f"{cell}: the respondents in {groups} can infer the count, {whatever}"
    if not error.proved:
        return f"{cell}: no pattern was found that protects the count; suppress more cells by hand"
    if tables.earlier:
        return _beside_earlier(tables, search, error.cell)
    if problem.width > 1:
        return f"{cell}: the count follows to within tau = {problem.width - 1}, {whatever}"
    return f"{cell}: the count follows from the grand total, {whatever}"


def _beside_earlier(tables: LinkedTables, search: PatternSearch, first: int) -> str:
    """The counts that new tables disclose beside earlier ones, which did not disclose them."""
    cells = list(dict.fromkeys((first, *search.hopeless())))
    cells.sort(key=lambda cell: not tables.gaps[search.problem.cell_ids[cell]])  # what the earlier tables hid first
    names = "; ".join(tables.name(int(search.problem.cell_ids[cell])) for cell in cells[:MAX_NAMED])
    more = f" and {len(cells) - MAX_NAMED:,} more" if len(cells) > MAX_NAMED else ""
    earlier = ", ".join(tables.names[len(tables.tables) :])
    return (
        f"{names}{more}: not known before, and disclosed by these tables beside {earlier}, whatever is suppressed; "
        "publish fewer axes or wider categories"
    )


def _file_names(tables: Sequence[str], earlier: Sequence[str]) -> tuple[str, ...]:
    """Names of the files with gaps: all different, and none like an earlier one."""
    stems = [name.split(".")[0] for name in tables]
    if len(set(stems)) < len(stems):
        raise InputError(f"{', '.join(tables)}: files of the same name; rename one")
    names = [PATTERN] if len(tables) == 1 else [f"{stem}.csv" for stem in stems]
    number = 1
    while set(earlier) & set(names):
        ending = PATTERN if number == 1 else f"{number}-{PATTERN}"
        names, number = [f"{stem}-{ending}" for stem in stems], number + 1
    return tuple(names)
