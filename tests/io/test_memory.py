"""Data in memory are counted as the same rows in a CSV file are."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from safemargin.core import InputError
from safemargin.io import Profiles, open_data, read_tables, read_tidy

pytestmark = pytest.mark.full

ROWS: list[dict[str, Any]] = [
    {"district": "D1", "A": 7, "a": "x", "share": 0.5, "left": None, "vote": "yes"},
    {"district": "D2", "A": 10, "a": "y", "share": 2.0, "left": 3, "vote": "no"},
    {"district": "D1", "A": 7, "a": "x", "share": 0.5, "left": None, "vote": "yes"},
    {"district": 'the "old" one, north', "A": 7, "a": "ü", "share": 1.25, "left": 4, "vote": "no"},
]
COLUMNS = tuple(ROWS[0])
TIDY = [
    {"area": "north", "option": "yes", "count": 12, "status": "exact"},
    {"area": "north", "option": "no", "count": None, "status": "suppressed"},
    {"area": "south | east", "option": "yes", "count": 30, "status": "merged"},
]


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows as a CSV file."""
    lines = [",".join(rows[0])]
    for row in rows:
        cells = [
            "" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for value in row.values()
        ]
        lines.append(",".join('"' + cell.replace('"', '""') + '"' if set(cell) & set(',"') else cell for cell in cells))
    path = folder / "rows.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def pandas_frame(rows: list[dict[str, Any]]) -> object:
    return pytest.importorskip("pandas").DataFrame(rows)


def polars_frame(rows: list[dict[str, Any]]) -> object:
    return pytest.importorskip("polars").DataFrame(rows)


def arrow_table(rows: list[dict[str, Any]]) -> object:
    return pytest.importorskip("pyarrow").Table.from_pylist(rows)


def arrow_reader(rows: list[dict[str, Any]]) -> object:
    return pytest.importorskip("pyarrow").Table.from_pylist(rows).to_reader()


def plain_rows(rows: list[dict[str, Any]]) -> object:
    return tuple(rows)


HOLDERS = [pandas_frame, polars_frame, arrow_table, arrow_reader, plain_rows]
Holder = Callable[[list[dict[str, Any]]], object]


def counted(profiles: Profiles) -> dict[tuple[str, ...], int]:
    """How often each combination of texts occurs."""
    sums: dict[tuple[str, ...], int] = {}
    for codes, count in zip(profiles.codes.tolist(), profiles.counts.tolist(), strict=True):
        key = tuple(labels[code] for labels, code in zip(profiles.labels, codes, strict=True))
        sums[key] = sums.get(key, 0) + count
    return sums


@pytest.mark.parametrize("hold", HOLDERS)
def test_rows_in_memory_are_counted_as_in_a_file(hold: Holder, tmp_path: Path) -> None:
    file, memory = open_data(written(tmp_path, ROWS)), open_data(hold(ROWS))
    assert memory.columns == file.columns == COLUMNS
    assert counted(memory.profiles(COLUMNS)) == counted(file.profiles(COLUMNS))
    assert memory.survey() == file.survey()
    assert counted(memory.profiles(("vote",))) == {("yes",): 2, ("no",): 2}


@pytest.mark.parametrize("hold", HOLDERS)
def test_tidy_tables_in_memory_are_read_as_from_a_file(hold: Holder, tmp_path: Path) -> None:
    file, memory = read_tidy(written(tmp_path, TIDY)), read_tidy(hold(TIDY))
    assert (memory.axes, memory.groups, memory.options, memory.status) == (
        file.axes,
        file.groups,
        file.options,
        file.status,
    )
    assert np.array_equal(memory.lower, file.lower) and np.array_equal(memory.upper, file.upper)
    assert [table.name for table in read_tables([hold(TIDY), written(tmp_path, TIDY)])] == ["table 1", "rows.csv"]


def test_truth_values_are_written_as_python_writes_them() -> None:
    rows = [{"x": True}, {"x": False}, {"x": None}]
    for hold in (polars_frame, arrow_table, plain_rows):
        assert counted(open_data(hold(rows)).profiles(("x",))) == {("True",): 1, ("False",): 1, ("",): 1}


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(InputError, match="data: there is no column 'age'; the columns are district, A, a"):
        open_data(ROWS).profiles(("age",))


@pytest.mark.parametrize("data", [3, b"x", {"a": [1, 2]}, [1, 2], [[1], [2]]])
def test_other_things_are_refused(data: object) -> None:
    with pytest.raises(InputError, match="cannot be read; give a file, a DataFrame, an Arrow table or rows"):
        open_data(data)


def test_no_rows_are_refused() -> None:
    with pytest.raises(InputError, match="data: the table is empty"):
        open_data([])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="data: the table is empty"):
        open_data(pandas.DataFrame({"a": []})).profiles(("a",))


def test_columns_of_one_name_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="column 'a' occurs twice"):
        open_data(pandas.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_read_without_pyarrow(library: str) -> None:
    pytest.importorskip(library)
    script = (
        "import sys; sys.modules['pyarrow'] = None\n"
        f"import {library} as library\n"
        "from safemargin.io import open_data\n"
        "print(open_data(library.DataFrame({'a': ['x', 'y', 'x']})).profiles(('a',)).counts.sum())"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.stdout == "3\n", run.stderr
