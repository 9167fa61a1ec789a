"""The whole release of 10 million people against the bare GROUP BY in DuckDB, each in a process of its own.

    python benchmarks/bench_release.py [rows]

Six axes of 20, 12, 8, 6, 4 and 2 categories, yes or no, Parquet. Prints the ratio of wall times and peak memory.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

AXES = {"area": 20, "age": 12, "origin": 8, "work": 6, "home": 4, "sex": 2}
OPTIONS = ("yes", "no")
PROJECT = (
    '[data]\nfile = "people.parquet"\nanswer = "vote"\n'
    + "".join(f"[axes.{name}]\n" for name in AXES)
    + "[target]\nbeta = 0.05\nkappa = 100\ntau = 3\n"
)
BARE = """
import duckdb
columns = ", ".join({columns!r})
duckdb.connect().execute(f"select {{columns}}, count(*) from '{file}' group by all").fetchnumpy()
"""


def write_people(folder: Path, rows: int) -> Path:
    """Skewed categories that depend on each other, and votes that depend on all of them."""
    generator = np.random.default_rng(10)
    file = folder / "people.parquet"
    with duckdb.connect() as database:
        declared = ", ".join(f"{name} utinyint" for name in (*AXES, "vote"))
        database.execute(f"create table coded ({declared})")
        for start in range(0, rows, 1_000_000):
            chunk = _people(generator, min(1_000_000, rows - start))
            database.register("chunk", chunk)
            database.execute("insert into coded select * from chunk")
            database.unregister("chunk")
        texts = ", ".join(f"'{name} ' || lpad({name}::varchar, 2, '0') as {name}" for name in AXES)
        answers = ", ".join(f"'{option}'" for option in OPTIONS)
        database.execute(f"copy (select {texts}, [{answers}][vote + 1] as vote from coded) to '{file}'")
    return file


def _people(generator: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    lean = np.zeros((rows, len(OPTIONS)))
    area = None
    for name, size in AXES.items():
        shares = np.linspace(2.0, 0.7, size)
        codes = np.searchsorted(np.cumsum(shares / shares.sum()), generator.random(rows)).clip(0, size - 1)
        if area is None:
            area = codes
        else:
            moved = generator.random(rows) < 0.2
            codes = np.where(moved, area % size, codes)
        columns[name] = codes.astype(np.uint8)
        lean += (np.cos(np.arange(size)[:, None] * (1 + np.arange(len(OPTIONS)))) * 0.25)[codes]
    weight = np.exp(lean)
    below = (weight.cumsum(axis=1) / weight.sum(axis=1, keepdims=True)) < generator.random((rows, 1))
    columns["vote"] = below.sum(axis=1).clip(0, len(OPTIONS) - 1).astype(np.uint8)
    return columns


def timed(command: list[str], compiled: Path) -> float:
    """Wall seconds of a command that must succeed, with its modules compiled as in an installed package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env=environment | {"PYTHONPYCACHEPREFIX": str(compiled)}
    )
    return time.perf_counter() - start


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = write_people(folder, rows)
        (folder / "project.toml").write_text(PROJECT)
        bare, whole, compiled = [], [], folder / "compiled"
        for turn in range(4):  # the first one compiles
            code = BARE.format(columns=[*AXES, "vote"], file=file)
            bare.append(timed([sys.executable, "-c", code], compiled))
            release = ["release", str(folder / "project.toml"), "--out", str(folder / f"release{turn}")]
            whole.append(timed([sys.executable, "-m", "safemargin", *release], compiled))
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"bare GROUP BY {min(bare):.2f} s, release {min(whole):.2f} s: ratio {min(whole) / min(bare):.2f}")
        print(f"peak memory {peak:.2f} GiB")


if __name__ == "__main__":
    main()
