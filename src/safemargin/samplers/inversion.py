"""Exact draws of integer noise by inversion with lazily drawn bits.

A law on the integers has probabilities proportional to `exp(-(a |k| + b k^2))`: two-sided geometric (b = 0) or discrete
Gaussian (a = 0), either of them possibly conditioned on `|k| <= bound`. With its distribution function F and a uniform
real U in [0, 1), the smallest k with U < F(k) has the law. U is drawn word by word, and only as far as needed: one word
decides unless it equals the leading word of some F(k), which happens about once in 2^55 draws. Then further words of U
are compared with further digits of F (proof: docs/noise_ptables.md). Digits of F are certain: they come from integer
interval arithmetic with every rounding outwards, at a precision that is raised until both ends of the interval agree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from safemargin.core import IntArray, system_words

WORD = 64
"""Bits of a word of system entropy."""
MOST_THRESHOLDS = 2**16
"""Values of the noise that a table of thresholds may hold; OpenDP draws wider noise."""
GUARD = 64
"""Bits beyond the digits that are asked for; each failure to decide doubles them."""
MOST_GUARD = 2**14
AT_ONCE = 2**18
"""Words drawn at a time, so that they stay in the processor's cache."""

Interval = tuple[int, int]
"""A real number between these two integers over a power of two."""
Words = NDArray[np.uint64]


def exp_interval(exponent: Fraction, bits: int) -> Interval:
    """Integers around `2**bits * exp(-exponent)`, for an exponent that is not negative.

    >>> low, high = exp_interval(Fraction(1), 40)
    >>> low <= 404487723187 <= high and high - low < 8  # 2^40 / e = 404487723187.7...
    True
    """
    halvings = max(0, (exponent.numerator // exponent.denominator).bit_length() + 4)
    wide = bits + 2 * halvings + 16  # each of the squarings below doubles the relative error
    # Taylor's series of exp(-y) for y = exponent / 2^halvings < 1/8. It alternates with falling terms, so that partial
    # sums enclose it; y itself is rounded both ways, and exp(-y) falls in y.
    scaled = Fraction(exponent.numerator << wide, exponent.denominator << halvings)
    ends = []
    for y in (-(-scaled.numerator // scaled.denominator), scaled.numerator // scaled.denominator):
        total, term, n = 1 << wide, 1 << wide, 0
        while term:
            n += 1
            term = term * y // (n << wide)
            total += -term if n % 2 else term
        ends.append((total, 2 * n + 4))  # each term is less than two units too small, the rest less than one
    (low, slack), (high, more) = ends
    low, high = max(0, low - slack), min(1 << wide, high + more)
    for _ in range(halvings):
        low, high = low * low >> wide, (high * high >> wide) + 1
    return low >> wide - bits, min(1 << bits, (high >> wide - bits) + 1)


@dataclass(frozen=True)
class IntegerLaw:
    """Probabilities proportional to `exp(-(linear |k| + square k^2))` on the integers, within `bound` if given.

    With `is_rounded` the law is that of Laplace noise rounded to integers: the same, with another weight of zero.
    """

    linear: Fraction
    square: Fraction
    bound: int | None = None
    is_rounded: bool = False

    @property
    def is_small(self) -> bool:
        """Whether a table of thresholds is small enough: values beyond its ends have probability below 2^-64."""
        # -log of the weight is at least WORD bits at `reach`; 1 bit is 0.6931... of it.
        reach, need = MOST_THRESHOLDS // 2, Fraction(7, 10) * (WORD + 16)
        return (self.bound or reach) < reach or self.linear * reach + self.square * reach**2 >= need

    def draw(self, count: int) -> IntArray:
        """Independent draws from system entropy; no seed can be given."""
        noise = np.empty(count, dtype=np.int64)
        for start in range(0, count, AT_ONCE):
            words = system_words(min(AT_ONCE, count - start))
            noise[start : start + len(words)] = self.select(words, lambda: int(system_words(1)[0]))
        return noise

    def select(self, words: Words, refill: Callable[[], int], bits: int = WORD) -> IntArray:
        """The noise that the first words of uniform numbers select; `refill` draws a further word where needed."""
        first, thresholds = thresholds_of(self, bits)
        above = np.searchsorted(thresholds, words, side="right")
        noise: IntArray = first + above.astype(np.int64)
        # A word below floor(2^bits F(k)) is below F(k) whatever follows, one above it is not; equality decides nothing.
        undecided = np.flatnonzero((above > 0) & (thresholds[np.maximum(above, 1) - 1] == words))
        for place in undecided.tolist():
            noise[place] = self._resolve(int(words[place]), refill, bits)
        return noise

    def _resolve(self, drawn: int, refill: Callable[[], int], bits: int) -> int:
        """The noise of a number whose first word decides nothing: draw until it lies strictly between two digits."""
        size = bits
        while True:
            drawn, size = drawn << bits | refill(), size + bits
            if drawn == (1 << size) - 1 and self.bound is None:
                continue  # no F(k) has larger digits than this
            low, high = (-1, 0) if self.bound is None else (-self.bound - 1, self.bound)
            while self.bound is None and self.digits(low, size) > drawn:  # the tails go on without end
                low *= 2
            while self.bound is None and self.digits(high, size) <= drawn:
                high = 2 * high + 1
            while high - low > 1:  # the smallest k whose digits are above the number
                middle = (low + high) // 2
                low, high = (low, middle) if self.digits(middle, size) > drawn else (middle, high)
            if self.digits(low, size) < drawn or (self.bound is not None and low < -self.bound):  # there F(k) is 0
                return high

    def digits(self, k: int, size: int) -> int:
        """The first `size` binary digits of F(k), as an integer: certain, by directed rounding."""
        if self.bound is not None and not -self.bound <= k < self.bound:
            return 1 << size if k >= self.bound else 0
        guard = GUARD
        while guard <= MOST_GUARD:
            low, high = self._enclosed(k, size, _tails(self, size + guard))
            if low == high:
                return low
            guard *= 2
        raise ArithmeticError(f"{self}: F({k}) is too close to a number of {size} binary digits")

    def _enclosed(self, k: int, size: int, tails: list[Interval]) -> Interval:
        """The digits of both ends of an interval that holds F(k)."""
        whole_low, whole_high = (tails[0][end] + tails[1][end] for end in (0, 1))  # from 0 up, and from 1 up once more
        # F(k) is the tail from -k up for negative k, and one less the tail from k + 1 up for others.
        start = -k if k < 0 else k + 1
        low, high = tails[min(start, len(tails) - 1)]
        if k < 0:
            return (low << size) // whole_high, (high << size) // whole_low
        # No tail is empty, so at least one unit is missing.
        least, most = -((-low << size) // whole_high), -((-high << size) // whole_low)
        return (1 << size) - max(1, most), (1 << size) - max(1, least)


@lru_cache(maxsize=4)
def _tails(law: IntegerLaw, bits: int) -> list[Interval]:
    """Sums of weights from 0, 1, 2, ... up, as intervals over `2**bits`; the last serves for all further out."""
    ratio, bend = exp_interval(law.linear + law.square, bits), exp_interval(2 * law.square, bits)
    weight, weights = (1 << bits, 1 << bits), list[Interval]()
    # w(k + 1) = w(k) r(k) with r(k + 1) = r(k) exp(-2 b): three multiplications of intervals per value.
    while weight[0] > 0 and (law.bound is None or len(weights) <= law.bound):
        weights.append(weight)
        weight = _product(weight, ratio, bits)
        ratio = _product(ratio, bend, bits)
    if law.is_rounded:
        # The integral from k - 1/2 to k + 1/2 is exp(-a k) sinh(a/2), that around zero 1 - u with u = exp(-a/2): their
        # quotient at zero is 2 u / (1 + u), which grows in u.
        (low, high), one = exp_interval(law.linear / 2, bits), 1 << bits
        weights[0] = (2 * low << bits) // (one + low), -((-2 * high << bits) // (one + high))
    # The rest is at most a geometric series, as ratios do not grow.
    rest = 0 if law.bound is not None else (weight[1] << bits) // max(1, (1 << bits) - ratio[1]) + 1
    low, high, tails = 0, rest, [(0, rest)]
    for least, most in reversed(weights):
        low, high = low + least, high + most
        tails.append((low, high))
    return tails[::-1]


def _product(a: Interval, b: Interval, bits: int) -> Interval:
    return a[0] * b[0] >> bits, -(-a[1] * b[1] >> bits)


@lru_cache(maxsize=64)
def thresholds_of(law: IntegerLaw, bits: int = WORD) -> tuple[int, Words]:
    """The smallest noise that a first word can select, and the first words of F from there on."""
    tails = _tails(law, bits + GUARD)
    last = len(tails) - 1 if law.bound is None else law.bound
    numbers, most = [], (1 << bits) - 1
    for k in range(-last, last if law.bound is not None else last + 1):
        low, high = law._enclosed(k, bits, tails)
        numbers.append(low if low == high else law.digits(k, bits))
    if law.bound is not None:
        return -last, np.array(numbers, dtype=np.uint64)
    # Beyond the last word 0 below, and the first word of ones above, no first word can decide.
    start = max(n for n, number in enumerate(numbers) if number == 0)
    end = min(n for n, number in enumerate(numbers) if number == most)
    return start - last, np.array(numbers[start : end + 1], dtype=np.uint64)
