"""Inversion with lazily drawn bits: digits that are certain, every path with short words, and the work per count."""

from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from safemargin.samplers.inversion import WORD, IntegerLaw, exp_interval, thresholds_of

LAWS = [
    IntegerLaw(Fraction(1), Fraction(0)),
    IntegerLaw(Fraction(0.3), Fraction(0)),
    IntegerLaw(Fraction(3), Fraction(0)),
    IntegerLaw(Fraction(0), Fraction(1, 8)),
    IntegerLaw(Fraction(0), Fraction(1, 2)),
    IntegerLaw(Fraction(0), Fraction(3, 200)),
    IntegerLaw(Fraction(0.7), Fraction(0), bound=5),
    IntegerLaw(Fraction(0), Fraction(1, 8), bound=9),
    IntegerLaw(Fraction(2), Fraction(1, 7), bound=1),
    IntegerLaw(Fraction(1, 2), Fraction(0), is_rounded=True),
    IntegerLaw(Fraction(0.9), Fraction(0), bound=4, is_rounded=True),
]
SHORT = 4
"""Bits of a short word."""
DEPTH = 3
"""Short words per path: 4,096 paths."""


class OutOfWordsError(Exception):
    """A path ended before it decided."""


def distribution(law: IntegerLaw, far: int = 300) -> dict[int, Decimal]:
    """F by its definition, with 80 decimals: sums of exponentials over all values that matter."""
    with localcontext() as context:
        context.prec = 120
        reach = far if law.bound is None else law.bound
        a, b = (Decimal(part.numerator) / part.denominator for part in (law.linear, law.square))
        weights = {k: (-(a * abs(k) + b * k * k)).exp() for k in range(-reach, reach + 1)}
        if law.is_rounded:  # integrals of the density of Laplace noise around every integer
            half, step = (-a / 2).exp(), (a / 2).exp() - (-a / 2).exp()
            weights = {k: weight * step / 2 if k else 1 - half for k, weight in weights.items()}
        whole, total, ends = sum(weights.values()), Decimal(0), {}
        for k, weight in weights.items():
            total += weight
            ends[k] = total / whole
        return ends


def first_digits(value: Decimal, size: int) -> int:
    with localcontext() as context:
        context.prec = 120
        return int(value * 2**size)


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 10**6), Fraction(1, 3), Fraction(7), Fraction(700.25)])
def test_exponentials_are_enclosed(exponent: Fraction) -> None:
    with localcontext() as context:
        context.prec = 400
        value = (-(Decimal(exponent.numerator) / exponent.denominator)).exp()
        for bits in (20, 128, 1100):
            low, high = exp_interval(exponent, bits)
            assert low <= value * 2**bits <= high
            assert high - low <= 4


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_thresholds_are_the_first_words_of_the_distribution(law: IntegerLaw) -> None:
    ends = distribution(law)
    first, words = thresholds_of(law)
    assert words.tolist() == [first_digits(ends[first + n], WORD) for n in range(len(words))]
    for k in (-1, 0, 1):
        assert law.digits(k, 110) == (first_digits(ends[k], 110) if k != law.bound else 2**110)
    if law.bound is None:
        # No first word decides beyond the table: it begins with the word 0 and ends with the word of ones.
        assert int(words[0]) == 0 and int(words[-1]) == 2**WORD - 1


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_every_path_of_short_words_can_be_counted(law: IntegerLaw) -> None:
    """All numbers of three words of four bits: each is decided as soon as, and only if, its interval lies inside one
    step of F; so a value has exactly the numbers whose whole interval lies inside its step."""
    ends = distribution(law)
    decided, used = Counter[int](), Counter[int]()
    for path in product(range(2**SHORT), repeat=DEPTH):
        rest = iter(path[1:])

        def refill(rest: object = rest) -> int:
            word = next(rest, None)  # type: ignore[call-overload]
            if word is None:
                raise OutOfWordsError
            return int(word)

        try:
            noise = int(law.select(np.array(path[:1], dtype=np.uint64), refill, SHORT)[0])
        except OutOfWordsError:
            used[-1] += 1
            continue
        used[DEPTH - 1 - len(list(rest))] += 1
        decided[noise] += 1
    size = SHORT * DEPTH
    with localcontext() as context:
        context.prec = 120
        steps = [(k, end * 2**size) for k, end in ends.items()]
    before = Decimal(0)
    for k, end in steps:
        # Numbers that lie in the step with all that may follow them; below the first step F is exactly 0.
        near = range(int(before), min(2**size - 1, int(end)) + 1)
        inside = sum((path > before or before == 0) and path + 1 <= end for path in near)
        assert decided[k] == inside, k
        before = end
    # Undecided are the numbers that hold some F(k), one each.
    assert used[-1] == len({int(end) for _, end in steps if int(end) < 2**size})
    assert decided.total() + used[-1] == 2**size


def test_numbers_far_out_in_the_tail_are_found() -> None:
    """Words of zeros and ones, then one that decides: the noise is where F says, beyond any table."""
    law = IntegerLaw(Fraction(1), Fraction(0))
    ends = distribution(law)
    for words in ([0, 0, 2**40], [2**WORD - 1, 2**WORD - 1, 2**WORD - 2**30], [0, 123_456_789]):
        rest = iter(words[1:])
        noise = int(law.select(np.array(words[:1], dtype=np.uint64), lambda rest=rest: next(rest))[0])  # type: ignore[misc]
        number = Decimal(sum(word << WORD * (len(words) - 1 - n) for n, word in enumerate(words)))
        with localcontext() as context:
            context.prec = 120
            share = number / Decimal(2) ** (WORD * len(words))
            assert noise == min(k for k, end in ends.items() if share < end)


def test_one_word_decides_nearly_always_and_the_table_is_short() -> None:
    """Work per count is one search in a table of fixed length, whatever is drawn."""
    for law in LAWS:
        _, words = thresholds_of(law)
        # A first word decides nothing with this probability: a billion counts a day for a thousand years.
        assert len(set(words.tolist())) / 2**WORD < 1e-16

        def refill() -> int:
            raise AssertionError("a second word was drawn")

        given = np.array([987654321987, 2**50 + 1, 2**63 + 12345, 2**WORD - 987654321987], dtype=np.uint64)
        assert len(law.select(given, refill)) == len(given)


def test_draws_keep_the_shape_and_no_draw_repeats() -> None:
    law = IntegerLaw(Fraction(0.1), Fraction(0))
    assert law.draw(0).shape == (0,)
    first, second = law.draw(400), law.draw(400)
    assert first.dtype == np.int64 and (first != second).any(), "400 equal draws have probability below 1e-300"
