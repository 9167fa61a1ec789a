"""Checking the certificate of a pattern: whole tables that print the same, by addition."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.errors import InputError
from safemargin.model.arrays import BoolArray, IntArray
from safemargin.model.lattice import Lattice, Tree, lattice
from safemargin.model.pattern import KIND
from safemargin.tabulate.combined import read_any_sheet, read_combined
from safemargin.verify.verification import Verification


def check_pattern(certificate: Path, document: Mapping[str, Any], pattern: Path) -> Verification:
    """Whether each withheld count has two values in tables that agree with every printed one."""
    try:
        return _check(document, pattern)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{certificate}: is not a certificate of a pattern ({error})") from None


def _check(document: Mapping[str, Any], pattern: Path) -> Verification:
    trees = tuple(
        Tree(axis["name"], tuple(axis["labels"]), tuple((parent, tuple(parts)) for parent, parts in axis["splits"]))
        for axis in document["axes"]
    )
    shape = tuple(len(tree.labels) for tree in trees)
    nodes = np.array(document["withheld"], dtype=np.int64).reshape(-1, len(trees))
    places: IntArray = np.asarray(np.ravel_multi_index(tuple(nodes.T), shape), dtype=np.int64)
    printed, hidden = _printed(pattern, trees, shape)
    failures = []
    if set(np.flatnonzero(hidden).tolist()) != set(places.tolist()):
        failures.append(f"{pattern.name}: withholds other cells than the certificate says")
    counts = np.array(document["counts"], dtype=np.int64)
    values = [counts]
    for change in document["changes"]:
        other = counts.copy()
        for place, step in change:
            other[place] += int(step)
        values.append(other)
    leaves = np.ix_(*(tree.leaves for tree in trees))
    for number, each in enumerate(values):
        full = printed.copy()
        full[places] = each
        table: Lattice = lattice(trees, full.reshape(shape)[leaves])
        if (each < 1).any() or (table.counts.ravel() != full).any():
            failures.append(f"table {number} does not add up to what {pattern.name} prints, or has a count below one")
            break
    alike = (np.stack(values) == counts).all(axis=0)
    if alike.any():
        failures.append(f"{int(alike.sum())} withheld counts have the same value in every table")
    protect = document.get("protect")
    return Verification(
        KIND,
        1,
        cells=len(places),
        proved=0 if failures else len(places),
        tables=len(values),
        failures=tuple(failures),
        unchecked=("the lower bound on the number of cells", *(("what --protect asked for",) if protect else ())),
    )


def _printed(pattern: Path, trees: tuple[Tree, ...], shape: tuple[int, ...]) -> tuple[IntArray, BoolArray]:
    """Counts and gaps of the pattern file, in the order of the lattice."""
    found = read_combined(read_any_sheet(pattern), {})
    columns = []
    for tree, mine, nodes in zip(trees, found.trees, found.nodes.T, strict=True):
        place = {label: node for node, label in enumerate(tree.labels)}
        columns.append(np.array([place[label] for label in mine.labels])[nodes])
    at = np.ravel_multi_index(columns, shape)
    printed = np.zeros(int(np.prod(shape)), dtype=np.int64)
    hidden = np.zeros(len(printed), dtype=bool)
    printed[at], hidden[at] = np.where(found.withheld, 0, found.counts), found.withheld
    return printed, hidden
