"""`bound --cell` against integer programs written from docs/bound.md and docs/target.md; only the command is called."""

import csv
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import Run, in_process
from evidence import seeds
from integer_onlooker import Fact, People, Possible, Vector

OPTIONS = ("yes", "no", "abstain")
Groups = Mapping[str, Sequence[Sequence[str]]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def verdict(low: int, high: int, people: int, share: Fraction, limits: tuple[str, int, int], options: int) -> str:
    """The table of docs/target.md; of two options the other one is a secret, too."""
    beta, kappa, tau = Fraction(limits[0]), limits[1], limits[2]
    floor = min(beta, share / 2) if options < 3 else Fraction(0)
    ceiling = 1 - min(beta, (1 - share) / 2)
    if share in (0, 1) or (floor * people <= low and high <= ceiling * people and people >= kappa):
        return "contained"
    narrow = high - low <= min(tau, people // 4) and (low >= 1 or options < 3)
    return "disclosed" if high < floor * people or low > ceiling * people or narrow else "open"


class City:
    """People by two or three axes, and what each chose."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        names = "xyz"[: rng.integers(2, 4)]
        self.axes = {name: [f"{name}{i}" for i in range(rng.integers(2, 4))] for name in names}
        self.roll = People(self.axes)
        people = rng.poisson(rng.choice([2, 4, 9]), size=len(self.roll.profiles))
        self.people = people * (rng.random(len(people)) > 0.25)
        self.people[0] += 3
        self.options = OPTIONS[: rng.integers(2, 4)]
        self.votes = People({**self.axes, "option": self.options})
        concentration = np.full(len(self.options), rng.choice([0.2, 0.6, 2]))
        chosen = [rng.multinomial(n, rng.dirichlet(concentration)) for n in self.people]
        chosen[0] = chosen[0] * 0 + self.people[0] // len(self.options)
        chosen[0][0] += self.people[0] - chosen[0].sum()  # so that every option occurs
        self.counts = np.concatenate(chosen).astype(np.int64)

    def some_cell(self, axes: Sequence[str]) -> dict[str, str]:
        """A cell of some of these axes with somebody in it."""
        place = self.rng.choice(np.flatnonzero(self.people))
        size = self.rng.integers(1 if len(axes) == 1 else 2, len(axes) + 1)
        chosen = sorted(self.rng.choice(list(axes), size=size, replace=False).tolist())
        return {axis: self.roll.profiles[place][axis] for axis in chosen}

    def facts(self, groups: Groups) -> list[Fact]:
        """The joint roll, the total, and the counts of these groups of categories."""
        facts = [
            (self.votes.row(profile), int(n), int(n))
            for profile, n in zip(self.roll.profiles, self.people, strict=True)
        ]
        rows = [self.votes.row({"option": option}) for option in self.options]
        for (axis, parts), option in product(groups.items(), self.options):
            rows += [sum(self.votes.row({axis: c, "option": option}) for c in part) for part in parts]
        return facts + [(row, int(row @ self.counts), int(row @ self.counts)) for row in rows]


def extremes_fit(found: Any, people: People, facts: list[Fact], row: Vector, ends: tuple[int, int]) -> None:
    """Both tables belong to a possible table of everybody, and have the ends of the interval."""
    assert (found["lower"], found["upper"]) == ends
    for name, end in zip(("lowest", "highest"), ends, strict=True):
        shown = [
            (people.row(r["cell"] | ({"option": r["option"]} if "option" in r else {})), r[name])
            for r in found["tables"]
        ]
        elsewhere = 1 - sum(part for part, _ in shown)
        assert (elsewhere >= 0).all(), "a count is shown twice"
        as_shown = [(part, n, n) for part, n in shown] + [(elsewhere, 0, 0)]
        assert Possible(facts + as_shown).end(row, 1) == end


def asked(cell: Mapping[str, str]) -> list[str]:
    return [word for axis, name in cell.items() for word in ("--cell", f"{axis}={name}")]


def attack_project(run: Run, folder: Path, seed: int) -> int:
    """Interval, verdict, exit code, extreme tables and remedies of one cell; the number of remedies."""
    city = City(seed)
    limits = (
        str(city.rng.choice(["0.05", "0.1", "0.2"])),
        int(city.rng.choice([1, 5, 10])),
        int(city.rng.choice([0, 1, 2])),
    )
    rows = [p | {"people": int(n)} for p, n in zip(city.votes.profiles, city.counts, strict=True) if n]
    with (folder / "votes.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    target = "beta = {}\nkappa = {}\ntau = {}\n".format(*limits)
    sections = "".join(f"[axes.{axis}]\n" for axis in city.axes)
    data = '[data]\nfile = "votes.csv"\nanswer = "option"\ncount = "people"\n'
    (folder / "project.toml").write_text(f"{data}{sections}[target]\n{target}", encoding="utf-8")
    cell = city.some_cell(list(city.axes))
    named = {"option": str(city.rng.choice(city.options))} if city.rng.random() < 0.4 else {}
    ran = run("bound", folder / "project.toml", *asked(cell | named), "--json")
    document: Any = ran.document
    inside, everybody = int(city.roll.row(cell) @ city.people), int(city.people.sum())

    def judged(facts: list[Fact]) -> dict[str, tuple[int, int, str]]:
        possible, found = Possible(facts, [city.counts]), {}
        for option in city.options:
            share = Fraction(int(city.votes.row({"option": option}) @ city.counts), everybody)
            ends = possible.interval(city.votes.row(cell | {"option": option}))
            found[option] = (*ends, verdict(*ends, inside, share, limits, len(city.options)))
        return found

    groups = {a: [[c] for c in names if city.roll.row({a: c}) @ city.people] for a, names in city.axes.items()}
    facts = city.facts(groups)
    expected = judged(facts)
    assert {c["option"]: (c["lower"], c["upper"], c["verdict"]) for c in document["cells"]} == expected
    assert ran.code == any(word == "disclosed" for *_, word in expected.values())
    option = document["extremes"]["option"]
    assert option == named.get("option", option)
    assert named or not ran.code or expected[option][2] == "disclosed"
    extremes_fit(
        document["extremes"], city.votes, facts, city.votes.row(cell | {"option": option}), expected[option][:2]
    )
    for remedy in document["remedies"]:
        axis = remedy["axis"]
        lost = remedy["merged"].split(" | ") if remedy["merged"] else [part[0] for part in groups[axis]]
        merged = [part for part in groups[axis] if part[0] not in lost] + ([lost] if remedy["merged"] else [])
        after = judged(city.facts(groups | {axis: merged}))
        people = sum(int(city.roll.row({axis: name}) @ city.people) for name in lost)
        assert remedy["price"] == {"categories": len(lost), "people": people}
        assert (remedy["lower"], remedy["upper"], remedy["verdict"]) == after[remedy["option"]]
        assert remedy["verdict"] == "disclosed" or not any(word == "disclosed" for *_, word in after.values())
    return len(document["remedies"])


def write_table(path: Path, people: People, counts: Vector, axes: Sequence[str], count: str = "count") -> list[Fact]:
    facts = []
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*axes, count])
        for labels in product(*(people.axes[axis] for axis in axes)):
            row = people.row(dict(zip(axes, labels, strict=True)))
            facts.append((row, int(row @ counts), int(row @ counts)))
            writer.writerow([*labels, facts[-1][1]])
    return facts


def attack_tables(run: Run, folder: Path, seed: int) -> None:
    """Interval, verdict, exit code and extreme tables of one cell, from one to three tables of one or two axes."""
    city = City(seed)
    rng, answers = city.rng, ["option"] if city.rng.random() < 0.7 else []
    sets = [axes for size in (1, 2) for axes in combinations(city.axes, size)]
    shown = [sets[i] for i in rng.choice(len(sets), size=rng.integers(1, 4), replace=False)]
    used = [axis for axis in city.axes if any(axis in axes for axes in shown)]
    people = People({axis: [*city.votes.axes[axis]] for axis in [*used, *answers]})
    counts = np.array([city.votes.row(profile) @ city.counts for profile in people.profiles])
    files, facts = [], []
    for axes in shown:
        files.append(folder / f"{'-'.join(axes)}.csv")
        facts += write_table(files[-1], people, counts, [*axes, *answers])
    roll = str(rng.choice(["", "joint", "sizes"])) if answers else ""
    words: list[object] = []
    for number, axes in enumerate({"": [], "joint": [used], "sizes": [[axis] for axis in used]}[roll]):
        words += ["--roll", folder / f"roll{number}.csv"]
        facts += write_table(folder / f"roll{number}.csv", people, counts, axes, "people")
    cell, tau = city.some_cell(used), int(rng.choice([0, 1, 3]))
    ran = run("bound", *files, *words, *asked(cell), "--tau", tau, "--json")
    document: Any = ran.document
    possible, everybody, inside = (
        Possible(facts, [counts]),
        int(city.people.sum()),
        int(city.roll.row(cell) @ city.people),
    )
    assert len(document["cells"]) == (len(city.options) if answers else 1)
    for found in document["cells"]:
        option = {"option": found["option"]} if answers else {}
        ends = possible.interval(people.row(cell | option))
        assert (found["lower"], found["upper"]) == ends
        if roll == "joint":
            share = Fraction(int(people.row(option) @ counts), everybody)
            assert found["verdict"] == verdict(*ends, inside, share, ("0.05", 30, tau), len(city.options))
        elif not roll:
            assert found["verdict"] == ("disclosed" if ends[1] - ends[0] <= tau else "open")
    assert ran.code == any(found["verdict"] == "disclosed" for found in document["cells"])
    option = {"option": document["extremes"]["option"]} if answers else {}
    row = people.row(cell | option)
    extremes_fit(document["extremes"], people, facts, row, possible.interval(row))


def test_one_cell_of_a_project(run: Run, tmp_path: Path) -> None:
    assert sum(attack_project(run, tmp_path, seed) for seed in range(3)) > 3


def test_one_cell_of_tables(run: Run, tmp_path: Path) -> None:
    for seed in range(12):
        attack_tables(run, tmp_path, seed)


@pytest.mark.slow
def test_cells_of_many_projects(run: Run, tmp_path: Path) -> None:
    for seed in seeds(100, 12, 600):
        attack_project(run, tmp_path, seed)


@pytest.mark.slow
def test_cells_of_many_tables(run: Run, tmp_path: Path) -> None:
    for seed in seeds(100, 60, 2000):
        attack_tables(run, tmp_path, seed)
