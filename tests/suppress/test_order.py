"""The order of what `suppress` publishes says nothing about suppressed counts."""

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import safemargin
from commands import Run, in_process
from found_forms import write_csv, write_xlsx as write_book
from safemargin.core import Hierarchy, Lattice, lattice
from safemargin.suppress.linked import single
from safemargin.suppress.order import axes_by_counts, sorted_labels
from typed_files import write

CITIES = {"Oslo": 5090, "Bergen": 5070, "Tromso": 5055, "Alta": 5034, "Bodo": 5003, "Hamar": 5002}
LIST = [{"region": city, "people here": count} for city, count in CITIES.items()]
LONG = [
    {"region": city, "sex": sex, "persons": 2 * count + (sex == "m")} for city, count in CITIES.items() for sex in "mf"
]
JSONS = ("records", "split", "lists", "inside", "arrays")
PRIMARY = "5001-5004"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def as_grid(rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    return [[*rows[0]], *([*row.values()] for row in rows)]


def with_total(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    (*_, counted) = rows[0]
    return [*rows, {**dict.fromkeys(rows[0], "Total"), counted: sum(row[counted] for row in rows)}]


def below_each_other(rows: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """Rows below one label, which is printed once."""
    grid, last = [[*rows[0]]], ""
    for row in rows:
        first, *rest = row.values()
        grid.append([first if first != last else "", *rest])
        last = first
    return grid


def writer(form: str) -> Callable[[Path, list[dict[str, Any]]], Path]:
    if form == "csv":
        return lambda path, rows: write_csv(path, as_grid(rows), ";")
    if form == "xlsx":
        return lambda path, rows: write_book(path, as_grid(rows))
    return lambda path, rows: write(path.with_suffix(".json") if form in JSONS else path, rows, form)


def labels_of(path: Path) -> list[tuple[str, ...]]:
    """The labels of all cells in the order of the file, totals apart."""
    read = safemargin.load(path)
    cells = [tuple(read.cells.cell(row).values()) for row in range(len(read.cells.lower))]
    return [cell for cell in cells if "Total" not in cell]


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet", "arrow", "sqlite", *JSONS])
@pytest.mark.parametrize("table", ["list", "long"])
def test_rows_that_are_sorted_by_their_counts_are_written_by_their_labels(
    form: str, table: str, run: Run, tmp_path: Path
) -> None:
    rows = with_total(LIST) if table == "list" and form in ("csv", "xlsx") else LIST
    if table == "long":
        rows = sorted(LONG, key=lambda row: -row["persons"])
    path = writer(form)(tmp_path / f"t.{form}", rows)
    ran = run("suppress", path.name, "--primary", PRIMARY if table == "list" else "10004-10007", "--out", "out")
    assert ran.code == 0 and "sorted by name" in " ".join(ran.out.split()), ran.out
    written = tmp_path / "out" / "published" / f"t-suppressed{path.suffix}"
    assert written.exists(), ran.out
    found = labels_of(written)
    wanted = [(city,) for city in CITIES] if table == "list" else [(city, sex) for city in CITIES for sex in "mf"]
    assert found == sorted(wanted)
    with (tmp_path / "out" / "published" / "pattern.csv").open() as file:
        listed = [tuple(line[:-2]) for line in csv.reader(file)][1:]
    assert [cell for cell in listed if "Total" not in cell] == sorted(wanted)
    before, after = (
        {tuple(read.cells.cell(row).values()): int(read.cells.lower[row]) for row in range(len(read.cells.lower))}
        for read in (safemargin.load(path), safemargin.load(written))
    )
    proof = json.loads((tmp_path / "out/published/certificate.json").read_text())
    own = {axis["name"]: axis["labels"][1:] for axis in proof["tables"][0]["axes"]}
    assert (
        all(labels == sorted(labels) for labels in own.values()) and safemargin.verify(tmp_path / "out/published").holds
    )
    again = safemargin.load(written)
    gaps = {tuple(again.cells.cell(row).values()) for row in again.gaps.tolist()}
    assert before.keys() == after.keys() and len(gaps) >= 2
    assert all(after[cell] == count for cell, count in before.items() if cell not in gaps)


def test_a_cross_table_is_sorted_by_its_rows_or_not_written(run: Run, tmp_path: Path) -> None:
    rows = [[city, 2 * count, count, 3 * count] for city, count in CITIES.items()]
    wide = [["Region", "a", "b", "Total"], *rows, ["Total", *(sum(row[c] for row in rows) for c in (1, 2, 3))]]
    write_csv(tmp_path / "w.csv", wide, ";")
    assert run("suppress", "w.csv", "--primary", PRIMARY, "--out", "out").code == 0
    text = (tmp_path / "out/published/w-suppressed.csv").read_text().splitlines()
    assert [line.split(";")[0] for line in text[1:8]] == [*sorted(CITIES), "Total"]
    turned = [list(column) for column in zip(*wide, strict=True)]
    write_csv(tmp_path / "turned.csv", turned, ";")
    ran = run("suppress", "turned.csv", "--primary", PRIMARY, "--out", "turned")
    assert "order of its columns" in " ".join(ran.out.split())
    assert {file.name for file in (tmp_path / "turned/published").iterdir()} == {
        "pattern.csv",
        "manifest.json",
        "certificate.json",
    }


def test_rows_that_a_heading_stands_above_are_not_sorted(run: Run, tmp_path: Path) -> None:
    rows = sorted(LONG, key=lambda row: -row["persons"])
    (tmp_path / "t.csv").write_text("\n".join(";".join(map(str, row)) for row in below_each_other(rows)))
    ran = run("suppress", "t.csv", "--primary", "10004-10007", "--out", "out")
    assert ran.code == 0, ran.out
    names = {file.name for file in (tmp_path / "out/published").iterdir()}
    assert names == {"pattern.csv", "manifest.json", "certificate.json"} and "sorted" in ran.out


def test_whether_labels_are_sorted_does_not_depend_on_suppressed_counts() -> None:
    """Other counts in the gaps, the same decision: else the order of labels would say something about the gaps."""
    rng = np.random.default_rng(7)
    seen: set[bool] = set()
    for _ in range(400):
        shape = tuple(rng.integers(3, 8, size=rng.integers(1, 3)).tolist())
        counts = np.sort(rng.integers(1, 40, size=shape), axis=0) if rng.random() < 0.5 else rng.integers(1, 40, shape)
        trees = [Hierarchy.flat(f"axis{a}", [f"c{n}" for n in range(size)]) for a, size in enumerate(shape)]
        tables = single(lattice(trees, counts))
        suppressed = np.flatnonzero(rng.random(len(tables.counts)) < 0.3)
        rows = rng.permutation(len(tables.counts)) if rng.random() < 0.5 else np.argsort(-tables.counts, kind="stable")
        other = tables.counts.copy()
        other[suppressed] = rng.integers(1, 1000, size=len(suppressed))
        (table,) = tables.tables
        changed = replace(tables, counts=other, tables=(type(table)(table.trees, other.reshape(table.shape)),))
        found = axes_by_counts(tables, suppressed, [rows])
        assert found == axes_by_counts(changed, suppressed, [rows])
        seen.add(bool(found))
        if len(shape) == 1 and suppressed.any() and (np.diff(tables.counts[rows]) <= 0).all():
            assert found
    assert seen == {True, False}


def test_data_in_memory_is_sorted_too(tmp_path: Path) -> None:
    rows = [{"region": city, "count": count} for city, count in CITIES.items()]
    result = safemargin.suppress(rows, (5001, 5004))
    result.write(tmp_path / "out")
    lines = (tmp_path / "out/published/pattern.csv").read_text().splitlines()[2:]
    assert [line.split(",")[0] for line in lines] == sorted(CITIES)
    assert "sorted by name" in json.dumps(str(result.to_html()))


def published(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "published").iterdir()}


@pytest.mark.parametrize("large", [False, True])
def test_lists_that_differ_in_suppressed_counts_and_their_order_are_published_alike(
    large: bool, tmp_path: Path
) -> None:
    """Two lists in the order of their counts, whose gaps exchange their counts: byte for byte the same folder."""
    more = {f"Town {n}": 8000 - 10 * n for n in range(30)} if large else {}
    cities = {**more, **CITIES}
    other = {**cities, "Bodo": cities["Hamar"], "Hamar": cities["Bodo"]}
    for name, held in (("one", cities), ("other", other)):
        rows = sorted(({"region": city, "count": count} for city, count in held.items()), key=lambda row: -row["count"])
        safemargin.suppress(rows, (5001, 5004)).write(tmp_path / name)
    one, two = published(tmp_path / "one"), published(tmp_path / "other")
    assert "certificate.json" in one and one == two
    assert safemargin.verify(tmp_path / "one" / "published").holds


def test_nothing_is_left_of_the_order_of_sums() -> None:
    """Regions that stood in the order of their counts: neither labels nor the list of sums keeps that order."""
    found = []
    for regions in (("south", "north", "east"), ("east", "south", "north")):
        labels = ("Total", *regions, *(f"{region} {n}" for region in regions for n in "ba"))
        splits = ((0, (1, 2, 3)), *((place, (2 + 2 * place, 3 + 2 * place)) for place in (1, 2, 3)))
        counts = {"Total": 9, "south": 3, "north": 3, "east": 3}
        tree = Hierarchy("region", labels, splits)
        values = np.array([counts.get(label, 1 + label.endswith("a")) for label in labels])
        found.append(sorted_labels(Lattice((tree,), values), ["region"]))
    one, other = found
    assert one.trees == other.trees and one.counts.tolist() == other.counts.tolist()
    assert [whole for whole, _ in one.trees[0].splits] == [0, 1, 4, 7]
