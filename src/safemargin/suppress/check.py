"""Checking the certificate of a pattern: whole tables that print the same, by addition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from safemargin.bounds.verification import Verification
from safemargin.core import BoolArray, InputError, IntArray, Lattice, Tree, lattice
from safemargin.io import WORDS, count_column, read_any_sheet, read_combined, whole_number
from safemargin.suppress.coalition import PUBLIC, View, views
from safemargin.suppress.linked import Linked, inner_places, is_ring, number
from safemargin.suppress.pattern import KIND


def check_pattern(certificate: Path, document: Mapping[str, Any], files: Mapping[str, Path]) -> Verification:
    """Whether each suppressed count has values far enough apart in tables that agree with every printed one."""
    try:
        return _check(document, Printed(document, files))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{certificate}: is not a certificate of a pattern ({error})") from None


class Printed:
    """The files of a certificate together: every cell with what they print of it."""

    def __init__(self, document: Mapping[str, Any], files: Mapping[str, Path]) -> None:
        stated = document["tables"]
        self.every = [tuple(_tree(axis) for axis in table["axes"]) for table in stated]
        self.new = sum(not table["earlier"] for table in stated)
        if any(table["earlier"] for table in stated[: self.new]) or [table["file"] for table in stated] != [*files]:
            raise ValueError("tables")
        self.trees, self.nodes, self.places = number(self.every)
        self.numbers = {tuple(row): at for at, row in enumerate(self.nodes.tolist())}
        self.labels = [{label: node for node, label in enumerate(tree.labels)} for tree in self.trees]
        self.counts = np.zeros(len(self.nodes), dtype=np.int64)
        self.told, self.gaps, self.new_gaps = (np.zeros(len(self.nodes), dtype=bool) for _ in range(3))
        self.failures: list[str] = []
        for at, (name, path) in enumerate(files.items()):
            counts, told, gaps = _read(path, self.every[at])
            mine = self.places[at][told]
            if (self.told[mine] & (self.counts[mine] != counts[told])).any():
                self.failures.append(f"{name}: prints other counts than the files before it")
            self.counts[mine], self.told[mine], self.gaps[self.places[at][gaps]] = counts[told], True, True
            self.new_gaps[self.places[at][gaps]] |= at < self.new

    def find(self, cell: Mapping[str, str]) -> int:
        """The number of a cell by its labels."""
        nodes = [self.labels[a][cell[tree.name]] if tree.name in cell else 0 for a, tree in enumerate(self.trees)]
        return self.numbers[tuple(nodes)]

    def linked(self, counts: IntArray, people: IntArray, only_new: bool = False) -> Linked:
        """The tables with all counts filled in."""
        shapes = [tuple(len(tree.labels) for tree in trees) for trees in self.every]
        parts = zip(self.every, self.places, shapes, strict=True)
        tables = tuple(Lattice(trees, counts[cells].reshape(shape)) for trees, cells, shape in parts)
        count = self.new if only_new else len(tables)
        no = np.zeros(len(self.nodes), dtype=bool)
        places = self.places[:count]
        return Linked(("",), tables[:count], (), self.trees, self.nodes, places, counts, no, no, no, people)


@dataclass(frozen=True)
class Changes:
    """Steps of all changes, by the change they are part of and the number of the cell."""

    rows: IntArray
    cells: IntArray
    steps: IntArray
    count: int

    def ends(self, counts: IntArray, view: View) -> tuple[IntArray, IntArray]:
        """How far counts rise and fall by changes that somebody with this view cannot rule out."""
        possible = np.ones(self.count, dtype=bool)
        possible[self.rows[np.isin(self.cells, view.known)]] = False
        for cell, least in view.at_least:
            possible[self.rows[(self.cells == cell) & (counts[cell] + self.steps < least)]] = False
        mine = possible[self.rows]
        up, down = np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=np.int64)
        np.maximum.at(up, self.cells[mine], self.steps[mine])
        np.maximum.at(down, self.cells[mine], -self.steps[mine])
        return up, down


def _check(document: Mapping[str, Any], printed: Printed) -> Verification:
    failures, size = [*printed.failures], len(printed.nodes)
    known_before = np.zeros(size, dtype=bool)
    known_before[[printed.find(cell) for cell in document["known_before"]]] = True
    hidden = np.array([printed.find(cell) for cell in document["suppressed"]], dtype=np.int64)
    gaps = printed.gaps & ~printed.told
    unlike = printed.told[hidden].any() or len(np.setdiff1d(np.flatnonzero(gaps), hidden))
    if unlike or (printed.new_gaps & (printed.told | known_before)).any():
        failures.append("other cells are suppressed than the certificate says")
    people = np.array(
        [[printed.labels[a][who[tree.name]] for a, tree in enumerate(printed.trees)] for who in document["people"]],
        dtype=np.int64,
    ).reshape(-1, len(printed.trees))
    at = np.r_[hidden, size + np.arange(len(people))]
    counts = np.r_[printed.counts, np.zeros(len(people), dtype=np.int64)]
    counts[at] = np.array(document["counts"], dtype=np.int64)
    floor = np.r_[gaps.astype(np.int64), np.zeros(len(people), dtype=np.int64)]
    changes = _changes(document["changes"], at)
    if not _adds_up(printed.linked(counts[:size], people), counts, floor, changes):
        failures.append("a table does not add up to what is printed, or has a count that is too small")
    else:
        insiders = views(printed.linked(counts[:size], people, only_new=True), int(document["insiders"]))
        claimed = np.flatnonzero(gaps & ~known_before)
        failures += _close(claimed, counts, changes, insiders, int(document["tau"]))
        failures += _low(document, counts, np.flatnonzero(printed.new_gaps), changes)
    unchecked = ["the lower bound on the number of cells"]
    if is_ring(printed.trees, printed.every) and not len(people):
        unchecked.append("whether people are behind each set of tables, which hang together in a ring")
    cells = int((gaps & ~known_before).sum())
    return Verification(
        KIND,
        len(printed.every),
        cells=cells,
        proved=0 if failures else cells,
        tables=changes.count + 1,
        failures=tuple(failures),
        unchecked=tuple(unchecked),
    )


def _tree(axis: Mapping[str, Any]) -> Tree:
    return Tree(axis["name"], tuple(axis["labels"]), tuple((parent, tuple(parts)) for parent, parts in axis["splits"]))


def _changes(stated: Sequence[Sequence[Sequence[int]]], at: IntArray) -> Changes:
    rows = np.array([row for row, change in enumerate(stated) for _ in change], dtype=np.int64)
    cells = at[np.array([int(place) for change in stated for place, _ in change], dtype=np.int64)]
    steps = np.array([int(step) for change in stated for _, step in change], dtype=np.int64)
    if len(set(zip(rows.tolist(), cells.tolist(), strict=True))) < len(rows):
        raise ValueError("a change names a cell twice")
    return Changes(rows, cells, steps, len(stated))


def _adds_up(linked: Linked, counts: IntArray, floor: IntArray, changes: Changes) -> bool:
    """Whether every sum holds in every table, and no count is below its floor."""
    shape = (len(counts), max(changes.count, 1))
    moved = sparse.csr_array((changes.steps, (changes.cells, changes.rows)), shape=shape)
    return bool(
        not (linked.equations @ counts).any()
        and not (linked.equations @ moved).data.any()
        and (counts >= floor).all()
        and (counts[changes.cells] + changes.steps >= floor[changes.cells]).all()
    )


def _close(claimed: IntArray, counts: IntArray, changes: Changes, insiders: Sequence[View], tau: int) -> list[str]:
    """Whether somebody sees no values of a suppressed count that are far enough apart."""
    for view in (PUBLIC, *insiders):
        up, down = changes.ends(counts, view)
        mine = np.setdiff1d(claimed, view.known)
        near = int((up[mine] + down[mine] <= tau).sum())
        if near:
            whom = "" if view == PUBLIC else ", for insiders"
            return [f"{near} suppressed counts have no values far enough apart in these tables{whom}"]
    return []


def _low(document: Mapping[str, Any], counts: IntArray, suppressed: IntArray, changes: Changes) -> list[str]:
    """Whether a primary count cannot be as large as was asked."""
    protect = document["protect"]
    if protect is None:
        return []
    least, most = document["primary"]
    up, _ = changes.ends(counts, PUBLIC)
    mine = suppressed[(counts[suppressed] >= least) & (counts[suppressed] <= most)]
    low = int((counts[mine] + up[mine] < int(protect)).sum())
    return [f"{low} primary counts are below {protect} in every table"] if low else []


def _read(path: Path, trees: tuple[Tree, ...]) -> tuple[IntArray, BoolArray, BoolArray]:
    """Counts of a file in the order of the lattice, which of them it tells, and which it says are suppressed."""
    sheet = read_any_sheet(path)
    shape = tuple(len(tree.labels) for tree in trees)
    plain = not set(WORDS) & set(sheet.columns)
    if plain:
        names = [name for name in sheet.columns if name not in {tree.name for tree in trees}]
        texts = sheet.columns[count_column(names) or names[0]]
        values = np.array([whole_number(text) for text in texts], dtype=np.int64)
        suppressed = np.zeros(len(values), dtype=bool)
        labels = [[text.strip() for text in sheet.columns[tree.name]] for tree in trees]
    else:
        found = read_combined(sheet, {})
        values, suppressed = np.where(found.suppressed, 0, found.counts), found.suppressed
        labels = [[mine.labels[node] for node in nodes] for mine, nodes in zip(found.trees, found.nodes.T, strict=True)]
    columns = []
    for tree, column in zip(trees, labels, strict=True):
        where = {label: node for node, label in enumerate(tree.labels)}
        columns.append([where[label] for label in column])
    at = np.ravel_multi_index(columns, shape)
    counts = np.zeros(int(np.prod(shape)), dtype=np.int64)
    told, gaps = np.zeros(len(counts), dtype=bool), np.zeros(len(counts), dtype=bool)
    counts[at], told[at], gaps[at] = values, ~suppressed, suppressed
    inner = inner_places(trees)
    if plain:
        return lattice(trees, counts[inner].reshape([len(tree.leaves) for tree in trees])).counts.ravel(), ~gaps, gaps
    if (told | gaps)[inner].any():
        told[inner] |= ~gaps[inner]
    return counts, told, gaps
