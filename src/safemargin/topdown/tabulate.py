"""Count people by area and attributes; read the tree of areas and limits by area.

Objects
    people      a row per person, or per kind of person with a column of how many
    areas       a row per smallest area with the names of those it lies in; from a file, or from the people
    counts      an array of smallest areas x cells, the only thing about people that goes on from here

What is checked
    * Every area has one area above it, and a name of its own on its level: two districts called "Centre" in two regions
      are refused, since they would be added up.
    * Every value of an attribute is one of its categories, in the spelling of the project: an unknown one is an error,
      and not a cell of its own, which would show that somebody has it.
    * People lie in the wider areas that their smallest one is part of.
    * Areas that no file lists come from the data. Which areas have people is then an invariant, and is listed as one.
    * Whole numbers of people, at most 10^12: sums are exact in 64 bits and in floating point.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import BoolArray, InputError, IntArray, TooLargeError, exact_number, frozen
from safemargin.io import DuckSource, check_columns, connected, open_source, open_spark, respelled
from safemargin.topdown.attributes import Attributes, MarginQuery
from safemargin.topdown.design import MAX_COUNT, Design, MarginLimit, Spine, build_spine
from safemargin.topdown.project import BoundsSection, FileSection, TopDownProject

MAX_CELLS = 20_000_000  # counts of the smallest areas that are held in memory

MAX_PEOPLE = 10**12  # sums of more people, and of fractions of them, are not exact in floating point


def read_design(project: TopDownProject) -> Design:
    """Everything that is public about a release: areas, budget and constraints."""
    spine, kinds = read_spine(project), project.kinds
    cells = kinds.cells(kinds.detailed)
    if len(spine.names[-1]) * cells > MAX_CELLS:
        raise TooLargeError(
            f"attributes: {cells:,} cells in each of {len(spine.names[-1]):,} areas are more than {MAX_CELLS:,}; "
            "use fewer categories"
        )
    exact = [(0, kinds.query("total")), *map(project.margin, project.invariants)]
    return Design(
        spine,
        kinds,
        project.budget.rho_squared,
        float(project.budget.delta),
        project.shares,
        project.queries,
        tuple(dict.fromkeys(exact)),
        _impossible(project),
        tuple(_limit(project, spine, section, _columns(section)) for section in project.bounds),
        tuple(_limit(project, spine, section, ("count",)) for section in project.earlier),
        project.passes,
        project.data.unit,
    )


def read_spine(project: TopDownProject) -> Spine:
    """The tree of areas, from the file that lists them or from the people."""
    path, levels = project.spine.file or project.data.file, project.spine.levels
    source = _people(project, levels) if project.spine.file is None else _source(path)
    check_columns(path, source.columns, levels)
    source = respelled(source, levels)
    wanted = ", ".join(_text(source, name) for name in levels)
    with source.connected() as database:
        paths = database.execute(f"select distinct {wanted} from {source.scan}").fetchall()
    try:
        return build_spine(project.levels, project.spine.root, paths)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def count_people(project: TopDownProject, spine: Spine, path: Path | None = None) -> IntArray:
    """Counts of the smallest areas: a row for each area, a column for each cell of the detailed margin.

    `path` may be another file with the same columns, of people or, with a column `count`, of their numbers. These
    counts are confidential: the measurement phase alone gets them. An area or a category that is not listed is an
    error: a row that silently dropped out would be missing from every table.
    """
    kinds, count = project.kinds, project.data.count
    if path is not None and "count" in _source(path).columns:
        count = "count"
    own = path is None
    path = path or project.data.file
    columns = (spine.levels[-1], *kinds.names)
    wanted = (*columns, *([count] if count else []))
    source = _people(project, wanted) if own else _source(path)
    check_columns(path, source.columns, wanted)
    known = dict(zip((*spine.levels[1:], *kinds.names), (*spine.names[1:], *kinds.categories), strict=True))
    source = respelled(source, known, known)
    fields = ", ".join(f"{_text(source, name)} as k{index}" for index, name in enumerate(columns))
    with source.connected() as database:
        number = source.number
        if count is not None:
            number = _checked_sum(database, source, count)
        # One GROUP BY in the engine: memory is that of the occupied cells, not of the people.
        database.execute(f"create temp table people as select {fields}, {number} as n from {source.scan} group by all")
        selected, joins = _coded(database, path, columns, (spine.names[-1], *kinds.categories))
        rows = database.execute(f"select {selected}, n::bigint as n from people {joins}").fetchnumpy()
        if own:  # another method may have moved people to areas elsewhere in the tree
            _check_wider_areas(database, source, spine)
    if (people := int(np.sum(rows["n"], dtype=object))) > MAX_PEOPLE:  # Python integers do not overflow
        raise TooLargeError(f"{path}: {people:,} people are more than the limit of {MAX_PEOPLE:,}")
    codes = [np.asarray(rows[f"p{index}"], dtype=np.int64) for index in range(len(columns))]
    flat = np.ravel_multi_index(codes, (len(spine.names[-1]), *kinds.sizes))
    counts = np.zeros(len(spine.names[-1]) * kinds.cells(kinds.detailed), dtype=np.int64)
    np.add.at(counts, flat, np.asarray(rows["n"], dtype=np.int64))
    return counts.reshape(len(spine.names[-1]), -1)


def _people(project: TopDownProject, columns: Sequence[str]) -> DuckSource:
    """The people, or with Spark their distinct rows of `columns` and of the wider areas, with their numbers."""
    data = project.data
    if data.engine == "duckdb":
        if data.master is not None:
            raise InputError(f"data.master = {data.master!r}: is the cluster of Spark; set data.engine, or remove it")
        return _source(data.file)
    return open_spark(data.file, None, data.master).counted(tuple(columns), tuple(project.spine.levels))


def _source(path: Path) -> DuckSource:
    """The rows of a file that DuckDB reads; other forms are refused."""
    source = open_source(path)
    if not isinstance(source, DuckSource):
        raise InputError(f"{path}: must be a CSV, Parquet or JSON lines file")
    return source


def _text(source: DuckSource, name: str) -> str:
    return f"coalesce({source.fields[name]}::varchar, '')"  # a null would silently drop out of joins


def _checked_sum(database: duckdb.DuckDBPyConnection, source: DuckSource, column: str) -> str:
    """SQL for the sum of a column of counts, once every value of it is a whole number in the range that sums are exact
    in.
    """
    number = f"try_cast({source.fields[column]} as double)"  # exact: larger numbers than 2 ** 53 are refused
    wrong = f"{number} is null or {number} < 0 or {number} <> floor({number}) or {number} > {MAX_COUNT}"
    bad = database.execute(
        f"select {source.fields[column]}::varchar from {source.scan} where {wrong} limit 1"
    ).fetchall()
    if bad:
        raise InputError(f"{source.path}: column {column!r} holds {bad[0][0]!r}, which is not a number of people")
    return f"sum({number} * {source.rows})"


def _coded(
    database: duckdb.DuckDBPyConnection, path: Path, columns: Sequence[str], labels: Sequence[tuple[str, ...]]
) -> tuple[str, str]:
    """SQL for the codes of the values `k0`, `k1`... of `people` among their labels; unknown values are refused.

    The first column is the area, the others are attributes; messages name the one that is wrong and the value.
    """
    selected, joins = [], []
    for index, (column, names) in enumerate(zip(columns, labels, strict=True)):
        codes = {"label": np.array(names, dtype=object), "code": np.arange(len(names), dtype=np.int64)}
        database.register(f"labels{index}", codes)
        unknown = database.execute(
            f"select k{index} from people anti join labels{index} on k{index} = label order by 1 limit 1"
        ).fetchall()
        if unknown:
            if not unknown[0][0]:
                raise InputError(f"{path}: column {column!r} is empty in some rows; give every row a value")
            what = "areas" if index == 0 else "attributes"
            raise InputError(f"{path}: {column} = {unknown[0][0]!r} is not one of the {what} that are listed")
        selected.append(f"labels{index}.code as p{index}")
        joins.append(f"join labels{index} on k{index} = labels{index}.label")
    return ", ".join(selected), " ".join(joins)


def _check_wider_areas(database: duckdb.DuckDBPyConnection, source: DuckSource, spine: Spine) -> None:
    """People must be in the wider areas that their smallest one is part of."""
    areas = np.arange(len(spine.names[-1]))
    for level in range(spine.last, 1, -1):
        areas = spine.parents[level][areas]
        wide, narrow = spine.levels[level - 1], spine.levels[-1]
        if wide not in source.columns:
            continue
        above = np.array(spine.names[level - 1], dtype=object)[areas]
        database.register("listed", {"narrow": np.array(spine.names[-1], dtype=object), "wide": above})
        columns = f"{_text(source, narrow)} as narrow, {_text(source, wide)} as stated"
        people = f"(select distinct {columns} from {source.scan})"
        wrong = f"select narrow, stated, wide from {people} join listed using (narrow) where stated <> wide"
        for area, stated, listed in database.execute(f"{wrong} order by all limit 1").fetchall():
            raise InputError(
                f"{source.path}: is not a tree: {narrow} {area!r} lies in {stated!r} here, and in {listed!r} among the "
                "areas that are listed"
            )


def _impossible(project: TopDownProject) -> BoolArray:
    """Cells that are empty in all data."""
    kinds = project.kinds
    impossible = np.zeros(kinds.cells(kinds.detailed), dtype=bool)
    for zero in project.zeros:
        here = np.ones_like(impossible)
        for name, wanted in zero.items():
            here &= _among(kinds, name, wanted, kinds.detailed)
        impossible |= here
    return impossible


def _limit(
    project: TopDownProject, spine: Spine, section: FileSection, ends: tuple[str, ...]
) -> tuple[int, MarginLimit]:
    """Limits from a tidy file; cells that it does not list are not limited."""
    level, query = project.margin(section)
    kinds, path = project.kinds, section.file
    source = _source(path)
    columns = (*([section.level] if level else []), *(name for name, _ in kinds.columns(query)))
    check_columns(path, source.columns, columns)
    present = [end for end in dict.fromkeys(ends) if end in source.columns]
    if not present:
        raise InputError(f"{path}: has no column {' or '.join(dict.fromkeys(ends))}")
    labels = [*([spine.names[level]] if level else []), *(labels for _, labels in kinds.columns(query))]
    source = respelled(source, columns, dict(zip(columns, labels, strict=True)))
    fields = [f"{_text(source, name)} as k{index}" for index, name in enumerate(columns)]
    fields += [f"{_text(source, end)} as v{index}" for index, end in enumerate(present)]
    with connected(path) as database:
        database.execute(f"create temp table people as select {', '.join(fields)} from {source.scan}")
        selected, joins = _coded(database, path, columns, labels)
        shown = ", ".join(filter(None, [selected, *(f"v{index}" for index in range(len(present)))]))
        rows = database.execute(f"select {shown} from people {joins}").fetchnumpy()
    shape = (len(spine.names[level]), *kinds.shape(query))
    codes = [np.asarray(rows[f"p{index}"], dtype=np.int64) for index in range(len(columns))]
    root = [] if level else [np.zeros(len(rows["v0"]), dtype=np.int64)]
    positions = np.ravel_multi_index((*root, *codes), shape)
    first = np.unique(positions, return_index=True)[1]
    if len(first) < len(positions):
        row = int(np.setdiff1d(np.arange(len(positions)), first)[0])
        name = _cell_name(columns, labels, [int(code[row]) for code in codes])
        raise InputError(f"{path}: {name}: is listed twice")
    values = {column: np.full(shape, -1, dtype=np.int64) for column in present}
    for index, column in enumerate(present):
        texts = rows[f"v{index}"].tolist()
        known = {text: _integer(path, column, text) if text else -1 for text in dict.fromkeys(texts)}  # few differ
        values[column].reshape(-1)[positions] = [known[text] for text in texts]
    low, high = _ends(project, section, values, ends)
    crossed = np.argwhere(low > high)
    if len(crossed):
        cell = tuple(crossed[0].tolist())
        name = _cell_name(columns, labels, cell if level else cell[1:])
        raise InputError(f"{path}: {name}: at least {low[cell]} and at most {high[cell]} cannot both hold")
    return level, MarginLimit(query, frozen(low.reshape(shape[0], -1)), frozen(high.reshape(shape[0], -1)))


def _columns(section: BoundsSection) -> tuple[str, ...]:
    return ("at_least", "at_most") if section.units is None else (section.units,)


def _ends(
    project: TopDownProject, section: FileSection, values: dict[str, IntArray], ends: tuple[str, ...]
) -> tuple[IntArray, IntArray]:
    """The least and the most of every cell from the columns of a file, where -1 is empty.

    If a file counts units, cells that it does not list have none.
    """
    if isinstance(section, BoundsSection) and section.each is not None:
        units = np.maximum(values[ends[0]], 0)
        most = np.minimum(units, MAX_COUNT // max(1, section.each[1])) * section.each[1]  # without overflow
        query = project.kinds.query(section.query)
        free = np.full(project.kinds.cells(query), bool(section.free))
        for name, wanted in section.free.items():
            free &= _among(project.kinds, name, wanted, query)
        return units * section.each[0], np.where(free.reshape(units.shape[1:]), MAX_COUNT, most)
    empty = np.full_like(next(iter(values.values())), -1)
    least, most = values.get(ends[0], empty), values.get(ends[-1], empty)
    return np.maximum(least, 0), np.where(most < 0, MAX_COUNT, most)


def _among(kinds: Attributes, name: str, wanted: Sequence[str], of: MarginQuery) -> BoolArray:
    """Which cells of a margin have one of some categories of an attribute, or groups of them."""
    query = kinds.query(name)
    ((_, labels),) = kinds.columns(query)
    among: BoolArray = np.isin(kinds.cell_of(query, of), [labels.index(label) for label in wanted])
    return among


def _cell_name(columns: Sequence[str], labels: Sequence[tuple[str, ...]], codes: Sequence[int]) -> str:
    parts = [f"{name} {names[code]}" for name, names, code in zip(columns, labels, codes, strict=False)]
    return ", ".join(parts) or "all people"


def _integer(path: Path, column: str, text: str) -> int:
    """A limit as an integer; an error names the file, the column and the value."""
    try:
        value = exact_number(text)
    except ValueError:
        value = Fraction(-1)
    if value < 0 or value.denominator != 1 or value > MAX_COUNT:
        raise InputError(f"{path}: {column} = {text!r}: must be an integer of at least 0, below 2 ** 53")
    return int(value)
