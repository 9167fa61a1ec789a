"""Spark counts what DuckDB counts, also where a worker dies; what cannot be counted is one line."""

import importlib
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import safemargin
from safemargin.core import InputError
from safemargin.io import Address, Profiles, open_counted
from safemargin.io import spark as engine
from safemargin.topdown.country import write_country
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.tabulate import count_people, read_spine
from spark_cluster import Cluster, killing, started_cluster

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
    with started_cluster(tmp_path_factory.mktemp("cluster"), settings, "600M", options) as cluster:
        yield cluster


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
    path.write_text('[data]\nfile = "votes"\nanswer = "vote"\n[axes.district]\n[axes.age]\n[target]\nkappa = 20\n')
    return path


def published(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "published").iterdir()}


@pytest.mark.slow
def test_a_worker_dies_and_the_release_is_the_same(cluster: Cluster, project: Path, tmp_path: Path) -> None:
    with killing(cluster, lambda done, tasks: tasks >= PARTS // 2 and done > 2) as killed:
        safemargin.release(project, engine="spark", master=cluster.master).write(tmp_path / "spark")
    assert killed and killed[0] < killed[1], "no worker was killed while the job ran"
    safemargin.release(project).write(tmp_path / "duck")
    assert published(tmp_path / "spark") == published(tmp_path / "duck")


@pytest.mark.slow
def test_a_cluster_that_dies_for_good_is_one_line(
    cluster: Cluster, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for worker, process in enumerate(cluster.workers):
        if process.poll() is None:
            cluster.kill(worker)
    monkeypatch.setattr(engine, "PATIENCE", 2)
    with pytest.raises(InputError, match="^master = 'spark://127.0.0.1:[0-9]+': the cluster has had no worker for 2 s"):
        safemargin.release(project, engine="spark", master=cluster.master)


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
def test_no_java_is_one_line(pyspark: Any, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pyspark.SparkContext, "_gateway", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="there is no Java; install Java 17"):
        safemargin.release(project, engine="spark")


@pytest.mark.slow
def test_a_master_that_does_not_answer_is_one_line(pyspark: Any, project: Path) -> None:
    with socket.socket() as closed:  # bound, but nobody listens
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match="no master answers there"):
            safemargin.release(project, engine="spark", master=f"spark://127.0.0.1:{closed.getsockname()[1]}")


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
