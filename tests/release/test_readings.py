"""Sealed totals that disagree: the readings that a release must be safe in."""

from itertools import product

import numpy as np

from safemargin.bounds import Exposed
from safemargin.core import Axis, Inconsistency, Schema, Table, Tally, frozen
from safemargin.release.decide.readings import readings
from safemargin.release.rule.split import unmerged_split

GROUPS, EACH, SIZE = 9, 10, 30
NAMES = tuple(f"g{number}" for number in range(GROUPS))


def sealed(moved: int) -> Table:
    """Two axes whose tallies have `moved` more for `yes`, and as many fewer for `no`, than the binding total."""
    schema = Schema((Axis("p", NAMES), Axis("q", NAMES)), ("yes", "no"))
    votes = [Tally((axis,), frozen(range(GROUPS), 1), frozen([[EACH, EACH]] * GROUPS, 2)) for axis in "pq"]
    total = Tally((), frozen([[]], 0), frozen([[GROUPS * EACH - moved, GROUPS * EACH + moved]], 2))
    roll = tuple(Tally((axis,), frozen(range(GROUPS), 1), frozen([SIZE] * GROUPS, 1)) for axis in "pq")
    rate = moved / (2 * GROUPS * EACH)
    return Table(schema, (*votes, total), roll, Inconsistency(rate))


def counts(table: Table) -> list[np.ndarray]:
    return [table.margin((axis,)).counts for axis in "pq"]


def test_every_corner_is_a_mean_of_the_readings_where_corners_are_many() -> None:
    table, moved = sealed(2), 2
    found = [
        reading
        for reading in readings(table, [unmerged_split(table, axis) for axis in "pq"])
        if isinstance(reading, Table)
    ]
    assert len(found) == 1 + 2 * GROUPS, "all spread, then one axis at a time into one group"
    for reading in found:
        for rows in counts(reading):
            assert (rows.sum(axis=0) == table.totals).all() and (rows >= 0).all(), "each agrees with the total"
            assert (rows.sum(axis=1) == 2 * EACH).all(), "nobody leaves a group"
    whole = np.full((GROUPS, 2), EACH)
    for first, second in product(range(GROUPS), range(GROUPS)):
        means = [(a + b) / 2 for a, b in zip(counts(found[1 + first]), counts(found[1 + GROUPS + second]), strict=True)]
        for mean, place in zip(means, (first, second), strict=True):
            corner = whole.copy()
            corner[place] += (-moved, moved)
            assert (mean == corner).all()


def test_more_than_any_group_has_is_read_as_unsafe() -> None:
    table = sealed(6)  # moved twice as far, one group would have to give more than it has
    found = list(readings(table, [unmerged_split(table, axis) for axis in "pq"]))
    assert isinstance(found[-1], Exposed) and found[-1].people == SIZE
