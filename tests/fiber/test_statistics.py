"""Databases from counts, means and medians: the published reconstruction of a block, and exhaustion."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from safemargin.core import InputError, TooLargeError
from safemargin.fiber.statistics import Database, Statistic, common, databases, statistic

AXES = {"sex": ("F", "M"), "race": ("B", "W"), "marital": ("M", "S")}
AGES = (0, 125)

PUBLISHED = {  # Garfinkel, Abowd, Martindale 2018, ACM Queue 16(5): count, median and mean age, rounded to 0.1
    "1A": (7, 30, "38", {}),
    "2A": (4, 30, "33.5", {"sex": "F"}),
    "2B": (3, 30, "44", {"sex": "M"}),
    "2C": (4, 51, "48.5", {"race": "B"}),
    "2D": (3, 24, "24", {"race": "W"}),
    "3B": (4, 51, "54", {"marital": "M"}),
    "4A": (3, 36, "36.7", {"sex": "F", "race": "B"}),
}
SUPPRESSED = {  # their counts are below three
    "3A": ({"marital": "S"}, 18, None),
    "4B": ({"sex": "M", "race": "B"}, None, None),
    "4C": ({"sex": "M", "race": "W"}, None, None),
    "4D": ({"sex": "F", "race": "W"}, None, None),
    "5A": ({}, None, 4),
    "5B": ({}, None, 17),
    "5C": ({}, 64, None),
}
TRUTH = ["8FBS", "18MWS", "24FWS", "30MWM", "36FBM", "66FBM", "84MBM"]
OTHER = ["2FBS", "12MWS", "24FWM", "30MBM", "36FWS", "72FBM", "90MBM"]
"""The second database that is possible without 4A."""


def block(dropped: Iterable[str] = (), used: Iterable[str] = ()) -> list[Statistic]:
    """Statistics of the block, and the rule that married people are 15 or older."""
    shown = [
        statistic(name, count, median=median, mean=mean, where=where, within="0.05")
        for name, (count, median, mean, where) in PUBLISHED.items()
        if name not in dropped
    ]
    hidden = [(name, *SUPPRESSED[name]) for name in used]
    bounds = [statistic(name, (0, 2), where=where, low=low, high=high) for name, where, low, high in hidden]
    return [*shown, *bounds, statistic("married", 0, where={"marital": "M"}, high=14)]


def labels(database: Database) -> list[str]:
    return [f"{age}{''.join(kind)}" for age, kind in database]


@pytest.mark.parametrize("used", [(), ("3A",), tuple(SUPPRESSED)])
@pytest.mark.parametrize("dropped", [(), ("2A",), ("2B",), ("2C",), ("2D",)])
def test_the_published_block_has_one_database(dropped: tuple[str, ...], used: tuple[str, ...]) -> None:
    (only,) = databases(block(dropped, used), AXES, AGES)
    assert labels(only) == TRUTH


@pytest.mark.parametrize(("used", "count"), [(("3A",), 8), (tuple(SUPPRESSED), 6)])
def test_without_the_sexes_the_rule_of_suppression_leaks(used: tuple[str, ...], count: int) -> None:
    found = databases(block(("2A", "2B"), used), AXES, AGES)
    assert len(found) == len(set(found)) == count
    assert labels(common(found)) == ["8FBS", "36FBM", "66FBM", "84MBM"]


@pytest.mark.parametrize("used", [("3A",), tuple(SUPPRESSED)])
def test_without_black_women_there_are_two(used: tuple[str, ...]) -> None:
    found = databases(block(("4A",), used), AXES, AGES)
    assert [labels(each) for each in found] == [OTHER, TRUTH]
    assert common(found) == ()


def test_the_ages_of_three_men() -> None:
    """Median 30 and mean 44: thirty triples of ages from 1 on, the number in the article; one more with a newborn."""
    men = [statistic("2B", 3, median=30, mean=44)]
    assert len(databases(men, {}, (1, 125))) == 30
    assert len(databases(men, {}, AGES)) == 31


def everybody(size: int, axes: dict[str, tuple[str, ...]], top: int) -> list[Database]:
    people = sorted(product(range(top + 1), product(*axes.values())))
    return list(combinations_with_replacement(people, size))


def satisfies(database: Database, one: Statistic, axes: dict[str, tuple[str, ...]]) -> bool:
    place = {axis: at for at, axis in enumerate(axes)}
    values = sorted(
        value
        for value, kind in database
        if all(kind[place[axis]] in names for axis, names in one.where.items())
        and (one.low is None or value >= one.low)
        and (one.high is None or value <= one.high)
    )
    if not one.least <= len(values) <= one.most:
        return False
    if one.is_numeric and not values:
        return False
    if one.mean is not None and abs(Fraction(sum(values), len(values)) - one.mean) > one.within:
        return False
    middle = Fraction(values[(len(values) - 1) // 2] + values[len(values) // 2], 2) if values else None
    return one.median is None or middle is None or abs(middle - one.median) <= one.within


def drawn(rng: np.random.Generator, axes: dict[str, tuple[str, ...]], size: int, top: int) -> list[Statistic]:
    """The number of people, and anything about some of them, true or not."""
    found = [statistic("all", size)]
    for name in range(int(rng.integers(1, 5))):
        where = {axis: names[int(rng.integers(2))] for axis, names in axes.items() if rng.random() < 0.5}
        low = int(rng.integers(top + 1)) if rng.random() < 0.2 else None
        high = int(rng.integers(top + 1)) if rng.random() < 0.2 else None
        least = int(rng.integers(0, size + 1))
        numeric = rng.random(2) < 0.5
        mean, median = (Fraction(int(rng.integers(0, 4 * top + 1)), 4) if numeric[k] else None for k in range(2))
        within = Fraction(int(rng.integers(0, 5)), 4)
        count = (least, size if rng.random() < 0.6 else least)
        found.append(
            statistic(str(name), count, mean=mean, median=median, where=where, low=low, high=high, within=within)
        )
    return found


@pytest.mark.slow
def test_all_databases_are_found() -> None:
    rng = np.random.default_rng(3)
    axes = {"a": ("x", "y"), "b": ("u", "v")}
    filled = 0
    for size, top in [(1, 3), (2, 4), (3, 3), (4, 1)]:
        every = everybody(size, axes, top)
        for _ in range(60):
            statistics = drawn(rng, axes, size, top)
            expected = tuple(each for each in every if all(satisfies(each, one, axes) for one in statistics))
            assert databases(statistics, axes, (0, top)) == tuple(sorted(expected)), statistics
            filled += len(expected) > 0
    assert filled > 60


def test_what_is_too_much_or_wrong() -> None:
    with pytest.raises(TooLargeError, match="more than 10 databases"):
        databases([statistic("all", 2)], AXES, AGES, limit=10)
    with pytest.raises(TooLargeError, match="of the kind F, B, M"):
        databases([statistic("men", 2, where={"sex": "M"})], AXES, AGES)
    with pytest.raises(InputError, match="2A: axis 'gender' is unknown"):
        databases([statistic("2A", 2, where={"gender": "F"})], AXES, AGES)
    with pytest.raises(InputError, match="2A: sex has no category 'X'"):
        databases([statistic("2A", 2, where={"sex": "X"})], AXES, AGES)
    with pytest.raises(InputError, match="2A: 3 to 2 people"):
        statistic("2A", (3, 2))
    assert databases([statistic("all", 2), statistic("none", 3)], AXES, AGES) == ()
