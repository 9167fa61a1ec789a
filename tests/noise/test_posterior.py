"""What an onlooker believes behind a noised count: Bayes' rule, checked by counting simulated cells."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from safemargin.core import InputError, numpy_generator
from safemargin.noise.posterior import posterior_of_cells as posterior
from safemargin.samplers import Law, PTable, noise_of, ptable, request

COIN = PTable((Law(0, (0,), (1,)), Law(1, (-1, 1), (1, 1)), Law(2, (-1, 0, 1), (1, 2, 1))))


def test_by_hand() -> None:
    found = posterior(COIN, {0: 2, 1: 1, 2: 1})
    by_number = {each.printed: each for each in found.beliefs}
    assert by_number[0].counts == (0, 1) and by_number[0].probabilities == pytest.approx((0.8, 0.2))
    assert by_number[1].counts == (2,) and by_number[1].sure == 1, "only a count of 2 prints 1"
    assert by_number[2].of(1, 1) == pytest.approx(0.5) and by_number[2].guess == 1
    assert [each.chance for each in found.beliefs] == pytest.approx([5 / 8, 1 / 16, 1 / 4, 1 / 16])
    assert found.before == 0.5 and found.after == pytest.approx(0.5 + 1 / 16 + 1 / 8 + 1 / 16)
    assert found.kept == pytest.approx(0.5 + 0 + 1 / 8)


def test_without_a_prior_all_counts_are_equally_likely() -> None:
    table, _ = ptable(request(5, 2))
    found = posterior(table, top=30)
    assert found.after is None and [each.printed for each in found.beliefs] == list(range(31))
    far = found.beliefs[-1]
    assert far.counts == tuple(range(25, 36)) and far.guess == 30
    assert far.probabilities == pytest.approx(table.rows[-1].probabilities)
    assert found.beliefs[0].of(0, 0) == pytest.approx(
        1 / (1 + sum(float(table.law(n).printed[0]) for n in range(1, 6)))
    )


def test_only_printed_numbers_are_looked_at() -> None:
    found = posterior(COIN, printed=[3, 1, 3])
    assert [(each.printed, each.cells) for each in found.beliefs] == [(1, 1), (3, 2)]


@pytest.mark.statistical
def test_beliefs_are_right_as_often_as_they_say() -> None:
    """Cells of a skewed prior, noised by random keys; each check has a false-alarm rate of 1e-8, all below 1e-6."""
    table, _ = ptable(request(4, Fraction(3, 2), 1))
    prior = {count: 0.6**count for count in range(25)}
    found = posterior(table, prior)
    generator = numpy_generator(None)
    weights = np.array(list(prior.values()))
    true = generator.choice(25, size=100_000, p=weights / weights.sum())
    printed = true + noise_of(table, true, generator.integers(0, 2**48, size=true.size))
    assert found.after is not None
    right = 0
    for each in found.beliefs:
        cells = true[printed == each.printed]
        right += int(np.sum(cells == each.guess))
        for count, chance in zip(each.counts, each.probabilities, strict=True):
            if cells.size:
                assert binomtest(int(np.sum(cells == count)), cells.size, chance).pvalue > 1e-8
    assert binomtest(right, true.size, found.after).pvalue > 1e-8


def test_priors_must_make_sense() -> None:
    for prior in ({0: 0.0}, {1: -1.0, 2: 2.0}, {-1: 1.0}):
        with pytest.raises(InputError, match="prior"):
            posterior(COIN, prior)
    with pytest.raises(InputError, match="7 is printed, but no count"):
        posterior(COIN, {1: 1.0}, printed=[7])
    with pytest.raises(InputError, match="to = -1: must be at least 0; the nearest is 0"):
        posterior(COIN, top=-1)
    with pytest.raises(InputError, match="small = 0"):
        posterior(COIN, small=0)
