"""Cell keys: the table of probabilities, its law in draws, and the same noise for the same people."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from safemargin.core.arrays import frozen
from safemargin.core.axis import Axis, Schema
from safemargin.core.errors import InputError
from safemargin.core.randomness import numpy_generator
from safemargin.core.table import Table, Tally
from safemargin.samplers.cell_key import KEYS, CellKey, with_keys

ALARM = 1e-8
"""False-alarm rate of one statistical check; each test makes fewer than a hundred, so it alarms below 1e-6."""

PTABLE = {  # as the R package ptable 1.0.0 prints them, to eight digits: (distance, variance, count) -> from the left
    (3, 1, 1): [0.36988218, 0.36988218, 0.17106039, 0.06870396, 0.02047129],
    (3, 1, 2): [0.06027651, 0.24723103, 0.39149963, 0.23934983, 0.05649478, 0.00514822],
    (3, 1, 3): [0.0045082, 0.05434724, 0.24203727, 0.39821458, 0.24203727, 0.05434724, 0.0045082],
    (5, 2, 1): [0.38893783, 0.38893782, 0.12209348, 0.05639414, 0.02604807, 0.01203143, 0.00555723],
    (5, 2, 5): [0.00054857, 0.00518999, 0.02980044, 0.1038499, 0.21964236, 0.28193748],
}


@pytest.mark.parametrize(("distance", "variance", "count"), PTABLE)
def test_the_table_is_that_of_ptable(distance: int, variance: int, count: int) -> None:
    row = CellKey(distance, variance).table[count]
    expected = PTABLE[distance, variance, count]
    mine = row[distance - count :][: len(expected)]
    assert mine == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(("distance", "variance"), [(1, 0.3), (2, 1.0), (3, 1.0), (3, 2.0), (5, 2.0)])
def test_every_row_is_a_law_of_mean_zero(distance: int, variance: float) -> None:
    table = CellKey(distance, variance).table
    noise = np.arange(-distance, distance + 1)
    assert table.sum(axis=1) == pytest.approx(np.ones(distance + 1))
    assert table @ noise == pytest.approx(np.zeros(distance + 1), abs=1e-8)
    assert ((table @ noise**2) <= variance + 1e-8).all()
    assert table[-1] @ noise**2 == pytest.approx(variance)
    assert table[-1] == pytest.approx(table[-1][::-1], abs=1e-7)
    for count, row in enumerate(table):
        assert (row[: distance - count] == 0).all(), "no count becomes negative"
    assert table[0, distance] == 1, "nobody stays nobody"


def test_the_last_row_has_the_largest_entropy() -> None:
    """Among laws of mean zero and given variance that is `exp(a - b k^2)`."""
    logs = np.log(CellKey(3, 1.0).table[-1, 3:])
    slope = logs[0] - logs[1]
    assert logs[0] - logs == pytest.approx(slope * np.arange(4) ** 2, abs=1e-4)
    assert CellKey(1, 0.5).mean_size == pytest.approx(0.5)


@pytest.mark.parametrize(("distance", "variance"), [(0, 1.0), (21, 1.0), (3, 0.0), (3, 4.0), (3, math.nan)])
def test_settings_must_make_sense(distance: int, variance: float) -> None:
    with pytest.raises(InputError, match="must be"):
        CellKey(distance, variance)


def test_the_ends_of_the_keys_pick_the_ends_of_the_noise() -> None:
    noise = CellKey()
    counts = np.array([0, 1, 2, 3, 100])
    assert noise.protect(counts, np.zeros(5, dtype=np.int64)).tolist() == [0, 0, 0, 0, 97]
    assert noise.protect(counts, np.full(5, KEYS - 1)).tolist() == [0, 4, 5, 6, 103]
    assert noise.protect(counts, np.full(5, 7 * KEYS)).tolist() == [0, 0, 0, 0, 97], "keys are taken modulo KEYS"


def population(people: int, seed: int) -> Table:
    """Two axes and two options; `whole` is an axis whose only occupied category has everybody of `ward` w0."""
    generator = numpy_generator(seed)
    schema = Schema((Axis("ward", ("w0", "w1")), Axis("club", ("in", "out"))), ("yes", "no"))
    codes = frozen([[0, 0], [1, 1]], 2)
    votes = frozen(generator.integers(0, people, size=(2, 2)), 2)
    return Table(schema, (Tally(("ward", "club"), codes, votes),), ())


def test_the_same_people_get_the_same_noise_in_every_table() -> None:
    """Everybody in the ward w0 is in the club and nobody else: two tables count the same people."""
    noise = CellKey()
    for seed in range(50):
        table = population(40, seed)
        keys = with_keys(table, numpy_generator(seed))
        by_ward = noise.protect(table.margin(("ward",)).counts, keys.margin(("ward",)).counts)
        by_club = noise.protect(table.margin(("club",)).counts, keys.margin(("club",)).counts)
        assert (by_ward == by_club).all()


def test_keys_add_up_and_differ_by_seed() -> None:
    table = population(40, 1)
    keys = with_keys(table, numpy_generator(3))
    assert (keys.margin(()).counts == keys.margin(("ward",)).counts.sum(axis=0)).all()
    assert (with_keys(table, numpy_generator(3)).votes[0].counts == keys.votes[0].counts).all()
    fresh = [with_keys(table, numpy_generator(None)).votes[0].counts for _ in range(2)]
    assert (fresh[0] != fresh[1]).any(), "four equal keys have probability 2^-128"


@pytest.mark.statistical
@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_noise_follows_the_table(count: int) -> None:
    """Chi-square of 50,000 draws through record keys against the table; false alarms below 1e-6."""
    draws, noise = 50_000, CellKey()
    schema = Schema((Axis("ward", tuple(f"w{n}" for n in range(draws))),), ("yes",))
    votes = Tally(("ward",), frozen(np.arange(draws), 1), frozen(np.full(draws, count), 1))
    keys = with_keys(Table(schema, (votes,), ()), numpy_generator(None)).margin(("ward",)).counts
    seen = np.bincount((noise.protect(votes.counts, keys) - count).ravel() + 3, minlength=7)
    law = noise.table[min(count, 3)]
    assert (seen[law == 0] == 0).all()
    assert chisquare(seen[law > 0], draws * law[law > 0] / law.sum()).pvalue > ALARM
