"""Probabilities of sums of very many votes, from the few frequencies that matter, with a proved remainder.

Let S be the sum of n independent steps on the grid Z^d with characteristic function phi. In a box of sides L (the
window) around its mean, the law folded by L is a Fourier sum over the frequencies `2 pi j / L`:

    P(S = p mod L) = 1 / prod(L) * sum over j of phi(j)^n exp(-i <2 pi j / L, p>).

The window is so wide that S lies in it but for 4e-20 (Bernstein's inequality), so that folding costs no more. Most
frequencies give nothing: `|phi|^2 = 1 - 2 sum over pairs of votes of p_x p_y (1 - cos <theta, x - y>)`, and over a
box of frequencies each cosine is bounded by its largest value. Boxes whose frequencies together give less than
`DROPPED` are dropped and their bound is added up; others are halved. About 4,000 frequencies remain, whatever n is.

Sums along a line of points are geometric series in each frequency. So the chance of a close race, which lies in a few
half-lines of a grid of two dimensions, takes no more time for a billion voters than for a million.
"""

from dataclasses import dataclass
from math import log

import numpy as np

from safemargin.core import FloatArray, IntArray

OUTSIDE = 1e-20
"""Probability beyond each side of the window."""
DROPPED = 1e-26
"""What the frequencies of a dropped box may give together."""
SMALL_BOX = 64
"""Frequencies of a box that is kept as it is."""
TOGETHER = 50_000
"""Frequencies that are looked at together."""
ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The law of a sum in a window: frequencies, the value of `phi^n` at each, and what was dropped."""

    low: IntArray
    size: IntArray
    frequencies: IntArray
    values: FloatArray
    """Modulus."""
    angles: FloatArray
    """Argument, less that of the point `low`."""
    dropped: float
    rounding: float
    outside: float = OUTSIDE

    def slack(self, points: float) -> float:
        """How far the chance of so many points together may be off."""
        share = points / float(np.prod(self.size.astype(np.float64)))
        return 4 * self.outside * len(self.size) + share * (self.dropped + self.rounding * float(self.values.sum()))

    def along(self, point: IntArray, step: IntArray, count: int) -> float:
        """The chance of `point`, `point + step`, ..., `count` points in all, which must lie in the window."""
        if count <= 0:
            return 0.0
        turns = _turns(self.frequencies, step, self.size)
        first = _turns(self.frequencies, point - self.low, self.size)
        half = np.pi * turns
        with np.errstate(divide="ignore", invalid="ignore"):
            series = np.where(turns == 0, float(count), np.sin(count * half) / np.sin(half))
        angles = self.angles - 2 * np.pi * first - (count - 1) * half
        return float((self.values * series * np.cos(angles)).sum() / np.prod(self.size.astype(np.float64)))


def _turns(frequencies: IntArray, vector: IntArray, size: IntArray) -> FloatArray:
    """`<j / L, vector>` less whole turns, between -1/2 and 1/2, in integers until the last division.

    A difference of rounded numbers would have an absolute error, which a power of n multiplies.
    """
    whole = int(np.prod(size))
    total = np.zeros(len(frequencies), dtype=np.int64)
    for axis, length in enumerate(size.tolist()):
        total += (frequencies[:, axis] * (int(vector[axis]) % length)) % length * (whole // length)
    total %= whole
    return np.asarray(np.where(2 * total > whole, total - whole, total) / whole)


def spectrum(
    weights: FloatArray, steps: IntArray, others: int, outside: float = OUTSIDE, dropped: float = DROPPED
) -> Spectrum:
    """Of the sum of `others` votes that take a step with these chances; `dropped` is per box of frequencies.

    The window is as wide as Bernstein's inequality asks for, so that all but `outside` per side lie in it; it may begin
    below 0, as it is a window of residues. Powers are taken of logarithms: the modulus times n, the angle times n
    modulo turns, of which the largest product decides the `rounding`.
    """
    mean = others * (weights @ steps)
    spread = others * (weights @ (steps - weights @ steps) ** 2)
    tail = -log(outside)
    half = np.sqrt(2 * spread * tail) + 2 * tail * (steps.max(axis=0) - steps.min(axis=0)) / 3 + 1  # Bernstein
    low, high = np.floor(mean - half).astype(np.int64), np.ceil(mean + half).astype(np.int64)
    size = high - low + 1
    kept, lost = _kept(weights, steps, others, size, dropped)
    parts = [_logarithm(weights, steps, size, kept[at : at + TOGETHER]) for at in range(0, len(kept), TOGETHER)]
    modulus, argument, middle = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0))
    start = np.array([int(others) * int(value) for value in steps[0]], dtype=np.int64) - low
    angles = others * (argument + middle) + 2 * np.pi * _turns(kept, start, size)
    # The angle `others * middle` is the largest number that is rounded.
    rounding = ROUNDING * (20 + float(np.abs(others * middle).max(initial=0.0)))
    return Spectrum(low, size, kept, np.exp(others * modulus), angles, lost, rounding, outside)


def _logarithm(weights: FloatArray, steps: IntArray, size: IntArray, frequencies: IntArray) -> FloatArray:
    """Of phi at each frequency: log of the modulus, and the argument in two parts; the second is the mean angle m.

    With angles u of all steps less that of the first, and m their mean, phi = exp(i (u_0 + m)) (1 + rest), where the
    first powers cancel in the rest. So n log phi loses no digits near the peak.
    """
    apart = np.stack([_turns(frequencies, step - steps[0], size) for step in steps], axis=1) * 2 * np.pi
    middle = apart @ weights
    off = apart - middle[:, None]
    sine = np.where(np.abs(off) < 1e-2, -(off**3) / 6 + off**5 / 120 - off**7 / 5040, np.sin(off) - off)
    real, imaginary = (-2 * np.sin(off / 2) ** 2) @ weights, sine @ weights
    # The logarithm of 1 + rest in parts: that of a complex number would be rounded at 1, not at the rest.
    with np.errstate(divide="ignore"):  # where phi is 0, so is its power
        modulus = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1.0)) / 2
    return np.stack([modulus, np.arctan2(imaginary, 1 + real), middle])


def _kept(
    weights: FloatArray, steps: IntArray, others: int, size: IntArray, negligible: float
) -> tuple[IntArray, float]:
    """Frequencies that may matter, and a bound on the sum of `|phi|^n` over all others."""
    first, second = np.triu_indices(len(steps), 1)
    apart, pairs = (steps[first] - steps[second]).astype(np.float64), weights[first] * weights[second]
    boxes = np.stack([np.zeros_like(size), size])[None]  # from, below
    kept: list[IntArray] = []
    dropped = 0.0
    while len(boxes):
        low, high = boxes[:, 0], boxes[:, 1]
        count = np.prod((high - low).astype(np.float64), axis=1)
        centre, reach = (low + high - 1) / 2 / size, (high - 1 - low) / 2 / size
        turns = centre @ apart.T
        nearest = np.maximum(np.abs(turns - np.rint(turns)) - reach @ np.abs(apart).T - 1e-12, 0.0)
        less = 2 * (1 - np.cos(2 * np.pi * np.minimum(nearest, 0.5))) @ pairs
        bound = count * np.exp(others / 2 * np.log1p(-np.minimum(less * (1 - 1e-12), 1 - 1e-16)))
        gone = bound <= negligible
        dropped += float(bound[gone].sum())
        small = ~gone & (count <= SMALL_BOX)
        for start, end in boxes[small]:
            sides = [np.arange(a, b) for a, b in zip(start, end, strict=True)]
            kept.append(np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(size)))
        boxes = _halved(boxes[~gone & ~small], size)
    return (np.concatenate(kept) if kept else np.zeros((0, len(size)), dtype=np.int64)), dropped


def _halved(boxes: IntArray, size: IntArray) -> IntArray:
    """Every box cut in two, across its longest side relative to the window."""
    if not len(boxes):
        return boxes
    length = boxes[:, 1] - boxes[:, 0]
    side = np.argmax(np.where(length > 1, length / size, 0.0), axis=1)
    rows = np.arange(len(boxes))
    middle = boxes[rows, 0, side] + length[rows, side] // 2
    left, right = boxes.copy(), boxes.copy()
    left[rows, 1, side] = middle
    right[rows, 0, side] = middle
    return np.concatenate([left, right])
