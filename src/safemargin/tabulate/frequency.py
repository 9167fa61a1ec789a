"""One frequency table to be protected: tidy counts, with or without its margins."""

from pathlib import Path

import numpy as np

from safemargin.errors import InputError
from safemargin.model.lattice import Lattice, lattice
from safemargin.tabulate.combined import TOTALS, Hierarchies, count_column
from safemargin.tabulate.counts import BadText, whole_number
from safemargin.tabulate.hierarchy import tree
from safemargin.tabulate.profiles import check_columns
from safemargin.tabulate.tidy import Sheet, read_sheet


def read_frequencies(
    path: Path, hierarchies: Hierarchies, *, count: str | None = None, axes: tuple[str, ...] | None = None
) -> Lattice:
    """The table in a tidy file with all its sums. A combination that is not listed is empty.

    Sums that the file lists itself (a total, or a wider area of a hierarchy) are checked against the counts.
    """
    sheet = read_sheet(path)
    counted = count or count_column(tuple(sheet.columns))
    if counted is None:
        raise InputError(
            f"{path}: which column holds the counts? Say it with --count; there are {', '.join(sheet.columns)}"
        )
    names = axes if axes is not None else tuple(name for name in sheet.columns if name != counted)
    check_columns(path, sheet.columns, (*names, counted))
    for name in hierarchies:
        if name not in names:
            raise InputError(f"--hierarchy {name}: there is no such axis; the axes are {', '.join(names) or '(none)'}")
    if not names:
        raise InputError(f"{path}: there is no axis beside the counts in {counted!r}")
    texts = [[text.strip() for text in sheet.columns[name]] for name in names]
    trees = []
    for name, column in zip(names, texts, strict=True):
        seen = tuple(dict.fromkeys(column))
        total = next((label for label in TOTALS if label in seen), TOTALS[0])
        trees.append(tree(name, tuple(label for label in seen if label != total), hierarchies.get(name, ()), total))
    place = [{label: node for node, label in enumerate(each.labels)} for each in trees]
    leaf = [{node: at for at, node in enumerate(each.leaves)} for each in trees]
    base = np.zeros([len(each.leaves) for each in trees], dtype=np.int64)
    listed: dict[tuple[int, ...], int] = {}
    for row in range(len(sheet.rows)):
        nodes = tuple(place[a][texts[a][row]] for a in range(len(names)))
        if nodes in listed:
            raise InputError(f"{path}: {sheet.place(row)}: the cell is listed twice; give each cell once")
        listed[nodes] = _count(sheet, counted, row)
        if all(node in leaf[a] for a, node in enumerate(nodes)):
            base[tuple(leaf[a][node] for a, node in enumerate(nodes))] = listed[nodes]
    table = lattice(trees, base)
    for row, (nodes, value) in enumerate(listed.items()):
        if table.counts[nodes] != value:
            raise sheet.fault(row, counted, f"but the counts of its parts add up to {table.counts[nodes]}")
    return table


def _count(sheet: Sheet, column: str, row: int) -> int:
    try:
        return whole_number(sheet.columns[column][row])
    except BadText as error:
        raise sheet.fault(row, column, str(error)) from None
