"""The rows of the data that count: those of one contest, without those to skip."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, InputError
from safemargin.io import CountedTable, Profiles
from safemargin.release.columns import DataSection
from safemargin.release.project import Project
from safemargin.ui import plural


@dataclass(frozen=True)
class DataRecords:
    """The rows of the data that count, and sentences about those that do not."""

    profiles: Profiles
    notes: tuple[str, ...] = ()


def read_records(
    project: Project, data: DataSection, columns: Iterable[str], source: CountedTable | None, values: Iterable[str] = ()
) -> DataRecords:
    """Distinct rows of `columns`, of the contest alone and without the rows to skip; `values` name no category."""
    opened = source or data.open()
    banded = [project.column(name) for name in project.axes if project.coding(name).bands]
    wanted = tuple(dict.fromkeys([*columns, *data.contest, *data.skip]))
    profiles, notes = opened.profiles(wanted, [*banded, *values, *data.contest, *data.skip]), []
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
    return DataRecords(profiles, tuple(notes))


def _having(profiles: Profiles, column: str, values: tuple[str, ...]) -> BoolArray:
    labels, codes = profiles.column(column)
    return np.array([label in values for label in labels], dtype=bool)[codes]


def _rows(profiles: Profiles, which: BoolArray) -> str:
    return f"Skipped {plural(int(profiles.counts[which].sum()), 'row')}"
