"""A second suppressed table beside the first: an onlooker with integer programs over both, who shares no code with us.

What the first table hides stays hidden. A count may be printed, or may follow, only if the first table alone fixes it.
"""

import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from evidence import seeds
from integer_onlooker import MANY, Fact, People, Possible, Vector
from safemargin import InputError, RefusedError, suppress

AXES = "abc"
PAIRS = (("ab", "abc"), ("ab", "bc"), ("bc", "abc"), ("a", "ab"), ("abc", "ab"), ("ab", "ac"))
Cell = tuple[tuple[str, str], ...]


def write(path: Path, population: Vector, axes: str) -> Path:
    """The table of some axes of a population as a tidy file."""
    others = tuple(a for a, name in enumerate(AXES) if name not in axes)
    counts = population.sum(axis=others)
    rows = [",".join([*(f"{n}{c}" for n, c in zip(axes, cell, strict=True)), str(int(counts[cell]))])
            for cell in np.ndindex(counts.shape)]  # fmt: skip
    path.write_text("\n".join([",".join([*axes, "count"]), *rows]) + "\n")
    return path


def printed(path: Path) -> dict[Cell, int | None]:
    """Every cell of a published table, without the axes that are summed over; nothing for a gap."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {
        tuple((axis, row[axis]) for axis in AXES if row.get(axis, "Total") != "Total"): (
            int(row["count"]) if row["status"] == "exact" else None
        )
        for row in rows
    }


def facts(people: People, *tables: Mapping[Cell, int | None]) -> list[Fact]:
    """What tables say: printed counts, and that a gap holds somebody."""
    return [
        (people.row(dict(cell)), 1 if count is None else count, MANY if count is None else count)
        for table in tables
        for cell, count in table.items()
    ]


def attacked(folder: Path, seed: int) -> str:
    """Publish one table, then another; `refused`, `kept` where nothing was hidden, or `held` after the attack."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 4, size=3).tolist())
    population = rng.integers(0, 5, size=shape) * (rng.random(shape) < 0.85)
    first_axes, second_axes = PAIRS[rng.integers(len(PAIRS))]
    primary = (1, int(rng.integers(1, 4)))
    try:
        first = suppress(write(folder / "first.csv", population, first_axes), primary).write(folder / "one")
    except RefusedError:
        return "kept"
    old = first / "published" / "pattern.csv"
    people = People({name: [f"{name}{c}" for c in range(size)] for name, size in zip(AXES, shape, strict=True)})
    before, news = printed(old), write(folder / "second.csv", population, second_axes)
    alone = Possible(facts(people, before), [population.ravel()])
    hidden = {cell for cell, count in before.items() if count is None}
    try:
        made = suppress(news, primary, published=[old]).write(folder / "two")
    except RefusedError as error:
        assert "not known before" in str(error) or "grand total" in str(error), error
        return "refused"
    (path,) = [path for path in (made / "published").glob("*.csv")]
    now = printed(path)
    both = Possible(facts(people, before, now), [population.ravel()])
    gaps = hidden | {cell for cell, count in now.items() if count is None}
    shown = {cell for cell, count in now.items() if count is not None and (cell in hidden or 1 <= count <= primary[1])}
    for cell in gaps | shown:
        row = people.row(dict(cell))
        low, high = both.interval(row)
        if low == high and alone.interval(row) != (low, high):
            assert before.get(cell) is not None, f"{seed}: {dict(cell)} is {low}, and was not known before"
    return "held" if gaps else "kept"


def test_a_table_whose_parts_are_all_occupied_would_disclose_what_the_first_hid(tmp_path: Path) -> None:
    """Each cell of a x b holds two people if both its halves hold somebody: 2 of 1, 2 or 3 is left."""
    population = np.array([[[1, 1], [1, 4]], [[1, 1], [2, 2]]])
    first = suppress(write(tmp_path / "ab.csv", population, "ab")).write(tmp_path / "one") / "published" / "pattern.csv"
    assert sum(count is None for count in printed(first).values()) == 4
    with pytest.raises(RefusedError, match=r"a a0, b b0.*: not known before, and disclosed .* beside pattern\.csv"):
        suppress(write(tmp_path / "abc.csv", population, "abc"), published=[first])


def test_a_count_that_the_first_table_fixes_is_known_before(tmp_path: Path) -> None:
    """A gap that a total of 1 leaves no other count: the second table may not hide it, and names it."""
    first = tmp_path / "first.csv"
    first.write_text("a,b,count,status\nTotal,Total,9,exact\na0,Total,1,exact\na1,Total,8,exact\n"
                     "a0,b0,,suppressed\na0,b1,0,exact\na1,b0,5,exact\na1,b1,3,exact\n")  # fmt: skip
    population = np.array([[[1, 0], [0, 0]], [[5, 0], [3, 0]]])
    made = suppress(write(tmp_path / "ab.csv", population, "ab"), published=[first])
    assert [made.pattern.tables.cell(cell) for cell in made.pattern.known] and any(
        made.pattern.tables.cell(cell) == {"a": "a0", "b": "b0"} for cell in made.pattern.known
    )


@pytest.mark.slow
@pytest.mark.parametrize("block", seeds(1, 1, 25))
def test_random_pairs_disclose_nothing_that_the_first_hid(tmp_path: Path, block: int) -> None:
    """20 pairs in each block; with `EVIDENCE=all`, 500 pairs."""
    outcomes = []
    for seed in range(20 * block, 20 * block + 20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            outcomes.append(attacked(folder, seed))
        except InputError as error:  # tables without anybody
            assert "0" in str(error) or "empty" in str(error), error
    assert outcomes.count("held") >= 3
