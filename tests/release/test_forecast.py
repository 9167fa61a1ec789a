"""A forecast states what every release does, and its probabilities are those of drawn answers."""

import json
import random
from itertools import product
from math import comb, sqrt
from pathlib import Path

import numpy as np
import pytest

from safemargin import forecast, release
from safemargin.core import InputError, Schema, Table, Tally, frozen, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.forecast import draws_within, parse_shares
from safemargin.release.plan import Action
from safemargin.release.population import CountedPopulation
from safemargin.release.project import Project
from safemargin.release.read_roll import read_population
from safemargin.release.report.forecast import Chance

pytestmark = pytest.mark.full

ROLL = {("N", "f"): 60, ("N", "m"): 70, ("S", "f"): 50, ("S", "m"): 40, ("W", "f"): 18, ("W", "m"): 19, ("X", "m"): 6}


def project(folder: Path, more: str = "", roll: str = '[roll]\nfiles = ["roll.csv"]\n') -> Project:
    """A project whose votes are not counted yet."""
    lines = [f"{area},{sex},{people}" for (area, sex), people in ROLL.items()]
    (folder / "roll.csv").write_text("\n".join(["area,sex,people", *lines]) + "\n")
    data = '[data]\nfile = "votes.csv"\nanswer = "vote"\noptions = ["yes", "no"]\n'
    return Project.parse(f"{data}{roll}[axes.area]\n[axes.sex]\n{more}", folder=folder)


def test_certain_merges_are_in_every_release(tmp_path: Path) -> None:
    """Whatever people answer, those groups are never published finer: by random answers of every kind."""
    asked = project(tmp_path)
    certain = forecast(asked, draws=0).to_json()["certain"]
    (merged,) = certain["merged"]["area"]
    assert merged == "W | X"
    draw = random.Random(5)
    for _ in range(12):
        share = draw.choice([0.02, 0.3, 0.5, 0.9, 1.0])
        rows = [f"{a},{s},{'yes' if draw.random() < share else 'no'}" for (a, s), n in ROLL.items() for _ in range(n)]
        (tmp_path / "votes.csv").write_text("\n".join(["area,sex,vote", *rows]) + "\n")
        cells = release(asked).to_json()["cells"]
        for cell in cells:
            names = set(cell["cell"].get("area", "").split(" | "))
            inside = names & set(merged.split(" | "))
            assert not inside or inside == set(merged.split(" | ")) or cell["action"] == "suppressed"


@pytest.mark.slow
def test_probabilities_agree_with_all_answers_weighed_one_by_one(tmp_path: Path) -> None:
    """Two groups of 11 and 14 people: the rule decides all 180 tables, weighed by their binomial chances.

    The shares of 250 draws are within 5.5 standard errors of the sums, else a false alarm: below one in a million.
    """
    (tmp_path / "roll.csv").write_text("area,people\nN,11\nS,14\n")
    text = (
        '[data]\nfile = "v.csv"\nanswer = "vote"\noptions = ["yes", "no"]\n[roll]\nfiles = ["roll.csv"]\n[axes.area]\n'
    )
    asked = Project.parse(f"{text}[target]\nbeta = 0.2\nkappa = 5\ntau = 1\n", folder=tmp_path)
    seen = forecast(asked, shares="yes=.75,no=.25", draws=250)
    assert seen.sizes["area"] == {"N": 11, "S": 14}
    people, _ = read_population(asked, ("yes", "no"))
    exact = {"exact": 0.0, "merged": 0.0, "lost": 0.0}
    for north, south in product(range(12), range(15)):
        votes = Tally(("area",), frozen([0, 1], 1), frozen([[north, 11 - north], [south, 14 - south]], 2))
        table = Table(people.schema, (votes,), people.roll)
        plan = decide(table, asked.target, [onlooker_with_roll(table, "joint")], protect="auto")
        chance = comb(11, north) * comb(14, south) * 0.75 ** (north + south) * 0.25 ** (25 - north - south)
        actions = [decision.action for decision in plan.decisions]
        lost = not plan.certificate.certified or all(action is Action.SUPPRESSED for action in actions)
        exact["lost" if lost else "exact" if set(actions) == {Action.EXACT} else "merged"] += chance
    assert 0.02 < exact["exact"] < 0.98
    for state, share in seen.to_json()["tables"]["area"].items():
        assert abs(share - exact[state]) <= 5.5 * sqrt(max(exact[state] * (1 - exact[state]), 1e-3) / 250), state


def test_the_document(tmp_path: Path) -> None:
    seen = json.loads(json.dumps(forecast(project(tmp_path), shares={"yes": 0.6, "no": 0.4}, draws=5).to_json()))
    for states in seen["tables"].values():
        assert sum(states.values()) == pytest.approx(1)
    assert list(seen["tables"]) == ["area", "sex"] and 0 <= seen["people_exact"] <= 1
    assert seen["draws"] == 5 and seen["published"]["interval"][0] <= seen["published"]["share"]
    page = forecast(project(tmp_path), draws=2).to_html()
    assert "Certain, from the roll alone" in page and "Probable" in page


def test_no_answer_of_this_year_is_used(tmp_path: Path) -> None:
    """With the people in the data as the roll, other answers in the same rows change nothing."""
    seen = []
    for answers in (("yes", "no"), ("no", "yes")):
        rows = [f"{a},{s},{answers[n % 3 == 0]}" for (a, s), count in ROLL.items() for n in range(count)]
        (tmp_path / "votes.csv").write_text("\n".join(["area,sex,vote", *rows]) + "\n")
        seen.append(forecast(project(tmp_path, roll=""), draws=4).to_json())
    assert seen[0] == seen[1] and seen[0]["people"] == sum(ROLL.values())


def test_votes_of_last_year(tmp_path: Path) -> None:
    """A group that was of one mind last year is seldom exact; an area that is new answers as everybody."""
    rows = [
        f"{a},{s},{'yes' if a == 'S' or n % 2 else 'no'}" for (a, s), c in ROLL.items() if a != "X" for n in range(c)
    ]
    (tmp_path / "last.csv").write_text("\n".join(["area,sex,vote", *rows]) + "\n")
    seen = forecast(project(tmp_path), votes=tmp_path / "last.csv", draws=20)
    alike = seen.groups["area"]["S"].share
    assert alike < 0.2 < forecast(project(tmp_path), shares="yes=.5,no=.5", draws=20).groups["area"]["S"].share


def test_sealed_tallies_with_rolls_by_axis(tmp_path: Path) -> None:
    """An election knows its roll by single axes: profiles are drawn, sizes stay."""
    (tmp_path / "r1.csv").write_text("site,people\nN,120\nS,80\n")
    (tmp_path / "r2.csv").write_text("sex,people\nf,100\nm,100\n")
    text = (
        '[tallies]\nfiles = {site = "a.csv", sex = "b.csv"}\n[roll]\nfiles = ["r1.csv", "r2.csv"]\n'
        "[axes.site]\n[axes.sex]\n"
    )
    asked = Project.parse(text, folder=tmp_path)
    seen = forecast(asked, shares="A=.5,B=.5", draws=5)
    assert seen.published.times == 5 and seen.tables["site"]["exact"].times == 5
    with pytest.raises(InputError, match="sealed tallies do not list the options"):
        forecast(asked, draws=1)


def test_work_is_counted_and_intervals_hold() -> None:
    roll = Tally((), frozen(np.zeros((1, 0)), 0), frozen([1000], 1))
    small = CountedPopulation(Schema((), ("a", "b")), (roll,), sealed=False)
    assert draws_within(small, 1) == 200 and draws_within(small, 1, work=1) == 10
    assert Chance(0, 20).interval[0] == 0 and Chance(20, 20).interval[1] == 1
    # By definition: at either end, what was seen or more extreme has a chance of 2.5 %.
    low, high = Chance(7, 20).interval
    above = sum(comb(20, k) * low**k * (1 - low) ** (20 - k) for k in range(7, 21))
    below = sum(comb(20, k) * high**k * (1 - high) ** (20 - k) for k in range(8))
    assert above == pytest.approx(0.025) and below == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ("yes", "write OPTION=SHARE"),
        ("yes=x,no=.5", "write OPTION=SHARE"),
        ("yes=.6,no=.6", "add up to 1"),
        ("a=1", "two"),
    ],
)
def test_wrong_shares(shares: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_shares(shares)


def test_wrong_calls(tmp_path: Path) -> None:
    asked = project(tmp_path)
    with pytest.raises(InputError, match="give at most one"):
        forecast(asked, votes="x.csv", shares="a=.5,b=.5")
    with pytest.raises(InputError, match="draws = -1"):
        forecast(asked, draws=-1)
    unlisted = asked.model_copy(update={"data": asked.data.model_copy(update={"options": None})})  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"votes\.csv: is not there yet"):
        forecast(unlisted, draws=1)
