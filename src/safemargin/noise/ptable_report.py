"""p-tables and tables noised by them for readers: JSON documents, words in a terminal, files."""

import csv
import io
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.guarantees.guarantee_file import document
from safemargin.noise.perturbed import Perturbed
from safemargin.samplers.ptable import Law, PTable
from safemargin.samplers.ptable_design import Missed
from safemargin.samplers.ptable_privacy import delta_at, epsilon_at, readings
from safemargin.ui import SCHEMA, Document

DELTAS = (0.1, 0.01)
MOST_LISTED = 30
MOST_NOISE = 6


def ptable_document(table: PTable, missed: Sequence[Missed], plain: PTable | None = None) -> Document:
    """The document of `noise ptable --json`; `plain` is the table without `js`."""
    found = readings(table)
    return {
        "schema": SCHEMA,
        "rows": [
            {"count": row.count, "noise": v, "probability": chance}
            for row in table.rows
            for v, chance in zip(row.noise, row.probabilities, strict=True)
        ],
        "variance": {str(row.count): float(row.variance) for row in table.rows if row.count},
        "bound": table.bound,
        "js": table.js,
        "missed": [
            {"count": each.count, "asked": float(each.asked), "nearest": float(each.nearest), "words": str(each)}
            for each in missed
        ],
        "privacy": {
            "neighbours": "one person more or less in a cell",
            "pairs": [{"count": each.count, "epsilon": each.epsilon, "delta": float(each.delta)} for each in found],
            "epsilon": {f"{delta:g}": epsilon_at(table, delta) for delta in DELTAS},
            "epsilon_without_js": {f"{DELTAS[-1]:g}": epsilon_at(plain, DELTAS[-1])} if plain else None,
            "delta": {f"{epsilon:g}": delta_at(table, epsilon) for epsilon in (0.5, 1.0, 2.0)},
        },
    }


def show_ptable(console: Console, table: PTable, missed: Sequence[Missed], plain: PTable | None = None) -> None:
    """Probabilities in percent by count and noise, variances, and what they promise."""
    columns, rows = _wide(table) if table.bound > MOST_NOISE else _full(table)
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        grid.add_column(Text(name), justify="right", no_wrap=True)
    for row in rows[:MOST_LISTED]:
        grid.add_row(*row)
    console.print(grid)
    if len(table.rows) > MOST_LISTED:
        console.print(f"... and {len(table.rows) - MOST_LISTED:,} more rows")
    for each in missed:
        console.print(f"{each}.", soft_wrap=True)
    for line in privacy_lines(table, plain):
        console.print(line, soft_wrap=True)


def privacy_lines(table: PTable, plain: PTable | None = None) -> list[str]:
    """What one person more or less in a cell changes."""
    zero, *others = readings(table)
    lines = [
        f"One person more or less in a cell of at least 1: {_loss(table, delta)} at delta {delta:g}."
        for delta in DELTAS
    ]
    outside = max((each.delta for each in others), default=zero.delta)
    lines.append(
        f"Numbers that only one of two neighbouring counts can become: probability {float(outside):.3g} at most."
    )
    lines.append(
        f"An empty cell stays empty, so a cell of 1 shows that it is not with probability {float(zero.delta):.3g}."
    )
    if plain is not None:
        lines.append(f"Without js = {table.js} it would be {_loss(plain, DELTAS[-1])} at delta {DELTAS[-1]:g}.")
    return lines


def _loss(table: PTable, delta: float) -> str:
    epsilon = epsilon_at(table, delta)
    return "no epsilon is enough" if epsilon is None else f"epsilon {epsilon:.3f}"


def _full(table: PTable) -> tuple[list[str], list[list[str]]]:
    """Probabilities in percent, a column per noise value."""
    noise = range(-table.bound, table.bound + 1)
    rows = [
        [_name(table, row), *map(_percent, chances), _variance(row)]
        for row, chances in zip(table.rows, table.matrix.tolist(), strict=True)
    ]
    return ["count", *(f"{v:+d}" if v else "0" for v in noise), "variance"], rows


def _wide(table: PTable) -> tuple[list[str], list[list[str]]]:
    """What the noise on each count is like, where there are too many values for columns."""
    rows = [
        [
            _name(table, row),
            f"{row.noise[0]} to {row.noise[-1]}",
            _percent(chances[table.bound]),
            f"{float(chances @ abs(np.arange(-table.bound, table.bound + 1))):.3f}",
            _variance(row),
        ]
        for row, chances in zip(table.rows, table.matrix, strict=True)
    ]
    return ["count", "noise", "stays", "mean size", "variance"], rows


def _name(table: PTable, row: Law) -> str:
    return f"{row.count}+" if row.count == table.last and table.repeat == 1 else f"{row.count}"


def _variance(row: Law) -> str:
    return f"{float(row.variance):.6f}".rstrip("0").rstrip(".")


def _percent(chance: float) -> str:
    if chance == 0:
        return ""
    return f"{100 * chance:.1f}" if chance >= 0.0005 else "<.1"


def perturbed_csv(table: Perturbed, inside: bool = False) -> str:
    """Every cell with the count to be published; `inside`, with the true count and the noise as well."""
    nodes = np.stack(np.unravel_index(np.arange(table.counts.size), table.counts.shape), axis=1)
    columns: list[tuple[str, Sequence[object]]] = [("count", table.printed.ravel().tolist())]
    if table.weighted is not None and table.weighted_printed is not None:
        columns.append(("weighted", [_number(x) for x in table.weighted_printed.ravel().tolist()]))
    if inside:
        columns += [("true", table.counts.ravel().tolist()), ("noise", table.noise.ravel().tolist())]
        if table.weighted is not None:
            columns.append(("true_weighted", [_number(x) for x in table.weighted.ravel().tolist()]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(tree.name for tree in table.trees), *(name for name, _ in columns)])
    for place, where in enumerate(nodes.tolist()):
        labels = [tree.labels[node] for tree, node in zip(table.trees, where, strict=True)]
        writer.writerow([*labels, *(values[place] for _, values in columns)])
    return text.getvalue()


def perturbed_document(table: Perturbed, files: Sequence[str]) -> Document:
    """The document of `noise perturb --json`: what is published, and how much was changed."""
    return {
        "schema": SCHEMA,
        "cells": [
            {
                "cell": {tree.name: tree.labels[node] for tree, node in zip(table.trees, where, strict=True)},
                "count": int(table.printed[where]),
                **({} if table.weighted_printed is None else {"weighted": float(table.weighted_printed[where])}),
            }
            for where in np.ndindex(*table.counts.shape)
        ],
        "changed": int((table.noise != 0).sum()),
        "largest": int(abs(table.noise).max(initial=0)),
        "guarantee": document(table.guarantee),
        "files": list(files),
    }


def show_perturbed(console: Console, table: Perturbed, files: Sequence[str]) -> None:
    """How much was changed, in a few lines."""
    changed = int((table.noise != 0).sum())
    console.print(
        f"{table.counts.size:,} cells, {changed:,} of them changed, by at most {int(abs(table.noise).max(initial=0))}."
    )
    vanished = int(((table.counts > 0) & (table.printed == 0)).sum())
    console.print(f"{vanished:,} of {int((table.counts > 0).sum()):,} cells with somebody in them print 0.")
    console.print("Sums of printed counts differ from the printed margins: noise is drawn for each cell.")
    for words in (table.guarantee.statement, *table.guarantee.remarks):
        console.print(Text(words), soft_wrap=True)
    for file in files:
        console.print(Text(file))


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
