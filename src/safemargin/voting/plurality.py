"""Plurality with any number of candidates and millions of voters: sums over the ends of trails (Lemma 1).

Objects. A vote for x instead of y changes the result exactly where x or y is one vote short of the winner r, or wins by
it. So all that is needed is

    P(r, x) = Pr[r wins among the others, and x is one vote short of winning],

for every winner r and every x; each is a sum over the heights of the two, of how likely all other candidates stay below
and make up the rest.

Method. Multinomial counts are independent Poisson counts given their total. So the chance that the rest stay below
their caps and sum to what is left is one coefficient of a product of truncated Poisson series, found by a Fourier sum.
The counts are tilted so that the race is typically close: then the largest term is near the middle of the sum.

Heights are too many to be added one by one with a million voters. Terms are smooth from where they become possible on,
so that sums over every 2nd, 4th and 8th differ from the whole by even powers of the step (Euler and Maclaurin). Steps
are halved until two extrapolations agree to 1e-11, down to every height.

Accuracy: `slack` has 1e-12 and 1e-16 per voter, relative. It is an estimate that tests against fractions confirm, where
`close_races.py` and `race_planes.py` have a proved remainder.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, log
from typing import Any

import numpy as np
from scipy import fft

from safemargin.core import FloatArray, IntArray, Progress, no_progress
from safemargin.voting.binomial import log_poisson, log_upper_tail
from safemargin.voting.chances import OutcomeDistribution
from safemargin.voting.election import VoterTypes

NEGLIGIBLE = 46.0
"""What is smaller than the largest term by exp of this is omitted: 1e-20 of it."""
TOGETHER = 32
"""Heights that are transformed at once."""
STEPS = 40
"""Of heights, per standard deviation."""
LEVELS = (1, 2, 4, 8)
"""Steps, and multiples of them, whose sums are extrapolated to steps of one."""
AGREE = 1e-11
"""How well the extrapolation from all levels must agree with that from one less, which is much less exact."""
ERROR = 1e-12
"""Relative error of a sum over steps."""
LOST = 1e-16
"""Relative rounding per voter."""


@dataclass
class Race:
    """The counts of all others, and what was already computed about them.

    `shares` are per candidate, `known` the votes that are known; candidates of equal share and known votes give one
    race.
    """

    kinds: VoterTypes
    shares: FloatArray
    known: IntArray
    cache: dict[tuple[object, ...], float] = field(default_factory=dict)

    @property
    def others(self) -> int:
        """Votes that are drawn."""
        return self.kinds.others

    def log_chance(self, winner: int, rival: int | None = None, least: float = -inf) -> float:
        """log of the chance that `winner` wins among the others, and that `rival` is one vote short of winning.

        Not computed, and minus infinity, where it is certainly below `least`.
        """
        rest = [c for c in range(len(self.shares)) if c not in (winner, rival) and self.shares[c] > 0]
        lower = [int(self.known[c] + (c < winner)) for c in rest]  # an earlier candidate wins ties
        away = 0 if rival is None else int(self.known[rival] + (rival < winner))
        pair = (self.shares[winner], None if rival is None else self.shares[rival])
        silent = [c for c in range(len(self.shares)) if self.shares[c] == 0 and c not in (winner, rival)]
        bar = max([0, *(int(self.known[c] + (c < winner)) for c in silent)])
        others = tuple(sorted(zip(self.shares[rest], lower, strict=True)))
        key = (pair, int(self.known[winner]), away, others, bar)  # races that are alike are computed once
        if key not in self.cache:
            log_sum = self._sum(winner, rival, rest, np.array(lower, dtype=np.int64), away, bar, least)
            if log_sum is None:  # too small to matter
                return -inf
            self.cache[key] = log_sum
        return self.cache[key]

    def _sum(
        self, winner: int, rival: int | None, rest: list[int], lower: IntArray, away: int, bar: int, least: float
    ) -> float | None:
        """log of the chance of one race: a sum over the heights at which the winner and the rival can be; None if
        below `least`.

        Poisson logs are turned back into multinomial ones by `constant`; the rest below their caps are one coefficient
        per height (`_log_coefficient`).
        """
        others, known = self.others, int(self.known[winner])
        own = self.shares[winner]
        if own == 0 or (rival is not None and self.shares[rival] == 0):
            return self._silent(winner, rival, rest, lower, away, bar)
        level = own if rival is None else float(np.sqrt(own * self.shares[rival]))
        turn, middle = self._tilt([level] if rival is None else [level, level], rest)
        half = np.sqrt(2 * middle * NEGLIGIBLE) + NEGLIGIBLE + 2
        heights = np.arange(max(int(middle - half), known, away, bar), int(min(middle + half, others + known)) + 1)
        if not len(heights):
            return -inf
        logs = log_poisson(heights - known, others * turn * level)
        # from Poisson back to multinomial: divide by the probability of the total, and undo the tilt
        constant = -others * log(turn) - float(log_poisson(others, others)) - others
        constant += others * turn * float(level * (1 if rival is None else 2) + self.shares[rest].sum())
        left = others - (heights - known)
        if rival is not None:
            logs = logs + log_poisson(heights - away, others * turn * level)
            constant += 0.5 * (away - known) * log(own / self.shares[rival])
            left = left - (heights - away)
        series = [Series.of(others * turn * self.shares[c], heights - low) for c, low in zip(rest, lower, strict=True)]
        logs = np.where(left >= 0, logs + sum((part.log_mass for part in series), np.zeros(len(heights))), -np.inf)
        if not (logs > -inf).any() or float(logs.max()) + constant + log(len(logs)) < least:
            return None
        return _sum_heights(logs, series, left) + constant

    def _tilt(self, tied: list[float], rest: list[int]) -> tuple[float, float]:
        """The factor of all shares with which the race is typically close, and the typical height then.

        Candidates who would be above the leaders are held at their height: the nearest point in divergence is a tie.
        """
        for share in sorted(self.shares[rest], reverse=True):
            if share <= float(np.exp(np.mean(np.log(tied)))):
                break
            tied.append(share)
        mean = float(np.exp(np.mean(np.log(tied))))
        turn = 1 / (len(tied) * mean + sum(share for share in self.shares[rest] if share <= mean))
        return turn, self.others * turn * mean

    def _silent(self, winner: int, rival: int | None, rest: list[int], lower: IntArray, away: int, bar: int) -> float:
        """The same where nobody votes for the winner or the rival: their heights are known."""
        others = self.others
        drawn = [c for c in (winner, rival) if c is not None and self.shares[c] > 0]
        height = int(self.known[winner]) if self.shares[winner] == 0 else away
        logs = -float(log_poisson(others, others))
        left = others
        for c in drawn:
            count = height - int(self.known[winner]) if c == winner else height - away
            logs += float(log_poisson(count, others * self.shares[c]))
            left -= count
        if winner not in drawn and int(self.known[winner]) != height:
            return -inf
        if rival is not None and rival not in drawn and away != height:
            return -inf
        if height < bar or left < 0 or logs == -inf:
            return -inf
        turn = max(left, 1e-9) / max(others * float(self.shares[rest].sum()), 1e-300) if rest else 1.0
        caps = [np.array([height - low]) for low in lower]
        series = [Series.of(others * turn * self.shares[c], cap) for c, cap in zip(rest, caps, strict=True)]
        logs += sum(float(part.log_mass[0]) for part in series) - left * log(turn)
        logs += others * float(self.shares[rest].sum()) * (turn - 1)
        if logs == -inf:
            return -inf
        return logs + float(_log_coefficient(series, np.array([left]))[0])


def _sum_heights(logs: FloatArray, series: list["Series"], left: IntArray) -> float:
    """log of the sum over all heights: `logs` of the leaders times the probability that the rest make up `left`."""
    near = np.flatnonzero(logs > logs.max() - NEGLIGIBLE)
    weights = np.exp(logs[near] - logs.max())
    weights /= weights.sum()
    spread = float(np.sqrt(max(weights @ near**2 - float(weights @ near) ** 2, 0.0)))
    room = np.sum([part.caps for part in series], axis=0) if series else np.zeros_like(left)
    within = np.flatnonzero((left <= room) & (left >= 0))
    start, end = max(near[0], within.min(initial=len(logs))), min(near[-1], within.max(initial=-1))
    if start > end:
        return -inf
    step = max(int(spread / STEPS), 1)
    while True:  # ever finer steps until the extrapolation agrees with a coarser one, down to every height
        rows = np.arange(start, end + 1, step)
        logs_here = logs[rows] + _log_coefficient([part.rows(rows) for part in series], left[rows])
        top = float(logs_here.max(initial=-inf))
        if top == -inf and step == 1:
            return -inf
        terms = np.exp(logs_here - top) if top > -inf else np.zeros(1)
        if step == 1:
            return float(top + log(float(terms.sum())))
        fine, coarse = _extrapolate(terms, step, LEVELS), _extrapolate(terms, step, LEVELS[:-1])
        if abs(fine - coarse) < AGREE * fine:
            return float(top + log(fine))
        step = max(step // 2, 1)


@dataclass(frozen=True, eq=False)
class Series:
    """A Poisson law cut off above `caps`: log weights from `low` on, and log mass below each cap."""

    mean: float
    low: int
    weights: FloatArray
    caps: IntArray
    log_mass: FloatArray

    @classmethod
    def of(cls, mean: float, caps: IntArray) -> "Series":
        """Weights as logs, from where they matter for the lowest cap to where they matter for the highest."""
        lowest, highest = int(max(caps.min(), 0)), int(max(caps.max(), 0))
        reach = np.sqrt(2 * mean * NEGLIGIBLE) + NEGLIGIBLE + 2
        low = max(int(min(float(lowest), mean) - reach), 0)
        high = max(min(highest, int(mean + reach)), low)
        weights = log_poisson(np.arange(low, high + 1), mean)
        below = np.logaddexp.accumulate(weights)
        last = np.clip(caps - low, -1, high - low)
        mass = np.where(last < 0, -np.inf, below[np.maximum(last, 0)])
        return cls(mean, low, weights, caps, mass)

    def rows(self, rows: IntArray) -> "Series":
        """For some of the caps only."""
        return Series(self.mean, self.low, self.weights, self.caps[rows], self.log_mass[rows])

    def spectra(self, rows: range, shifts: IntArray, period: int) -> Any:
        """Fourier transforms of the law below the caps of `rows`, divided by its mass, each shifted back."""
        laws = np.zeros((len(rows), period))
        for row, shift in zip(rows, shifts.tolist(), strict=True):
            size = int(np.clip(self.caps[row] - self.low + 1, 0, len(self.weights)))
            start = (self.low - shift) % period
            law = np.exp(self.weights[:size] - self.log_mass[row])
            before = min(size, period - start)  # what lies beyond the period is wrapped around
            laws[row - rows.start, start : start + before] = law[:before]
            laws[row - rows.start, : size - before] += law[before:]
        return fft.rfft(laws)


def _log_coefficient(series: list[Series], sums: IntArray) -> FloatArray:
    """log of the chance that the series sum to `sums`, each below its cap; one for every row of caps."""
    if not series:
        return np.where(sums == 0, 0.0, -np.inf)
    mass = np.sum([part.log_mass for part in series], axis=0)
    possible = (sums <= np.sum([part.caps for part in series], axis=0)) & (mass > -np.inf)
    if len(series) == 1:
        return np.where(possible, log_poisson(sums, series[0].mean) - mass, -np.inf)
    if len(series) == 2:
        # two Poisson counts with a known sum are binomial
        first, second = series
        size, share = sums.astype(np.float64), first.mean / max(first.mean + second.mean, 1e-300)
        inside = _log_between(size - np.minimum(second.caps, sums), np.minimum(first.caps, sums), size, share)
        with np.errstate(invalid="ignore"):
            return np.where(possible, log_poisson(sums, first.mean + second.mean) + inside - mass, -np.inf)
    spread = sum(part.mean for part in series)
    period = 2 * int(np.sqrt(2 * spread * NEGLIGIBLE) + NEGLIGIBLE * 2 / 3 + 2) + 1
    period = min(period, 2 * (int(sums.max()) + sum(part.low + len(part.weights) for part in series)) + 1)
    period = fft.next_fast_len(max(period, *(len(part.weights) for part in series)), real=True)
    total = np.zeros(len(sums))
    for start in range(0, len(sums), TOGETHER):
        rows = range(start, min(start + TOGETHER, len(sums)))
        product = series[0].spectra(rows, sums[start : rows.stop], period)
        done: dict[tuple[float, int], Any] = {}
        for part in series[1:]:
            key = (part.mean, int(part.caps[0]))
            if key not in done:
                done[key] = part.spectra(rows, np.zeros(len(rows), dtype=np.int64), period)
            product *= done[key]
        total[start : rows.stop] = 2 * product.real.sum(axis=1) - product[:, 0].real
        if period % 2 == 0:
            total[start : rows.stop] -= product[:, -1].real
    with np.errstate(divide="ignore"):
        return np.log(np.where(possible, np.maximum(total / period, 0.0), 0.0))


def _extrapolate(terms: FloatArray, step: int, levels: Sequence[int]) -> float:
    """The sum over all heights, from terms `step` apart.

    From where heights become possible on, terms are smooth but start at a bend. By Euler and Maclaurin, sums with half
    the weight on both ends then are even powers of the step away from each other.
    """
    terms = np.pad(terms, (0, -(len(terms) - 1) % LEVELS[-1]))
    squares = [float((step * level) ** 2) for level in levels]
    ends = float(terms[0] + terms[-1]) / 2
    total = ends
    for level, square in zip(levels, squares, strict=True):
        weight = 1.0
        for other in squares:
            if other != square:
                weight *= (1 - other) / (square - other)
        some = terms[::level]
        total += weight * step * level * (float(some.sum()) - float(some[0] + some[-1]) / 2)
    return total


def _log_between(low: FloatArray, high: FloatArray, size: FloatArray, share: float) -> FloatArray:
    """log of the chance of `low` to `high` among `size`, from whichever tail is shorter."""
    swap = low + high < 2 * size * share
    low, high = np.where(swap, size - high, low), np.where(swap, size - low, high)
    shares = np.where(swap, 1 - share, share)
    start, end = log_upper_tail(low, size, shares), log_upper_tail(high + 1, size, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low <= high, start + np.log1p(-np.exp(np.minimum(end - start, 0.0))), -np.inf)


def count_trails(kinds: VoterTypes, progress: Progress = no_progress, full: bool = True) -> OutcomeDistribution:
    """Chances of all results; without `full`, gaps alone, which is all that epsilon 0 needs."""
    size = kinds.rule.candidates
    shares, known = np.zeros(size), kinds.offset[:size]
    for vote, share in zip(kinds.votes, kinds.weights, strict=True):
        shares[vote[0]] = share
    race = Race(kinds, shares, known)
    tops = [vote[0] for vote in kinds.votes]
    wins = np.full(size, -inf)
    short = np.full((size, size), -inf)
    steps = size + size * size
    order = np.argsort(-shares, kind="stable")
    for done, r in enumerate(order.tolist()):
        progress("computing wins", done, steps)
        wins[r] = race.log_chance(r) if full else 0.0
    best = -inf
    races = [(int(r), x) for r in order for x in tops if x != r]
    races.sort(key=lambda race: -min(shares[race[0]], shares[race[1]]))
    for done, (r, x) in enumerate(races):
        progress("computing close races", size + done, steps)
        least = wins[r] - NEGLIGIBLE if full else best - NEGLIGIBLE
        short[r, x] = race.log_chance(r, x, least)
        best = max(best, short[r, x])
    shift = float(short.max()) if short.max() > -inf else 0.0
    with np.errstate(under="ignore"):
        scaled = np.exp(short - shift)
    gaps = np.zeros((len(tops), len(tops), size))
    for i, x in enumerate(tops):
        for j, y in enumerate(tops):
            if i != j:
                gaps[i, j] = scaled[:, y] - scaled[:, x]
                gaps[i, j, x] = scaled[:, x].sum() + scaled[x, y]
                gaps[i, j, y] = -scaled[:, y].sum() - scaled[y, x]
    logs = np.full((len(tops), size), -inf)
    if full:
        with np.errstate(divide="ignore", invalid="ignore"):
            for i, x in enumerate(tops):
                logs[i] = wins + np.log1p(-np.minimum(np.exp(short[:, x] - wins), 1.0))
                logs[i, x] = np.logaddexp.reduce([wins[x], *short[:, x]])
        logs = np.where(np.isnan(logs), -inf, logs)
    slack = (ERROR + LOST * kinds.others) * float(np.maximum(gaps, 0.0).sum(axis=2).max(initial=0.0))
    return OutcomeDistribution(logs, gaps, shift, slack)
