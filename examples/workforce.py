"""Workforce reporting: the EEO-1 reports of 25 companies for 2016, collected by Reveal.

python examples/workforce.py DATA FOLDER [--compare]

All companies are released by company, race and gender, with the kind of job as the answer. Then one company's own table
of jobs by race and gender is looked at: what its two-way tables disclose, and which cells have to be suppressed.
"""

import sys
import time
from itertools import combinations
from pathlib import Path

import duckdb
from figures import main

import safemargin

FILE = "eeo1_silicon_valley_2016.parquet"
COMPANY = "View"
AXES = ("job", "race", "gender")
PROJECT = """title = "Workforce 2016"

[data]
file = "counts.csv"
answer = "job"
options = ["management", "professionals", "other"]
count = "number"

[axes.company]
[axes.race]
[axes.gender]

[target]
beta = 0.05
kappa = 30
tau = 3
secrets = "{secrets}"
"""


def people(data: Path) -> str:
    """The reported counts as a query, without printed totals and fields that a company left blank (`na`)."""
    return f"""
        select company, race, gender, job_category, try_cast(count as bigint) as people from '{data / FILE}'
        where gender is not null and job_category not in ('Totals', 'Previous_totals')
          and try_cast(count as bigint) is not null"""


def build(data: Path, folder: Path, secrets: str = "choice") -> Path:
    """Tidy counts and the project of all companies."""
    folder.mkdir(parents=True, exist_ok=True)
    duckdb.sql(
        f"""copy (
            select company, race, gender, case
                when job_category in ('Executives', 'Managers') then 'management'
                when job_category = 'Professionals' then 'professionals'
                else 'other' end as job, sum(people)::bigint as number
            from ({people(data)}) group by all having sum(people) > 0 order by all
        ) to '{folder / "counts.csv"}' (header)"""
    )
    project = folder / "project.toml"
    project.write_text(PROJECT.format(secrets=secrets), encoding="utf-8")
    return project


def two_way(data: Path, folder: Path, company: str = COMPANY) -> tuple[int, int, int]:
    """Counts of one company that follow exactly from its three two-way tables.

    All of them, those that are not zero, and the people in these.
    """
    folder.mkdir(parents=True, exist_ok=True)
    query = f"select job_category as job, race, gender, people from ({people(data)}) where company = '{company}'"
    for pair in combinations(AXES, 2):
        names = ", ".join(pair)
        duckdb.sql(
            f"""copy (select {names}, sum(people)::bigint as count from ({query}) group by all order by all)
            to '{folder / "-".join(pair)}.csv' (header)"""
        )
    cells = safemargin.bound(sorted(folder.glob("*-*.csv")), target=AXES).to_json()["cells"]
    counts = [cell["lower"] for cell in cells if cell["lower"] == cell["upper"]]
    return len(counts), sum(count > 0 for count in counts), sum(counts)


def gaps(data: Path, folder: Path, company: str = COMPANY, primary: tuple[int, int] = (1, 2)) -> safemargin.Result:
    """Which cells of one company's table are suppressed, if all its margins are published."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "company.csv"
    duckdb.sql(
        f"""copy (select job_category as job, race, gender, people as count from ({people(data)})
        where company = '{company}' order by all) to '{path}' (header)"""
    )
    return safemargin.suppress(path, primary)


if __name__ == "__main__":
    main(__doc__, build)
    data, folder = Path(sys.argv[1]), Path(sys.argv[2]) / "company"
    closed, occupied, inside = two_way(data, folder)
    print(f"{COMPANY}: {closed} of 140 counts follow from its two-way tables, {occupied} with {inside} people")
    start = time.perf_counter()
    suppression = gaps(data, folder)
    print(f"{COMPANY}: {suppression.to_text(120)}{time.perf_counter() - start:.1f} s")
