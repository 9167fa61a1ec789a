"""People counted by area and attributes, the tree of areas, and limits by area, as TopDown needs them."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import BoolArray, InputError, IntArray, TooLargeError, exact_number, frozen
from safemargin.io import DuckSource, check_columns, connected, open_source
from safemargin.topdown.attributes import Attributes, Query
from safemargin.topdown.design import MOST, AreaLimit, Design
from safemargin.topdown.project import BoundsSection, FileSection, TopDownProject
from safemargin.topdown.spine import Spine, build_spine

MOST_CELLS = 20_000_000
"""Counts of the smallest areas that are held in memory."""

MOST_PEOPLE = 10**12
"""Sums of more people, and of parts of them, are not exact in floating point."""


def read_design(project: TopDownProject) -> Design:
    """Everything that is public about a release: areas, budget and constraints."""
    spine, kinds = read_spine(project), project.kinds
    cells = kinds.cells(kinds.detailed)
    if len(spine.names[-1]) * cells > MOST_CELLS:
        raise TooLargeError(
            f"attributes: {cells:,} cells in each of {len(spine.names[-1]):,} areas are more than {MOST_CELLS:,}; "
            "use fewer categories"
        )
    exact = [(0, kinds.query("total")), *map(project.place, project.invariants)]
    return Design(
        spine,
        kinds,
        project.budget.rho,
        float(project.budget.delta),
        project.shares,
        project.queries,
        tuple(dict.fromkeys(exact)),
        _impossible(project),
        tuple(_limit(project, spine, each, _columns(each)) for each in project.bounds),
        tuple(_limit(project, spine, each, ("count",)) for each in project.earlier),
        project.passes,
    )


def read_spine(project: TopDownProject) -> Spine:
    """The tree of areas, from the file that lists them or from the people."""
    path, levels = project.spine.file or project.data.file, project.spine.levels
    source = _source(path)
    check_columns(path, source.columns, levels)
    wanted = ", ".join(_text(source, name) for name in levels)
    with connected(path) as database:
        paths = database.execute(f"select distinct {wanted} from {source.scan}").fetchall()
    try:
        return build_spine(project.levels, project.spine.root, paths)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def count_people(project: TopDownProject, spine: Spine, path: Path | None = None) -> IntArray:
    """Counts of the smallest areas, a row for each, a column for each cell.

    `path` may be another file with the same columns, of people or, with a column `count`, of their numbers.
    """
    kinds, count = project.kinds, project.data.count
    if path is not None and "count" in _source(path).columns:
        count = "count"
    own = path is None
    path = path or project.data.file
    source = _source(path)
    columns = (spine.levels[-1], *kinds.names)
    check_columns(path, source.columns, (*columns, *([count] if count else [])))
    fields = ", ".join(f"{_text(source, name)} as k{place}" for place, name in enumerate(columns))
    with connected(path) as database:
        number = "count(*)"
        if count is not None:
            number = _checked_sum(database, source, count)
        database.execute(f"create temp table people as select {fields}, {number} as n from {source.scan} group by all")
        places = _placed(database, path, columns, (spine.names[-1], *kinds.categories))
        found = database.execute(f"select {places[0]}, n::bigint as n from people {places[1]}").fetchnumpy()
        if own:
            _check_homes(database, source, spine)
    if (people := int(np.sum(found["n"], dtype=object))) > MOST_PEOPLE:
        raise TooLargeError(f"{path}: {people:,} people are more than {MOST_PEOPLE:,}, for which tables are computed")
    codes = [np.asarray(found[f"p{place}"], dtype=np.int64) for place in range(len(columns))]
    flat = np.ravel_multi_index(codes, (len(spine.names[-1]), *kinds.sizes))
    counts = np.zeros(len(spine.names[-1]) * kinds.cells(kinds.detailed), dtype=np.int64)
    np.add.at(counts, flat, np.asarray(found["n"], dtype=np.int64))
    return counts.reshape(len(spine.names[-1]), -1)


def _source(path: Path) -> DuckSource:
    source = open_source(path)
    if not isinstance(source, DuckSource):
        raise InputError(f"{path}: must be a CSV, Parquet or JSON lines file")
    return source


def _text(source: DuckSource, name: str) -> str:
    return f"coalesce({source.fields[name]}::varchar, '')"


def _checked_sum(database: duckdb.DuckDBPyConnection, source: DuckSource, column: str) -> str:
    number = f"try_cast({source.fields[column]} as double)"
    wrong = f"{number} is null or {number} < 0 or {number} <> floor({number}) or {number} > {MOST}"
    bad = database.execute(
        f"select {source.fields[column]}::varchar from {source.scan} where {wrong} limit 1"
    ).fetchall()
    if bad:
        raise InputError(f"{source.path}: column {column!r} holds {bad[0][0]!r}, which is not a number of people")
    return f"sum({number})"


def _placed(
    database: duckdb.DuckDBPyConnection, path: Path, columns: Sequence[str], labels: Sequence[tuple[str, ...]]
) -> tuple[str, str]:
    """SQL of the places of the values `k0`, `k1`... of `people` among their labels; unknown values are refused."""
    selected, joined = [], []
    for place, (column, names) in enumerate(zip(columns, labels, strict=True)):
        database.register(
            f"labels{place}", {"label": np.array(names, dtype=object), "place": np.arange(len(names), dtype=np.int64)}
        )
        unknown = database.execute(
            f"select k{place} from people anti join labels{place} on k{place} = label order by 1 limit 1"
        ).fetchall()
        if unknown:
            if not unknown[0][0]:
                raise InputError(f"{path}: column {column!r} is empty in some rows; give every row a value")
            what = "areas" if place == 0 else "attributes"
            raise InputError(f"{path}: {column} = {unknown[0][0]!r} is not one of the {what} that are listed")
        selected.append(f"labels{place}.place as p{place}")
        joined.append(f"join labels{place} on k{place} = labels{place}.label")
    return ", ".join(selected), " ".join(joined)


def _check_homes(database: duckdb.DuckDBPyConnection, source: DuckSource, spine: Spine) -> None:
    """People must be in the wider areas that their smallest one is part of."""
    place = np.arange(len(spine.names[-1]))
    for level in range(spine.last, 1, -1):
        place = spine.parents[level][place]
        wide, narrow = spine.levels[level - 1], spine.levels[-1]
        if wide not in source.columns:
            continue
        above = np.array(spine.names[level - 1], dtype=object)[place]
        database.register("homes", {"narrow": np.array(spine.names[-1], dtype=object), "wide": above})
        columns = f"{_text(source, narrow)} as narrow, {_text(source, wide)} as said"
        stated = f"(select distinct {columns} from {source.scan})"
        wrong = f"select narrow, said, wide from {stated} join homes using (narrow) where said <> wide"
        for area, said, listed in database.execute(f"{wrong} order by all limit 1").fetchall():
            raise InputError(
                f"{source.path}: is not a tree: {narrow} {area!r} lies in {said!r} here, and in {listed!r} among the "
                "areas that are listed"
            )


def _impossible(project: TopDownProject) -> BoolArray:
    """Cells that hold nobody."""
    kinds = project.kinds
    found = np.zeros(kinds.cells(kinds.detailed), dtype=bool)
    for zero in project.zeros:
        here = np.ones_like(found)
        for name, wanted in zero.items():
            here &= _among(kinds, name, wanted, kinds.detailed)
        found |= here
    return found


def _limit(project: TopDownProject, spine: Spine, section: FileSection, ends: tuple[str, ...]) -> tuple[int, AreaLimit]:
    """Limits from a tidy file; what it does not list is free."""
    level, query = project.place(section)
    kinds, path = project.kinds, section.file
    source = _source(path)
    columns = (*([section.level] if level else []), *(name for name, _ in kinds.columns(query)))
    check_columns(path, source.columns, columns)
    present = [end for end in dict.fromkeys(ends) if end in source.columns]
    if not present:
        raise InputError(f"{path}: has no column {' or '.join(dict.fromkeys(ends))}")
    fields = [f"{_text(source, name)} as k{place}" for place, name in enumerate(columns)]
    fields += [f"{source.fields[end]}::varchar as v{place}" for place, end in enumerate(present)]
    labels = [spine.names[level]] if level else []
    labels += [each for _, each in kinds.columns(query)]
    with connected(path) as database:
        database.execute(f"create temp table people as select {', '.join(fields)} from {source.scan}")
        selected, joined = _placed(database, path, columns, labels)
        shown = ", ".join(filter(None, [selected, *(f"v{place}" for place in range(len(present)))]))
        rows = database.execute(f"select {shown} from people {joined}").fetchall()
    shape = (len(spine.names[level]), *kinds.shape(query))
    found = [np.full(shape, -1, dtype=np.int64) for _ in present]
    seen = np.zeros(shape, dtype=bool)
    for row in rows:
        cell = row[: len(columns)] if level else (0, *row[: len(columns)])
        if seen[cell]:
            raise InputError(f"{path}: {_words(columns, labels, row)}: is listed twice")
        seen[cell] = True
        for values, column, text in zip(found, present, row[len(columns) :], strict=True):
            if text not in (None, ""):
                values[cell] = _whole(path, column, str(text))
    low, high = _ends(project, section, dict(zip(present, found, strict=True)), ends)
    crossed = np.argwhere(low > high)
    if len(crossed):
        at = crossed[0].tolist()
        least, most = int(low[tuple(at)]), int(high[tuple(at)])
        where = _words(columns, labels, at if level else at[1:])
        raise InputError(f"{path}: {where}: at least {least} and at most {most} cannot both hold")
    count = len(spine.names[level])
    return level, AreaLimit(query, frozen(low.reshape(count, -1)), frozen(high.reshape(count, -1)))


def _columns(section: BoundsSection) -> tuple[str, ...]:
    return ("at_least", "at_most") if section.units is None else (section.units,)


def _ends(
    project: TopDownProject, section: FileSection, found: dict[str, IntArray], ends: tuple[str, ...]
) -> tuple[IntArray, IntArray]:
    """The least and the most of every cell from the columns of a file, where -1 says nothing.

    Where a file counts units, what it does not list has none.
    """
    if isinstance(section, BoundsSection) and section.each is not None:
        units = np.maximum(found[ends[0]], 0)
        most = np.minimum(units, MOST // max(1, section.each[1])) * section.each[1]
        query = project.kinds.query(section.query)
        free = np.full(project.kinds.cells(query), bool(section.free))
        for name, wanted in section.free.items():
            free &= _among(project.kinds, name, wanted, query)
        return units * section.each[0], np.where(free.reshape(units.shape[1:]), MOST, most)
    nothing = np.full_like(next(iter(found.values())), -1)
    least, most = found.get(ends[0], nothing), found.get(ends[-1], nothing)
    return np.maximum(least, 0), np.where(most < 0, MOST, most)


def _among(kinds: Attributes, name: str, wanted: Sequence[str], of: Query) -> BoolArray:
    """Which cells of a margin have one of some categories of an attribute, or groups of them."""
    query = kinds.query(name)
    ((_, labels),) = kinds.columns(query)
    found: BoolArray = np.isin(kinds.groups(query, of), [labels.index(one) for one in wanted])
    return found


def _words(columns: Sequence[str], labels: Sequence[tuple[str, ...]], places: Sequence[int]) -> str:
    words = [f"{name} {label[at]}" for name, label, at in zip(columns, labels, places, strict=False)]
    return ", ".join(words) or "all people"


def _whole(path: Path, column: str, text: str) -> int:
    try:
        value = exact_number(text)
    except ValueError:
        value = Fraction(-1)
    if value < 0 or value.denominator != 1 or value > MOST:
        raise InputError(f"{path}: {column} = {text!r}: must be a whole number that is not negative, below 2 ** 53")
    return int(value)
