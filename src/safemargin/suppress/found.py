"""Tables that are not tidy, as they are found: read whole, without gaps, with the sums that they print.

A table is tidy if a column is named like counts and holds whole numbers that can be read in one way. Every other
table is read by `safemargin.io.read_all`, and refused where the reading is doubtful: a pattern for a table that was
read wrongly protects nobody.
"""

from pathlib import Path

import numpy as np

from safemargin.core import JOINER, Hierarchy, InputError, Lattice, lattice
from safemargin.io import (
    TOTAL,
    ReadAxis,
    ReadingOptions,
    ReadTable,
    count_column,
    doubt_lines,
    has_attributes,
    is_plain,
    read_all,
    read_sheet,
    suffix,
)

NOT_FOUND = (".tab",)
"""Formats that have no form but their own."""


def find_table(
    source: object, count: str | None, axes: tuple[str, ...] | None, reading: ReadingOptions
) -> ReadTable | None:
    """The table as it is found; None where it is tidy and read by the names of its columns.

    Raises `InputError` where the reading is doubtful: a pattern for a table that was read wrongly protects nobody.
    """
    if axes or (isinstance(source, str | Path) and suffix(Path(source)) in NOT_FOUND):
        return None
    if reading == ReadingOptions() and _is_tidy(source, count):
        return None
    reads = read_all([Path(source) if isinstance(source, str) else source], count=count or "count", reading=reading)
    if len(reads) > 1:
        raise InputError(
            f"{source}: holds {len(reads)} tables; name one with `sheet`, or save each in a file of its own"
        )
    (read,) = reads
    if doubts := doubt_lines(reads):
        raise InputError(f"{read.name}: the reading is doubtful: {doubts[0]}; correct it with the options for reading")
    return read


def _is_tidy(source: object, count: str | None) -> bool:
    """Whether a table has a column of counts, rows that each name one cell, and no cell that others list once more.

    When in doubt it is not: then `read_all` decides, which knows many more forms.
    """
    try:
        sheet = read_sheet(source)
    except InputError:
        return False
    if count is not None and count not in sheet.columns:
        return True  # whoever reads it by its names says that there is no such column
    counted = count or count_column(tuple(sheet.columns))
    if any(JOINER in text for name, texts in sheet.columns.items() if name != counted for text in set(texts)):
        return False  # groups of several categories, which others may list once more
    if counted is None or has_attributes(sheet.columns, {counted, "status"}):
        return False
    return is_plain(sheet, counted) and len(sheet.columns) > 1


def lattice_of(read: ReadTable) -> Lattice:
    """All sums of a table that prints every count.

    Suppression needs every inner cell: ranges, gaps and answers are refused with the cell in which they stand. Printed
    sums are compared with computed ones when the table is read, so only the inner cells are taken over.
    """
    cells = read.cells
    if cells.options:
        raise InputError(f"{read.name}: has answers; suppress takes counts of people by group")
    for row in np.flatnonzero(cells.lower != cells.upper).tolist():
        where = ", ".join(cells.cell(row).values())
        raise InputError(f"{read.name}: {where}: has no exact count; suppress needs all counts of a table")
    trees = [_tree(read.name, axis) for axis in read.axes]
    if not trees:
        raise InputError(f"{read.name}: has no axis beside the counts")
    nodes = np.zeros(cells.codes.shape, dtype=np.int64)
    for a, (axis, tree) in enumerate(zip(read.axes, trees, strict=True)):
        node_of = {label: node for node, label in enumerate(tree.labels)}
        nodes[:, a] = np.array([node_of[_label(axis, code)] for code in range(len(axis.labels))])[cells.codes[:, a]]
    counts = np.zeros([len(tree.labels) for tree in trees], dtype=np.int64)
    counts[tuple(nodes.T)] = cells.lower
    base = counts[np.ix_(*(list(tree.leaves) for tree in trees))]
    return lattice(trees, base)


def _label(axis: ReadAxis, code: int) -> str:
    """The label of a category as the tree has it: the sum over an axis has one name, whatever the file calls it."""
    return TOTAL if code == axis.total else axis.labels[code]


def _tree(name: str, axis: ReadAxis) -> Hierarchy:
    """One axis as a tree: its categories, and the subtotals that the file prints, each with its parts.

    Refused are groups that share a category (everybody must count once) and sums whose parts are not all listed.
    """
    groups: dict[str, str] = {}
    wholes = {axis.total, *(parent for parent, _ in axis.splits)}
    for text in (text for code, text in enumerate(axis.labels) if code not in wholes):
        for member in text.split(JOINER):
            if (other := groups.setdefault(member.strip(), text)) != text:
                raise InputError(f"{name}: {axis.name} = {text!r} and {other!r} share a category; count everybody once")
    if axis.partial:
        whole = axis.labels[axis.partial[0]]
        raise InputError(f"{name}: {axis.name} = {whole!r}: parts are not listed; suppress needs all of them")
    inner = [code for code in range(len(axis.labels)) if code != axis.total]
    node = {code: number for number, code in enumerate(inner, 1)}
    below = {child for parent, parts in axis.splits if parent != axis.total for child in parts}
    top = tuple(node[code] for code in inner if code not in below)
    splits = [(node[parent], tuple(node[child] for child in parts)) for parent, parts in axis.splits if parent in node]
    return Hierarchy(axis.name, (TOTAL, *(axis.labels[code] for code in inner)), ((0, top), *splits))
