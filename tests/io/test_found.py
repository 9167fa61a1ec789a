"""One table in every format and layout is read alike; tables of offices, other languages, values, and bombs."""

import csv
import io
import json
import sqlite3
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import safemargin
from evidence import seeds
from excel import write_xlsx
from found_tables import FORMS, GAP
from safemargin.core import UNBOUNDED, InputError
from safemargin.io import ReadTable, read_all
from wild_tables import draw, write

pytestmark = pytest.mark.full

Inner = dict[frozenset[str], tuple[int, int]]


def inner(read: ReadTable) -> Inner:
    """The ranges of all cells that are no sums."""
    cells = read.cells
    rows = [row for row in range(len(cells.lower)) if not read.is_sum(row)]
    return {frozenset(cells.cell(row).values()): (int(cells.lower[row]), int(cells.upper[row])) for row in rows}


def random_table(seed: int) -> tuple[list[list[object]], Inner]:
    """A cross table with its totals, gaps as None, and the ranges behind it."""
    rng = np.random.default_rng(seed)
    rows = [f"r{i}" for i in range(int(rng.integers(2, 6)))]
    columns = [f"k{j}" for j in range(int(rng.integers(2, 5)))]
    counts = rng.integers(0, 2000, size=(len(rows), len(columns)))
    hidden = rng.random(counts.shape) < 0.2
    lines: list[list[object]] = [["Region", *columns, "Total"]]
    for i, name in enumerate(rows):
        lines.append(
            [name, *(None if hidden[i, j] else int(counts[i, j]) for j in range(len(columns))), int(counts[i].sum())]
        )
    lines.append(["Total", *map(int, counts.sum(axis=0)), int(counts.sum())])
    ranges = {
        frozenset([rows[i], columns[j]]): (0, UNBOUNDED) if hidden[i, j] else (int(counts[i, j]), int(counts[i, j]))
        for i in range(len(rows))
        for j in range(len(columns))
    }
    return lines, ranges


def long_of(lines: list[list[object]]) -> list[list[object]]:
    head = lines[0][1:]
    return [
        ["Region", "kind", "n"],
        *([line[0], name, n] for line in lines[1:] for name, n in zip(head, line[1:], strict=True)),
    ]


def forms(lines: list[list[object]], folder: Path) -> list[Any]:
    """The table in every format, long and wide."""
    made: list[Any] = []
    for name, rows in (("wide", lines), ("long", long_of(lines))):
        for ending, sign, encoding in (("csv", ",", "utf-8"), ("tsv", "\t", "utf-8"), ("csv", ";", "utf-16")):
            text = io.StringIO()
            csv.writer(text, delimiter=sign).writerows(rows)
            path = folder / f"{name}-{encoding}.{ending}"
            path.write_bytes(text.getvalue().encode(encoding))
            made.append(path)
        made.append(write_xlsx(folder / f"{name}.xlsx", {"Table": [["Table 1"], [], *rows, [], ["Source: us"]]}))
        frame = pd.DataFrame(rows[1:], columns=[str(text) for text in rows[0]]).convert_dtypes()
        frame.to_parquet(folder / f"{name}.parquet")
        frame.to_feather(folder / f"{name}.feather")
        made += [folder / f"{name}.parquet", folder / f"{name}.feather", frame]
        records = [dict(zip(map(str, rows[0]), row, strict=True)) for row in rows[1:]]
        (folder / f"{name}.json").write_text(json.dumps(records))
        made.append(folder / f"{name}.json")
        with sqlite3.connect(folder / f"{name}.sqlite") as database:
            names = ", ".join(f'"{text}"' for text in rows[0])
            database.execute("drop table if exists t")
            database.execute(f"create table t ({names})")
            database.executemany(f"insert into t values ({', '.join('?' * len(rows[0]))})", rows[1:])
        made.append(folder / f"{name}.sqlite")
    return made


@pytest.mark.slow
def test_a_random_table_is_read_alike_in_every_format_and_layout(tmp_path: Path) -> None:
    """Some 16 forms of each table: 2,000 cases with EVIDENCE=all."""
    for seed in seeds(0, 3, 125):
        lines, truth = random_table(seed)
        for form in forms(lines, tmp_path):
            (read,) = read_all([form])
            name = form if isinstance(form, Path) else "frame"
            if read.ignored is not None:
                assert read.doubts, (seed, name)  # every gap is zero: the totals add up what is printed
            assert inner(read) == truth, (seed, name)
            assert all(axis.total is not None for axis in read.axes), (seed, name)


@pytest.mark.slow
def test_tables_in_the_style_of_offices(tmp_path: Path) -> None:
    """Of 200 at least 190 are read right without options; the others are refused or doubtful, never taken wrongly."""
    pytest.importorskip("openpyxl")
    right = tried = 0
    for seed in seeds(0, 40, 200):
        wild = draw(seed)
        path = write(wild, tmp_path / f"t{seed}{'.xlsx' if seed % 3 == 0 else '.csv'}")
        tried += 1
        try:
            (read,) = read_all([path])
        except InputError:
            continue
        found = inner(read)
        is_right = set(found) == set(wild.counts) and all(
            low <= wild.counts[cell] <= high and (low == high) == (cell not in wild.gaps)
            for cell, (low, high) in found.items()
        )
        assert is_right or read.doubts, (seed, wild.what)
        right += is_right
    assert right >= 0.95 * tried


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_other_languages(name: str, tmp_path: Path) -> None:
    """The suppressed count follows, or the file is refused: never a false all-clear."""
    text, counts = FORMS[name]
    path = tmp_path / ("t.json" if text.startswith("[") else "t.csv")
    path.write_text(text, encoding="utf-8")
    try:
        found = safemargin.audit(path)
    except InputError:
        assert name == "long with code columns"  # a label without a name: which city is it?
        return
    exact = [f for a in found.attempts for f in a.findings if set(f.cell.values()) == set(GAP)]
    assert any(f.lower == f.upper == counts[GAP] for f in exact)


@pytest.mark.parametrize(
    ("values", "read"),
    [
        (["1,234", "2,345", "3,579"], [1234, 2345]),
        (["1 234", "2 345", "3 579"], [1234, 2345]),
        (["1\u202f234", "2\u202f345", "3\u202f579"], [1234, 2345]),
        (["1'234", "2'345", "3'579"], [1234, 2345]),
        (["1.234", "2.345", "3.579"], [1234, 2345]),
        (["1e3", "2e3", "3000"], [1000, 2000]),
        (["12.0", "13.00", "25"], [12, 13]),
        (["1.000", "26.850", "27.850"], [1000, 26850]),
    ],
)
def test_values_that_are_counts(values: list[str], read: list[int], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;n\n" + "".join(f"{x};{v}\n" for x, v in zip(["x", "y", "Total"], values, strict=True)))
    (found,) = read_all([path])
    assert sorted(low for low, _ in inner(found).values()) == sorted(read)


@pytest.mark.parametrize(
    "value", ["12,5", "12.5", "-3", "(3)", "1e99", "99999999999999999999", "€ 5", "5 €", "0x10", "٣", "2024-01-05"]
)
def test_values_that_are_no_counts(value: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a;n;m\nx;{value};4\ny;5;6\nz;7;8\n", encoding="utf-8")
    with pytest.raises(InputError):
        read_all([path])


def test_labels_are_compared_in_one_unicode_form_without_blanks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,p,q\nLo\u0301dz\u00a0,1,2\n\u200bŁódź,3,4\n", encoding="utf-8")
    (read,) = read_all([path])
    assert read.axes[0].labels == ("L\u00f3dz", "Łódź")
    path.write_text("a,p,q\nx ,1,2\nx,3,4\n", encoding="utf-8")
    with pytest.raises(InputError, match="is there twice"):
        read_all([path])


def test_columns_with_types(tmp_path: Path) -> None:
    """Categories, dictionaries, nulls, decimals, dates and leading zeros."""
    frame = pd.DataFrame(
        {
            "code": ["007", "008", "Total"],
            "day": pd.to_datetime(["2024-01-05", "2024-01-06", "2024-01-07"]),
            "n": pd.array([5, None, 12], dtype="Int64"),
        }
    )
    frame["code"] = frame["code"].astype("category")
    frame.to_parquet(tmp_path / "t.parquet")
    (read,) = read_all([tmp_path / "t.parquet"])
    assert read.axes[0].labels[:2] == ("007", "008") and read.axes[1].labels[0].startswith("2024-01-05")
    assert [int(row) for row in read.gaps] == [1]


def test_units_and_footnotes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Persons in thousands\nRegion,a,b\nN,12,13\nS,14,15\n")
    (read,) = read_all([path])
    assert read.unit == 1000 and inner(read)[frozenset(["N", "a"])] == (11_500, 12_500)
    path.write_text("Region,a,b,Total\nN,12,-,12\nS,14,15,29\nTotal,26,15,41\n")
    (read,) = read_all([path])
    assert inner(read)[frozenset(["N", "b"])] == (0, 0) and not read.doubts
    path.write_text("Region,a,b\nN,12,-\nS,14,15\n")
    (read,) = read_all([path])
    assert inner(read)[frozenset(["N", "b"])] == (0, UNBOUNDED) and "dash" in read.doubts[0]


def test_several_sheets_are_read_together(tmp_path: Path) -> None:
    cover = [["About this file"], ["It has two tables"]]
    one = [["Region", "a", "b"], ["N", None, 20], ["S", 30, None]]
    two = [["Region", "count"], ["N", 25], ["S", 37]]
    path = write_xlsx(tmp_path / "t.xlsx", {"Cover": cover, "One": one, "Two": two})
    found = safemargin.audit(path)
    assert len(found.reads) == 2 and not found.is_safe
    assert safemargin.load(path, reading={"sheet": "One"}).axes[0].labels == ("N", "S")
    with pytest.raises(InputError, match="holds 2 tables"):
        safemargin.load(path)


def limited(path: Path) -> subprocess.CompletedProcess[str]:
    """`audit` with at most 20 s of CPU and 4 GiB of addresses, of which libraries take most."""
    limits = "r.setrlimit(r.RLIMIT_CPU, (20, 20)); r.setrlimit(r.RLIMIT_AS, (2**32, 2**32))"
    script = f"import resource as r; from safemargin.cli import main; {limits}; main()"
    return subprocess.run(
        [sys.executable, "-c", script, "audit", str(path)], capture_output=True, text=True, timeout=100
    )


def far_cell(path: Path) -> Path:
    write_xlsx(path, {"Table": [["a", "n"], ["x", 1]]})
    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    body = files["xl/worksheets/sheet1.xml"].replace(
        b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )
    files["xl/worksheets/sheet1.xml"] = body.replace(b"<row><c t", b'<row r="1"><c r="A1" t', 1)
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def false_sizes(path: Path) -> Path:
    """A sheet of 80 MB whose directory states 1,000 bytes."""
    write_xlsx(path, {"Table": [["a", "n"], ["x", 1]]})
    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content + b" " * 80 * 2**20 if name.endswith("sheet1.xml") else content)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        size = next(part.file_size for part in packed.infolist() if part.filename.endswith("sheet1.xml"))
    path.write_bytes(whole.replace(struct.pack("<I", size), struct.pack("<I", 1000)))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("make", [far_cell, false_sizes])
def test_workbooks_that_are_bombs_are_refused(make: Any, tmp_path: Path) -> None:
    ran = limited(make(tmp_path / "t.xlsx"))
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran.stderr


@pytest.mark.slow
def test_parquet_files_that_are_bombs_are_refused(tmp_path: Path) -> None:
    import duckdb

    many, long = tmp_path / "many.parquet", tmp_path / "long.parquet"
    packed = "(format parquet, compression zstd)"
    duckdb.sql(f"copy (select 'x' as a, 1 as count from range(20000000)) to '{many}' {packed}")
    duckdb.sql(f"copy (select repeat('x', 1000000) as a, 1 as n from range(300)) to '{long}' {packed}")
    for path in (many, long):
        assert path.stat().st_size < 3_000_000
        ran = limited(path)
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1, ran.stderr


def test_to_frame_has_every_cell() -> None:
    read = safemargin.load(
        [{"Region": "N", "a": 5, "b": None, "Total": 9}, {"Region": "S", "a": 6, "b": 7, "Total": 13}]
    )
    frame = read.to_frame()
    assert (
        list(frame.columns) == ["Region", "columns", "count", "lower", "upper", "status", "is_sum"] and len(frame) == 6
    )


@pytest.mark.parametrize("name", ["full-time", "working age", "full time", "Pension age", "other period"])
def test_a_column_of_counts_is_no_label_by_the_end_of_its_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"place;{name};none;Total\nN;78;x;80\nS;x;84;88\nE;39;x;43\nTotal;121;90;211\n")
    read = safemargin.load(path)
    assert [len(axis.categories) for axis in read.axes] == [3, 2] and len(read.gaps) == 3


def test_units_of_sdmx_are_applied(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    head = "DATAFLOW,AREA,OBS_VALUE,OBS_STATUS,UNIT_MULT,UNIT_MEASURE\n"
    path.write_text(f"{head}X,N,31,A,3,PS\nX,S,52,A,3,PS\nX,W,7,Q,3,PS\nX,_T,90,E,3,PS\n")
    read = safemargin.load(path)
    assert read.base == read.unit == 1000 and len(read.gaps) == 1
    assert read.cells.lower.tolist()[:2] == [30_500, 51_500] and read.cells.upper.tolist()[:2] == [31_500, 52_500]
    assert any("estimates" in note for note in read.notes)
    for odd, reason in (
        ("X,V,5,A,0,PS\n", "one unit"),
        ("X,V,5,A,3,EUR\n", "one unit"),
        ("X,V,5,A,x,PS\n", "one unit"),
    ):
        path.write_text(f"{head}X,N,31,A,3,PS\nX,S,52,A,3,PS\n{odd}")
        with pytest.raises(InputError, match=reason):
            safemargin.load(path)
    path.write_text(f"{head}X,N,31,A,6,EUR\nX,S,52,A,6,EUR\n")
    with pytest.raises(InputError, match="look like amounts"):
        safemargin.load(path)


@pytest.mark.parametrize(
    ("labels", "encoding", "is_sure"),
    [
        (["Beroun", "Český Krumlov", "Děčín"], "cp1250", True),
        (["człuchowski", "lęborski", "słupski"], "cp1250", True),
        (["Ardèche", "Forêt", "Île"], "cp1252", True),
        (["Övertorneå", "Gällivare", "Boden"], "cp1252", True),
        (["Tromsø", "Oslo", "Bergen"], "cp1252", False),
        (["Győr", "Pest", "Tolna"], "cp1250", False),
    ],
)
def test_letters_show_the_encoding_or_it_is_a_doubt(
    tmp_path: Path, labels: list[str], encoding: str, is_sure: bool
) -> None:
    lines = ["Place;Men;Women", *(f"{name};{31 + k};{48 - k}" for k, name in enumerate(labels))]
    path = tmp_path / "places.csv"
    path.write_bytes("\n".join(lines).encode(encoding))
    read = safemargin.load(path)
    assert bool(read.doubts) is not is_sure
    assert not is_sure or list(read.axes[0].labels) == labels
    assert list(safemargin.load(path, reading={"encoding": encoding}).axes[0].labels) == labels


@pytest.mark.parametrize("width", [2, 4])
def test_a_row_of_column_numbers_is_no_category(tmp_path: Path, width: int) -> None:
    heads = ["Place", "Number", "Of which men", "Of which women"][:width]
    counts = [["North", 71, 40, 31], ["South", 94, 45, 49], ["Total", 165, 85, 80]]
    rows = [heads, list(range(1, width + 1)), *(row[:width] for row in counts)]
    (tmp_path / "t.csv").write_text("\n".join(",".join(map(str, row)) for row in rows), encoding="utf-8")
    assert list(safemargin.load(tmp_path / "t.csv").axes[0].labels) == ["North", "South", "Total"]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Area;Men;;Women;\nNord;31;p;12;\nSud;24;;9;r\nWest;x;;14;\nTotal;58;;35;p\n", {"Nord", "Sud", "West"}),
        (
            "Code;Area;Men;Women\nFR;Total;60;50\nFR1;Up;41;30\nFR11;Nord;30;x\nFR12;Sud;11;14\nFR2;West;19;20\n",
            {"Nord", "Sud", "West"},
        ),
        (
            "Code;Area;Men;Women\nE1001;Nord;30;x\nE1002;Sud;11;14\nE1003;West;19;20\n;Total;60;50\n",
            {"Nord", "Sud", "West"},
        ),
        ("Area;Persons\nNord;\nSud;45\nWest;84\nTotal;140\n", {"Nord", "Sud", "West"}),
    ],
)
def test_flags_and_codes_and_gaps_at_the_edge(tmp_path: Path, text: str, labels: set[str]) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    read = safemargin.load(tmp_path / "t.csv")
    assert set(read.axes[0].categories) == labels and not read.doubts and len(read.gaps) == 1


def test_a_label_without_a_count_is_a_heading_only_with_a_doubt(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Area;Persons\nNord;12\nSud;\nWest;30\n", encoding="utf-8")
    assert safemargin.load(tmp_path / "t.csv").doubts
    (tmp_path / "t.csv").write_text("Area;Kind;Persons\nNord;a;12\nNord;b;31\nSud;a;45\nSud;b;\n", encoding="utf-8")
    assert len(safemargin.load(tmp_path / "t.csv").gaps) == 1


def test_a_sum_under_one_header_is_no_category(tmp_path: Path) -> None:
    rows = "Area;a;b;Both;a;b;Both;\nN;31;14;45;22;x;25;70\nS;12;15;27;14;18;32;59\nTotal;43;29;72;36;21;57;129\n"
    (tmp_path / "t.csv").write_text(f";Men;;;Women;;;Total\n{rows}", encoding="utf-8")
    read = safemargin.load(tmp_path / "t.csv")
    assert read.doubts or "Both" not in read.axes[2].categories


OFFICE_FORMS = {
    "numbered": "Region,a,b,Total\n,(1),(2),(3)\nN,12,x,15\nS,20,31,51\nTotal,32,34,66\n",
    "year_blocks": "Region,Men,,Women,\n,2021,2022,2021,2022\nN,12,x,13,14\nS,20,31,22,21\nTotal,32,34,35,35\n",
    "column_of_gaps": "Region,2019,2020,2021\nN,12,x,15\nS,20,x,11\nW,31,x,24\n",
    "shares": (
        "Region,antal,,,Del,,\n,a,b,I alt,a,b,I alt\nN,12,x,15,80.0,x,100.0\n"
        "S,20,31,51,39.2,60.8,100.0\nI alt,32,34,66,48.5,51.5,100.0\n"
    ),
    "means": "Region,a,b,Total,Average income\nN,12,x,15,1024.5\nS,20,31,51,998.1\nTotal,32,34,66,1000.3\n",
    "coded_sections": (
        "Code,Region,a,b,Total\n,Men,,,\nE1,North,12,x,15\nE2,South,20,31,51\nE,Total,32,34,66\n"
        ",Women,,,\nE1,North,11,9,20\nE2,South,21,30,51\nE,Total,32,39,71\n"
    ),
    "named_serial": "Lfd. Nr.;Region;a;b;Gesamt\n1;N;12;x;15\n2;S;20;31;51\n3;Gesamt;32;34;66\n",
}  # fmt: skip


@pytest.mark.parametrize("form", sorted(OFFICE_FORMS))
def test_office_forms_are_read_without_options(form: str, tmp_path: Path) -> None:
    """N holds 12 in `a` or in its first column, every `x` is a gap, and nothing but a sum or a share is set aside."""
    path = tmp_path / f"{form}.csv"
    path.write_text(OFFICE_FORMS[form], encoding="utf-8")
    (read,) = read_all([path])
    assert len(read.gaps) == OFFICE_FORMS[form].replace("Lfd", "").count(",x") // (2 if form == "shares" else 1) or (
        form == "named_serial" and len(read.gaps) == 1
    )
    first = next(row for row in range(len(read.cells.lower)) if not read.is_sum(row))
    assert (read.cells.lower[first], read.cells.upper[first]) == (12, 12)
    sizes = {"year_blocks": [2, 2, 2], "column_of_gaps": [3, 3], "coded_sections": [2, 2, 2]}
    assert sorted(len(axis.categories) for axis in read.axes) == sorted(sizes.get(form, [2, 2]))
    assert not read.doubts


def test_few_round_counts_without_totals_are_a_doubt_where_one_is_suppressed(tmp_path: Path) -> None:
    """Six counts that are multiples of 5: nothing says whether they are exact."""
    path = tmp_path / "t.csv"
    path.write_text("Region,a,b,c\nN,10,x,15\nS,20,15,55\nW,10,x,x\n", encoding="utf-8")
    (read,) = read_all([path])
    assert any("--reading rounded=5" in doubt for doubt in read.doubts)


def test_a_dash_is_no_zero_where_a_subtotal_would_then_have_parts_that_are_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Region,2021,2022\nNord,32,37\n  Kiel,12,20\n  Ulm,20,-\nTotal,32,37\n", encoding="utf-8")
    (read,) = read_all([path])
    assert len(read.gaps) == 1


def test_a_sum_without_the_name_of_one_is_a_doubt_where_counts_are_ranges(tmp_path: Path) -> None:
    """Portugal is the sum of both towns, which narrows the range of Braga to 2."""
    path = tmp_path / "t.csv"
    path.write_text("town,lower,upper\nBraga,1,4\nPorto,245,245\nFaro,31,31\nPortugal,278,278\n", encoding="utf-8")
    (read,) = read_all([path])
    assert any("Portugal" in doubt for doubt in read.doubts)
