"""The law of the noise on printed counts, sums of it, and what counts it leaves possible.

Objects
    p           law of the noise on one count, on -r ... r
    p_n         its n-fold convolution: the law of the noise on a sum of n noisy counts
    s_1 ... s_m sums of n_1 ... n_m different noisy counts that all have the true value t (representations of a cell)

Statement
    With every true count as likely beforehand, the chance that it is t is proportional to
    p_n1(s_1 - t) ... p_nm(s_m - t), for t >= 0. A guess of the largest of these is right with the chance that is
    printed, whatever the law: shifting truth and print together changes nothing. A Gaussian of the same variance is too
    sure of itself with uniform noise and not sure enough with geometric noise.

What callers may rely on
    * Convolutions of up to MOST_WIDTH values add and multiply only, so that small chances keep their relative
      precision. Longer ones are Gaussian: their spread is so large that no count is disclosed by them.
    * Where the law is not given, that of `likely_law` explains the gaps between totals and parts best, among laws of
      this variance.

Example
    Two prints of one count with noise uniform within 2: only 7 fits both.

    >>> law = named_law("uniform", 2.0, 2)
    >>> law.posterior([[9, 5]], [[1, 1]])
    (array([7]), array([1.]))
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray
from safemargin.noise.laws import law_variance, truncated_law
from safemargin.noise.layout import ENOUGH, LARGE, Layout, tuples_in
from safemargin.samplers import LARGEST_BOUND, bounded_law

LAWS = ("gaussian", "geometric", "laplace", "uniform", "entropy")
MOST_WIDTH = 20_000
"""Values of a sum whose law is convolved."""
MOST_WINDOW = 400
"""Counts on either side of the mean that are compared."""
NEGLIGIBLE = 1e-18
"""Chance of noise of a law without a bound beyond which it is not listed."""
BOUNDS = 10
"""Bounds from the least possible up that are tried where the law is not given."""
DOUBT = 0.01
"""Chance that noise exceeds a bound which was inferred."""
FREQUENCIES = 1 << 13
"""Frequencies at which the characteristic function of a law is kept; between them it is interpolated."""
MOST_TERMS = 40
"""Noisy counts in a gap from which on gaps are not used to choose a law: all laws look alike there."""


@dataclass(frozen=True)
class AttackLaw:
    """Independent noise with chances of -r ... r, and its sums."""

    name: str
    chances: FloatArray
    _sums: dict[int, FloatArray] = field(default_factory=dict, compare=False, repr=False)
    _waves: list[FloatArray] = field(default_factory=list, compare=False, repr=False)

    @property
    def waves(self) -> FloatArray:
        """The characteristic function of the noise on one count, at `FREQUENCIES` frequencies from 0 to pi."""
        if not self._waves:
            middle = len(self.chances) // 2
            angles = np.linspace(0, math.pi, FREQUENCIES)
            found = np.full(FREQUENCIES, float(self.chances[middle]))
            for size in range(1, middle + 1):  # the noise is symmetric, so that sines cancel out
                found += 2 * float(self.chances[middle + size]) * np.cos(size * angles)
            self._waves.append(found)
        return self._waves[0]

    @property
    def variance(self) -> float:
        """Of the noise on one count."""
        return law_variance(self.chances)

    def log_chance(self, noise: IntArray, terms: int) -> FloatArray:
        """Logarithm of the chance that `terms` counts have this much noise together."""
        width = (len(self.chances) - 1) * terms + 1
        if width > MOST_WIDTH:
            spread = self.variance * terms
            gaussian: FloatArray = -(noise.astype(float) ** 2) / (2 * spread) - 0.5 * math.log(2 * math.pi * spread)
            return gaussian
        law, middle = self._summed(terms), (width - 1) // 2
        places = np.clip(noise + middle, 0, width - 1)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.where(np.abs(noise) <= middle, np.log(law[places]), -np.inf)
        return logs

    def _summed(self, terms: int) -> FloatArray:
        """The convolution of `terms` laws, by doubling."""
        if terms not in self._sums:
            if terms <= 1:
                self._sums[terms] = self.chances if terms else np.ones(1)
            else:
                half = terms // 2
                self._sums[terms] = np.convolve(self._summed(half), self._summed(terms - half))
        return self._sums[terms]

    def posterior(
        self,
        sums: Sequence[Sequence[int]] | IntArray,
        terms: Sequence[Sequence[int]] | IntArray,
        *,
        signed: bool = False,
    ) -> tuple[IntArray, FloatArray]:
        """The likeliest true count of every row and its chance; columns are sums of `terms` noisy counts each.

        A sum of no terms (0) is not there. Counts that the law cannot explain have chance 0. With `signed`, what is
        sought is a difference of counts, which may be below 0.
        """
        shown, often = np.asarray(sums, dtype=np.int64), np.asarray(terms, dtype=np.int64)
        weights = np.divide(1.0, often, out=np.zeros(often.shape), where=often > 0)
        precision = weights.sum(axis=1)
        centre = np.rint((shown * weights).sum(axis=1) / precision).astype(np.int64)
        reach = math.ceil(8 * math.sqrt(self.variance / max(float(precision.min(initial=1.0)), 1e-12))) + 8
        window = np.arange(-min(reach, MOST_WINDOW), min(reach, MOST_WINDOW) + 1)
        logs = np.where(signed | (centre[:, None] + window >= 0), 0.0, -np.inf)
        for column in range(shown.shape[1]):
            for number in np.unique(often[:, column]).tolist():
                rows = np.flatnonzero(often[:, column] == number)
                if number:
                    noise = shown[rows, column, None] - centre[rows, None] - window
                    logs[rows] += self.log_chance(noise, number)
        best = logs.argmax(axis=1)
        top = logs[np.arange(len(logs)), best]
        possible = np.isfinite(top)
        # Relative to the likeliest, whose term is 1: small chances cannot make all terms vanish.
        with np.errstate(under="ignore"):
            total = np.exp(logs - np.where(possible, top, 0.0)[:, None]).sum(axis=1)
        sure = np.divide(1.0, total, out=np.zeros(len(total)), where=possible)
        found = centre + np.where(possible, window[best], 0)
        return found if signed else np.maximum(found, 0), sure


def named_law(name: str, variance: float, bound: int | None = None) -> AttackLaw:
    """A law by its name: `uniform` and `entropy` (largest entropy for the variance) have a bound."""
    if name not in LAWS:
        raise InputError(f"law = {name!r}: must be one of {', '.join(LAWS)}")
    if name == "uniform":
        edge = bound if bound is not None else max(1, round((math.sqrt(1 + 12 * variance) - 1) / 2))
        return AttackLaw(name, bounded_law(edge))
    if name == "entropy":
        if bound is None:
            raise InputError("law = entropy: give the bound of the noise, or the law gaussian for noise without one")
        return AttackLaw(name, bounded_law(bound, variance))
    if name == "gaussian":
        reach = min(LARGEST_BOUND, math.ceil(math.sqrt(-2 * variance * math.log(NEGLIGIBLE))) + 2)
        return AttackLaw(name, bounded_law(reach, variance))
    return AttackLaw(name, truncated_law(name, (rate := _rate(name, variance)), _reach(rate)))


def _reach(epsilon: float) -> int:
    return math.ceil(-math.log(NEGLIGIBLE) / epsilon)


def _rate(name: str, variance: float) -> float:
    """The epsilon with which geometric noise, or Laplace noise that is rounded, has this variance."""
    from scipy.optimize import brentq  # slow to import, and few commands need it

    def excess(log_epsilon: float) -> float:
        epsilon = math.exp(log_epsilon)
        return math.log(law_variance(truncated_law(name, epsilon, _reach(epsilon))) / variance)

    return (
        math.exp(float(brentq(excess, math.log(1e-3), math.log(60.0)))) if variance < 1e6 else math.sqrt(2 / variance)
    )


def likely_law(layout: Layout, variance: float, bound: int | None = None) -> AttackLaw:
    """The law of this variance that explains the gaps between counts and the sums of their parts best."""
    gaps: dict[int, list[IntArray]] = {}
    least = 1
    for pair in tuples_in(layout):
        noisy = pair.terms > 0
        least = max([least, *(-(-np.abs(pair.gap[noisy]) // pair.terms[noisy])).tolist()])
        fit = noisy & (pair.least >= LARGE) & (pair.terms <= MOST_TERMS) & (pair.parts > 1)
        for terms in np.unique(pair.terms[fit]).tolist():
            gaps.setdefault(terms, []).append(pair.gap[fit & (pair.terms == terms)])
    seen = {terms: np.concatenate(arrays) for terms, arrays in gaps.items()}
    if sum(map(len, seen.values())) < ENOUGH:
        usual = "gaussian" if bound is None or variance > bound * (bound + 1) / 3 else "entropy"
        return named_law(usual, variance, bound)
    candidates = [named_law(name, variance) for name in ("gaussian", "geometric", "laplace")] if bound is None else []
    for edge in [bound] if bound is not None else range(least, least + BOUNDS):
        if variance < edge * (edge + 1) / 3:
            candidates.append(named_law("entropy", variance, edge))
        # The variance may be an estimate: uniform noise is tried where its own is near.
        if abs(edge * (edge + 1) / 3 - variance) < 0.2 * variance:
            candidates.append(named_law("uniform", variance, edge))
    scores = [sum(float(law.log_chance(gap, terms).sum()) for terms, gap in seen.items()) for law in candidates]
    if not candidates or max(scores) == -math.inf:
        return named_law("gaussian", variance)
    best = candidates[int(np.argmax(scores))]
    return best if bound is not None or best.name not in ("uniform", "entropy") else _softened(best)


def _softened(law: AttackLaw) -> AttackLaw:
    """A law whose bound is only likely: one draw in a hundred is Gaussian, so that no count is certain by the bound."""
    wide = named_law("gaussian", law.variance).chances
    reach = max(len(wide), len(law.chances)) // 2
    narrow, broad = (np.pad(chances, reach - len(chances) // 2) for chances in (law.chances, wide))
    return AttackLaw(law.name, (1 - DOUBT) * narrow + DOUBT * broad)
