"""Tables of several axes with suppressed cells against integer programs over what is published (docs/maximise.md)."""

import csv
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence import seeds
from integer_onlooker import Fact, People, Possible, Vector
from safemargin import RefusedError, Target, release

pytestmark = pytest.mark.usefixtures("no_pictures")

OPTIONS = ("yes", "no", "abstain")
ONLOOKER = {"name": "analyst", "composition": "joint", "knows_rule": False}
Place = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Axes, and the categories that each of them is confined to."""


class City:
    """30 to 200 people by two or three axes, and what each chose."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        names = "xyz"[: rng.integers(2, 4)]
        self.axes = {name: [f"{name}{i}" for i in range(rng.integers(2, 7 - len(names)))] for name in names}
        self.roll = People(self.axes)
        spread = rng.dirichlet(np.full(len(self.roll.profiles), rng.choice([0.5, 2])))
        self.people: Vector = rng.multinomial(rng.integers(30, 201), spread)
        options = OPTIONS[: rng.choice([2, 2, 3])]
        self.votes = People({**self.axes, "option": options})
        shares = rng.dirichlet(np.full(len(options), 3))
        chosen = [rng.multinomial(n, rng.dirichlet(shares * rng.choice([1, 4, 20]) + 0.02)) for n in self.people]
        self.counts: Vector = np.concatenate(chosen).astype(np.int64)
        self.options = [o for o in options if self.votes.row({"option": o}) @ self.counts]

    def cells(self, place: Place, counted: People, option: str = "") -> Vector:
        row = np.zeros(len(counted.profiles), dtype=np.int64)
        for names in product(*place[1]):
            row += counted.row(dict(zip(place[0], names, strict=True)) | ({"option": option} if option else {}))
        return row

    def read(self, folder: Path) -> tuple[list[Fact], list[Fact], set[Place], int]:
        """All that is published, with the roll; the total with the roll; the groups; how many cells have gaps."""
        roll = [(self.votes.row(p), int(n), int(n)) for p, n in zip(self.roll.profiles, self.people, strict=True)]
        facts, before, groups, gaps = list(roll), list(roll), set(), 0
        for path in sorted(folder.glob("*.csv")):
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    axes = tuple(name for name in row if name in self.axes)
                    place = (axes, tuple(tuple(row[axis].split(" | ")) for axis in axes))
                    groups |= {place} if axes else set()
                    if row["status"] == "suppressed":
                        assert row["count"] == ""
                        gaps += len(axes) > 1
                        continue
                    inside = self.cells(place, self.votes, row["option"])
                    assert int(row["count"]) == inside @ self.counts  # nothing is noised here
                    fact = (inside, int(row["count"]), int(row["count"]))
                    facts.append(fact)
                    before += [] if axes else [fact]
        return facts, before, groups, gaps

    def checked(self, groups: set[Place]) -> set[Place]:
        """What docs/decide.md lists: cells of all combinations of published axes, groups, and pairs of them."""
        shown = [axis for axis in self.axes if any(axis in axes for axes, _ in groups)]
        places = set(groups)
        for size in range(1, len(shown) + 1):
            for axes in combinations(shown, size):
                places |= {(axes, tuple((c,) for c in names)) for names in product(*(self.axes[a] for a in axes))}
        single = [place for place in groups if len(place[0]) == 1]
        places |= {((*a, *b), (*g, *h)) for (a, g), (b, h) in product(single, repeat=2) if a < b}
        return places


def is_disclosed(
    ends: tuple[int, int], people: int, share: Fraction, target: Target, options: int, may_be_wider: bool
) -> bool:
    """The table of docs/target.md; an interval that may be wider is not known to be contained."""
    low, high = ends
    beta = Fraction(str(target.beta))
    floor, ceiling = min(beta, share / 2) if options < 3 else Fraction(0), 1 - min(beta, (1 - share) / 2)
    if floor * people <= low and high <= ceiling * people and people >= target.kappa and not may_be_wider:
        return False
    narrow = high - low <= min(target.tau, people // 4) and (low >= 1 or options < 3)
    return high < floor * people or low > ceiling * people or narrow


def attack(folder: Path, seed: int, protect: Sequence[str] = ("suppress", "suppress", "auto", "merge")) -> int | None:
    """How many cells of tables of several axes have gaps; nothing if there is no release. Nothing may be disclosed."""
    city = City(seed)
    if len(city.options) < 2:
        return None
    rng = city.rng
    target = Target(float(rng.choice([0.02, 0.05, 0.1])), int(rng.choice([3, 5, 10])), int(rng.choice([0, 0, 1])))
    rows = [p | {"people": int(n)} for p, n in zip(city.votes.profiles, city.counts, strict=True) if n]
    asked: dict[str, Any] = {"order": 3} if rng.random() < 0.3 else {"pairs": "all"}
    said: dict[str, Any] = {"protect": str(rng.choice(list(protect))), "onlookers": [ONLOOKER], "tables": asked}
    try:
        made = release(rows, answer="option", by=list(city.axes), count="people", target=target, **said)
    except RefusedError:
        return None
    facts, before, groups, gaps = city.read(made.write(folder / str(seed)) / "published")
    after, known, everybody = Possible(facts, [city.counts]), Possible(before, [city.counts]), int(city.people.sum())
    for place, option in product(sorted(city.checked(groups)), city.options):
        people, row = int(city.cells(place, city.roll) @ city.people), city.cells(place, city.votes, option)
        share = Fraction(int(city.votes.row({"option": option}) @ city.counts), everybody)
        seen = [int(row @ found) for found in after.tables]
        if people and is_disclosed((min(seen), max(seen)), people, share, target, len(city.options), may_be_wider=True):
            ends = after.interval(row)
            if is_disclosed(ends, people, share, target, len(city.options), may_be_wider=False):
                assert known.interval(row) == ends, (
                    place,
                    option,
                    ends,
                )  # the total and the roll alone disclose as much
    return gaps


def test_a_release_with_gaps(tmp_path: Path) -> None:
    assert attack(tmp_path, 9, ["suppress"]) is not None


@pytest.mark.slow
def test_many_releases(tmp_path: Path) -> None:
    found = [attack(tmp_path, seed) for seed in seeds(100, 20, 300)]
    assert any(found) and sum(gaps is not None for gaps in found) > len(found) / 2
