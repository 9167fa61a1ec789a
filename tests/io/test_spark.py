"""Spark counts what DuckDB counts, also where a worker dies; what cannot be counted is one line."""

import importlib
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import safemargin
from commands import without_salt
from safemargin.cli import main
from safemargin.core import InputError, IntArray, no_progress
from safemargin.io import Address, Profiles, SpellingWarning, in_tasks, open_counted, spark_session
from safemargin.samplers import SAMPLERS, DiscreteGaussian
from safemargin.topdown import measure_spark
from safemargin.topdown.attributes import Attributes, build_grouping
from safemargin.topdown.country import write_country
from safemargin.topdown.folder import Folder
from safemargin.topdown.measure_spark import measure_in_spark
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.run import count_project, release
from safemargin.topdown.tabulate import count_people, read_spine
from spark_cluster import Cluster, killing, started_cluster

pytestmark = pytest.mark.full

PARTS = 24
"""Files of the table, each a task."""


def counted(profiles: Profiles) -> list[tuple[tuple[str, ...], int]]:
    texts = [tuple(profiles.labels[column][code] for column, code in enumerate(row)) for row in profiles.codes.tolist()]
    return sorted(zip(texts, profiles.counts.tolist(), strict=True))


def both(path: Path, columns: tuple[str, ...]) -> tuple[object, object]:
    return tuple(
        (found.labels, counted(found))
        for found in (open_counted(path, engine=name).profiles(columns) for name in ("duckdb", "spark"))
    )  # type: ignore[return-value]


@pytest.fixture(scope="module", name="pyspark")
def fixture_pyspark() -> Any:
    """Spark and Java, whose absence is a failure in CI and a skip elsewhere."""
    try:
        if shutil.which("java") is None:
            raise ImportError("there is no Java")
        return importlib.import_module("pyspark")
    except ImportError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="module", name="cluster")
def fixture_cluster(pyspark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    # Six machines of Java start: without their second compiler that takes half of the time.
    options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {"spark.executor.memory": "512m", "spark.sql.files.maxPartitionBytes": "4m"}
    settings["spark.sql.shuffle.partitions"] = "4"
    with started_cluster(tmp_path_factory.mktemp("cluster"), settings, "600M", options) as cluster:
        yield cluster


@pytest.fixture(scope="module", name="held")
def fixture_held(cluster: Cluster) -> Iterator[list[ExitStack]]:
    """The session that tests share, if one runs."""
    held = [ExitStack()]
    yield held
    held[0].close()


@pytest.fixture(name="shared")
def fixture_shared(cluster: Cluster, held: list[ExitStack], pyspark: Any) -> Cluster:
    """The cluster with a session that runs already: executors start once for all tests that do not end any."""
    if pyspark.sql.SparkSession.getActiveSession() is None:
        held[0].enter_context(spark_session.session(Path("shared"), cluster.master))
    return cluster


@pytest.fixture(name="alone")
def fixture_alone(cluster: Cluster, held: list[ExitStack]) -> Cluster:
    """The cluster without a session of the test: commands start their own."""
    held[0].close()
    return cluster


@pytest.fixture(name="project")
def fixture_project(tmp_path: Path) -> Path:
    """1,200 rows in many files, in folders that are a column."""
    for part in range(PARTS):
        folder = tmp_path / "votes" / f"age={'old' if part % 2 else 'young'}"
        folder.mkdir(parents=True, exist_ok=True)
        vote = "case when (i * 7919 + 3) % 11 < 5 then 'A' else 'B' end"
        query = f"select 'north' || i % 3 as district, {vote} as vote from range({part * 50}, {part * 50 + 50}) t(i)"
        duckdb.sql(f"copy ({query}) to '{folder}/part{part}.parquet'")
    path = tmp_path / "project.toml"
    path.write_text(
        '[data]\nfile = "votes"\nanswer = "vote"\n[axes.district]\n[axes.age]\n[target]\nkappa = 20\ntau = 0\n'
    )
    return path


COMMANDS = (
    (
        "noise",
        "perturb",
        "votes",
        "--by",
        "age",
        "--record-key",
        "vote",
        "--variance",
        "2",
        "--bound",
        "5",
        "--out",
        "out",
    ),
    ("swap", "votes", "--swap", "district", "--hold", "vote", "--rate", "0.1", "--out", "out"),
)
Capture = pytest.CaptureFixture[str]


def run_command(capsys: Capture, folder: Path, *words: str) -> tuple[list[str], list[str]]:
    """What a command that must fail prints, and what it leaves in the folder."""
    before = {path.name for path in folder.iterdir()}
    with pytest.MonkeyPatch.context() as patched, pytest.raises(SystemExit) as ended:
        patched.chdir(folder)
        patched.setattr("sys.argv", ["safemargin", *words])
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 2 and not printed.out
    return printed.err.splitlines(), sorted({path.name for path in folder.iterdir()} - before)


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "published").iterdir()}


@pytest.fixture(name="people", scope="module")
def fixture_people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records with ids and record keys of every type, in CSV and Parquet, and a secret."""
    folder = tmp_path_factory.mktemp("people")
    share = "hash(i) / 18446744073709551615.0"
    query = f"""select 'p' || i as person, i as number, ['m', 'f'][1 + i % 2] as sex, (i * 7919) % 11 as age,
        date '2020-01-01' + (i % 3)::int as day, {share} as double, ({share})::float as float,
        (hash(i) % 1000000 / 1000000)::decimal(10, 6) as decimal, hash(i) % 256 as whole, 1 + i % 4 / 3.0 as weight,
        i % 3 as count from range(3000) t(i)"""
    duckdb.sql(f"copy ({query}) to '{folder}/people.parquet'")
    duckdb.sql(f"copy ({query}) to '{folder}/people.csv'")
    safemargin.noise.key(folder / "secret")
    return folder


KEYS: list[tuple[str, dict[str, Any]]] = [
    ("people.parquet", {"id": "person", "secret": "secret"}),
    ("people.csv", {"id": "number", "secret": "secret", "weight": "weight"}),
    ("people.parquet", {"record_key": "double", "weight": "weight", "count": "count"}),
    ("people.csv", {"record_key": "double", "weight": "weight"}),
    ("people.parquet", {"record_key": "float"}),
    ("people.parquet", {"record_key": "decimal"}),
    ("people.csv", {"record_key": "whole", "modulus": 256}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "said"), KEYS)
def test_cell_keys_give_the_same_bytes(shared: Cluster, people: Path, name: str, said: dict[str, Any]) -> None:
    said = {key: people / value if key == "secret" else value for key, value in said.items()}
    ours = safemargin.noise.perturb(people / name, ("sex", "age", "day"), variance=2, bound=5, **said)
    said |= {"engine": "spark", "master": shared.master}
    theirs = safemargin.noise.perturb(people / name, ("sex", "age", "day"), variance=2, bound=5, **said)
    assert theirs.files == ours.files
    assert theirs.counts.sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"id": "sex", "secret": "secret"}, "column 'sex': '[fm]' occurs twice"),
        ({"record_key": "number"}, "column 'number': '[0-9]+': a record key is a number from 0 to 1"),
        ({"record_key": "whole", "modulus": 16}, "column 'whole': '[0-9]+': a record key is an integer from 0 to 15"),
        ({"record_key": "double", "count": "double"}, "column 'double': '0.[0-9]+': a count is an integer"),
        ({"record_key": "day"}, "column 'day': holds date values"),
        ({"record_key": "nothing"}, "nothing"),
    ],
)
def test_records_without_keys_are_one_line(shared: Cluster, people: Path, said: dict[str, Any], message: str) -> None:
    said = {key: people / value if key == "secret" else value for key, value in said.items()}
    with pytest.raises(InputError, match=message) as caught:
        safemargin.noise.perturb(people / "people.parquet", ("sex",), variance=2, bound=5, engine="spark", **said)
    assert "\n" not in str(caught.value)


def tables(source: str, *listed: str) -> list[list[Any]]:
    """How many records there are by each of some lists of columns."""
    return [duckdb.sql(f"select {names}, {source} group by all order by all").fetchall() for names in listed]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "records"])
def test_swapping_keeps_both_tables(shared: Cluster, tmp_path: Path, form: str) -> None:
    homes = tmp_path / "homes.parquet"
    duckdb.sql(
        f"""copy (select 's' || i % 5 as state, i % 3 as size, ['rented', 'owned', null][1 + i // 15 % 3] as tenure,
        if(i % 50 > 0, 'c' || i * 7919 % 17, null) as county, i % 7 as region from range(3000) t(i)) to '{homes}'"""
    )
    said: dict[str, Any] = {"swapped": ("county",), "match": ("state", "size"), "hold": ("tenure",), "form": form}
    ours = safemargin.swap(homes, rate="0.2", **said)
    theirs = safemargin.swap(homes, rate="0.2", **said, engine="spark", master=shared.master)
    assert (theirs.strata, theirs.unique, theirs.guarantee) == (ours.strata, ours.unique, ours.guarantee)
    assert 0 < theirs.changed <= theirs.selected < 3000
    ours.write(tmp_path / "ours")
    theirs.write(tmp_path / "theirs")
    count = "sum(count)::bigint" if form == "table" else "count(*)"
    after = [
        f"{count} as n from '{tmp_path}/{name}/published/swapped{end}'"
        for name, end in (("ours", ".parquet"), ("theirs", "/*.parquet"))
    ]
    kept, lost = ("state, size, tenure", "state, size, county"), "state, size, tenure, county"
    before = tables(f"count(*) as n from '{homes}'", *kept)
    assert tables(after[0], *kept) == tables(after[1], *kept) == before
    assert tables(after[1], lost) != tables(f"count(*) as n from '{homes}'", lost)
    names = duckdb.sql(f"select * from '{tmp_path}/theirs/published/swapped/*.parquet' limit 0").columns
    assert names == duckdb.sql(f"select * from '{tmp_path}/ours/published/swapped.parquet' limit 0").columns
    files = {path.name for path in (tmp_path / "theirs" / "published").rglob("*") if path.is_file()}
    assert {name for name in files if not name.startswith("part-0")} == {"guarantee.json", "manifest.json"}


@pytest.mark.slow
def test_labels_that_look_the_same_are_one_category(shared: Cluster, tmp_path: Path) -> None:
    towns = ["\u0141\u00f3d\u017a", "\u0141\u00f3d\u017a ", "\u0141o\u0301dz\u0301", "Bern"]
    rows = [{"town": towns[n % 4], "kind": "ab"[n % 2], "held": ("y", " n")[n // 2 % 2]} for n in range(80)]
    duckdb.from_df(pd.DataFrame(rows)).write_parquet(str(tmp_path / "t.parquet"))
    said: dict[str, Any] = {"swapped": ["town"], "match": ["kind"], "hold": ["held"], "rate": "0.5"}
    with pytest.warns(SpellingWarning, match="are one category"):
        theirs = safemargin.swap(tmp_path / "t.parquet", **said, engine="spark", master=shared.master)
    theirs.write(tmp_path / "theirs")
    (after,) = tables(f"sum(count)::bigint from '{tmp_path}/theirs/published/swapped/*.parquet'", "town, kind")
    assert after == [("Bern", "b", 20), (towns[0], "a", 40), (towns[0], "b", 20)]


def test_swapping_in_spark_takes_one_rate(tmp_path: Path) -> None:
    (tmp_path / "homes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="engine = 'spark': swaps at one rate"):
        safemargin.swap(tmp_path / "homes.csv", swapped=["a"], hold=["b"], rate_by="b", engine="spark")
    with pytest.raises(InputError, match="engine = 'spark': reads files"):
        safemargin.swap([{"a": 1, "b": 2}], swapped=["a"], hold=["b"], rate="0.1", engine="spark")


@pytest.mark.slow
def test_a_worker_dies_and_the_release_is_the_same(alone: Cluster, project: Path, tmp_path: Path) -> None:
    with killing(alone, lambda done, tasks: tasks >= PARTS // 2 and done > 2) as killed:
        safemargin.release(project, engine="spark", master=alone.master).write(tmp_path / "spark")
    assert killed and killed[0] < killed[1], "no worker was killed while the job ran"
    safemargin.release(project).write(tmp_path / "duck")
    assert without_salt(tmp_path / "spark" / "published") == without_salt(tmp_path / "duck" / "published")
    alone.replace(0)


AGES = ("young", "adult", "old")
KINDS = Attributes(
    ("sex", "age"),
    (("f", "m"), AGES),
    (build_grouping("voting", "age", 1, AGES, {"minor": ["young"], "all others": ["adult", "old"]}),),
)


def different(noise: IntArray, tasks: int) -> int:
    """How many of the tasks drew something else than all others: fewer, if a process repeats what another one draws."""
    return len({part.tobytes() for part in np.split(noise.ravel(), tasks)})


@pytest.mark.slow
@pytest.mark.statistical
def test_workers_measure_as_this_process_would(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are exact, and the noise has its law, a chi-square with false alarms below 1e-7; no task repeats another.

    Noise with the parameter 1/100 is not zero with a probability below 1e-21.
    """
    blocks = np.arange(24_000 * 6, dtype=np.int64).reshape(24_000, 6) % 1_000_003
    counts, total = [blocks.sum(axis=0, keepdims=True), blocks], KINDS.query("total")
    small, parameter = Fraction(1, 100), Fraction(5)
    laws = {(0, KINDS.query("voting")): small, (0, total): small, (1, KINDS.query("sex*voting")): small}
    laws |= {(1, total): parameter, (1, KINDS.detailed): parameter}
    monkeypatch.setattr(measure_spark, "AT_ONCE", 1_000 * 11)  # of 4, 1 and 6 counts: 24 tasks
    monkeypatch.setattr(DiscreteGaussian, "protect", None)  # in this process; workers have the code that is sent
    noisy = measure_in_spark(Path("people"), shared.master, KINDS, counts, laws)
    assert {margin: values.shape for margin, values in noisy.items()} == {
        (level, query): (len(counts[level]), KINDS.cells(query)) for level, query in laws
    }
    for (level, query), law in laws.items():
        if law == small:
            assert (noisy[level, query] == KINDS.margin(counts[level], query)).all()
    noise = noisy[1, KINDS.detailed] - blocks
    assert different(noise, 24) == 24
    law, edge = DiscreteGaussian(parameter).law, 6  # tails count together
    expected = [law(value) for value in range(-edge, edge + 1)]
    expected[0] = expected[-1] = sum(law(value) for value in range(edge, 60))
    observed = [int((np.clip(noise, -edge, edge) == value).sum()) for value in range(-edge, edge + 1)]
    assert chisquare(observed, [share * noise.size for share in expected]).pvalue > 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_no_task_of_two_runs_repeats_another(shared: Cluster, sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFEMARGIN_SAMPLER", sampler)
    monkeypatch.setattr(measure_spark, "AT_ONCE", 60)
    counts = [np.zeros((80, 6), dtype=np.int64)]
    margin = (0, KINDS.detailed)
    runs = [
        measure_in_spark(Path("people"), shared.master, KINDS, counts, {margin: Fraction(10**6)})[margin]
        for _ in range(2)
    ]
    assert different(np.concatenate(runs), 16) == 16


@pytest.mark.slow
def test_a_worker_dies_while_it_measures(alone: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = write_country(tmp_path, 3_000, 60)
    where = f'engine = "spark"\nmaster = "{alone.master}"'
    config.write_text(config.read_text().replace('"people.parquet"', f'"people.parquet"\n{where}'))
    monkeypatch.setattr(measure_spark, "AT_ONCE", 1)
    with killing(alone, lambda done, tasks: tasks > 60 and done > 2) as killed:  # a task for every area
        made: Any = safemargin.topdown(config, tmp_path / "out")
    assert killed and killed[0] < killed[1], "no worker was killed while the job ran"
    alone.replace(0)
    again: Any = safemargin.topdown(made.published)
    assert again.agrees
    truth, folder = count_project(config, tmp_path / "other").counts, Folder(made.published)
    measured = folder.read_measurements(made.design)
    for level, total in ((0, 3_000), (1, truth[1].sum(axis=1))):
        assert (folder.read_table(made.design, level).sum(axis=1) == total).all()
    for (level, query), exact in measured.exact.items():
        assert (exact == made.design.attributes.margin(truth[level], query)).all()
    for level, queries in enumerate(measured.noisy):
        for query, values in queries.items():
            error = values - made.design.attributes.margin(truth[level], query)
            # Noise is subgaussian: it is beyond nine standard deviations with probability below 1e-17.
            assert (error != 0).any() and abs(error).max() < 9 * float(made.design.measured(level)[query]) ** 0.5


@pytest.mark.slow
def test_a_cluster_that_dies_for_good_is_one_line(
    alone: Cluster, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    for worker, process in enumerate(alone.workers):
        if process.poll() is None:
            alone.kill(worker)
    monkeypatch.setattr(spark_session, "PATIENCE", 2)
    with pytest.raises(InputError, match="^master = 'spark://127.0.0.1:[0-9]+': the cluster has had no worker for 2 s"):
        safemargin.release(project, engine="spark", master=alone.master)
    for command in COMMANDS:
        lines, left = run_command(capsys, tmp_path, *command, "--engine", "spark", "--master", alone.master)
        assert lines == [f"safemargin: --master = {alone.master!r}: the cluster has had no worker for 2 seconds"]
        assert not left
    counted = count_project(write_country(tmp_path / "country", 300, 30), tmp_path / "out")
    data = counted.project.data.model_copy(update={"engine": "spark", "master": alone.master})
    with pytest.raises(InputError, match="the cluster has had no worker for 2 seconds"):
        spark = replace(counted, project=counted.project.model_copy(update={"data": data}))
        release(spark, tmp_path / "out", {}, no_progress)
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == [".lock"]
    assert release(counted, tmp_path / "out", {}, no_progress).published.is_dir()  # nobody else has claimed it


@pytest.mark.slow
def test_values_and_odd_files_are_read_alike(pyspark: Any, tmp_path: Path) -> None:
    path = tmp_path / "100% [v].parquet"
    duckdb.sql(
        f"""copy (select i % 5 as whole, i % 3 = 0 as flag, (i % 4) / 2.0 as "a b",
        date '2020-01-01' + (i % 3)::int as day, case when i % 11 > 0 then 'é' || i % 2 end as text,
        (i % 9)::decimal(6, 2) as money, timestamp '2020-01-01' + interval (i % 2) hour as moment
        from range(1000) t(i)) to '{path}'"""
    )
    ours, theirs = both(path, ("whole", "flag", "a b", "day", "text", "money", "moment"))
    assert ours == theirs
    (tmp_path / "v.csv").write_text('a,b,c\n1,"x, ""y""", w \n2,,""\n\n3,é,#\n')
    ours, theirs = both(tmp_path / "v.csv", ("a", "b", "c"))
    assert ours == theirs
    lake = open_counted(Address(f"file://{tmp_path}/*.parquet"), engine="spark").profiles(("whole",))
    assert counted(lake) == [((str(value),), 200) for value in range(5)]
    for text in ("a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n", 'a,b\n1,"2\n3,4\n', 'a,b\n1,"2"3\n', b"a,b\n1,\xe9\n"):
        (tmp_path / "bad.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(InputError, match="bad.csv: ") as caught:
            open_counted(tmp_path / "bad.csv", engine="spark").profiles(("a",) if '"' in str(text) else ("a", "b"))
        assert "\n" not in str(caught.value)
    duckdb.sql(f"copy (select 1 as whole) to '{tmp_path}/other.parquet'")
    with pytest.raises(InputError, match="has other columns"):
        open_counted(Address(f"file://{tmp_path}/*.parquet"), engine="spark").profiles(("whole",))


@pytest.mark.slow
def test_topdown_counts_people_alike(pyspark: Any, tmp_path: Path) -> None:
    plain = TopDownProject.load(write_country(tmp_path / "country", 3_000, 30))
    spark = plain.model_copy(update={"data": plain.data.model_copy(update={"engine": "spark"})})
    ours, theirs = read_spine(plain), read_spine(spark)
    assert ours.names == theirs.names
    assert (count_people(plain, ours) == count_people(spark, theirs)).all()


@pytest.mark.slow
def test_workers_get_the_code_and_their_faults_are_one_line(pyspark: Any) -> None:
    def found(name: str) -> str:
        return str(importlib.import_module(name).__file__)

    (place,) = in_tasks(Path("people"), "local[1]", found, ["safemargin.topdown.measure_spark"])
    assert "safemargin.zip" in place
    with pytest.raises(InputError, match=r"^master = 'local\[1\]': its workers need Python 3.* and nothing_such; set "):
        in_tasks(Path("people"), "local[1]", found, ["nothing_such"])


@pytest.mark.slow
def test_no_java_is_one_line(pyspark: Any, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pyspark.SparkContext, "_gateway", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="there is no Java; install Java 17"):
        safemargin.release(project, engine="spark")


@pytest.mark.slow
def test_a_master_that_does_not_answer_is_one_line(
    pyspark: Any, project: Path, capsys: Capture, tmp_path: Path
) -> None:
    with socket.socket() as closed:  # bound, but nobody listens
        closed.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(InputError, match="no master answers there"):
            safemargin.release(project, engine="spark", master=master)
        for command in COMMANDS:
            lines, left = run_command(capsys, tmp_path, *command, "--engine", "spark", "--master", master)
            assert lines == [
                f"safemargin: --master = {master!r}: no master answers there; start it, or correct the address"
            ]
            assert not left


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"engine": "spark", "master": "http://127.0.0.1"}, "must be spark://HOST:PORT"),
        ({"engine": "hadoop"}, "must be duckdb or spark"),
        ({"master": "local"}, "set engine = 'spark'"),
    ],
)
def test_what_no_engine_can_do_is_one_line(project: Path, said: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        safemargin.release(project, **said)


@pytest.mark.slow
def test_a_table_that_changes_while_it_is_swapped_is_refused(pyspark: Any, tmp_path: Path) -> None:
    path = tmp_path / "homes.parquet"

    def write() -> None:
        duckdb.sql(f"copy (select i % 7 as county, i % 3 as tenure from range(300) t(i)) to '{path}'")

    write()
    said: dict[str, Any] = {"swapped": ["county"], "hold": ["tenure"], "rate": "0.1", "engine": "spark"}
    with pytest.raises(InputError, match="homes.parquet: changed while it was read"):
        safemargin.swap(path, **said, progress=lambda step, *_: write() if step == "drawing the exchange" else None)


@pytest.mark.parametrize("name", ["duckdb", "spark"])
def test_a_table_that_changes_is_refused(project: Path, name: str) -> None:
    source = open_counted(project.parent / "votes", engine=name)
    part = next((project.parent / "votes").rglob("part0.parquet"))
    part.write_bytes(part.read_bytes())
    with pytest.raises(InputError, match="part0.parquet: changed while it was read"):
        source.profiles(("district",))


def test_files_with_other_columns_are_refused(project: Path) -> None:
    duckdb.sql(f"copy (select 'A' as vote) to '{project.parent}/votes/age=old/short.parquet'")
    for name in ("duckdb", "spark"):
        with pytest.raises(InputError):
            open_counted(project.parent / "votes", engine=name).profiles(("district", "vote"))


def test_a_table_that_changes_under_duckdb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("a\n1\n2\n")
    source: Any = open_counted(path)
    with pytest.raises(InputError, match="v.csv: changed while it was read"), source.connected() as database:
        database.execute(f"select count(*) from {source.scan}").fetchall()
        path.write_text("a\n1\n3\n")
