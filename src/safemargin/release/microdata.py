"""The rows of the data that count: those of one contest, without those to skip."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from safemargin.core import (
    UNBOUNDED,
    Axis,
    BoolArray,
    Hierarchy,
    InputError,
    IntArray,
    Schema,
    Table,
    Tally,
    frozen,
    row_keys,
)
from safemargin.io import (
    AMOUNT_WORDS,
    BadText,
    Countable,
    Profiles,
    Sheet,
    natural_order,
    open_counted,
    read_sheet,
    suffix,
    whole_number,
)
from safemargin.release.amounts import refuse_amounts
from safemargin.release.axes import build_axis, nest, recode, seen_categories
from safemargin.release.columns import SKIP, DataSection
from safemargin.release.option_columns import OptionColumns, count_matrix
from safemargin.release.project import Project
from safemargin.release.rolls import TidyFile, build_rolls, read_rolls
from safemargin.ui import plural

FEW_ROWS = 1000
"""Rows of a file that may be a table of amounts; larger ones are records."""


def _is_amount(name: str) -> bool:
    return AMOUNT_WORDS.search(name) is not None


def open_records(data: DataSection) -> Countable:
    """The table of the data, opened once: every read of it must agree."""
    where = data.source or data.file
    assert where is not None
    return open_counted(where, data.table, data.encoding, data.engine, data.master)


def read_records(
    project: Project, data: DataSection, columns: Iterable[str], source: Countable | None, values: Iterable[str] = ()
) -> tuple[Profiles, tuple[str, ...]]:
    """Distinct rows of `columns`, of the contest alone and without the rows to skip, and sentences about the others.

    `values` are columns that name no category.
    """
    opened = source or open_records(data)
    banded = [project.column(name) for name in project.axes if project.coding(name).bands]
    silent = [data.answer] if data.skips_blank else []
    wanted = tuple(dict.fromkeys([*columns, *data.contest, *data.skip, *silent]))
    profiles = opened.profiles(wanted, [*banded, *values, *data.contest, *data.skip])
    notes = [*profiles.notes]
    for column, value in data.contest.items():
        kept = _having(profiles, column, (value,))
        if not kept.any():
            found = ", ".join(map(repr, profiles.column(column)[0][:10]))
            raise InputError(f"{data.place}: column {column!r}: no row has the value {value!r}; there are {found}")
        notes.append(f"{_rows(profiles, ~kept)} of other contests: {column!r} is not {value!r}.")
        profiles = profiles.where(kept)
    for column, listed in data.skip.items():
        left_out = _having(profiles, column, listed)
        if left_out.all():
            raise InputError(f"{data.place}: data.skip: no row is left without {column} = {', '.join(listed)!r}")
        notes.append(f"{_rows(profiles, left_out)}: {column!r} is {' or '.join(map(repr, listed))}.")
        profiles = profiles.where(~left_out)
    if silent:
        profiles, skipped = _answered(data, profiles)
        notes += skipped
    return profiles, tuple(notes)


def _answered(data: DataSection, profiles: Profiles) -> tuple[Profiles, list[str]]:
    """The rows with an answer: a question is about those who answered it, and its roll counts them."""
    labels, codes = profiles.column(data.answer)
    if data.listed is None and SKIP in labels:
        raise InputError(
            f"{data.place}: column {data.answer!r}: {SKIP!r} is an answer here, and data.blank = {SKIP!r} says that "
            "people without one are not counted; list the answers in data.options"
        )
    blank = np.array([not data.coding.category(label) for label in labels], dtype=bool)[codes]
    if blank.all():
        raise InputError(f"{data.place}: column {data.answer!r} is empty in every row; nobody answered")
    said = f"{_rows(profiles, blank).replace('Skipped', 'Not counted:')} without an answer: {data.answer!r} is empty."
    return profiles.where(~blank), [said] if blank.any() else []


def _having(profiles: Profiles, column: str, values: tuple[str, ...]) -> BoolArray:
    labels, codes = profiles.column(column)
    return np.array([label in values for label in labels], dtype=bool)[codes]


def _rows(profiles: Profiles, which: BoolArray) -> str:
    return f"Skipped {plural(int(profiles.counts[which].sum()), 'row')}"


def tabulate_microdata(
    project: Project, data: DataSection, source: Countable | None = None
) -> tuple[Table, tuple[str, ...]]:
    """Votes by all axes together, and the roll: given files, or the people in the data; and notes on skipped rows."""
    rolls = read_rolls(project, project.roll_files)
    source = source or open_records(data)
    numbers = [data.count] if data.count else []
    if data.side_by_side is not None:
        numbers = [*data.side_by_side.used(getattr(source, "columns", ()))]
    asked = tuple(dict.fromkeys([*_columns(project), *([data.answer] if data.answer else []), *numbers]))
    profiles, notes = read_records(project, data, asked, source, numbers)
    notes = (*notes, *(note for file in rolls for note in file.notes))
    surveyed = getattr(source, "survey", None)
    if surveyed is not None and int(profiles.counts.sum()) <= FEW_ROWS and any(map(_is_amount, source.columns)):  # type: ignore[attr-defined]
        refuse_amounts(data.place, surveyed())
    if data.side_by_side is not None:
        options, chosen, people, profiles = _counted(project, data, data.side_by_side, profiles)
    else:
        people = people_of(data, profiles)
        options, chosen = _answers(data, profiles, people)
    coded_axes = [coded_axis(project, data.place, profiles, name, rolls) for name in project.axes]
    axes = tuple(axis for axis, _ in coded_axes)
    schema = Schema(axes, options, bool(data.ordered))
    codes = np.empty((len(people), len(axes)), dtype=np.int64)
    for position, (_, column) in enumerate(coded_axes):
        codes[:, position] = column
    votes = _pivoted(schema, codes, chosen, people)
    if not len(votes.counts):
        raise InputError(f"{data.place}: column {data.count or options[0]!r} counts nobody; the table is empty")
    if not rolls:
        counted = Tally(votes.axes, votes.codes, frozen(votes.counts.sum(axis=1), 1))
        return Table(schema, (votes,), (counted,)), notes
    return Table(schema, (votes,), build_rolls(rolls, schema, (votes,))), notes


def _columns(project: Project) -> list[str]:
    wanted = [project.column(name) for name in project.axes]
    for axis in project.axes.values():
        wanted += axis.levels or ()
    return wanted


def _counted(
    project: Project, data: DataSection, section: OptionColumns, profiles: Profiles
) -> tuple[tuple[str, ...], IntArray, IntArray, Profiles]:
    """Counts side by side: the options, and for every profile and option its code, its people and the profile."""
    people = side_by_side_counts(project, data, section, profiles)
    names = [data.labels.get(name, name) for name in section.options]
    options = tuple(dict.fromkeys(names))
    places = np.array([options.index(name) for name in names], dtype=np.int64)
    rows = np.repeat(np.arange(len(people)), len(names))
    repeated = Profiles(profiles.columns, profiles.labels, profiles.codes[rows], profiles.counts[rows])
    return options, np.tile(places, len(people)), people.ravel(), repeated


def side_by_side_counts(project: Project, data: DataSection, section: OptionColumns, profiles: Profiles) -> IntArray:
    """People by profile and option."""
    columns = [profiles.column(name) for name in profiles.columns]
    texts = {
        name: [labels[code] for code in codes.tolist()]
        for name, (labels, codes) in zip(profiles.columns, columns, strict=True)
    }
    named = [project.column(name) for name in project.axes]
    rows = _SourceRows(data, texts, named)
    columns_of_counts = {name: values for name, values in texts.items() if name not in named}
    counts = count_matrix(data.place, section, columns_of_counts, rows.place, data.decimal, rows.order)
    return counts * profiles.counts[:, None]


@dataclass(frozen=True)
class _SourceRows:
    """Rows of counts as messages name them: by their line, where the file is text, and their categories."""

    data: DataSection
    texts: Mapping[str, Sequence[str]]
    named: Sequence[str]

    def place(self, row: int) -> str:
        cell = ", ".join(f"{name} {self.texts[name][row]!r}" for name in self.named)
        sheet, found = self._file
        line = found.get(self._values(row))
        return f"row with {cell}" if sheet is None or line is None else f"{sheet.place(line)} ({cell})"

    def order(self, row: int) -> int:
        """Where the row stands in the file; the engine that grouped the rows returns them in any order."""
        return self._file[1].get(self._values(row), row)

    def _values(self, row: int) -> tuple[str, ...]:
        return tuple(texts[row] for texts in self.texts.values())

    @cached_property
    def _file(self) -> tuple[Sheet | None, Mapping[tuple[str, ...], int]]:
        """The file and the first row with each combination of values."""
        data = self.data
        if data.file is None or data.encoding is not None or suffix(data.file) not in (".csv", ".tsv", ".txt"):
            return None, {}
        try:
            sheet = read_sheet(data.file)
        except InputError:
            return None, {}
        rows = list(zip(*(sheet.columns.get(name, ()) for name in self.texts), strict=False))
        return sheet, {values: row for row, values in reversed(list(enumerate(rows)))}


def people_of(data: DataSection, profiles: Profiles) -> IntArray:
    """How many people each profile stands for."""
    if data.count is None:
        return profiles.counts
    labels, codes = profiles.column(data.count)
    values = np.zeros(len(labels), dtype=np.int64)
    for row, text in enumerate(labels):
        try:
            values[row] = whole_number(text.replace(",", ".", 1) if data.decimal == "," else text)
        except BadText as error:
            reason = error if text else "is empty"
            raise InputError(f"{data.place}: column {data.count!r}: count {text!r}: {reason}") from None
    if float(values[codes].astype(np.float64) @ profiles.counts.astype(np.float64)) >= UNBOUNDED:
        raise InputError(f"{data.place}: column {data.count!r} counts more than {UNBOUNDED} people in all")
    return values[codes] * profiles.counts


def _answers(data: DataSection, profiles: Profiles, people: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """The options, and the option of each profile."""
    labels, codes = profiles.column(data.answer)
    coding = data.coding
    answers = [coding.category(label) for label in labels]
    if "" in answers:
        silent = np.array([not answer for answer in answers], dtype=bool)[codes]
        nobody_said = int(people[silent].sum())
        raise InputError(
            f"{data.place}: column {data.answer!r} is empty for {nobody_said} people; set data.blank = 'skip' if "
            "they are not to be counted, or to the option that this means"
        )
    seen = sorted({*answers, *([data.blank] if data.blank and not data.skips_blank else [])}, key=natural_order)
    options = tuple(dict.fromkeys(map(coding.label, data.listed))) if data.listed else tuple(seen)
    places = {option: code for code, option in enumerate(options)}
    for answer in answers:
        if answer not in places:
            raise InputError(
                f"{data.place}: column {data.answer!r}: unknown answer {answer!r}; data.options are "
                f"{', '.join(options)}"
            )
    return options, recode(answers, codes, places)


def coded_axis(
    project: Project, path: Path, profiles: Profiles, name: str, rolls: tuple[TidyFile, ...]
) -> tuple[Axis, IntArray]:
    """An axis, and the category of each profile."""
    section, column, coding = project.axes[name], project.column(name), project.coding(name)
    labels, _ = profiles.column(column)
    values = seen_categories(path, column, section, coding, labels)
    profiles = profiles.relabelled(column, values) if values != labels else profiles
    labels, codes = profiles.column(column)
    nested = None
    if section.levels:
        # Who has no category lies in no area.
        areas = np.array([label != coding.missing for label in labels], dtype=bool)[codes]
        nested = nest(path, profiles.where(areas), column, section.levels)
    on_roll = [category for file in rolls for category in file.seen(name)]
    axis = build_axis((path, column), name, section, [*labels, *on_roll], coding, nested)
    return axis, recode(labels, codes, axis.index)


def _pivoted(schema: Schema, codes: IntArray, chosen: IntArray, people: IntArray) -> Tally:
    """One row per occupied combination of categories, one column per option."""
    keys = row_keys(codes, [len(axis.categories) for axis in schema.axes])
    _, first, row = np.unique(keys, return_index=True, return_inverse=True)
    width = len(schema.options)
    counts = np.zeros(len(first) * width, dtype=np.int64)
    np.add.at(counts, row * width + chosen, people)
    table = counts.reshape(-1, width)
    somebody = table.any(axis=1)
    return Tally(schema.names, frozen(codes[first[somebody]], len(schema.axes)), frozen(table[somebody], width))


def tabulate_people(project: Project, column: str, source: Countable | None = None) -> dict[str, tuple[str, ...]]:
    """The profile of every person in the data."""
    data = project.data
    assert data is not None
    wanted = tuple(project.column(name) for name in project.axes)
    people = read_records(project, data, (column, *wanted), source, [column])[0]
    names, codes = people.column(column)
    if "" in names:
        raise InputError(f"{data.place}: column {column!r} is empty for somebody; ledger.id must name everybody")
    rows = np.bincount(codes, people.counts, minlength=len(names))
    if (rows > 1).any():
        twice = names[int(np.flatnonzero(rows > 1)[0])]
        raise InputError(f"{data.place}: column {column!r}: {twice!r} stands for two people")
    columns = []
    for axis, held in zip(project.axes, wanted, strict=True):
        texts, places = people.column(held)
        values = seen_categories(data.place, held, project.axes[axis], project.coding(axis), texts)
        columns.append([values[code] for code in places.tolist()])
    return dict(zip((names[code] for code in codes.tolist()), zip(*columns, strict=True), strict=True))


def inhabited(table: Table) -> Table:
    """The table without categories that nobody on the roll has: they are no groups to merge or to publish."""
    kept: dict[str, IntArray] = {}
    for axis in table.schema.axes:
        roll = table.people((axis.name,))
        kept[axis.name] = np.sort(roll.codes[roll.counts[:, 0] > 0, 0])
    if all(len(kept[axis.name]) == len(axis.categories) for axis in table.schema.axes):
        return table

    def recoded(tally: Tally) -> Tally:
        rows = np.ones(len(tally.codes), dtype=bool)
        for column, name in enumerate(tally.axes):
            rows &= np.isin(tally.codes[:, column], kept[name])
        columns = [np.searchsorted(kept[name], tally.codes[rows, c]) for c, name in enumerate(tally.axes)]
        codes = np.stack(columns, axis=1) if columns else tally.codes[rows]
        return Tally(tally.axes, frozen(codes, len(tally.axes)), frozen(tally.counts[rows], tally.counts.shape[1]))

    axes = tuple(_narrowed(axis, kept[axis.name].tolist()) for axis in table.schema.axes)
    votes, rolls = tuple(map(recoded, table.votes)), tuple(map(recoded, table.roll))
    return replace(table, schema=replace(table.schema, axes=axes), votes=votes, roll=rolls)


def _narrowed(axis: Axis, codes: Sequence[int]) -> Axis:
    """The axis with some of its categories."""
    names = tuple(axis.categories[code] for code in codes)
    trees = axis.hierarchy.trees if axis.hierarchy else ()
    return replace(
        axis,
        categories=names,
        hierarchy=Hierarchy.from_parents(axis.name, names, *trees) if any(trees) else None,
        apart=frozenset(pair for pair in axis.apart if pair <= set(names)),
        weights={name: worth for name, worth in axis.weights.items() if name in names},
    )
