"""Read tables of any format: one `ReadTable` per table, with how it was read.

Tidy tables with names of ours, and outputs of tools of disclosure control, say what their columns are: they are read by
that. In all others the table is found by what its cells hold.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from safemargin.core import RESERVED, UNBOUNDED, InputError, PublishedTable, label
from safemargin.io.combined import Combined, Hierarchies, is_combined, node_groups, read_combined, tree
from safemargin.io.files import require_file, suffix
from safemargin.io.reading.attributes import has_attributes
from safemargin.io.reading.cells import SheetCells, find_cells
from safemargin.io.reading.columns import TableColumns, find_columns
from safemargin.io.reading.excel import excel_grids
from safemargin.io.reading.footnotes import AMOUNT_WORDS, explained
from safemargin.io.reading.frame import Frame, cut_rows, find_frame
from safemargin.io.reading.grid import TextGrid, shown
from safemargin.io.reading.labels import ACROSS, Labels, column_labels, row_labels
from safemargin.io.reading.options import ReadingOptions
from safemargin.io.reading.settle import Context, finish, settle
from safemargin.io.reading.sums import TOTAL
from safemargin.io.reading.table import ReadAxis, ReadTable, TableForm
from safemargin.io.reading.texts import text_grid
from safemargin.io.reading.typed import (
    arrow_grids,
    json_grids,
    memory_grids,
    parquet_grids,
    sqlite_grids,
    statistics_grids,
)
from safemargin.io.rows import Sheet, is_number
from safemargin.io.same_labels import spelling_notes
from safemargin.io.tidy import tidy_table

PLAIN = re.compile(r"\s*(?:[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)?\s*")
AMBIGUOUS = re.compile(r"\s*[0-9]{1,3}(?:\.[0-9]{3})+\s*")
ANSWERS = frozenset(
    "yes no ja nein oui non si sí sim não nej agree disagree for against abstain approve disapprove pro contra".split()
)
ANSWERED = re.compile(
    r"(?:vote|votes|answer|response|candidate|choice|opinion|ballot|antwort|réponse|stimme|kandidat|respuesta)s?", re.I
)


def grids_of(data: object, name: str, reading: ReadingOptions) -> list[TextGrid]:
    """The tables in a file, or in data that a program holds, as grids."""
    if not isinstance(data, str | Path):
        return memory_grids(data, name)
    path = Path(data)
    require_file(path)
    ending = suffix(path)
    if ending in (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"):
        return excel_grids(path, reading.sheet)
    if ending == ".parquet":
        return parquet_grids(path)
    if ending in (".arrow", ".feather", ".ipc"):
        return arrow_grids(path)
    if ending in (".json", ".jsonl", ".ndjson"):
        return json_grids(path)
    if ending in (".sqlite", ".sqlite3", ".db"):
        return sqlite_grids(path, reading.sheet)
    if ending in (".sav", ".dta"):
        return statistics_grids(path)
    return [text_grid(path, reading.encoding, reading.skip_lines)]


def is_plain(sheet: Sheet, count: str) -> bool:
    """Whether a sheet is a tidy table by its header, and its counts are numbers that can be read in one way."""
    measures = [name for name in (count, "people", "lower", "upper") if name in sheet.columns]
    if not measures:
        return False
    texts = {text for name in measures for text in sheet.columns[name]}
    if any(_is_amount(name, column) for name, column in sheet.columns.items() if name not in measures):
        return False
    return all(PLAIN.fullmatch(text) and not AMBIGUOUS.fullmatch(text) for text in texts)


def _is_amount(name: str, texts: Sequence[str]) -> bool:
    """Whether a column beside the counts holds amounts: by its name, and numbers alone."""
    return bool(AMOUNT_WORDS.search(name)) and all(is_number(text) for text in texts if text.strip())


def read_sheet_table(
    sheet: Sheet,
    *,
    count: str,
    option: str,
    axes: tuple[str, ...] | None,
    skip: Sequence[tuple[str, str]],
    hierarchies: Hierarchies,
    reading: ReadingOptions,
    trusted: bool = False,
) -> ReadTable | None:
    """The table of a sheet whose header says what it is; None for others."""
    form = TableForm(sheet.path, suffix(sheet.path).lstrip(".") or "memory", counts=count)
    if axes is None and not skip and is_combined(sheet) and not reading.is_about_layout:
        found = read_combined(sheet, hierarchies, count)
        least = 0 if sheet.is_observed else found.least
        try:
            return _of_combined(found, sheet, hierarchies, reading, form, least)
        except InputError:
            if not least or reading.gap is not None:
                raise
            read = _of_combined(found, sheet, hierarchies, reading, form, 0)
            return read.noted("a suppressed count may be zero: the sums say so")
    if not is_plain(sheet, count) or reading.is_about_layout:
        return None
    ours = trusted or _is_ours(sheet.path)
    others = (texts for name, texts in sheet.columns.items() if name not in {*RESERVED, count, option})
    if axes is None and not ours and any(not any(map(str.strip, texts)) for texts in others):
        return None  # with a column that holds nothing, such as shares that were removed
    if axes is None and not ours and has_attributes(sheet.columns, {*RESERVED, count}):
        return None
    trees = {name: tree(name, (), files) for name, files in hierarchies.items() if name in sheet.columns}
    wider = {name: dict(zip(axis.labels, node_groups(axis), strict=True)) for name, axis in trees.items()}
    table = tidy_table(sheet, count=count, option=option, axes=axes, skip=skip, wider=wider)
    form = replace(form, is_tidy=reading == ReadingOptions())
    return of_table(table, sheet, reading, form, ours, set(trees))


def _is_ours(path: Path) -> bool:
    """Whether a release of ours holds this file: its manifest names it, and its totals have a name.

    What `suppress` writes back has the labels of the file that was read, so its totals may have any name.
    """
    if "-suppressed." in path.name:
        return False
    manifest = path.parent / "manifest.json"
    try:
        return manifest.is_file() and f'"{path.name}"' in manifest.read_text(encoding="utf-8")[:1_000_000]
    except (OSError, UnicodeDecodeError):
        return False


def of_table(
    table: PublishedTable,
    sheet: Sheet,
    reading: ReadingOptions,
    form: TableForm,
    trusted: bool,
    fixed: set[str] | None = None,
    of_tool: bool = False,
) -> ReadTable:
    """A tidy table with its sums found; axes in `fixed` have a hierarchy that says which labels are sums."""
    labels = [[label(group) for group in groups] for groups in table.groups]
    answers = len(labels) if table.options else None
    codes = np.column_stack([table.codes, table.option]) if table.options else np.asarray(table.codes)
    hidden = np.array([status == "suppressed" for status in table.status])
    lower, upper = np.asarray(table.lower), np.asarray(table.upper)
    if reading.gap is not None:
        lower, upper = np.where(hidden, reading.gap[0], lower), np.where(hidden, reading.gap[1], upper)
    lines = list(sheet.rows) if len(sheet.rows) == len(hidden) else [-1] * len(hidden)
    place = list(sheet.columns).index(form.counts) if form.counts in sheet.columns else -1
    cells = SheetCells(
        [*table.axes, *(["option"] if table.options else [])],
        [*labels, *([list(table.options)] if table.options else [])],
        codes,
        lower,
        upper,
        hidden,
        np.zeros(len(hidden), dtype=bool),
        [""] * len(hidden),
        np.array([(line, place) for line in lines], dtype=np.int64),
    )
    cells.notes += sheet.notes
    for name in (*table.axes, *(["option"] if table.options else [])):
        cells.notes += spelling_notes(name, list(dict.fromkeys(sheet.columns.get(name, ()))))
    trusted |= table.is_roll and not bool(hidden.any())
    base = sheet.base if sheet.base > 1 else 0
    context = Context(str(sheet.path), sheet.row_word, reading, base, unit=sheet.base, trusted=trusted, of_tool=of_tool)
    if fixed and fixed >= set(table.axes):
        context = replace(context, reading=replace(reading, totals="none"))
    outcome = settle(cells, context)
    groups = [*table.groups, *([tuple(frozenset([name]) for name in table.options)] if table.options else [])]
    roles = ["axis"] * len(cells.axes)
    question = "" if table.options else _question(outcome.cells.axes, outcome.cells.labels)
    return finish(
        outcome, context, roles, answers, form, groups, table.status, table.measure,
        {"": "the option"} if reading.gap else {}, question, table.noisy if len(outcome.lower) == len(hidden) else None,
    )  # fmt: skip


def _of_combined(
    found: Combined, sheet: Sheet, hierarchies: Hierarchies, reading: ReadingOptions, form: TableForm, least: int
) -> ReadTable:
    """A table of a tool of disclosure control."""
    gap = reading.gap or (least, UNBOUNDED)
    hidden, noised = found.suppressed, found.noised
    status = tuple(np.where(hidden, "suppressed", np.where(noised, "noised", "exact")).tolist())
    trees = found.trees
    table = PublishedTable(
        name=found.path.name,
        axes=tuple(axis.name for axis in trees),
        groups=tuple(tuple(frozenset([text or TOTAL]) for text in axis.labels) for axis in trees),
        codes=found.nodes,
        options=(),
        option=np.full(len(status), -1),
        lower=np.where(noised, 0, np.where(hidden, gap[0], found.counts)),
        upper=np.where(noised, UNBOUNDED, np.where(hidden, gap[1], found.counts)),
        status=status,
        noisy=np.where(noised, found.counts, 0) if noised.any() else None,
    )
    if not any(axis.name in hierarchies for axis in trees):
        listed = [np.unique(found.nodes[:, a]) for a in range(len(trees))]
        codes = np.column_stack([np.searchsorted(used, found.nodes[:, a]) for a, used in enumerate(listed)])
        groups = tuple(tuple(table.groups[a][code] for code in used) for a, used in enumerate(listed))
        read = of_table(replace(table, groups=groups, codes=codes), sheet, reading, form, False, of_tool=True)
        return replace(read, question="")
    axes = tuple(ReadAxis(axis.name, axis.labels, 0, axis.splits) for axis in trees)
    lines = np.array([(line, -1) for line in sheet.rows], dtype=np.int64)
    return ReadTable(table, axes, places=lines, form=form)


def read_grid(
    grid: TextGrid,
    *,
    count: str = "count",
    option: str = "option",
    axes: tuple[str, ...] | None = None,
    skip: Sequence[tuple[str, str]] = (),
    reading: ReadingOptions | None = None,
    own: bool = False,
) -> ReadTable:
    """The table in a grid, found by what its cells hold; `own` says that an office gives its own counts."""
    reading = reading or ReadingOptions()
    frame = find_frame(grid, reading.header, reading.decimal, reading.thousands)
    labels: tuple[str, ...] | None = axes or reading.row_names or None
    for column, value in skip:
        frame = _without(frame, column, value)
    columns = find_columns(frame, None if count in ("count", "people") else count, labels, reading.columns)
    across_names = tuple(name.strip() for name in reading.columns.split(",") if name.strip())
    if len(columns.counts) == 1 and across_names and labels:  # --rows A --columns B of a long table
        by_name = {columns.name(c): c for c in range(frame.grid.width)}
        columns.labels += [by_name[name] for name in across_names if name in by_name]
        across_names = ()
    _keep_answers(frame, columns, reading)
    rows, across = row_labels(frame, columns), column_labels(frame, columns, across_names)
    _split_corner(rows, across)
    said = explained([*frame.titles, *frame.footnotes, *columns.units], frame.style.symbols)
    columns.doubts += frame.grid.doubts
    for sign in frame.guessed:
        columns.doubts.append(f"{sign!r} stands in place of counts, and nothing says what it means: taken as a gap")
    if said.amounts and any(re.search(re.escape(said.amounts), title) for title in frame.titles):
        columns.doubts.append(f"the title says {said.amounts!r}: are these counts of people?")
    cells = find_cells(frame, columns, rows, across, said, reading)
    base = said.base or (said.unit if said.unit > 1 else 0)
    context = Context(
        grid.name,
        grid.word,
        reading,
        base,
        said.random,
        said.rounds,
        said.unit,
        ambiguous=frame.style.ambiguous,
        own=own,
    )
    try:
        outcome = settle(cells, context)
    except InputError:
        if not rows.headings:
            raise
        rows = row_labels(frame, columns, headings=False)  # the sums need a count where a label stands alone
        outcome = settle(find_cells(frame, columns, rows, across, said, reading), context)
    _check_ambiguous(frame, outcome.tested, columns)
    if not (outcome.tested or reading.decimal or reading.thousands):
        _doubt_fractions(frame, columns)
    answers = next((a for a, name in enumerate(cells.axes) if name == option), None)
    if reading.answers:
        answers = len(rows.names) if across.names else answers
    cells = outcome.cells
    if rows.headings and not outcome.sums[0].tested:
        columns.doubts.append(f"{rows.headings[0]!r} has no count: taken for a heading, and may be a gap")
    cells.notes[:0] = [*frame.notes, *columns.notes, *rows.notes, *across.notes]
    cells.doubts += [*columns.doubts, *rows.doubts, *across.doubts]
    roles = (
        [*["rows"] * len(rows.names), *["columns"] * len(across.names)] if across.names else ["axis"] * len(rows.names)
    )
    kind = suffix(grid.path).lstrip(".") if grid.path.suffix else "memory"
    counts = columns.name(columns.counts[0]) if len(columns.counts) == 1 else ""
    form = TableForm(grid.path, kind, grid.delimiter or ",", grid.encoding or "utf-8", grid.sheet, counts)
    sources = {"": "the option"} if reading.gap else dict.fromkeys(said.gaps, "the footnote")
    question = "" if answers is not None else _question(cells.axes, cells.labels)
    context = replace(context, name=str(grid.path))
    return finish(outcome, context, roles, answers, form, sources=sources, question=question)


def _without(frame: Frame, column: str, value: str) -> Frame:
    names = [next((shown(frame.grid.rows[r][c]) for r in reversed(frame.head) if frame.grid.rows[r][c] is not None), "")
             for c in range(frame.grid.width)]  # fmt: skip
    if column not in names:
        raise InputError(f"{frame.grid.name}: there is no column {column!r}; the columns are {', '.join(names)}")
    at = names.index(column)
    keep = [r for r in frame.body if shown(frame.grid.rows[r][at]) != value]
    if not keep:
        raise InputError(f"{frame.grid.name}: no row is left without {column} = {value!r}")
    return cut_rows(frame, keep)


def _keep_answers(frame: Frame, columns: TableColumns, reading: ReadingOptions) -> None:
    """Of the columns of counts, those of answers and a total of them."""
    if not reading.answers:
        return
    names = {columns.name(c): c for c in columns.counts}
    for name in reading.answer_names:
        if name not in names:
            raise InputError(
                f"answers: {frame.grid.name} has no column of counts {name!r}; there are {', '.join(names)}"
            )
    kept = [names[name] for name in reading.answer_names]
    total = [c for c in columns.counts if c not in kept and all(
        None not in (frame.values[r, c].number, *(frame.values[r, k].number for k in kept))
        and int(frame.values[r, c].number or 0) == sum(int(frame.values[r, k].number or 0) for k in kept)
        for r in frame.body
    )]  # fmt: skip
    dropped = [columns.name(c) for c in columns.counts if c not in kept and c not in total[:1]]
    if dropped:
        columns.notes.append(f"ignored {', '.join(map(repr, dropped[:4]))}: no answers")
    columns.counts = sorted([*kept, *total[:1]])


def _split_corner(rows: Labels, across: Labels) -> None:
    """`Region \\ Employment` over the labels names both axes."""
    if len(rows.names) == 1 and len(across.names) == 1 and across.names[0] == ACROSS:
        parts = [part.strip() for part in re.split(r"\\| / ", rows.names[0]) if part.strip()]
        if len(parts) == 2:
            rows.names[0], across.names[0] = parts


def _check_ambiguous(frame: Frame, tested: int, columns: TableColumns) -> None:
    style = frame.style
    if not style.ambiguous:
        return
    used = {c for c in (*columns.counts, *(columns.ends or ()))}
    cells = {frame.grid.rows[r][c] for r in frame.body for c in used}
    if not any(isinstance(cell, str) and re.fullmatch(r"[+-]?[0-9]{1,3}[.,][0-9]{3}", cell.strip()) for cell in cells):
        return
    if tested:
        columns.notes.append(f"{style.ambiguous!r} is read as thousands: the sums say so")
    elif style.thousands == "," and frame.grid.delimiter == ",":
        columns.notes.append(f"{style.ambiguous!r} is read as thousands")
    elif style.thousands == ",":
        columns.doubts.append(f"{style.ambiguous!r} is read as thousands, but may be a fraction")
    else:
        raise InputError(
            f"{frame.grid.name}: {style.ambiguous!r} may be thousands or a fraction; say `thousands` or `decimal`"
        )


def _doubt_fractions(frame: Frame, columns: TableColumns) -> None:
    """Doubt `4,0` where other counts of the column are written without a comma: it may be 4, or 40 with a slip."""
    for c in columns.counts:
        texts = [shown(frame.grid.rows[r][c]).strip() for r in frame.body if frame.values[r, c].kind == "number"]
        odd = [text for text in texts if re.fullmatch(r"[+-]?[0-9]+,0+", text)]
        if odd and frame.style.decimal == "," and len(odd) < len(texts):
            columns.doubts.append(f"{odd[0][:60]!r} is read as {odd[0].split(',')[0][:60]}, and others have no comma")


def _question(axes: Sequence[str], labels: Sequence[Sequence[str]]) -> str:
    """Which labels look like answers of people."""
    for name, texts in zip(axes, labels, strict=True):
        found = [text for text in texts if text.casefold() in ANSWERS]
        if len(found) > 1 or (ANSWERED.fullmatch(name) and len(texts) > 1):
            listed = ", ".join(found if len(found) > 1 else list(texts)[:3])
            how = f"--reading answers={','.join(found)}" if name == ACROSS else f"--option {name}"
            return f"{listed} look like answers: say {how}, so that groups of one mind are found"
    return ""
