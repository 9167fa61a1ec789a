"""Files with counts that a project names, in any form: rolls and tallies, with the axes of the project in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from safemargin.core import (
    Axis,
    InputError,
    PublishedTable,
    Schema,
    Tally,
    frozen,
    group_sums,
    label,
    row_keys,
)
from safemargin.io import (
    ACROSS,
    COUNTS,
    ReadTable,
    inner_table,
    open_source,
    read_one,
    reading_words,
    suffix,
    twice_in,
    with_answers,
)
from safemargin.release.axes import AxesOptions, occupied, seen_categories
from safemargin.release.coding import Coding

MEASURES = ("count", "people", "lower", "upper", "option", "OBS_VALUE")
"""Columns of which a tidy table has one; a file without any of them holds records, or is a table as it is found."""


@dataclass(frozen=True)
class TidyFile:
    """A tidy table with exact counts of plain categories.

    `columns` gives the column of each axis that it has, `categories` what the values of that column mean.
    """

    path: Path
    table: PublishedTable
    columns: Mapping[str, str]
    categories: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    """How the file was read, where it is not tidy."""

    def seen(self, axis: str) -> tuple[str, ...]:
        """Categories of an axis that occur; none if the file does not have it."""
        return self.categories.get(axis, ())


def open_counts(path: Path, project: AxesOptions, *, people: bool = False) -> TidyFile:
    """Read a file of counts in any form and find the axes of the project in it.

    The axis across of a cross table that has no name is the one axis of the project that the file lacks; in a tally it
    lists the answers.
    """
    read = read_one(path)
    counted = read.form.counts
    if not read.form.is_tidy and counted and counted.lower() not in COUNTS and not read.checked:
        raise InputError(f"{path}: nothing says that column {counted!r} counts people; call it 'people'")
    table = inner_table(read)
    if not read.form.is_tidy:
        table = replace(table, measure="people") if people else table
        if people:
            lacking = [name for name in project.axes if name not in axis_columns(project, table.axes)]
            if ACROSS in table.axes and len(lacking) == 1:
                table = replace(table, axes=tuple(lacking[0] if n == ACROSS else n for n in table.axes))
        elif ACROSS in table.axes and not table.options:
            table = with_answers(table)
    notes = reading_notes(read)
    if len(table.lower) < len(read.cells.lower):
        notes = (*notes, f"{read.name}: rows and columns of sums add up, and are not counted.")
    return open_tidy(path, project, table, notes)


def reading_notes(read: ReadTable) -> tuple[str, ...]:
    """How a file of a project was read, unless its header says what every column is."""
    said = f"{read.name} read as: {reading_words(read)}"
    listed = () if read.form.is_tidy else (said,)
    return (*listed, *(f"{read.name}: {note}." for note in read.notes))


def open_tidy(path: Path, project: AxesOptions, table: PublishedTable, notes: tuple[str, ...] = ()) -> TidyFile:
    """Find the axes of the project in a table, by name or by column."""
    columns = axis_columns(project, table.axes)
    for row in np.flatnonzero(table.lower != table.upper):
        raise InputError(f"{path}: {_cell(table.cell(int(row)))}: has no exact number; fill it in")
    categories = {}
    for name, column in columns.items():
        groups = table.groups[table.axes.index(column)]
        for group in groups:
            if len(group) > 1:
                raise InputError(f"{path}: column {column!r}: {label(group)!r} is merged; give plain categories")
        texts = [label(group) for group in groups]
        categories[name] = seen_categories(path, column, project.axes[name], project.coding(name), texts)
    return TidyFile(path, table, columns, categories, notes)


def axis_columns(project: AxesOptions, present: Sequence[str]) -> dict[str, str]:
    """The columns of a file that hold axes of the project, by axis: those of its name, or of its column in the data."""
    found = {name: name if name in present else project.column(name) for name in project.axes}
    return {name: column for name, column in found.items() if column in present}


def renamed(fact: PublishedTable, project: AxesOptions) -> PublishedTable:
    """A table of facts with the names of the project: an axis by its column, a category by its label."""
    names = {column: name for name, column in axis_columns(project, fact.axes).items()}
    groups = []
    for column, listed in zip(fact.axes, fact.groups, strict=True):
        coding = project.coding(names[column]) if column in names else Coding()
        groups.append(tuple(frozenset(map(coding.label, group)) for group in listed))
        if (twice := twice_in(label(group) for group in groups[-1])) is not None:
            raise InputError(f"{fact.name}: column {column!r}: {twice!r} is the label of two categories; give it once")
    return replace(fact, axes=tuple(names.get(column, column) for column in fact.axes), groups=tuple(groups))


def _open_roll(path: Path, project: AxesOptions) -> TidyFile:
    """A roll: a file with `people`, a table as it is found, or a file with a row per person, which is counted."""
    try:
        source = None if suffix(path) == ".tab" else open_source(path)
    except InputError:
        return open_counts(path, project, people=True)
    if source is None or any(name in MEASURES for name in source.columns):
        return open_counts(path, project, people=True)
    columns = tuple(dict.fromkeys(axis_columns(project, source.columns).values()))
    banded = [project.column(name) for name in project.axes if project.coding(name).bands]
    people = source.profiles(columns, banded) if columns else None
    # Where no combination repeats, the counts may be in a column of another name.
    if people is None or not (people.counts > 1).any():
        return _found_roll(path, project)
    nobody = np.full(len(people.counts), -1, dtype=np.int64)
    table = PublishedTable(
        path.name,
        columns,
        tuple(tuple(frozenset([text]) for text in texts) for texts in people.labels),
        frozen(people.codes, len(columns)),
        (),
        frozen(nobody),
        frozen(people.counts),
        frozen(people.counts),
        ("exact",) * len(nobody),
        measure="people",
    )
    return open_tidy(path, project, table)


def _found_roll(path: Path, project: AxesOptions) -> TidyFile:
    """A roll without a column `people`, if it is a table of counts by axes of the project."""
    wanted = f"{path}: there is no column 'people'; a roll counts people, or has a row for each of them"
    try:
        file = open_counts(path, project, people=True)
    except InputError as error:
        raise InputError(f"{wanted}; read as a table: {str(error).removeprefix(f'{path}: ')}") from None
    if not file.columns:
        raise InputError(wanted)
    return file


def read_rolls(project: AxesOptions, paths: Sequence[Path]) -> tuple[TidyFile, ...]:
    """The roll files of a project; together they must have every axis."""
    files = tuple(_open_roll(path, project) for path in paths)
    for file in files:
        if not file.table.is_roll:
            raise InputError(f"{file.path}: there is no column 'people'; a roll counts people")
        if file.table.options:
            raise InputError(f"{file.path}: has a column 'option'; a roll counts people, not answers")
    for name in project.axes if files else ():
        if not any(name in file.columns for file in files):
            names = ", ".join(str(file.path) for file in files)
            raise InputError(f"roll.files: no column {name!r} in {names}; the roll must have every axis")
    return files


def tally(file: TidyFile, axes: tuple[Axis, ...], options: tuple[str, ...] = ()) -> Tally:
    """The counts of a file by those of `axes` that it has, and by `options` or else in one column."""
    counted = tuple(axis for axis in axes if axis.name in file.columns)
    codes = np.zeros((len(file.table.lower), len(counted)), dtype=np.int64)
    for position, axis in enumerate(counted):
        column = file.table.axes.index(file.columns[axis.name])
        codes[:, position] = np.array([axis.index[name] for name in file.seen(axis.name)])[file.table.codes[:, column]]
    counts = np.zeros((len(codes), max(len(options), 1)), dtype=np.int64)
    chosen = np.array([options.index(option) for option in file.table.options], dtype=np.int64)
    counts[np.arange(len(codes)), chosen[file.table.option] if options else 0] = file.table.lower
    return occupied(tuple(axis.name for axis in counted), codes, counts, [len(axis.categories) for axis in counted])


def build_rolls(files: tuple[TidyFile, ...], schema: Schema, votes: tuple[Tally, ...]) -> tuple[Tally, ...]:
    """Tallies of people that agree with each other and hold every voter."""
    rolls = tuple(tally(file, schema.axes) for file in files)
    for (file, roll), (other_file, other) in combinations(list(zip(files, rolls, strict=True)), 2):
        if (fault := _first_difference(roll, other, schema, equal=True)) is not None:
            where, people, others = fault
            raise InputError(
                f"{file.path} and {other_file.path}: {where}: {people} people in one, {others} in the other"
            )
    for file, roll in zip(files, rolls, strict=True):
        for election in votes:
            if (fault := _first_difference(roll, election, schema)) is not None:
                where, people, answers = fault
                if not people and (unknown := _without_votes(file, roll, votes, schema)) is not None:
                    raise InputError(f"{file.path}: {unknown}; {where} has {answers} votes, but is not on the roll")
                raise InputError(f"{file.path}: {where}: {people} people on the roll but {answers} votes")
    return rolls


def _without_votes(file: TidyFile, roll: Tally, votes: tuple[Tally, ...], schema: Schema) -> str | None:
    """The column and the category of the first on the roll that no vote has."""
    for position, name in enumerate(roll.axes):
        voted = {
            int(code) for margin in votes if name in margin.axes for code in margin.codes[:, margin.axes.index(name)]
        }
        if unknown := sorted(set(roll.codes[:, position].tolist()) - voted):
            return f"column {file.columns[name]!r}: unknown category {schema.axis(name).categories[unknown[0]]!r}"
    return None


def _first_difference(roll: Tally, other: Tally, schema: Schema, *, equal: bool = False) -> tuple[str, int, int] | None:
    """The first cell of the axes in both where `other` counts more than the roll, or not the same."""
    axes = tuple(name for name in roll.axes if name in other.axes)
    left, right = roll.margin(axes), other.margin(axes)
    codes = np.concatenate([left.codes, right.codes])
    numbers = np.zeros((len(codes), 2), dtype=np.int64)
    numbers[: len(left.codes), 0] = left.counts[:, 0]
    numbers[len(left.codes) :, 1] = right.counts.sum(axis=1)
    first, sums = group_sums(row_keys(codes, [len(schema.axis(name).categories) for name in axes]), numbers)
    wrong = np.flatnonzero(sums[:, 0] != sums[:, 1] if equal else sums[:, 0] < sums[:, 1])
    if not len(wrong):
        return None
    cell = codes[first[wrong[0]]]
    labels = {name: schema.axis(name).categories[code] for name, code in zip(axes, cell, strict=True)}
    return _cell(labels), int(sums[wrong[0], 0]), int(sums[wrong[0], 1])


def _cell(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{axis} {category!r}" for axis, category in labels.items()) or "in total"
