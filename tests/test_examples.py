"""The worked examples on public data, and the figures that docs/examples.md states."""

import csv
import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import duckdb
import pytest

import safemargin

EXAMPLES = Path(__file__).parent.parent / "examples"
PAGE = EXAMPLES.parent / "docs" / "examples.md"
pytestmark = [pytest.mark.data, pytest.mark.full]


def example(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script of `examples/`, which finds its neighbours as it does when it is run."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_workforce(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workforce, figures = example("workforce", monkeypatch), example("figures", monkeypatch)
    found = figures.figures(workforce.build(data_sets, tmp_path), tmp_path / "release")
    plan = found.release.plan
    assert plan.certificate.certified and plan.certificate.proved == "integer"
    assert list(found.totals.values()) == [59_230, 213_456, 103_391]
    assert (found.unanimous, found.groups, found.readable) == (21, 343, 51)
    assert (plan.irregular, plan.exposed_people, plan.refusals) == ((), 0, ())
    assert found.actions == {"company": {"exact": 25}, "race": {"exact": 7}, "gender": {"exact": 2}}
    assert figures.sum_of(plan.certificate.checked) == 615 and plan.certificate.rule == "rerun"
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    page: dict[str, str] = {}
    for name, first, *_ in rows:
        page.setdefault(name.removeprefix("| "), first)
    assert page["cells checked"] == "615" and page["groups exact, merged, suppressed"] == "34, 0, 0"
    assert page["every axis exactly: people exposed"] == "0"
    assert page["people in exact groups, mean over axes"] == "100 %"
    for axis in ("company", "race", "gender"):
        table = tmp_path / "release" / "published" / f"{axis}.csv"
        assert duckdb.sql(f"select distinct status from '{table}'").fetchall() == [("exact",)]


def test_workforce_where_not_having_a_job_is_a_secret(
    data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workforce, figures = example("workforce", monkeypatch), example("figures", monkeypatch)
    found = figures.figures(workforce.build(data_sets, tmp_path, secrets="both"), tmp_path / "release")
    plan = found.release.plan
    assert plan.certificate.certified and plan.certificate.proved == "integer" and plan.certificate.rule == "rerun"
    assert [(d.axis, d.group) for d in plan.irregular] == [("company", {"Nvidia"})]
    assert plan.exposed_people == 5_348 and plan.refusals == ()
    assert found.actions == {"company": {"exact": 22, "suppressed": 3}, "race": {"exact": 7}, "gender": {"exact": 2}}
    table = tmp_path / "release" / "published" / "company.csv"
    exact = duckdb.sql(f"select sum(count) from '{table}' where status = 'exact'").fetchall()[0][0]
    # Race and gender are exact as a whole.
    assert f"| safemargin | 11.4 | {(exact / 376_077 + 2) / 3:.1%}".replace("%", " %") in PAGE.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("name", "highest", "page"),
    [
        ("workforce", {"company": 0.820, "race": 0.766, "gender": 0.586}, "more than 82 %"),
        ("election", {"precinct": 0.936, "race": 0.895}, "93.6 % of a precinct and 89.5 % of a race"),
    ],
)
def test_no_group_is_beyond_its_ceiling(
    name: str, highest: dict[str, float], page: str, data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the definition: no group is small or has an option beyond the guard, so that every axis is exact."""
    project = safemargin.Project.load(example(name, monkeypatch).build(data_sets, tmp_path))
    assert project.data is not None
    with (tmp_path / "counts.csv").open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    found = {}
    for axis in highest:
        people, chosen = Counter[str](), Counter[tuple[str, str]]()
        for row in rows:
            people[row[axis]] += int(row["number"])
            chosen[row[axis], row[project.data.answer]] += int(row["number"])
        assert min(people.values()) >= project.target.kappa
        found[axis] = max(count / people[group] for (group, _), count in chosen.items())
    assert {axis: round(share, 3) for axis, share in found.items()} == highest
    assert max(found.values()) < 1 - 1.5 * project.target.beta, "the guard is half of beta"
    assert page in PAGE.read_text(encoding="utf-8")


def test_two_way_tables_of_one_company(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workforce = example("workforce", monkeypatch)
    assert workforce.two_way(data_sets, tmp_path) == (80, 5, 21)


@pytest.mark.slow
def test_gaps_of_one_company(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What reruns of the rule would disclose is looked for as long as this, and not looked at here.
    monkeypatch.setattr(importlib.import_module("safemargin.suppress.rerun"), "MAX_SECONDS", 0.0)
    suppression = example("workforce", monkeypatch).gaps(data_sets, tmp_path)
    document = suppression.to_json()
    primary = sum(entry["primary"] for entry in document["suppressed"])
    assert (len(document["suppressed"]), primary, document["lower_bound"], document["gap"]) == (68, 46, 68, 0)
    text = suppression.to_text()
    assert "68 of 264 cells suppressed: 46 primary, 22 secondary." in text
    assert "26 primary counts can be inferred to lie in 1 to 2, none exactly." in text


@pytest.mark.slow
def test_election(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    election, figures = example("election", monkeypatch), example("figures", monkeypatch)
    found = figures.figures(election.build(data_sets, tmp_path), tmp_path / "release")
    plan = found.release.plan
    assert plan.certificate.certified and plan.certificate.proved == "integer" and plan.refusals == ()
    assert list(found.totals.values()) == [216_420, 102_142, 47_728]
    assert (found.unanimous, found.groups, found.readable) == (45, 607, 110)
    assert found.actions == {"precinct": {"exact": 212}, "race": {"exact": 3}}
    assert figures.sum_of(plan.certificate.checked) == 1_429


@pytest.mark.slow
def test_election_with_a_stricter_target(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    election, figures = example("election", monkeypatch), example("figures", monkeypatch)
    project = election.build(data_sets, tmp_path, beta=0.05, kappa=30, tau=3)
    found = figures.figures(project, tmp_path / "release")
    plan = found.release.plan
    assert plan.certificate.certified and plan.certificate.proved == "integer"
    assert (plan.irregular, plan.exposed_people, plan.refusals) == ((), 0, ())
    assert found.actions == {"precinct": {"exact": 208, "merged": 2}, "race": {"exact": 3}}
    # The two precincts in which more than 92.5 % are in one party, each with another one.
    assert found.merged == [
        "Robeson: BURNT SWAMP | Robeson: LUMBERTON 5",
        "Robeson: LUMBERTON 3 | Robeson: LUMBERTON 6",
    ]


@pytest.mark.slow
def test_election_where_not_being_in_a_party_is_a_secret(
    data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    election, figures = example("election", monkeypatch), example("figures", monkeypatch)
    project = election.build(data_sets, tmp_path, beta=0.05, kappa=30, tau=3, secrets="both")
    found = figures.figures(project, tmp_path / "release")
    plan = found.release.plan
    assert plan.certificate.certified and plan.certificate.proved == "integer"
    assert (len(plan.irregular), plan.exposed_people) == (15, 94_880)
    assert found.actions == {"precinct": {"exact": 71, "merged": 14}, "race": {"suppressed": 1}}
    counties = [{name.partition(": ")[0] for name in group.split(" | ")} for group in found.merged]
    assert [names for names in counties if len(names) > 1] == [{"New Hanover", "Robeson"}], "two whole counties"
    assert plan.refusals == ()


@pytest.mark.slow
def test_survey(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey, figures = example("survey", monkeypatch), example("figures", monkeypatch)
    found = figures.figures(survey.build(data_sets, tmp_path), tmp_path / "release")
    plan = found.release.plan
    assert plan.certificate.certified and plan.certificate.linear < 100
    assert list(found.totals.values()) == [37_155, 11_687]
    assert (found.unanimous, found.groups, found.readable) == (1_434, 2_079, 5_832)
    assert (len(plan.irregular), plan.exposed_people) == (2, 93)
    assert plan.certificate.rule == "rerun" and found.merged == ["1st-4th | 5th-6th | 7th-8th | Preschool"]
    assert [found.actions[name] for name in ("marital_status", "race", "sex")] == [{"exact": n} for n in (7, 5, 2)]
    assert found.actions["workclass"] == {"exact": 6, "suppressed": 2} and found.actions["education"]["exact"] == 12


def test_real_outcomes(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = example("outcomes", monkeypatch)
    elections = outcomes.elections(str(data_sets / "preflib_ranked_elections_dev.parquet"))
    burlington = tmp_path / "burlington.csv"
    outcomes.write_votes(burlington, elections["2009 Burlington Mayoral Election"])
    winners = {}
    for rule in ("plurality", "veto", "approval-3", "borda", "stv"):
        privacy = safemargin.outcome(rule, votes=burlington, draws=1_000)
        winners[rule] = privacy.winner
        assert (privacy.voters, len(privacy.names)) == (8_976, 6)
    assert (len(elections), winners) == (14, {**dict.fromkeys(winners, "2"), "plurality": "5", "stv": "1"})
    assert safemargin.outcome("plurality", votes=burlington).delta == pytest.approx(6.1e-8, rel=0.01)
    histogram = safemargin.outcome("plurality", votes=burlington, publish="histogram")
    assert histogram.delta == pytest.approx(0.524, rel=0.01)


@pytest.mark.slow
def test_who_beats_everybody_in_a_duel_wins(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = example("outcomes", monkeypatch)
    elections = outcomes.elections(str(data_sets / "preflib_ranked_elections_dev.parquet"))
    burlington = tmp_path / "burlington.csv"
    outcomes.write_votes(burlington, elections["2009 Burlington Mayoral Election"])
    for rule in outcomes.RULES[5:]:
        assert safemargin.outcome(rule, votes=burlington, draws=100).winner == "2", rule


@pytest.mark.slow
def test_birthplaces(data_sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TopDown and swapping on the same people; what each keeps exact has no error, whatever was drawn."""
    birthplaces = example("birthplaces", monkeypatch)
    found, epsilons = birthplaces.compare(data_sets, tmp_path)
    assert {name: round(epsilon, 2) for name, epsilon in epsilons.items()} == {
        "swapping 5 %": 13.34,
        "swapping 50 %": 10.39,
    }
    errors = {(each.method, each.level, each.counts): each.rmse for each in found.accuracy.levels}
    people, cells = "people of an area", "detailed counts"
    assert errors["integer tables", "group", people] == 0 and errors["unbiased estimate", "group", people] < 1e-6
    for name in epsilons:
        assert errors[name, "all", cells] == errors[name, "group", people] == errors[name, "country", people] == 0
        assert errors[name, "group", cells] > 0
    assert errors["integer tables", "all", cells] < errors["flat geometric noise", "all", cells] / 2
    assert errors["integer tables", "country", cells] < errors["flat geometric noise", "country", cells]
    by_sex = "select \"group\", sex, {} from '{}' group by all order by all"
    true = duckdb.sql(by_sex.format("count(*)", tmp_path / "people.parquet")).fetchall()
    whole = duckdb.sql(by_sex.format("sum(count)::bigint", found.published / "tables/1-group.parquet")).fetchall()
    assert whole == true and sum(people for *_, people in true) == 48_842
    assert safemargin.topdown(found.published).different == 0
    again, _ = birthplaces.compare(data_sets, tmp_path)
    ours = [each for each in found.accuracy.levels if each.method not in epsilons]
    assert [each for each in again.accuracy.levels if each.method not in epsilons] == ours, "the noise is kept"
