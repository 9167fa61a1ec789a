"""Tables in the style of statistics offices, drawn at random, with the counts that are behind them.

A table has titles, footnotes, one or two label columns, one or two header rows, indents, subtotals, percentages,
remarks, symbols for gaps, separators of thousands, in many languages. `draw` gives the cells and the truth.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PLACES = ["North", "South", "East", "West", "Isles", "Centre", "Coast", "Hills"]
KINDS = ["public", "private", "self-employed", "student", "retired"]
TOTALS = ["Total", "All", "Insgesamt", "Ensemble", "Totale", "Totalt", "Summe", "Ogółem", "Total (n)", "GRAND TOTAL"]
NOTED = {
    "*": ["* fewer than 5", "* suppressed", "* = 1 to 4"],
    "x": ["x = suppressed for confidentiality"],
    "c": ["c: confidential"],
    "..": [".. not available"],
    "<5": [],
    "[c]": ["[c] confidential"],
    "(D)": ["(D) suppressed to avoid disclosure"],
    "": [],
}
TITLES = ["Table 4: Region by employment, 2024", "Persons by region and employment status", "Tabelle 12.3"]
SOURCES = ["Source: own survey", "Source: Labour Force Survey, 2024", "Quelle: Mikrozensus", "Last updated: 3 May 2024"]


@dataclass(frozen=True)
class Wild:
    """The cells of a file, the counts of all inner cells, and which of them are gaps."""

    rows: list[list[object]]
    counts: dict[frozenset[str], int]
    gaps: frozenset[frozenset[str]]
    what: str


def draw(seed: int) -> Wild:
    """One table."""
    rng = np.random.default_rng(seed)
    regions = PLACES[: int(rng.integers(3, 8))]
    kinds = KINDS[: int(rng.integers(2, 5))]
    counts = rng.integers(6, 900 if rng.random() < 0.6 else 40_000, size=(len(regions), len(kinds)))
    hidden = {(int(rng.integers(len(regions))), int(rng.integers(len(kinds)))) for _ in range(int(rng.integers(0, 4)))}
    for place in hidden:
        counts[place] = int(rng.integers(1, 5))
    symbol = str(rng.choice(list(NOTED)))
    total, separator = str(rng.choice(TOTALS)), str(rng.choice(["", ",", " "]))
    layout = str(
        rng.choice(["wide", "wide", "percent", "two rows", "indent", "subtotal", "long", "blank below", "remarks"])
    )
    number = _number(separator if rng.random() < 0.5 else "")
    cell = {
        (i, j): symbol if (i, j) in hidden else number(int(counts[i, j]))
        for i in range(len(regions))
        for j in range(len(kinds))
    }
    make = {
        "wide": _wide, "percent": _percent, "two rows": _two_rows, "indent": _indent, "subtotal": _subtotal,
        "long": _long, "blank below": _blank_below, "remarks": _remarks,
    }[layout]  # fmt: skip
    rows = make(regions, kinds, counts, cell, total, number)
    if layout not in ("long",) or rng.random() < 0.5:
        above: list[list[object]] = [[str(rng.choice(TITLES))]] * int(rng.random() < 0.7) + [[]] * int(
            rng.random() < 0.4
        )
        below: list[list[object]] = [[]] * int(rng.random() < 0.5) + [[note] for note in NOTED[symbol][:1] if hidden]
        below += [[str(rng.choice(SOURCES))]] * int(rng.random() < 0.5)
        rows = [*above, *rows, *below]
    truth = {
        frozenset([regions[i], kinds[j]]): int(counts[i, j]) for i in range(len(regions)) for j in range(len(kinds))
    }
    return Wild(rows, truth, frozenset(frozenset([regions[i], kinds[j]]) for i, j in hidden), layout)


def _number(separator: str):  # type: ignore[no-untyped-def]
    return lambda value: f"{value:,}".replace(",", separator) if separator else value


def _wide(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    rows = [["Region", *kinds, total]]
    for i, region in enumerate(regions):
        rows.append([region, *(cell[i, j] for j in range(len(kinds))), number(int(counts[i].sum()))])
    return [*rows, [total, *(number(int(n)) for n in counts.sum(axis=0)), number(int(counts.sum()))]]


def _percent(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    rows = _wide(regions, kinds, counts, cell, total, number)
    shares = ["%", *(f"{100 * int(n) / int(counts.sum()):.1f}" for n in counts.sum(axis=1)), "100.0"]
    return [[*row, share] for row, share in zip(rows, shares, strict=True)]


def _two_rows(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    head = [["", "Employment", *[""] * len(kinds)], ["Region", *kinds, total]]
    return [*head, *_wide(regions, kinds, counts, cell, total, number)[1:]]


def _indent(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    rows = _wide(regions, kinds, counts, cell, total, number)
    whole = rows.pop()
    return [rows[0], whole, *(["  " + str(row[0]), *row[1:]] for row in rows[1:])]


def _subtotal(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    rows = _wide(regions, kinds, counts, cell, total, number)
    half = max(2, len(regions) // 2)
    part = counts[:half].sum(axis=0)
    subtotal = ["Subtotal mainland", *(number(int(n)) for n in part), number(int(part.sum()))]
    return [*rows[: half + 1], subtotal, *rows[half + 1 :]]


def _long(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    wide = _wide(regions, kinds, counts, cell, total, number)
    return [
        ["region", "employment", "n"],
        *([row[0], kind, n] for row in wide[1:] for kind, n in zip(wide[0][1:], row[1:], strict=True)),
    ]


def _blank_below(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    long = _long(regions, kinds, counts, cell, total, number)
    before, rows = "", [["Region", "Employment", "Persons"]]
    for region, kind, n in long[1:]:
        rows.append(["" if region == before else region, kind, n])
        before = region
    return rows


def _remarks(regions, kinds, counts, cell, total, number):  # type: ignore[no-untyped-def]
    rows = _wide(regions, kinds, counts, cell, total, number)
    return [[*row, note] for row, note in zip(rows, ["Notes", "see text", *[""] * (len(rows) - 2)], strict=True)]


def write(wild: Wild, path: Path) -> Path:
    """The table as CSV, or as Excel where the name says so."""
    if path.suffix == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for r, row in enumerate(wild.rows, 1):
            for c, value in enumerate(row, 1):
                if value != "":
                    book.active.cell(r, c, value)
        book.save(path)
        return path
    text = io.StringIO()
    csv.writer(text).writerows(wild.rows)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path
