"""Published files of any kind that their header identifies, and the onlookers who hold them."""

import csv
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from safemargin.core import InputError, Onlooker, PublishedTable, Schema, recall
from safemargin.io.combined import Hierarchies, is_combined, node_groups, read_combined, tree
from safemargin.io.crosstab import ACROSS, columns_of, is_crosstab, read_crosstab
from safemargin.io.duck import DuckSource, open_memory, open_parquet
from safemargin.io.files import check_names, csv_records, numbered_lines, require_file, suffix
from safemargin.io.office import open_excel, open_spss, open_stata
from safemargin.io.px import read_px
from safemargin.io.rows import VALUE, Sheet
from safemargin.io.sdmx import of_observations
from safemargin.io.tidy import tidy_table

READ_WHOLE = {".parquet": open_parquet, ".xlsx": open_excel, ".sav": open_spss, ".dta": open_stata}
TAB = ("value", "freq", "cost", "status", "lower", "upper")


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


def read_sheet(data: object, name: str = "table") -> Sheet:
    """The columns of a CSV, Parquet, Excel, SPSS or Stata file, or of data in memory, as texts; absent is empty."""
    if not isinstance(data, str | Path):
        return _sheet_of(open_memory(data, name))
    path = Path(data)
    require_file(path)
    if (opened := READ_WHOLE.get(suffix(path))) is not None:
        return _sheet_of(opened(path))
    records = csv_records(path)
    _, names = next(records)
    check_names(path, names)
    lines: list[int] = []
    fields: list[list[str]] = []
    for line, record in records:
        lines.append(line)
        fields.append(record)
    if not lines and len(names) == 1 and sum(1 for _ in numbered_lines(path)) > 1:  # its one cell is suppressed
        lines, fields = [2], [[""]]
    if not lines:
        raise InputError(f"{path}: the table is empty")
    return Sheet(path, dict(zip(names, zip(*fields, strict=True), strict=True)), lines)


def _sheet_of(source: DuckSource) -> Sheet:
    shown = ", ".join(f"coalesce({field}::varchar, '')" for field in source.fields.values())
    with source.connected() as database:
        database.execute("set preserve_insertion_order = true")
        records = database.execute(f"select {shown} from {source.scan}").fetchall()
    if not records:
        raise InputError(f"{source.path}: the table is empty")
    columns = dict(zip(source.columns, zip(*records, strict=True), strict=True))
    return Sheet(source.path, columns, range(1, len(records) + 1), "row")


def read_any_sheet(data: object, name: str = "table") -> Sheet:
    """As `read_sheet`, PX files too; a `.tab` of tau-ARGUS without a header has axes called `axis1`, `axis2` and on."""
    path = Path(data) if isinstance(data, str | Path) else Path(name)
    if path.suffix.lower() == ".px":
        columns = read_px(path)
        return Sheet(path, columns, range(1, len(columns[VALUE]) + 1), "value")
    if path.suffix.lower() != ".tab":
        return read_sheet(data, name)
    records = [record for record in csv.reader(numbered_lines(path), delimiter=";") if record]
    width = len(records[0]) - len(TAB) if records else 0
    if width < 1 or any(len(record) != width + len(TAB) for record in records):
        raise InputError(f"{path}: a .tab file has codes;value;freq;cost;status;lower;upper in every line")
    head = [text.strip() for text in records[0]]
    has_head = head[-3].lower() == TAB[-3]
    names = [*(head[:width] if has_head else (f"axis{number}" for number in range(1, width + 1))), *TAB]
    rows = records[1:] if has_head else records
    tab = {name: [record[column].strip() for record in rows] for column, name in enumerate(names)}
    return Sheet(path, tab, range(1 + has_head, len(records) + 1))


def read_published(
    files: Sequence[object],
    *,
    count: str = "count",
    option: str = "option",
    axes: tuple[str, ...] | None = None,
    skip: Sequence[tuple[str, str]] = (),
    hierarchies: Hierarchies | None = None,
) -> tuple[PublishedTable, ...]:
    """The tables of all files: tidy ones, the outputs of other tools, and cross tables; or of DataFrames and rows.

    A file read by columns that the caller names is a tidy table.
    """
    sheets = [
        of_observations(read_any_sheet(file, f"table {number}" if len(files) > 1 else "table"), count)
        for number, file in enumerate(files, 1)
    ]
    by_header = [axes is None and not skip and suffix(sheet.path) not in READ_WHOLE for sheet in sheets]
    combined = [plain and is_combined(sheet) for plain, sheet in zip(by_header, sheets, strict=True)]
    wide = [
        plain and not margins and _is_wide(sheet, count, option)
        for plain, margins, sheet in zip(by_header, combined, sheets, strict=True)
    ]
    tables: dict[int, tuple[PublishedTable, ...]] = {}
    used = {name for sheet in sheets for name in sheet.columns}
    trees = {name: tree(name, (), files) for name, files in (hierarchies or {}).items() if name in used}
    wider = {name: dict(zip(axis.labels, node_groups(axis), strict=True)) for name, axis in trees.items()}
    for number, sheet in enumerate(sheets):
        if combined[number]:
            tables[number] = read_combined(sheet, hierarchies or {}, count).tables()
        elif not wide[number]:
            tables[number] = (tidy_table(sheet, count=count, option=option, axes=axes, skip=skip, wider=wider),)
    others: dict[str, Sequence[str]] = {
        axis: sorted({name for group in table.groups[a] for name in group})
        for read in tables.values()
        for table in read
        for a, axis in enumerate(table.axes)
    }
    wide_sheets = {number: sheet for number, sheet in enumerate(sheets) if wide[number]}
    for sheet in wide_sheets.values():
        others |= {name: sheet.columns[name] for name in tuple(sheet.columns)[:1]}
    others.setdefault(ACROSS, [name for sheet in wide_sheets.values() for name in columns_of(sheet)])
    tables |= {number: read_crosstab(sheet, others) for number, sheet in wide_sheets.items()}
    ordered = tuple(table for number in range(len(sheets)) for table in tables[number])
    _check_axes(hierarchies or {}, ordered)
    return ordered


def _check_axes(hierarchies: Hierarchies, tables: Sequence[PublishedTable]) -> None:
    names = tuple(dict.fromkeys(axis for table in tables for axis in table.axes))
    for name in hierarchies:
        if name not in names:
            raise InputError(f"--hierarchy {name}: there is no such axis; the axes are {', '.join(names) or '(none)'}")


def _is_wide(sheet: Sheet, count: str, option: str) -> bool:
    return not {count, option} & set(sheet.columns) and is_crosstab(sheet)


def read_tables(
    files: Sequence[object],
    count: str = "count",
    option: str = "option",
    by: str | None = None,
    skip: list[str] | None = None,
    hierarchy: list[str] | None = None,
) -> tuple[PublishedTable, ...]:
    """The published tables in `files`, or in DataFrames and rows."""
    return read_published(
        files, count=count, option=option, axes=axes(by), skip=skip_rules(skip), hierarchies=hierarchies(hierarchy)
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
) -> Onlooker:
    """Who sees the tables and knows what these files say."""
    rolls, facts = read_tables(roll or [], "people", option), read_tables(fact or [], count, option)
    check_facts(facts, (*tables, *rolls), option)
    return Onlooker("public", rolls, facts, knows_rule)


def with_earlier_tables(
    onlooker: Onlooker, earlier: Sequence[object] | None, rolls: Sequence[object] | None, count: str, option: str
) -> Onlooker:
    """The onlooker with the earlier tables in mind."""
    if not earlier:
        if rolls:
            raise InputError("--earlier-roll: name the tables published then with --earlier")
        return onlooker
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
    before = read_tables(rolls, "people", option)
    past = recall(read_tables(files, count, option), cycle, before, onlooker.roll)
    return replace(onlooker, past=past)


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
