"""Axes as a project declares them and files show them, and the roll: who there is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Protocol

import numpy as np

from safemargin.core import (
    JOINER,
    Axis,
    Hierarchy,
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
from safemargin.io import (
    Profiles,
    check_columns,
    check_labels,
    hrc_parents,
    open_source,
    read_sheet,
    read_tidy,
    suffix,
    twice_in,
)
from safemargin.release.coding import Coding, coded

MEASURES = ("count", "people", "lower", "upper", "option", "OBS_VALUE")
"""Columns of which a tidy table has one; a file without any of them holds records."""


class AxisOptions(Protocol):
    """What a project file says about an axis (`AxisSection` of the project)."""

    @property
    def categories(self) -> tuple[str, ...] | None: ...
    @property
    def is_ordered(self) -> bool: ...
    @property
    def parents(self) -> Mapping[str, str] | None: ...
    @property
    def hierarchy(self) -> Path | None: ...
    @property
    def hierarchies(self) -> tuple[Path, ...] | None: ...
    @property
    def apart(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def keep(self) -> tuple[str, ...]: ...
    @property
    def join(self) -> tuple[tuple[str, ...], ...]: ...
    @property
    def weights(self) -> Mapping[str, int]: ...
    @property
    def epsilon(self) -> float | None: ...


class AxesOptions(Protocol):
    """The axes of a project, and the column of the data that holds each."""

    @property
    def axes(self) -> Mapping[str, AxisOptions]: ...
    def column(self, axis: str) -> str: ...
    def coding(self, axis: str) -> Coding: ...


def build_axis(
    source: tuple[Path, str],
    name: str,
    section: AxisOptions,
    seen: Iterable[str],
    coding: Coding,
    nested: Mapping[str, str] | None = None,
) -> Axis:
    """The axis called `name` with its declared categories, or else those `seen`; `nested` comes from level columns.

    `source` is the file and the column that hold it, for messages.
    """
    where = f"{source[0]}: column {source[1]!r}: "
    categories = coding.categories(section.categories, seen)
    for category in categories:
        if JOINER in category:
            raise InputError(
                f"{where}category {category!r} contains {JOINER!r}, which joins merged categories; rename it"
            )
    parents: Mapping[str, str] = nested or {}
    if section.parents is not None:
        parents = _labelled(section.parents, coding)
        _check_children(where, name, categories, parents)
    if section.hierarchy is not None:
        parents = _labelled(read_hierarchy(section.hierarchy), coding)
    others = [_labelled(read_hierarchy(path), coding) for path in section.hierarchies or ()]
    pairs = [[coding.label(category) for category in pair] for pair in section.apart]
    weights = {coding.label(category): weight for category, weight in section.weights.items()}
    kept = [coding.label(category) for category in section.keep]
    joined = [coding.label(category) for group in section.join for category in group]
    named = {
        "apart": [category for pair in pairs for category in pair],
        "weights": weights,
        "keep": kept,
        "join": joined,
    }
    for key, listed in named.items():
        for category in listed:
            if category not in categories:
                raise InputError(f"{where}axes.{name}.{key}: there is no category {category!r}")
    apart = frozenset(frozenset(pair) for pair in pairs)
    # A category that is kept is apart from every other: no block of groups holds it, whatever the others need.
    apart |= {frozenset([category, other]) for category in kept for other in categories if other != category}
    if any(len(pair) < 2 for pair in apart):
        raise InputError(f"{where}axes.{name}.apart: a category cannot be kept apart from itself")
    try:
        hierarchy = Hierarchy.from_parents(name, categories, parents, *others) if parents or others else None
        return Axis(name, categories, section.is_ordered, hierarchy, apart, weights, section.epsilon)
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def _labelled(parents: Mapping[str, str], coding: Coding) -> dict[str, str]:
    """Parents under the names that are published; categories of one name must lie in one area."""
    named: dict[str, str] = {}
    for child, parent in parents.items():
        above = coding.label(parent)
        if named.setdefault(coding.label(child), above) != above:
            both = f"{named[coding.label(child)]!r} and {above!r}"
            raise InputError(f"{coding.label(child)!r} lies in {both}; every category needs one parent")
    return named


def seen_categories(
    path: Path, column: str, section: AxisOptions, coding: Coding, texts: Sequence[str]
) -> tuple[str, ...]:
    """The category of every text in a column; refuse what cannot be one, or is none of those declared."""
    if not coding.bands:
        check_labels(path, column, len(texts))
    advice = "; list it in data.missing if it means none" if coding.bands else ""
    values = coded(path, column, texts, coding.category, advice)
    if "" in values:
        empty = next(text for text, value in zip(texts, values, strict=True) if not value)
        said = f"has the value {empty!r}, which means none" if empty else "has empty values"
        raise InputError(f"{path}: column {column!r} {said}; every row needs a category, or set missing of the axis")
    if section.categories is None:
        return values
    declared = coding.categories(section.categories, ())
    for value in values:
        if value not in declared:
            known = ", ".join(declared[:10]) + (", ..." if len(declared) > 10 else "")
            raise InputError(f"{path}: column {column!r}: unknown category {value!r}; declared are {known}")
    return values


def recode(labels: Iterable[str], codes: IntArray, places: Mapping[str, int]) -> IntArray:
    """`codes` into `labels` turned into codes by `places`."""
    return np.array([places[label] for label in labels], dtype=np.int64)[codes]


def read_hierarchy(path: Path) -> dict[str, str]:
    """Parents by child from an `.hrc` file, or one with columns `child` and `parent`; an empty parent means none."""
    if path.suffix.lower() == ".hrc":
        return hrc_parents(path)
    sheet = read_sheet(path)
    check_columns(path, sheet.columns, ("child", "parent"))
    parents: dict[str, str] = {}
    for row, (child, parent) in enumerate(zip(sheet.columns["child"], sheet.columns["parent"], strict=True)):
        if not child:
            raise sheet.fault(row, "child", "is empty")
        if parents.get(child, parent) != parent:
            raise sheet.fault(row, "parent", f"but {child!r} already has the parent {parents[child]!r}")
        parents[child] = parent
    return {child: parent for child, parent in parents.items() if parent}


def nest(path: Path, profiles: Profiles, column: str, levels: tuple[str, ...]) -> dict[str, str]:
    """Parents by category from columns with wider areas, each of which must depend on the one before it.

    An area called like something inside it gets its column's name added.
    """
    parents: dict[str, str] = {}
    labels, codes = profiles.column(column)
    names = dict(zip(labels, labels, strict=True))
    for level in levels:
        wider, wider_codes = profiles.column(level)
        if "" in wider:
            raise InputError(f"{path}: column {level!r} has empty values; every row needs an area")
        taken = set(names.values()) | set(parents)
        areas = {area: f"{area} ({level})" if area in taken else area for area in wider}
        parent = np.zeros(len(labels), dtype=np.int64)
        parent[codes] = wider_codes
        for row in np.flatnonzero(parent[codes] != wider_codes):
            both = sorted((wider[wider_codes[row]], wider[parent[codes[row]]]))
            raise InputError(
                f"{path}: column {column!r}: {labels[codes[row]]!r} lies both in {both[0]!r} and in {both[1]!r} "
                f"of column {level!r}; every category needs one parent"
            )
        parents |= {names[labels[inner]]: areas[wider[outer]] for inner, outer in enumerate(parent.tolist())}
        column, labels, codes, names = level, wider, wider_codes, areas
    return parents


def _check_children(where: str, name: str, categories: tuple[str, ...], parents: Mapping[str, str]) -> None:
    known = {*categories, *parents.values()}
    for child in parents:
        if child not in known:
            raise InputError(f"{where}axes.{name}.parents.{child}: there is no category or area {child!r}")


@dataclass(frozen=True)
class TidyFile:
    """A tidy table with exact counts of plain categories.

    `columns` gives the column of each axis that it has, `categories` what the values of that column mean.
    """

    path: Path
    table: PublishedTable
    columns: Mapping[str, str]
    categories: Mapping[str, tuple[str, ...]]

    def seen(self, axis: str) -> tuple[str, ...]:
        """Categories of an axis that occur; none if the file does not have it."""
        return self.categories.get(axis, ())


def open_tidy(path: Path, project: AxesOptions, table: PublishedTable | None = None) -> TidyFile:
    """Read a tidy file and find the axes of the project in it, by name or by column."""
    table = table or read_tidy(path)
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
    return TidyFile(path, table, columns, categories)


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
    """A roll: a tidy file with `people`, or a file with a row per person, which is counted."""
    if suffix(path) == ".tab":
        return open_tidy(path, project)
    source = open_source(path)
    if any(name in MEASURES for name in source.columns):
        return open_tidy(path, project)
    columns = tuple(dict.fromkeys(axis_columns(project, source.columns).values()))
    banded = [project.column(name) for name in project.axes if project.coding(name).bands]
    people = source.profiles(columns, banded) if columns else None
    # Where no combination repeats, the counts may be in a column of another name.
    if people is None or not (people.counts > 1).any():
        raise InputError(f"{path}: there is no column 'people'; a roll counts people, or has a row for each of them")
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
