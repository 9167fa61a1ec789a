"""A synthetic country to try TopDown on: invented people in blocks, tracts, districts and regions.

Blocks share people by a gamma law, so that many are nearly empty and a few are large, and each has its own mix of ages
and tenures: noise matters most where counts are small, and a country of equal blocks would hide it.
The file has every kind of constraint once: an invariant, a structural zero (nobody under 18 is communal) and a bound
(blocks with a communal home have at least one person in it).

The same arguments give the same country: it is for examples, tests and benchmarks, and has no people to protect.
"""

import math
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import InputError, OutputError, numpy_generator, owner, remove_parts, write_whole
from safemargin.io import interruptible, literal

SEX = ("f", "m")
AGE = ("0-17", "18-39", "40-64", "65+")
TENURE = ("owner", "tenant", "communal")
BLOCKS_IN_TRACT = 50

PROJECT = """\
title = "A synthetic country"

[data]
file = "people.parquet"

[spine]
root = "country"
levels = ["region", "district", "tract", "block"]
file = "areas.parquet"

[attributes]
sex = ["f", "m"]
age = ["0-17", "18-39", "40-64", "65+"]
tenure = ["owner", "tenant", "communal"]

[budget]
rho_squared = 1
levels = { country = "1/20", region = "3/20", district = "1/5", tract = "1/4", block = "7/20" }
queries = { total = "1/4", "sex*age" = "1/4", detailed = "1/2" }
at.country = { "sex*age" = "1/3", detailed = "2/3" }    # the total is exact there
at.region = { "sex*age" = "1/3", detailed = "2/3" }
at.block = { total = "1/8", detailed = "7/8" }

[[invariants]]      # published exactly
level = "region"
query = "total"

[[zeros]]           # these cells are empty in all data
age = ["0-17"]
tenure = ["communal"]

[[bounds]]          # public: blocks with a communal home, which has at least one person
level = "block"
query = "tenure"
file = "homes.parquet"
"""


def write_country(folder: Path, people: int = 100_000, blocks: int = 1_000, seed: int = 2026) -> Path:
    """Write `people.parquet`, `areas.parquet`, `homes.parquet` and `topdown.toml`; returns the path of the last.

    The same numbers and seed give the same country. A folder that holds another project is refused, so that no project
    of a user is written over.
    """
    if blocks < 1 or people < blocks:
        raise InputError(f"people = {people}, blocks = {blocks}: give at least one block, and a person per block")
    random = numpy_generator(seed)
    share = random.gamma(0.7, size=blocks) + 0.02  # a few large blocks, many small ones
    block = np.repeat(np.arange(blocks), random.multinomial(people, share / share.sum()))
    youth, wealth = random.normal(0, 0.4, blocks)[block], random.normal(0, 0.8, blocks)[block]
    pull = np.stack([0.3 + youth, 0.3 + youth / 2, 0.4 - youth / 2, -0.2 - youth], axis=1)
    age = (pull + random.gumbel(size=pull.shape)).argmax(axis=1)  # Gumbel trick: a draw by softmax of `pull`
    sex = random.random(people) < 0.49
    tenure = (random.random(people) < 1 / (1 + np.exp(wealth + 0.3 * (age - 1.5)))).astype(np.int64)
    homes = random.random(blocks) < 0.03  # blocks with a communal home
    tenure[homes[block] & (age > 0) & (random.random(people) < 0.1 + 0.2 * (age == 3))] = 2
    communal = np.bincount(block[tenure == 2], minlength=blocks)
    tract = np.arange(blocks) // BLOCKS_IN_TRACT
    tracts = int(tract[-1]) + 1
    district = tract // round(tracts**0.4)
    districts = int(district[-1]) + 1
    region = district * (math.isqrt(districts - 1) + 1) // districts
    columns = {"region": region, "district": district, "tract": tract}
    areas = {**columns, "block": np.arange(blocks)}
    path = folder / "topdown.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.read_text(encoding="utf-8") != PROJECT:
            raise OutputError(f"{path} is another project; name an empty folder")
        with duckdb.connect() as database, interruptible(database):
            database.register("areas", areas)
            named = ", ".join(f"format('{name[0].upper()}{{:06d}}', {name}) as {name}" for name in areas)
            database.execute(f"create table named as select {named}, block as place from areas")
            database.register("people", {"place": block, "sex": sex.astype(np.int64), "age": age, "tenure": tenure})
            kinds = ", ".join(
                f"list_value{labels}[{name} + 1] as {name}"
                for name, labels in (("sex", SEX), ("age", AGE), ("tenure", TENURE))
            )
            _copy(
                database,
                f"select region, district, tract, block, {kinds} from people join named using (place)",
                folder / "people.parquet",
            )
            _copy(database, "select region, district, tract, block from named order by block", folder / "areas.parquet")
            homes_columns = {"place": np.arange(blocks), "at_least": (communal > 0).astype(np.int64), "open": homes}
            database.register("homes", homes_columns)
            limits = "at_least, case when open then null else 0 end as at_most"
            _copy(
                database,
                f"select block, 'communal' as tenure, {limits} from homes join named using (place) order by block",
                folder / "homes.parquet",
            )
        write_whole(path, PROJECT.encode())
    except (OSError, duckdb.IOException) as error:
        raise OutputError(f"{folder}: the country could not be written ({error})") from error
    return path


def _copy(database: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write the rows of a query to a Parquet file, which is there whole or not at all."""
    remove_parts(path)
    part = path.with_name(f".{path.name}.part-{owner()}")
    try:
        database.execute(f"copy ({query}) to {literal(str(part))} (format parquet)")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
