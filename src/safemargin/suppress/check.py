"""Verify the certificate of a pattern by addition: integer tables that print the same.

The certificate lists the counts of the suppressed cells and changes. Here is checked, without any search:

1. the files print what the certificate says, and suppress exactly the cells that it lists;
2. the counts satisfy every sum, and so does each change; no count falls below 1 where a gap is printed, nor below 0;
3. so every counts + change is a table that prints the same, and in these each suppressed count takes values more than
   tau apart, for the public and for every coalition of insiders; with `protect`, each primary count can be that large.

What files cannot show is listed as unchecked: which areas add up to which, the lower bound, what was known before.

Invariants
    * Nothing of the search is used: sums, labels and gaps are read from the files again (`PrintedTables`).
    * A document that is wrong in form raises `InputError`; one that is wrong in fact gives failures. Both are no pass.
    * Sums that the certificate drops would widen every range, so each label must be part of a sum (`_misstated`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from safemargin.bounds import Verification
from safemargin.core import BoolArray, InputError, IntArray, Lattice
from safemargin.history.contents import GAP
from safemargin.suppress.fewest import FewestCells
from safemargin.suppress.linked import LinkedTables, is_cycle, number_cells
from safemargin.suppress.moves import PUBLIC, MoveStore, PatternMoves, View
from safemargin.suppress.pattern import Cell, PatternCertificate
from safemargin.suppress.read import read_earlier
from safemargin.suppress.views import coalition_views


def check_pattern(path: Path, document: Mapping[str, Any], files: Mapping[str, Path]) -> Verification:
    """Whether each suppressed count has values far enough apart in tables that agree with every printed count."""
    try:
        if missing := {"statement", "rule", "rule_tables"} - document.keys():
            raise KeyError(min(missing))
        certificate = PatternCertificate.model_validate(document)
        return _check(certificate, PrintedTables(certificate, files))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: is not a certificate of a pattern ({reason})") from None


class PrintedTables:
    """The files of a certificate together: every cell with what they print."""

    def __init__(self, certificate: PatternCertificate, files: Mapping[str, Path]) -> None:
        stated = certificate.tables
        self.axes = [tuple(axis.tree() for axis in table.axes) for table in stated]
        self.new = sum(not table.earlier for table in stated)
        if any(table.earlier for table in stated[: self.new]) or [table.file for table in stated] != [*files]:
            raise ValueError("tables")
        self.trees, self.nodes, self.cell_ids = number_cells(self.axes)
        self.id_of = {tuple(row): cell_id for cell_id, row in enumerate(self.nodes.tolist())}
        self.labels = [{label: node for node, label in enumerate(tree.labels)} for tree in self.trees]
        self.counts = np.zeros(len(self.nodes), dtype=np.int64)
        no = np.zeros(len(self.nodes), dtype=bool)
        self.printed, self.gaps, self.new_gaps, self.old_gaps, self.printed_before = (no.copy() for _ in range(5))
        self.failures: list[str] = []
        for index, ((name, path), ids) in enumerate(zip(files.items(), self.cell_ids, strict=True)):
            printed = read_earlier(path, {}, trees=self.axes[index]).counts.ravel()
            cells, values = ids[printed >= 0], printed[printed >= 0]
            gaps = ids[printed == GAP]
            if (self.printed[cells] & (self.counts[cells] != values)).any():
                self.failures.append(f"{name}: prints other counts than the files before it")
            self.counts[cells], self.printed[cells], self.gaps[gaps] = values, True, True
            self.new_gaps[gaps] |= index < self.new
            self.old_gaps[gaps] |= index >= self.new
            self.printed_before[cells] |= index >= self.new

    def find(self, cell: Cell) -> int:
        """The id of a cell by its labels."""
        nodes = [self.labels[a][cell[tree.name]] if tree.name in cell else 0 for a, tree in enumerate(self.trees)]
        return self.id_of[tuple(nodes)]

    def linked(self, counts: IntArray, people: IntArray, only_new: bool = False) -> LinkedTables:
        """The tables with all counts filled in, for the sums that they must satisfy; `only_new` omits those published
        before.
        """
        tables = tuple(
            Lattice(trees, counts[ids].reshape([len(tree.labels) for tree in trees]))
            for trees, ids in zip(self.axes, self.cell_ids, strict=True)
        )
        count = self.new if only_new else len(tables)
        no = np.zeros(len(self.nodes), dtype=bool)
        ids = self.cell_ids[:count]
        return LinkedTables(("",), tables[:count], (), self.trees, self.nodes, ids, counts, no, no, no, people)


def _check(certificate: PatternCertificate, tables: PrintedTables) -> Verification:
    """The verification of a certificate against its files: the steps of the module, each failure in words.

    Coalitions are those of the stated counts: who is in a cell with whom follows from the tables alone.
    """
    failures, size = [*tables.failures, *_misstated(certificate, tables)], len(tables.nodes)
    known_before = np.zeros(size, dtype=bool)
    known_before[[tables.find(cell) for cell in certificate.known_before]] = True
    hidden = np.array([tables.find(cell) for cell in certificate.suppressed], dtype=np.int64)
    gaps = tables.gaps & ~tables.printed
    differs = tables.printed[hidden].any() or len(np.setdiff1d(np.flatnonzero(gaps), hidden))
    if differs or (tables.new_gaps & (tables.printed | known_before)).any():
        failures.append("other cells are suppressed than the certificate says")
    people = np.array(
        [[tables.labels[a][who[tree.name]] for a, tree in enumerate(tables.trees)] for who in certificate.people],
        dtype=np.int64,
    ).reshape(-1, len(tables.trees))
    positions = np.r_[hidden, size + np.arange(len(people))]
    counts = np.r_[tables.counts, np.zeros(len(people), dtype=np.int64)]
    counts[positions] = np.array(certificate.counts, dtype=np.int64)
    minimum = np.r_[gaps.astype(np.int64), np.zeros(len(people), dtype=np.int64)]
    moves = _moves(certificate, positions, counts)
    if not _adds_up(tables.linked(counts[:size], people), minimum, moves):
        failures.append("a table does not add up to what is printed, or has a count that is too small")
    else:
        insiders = coalition_views(tables.linked(counts[:size], people, only_new=True), certificate.insiders)
        claimed = np.flatnonzero(gaps & ~known_before)
        failures += _too_close(claimed, moves, insiders, certificate.tau)
        failures += _too_small(certificate, np.flatnonzero(tables.new_gaps), moves)
    unchecked = _believed(certificate)
    if not failures:
        unchecked = [*_bounded(certificate, tables, counts[:size], known_before), *unchecked]
    if not failures:
        in_range = np.array([tables.find(cell) for cell in certificate.known_in_range], dtype=np.int64)
        unchecked += _unshown(certificate, np.setdiff1d(np.flatnonzero(tables.new_gaps), in_range), moves)
    if is_cycle(tables.trees, tables.axes) and not len(people):
        unchecked.append("whether a population is behind each set of tables, which form a cycle")
    cells = int((gaps & ~known_before).sum())
    return Verification(
        certificate.kind,
        len(tables.axes),
        cells=cells,
        proved=0 if failures else cells,
        tables=moves.count + 1,
        failures=tuple(failures),
        unchecked=tuple(unchecked),
    )


def _bounded(
    certificate: PatternCertificate, tables: PrintedTables, counts: IntArray, known_before: BoolArray
) -> list[str]:
    """What of the lower bound on the number of cells its proof does not show.

    Nothing if the proof in the document (`FewestCells`) shows the bound, or if no bound is stated; a line for
    `unchecked` otherwise. A bound above what is suppressed, a proof of another form, or one that keeps a suppressed
    cell is an error.
    """
    new = np.zeros(len(counts), dtype=bool)
    new[np.concatenate(tables.cell_ids[: tables.new])] = True
    least, most = certificate.primary
    primary = tables.new_gaps & (counts >= least) & (counts <= most)
    forced = primary | (tables.new_gaps & tables.old_gaps)
    bound, document = certificate.lower_bound, certificate.fewest
    if bound > tables.new_gaps.sum():
        raise ValueError("lower_bound: is more than the cells that are suppressed")
    if document is None:
        return ["the lower bound on the number of cells"] if bound else []
    if set(document) != {"kept", "proofs", "tree"} or any(
        set(proof) != {"cell", "cells", "sides"} for proof in document["proofs"]
    ):
        raise ValueError("fewest: is of another form")
    kept = np.array(document["kept"], dtype=object)
    if any(type(cell) is not int or cell < 0 for cell in kept) or not all(
        new[cell] and not tables.gaps[cell] for cell in kept
    ):
        raise ValueError("fewest: a cell that is kept is suppressed, or in no new table")
    fixed = tables.printed_before | known_before | (tables.printed & (counts == 0))
    fixed[[0, *kept.tolist()]] = True
    cells = FewestCells(
        equations=tables.linked(counts, np.zeros((0, len(tables.trees)), dtype=np.int64)).equations,
        fixed=fixed,
        forced=forced,
        free=new & ~fixed & ~forced,
        claimed=tables.gaps & ~fixed,
        room=counts - (tables.gaps | tables.printed),
        rise=np.where(primary, (certificate.protect or 0) - counts, 0),
        tau=certificate.tau,
    )
    shown = cells.shown(document)
    return [f"the lower bound on the number of cells: the proof shows {shown:,}"] if shown < bound else []


def _misstated(certificate: PatternCertificate, tables: PrintedTables) -> list[str]:
    """What would make the claims about less than the files: other sums, tables set aside, another sentence."""
    failures = []
    if certificate.statement != PatternCertificate.model_fields["statement"].default:
        failures.append("its statement is not the one that is checked")
    if not 1 <= certificate.primary[0] <= certificate.primary[1]:
        failures.append("its primary counts are no range")
    if not tables.new:
        failures.append("it calls every table published before, so it is about no pattern")
    for table in certificate.tables:
        for axis in table.axes:
            # A category that adds up to nothing could have any count: sums that are dropped widen every range.
            reached, waiting = {0}, [0]
            while waiting:
                node = waiting.pop()
                parts = [part for whole, listed in axis.splits if whole == node for part in listed]
                waiting += [part for part in parts if part not in reached]
                reached.update(parts)
            if missing := [label for node, label in enumerate(axis.labels) if node not in reached]:
                failures.append(f"{table.file}: {axis.name} {missing[0]} is part of no sum that the certificate lists")
    return failures


def _believed(certificate: PatternCertificate) -> list[str]:
    """What the files do not show."""
    nested = {axis.name for table in certificate.tables for axis in table.axes if len(axis.splits) > 1}
    notes = [f"which areas of {name} add up to which: the certificate states it" for name in sorted(nested)]
    if certificate.known_before:
        notes.append(f"that {len(certificate.known_before):,} counts were known before, as the certificate says")
    if certificate.rule == "rerun":
        notes.append(f"that the program may print the same gaps for {certificate.rule_tables:,} other tables")
    return notes


def _unshown(certificate: PatternCertificate, suppressed: IntArray, moves: PatternMoves) -> list[str]:
    """Primary counts that no table of the certificate shows beyond the primary range, and that it does not list."""
    counts, (least, most) = moves.store.counts, certificate.primary
    up, _ = moves.ranges()
    cells = suppressed[(counts[suppressed] >= least) & (counts[suppressed] <= most)]
    low = int((counts[cells] + up[cells] <= most).sum())
    return [f"that {low:,} primary counts can be above {most}: no table of the certificate shows it"] if low else []


def _moves(certificate: PatternCertificate, positions: IntArray, counts: IntArray) -> PatternMoves:
    """The changes of a certificate with cells by their ids."""
    store = MoveStore(counts)
    for change in certificate.changes:
        cells = positions[np.array([position for position, _ in change], dtype=np.int64)]
        if len(set(cells.tolist())) < len(cells):
            raise ValueError("a change names a cell twice")
        store.cells.append(cells)
        store.changes.append(np.array([step for _, step in change], dtype=np.int64))
    return PatternMoves(store, np.ones(len(counts), dtype=bool))


def _adds_up(linked: LinkedTables, minimum: IntArray, moves: PatternMoves) -> bool:
    """Whether every sum holds in every table, and no count is below its minimum."""
    counts = moves.store.counts
    shape = (len(counts), max(moves.count, 1))
    changes = sparse.csr_array((moves.changes, (moves.cells, moves.rows)), shape=shape)
    return bool(
        not (linked.equations @ counts).any()
        and not (linked.equations @ changes).data.any()
        and (counts >= minimum).all()
        and (counts[moves.cells] + moves.changes >= minimum[moves.cells]).all()
    )


def _too_close(claimed: IntArray, moves: PatternMoves, insiders: Sequence[View], tau: int) -> list[str]:
    """Whether an onlooker can infer a suppressed count to within `tau`: the public first, then every coalition of
    insiders.

    A coalition knows its own cells, so moves that change these are impossible for it (`PatternMoves.ranges`).
    """
    for view in (PUBLIC, *insiders):
        up, down = moves.ranges(view)
        cells = np.setdiff1d(claimed, view.known)
        close = int((up[cells] + down[cells] <= tau).sum())
        if close:
            whom = "" if view == PUBLIC else ", for insiders"
            return [f"{close} suppressed counts have no values far enough apart in these tables{whom}"]
    return []


def _too_small(certificate: PatternCertificate, suppressed: IntArray, moves: PatternMoves) -> list[str]:
    """Whether a primary count cannot be as large as `protect` requires."""
    protect, counts = certificate.protect, moves.store.counts
    if protect is None:
        return []
    least, most = certificate.primary
    up, _ = moves.ranges()
    cells = suppressed[(counts[suppressed] >= least) & (counts[suppressed] <= most)]
    low = int((counts[cells] + up[cells] < protect).sum())
    return [f"{low} primary counts are below {protect} in every table"] if low else []
