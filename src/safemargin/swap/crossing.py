"""Permutation swapping that at times leaves the stratum: probabilistic unit matching.

A selected record exchanges within its stratum, but with probability `alpha` among all records of the wide stratum that
were selected to do so: usually with one of another stratum. What is guaranteed is not known: Theorem 1 is about
permutations within strata only.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.swap.permutation import Exchange, StratumCells, swap


@dataclass(frozen=True)
class CrossExchange:
    """The whole exchange, and how many of its records were selected to leave their stratum."""

    exchange: Exchange
    across: int


def rates(rate: Fraction, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """The rate of leaving the stratum, and that of an exchange within it among those that do not.

    >>> rates(Fraction(1, 2), Fraction(1, 5))
    (Fraction(1, 10), Fraction(4, 9))
    """
    if not 0 < rate < 1:
        raise InputError(f"rate = {rate}: must lie between 0 and 1")
    if not 0 < alpha <= 1:
        raise InputError(f"alpha = {alpha}: must be above 0 and at most 1; without it, use swap")
    across = rate * alpha
    return across, (rate - across) / (1 - across)


def swap_across(cells: StratumCells, wide: IntArray, rate: Fraction, alpha: Fraction) -> CrossExchange:
    """Exchange across strata first, then within them among all other records. `wide` strata are unions of strata."""
    if len(wide) != len(cells.stratum) or (np.diff(wide) < 0).any():
        raise InputError("cells: must be ordered by wide strata too")
    leaving, within = rates(rate, alpha)
    far = swap(StratumCells(wide, cells.swapped, cells.counts), leaving)
    left = cells.counts - np.bincount(far.cell, minlength=len(cells.counts))
    here = np.flatnonzero(left)
    near = swap(StratumCells(cells.stratum[here], cells.swapped[here], left[here]), within)
    exchange = Exchange(
        np.concatenate([far.cell, here[near.cell]]),
        np.concatenate([far.swapped, near.swapped]),
        far.redrawn + near.redrawn,
    )
    return CrossExchange(exchange, len(far.cell))
