"""How PolyVeil masks a client's bits (seed 003, sections 3 and 4), in whole numbers.

A bit is a 2 x 2 permutation matrix, a client's bits are the block-diagonal matrix `M` of size 2n. The client sends
`N = c M + sum of m_i P_i`, where the `P_i` are uniform permutation matrices (decoys) and the weights `m_i` add up to
`W - c`; the paper's alpha is `c / W`. Everything is an integer: at the paper's own parameters float sums are off by
several people (specification, section 6). Rows and columns are counted from 0 here and from 1 in the paper.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import InputError, IntArray, system_below

Draw = Callable[[int, tuple[int, ...]], IntArray]
"""Independent uniform whole numbers below a bound, in an array of this shape."""

FINENESS = 2**20
"""Lattice units per bit: coarse weights let a wrong shuffle pass (3.6 % unique at 1, all at 2^20; section 3.1)."""


@dataclass(frozen=True)
class Mask:
    """Public parameters: `bits` per client, `decoys` per client, and `unit / scale`, the weight of the true matrix."""

    bits: int
    decoys: int
    unit: int = FINENESS
    scale: int = 0

    def __post_init__(self) -> None:
        if self.scale == 0:  # the paper's operating point, alpha = 1 / (4n)
            object.__setattr__(self, "scale", 4 * self.bits * self.unit)
        if self.bits < 1:
            raise InputError(f"bits = {self.bits}: must be at least 1")
        if self.decoys < 2:
            raise InputError(f"weights = {self.decoys}: at least 2 decoys, or the masked matrix shows the bits")
        if not 0 < self.unit < self.scale:
            raise InputError(f"unit = {self.unit}: must lie between 0 and the scale {self.scale}")
        if self.scale - self.unit <= self.decoys:
            raise InputError(f"scale = {self.scale}: too small for {self.decoys} positive weights")

    @property
    def alpha(self) -> Fraction:
        """The share of the true matrix."""
        return Fraction(self.unit, self.scale)

    def check_total(self, clients: int) -> None:
        """Refuse sums that 63 bits do not hold."""
        if clients * self.bits * self.scale >= 2**63:
            raise InputError(
                f"{clients:,} clients with {self.bits:,} bits: the masked sum may pass 2^63; choose a smaller unit"
            )


def encode(bits: IntArray) -> IntArray:
    """The column of the one in every row of `M(b)`, for clients in rows.

    >>> encode(np.array([[1, 0]])).tolist()
    [[1, 0, 2, 3]]
    """
    clients, count = bits.shape
    columns = np.tile(np.arange(2 * count), (clients, 1))
    columns[:, 0::2] += bits
    columns[:, 1::2] -= bits
    return columns


def dense(columns: IntArray, weight: int = 1) -> IntArray:
    """A permutation given by its columns as a matrix."""
    matrix = np.zeros((len(columns), len(columns)), dtype=np.int64)
    matrix[np.arange(len(columns)), columns] = weight
    return matrix


def draw_permutations(count: int, size: int, draw: Draw = system_below) -> IntArray:
    """Uniform permutations in rows: Fisher and Yates, one step for all of them at a time."""
    rows = np.arange(count)
    permutations = np.tile(np.arange(size), (count, 1))
    for last in range(size - 1, 0, -1):
        other = draw(last + 1, (count,))
        permutations[rows, last], permutations[rows, other] = (
            permutations[rows, other],
            permutations[rows, last].copy(),
        )
    return permutations


def crossings(columns: IntArray) -> IntArray:
    """`w^T P y` by bit: which of the rows 0, 2, 4, ... are sent to an odd column (last axis: bits).

    >>> crossings(np.array([[2, 0, 3, 1]])).sum(axis=1).tolist()  # P_1,1 of the worked example
    [1]
    """
    return np.asarray(columns[..., 0::2] % 2, dtype=np.int64)


def draw_weights(mask: Mask, clients: int, draw: Draw = system_below) -> IntArray:
    """Positive whole weights in rows that add up to `scale - unit`, uniform over all such compositions.

    The cut points are a uniform subset of {1, ..., scale - unit - 1}; equal weights would show every bit (Remark 8.19).
    """
    total, cuts = mask.scale - mask.unit, mask.decoys - 1
    points = np.sort(draw(total - 1, (clients, cuts)), axis=1)
    while len(repeated := np.flatnonzero((np.diff(points, axis=1) == 0).any(axis=1))):
        # Rejecting a client's whole draw keeps the law uniform over subsets.
        points[repeated] = np.sort(draw(total - 1, (len(repeated), cuts)), axis=1)
    ends = np.column_stack([np.zeros(clients, dtype=np.int64), points + 1, np.full(clients, total)])
    return np.diff(ends, axis=1)


@dataclass(frozen=True)
class Masked:
    """What clients (rows) hold before they send anything.

    `noise` is `xi`, the decoys' part of the sum by bit; its sum over bits is the paper's `eta`. `values` are
    `c b + xi`: what `N y` shows in the rows 0, 2, 4, ...
    """

    mask: Mask
    values: IntArray
    noise: IntArray
    weights: IntArray
    decoys: IntArray
    true: IntArray

    def matrix(self, client: int) -> IntArray:
        """`N`, the masked matrix of one client; all rows and columns add up to the scale."""
        size = 2 * self.mask.bits
        total = dense(self.true[client], self.mask.unit)
        rows = np.arange(size)
        for weight, decoy in zip(self.weights[client], self.decoys[client], strict=True):
            total[rows, decoy] += weight
        return total


def mask_bits(mask: Mask, bits: IntArray, draw: Draw = system_below, weights: IntArray | None = None) -> Masked:
    """Mask every client's bits with fresh decoys and weights."""
    clients, count = bits.shape
    if count != mask.bits:
        raise InputError(f"{count} bits per client; the mask is for {mask.bits}")
    if not np.isin(bits, (0, 1)).all():
        raise InputError("bits: every value must be 0 or 1")
    mask.check_total(clients)
    drawn = draw_weights(mask, clients, draw) if weights is None else weights
    decoys = draw_permutations(clients * mask.decoys, 2 * count, draw).reshape(clients, mask.decoys, 2 * count)
    noise = np.einsum("tk,tkj->tj", drawn, crossings(decoys))
    return Masked(mask, mask.unit * bits + noise, noise, drawn, decoys, encode(bits))


def unmask(mask: Mask, values: IntArray, noise: IntArray, clients: int) -> IntArray:
    """Totals from the sums of values and of noise: an exact division, never rounding.

    A remainder or a total that no honest clients can have is an error: rounding would hide a message that was changed.
    """
    difference = values - noise
    totals, rest = np.divmod(difference, mask.unit)
    if np.any(rest):
        raise InputError("the masked sums do not fit together: a message was changed, or the two sides differ")
    if np.any(totals < 0) or np.any(totals > clients * mask.bits):
        raise InputError(
            f"a total of {int(totals.max()):,} cannot come from {clients:,} clients; a message was changed"
        )
    return np.asarray(totals, dtype=np.int64)
