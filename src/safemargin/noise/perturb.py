"""The cell key method on a file of records: a table with its margins and hierarchies, noised by who is in each cell."""

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from safemargin.core import FloatArray, Guarantee, Hierarchy, InputError, IntArray, Progress, lattice, no_progress
from safemargin.guarantees.rules import chained
from safemargin.io import Hierarchies, tree
from safemargin.noise.keyed_records import MILLIONTHS, Columns, KeyedCells, read_cells
from safemargin.noise.perturbed import Perturbed
from safemargin.samplers.cell_key import DECIMAL, KeyForm, integer_keys, noise_of, read_secret, record_keys
from safemargin.samplers.ptable import KeyTable, PTable
from safemargin.samplers.ptable_privacy import guarantee


def perturb(
    path: Path,
    columns: Columns,
    table: PTable | KeyTable,
    hierarchies: Hierarchies,
    *,
    secret: Path | None = None,
    whole: int | None = None,
    after: Guarantee | None = None,
    progress: Progress = no_progress,
) -> Perturbed:
    """Count the records in `path` by the axes, and add the noise that their keys pick in `table`.

    Keys are those in a column (decimals from 0 to 1, or whole numbers below `whole`), or hashes of ids with the secret.
    With `after`, the records are the output of a mechanism with this guarantee; their joint guarantee is unknown.
    """
    _check_call(columns, secret)
    if after is not None:
        _check_after(path, columns, after)
    if isinstance(table, KeyTable) and whole is None:
        whole = table.modulus
    form = DECIMAL if whole is None else integer_keys(whole)
    hashed = None if secret is None else partial(record_keys, secret=read_secret(secret))
    cells = read_cells(path, columns, form, hashed, progress)
    for name in hierarchies:
        if name not in columns.axes:
            raise InputError(f"--hierarchy {name}: there is no such axis; the axes are {', '.join(columns.axes)}")
    trees = tuple(_tree(name, place, cells, hierarchies) for place, name in enumerate(columns.axes))
    found = perturbed(trees, cells, table)
    return found if after is None else replace(found, guarantee=chained(after, found.guarantee))


def perturbed(trees: tuple[Hierarchy, ...], cells: KeyedCells, table: PTable | KeyTable) -> Perturbed:
    """The table over all nodes of the trees."""
    counts = _spread(trees, cells, cells.counts)
    keys = cell_keys(trees, cells)
    weighted: FloatArray | None = None
    if cells.weights is not None:
        weighted = _spread(trees, cells, cells.weights) / MILLIONTHS
    laws = table.table if isinstance(table, KeyTable) else table
    within = math.prod(int(axis.members.sum(axis=0).max()) for axis in trees)
    return Perturbed(trees, counts, noise_of(table, counts, keys, cells.form), guarantee(laws, within), weighted)


def cell_keys(trees: tuple[Hierarchy, ...], cells: KeyedCells) -> IntArray:
    """The keys of all cells and their margins."""
    form: KeyForm = cells.form
    high, low = (_spread(trees, cells, part) for part in np.divmod(cells.keys, form.radix))
    return form.sums(high, low)


def _check_call(columns: Columns, secret: Path | None) -> None:
    if (columns.key is None) == (columns.id is None):
        raise InputError("say --record-key COLUMN, or --id COLUMN with --secret FILE: where do record keys come from?")
    if (columns.id is None) != (secret is None):
        raise InputError("--id and --secret go together: record keys are hashes of ids with the secret")
    if columns.id is not None and columns.count is not None:
        raise InputError("--count: rows with an id are one record each; leave it out, or give --record-key")


def _check_after(path: Path, columns: Columns, after: Guarantee) -> None:
    """Reject columns that were joined to the output of the first mechanism: its guarantee is not about them."""
    about = after.population
    known = about.closure(tuple(name for each in about.records for name in each.variables))
    for name in (*columns.axes, columns.key, columns.id, columns.weight):
        if known and name is not None and name not in known:
            raise InputError(
                f"{path}: column {name!r} is not among those that the guarantee of {after.mechanism} is about "
                f"({', '.join(sorted(known))}); swap the file with it, or leave --after out"
            )


def _tree(name: str, place: int, cells: KeyedCells, hierarchies: Hierarchies) -> Hierarchy:
    return tree(name, tuple(dict.fromkeys(row[place] for row in cells.labels)), hierarchies.get(name, ()))


def _spread(trees: tuple[Hierarchy, ...], cells: KeyedCells, values: IntArray) -> IntArray:
    """Sums of `values` over all nodes."""
    places = []
    for a, axis in enumerate(trees):
        leaf = {axis.labels[node]: at for at, node in enumerate(axis.leaves)}
        for row in cells.labels:
            if row[a] not in leaf:
                raise InputError(
                    f"axis {axis.name!r}: {row[a]!r} has codes below it in the hierarchy; records need one"
                )
        places.append([leaf[row[a]] for row in cells.labels])
    base = np.zeros([len(axis.leaves) for axis in trees], dtype=np.int64)
    np.add.at(base, tuple(np.array(place) for place in places), values)
    return lattice(trees, base).counts
