"""The project file: what is accepted, and one line for each mistake."""

from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from safemargin import Project, schema
from safemargin.core import InputError, Target

DATA = '[data]\nfile = "voters.csv"\nanswer = "vote"\n'
LEAST = DATA + "[axes.district]\n"
SEALED = '[tallies]\nfiles = { age = "age.csv" }\n[axes.age]\n[roll]\nfiles = ["roll.csv"]\n'
FULL = """\
title = "City election"
[data]
file = "voters.sqlite"
table = "people"
answer = "vote"
options = ["A", "B", "abstain"]
blank = "abstain"
count = "n"
[roll]
files = ["religion.csv", "age.csv"]
[axes.district]
column = "area"
categories = ["d1", "d2"]
parents = { d1 = "North" }
[axes.age]
ordered = true
levels = ["generation"]
[axes.religion]
hierarchy = "religions.csv"
[target]
beta = 0.1
kappa = 20
tau = 2
epsilon_max = 2
protect = "noise"
[[onlookers]]
name = "neighbour"
composition = "sizes"
knows_rule = false
facts = ["facts.csv"]
[outputs]
formats = ["csv", "parquet", "json"]
"""


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        Project.parse(text, name="project.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_everything_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "project.toml").write_text(FULL)
    project = Project.load(tmp_path / "project.toml")
    assert project.target == Target(0.1, 20, 2, 2.0)
    assert project.protect == "noise"
    assert list(project.axes) == ["district", "age", "religion"]
    assert project.column("district") == "area" and project.column("age") == "age"
    assert project.data is not None and project.data.file == tmp_path / "voters.sqlite"
    assert project.roll is not None and project.roll.files == (tmp_path / "religion.csv", tmp_path / "age.csv")
    assert project.axes["religion"].hierarchy == tmp_path / "religions.csv"
    assert project.onlookers[0].facts == (tmp_path / "facts.csv",)
    assert project.outputs.formats == ("csv", "parquet", "json")


def test_defaults_are_safe() -> None:
    project = Project.parse(LEAST)
    assert project.target == Target()
    assert project.protect == "auto"
    assert project.outputs.formats == ("csv", "json")
    (onlooker,) = project.onlookers
    assert (onlooker.name, onlooker.composition, onlooker.knows_rule) == ("informed", "joint", True)


def test_an_onlooker_knows_as_much_of_the_roll_as_there_is() -> None:
    split = LEAST + '[roll]\nfiles = ["a.csv", "b.csv"]\n'
    assert Project.parse(split).onlookers[0].composition == "sizes"
    assert Project.parse(split + '[[onlookers]]\nname = "x"\n').onlookers[0].composition == "sizes"
    assert Project.parse(LEAST + '[[onlookers]]\nname = "x"\ncomposition = "none"\n').onlookers[0].composition == "none"


def test_sealed_elections_are_accepted() -> None:
    project = Project.parse(SEALED)
    assert project.tallies is not None
    assert project.tallies.tolerance == 0.02


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LEAST + "[target]\nbeta = 0.7\n", "target.beta = 0.7: must be above 0 and below 0.5"),
        (LEAST + "[target]\nbeta = nan\n", "target.beta = nan: must be above 0 and below 0.5"),
        (LEAST + "[target]\nbeta = 0\n", "target.beta = 0.0: must be above 0 and below 0.5"),
        (LEAST + "[target]\nkappa = 0\n", "target.kappa = 0: must be at least 1"),
        (LEAST + "[target]\nkappa = 1.5\n", "target.kappa = 1.5: must be a whole number"),
        (LEAST + "[target]\ntau = -1\n", "target.tau = -1: must not be negative"),
        (LEAST + "[target]\nepsilon_max = inf\n", "target.epsilon_max = inf: must be positive and finite"),
        (LEAST + '[target]\nprotect = "hide"\n', "target.protect = 'hide': must be 'auto', 'merge', "),
        (
            LEAST + "[target]\nbetta = 1\n",
            "target.betta = 1: unknown key; allowed here are beta, kappa, tau, epsilon_max",
        ),
        (
            LEAST + "[aims]\nbeta = 0.1\n",
            "aims: unknown key; allowed here are title, data, tallies, roll, axes, target,",
        ),
        ("[data]\nfile = 'x'\n[axes.a]\n", "data.answer is missing: column with the answer"),
        (DATA, "axes is missing"),
        (DATA + "[axes]\n", "axes: must not be empty"),
        (DATA + "[axes.count]\n", "axes.count: the name is reserved"),
        (DATA + '[axes.a]\ncolumn = "vote"\n', "axes.a: column 'vote' is already data.answer"),
        (DATA + 'count = "vote"\n[axes.a]\n', "data.count = 'vote': is the column with the answer"),
        (DATA + 'options = ["A", "A"]\n[axes.a]\n', "data.options = ['A', 'A']: lists 'A' twice"),
        (DATA + 'options = ["A"]\nblank = "B"\n[axes.a]\n', "data.blank = 'B': must be one of data.options (A)"),
        ("data = 3\n[axes.a]\n", "data = 3: must be a section with keys"),
        ("[data]\nfile = 3\nballot = 'v'\n[axes.a]\n", "data.file = 3: must be the name of a file"),
        (LEAST + 'categories = ["a", "a"]\n', "axes.district.categories = ['a', 'a']: lists 'a' twice"),
        (LEAST + "categories = [1]\n", "axes.district.categories[0] = 1: must be text in quotes"),
        (LEAST + "categories = []\n", "axes.district.categories = []: must not be empty"),
        (LEAST + 'ordered = "yes"\n', "axes.district.ordered = 'yes': must be true or false"),
        (LEAST + 'parents = {a = "b"}\nlevels = ["c"]\n', "axes.district: has parents and levels: give at most one"),
        (
            LEAST + '[[onlookers]]\nname = "x"\ncomposition = "all"\n',
            "onlookers[0].composition = 'all': must be 'none', ",
        ),
        (LEAST + '[[onlookers]]\nname = "x"\n[[onlookers]]\nname = "x"\n', "onlookers: two are called 'x'"),
        (LEAST + "[outputs]\norder = 0\n", "outputs.order = 0: must be at least 1"),
        (LEAST + "[outputs]\norder = 7\n", "outputs.order = 7: must be at most 6"),
        (LEAST + '[outputs]\nformats = ["xls"]\n', "outputs.formats[0] = 'xls': must be 'csv', "),
        (LEAST + '[roll]\nfiles = "roll.csv"\n', "roll.files = 'roll.csv': must be a list in brackets"),
        ("[axes.a]\n", "data and tallies: give exactly one"),
        (SEALED + DATA, "data and tallies: give exactly one"),
        ('[tallies]\nfiles = { a = "a.csv" }\n[axes.a]\n', "roll is missing: sealed elections need [roll]"),
        (SEALED + "[axes.religion]\n", "tallies.files.religion is missing: every axis needs its tally file"),
        (SEALED.replace("age =", "sex ="), "tallies.files.sex: there is no axis 'sex'"),
        (SEALED.replace("[axes.age]", '[axes.age]\nlevels = ["x"]'), "axes.age.levels: needs [data]"),
        (
            SEALED.replace("[axes.age]", "tolerance = 1.5\n[axes.age]"),
            "tallies.tolerance = 1.5: must be at least 0 and",
        ),
        ("title = \n", "is not valid TOML: Invalid value (at line 1, column 9)"),
        ("title = 1\n" + LEAST, "title = 1: must be text in quotes"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(text: str, message: str) -> None:
    assert refusal(text).startswith(f"project.toml: {message}")


def test_a_long_value_is_cut() -> None:
    assert len(refusal(LEAST + f'[target]\nprotect = "{"x" * 1000}"\n')) < 200


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.toml: there is no such file$"):
        Project.load(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="is a folder or device, not a file"):
        Project.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# first\ntitle = '\xe9'\n")
    with pytest.raises(InputError, match=r"latin\.toml: line 2: is not UTF-8"):
        Project.load(tmp_path / "latin.toml")


def test_a_byte_order_mark_is_harmless(tmp_path: Path) -> None:
    (tmp_path / "project.toml").write_bytes(b"\xef\xbb\xbf" + LEAST.encode())
    assert list(Project.load(tmp_path / "project.toml").axes) == ["district"]


def test_the_schema_says_the_same() -> None:
    described = schema()
    jsonschema.Draft202012Validator.check_schema(described)
    valid: dict[str, object] = {"data": {"file": "v.csv", "answer": "vote"}, "axes": {"a": {}}}
    jsonschema.validate(valid, described)
    wrongs: tuple[dict[str, object], ...] = (
        {**valid, "target": {"beta": 0.5}},
        {**valid, "target": {"protect": "hide"}},
        {**valid, "colour": "red"},
        {**valid, "axes": {}},
        {"axes": {"a": {}}},
        {**valid, "tallies": {"files": {"a": "a.csv"}}},
    )
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, described)
