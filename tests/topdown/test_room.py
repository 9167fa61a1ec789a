"""Households and persons together: no run that drew noise is refused, and every table keeps to every constraint.

Tiny countries and designs are random. What the tables must satisfy is computed here from records and files alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import safemargin
from evidence import seeds
from safemargin.core import InputError, IntArray, TooLargeError, numpy_generator
from safemargin.topdown import topdown as joint
from safemargin.topdown.attributes import Attributes
from safemargin.topdown.design import build_spine, combine_limits
from safemargin.topdown.least_squares import fit
from safemargin.topdown.residents import always_fit, fit_into, limits_of, residents_of, solve_with_residents
from safemargin.topdown.tables import solve_tables
from safemargin.topdown.topdown import JointRelease
from spines import designed, exact_counts, rounded_noise

pytestmark = pytest.mark.full

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


def country(seed: int, blocks: int = 3) -> Country:
    """Few people, so that noise moves households to where the persons do not fit."""
    random = numpy_generator(seed)
    areas = [(f"t{tract}", f"b{tract}{block:02}") for tract in range(2) for block in range(1 + random.integers(blocks))]
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
WIDTH = len(SIZES) + len(CELLS)
"""Unknowns of a block: households by size, then persons by sex and home."""


def selected(land: Country, level: str, area: str, cells: Sequence[int]) -> dict[int, int]:
    """Unknowns of an area with weight one."""
    column = LEVELS.index(level) - 1
    blocks = [number for number, names in enumerate(land.areas) if column < 0 or names[column] == area]
    return {block * WIDTH + cell: 1 for block in blocks for cell in cells}


def areas_of(land: Country, level: str) -> list[str]:
    column = LEVELS.index(level) - 1
    return [""] if column < 0 else list(dict.fromkeys(names[column] for names in land.areas))


def cells_of(query: str) -> dict[Record, list[int]]:
    """The unknowns of a block in every cell of a margin of households or of persons."""
    kinds = [{"size": size} for size in SIZES] + [dict(zip(KINDS, cell, strict=True)) for cell in CELLS]
    found: dict[Record, list[int]] = {}
    for number, kind in enumerate(kinds):
        if all(name in kind for name in query.split("*")):
            found.setdefault(tuple(kind[name] for name in query.split("*")), []).append(number)
    return found


def rows_of(land: Country) -> Iterator[Row]:
    """Every constraint on households and persons of the blocks."""
    truth = np.zeros(len(land.areas) * WIDTH, dtype=np.int64)
    for tract, block, *kind in (*land.homes, *land.people):
        cells = cells_of("size") if len(kind) == 1 else cells_of("sex*home")
        truth[land.areas.index((tract, block)) * WIDTH + cells[tuple(kind)][0]] += 1
    everything = {"homes": list(range(len(SIZES))), "people": list(range(len(SIZES), WIDTH))}
    margins = [("homes", margin) for margin in (*land.exact_homes, ("land", "total"))]
    margins += [("people", margin) for margin in (*land.exact_people, ("land", "total"))]
    for what, (level, query) in margins:
        for area in areas_of(land, level):
            for cells in [everything[what]] if query == "total" else cells_of(query).values():
                row = selected(land, level, area, cells)
                exact = int(sum(truth[unknown] for unknown in row))
                yield row, exact, exact
    for (block, home), (low, high) in land.bounds.items():
        yield selected(land, "block", block, cells_of("home")[home,]), low, high
    for (tract, home), count in land.earlier.items():
        yield selected(land, "tract", tract, cells_of("home")[home,]), count, count
    for zero in land.zeros:
        yield selected(land, "land", "", cells_of("sex*home")[zero]), 0, 0
    for _, block in land.areas:
        living = selected(land, "block", block, cells_of("home")["household",])
        for end, sign in ((0, 1), (1, -1)):  # the fewest who fit are not more than live there, the most not fewer
            room = {
                unknown: sign * SIZES[size][end]
                for (size,), cells in cells_of("size").items()
                for unknown in selected(land, "block", block, cells)
            }
            yield {**room, **dict.fromkeys(living, -sign)}, -(10**6), 0


def tables_exist(land: Country) -> bool:
    """By an integer program of its own."""
    rows = list(rows_of(land))
    matrix = sparse.lil_array((len(rows), len(land.areas) * WIDTH))
    for number, (weights, _, _) in enumerate(rows):
        for column, weight in weights.items():
            matrix[number, column] = weight
    limits = LinearConstraint(matrix.tocsr(), [low for _, low, _ in rows], [high for _, _, high in rows])
    unknowns = matrix.shape[1]
    return bool(
        milp(
            np.zeros(unknowns), constraints=limits, integrality=np.ones(unknowns, dtype=np.int64), bounds=Bounds(0)
        ).success
    )


def published(land: Country, out: Path) -> IntArray:
    """The unknowns as the microdata have them."""
    found = np.zeros(len(land.areas) * WIDTH, dtype=np.int64)
    with duckdb.connect() as database:
        for kind, query in (("households", "size"), ("persons", "sex*home")):
            path = out / kind / "published/microdata.parquet"
            records = database.execute(f"select tract, block, {query.replace('*', ', ')} from '{path}'").fetchall()
            for tract, block, *cell in records:
                found[land.areas.index((tract, block)) * WIDTH + cells_of(query)[tuple(cell)][0]] += 1
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


@pytest.mark.parametrize("seed", range(4))
def test_no_run_that_drew_noise_is_refused(seed: int, tmp_path: Path) -> None:
    land = country(seed)
    assert refused_before_noise(land, tmp_path / "run") <= bool(land.earlier)


def clashing(seed: int) -> Country:
    """Exact persons by block beside exact persons by home in tracts: households that are solved alone seldom fit."""
    land = country(seed, blocks=12)
    return replace(
        land, exact_homes=[], exact_people=[("block", "total"), ("tract", "home")], bounds={}, earlier={}, zeros=[]
    )


@pytest.mark.parametrize("seed", range(4))
def test_constraints_that_clash_with_households_solved_alone_are_kept(seed: int, tmp_path: Path) -> None:
    assert not refused_before_noise(clashing(seed), tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(100, 5, 400))
def test_no_run_that_drew_noise_is_refused_at_length(seed: int, tmp_path: Path) -> None:
    land = country(seed) if seed % 2 else clashing(seed)
    assert refused_before_noise(land, tmp_path / "run") <= bool(land.earlier)


def test_households_that_leave_no_room_are_solved_again() -> None:
    """By fixed noise: households alone leave no room for the persons in some draws, with them in none."""
    alone = 0
    for seed in range(6):
        land = clashing(seed)
        spine = build_spine(LEVELS, "land", land.areas)
        homes, persons = Attributes(("size",), (tuple(SIZES),)), Attributes(tuple(KINDS), tuple(KINDS.values()))
        exact = [(0, "total"), *((LEVELS.index(level), query) for level, query in land.exact_people)]
        design = designed(spine, kinds=homes, rho=Fraction(1, 20), split={"detailed": "1"}, passes=("size",))
        others = designed(spine, exact, kinds=persons, split={"detailed": "1"}, passes=("detailed",))
        counts = counted(land, land.homes, [(size,) for size in SIZES]), counted(land, land.people, CELLS)
        living, size = persons.query("home"), homes.query("size")
        assert not always_fit(others, living, 0)
        limits = limits_of(others, exact_counts(others, spine.counts(counts[1])))
        people = np.array(list(SIZES.values())).T
        residents = residents_of(others, limits, living, 0, size, people)
        assert fit_into(residents, counts[0])
        measured = rounded_noise(design, spine.counts(counts[0]), seed)
        best, own = fit(design, measured), combine_limits(design, measured.exact)
        alone += fit_into(residents, solve_tables(design, own, best)[-1])
        tables = solve_with_residents(design, measured.exact, best, residents)
        assert fit_into(residents, tables[-1]) and tables[0].sum() == len(land.homes)
        assert all((spine.sums(level, tables[level]) == tables[level - 1]).all() for level in (1, 2))
    assert alone < 6


def counted(land: Country, records: Sequence[Record], kinds: Sequence[Record]) -> IntArray:
    found = np.zeros((len(land.areas), len(kinds)), dtype=np.int64)
    for record in records:
        found[land.areas.index((record[0], record[1])), list(kinds).index(record[2:])] += 1
    return found


@pytest.mark.parametrize("more", ["", '[[zeros]]\nhome = ["quarters"]\n'], ids=["anywhere", "in households"])
def test_designs_that_always_leave_room_need_no_residents(more: str, tmp_path: Path) -> None:
    """Exact totals of persons by tract: how many people fit is limited, and nothing else is written."""
    land = replace(country(1), exact_people=[("tract", "total"), ("tract", "sex")], bounds={}, earlier={}, zeros=[])
    land = replace(land, people=[person for person in land.people if not more or person[3] == "household"])
    config = write(land, tmp_path / "run")
    with (tmp_path / "run/person.toml").open("a") as file:
        file.write(more.replace('"quarters"', '"quarters", "hotel"'))
    assert isinstance(safemargin.topdown(config, tmp_path / "out"), JointRelease)
    assert not (tmp_path / "out/households/published/residents").exists()


def test_designs_too_large_to_solve_together_are_refused_before_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint, "MAX_UNKNOWNS", 10)
    config = write(clashing(0), tmp_path / "run")
    with pytest.raises(TooLargeError, match=r"exact total by block, exact home by tract limit who lives in households"):
        safemargin.topdown(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_guarantees_of_persons_that_cannot_be_read_are_refused_before_households_draw_noise(tmp_path: Path) -> None:
    config = write(replace(country(1), earlier={("t0", "hotel"): 0}), tmp_path / "run")
    persons = tmp_path / "run/person.toml"
    persons.write_text(persons.read_text().replace('"earlier.csv"', '"earlier.csv"\nguarantee = "before.json"'))
    (tmp_path / "run/before.json").write_text("{}")
    with pytest.raises(InputError, match=r"before\.json"):
        safemargin.topdown(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()
