"""True counts read off weighted ones: a printed weighted count over the printed count is the mean weight of a cell.

The exact mean is a sum of weights over the true count n. Weights have a few decimals, so that only multiples of a
period make the mean times n a sum of weights, and n is one of them near the printed count.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from safemargin.core import RESERVED, FloatArray, InputError, IntArray
from safemargin.io import TOTAL, Sheet, read_sheet
from safemargin.noise.layout import Recovered
from safemargin.noise.noise_law import AttackLaw

WEIGHTED = "weighted"
PRINTED_DECIMALS = 6
DECIMALS = range(5)
"""Decimals that weights may have."""
ODDS = 1e6
"""How much better exact means must explain the table than weights that have nothing to do with counts."""


def weighted_sheet(table: object) -> Sheet | None:
    """The columns of a CSV file that has weighted counts."""
    if not isinstance(table, str | Path) or Path(table).suffix != ".csv":
        return None
    sheet = read_sheet(Path(table))
    return sheet if WEIGHTED in sheet.columns else None


def from_weights(sheet: Sheet, count: str, option: str, law: AttackLaw) -> list[Recovered]:
    """Every count that the exact mean weight of its cell discloses; none if weights do not depend on counts."""
    axes = sorted(name for name in sheet.columns if name not in {*RESERVED, WEIGHTED, count, option})
    try:
        printed = [int(text) for text in sheet.columns[count]]
        weighted = [float(text) for text in sheet.columns[WEIGHTED]]
    except ValueError:
        raise InputError(f"{sheet.path}: columns {count!r} and {WEIGHTED!r} must hold numbers") from None
    rows = [row for row, (number, sum_) in enumerate(zip(printed, weighted, strict=True)) if number > 0 and sum_ > 0]
    tried = [_explained([(printed[row], weighted[row]) for row in rows], 10**digits, law) for digits in DECIMALS]
    odds, guesses = max(tried, key=lambda outcome: outcome[0], default=(0.0, []))
    if odds < math.log(ODDS):
        return []
    return [
        Recovered(
            "weights",
            tuple((axis, name) for axis in axes if (name := sheet.columns[axis][row]) != TOTAL),
            value,
            sure,
            printed[row],
        )
        for row, (value, sure) in zip(rows, guesses, strict=True)
    ]


def _explained(cells: Sequence[tuple[int, float]], unit: int, law: AttackLaw) -> tuple[float, list[tuple[int, float]]]:
    """Logarithm of the odds for exact means of weights in `1 / unit`, and the likeliest count of every cell.

    Where weights do not depend on counts, the odds have mean 1, so that they exceed a million once in a million.
    """
    odds, guesses = 0.0, []
    for printed, weighted in cells:
        numbers = np.arange(1, 10 * printed + 50)
        sums = numbers * (weighted / printed) * unit
        # The printed number is rounded, and so is the mean that is computed from it.
        slack = numbers * (0.6 * 10.0**-PRINTED_DECIMALS / printed) * unit + 1e-9 * np.abs(sums)
        fits = np.abs(sums - np.rint(sums)) <= slack
        chances = _near(numbers, printed, law)
        odds += math.log(max(float(chances[fits].sum()), 1e-300)) - math.log(max(float(fits.mean()), 1e-300))
        likely = np.where(fits, chances, 0.0)
        total = float(likely.sum())
        best = int(likely.argmax())
        guesses.append((int(numbers[best]), float(likely[best]) / total if total > 0 else 0.0))
    return odds, guesses


def _near(numbers: IntArray, printed: int, law: AttackLaw) -> FloatArray:
    """How likely each count is beforehand: the noise on the printed one."""
    chances: FloatArray = np.exp(law.log_chance(printed - numbers, 1))
    total = chances.sum()
    return chances / total if total > 0 else np.full(len(numbers), 1 / len(numbers))
