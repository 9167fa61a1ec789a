"""Cell keys: the table of probabilities, its law in draws, and the same noise for the same people."""

import numpy as np
import pytest
from scipy.stats import chisquare

from safemargin.core import Axis, IntArray, Schema, Table, Tally, frozen, numpy_generator
from safemargin.samplers.cell_key import SIMULATED, noise_of, simulated_keys
from safemargin.samplers.max_entropy import bounded_law
from safemargin.samplers.privacy import guarantee
from safemargin.samplers.ptables import PTable, ptable, reference_ptable, request

ALARM = 1e-8
"""False-alarm rate of one statistical check; each test makes fewer than a hundred, so it alarms below 1e-6."""

PTABLE = {  # as the R package ptable 1.0.0 prints them, to eight digits: (distance, variance, count) -> from the left
    (3, 1, 1): [0.36988218, 0.36988218, 0.17106039, 0.06870396, 0.02047129],
    (3, 1, 2): [0.06027651, 0.24723103, 0.39149963, 0.23934983, 0.05649478, 0.00514822],
    (3, 1, 3): [0.0045082, 0.05434724, 0.24203727, 0.39821458, 0.24203727, 0.05434724, 0.0045082],
    (5, 2, 1): [0.38893783, 0.38893782, 0.12209348, 0.05639414, 0.02604807, 0.01203143, 0.00555723],
    (5, 2, 5): [0.00054857, 0.00518999, 0.02980044, 0.1038499, 0.21964236, 0.28193748],
}


NOISE = reference_ptable(request(3, 1))


def printed(table: PTable, counts: IntArray, keys: IntArray) -> IntArray:
    return counts + noise_of(table, counts, keys, SIMULATED)


@pytest.mark.parametrize(("distance", "variance", "count"), PTABLE)
def test_the_table_is_that_of_ptable(distance: int, variance: int, count: int) -> None:
    row = reference_ptable(request(distance, variance)).matrix[count]
    expected = PTABLE[distance, variance, count]
    assert row[distance - count :][: len(expected)] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(("distance", "variance"), [(1, 0.3), (2, 1.0), (3, 1.0), (3, 2.0), (5, 2.0)])
def test_every_row_is_a_law_of_mean_zero(distance: int, variance: float) -> None:
    table = reference_ptable(request(distance, variance)).matrix
    noise = np.arange(-distance, distance + 1)
    assert table.sum(axis=1) == pytest.approx(np.ones(distance + 1))
    assert table @ noise == pytest.approx(np.zeros(distance + 1), abs=1e-7)
    assert ((table @ noise**2) <= variance + 1e-6).all()
    assert table[-1] @ noise**2 == pytest.approx(variance)
    assert table[-1] == pytest.approx(table[-1][::-1], abs=1e-7)
    for count, row in enumerate(table):
        assert (row[: distance - count] == 0).all(), "no count becomes negative"
    assert table[0, distance] == 1, "an empty cell stays empty"


def test_the_last_row_has_the_largest_entropy() -> None:
    """Among laws of mean zero and given variance that is `exp(a - b k^2)`; the float law is the same."""
    logs = np.log(NOISE.matrix[-1, 3:])
    slope = logs[0] - logs[1]
    assert logs[0] - logs == pytest.approx(slope * np.arange(4) ** 2, abs=1e-4)
    assert NOISE.matrix[-1] == pytest.approx(bounded_law(3, 1.0), abs=1e-7)
    assert ptable(request(3, 1))[0].matrix[-1] == pytest.approx(bounded_law(3, 1.0), abs=1e-14)
    assert reference_ptable(request(1, 0.5)).rows[-1].mean_size == pytest.approx(0.5)
    assert guarantee(NOISE).delta == 0.00514822


def test_the_ends_of_the_keys_select_the_ends_of_the_noise() -> None:
    counts = np.array([0, 1, 2, 3, 100])
    assert printed(NOISE, counts, np.zeros(5, dtype=np.int64)).tolist() == [0, 0, 0, 0, 97]
    assert printed(NOISE, counts, np.full(5, SIMULATED.modulus - 1)).tolist() == [0, 4, 5, 6, 103]
    wrapped = printed(NOISE, counts, np.full(5, 7 * SIMULATED.modulus))
    assert wrapped.tolist() == [0, 0, 0, 0, 97], "keys are reduced modulo their number"


def population(people: int, seed: int) -> Table:
    """Two axes and two options; `whole` is an axis whose only occupied category has everybody of `ward` w0."""
    generator = numpy_generator(seed)
    schema = Schema((Axis("ward", ("w0", "w1")), Axis("club", ("in", "out"))), ("yes", "no"))
    codes = frozen([[0, 0], [1, 1]], 2)
    votes = frozen(generator.integers(0, people, size=(2, 2)), 2)
    return Table(schema, (Tally(("ward", "club"), codes, votes),), ())


def test_the_same_people_get_the_same_noise_in_every_table() -> None:
    """Everybody in the ward w0 is in the club and nobody else: two tables count the same people."""
    for seed in range(50):
        table = population(40, seed)
        keys = simulated_keys(table, numpy_generator(seed))
        by_ward = printed(NOISE, table.margin(("ward",)).counts, keys.margin(("ward",)).counts)
        by_club = printed(NOISE, table.margin(("club",)).counts, keys.margin(("club",)).counts)
        assert (by_ward == by_club).all()


def test_keys_add_up_and_differ_by_seed() -> None:
    table = population(40, 1)
    keys = simulated_keys(table, numpy_generator(3))
    assert (keys.margin(()).counts == keys.margin(("ward",)).counts.sum(axis=0)).all()
    assert (simulated_keys(table, numpy_generator(3)).votes[0].counts == keys.votes[0].counts).all()
    fresh = [simulated_keys(table, numpy_generator(None)).votes[0].counts for _ in range(2)]
    assert (fresh[0] != fresh[1]).any(), "four equal keys have probability 2^-128"


@pytest.mark.statistical
@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_noise_follows_the_table(count: int) -> None:
    """Chi-square of 50,000 draws through record keys against the table; false alarms below 1e-6."""
    draws = 50_000
    schema = Schema((Axis("ward", tuple(f"w{n}" for n in range(draws))),), ("yes",))
    votes = Tally(("ward",), frozen(np.arange(draws), 1), frozen(np.full(draws, count), 1))
    keys = simulated_keys(Table(schema, (votes,), ()), numpy_generator(None)).margin(("ward",)).counts
    seen = np.bincount((printed(NOISE, votes.counts, keys) - count).ravel() + 3, minlength=7)
    law = NOISE.matrix[min(count, 3)]
    assert (seen[law == 0] == 0).all()
    assert chisquare(seen[law > 0], draws * law[law > 0] / law.sum()).pvalue > ALARM
