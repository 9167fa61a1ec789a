"""Microdata and counts of equal people, whatever file they come in."""

import gzip
import json
import sqlite3
from collections import Counter
from contextlib import closing
from itertools import chain
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from safemargin.core import InputError, Table
from safemargin.io.same_labels import same_label
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project

pytestmark = pytest.mark.full

VOTERS = "area,age,vote\nd2,old,A\nd10,young,B\nd2,old,B\nd2,young,A\nd2,old,A\n"
AXES = "[axes.area]\n[axes.age]\n"
Row = tuple[str, str, str]


def load(folder: Path, axes: str = AXES, file: str = "voters.csv", data: str = "", top: str = "") -> Table:
    """The table of a project with this data file."""
    return tabulate(Project.parse(f'{top}\n[data]\nfile = "{file}"\nanswer = "vote"\n{data}\n{axes}', folder=folder))


def refusal(folder: Path, axes: str = AXES, file: str = "voters.csv", data: str = "", top: str = "") -> str:
    """The one line with which a project is refused."""
    with pytest.raises(InputError) as caught:
        load(folder, axes, file, data, top)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def counted(table: Table) -> dict[tuple[str, ...], int]:
    """Votes by labels of every occupied cell and option."""
    (votes,) = table.votes
    return {
        (*(axis.categories[code] for axis, code in zip(table.schema.axes, row, strict=True)), option): int(count)
        for row, counts in zip(votes.codes.tolist(), votes.counts.tolist(), strict=True)
        for option, count in zip(table.schema.options, counts, strict=True)
        if count
    }


def same(left: Table, right: Table) -> bool:
    """Whether two tables are equal to the last code."""
    pairs = [*zip(left.votes, right.votes, strict=True), *zip(left.roll, right.roll, strict=True)]
    arrays = all(np.array_equal(a.codes, b.codes) and np.array_equal(a.counts, b.counts) for a, b in pairs)
    return arrays and left.schema == right.schema and all(a.axes == b.axes for a, b in pairs)


def write_with_duckdb(folder: Path, columns: tuple[str, ...], records: list[tuple[str, ...]], *files: str) -> None:
    """Files of these names with all records, as texts."""
    with duckdb.connect() as database:
        database.execute(f"create table people ({', '.join(f'{name} varchar' for name in columns)})")
        row = f"({', '.join('?' * len(columns))})"
        database.execute(f"insert into people values {', '.join([row] * len(records))}", [*chain(*records)])
        for name in files:
            database.execute(f"copy people to '{folder / name}' (format {name.split('.')[1]})")


def write_all(folder: Path, rows: list[Row], aggregated: bool = False) -> tuple[str, ...]:
    """The same people in every kind of file."""
    names = ("area", "age", "vote", *(("n",) if aggregated else ()))
    records = [(*row, str(n)) for row, n in Counter(rows).items()] if aggregated else list(rows)
    with closing(sqlite3.connect(folder / "voters.sqlite")) as database:
        database.execute("drop table if exists people")
        database.execute(f"create table people ({', '.join(names)})")
        database.executemany(f"insert into people values ({', '.join('?' * len(names))})", records)
        database.commit()
    with (folder / "voters.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(dict(zip(names, record, strict=True))) + "\n" for record in records)
    write_with_duckdb(folder, names, records, "voters.parquet", "voters.csv")
    return "voters.csv", "voters.parquet", "voters.jsonl", "voters.sqlite"


label = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters='\n\t"'), min_size=1, max_size=4
).filter(lambda text: " | " not in text and same_label(text) != "")
people = st.lists(st.tuples(label, st.sampled_from(["old", "young", "10", "9"]), label), min_size=1, max_size=30)


@pytest.mark.slow
@given(people)
@settings(max_examples=30)
def test_counts_are_those_of_a_plain_counter(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    folder = tmp_path_factory.mktemp("data")
    write_with_duckdb(folder, ("area", "age", "vote"), list(rows), "voters.parquet")
    table = load(folder, file="voters.parquet")
    seen = Counter((same_label(area), age, same_label(vote)) for area, age, vote in rows)
    assert Counter({(same_label(a), b, same_label(c)): n for (a, b, c), n in counted(table).items()}) == seen
    assert table.roll[0].counts[:, 0].tolist() == table.votes[0].counts.sum(axis=1).tolist()
    assert table.knows_composition
    assert int(table.totals.sum()) == len(rows)


@pytest.mark.slow
@given(people)
@settings(max_examples=15)
def test_every_kind_of_file_gives_the_same_table(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    folder = tmp_path_factory.mktemp("data")
    tables = [load(folder, file=name) for name in write_all(folder, rows)]
    tables += [load(folder, file=name, data='count = "n"') for name in write_all(folder, rows, aggregated=True)]
    assert all(same(tables[0], table) for table in tables[1:])


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text(VOTERS)
    whole = load(tmp_path)
    scan = f"select area, age, vote from read_csv('{tmp_path / 'voters.csv'}', all_varchar=true)"
    duckdb.sql(f"copy ({scan}) to '{tmp_path / 'lake'}' (format parquet, partition_by (area))")
    for name in ("lake", "lake/*/*.parquet", "lake/**/*.parquet"):
        assert same(whole, load(tmp_path, file=name)), name
    (tmp_path / "empty").mkdir()
    for name in ("empty", "lake/*.parquet"):
        assert refusal(tmp_path, file=name).endswith("there is no Parquet or CSV file in it, or none with such a name")
    duckdb.sql(f"copy (select 1 as other) to '{tmp_path / 'lake' / 'odd.parquet'}'")
    assert "mismatch" in refusal(tmp_path, file="lake")


def test_a_folder_of_csv_files_is_one_table(tmp_path: Path) -> None:
    """Also an unexpanded pattern; what differs in its columns, or is beside Parquet files, is refused by name."""
    (tmp_path / "voters.csv").write_text(VOTERS)
    whole = load(tmp_path)
    header, *lines = VOTERS.splitlines()
    (tmp_path / "parts" / "late").mkdir(parents=True)
    (tmp_path / "parts" / "one.csv").write_text("\n".join([header, *lines[::2]]) + "\n")
    (tmp_path / "parts" / "late" / "two.csv").write_text("\n".join([header, *lines[1::2]]) + "\n")
    (tmp_path / "parts" / ".hidden.csv").write_text("x\n1\n")
    (tmp_path / "parts" / "README.txt").write_text("about\n")
    for name in ("parts", "parts/**/*.csv"):
        assert same(whole, load(tmp_path, file=name)), name
    (tmp_path / "parts" / "three.csv").write_text(f"{header}\nx\n")
    assert "parts: three.csv: line 2: has 1 fields" in refusal(tmp_path, file="parts")
    (tmp_path / "parts" / "three.csv").write_text("other\nx\n")
    assert "has other columns than" in refusal(tmp_path, file="parts")
    (tmp_path / "parts" / "three.csv").unlink()
    duckdb.sql(f"copy (select 1 as a) to '{tmp_path / 'parts' / 'odd.parquet'}'")
    assert "name one kind with a pattern" in refusal(tmp_path, file="parts")
    assert same(whole, load(tmp_path, file="parts/**/*.csv"))


def test_categories_and_options_seen_are_in_natural_order(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text(VOTERS)
    table = load(tmp_path)
    assert table.schema.axes[0].categories == ("d2", "d10")
    assert table.schema.options == ("A", "B")
    assert counted(table) == {
        ("d2", "old", "A"): 2,
        ("d2", "old", "B"): 1,
        ("d2", "young", "A"): 1,
        ("d10", "young", "B"): 1,
    }


def test_declared_categories_and_options_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text(VOTERS)
    axes = '[axes.where]\ncolumn = "area"\ncategories = ["d10", "d2", "d3"]\n[axes.age]\nordered = true\n'
    table = load(tmp_path, axes, data='options = ["C", "B", "A"]')
    assert table.schema.axis("where").categories == ("d10", "d2", "d3")
    assert table.schema.axis("age").ordered
    assert table.schema.options == ("C", "B", "A")
    assert table.totals.tolist() == [0, 2, 3]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["voters.csv", "voters.csv.gz", "odd [1] *'.csv"])
def test_delimiters_and_packed_files(tmp_path: Path, sign: str, name: str) -> None:
    text = ("\ufeff" + VOTERS).replace(",", sign).replace("\n", "\r\n").encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert len(counted(load(tmp_path, file=name))) == 4


def test_a_tsv_may_have_commas_in_its_names(tmp_path: Path) -> None:
    (tmp_path / "v.tsv").write_text("area, wide\tvote\nx,y\tA\n")
    assert counted(load(tmp_path, '[axes.area]\ncolumn = "area, wide"\n', "v.tsv")) == {("x,y", "A"): 1}


def test_columns_that_differ_in_case_only(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text("Area,area,vote\nx,y,A\n")
    assert counted(load(tmp_path, "[axes.Area]\n[axes.area]\n")) == {("x", "y", "A"): 1}


def test_an_empty_answer_counts_as_blank(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text(VOTERS + 'd2,old,\nd2,old,""\nd2,old,none\n')
    assert counted(load(tmp_path, data='blank = "none"'))["d2", "old", "none"] == 3
    assert refusal(tmp_path).endswith(
        "column 'vote' is empty for 2 people; set data.blank = 'skip' if they are not to be counted, or to the option "
        "that this means"
    )


def test_zero_counts_leave_no_profile(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text("area,vote,n\nx,A,3.0\ny,B,0\nx,A,2\n")
    table = load(tmp_path, "[axes.area]\n", data='count = "n"')
    assert counted(table) == {("x", "A"): 5}
    assert table.schema.axis("area").categories == ("x", "y")
    (tmp_path / "voters.csv").write_text("area,vote,n\nx,A,0\n")
    assert refusal(tmp_path, "[axes.area]\n", data='count = "n"').endswith("counts nobody; the table is empty")


def test_many_categories_need_no_room_for_their_product(tmp_path: Path) -> None:
    axes = "abcdefgh"
    columns = ", ".join(f"'{axis}' || (range * {place + 1} % 4999) as {axis}" for place, axis in enumerate(axes))
    with duckdb.connect() as database:
        database.execute(f"copy (select {columns}, 'A' as vote from range(5000)) to '{tmp_path}/v.parquet'")
    table = load(tmp_path, "".join(f"[axes.{axis}]\n" for axis in axes), "v.parquet")
    assert table.votes[0].codes.shape == (4999, 8)
    assert table.votes[0].counts.sum() == 5000


def test_numbers_and_truths_read_as_text(tmp_path: Path) -> None:
    with duckdb.connect() as database:
        database.execute(f"copy (select 7 as area, true as age, 1.5 as vote) to '{tmp_path}/v.parquet'")
    assert counted(load(tmp_path, file="v.parquet")) == {("7", "true", "1.5"): 1}


@pytest.mark.parametrize(
    ("text", "data", "message"),
    [
        ("area,age\nd1,old\n", "", "voters.csv: there is no column 'vote'; the columns are area, age"),
        ("area,age,vote\n", "", "voters.csv: the table is empty"),
        ("", "", "voters.csv: line 1: is empty; the first line must name the columns"),
        ("area,age,vote\nd1,old,A\nd1,old\n", "", "voters.csv: line 3: has 2 fields, the header has 3"),
        ("area,age,vote\nd1,old,A,x\n", "", "voters.csv: line 2: has 4 fields, the header has 3"),
        ('area,age,vote\nd1,"old,A\n', "", "voters.csv: line 2: a quoted value does not end"),
        ("area,age,vote\nd1,old,A\nd1,old,A\r\n", "", "voters.csv: is not valid CSV: line ends are mixed"),
        ("area,area,vote\nd1,old,A\n", "", "voters.csv: column 'area' occurs twice"),
        ("area,,vote\nd1,old,A\n", "", "voters.csv: column 2 has no name"),
        (
            "area,age,vote\nd1,,A\n",
            "",
            "voters.csv: column 'age' has empty values; every row needs a category, or set missing of the axis",
        ),
        ("area,age,vote\na | b,old,A\n", "", "voters.csv: column 'area': category 'a | b' contains ' | '"),
        (VOTERS, 'options = ["A"]', "voters.csv: column 'vote': unknown answer 'B'; data.options are A"),
        (VOTERS, 'table = "people"', "data.table = 'people': only SQLite and Excel files hold tables"),
        ("area,age,vote,n\nd1,old,A,-1\n", 'count = "n"', "voters.csv: column 'n': count '-1': is negative"),
        (
            "area,age,vote,n\nd1,old,A,1.5\n",
            'count = "n"',
            "voters.csv: column 'n': count '1.5': is not a whole number",
        ),
        ("area,age,vote,n\nd1,old,A,nan\n", 'count = "n"', "voters.csv: column 'n': count 'nan': is not finite"),
        ("area,age,vote,n\nd1,old,A,inf\n", 'count = "n"', "voters.csv: column 'n': count 'inf': is not finite"),
        ("area,age,vote,n\nd1,old,A,many\n", 'count = "n"', "voters.csv: column 'n': count 'many': is not a number"),
        ("area,age,vote,n\nd1,old,A,\n", 'count = "n"', "voters.csv: column 'n': count '': is empty"),
        ("area,age,vote,n\nd1,old,A,1e30\n", 'count = "n"', "voters.csv: column 'n': count '1e30': is larger than"),
        (
            f"area,age,vote,n\nd1,o,A,{2**53}\nd1,o,B,9\n",
            'count = "n"',
            f"voters.csv: column 'n': count '{2**53}': is larger",
        ),
    ],
)
def test_a_bad_csv_is_refused_in_one_line(tmp_path: Path, text: str, data: str, message: str) -> None:
    (tmp_path / "voters.csv").write_text(text, newline="")
    assert refusal(tmp_path, data=data).removeprefix(f"{tmp_path}/").startswith(message)


def test_an_unknown_category_is_refused(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_text(VOTERS)
    message = refusal(tmp_path, '[axes.x]\ncolumn = "area"\ncategories = ["d2"]\n')
    assert message == f"{tmp_path}/voters.csv: column 'area': unknown category 'd10'; declared are d2"


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "voters.csv").write_bytes(VOTERS.encode() + "d2,old,é\n".encode("latin-1"))
    assert refusal(tmp_path).split("/")[-1].startswith("voters.csv: line 7: is not UTF-8; save")
    (tmp_path / "voters.csv").write_bytes("aréa,age,vote\nx,y,z\n".encode("latin-1"))
    assert refusal(tmp_path).split("/")[-1].startswith("voters.csv: line 1: is not UTF-8; save")
    (tmp_path / "voters.jsonl").write_bytes('{"area": "x", "age": "y", "vote": "é"}\n'.encode("latin-1"))
    assert refusal(tmp_path, file="voters.jsonl").split("/")[-1].startswith("voters.jsonl: line 1: is not UTF-8; save")


def test_files_that_are_not_what_they_say(tmp_path: Path) -> None:
    assert refusal(tmp_path).endswith("voters.csv: there is no such file")
    (tmp_path / "folder.csv").mkdir()
    assert refusal(tmp_path, file="folder.csv").endswith("folder.csv: is a folder or device, not a file")
    for name in ("v.parquet", "v.jsonl", "v.sqlite", "v.csv.gz", "v.xls"):
        (tmp_path / name).write_text("this is only some text that goes on for a while\n" * 9)
        assert refusal(tmp_path, file=name).startswith(f"{tmp_path}/{name}: ")


def test_a_column_that_distinguishes_people_is_refused(tmp_path: Path) -> None:
    with duckdb.connect() as database:
        rows = "select 'p' || range as area, 'x' as age, 'A' as vote from range(1000000)"
        database.execute(f"copy ({rows}) to '{tmp_path}/v.parquet'")
    message = refusal(tmp_path, file="v.parquet")
    assert "column 'area' has 1000000 different values, more than 100000: it looks like an identifier" in message


def test_sqlite_tables_go_by_name(tmp_path: Path) -> None:
    write_all(tmp_path, [("x", "y", "A")])
    with closing(sqlite3.connect(tmp_path / "voters.sqlite")) as database:
        database.execute("create table other (area, age, vote)")
    file = "voters.sqlite"
    assert counted(load(tmp_path, file=file, data='table = "people"')) == {("x", "y", "A"): 1}
    assert refusal(tmp_path, file=file).endswith("data.table is missing; the tables are other, people")
    assert refusal(tmp_path, file=file, data='table = "z"').endswith("no table 'z'; the tables are other, people")
    assert refusal(tmp_path, file=file, data='table = "other"').endswith("table 'other' is empty")
    assert "there is no column 'sex'" in refusal(tmp_path, "[axes.sex]\n", file, 'table = "people"')
    with closing(sqlite3.connect(tmp_path / "voters.sqlite")) as database:
        database.execute("insert into other values ('x', 'y', cast(x'e9' as text))")
        database.commit()
    assert refusal(tmp_path, file=file, data='table = "other"').endswith("is not UTF-8 throughout")
