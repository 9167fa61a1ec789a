"""For users of noised tables: confidence intervals of true counts, and tests of independence that know of the noise.

A test that takes noised counts for true ones rejects independence too often (Rinott et al. 2018, on whose results
section 4 of the paper relies). Here the statistic is compared with what it is under independence *with* the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin import ui
from safemargin.core import FloatArray, InputError, IntArray, PublishedTable, numpy_generator
from safemargin.io import read_tables
from safemargin.noise.calculators import Figure
from safemargin.noise.laws import studied_noise, sum_law
from safemargin.noise.records import Data
from safemargin.samplers import at_least, inside

MOST_TERMS = 10_000
SAMPLES = 2000
AT_ONCE = 200


def interval(
    printed: int,
    terms: int = 1,
    variance: float | None = None,
    bound: int | None = None,
    epsilon: float | None = None,
    confidence: float = 0.95,
) -> Figure:
    """Confidence interval of a true count, or of a sum of several, behind a noised one.

    The interval is the printed number give or take the smallest error that the noise exceeds with at most the remaining
    probability, and never below zero. It holds for every true count, as noise does not depend on it; p-tables have less
    noise on counts below their bound.
    """
    inside("confidence", confidence)
    at_least("terms", terms, 1, MOST_TERMS)
    chances = sum_law(studied_noise(epsilon, variance, bound).law, terms)
    middle = len(chances) // 2
    # Sums of both tails from outside in: the first error whose tails are small enough.
    tails = np.append(2 * np.cumsum(chances[::-1])[:middle][::-1], 0.0)
    error = int(np.flatnonzero(tails <= 1 - confidence + 1e-12)[0])
    low, high = max(0, printed - error), printed + error
    if high < 0:
        raise InputError(f"printed = {printed}: no count of at least 0 becomes it with such noise")
    sentence = (
        f"{ui.exact_percent(confidence)} of such intervals hold the true {'count' if terms == 1 else 'sum'}: "
        f"{low:,} to {high:,} (printed {printed:,}, give or take {error:,})."
    )
    inputs = {"printed": printed, "terms": terms, "variance": variance, "bound": bound, "epsilon": epsilon}
    return Figure([low, high], {**inputs, "confidence": confidence}, sentence, {"error": error})


@dataclass(frozen=True)
class Independence(ui.Result):
    """A test of independence of two axes: the statistic, its p-value with the noise, and one that ignores the noise."""

    axes: tuple[str, str]
    statistic: float
    aware: float
    naive: float
    samples: int

    def to_json(self) -> ui.Document:
        details = {"statistic": self.statistic, "naive": self.naive, "samples": self.samples, "axes": list(self.axes)}
        return {"value": self.aware, "details": details}

    def to_report(self) -> ui.Report:
        words = (
            f"{self.axes[0]} and {self.axes[1]}: chi-square {self.statistic:.4g}. If they are independent, noised "
            f"tables have as much with probability {self.aware:.3g} ({self.samples:,} simulated tables)."
        )
        naive = f"A test that takes the counts for true ones says {self.naive:.3g}: do not use it."
        return ui.Report("Test of independence", words, naive)


def independence(
    table: Data | PublishedTable,
    axes: Sequence[str] = (),
    *,
    variance: float | None = None,
    bound: int | None = None,
    epsilon: float | None = None,
    samples: int = SAMPLES,
    seed: int = 1,
    count: str = "count",
) -> Independence:
    """Test whether two axes of a noised table are independent, with the noise taken into account.

    `table` is a tidy file, a DataFrame or a value with the counts of two axes (other axes are summed over). Tables are
    simulated under independence, with the noise on every count, and compared with what is printed.
    """
    noise = studied_noise(epsilon, variance, bound)
    at_least("samples", samples, 100, 1_000_000)
    if isinstance(table, PublishedTable):
        shown = table
    else:
        (shown,) = read_tables([table], count)
    names = tuple(axes) or shown.axes
    if len(names) != 2 or not set(names) <= set(shown.axes):
        raise InputError(f"axes = {', '.join(names)}: name two of {', '.join(shown.axes)}")
    counts, cells = _crossed(shown, names)
    generator = numpy_generator(seed)
    rows, columns = np.maximum(counts.sum(axis=1), 0.5), np.maximum(counts.sum(axis=0), 0.5)
    people = max(1, round(float(counts.sum())))
    chances = np.outer(rows / rows.sum(), columns / columns.sum()).ravel()
    own = _chi_square(counts[None])[0]
    larger = 0
    for start in range(0, samples, AT_ONCE):
        size = min(AT_ONCE, samples - start)
        drawn = generator.multinomial(people, chances, size=size).reshape(size, *counts.shape)
        added = np.stack([noise.draw_sums(int(n), size, generator) for n in cells.ravel()], axis=1)
        larger += int((_chi_square(drawn + added.reshape(drawn.shape)) >= own - 1e-9).sum())
    from scipy.stats import chi2  # takes half a second to import

    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    # One more above and below: a simulated p-value is never zero, and is valid (Davison and Hinkley 1997, 4.2).
    aware = (larger + 1) / (samples + 1)
    return Independence((names[0], names[1]), float(own), aware, float(chi2.sf(own, freedom)), samples)


def _crossed(table: PublishedTable, axes: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Counts of two axes as a matrix, and how many noisy counts each adds up."""
    places = [table.axes.index(axis) for axis in axes]
    shape = tuple(len(table.groups[place]) for place in places)
    if min(shape) < 2:
        raise InputError(f"axes = {', '.join(axes)}: both need at least two categories")
    values = table.lower if table.noisy is None else table.noisy
    counts, cells = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    cell = tuple(table.codes[:, place] for place in places)
    np.add.at(counts, cell, values)
    np.add.at(cells, cell, 1)
    if (cells == 0).any():
        raise InputError(f"axes = {', '.join(axes)}: the table does not list all combinations of their categories")
    return counts, cells


def _chi_square(tables: IntArray) -> FloatArray:
    """Pearson's statistic of every table against the product of its margins; margins of nobody count as one half."""
    rows = np.maximum(tables.sum(axis=2, keepdims=True), 0.5)
    columns = np.maximum(tables.sum(axis=1, keepdims=True), 0.5)
    expected = rows * columns / np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1)
    statistics: FloatArray = ((tables - expected) ** 2 / expected).sum(axis=(1, 2))
    return statistics
