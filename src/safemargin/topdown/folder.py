"""The folder of a TopDown release: public files in JSON and Parquet, each written completely or not at all.

design.json       attributes, budget, queries, exact margins and constraints
areas.parquet     the smallest areas and the areas they lie in
bounds/           public limits and earlier tables
exact/            exact counts
noisy/            margins with noise, one file per level and query
estimates/        unbiased estimates with standard errors, one file per level
tables/           integer tables, one file per level
residents/        of households: what limits the persons in them, if their tables must leave room for these

Invariants
    * Noise is synchronised to the disk before its file gets its name: a power failure must not have it drawn again.
    * Files hold one row per area and cell in their order, so that reading needs no join; a file with a gap or another
      number of rows is refused.
    * Reading a design back gives the one that was written; the estimation phase reads nothing but these files.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import duckdb
import numpy as np
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from safemargin.core import FloatArray, InputError, IntArray, OutputError, frozen, sync, write_whole
from safemargin.io import CONFIDENTIAL, Share, check_keys, explain, file_name, interruptible, literal, quoted, read_text
from safemargin.topdown.attributes import Attributes, Grouping, MarginQuery, build_grouping
from safemargin.topdown.design import Design, MarginLimit, Measurements, Spine, WeightedLimit, build_spine
from safemargin.topdown.household_limits import Residents

RESIDENTS = "residents"
Columns = Mapping[str, IntArray | FloatArray]


class GroupingDocument(BaseModel):
    """The attribute of a grouping, and its categories by group."""

    of: str
    groups: dict[str, list[str]]


class WeightedDocument(BaseModel):
    """Weights of the counts of a margin whose sum is limited."""

    level: int
    query: str
    weights: list[int]


class DesignDocument(BaseModel):
    """`design.json`: everything public that is known before people are read."""

    version: Literal[1] = Field(default=1, alias="schema")
    levels: list[str]
    root: str
    attributes: dict[str, tuple[str, ...]]
    groupings: dict[str, GroupingDocument] = {}
    rho_squared: Share = Field(validation_alias=AliasChoices("rho_squared", "rho"))  # rho: 0.1.0
    delta: float
    shares: list[Share]
    queries: list[dict[str, Share]]
    exact: list[tuple[int, str]]
    impossible: list[int]
    limits: list[tuple[Literal["bound", "earlier"], int, str]]
    passes: list[str]
    unit: str = "person"
    weighted: list[WeightedDocument] = []


class ResidentsDocument(BaseModel):
    """`residents.json`: the category of persons in households, and how many people a household of each size has."""

    living: str
    inside: int
    size: str
    people: tuple[list[int], list[int]]


@dataclass(frozen=True)
class Folder:
    """Public files of one release."""

    path: Path

    def file(self, kind: str, design: Design, level: int, query: MarginQuery | None = None) -> Path:
        """The file of a level, or of one of its margins."""
        title = "" if query is None else design.attributes.title(query).replace("*", ".")
        name = "-".join(filter(None, [f"{level}", design.spine.levels[level], title]))
        return self.path / kind / f"{file_name(name)}.parquet"

    def write_design(self, design: Design) -> None:
        """Everything public that is known before people are read."""
        spine, attributes = design.spine, design.attributes
        limits = [("bound", limit) for limit in design.bounds] + [("earlier", limit) for limit in design.earlier]
        for number, (_, (level, limit)) in enumerate(limits):
            columns = {"at_least": limit.low, "at_most": limit.high}
            write_cells(self._limit(number), design, level, limit.query, columns)
        for number, (level, weighted) in enumerate(design.weighted, len(limits)):
            columns = {"at_least": weighted.low, "at_most": weighted.high}
            write_cells(self._limit(number), design, level, MarginQuery(()), columns)
        title = attributes.title
        document = DesignDocument.model_validate(
            {
                "schema": 1,
                "levels": list(spine.levels),
                "root": spine.names[0][0],
                "attributes": dict(zip(attributes.names, attributes.categories, strict=True)),
                "groupings": {grouping.name: _grouping(attributes, grouping) for grouping in attributes.groupings},
                "rho_squared": design.rho_squared,
                "delta": design.delta,
                "shares": design.shares,
                "queries": [{title(query): share for query, share in queries.items()} for queries in design.queries],
                "exact": [(level, title(query)) for level, query in design.exact],
                "impossible": np.flatnonzero(design.impossible).tolist(),
                "limits": [(kind, level, title(limit.query)) for kind, (level, limit) in limits],
                "passes": list(map(title, design.passes)),
                "unit": design.unit,
                "weighted": [
                    {"level": level, "query": title(limit.query), "weights": limit.weights[0].tolist()}
                    for level, limit in design.weighted
                ],
            }
        )
        _write_areas(self.path / "areas.parquet", spine)
        content = document.model_dump_json(indent=1, by_alias=True) + "\n"
        write_file(self.path / "design.json", content.encode())

    def read_design(self) -> Design:
        """The design as anybody can read it; whatever is wrong in the folder is one error that names the file."""
        path = self.path / "design.json"
        try:
            if not path.exists():
                raise InputError(f"{path}: is missing; name the folder 'published' of a TopDown release")
            text = read_text(path)
            check_keys(text, path)
            return self._design(DesignDocument.model_validate_json(text))
        except ValidationError as error:
            raise InputError(f"{path}: {explain(error)}") from None
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{path}: is not the design of a TopDown release ({error})") from None
        except InputError as error:
            text = str(error)
            raise InputError(text if text.startswith(str(self.path)) else f"{path}: {text}") from None

    def _design(self, document: DesignDocument) -> Design:
        """The design of a document, as `write_design` wrote it.

        Areas and limits are read from their files, which are numbered in the order of `limits`, then of `weighted` (one
        row of weights each). What is wrong in them raises; `read_design` words it.
        """
        names, categories = tuple(document.attributes), document.attributes
        groupings = tuple(
            build_grouping(name, grouping.of, names.index(grouping.of), categories[grouping.of], grouping.groups)
            for name, grouping in document.groupings.items()
        )
        attributes = Attributes(names, tuple(categories.values()), groupings)
        paths = zip(*_read_columns(self.path / "areas.parquet").values(), strict=True)
        spine = build_spine(document.levels, document.root, paths)
        impossible = np.zeros(attributes.cells(attributes.detailed), dtype=bool)
        impossible[document.impossible] = True
        design = Design(
            spine,
            attributes,
            document.rho_squared,
            document.delta,
            tuple(document.shares),
            tuple({attributes.query(title): share for title, share in level.items()} for level in document.queries),
            tuple((level, attributes.query(title)) for level, title in document.exact),
            impossible,
            (),
            (),
            tuple(map(attributes.query, document.passes)),
            document.unit,
        )
        limits: dict[str, list[tuple[int, MarginLimit]]] = {"bound": [], "earlier": []}
        for number, (kind, level, title) in enumerate(document.limits):
            query = attributes.query(title)
            low, high = read_cells(self._limit(number), design, level, query, "at_least", "at_most")
            limits[kind].append((level, MarginLimit(query, low, high)))
        weighted = []
        for number, stated in enumerate(document.weighted, len(document.limits)):
            ends = read_cells(self._limit(number), design, stated.level, MarginQuery(()), "at_least", "at_most")
            sums = WeightedLimit(attributes.query(stated.query), frozen([stated.weights]), *ends)
            weighted.append((stated.level, sums))
        bounds, earlier = tuple(limits["bound"]), tuple(limits["earlier"])
        return replace(design, bounds=bounds, earlier=earlier, weighted=tuple(weighted))

    def write_residents(self, homes: Design, residents: Residents) -> None:
        """What limits the persons in households."""
        inner, titles = Folder(self.path / RESIDENTS), residents.design.attributes.title
        inner.write_design(residents.design)
        document = ResidentsDocument(
            living=titles(residents.living),
            inside=residents.inside,
            size=homes.attributes.title(residents.size),
            people=(residents.people[0].tolist(), residents.people[1].tolist()),
        )
        write_file(inner.path / "residents.json", document.model_dump_json().encode())

    def read_residents(self, homes: Design) -> Residents | None:
        """What limits the persons in households; None if the release has no such file."""
        inner = Folder(self.path / RESIDENTS)
        if not inner.path.exists():
            return None
        design = inner.read_design()
        text = read_text(inner.path / "residents.json")
        check_keys(text, inner.path / "residents.json")
        try:
            stated = ResidentsDocument.model_validate_json(text)
        except ValidationError as error:
            raise InputError(f"{inner.path / 'residents.json'}: {explain(error)}") from None
        living, size = design.attributes.query(stated.living), homes.attributes.query(stated.size)
        return Residents(design, living, stated.inside, size, frozen(stated.people))

    def read_measurements(self, design: Design) -> Measurements:
        """Noisy and exact margins, as the design lists them; a missing or short file is an error, not a margin less."""

        def read(kind: str, level: int, query: MarginQuery, column: str) -> IntArray:
            return read_cells(self.file(kind, design, level, query), design, level, query, column)[0]

        return Measurements(
            tuple(
                {query: read("noisy", level, query, "noisy_count") for query in design.measured(level)}
                for level in range(len(design.spine.levels))
            ),
            {(level, query): read("exact", level, query, "count") for level, query in design.exact},
        )

    def read_table(self, design: Design, level: int) -> IntArray:
        """The integer table of a level."""
        return read_cells(self.file("tables", design, level), design, level, design.attributes.detailed, "count")[0]

    def read_estimates(self, design: Design, level: int) -> FloatArray:
        """The unbiased estimates of a level."""
        values = _read_columns(self.file("estimates", design, level), "estimate")["estimate"]
        return np.asarray(values, dtype=np.float64).reshape(len(design.spine.names[level]), -1)

    def write_microdata(self, design: Design) -> None:
        """A record for everybody in the smallest areas, from the integer tables, with the areas it lies in."""
        table = self.file("tables", design, design.spine.last)
        block = quoted(design.spine.levels[-1])
        rows = f'(select *, unnest(range(count)) as "*copy" from read_parquet({literal(str(table))})) t'
        areas = f"read_parquet({literal(str(self.path / 'areas.parquet'))})"
        kinds = ", ".join(quoted(name) for name in design.attributes.names)
        with _database() as database:
            # In the order of values: nothing but the counts of the tables is in it.
            records = f"select a.*, {kinds} from {rows} join {areas} a using ({block}) order by all"
            _copy(database, records, self.path / "microdata.parquet")

    def _limit(self, number: int) -> Path:
        return self.path / "bounds" / f"{number}.parquet"


def write_cells(path: Path, design: Design, level: int, query: MarginQuery, columns: Columns, status: str = "") -> None:
    """One row per area and cell of a margin, in order: the area, its categories, the columns, and the status."""
    spine, attributes = design.spine, design.attributes
    areas, cells = len(spine.names[level]), attributes.cells(query)
    values: dict[str, object] = {
        f"v{index}": np.ascontiguousarray(column).reshape(-1) for index, column in enumerate(columns.values())
    }
    values["area"] = np.repeat(np.array(spine.names[level], dtype=object), cells)
    codes = np.unravel_index(np.arange(cells), attributes.shape(query)) if query.axes else ()
    selected = [f"area as {quoted(spine.levels[level])}"]
    for index, ((name, labels), code) in enumerate(zip(attributes.columns(query), codes, strict=True)):
        values[f"k{index}"] = np.tile(code.astype(np.int64) + 1, areas)
        selected.append(f"list_value({', '.join(map(literal, labels))})[k{index}] as {quoted(name)}")
    selected += [f"v{index} as {quoted(column)}" for index, column in enumerate(columns)]
    selected += [f"{literal(status)} as status"] if status else []
    with _database() as database:
        database.register("cells", values)
        # In order of areas and cells, which the engine keeps: readers reshape the column and need no join.
        _copy(database, f"select {', '.join(selected)} from cells", path)


def read_cells(path: Path, design: Design, level: int, query: MarginQuery, *columns: str) -> tuple[IntArray, ...]:
    """Integers of a file that `write_cells` wrote."""
    values = _read_columns(path, *columns)
    shape = (len(design.spine.names[level]), design.attributes.cells(query))
    for column in columns:
        if len(values[column]) != shape[0] * shape[1] or np.ma.is_masked(values[column]):  # masked: a null
            raise InputError(f"{path}: {column}: holds {len(values[column]):,} counts, not {shape[0] * shape[1]:,}")
    return tuple(frozen(np.asarray(values[column])).reshape(shape) for column in columns)


def _read_columns(path: Path, *columns: str) -> Mapping[str, IntArray | FloatArray]:
    """Columns of a file, in its order; all if none is named."""
    names = ", ".join(map(quoted, columns)) or "*"
    with _database() as database:
        try:
            values: dict[str, IntArray | FloatArray] = database.execute(
                f"select {names} from read_parquet(?)", [str(path)]
            ).fetchnumpy()
            return values
        except duckdb.Error as error:
            raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all; only its owner can read what is confidential, whatever the umask."""
    is_confidential = path.parent.name == CONFIDENTIAL
    write_whole(path, content, 0o600 if is_confidential else 0o644)
    if is_confidential:
        path.parent.chmod(0o700)


def _write_areas(path: Path, spine: Spine) -> None:
    """The path of every smallest area through the tree: one row each, a column per level."""
    columns: dict[str, object] = {}
    areas = np.arange(len(spine.names[-1]))
    for level in range(spine.last, 0, -1):
        columns[f"c{level}"] = np.array(spine.names[level], dtype=object)[areas]
        areas = spine.parents[level][areas]
    names = ", ".join(f"c{level} as {quoted(spine.levels[level])}" for level in range(1, spine.last + 1))
    with _database() as database:
        database.register("areas", columns)
        _copy(database, f"select {names} from areas", path)


def _copy(database: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write the rows of a query to a Parquet file: under another name first, then synchronised and renamed."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database.execute(f"copy ({query}) to {literal(str(draft))} (format parquet, compression zstd)")
        sync(draft)  # noise that was drawn must not be lost by a power failure: it would be drawn again
        os.replace(draft, path)
        sync(path.parent)
    except (OSError, duckdb.IOException) as error:
        raise OutputError(f"{path}: cannot be written ({error})") from error


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"autoinstall_known_extensions": False, "threads": 2})


@contextmanager
def _database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to the one engine, which is slow to start."""
    with _engine().cursor() as database, interruptible(database):
        yield database


def _grouping(attributes: Attributes, grouping: Grouping) -> dict[str, object]:
    """A grouping as the document states it: the attribute, and its categories by group."""
    groups: dict[str, list[str]] = {label: [] for label in grouping.labels}
    for category, code in zip(attributes.categories[grouping.axis], grouping.codes, strict=True):
        groups[grouping.labels[code]].append(category)
    return {"of": attributes.names[grouping.axis], "groups": groups}
