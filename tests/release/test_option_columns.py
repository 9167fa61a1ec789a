"""Counts side by side are the votes of the rows written out one by one, and totals that do not add up are refused."""

import random
from pathlib import Path

import pytest

from safemargin import release
from safemargin.core import InputError, Table
from safemargin.io import Survey
from safemargin.release.inputs import read_inputs, tabulate
from safemargin.release.layout import side_by_side
from safemargin.release.project import Project

AREAS = "[axes.area]\n[axes.kind]\n"
RETURNS = "area,kind,Yes,No,Blank,Total\nN,town,40,58,2,100\nN,land,30,20,0,50\nS,town,11,12,1,24\nS,land,5,5,5,15\n"


def votes(table: Table) -> dict[tuple[str, ...], list[int]]:
    """Counts by labels of every occupied cell."""
    (tally,) = table.votes
    axes = table.schema.axes
    return {
        tuple(axis.categories[code] for axis, code in zip(axes, row, strict=True)): counts
        for row, counts in zip(tally.codes.tolist(), tally.counts.tolist(), strict=True)
    }


def project(folder: Path, data: str, text: str = RETURNS, axes: str = AREAS) -> Project:
    """A project with this file of returns."""
    (folder / "returns.csv").write_text(text)
    return Project.parse(f'[data]\nfile = "returns.csv"\n{data}\n{axes}', folder=folder)


def refusal(folder: Path, data: str, text: str = RETURNS) -> str:
    """The one line with which a project is refused."""
    with pytest.raises(InputError) as caught:
        tabulate(project(folder, data, text))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_total_is_checked_and_no_option(tmp_path: Path) -> None:
    for columns in ('["Yes", "No", "Blank"]', '["Yes", "No", "Blank", "Total"]'):
        table = tabulate(project(tmp_path, f"options = {{columns = {columns}}}"))
        assert table.schema.options == ("Yes", "No", "Blank")
        assert votes(table)["N", "town"] == [40, 58, 2]
    table = tabulate(project(tmp_path, 'options = {columns = ["Yes", "No"], uncounted = ["Blank"]}'))
    assert table.totals.tolist() == [86, 95] and table.people(()).counts.sum() == 181
    table = tabulate(project(tmp_path, 'options = {columns = ["Yes", "No", "Blank"]}\nlabels = {No = "Yes"}'))
    assert table.schema.options == ("Yes", "Blank") and votes(table)["S", "land"] == [10, 5]


@pytest.mark.slow
def test_side_by_side_is_the_same_as_one_row_per_person(tmp_path: Path) -> None:
    draw = random.Random(3)
    for _ in range(20):
        rows = [(a, k, *(draw.randrange(5) for _ in range(4))) for a in "abc" for k in "xyz" for _ in range(2)]
        rows.append(("a", "x", 1, 1, 1, 1))
        lines = [f"{a},{k},{','.join(map(str, n))},{sum(n)}" for a, k, *n in rows]
        wide = project(
            tmp_path, 'options = {columns = ["A", "B", "C", "D"]}', "\n".join(["area,kind,A,B,C,D,total", *lines])
        )
        people = [f"{a},{k},{o}" for a, k, *n in rows for o, count in zip("ABCD", n, strict=True) for _ in range(count)]
        (tmp_path / "people.csv").write_text("\n".join(["area,kind,vote", *people]) + "\n")
        listed = 'file = "people.csv"\nanswer = "vote"\noptions = ["A", "B", "C", "D"]'
        long = Project.parse(f"[data]\n{listed}\n{AREAS}", folder=tmp_path)
        assert votes(tabulate(wide)) == votes(tabulate(long))


def test_what_does_not_add_up_is_one_line_with_row_column_and_values(tmp_path: Path) -> None:
    said = refusal(tmp_path, 'options = {columns = ["Yes", "No"]}')
    assert "returns.csv: line 2 (area 'N', kind 'town'): column 'Total' says 100, but Yes 40 + No 58 = 98" in said
    wrong = RETURNS.replace("S,town,11", "S,town,12")
    said = refusal(tmp_path, 'options = {columns = ["Yes", "No", "Blank"]}', wrong)
    assert "line 4" in said and "says 24, but Yes 12 + No 12 + Blank 1 = 25" in said
    said = refusal(tmp_path, 'options = {columns = ["Yes", "No", "Blank"], total = "Cast"}')
    assert "there is no column 'Cast'" in said
    said = refusal(tmp_path, 'options = {columns = ["Yes", "No", "Blank"]}', RETURNS.replace("30,20", "x,20"))
    assert "line 3" in said and "column 'Yes': count 'x' is not a number" in said
    said = refusal(tmp_path, 'options = {columns = ["Yes", "No", "Blank"]}', RETURNS.replace("30,20", ",20"))
    assert "column 'Yes': has no count; write 0 where nobody chose it" in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('answer = "Yes"\noptions = {columns = ["Yes"]}', "data.answer = 'Yes': counts side by side"),
        ('count = "Yes"\noptions = {columns = ["Yes"]}', "has count, which counts side by side"),
        ('blank = "x"\noptions = {columns = ["Yes"]}', "has blank, which counts side by side"),
        ("options = {columns = []}", "data.options: columns = []: must not be empty"),
        ('options = {columns = ["a", "a"]}', "lists 'a' twice"),
        ('options = {columns = ["a"], uncounted = ["a"]}', "lists 'a' as an option and as uncounted"),
        ('options = {columns = ["Total"]}', "hold no option beside the total"),
        ('options = {other = ["a"]}', "columns is missing"),
        ('options = {columns = ["area", "Yes"]}', "axes.area: column 'area' is already a column of data.options"),
        ("options = 3", "data.options = 3: must be a list in brackets"),
    ],
)
def test_keys_that_do_not_go_together(tmp_path: Path, data: str, said: str) -> None:
    assert said in refusal(tmp_path, data)


def test_a_library_call_and_a_release(tmp_path: Path) -> None:
    (tmp_path / "returns.csv").write_text(
        "area,Yes,No,Total\n" + "".join(f"A{n:02},{400 + n},{500 - n},900\n" for n in range(29))
    )
    made = release(tmp_path / "returns.csv", options={"columns": ["Yes", "No"]}, by=["area"])
    exact = [cell for cell in made.to_json()["cells"] if cell["action"] == "exact" and cell["cell"]]
    assert len(exact) == 29 and sum(cell["people"] for cell in exact) == 29 * 900


def test_tallies_with_a_column_per_option(tmp_path: Path) -> None:
    (tmp_path / "site.csv").write_text("site,A,B,Total\nN,60,40,100\nS,50,70,120\n")
    (tmp_path / "sex.csv").write_text("sex,A,B,Total\nf,60,60,120\nm,50,50,100\n")
    (tmp_path / "total.csv").write_text("A,B,Total\n110,110,220\n")
    for axis, rows in (("site", "N,100\nS,120\n"), ("sex", "f,120\nm,100\n")):
        (tmp_path / f"roll_{axis}.csv").write_text(f"{axis},people\n{rows}")
    text = (
        '[tallies]\nfiles = {site = "site.csv", sex = "sex.csv"}\ntotal = "total.csv"\n'
        'options = {columns = ["A", "B"]}\n'
        '[roll]\nfiles = ["roll_site.csv", "roll_sex.csv"]\n[axes.site]\n[axes.sex]\n'
    )
    table = tabulate(Project.parse(text, folder=tmp_path))
    assert table.margin(("site",)).counts.tolist() == [[60, 40], [50, 70]] and table.totals.tolist() == [110, 110]
    (tmp_path / "sex.csv").write_text("sex,A,B,Total\nf,60,60,120\nm,50,50,101\n")
    with pytest.raises(InputError, match=r"sex\.csv: line 3: column 'Total' says 101, but A 50 \+ B 50 = 100"):
        tabulate(Project.parse(text, folder=tmp_path))


def test_people_without_an_answer_are_not_counted(tmp_path: Path) -> None:
    """The roll of a question is those who answered it; the report says how many did not."""
    rows = [f"{'NS'[n % 2]},{'AB'[n // 2 % 2] if n % 5 else ''}" for n in range(200)]
    (tmp_path / "votes.csv").write_text("\n".join(["area,vote", *rows]) + "\n")
    text = '[data]\nfile = "votes.csv"\nanswer = "vote"\nblank = "skip"\n[axes.area]\n'
    inputs = read_inputs(Project.parse(text, folder=tmp_path))
    assert inputs.table.schema.options == ("A", "B")
    assert inputs.table.people(()).counts.sum() == inputs.table.totals.sum() == 160
    assert inputs.notes[0] == "Not counted: 40 rows without an answer: 'vote' is empty."
    (tmp_path / "votes.csv").write_text("area,vote\nN,skip\nN,A\nS,\n")
    with pytest.raises(InputError, match="'skip' is an answer here"):
        read_inputs(Project.parse(text, folder=tmp_path))
    listed = text.replace('blank = "skip"', 'blank = "skip"\noptions = ["A", "skip"]')
    assert tabulate(Project.parse(listed, folder=tmp_path)).totals.tolist() == [1, 2]


def test_a_label_that_differs_in_the_first_rows_alone_names_no_rows() -> None:
    """A running number, a precinct and an income of many people are no counts of answers side by side."""
    rows = {"person": [str(n) for n in range(40)], "precinct": [str(n * 7 % 31) for n in range(40)]}
    rows |= {"income": [f"{900 + n}.5" for n in range(40)], "vote": ["yes", "no"] * 20}
    seen = {name: tuple(values) for name, values in rows.items()}
    distinct = {"person": 9_000, "precinct": 31, "income": 4_000, "vote": 2}
    assert side_by_side(Survey(9_000, distinct, seen)) is None
    assert side_by_side(Survey(40, {name: len(set(values)) for name, values in seen.items()}, seen)) is not None
