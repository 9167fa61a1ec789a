"""Delta of one pair of inputs after shuffling, by the exact law of the masked numbers: a floor under every guarantee.

All clients but one have the sum 0, and one has 0 or n. A shuffler outputs a random order, so the likelihood ratio of
what is seen is the mean `L` over the k clients of `r(x) = p(x - shift) / p(x)`. With one client drawn from the shifted
law, delta at epsilon is

    E max(0, 1 - e^epsilon / L),

where values that only the shifted law takes (its atoms, and beyond the edge) count as 1. The sum of the other k - 1
ratios comes from a fast Fourier transform on a lattice. Ratios are rounded down, and large ones of these clients are
dropped: both make the sum smaller, and the result a lower bound, up to the error of the density.
"""

import math

import numpy as np

from safemargin.core import FloatArray

CELLS = 2**20
"""Of the lattice of sums: rounding down moves their mean by 0.4 % at most."""
GROUPS = 4_000
"""Of sums, for the mean over all values of the client that moved."""


def gaussian_pair_delta(mu: float, clients: int, epsilon: float) -> float:
    """The same where masked numbers are Gaussian and one client moves by `mu` standard deviations, as in the paper."""
    values = np.linspace(-9, 9 + mu, 4_001)
    heights = (values[1] - values[0]) / math.sqrt(2 * math.pi)
    usual, moved = (heights * np.exp(-((values - mean) ** 2) / 2) for mean in (0.0, mu))
    return pair_delta(usual, moved, 0.0, clients, epsilon)


def pair_delta(usual: FloatArray, moved: FloatArray, atoms: float, clients: int, epsilon: float) -> float:
    """The same from chances of the same values under both laws; `atoms`: the chance of values that decide between them.

    Both clients at one value: nothing. A value that only one of two shows: it is certain who moved.

    >>> pair_delta(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 0.0, 2, 0.0)
    0.0
    >>> pair_delta(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0, 2, 3.0)
    1.0
    """
    seen = usual > 1e-30  # below, a value counts as one of the shifted law only where that law has it
    alone = float(moved[~seen].sum())
    ratio = moved[seen] / usual[seen]
    top = 8.0 * clients
    step = top / CELLS
    cells = np.zeros(2 * CELLS)
    kept = ratio < top
    np.add.at(cells, np.floor(ratio[kept] / step).astype(np.int64), usual[seen][kept])
    cells[0] += float(usual[seen][~kept].sum()) + atoms  # an atom of the usual law has the ratio 0
    others = np.fft.irfft(np.fft.rfft(cells) ** (clients - 1), 2 * CELLS)[:CELLS]
    others = np.maximum(others, 0.0)
    needed = math.exp(epsilon) * clients
    filled = np.flatnonzero(others > 1e-18)
    first, last = (0, 1) if len(filled) == 0 else (int(filled[0]), int(filled[-1]) + 1)
    starts = np.arange(first, last, max(1, (last - first) // GROUPS))
    chances, levels = np.add.reduceat(others[:last], starts), step * starts  # each group at its smallest sum
    total = 0.0
    for part in np.array_split(np.arange(len(ratio)), max(1, len(ratio) // 500)):
        gains = 1 - needed / np.maximum(levels[None, :] + ratio[part, None], needed)
        total += float(moved[seen][part] @ (gains @ chances))
    return min(1.0, alone + atoms + total)
