"""The cell key method on a file of records: a table with its margins and hierarchies, noised by who is in each cell."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from safemargin.core import (
    FloatArray,
    Guarantee,
    Hierarchy,
    InputError,
    IntArray,
    Progress,
    lattice,
    no_progress,
    write_secret,
)
from safemargin.guarantees import GUARANTEE_FILE, chained, document, guarantee_text, read_guarantee
from safemargin.io import Hierarchies, tree, with_manifest, write_folder
from safemargin.noise.columns import RecordColumns
from safemargin.noise.ptable import ptable as make_table
from safemargin.noise.records import MILLIONTHS, Data, KeyedRecords, read_cells
from safemargin.samplers import (
    DECIMAL,
    KeyTable,
    Missed,
    PTable,
    guarantee,
    integer_keys,
    noise_of,
    read_secret,
    record_keys,
)
from safemargin.ui import SCHEMA, Document, Grid, OnPage, Report, Result

TAKEN = ("count", "weighted", "true", "noise", "true_weighted", "status")
"""Columns of the tables that are written."""

ROUNDING = 2.0
"""Standard deviations of the weights that a weighted count is rounded to: with 2, attacks that compare parts with sums
guess hardly more counts than without weights, and the error of weighted counts grows by 3 to 17 %."""


@dataclass(frozen=True, eq=False)
class Perturbed(Result):
    """True counts of every combination of nodes, the noise on them, and true weighted counts if there are weights.

    Only `printed` and `weighted_printed` may be published. `missed` are counts without the requested variance.
    """

    trees: tuple[Hierarchy, ...]
    counts: IntArray
    noise: IntArray
    guarantee: Guarantee
    weighted: FloatArray | None = None
    weight_values: FloatArray | None = None
    missed: tuple[Missed, ...] = ()
    is_chained: bool = False

    @cached_property
    def printed(self) -> IntArray:
        """Counts as they are published."""
        return self.counts + self.noise

    @cached_property
    def weighted_printed(self) -> FloatArray | None:
        """Weighted counts as they are published: the published count times a weight near the mean of the cell.

        The exact mean is a fraction whose denominator discloses the true count, and means of parts and their sum
        disclose it too: true counts times means add up. So the mean is rounded, the more the smaller the count, and
        then the nearest weight is taken that a record has: any number of people could have it.
        """
        if self.weighted is None or self.weight_values is None:
            return None
        # An empty cell has no mean weight, and prints 0.
        mean = np.divide(self.weighted, self.counts, out=np.zeros(self.counts.shape), where=self.counts > 0)
        everybody = mean.flat[0]  # the first node of every axis is the total; rounding around it adds no bias
        # A person more or less moves a sum of true counts times means by about one standard deviation at most.
        step = ROUNDING * self.weight_values.std() / np.maximum(self.printed, 1)
        whole = np.rint(np.divide(mean - everybody, step, out=np.zeros(mean.shape), where=step > 0))
        middles = (self.weight_values[1:] + self.weight_values[:-1]) / 2
        near: FloatArray = self.weight_values[np.searchsorted(middles, everybody + whole * step)]
        return np.where(self.counts > 0, near, 0.0) * self.printed

    @property
    def files(self) -> dict[str, bytes]:
        """What `write` writes: the table to publish, the confidential one, and a guarantee of both mechanisms."""
        files = {"published/table.csv": self.to_csv(), "confidential/table.csv": self.to_csv(confidential=True)}
        if self.is_chained:
            files[f"published/{GUARANTEE_FILE}"] = guarantee_text(self.guarantee)
        return with_manifest({"kind": "noised table"}, {name: text.encode() for name, text in files.items()})

    def write(self, path: Path | str) -> Path:
        """Write all files to a new folder."""
        write_folder(Path(path), self.files)
        return Path(path)

    def to_csv(self, confidential: bool = False) -> str:
        """Every cell with the count to be published; if `confidential`, with the true count and the noise as well."""
        columns: list[tuple[str, Sequence[object]]] = [("count", self.printed.ravel().tolist())]
        if self.weighted is not None and self.weighted_printed is not None:
            columns.append(("weighted", [_number(x) for x in self.weighted_printed.ravel().tolist()]))
        if confidential:
            columns += [("true", self.counts.ravel().tolist()), ("noise", self.noise.ravel().tolist())]
            if self.weighted is not None:
                columns.append(("true_weighted", [_number(x) for x in self.weighted.ravel().tolist()]))
        # All rows, empty cells too: a cell that is marked as exact would be known to be empty.
        columns.append(("status", ["noised"] * self.counts.size))
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*(axis.name for axis in self.trees), *(name for name, _ in columns)])
        for row, nodes in enumerate(np.ndindex(*self.counts.shape)):
            writer.writerow([*self._labels(nodes), *(values[row] for _, values in columns)])
        return text.getvalue()

    def _labels(self, nodes: Sequence[int]) -> list[str]:
        return [axis.labels[node] for axis, node in zip(self.trees, nodes, strict=True)]

    def to_json(self) -> Document:
        names = [axis.name for axis in self.trees]
        weighted = self.weighted_printed
        return {
            "schema": SCHEMA,
            "cells": [
                {
                    "cell": dict(zip(names, self._labels(nodes), strict=True)),
                    "count": int(self.printed[nodes]),
                    **({} if weighted is None else {"weighted": float(weighted[nodes])}),
                }
                for nodes in np.ndindex(*self.counts.shape)
            ],
            "changed": int((self.noise != 0).sum()),
            "largest": int(abs(self.noise).max(initial=0)),
            "guarantee": document(self.guarantee),
        }

    @property
    def sentences(self) -> list[str]:
        """How much was changed, and the guarantee."""
        occupied = self.counts > 0
        return [
            f"{self.counts.size:,} cells, {int((self.noise != 0).sum()):,} of them changed, by at most "
            f"{int(abs(self.noise).max(initial=0))}.",
            f"{int((occupied & (self.printed == 0)).sum()):,} of {int(occupied.sum()):,} cells with somebody in them "
            "print 0.",
            "Sums of printed counts differ from the printed margins: noise is selected for each cell.",
            self.guarantee.statement,
            *self.guarantee.remarks,
        ]

    def to_report(self) -> Report:
        columns = [*(axis.name for axis in self.trees), "count"]
        rows = [[*self._labels(nodes), f"{self.printed[nodes]:,}"] for nodes in np.ndindex(*self.counts.shape)]
        return Report("Noised table", *self.sentences, OnPage(Grid(columns, rows)))


def perturb(
    records: Data,
    by: Sequence[str],
    *,
    variance: float | str | None = None,
    bound: int | None = None,
    js: int = 0,
    compatible: bool = False,
    ptable: Path | str | PTable | KeyTable | None = None,
    biased: bool = False,
    record_key: str | None = None,
    id: str | None = None,
    secret: Path | str | None = None,
    modulus: int | None = None,
    count: str | None = None,
    weight: str | None = None,
    hierarchies: Hierarchies | None = None,
    after: Path | str | Guarantee | None = None,
    engine: str = "duckdb",
    master: str | None = None,
    progress: Progress = no_progress,
) -> Perturbed:
    """Count records (a file or a DataFrame) with all margins, and add the noise that their keys select.

    The p-table is made from a variance and a bound, or given. Keys are those in the column `record_key` (decimals from
    0 to 1, or integers below `modulus`), or hashes of the column `id` with the secret. With `after`, the records are
    the output of a mechanism with this guarantee; their joint guarantee is unknown. With the engine `spark`, records
    are counted, and their keys hashed and summed, on the cluster `master`.
    """
    columns = RecordColumns(tuple(by), record_key, id, count, weight)
    _check_call(columns, secret)
    given = make_table(variance, bound, js, compatible, file=ptable, biased=biased)
    before = after if isinstance(after, Guarantee | None) else read_guarantee(Path(after))
    if isinstance(given.table, KeyTable) and modulus is None:
        modulus = given.table.modulus
    form = DECIMAL if modulus is None else integer_keys(modulus)
    hashed = None if secret is None else partial(record_keys, secret=read_secret(Path(secret)))
    if before is not None:
        _check_after(records if isinstance(records, str | Path) else "data", columns, before)
    cells = read_cells(records, columns, form, hashed, progress, engine, master)
    trees = _trees(columns, cells, hierarchies or {})
    counts = _spread(trees, cells, cells.counts)
    # Both parts of the keys are summed over the margins, so that 64-bit sums stay exact.
    keys = cells.form.sums(*(_spread(trees, cells, part) for part in np.divmod(cells.keys, cells.form.radix)))
    # A person is counted in every node above them, on every axis.
    noised = guarantee(given.laws, math.prod(int(axis.members.sum(axis=0).max()) for axis in trees))
    return Perturbed(
        trees,
        counts,
        noise_of(given.table, counts, keys, cells.form),
        noised if before is None else chained(before, noised),
        None if cells.weights is None else _spread(trees, cells, cells.weights) / MILLIONTHS,
        None if cells.weights is None else cells.weight_values,
        given.missed,
        before is not None,
    )


def _trees(columns: RecordColumns, cells: KeyedRecords, hierarchies: Hierarchies) -> tuple[Hierarchy, ...]:
    for name in hierarchies:
        if name not in columns.axes:
            raise InputError(f"hierarchy {name}: there is no such axis; the axes are {', '.join(columns.axes)}")
    return tuple(
        tree(name, tuple(dict.fromkeys(row[column] for row in cells.labels)), hierarchies.get(name, ()))
        for column, name in enumerate(columns.axes)
    )


def key(file: Path | str) -> Path:
    """Write a fresh secret for record keys to a new file that only its owner can read."""
    write_secret(Path(file))
    return Path(file)


def _check_call(columns: RecordColumns, secret: Path | str | None) -> None:
    if (columns.key is None) == (columns.id is None):
        raise InputError("give record_key, or id with secret: record keys come from one of them")
    if (columns.id is None) != (secret is None):
        raise InputError("id and secret go together: record keys are hashes of ids with the secret")
    reserved = next((name for name in columns.axes if name in TAKEN), None)
    if reserved is not None:
        raise InputError(f"by: an axis cannot be called {reserved!r}: the table has a column of that name")
    if columns.id is not None and columns.count is not None:
        raise InputError("count: rows with an id are one record each; remove it, or give record_key")


def _check_after(path: Path | str, columns: RecordColumns, after: Guarantee) -> None:
    """Reject columns that were joined to the output of the first mechanism: its guarantee is not about them."""
    # The closure holds columns that others determine, such as a region of its district.
    about = after.population
    known = about.closure(tuple(name for records in about.records for name in records.variables))
    for name in (*columns.axes, columns.key, columns.id, columns.weight):
        if known and name is not None and name not in known:
            raise InputError(
                f"{path}: column {name!r} is not among those that the guarantee of {after.mechanism} is about "
                f"({', '.join(sorted(known))}); swap the file with it, or remove after"
            )


def _spread(trees: tuple[Hierarchy, ...], cells: KeyedRecords, values: IntArray) -> IntArray:
    """Sums of `values` over all nodes."""
    indices = []
    for column, axis in enumerate(trees):
        leaves = {axis.labels[node]: number for number, node in enumerate(axis.leaves)}
        labels = [row[column] for row in cells.labels]
        inner = next((label for label in labels if label not in leaves), None)
        if inner is not None:
            raise InputError(f"axis {axis.name!r}: {inner!r} has codes below it in the hierarchy; records need one")
        indices.append(np.array([leaves[label] for label in labels]))
    base = np.zeros([len(axis.leaves) for axis in trees], dtype=np.int64)
    np.add.at(base, tuple(indices), values)
    return lattice(trees, base).counts


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
