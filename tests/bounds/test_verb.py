"""The public function `bound`: files, DataFrames, Arrow tables and rows."""

from pathlib import Path
from typing import Any

import pytest

import safemargin
from safemargin.core import InputError

PARTY = [
    {"ward": ward, "option": option, "count": count}
    for ward, option, count in [("w1", "A", 30), ("w1", "B", 70), ("w2", "A", 10), ("w2", "B", 90)]
]
AGE = [
    {"age": age, "option": option, "count": count}
    for age, option, count in [("young", "A", 40), ("young", "B", 60), ("old", "A", 0), ("old", "B", 100)]
]
ROLL = [
    {"ward": ward, "age": age, "people": people}
    for ward, age, people in [("w1", "young", 35), ("w1", "old", 65), ("w2", "young", 65), ("w2", "old", 35)]
]


def as_file(rows: list[dict[str, Any]], path: Path) -> Path:
    path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n")
    return path


def test_every_kind_of_input_gives_the_same(tmp_path: Path) -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    files = [as_file(PARTY, tmp_path / "party.csv"), as_file(AGE, tmp_path / "age.csv")]
    found = safemargin.bound(files, roll=as_file(ROLL, tmp_path / "roll.csv"), tau=2)
    frames = [pandas.DataFrame(PARTY), arrow.Table.from_pylist(AGE)]
    same = safemargin.bound(frames, roll=pandas.DataFrame(ROLL), tau=2)
    rows = safemargin.bound([PARTY, AGE], roll=[ROLL], tau=2)
    assert found.to_json()["cells"] == same.to_json()["cells"] == rows.to_json()["cells"]
    assert found.disclosed and "disclosed" in found.to_text() and "<html" in found.to_html()
    frame = found.to_frame()
    assert list(frame["lower"]) == [entry["lower"] for entry in found.to_json()["cells"]]
    assert found.to_csv().startswith("ward,age,option,people,lower,upper")


def test_an_axis_that_is_called_like_a_figure_keeps_its_labels() -> None:
    rows = [{"method": name, "option": o, "count": n} for name, o, n in [("mail", "A", 30), ("mail", "B", 40)]]
    text = safemargin.bound([rows], roll=[[{"method": "mail", "people": 70}]]).to_csv()
    assert text.splitlines()[0].startswith("method_group,option,people") and text.splitlines()[1].startswith("mail,A")


def test_missing_counts_are_suppressed() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"ward": ["w1", "w2", "w3"], "count": [4, None, None]})
    total = [{"count": 10}]
    cells = safemargin.bound([table, total]).to_json()["cells"]
    assert [(cell["lower"], cell["upper"]) for cell in cells] == [(4, 4), (0, 6), (0, 6)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tables": PARTY, "tolerance": 2.0}, "tolerance = 2.0"),
        ({"tables": PARTY, "target": ["x"]}, "target axis 'x'"),
        ({"tables": ()}, "at least one table"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        safemargin.bound(**arguments)
