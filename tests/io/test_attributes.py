"""Tables with columns that are neither axes nor counts, and forms of offices and programs that are no plain CSV."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import safemargin

COUNTS = {"North": (31, 52), "South": (24, 2), "East": (44, 15), "West": (18, 33)}
"""Of South, the second count is suppressed, and follows from the total."""
SHOWN = ("North", "South", "East", "West")


def cells() -> list[tuple[str, str, str]]:
    """Region, sex and what is printed of every cell, totals included; the gap is empty."""
    listed = []
    for region in (*SHOWN, "Total"):
        men, women = COUNTS[region] if region in COUNTS else (sum(c[i] for c in COUNTS.values()) for i in (0, 1))
        listed += [(region, "men", str(men)), (region, "women", "" if region == "South" else str(women))]
        listed.append((region, "Total", str(men + women)))
    return listed


def wide(gap: str = "*") -> list[list[str]]:
    """The same as a cross table."""
    found = cells()
    rows = [[region, *(value or gap for name, _, value in found if name == region)] for region in (*SHOWN, "Total")]
    return [["Region", "men", "women", "Total"], *rows]


def written(path: Path, rows: list[list[str]], separator: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, delimiter=separator).writerows(rows)
    return path


def check(read: safemargin.ReadTable, *, sure: bool = True) -> None:
    """The table of this file and nothing else: two axes with totals that add up, and one gap."""
    sizes = sorted(len(axis.categories) for axis in read.axes if len(axis.categories) > 1)
    assert (sizes, len(read.gaps)) == ([2, 4], 1), read
    assert read.checked and (not read.doubts) == sure, read.doubts
    (gap,) = (row for row in read.to_rows() if row["status"] == "suppressed")
    assert {"South", "women"} <= set(map(str, gap.values()))


Row = Callable[[int, str, str, str], list[str]]
LONG: dict[str, tuple[str, Row]] = {
    "row numbers": ("id,region,sex,count", lambda n, r, s, v: [str(n), r, s, v]),
    "identifiers": ("VECTOR,region,sex,VALUE", lambda n, r, s, v: [f"v{1000 + n}", r, s, v]),
    "codes of both axes": (
        "geo_code;geo_label;sex_code;sex_label;value",
        lambda n, r, s, v: [
            "" if r == "Total" else f"0{SHOWN.index(r)}0", r, {"men": "1", "women": "2"}.get(s, ""), s, v],
    ),
    "codes with a dash": ("C1,County,C2,Sex,VALUE", lambda n, r, s, v: [
        "-" if r == "Total" else f"{10 + SHOWN.index(r)}", r, {"men": "1", "women": "2"}.get(s, "-"), s, v]),
    "names in capitals": ("REGION,Region,SEX,Sex,Value", lambda n, r, s, v: [r[:3].upper(), r, s[:1].upper(), s, v]),
    "a flag of the gap": ("region,sex,count,hidden?", lambda n, r, s, v: [r, s, v, "N" if v else "Y"]),
    "which labels are totals": (
        "region,sex,_TYPE_,_FREQ_",
        lambda n, r, s, v: [
            "" if r == "Total" else r, "" if s == "Total" else s, f"{2 * (r != 'Total') + (s != 'Total')}", v],
    ),
    "one year": ("Provincia;Sexo;Periodo;Total", lambda n, r, s, v: [r, s, "2022", v or ".."]),
    "units": (
        "REF_DATE,GEO,DGUID,Sex,UOM_ID,SCALAR_ID,COORDINATE,VALUE,STATUS,DECIMALS",
        lambda n, r, s, v: ["2021", r, f"A{r}", s, "249", "0", f"{n}.1", v, "" if v else "x", "0"],
    ),
    "labels called a status": ("Year,Area,Status,Value,Flags", lambda n, r, s, v: ["2023", r, s, v, "" if v else "C"]),
    "a status that is an axis": ("area,status,count", lambda n, r, s, v: [r, s, v]),
    "zeros with a flag": ("area,sex,disclosure_code,employment", lambda n, r, s, v: [r, s, "" if v else "N", v or "0"]),
    "codes of a tidy table": ("code,area,sex,count", lambda n, r, s, v: [f"E{(*SHOWN, 'Total').index(r)}", r, s, v]),
    "full-time equivalents": ("Dept,Sex,Headcount,FTE", lambda n, r, s, v: [r, s, v or "<5", f"{n}.7" if v else ""]),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_columns_that_are_no_axes(name: str, tmp_path: Path) -> None:
    header, row = LONG[name]
    separator = ";" if ";" in header else ","
    rows = [header.split(separator), *(row(n, *cell) for n, cell in enumerate(cells()))]
    check(safemargin.load(written(tmp_path / "t.csv", rows, separator)))


def test_a_second_axis_is_no_attribute(tmp_path: Path) -> None:
    """A parent of every district, and an axis of which not every combination occurs, stay axes."""
    rows = [["county", "district", "sex", "count"], ["A", "a1", "m", "9"], ["A", "a1", "f", "8"], ["A", "a2", "m", "7"],
            ["A", "a2", "f", "6"], ["B", "b1", "m", "5"], ["B", "b1", "f", "4"]]  # fmt: skip
    assert [axis.name for axis in safemargin.load(written(tmp_path / "t.csv", rows)).axes] == [
        "county",
        "district",
        "sex",
    ]


def test_keys_of_eurostat_are_taken_apart(tmp_path: Path) -> None:
    rows = [["freq,sex,geo\\TIME_PERIOD", "2023 "]]
    rows += [[f"A,{'T' if s == 'Total' else s},{r}", f"{v} " if v else ": c"] for r, s, v in cells()]
    check(safemargin.load(written(tmp_path / "t.tsv", rows, "\t")))


def json_stat() -> object:
    found = cells()
    dimension = {
        "reg": {"label": "region", "category": {"index": {str(n): n for n in range(5)},
                                               "label": dict(zip(map(str, range(5)), (*SHOWN, "Total"), strict=True))}},
        "sex": {"category": {"index": ["m", "f", "t"], "label": {"m": "men", "f": "women", "t": "Total"}}},
    }  # fmt: skip
    return {"version": "2.0", "class": "dataset", "id": ["reg", "sex"], "size": [5, 3], "dimension": dimension,
            "value": [int(v) if v else None for *_, v in found], "status": {"4": ":"}}  # fmt: skip


def numbers() -> list[list[object]]:
    return [[row[0], *(int(text) if text else None for text in row[1:])] for row in wide("")[1:]]


JSON: dict[str, Callable[[], object]] = {
    "JSON-stat": json_stat,
    "parts of a frame": lambda: {"columns": wide()[0], "data": numbers()},
    "parts with an index": lambda: {
        "columns": wide()[0][1:], "index": [*SHOWN, "Total"], "data": [r[1:] for r in numbers()]},
    "columns by name": lambda: {n: {str(k): r[c] for k, r in enumerate(numbers())} for c, n in enumerate(wide()[0])},
    "rows by label": lambda: {str(r[0]): dict(zip(wide()[0][1:], r[1:], strict=True)) for r in numbers()},
}  # fmt: skip


@pytest.mark.parametrize("name", JSON)
def test_json_that_is_no_list_of_records(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(JSON[name]()), encoding="utf-8")
    check(safemargin.load(path))


def test_json_stat_that_is_damaged_is_refused(tmp_path: Path) -> None:
    cube = json_stat()
    assert isinstance(cube, dict)
    path = tmp_path / "t.json"
    for changed in ({"size": [5, 2]}, {"value": [1, 2, 3]}, {"id": ["reg", "age"]}, {"dimension": {"reg": 1}}):
        path.write_text(json.dumps({**cube, **changed}), encoding="utf-8")
        with pytest.raises(safemargin.InputError):
            safemargin.load(path)


def changed(rows: list[list[str]], row: int, column: int, text: str) -> list[list[str]]:
    rows[row][column] = text
    return rows


WIDE: dict[str, Callable[[], str]] = {
    "blanks": lambda: "\n".join(f"{r[0]:<14}" + "".join(f"{v:>12}" for v in r[1:]) for r in wide()),
    "texts in quotes": lambda: "\n".join(
        [" ".join(f'"{n}"' for n in wide()[0][1:]), *(f'"{r[0]}" ' + " ".join(r[1:]) for r in wide("NA")[1:])]
    ),
    "shares behind counts": lambda: "\n".join(
        ";".join([r[0], *(f"{v} ({n}.5%)" if v.isdigit() and k else v for k, v in enumerate(r[1:]))])
        for n, r in enumerate(wide("<5"))
    ),
    "a word in brackets": lambda: "\n".join(";".join(r) for r in wide("[REDACTED]")),
    "a sum without a name": lambda: "\n".join(",".join(r) for r in changed(wide(), 0, 3, "")),
    "a mark of a footnote": lambda: "\n".join(",".join(r) for r in changed(wide(), 5, 0, "Total¹")),
    "a row of means": lambda: "\n".join(",".join(r) for r in [*wide(), ["Average", "29.3", "25.5", "54.8"]]),
    "a column that is repeated": lambda: "\n".join(",".join([*r, r[0]]) for r in wide()),
    "a rank": lambda: "\n".join(",".join([("Rank", *"1234", "")[n], *r]) for n, r in enumerate(wide())),
    "a sign of several signs explained beside": lambda: "\n".join(
        [*(",".join(r) for r in wide("zq")), "", "INFO,zq: not published"]
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_cross_tables_of_programs_and_offices(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(WIDE[name]() + "\n", encoding="utf-8")
    check(safemargin.load(path))


def test_bands_that_begin_with_a_number_name_columns(tmp_path: Path) -> None:
    rows = [["Region", "0", "1-15", "16-34", "Total"], ["North", "9", "8", "<5", "20"], ["South", "7", "9", "6", "22"]]
    read = safemargin.load(written(tmp_path / "t.csv", [*rows, ["Total", "16", "17", "9", "42"]]))
    assert read.axes[1].categories == ("0", "1-15", "16-34") and len(read.gaps) == 1


def test_indian_thousands(tmp_path: Path) -> None:
    rows = [["State", "n"], ["A", "1,23,456"], ["B", "98,765"], ["Total", "2,22,221"]]
    read = safemargin.load(written(tmp_path / "t.csv", rows))
    assert [row["count"] for row in read.to_rows()] == [123456, 98765, 222221]


@pytest.mark.parametrize(
    ("encoding", "total", "label"),
    [("cp850", "Ensemble", "Rhône"), ("cp1252", "Ensemble", "Ardèche"), ("cp1252", "Insgesamt", "Höxter")],
)
def test_older_encodings(encoding: str, total: str, label: str, tmp_path: Path) -> None:
    others = ("Drôme", "Isère") if total == "Ensemble" else ("Köln", "Düren")
    rows = [["", "a", "b"], *([name, "12", "34"] for name in (label, *others)), [total, "36", "102"]]
    read = safemargin.load(written(tmp_path / "t.csv", rows, ";", encoding))
    assert read.axes[0].categories == (label, *others) and not read.doubts


def test_sheets_without_a_table_are_noted(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Read me"
    for row in (["One table is in this workbook."], ["Telephone", 123456]):
        book.active.append(row)
    sheet = book.create_sheet("Data")
    for texts in wide():
        sheet.append([int(text) if text.isdigit() else text for text in texts])
    book.save(tmp_path / "t.xlsx")
    read = safemargin.load(tmp_path / "t.xlsx")
    check(read)
    assert "sheet 'Read me' is not used: it holds no table" in read.notes


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.html", b"<!DOCTYPE html><table><tr><td>1", "page of the web"),
        ("t.xls", b"<table><tr><td>1", "page of the web"),
        ("t.xls", b"\xd0\xcf\x11\xe0" + bytes(600), "cannot be read as a workbook"),
        ("t.csv", b"area,n\nA,12\nB,7%\n", "is a share"),
        ("t.csv", b"area,n\nA,\"1,2,3,4\"\nB,\"1,23,45\"\n", "no row holds"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_said(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(safemargin.InputError, match=words):
        safemargin.load(tmp_path / name)


def test_numbers_in_brackets_after_counts_are_a_doubt(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area,n\nA,12 (34)\nB,7 (20)\n")
    assert "in brackets" in safemargin.load(tmp_path / "t.csv").doubts[0]


@pytest.mark.parametrize(
    "text",
    [
        '"men" "women" "Total"\n"North East" 31 2 33\n"South" 24 61 85\n"West" 44 15 59\n"Total" 99 78 177\n',
        "% of all,Region,men,women,Total\n18.6,North,31,2,33\n48.0,South,24,61,85\n33.3,West,44,15,59\n"
        ",Total,99,78,177\n",
        "region;sex;n\nNorth;men;31\n;women;2\n;Total;33\nSouth;men;24\n;women;61\n;Total;85\n",
    ],
)
def test_tables_that_suppress_writes_back_can_be_read_and_are_safe(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(text)
    safemargin.suppress(tmp_path / "t.txt").write(tmp_path / "out")
    published = tmp_path / "out/published/t-suppressed.txt"
    found = safemargin.audit(published)
    assert found.is_safe and not found.doubts, published.read_text()
    assert len(found.reads[0].gaps) >= 2 and "18.6" not in published.read_text()


def test_sheets_of_the_same_table_are_an_axis(tmp_path: Path) -> None:
    """Men, women and all persons on three sheets: what is suppressed of the women follows from the other two."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    men, women = [(31, 12), (24, 61), (9, 17)], [(8, 22), (2, 14), (33, 19)]
    persons = [(a + c, b + d) for (a, b), (c, d) in zip(men, women, strict=True)]
    for name, pairs in (("Men", men), ("Women", women), ("Persons", persons)):
        sheet = book.create_sheet(name)
        sheet.append(["Region", "yes", "maybe"])
        for region, (a, b) in zip(("North", "South", "East"), pairs, strict=True):
            sheet.append([region, "*" if (name, region) == ("Women", "South") else a, b])
    book.save(tmp_path / "t.xlsx")
    read = safemargin.load(tmp_path / "t.xlsx")
    assert [axis.name for axis in read.axes] == ["Region", "columns", "sheet"]
    assert read.axes[2].categories == ("Men", "Women")
    found = safemargin.audit(tmp_path / "t.xlsx").to_json()
    assert [f["lower"] for a in found["attacks"] if a["attack"] == "suppressed" for f in a["findings"]] == [2]


def test_a_column_with_gaps_holds_no_labels(tmp_path: Path) -> None:
    """Below areas, men and women repeat: columns of gaps are no further labels by which rows differ."""
    rows = [["", "a", "b", "All"], ["Total", "60", "50", "110"], ["  Men", "33", "24", "57"],
            ["  Women", "27", "26", "53"], ["Urban", "40", "30", "70"], ["  Men", "*", "*", "35"],
            ["  Women", "*", "*", "35"], ["Rural", "20", "20", "40"],
            ["  Men", "*", "*", "22"], ["  Women", "*", "*", "18"]]  # fmt: skip
    assert len(safemargin.load(written(tmp_path / "t.csv", rows)).gaps) == 8


@pytest.mark.parametrize("name", ["t.csv", "t.px", "sdmx.csv"])
def test_a_suppressed_zero_is_read(name: str, tmp_path: Path) -> None:
    """Offices suppress zeros too: a gap is from 0 up, where no tool says that zeros are printed."""
    path = tmp_path / name
    rows = [["North", "m", "9"], ["North", "f", ""], ["North", "_T", "9"], ["South", "m", "7"], ["South", "f", "5"],
            ["South", "_T", "12"], ["_T", "m", "16"], ["_T", "f", "5"], ["_T", "_T", "21"]]  # fmt: skip
    if name == "t.px":
        data = " ".join(count or '".."' for *_, count in rows)
        path.write_text(
            f'STUB="area";HEADING="sex";VALUES("area")="North","South","_T";VALUES("sex")="m","f","_T";DATA={data};\n'
        )
    else:
        head = ["area", "sex", "count", "suppressed"] if name == "t.csv" else ["AREA", "SEX", "OBS_VALUE", "OBS_STATUS"]
        flag = {True: "TRUE", False: "FALSE"} if name == "t.csv" else {True: "Q", False: "A"}
        written(path, [head, *([*row, flag[not row[2]]] for row in rows)])
    found = safemargin.audit(path).to_json()
    assert [f["lower"] for a in found["attacks"] if a["attack"] == "suppressed" for f in a["findings"]] == [0]


def test_units_that_a_column_states_are_applied(tmp_path: Path) -> None:
    rows = [["GEO", "SCALAR_FACTOR", "VALUE"], ["x", "thousands", "12"], ["y", "thousands", "7"]]
    assert safemargin.load(written(tmp_path / "t.csv", rows)).unit == 1000
    rows[1][1] = "units"
    assert "several units" in safemargin.load(written(tmp_path / "t.csv", rows)).doubts[0]


def test_numbers_of_rows_alone_are_no_labels(tmp_path: Path) -> None:
    """Records of people are no table of counts; a label of numbers beside a named count is one, with a doubt."""
    rows = [["respondent", "helpers", "age"], ["1", "4", "33"], ["2", "5", "41"], ["3", "4", "27"]]
    assert "records of people" in " ".join(safemargin.load(written(tmp_path / "t.csv", rows)).doubts)
    rows = [["people here help me", "n"], ["1", "12"], ["2", "5"], ["3", "8"]]
    read = safemargin.load(written(tmp_path / "t.csv", rows))
    assert read.axes[0].categories == ("1", "2", "3") and "taken for labels" in read.doubts[0]
