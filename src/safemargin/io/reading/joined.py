"""Sheets of a workbook that print the same table of other people: men, women and all persons, or year by year.

Two tables with the same axes and categories whose counts differ cannot be about the same people. Their sheets are the
categories of one axis more; which of them is the sum of others, the arithmetic says as for every axis.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from safemargin.core import InputError, PublishedTable, frozen
from safemargin.io.reading.options import ReadingOptions
from safemargin.io.reading.read import of_table
from safemargin.io.reading.table import ReadTable
from safemargin.io.rows import Sheet

SHEET = "sheet"


def joined_sheets(reads: Sequence[ReadTable], reading: ReadingOptions) -> ReadTable | None:
    """The sheets as one table with an axis more; None if they are not the same table of other people."""
    first = reads[0]
    if len(reads) < 2 or any(read.form.path != first.form.path or not read.form.sheet for read in reads):
        return None
    names = [axis.name for axis in first.axes]
    shape = [set(axis.labels) for axis in first.axes]
    if not names or SHEET in names or any(
        [axis.name for axis in read.axes] != names
        or [set(axis.labels) for axis in read.axes] != shape
        or read.cells.options
        or read.ignored is not None and read.ignored.any()
        or (read.base, read.unit) != (first.base, first.unit)
        for read in reads
    ):  # fmt: skip
        return None
    printed = [_printed(read) for read in reads]
    if all(part.get(key, count) == count for part in printed[1:] for key, count in printed[0].items()):
        return None  # the same counts: one table twice
    return _as_one(reads, reading)


def _printed(read: ReadTable) -> dict[tuple[str, ...], int]:
    """The counts that are printed, by the labels of the cell."""
    cells = read.cells
    exact = np.flatnonzero(cells.lower == cells.upper).tolist()
    return {_labels(read, row): int(cells.lower[row]) for row in exact}


def _labels(read: ReadTable, row: int) -> tuple[str, ...]:
    return tuple(axis.labels[code] for axis, code in zip(read.axes, read.cells.codes[row].tolist(), strict=True))


def _as_one(reads: Sequence[ReadTable], reading: ReadingOptions) -> ReadTable:
    first = reads[0]
    labels = [*(list(axis.labels) for axis in first.axes), [read.form.sheet for read in reads]]
    place = [{text: code for code, text in enumerate(texts)} for texts in labels]
    keys = [(*_labels(read, row), read.form.sheet) for read in reads for row in range(len(read.cells.lower))]
    codes = np.array([[place[a][text] for a, text in enumerate(key)] for key in keys], dtype=np.int64)
    path = first.form.path
    if path is None:
        raise InputError(f"{first.name}: has no file")
    table = PublishedTable(
        name=path.name,
        axes=(*(axis.name for axis in first.axes), SHEET),
        groups=tuple(tuple(frozenset([text]) for text in texts) for texts in labels),
        codes=frozen(codes, len(labels)),
        options=(),
        option=frozen(np.full(len(keys), -1)),
        lower=frozen(np.concatenate([read.cells.lower for read in reads])),
        upper=frozen(np.concatenate([read.cells.upper for read in reads])),
        status=tuple(status for read in reads for status in read.cells.status),
    )
    lines = [int(line) for read in reads for line, _ in (read.places if read.places is not None else ())]
    sheet = Sheet(path, {}, lines, "row")
    form = replace(first.form, kind="sheets", sheet="")  # not written back: no sheet holds all of it
    one = replace(of_table(table, sheet, reading, form, False), unit=first.unit)
    notes = [note for read in reads for note in read.notes]
    doubts = [doubt for read in reads for doubt in read.doubts]
    said = f"{len(reads)} sheets hold the same table of other people: they are the categories of the axis {SHEET!r}"
    return one.noted(*dict.fromkeys(notes), said).doubted(*dict.fromkeys(doubts))
