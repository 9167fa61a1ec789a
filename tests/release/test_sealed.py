"""Sealed elections: one tally per axis, the total, and totals that may disagree a little."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from safemargin.core import Inconsistency, InputError, Table
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project
from safemargin.release.sealed import InconsistencyWarning, estimate_inconsistency

RELIGION = "religion,option,count\nr1,A,60\nr1,B,10\nr2,B,30\n"
AGE = "age,option,count\nold,A,40\nold,B,10\nyoung,A,20\nyoung,B,30\n"
SEX = "sex,option,count\nf,A,61\nm,B,39\n"
ROLL = "religion,age,people\nr1,old,50\nr1,young,40\nr2,old,10\nr2,young,20\n"
BEGIN = '[tallies]\nfiles = { religion = "religion.csv", age = "age.csv" }\n'
END = '[roll]\nfiles = ["roll.csv"]\n[axes.religion]\n[axes.age]\n'


def write(folder: Path, **texts: str) -> None:
    """The usual files, some of them replaced."""
    for name, text in {"religion": RELIGION, "age": AGE, "roll": ROLL, **texts}.items():
        (folder / f"{name}.csv").write_text(text)


def load(folder: Path, text: str = BEGIN + END) -> Table:
    """The table of a project in this folder."""
    return tabulate(Project.parse(text, folder=folder))


def refusal(folder: Path, text: str = BEGIN + END) -> str:
    """The one line with which elections are refused."""
    with pytest.raises(InputError) as caught:
        load(folder, text)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


def test_each_axis_has_its_tally_and_no_two_are_joined(tmp_path: Path) -> None:
    write(tmp_path)
    table = load(tmp_path)
    assert [tally.axes for tally in table.votes] == [("religion",), ("age",), ()]
    assert table.votes[0].counts.tolist() == [[60, 10], [0, 30]]
    assert table.totals.tolist() == [60, 40]
    assert table.knows_composition
    assert table.people(("religion",)).counts[:, 0].tolist() == [90, 30]
    assert table.inconsistency == Inconsistency()
    with pytest.raises(InputError, match="not known by religion x age"):
        table.margin(("religion", "age"))


def test_the_total_may_be_its_own_election(tmp_path: Path) -> None:
    write(tmp_path, total="option,count\nA,61\nB,40\nC,0\n")
    with pytest.warns(
        InconsistencyWarning, match=r"religion\.csv \(axis religion\) counts 60 and .*total\.csv \(total\)"
    ):
        table = load(tmp_path, BEGIN + 'total = "total.csv"\n' + END)
    assert table.totals.tolist() == [61, 40, 0]
    assert table.schema.options == ("A", "B", "C")
    assert table.inconsistency.rate == 1 / 101
    assert table.inconsistency.totals == {"religion": (60, 40, 0), "age": (60, 40, 0)}


def test_totals_that_disagree_need_a_binding_one(tmp_path: Path) -> None:
    write(tmp_path, age=AGE.replace("young,A,20", "young,A,21"))
    message = refusal(tmp_path)
    assert message == (
        "age.csv (axis age) counts 61 and religion.csv (axis religion) counts 60 for 'A', 1.00% of 100 votes apart; "
        "set tallies.total to the file of the binding election"
    )


def test_turnout_that_differs_is_a_difference_of_its_own(tmp_path: Path) -> None:
    """One record fewer of each option is two records fewer in all."""
    age = AGE.replace("young,A,20", "young,A,19").replace("young,B,30", "young,B,29")
    write(tmp_path, age=age, total="option,count\nA,60\nB,40\n")
    with pytest.warns(InconsistencyWarning, match="counts 98 .* counts 100 for all options, 2.00% of 100 votes apart"):
        table = load(tmp_path, BEGIN + 'total = "total.csv"\n' + END)
    assert table.inconsistency.rate == 0.02
    assert table.inconsistency.estimate[1] >= 2 / 120, "at least two of the 120 people on the roll differed"


def test_the_estimate_of_inconsistency_covers_the_truth() -> None:
    """5 elections of 20,000 people of whom 2 % differ, 200 times: 95 % intervals miss at most 25 times.

    By chance alone that happens with probability below 1e-5 per run; the seed is fixed, so the test never varies.
    """
    rng = np.random.default_rng(5)
    share, people, delta = np.array([0.5, 0.3, 0.2]), 20_000, 0.02
    missed = 0
    for _ in range(200):
        binding = rng.multinomial(people, share)
        elections = []
        for _ in range(5):
            first, second = (rng.choice(3, size=4 * int(people * delta), p=share) for _ in range(2))
            pairs = [(a, b) for a, b in zip(first, second, strict=True) if a != b][: int(people * delta)]
            change = np.bincount([b for _, b in pairs], minlength=3) - np.bincount([a for a, _ in pairs], minlength=3)
            elections.append((binding + change).tolist())
        middle, low, high = estimate_inconsistency(elections, binding.tolist(), people)
        missed += not low <= delta <= high
        assert low <= middle <= high
    assert missed <= 25


def test_totals_too_far_apart_are_refused(tmp_path: Path) -> None:
    write(tmp_path, age=AGE.replace("young,A,20", "young,A,26"))
    message = refusal(tmp_path)
    assert message == (
        "age.csv (axis age) counts 66 and religion.csv (axis religion) counts 60 for 'A', 6.00% of 100 votes apart; "
        "tallies.tolerance = 0.02 allows 2.00%"
    )
    write(tmp_path, age=AGE.replace("young,A,20", "young,A,26"), total="option,count\nA,60\nB,40\n")
    with pytest.warns(InconsistencyWarning):
        load(tmp_path, BEGIN + 'total = "total.csv"\ntolerance = 0.06\n' + END)


def test_agreement_is_silent(tmp_path: Path) -> None:
    write(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "age",
            "age,religion,option,count\nold,r1,A,60\n",
            "age.csv: has columns age, religion: a sealed election has one",
        ),
        ("age", "sex,option,count\nold,A,60\n", "age.csv: there is no column 'age'; the axes in it are sex"),
        ("age", "age,option,people\nold,A,60\n", "age.csv: a tally needs the columns 'option' and 'count'"),
        ("age", "age,count\nold,60\n", "age.csv: a tally needs the columns 'option' and 'count'"),
        ("age", "age,option,count\nold,A,1\nold,A,2\n", "age.csv: line 3: the same cell as line 2"),
        ("age", "age,option,count\nold,A,\n", "age.csv: age 'old': has no exact number; fill it in"),
        ("age", "age,option,count\nold | young,A,9\n", "age.csv: column 'age': 'old | young' is merged"),
        ("religion", "religion,option,count\nr1,A,0\n", "religion.csv (axis religion): nobody voted"),
        (
            "roll",
            ROLL.replace("r2,old,10", "r2,old,0").replace("young,20", "young,2"),
            "roll.csv: religion 'r2': 2 people on",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    write(tmp_path, **{name: text})
    assert message in refusal(tmp_path)


def test_a_total_has_no_axis(tmp_path: Path) -> None:
    write(tmp_path, total=AGE)
    assert "total.csv: has columns age: a total has only" in refusal(tmp_path, BEGIN + 'total = "total.csv"\n' + END)


def test_a_roll_per_axis(tmp_path: Path) -> None:
    write(tmp_path, r="religion,people\nr1,70\nr2,50\nr3,5\n", a="age,people\nold,60\nyoung,65\n")
    table = load(tmp_path, BEGIN + '[roll]\nfiles = ["r.csv", "a.csv"]\n[axes.religion]\n[axes.age]\n')
    assert not table.knows_composition
    assert table.schema.axis("religion").categories == ("r1", "r2", "r3")
