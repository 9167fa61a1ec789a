"""Published files of any kind that their header identifies, and the onlookers who hold them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from safemargin.core import UNBOUNDED, InputError, Onlooker, PublishedTable, Schema, recall
from safemargin.io.combined import Hierarchies
from safemargin.io.reading.found import read_all
from safemargin.io.reading.options import ReadingOptions
from safemargin.io.reading.table import ReadTable
from safemargin.io.sheets import read_sheet
from safemargin.io.tidy import tidy_table


def read_tidy(
    data: object,
    *,
    count: str = "count",
    option: str = "option",
    axes: tuple[str, ...] | None = None,
    skip: Sequence[tuple[str, str]] = (),
) -> PublishedTable:
    """The tidy table in a file, a DataFrame, an Arrow table or rows; as `tidy_table`."""
    return tidy_table(read_sheet(data), count=count, option=option, axes=axes, skip=skip)


def read_many(files: Iterable[object]) -> tuple[PublishedTable, ...]:
    """Tidy tables in order, each with all its columns."""
    return tuple(read_tidy(file) for file in files)


def read_published(
    files: Sequence[object],
    *,
    count: str = "count",
    option: str = "option",
    axes: tuple[str, ...] | None = None,
    skip: Sequence[tuple[str, str]] = (),
    hierarchies: Hierarchies | None = None,
    reading: ReadingOptions | None = None,
) -> tuple[PublishedTable, ...]:
    """The tables of all files and their margins, as the public sees them; see `read_all`."""
    reads = read_all(files, count=count, option=option, axes=axes, skip=skip, hierarchies=hierarchies, reading=reading)
    return tuple(table for read in reads for table in read.tables())


def read_tables(
    files: Sequence[object],
    count: str = "count",
    option: str = "option",
    by: str | None = None,
    skip: list[str] | None = None,
    hierarchy: list[str] | None = None,
    reading: ReadingOptions | None = None,
) -> tuple[PublishedTable, ...]:
    """The published tables in `files`, or in DataFrames and rows."""
    reads = load_tables(files, count, option, by, skip, hierarchy, reading)
    return tuple(table for read in reads for table in read.tables())


def load_tables(
    files: Sequence[object],
    count: str = "count",
    option: str = "option",
    by: str | None = None,
    skip: list[str] | None = None,
    hierarchy: list[str] | None = None,
    reading: ReadingOptions | None = None,
) -> tuple[ReadTable, ...]:
    """The tables in `files`, or in DataFrames and rows, with how each was read."""
    return read_all(
        files,
        count=count,
        option=option,
        axes=axes(by),
        skip=skip_rules(skip),
        hierarchies=hierarchies(hierarchy),
        reading=reading,
    )


def hierarchies(texts: list[str] | None) -> dict[str, list[Path]]:
    """Files with hierarchies by axis, from `axis=file.hrc`."""
    files: dict[str, list[Path]] = {}
    for text in texts or []:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise InputError(f"--hierarchy {text!r}: say which axis and which file, as in region=region.hrc")
        files.setdefault(name, []).append(Path(file))
    return files


def onlooker_from_files(
    tables: tuple[PublishedTable, ...],
    roll: Sequence[object] | None,
    fact: Sequence[object] | None,
    count: str,
    option: str,
    knows_rule: bool = False,
) -> tuple[Onlooker, tuple[ReadTable, ...]]:
    """Who sees the tables and knows what these files say, and how each of them was read."""
    rolls, facts = read_known(roll or [], "people", option, "roll"), read_known(fact or [], count, option, "fact")
    known = tuple(table for read in facts for table in read.tables())
    people = tuple(table for read in rolls for table in read.tables())
    check_facts(known, (*tables, *people), option)
    return Onlooker("public", people, known, knows_rule), (*rolls, *facts)


def read_known(files: Sequence[object], count: str, option: str, role: str) -> tuple[ReadTable, ...]:
    """The rolls or facts in `files`. A sign in place of a number is refused: they are what somebody knows."""
    reads = tuple(_in_role(read, role) for read in load_tables(files, count, option))
    for read in reads:
        for row in read.gaps.tolist():
            symbol = read.symbols[row] if row < len(read.symbols) else ""
            line = -1 if read.places is None else int(read.places[row, 0])
            if symbol and line >= 0 and read.cells.upper[row] == UNBOUNDED:
                place = f"{read.form.path or read.name}: line {line}"
                raise InputError(f"{place}: {read.form.counts or count} = {symbol[:60]!r}: is not a number of people")
    return reads


def _in_role(read: ReadTable, role: str) -> ReadTable:
    """A table in its role; one that is called a roll counts people, whatever its column of counts is called."""
    cells = replace(read.cells, measure="people") if "roll" in role and not read.cells.options else read.cells
    return replace(read, cells=cells, role=role)


def with_earlier_tables(
    onlooker: Onlooker, earlier: Sequence[object] | None, rolls: Sequence[object] | None, count: str, option: str
) -> tuple[Onlooker, tuple[ReadTable, ...]]:
    """The onlooker with the earlier tables in mind, and how each of these was read."""
    if not earlier:
        if rolls:
            raise InputError("--earlier-roll: name the tables published then with --earlier")
        return onlooker, ()
    if not rolls or not onlooker.roll:
        raise InputError("--earlier: give --roll and --earlier-roll, so that those who came and went are known")
    # A folder of an earlier release stands for all of its tables.
    folders = [path.resolve() for path in earlier if isinstance(path, Path) and path.is_dir()]
    files = [
        file
        for table in earlier
        for file in (_tables_in(table) if isinstance(table, Path) and table.is_dir() else [table])
    ]
    names = [folder.parent.name if folder.name == "published" else folder.name for folder in folders]
    cycle = names[0] if names and len(earlier) == 1 else "the earlier tables"
    before = read_known(rolls, "people", option, "earlier roll")
    shown = tuple(replace(read, role="earlier") for read in load_tables(files, count, option))
    tables = tuple(table for read in shown for table in read.tables())
    people = tuple(table for read in before for table in read.tables())
    return replace(onlooker, past=recall(tables, cycle, people, onlooker.roll)), (*shown, *before)


def _tables_in(folder: Path) -> list[Path]:
    for ending in ("csv", "parquet"):
        if paths := sorted(folder.glob(f"*.{ending}")):
            return paths
    raise InputError(f"{folder}: holds no table (CSV or Parquet)")


def skip_rules(skip: list[str] | None) -> tuple[tuple[str, str], ...]:
    for rule in skip or []:
        if "=" not in rule:
            raise InputError(f"--skip {rule!r}: say which value of the column, as in {rule}=-1")
    return tuple((column, value) for column, _, value in (rule.partition("=") for rule in skip or []))


def axes(text: str | None) -> tuple[str, ...] | None:
    """Names of axes between commas."""
    return None if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def check_facts(facts: Sequence[PublishedTable], tables: Sequence[PublishedTable], option: str = "option") -> None:
    """Refuse facts about categories and options that none of `tables`, rolls among them, lists.

    An axis that is in no table is new, and so may be a second option beside a single one.
    """
    listed: dict[str, set[str]] = {}
    for table in tables:
        for axis, groups in zip(table.axes, table.groups, strict=True):
            listed.setdefault(axis, set()).update(*groups)
    options = tuple(dict.fromkeys(name for table in tables for name in table.options))
    _check(facts, listed, options if len(options) > 1 else (), option)


def check_project_facts(facts: Sequence[PublishedTable], schema: Schema) -> None:
    """Refuse facts about categories and options that a project does not have."""
    _check(facts, {axis.name: axis.categories for axis in schema.axes}, schema.options, "option")


def _check(
    facts: Sequence[PublishedTable], listed: Mapping[str, Collection[str]], options: Collection[str], option: str
) -> None:
    for fact in facts:
        for axis, groups in zip(fact.axes, fact.groups, strict=True):
            for category in sorted(frozenset().union(*groups)) if axis in listed else ():
                if category not in listed[axis]:
                    raise InputError(f"{fact.name}: column {axis!r}: unknown category {category!r}; no table has it")
        for name in fact.options if options else ():
            if name not in options:
                raise InputError(
                    f"{fact.name}: column {option!r}: unknown option {name!r}; the options are {', '.join(options)}"
                )
