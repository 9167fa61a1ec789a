"""Redistricting: invented people under the budget, queries and constraints of the 2020 census of the United States.

python examples/redistricting.py FOLDER [--blocks 640]

Shares of levels and queries are those of the production settings for persons. Totals of states are exact; every group
quarters facility has somebody, and where there is none nobody is in group quarters of its kind; no minors live in
nursing homes.
"""

import argparse
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

import safemargin

QUARTERS = ("household", "prison", "juvenile", "nursing", "institution", "dormitory", "barracks", "group")
PARTS = {"State": 2, "County": 8, "Tract": 16, "Block_Group": 32}
PEOPLE = 60
"""In a block, on average."""


def build(folder: Path, blocks: int = 640) -> Path:
    """People, facilities, and the TopDown file."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(2020)
    people = PEOPLE * blocks
    block = random.integers(0, blocks, people)
    homes = random.random((blocks, 8)) < 0.02  # which kinds of group quarters a block has
    kind = random.integers(1, 8, people)
    quarters = np.where(homes[block, kind] & (random.random(people) < 0.5), kind, 0)
    minor = (random.random(people) < 0.22) & (quarters != 3)
    race = np.minimum(random.geometric(0.45, people), 63)
    with duckdb.connect() as database:
        areas = {level: np.arange(blocks) * parts // blocks for level, parts in PARTS.items()}
        database.register("areas", {**areas, "Block": np.arange(blocks)})
        names = ", ".join(f"'{level[0]}' || {level} as {level}" for level in PARTS)
        database.execute(f"create table named as select {names}, 'block ' || Block as Block, Block as place from areas")
        database.register("kinds", {"label": np.array(QUARTERS, dtype=object), "hhgq": np.arange(8)})
        columns = {"place": block, "hhgq": quarters, "minor": minor, "race": race}
        database.register("people", {**columns, "hispanic": random.random(people) < 0.19})
        attributes = "label as hhgq, if(minor, 'minor', 'adult') as votingage, if(hispanic, 'yes', 'no') as hispanic"
        select = f"select named.* exclude place, {attributes}, race::varchar as cenrace"
        _write(database, f"{select} from people join named using (place) join kinds using (hhgq)", folder / "people")
        _write(database, "select * exclude place from named", folder / "areas")
        facilities = "select distinct place, hhgq from people where hhgq > 0"
        source = f"select Block, label as hhgq, 1 as facilities from ({facilities}) join named using (place)"
        _write(database, f"{source} join kinds using (hhgq)", folder / "facilities")
    path = folder / "topdown.toml"
    path.write_text(_config(), encoding="utf-8")
    return path


def _write(database: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    database.execute(f"copy ({query} order by all) to '{path}.parquet' (format parquet)")


def _config() -> str:
    persons = safemargin.guarantee.census().to_json()["products"][0]
    shares: dict[str, dict[str, Fraction]] = {}
    for query in persons["queries"]:
        shares.setdefault(query["level"], {})[query["query"]] = Fraction(query["share_exact"])
    levels = {level: sum(queries.values(), Fraction(0)) for level, queries in shares.items()}
    at = "\n".join(
        f"at.{level} = {_shares({query: share / levels[level] for query, share in queries.items()})}"
        for level, queries in shares.items()
    )
    return f"""\
title = "Redistricting"

[data]
file = "people.parquet"

[spine]
root = "US"
levels = {list(levels)[1:]}
file = "areas.parquet"

[attributes]
hhgq = {list(QUARTERS)}
votingage = ["minor", "adult"]
hispanic = ["no", "yes"]
cenrace = {[str(race) for race in range(1, 64)]}

[groupings.hhinstlevels]
of = "hhgq"
groups = {{ household = ["household"], institutional = {list(QUARTERS[1:5])}, other = {list(QUARTERS[5:])} }}

[budget]
rho_squared = "{persons["rho_squared_exact"]}"
levels = {_shares(levels)}
{at}

[[invariants]]
level = "State"

[[zeros]]
hhgq = ["nursing"]
votingage = ["minor"]

[[bounds]]
level = "Block"
query = "hhgq"
file = "facilities.parquet"
units = "facilities"
each = [1, 99999]
free = {{ hhgq = ["household"] }}
"""


def _shares(shares: dict[str, Fraction]) -> str:
    pairs = [f'"{name}" = "{share}"' for name, share in shares.items()]
    return "{ " + ", ".join(pairs) + " }"


def main() -> None:
    """Release, and print the errors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--blocks", type=int, default=640)
    options = parser.parse_args()
    release = safemargin.topdown(build(options.folder, options.blocks), options.folder / "release")
    for error in release.to_json()["errors_by_query"]:
        figures = [error[name] for name in ("standard_error", "estimate", "integer_tables")]
        print(f"{error['level']:12} {error['query']:27} {' '.join(f'{figure:8.2f}' for figure in figures)}")


if __name__ == "__main__":
    main()
