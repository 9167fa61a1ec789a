"""Households and persons together: no run that drew noise is refused, and every table keeps to every constraint.

Tiny countries and designs are random. What the tables must satisfy is computed here from records and files alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import safemargin
from evidence import seeds
from safemargin.core import InputError, numpy_generator
from safemargin.topdown.topdown import JointRelease

SIZES = {"1": (1, 1), "2": (2, 2), "3+": (3, 4)}
KINDS = {"sex": ("f", "m"), "home": ("household", "quarters", "hotel")}
CELLS = tuple(product(*KINDS.values()))
LEVELS = ("land", "tract", "block")
EXACT = ("total", "home", "sex", "sex*home")
Margin = tuple[str, str]  # level and query
Record = tuple[str, ...]


@dataclass(frozen=True)
class Country:
    """Records of households (tract, block, size) and of persons (tract, block, sex, home), and a design."""

    areas: list[Record]
    homes: list[Record]
    people: list[Record]
    exact_homes: list[Margin]
    exact_people: list[Margin]
    bounds: dict[Record, tuple[int, int]]  # of persons by block and home
    earlier: dict[Record, int]  # of persons by tract and home
    zeros: list[Record]  # sex and home


def country(seed: int) -> Country:
    """Few people, so that noise moves households to where the persons do not fit."""
    random = numpy_generator(seed)
    areas = [(f"t{tract}", f"b{tract}{block}") for tract in range(2) for block in range(1 + random.integers(3))]
    homes, people = list[Record](), list[Record]()
    zeros = [("m", "hotel")] if random.random() < 0.3 else []
    allowed = [cell for cell in CELLS if cell not in zeros]
    for area in areas:
        for _ in range(random.integers(4)):
            size = list(SIZES)[random.integers(3)]
            homes.append((*area, size))
            low, high = SIZES[size]
            people += [(*area, "fm"[random.integers(2)], "household") for _ in range(random.integers(low, high + 1))]
        for _ in range(random.integers(4)):
            people.append((*area, *allowed[random.integers(len(allowed))][:1], "quarters"))
    people = people or [(*areas[0], "f", "quarters")]

    def some(queries: Sequence[str], share: float) -> list[Margin]:
        return [(level, query) for level in LEVELS for query in queries if random.random() < share]

    counts = Counter((block, home) for _, block, _, home in people)
    bounds = {}
    if random.random() < 0.5:
        for _, block in areas:
            for home in KINDS["home"]:
                if random.random() < 0.5:
                    true = counts[block, home]
                    bounds[block, home] = max(0, true - int(random.integers(2))), true + int(random.integers(3))
    earlier = {}
    if random.random() < 0.2:  # noisy counts of an earlier release, of quarters in one tract
        there = sum(tract == "t0" and home == "quarters" for tract, _, _, home in people)
        earlier["t0", "quarters"] = max(0, there + int(random.integers(-2, 3)))
    return Country(areas, homes, people, some(("total", "size"), 0.3), some(EXACT, 0.25), bounds, earlier, zeros)


def lines(names: str, rows: Sequence[Sequence[object]]) -> str:
    return "\n".join([names, *(",".join(map(str, row)) for row in rows)]) + "\n"


def write(land: Country, folder: Path) -> Path:
    """The files of a joint release, with much noise."""

    def common(name: str, invariants: Sequence[Margin]) -> str:
        exact = "".join(f'[[invariants]]\nlevel = "{level}"\nquery = "{query}"\n' for level, query in invariants)
        return (
            f'[data]\nfile = "{name}.csv"\nunit = "{name}"\n[spine]\nroot = "land"\nlevels = ["tract", "block"]\n'
            'file = "areas.csv"\n[budget]\nrho_squared = "1/20"\nqueries = { detailed = 1 }\n'
            'levels = { land = "1/4", tract = "1/4", block = "1/2" }\n' + exact
        )

    folder.mkdir()
    persons = common("person", land.exact_people)
    persons += "".join(f'[[zeros]]\nsex = ["{sex}"]\nhome = ["{home}"]\n' for sex, home in land.zeros)
    if land.bounds:
        persons += '[[bounds]]\nlevel = "block"\nquery = "home"\nfile = "bounds.csv"\n'
    if land.earlier:
        persons += '[[earlier]]\nlevel = "tract"\nquery = "home"\nfile = "earlier.csv"\n'
    sizes = ", ".join(f'"{size}" = [{low}, {high}]' for size, (low, high) in SIZES.items())
    kinds = "".join(f"{name} = {list(values)}\n" for name, values in KINDS.items())
    texts = {
        "areas.csv": lines("tract,block", land.areas),
        "household.csv": lines("tract,block,size", land.homes),
        "person.csv": lines("tract,block,sex,home", land.people),
        "bounds.csv": lines("block,home,at_least,at_most", [(*key, *ends) for key, ends in land.bounds.items()]),
        "earlier.csv": lines("tract,home,count", [(*key, count) for key, count in land.earlier.items()]),
        "household.toml": common("household", land.exact_homes) + f"[attributes]\nsize = {list(SIZES)}\n",
        "person.toml": persons + f"[attributes]\n{kinds}",
        "joint.toml": '[joint]\nhouseholds = "household.toml"\npersons = "person.toml"\nsize = "size"\n'
        f'sizes = {{ {sizes} }}\nliving = "home"\ninside = "household"\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder / "joint.toml"


Row = tuple[dict[int, int], int, int]  # weights of unknowns, least and most of their sum


def rows_of(land: Country) -> Iterator[Row]:
    """Every constraint on households and persons of the blocks: unknowns are numbered block by block."""
    width = len(SIZES) + len(CELLS)
    place = {"land": [("", "")] * len(land.areas), "tract": land.areas, "block": [(b, t) for t, b in land.areas]}

    def selected(level: str, area: str, pick: Sequence[int]) -> dict[int, int]:
        blocks = [number for number, names in enumerate(place[level]) if names[0] == area]
        return {block * width + cell: 1 for block in blocks for cell in pick}

    def cells(query: str) -> dict[Record, list[int]]:
        found: dict[Record, list[int]] = {}
        for number, cell in enumerate(CELLS):
            named = dict(zip(KINDS, cell, strict=True))
            found.setdefault(tuple(named[n] for n in query.split("*") if n in named), []).append(len(SIZES) + number)
        return found

    def true(records: Sequence[Record], picked: dict[int, int], columns: int) -> int:
        order = list(SIZES) if columns == 3 else None
        total = 0
        for record in records:
            block = land.areas.index(record[:2])
            cell = order.index(record[2]) if order else len(SIZES) + CELLS.index(record[2:])  # type: ignore[arg-type]
            total += picked.get(block * width + cell, 0)
        return total

    for level, query in land.exact_homes:
        for area in dict.fromkeys(names[0] for names in place[level]):
            for pick in [[0, 1, 2]] if query == "total" else [[0], [1], [2]]:
                row = selected(level, area, pick)
                yield row, true(land.homes, row, 3), true(land.homes, row, 3)
    everybody = selected("land", "", range(len(SIZES)))
    yield everybody, len(land.homes), len(land.homes)
    for level, query in [*land.exact_people, ("land", "total")]:
        for area in dict.fromkeys(names[0] for names in place[level]):
            for pick in cells(query).values():
                row = selected(level, area, pick)
                yield row, true(land.people, row, 4), true(land.people, row, 4)
    for (block, home), (low, high) in land.bounds.items():
        yield selected("block", block, cells("home")[home,]), low, high
    for (tract, home), count in land.earlier.items():
        yield selected("tract", tract, cells("home")[home,]), count, count
    for zero in land.zeros:
        yield selected("land", "", [len(SIZES) + CELLS.index(zero)]), 0, 0  # type: ignore[arg-type]
    for _, block in land.areas:
        living = selected("block", block, cells("home")["household",])
        for end, sign in ((0, 1), (1, -1)):  # the fewest who fit are not more than live there, the most not fewer
            fit = {
                selected_one: sign * SIZES[size][end]
                for n, size in enumerate(SIZES)
                for selected_one in selected("block", block, [n])
            }
            yield {**fit, **{cell: -sign for cell in living}}, -(10**6), 0


def tables_exist(land: Country) -> bool:
    """By an integer program of its own."""
    rows = list(rows_of(land))
    matrix = sparse.lil_array((len(rows), len(land.areas) * (len(SIZES) + len(CELLS))))
    for number, (weights, _, _) in enumerate(rows):
        for column, weight in weights.items():
            matrix[number, column] = weight
    limits = LinearConstraint(matrix.tocsr(), [low for _, low, _ in rows], [high for _, _, high in rows])
    unknowns = matrix.shape[1]
    return bool(milp(np.zeros(unknowns), constraints=limits, integrality=np.ones(unknowns), bounds=Bounds(0)).success)


def published(land: Country, out: Path) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The unknowns as the microdata have them."""
    width = len(SIZES) + len(CELLS)
    found = np.zeros(len(land.areas) * width, dtype=np.int64)
    with duckdb.connect() as database:
        homes, people = (
            database.execute(f"select {names} from '{out / kind / 'published/microdata.parquet'}'").fetchall()
            for kind, names in (("households", "tract, block, size"), ("persons", "tract, block, sex, home"))
        )
    for tract, block, size in homes:
        found[land.areas.index((tract, block)) * width + list(SIZES).index(size)] += 1
    for tract, block, *cell in people:
        found[land.areas.index((tract, block)) * width + len(SIZES) + CELLS.index(tuple(cell))] += 1
    return found


def refused_before_noise(land: Country, folder: Path) -> bool:
    """Run a country; whether it was refused. Fails if noise was drawn then, or if tables break a constraint."""
    config = write(land, folder)
    try:
        assert isinstance(safemargin.topdown(config, folder / "out"), JointRelease)
    except InputError as error:
        assert not list(folder.rglob("noisy")), error
        assert not tables_exist(land), error
        return True
    found = published(land, folder / "out")
    for weights, low, high in rows_of(land):
        assert low <= sum(weight * found[cell] for cell, weight in weights.items()) <= high
    for kind in ("households", "persons"):
        assert safemargin.topdown(folder / "out" / kind / "published").agrees  # type: ignore[union-attr]
    return False


@pytest.mark.parametrize("seed", range(6))
def test_no_run_that_drew_noise_is_refused(seed: int, tmp_path: Path) -> None:
    land = country(seed)
    assert refused_before_noise(land, tmp_path / "run") <= bool(land.earlier)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(100, 20, 400))
def test_no_run_that_drew_noise_is_refused_at_length(seed: int, tmp_path: Path) -> None:
    land = country(seed)
    assert refused_before_noise(land, tmp_path / "run") <= bool(land.earlier)
