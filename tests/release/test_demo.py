"""The synthetic city is what its page says."""

import tomllib
from pathlib import Path

import duckdb
import pytest

from safemargin.core import InputError, OutputError, Target
from safemargin.release import demo
from safemargin.release.decide.decide import decide
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project

PEOPLE = 30_000


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo.write_city(tmp_path_factory.mktemp("city"), people=PEOPLE)


def query(project: Path, select: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as engine:
        source = str(project.with_name("voters.parquet")).replace("'", "''")
        return engine.sql(f"FROM '{source}' {select}").fetchall()


def counts(project: Path, column: str, where: str = "true") -> dict[object, int]:
    rows = query(project, f"SELECT {column}, count(*) WHERE {where} GROUP BY ALL ORDER BY ALL")
    return {label: int(str(count)) for label, count in rows}


def test_the_same_seed_gives_the_same_city(city: Path, tmp_path: Path) -> None:
    again = demo.write_city(tmp_path / "again", people=PEOPLE)
    other = demo.write_city(tmp_path / "other", people=PEOPLE, seed=7)
    assert query(city, "SELECT *") == query(again, "SELECT *")
    assert city.read_text() == again.read_text()
    assert query(city, "SELECT *") != query(other, "SELECT *")


def test_columns_and_labels(city: Path) -> None:
    assert sum(counts(city, "vote").values()) == PEOPLE
    for column, labels in demo.LABELS.items():
        assert set(counts(city, column)) == set(labels)
    assert set(counts(city, "region")) == set(demo.REGIONS)
    assert query(city, "SELECT district GROUP BY district HAVING count(DISTINCT region) > 1") == []
    assert len(demo.DISTRICTS) == 60


def test_awkward_groups_have_their_sizes(city: Path) -> None:
    district, religion = counts(city, "district"), counts(city, "religion")
    assert {name: district[name] for name in demo.TINY_DISTRICTS} == demo.TINY_DISTRICTS
    assert all(size < 30 for size in demo.TINY_DISTRICTS.values())
    assert district[demo.ENCLAVE] == demo.ENCLAVE_PEOPLE == sum(demo.ENCLAVE_VOTES)
    assert religion[demo.FELLOWSHIP] == demo.FELLOWSHIP_PEOPLE == sum(demo.FELLOWSHIP_VOTES)
    assert religion[demo.WATCHERS] == demo.WATCHERS_PEOPLE == min(religion.values())
    assert 0.002 < counts(city, "gender")["nonbinary"] / PEOPLE < 0.007


def test_two_groups_are_of_one_mind(city: Path) -> None:
    fellowship = counts(city, "vote", f"religion = '{demo.FELLOWSHIP}'")
    assert fellowship["Orchard"] == 882 and fellowship["Orchard"] / demo.FELLOWSHIP_PEOPLE == 0.98
    enclave = counts(city, "vote", f"district = '{demo.ENCLAVE}'")
    assert enclave["Harbour"] == 388 and enclave["Harbour"] / demo.ENCLAVE_PEOPLE == 0.97


def test_options_have_their_shares(city: Path) -> None:
    vote = counts(city, "vote", f"religion <> '{demo.FELLOWSHIP}' AND district <> '{demo.ENCLAVE}'")
    asked = sum(vote.values())
    for option, share in zip(demo.OPTIONS, demo.SHARES, strict=True):
        assert vote[option] / asked == pytest.approx(share, abs=0.02)


def test_axes_are_correlated(city: Path) -> None:
    young, old = counts(city, "tenure", "age = '18-24'"), counts(city, "tenure", "age = '75+'")
    assert young["with family"] / sum(young.values()) > 5 * old["with family"] / sum(old.values())
    shares = query(city, "SELECT avg((religion = 'none')::INT) a GROUP BY district HAVING count(*) > 200 ORDER BY a")
    assert float(str(shares[-1][0])) > 1.5 * float(str(shares[0][0]))


def test_project_describes_the_file(city: Path) -> None:
    project = tomllib.loads(city.read_text())
    assert project["data"]["options"] == list(demo.OPTIONS)
    assert project["axes"]["age"]["categories"] == list(demo.AGES)
    assert {axis["column"] for axis in project["axes"].values()} == set(demo.LABELS) - {"vote"}
    assert project["axes"]["district"]["levels"] == ["region"]
    assert project["target"] == {"beta": 0.05, "kappa": 30, "tau": 3}
    assert (city.parent / project["data"]["file"]).is_file()
    assert Project.load(city).target == Target(beta=0.05, kappa=30, tau=3)


def test_only_its_files_are_left_in_the_folder(city: Path) -> None:
    assert sorted(path.name for path in city.parent.iterdir()) == ["project.toml", "voters.parquet"]
    assert demo.write_city(city.parent, people=PEOPLE) == city, "the demo may be written over itself"


def test_a_name_with_a_quote(tmp_path: Path) -> None:
    assert demo.write_city(tmp_path / "it's here", people=demo.FEWEST_PEOPLE).is_file()


def test_too_few_people() -> None:
    with pytest.raises(InputError, match="people = 19999: the city needs at least 20000"):
        demo.write_city(Path("unused"), people=19_999)


def test_another_project_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "project.toml").write_text("title = 'mine'")
    with pytest.raises(OutputError, match="is another project"):
        demo.write_city(tmp_path, people=PEOPLE)
    assert [path.name for path in tmp_path.iterdir()] == ["project.toml"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        demo.write_city(tmp_path / "file" / "city", people=PEOPLE)


@pytest.mark.slow
def test_a_small_city_is_certified_axis_by_axis(tmp_path: Path) -> None:
    project = Project.load(demo.write_city(tmp_path, people=demo.FEWEST_PEOPLE))
    table = tabulate(project)
    plan = decide(table, project.target, protect=project.protect)
    assert plan.certificate.certified and not plan.refusals
    assert plan.certificate.rule == "rerun" and plan.certificate.proved == "integer"
    assert all(len(plan.axis(name)) > 1 for name in table.schema.names)
