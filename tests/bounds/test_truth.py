"""Bounds against ground truth made outside this project."""

import json
import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from brute import published
from safemargin.bounds.bound import infer
from safemargin.bounds.build import build_system
from safemargin.bounds.programs import program_of
from safemargin.core import ContradictionError, Onlooker, PublishedTable

MARGINS = json.loads((Path(__file__).parent.parent / "vectors" / "margins.json").read_text())
CZECH = MARGINS["czech"]
CZECH_BOUNDS = MARGINS["czech_bounds"]
FAKE_SAFE = MARGINS["fake_safe"]
GAP = MARGINS["gap"]
VLACH = MARGINS["vlach"]


def margin(table: np.ndarray, axes: tuple[int, ...], names: str) -> PublishedTable:
    """One exact margin; category `c` of axis `A` is called `Ac`."""
    sums = table.sum(axis=tuple(a for a in range(table.ndim) if a not in axes))
    rows = [
        (tuple(f"{names[a]}{c}" for a, c in zip(axes, place, strict=True)), None, int(sums[place]))
        for place in product(*(range(table.shape[a]) for a in axes))
    ]
    return published("".join(names[a] for a in axes), [names[a] for a in axes], rows)


def faces(name: str) -> list[tuple[int, ...]]:
    if name.startswith("["):
        return [tuple("ABCDEF".index(letter) for letter in face) for face in name.strip("[]").split("][")]
    return list(combinations(range(6), int(re.findall(r"\d", name)[0])))


def pair(name: str, axes: str, values: list[list[int]]) -> PublishedTable:
    rows = [
        ((f"{axes[0]}{i}", f"{axes[1]}{j}"), None, value) for i, row in enumerate(values) for j, value in enumerate(row)
    ]
    return published(name, list(axes), rows)


def three(margins: tuple[list[list[int]], ...]) -> list[PublishedTable]:
    return [pair(axes, axes, values) for axes, values in zip(("xy", "xz", "yz"), margins, strict=True)]


@pytest.mark.parametrize("name", CZECH_BOUNDS)
def test_czech_autoworkers(name: str) -> None:
    table = np.array(CZECH).reshape((2,) * 6)
    exposure = infer([margin(table, face, "ABCDEF") for face in faces(name)])
    lower, upper = (np.array(ends).reshape((2,) * 6) for ends in CZECH_BOUNDS[name])
    for row in range(64):
        cell = exposure.cells.cell(row)
        place = tuple(int(cell[axis][1]) for axis in "ABCDEF")
        assert (exposure.lower[row, 0], exposure.upper[row, 0]) == (lower[place], upper[place]), cell
    assert exposure.integer.all()


@pytest.mark.parametrize("number", range(len(FAKE_SAFE)))
def test_one_integer_table_is_disclosed_although_programs_leave_cells_open(number: int) -> None:
    exposure = infer(three(FAKE_SAFE[number]))
    assert (exposure.lower == exposure.upper).all() and exposure.integer.all()


def side_by_side(margins: tuple[list[list[int]], ...], copies: int) -> list[PublishedTable]:
    """The same table in every category of a further axis, all margins by it."""
    tables = []
    for axes, values in zip(("xy", "xz", "yz"), margins, strict=True):
        rows = [
            ((f"w{w}", f"{axes[0]}{i}", f"{axes[1]}{j}"), None, value)
            for w in range(copies)
            for i, row in enumerate(values)
            for j, value in enumerate(row)
        ]
        tables.append(published(f"w{axes}", ["w", *axes], rows))
    return tables


@pytest.mark.slow
def test_size_is_no_excuse_for_an_end_that_no_whole_table_attains() -> None:
    exposure = infer(side_by_side(FAKE_SAFE[0], 5))
    assert exposure.lower.size == 360 and exposure.integer.all()
    assert (exposure.lower == exposure.upper).all() and (exposure.method == 4).any()
    with pytest.raises(ContradictionError):
        infer(side_by_side(VLACH, 4))


def test_gap_has_the_hull_of_its_values() -> None:
    exposure = infer(three(GAP))
    row = next(r for r in range(len(exposure.cells)) if exposure.cells.cell(r) == {"x": "x0", "y": "y0", "z": "z1"})
    assert (exposure.lower[row, 0], exposure.upper[row, 0]) == (0, 2)


@pytest.mark.slow
def test_facts_that_only_halves_satisfy_are_refused() -> None:
    with pytest.raises(ContradictionError):
        infer(three(VLACH))


def test_contradiction_is_stated_by_a_smallest_set_of_facts() -> None:
    religion = published("religion.csv", ["religion"], [(("Muslim",), None, 310), (("Christian",), None, 10)])
    age = published("age.csv", ["age"], [(("young",), None, 290), (("old",), None, 30)])
    fact = published("fact.csv", ["religion", "age"], [(("Muslim", "young"), None, 5)])
    with pytest.raises(ContradictionError) as caught:
        infer([religion, age], Onlooker(facts=(fact,)))
    words = str(caught.value)
    assert "fact.csv (religion Muslim, age young) = 5" in words
    assert "age.csv (age young) = 290" in words and "religion.csv (religion Christian) = 10" in words
    assert "age old" not in words


def test_decomposable_chain_of_twelve_axes_equals_programs() -> None:
    generator = np.random.default_rng(3)
    table = generator.poisson(1.5, (2,) * 12) * (generator.random((2,) * 12) < 0.3)
    names = "ABCDEFGHIJKL"
    tables = [margin(table, tuple(range(a, a + 3)), names) for a in range(10)]
    exposure = infer(tables)
    assert (exposure.method == 0).all() and exposure.integer.all()
    system = build_system(tables, Onlooker())
    program = program_of(system, system.low, np.minimum(system.high, 10**6))
    for cell in generator.choice(system.size, 4, replace=False):
        cost = np.zeros(system.size)
        cost[cell] = 1
        assert exposure.upper[cell, 0] == round(program.maximise(cost).value)
        assert exposure.lower[cell, 0] == round(-program.maximise(-cost).value)


def test_options_together_are_sharper_than_one_at_a_time() -> None:
    """Two people who share a row: the options of the third leave no room, which no single option shows."""
    roll = published("roll", ["r", "c"], [((r, c), None, 1) for r in "ab" for c in "xy"], measure="people")
    rows, columns = (
        published(axis, [axis], [((name,), o, n) for name, counts in given for o, n in counts.items()], "123")
        for axis, given in (
            ("r", (("a", {"1": 1, "2": 1, "3": 0}), ("b", {"1": 1, "2": 0, "3": 1}))),
            ("c", (("x", {"1": 1, "2": 1, "3": 0}), ("y", {"1": 1, "2": 0, "3": 1}))),
        )
    )
    exposure = infer([rows, columns], Onlooker(roll=(roll,)))
    place = {tuple(exposure.cells.cell(r).values()): r for r in range(4)}
    together = exposure.lower[place["a", "x"]], exposure.upper[place["a", "x"]]
    assert together[0].tolist() == [0, 1, 0] and together[1].tolist() == [0, 1, 0]
    first = [
        published(t.name, t.axes, [(tuple(t.cell(i).values()), None, int(t.lower[i])) for i in range(0, 6, 3)])
        for t in (rows, columns)
    ]
    alone = infer(first, Onlooker(roll=(roll,)))
    assert (alone.lower[place["a", "x"], 0], alone.upper[place["a", "x"], 0]) == (0, 1)


def test_deciding_agrees_with_bounding() -> None:
    generator = np.random.default_rng(8)
    table = generator.poisson(2.0, (4, 4, 4))
    tables = [margin(table, face, "ABC") for face in combinations(range(3), 2)]
    sharp, decided = infer(tables), infer(tables, enough=2)
    assert ((sharp.width <= 2) == (decided.width <= 2)).all()
    assert (decided.lower <= sharp.lower).all() and (decided.upper >= sharp.upper).all()


@pytest.mark.slow
def test_thirty_cubed_is_decided() -> None:
    generator = np.random.default_rng(1)
    table = generator.poisson(3.0 * generator.gamma(1.0, 1.0, (30, 30, 30)))
    exposure = infer([margin(table, face, "ABC") for face in combinations(range(3), 2)], enough=3)
    assert (exposure.width > 3).all() and exposure.integer.all()
