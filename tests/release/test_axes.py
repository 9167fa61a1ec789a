"""Hierarchies: given inline, in columns of the data, or in a file."""

from pathlib import Path

import pytest

from safemargin.core import Axis, InputError
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project

VOTERS = "area,region,country,vote\na1,North,U,A\na2,North,U,B\nb1,South,U,A\na1,North,U,A\n"


def axis(folder: Path, keys: str, voters: str = VOTERS) -> Axis:
    """The axis `area` of a project with these keys."""
    (folder / "voters.csv").write_text(voters)
    text = f'[data]\nfile = "voters.csv"\nanswer = "vote"\n[axes.area]\n{keys}\n'
    return tabulate(Project.parse(text, folder=folder)).schema.axis("area")


def test_levels_become_parents(tmp_path: Path) -> None:
    area = axis(tmp_path, 'levels = ["region", "country"]')
    assert area.ancestors("a1") == ("North", "U")
    assert area.ancestors("b1") == ("South", "U")


def test_an_area_called_like_something_inside_it_is_distinguished(tmp_path: Path) -> None:
    area = axis(tmp_path, 'levels = ["region"]', "area,region,vote\nBerlin,Berlin,A\nSpandau,Berlin,B\nKiel,North,A\n")
    assert area.parents == {"Berlin": "Berlin (region)", "Spandau": "Berlin (region)", "Kiel": "North"}


def test_inline_parents_and_files(tmp_path: Path) -> None:
    (tmp_path / "areas.csv").write_text("child,parent\na1,North\na2,North\nNorth,U\nb9,Elsewhere\nU,\n")
    assert axis(tmp_path, 'hierarchy = "areas.csv"').parents == {"a1": "North", "a2": "North", "North": "U"}
    assert axis(tmp_path, 'parents = { a1 = "N", N = "U" }').ancestors("a1") == ("N", "U")


def test_hrc_files_and_several_hierarchies(tmp_path: Path) -> None:
    (tmp_path / "areas.hrc").write_text("North\n@a1\n@a2\nSouth\n@b1\n")
    (tmp_path / "coast.csv").write_text("child,parent\na1,coast\nb1,coast\n")
    area = axis(tmp_path, 'hierarchy = "areas.hrc"\nhierarchies = ["coast.csv"]')
    assert area.parents == {"a1": "North", "a2": "North", "b1": "South"}
    assert area.hierarchy is not None
    assert area.hierarchy.trees[1:] == ({"a1": "coast", "b1": "coast"},)


def test_categories_apart_and_weights(tmp_path: Path) -> None:
    area = axis(tmp_path, 'apart = [["a1", "b1"]]\nweights = { a2 = 3 }')
    assert area.apart == {frozenset({"a1", "b1"})} and area.weights == {"a2": 3}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('apart = [["a1", "b9"]]', "voters.csv: column 'area': axes.area.apart: there is no category 'b9'"),
        (
            'apart = [["a1", "a1"]]',
            "voters.csv: column 'area': axes.area.apart: a category cannot be kept apart from itself",
        ),
        ("weights = { b9 = 3 }", "voters.csv: column 'area': axes.area.weights: there is no category 'b9'"),
        ("weights = { a1 = -1 }", "must be from 0 to 1000000"),
    ],
)
def test_bad_pairs_and_weights_are_refused_in_one_line(tmp_path: Path, keys: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        axis(tmp_path, keys)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("keys", "voters", "message"),
    [
        (
            'levels = ["region"]',
            VOTERS + "a1,South,U,A\n",
            "column 'area': 'a1' lies both in 'North' and in 'South' of column 'region'",
        ),
        (
            'levels = ["region", "country"]',
            VOTERS + "a3,North,V,A\n",
            "column 'region': 'North' lies both in 'U' and in 'V' of column 'country'",
        ),
        ('levels = ["region"]', VOTERS + "a3,,V,A\n", "column 'region' has empty values; every row needs an area"),
        ('levels = ["zone"]', VOTERS, "there is no column 'zone'; the columns are area, region, country, vote"),
        (
            'parents = { a9 = "N" }',
            VOTERS,
            "voters.csv: column 'area': axes.area.parents.a9: there is no category or area 'a9'",
        ),
        (
            'parents = { a1 = "N", N = "a1" }',
            VOTERS,
            "voters.csv: column 'area': axis 'area': the hierarchy goes round in a circle at 'a1'",
        ),
        (
            'hierarchy = "areas.csv"',
            VOTERS,
            "areas.csv: line 3: parent = 'South': but 'a1' already has the parent 'North'",
        ),
        ('hierarchy = "absent.csv"', VOTERS, "absent.csv: there is no such file"),
        ('hierarchy = "voters.csv"', VOTERS, "voters.csv: there is no column 'child'; the columns are area, region"),
    ],
)
def test_a_bad_hierarchy_is_refused_in_one_line(tmp_path: Path, keys: str, voters: str, message: str) -> None:
    (tmp_path / "areas.csv").write_text("child,parent\na1,North\na1,South\n")
    with pytest.raises(InputError) as caught:
        axis(tmp_path, keys, voters)
    assert message in str(caught.value) and "\n" not in str(caught.value)
