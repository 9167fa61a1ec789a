"""A programme of tables counted from records and noised by cell keys: the same people have the same noise everywhere.

Every statistic is noised once and written once, whichever tables print it. The key of a record is a keyed hash of its
id; a later release with the same secret gives the same people the same noise.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from safemargin.core import UNBOUNDED, InputError, IntArray, PublishedTable, TooLargeError, frozen, grouped, row_keys
from safemargin.io import WRITERS, Sheet, check_columns, file_name, json_bytes, read_sheet, rows_of, write_folder
from safemargin.noise.plan import plan
from safemargin.noise.programme import Programme, Statistic, Variable, load_programme
from safemargin.noise.records import Data, data_file
from safemargin.noise.redundancy import published_statistics
from safemargin.samplers import HASHED, PTable, noise_of, ptable, read_secret, record_keys, request
from safemargin.ui import Document, Result, header, paragraphs, plural, render_page, say

MOST_CELLS = 5_000_000
"""Cells of all statistics together."""


@dataclass(frozen=True)
class NoisyProgramme(Result):
    """The noisy statistics of a programme. The parameters of the noise are confidential."""

    tables: tuple[PublishedTable, ...]
    people: int
    variance: float
    bound: int
    inputs: Mapping[str, object]

    @property
    def files(self) -> dict[str, bytes]:
        """What `write` writes: a table per statistic, and the confidential parameters."""
        orders: dict[str, tuple[str, ...]] = {}
        files = {
            f"published/{file_name(table.name)}.csv": WRITERS["csv"](rows_of(table, orders)) for table in self.tables
        }
        parameters = {"variance": self.variance, "bound": self.bound, "people": self.people, "tables": sorted(files)}
        return {**files, "confidential/parameters.json": json_bytes(parameters)}

    def write(self, path: Path | str) -> Path:
        """Write all files to a new folder."""
        write_folder(Path(path), self.files)
        return Path(path)

    def to_json(self) -> Document:
        inputs = {**self.inputs, "variance": self.variance, "bound": self.bound}
        return {"value": len(self.tables), "inputs": inputs, "details": {"files": sorted(self.files)}}

    @property
    def sentence(self) -> str:
        """What was noised, and how."""
        return (
            f"{plural(len(self.tables), 'statistic')} of {plural(self.people, 'person')}, with noise of variance "
            f"{self.variance:g} within {self.bound}; the bound is confidential: do not publish "
            "confidential/parameters.json."
        )

    def show(self, console: Console) -> None:
        say(console, self.sentence)

    def to_html(self) -> str:
        return render_page("Noised programme", header("Noised programme"), paragraphs(self.sentence))


def publish(
    programme: Path | str | Programme,
    records: Data,
    id: str,
    secret: Path | str,
    variance: float | None = None,
    bound: int | None = None,
) -> NoisyProgramme:
    """Count every statistic of a programme from records (a file or a DataFrame), and noise it by who is in each cell.

    `id` is the column that distinguishes people, the same in every release. Without a variance and a bound the plan's
    recommendation is used.
    """
    planned = programme if isinstance(programme, Programme) else load_programme(programme)
    if (variance is None) != (bound is None):
        raise InputError("give variance with bound, or neither")
    if variance is None or bound is None:
        best = plan(planned).recommended
        if best is None:
            raise InputError(f"{programme}: no noise within 10 survives (see noise plan); give variance and bound")
        variance, bound = best.variance, best.bound
    noise = ptable(request(bound, variance))[0]
    with data_file(records) as path:
        tables, people = noised_statistics(planned, path, id, read_secret(Path(secret)), noise)
        inputs = {"programme": planned.title if programme is planned else str(programme), "records": str(path)}
    return NoisyProgramme(tables, people, variance, bound, inputs)


def noised_statistics(
    programme: Programme, records: Path, identity: str, secret: bytes, noise: PTable
) -> tuple[tuple[PublishedTable, ...], int]:
    """Every statistic with noise from this p-table, and the number of people."""
    sheet = read_sheet(records)
    printed = published_statistics(programme)
    # Every level above a printed one is read too, to check that levels nest.
    depth = {v: max(level for statistic in printed for w, level in statistic if w == v) for s in printed for v, _ in s}
    levels = [(v, level) for v in sorted(depth) for level in range(1, depth[v] + 1)]
    columns = [programme.variables[v].levels[level - 1] for v, level in levels]
    check_columns(records, sheet.columns, (*columns, identity))
    coded = [_coded(sheet, programme.variables[v], level) for v, level in levels]
    for column, (_, level) in enumerate(levels):
        if level > 1:
            _check_nested(sheet, columns[column - 1], columns[column], coded[column - 1][1], coded[column][1])
    column_of = {level: column for column, level in enumerate(levels)}
    _check_size(printed, {level: len(coded[column][0]) for level, column in column_of.items()})
    codes = np.stack([column for _, column in coded], axis=1)
    # Keys add up, so people with the same profile are summed once and margins are summed from profiles.
    first, profile = grouped(row_keys(codes, [len(names) for names, _ in coded]))
    people = np.bincount(profile, minlength=len(first))
    keys = HASHED.cell_keys(profile, record_keys(_ids(sheet, identity), secret), len(first))
    tables = []
    for statistic in sorted(printed, key=lambda levels: (len(levels), levels)):
        axes = [column_of[level] for level in statistic]
        names = [coded[column][0] for column in axes]
        sizes = [len(categories) for categories in names]
        cells = math.prod(sizes)
        cell = row_keys(codes[first][:, axes], sizes)
        counts = np.zeros(cells, dtype=np.int64)
        np.add.at(counts, cell, people)
        shown = counts + noise_of(noise, counts, HASHED.cell_keys(cell, keys, cells))
        tables.append(_table(programme.label(statistic), [columns[column] for column in axes], names, shown))
    return tuple(tables), len(codes)


def _ids(sheet: Sheet, column: str) -> Sequence[str]:
    texts = sheet.columns[column]
    seen: set[str] = set()
    for row, text in enumerate(texts):
        if not text or text in seen:
            reason = "occurs twice; ids distinguish people" if text else "an id must not be empty"
            raise sheet.fault(row, column, reason)
        seen.add(text)
    return texts


def _coded(sheet: Sheet, variable: Variable, level: int) -> tuple[tuple[str, ...], IntArray]:
    """Categories on a level, in the order of the programme if it lists them, and the code of every record."""
    column, size = variable.levels[level - 1], variable.sizes[level - 1]
    texts = sheet.columns[column]
    names = variable.categories or tuple(sorted(set(texts)))
    index = {name: code for code, name in enumerate(names)}
    if "" in texts or not set(texts) <= set(index):
        row = next(row for row, text in enumerate(texts) if not text or text not in index)
        raise sheet.fault(row, column, "is not a category of the programme")
    if len(names) > size:
        raise InputError(f"{sheet.path}: {column} has {len(names)} categories; the programme says {size}")
    return names, np.array([index[text] for text in texts], dtype=np.int64)


def _check_nested(sheet: Sheet, wide: str, fine: str, above: IntArray, below: IntArray) -> None:
    """Refuse a category that lies in two wider ones."""
    parent = np.full(int(below.max()) + 1, -1, dtype=np.int64)
    parent[below] = above  # the last record of each category decides, and any other must agree with it
    wrong = np.flatnonzero(parent[below] != above)
    if len(wrong):
        raise sheet.fault(int(wrong[0]), fine, f"lies in more than one {wide}; levels must nest")


def _check_size(printed: Iterable[Statistic], sizes: Mapping[tuple[int, int], int]) -> None:
    cells = sum(math.prod(sizes[level] for level in statistic) for statistic in printed)
    if cells > MOST_CELLS:
        raise TooLargeError(f"the programme has {cells:,} cells, more than {MOST_CELLS:,}; publish fewer tables")


def _table(name: str, axes: Sequence[str], names: Sequence[tuple[str, ...]], shown: IntArray) -> PublishedTable:
    # All combinations of categories are printed, so that it is not disclosed which cells are empty.
    cells = len(shown)
    sizes = [len(categories) for categories in names]
    codes = np.stack(np.unravel_index(np.arange(cells), sizes), axis=1) if axes else np.zeros((1, 0), dtype=np.int64)
    return PublishedTable(
        name,
        tuple(axes),
        tuple(tuple(frozenset([category]) for category in categories) for categories in names),
        frozen(codes, len(axes)),
        (),
        frozen(np.full(cells, -1)),
        frozen(np.zeros(cells)),
        frozen(np.full(cells, UNBOUNDED)),
        ("noised",) * cells,
        noisy=frozen(shown),
    )
