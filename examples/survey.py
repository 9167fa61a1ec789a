"""Survey data: income in the Adult extract of the 1994 census survey (UCI; Becker and Kohavi 1996).

python examples/survey.py DATA FOLDER [--compare]

Levels of education are ordered: only neighbours may be merged.
"""

import json
from pathlib import Path

import duckdb
from figures import main

FILE = "adult_uci.parquet"
PROJECT = """title = "Income"

[data]
file = "counts.csv"
answer = "income"
count = "number"

[axes.education]
categories = {levels}
ordered = true
[axes.workclass]
[axes.marital_status]
[axes.race]
[axes.sex]

[target]
beta = {beta}
kappa = {kappa}
tau = {tau}
"""


def build(data: Path, folder: Path, beta: float = 0.02, kappa: int = 20, tau: int = 2) -> Path:
    """Tidy counts and the project."""
    folder.mkdir(parents=True, exist_ok=True)
    source = f"'{data / FILE}'"
    duckdb.sql(
        f"""copy (
            select education, workclass, marital_status, race, sex, income, count(*) as number
            from {source} group by all order by all
        ) to '{folder / "counts.csv"}' (header)"""
    )
    found = duckdb.execute(f"select education from {source} group by education order by min(education_num)").fetchall()
    levels = json.dumps([level for (level,) in found])
    project = folder / "project.toml"
    project.write_text(PROJECT.format(levels=levels, beta=beta, kappa=kappa, tau=tau), encoding="utf-8")
    return project


if __name__ == "__main__":
    main(__doc__, build)
