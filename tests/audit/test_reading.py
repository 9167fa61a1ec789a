"""Tables as they are found: every form of one table gives the same findings, and none a false all-clear."""

import csv
import json
import runpy
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import safemargin
from commands import Run, in_process

DEVELOPER = Path(__file__).parents[3] / "shared" / "truth" / "reading" / "make.py"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def recovered(document: Any) -> int:
    """How many suppressed counts follow exactly."""
    attacks = {attack["attack"]: attack for attack in document["attacks"]}
    return sum(finding["lower"] == finding["upper"] for finding in attacks["suppressed"]["findings"])


@pytest.mark.data
def test_no_form_of_the_developer_corpus_gets_a_false_all_clear(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not DEVELOPER.is_file():
        pytest.skip("the corpus is not beside the checkout")
    pytest.importorskip("openpyxl")
    monkeypatch.setattr(sys, "argv", ["make.py", str(tmp_path)])
    with redirect_stdout(StringIO()):
        runpy.run_path(str(DEVELOPER), run_name="__main__")
    cases = json.loads((tmp_path / "cases.json").read_text())
    assert len(cases) == 30
    for case in cases:
        ran = run("audit", case["file"], *case.get("args", []), "--json")
        if case.get("refused"):
            assert ran.code == 2 and "look like amounts" in ran.err
            continue
        assert ran.code == 1, case["file"]
        assert ran.document["reading"], case["file"]
        if "recovered" in case:
            assert recovered(ran.document) >= case["recovered"], case["file"]
        else:
            assert max(attack["people_exposed"] for attack in ran.document["attacks"]) == case["exposed"]


ROWS, COLUMNS = ["North", "South", "East"], ["full", "part", "none"]
COUNTS = np.array([[31, 52, 12], [24, 61, 9], [20, 44, 15]])


def wide(path: Path, gap: str = "*", hidden: tuple[tuple[int, int], ...] = ((2, 0),), total: str = "Total") -> Path:
    lines: list[list[object]] = [["Region", *COLUMNS, total]]
    for i, row in enumerate(ROWS):
        cells = [gap if (i, j) in hidden else int(COUNTS[i, j]) for j in range(3)]
        lines.append([row, *cells, int(COUNTS[i].sum())])
    lines.append([total, *map(int, COUNTS.sum(axis=0)), int(COUNTS.sum())])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)
    return path


def test_the_reading_comes_before_anything_else(run: Run, tmp_path: Path) -> None:
    wide(tmp_path / "t.csv")
    text = run("audit", "t.csv").out
    assert text.startswith(
        'Read as: rows Region (3), columns (3), totals "Total" (checked: they add up), 1 gap marked *'
    )
    page = run("audit", "t.csv", "--out", "page.html")
    assert page.code == 1 and "Read as: rows Region (3)" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "total", ["Insgesamt", "Ensemble", "_T", "Summe", "Yhteensä", "合計", "GRAND TOTAL", "Total (n)"]
)
def test_totals_have_many_names(run: Run, tmp_path: Path, total: str) -> None:
    wide(tmp_path / "t.csv", total=total)
    ran = run("audit", "t.csv", "--json")
    assert ran.code == 1 and recovered(ran.document) == 1 and not ran.document["doubtful"]


def test_a_total_without_a_name_is_a_doubt(run: Run, tmp_path: Path) -> None:
    """Two gaps in every line and column that has one: nothing follows, and exit code 3 says why that is not certain."""
    hidden = ((0, 0), (0, 1), (1, 0), (1, 1))
    assert run("audit", wide(tmp_path / "t.csv", hidden=hidden)).code == 0
    ran = run("audit", wide(tmp_path / "t.csv", hidden=hidden, total="Qwx"))
    assert ran.code == 3 and "the reading is doubtful" in " ".join(ran.out.split())
    assert run("audit", "t.csv", "--reading", "totals=Qwx").code == 0


def test_a_range_of_gaps_makes_intervals_narrower(run: Run, tmp_path: Path) -> None:
    hidden = ((0, 2), (1, 2), (0, 0), (1, 0))
    wide(tmp_path / "t.csv", hidden=hidden)
    free = run("audit", "t.csv", "--json").document
    known = run("audit", "t.csv", "--reading", "suppressed=5-40", "--json").document
    width = [sum(cell["upper"] - cell["lower"] for cell in found["cells"]) for found in (free, known)]
    assert width[1] < width[0]


def test_rounded_counts_are_intervals(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("r,a,b,Total\nx,10,25,40\ny,15,35,50\nz,5,45,55\nTotal,35,105,140\n")
    document = run("audit", "t.csv", "--json").document
    assert document["reading"][0]["rounded_to"] == 5
    cell = next(cell for cell in document["cells"] if cell["cell"] == {"r": "x", "columns": "a"})
    assert cell["lower"] >= 8 and cell["upper"] <= 12 and cell["lower"] < cell["upper"]
    (tmp_path / "e.csv").write_text("r,a,b,Total\nx,10,25,35\ny,15,35,50\nTotal,25,60,85\n")
    assert run("audit", "e.csv", "--json").document["reading"][0]["rounded_to"] == 1
    assert run("audit", "e.csv", "--reading", "rounded=5", "--json").document["reading"][0]["rounded_to"] == 5


def test_totals_that_do_not_add_up_name_the_row(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("r,a,b,Total\nx,11,25,36\ny,15,33,49\nTotal,26,58,85\n")
    ran = run("audit", "t.csv")
    assert ran.code == 2 and "t.csv: line 3:" in ran.err and "add up to 48" in ran.err and "total 49" in ran.err
    assert run("audit", "t.csv", "--reading", "totals=none").code in (0, 1, 3)


def test_folders_and_patterns_are_read_together(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "a.csv").write_text("Region,x,y\nN,*,20\nS,30,*\n")
    (folder / "b.csv").write_text("region,count\nN,25\nS,37\n")
    for asked in (folder, folder / "*.csv"):
        ran = run("audit", asked, "--json")
        assert ran.code == 1 and recovered(ran.document) == 2


def test_answers_side_by_side_are_asked_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Precinct,Yes,No,Total\nA,40,0,40\nB,31,29,60\nTotal,71,29,100\n")
    ran = run("audit", "t.csv")
    assert ran.code == 3 and "--reading answers=Yes,No" in ran.out
    assert run("audit", "t.csv", "--reading", "answers=Yes,No").code == 1
    found = safemargin.audit(tmp_path / "t.csv", reading={"answers": "Yes,No"})
    assert [finding.people for finding in found.attempts[0].findings] == [40]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("region,turnover,largest\nN,1204551,900000\nS,431999,31999\n", "look like amounts"),
        ("region,a,b\nN,1204.5,3\nS,4,5\n", "is not a whole number"),
        ("region,a,b\nN,€ 12,3\nS,4,5\n", "look like amounts"),
        ("region,a,b\nN,99999999999999,3\nS,4,5\n", "larger than any number of people"),
        ("region;a;b\nN;1.000;2.000\nS;3.000;4.000\n", "may be thousands or a fraction"),
        ("region,a,b\nN,-4,3\nS,4,5\n", "is negative"),
        ("region,a,b\nN,4,3\nN,4,5\n", "is there twice"),
        ("region,count\nN,4\nS,abc\n", "count = 'abc': is not a number"),
    ],
)
def test_what_is_no_count_is_refused(run: Run, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    ran = run("audit", "t.csv")
    assert ran.code == 2 and words in ran.err and ran.err.count("\n") == 1


def test_an_option_that_contradicts_the_table_is_no_way_to_an_all_clear(run: Run, tmp_path: Path) -> None:
    """18 is no multiple of 5, and the label `Total` is the sum of the others, whatever somebody says."""
    hidden = ((0, 0), (0, 1), (1, 0), (1, 1))
    wide(tmp_path / "t.csv", hidden=hidden)
    ran = run("audit", "t.csv", "--reading", "rounded=5")
    assert ran.code == 2 and "t.csv: line 2: 12 is no multiple of 5" in ran.err
    assert run("audit", "t.csv", "--reading", "totals=none").code == 3
    assert "by the option" in " ".join(run("audit", "t.csv", "--reading", "suppressed=5-99").out.split())
    with (tmp_path / "t.csv").open("a") as file:
        file.write("\nCounts are rounded to 10\n")
    ran = run("audit", "t.csv")
    assert ran.code == 3 and "12 is no multiple of 10" in " ".join(ran.out.split())


def test_ranges_are_counted_in_the_echo(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area,kind,lower,upper\nN,a,12,12\nN,b,1,4\nS,a,1,4\nS,b,20,20\n")
    assert "2 ranges" in " ".join(run("audit", "t.csv").out.split())


@pytest.mark.parametrize("name", ["Suppressed", "is_suppressed", "suppression_flag"])
@pytest.mark.parametrize(("word", "code"), [("MAYBE", 3), ("TRUE", 1), ("no", 0)])
def test_what_a_column_about_secrecy_says_and_nobody_understands_is_doubted(
    run: Run, tmp_path: Path, name: str, word: str, code: int
) -> None:
    """A count beside such a word was taken for a published one."""
    (tmp_path / "t.csv").write_text(f"a,n,{name}\nTotal,90,FALSE\nx,50,FALSE\ny,40,{word}\n")
    assert run("audit", "t.csv").code == code
