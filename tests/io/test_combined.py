"""Hierarchies, tables with their margins, and cross tables, as other tools write them."""

from pathlib import Path

import numpy as np
import pytest

from safemargin.core import InputError
from safemargin.io import NoTotalWarning, read_any_sheet, read_combined, read_hrc, read_published, tree
from safemargin.release.axes import read_hierarchy
from safemargin.suppress.read import read_earlier, read_linked


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "N\n@a\n@b\nS\n@c\n",
        "N\n.a\n.b\nS\n.c\n",
        "@Total\n@@N\n@@@a\n@@@b\n@@S\n@@@c\n",
        "@;T\n@@;N\n@@@;a\n@@@;b\n@@;S\n@@@;c",
    ],
)
def test_hierarchies_of_both_tools(text: str, tmp_path: Path) -> None:
    assert read_hrc(written(tmp_path / "h.hrc", text)) == [(0, "N"), (1, "a"), (1, "b"), (0, "S"), (1, "c")]


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "is empty"), ("N\n@@a\n", "line 2: 'a' lies 2 levels below"), ("N\n@\n", "line 2: '@' has no code")],
)
def test_wrong_hierarchies(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_hrc(written(tmp_path / "h.hrc", text))


def test_parents_for_a_project(tmp_path: Path) -> None:
    path = written(tmp_path / "h.hrc", "N\n@a\n@@a1\nS\n@c\n")
    assert read_hierarchy(path) == {"a": "N", "a1": "a", "c": "S"}


def test_a_category_outside_the_hierarchy_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "h.hrc", "N\n@a\n")
    with pytest.raises(InputError, match="region = 'b' is not in the hierarchy"):
        tree("region", ("a", "b"), [path])


def test_a_tab_file_without_header(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.tab",
        "Total;Total;9;9;9;S;0;0\nTotal;x;9;9;9;S;0;0\na;Total;4;4;4;U;1;1\nb;Total;5;5;5;M;1;1\na;x;4;4;4;U;1;1\nb;x;5;5;5;M;1;1\n",
    )
    found = read_combined(read_any_sheet(path), {})
    assert [each.name for each in found.trees] == ["axis1", "axis2"]
    assert found.suppressed.tolist() == [False, False, True, True, True, True]


def test_a_tab_file_with_header(tmp_path: Path) -> None:
    head = "town;kind;value;freq;cost;status;lower;upper\n"
    text = f"{head}Total;Total;9;9;9;S;0;0\na;Total;4;4;4;U;1;1\na;x;4;4;4;X;1;1\n"
    path = written(tmp_path / "t.tab", text.replace("X", "M"))
    found = read_combined(read_any_sheet(path), {})
    assert [each.name for each in found.trees] == ["town", "kind"]
    assert found.suppressed.tolist() == [False, True, True]
    with pytest.raises(InputError, match=r"t.tab: line 4: status = 'X'"):
        read_combined(read_any_sheet(written(path, text)), {})


@pytest.mark.parametrize("total", ["Total", "Tot", "TOT", "tot", "ALL", "all", "_T", ""])
def test_a_sum_is_known_by_its_name(total: str, tmp_path: Path) -> None:
    text = f"a,Freq,sdcStatus\n{total},9,s\nx,4,u\ny,5,x\n"
    found = read_combined(read_any_sheet(written(tmp_path / "t.csv", text)), {})
    assert found.trees[0].labels == (total, "x", "y")
    if total:
        table = read_linked([written(tmp_path / "f.csv", f"a,n\nx,4\ny,5\n{total},9\n")], {}).tables[0]
        assert table.counts.tolist() == [9, 4, 5]


def test_an_axis_without_a_sum_is_warned_of(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,Freq,sdcStatus\nQwx,9,s\nx,4,u\ny,5,x\n")
    with pytest.warns(NoTotalWarning, match=r"t.csv: axis 'a' has no total"):
        read_combined(read_any_sheet(path), {})


def test_a_suppressed_count_may_be_na(tmp_path: Path) -> None:
    text = "a,Freq,sdcStatus\nTotal,9,s\nx,NA,u\ny,,x\n"
    found = read_combined(read_any_sheet(written(tmp_path / "t.csv", text)), {})
    assert found.counts.tolist() == [9, -1, -1] and found.least == 1
    with pytest.raises(InputError, match=r"line 2: Freq = 'NA': is not a number"):
        read_combined(read_any_sheet(written(tmp_path / "t.csv", text.replace("9", "NA"))), {})


def test_a_hierarchy_may_start_with_the_total(tmp_path: Path) -> None:
    with_root = written(tmp_path / "r.hrc", "Total\n@N\n@@a\n@@b\n@S\n")
    without = written(tmp_path / "h.hrc", "N\n@a\n@b\nS\n")
    assert tree("region", (), [with_root]) == tree("region", (), [without])


def test_margins_of_what_is_shown_discloses_nothing(tmp_path: Path) -> None:
    shown = written(tmp_path / "shown.csv", "x,p,q,All\na,5,,5\nb,6,7,13\nAll,11,7,18\n")
    true = written(tmp_path / "true.csv", "x,p,q,All\na,5,,9\nb,6,7,13\nAll,11,11,22\n")
    assert [table.axes for table in read_published([shown])] == [("x", "columns")]
    assert len(read_published([true])) == 4


def test_one_column_of_numbers_holds_the_counts(tmp_path: Path) -> None:
    """As pandas writes a table of one axis: the column has the name of whatever was counted."""
    wide = written(tmp_path / "wide.csv", "x,p,q,All\na,5,,5\nb,6,7,13\nAll,11,7,18\n")
    one = written(tmp_path / "one.csv", "x,badge\na,9\nb,13\n")
    part = written(tmp_path / "part.csv", "x,p\na,5\nb,6\n")
    assert [table.axes for table in read_published([wide, one])] == [("x", "columns"), ("x",)]
    assert [table.axes for table in read_published([wide, part])] == [("x", "columns")] * 2
    kinds = written(tmp_path / "kinds.csv", "kind,count\np,11\nq,11\n")
    assert [table.axes for table in read_published([part, kinds])] == [("x", "kind"), ("kind",)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,p,q\na,1.5,2\nb,3,4\n", r"t.csv: line 2: p = '1.5': is not a whole number"),
        ("x,p,q\na,1,2\nb,3,-4\n", r"t.csv: line 3: q = '-4': is negative"),
        ("x,p,q\na,1,2\na,3,4\n", r"t.csv: line 3: the row a is there twice"),
    ],
)
def test_wrong_cross_tables(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_published([written(tmp_path / "t.csv", text)])


def test_listed_sums_are_checked(tmp_path: Path) -> None:
    text = "region,sex,n\na,f,3\nb,f,4\nN,f,7\nTotal,f,7\n"
    hierarchy = written(tmp_path / "h.hrc", "N\n@a\n@b\nS\n@c\n")
    table = read_linked([written(tmp_path / "t.csv", text)], {"region": [hierarchy]}).tables[0]
    assert table.counts[:, 0].tolist() == [7, 7, 0, 3, 4, 0]
    assert np.array_equal(table.counts[:, 0], table.counts[:, 1])
    wrong = written(tmp_path / "w.csv", text.replace("N,f,7", "N,f,8"))
    with pytest.raises(InputError, match=r"line 4: n = '8': but the counts of its parts add up to 7"):
        read_linked([wrong], {"region": [hierarchy]})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\nx,y\n", "no column of counts"),
        ("a,n\nx,1\nx,2\n", "line 3: the cell is listed twice"),
        ("a,n\nx,-1\n", "is negative"),
        ("n\n3\n", "there is no axis beside the counts"),
    ],
)
def test_wrong_tables(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_linked([written(tmp_path / "t.csv", text)], {}).tables[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,Freq,sdcStatus\nTotal,3,s\nx,3,q\n", r"t.csv: line 3: sdcStatus = 'q'"),
        ("a,one,freq,cost,status\nTotal,3,3,3,S\nx,3,3,3,99\n", r"t.csv: line 3: status = '99'"),
        ("a,n,primary,suppressed\nTotal,3,FALSE,MAYBE\nx,3,FALSE,FALSE\n", r"t.csv: line 2: suppressed = 'MAYBE'"),
        ("a,count,status\nTotal,3,exact\nx,3,guessed\n", r"t.csv: line 3: status = 'guessed'"),
    ],
)
def test_a_status_that_is_not_known_is_refused(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_published([written(tmp_path / "t.csv", text)])


def test_noised_counts_beside_their_total_are_no_counts(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,count,weighted,status\nTotal,3,4.5,exact\nx,-1,0,noised\ny,4,6,noised\n")
    total, parts = read_published([path])
    assert (total.axes, total.status, total.lower.tolist(), total.noisy) == ((), ("exact",), [3], None)
    assert parts.axes == ("a",) and parts.status == ("noised", "noised")
    assert parts.noisy is not None and parts.noisy.tolist() == [-1, 4]
    assert parts.lower.tolist() == [0, 0] and (parts.upper > 10**9).all()
    with pytest.raises(InputError, match="line 3: status = 'noised': only exact counts can be suppressed"):
        read_earlier(path, {})


def test_a_hierarchy_needs_its_axis(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,n,sdcStatus\nTotal,3,s\nx,3,s\n")
    with pytest.raises(InputError, match="--hierarchy z: there is no such axis; the axes are a"):
        read_published([path], hierarchies={"z": [tmp_path / "z.hrc"]})
