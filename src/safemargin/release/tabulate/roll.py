"""The roll: who there is, from tidy files of people, and tidy tables as tallies."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from safemargin.core import (
    Axis,
    InputError,
    IntArray,
    PublishedTable,
    Schema,
    Tally,
    frozen,
    group_sums,
    label,
    row_keys,
)
from safemargin.io import read_tidy
from safemargin.release.project import Project
from safemargin.release.tabulate.axes import check_seen


@dataclass(frozen=True)
class TidyFile:
    """A tidy table with exact counts of plain categories; `columns` gives the column of each axis that it has."""

    path: Path
    table: PublishedTable
    columns: Mapping[str, str]

    def seen(self, axis: str) -> tuple[str, ...]:
        """Categories of an axis that occur; none if the file does not have it."""
        if axis not in self.columns:
            return ()
        groups = self.table.groups[self.table.axes.index(self.columns[axis])]
        return tuple(label(group) for group in groups)


def open_tidy(path: Path, project: Project) -> TidyFile:
    """Read a tidy file and find the axes of the project in it, by name or by column."""
    table = read_tidy(path)
    columns: dict[str, str] = {}
    for name in project.axes:
        column = name if name in table.axes else project.column(name)
        if column in table.axes:
            columns[name] = column
    for row in np.flatnonzero(table.lower != table.upper):
        raise InputError(f"{path}: {_cell(table.cell(int(row)))}: has no exact number; fill it in")
    file = TidyFile(path, table, columns)
    for name, column in columns.items():
        for group in table.groups[table.axes.index(column)]:
            if len(group) > 1:
                raise InputError(f"{path}: column {column!r}: {label(group)!r} is merged; give plain categories")
        check_seen(path, column, project.axes[name], file.seen(name))
    return file


def read_rolls(project: Project) -> tuple[TidyFile, ...]:
    """The roll files of a project; together they must have every axis."""
    if project.roll is None:
        return ()
    files = tuple(open_tidy(path, project) for path in project.roll.files)
    for file in files:
        if not file.table.is_roll:
            raise InputError(f"{file.path}: there is no column 'people'; a roll counts people")
        if file.table.options:
            raise InputError(f"{file.path}: has a column 'option'; a roll counts people, not answers")
    for name in project.axes:
        if not any(name in file.columns for file in files):
            names = ", ".join(str(file.path) for file in files)
            raise InputError(f"roll.files: no column {name!r} in {names}; the roll must have every axis")
    return files


def tally(file: TidyFile, axes: tuple[Axis, ...], options: tuple[str, ...] = ()) -> Tally:
    """The counts of a file by those of `axes` that it has, and by `options` or else in one column."""
    found = tuple(axis for axis in axes if axis.name in file.columns)
    codes = np.zeros((len(file.table.lower), len(found)), dtype=np.int64)
    for place, axis in enumerate(found):
        column = file.table.axes.index(file.columns[axis.name])
        codes[:, place] = np.array([axis.index[name] for name in file.seen(axis.name)])[file.table.codes[:, column]]
    counts = np.zeros((len(codes), max(len(options), 1)), dtype=np.int64)
    chosen = np.array([options.index(option) for option in file.table.options], dtype=np.int64)
    counts[np.arange(len(codes)), chosen[file.table.option] if options else 0] = file.table.lower
    return occupied(tuple(axis.name for axis in found), codes, counts, [len(axis.categories) for axis in found])


def occupied(axes: tuple[str, ...], codes: IntArray, counts: IntArray, sizes: list[int]) -> Tally:
    """Counts summed by distinct codes, in their order, without the combinations that nobody has."""
    first, sums = group_sums(row_keys(codes, sizes), counts)
    somebody = sums.any(axis=1)
    return Tally(axes, frozen(codes[first[somebody]], len(axes)), frozen(sums[somebody], counts.shape[1]))


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
    for place, name in enumerate(roll.axes):
        voted = {int(code) for each in votes if name in each.axes for code in each.codes[:, each.axes.index(name)]}
        if unknown := sorted(set(roll.codes[:, place].tolist()) - voted):
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
