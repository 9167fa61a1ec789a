"""Real elections and large axes: the default keeps the table it was made for; benchmarks/bench_office.py times them."""

import json
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pytest

from evidence import EVERYTHING
from safemargin import init, release
from safemargin.core import Axis, Schema, Table, Tally, Target, frozen
from safemargin.release.decide.decide import decide
from safemargin.release.inputs import read_inputs
from safemargin.release.plan import Action, Plan
from safemargin.release.project import Project

HOUSE = "nc2018_ushouse_precinct_mode_candidate.parquet"


def written(folder: Path, data: Path, where: str, columns: str = "precinct, mode, candidate") -> Project:
    """The project that `init` proposes for some contests."""
    rows = f"select {columns}, sum(votes) as votes from '{data / HOUSE}' where {where} group by all order by all"
    duckdb.sql(f"copy ({rows}) to '{folder / 'votes.csv'}' (header)")
    return Project.load(init(folder / "votes.csv").write(folder / "project.toml"))


def actions(plan: Plan, axis: str) -> Counter[Action]:
    return Counter(decision.action for decision in plan.axis(axis))


@pytest.mark.data
@pytest.mark.parametrize(("county", "district", "precincts"), [("DURHAM", "001", 61), ("GUILFORD", "006", 50)])
def test_counties_keep_their_precincts(
    tmp_path: Path, data_sets: Path, county: str, district: str, precincts: int
) -> None:
    project = written(tmp_path, data_sets, f"county_name = '{county}' and district = '{district}'")
    assert project.protect == "auto"
    inputs = read_inputs(project)
    plan = decide(inputs.table, inputs.target, inputs.onlookers, protect=project.protect)
    found = actions(plan, "precinct")
    assert found[Action.EXACT] >= 40 and sum(found.values()) == precincts
    assert actions(plan, "mode") == {Action.EXACT: 4}
    assert plan.certificate.certified and plan.certificate.rule == "rerun" and plan.certificate.proved == "integer"


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(("county", "district"), [("DURHAM", "001"), ("GUILFORD", "006")])
def test_alternatives_stand_on_the_first_screen(tmp_path: Path, data_sets: Path, county: str, district: str) -> None:
    """Without being asked for; the time for them is no limit here, so that a slow machine shows the same."""
    project = written(tmp_path, data_sets, f"county_name = '{county}' and district = '{district}'")
    inputs, made = read_inputs(project), release(project)
    text = made.to_text()
    assert text.index("What else you could do") < text.index("What it cost\n")
    asked = [(choice.protect, choice.beta) for choice in made._passed.alternatives]
    assert asked == [("auto", 0.05), ("merge", 0.05), ("noise", 0.05), ("auto", 0.03), ("auto", 0.02), ("auto", 0.01)]
    assert all(
        flag in text for flag in ("--protect merge", "--protect noise", "--beta 0.03", "--beta 0.02", "--beta 0.01")
    )
    now, merge, *_ = made._passed.alternatives
    for choice, protect in ((now, "auto"), (merge, "merge")):
        again = decide(inputs.table, inputs.target, inputs.onlookers, protect=protect)
        assert choice.state == "certified" and again.certificate.certified
        assert choice.kept["precinct"].startswith(f"{actions(again, 'precinct')[Action.EXACT]} of "), protect


@pytest.mark.slow
@pytest.mark.data
def test_a_state_keeps_its_precincts(tmp_path: Path, data_sets: Path) -> None:
    modes = (
        f"(select county_name, precinct from '{data_sets / HOUSE}' where votes > 0 and district <> '003' "
        "group by all having count(distinct mode) > 2)"
    )
    where = f"(county_name, precinct) in {modes} and party_simplified in ('DEMOCRAT', 'REPUBLICAN')"
    columns = "county_name || ' ' || precinct as precinct, mode, party_simplified as party"
    project = written(tmp_path, data_sets, where, columns)
    inputs = read_inputs(project)
    plan = decide(inputs.table, inputs.target, inputs.onlookers)
    assert actions(plan, "precinct")[Action.EXACT] > 850 and plan.certificate.rule == "rerun"


def population(categories: int, others: int, people: int) -> Table:
    """People of many categories, crossed with another axis, with two answers."""
    rng = np.random.default_rng(16)
    codes = np.stack([rng.integers(0, categories, people), rng.integers(0, others, people)], axis=1)
    first, counts = np.unique(codes, axis=0, return_counts=True)
    share = np.where(first[:, 0] % 50 == 0, 0.98, 0.55)
    yes = rng.binomial(counts, share)
    axes = tuple(Axis(name, tuple(f"{name}{i}" for i in range(n))) for name, n in (("a", categories), ("b", others)))
    votes = Tally(("a", "b"), frozen(first, 2), frozen(np.stack([yes, counts - yes], axis=1), 2))
    return Table(Schema(axes, ("yes", "no")), (votes,), (Tally(("a", "b"), votes.codes, frozen(counts, 1)),))


@pytest.mark.slow
def test_thousands_of_categories_keep_theirs() -> None:
    plan = decide(population(3_000, 2, 240_000), Target(beta=0.05, kappa=30, tau=3))
    assert plan.certificate.certified and actions(plan, "a")[Action.EXACT] > 2_800


@pytest.mark.slow
@pytest.mark.skipif(not EVERYTHING, reason="takes up to a minute; EVIDENCE=all")
def test_five_thousand_categories_fit_two_gibibytes(tmp_path: Path) -> None:
    """The whole command, in a process of its own, so that its memory is its own."""
    table = population(5_000, 2, 400_000)
    names, lines = [axis.categories for axis in table.schema.axes], ["a,b,vote,people"]
    for (a, b), counts in zip(table.votes[0].codes.tolist(), table.votes[0].counts.tolist(), strict=True):
        lines += [f"{names[0][a]},{names[1][b]},{vote},{n}" for vote, n in zip(("yes", "no"), counts, strict=True)]
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    init(tmp_path / "votes.csv").write(tmp_path / "project.toml")
    command = [sys.executable, "-m", "safemargin", "release", "project.toml", "--out", "release"]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 * 2**20  # KiB


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not EVERYTHING, reason="takes half a minute; EVIDENCE=all")
def test_adult_as_proposed(tmp_path: Path, data_sets: Path) -> None:
    release(init(data_sets / "adult_uci.parquet").write(tmp_path / "project.toml")).write(tmp_path / "release")
    certificate = json.loads((tmp_path / "release/published/certificate.json").read_text(encoding="utf-8"))
    assert certificate["checked"] and certificate["unproved"] == 0
    # Five axes are proposed; of marital status nearly all who never married have one answer.
    names = {table["name"] for table in certificate["tables"]}
    assert names == {"total", "education", "race", "sex", "native_country"}


def test_a_hundred_small_schools_are_merged_in_pairs() -> None:
    rng = np.random.default_rng(3)
    yes = rng.binomial(20, 0.5, 100)
    axis = Axis("school", tuple(f"s{number:02}" for number in range(100)))
    votes = Tally(("school",), frozen(np.arange(100), 1), frozen(np.stack([yes, 20 - yes], axis=1), 2))
    roll = Tally(("school",), votes.codes, frozen(np.full(100, 20), 1))
    plan = decide(Table(Schema((axis,), ("yes", "no")), (votes,), (roll,)), Target(beta=0.05, kappa=30, tau=0))
    assert len(plan.axis("school")) >= 45 and plan.certificate.certified
