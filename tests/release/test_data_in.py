"""Data as offices have them: bands, missing values, rows to skip, contests, labels, encodings, Excel, SPSS, Stata."""

import datetime as dt
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import safemargin
from excel import write_xlsx
from safemargin.core import InputError, Table, Target
from safemargin.io import read_published, read_tidy
from safemargin.release.coding import band_names
from safemargin.release.inputs import read_inputs, tabulate
from safemargin.release.project import Project

pytestmark = pytest.mark.full

AGE = "[axes.age]\nbands = [18, 30, 65]\n"


def project(folder: Path, axes: str = AGE, data: str = "", file: str = "v.csv", more: str = "") -> Project:
    return Project.parse(f'[data]\nfile = "{file}"\nanswer = "vote"\n{data}\n{axes}\n{more}', folder=folder)


def cells(table: Table) -> dict[str, int]:
    """People by the categories of all axes, joined by a blank, and the answer."""
    (votes,) = table.votes
    return {
        " ".join([*(a.categories[c] for a, c in zip(table.schema.axes, row, strict=True)), option]): int(count)
        for row, counts in zip(votes.codes.tolist(), votes.counts.tolist(), strict=True)
        for option, count in zip(table.schema.options, counts, strict=True)
        if count
    }


def refusal(*given: Any, **named: Any) -> str:
    with pytest.raises(InputError) as caught:
        tabulate(project(*given, **named))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    (tmp_path / "v.csv").write_text("age,vote\n17,A\n18,A\n29.5,B\n30,B\n64,A\n65,A\n101,B\n")
    return tmp_path


def test_bands_of_numbers(folder: Path) -> None:
    table = tabulate(project(folder))
    (axis,) = table.schema.axes
    assert axis.categories == ("under 18", "18-29", "30-64", "65 and over") and axis.ordered
    assert cells(table) == {
        "under 18 A": 1, "18-29 A": 1, "18-29 B": 1, "30-64 A": 1, "30-64 B": 1, "65 and over A": 1, "65 and over B": 1,
    }  # fmt: skip


def test_bands_of_dates_and_of_ages_on_a_day(folder: Path) -> None:
    (folder / "v.csv").write_text("born,vote\n1949-12-31,A\n1950-01-01,A\n1980-06-01 00:00:00,B\n")
    assert cells(tabulate(project(folder, "[axes.born]\nbands = [1950-01-01, 1980-01-01]\n"))) == {
        "before 1950 A": 1, "1950-1979 A": 1, "1980 and later B": 1,
    }  # fmt: skip
    ages = '[axes.age]\ncolumn = "born"\nbands = [44, 45]\nage_on = 2025-05-31\n'
    assert cells(tabulate(project(folder, ages))) == {"44 B": 1, "45 and over A": 2}
    assert "1980-06-01 00:00:00' lies after 1979-01-01" in refusal(folder, ages.replace("2025-05-31", "1979-01-01"))


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ([5], ("under 5", "5 and over")),
        ([-10, 0, 1], ("under -10", "-10 to -1", "0", "1 and over")),
        ([0.5, 1.5], ("under 0.5", "0.5 to under 1.5", "1.5 and over")),
        (["1950-03-01", "1980-01-01"], ("before 1950-03-01", "1950-03-01 to 1979-12-31", "1980-01-01 and later")),
    ],
)
def test_names_of_bands(edges: list[Any], names: tuple[str, ...]) -> None:
    section = Project.build({"data": {"file": "v", "answer": "vote"}, "axes": {"x": {"bands": edges}}}).axes["x"]
    assert band_names(section.bands) == names


@pytest.mark.parametrize(
    ("value", "data", "said"),
    [
        ("old", "", "v.csv: column 'age': 'old' is not a number; list it in data.missing if it means none"),
        ("1,234", "", "v.csv: column 'age': '1,234' has a comma; set data.decimal = "),
        ("1.234,5", 'decimal = ","', "v.csv: column 'age': '1.234,5' is not a number"),
        ("", "", "v.csv: column 'age' has empty values; every row needs a category, or set missing of the axis"),
        ("?", 'missing = ["?"]', "v.csv: column 'age' has the value '?', which means none; every row needs a category"),
        ("1e5", "", "'1e5' is not a number"),
        ("x" * 500, "", "'" + "x" * 60 + "'... is not a number"),
    ],
)
def test_values_without_a_band(folder: Path, value: str, data: str, said: str) -> None:
    (folder / "v.csv").write_text(f'age,vote\n17,A\n"{value}",B\n')
    assert said in refusal(folder, data=data)


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ("bands = []", "axes.age.bands = []: must be a list of numbers or dates"),
        ("bands = [18, 18]", "axes.age.bands = [18, 18]: must rise"),
        ("bands = [18, 1950-01-01]", "mixes numbers and dates"),
        ('bands = ["a"]', "'a' is neither a number nor a date"),
        ("bands = [true]", "True is neither a number nor a date"),
        ('bands = [18]\ncategories = ["a"]', "axes.age: has categories and bands"),
        ("age_on = 2024-11-05", "axes.age: has age_on: give bands of ages"),
        ("bands = [18]\nage_on = 5", "axes.age.age_on = 5: must be a date"),
        ('labels = {a = "b", b = "c"}', "axes.age.labels: a: b is also a value with a label of its own"),
        ('label = "count"', "axes.age.label = 'count': is reserved"),
    ],
)
def test_wrong_keys_of_an_axis(folder: Path, axis: str, said: str) -> None:
    assert said in refusal(folder, f"[axes.age]\n{axis}\n")


def test_more_different_numbers_than_an_axis_may_have(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("safemargin.io.rows.MOST_LABELS", 3)
    assert len(tabulate(project(folder)).schema.axes[0].categories) == 4
    assert "looks like an identifier" in refusal(folder, "[axes.age]\n")


def test_missing_values_of_answers_and_axes(folder: Path) -> None:
    (folder / "v.csv").write_text("age,vote\n?,A\n 20,A\n NA ,?\n,B\n40,NA\n")
    data = 'missing = ["?", "NA"]\nblank = "no answer"'
    axes = '[axes.age]\nbands = [30]\nmissing = "unknown"\n'
    table = tabulate(project(folder, axes, data))
    assert table.schema.axes[0].categories == ("under 30", "30 and over", "unknown")
    assert cells(table) == {
        "under 30 A": 1, "30 and over no answer": 1, "unknown A": 1, "unknown B": 1, "unknown no answer": 1,
    }  # fmt: skip
    assert "column 'vote' is empty for 2 people" in refusal(folder, axes, 'missing = ["?", "NA"]')


def test_rows_without_a_category_lie_in_no_area(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("town,county,vote\na,N,A\nb,N,B\n?,N,A\n?,S,A\n")
    axes = '[axes.town]\nlevels = ["county"]\nmissing = "unknown"\n'
    axis = tabulate(project(tmp_path, axes, 'missing = "?"')).schema.axes[0]
    assert axis.parents == {"a": "N", "b": "N"} and axis.categories == ("a", "b", "unknown")


def test_skipped_rows_and_one_contest(tmp_path: Path) -> None:
    lines = ["office,area,vote", "Mayor,n,A", "Mayor,s,B", "Mayor,n,spoilt", "Judge,n,X", "Judge,s,A", "Judge,s,Y"]
    (tmp_path / "v.csv").write_text("\n".join(lines) + "\n")
    one = project(tmp_path, "[axes.area]\n", 'contest = {office = "Mayor"}\nskip = {vote = ["spoilt", "void"]}')
    inputs = read_inputs(one)
    assert cells(inputs.table) == {"n A": 1, "s B": 1} and inputs.table.schema.options == ("A", "B")
    assert inputs.notes == (
        "Skipped 3 rows of other contests: 'office' is not 'Mayor'.",
        "Skipped 1 row: 'vote' is 'spoilt' or 'void'.",
    )
    said = refusal(tmp_path, "[axes.area]\n", 'contest = {office = "Sheriff"}')
    assert said.endswith("column 'office': no row has the value 'Sheriff'; there are 'Judge', 'Mayor'")
    assert "no row is left" in refusal(tmp_path, "[axes.area]\n", 'skip = {office = ["Mayor", "Judge"]}')


def test_the_report_of_the_office_states_skipped_rows_and_the_published_folder_does_not(tmp_path: Path) -> None:
    rows = [{"area": "ns"[n % 2], "vote": "AB"[n // 2 % 2]} for n in range(400)] + [{"area": "n", "vote": "spoilt"}] * 7
    made = safemargin.release(
        rows, answer="vote", by=["area"], skip={"vote": ["spoilt"]}, target=Target(kappa=10, tau=0)
    )
    out = made.write(tmp_path / "out")
    assert "Skipped 7 rows: 'vote' is 'spoilt'." in (out / "confidential" / "plan.json").read_text()
    assert all(b"spoilt" not in path.read_bytes() for path in (out / "published").iterdir())


def test_labels_of_axes_categories_and_answers(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("sex,site,vote\nM,x,1\nm,x,2\nF,y,1\n")
    (tmp_path / "roll.csv").write_text("sex,site,people\nMen,x,5\nF,y,4\n")
    (tmp_path / "facts.csv").write_text("sex,option,count\nF,yes,1\n")
    axes = '[axes.sex]\nlabel = "Sex of the person"\nlabels = {M = "Men", m = "Men", F = "Women"}\n[axes.site]\n'
    more = '[roll]\nfiles = ["roll.csv"]\n[outputs]\nmargins = [["sex", "site"]]\n'
    more += '[[onlookers]]\nname = "clerk"\nfacts = ["facts.csv"]\n'
    read = project(tmp_path, axes, 'labels = {1 = "yes", 2 = "no"}', more=more)
    assert tuple(read.axes) == ("Sex of the person", "site") and read.outputs.margins == (
        ("Sex of the person", "site"),
    )
    inputs = read_inputs(read)
    assert cells(inputs.table) == {"Men x no": 1, "Men x yes": 1, "Women y yes": 1}
    assert inputs.table.roll[0].counts.ravel().tolist() == [5, 4]
    (fact,) = inputs.onlookers[0].facts
    assert fact.axes == ("Sex of the person",) and fact.groups == ((frozenset(["Women"]),),)


def test_facts_never_become_a_new_axis_or_one_category(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("sex,vote\nM,1\nm,2\nF,1\n")
    (tmp_path / "facts.csv").write_text("sex,option,count\nM,1,1\nm,1,0\n")
    axes = '[axes.gender]\ncolumn = "sex"\nlabels = {M = "Men", m = "Men"}\n'
    more = '[[onlookers]]\nname = "clerk"\nfacts = ["facts.csv"]\n'
    with pytest.raises(InputError, match="column 'sex': 'Men' is the label of two categories"):
        read_inputs(project(tmp_path, axes, more=more))


def test_a_roll_with_a_row_per_person_and_other_words(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age,vote\n17,A\n40,B\n")
    (tmp_path / "roll.csv").write_text("name,age\na,16\nb,17\nc,17\nd,18-29\ne,44\n")
    table = tabulate(project(tmp_path, more='[roll]\nfiles = ["roll.csv"]\n'))
    assert table.roll[0].codes.ravel().tolist() == [0, 1, 2] and table.roll[0].counts.ravel().tolist() == [3, 1, 1]
    (tmp_path / "roll.csv").write_text("age,persons\n17,20\n40,30\n")
    table = tabulate(project(tmp_path, more='[roll]\nfiles = ["roll.csv"]\n'))
    assert table.roll[0].counts.ravel().tolist() == [20, 30]
    (tmp_path / "roll.csv").write_text("age,points\n17,20\n40,30\n")
    said = refusal(tmp_path, more='[roll]\nfiles = ["roll.csv"]\n')
    assert "there is no column 'people'; a roll counts people, or has a row for each of them" in said
    assert said.endswith("nothing says that column 'points' counts people; call it 'people'")


def test_another_encoding_and_a_stated_separator(tmp_path: Path) -> None:
    text = 'sep=;\nOrt;Gehalt;vote\nZürich;"1,5";A\n"Köln; alt";2,5;B\n'
    (tmp_path / "v.csv").write_bytes(text.encode("cp1252"))
    axes = "[axes.Ort]\n[axes.Gehalt]\nbands = [2]\n"
    data = 'encoding = "cp1252"\ndecimal = ","'
    expected = {"Zürich under 2 A": 1, "Köln; alt 2 and over B": 1}
    assert cells(tabulate(project(tmp_path, axes, data))) == expected
    (tmp_path / "v.csv").write_text(text)
    assert cells(tabulate(project(tmp_path, axes, 'decimal = ","'))) == expected
    assert "line 3: has 2 fields, the header has 3" in _with(tmp_path, "sep=;\na;b;vote\n1;2\n")
    assert "is no encoding" in refusal(tmp_path, axes, 'encoding = "utf-16"')
    assert "is no encoding" in refusal(tmp_path, axes, 'encoding = "klingon"')
    (tmp_path / "v.csv").write_bytes(text.encode("cp1252"))
    assert "is not UTF-8; save the file as UTF-8, or state data.encoding" in refusal(tmp_path, axes)


def _with(folder: Path, text: str) -> str:
    (folder / "w.csv").write_text(text)
    return refusal(folder, "[axes.a]\n[axes.b]\n", file="w.csv")


def test_excel(tmp_path: Path) -> None:
    people = [["age", "born", "vote"], [17, "x", "A"], [29.5, None, "B"], [None, None, None], [65, "y", "A"]]
    write_xlsx(tmp_path / "v.xlsx", {"Notes": [["hello"]], "People & votes": people})
    read = project(tmp_path, AGE, 'table = "People & votes"', "v.xlsx")
    assert cells(tabulate(read)) == {"under 18 A": 1, "18-29 B": 1, "65 and over A": 1}
    assert refusal(tmp_path, file="v.xlsx").endswith("data.table is missing; the sheets are Notes, People & votes")
    assert "there is no sheet 'x'" in refusal(tmp_path, AGE, 'table = "x"', "v.xlsx")
    (tmp_path / "v.xlsx").write_bytes((tmp_path / "v.xlsx").read_bytes()[:-100])
    assert "v.xlsx: cannot be read as an Excel file" in refusal(tmp_path, file="v.xlsx")
    write_xlsx(tmp_path / "roll.xlsx", {"roll": [["age", "people"], ["under 18", 3], [40, 4]]})
    (tmp_path / "v.csv").write_text("age,vote\n17,A\n")
    table = tabulate(project(tmp_path, more='[roll]\nfiles = ["roll.xlsx"]\n'))
    assert table.roll[0].counts.ravel().tolist() == [3, 4]


def test_spss_and_stata(tmp_path: Path) -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    days = [dt.date(1949, 1, 2), dt.date(1990, 3, 4), None]
    frame = pandas.DataFrame({"sex": [1.0, 2.0, 1.0], "born": days, "vote": ["A", "B", "A"]})
    axes = '[axes.sex]\n[axes.born]\nbands = [1950-01-01]\nmissing = "?"\n'
    for name in ("sav", "dta"):
        labels = {"sex": {1: "Men", 2: "Women"}}
        getattr(pyreadstat, f"write_{name}")(frame, str(tmp_path / f"v.{name}"), variable_value_labels=labels)
        expected = {"Men before 1950 A": 1, "Women 1950 and later B": 1, "Men ? A": 1}
        assert cells(tabulate(project(tmp_path, axes, file=f"v.{name}"))) == expected
    (tmp_path / "v.sav").write_bytes(b"$FL2@(#) nothing")
    assert re.search("v.sav: cannot be read as an SPSS file: ", refusal(tmp_path, axes, file="v.sav"))


def test_a_library_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_xlsx(tmp_path / "v.xlsx", {"a": [["age", "vote"], [1, "A"]]})
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    assert refusal(tmp_path, file="v.xlsx").endswith("install it with: pip install 'safemargin[excel]'")


def test_the_ledger_follows_people_by_bands(tmp_path: Path) -> None:
    lines = [f"p{n},{20 + n % 60},{'AB'[n % 2]}" for n in range(300)] + ["p300,44,spoilt"]
    (tmp_path / "v.csv").write_text("\n".join(["id,age,vote", *lines]) + "\n")
    more = '[ledger]\nfile = "l.sqlite"\npopulation = "p"\ncycle = "1"\nanswers = "kept"\nid = "id"\n'
    inputs = read_inputs(project(tmp_path, AGE, 'skip = {vote = "spoilt"}', more=more))
    assert inputs.book is not None and inputs.book.members is not None and len(inputs.book.members) == 300
    assert set(inputs.book.members.values()) == {("18-29",), ("30-64",), ("65 and over",)}


def test_frames_take_the_same_keys() -> None:
    rows = [{"age": 20 + n % 50, "vote": "AB"[n % 3 > 0], "office": "m" if n % 5 else "j"} for n in range(500)]
    by = {"age": {"bands": [30, 50], "label": "Age group", "labels": {"under 30": "young"}}}
    made = safemargin.release(rows, answer="vote", by=by, contest={"office": "m"}, target=Target(kappa=10, tau=0))
    assert made.tables["Age group"]["Age group"].unique().tolist() == ["young", "30-49", "50 and over"]
    assert made.tables["total"]["count"].sum() == 400


@pytest.mark.parametrize(
    "view",
    [
        "with recursive c(x) as (select 1 union all select x + 1 from c) select x as age, x % 2 as vote from c",
        "with c(x) as (select 1 union all select x + 1 from c) select x as age, 'A' as vote from c where x < 0",
    ],
)
def test_a_view_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str) -> None:
    monkeypatch.setattr("safemargin.io.sqlite.MOST_SECONDS", 0.3)
    with closing(sqlite3.connect(tmp_path / "v.db")) as database:
        database.execute(f"create view people as {view}")
        database.execute("create table person (age, vote)")
        database.execute("create view few as select 20 as age, 'A' as vote union all select 40, 'B'")
        database.commit()
    assert "view 'people' does not end within" in refusal(tmp_path, AGE, 'table = "people"', "v.db")
    assert cells(tabulate(project(tmp_path, AGE, 'table = "few"', "v.db"))) == {"18-29 A": 1, "30-64 B": 1}


def test_forty_axes_are_read_and_sixty_one_are_refused(tmp_path: Path) -> None:
    names = [f"x{n}" for n in range(61)]
    lines = [",".join([str((row >> (n % 11)) & 1) for n in range(61)] + ["AB"[row % 2]]) for row in range(2000)]
    (tmp_path / "v.csv").write_text("\n".join([",".join([*names, "vote"]), *lines]) + "\n")
    table = tabulate(project(tmp_path, "".join(f"[axes.{name}]\n" for name in names[:40])))
    assert len(table.schema.axes) == 40 and table.totals.sum() == 2000
    said = refusal(tmp_path, "".join(f"[axes.{name}]\n" for name in names))
    assert said == "project: axes: there are 61, more than 60; omit some, or release them in parts"


def test_ten_thousand_categories_are_read(tmp_path: Path) -> None:
    lines = [f"c{n % 10_000},{'AB'[n // 10_000 % 2]}" for n in range(40_000)]
    (tmp_path / "v.csv").write_text("\n".join(["area,vote", *lines]) + "\n")
    table = tabulate(project(tmp_path, "[axes.area]\n"))
    assert len(table.schema.axes[0].categories) == 10_000


def test_labels_that_a_spreadsheet_would_run_are_quoted_and_read_again(tmp_path: Path) -> None:
    site = ["=1+1", "'=x", "@a", "-5", "b"]
    rows = [{"site": site[n % 5], "vote": ["+yes", "no"][n // 5 % 2]} for n in range(1000)]
    made = safemargin.release(
        rows, answer="vote", by=["site"], outputs={"quote_formulas": True}, target=Target(kappa=10, tau=0)
    )
    published = made.write(tmp_path / "out") / "published"
    lines = (published / "site.csv").read_text().splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"'=1+1", "''=x", "'@a", "-5", "b"}
    table = read_tidy(published / "site.csv")
    assert {name for group in table.groups[0] for name in group} == set(site) and set(table.options) == {"+yes", "no"}
    assert not safemargin.audit([published / "site.csv"]).attempts[0].findings
    roll, auditors = (published.parent / name for name in ("confidential/roll.csv", "auditors"))
    assert safemargin.verify(published, roll=[roll], auditors=auditors, rerun=True).outcome == "holds"


def test_sdmx_csv(tmp_path: Path) -> None:
    head = "DATAFLOW,FREQ,SEX,AGE,OBS_VALUE,OBS_STATUS\n"
    cells_of = {("M", "Y1"): 4, ("M", "Y2"): 6, ("F", "Y1"): "", ("F", "Y2"): 9, ("_T", "Y2"): 15, ("M", "_T"): 10}
    rows = [
        f"ESTAT:D(1.0),A,{sex},{age},{value},{'c' if value == '' else ''}" for (sex, age), value in cells_of.items()
    ]
    (tmp_path / "t.csv").write_text(head + "\n".join(rows) + "\n")
    tables = {table.axes: table for table in read_published([tmp_path / "t.csv"])}
    assert set(tables) == {("SEX", "AGE"), ("SEX",), ("AGE",)}
    joint = tables["SEX", "AGE"]
    assert sorted(joint.lower.tolist()) == [0, 4, 6, 9] and joint.status.count("suppressed") == 1


def test_categories_without_people_are_no_groups() -> None:
    """Listed in the project, or with a count of 0 in the data: neither merged with others nor published."""
    ages = ["18-29", "30-44", "45-59", "60-74", "75+"]
    rows = [{"age": a, "v": v, "n": n} for a, n in zip(ages, (30, 0, 25, 0, 40), strict=True) for v in ("yes", "no")]
    for by in ({"age": {"ordered": True, "categories": ages}}, ["age"]):
        made = safemargin.release(rows, answer="v", by=by, count="n", target=Target(kappa=30, tau=0))  # type: ignore[arg-type]
        assert [sorted(decision.group) for decision in made.plan.axis("age")] == [["18-29"], ["45-59"], ["75+"]]
        assert all(str(decision.action) == "exact" for decision in made.plan.axis("age"))
