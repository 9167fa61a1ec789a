"""What a release costs against rows, profiles and axes, under a ceiling of memory, with DuckDB and with Spark.

    python benchmarks/bench_scale.py FOLDER [--rows 100000000] [--axes 20,12,8,6,4,2,3,2] [--memory 2GiB]
    python benchmarks/bench_scale.py FOLDER --rows 10000000 --spark        # a worker is killed half-way
    python benchmarks/bench_scale.py FOLDER --curve                        # rows, profiles and axes

Synthetic people in Parquet files of 10 million rows, yes or no; FOLDER keeps them for the next run. Every release runs
in a process of its own. With `--spark` the published tables must be those of DuckDB, byte by byte, and a cluster of a
master and two workers is started for it; one worker is killed when half of the tasks are done.
"""

import hashlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import duckdb

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
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    del before
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / GIB


def published_hash(out: Path) -> str:
    """One hash of the published tables."""
    digest = hashlib.sha256()
    for file in sorted((out / "published").glob("*.csv")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]
