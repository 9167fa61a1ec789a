"""A pattern of suppressed cells for readers: files with gaps, a JSON document, words in a terminal."""

import csv
import io

import numpy as np
from rich.console import Console

from safemargin.suppress.pattern import Pattern

MOST_LISTED = 30


def pattern_csv(pattern: Pattern, at: int = 0) -> str:
    """Every cell of one table with its count, nothing where it is suppressed."""
    table = pattern.tables.tables[at]
    hidden = np.isin(pattern.tables.places[at], pattern.suppressed)
    nodes = np.stack(np.unravel_index(np.arange(table.counts.size), table.shape), axis=1)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(tree.name for tree in table.trees), "count", "status"])
    for places, count, gone in zip(nodes.tolist(), table.counts.ravel().tolist(), hidden.tolist(), strict=True):
        labels = [tree.labels[node] for tree, node in zip(table.trees, places, strict=True)]
        writer.writerow([*labels, "" if gone else count, "suppressed" if gone else "exact"])
    return text.getvalue()


def pattern_document(pattern: Pattern, certificate: str) -> dict[str, object]:
    """The suppressed cells and the lower bound; it names primary cells, so it is confidential."""
    return {
        "suppressed": [
            {"cell": pattern.tables.cell(number), "primary": primary}
            for number, primary in zip(pattern.suppressed.tolist(), pattern.is_primary.tolist(), strict=True)
        ],
        "lower_bound": pattern.lower_bound,
        "gap": pattern.gap,
        "certificate": certificate,
    }


def warnings_of(pattern: Pattern) -> list[str]:
    """What a reader must know who thinks that all primary counts are protected, one line each."""
    found = []
    if len(pattern.known):
        words = "; ".join(_words(pattern, number) for number in pattern.known[:3].tolist())
        more = f" and {len(pattern.known) - 3:,} more" if len(pattern.known) > 3 else ""
        found.append(f"known from what was published before, whatever is suppressed now: {words}{more}")
    if pattern.tables.unseen:
        found.append("the tables hang together in a ring too large to look at the people behind it one by one")
    return found


def show_pattern(console: Console, pattern: Pattern, folder: str) -> None:
    """The pattern in a few lines."""
    count, primary = len(pattern.suppressed), int(pattern.is_primary.sum())
    where = f" in {len(pattern.tables.tables)} tables" if len(pattern.tables.tables) > 1 else ""
    console.print(
        f"{count:,} of {pattern.size:,} cells{where} suppressed: {primary:,} primary, {count - primary:,} more."
    )
    if pattern.gap == 0:
        console.print("No pattern that protects them has fewer.")
    else:
        console.print(f"Every pattern that protects them has at least {pattern.lower_bound:,}.")
    if pattern.extra:
        console.print(f"{pattern.extra} of the cells are spent so that fewer primary counts are known to be primary.")
    least, most = pattern.primary
    nobody = f"none to within {pattern.tau}" if pattern.tau else "none exactly"
    console.print(f"{len(pattern.exposed):,} primary counts can be known to lie in {least} to {most}, {nobody}.")
    if pattern.insiders:
        people = "a member" if pattern.insiders == 1 else f"{pattern.insiders} members together"
        console.print(f"Nor can {people} tell a suppressed count in which there are others.")
    for number in pattern.suppressed[~pattern.is_primary][:MOST_LISTED].tolist():
        console.print(f"  also suppressed: {_words(pattern, number)}", markup=False)
    console.print(f"Written to {folder}.", soft_wrap=True)


def _words(pattern: Pattern, number: int) -> str:
    return ", ".join(f"{axis} {label}" for axis, label in pattern.tables.cell(number).items())
