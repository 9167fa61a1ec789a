"""What a release costs against rows, profiles and axes, under a ceiling of memory, with DuckDB and with Spark.

    python benchmarks/bench_scale.py FOLDER [--rows 100000000] [--axes 20,12,8,6,4,2,3,2] [--memory 2GiB]
    python benchmarks/bench_scale.py FOLDER --rows 10000000 --spark        # a worker is killed half-way
    python benchmarks/bench_scale.py FOLDER --curve                        # rows, profiles and axes

Synthetic people in Parquet files of 10 million rows, yes or no; FOLDER keeps them for the next run. Every release runs
in a process of its own. With `--spark` the published tables must be those of DuckDB, byte by byte, and a cluster of a
master and two workers is started for it; one worker is killed when half of the tasks are done.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import safemargin

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from spark_cluster import killing, started_cluster

AXES = "20,12,8,6,4,2,3,2"
PART = 10_000_000
"""Rows of one file."""
GIB = 2**20
"""Kilobytes, in which peak memory is reported."""


def write_people(folder: Path, rows: int, sizes: list[int]) -> Path:
    """People whose categories are skewed and depend on the first axis; votes depend on all of them."""
    place = folder / f"people_{rows}_{'_'.join(map(str, sizes))}"
    place.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(config={"memory_limit": "2GiB", "preserve_insertion_order": False}) as database:
        for start in range(0, rows, PART):
            file = place / f"part{start // PART:04d}.parquet"
            if not file.exists():
                query = _people(start, min(start + PART, rows), sizes)
                database.execute(f"copy ({query}) to '{file}.draft' (format parquet)")
                os.replace(f"{file}.draft", file)
    return place


def _people(start: int, end: int, sizes: list[int]) -> str:
    """The SQL of some people: a hash of the row and the axis stands for chance, so that every run has the same."""

    def share(number: int) -> str:
        return f"((hash(i * 64 + {number}) >> 11)::double / {2**53})"

    codes = [f"(pow({share(0)}, 1.3) * {sizes[0]})::int % {sizes[0]} as k0"]
    for axis, size in enumerate(sizes[1:], 1):
        own = f"(pow({share(2 * axis)}, 1.2) * {size})::int % {size}"
        codes.append(f"case when {share(2 * axis + 1)} < 0.2 then k0 % {size} else {own} end as k{axis}")
    lean = " + ".join(f"0.25 * cos({axis + 1} * k{axis})" for axis in range(len(sizes)))
    texts = ", ".join(
        f"'{name(axis)} ' || lpad(k{axis}::varchar, 3, '0') as {name(axis)}" for axis in range(len(sizes))
    )
    vote = f"case when {share(63)} < 1 / (1 + exp(-({lean}))) then 'yes' else 'no' end as vote"
    return f"select {texts}, {vote} from (select i, {', '.join(codes)} from range({start}, {end}) as t(i))"


def name(axis: int) -> str:
    """What an axis is called."""
    return f"axis{axis}"


def write_project(folder: Path, data: Path, axes: int) -> Path:
    """A project file for the people in `data`."""
    path = folder / f"{data.name}.toml"
    sections = "".join(f"[axes.{name(axis)}]\n" for axis in range(axes))
    path.write_text(
        f'[data]\nfile = "{data}"\nanswer = "vote"\n{sections}[target]\nbeta = 0.05\nkappa = 100\ntau = 3\n'
    )
    return path


def release(project: Path, out: Path, *options: str) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak GiB of one release."""
    command = [sys.executable, "-m", "safemargin", "release", str(project), "--out", str(out), *options]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / GIB


def published_hash(out: Path) -> str:
    """One hash of the published tables."""
    digest = hashlib.sha256()
    for file in sorted((out / "published").glob("*.csv")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def compare_spark(folder: Path, project: Path, out: Path) -> None:
    """The same release with Spark, of which a worker is killed half-way."""
    with tempfile.TemporaryDirectory() as name:
        settings = {"spark.executor.memory": "1500m", "spark.sql.files.maxPartitionBytes": "1m"}
        with started_cluster(Path(name), settings, "1600M") as cluster:
            start = time.perf_counter()
            with killing(cluster, lambda done, tasks: tasks > 4 and done >= tasks // 2) as killed:
                made = safemargin.release(project, engine="spark", master=cluster.master)
            made.write(Path(name, "release"))
            seconds = time.perf_counter() - start
            theirs = published_hash(Path(name, "release"))
    print(f"Spark: {seconds:.0f} s; a worker was killed after {killed[0]} of {killed[1]} tasks; published {theirs}")
    if not killed or theirs != published_hash(out):
        raise SystemExit("no worker was killed, or Spark gives another release")


def measure(folder: Path, rows: int, sizes: list[int], memory: str, spark: bool = False) -> None:
    """One line about one release."""
    data = write_people(folder, rows, sizes)
    project = write_project(folder, data, len(sizes))
    with duckdb.connect(config={"memory_limit": "2GiB"}) as database:
        names = ", ".join(name(axis) for axis in range(len(sizes)))
        query = f"select count(*) from (select distinct {names} from '{data}/*.parquet')"
        ((profiles,),) = database.execute(query).fetchall()
    with tempfile.TemporaryDirectory() as place:
        out = Path(place, "release")
        wall, cpu, peak = release(project, out, "--memory", memory)
        print(
            f"{rows:>11,} rows, {len(sizes)} axes, {profiles:>9,} profiles: {cpu:7.1f} CPU s, {wall:7.1f} s, "
            f"{peak:.2f} GiB of {memory}; published {published_hash(out)}",
            flush=True,
        )
        if spark:
            compare_spark(folder, project, out)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--axes", default=AXES)
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--curve", action="store_true")
    said = parser.parse_args()
    if not said.curve:
        return measure(said.folder, said.rows, [int(size) for size in said.axes.split(",")], said.memory, said.spark)
    for rows in (100_000, 1_000_000, 10_000_000):  # rows, at first with more profiles too
        measure(said.folder, rows, [int(size) for size in AXES.split(",")], said.memory)
    for sizes in ("20,12", "20,12,8,6", "20,12,8,6,4,2", "40,20,12,8,6,4,2"):  # axes, and profiles with them
        measure(said.folder, 1_000_000, [int(size) for size in sizes.split(",")], said.memory)


if __name__ == "__main__":
    main()
