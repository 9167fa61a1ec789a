"""Names of columns that mislead: the arithmetic decides, and what it leaves open is no all-clear."""

from pathlib import Path

import numpy as np
import pytest

import safemargin
from commands import Run, in_process
from found_forms import write_csv
from safemargin.core import InputError

COLUMNS = [
    ["SE", "NO", "FI"], ["Low", "High"], ["Lower", "Upper"], ["Min", "Max"], ["From", "To"], ["Share", "Own", "Rent"],
    ["Primaria", "Media", "Superior"], ["Mean", "Kind"], ["Change", "Stay"], ["%", "#"], ["Rate A", "Rate B"],
    ["Average", "Good", "Bad"], ["CV", "CI"], ["Std", "Nonstd"], ["Quote", "Unquote"], ["Tasa", "Otros"],
    ["Decimals", "Vector"], ["Code", "Data", "AI"], ["Source", "Sink"], ["Status quo", "New"], ["Flag", "None"],
    ["Symbol", "Text"], ["C", "S", "X"], ["Year 1", "Year 2"], ["Id", "Ego"], ["Week", "Month"], ["Notes", "Coins"],
    ["1", "2", "3"], ["<18", "18-64", "65+"], ["1-4", "5-9", "10+"], ["2019", "2020", "2021"], ["Income", "Wealth"],
]  # fmt: skip
CORNERS = ["Region", "", "Year", "Code", "Age", "id", "Rank", "Count", "Status", "Notes"]
ROWS = [
    ["North", "South", "East", "West"], ["2018", "2019", "2020", "2021"], ["0-17", "18-39", "40-64", "65+"],
    ["Mean", "Median", "Mode", "None"], ["Note 1", "Note 2", "Source a", "b"], ["Percent", "Rate", "Share", "Rest"],
]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize("names", COLUMNS, ids="-".join)
def test_a_gap_that_follows_is_never_an_all_clear(names: list[str], run: Run, tmp_path: Path) -> None:
    """One suppressed count of a table with totals follows by subtraction, whatever the columns are called."""
    rng = np.random.default_rng(sum(map(ord, "".join(names))))
    for form in range(4):
        rows, corner = ROWS[int(rng.integers(len(ROWS)))], CORNERS[int(rng.integers(len(CORNERS)))]
        counts = rng.integers(6, 400, size=(len(rows), len(names)))
        row, column = int(rng.integers(len(rows))), int(rng.integers(len(names)))
        counts[row, column] = 3
        sign, total = str(rng.choice(["*", "", "x", "..", "<5"])), str(rng.choice(["Total", "All", "Summe"]))
        shown = [[sign if (r, c) == (row, column) else int(n) for c, n in enumerate(of)] for r, of in enumerate(counts)]
        body = [[label, *cells, int(of.sum())] for label, cells, of in zip(rows, shown, counts, strict=True)]
        table = [[corner, *names, total], *body, [total, *counts.sum(axis=0).tolist(), int(counts.sum())]]
        if form == 1:  # totals first
            table = [[line[0], line[-1], *line[1:-1]] for line in table]
        elif form == 2:
            table = [table[0], table[-1], *table[1:-1]]
        elif form == 3:  # totals of columns alone
            table = [line[:-1] for line in table]
        write_csv(tmp_path / "t.csv", table)
        ran = run("audit", "t.csv")
        assert ran.code in (1, 2, 3), (table, ran.out)


def test_shares_are_still_ignored(tmp_path: Path) -> None:
    rows = [["area", "yes", "no", "share_yes"], ["a", 40, 60, 40], ["b", 30, 10, 75], ["c", 50, 50, 50]]
    write_csv(tmp_path / "t.csv", [*rows, ["Total", 120, 120, 50]])
    read = safemargin.load(tmp_path / "t.csv")
    assert any("share_yes" in note and "ignored" in note for note in read.notes) and not read.doubts
    assert int(read.cells.lower.sum()) == 480
    parts = [["area", "n", "%"], ["a", 40, 33], ["b", 30, 25], ["c", 50, 42], ["Total", 120, 100]]
    write_csv(tmp_path / "p.csv", parts)
    assert int(safemargin.load(tmp_path / "p.csv").cells.lower.sum()) == 240


def test_ranges_need_an_exact_count_or_a_doubt(tmp_path: Path) -> None:
    """`low` and `high` may be groups of people: ranges without one exact count are doubted."""
    write_csv(tmp_path / "r.csv", [["area", "lower", "upper"], ["a", 70, 70], ["b", 1, 4], ["c", 2, 9]])
    sure = safemargin.load(tmp_path / "r.csv")
    assert sure.cells.lower.tolist() == [70, 1, 2] and sure.cells.upper.tolist() == [70, 4, 9] and not sure.doubts
    write_csv(tmp_path / "d.csv", [["area", "low", "high"], ["a", 5, 7], ["b", 1, 4], ["c", 2, 9]])
    assert any("ends of ranges" in doubt for doubt in safemargin.load(tmp_path / "d.csv").doubts)


def test_the_head_of_nomis_is_read_and_a_second_table_is_named(tmp_path: Path) -> None:
    head = '"TS008"\n"Crown Copyright"\n""\n"Population","All usual residents"\n"Date","2021"\n""\n'
    body = '"area","All persons","men","women"\n"a",30,12,18\n"b",41,20,21\n"Column Total",71,32,39\n'
    (tmp_path / "n.csv").write_text(head + body)
    read = safemargin.load(tmp_path / "n.csv")
    assert read.checked and sorted(read.cells.lower.tolist()) == sorted([30, 12, 18, 41, 20, 21, 71, 32, 39])
    (tmp_path / "two.csv").write_text(body + "\n" + body.replace("men", "old").replace("All persons", "Everybody"))
    with pytest.raises(InputError, match="another table begin here"):
        safemargin.load(tmp_path / "two.csv")


def test_a_gap_in_a_sorted_list_is_no_all_clear(run: Run, tmp_path: Path) -> None:
    towns = [
        ("Oslo", 90),
        ("Bergen", 70),
        ("Tromso", 55),
        ("Alta", 34),
        ("Bodo", "*"),
        ("Hamar", "*"),
        ("Moss", 10),
        ("Rana", 7),
    ]
    write_csv(tmp_path / "t.csv", [["town", "people here"], *map(list, towns), ["Total", 300]])
    ran = run("audit", "t.csv")
    assert ran.code == 3 and "place of a gap bounds it" in " ".join(ran.out.split())
    write_csv(tmp_path / "s.csv", [["town", "people here"], *map(list, sorted(towns)), ["Total", 300]])
    assert run("audit", "s.csv").code == 0


def test_a_sum_that_is_off_by_more_than_rounding_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """All counts are multiples of 3; one total is within that rounding of its parts, another is not."""
    cells = [["area", "men", "women", "Total"], ["a", 303, 612, 915], ["b", 21, 33, 54], ["c", 99, 126, 225]]
    write_csv(tmp_path / "t.csv", [*cells, ["d", 15, 12, 297], ["Total", 441, 783, 1491]])
    with pytest.raises(InputError, match="add up to"):
        safemargin.load(tmp_path / "t.csv")
