"""Programs of others that answer the same question as one of ours, run by an interpreter that has them.

`run` gives the CPU seconds of the best of three calls (of one where it takes long), without the start of the program,
and what it found; or the reason why there is no answer.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

SCRIPTS: Mapping[str, str] = {
    "pandas": """
import pandas as pd
def work():
    found = pd.read_parquet(said["data"]).groupby(said["columns"], observed=True).size()
    return {"profiles": len(found), "people": int(found.sum())}
""",
    "polars": """
import polars as pl
def work():
    found = pl.scan_parquet(said["data"]).group_by(said["columns"]).len().collect()
    return {"profiles": len(found), "people": int(found["len"].sum())}
""",
    "DuckDB": """
import duckdb
def work():
    columns = ", ".join(said["columns"])
    found = duckdb.connect().execute(f"select {columns}, count(*) as n from '{said['data']}' group by all").fetchnumpy()
    return {"profiles": len(found["n"]), "people": int(found["n"].sum())}
""",
    "Spark": """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.range(1000).groupBy("id").count().collect()  # classes are loaded, as on a cluster that runs
def work():
    found = spark.read.parquet(said["data"]).groupBy(*said["columns"]).count().toArrow()
    return {"profiles": found.num_rows, "people": sum(found.column("count").to_pylist())}
""",
    "cell-key-perturbation": """
import pandas as pd
from cell_key_perturbation.create_perturbed_table import create_perturbed_table
from cell_key_perturbation.utils.generate_test_ptable import generate_ptable_10_5_rule
data, table = pd.read_csv(said["data"], dtype={name: str for name in said["columns"]}), generate_ptable_10_5_rule()
table.to_csv(said["ptable"], index=False)
def work():
    options = {"use_existing_ons_id": False, "threshold": 0}
    found = create_perturbed_table(data, table, [], said["columns"], "record_key", **options)
    return {"cells": found[[*said["columns"], "pre_sdc_count", "count"]].astype(str).values.tolist()}
""",
    "ACRO": """
import logging
logging.disable(logging.CRITICAL)
import pandas as pd
from acro import ACRO
data = pd.read_csv(said["data"])
session = ACRO(suppress=False)
def work():
    session.crosstab(data[said["columns"][0]], data[said["columns"][1]])
    return {"status": session.results.get_index(0).status}
""",
}
HEAD = """
import json, os, resource, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
said = json.loads(sys.argv[1])
def cpu():  # of this process, of those that it waited for, and of Java, which goes on
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + children.ru_utime + children.ru_stime
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat[1]) == os.getpid():
            total += (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    return total
"""
TAIL = """
best = float("inf")
for _ in range(3):
    start = cpu()
    found = work()
    best = min(best, cpu() - start)
    if best > 2:
        break
print("\\n" + json.dumps([best, found]))
"""


def run(python: str, peer: str, folder: Path, **said: object) -> tuple[float, dict[str, object]] | str:
    """The seconds of a peer and what it found; or why there is no answer, in a few words."""
    command = [python, "-c", HEAD + SCRIPTS[peer] + TAIL, json.dumps(said)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=folder)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no answer: {type(error).__name__}"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:120]
    seconds, found = json.loads(done.stdout.strip().splitlines()[-1])
    return float(seconds), found
