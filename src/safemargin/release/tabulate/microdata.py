"""Microdata, or counts of equal people, to a table: one GROUP BY, then everything in numpy.

Only the combinations that occur are ever held, never the product of the categories.
"""

from pathlib import Path

import numpy as np

from safemargin.core import UNBOUNDED, Axis, InputError, IntArray, Schema, Table, Tally, frozen, row_keys
from safemargin.io import BadText, Profiles, Source, natural_order, open_source, whole_number
from safemargin.release.project import Project
from safemargin.release.sections import DataSection
from safemargin.release.tabulate.axes import build_axis, check_seen, nest, recode
from safemargin.release.tabulate.roll import TidyFile, build_rolls, read_rolls


def tabulate_microdata(project: Project, data: DataSection, source: Source | None = None) -> Table:
    """Votes by all axes together, and the roll: given files, or the people in the data."""
    rolls = read_rolls(project)
    profiles = (source or open_source(data.file, data.table)).profiles(_columns(project, data))
    people = _people(data, profiles)
    options, chosen = _answers(data, profiles, people)
    axes = tuple(_axis(project, data.file, profiles, name, rolls) for name in project.axes)
    schema = Schema(axes, options)
    codes = np.empty((len(people), len(axes)), dtype=np.int64)
    for place, axis in enumerate(axes):
        labels, column = profiles.column(project.column(axis.name))
        codes[:, place] = recode(labels, column, axis.index)
    votes = _pivoted(schema, codes, chosen, people)
    if not len(votes.counts):
        raise InputError(f"{data.file}: column {data.count!r} counts nobody; the table is empty")
    if not rolls:
        counted = Tally(votes.axes, votes.codes, frozen(votes.counts.sum(axis=1), 1))
        return Table(schema, (votes,), (counted,))
    return Table(schema, (votes,), build_rolls(rolls, schema, (votes,)))


def _columns(project: Project, data: DataSection) -> tuple[str, ...]:
    wanted = [project.column(name) for name in project.axes]
    for axis in project.axes.values():
        wanted += axis.levels or ()
    return tuple(dict.fromkeys([*wanted, data.answer, *([data.count] if data.count else [])]))


def _people(data: DataSection, profiles: Profiles) -> IntArray:
    """How many people each profile stands for."""
    if data.count is None:
        return profiles.counts
    labels, codes = profiles.column(data.count)
    values = np.zeros(len(labels), dtype=np.int64)
    for place, text in enumerate(labels):
        try:
            values[place] = whole_number(text)
        except BadText as error:
            reason = error if text else "is empty"
            raise InputError(f"{data.file}: column {data.count!r}: count {text!r}: {reason}") from None
    if float(values[codes].astype(np.float64) @ profiles.counts.astype(np.float64)) >= UNBOUNDED:
        raise InputError(f"{data.file}: column {data.count!r} counts more than {UNBOUNDED} people in all")
    return values[codes] * profiles.counts


def _answers(data: DataSection, profiles: Profiles, people: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """The options, and the option of each profile."""
    labels, codes = profiles.column(data.answer)
    if "" in labels and data.blank is None:
        empty = int(people[codes == labels.index("")].sum())
        raise InputError(
            f"{data.file}: column {data.answer!r} is empty for {empty} people; set data.blank to what that means"
        )
    answers = [label or data.blank or "" for label in labels]
    seen = sorted({*answers, *([data.blank] if data.blank else [])}, key=natural_order)
    options = data.options or tuple(seen)
    for answer in answers:
        if answer not in options:
            raise InputError(
                f"{data.file}: column {data.answer!r}: unknown answer {answer!r}; data.options are {', '.join(options)}"
            )
    return options, recode(answers, codes, {option: code for code, option in enumerate(options)})


def _axis(project: Project, path: Path, profiles: Profiles, name: str, rolls: tuple[TidyFile, ...]) -> Axis:
    section = project.axes[name]
    column = project.column(name)
    labels, _ = profiles.column(column)
    check_seen(path, column, section, labels)
    nested = nest(path, profiles, column, section.levels) if section.levels else None
    on_roll = [category for file in rolls for category in file.seen(name)]
    return build_axis((path, column), name, section, [*labels, *on_roll], nested)


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
