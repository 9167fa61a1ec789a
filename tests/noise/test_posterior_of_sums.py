"""Beliefs about cells and their sum: certain where noise must be at its bound, and right as often as they say."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from safemargin.core import InputError, numpy_generator
from safemargin.noise.posterior import UNIT, _keys, _volume, posterior_of_cells, posterior_of_sum
from safemargin.samplers import noise_of, ptable, request


def test_noise_at_its_bound_discloses_everything() -> None:
    """Women 3, men 2, all 11, and noise of at most 2: only 5 + 4 = 9 is possible."""
    table, _ = ptable(request(2, 1))
    found = posterior_of_sum(table, [3, 2], 11, keyed=False)
    assert [(each.counts, each.sure) for each in found.beliefs] == [((5,), 1), ((4,), 1), ((9,), 1)]


def test_keys_that_add_up_rule_the_extremes_out() -> None:
    """Keys of both parts near 0, as noise of -2 needs, make a key of the sum near 0, which never gives +2."""
    table, _ = ptable(request(2, 1))
    with pytest.raises(InputError, match="3, 2 and their sum 11 cannot be printed together with this p-table"):
        posterior_of_sum(table, [3, 2], 11)


def test_empty_parts_leave_the_noise_as_it_is() -> None:
    """If one part is empty, the sum has the people of the other, and so its noise."""
    table, _ = ptable(request(3, 2))
    found = posterior_of_sum(table, [5, 0], 5, {0: 1.0, 6: 1.0})
    assert [each.counts for each in found.beliefs] == [(6,), (0,), (6,)]
    with pytest.raises(InputError, match="cannot be printed together"):
        posterior_of_sum(table, [5, 0], 6, {0: 1.0, 6: 1.0})


@pytest.mark.statistical
def test_beliefs_are_right_as_often_as_they_say() -> None:
    """Simulated pairs with keys that add up; fewer than a hundred checks at 1e-8 each, so alarms are below 1e-6."""
    table, _ = ptable(request(2, 1))
    generator = numpy_generator(None)
    prior = {0: 0.2, 1: 0.3, 2: 0.3, 3: 0.2}
    true = generator.choice(4, size=(400_000, 2), p=list(prior.values()))
    keys = np.where(true > 0, generator.integers(0, 2**48, size=true.shape), 0)
    printed = true + noise_of(table, true, keys)
    sums = true.sum(axis=1)
    total = sums + noise_of(table, sums, keys.sum(axis=1) % 2**48)
    for parts, whole in (((1, 2), 3), ((2, 2), 5), ((0, 3), 2), ((3, 1), 5)):
        same = (printed == parts).all(axis=1) & (total == whole)
        found = posterior_of_sum(table, parts, whole, prior)
        assert same.sum() > 100
        for place, column in enumerate((true[same, 0], true[same, 1], sums[same])):
            belief = found.beliefs[place]
            assert set(np.unique(column)) <= set(belief.counts)
            for count, chance in zip(belief.counts, belief.probabilities, strict=True):
                seen = int(np.sum(column == count))
                assert binomtest(seen, int(same.sum()), min(chance, 1.0)).pvalue > 1e-8


def test_a_sum_discloses_more_than_its_parts_alone() -> None:
    table, _ = ptable(request(5, 2))
    alone = posterior_of_cells(table, printed=[4]).beliefs[0]
    together = posterior_of_sum(table, [4, 6], 14).beliefs[0]
    assert together.guess > alone.guess


def test_volumes() -> None:
    half, whole = UNIT // 2, UNIT
    assert _volume([(0, whole), (0, whole)], (0, half)) == 0.5
    assert _volume([(0, half), (0, half)], (0, half)) == 0.125
    assert _volume([(half, whole), (half, whole)], (0, half)) == 0.125
    assert _volume([(0, half)], (half // 2, whole)) == 0.25
    assert _volume([], (0, half)) == 1 and _volume([], (half, whole)) == 0
    pieces = [
        _volume([(0, half), (half // 2, whole), (0, whole)], (k * UNIT // 7, (k + 1) * UNIT // 7)) for k in range(7)
    ]
    assert sum(pieces) == pytest.approx(0.375, rel=1e-12)


def test_too_much_is_refused() -> None:
    table, _ = ptable(request(5, 2))
    with pytest.raises(InputError, match="number of parts = 1: must be from 2 to 4"):
        posterior_of_sum(table, [1], 1)
    with pytest.raises(InputError, match="too many guesses"):
        posterior_of_sum(ptable(request(12, 4))[0], [30, 30, 30, 30], 120)


@pytest.mark.parametrize(
    ("bound", "variance", "independent"), [(5, "2", 1.52e-7), (5, "9.9999", 20 / 11**3), (2, "1.9999", 20 / 5**3)]
)
def test_a_sum_is_never_far_from_its_two_parts(bound: int, variance: str, independent: float) -> None:
    """Noise of two parts less that of their sum: with keys that add up at most one more than the bound, though with
    independent noise it exceeds 3 (bound - 1), and so discloses the bound, as often as Bach's equation 10 says."""
    table, _ = ptable(request(bound, variance))
    many = 4 * bound
    keys = {v: _keys(table, many, many + v) for v in range(-bound, bound + 1)}
    largest, apart = 0, 0.0
    for one, other, whole in product(keys, repeat=3):
        boxes = [keys[one], keys[other], keys[whole]]
        assert None not in boxes
        first, second, third = (box for box in boxes if box is not None)
        gap = abs(one + other - whole)
        if _volume([first, second], third) > 1e-15:
            largest = max(largest, gap)
        if gap > 3 * (bound - 1):
            apart += float(np.prod([(high - low) / UNIT for low, high in (first, second, third)]))
    assert largest == bound + 1
    assert apart == pytest.approx(independent, rel=0.02)
