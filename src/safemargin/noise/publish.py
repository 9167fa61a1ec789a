"""A programme of tables counted from records and noised by cell keys: the same people have the same noise everywhere.

Every statistic is noised once and written once, whichever tables print it. The key of a record is a keyed hash of its
id; a later release with the same secret gives the same people the same noise.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import UNBOUNDED, InputError, IntArray, PublishedTable, TooLargeError, frozen, group_sums, row_keys
from safemargin.io import Sheet, check_columns, read_sheet
from safemargin.noise.programme import Programme, Statistic, Variable
from safemargin.noise.redundancy import published_statistics
from safemargin.samplers.cell_key import HASHED, noise_of, read_secret, record_keys
from safemargin.samplers.ptable import PTable

MOST_CELLS = 5_000_000
"""Of all statistics together."""


@dataclass(frozen=True)
class NoisyProgramme:
    """The noisy statistics of a programme; what they were noised with stays inside."""

    tables: tuple[PublishedTable, ...]
    people: int


def perturb_programme(
    programme: Programme, records: Path, identity: str, secret: Path, noise: PTable
) -> NoisyProgramme:
    """Count every statistic of a programme and noise it by who is in each cell."""
    sheet = read_sheet(records)
    printed = published_statistics(programme)
    depth = {at: max(level for each in printed for v, level in each if v == at) for each in printed for at, _ in each}
    used = [(at, level) for at in sorted(depth) for level in range(1, depth[at] + 1)]
    columns = [programme.variables[at].levels[level - 1] for at, level in used]
    check_columns(records, sheet.columns, (*columns, identity))
    coded = [_coded(sheet, programme.variables[at], level) for at, level in used]
    for place, (_, level) in enumerate(used):
        if level > 1:
            _check_nested(sheet, columns[place - 1], columns[place], coded[place - 1][1], coded[place][1])
    parts = np.divmod(record_keys(_ids(sheet, identity), read_secret(secret)), HASHED.radix)
    codes = np.stack([column for _, column in coded], axis=1)
    first, sums = group_sums(
        row_keys(codes, [len(names) for names, _ in coded]), np.stack([np.ones(len(codes), np.int64), *parts], axis=1)
    )
    place_of = {each: place for place, each in enumerate(used)}
    _check_size(printed, {each: len(coded[place][0]) for each, place in place_of.items()})
    tables = []
    for statistic in sorted(printed, key=lambda each: (len(each), each)):
        axes = [place_of[each] for each in statistic]
        names = [coded[place][0] for place in axes]
        counts, high, low = _margin(codes[first][:, axes], sums, [len(each) for each in names])
        shown = counts + noise_of(noise, counts, HASHED.sums(high, low))
        tables.append(_table(programme.label(statistic), [columns[place] for place in axes], names, shown))
    return NoisyProgramme(tuple(tables), len(codes))


def _ids(sheet: Sheet, column: str) -> Sequence[str]:
    texts = sheet.columns[column]
    seen: set[str] = set()
    for row, text in enumerate(texts):
        if not text or text in seen:
            raise sheet.fault(
                row, column, "an id must not be empty" if not text else "occurs twice; ids tell people apart"
            )
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
    parent[below] = above
    wrong = np.flatnonzero(parent[below] != above)
    if len(wrong):
        raise sheet.fault(int(wrong[0]), fine, f"lies in more than one {wide}; levels must nest")


def _check_size(printed: Iterable[Statistic], sizes: Mapping[tuple[int, int], int]) -> None:
    cells = sum(math.prod(sizes[each] for each in statistic) for statistic in printed)
    if cells > MOST_CELLS:
        raise TooLargeError(f"the programme has {cells:,} cells, more than {MOST_CELLS:,}; publish fewer tables")


def _margin(codes: IntArray, sums: IntArray, sizes: Sequence[int]) -> IntArray:
    """Sums of all columns for all combinations of categories, one row per column."""
    found = np.zeros((int(np.prod(sizes)), sums.shape[1]), dtype=np.int64)
    np.add.at(found, row_keys(codes, sizes), sums)
    return found.T


def _table(name: str, axes: Sequence[str], names: Sequence[tuple[str, ...]], shown: IntArray) -> PublishedTable:
    cells = len(shown)
    sizes = [len(each) for each in names]
    codes = np.stack(np.unravel_index(np.arange(cells), sizes), axis=1) if axes else np.zeros((1, 0), dtype=np.int64)
    return PublishedTable(
        name,
        tuple(axes),
        tuple(tuple(frozenset([category]) for category in each) for each in names),
        frozen(codes, len(axes)),
        (),
        frozen(np.full(cells, -1)),
        frozen(np.zeros(cells)),
        frozen(np.full(cells, UNBOUNDED)),
        ("noised",) * cells,
        noisy=frozen(shown),
    )
