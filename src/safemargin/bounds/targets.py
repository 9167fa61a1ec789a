"""The cells that a question is about, as functionals of the variables of a system.

The count of option o in a cell C of any axes is the sum of x[e, o] over the profiles e in C. If o is the reference
option it is no variable; its count is then N(C) less the sum of all variables of C. Both are rows of `Targets`:

    o a variable        offset 0,     sign +1,  ones at (e, o) for e in C
    o the reference     offset N(C),  sign -1,  ones at all (e, o') for e in C

Cells are numbered in the order of `CellIndex`, targets cell by cell and option by option: target `c * K + o`. Callers
reshape results to (cells, options) by that. Cells without any profile have no row: nobody is there.

Example: profiles 0 and 1 lie in cell 0, profile 2 in cell 1 (`cell_of = [0, 0, 1]`). With one option that is a
variable, the rows are `x0 + x1` and `x2`.
"""

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
    """The cells asked for, and which of them each profile lies in.

    Without a target these are the profiles themselves; with one, the combinations of its axes that some profile has.
    Raises if an axis is in no table.
    """
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
    """Positions in `cells`, one per profile, for cells that somebody else numbered (an exposure, a certificate).

    Not checked: a profile whose combination is missing gets a wrong place; the caller guarantees that there is none.
    """
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
    """One functional per cell and listed option, in that order; `cell_of` is the cell of every profile."""
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
    """People per cell, where they are known: by a joint roll, or by a complete roll over at least the axes of the
    cells.
    """
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
