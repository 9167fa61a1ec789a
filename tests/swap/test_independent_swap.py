"""What a swapped file discloses by itself, from docs/swap.md: what is exact, what is certain, what can be guessed."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence import seeds
from safemargin import swap

pytestmark = pytest.mark.usefixtures("no_pictures")

Row = dict[str, str]


def records(rng: np.random.Generator, size: int) -> list[Row]:
    """Some strata hold one record, or one value of what is swapped or held."""
    rows = []
    for _ in range(size):
        row = {axis: f"{axis}{rng.integers(n)}" for axis, n in (("s", 3), ("z", 2), ("c", 4), ("t", 3), ("u", 2))}
        rows.append(
            row | ({"c": "c0"} if row["s"] == "s1" else {}) | ({"t": "t1", "u": "u0"} if row["s"] == "s2" else {})
        )
    return [*rows, {"s": "alone", "z": "z0", "c": "c1", "t": "t2", "u": "u1"}]


def table(rows: list[Row], axes: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(row[axis] for axis in axes) for row in rows)


def attack(folder: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = records(rng, int(rng.integers(150, 400)))
    form, rate = str(rng.choice(["table", "records"])), float(rng.choice([0.05, 0.2, 0.5]))
    roles: dict[str, Any] = {"swapped": ["c"], "match": ["s", "z"], "hold": ["t", "u"]}
    made = swap(rows, **roles, rate=str(rate), form=form, file_format="csv")
    with (made.write(folder / str(seed)) / "published/swapped.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    lines = [tuple(row.values()) for row in read]
    assert lines == sorted(lines)  # the order of the input would name the records
    out = [row for row in read for _ in range(int(row.get("count", "1")))]
    held, moved, everything = ("s", "z", "t", "u"), ("s", "z", "c"), ("s", "z", "t", "u", "c")
    assert table(out, held) == table(rows, held) and table(out, moved) == table(rows, moved)
    # With both tables exact, so many records of a stratum are certain to have a held and a swapped value together.
    before, after = table(rows, everything), table(out, everything)
    certain = 0
    for (s, z, t, u, c), count in before.items():
        least = table(rows, held)[s, z, t, u] + table(rows, moved)[s, z, c] - table(rows, ("s", "z"))[s, z]
        certain += max(least, 0)
        assert after[s, z, t, u, c] >= least and count >= least
    document = made.to_json()
    alone = sum(count == 1 for count in table(rows, ("s", "z")).values())
    assert document["single_records"] == alone <= certain
    # Whoever takes the file for the truth is wrong about no more records than were moved, which is what a rate says.
    wrong = sum((before - after).values())
    assert wrong <= document["changed"] <= document["selected"] <= len(rows)
    mean, deviation = rate * len(rows), (len(rows) * rate * (1 - rate)) ** 0.5
    # A stratum of which a single record is selected is drawn again, which moves the mean by less than one per stratum.
    assert abs(document["selected"] - mean) < 6 * deviation + len(table(rows, ("s", "z")))


def test_a_swapped_file(tmp_path: Path) -> None:
    for seed in range(2):
        attack(tmp_path, seed)


@pytest.mark.slow
def test_many_swapped_files(tmp_path: Path) -> None:
    for seed in seeds(100, 30, 400):
        attack(tmp_path, seed)
