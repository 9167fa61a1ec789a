"""An onlooker who lists every answer that fits what is published, by docs/target.md, and reruns the release.

Shares no code with the search for witnesses. Populations are so small that all answers can be listed; axes have
categories that are kept or joined.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from evidence import seeds
from safemargin import RefusedError, Release, Target, release

MAX_TABLES = 500_000
Cell = tuple[str, ...]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Population:
    """People by cell, counted as the project joins them, with the answers yes and no."""

    axes: dict[str, dict[str, Any]]
    target: Target
    cells: list[Cell]
    people: Ints
    yes: Ints

    @property
    def size(self) -> int:
        return int(np.prod(self.people + 1))

    def publish(self, yes: Ints) -> Release | None:
        rows = []
        for cell, people, count in zip(self.cells, self.people.tolist(), yes.tolist(), strict=True):
            # People of a joined category are listed under one of its parts each, in turn.
            parts = cell[0].split(" + ")
            for i in range(people):
                place = dict(zip(self.axes, (parts[i % len(parts)], *cell[1:]), strict=True))
                rows.append({**place, "answer": "yes" if i < count else "no"})
        try:
            return release(rows, answer="answer", by=self.axes, options=["no", "yes"], target=self.target)
        except RefusedError:
            return None

    def members(self, axis: int, group: str) -> list[int]:
        return [i for i, cell in enumerate(self.cells) if cell[axis] in group.split(" | ")]

    def verdict(self, low: int, high: int, people: int) -> str:
        """Of a group of so many people, from the table of docs/target.md; of "no" it is the same."""
        beta, share = Fraction(str(self.target.beta)), Fraction(int(self.yes.sum()), int(self.people.sum()))
        floor, ceiling = min(beta, share / 2) * people, (1 - min(beta, (1 - share) / 2)) * people
        if floor <= low and high <= ceiling and people >= self.target.kappa:
            return "contained"
        narrow = high - low <= min(self.target.tau, people // 4)
        return "disclosed" if high < floor or low > ceiling or narrow else "open"


def random_population(seed: int) -> Population:
    rng = np.random.default_rng(seed)
    while True:
        sites, grades = "ABCDE"[: rng.integers(3, 6)], "xyz"[: rng.integers(2, 4)]
        kept, first, second = rng.permutation(list(sites))[:3].tolist()
        site: dict[str, Any] = {}
        if rng.random() < 0.7:
            site["keep"] = [kept]
        if rng.random() < 0.7:
            site["join"] = [[first, second]]
        joined = {part: " + ".join(pair) for pair in site.get("join", []) for part in pair}
        cells = list(product(dict.fromkeys(joined.get(name, name) for name in sites), grades))
        people = rng.integers(1, 9, len(cells))
        yes = rng.binomial(people, rng.beta(*rng.choice([1, 3, 9], 2), len(cells)))
        target = Target(
            beta=float(rng.choice([0.05, 0.1, 0.2])), kappa=int(rng.integers(2, 7)), tau=int(rng.integers(2))
        )
        grade = {"keep": ["x"]} if rng.random() < 0.3 else {}
        found = Population({"site": site, "grade": grade}, target, cells, people, yes)
        alone = any(people[found.members(0, name)].sum() < 2 for name in joined.values())
        if 10 <= people.sum() <= 40 and found.size <= MAX_TABLES and not alone:
            return found


def read(made: Release, population: Population) -> tuple[Ints, dict[str, list[int]]]:
    """All answers that fit what is published, one column each, and the groups that the onlooker looks at."""
    fits = np.indices(population.people + 1).reshape(len(population.cells), -1)
    looked_at = {" ".join(cell): [i] for i, cell in enumerate(population.cells)}
    groups: list[list[str]] = [[], []]
    for name, table in made.tables.items():
        for row in table.to_dict("records"):
            if name == "total":
                members = list(range(len(population.cells)))
            else:
                axis = list(population.axes).index(name)
                parts = row[name].split(" | ")
                assert set(parts) <= {cell[axis] for cell in population.cells}, "a joined category is not one category"
                assert len(parts) == 1 or not set(parts) & set(population.axes[name].get("keep", ())), (
                    "a merged one is kept"
                )
                members = population.members(axis, row[name])
                groups[axis].append(row[name])
                looked_at[row[name]] = members
            assert row["status"] in ("exact", "merged", "suppressed")
            if row["option"] == "yes" and row["status"] != "suppressed":
                fits = fits[:, fits[members].sum(axis=0) == row["count"]]
    for site, grade in product(*groups):
        looked_at[f"{site} {grade}"] = sorted({*population.members(0, site)} & {*population.members(1, grade)})
    return fits, looked_at


def text(made: Release | None) -> str:
    """What is published: tables and certificate. Witnesses follow from these, from the roll and from the project."""
    if made is None:
        return "nothing"
    tables = {name: table.to_dict("records") for name, table in made.tables.items()}
    return repr((tables, made.certificate.statement, made.certificate.checked, made.certificate.rule))


def attack(population: Population, made: Release, most: int) -> None:
    """Fail unless every group is found to be safe, by at most so many reruns."""
    fits, looked_at = read(made, population)
    everybody, total = int(population.people.sum()), int(population.yes.sum())
    unsure: dict[str, tuple[int, Ints]] = {}
    for name, members in looked_at.items():
        people, counts = int(population.people[members].sum()), fits[members].sum(axis=0)
        low, high = max(0, total - everybody + people), min(people, total)
        verdict = population.verdict(int(counts.min()), int(counts.max()), people)
        if population.verdict(low, high, people) == "disclosed":  # by the total alone: it must not become narrower
            assert (counts.min(), counts.max()) == (low, high), f"{name}: narrowed"
        else:
            assert verdict != "disclosed", f"{name}: {counts.min()} to {counts.max()} of {people}"
            if verdict == "open":
                unsure[name] = (people, counts)
    if made.certificate.rule != "rerun":
        return
    wanted = text(made)
    same = (fits == population.yes[:, None]).all(axis=0)
    tried = same.copy()
    while True:
        # A range within the limits may still become wider: it is judged once nothing is left to rerun.
        verdicts = {
            name: population.verdict(int(counts[same].min()), int(counts[same].max()), people)
            for name, (people, counts) in unsure.items()
        }
        left = [unsure[name][1] for name, verdict in verdicts.items() if verdict != "open"]
        gain = np.zeros(fits.shape[1])
        for counts in left:
            gain += ~tried & ((counts < counts[same].min()) | (counts > counts[same].max()))
        if not left or not gain.any():
            break
        assert (most := most - 1) >= 0, "too few reruns to decide"
        best = int(gain.argmax())
        tried[best] = True
        same[best] = text(population.publish(fits[:, best])) == wanted
    assert "disclosed" not in verdicts.values(), f"somebody who reruns the release can infer a share: {verdicts}"


@pytest.mark.parametrize("seed", seeds(12, 2, 200))
def test_no_share_is_confined_outside_the_limits(seed: int) -> None:
    population = random_population(seed)
    if made := population.publish(population.yes):
        attack(population, made, most=200)


def test_the_attack_finds_the_hole_of_two_margins() -> None:
    """A tenth of the first table of docs/decide.md: every group looks safe, but nobody in row 1, column 1 said yes."""
    cells = [("1", "x"), ("1", "y"), ("2", "x")]
    population = Population(
        {"row": {}, "column": {}}, Target(beta=0.2, kappa=10, tau=0), cells, *np.array([[10] * 3, [0, 5, 5]])
    )
    margins = {"row": {"1": 5, "2": 5}, "column": {"x": 5, "y": 5}}
    tables = {
        axis: pd.DataFrame([{axis: name, "option": "yes", "count": n, "status": "exact"} for name, n in counts.items()])
        for axis, counts in margins.items()
    }
    unsafe: Any = SimpleNamespace(tables=tables)
    with pytest.raises(AssertionError, match="1 x: 0 to 0 of 10"):
        attack(population, unsafe, most=0)
