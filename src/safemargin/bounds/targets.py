"""The cells that a question is about, as functionals of the variables of a system."""

import numpy as np
from scipy import sparse

from safemargin.bounds.exposure import CellIndex
from safemargin.bounds.search import Targets
from safemargin.bounds.system import System, complete_total
from safemargin.core import InputError, IntArray, Onlooker, PublishedTable, row_keys


def known_axes(target: tuple[str, ...], axes: tuple[str, ...]) -> tuple[str, ...]:
    """The axes asked for; raises if one is in no table, or asked for twice."""
    for axis in target:
        if target.count(axis) > 1:
            raise InputError(f"target axis {axis!r} is named twice; name each axis once")
        if axis not in axes:
            raise InputError(f"target axis {axis!r} is in no table; the axes are {', '.join(axes) or '(none)'}")
    return target


def cells_asked(system: System, target: tuple[str, ...] | None) -> tuple[CellIndex, IntArray]:
    """The cells asked for, and which of them each profile lies in."""
    if target is None:
        return CellIndex(system.axes, system.categories, system.codes), np.arange(len(system.codes))
    columns = [system.axes.index(axis) for axis in known_axes(target, system.axes)]
    categories = tuple(system.categories[c] for c in columns)
    codes = system.codes[:, columns].reshape(len(system.codes), len(columns))
    _, first, inverse = np.unique(
        row_keys(codes, [len(names) for names in categories]), return_index=True, return_inverse=True
    )
    return CellIndex(target, categories, codes[first]), inverse.astype(np.int64)


def places_in(system: System, cells: CellIndex) -> IntArray:
    """Which of `cells` each profile lies in."""
    columns = [system.axes.index(axis) for axis in cells.axes]
    sizes = [len(names) for names in cells.categories]
    codes = np.zeros((len(system.codes), len(columns)), dtype=np.int64)
    for a, column in enumerate(columns):
        code_of = {name: code for code, name in enumerate(cells.categories[a])}
        codes[:, a] = np.array([code_of[name] for name in system.categories[column]])[system.codes[:, column]]
    keys, wanted = row_keys(cells.codes, sizes), row_keys(codes, sizes)
    order = np.argsort(keys, kind="stable")
    cell_of: IntArray = order[np.searchsorted(keys[order], wanted)]
    return cell_of


def targets_of(system: System, cell_of: IntArray, cells: int) -> Targets:
    """One functional per cell and listed option, in that order."""
    count, free = len(system.options), system.n_free_options
    profiles = np.arange(len(cell_of))
    rows, columns = [], []
    for option in range(count):
        for variable in [option] if option < free else range(free):
            rows.append(cell_of * count + option)
            columns.append(profiles * free + variable)
    target_rows, variables = np.concatenate(rows), np.concatenate(columns)
    matrix = sparse.csr_array(
        (np.ones(len(target_rows), dtype=np.int64), (target_rows, variables)), shape=(cells * count, system.size)
    )
    offset, sign = np.zeros((cells, count), dtype=np.int64), np.ones((cells, count), dtype=np.int64)
    if system.reference and system.people is not None:
        np.add.at(offset[:, -1], cell_of, system.people)
        sign[:, -1] = -1
    return Targets(matrix, offset.ravel(), sign.ravel())


def people_of(system: System, onlooker: Onlooker, cells: CellIndex, cell_of: IntArray) -> IntArray | None:
    """People per cell, where they are known."""
    if system.people is not None:
        people = np.zeros(len(cells), dtype=np.int64)
        np.add.at(people, cell_of, system.people)
        return people
    for table in onlooker.roll:
        if set(table.axes) >= set(cells.axes) and complete_total(table, system.seen) is not None:
            return _sizes(table, cells)
    return None


def _sizes(roll: PublishedTable, cells: CellIndex) -> IntArray | None:
    """People per cell from a roll of at least the axes of `cells`; none where the roll merges their categories."""
    sizes: dict[tuple[str, ...], int] = {}
    columns = [roll.axes.index(axis) for axis in cells.axes]
    if any(len(group) > 1 for column in columns for group in roll.groups[column]):
        return None
    for row, people in enumerate(roll.lower.tolist()):
        key = tuple(next(iter(roll.groups[column][roll.codes[row, column]])) for column in columns)
        sizes[key] = sizes.get(key, 0) + people
    return np.array([sizes.get(tuple(cells.cell(row).values()), 0) for row in range(len(cells))], dtype=np.int64)
