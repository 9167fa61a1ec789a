"""The folder of a TopDown release: what is public as JSON and Parquet, written whole or not at all, and read back.

design.json       attributes, budget, queries, what is exact and what tables must satisfy
areas.parquet     the smallest areas and the areas they lie in
bounds/           public limits and earlier tables
exact/            counts that are published as they are
noisy/            margins with their noise, one file per level and query
estimates/        unbiased estimates with standard errors, one file per level
tables/           whole counts, one file per level
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, OutputError, exact_number, frozen
from safemargin.io import literal, quoted
from safemargin.topdown.attributes import Attributes, Grouping, Query, build_grouping
from safemargin.topdown.design import AreaLimit, Design, Measured
from safemargin.topdown.spine import Spine, build_spine

Columns = Mapping[str, IntArray | FloatArray]


@dataclass(frozen=True)
class Folder:
    """Public files of one release."""

    path: Path

    def place(self, kind: str, level: int, level_name: str, query: str = "") -> Path:
        """Where the file of a level, or of one of its margins, lies."""
        words = "-".join(filter(None, [f"{level}", level_name, query]))
        return self.path / kind / f"{_clean(words)}.parquet"

    def write_design(self, design: Design) -> None:
        """Everything public that is known before people are read."""
        spine, kinds = design.spine, design.attributes
        limits = [("bound", each) for each in design.bounds] + [("earlier", each) for each in design.earlier]
        for number, (_, (level, limit)) in enumerate(limits):
            columns = {"at_least": limit.low, "at_most": limit.high}
            write_cells(self._limit(number), spine, level, kinds, limit.query, columns)
        document = {
            "schema": 1,
            "levels": list(spine.levels),
            "root": spine.names[0][0],
            "attributes": dict(zip(kinds.names, map(list, kinds.categories), strict=True)),
            "groupings": {each.name: _grouping(kinds, each) for each in kinds.groupings},
            "rho": str(design.rho),
            "delta": design.delta,
            "shares": [str(share) for share in design.shares],
            "queries": [{kinds.title(query): str(share) for query, share in at.items()} for at in design.queries],
            "exact": [[level, kinds.title(query)] for level, query in design.exact],
            "impossible": np.flatnonzero(design.impossible).tolist(),
            "limits": [[kind, level, kinds.title(limit.query)] for kind, (level, limit) in limits],
            "passes": [kinds.title(query) for query in design.passes],
        }
        _write_areas(self.path / "areas.parquet", spine)
        write_text(self.path / "design.json", json.dumps(document, ensure_ascii=False, indent=1) + "\n")

    def read_design(self) -> Design:
        """The design as anybody can read it."""
        path = self.path / "design.json"
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            names, listed = tuple(said["attributes"]), said["attributes"]
            groupings = tuple(
                build_grouping(name, each["of"], names.index(each["of"]), listed[each["of"]], each["groups"])
                for name, each in said.get("groupings", {}).items()
            )
            kinds = Attributes(names, tuple(map(tuple, listed.values())), groupings)
            spine = build_spine(said["levels"], said["root"], _read_areas(self.path / "areas.parquet"))
            impossible = np.zeros(kinds.cells(kinds.detailed), dtype=bool)
            impossible[said["impossible"]] = True
            limits: dict[str, list[tuple[int, AreaLimit]]] = {"bound": [], "earlier": []}
            for number, (kind, level, title) in enumerate(said["limits"]):
                query = kinds.query(title)
                low, high = read_cells(self._limit(number), spine, level, kinds, query, "at_least", "at_most")
                limits[kind].append((level, AreaLimit(query, low, high)))
            return Design(
                spine,
                kinds,
                _number(path, "rho", said["rho"]),
                float(said["delta"]),
                tuple(_number(path, "shares", share) for share in said["shares"]),
                tuple(
                    {kinds.query(title): _number(path, f"queries.{title}", share) for title, share in at.items()}
                    for at in said["queries"]
                ),
                tuple((level, kinds.query(title)) for level, title in said["exact"]),
                impossible,
                tuple(limits["bound"]),
                tuple(limits["earlier"]),
                tuple(map(kinds.query, said["passes"])),
            )
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {error.strerror}; name the folder 'published' of a TopDown release"
            ) from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{path}: is not the design of a TopDown release ({error})") from None
        except InputError as error:
            text = str(error)
            raise InputError(text if text.startswith(str(self.path)) else f"{path}: {text}") from None

    def read_measured(self, design: Design) -> Measured:
        """Noisy and exact margins."""
        spine, kinds = design.spine, design.attributes
        noisy: list[dict[Query, IntArray]] = []
        for level, name in enumerate(spine.levels):
            here = {}
            for query in design.measured(level):
                path = self.place("noisy", level, name, kinds.title(query))
                (here[query],) = read_cells(path, spine, level, kinds, query, "noisy_count")
            noisy.append(here)
        exact = {}
        for level, query in design.exact:
            path = self.place("exact", level, spine.levels[level], kinds.title(query))
            (exact[level, query],) = read_cells(path, spine, level, kinds, query, "count")
        return Measured(tuple(noisy), exact)

    def read_table(self, design: Design, level: int) -> IntArray:
        """The whole counts of a level."""
        path = self.place("tables", level, design.spine.levels[level])
        (found,) = read_cells(path, design.spine, level, design.attributes, design.attributes.detailed, "count")
        return found

    def _limit(self, number: int) -> Path:
        return self.path / "bounds" / f"{number}.parquet"


def write_cells(
    path: Path, spine: Spine, level: int, kinds: Attributes, query: Query, columns: Columns, note: str = ""
) -> None:
    """One row per area and cell of a margin, in order: the area, its categories, and the columns.

    `note` is one more column with the same text in every row.
    """
    areas, cells = len(spine.names[level]), kinds.cells(query)
    values: dict[str, object] = {
        f"v{at}": np.ascontiguousarray(one).reshape(-1) for at, one in enumerate(columns.values())
    }
    values["area"] = np.repeat(np.arange(areas, dtype=np.int64), cells)
    codes = np.unravel_index(np.arange(cells), kinds.shape(query)) if query.axes else ()
    selected = [f"names.label as {quoted(spine.levels[level])}"]
    joins = ["join names on names.place = area"]
    with _database() as database:
        database.register("names", _labelled(spine.names[level]))
        for place, ((name, labels), code) in enumerate(zip(kinds.columns(query), codes, strict=True)):
            values[f"k{place}"] = np.tile(code.astype(np.int64), areas)
            database.register(f"kind{place}", _labelled(labels))
            selected.append(f"kind{place}.label as {quoted(name)}")
            joins.append(f"join kind{place} on kind{place}.place = k{place}")
        selected += [f"v{at} as {quoted(column)}" for at, column in enumerate(columns)]
        selected += [f"{literal(note)} as status"] if note else []
        values["row"] = np.arange(areas * cells, dtype=np.int64)
        database.register("cells", values)
        _copy(database, f"select {', '.join(selected)} from cells {' '.join(joins)} order by row", path)


def read_cells(
    path: Path, spine: Spine, level: int, kinds: Attributes, query: Query, *columns: str
) -> tuple[IntArray, ...]:
    """Whole numbers of a file that `write_cells` wrote."""
    found = read_numbers(path, *columns)
    shape = (len(spine.names[level]), kinds.cells(query))
    for column in columns:
        if len(found[column]) != shape[0] * shape[1] or np.ma.is_masked(found[column]):
            raise InputError(f"{path}: {column}: holds {len(found[column]):,} counts, not {shape[0] * shape[1]:,}")
    return tuple(frozen(np.asarray(found[column])).reshape(shape) for column in columns)


def read_numbers(path: Path, *columns: str) -> Mapping[str, IntArray | FloatArray]:
    """Columns of a file, in its order."""
    with _database() as database:
        try:
            names = ", ".join(map(quoted, columns))
            found: dict[str, IntArray | FloatArray] = database.execute(
                f"select {names} from read_parquet(?)", [str(path)]
            ).fetchnumpy()
            return found
        except duckdb.Error as error:
            raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None


def write_text(path: Path, text: str) -> None:
    """A file, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.draft")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error


def _number(path: Path, key: str, value: object) -> Fraction:
    try:
        return exact_number(str(value))
    except ValueError:
        raise InputError(f"{path}: {key} = {value!r}: must be a fraction, as in '104/4099'") from None


def _write_areas(path: Path, spine: Spine) -> None:
    columns: dict[str, object] = {}
    places = np.arange(len(spine.names[-1]))
    for level in range(spine.last, 0, -1):
        columns[f"c{level}"] = np.array(spine.names[level], dtype=object)[places]
        places = spine.parents[level][places]
    names = ", ".join(f"c{level} as {quoted(spine.levels[level])}" for level in range(1, spine.last + 1))
    with _database() as database:
        database.register("areas", columns)
        _copy(database, f"select {names} from areas", path)


def _read_areas(path: Path) -> list[tuple[str, ...]]:
    with _database() as database:
        try:
            return database.execute("select * from read_parquet(?)", [str(path)]).fetchall()
        except duckdb.Error as error:
            raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None


def _copy(database: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database.execute(f"copy ({query}) to {literal(str(draft))} (format parquet, compression zstd)")
        os.replace(draft, path)
    except (OSError, duckdb.IOException) as error:
        raise OutputError(f"{path}: cannot be written ({error})") from error


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"autoinstall_known_extensions": False, "threads": 2})


def _database() -> duckdb.DuckDBPyConnection:
    """A connection of its own to one engine, which takes long to start."""
    return _engine().cursor()


def _grouping(kinds: Attributes, grouping: Grouping) -> dict[str, object]:
    """The attribute, and its categories by group."""
    groups: dict[str, list[str]] = {label: [] for label in grouping.labels}
    for category, code in zip(kinds.categories[grouping.axis], grouping.codes, strict=True):
        groups[grouping.labels[code]].append(category)
    return {"of": kinds.names[grouping.axis], "groups": groups}


def _labelled(names: tuple[str, ...]) -> dict[str, object]:
    return {"label": np.array(names, dtype=object), "place": np.arange(len(names), dtype=np.int64)}


def _clean(text: str) -> str:
    """A name that is safe in every file system."""
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in text.replace("*", "."))
