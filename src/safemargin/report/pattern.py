"""A pattern of withheld cells for readers: a file with gaps, a JSON document, words in a terminal."""

import csv
import io

import numpy as np
from rich.console import Console

from safemargin.model.pattern import Pattern

MOST_LISTED = 30


def pattern_csv(pattern: Pattern) -> str:
    """Every cell with its count, nothing where it is withheld."""
    table = pattern.table
    hidden = np.zeros(table.counts.size, dtype=bool)
    hidden[pattern.withheld] = True
    nodes = np.stack(np.unravel_index(np.arange(table.counts.size), table.shape), axis=1)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(tree.name for tree in table.trees), "count", "status"])
    for places, count, gone in zip(nodes.tolist(), table.counts.ravel().tolist(), hidden.tolist(), strict=True):
        labels = [tree.labels[node] for tree, node in zip(table.trees, places, strict=True)]
        writer.writerow([*labels, "" if gone else count, "withheld" if gone else "exact"])
    return text.getvalue()


def pattern_document(pattern: Pattern, pattern_file: str, certificate: str) -> dict[str, object]:
    """Which cells are withheld, and how many any pattern must withhold; primary cells are told, so it stays inside."""
    exposed = set(pattern.exposed.tolist())
    return {
        "schema": 1,
        "withheld": [
            {"cell": pattern.table.cell(place), "primary": primary}
            for place, primary in zip(pattern.withheld.tolist(), pattern.is_primary.tolist(), strict=True)
        ],
        "lower_bound": pattern.lower_bound,
        "gap": pattern.gap,
        "extra": pattern.extra,
        "known_in_range": [pattern.table.cell(place) for place in sorted(exposed)],
        "pattern": pattern_file,
        "certificate": certificate,
    }


def show_pattern(console: Console, pattern: Pattern, folder: str) -> None:
    """The pattern in a few lines."""
    count, primary = len(pattern.withheld), int(pattern.is_primary.sum())
    console.print(
        f"{count:,} of {pattern.table.counts.size:,} cells withheld: {primary:,} primary, {count - primary:,} more."
    )
    if pattern.gap == 0:
        console.print("No pattern that protects them has fewer.")
    else:
        console.print(f"Every pattern that protects them has at least {pattern.lower_bound:,}.")
    if pattern.extra:
        console.print(f"{pattern.extra} of the cells are spent so that fewer primary counts are known to be primary.")
    least, most = pattern.primary
    console.print(f"{len(pattern.exposed):,} primary counts can be known to lie in {least} to {most}, none exactly.")
    for place in pattern.withheld[~pattern.is_primary][:MOST_LISTED].tolist():
        words = ", ".join(f"{axis} {label}" for axis, label in pattern.table.cell(place).items())
        console.print(f"  also withheld: {words}", markup=False)
    console.print(f"Written to {folder}.", soft_wrap=True)
