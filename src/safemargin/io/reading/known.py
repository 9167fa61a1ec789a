"""Tables of counts that a project names: rolls, tallies, facts, data. What is doubtful about them is refused.

Somebody decides from them what is published, so that a reading that may be wrong is an error here, not a sentence.
Sums are checked, and then removed: people who are counted in a category and in a total would be counted twice.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from safemargin.core import InputError, PublishedTable, frozen
from safemargin.io.reading.found import read_all
from safemargin.io.reading.labels import ACROSS
from safemargin.io.reading.options import ReadingOptions
from safemargin.io.reading.table import ReadTable


def read_one(path: Path, *, count: str = "count", reading: ReadingOptions | None = None) -> ReadTable:
    """The one table in a file, in any form; refused where the reading is doubtful."""
    reads = read_all([path], count=count, reading=reading, trusted=True)
    if len(reads) > 1:
        names = ", ".join(read.form.sheet or read.name for read in reads)
        raise InputError(f"{path}: holds {len(reads)} tables ({names}); save one in a file of its own")
    (read,) = reads
    if read.doubts:
        raise InputError(f"{path}: the reading is doubtful: {read.doubts[0]}; correct the file, or save it as tidy CSV")
    if read.base > 1:
        raise InputError(f"{path}: counts are rounded to {read.base:,}; give the counts themselves")
    return read


def inner_table(read: ReadTable) -> PublishedTable:
    """The cells of a table that are no sums of others, on the axes of the table."""
    cells = read.cells
    keep = np.ones(len(cells.lower), dtype=bool)
    for a, axis in enumerate(read.axes):
        wholes = [code for code in (axis.total, *(parent for parent, _ in axis.splits)) if code is not None]
        keep &= ~np.isin(cells.codes[:, a], wholes)
        if axis.partial:
            whole = axis.labels[axis.partial[0]]
            raise InputError(f"{read.name}: {axis.name} = {whole!r}: not all of its parts are listed; list them")
    if read.option_total is not None:
        keep &= cells.option != read.option_total
    if keep.all():
        return cells
    if not keep.any():
        raise InputError(f"{read.name}: holds sums alone, no category; give the counts of categories")
    rows = np.flatnonzero(keep)
    used = [np.unique(cells.codes[rows, a], return_inverse=True) for a in range(len(read.axes))]
    options, option = cells.options, cells.option[rows]
    if read.option_total is not None:
        options = tuple(name for code, name in enumerate(options) if code != read.option_total)
        option = option - (option > read.option_total)
    return replace(
        cells,
        groups=tuple(tuple(cells.groups[a][code] for code in codes) for a, (codes, _) in enumerate(used)),
        codes=frozen(np.column_stack([np.zeros((len(rows), 0), dtype=np.int64), *(c for _, c in used)]), len(used)),
        options=options,
        option=frozen(option),
        lower=frozen(cells.lower[rows]),
        upper=frozen(cells.upper[rows]),
        status=tuple(cells.status[row] for row in rows.tolist()),
        noisy=None,
    )


def with_answers(table: PublishedTable, name: str = ACROSS) -> PublishedTable:
    """A table whose axis called `name` lists answers, with the answers as its options."""
    place = table.axes.index(name)
    kept = [a for a in range(len(table.axes)) if a != place]
    return replace(
        table,
        axes=tuple(table.axes[a] for a in kept),
        groups=tuple(table.groups[a] for a in kept),
        codes=frozen(table.codes[:, kept], len(kept)),
        options=tuple(text for (text,) in table.groups[place]),
        option=frozen(table.codes[:, place]),
    )
