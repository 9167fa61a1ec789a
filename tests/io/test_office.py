"""Tables of a second generator: all forms of a table are one reading, and office-style tables are read right."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import safemargin
from evidence import seeds
from found_forms import (
    Grid,
    blank_lines,
    long,
    long_backwards,
    notes_column,
    numbered,
    percent_columns,
    total_row_first,
    totals_first,
    transposed,
    two_headers,
    with_titles,
    write_csv,
    write_xlsx,
)
from office_tables import office_table, plain_table
from safemargin.bounds.report import entries
from safemargin.core import UNBOUNDED, InputError
from safemargin.io import ReadTable, read_all

LAYOUTS: tuple[Callable[[Grid], Grid], ...] = (
    *(list, totals_first, total_row_first, transposed, long, long_backwards, numbered),
    *(percent_columns, two_headers, with_titles, notes_column, blank_lines),
)
FORMATS = ("csv", "semicolon", "tab", "pipe", "utf-16", "xlsx", "texts", "json", "parquet")


def write(folder: Path, grid: Grid, kind: str) -> Path:
    """The grid as a file."""
    if kind in ("xlsx", "texts"):
        return write_xlsx(folder / "t.xlsx", grid, texts=kind == "texts")
    if kind == "json":
        width = max(map(len, grid))
        rows = [[*(None if v == "" else v for v in row), *[None] * (width - len(row))] for row in grid]
        (folder / "t.json").write_text(json.dumps(rows))
        return folder / "t.json"
    if kind == "parquet":
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame([[str(v) for v in row] for row in grid[1:]], columns=[str(v) for v in grid[0]])
        frame.to_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    sign = {"csv": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "utf-16": "\t"}[kind]
    return write_csv(folder / "t.csv", grid, sign, "utf-16" if kind == "utf-16" else "utf-8")


def inner(read: ReadTable) -> dict[frozenset[str], tuple[int, int]]:
    """Ranges of the cells that are no sums, by their labels."""
    return {
        frozenset(read.cells.cell(row).values()): (int(read.cells.lower[row]), int(read.cells.upper[row]))
        for row in range(len(read.cells.lower))
        if not read.is_sum(row)
    }


def verdict(path: Path) -> tuple[object, ...]:
    """The exit code of an audit and every interval that it infers, by the labels of the cell."""
    findings = safemargin.audit(path)
    found = entries(findings.exposure, findings.target)
    code = 1 if not findings.is_safe else 3 if findings.doubts else 0
    return code, {frozenset(entry["cell"].values()): (entry["lower"], entry["upper"]) for entry in found}


@pytest.mark.slow
def test_every_form_of_a_table_is_one_reading_and_one_verdict(tmp_path: Path) -> None:
    """2,000 forms with EVIDENCE=all: 167 tables of 12 layouts, each in another format."""
    pytest.importorskip("openpyxl")
    for seed in seeds(0, 2, 167):
        grid, truth = plain_table(seed)
        wanted = {cell: (0, UNBOUNDED) if n is None else (n, n) for cell, n in truth.items()}
        first = verdict(write(tmp_path, grid, "csv"))
        for number, layout in enumerate(LAYOUTS):
            kind = FORMATS[(seed + number) % len(FORMATS)]
            kind = "xlsx" if kind == "parquet" and layout not in (list, long, transposed, totals_first) else kind
            path = write(tmp_path, layout(grid), kind)
            (read,) = read_all([path])
            assert inner(read) == wanted, (seed, layout.__name__, kind)
            assert all(axis.total is not None for axis in read.axes), (seed, layout.__name__, kind)
            assert verdict(path) == first, (seed, layout.__name__, kind)


@pytest.mark.slow
def test_tables_of_ten_offices(tmp_path: Path) -> None:
    """Of 200 at least 190 are read right without options; all others are refused or doubtful."""
    pytest.importorskip("openpyxl")
    right = tried = 0
    for seed in seeds(0, 30, 200):
        office = office_table(seed)
        name = tmp_path / f"t{seed}"
        if seed % 3:
            text = io.StringIO()
            csv.writer(text, delimiter=";" if seed % 2 else ",").writerows(office.rows)
            path = name.with_suffix(".csv")
            path.write_text(text.getvalue(), encoding="utf-8")
        else:
            path = write_xlsx(name.with_suffix(".xlsx"), office.rows)
        tried += 1
        try:
            (read,) = read_all([path])
        except InputError:
            continue
        found = inner(read)
        is_right = set(found) == set(office.counts) and all(
            low <= office.counts[cell] <= high and (low == high) == (cell not in office.gaps)
            for cell, (low, high) in found.items()
        )
        assert is_right or read.doubts, (seed, office.what)
        right += is_right
    assert right >= 0.95 * tried
