"""Newton's step for systems with one axis of many categories, without a matrix of all rows.

Objects
    H           the Hessian of the softmax dual (`witness.py`): A Cov(T) A' + slack
    wide        the rows about slices of the block with most slices; the *rest* are all other rows
    D, C, E     H = [[D, C'], [C, E]] with the wide rows first

Statement
    Slices of one block share no profile, and the covariance of two profiles is 0. So D is zero but for the rows of one
    slice: as many small squares as there are slices. With the Schur complement M = E - C D^-1 C' (Haynsworth 1968) the
    solution of H x = g is

        M x_rest = g_rest - C D^-1 g_wide        D x_wide = g_wide - C' x_rest

What callers may rely on
    * A step costs O(profiles * blocks * options^2 + wide rows * rest^2), where a dense one costs O(rows^3): 650 slices
      of four axes take milliseconds, and 10,000 slices need no square of them in memory.
    * Ridge and longest step are those of `newton_step`, so both find the same step but for rounding. A step is only a
      place to look at next, never evidence.

Example
    One wide axis with rows 0 and 1 and one other row: the same as solving the whole.

    >>> whole = np.array([[4.0, 0.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0, 5.0]])
    >>> step = solved(whole[:2, :2].diagonal()[:, None, None], whole[2:, :2], whole[2:, 2:], np.ones(3))
    >>> bool(abs(step - np.linalg.solve(whole, np.ones(3))).max() < 1e-6)
    True
"""

from functools import cached_property

import numpy as np
from scipy import linalg

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.system import System
from safemargin.core import FloatArray, IntArray, distinct


class WideRows:
    """The rows of a system in two parts: those of the block with most slices, sorted by slice, and the rest.

    `slice_of` and `weights` are those of the rows, as in `SoftmaxDual`. `apply` says whether every slice of the wide
    block has as many rows; else the squares differ in size, and the dense way is taken.
    """

    def __init__(self, system: System, slice_of: IntArray, weights: FloatArray) -> None:
        self.system, self.weights = system, weights
        slices = [distinct(block) for block in system.blocks]
        self.slices = max(slices, key=len, default=np.zeros(0, dtype=np.int64))
        self.slices = self.slices[self.slices >= 0]
        number = np.full(system.slices.shape[0] + 1, -1)
        number[self.slices] = np.arange(len(self.slices))
        rows = np.argsort(number[slice_of], kind="stable")
        is_wide = number[slice_of[rows]] >= 0
        self.wide, self.rest = rows[is_wide], np.sort(rows[~is_wide])
        counts = np.bincount(number[slice_of[self.wide]], minlength=len(self.slices))
        self.each = int(counts.max(initial=0))
        self.apply = bool(self.each) and bool((counts == self.each).all())
        self.number, self.slice_of = number, slice_of

    @cached_property
    def _places(self) -> tuple[IntArray, list[IntArray]]:
        """The wide slice of every profile (one more than there are: none), and its slice in each other block."""
        own = np.full(len(self.system.codes), len(self.slices))
        others = []
        for block in self.system.blocks:
            place = self.number[block]  # block is -1 outside, which is the last entry: no wide slice
            if (place >= 0).any():
                own = np.where(place >= 0, place, own)
            else:
                others.append(np.where(block < 0, len(self._kept), self._position[block]))
        return own, others

    @cached_property
    def _kept(self) -> IntArray:
        """The slices that the rest of the rows is about."""
        return distinct(self.slice_of[self.rest])

    @cached_property
    def _position(self) -> IntArray:
        """The place of every slice among those of the rest; their number for others."""
        position = np.full(self.system.slices.shape[0] + 1, len(self._kept))
        position[self._kept] = np.arange(len(self._kept))
        return position

    def step(self, share: FloatArray, span: FloatArray, extra: FloatArray, gradient: FloatArray) -> FloatArray:
        """The gradient divided by the Hessian, `extra` on its diagonal included."""
        free = self.system.n_free_options
        part, size = share.reshape(-1, free), span.reshape(-1, free)
        each, count, kept = self.each, len(self.slices), len(self._kept)
        squares = np.zeros((count, each, each))
        crossed = np.zeros((len(self.rest), count, each))
        inner = np.zeros((len(self.rest), len(self.rest)))
        own, others = self._places
        wide = self.weights[self.wide].reshape(count, each, free)
        rest, place = self.weights[self.rest], self._position[self.slice_of[self.rest]]
        for i in range(free):
            for j in range(free):
                weight = size[:, i] * part[:, i] * ((i == j) - part[:, j])
                sums = np.bincount(own, weight, minlength=count + 1)[:count]
                squares += sums[:, None, None] * wide[:, :, None, i] * wide[:, None, :, j]
                both = np.zeros((kept + 1) * (count + 1))
                for other in others:
                    both += np.bincount(other * (count + 1) + own, weight, minlength=len(both))
                table = both.reshape(kept + 1, count + 1)[place, :count] * rest[:, i][:, None]
                crossed += table[:, :, None] * wide[None, :, :, j]
                inner += self._inner(others, weight, kept)[np.ix_(place, place)] * np.outer(rest[:, i], rest[:, j])
        diagonal = np.zeros(len(gradient))
        diagonal[self.wide] = squares.diagonal(axis1=1, axis2=2).ravel()
        diagonal[self.rest] = inner.diagonal()
        diagonal += extra
        # The same ridge as in `newton_step`: dependent rows make the Hessian singular.
        extra = extra + EFFORT.newton_ridge * max(float(diagonal.max(initial=0.0)), 1e-300) + 1e-9 * diagonal
        squares[:, np.arange(each), np.arange(each)] += extra[self.wide].reshape(count, each)
        inner[np.diag_indices(len(inner))] += extra[self.rest]
        found = np.empty(len(gradient))
        found[np.concatenate([self.wide, self.rest])] = solved(
            squares,
            crossed.reshape(len(self.rest), count * each),
            inner,
            np.concatenate([gradient[self.wide], gradient[self.rest]]),
        )
        return found * min(1.0, EFFORT.newton_longest_step / float(np.abs(found).max(initial=1.0)))

    @staticmethod
    def _inner(others: list[IntArray], weight: FloatArray, kept: int) -> FloatArray:
        """For each two slices of the rest the sum of `weight` over the profiles in both."""
        flat = np.zeros((kept + 1) ** 2)
        for one, first in enumerate(others):
            for second in others[one + 1 :]:
                flat += np.bincount(first * (kept + 1) + second, weight, minlength=flat.size)
        table = flat.reshape(kept + 1, kept + 1)
        table = table + table.T
        for other in others:
            table.ravel()[:: kept + 2] += np.bincount(other, weight, minlength=kept + 1)
        return np.asarray(table)[:kept, :kept]


def solved(squares: FloatArray, crossed: FloatArray, inner: FloatArray, gradient: FloatArray) -> FloatArray:
    """The whole system solved, wide rows first: `squares` are those of D along its diagonal, then C and E."""
    count, each = squares.shape[:2]
    start = count * each
    inverse = np.linalg.pinv(squares, hermitian=True) if each > 1 else 1 / squares
    own, sides = gradient[:start].reshape(count, each), crossed.reshape(len(inner), count, each)
    scaled = np.einsum("rca,cab->rcb", sides, inverse).reshape(len(inner), start)
    whole, right = inner - scaled @ crossed.T, gradient[start:] - scaled @ gradient[:start]
    try:
        rest = linalg.cho_solve(linalg.cho_factor(whole, check_finite=False), right, check_finite=False)
    except linalg.LinAlgError:  # rounding, where rows depend on each other
        rest = linalg.lstsq(whole, right, check_finite=False)[0]
    left = own - (rest @ crossed).reshape(count, each)
    return np.concatenate([np.einsum("cab,cb->ca", inverse, left).ravel(), rest])
