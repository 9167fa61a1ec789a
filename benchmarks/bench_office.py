"""What an office waits for: `init`, then the whole `release`, in a process of its own.

    python benchmarks/bench_office.py [folder of the data sets]

Durham and Guilford (at most 10 s with their alternatives), precincts of a state and 5,000 categories (a minute), and
Adult (15 s): CPU seconds, peak memory, and how many categories of the first axis are exact.
"""

import csv
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

from safemargin import init

DATA = Path(__file__).parents[2] / "shared" / "data"
HOUSE = "nc2018_ushouse_precinct_mode_candidate.parquet"
STATE = """select county_name || ' ' || precinct as precinct, mode, party_simplified as party, sum(votes) as votes
from house
where (county_name, precinct) in (select (county_name, precinct) from house where votes > 0 and district <> '003'
group by county_name, precinct having count(distinct mode) > 2) and party_simplified in ('DEMOCRAT', 'REPUBLICAN')
group by all order by all"""
COUNTY = """select precinct, mode, candidate, sum(votes) as votes from house
where county_name = '{}' and district = '{}' group by all order by all"""


def files(data: Path, folder: Path) -> Iterator[tuple[str, str, Path]]:
    """A name, the axis to look at, and a file."""
    if (data / HOUSE).exists():
        with duckdb.connect() as database:
            database.execute(f"create view house as from '{data / HOUSE}'")
            counties = {
                name: COUNTY.format(name.upper(), number) for name, number in (("Durham", "001"), ("Guilford", "006"))
            }
            for name, query in {**counties, "state": STATE}.items():
                database.execute(f"copy ({query}) to '{folder / name}.csv' (header)")
                yield name, "precinct", folder / f"{name}.csv"
        yield "Adult", "workclass", data / "adult_uci.parquet"
    rng = np.random.default_rng(16)
    place, mode = rng.integers(0, 5_000, 400_000), rng.integers(0, 2, 400_000)
    yes = rng.random(400_000) < np.where(place % 50 == 0, 0.98, 0.55)
    cells, people = np.unique(np.stack([place, mode, yes], axis=1), axis=0, return_counts=True)
    with (folder / "places.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["place", "mode", "vote", "people"])
        rows.writerows(
            [f"p{p}", f"m{m}", "yes" if y else "no", n] for (p, m, y), n in zip(cells.tolist(), people, strict=True)
        )
    yield "5,000 categories", "place", folder / "places.csv"


def exact(table: Path) -> str:
    """How many categories of a published table have exact counts."""
    if not table.exists():
        return "none"
    with table.open(encoding="utf-8", newline="") as file:
        status = {row[table.stem]: row["status"] for row in csv.DictReader(file)}
    return f"{sum(value == 'exact' for value in status.values()):,} of {len(status):,} groups"


def main() -> None:
    """Print a line for each."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    with TemporaryDirectory() as place:
        for name, axis, file in files(data, Path(place)):
            folder = Path(place, f"{name} release")
            folder.mkdir()
            init(file).write(folder / "project.toml")
            command = [
                sys.executable,
                "-m",
                "safemargin",
                "release",
                str(folder / "project.toml"),
                "--out",
                str(folder / "out"),
            ]
            quiet = os.open(os.devnull, os.O_WRONLY)
            started = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 1)])
            _, status, used = os.wait4(started, 0)
            if status:
                sys.exit(f"{name}: release ended with status {status}")
            seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20
            groups = exact(folder / "out/published" / f"{axis}.csv")
            print(f"{name}: {seconds:.1f} CPU s, {memory:.2f} GiB, {axis} {groups}")


if __name__ == "__main__":
    main()
