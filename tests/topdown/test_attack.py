"""Random countries of households and persons, with every kind of exact count, bound and zero of docs/topdown.md.

What is published is compared with these by adding up records and tables; noise is large in many of the countries.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pytest

from evidence import seeds
from safemargin import topdown
from safemargin.core import InputError, RefusedError

LEVELS = ("land", "tract", "block")
CATEGORIES = {"sex": ["f", "m"], "home": ["household", "school", "prison"]}
Records = list[tuple[str, ...]]
Exact = list[tuple[str, str]]
HEAD = """
[spine]
root = "land"
levels = ["tract", "block"]
file = "areas.csv"
[budget]
rho_squared = "{rho}"
levels = {{ land = "1/4", tract = "1/4", block = "1/2" }}
queries = {{ detailed = 1 }}
[data]
file = "{name}.csv"
unit = "{unit}"
[attributes]
"""
JOINT = '[joint]\nhouseholds = "homes.toml"\npersons = "people.toml"\nliving = "home"\ninside = "household"\n'


@dataclass(frozen=True)
class Country:
    """Records are land, tract, block and attributes; `sizes` are the fewest and most persons of a household."""

    areas: Records
    homes: Records
    people: Records
    sizes: dict[str, tuple[int, int]]
    exact: tuple[Exact, Exact]
    no_women_in_prison: bool
    limits: list[tuple[str, str, int, int]]
    """Block, category of `home`, least and most persons."""

    @property
    def may_be_refused(self) -> bool:
        """Whether bounds or exact counts of persons in small areas can contradict households, once these have noise."""
        levels = [(LEVELS.index(level), "home" in query) for level, query in self.exact[1]]
        return bool(self.limits) or any(home and wide < small for wide, home in levels for small, _ in levels)

    def write(self, folder: Path, rho: str, known_sizes: bool) -> Path:
        def table(name: str, head: str, rows: list[tuple[object, ...]]) -> None:
            lines = [head, *(",".join(map(str, row)) for row in rows)]
            (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")

        table("areas", "tract,block", [area[1:] for area in self.areas])
        table("homes", "tract,block,size", [home[1:] for home in self.homes])
        table("people", "tract,block,sex,home", [person[1:] for person in self.people])
        table("limits", "block,home,at_least,at_most", [*self.limits])
        exact = ["".join(f'[[invariants]]\nlevel = "{a}"\nquery = "{q}"\n' for a, q in each) for each in self.exact]
        homes = HEAD.format(rho=rho, name="homes", unit="household") + f"size = {list(self.sizes)}\n" + exact[0]
        people = HEAD.format(rho=rho, name="people", unit="person")
        people += "".join(f"{name} = {values}\n" for name, values in CATEGORIES.items()) + exact[1]
        if self.no_women_in_prison:
            people += '[[zeros]]\nsex = ["f"]\nhome = ["prison"]\n'
        if self.limits:
            people += '[[bounds]]\nlevel = "block"\nquery = "home"\nfile = "limits.csv"\n'
        sizes = ", ".join(f'"{name}" = [{low}, {high}]' for name, (low, high) in self.sizes.items())
        (folder / "homes.toml").write_text(homes)
        (folder / "people.toml").write_text(people)
        (folder / "joint.toml").write_text(JOINT + (f'size = "size"\nsizes = {{ {sizes} }}\n' if known_sizes else ""))
        return folder / "joint.toml"


def random_country(rng: np.random.Generator) -> Country:
    sizes = {"1": (1, 1), "2": (2, 2), "3+": (3, 7)} if rng.random() < 0.6 else {"few": (1, 2), "many": (3, 9)}
    areas = [("land", f"t{t}", f"t{t}b{b}") for t in range(rng.integers(1, 4)) for b in range(rng.integers(1, 4))]
    homes: Records = []
    people: Records = []
    for number, area in enumerate(areas):
        for _ in range(rng.integers(number == 0, 9)):
            size = str(rng.choice(list(sizes)))
            homes.append((*area, size))
            low, high = sizes[size]
            people += [(*area, str(rng.choice(["f", "m"])), "household") for _ in range(rng.integers(low, high + 1))]
        if rng.random() < 0.4:
            people += [(*area, "m", str(rng.choice(["school", "prison"])))] * int(rng.integers(1, 12))
    limits = []
    for area, kind in product(areas, ("school", "prison")) if rng.random() < 0.3 else ():
        count = sum(person[2] == area[2] and person[4] == kind for person in people)
        limits.append((area[2], kind, min(count, 1), count + int(rng.integers(20)) if count else 0))
    exact = (
        [("block", "total"), ("tract", "total"), ("land", "size"), ("tract", "size")],
        [*product(("land", "tract", "block"), ("home", "sex", "sex*home")), ("block", "total"), ("tract", "total")],
    )
    some = ([each for each in exact[0] if rng.random() < 0.3], [each for each in exact[1] if rng.random() < 0.12])
    return Country(areas, homes, people, sizes, some, bool(rng.random() < 0.4), limits)


def tally(records: Records) -> Counter[tuple[str, ...]]:
    """Records by area of every level and by each set of their attributes, `*` where one is summed over."""
    found: Counter[tuple[str, ...]] = Counter()
    for record in records:
        found.update(product(record[:3], *((value, "*") for value in record[3:])))
    return found


def verify_tables(folder: Path, records: Records, truth: Records, names: list[str], exact: Exact) -> None:
    """Microdata are the tables of every level, and exact counts are those of the data."""
    published, expected = tally(records), tally(truth)
    for number, level in enumerate(LEVELS):
        area = f"'{level}'" if level == "land" else level
        file = folder / f"tables/{number}-{level}.parquet"
        rows = duckdb.execute(f"select {area}, {', '.join(names)}, count from '{file}'").fetchall()
        assert {row[:-1]: row[-1] for row in rows} == {row[:-1]: published[row[:-1]] for row in rows}
        assert sum(row[-1] for row in rows) == len(records) and min(row[-1] for row in rows) >= 0
    for level, query in [("land", "total"), *exact]:
        areas = {record[LEVELS.index(level)] for record in records + truth}
        for key in published.keys() | expected.keys():
            if key[0] in areas and all(
                (value != "*") == (name in query.split("*")) for name, value in zip(names, key[1:], strict=True)
            ):
                assert published[key] == expected[key], f"{level} {query}: {key}"


def attack(seed: int, folder: Path) -> bool:
    """Whether the country is released; then everything that docs/topdown.md states holds in the tables."""
    rng = np.random.default_rng(seed)
    country = random_country(rng)
    known_sizes = bool(rng.random() < 0.8)
    source = country.write(folder, str(rng.choice(["10", "1", "1/10", "1/200"])), known_sizes)
    try:
        topdown(source, folder / "out")
    except (InputError, RefusedError):
        assert country.may_be_refused and not list(folder.glob("out/persons/**/noisy/*"))
        return False
    found = []
    both = (("households", country.homes, ["size"]), ("persons", country.people, ["sex", "home"]))
    for (unit, truth, names), exact in zip(both, country.exact, strict=True):
        published = folder / "out" / unit / "published"
        select = f"select 'land', tract, block, {', '.join(names)} from '{published / 'microdata.parquet'}'"
        records = duckdb.execute(select).fetchall()
        verify_tables(published, records, truth, names, exact)
        found.append(tally(records))
    homes, people = found
    assert not (country.no_women_in_prison and people["land", "f", "prison"])
    for block, kind, least, most in country.limits:
        assert least <= people[block, "*", kind] <= most
    for area in {name for names in country.areas for name in names}:
        ends = [(1, 99_999)] * len(country.sizes) if not known_sizes else country.sizes.values()
        fewest, most = (
            sum(homes[area, size] * n for size, n in zip(country.sizes, end, strict=True))
            for end in zip(*ends, strict=True)
        )
        assert fewest <= people[area, "*", "household"] <= most, area
    return True


@pytest.mark.parametrize("seed", seeds(0, 4, 300))
def test_households_and_persons_fit_in_random_countries(seed: int, tmp_path: Path) -> None:
    attack(seed, tmp_path)
