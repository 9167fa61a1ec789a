"""A roll beside microdata: who there is, and that nobody voted who is not on it."""

from pathlib import Path

import pytest

from safemargin.core import InputError, Table
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project

VOTERS = "area,sex,vote\nx,f,A\nx,m,B\ny,f,A\ny,f,B\n"
JOINT = "area,age,sex,people\nx,o,f,1\nx,y,f,2\nx,o,m,1\ny,o,f,2\nz,o,f,0\nz,o,m,5\n"


def load(folder: Path, files: str, axes: str = "[axes.place]\ncolumn = 'area'\n[axes.sex]\n", more: str = "") -> Table:
    """The table of a project with these roll files."""
    (folder / "voters.csv").write_text(VOTERS)
    text = f'[data]\nfile = "voters.csv"\nanswer = "vote"\n[roll]\nfiles = [{files}]\n{axes}{more}'
    return tabulate(Project.parse(text, folder=folder))


def refusal(folder: Path, files: str = '"roll.csv"', more: str = "") -> str:
    """The one line with which a roll is refused."""
    with pytest.raises(InputError) as caught:
        load(folder, files, more=more)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_joint_roll_is_summed_over_what_is_no_axis(tmp_path: Path) -> None:
    (tmp_path / "roll.csv").write_text(JOINT)
    table = load(tmp_path, '"roll.csv"')
    (roll,) = table.roll
    assert roll.axes == ("place", "sex")
    assert table.schema.axis("place").categories == ("x", "y", "z")
    assert roll.codes.tolist() == [[0, 0], [0, 1], [1, 0], [2, 1]]
    assert roll.counts[:, 0].tolist() == [3, 1, 2, 5]
    assert table.people(()).counts.tolist() == [[11]]


def test_a_roll_per_axis(tmp_path: Path) -> None:
    (tmp_path / "place.csv").write_text("place,people\nx,3\ny,2\n")
    (tmp_path / "sex.csv").write_text("sex,people\nf,4\nm,1\n")
    table = load(tmp_path, '"place.csv", "sex.csv"')
    assert [roll.axes for roll in table.roll] == [("place",), ("sex",)]
    assert not table.knows_composition
    wish = '[[onlookers]]\nname = "all-knowing"\ncomposition = "joint"\n'
    assert "'all-knowing' has composition = 'joint', but no roll" in refusal(tmp_path, '"place.csv", "sex.csv"', wish)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area,sex,people\nx,f,0\nx,m,1\ny,f,2\n", "place 'x', sex 'f': 0 people on the roll but 1 votes"),
        ("area,sex,people\nx,f,1\nx,m,1\n", "place 'y', sex 'f': 0 people on the roll but 2 votes"),
        ("area,people\nx,9\ny,9\n", "no column 'sex' in roll.csv; the roll must have every axis"),
        ("area,sex,count\nx,f,9\n", "roll.csv: there is no column 'people'; a roll counts people"),
        ("area,sex,option,people\nx,f,A,9\n", "roll.csv: has a column 'option'; a roll counts people, not answers"),
        ("area,sex,people\nx | y,f,9\n", "roll.csv: column 'area': 'x | y' is merged; give plain categories"),
        ("area,sex,people\nx,f,\n", "roll.csv: area 'x', sex 'f': has no exact number; fill it in"),
        ("area,sex,people\nx,f,-2\n", "roll.csv: line 2: people = '-2': is negative"),
    ],
)
def test_a_bad_roll_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "roll.csv").write_text(text)
    assert message in refusal(tmp_path)


def test_rolls_that_contradict_each_other(tmp_path: Path) -> None:
    (tmp_path / "place.csv").write_text("place,people\nx,3\ny,2\n")
    (tmp_path / "sex.csv").write_text("sex,people\nf,4\nm,2\n")
    assert refusal(tmp_path, '"place.csv", "sex.csv"') == (
        "place.csv and sex.csv: in total: 5 people in one, 6 in the other"
    )


def test_an_unknown_category_on_the_roll(tmp_path: Path) -> None:
    (tmp_path / "roll.csv").write_text(JOINT)
    with pytest.raises(InputError, match=r"roll\.csv: column 'area': unknown category 'z'; declared are x, y"):
        load(tmp_path, '"roll.csv"', "[axes.area]\ncategories = ['x', 'y']\n[axes.sex]\n")
