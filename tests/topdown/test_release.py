"""TopDown releases as a whole: folders, provenance, going on after an interruption, and what is refused."""

import inspect
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp

from commands import Run, in_process
from safemargin.core import InputError, IntArray, OutputError, no_progress
from safemargin.guarantees.guarantee_file import read_guarantee
from safemargin.guarantees.implication import reasons_empty
from safemargin.topdown import measure, measure_spark, run as phases
from safemargin.topdown.accuracy import CELLS, FLAT, GAUSSIAN, INTEGER, PEOPLE, UNBIASED
from safemargin.topdown.country import write_country
from safemargin.topdown.design import MAX_COUNT, combine_limits
from safemargin.topdown.folder import Folder, write_cells
from safemargin.topdown.guarantee import derive_guarantee, summarise
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.run import recompute, run
from safemargin.topdown.siblings import SiblingMatrices
from safemargin.topdown.tabulate import count_people, read_design

pytestmark = pytest.mark.full

PEOPLE_CSV = """\
state,town,sex,age
N,n1,f,young
N,n1,f,old
N,n2,m,old
S,s1,m,young
S,s1,m,young
S,s1,f,old
"""

CONFIG = """\
[data]
file = "people.csv"

[spine]
levels = ["state", "town"]
file = "towns.csv"

[attributes]
sex = ["f", "m"]
age = ["young", "old"]

[budget]
rho_squared = 0.5
levels = { all = "1/3", state = "1/3", town = "1/3" }
queries = { total = 0.25, sex = 0.25, detailed = 0.5 }

[[invariants]]
level = "state"
"""


@pytest.fixture
def run_cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def land(folder: Path, *, config: str = CONFIG, people: str = PEOPLE_CSV, more: str = "") -> Path:
    """A tiny project: two states, four towns, one of them empty."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "people.csv").write_text(people)
    (folder / "towns.csv").write_text("state,town\nN,n1\nN,n2\nS,s1\nS,s2\n")
    (folder / "topdown.toml").write_text(config + more)
    return folder / "topdown.toml"


@pytest.fixture(scope="module")
def country(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_country(tmp_path_factory.mktemp("country"), people=20_000, blocks=300)


@pytest.fixture(scope="module")
def released(country: Path) -> Path:
    run(country, country.parent / "release")
    return country.parent / "release"


def tables(published: Path) -> list[IntArray]:
    folder = Folder(published)
    design = folder.read_design()
    return [folder.read_table(design, level) for level in range(len(design.spine.levels))]


def test_the_country_keeps_all_its_constraints(country: Path, released: Path) -> None:
    project = TopDownProject.load(country)
    design = read_design(project)
    spine, kinds = design.spine, design.attributes
    true = spine.counts(count_people(project, spine))
    found = tables(released / "published")
    assert found[0].sum() == true[0].sum() == 20_000
    assert (found[1].sum(axis=1) == true[1].sum(axis=1)).all(), "regions are exact"
    for level in range(1, len(found)):
        assert found[level].min() >= 0 and (spine.sums(level, found[level]) == found[level - 1]).all()
        assert not found[level][:, design.impossible].any()
    ((level, homes),) = design.bounds
    communal = kinds.margin(found[level], homes.query)
    assert (communal >= homes.low).all() and (communal <= homes.high).all()
    assert (homes.high[:, 2] == 0).sum() > 200 and (homes.low[:, 2] == 1).sum() > 3


def test_only_the_owner_can_read_what_is_confidential(released: Path) -> None:
    assert (released / "confidential").stat().st_mode & 0o777 == 0o700
    files = [path for path in (released / "confidential").iterdir() if path.suffix in (".json", ".html", ".parquet")]
    assert files and all(path.stat().st_mode & 0o777 == 0o600 for path in files)


def test_files_are_labelled_and_tidy(released: Path) -> None:
    published = released / "published"
    with duckdb.connect() as database:
        names = "tract, sex, age, tenure, estimate, standard_error, status"
        seen = database.execute(f"select {names} from '{published}/estimates/3-tract.parquet' limit 1").fetchall()
        assert seen[0][0] == "T000000" and seen[0][-1] == "unbiased estimate" and seen[0][-2] > 0
        statuses = {
            "tables/4-block": "integer table",
            "noisy/4-block-total": "noisy",
            "noisy/3-tract-sex.age": "noisy",
            "exact/1-region-total": "exact",
        }
        for name, status in statuses.items():
            found = database.execute(f"select distinct status from '{published}/{name}.parquet'").fetchall()
            assert found == [(status,)]
    manifest = json.loads((published / "manifest.json").read_text())
    measured, estimated = manifest["steps"]
    assert measured["reads"] == ["people"] and "people" not in estimated["reads"]
    assert set(estimated["reads"]) == set(measured["writes"]), "the second step reads what the first one wrote, no more"
    assert {name.split("/")[0] for name in estimated["writes"]} == {"estimates", "tables"}
    assert set(manifest["files"]) == {*measured["writes"], *estimated["writes"], "guarantee.json"}
    assert manifest["summary"]["rho_squared"] == "1" and "total of every region" in manifest["summary"]["invariants"]


def test_manifest_leads_to_the_guarantee(released: Path, tmp_path: Path, run_cli: Run) -> None:
    published = released / "published"
    ran = run_cli("guarantee", "compare", published / "manifest.json", published / "guarantee.json", "--json")
    assert ran.document["overall"] == "equal" and ran.document["blocks"]["budget"]["one"] == "rho² = 1"
    assert read_guarantee(published / "manifest.json") == read_guarantee(published / "guarantee.json")
    (tmp_path / "guarantee.json").write_text('{"files": {"guarantee.json": ""}}')
    with pytest.raises(InputError, match="mechanism is missing"):
        read_guarantee(tmp_path / "guarantee.json")


def test_the_guarantee_is_a_tree_whose_budgets_add_up(released: Path) -> None:
    guarantee = json.loads((released / "published/guarantee.json").read_text())
    assert guarantee["rule"] == "post-processing" and guarantee["budget"] == {"rho_squared": "1"}
    (measured,) = guarantee["premises"]
    assert measured["rule"] == "composition" and len(measured["premises"]) == 13
    budgets = [Fraction(each["budget"]["rho_squared"]) for each in measured["premises"]]
    assert sum(budgets) == Fraction(measured["budget"]["rho_squared"]) == 1 and budgets[-1] == 0
    assert all(each["rule"] and each["measure"] == "zcdp" for each in measured["premises"])
    assert guarantee["invariants"] == [{"counts": "persons", "by": []}, {"counts": "persons", "by": ["region"]}]
    assert ["block", "tract"] in guarantee["population"]["determines"]


def test_the_second_step_is_given_public_files_only() -> None:
    assert list(inspect.signature(phases.estimate).parameters) == ["folder", "progress"]


def test_anybody_can_compute_the_tables_again(released: Path, tmp_path: Path) -> None:
    """In another place, with no people in reach."""
    shutil.copytree(released / "published", tmp_path / "copy")
    found = recompute(tmp_path / "copy")
    assert (found.different, found.changed_files) == (0, ()) and found.counts > 7_000


@pytest.mark.parametrize(
    "said",
    ["[]", "3", '{"attributes": {}}', '{"attributes": [], "levels": 3}', "{", '{"attributes": {"total": ["a"]}}'],
)
def test_a_broken_design_is_named(released: Path, tmp_path: Path, said: str) -> None:
    shutil.copytree(released / "published", tmp_path / "copy")
    (tmp_path / "copy/design.json").write_text(said)
    with pytest.raises(InputError, match=r"copy/design\.json: "):
        recompute(tmp_path / "copy")


def test_a_design_without_budget_names_its_file(released: Path, tmp_path: Path) -> None:
    shutil.copytree(released / "published", tmp_path / "copy")
    path = tmp_path / "copy/design.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "rho_squared": "0"}))
    with pytest.raises(InputError, match=r"copy/design\.json: .*positive"):
        recompute(tmp_path / "copy")


def test_folders_and_guarantees_of_version_0_1_are_read(released: Path, tmp_path: Path) -> None:
    """They have rho where there is rho_squared now."""
    published = tmp_path / "copy"
    shutil.copytree(released / "published", published)
    now = read_guarantee(published / "guarantee.json")
    for name in ("design.json", "guarantee.json"):
        said = json.loads((published / name).read_text())
        said["rho"] = said.pop("rho_squared")
        (published / name).write_text(json.dumps(said))
    assert not recompute(published).different
    assert read_guarantee(published / "guarantee.json") == now


def test_a_table_that_does_not_follow_is_found(run_cli: Run, tmp_path: Path) -> None:
    config = land(tmp_path)
    run(config, tmp_path / "out")
    published = tmp_path / "out/published"
    path = published / "tables/2-town.parquet"
    with duckdb.connect() as database:
        more = "count + (town = 's1')::bigint as count"
        database.execute(f"create table t as select * replace ({more}) from '{path}'")
        database.execute(f"copy t to '{path}' (format parquet)")
    ran = run_cli("topdown", published)
    assert ran.code == 1 and "4 differ" in ran.out and "tables/2-town.parquet: is not as the manifest says" in ran.out
    assert run_cli("topdown", published, "--json").document["different"] == 4


@pytest.mark.parametrize("value", ["1e99999999", "1e-99999999", "1/0", "half"])
def test_numbers_of_a_folder_are_refused_by_file_and_key(value: str, released: Path, tmp_path: Path) -> None:
    """Anybody may hand a public folder over."""
    shutil.copytree(released / "published", tmp_path / "copy")
    path = tmp_path / "copy/design.json"
    said = json.loads(path.read_text())
    at = next(iter(said["queries"][0]))
    for key, wrong in (
        ("rho_squared", said | {"rho_squared": value}),
        ("shares.0", said | {"shares": [value, *said["shares"][1:]]}),
        (f"queries.0.{at}", said | {"queries": [said["queries"][0] | {at: value}, *said["queries"][1:]]}),
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(InputError) as error:
            recompute(tmp_path / "copy")
        assert (
            str(error.value)
            == f'{path}: {key} = {value!r}: must be a number or a fraction in quotes, as in 0.25 or "104/4099"'
        )


def test_other_people_with_the_same_measurements_give_the_same_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Data that agree on what is exact: after equal noisy counts nothing depends on them any more."""
    kept: dict[tuple[int, Fraction, int], IntArray] = {}

    def replayed(counts: IntArray, variance: Fraction, step: object) -> IntArray:
        return kept.setdefault(
            (counts.size, variance, len(counts)), counts + np.arange(counts.size).reshape(counts.shape) % 3
        )

    monkeypatch.setattr(measure, "add_noise", replayed)
    other = PEOPLE_CSV.replace("N,n1,f,young", "N,n2,m,old").replace("S,s1,f,old", "S,s2,m,young")
    assert other != PEOPLE_CSV
    run(land(tmp_path / "one"), tmp_path / "one/out")
    run(land(tmp_path / "two", people=other), tmp_path / "two/out")
    for kind in ("exact", "noisy", "estimates", "tables"):
        first, second = tmp_path / "one/out/published" / kind, tmp_path / "two/out/published" / kind
        assert [path.name for path in sorted(first.iterdir())] == [path.name for path in sorted(second.iterdir())]
        for path in first.iterdir():
            assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_spark_draws_what_no_file_holds_yet_and_draws_it_in_one_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose tasks run here is killed after two files of noise; the next draws the rest, in one action again."""
    counted = phases.count_project(land(tmp_path), tmp_path / "out")
    data = counted.project.data.model_copy(update={"engine": "spark"})
    spark = replace(counted, project=counted.project.model_copy(update={"data": data}))
    actions: list[int] = []
    noisy = tmp_path / "out" / "unfinished" / "noisy"

    def tasks(path: Path, master: str | None, work: Callable[[object], object], items: list[object]) -> list[object]:
        assert not noisy.parent.exists() or actions, "something was written before the action"
        actions.append(len(items))
        return [work(item) for item in items]

    def killed(path: Path, *said: Any) -> None:
        if path.parent == noisy and len(list(noisy.glob("*"))) == 2:
            raise RuntimeError("killed")
        write_cells(path, *said)

    monkeypatch.setattr(measure_spark, "in_tasks", tasks)
    monkeypatch.setattr(measure_spark, "AT_ONCE", 9)  # of 7 and 4 counts: a task for each area
    monkeypatch.setattr(measure, "add_noise", None)
    monkeypatch.setattr(measure, "write_cells", killed)
    with pytest.raises(RuntimeError):
        phases.release(spark, tmp_path / "out", {}, no_progress)
    kept = {path.name: path.read_bytes() for path in noisy.iterdir()}
    monkeypatch.setattr(measure, "write_cells", write_cells)
    published = phases.release(spark, tmp_path / "out", {}, no_progress).published
    assert actions == [1 + 2 + 4, 1 + 2 + 4] and len(kept) == 2
    now = {path.name: path.read_bytes() for path in (published / "noisy").iterdir()}
    assert len(now) == 9 and now | kept == now
    assert phases.release(spark, tmp_path / "out", {}, no_progress).published == published and len(actions) == 2


def test_an_interrupted_run_goes_on_with_its_noise(tmp_path: Path) -> None:
    config = write_country(tmp_path, people=3_000, blocks=120)
    out = tmp_path / "out"

    class Stop(Exception):
        pass

    def stop_at(words: str) -> object:
        def progress(said: str, done: int, total: int) -> None:
            if said == words:
                raise Stop

        return progress

    with pytest.raises(Stop):
        run(config, out, progress=stop_at("measuring tract"))  # type: ignore[arg-type]
    drawn = {path: path.read_bytes() for path in out.rglob("noisy/*.parquet")}
    assert any("2-district" in path.name for path in drawn) and not any("4-block" in path.name for path in drawn)
    with pytest.raises(Stop):
        run(config, out, progress=stop_at("solving block"))  # type: ignore[arg-type]
    settled = {path: path.read_bytes() for path in out.rglob("tables/*.parquet")}
    assert len(settled) == 4
    run(config, out)
    for path, content in (drawn | settled).items():  # the folder of an unfinished run is moved when it is whole
        finished = next(out.rglob(f"{path.parent.name}/{path.name}"))
        assert finished.read_bytes() == content, path.name
    assert recompute(out / "published").different == 0
    noisy = {path: path.read_bytes() for path in out.rglob("noisy/*.parquet")}
    run(config, out)
    assert noisy == {path: path.read_bytes() for path in out.rglob("noisy/*.parquet")}, "a finished run stays as it is"


def test_a_folder_of_other_input_is_left_alone(tmp_path: Path) -> None:
    config = land(tmp_path)
    run(config, tmp_path / "out")
    (tmp_path / "people.csv").write_text(PEOPLE_CSV + "S,s2,f,old\n")
    with pytest.raises(OutputError, match="holds a run with another people.csv"):
        run(config, tmp_path / "out")
    with pytest.raises(OutputError, match="is not empty and holds no run"):
        run(config, tmp_path)


def test_people_that_change_while_they_are_read_are_refused(tmp_path: Path) -> None:
    """A folder that is said to hold other people than were counted could be gone on with on those."""
    config = land(tmp_path)

    def write(words: str, done: int, total: int) -> None:
        (tmp_path / "people.csv").write_text(PEOPLE_CSV + "S,s2,f,old\n")

    with pytest.raises(InputError, match=r"people\.csv was changed while it was read"):
        run(config, tmp_path / "out", progress=write)
    assert not (tmp_path / "out").exists()


def test_exact_tables_that_would_share_a_file_are_refused(tmp_path: Path) -> None:
    text = CONFIG.replace("sex = [", '"old age" = ["a"]\nold_age = ["a"]\nsex = [')
    more = "query = 'old age'\n[[invariants]]\nlevel = 'state'\nquery = 'old_age'\n"
    people = PEOPLE_CSV.replace("\n", ",a,a\n").replace("age,a,a", "age,old age,old_age", 1)
    with pytest.raises(InputError, match="two queries of state would be written to 1-state-old_age.parquet"):
        run(land(tmp_path, config=text, people=people, more=more), tmp_path / "out")


def test_two_runs_do_not_write_at_once(tmp_path: Path) -> None:
    config = land(tmp_path)
    tried = []

    def second(words: str, done: int, total: int) -> None:
        if words == "measuring town":
            tried.append(words)
            with pytest.raises(OutputError, match="another run is writing to it"):
                run(config, tmp_path / "out")

    run(config, tmp_path / "out", progress=second)
    assert tried
    assert recompute(tmp_path / "out/published").different == 0


def test_errors_are_compared_with_another_method(country: Path, released: Path) -> None:
    found = run(country, released, beside={"itself": country.parent / "people.parquet"}).accuracy
    with duckdb.connect() as database:
        source = (
            f"select block, sex, age, tenure, count(*) as count from '{country.parent}/people.parquet' group by all"
        )
        database.execute(f"copy ({source}) to '{country.parent}/counted.parquet' (format parquet)")
    again = run(country, released, beside={"itself": country.parent / "counted.parquet"}).accuracy
    queries = {(each.level, each.query): each for each in again.queries}
    assert queries["region", "total"].covered is None and queries["region", "total"].integer_tables == 0
    detailed = queries["block", "detailed"]
    assert detailed.estimate == pytest.approx(detailed.standard_error, rel=0.1), "7,200 counts"
    assert detailed.covered == pytest.approx(0.95, abs=0.025)
    assert queries["block", "sex*age"].integer_tables < queries["block", "sex*age"].standard_error
    assert again == found
    errors = {(each.method, each.level, each.counts): each.rmse for each in found.levels}
    assert errors["itself", "block", PEOPLE] == errors["itself", "block", CELLS] == 0
    assert errors[INTEGER, "country", PEOPLE] == errors[INTEGER, "region", PEOPLE] == 0
    assert errors[UNBIASED, "region", PEOPLE] == pytest.approx(0, abs=1e-6)
    assert errors[INTEGER, "block", CELLS] < errors[FLAT, "block", CELLS]
    for level in ("country", "region", "district", "tract"):
        assert errors[INTEGER, level, CELLS] < errors[FLAT, level, CELLS] / 2
    assert {each.method for each in found.sizes} == {INTEGER, UNBIASED, FLAT, GAUSSIAN, "itself"}
    assert sum(each.areas for each in found.sizes if each.method == FLAT) == sum(
        each.areas for each in found.levels if each.method == FLAT and each.counts == PEOPLE
    )


def test_areas_without_people_are_there_when_a_file_lists_them(tmp_path: Path) -> None:
    outcome = run(land(tmp_path), tmp_path / "out")
    assert outcome.design.spine.names[2] == ("n1", "n2", "s1", "s2")
    assert "which areas" not in str(outcome.guarantee["invariants"])
    config = land(tmp_path, config=CONFIG.replace('file = "towns.csv"\n', ""))
    outcome = run(config, tmp_path / "seen")
    assert outcome.design.spine.names[2] == ("n1", "n2", "s1")
    assert "which areas of level town have people" in str(outcome.guarantee["invariants"])


def test_rows_may_stand_for_several_people(tmp_path: Path) -> None:
    text = "town,sex,age,n\nn1,f,old,3\nn1,f,old,2.0\ns1,m,young,4\n"
    config = land(tmp_path, people=text, config=CONFIG.replace('"people.csv"', '"people.csv"\ncount = "n"'))
    project = TopDownProject.load(config)
    counts = count_people(project, read_design(project).spine)
    assert counts.tolist() == [[0, 5, 0, 0], [0, 0, 0, 0], [0, 0, 4, 0], [0, 0, 0, 0]]
    (tmp_path / "people.csv").write_text("town,sex,age,n\nn1,f,old,2.5\n")
    with pytest.raises(InputError, match=r"people.csv: column 'n' holds '2.5', which is not a number of people"):
        count_people(project, read_design(project).spine)
    (tmp_path / "people.csv").write_text("town,sex,age,n\nn1,f,old,1000000000000\nn1,m,old,1\n")
    with pytest.raises(InputError, match="1,000,000,000,001 people are more than the limit of 1,000,000,000,000"):
        count_people(project, read_design(project).spine)


def test_earlier_tables_are_agreed_with(tmp_path: Path) -> None:
    first = run(land(tmp_path / "first"), tmp_path / "first/out")
    folder = "../first/out/published/tables"
    earlier = "".join(
        f'\n[[earlier]]\nlevel = "{level}"\nquery = "detailed"\nfile = "{folder}/{place}-{level}.parquet"\n'
        for place, level in ((1, "state"), (2, "town"))
    )
    people = PEOPLE_CSV.replace("N,n1,f,young", "N,n2,m,old")
    second = run(land(tmp_path / "second", people=people, more=earlier), tmp_path / "second/out")
    for one, other in zip(tables(first.published), tables(second.published), strict=True):
        assert (one == other).all()
    assert second.guarantee["earlier_tables"] == ["detailed of state", "detailed of town"]


def test_earlier_releases_count_too(run_cli: Run, tmp_path: Path) -> None:
    """As with the census: a second run that agrees with the first costs what both cost, and the tree says why."""
    first = run(land(tmp_path / "first"), tmp_path / "first/out").published
    more = f"""
[[earlier]]
level = "town"
file = "{first}/tables/total.csv"
guarantee = "{first}/manifest.json"
"""
    with duckdb.connect() as database:
        source = f"select town, sum(count)::bigint as count from '{first}/tables/2-town.parquet' group by all"
        database.execute(f"copy ({source}) to '{first}/tables/total.csv'")
    config = land(tmp_path / "second", config=CONFIG.replace("rho_squared = 0.5", 'rho_squared = "1/3"'), more=more)
    ran = run_cli("topdown", config, "--out", tmp_path / "out")
    assert "With the earlier releases that tables agree with: rho² = 5/6 (epsilon 9.59)" in " ".join(ran.out.split())
    second = tmp_path / "out/published"
    assert (tables(second)[2].sum(axis=1) == tables(first)[2].sum(axis=1)).all()
    guarantee = read_guarantee(second / "manifest.json")
    assert guarantee.budget == Fraction(5, 6) and guarantee.rule == "post-processing"
    (both,) = guarantee.premises
    assert both.rule == "composition" and [each.budget for each in both.premises] == [Fraction(1, 3), Fraction(1, 2)]
    other = json.loads((first / "guarantee.json").read_text()) | {"measure": "pure", "budget": {"epsilon": "1"}}
    (first / "guarantee.json").write_text(json.dumps(other))
    ran = run_cli("topdown", config, "--out", tmp_path / "again")
    assert ran.code == 2 and "differ in measure" in ran.err and not (tmp_path / "again").exists()


BOUND = "[[bounds]]\nlevel = 'town'\nfile = "
REFUSED = [
    ('town = "1/3"', 'town = "1/2"', "budget.levels: the shares add up to 7/6 (1.16667), not to 1"),
    ("total = 0.25", "total = 0.3", "budget.queries of all: the shares add up to 21/20 (1.05), not to 1"),
    ("detailed = 0.5", "ages = 0.5", "query 'ages': must be total, detailed or attributes joined by '*' (sex, age)"),
    (', town = "1/3"', "", "budget.levels.town is missing: every level needs a share, which may be 0"),
    (
        "rho_squared = 0.5",
        "rho = 0.5",
        "budget.rho: is called rho_squared, as in guarantees; the number stays the same",
    ),
    ("rho_squared = 0.5", "rho_squared = 0", "budget.rho_squared = 0: must be positive"),
    ("rho_squared = 0.5", "rho_squared = nan", "budget.rho_squared = nan: must be a number or a fraction in quotes"),
    (
        "rho_squared = 0.5",
        "rho_squared = 1e-99999999",
        "topdown.toml: budget.rho_squared = 1e-99999999: must be a number or a fraction in quotes",
    ),
    (
        "rho_squared = 0.5",
        "rho_squared = 1e99_999_999",
        "budget.rho_squared = 1e99_999_999: must be a number or a fraction in quotes",
    ),
    (
        "rho_squared = 0.5",
        'rho_squared = "1e99999999"',
        "budget.rho_squared = '1e99999999': must be a number or a fraction in quotes",
    ),
    (
        "rho_squared = 0.5",
        'rho_squared = "1/0"',
        "budget.rho_squared = '1/0': must be a number or a fraction in quotes",
    ),
    ("rho_squared = 0.5", "rho_squared = 1e-400", "budget: all: total: noise of variance inf is too large to be drawn"),
    ("total = 0.25", "total = 1e400", "budget.queries of all: the shares add up to 4"),
    ("[budget]", "[budget]\ndelta = 1e400", "budget.delta = inf: must lie between 0 and 1"),
    ("[data]", "title = 1e-99999999\n[data]", "title = 1e-99999999: "),
    ("rho_squared = 0.5", "rho_squared = ", "is not valid TOML"),
    ("rho_squared = 0.5", 'rho_squared = "a"', "budget.rho_squared = 'a': must be a number or a fraction in quotes"),
    ('"state"\n', '"county"\n', "invariants: there is no level 'county'; the levels are all, state, town"),
    ('"young", "old"]', '"young"]', "people.csv: age = 'old' is not one of the attributes that are listed"),
    ('"towns.csv"', '"one.csv"', "people.csv: town = 'n2' is not one of the areas that are listed"),
    (
        '"towns.csv"',
        '"twice.csv"',
        "is not a tree: town 'n1' lies in 'N' and in 'S'; give every area a code of its own",
    ),
    ('"towns.csv"', '"moved.csv"', "is not a tree: town 'n2' lies in 'N' here, and in 'S' among the areas"),
    ("[[inv", '[[zeros]]\nsex = ["x"]\n[[inv', "zeros.sex: 'x' is not one of its categories"),
    ("[[inv", '[[zeros]]\nsex = ["f"]\n[[inv', "zeros: sex f, age young is stated as impossible, but town 'n1' has"),
    ("[[inv", f"{BOUND}'full.csv'\n[[inv", "cannot hold together: state 'N': all people: at least 9 and at most 3"),
    ("[[inv", f"{BOUND}'false.csv'\n[[inv", "bounds: town 's1': all people: the data are not in 0 to 2"),
    ("[[inv", f"{BOUND}'crossed.csv'\n[[inv", "crossed.csv: town s1: at least 3 and at most 2 cannot both hold"),
    ("[[inv", f"{BOUND}'twice_listed.csv'\n[[inv", "twice_listed.csv: town n1: is listed twice"),
    ("[[inv", f"{BOUND}'words.csv'\n[[inv", "words.csv: at_least = 'few': must be an integer of at least 0"),
    ("[[inv", f"{BOUND}'zero.csv'\n[[inv", "zero.csv: at_least = '1/0': must be an integer of at least 0"),
    ("[[inv", f"{BOUND}'endless.csv'\n[[inv", "endless.csv: at_most = '1e99999999': must be an integer"),
    ("[[inv", f"{BOUND}'full.csv'\nunits = 'n'\n[[inv", "bounds: state both units and each, or neither"),
    ("[[inv", f"{BOUND}'full.csv'\nunits = 'n'\neach = [2, 1]\n[[inv", "bounds.each = [2, 1]: must be the least and"),
    ("[[inv", f"{BOUND}'full.csv'\nunits = 'n'\neach = [1, 2, 3]\n[[inv", "bounds.each = [1, 2, 3]: must be the least"),
    ("[[inv", f"{BOUND}'full.csv'\nunits = 'n'\neach = [1, 2]\n[[inv", "full.csv: has no column n"),
    ('"people.csv"', '"gaps.csv"', "gaps.csv: column 'age' is empty in some rows; give every row a value"),
    ('sex = ["f", "m"]', 'count = ["f"]', "'count' cannot be the name of a level or attribute: published files use it"),
    ('sex = ["f", "m"]', 'Age = ["f"]', "'age' is the name of two levels, attributes or groupings"),
    ('sex = ["f", "m"]', '"s*x" = ["f"]', "'s*x' cannot be the name of a level or attribute: * joins attributes"),
    ("[budget]", "[budget]\ncolour = 1", "budget.colour: unknown key"),
    ("[budget]", "[budget]\ndelta = 1e-400", "budget.delta = 0: must lie between 0 and 1"),
    ("[budget]", "[budget]\ndelta = 0.99999999999999999999", "budget.delta = 1: must lie between 0 and 1"),
    ('sex = ["f", "m"]', 'total = ["f", "m"]', "'total' cannot be the name of an attribute: it is that of a query"),
    ("[[inv", "[[zeros]]\n[[inv", "zeros: names no attribute, so every cell would be empty"),
    ('"people.csv"', '"nobody.csv"', "nobody.csv: there is no such file"),
]


@pytest.mark.parametrize(("before", "after", "message"), REFUSED)
def test_bad_input_is_refused_in_one_line(before: str, after: str, message: str, tmp_path: Path, run_cli: Run) -> None:
    config = land(tmp_path, config=CONFIG.replace(before, after))
    assert config.read_text() != CONFIG
    (tmp_path / "one.csv").write_text("state,town\nN,n1\n")
    (tmp_path / "twice.csv").write_text("state,town\nN,n1\nN,n2\nS,n1\n")
    (tmp_path / "moved.csv").write_text("state,town\nN,n1\nS,n2\nS,s1\nS,s2\n")
    (tmp_path / "full.csv").write_text("town,at_least\nn1,9\n")
    (tmp_path / "false.csv").write_text("town,at_most\ns1,2\n")
    (tmp_path / "crossed.csv").write_text("town,at_least,at_most\ns1,3,2\n")
    (tmp_path / "twice_listed.csv").write_text("town,at_least\nn1,1\nn1,2\n")
    (tmp_path / "words.csv").write_text("town,at_least\nn1,few\n")
    (tmp_path / "zero.csv").write_text("town,at_least\nn1,1/0\n")
    (tmp_path / "endless.csv").write_text("town,at_most\nn1,1e99999999\n")
    (tmp_path / "gaps.csv").write_text(PEOPLE_CSV.replace("n1,f,old", "n1,f,"))
    ran = run_cli("topdown", config, "--out", tmp_path / "out")
    assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1
    assert message in ran.err
    assert not (tmp_path / "out").exists(), "nothing is written before everything is checked"


def test_other_methods_are_read_before_noise_is_drawn(run_cli: Run, tmp_path: Path) -> None:
    config = land(tmp_path)
    ran = run_cli("topdown", config, "--out", tmp_path / "out", "--beside", f"it={tmp_path}/towns.csv")
    assert ran.code == 2 and "towns.csv: there is no column 'sex'" in ran.err and not (tmp_path / "out").exists()
    ran = run_cli("topdown", config, "--out", tmp_path / "out", "--beside", "integer tables=people.csv")
    assert ran.code == 2 and "'integer tables' is the name of a method that is always shown" in ran.err
    ran = run_cli("topdown", config, "--out", tmp_path / "out", "--beside", "it=a.csv", "--beside", "it=b.csv")
    assert ran.code == 2 and "'it' is named twice" in ran.err and not (tmp_path / "out").exists()


def test_a_plan_that_cannot_be_names_its_file(run_cli: Run, tmp_path: Path) -> None:
    ran = run_cli("topdown", land(tmp_path, config=CONFIG.replace("rho_squared = 0.5", "rho_squared = -1")), "--plan")
    assert ran.code == 2 and "topdown.toml: budget.rho_squared = -1: must be positive" in ran.err


def test_units_bound_the_people_in_them(tmp_path: Path) -> None:
    """Facilities by kind, as the census has them: each holds somebody, and where there are none nobody is."""
    more = "\n[[bounds]]\nlevel = 'town'\nquery = 'age'\nfile = 'units.csv'\nunits = 'n'\neach = [1, 3]\n"
    more += "free = { age = ['young'] }\n"
    config = land(tmp_path, more=more)
    (tmp_path / "units.csv").write_text("town,age,n\nn1,old,1\nn2,old,1.0\ns1,old,1\n")
    ((level, limit),) = read_design(TopDownProject.load(config)).bounds
    assert level == 2 and limit.low.tolist() == [[0, 1], [0, 1], [0, 1], [0, 0]]
    assert limit.high.tolist() == [[MAX_COUNT, 3], [MAX_COUNT, 3], [MAX_COUNT, 3], [MAX_COUNT, 0]], (
        "young people are in no unit"
    )
    config.write_text(config.read_text().replace("['young']", "['middle']"))
    with pytest.raises(InputError, match="bounds.free.age: 'middle' is not one of its categories"):
        run(config, tmp_path / "out")
    config.write_text(config.read_text().replace("free = { age = ['middle'] }", ""))
    with pytest.raises(InputError, match="bounds: town 'n1': age young: the data are not in 0 to 0"):
        run(config, tmp_path / "out")
    config = land(tmp_path, more=more)
    old = tables(run(config, tmp_path / "out").published)[2].reshape(4, 2, 2).sum(axis=1)[:, 1]
    assert (old >= [1, 1, 1, 0]).all() and (old <= [3, 3, 3, 0]).all()


def test_command(run_cli: Run, tmp_path: Path) -> None:
    assert run_cli("topdown").code == 2
    assert run_cli("topdown", "--demo", tmp_path / "land", "--people", 2000, "--blocks", 60).code == 0
    ran = run_cli("topdown", tmp_path / "land/topdown.toml", "--json")
    document = ran.document
    assert document["published"] == str(tmp_path / "land/topdown-release/published")
    shares = [Fraction(each["share"]) for each in document["budget"]]  # type: ignore[attr-defined]
    assert sum(shares) == 1
    page = Path(str(document["report"])).read_text()
    assert page.count("<figure") == 2 and "Do not publish it" in page and "flat geometric noise" in page
    again = run_cli("topdown", tmp_path / "land/topdown.toml", "--beside", "nobody")
    assert again.code == 2 and "give a name and a file" in again.err
    ran = run_cli("topdown", tmp_path / "land/topdown.toml")
    assert "Root mean square error: people of an area" in ran.out and "integer tables" in ran.out


def test_a_plan_has_the_standard_errors_of_the_release(country: Path, released: Path, run_cli: Run) -> None:
    ran = run_cli("topdown", country, "--plan", "--json")
    expected = {(each["level"], each["query"]): each for each in ran.document["queries"]}  # type: ignore[attr-defined]
    with duckdb.connect() as database:
        for level, name in ((0, "country"), (2, "district"), (4, "block")):
            path = released / f"published/estimates/{level}-{name}.parquet"
            published = database.execute(f"select sqrt(avg(standard_error ** 2)) from '{path}'").fetchall()[0][0]
            assert expected[name, "detailed"]["standard_error"] == pytest.approx(published, rel=1e-9)
    assert ran.document["guarantee"] == json.loads((released / "published/manifest.json").read_text())["summary"]
    assert expected["country", "total"] == {
        "level": "country", "query": "total", "share": "0", "noise": None, "standard_error": 0.0
    }  # fmt: skip
    assert expected["block", "sex*age"]["standard_error"] > expected["tract", "sex*age"]["standard_error"] > 0
    shown = run_cli("topdown", country, "--plan").out
    assert "95 % within" in shown and "district" in shown and "has no effect" not in shown


def test_a_plan_names_shares_that_buy_nothing(run_cli: Run, tmp_path: Path) -> None:
    shown = run_cli("topdown", land(tmp_path), "--plan").out
    assert "total of every state follows from exact counts: its share 1/12 has no effect." in shown
    assert "sex of every state" not in shown and "total of every town" not in shown


UNITS = """
[[bounds]]
level = "block"
query = "hhgq"
file = "facilities.csv"
units = "facilities"
each = [1, 99999]
free = { hhgq = ["0"] }

[[bounds]]
level = "block"
query = "hhgq"
file = "housing.csv"
units = "homes"
each = [0, 99]
free = { hhgq = ["1", "2", "3", "4", "5", "6", "7"] }
"""

CENSUS = """
[data]
file = "people.csv"
[spine]
levels = ["block"]
[attributes]
hhgq = ["0", "1", "2", "3", "4", "5", "6", "7"]
[budget]
rho_squared = 1
levels = { all = "1/2", block = "1/2" }
queries = { detailed = 1 }
"""


@pytest.mark.parametrize(
    ("exact", "most"),
    [
        ('[[invariants]]\nlevel = "block"\n', [3, 8, 4, 0, 0, 4, 0, 0]),
        ("", [2 * 99, 5 * 99999, 99999, 0, 0, 99999, 0, 0]),
    ],
)
def test_units_bound_people_as_in_the_census(exact: str, most: list[int], tmp_path: Path) -> None:
    """One block with 2 homes, and 5, 1 and 1 facilities of kinds 1, 2 and 5, and 10 people: `hhgq_total_lb` and
    `hhgq_total_ub` of the constraint tests of the 2020 disclosure avoidance system, whether the total is exact or not.
    """
    land(tmp_path, config=CENSUS + exact + UNITS, people="block,hhgq\n" + "b,1\n" * 5 + "b,2\nb,5\nb,0\nb,0\nb,0\n")
    (tmp_path / "facilities.csv").write_text("block,hhgq,facilities\nb,1,5\nb,2,1\nb,5,1\n")
    (tmp_path / "housing.csv").write_text("block,hhgq,homes\nb,0,2\n")
    design = read_design(TopDownProject.load(tmp_path / "topdown.toml"))
    kinds = design.attributes
    total = {(level, query): np.array([[10]]) for level, query in design.exact if level}
    rows = list(combine_limits(design, total)[1].values())
    family = SiblingMatrices(kinds, kinds.detailed).problem(
        None, rows, (), np.zeros(8, bool), np.zeros((1, 8)), {kinds.detailed: np.ones((1, 8))}
    )
    bounds = LinearConstraint(family.matrix, family.least, family.most)
    ends = [[round(abs(milp(sign * np.eye(8)[kind], constraints=bounds).fun)) for kind in range(8)] for sign in (1, -1)]
    assert ends == [[0, 5, 1, 0, 0, 1, 0, 0], most]


@pytest.mark.parametrize(
    ("each", "listed", "fixed"),
    [
        ([1, 1], "b,0,3\nb,1,5\nb,2,1\nb,5,1\n", ("number of persons by block x hhgq",)),
        ([1, 1], "b,1,5\nb,2,1\nb,5,1\n", ("number of persons by block x hhgq in 7 cells that bounds fix",)),
        ([1, 2], "b,0,3\nb,1,5\nb,2,1\nb,5,1\n", ()),
        ([0, 99], "".join(f"b,{kind},1\n" for kind in range(8)), ()),
    ],
)
def test_counts_that_units_fix_are_invariants(
    each: list[int], listed: str, fixed: tuple[str, ...], tmp_path: Path
) -> None:
    """One person per unit fixes all counts, but for those of a kind that needs no unit; one or two fix none."""
    more = f'[[bounds]]\nlevel = "block"\nquery = "hhgq"\nfile = "units.csv"\nunits = "n"\neach = {each}\n'
    more += "" if "b,0," in listed else 'free = { hhgq = ["0"] }\n'
    people = "block,hhgq\n" + "b,1\n" * 5 + "b,2\nb,5\nb,0\nb,0\nb,0\n"
    land(tmp_path, config=CENSUS + more, people=people)
    (tmp_path / "units.csv").write_text(f"block,hhgq,n\n{listed}")
    design = read_design(TopDownProject.load(tmp_path / "topdown.toml"))
    guarantee = derive_guarantee(design, False)
    assert tuple(map(str, guarantee.invariants)) == ("number of persons", *fixed)
    assert tuple(summarise(design, False)["invariants"]) == ("number of all people", *fixed)  # type: ignore[arg-type]
    assert bool(reasons_empty(guarantee)) == (fixed == ("number of persons by block x hhgq",)), (
        "with all counts fixed, nothing is protected"
    )


def test_folders_and_columns_may_hold_quotes(tmp_path: Path) -> None:
    config = CONFIG.replace('sex = ["f", "m"]', '\'s"ex\' = ["f", "m\'s"]').replace("sex =", "'s\"ex' =")
    people = PEOPLE_CSV.replace("sex", '"s""ex"').replace(",m,", ",m's,")
    outcome = run(land(tmp_path / "it's", config=config, people=people), tmp_path / "it's/out")
    assert recompute(outcome.published).different == 0
    with duckdb.connect() as database:
        path = str(outcome.published / "noisy/2-town-s_ex.parquet")
        assert database.execute('select distinct "s""ex" from read_parquet(?) order by 1', [path]).fetchall() == [
            ("f",),
            ("m's",),
        ]
