"""CPU seconds of a release of skewed, correlated people, beside the bare query in DuckDB, by rows, axes and answers.

    python benchmarks/bench_skewed.py FOLDER [--case 1000000,4,5] [--even] [--profile]

Columns have 40, 10, 8, 6, 5, 3, 4 and 2 categories, each half as frequent as the one before half its number (Zipf), and
half of the people have in every column a category that follows from the first. Answers are skewed in the same way
(`--even`: all alike) and follow the first and the last column a little. Data are kept in FOLDER as Parquet.
"""

import argparse
import cProfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet

import safemargin
from safemargin.core import Target

SIZES = (40, 10, 8, 6, 5, 3, 4, 2)
CASES = ("200000,4,2", "200000,4,3", "200000,4,5", "200000,4,10", "200000,4,20", "1000000,4,2", "1000000,4,5")
FOLLOWS = 0.3
"""Share of the people whose category follows from that of the first column."""


def zipf(rng: np.random.Generator, size: int, people: int) -> np.ndarray:
    """Categories as frequent as one over their rank."""
    weights = 1 / np.arange(1, size + 1)
    return rng.choice(size, people, p=weights / weights.sum())


def write_people(folder: Path, people: int, axes: int, options: int, even: bool, seed: int = 1) -> Path:
    """The file of a case; written once."""
    path = folder / f"skewed_{people}_{axes}_{options}{'_even' * even}.parquet"
    if path.exists():
        return path
    rng = np.random.default_rng(seed)
    first = zipf(rng, SIZES[0], people)
    columns = [first]
    for size in SIZES[1:axes]:
        columns.append(np.where(rng.random(people) < FOLLOWS, first % size, zipf(rng, size, people)))
    base = np.zeros(options) if even else -np.log(np.arange(1, options + 1))
    lean = rng.normal(0, 0.4, (SIZES[0], options))[first] + rng.normal(0, 0.3, (SIZES[axes - 1], options))[columns[-1]]
    chosen = (base + lean + rng.gumbel(size=(people, options))).argmax(axis=1)
    table = {f"k{axis}": pyarrow.array([f"c{code:02d}" for code in codes]) for axis, codes in enumerate(columns)}
    table["answer"] = pyarrow.array([f"a{code:02d}" for code in chosen])
    pyarrow.parquet.write_table(pyarrow.table(table), path)
    return path


def measure(path: Path, axes: int, profile: bool) -> None:
    """Print a line of a case."""
    by = [f"k{axis}" for axis in range(axes)]
    started = time.process_time()
    with duckdb.connect() as database:
        listed = ", ".join([*by, "answer"])
        groups = len(database.execute(f"select {listed}, count(*) from '{path}' group by all").fetchall())
    query = time.process_time() - started
    watched = cProfile.Profile()
    started = time.process_time()
    if profile:
        watched.enable()
    made = safemargin.release(path, answer="answer", by=by, target=Target())
    watched.disable()
    seconds = time.process_time() - started
    found = made.to_json()
    exact = sum(cell["action"] == "exact" for cell in found["cells"])
    print(
        f"{path.stem:28} {groups:9,} rows counted in {query:5.2f} s; release {seconds:6.1f} CPU s, ratio "
        f"{seconds / query:5.0f}; {exact} of {len(found['cells'])} exact, rule {made.certificate.rule}",
        flush=True,
    )
    if profile:
        watched.print_stats("tottime")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--case", nargs="+", default=CASES, help="PEOPLE,AXES,OPTIONS")
    parser.add_argument("--even", action="store_true", help="answers that are equally frequent")
    parser.add_argument("--profile", action="store_true")
    said = parser.parse_args()
    said.folder.mkdir(parents=True, exist_ok=True)
    for case in said.case:
        people, axes, options = map(int, case.split(","))
        measure(write_people(said.folder, people, axes, options, said.even), axes, said.profile)
