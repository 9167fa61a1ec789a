"""Tidy tables: what is accepted, what each row then says, and one line for each mistake."""

from pathlib import Path

import duckdb
import pytest

from safemargin.core import UNBOUNDED, InputError, PublishedTable
from safemargin.io import read_many, read_tidy

Said = list[tuple[dict[str, str], str | None, int, int, str]]


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_text(text, newline="")
    return path


def said(table: PublishedTable) -> Said:
    """Every row as cell, option, range and status."""
    return [
        (
            table.cell(row),
            table.options[table.option[row]] if table.options else None,
            int(table.lower[row]),
            int(table.upper[row]),
            table.status[row],
        )
        for row in range(len(table.lower))
    ]


def refusal(path: Path) -> str:
    """The one line with which a tidy file is refused."""
    with pytest.raises(InputError) as caught:
        read_tidy(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_counts_by_axis_and_option(tmp_path: Path) -> None:
    table = read_tidy(written(tmp_path, "area,option,count\nx,A,3\nx,B,4.0\ny | z,A,\ny | z,B,1e1\n"))
    assert (table.name, table.axes, table.options, table.measure) == ("t.csv", ("area",), ("A", "B"), "count")
    assert said(table) == [
        ({"area": "x"}, "A", 3, 3, "exact"),
        ({"area": "x"}, "B", 4, 4, "exact"),
        ({"area": "y | z"}, "A", 0, UNBOUNDED, "suppressed"),
        ({"area": "y | z"}, "B", 10, 10, "merged"),
    ]
    assert not table.is_exact


def test_ranges(tmp_path: Path) -> None:
    table = read_tidy(written(tmp_path, "area,lower,upper\nx,3,5\ny,,7\nz,2,\nw,,\nv,4,4\n"))
    assert said(table) == [
        ({"area": "x"}, None, 3, 5, "range"),
        ({"area": "y"}, None, 0, 7, "range"),
        ({"area": "z"}, None, 2, UNBOUNDED, "range"),
        ({"area": "w"}, None, 0, UNBOUNDED, "suppressed"),
        ({"area": "v"}, None, 4, 4, "exact"),
    ]
    assert table.options == () and table.option.tolist() == [-1] * 5


def test_ranges_where_there_is_no_count(tmp_path: Path) -> None:
    table = read_tidy(written(tmp_path, "area,count,lower,upper\nx,3,,\ny,,1,4\nz,5,5,9\n"))
    assert [(low, high) for _, _, low, high, _ in said(table)] == [(3, 3), (1, 4), (5, 5)]


def test_a_noised_count_bounds_nothing(tmp_path: Path) -> None:
    table = read_tidy(written(tmp_path, "area,count,status\nx,-3,noised\ny,7,noised\nz,7,\nw,,suppressed\nv,2,exact\n"))
    assert [(low, high, status) for _, _, low, high, status in said(table)] == [
        (0, UNBOUNDED, "noised"),
        (0, UNBOUNDED, "noised"),
        (7, 7, "exact"),
        (0, UNBOUNDED, "suppressed"),
        (2, 2, "exact"),
    ]


def test_rolls_totals_and_sums_over_a_hierarchy(tmp_path: Path) -> None:
    roll = read_tidy(written(tmp_path, "area,people\na | b,5\na,2\nb,3\n"))
    assert roll.is_roll and roll.is_exact and len(roll.groups[0]) == 3
    total = read_tidy(written(tmp_path, "option;count\nA;5\nB;6\n"))
    assert total.axes == () and total.codes.shape == (2, 0)


def test_texts_are_kept_but_for_blanks(tmp_path: Path) -> None:
    table = read_tidy(written(tmp_path, '\ufeffarea\tcount\r\n x \t1\r\n"a\tb"\t 2 \r\n\r\n'))
    assert said(table) == [({"area": "x"}, None, 1, 1, "exact"), ({"area": "a b"}, None, 2, 2, "exact")]


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, "area,note,answer,votes\nx,one,A,3\nx,two,B,4\n")
    table = read_tidy(path, count="votes", option="answer", axes=("area",))
    assert table.axes == ("area",) and table.options == ("A", "B") and table.lower.tolist() == [3, 4]
    assert read_tidy(path, count="votes", option="answer").axes == ("area", "note")
    with pytest.raises(InputError, match=r"there is no column 'sex'; the columns are area, note, answer, votes"):
        read_tidy(path, count="votes", axes=("sex",))


def test_parquet_says_the_same(tmp_path: Path) -> None:
    rows = "values ('x', 'A', 3, 'exact'), ('y', 'A', null, null), ('x', 'B', 4.0, null)"
    with duckdb.connect() as database:
        database.execute(f"copy (select * from ({rows}) t(area, option, count, status)) to '{tmp_path}/t.parquet'")
    csv = written(tmp_path, "area,option,count,status\nx,A,3,exact\ny,A,,\nx,B,4,\n")
    one, other = read_many([tmp_path / "t.parquet", csv])
    assert said(one) == said(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area,count\nx,1\ny,-2\n", "t.csv: line 3: count = '-2': is negative"),
        ("area,count\nx,1\ny,2.5\n", "t.csv: line 3: count = '2.5': is not a whole number"),
        ("area,count\nx,1\ny,nan\n", "t.csv: line 3: count = 'nan': is not finite"),
        ("area,count\nx,1\ny,-inf\n", "t.csv: line 3: count = '-inf': is not finite"),
        ("area,count\nx,1\ny,few\n", "t.csv: line 3: count = 'few': is not a number"),
        ("area,count\nx,1_000\n", "t.csv: line 2: count = '1_000': is not a number"),
        ("area,count\nx,٣\n", "t.csv: line 2: count = '٣': is not a number"),
        ("area,count\nx,1e99\n", "t.csv: line 2: count = '1e99': is larger than"),
        ("area,people\nx,-1\n", "t.csv: line 2: people = '-1': is negative"),
        ("area,count,status\nx,few,noised\n", "t.csv: line 2: count = 'few': is not a number"),
        ("area,count,status\nx,1,secret\n", "t.csv: line 2: status = 'secret': must be one of exact, merged, noised"),
        ("area,count,status\nx,,exact\n", "t.csv: line 2: status = 'exact': but the row has no single count"),
        ("area,lower,upper\nx,5,4\n", "t.csv: line 2: lower = '5': is more than upper = 4"),
        ("area,count,lower,upper\nx,5,6,7\n", "t.csv: line 2: count = '5': lies outside [6, 7]"),
        ("area,count\n,5\n", "t.csv: line 2: area = '': a category is empty"),
        ("area,count\nx | ,5\n", "t.csv: line 2: area = 'x | ': a category is empty"),
        ("area,count\nx | x,5\n", "t.csv: line 2: area = 'x | x': names a category twice"),
        ("area,option,count\nx,,5\n", "t.csv: line 2: option = '': the option is empty"),
        ("area,count\nx | y,5\nz,6\ny | x,7\n", "t.csv: line 4: the same cell as line 2; give each cell once"),
        ('area,count\n"x\nz",5\n"x\nz",7\n', "t.csv: line 5: the same cell as line 3; give each cell once"),
        ("area,count,people\nx,1,1\n", "t.csv: has both 'count' and 'people'; a table counts answers or people"),
        (
            "area,option\nx,A\n",
            "t.csv: there is no column 'count', 'people', 'lower' or 'upper'; there are area, option",
        ),
        ("area,count\n", "t.csv: the table is empty"),
        ("", "t.csv: line 1: is empty; the first line must name the columns"),
        ("area,count\nx,1\ny\n", "t.csv: line 3: has 1 fields, the header has 2"),
        ("area,count\nx,1,2\n", "t.csv: line 2: has 3 fields, the header has 2"),
        ('area,count\nx,"1\n', "t.csv: line 2: is not valid CSV: unexpected end of data"),
        ("area,area,count\nx,x,1\n", "t.csv: column 'area' occurs twice"),
    ],
)
def test_a_bad_table_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(written(tmp_path, text)).startswith(message)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refusal(tmp_path / "absent.csv") == "absent.csv: there is no such file"
    (tmp_path / "latin.csv").write_bytes("area,count\nx,1\né,2\n".encode("latin-1"))
    assert refusal(tmp_path / "latin.csv").startswith("latin.csv: line 3: is not UTF-8; save the file as UTF-8, or")
    assert refusal(written(tmp_path, "not gzip", "t.csv.gz")).startswith("t.csv.gz: line 1: cannot be read: ")
    with duckdb.connect() as database:
        database.execute(f"copy (select 'x' as area, -1.5 as count) to '{tmp_path}/t.parquet'")
    assert refusal(tmp_path / "t.parquet").startswith("t.parquet: row 1: count = '-1.5': is not a whole number; these")


def test_a_large_roll_is_read(tmp_path: Path) -> None:
    rows = "\n".join(f"d{n % 500},r{n // 500},{n % 97}" for n in range(100_000))
    path = written(tmp_path, f"district,religion,people\n{rows}\n")
    table = read_tidy(path)
    assert len(table.lower) == 100_000
