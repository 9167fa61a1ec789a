"""`bound` on secrets that are sets of options, against an enumeration of all tables."""

import random
from itertools import product

import pytest

import safemargin
from cases import Town
from safemargin.core import Secrets, Target


def splits(total: int, parts: int) -> "list[tuple[int, ...]]":
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in splits(total - first, parts - 1)]


@pytest.mark.parametrize("seed", range(8))
def test_the_interval_of_a_set_is_that_of_all_tables(seed: int) -> None:
    draw = random.Random(seed)
    cells = list(product("ab", "xy"))
    people = {cell: draw.randint(1, 3) for cell in cells}
    votes = {cell: draw.choice(splits(people[cell], 4)) for cell in cells}
    table = Town(("one", "two"), (("a", "b"), ("x", "y")), ("p", "q", "r", "s"), people, votes).table()
    chosen = draw.choice([("p", "q"), ("q", "s"), ("p", "r")])
    target = Target(kappa=1, tau=0, secrets=Secrets.parse({"default": "choice", "sets": [list(chosen)]}))
    found = safemargin.bound(table, aim=target).to_json()["sets"]
    ends: dict[tuple[str, ...], list[int]] = {}
    margins = [{key: tuple(sum(votes[c][o] for c in cells if c[axis] == key) for o in range(4)) for key in keys}
               for axis, keys in enumerate(("ab", "xy"))]  # fmt: skip
    for guess in product(*(splits(people[cell], 4) for cell in cells)):
        by_cell = dict(zip(cells, guess, strict=True))
        same = all(
            tuple(sum(by_cell[c][o] for c in cells if c[axis] == key) for o in range(4)) == sums
            for axis, listed in enumerate(margins)
            for key, sums in listed.items()
        )
        for cell in cells if same else ():
            inside = sum(by_cell[cell]["pqrs".index(option)] for option in chosen)
            low, high = ends.get(cell, [inside, inside])
            ends[cell] = [min(low, inside), max(high, inside)]
    assert {tuple(entry["cell"].values()): [entry["lower"], entry["upper"]] for entry in found} == ends
    assert {tuple(entry["options"]) for entry in found} == {chosen}


def test_a_set_that_nearly_all_chose_is_printed_and_decides_the_verdict() -> None:
    votes = {("a",): (50, 49, 1, 0), ("b",): (10, 10, 70, 10)}
    town = Town(("one",), (("a", "b"),), ("p", "q", "r", "s"), {("a",): 100, ("b",): 100}, votes)
    target = Target(secrets=Secrets.parse({"default": "choice", "sets": [["p", "q"]]}))
    bounds = safemargin.bound(town.table(), aim=target)
    assert bounds.disclosed == 1
    assert "Sets of options" in bounds.to_text() and "p or q" in bounds.to_text()
    assert bounds.to_json()["sets"][0]["verdict"] == "disclosed"
