"""Constraints of several margins that cross: integer tables are found if there are any, and only then."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

from safemargin.core import BoolArray, InputError, IntArray, TooLargeError, numpy_generator
from safemargin.topdown import siblings
from safemargin.topdown.attributes import Attributes
from safemargin.topdown.design import Design, MarginLimit, Measurements, WeightedLimit, build_spine, combine_limits
from safemargin.topdown.least_squares import fit
from safemargin.topdown.run import recompute, run
from safemargin.topdown.tables import solve_tables
from spines import designed, people, rounded_noise, uneven_spine

pytestmark = pytest.mark.full

CUBE = Attributes(("a", "b", "c"), (("1", "2", "3"),) * 3)
SPLIT = {"total": "1/4", "a": "1/4", "detailed": "1/2"}

CROSSED = {
    "two of the smallest areas": ((3, "a"), (3, "b")),
    "three pairs of the smallest areas": ((3, "a*b"), (3, "b*c"), (3, "a*c")),
    "pairs on three levels": ((3, "a*b"), (1, "b*c"), (2, "a*c")),
    "three of middle areas": ((2, "a"), (2, "b"), (2, "c"), (3, "total")),
}


@pytest.mark.parametrize("crossed", CROSSED.values(), ids=CROSSED)
@pytest.mark.parametrize("seed", [0, 5, 11])
def test_what_is_true_of_people_always_has_tables(crossed: tuple[tuple[int, str], ...], seed: int) -> None:
    """Exact margins that cross, of few people, under much noise."""
    spine = uneven_spine(seed)
    counts = people(spine, seed, mean=0.6, kinds=CUBE)
    design = designed(spine, ((0, "total"), *crossed), rho=Fraction(1, 50), kinds=CUBE, split=SPLIT)
    measured = rounded_noise(design, counts, seed)
    tables = solve_tables(design, combine_limits(design, measured.exact), fit(design, measured))
    assert _keeps(design, tables, measured)


def test_a_program_that_takes_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siblings, "SECONDS", 0.0)
    spine = uneven_spine(0)
    counts = people(spine, 0, mean=0.6, kinds=CUBE)
    design = designed(spine, ((0, "total"), (3, "a*b"), (3, "b*c"), (3, "a*c")), kinds=CUBE, split=SPLIT)
    measured = rounded_noise(design, counts, 0)
    with pytest.raises(TooLargeError, match=r"the root: no integer counts were found in 0 s, .*; drop an exact count"):
        solve_tables(design, combine_limits(design, measured.exact), fit(design, measured))


def _keeps(design: Design, tables: Sequence[IntArray], measured: Measurements) -> bool:
    kinds, spine = design.attributes, design.spine
    exact = all(
        (kinds.margin(tables[level], query) == values).all() for (level, query), values in measured.exact.items()
    )
    adding = all((spine.sums(level, tables[level]) == tables[level - 1]).all() for level in range(1, len(tables)))
    return exact and adding and min(int(table.min()) for table in tables) >= 0


SQUARE = Attributes(("a", "b"), (("1", "2"),) * 2)
FOUR = build_spine(["land", "town", "street"], "land", [("A", "A1"), ("A", "A2"), ("B", "B1"), ("B", "B2")])
PEOPLE = 3
EVERY = np.array(
    [np.bincount(cells, minlength=16).reshape(4, 4) for cells in combinations_with_replacement(range(16), PEOPLE)]
)
"""All tables of three people in four streets with four cells each."""
COUNTED = [np.array(level) for level in zip(*(FOUR.counts(table) for table in EVERY), strict=True)]
"""Their counts by level: a matrix of areas and cells for every table."""


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_no_tables_are_refused_and_none_invented(start: int) -> None:
    """Against a list of all tables: limits taken from different ones may contradict each other in ways that no two of
    them do.
    """
    kinds, there_are = SQUARE, set()
    for seed in range(start, start + 50):
        random = numpy_generator(seed)
        earlier = []
        for level, title in ((2, "a"), (2, "b"), (1, "a*b"), (2, "total"), (1, "a")):
            if random.random() < 0.6:
                said = FOUR.counts(EVERY[random.integers(len(EVERY))])[level]
                values = kinds.margin(said, kinds.query(title))
                loose = random.integers(0, 2, values.shape) * int(random.integers(2))
                earlier.append((level, MarginLimit(kinds.query(title), np.maximum(values - loose, 0), values + loose)))
        design = designed(
            FOUR, earlier=tuple(earlier), rho=Fraction(1, 9), kinds=kinds, split={"total": "1/2", "detailed": "1/2"}
        )
        if seed % 2:  # also limit weighted sums of the counts of every area
            level, weights = int(random.integers(3)), random.integers(0, 4, (1, 4))
            sums = FOUR.counts(EVERY[random.integers(len(EVERY))])[level] @ weights.T
            limit = WeightedLimit(kinds.detailed, weights, sums - random.integers(2), sums + random.integers(2))
            design = replace(design, weighted=((level, limit),))
        measured = rounded_noise(design, FOUR.counts(EVERY[random.integers(len(EVERY))]), seed)
        possible = bool(_agreeing(design).any())
        there_are.add(possible)
        try:
            found = solve_tables(design, combine_limits(design, measured.exact), fit(design, measured))
        except InputError:
            assert not possible, seed
        else:
            assert _agrees(design, found) and _keeps(design, found, measured), seed
    assert there_are == {False, True}


def _agreeing(design: Design) -> BoolArray:
    """Which of all tables satisfy the limits."""
    found = np.ones(len(EVERY), dtype=bool)
    for level, limit in (*design.earlier, *design.weighted):
        cells = COUNTED[level].reshape(-1, COUNTED[level].shape[-1])
        values = design.attributes.margin(cells, limit.query).reshape(len(EVERY), COUNTED[level].shape[1], -1)
        values = values @ limit.weights.T if isinstance(limit, WeightedLimit) else values
        found &= ((values >= limit.low) & (values <= limit.high)).all(axis=(1, 2))
    return found


def _agrees(design: Design, tables: Sequence[IntArray]) -> bool:
    sums = [(limit, design.attributes.margin(tables[level], limit.query)) for level, limit in design.earlier]
    weighted = [
        (limit, design.attributes.margin(tables[level], limit.query) @ limit.weights.T)
        for level, limit in design.weighted
    ]
    return all((values >= limit.low).all() and (values <= limit.high).all() for limit, values in (*sums, *weighted))


CONFIG = """\
[data]
file = "people.csv"

[spine]
levels = ["state", "town"]

[attributes]
a = ["1", "2"]
b = ["1", "2"]

[budget]
rho_squared = "1/100"
levels = { all = "1/3", state = "1/3", town = "1/3" }
queries = { total = "1/2", detailed = "1/2" }

[[invariants]]
level = "town"
query = "a"

[[invariants]]
level = "town"
query = "b"
"""


def written(folder: Path, more: str = "") -> Path:
    """Two towns in each of two states; one person of a state is (1, 2), the other (2, 1)."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{state},{state}{town},{town},{3 - town}\n" for state in "ns" for town in (1, 2)]
    (folder / "people.csv").write_text("state,town,a,b\n" + "".join(rows))
    (folder / "topdown.toml").write_text(CONFIG + more)
    return folder / "topdown.toml"


def test_a_release_whose_levels_are_solved_again_is_the_same_when_interrupted(tmp_path: Path) -> None:
    config = written(tmp_path)

    class Stop(Exception):
        pass

    def stop(words: str, done: int, total: int) -> None:
        if words == "solving town":
            raise Stop

    with pytest.raises(Stop):
        run(config, tmp_path / "out", progress=stop)
    outcome = run(config, tmp_path / "out")
    assert recompute(outcome.published).different == 0


def test_earlier_tables_that_cannot_be_kept_are_refused_before_noise_is_drawn(tmp_path: Path) -> None:
    """Both margins of the state agree with those of its towns, but not together."""
    config = written(tmp_path, '\n[[earlier]]\nlevel = "state"\nquery = "detailed"\nfile = "before.csv"\n')
    wrong = "state,a,b,count\nn,1,1,1\nn,2,2,1\nn,1,2,0\nn,2,1,0\n"
    (tmp_path / "before.csv").write_text(wrong)
    with pytest.raises(InputError, match=r"topdown\.toml: no integer tables satisfy .*: see the parts of state 'n'"):
        run(config, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "before.csv").write_text(wrong.replace("1\n", "0\n").replace(",0\nn,2,1,0", ",1\nn,2,1,1"))
    run(config, tmp_path / "out")
