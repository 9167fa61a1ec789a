"""The people of a project before the count: the roll and the axes, without a look at any answer."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from safemargin.core import Axis, InputError, IntArray, Schema, Table, Tally, frozen
from safemargin.io import Countable, Profiles, natural_order
from safemargin.release.axes import build_axis, occupied
from safemargin.release.columns import DataSection
from safemargin.release.microdata import (
    coded_axis,
    inhabited,
    open_records,
    people_of,
    read_records,
    side_by_side_counts,
)
from safemargin.release.population import CountedPopulation
from safemargin.release.project import Project
from safemargin.release.rolls import TidyFile, build_rolls, read_rolls


def read_population(
    project: Project, options: Sequence[str], source: Countable | None = None
) -> tuple[CountedPopulation, tuple[str, ...]]:
    """The roll of a project, and sentences about it. The roll is that of its files, or the people in its data."""
    files = read_rolls(project, project.roll_files)
    is_scale = project.data is not None and bool(project.data.ordered)
    if files:
        axes = tuple(_axis_of_rolls(project, files, name) for name in project.axes)
        schema = Schema(axes, tuple(options), is_scale)
        roll = build_rolls(files, schema, ())
        notes = (*_without_areas(project), *(note for file in files for note in file.notes))
    else:
        assert project.data is not None  # sealed tallies have a roll
        axes, counted, notes = _people_in_data(project, project.data, source)
        schema, roll = Schema(axes, tuple(options), is_scale), (counted,)
    # Categories that nobody has are no groups, as in a release without a ledger.
    nobody = frozen(np.zeros((len(roll[0].codes), len(options))), len(options))
    table = inhabited(Table(schema, (Tally(roll[0].axes, roll[0].codes, nobody),), roll))
    if not int(table.roll[0].counts.sum()):
        raise InputError("the roll counts nobody; the table is empty")
    return CountedPopulation(table.schema, table.roll, project.tallies is not None), notes


def _axis_of_rolls(project: Project, files: Sequence[TidyFile], name: str) -> Axis:
    seen = [category for file in files for category in file.seen(name)]
    where = next(file for file in files if name in file.columns)
    return build_axis((where.path, where.columns[name]), name, project.axes[name], seen, project.coding(name))


def _without_areas(project: Project) -> tuple[str, ...]:
    """What is not known before the count: the areas that stand in columns of the data."""
    nested = [name for name, axis in project.axes.items() if axis.levels]
    said = f"The wider areas of {', '.join(nested)} stand in the data and are not known yet: small groups are merged "
    return (f"{said}by size.",) if nested else ()


def _people_in_data(
    project: Project, data: DataSection, source: Countable | None
) -> tuple[tuple[Axis, ...], Tally, tuple[str, ...]]:
    """Axes and roll from the rows of the data; of counts side by side only their sum is used."""
    opened = source or open_records(data)
    silent = data.model_copy(update={"blank": None})
    columns = [project.column(name) for name in project.axes]
    columns += [level for axis in project.axes.values() for level in axis.levels or ()]
    numbers = list(data.side_by_side.used(getattr(opened, "columns", ()))) if data.side_by_side is not None else []
    numbers += [data.count] if data.count else []
    profiles, notes = read_records(project, silent, tuple(dict.fromkeys([*columns, *numbers])), opened, numbers)
    people = _people(project, data, profiles)
    coded = [coded_axis(project, data.place, profiles, name, ()) for name in project.axes]
    axes = tuple(axis for axis, _ in coded)
    codes = np.stack([column for _, column in coded], axis=1)
    sizes = [len(axis.categories) for axis in axes]
    return axes, occupied(tuple(project.axes), codes, people[:, None], sizes), notes


def _people(project: Project, data: DataSection, profiles: Profiles) -> IntArray:
    if data.side_by_side is not None:
        people: IntArray = side_by_side_counts(project, data, data.side_by_side, profiles).sum(axis=1)
        return people
    return people_of(data, profiles)


def options_of(project: Project, source: Countable | None, given: Sequence[str]) -> tuple[str, ...]:
    """The options: those given or listed, or the answers that the data hold, of which nothing else is used."""
    data = project.data
    if given:
        return tuple(given)
    if data is not None:
        if data.side_by_side is not None:
            return tuple(dict.fromkeys(data.labels.get(name, name) for name in data.side_by_side.options))
        if data.listed is not None:
            return tuple(dict.fromkeys(map(data.coding.label, data.listed)))
        if isinstance(data.file, Path) and not data.file.exists():
            raise InputError(
                f"{data.place}: is not there yet, and data.options does not list the answers; do so, or state shares"
            )
        labels = read_records(project, data, (data.answer,), source)[0].column(data.answer)[0]
        found = {data.coding.category(label) for label in labels} - {""}
        return tuple(
            sorted({*found, *([data.blank] if data.blank and not data.skips_blank else [])}, key=natural_order)
        )
    raise InputError("sealed tallies do not list the options before the count; state shares, or votes of last year")
