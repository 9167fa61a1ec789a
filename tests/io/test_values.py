"""Values as files hold them: the same in Parquet as in CSV, or refused; one test for each kind."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import safemargin
from safemargin.core import InputError
from safemargin.io import open_source, read_tidy


def saved(folder: Path, **columns: object) -> Path:
    pd.DataFrame(columns).to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def texts(path: Path, column: str) -> tuple[str, ...]:
    """The labels of a column, as every command that counts rows sees them."""
    return open_source(path).profiles((column,)).labels[0]


def test_one_and_one_point_zero_are_one_category(tmp_path: Path) -> None:
    assert texts(saved(tmp_path, grade=[1.0, 2.0, 1.0, np.nan]), "grade") == ("", "1", "2")
    table = read_tidy(saved(tmp_path, grade=[1.0, 2.0], count=[5.0, 6.0]))
    assert [sorted(group) for group in table.groups[0]] == [["1"], ["2"]] and table.lower.tolist() == [5, 6]


def test_a_value_that_is_nan_is_absent(tmp_path: Path) -> None:
    """As other programs store it: pandas writes a null instead. DuckDB casts what a file stores once as a whole."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    grades = [1.0, 2.0, float("nan"), 1.0, float("inf")] * 20
    parquet.write_table(arrow.table({"grade": grades}), tmp_path / "t.parquet")
    assert texts(tmp_path / "t.parquet", "grade") == ("", "1", "2", "inf")
    counts = arrow.table({"area": ["x", "y"], "count": [5.0, float("nan")]})
    parquet.write_table(counts, tmp_path / "t.parquet")
    assert read_tidy(tmp_path / "t.parquet").status == ("exact", "suppressed")
    parquet.write_table(arrow.table({"grade": [b"\xff"]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="bytes that are not UTF-8; store it as text"):
        texts(tmp_path / "t.parquet", "grade")


def test_a_count_that_is_nan_is_suppressed_as_an_empty_one(tmp_path: Path) -> None:
    table = read_tidy(saved(tmp_path, area=["x", "y"], count=[5.0, np.nan]))
    assert table.status == ("exact", "suppressed")


def test_bytes_are_texts(tmp_path: Path) -> None:
    assert texts(saved(tmp_path, area=[b"north", b"s\xc3\xbcd"]), "area") == ("north", "süd")
    with pytest.raises(InputError):
        texts(saved(tmp_path, area=[b"north", b"\xff\xfe"]), "area")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = [arrow.array(["x", "y"]), arrow.array(["u", "v"]), arrow.array([1, 2])]
    parquet.write_table(arrow.Table.from_arrays(columns, names=["a", "a", "count"]), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,a,count\nx,u,1\ny,v,2\n")
    for name in ("t.parquet", "t.csv"):
        with pytest.raises(InputError, match="'a'"):
            read_tidy(tmp_path / name)


def test_decimals_of_three_places_are_counts_where_they_are_whole(tmp_path: Path) -> None:
    path = saved(tmp_path, area=["x", "y"], count=[Decimal("5.000"), Decimal("1000.000")])
    assert read_tidy(path).lower.tolist() == [5, 1000]
    with pytest.raises(InputError, match="look like amounts"):
        read_tidy(saved(tmp_path, area=["x", "y"], count=[Decimal("5.50"), Decimal("1.00")]))


def test_timestamps_and_dictionaries_are_labels(tmp_path: Path) -> None:
    days = pd.to_datetime(["2024-01-05", "2024-01-06"])
    read = safemargin.load(saved(tmp_path, day=days, area=pd.Categorical(["x", "y"]), count=[7, 8]))
    assert [len(axis.labels) for axis in read.axes] == [2, 2] and not read.doubts


def test_leading_zeros_stay(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("code,a,b\n007,12,13\n07,14,15\n")
    assert safemargin.load(tmp_path / "t.csv").axes[0].labels == ("007", "07")


def test_a_thousand_or_one_is_refused_without_other_evidence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area;n\nx;1.000\ny;876\n")
    with pytest.raises(InputError, match="thousands or a fraction"):
        safemargin.load(tmp_path / "t.csv")
    read = safemargin.load(tmp_path / "t.csv", reading={"thousands": "dot"})
    assert read.cells.lower.tolist() == [1000, 876]


def test_labels_that_differ_by_capitals_are_noted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area,a,b\nNorth,12,13\nNORTH,14,15\n")
    read = safemargin.load(tmp_path / "t.csv")
    assert any("differ by capitals" in note for note in read.notes)
