"""Plurality with any number of candidates and millions of voters: sums over the ends of trails.

A vote for x changes the result exactly where x is one vote short of the winner. So all that is needed is the chance of
that for every winner r and every x: over all heights of the two, the chance that all other candidates stay below and
make up the rest. With independent Poisson counts in place of multinomial ones this is one coefficient of a product of
cut-off series, found by a Fourier sum; the counts are tilted so that the race is typically close.
"""

from dataclasses import dataclass, field
from math import inf, log
from typing import Any

import numpy as np

from safemargin.model.arrays import FloatArray, IntArray
from safemargin.voting.binomial import log_poisson, log_upper_tail
from safemargin.voting.chances import Chances
from safemargin.voting.election import Kinds
from safemargin.voting.lattice import Progress
from safemargin.voting.rules.plurality import Plurality

FAR = 46.0
"""What is smaller than the largest term by exp of this is left out."""
FREQUENCIES = 128
"""Of the Fourier sum, taken together."""
STEEP = 600.0
AGREE = 1e-6
"""How well half the terms must agree with all: the error of a sum over steps then is below its square."""
LOST = 1e-16
"""Relative rounding per voter."""
SMOOTH = 6
"""With fewer others the terms have a bend where heights become possible, and steps must be smaller."""


def fits(kinds: Kinds) -> bool:
    """Whether only first places count, and one candidate gets each vote."""
    return isinstance(kinds.rule, Plurality)


@dataclass
class Race:
    """The counts of all others, and what was already computed about them."""

    kinds: Kinds
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
        lower = [int(self.known[c] + (c < winner)) for c in rest]
        away = 0 if rival is None else int(self.known[rival] + (rival < winner))
        pair = (self.shares[winner], None if rival is None else self.shares[rival])
        key = (pair, int(self.known[winner]), away, tuple(sorted(zip(self.shares[rest], lower, strict=True))))
        silent = [c for c in range(len(self.shares)) if self.shares[c] == 0 and c not in (winner, rival)]
        bar = max([0, *(int(self.known[c] + (c < winner)) for c in silent)])
        if (*key, bar) not in self.cache:
            found = self._sum(winner, rival, rest, np.array(lower, dtype=np.int64), away, bar, least)
            if found is None:  # too small to matter
                return -inf
            self.cache[(*key, bar)] = found
        return self.cache[(*key, bar)]

    def _sum(
        self, winner: int, rival: int | None, rest: list[int], lower: IntArray, away: int, bar: int, least: float
    ) -> float | None:
        others, known = self.others, int(self.known[winner])
        mine = self.shares[winner]
        if mine == 0 or (rival is not None and self.shares[rival] == 0):
            return self._silent(winner, rival, rest, lower, away, bar)
        level = mine if rival is None else float(np.sqrt(mine * self.shares[rival]))
        tied = [level] if rival is None else [level, level]
        for share in sorted(self.shares[rest], reverse=True):
            mean = float(np.exp(np.mean(np.log(tied))))
            if share <= mean:
                break
            tied.append(share)
        mean = float(np.exp(np.mean(np.log(tied))))
        turn = 1 / (len(tied) * mean + sum(share for share in self.shares[rest] if share <= mean))
        middle = others * turn * mean
        half = np.sqrt(2 * middle * FAR) + FAR + 2
        heights = np.arange(max(int(middle - half), known, away, bar), int(min(middle + half, others + known)) + 1)
        if not len(heights):
            return -inf
        own = heights - known
        logs = log_poisson(own, others * turn * level)
        constant = -others * log(turn) - float(log_poisson(others, others)) - others
        constant += others * turn * float(level * (1 if rival is None else 2) + self.shares[rest].sum())
        left = others - own
        if rival is not None:
            theirs = heights - away
            logs = logs + log_poisson(theirs, others * turn * level)
            constant += 0.5 * (away - known) * log(mine / self.shares[rival])
            left = left - theirs
        series = [Series.of(others * turn * self.shares[c], heights - low) for c, low in zip(rest, lower, strict=True)]
        for each in series:
            logs = logs + each.log_mass
        logs = np.where(left >= 0, logs, -np.inf)
        if not (logs > -inf).any() or float(logs.max()) + constant + log(len(logs)) < least:
            return None
        near = np.flatnonzero(logs > logs.max() - FAR)
        held = np.exp(logs[near] - logs.max())
        held /= held.sum()
        spread = float(np.sqrt(max(held @ near**2 - float(held @ near) ** 2, 0.0)))
        step = max(int(spread / 8), 1)
        while True:
            rows = np.arange(near[0], near[-1] + 1, step)
            found = logs[rows] + _log_coefficient([each.at(rows, step) for each in series], left[rows], logs[rows])
            top = float(found.max(initial=-inf))
            if top == -inf and step == 1:
                return -inf
            terms = np.exp(found - top) if top > -inf else np.zeros(1)
            fine, coarse = float(terms.sum()), 2 * float(terms[::2].sum())
            if step == 1 or abs(fine - coarse) < (AGREE if len(rest) > SMOOTH else AGREE**2) * fine:
                return float(top + constant + log(fine * step))
            step = max(step // 2, 1)

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
        series = [
            Series.of(others * turn * self.shares[c], np.array([height - low]))
            for c, low in zip(rest, lower, strict=True)
        ]
        logs += sum(float(each.log_mass[0]) for each in series) - left * log(turn)
        logs += others * float(self.shares[rest].sum()) * (turn - 1)
        if logs == -inf:
            return -inf
        return logs + float(_log_coefficient(series, np.array([left]))[0])


@dataclass(frozen=True, eq=False)
class Series:
    """A Poisson law cut off above `caps`, `step` apart: log weights from `low` on, and log mass below each cap."""

    mean: float
    low: int
    weights: FloatArray
    caps: IntArray
    log_mass: FloatArray
    step: int = 1

    @classmethod
    def of(cls, mean: float, caps: IntArray) -> "Series":
        """Weights as logs, from where they matter for the lowest cap to where they matter for the highest."""
        lowest, highest = int(max(caps.min(), 0)), int(max(caps.max(), 0))
        reach = np.sqrt(2 * mean * FAR) + FAR + 2
        low = max(int(min(float(lowest), mean) - reach), 0)
        high = max(min(highest, int(mean + reach)), low)
        weights = log_poisson(np.arange(low, high + 1), mean)
        below = np.logaddexp.accumulate(weights)
        place = np.clip(caps - low, -1, high - low)
        mass = np.where(place < 0, -np.inf, below[np.maximum(place, 0)])
        return cls(mean, low, weights, caps, mass)

    def at(self, rows: IntArray, step: int) -> "Series":
        """For some of the caps only, `step` apart."""
        return Series(self.mean, self.low, self.weights, self.caps[rows], self.log_mass[rows], step)

    def transform(self, angles: FloatArray) -> Any:
        """The Fourier transform of the law below each cap, divided by its mass: a row per cap.

        Weights between two caps are one row of a matrix; rows are added up with their sum kept at one.
        """
        step, first = self.step, int(self.caps[0])
        if step == 1 and self.weights.max() - self.log_mass.min() < STEEP:
            return self._summed(angles)
        before = max(-(-(first - self.low + 1) // step), 1)
        start = first - before * step + 1
        blocks = before + len(self.caps) - 1
        padded = np.full(blocks * step, -np.inf)
        begin, end = self.low - start, min(self.low - start + len(self.weights), len(padded))
        if end > max(begin, 0):
            padded[max(begin, 0) : end] = self.weights[max(-begin, 0) : end - begin]
        rows = padded.reshape(blocks, step)
        tops = rows.max(axis=1)
        safe = np.where(tops > -np.inf, tops, 0.0)
        within = np.exp(1j * np.outer(np.arange(step), angles))
        parts = (np.exp(rows - safe[:, None]) @ within) * np.exp(
            1j * np.outer(start + step * np.arange(blocks), angles)
        )
        sizes = np.log(np.maximum(np.exp(rows - safe[:, None]).sum(axis=1), 1e-300)) + tops
        mass = np.logaddexp.accumulate(sizes)
        held = np.zeros(len(angles), dtype=np.complex128)
        found = np.zeros((len(self.caps), len(angles)), dtype=np.complex128)
        for block in range(blocks):
            if mass[block] > -np.inf:
                keep = np.exp(mass[block - 1] - mass[block]) if block else 0.0
                held = held * keep + parts[block] * np.exp(safe[block] - mass[block])
            if block >= before - 1:
                found[block - before + 1] = held
        return found

    def _summed(self, angles: FloatArray) -> Any:
        """The same for every cap, where one scale holds all weights."""
        last = int(np.clip(self.caps.max() - self.low, 0, len(self.weights) - 1))
        sums = np.exp(1j * np.outer(np.arange(self.low, self.low + last + 1), angles))
        sums *= np.exp(self.weights[: last + 1] - self.weights.max())[:, None]
        np.cumsum(sums, axis=0, out=sums)
        found = sums[np.clip(self.caps - self.low, 0, last)]
        found *= np.exp(self.weights.max() - self.log_mass)[:, None]
        return found


def _log_coefficient(series: list[Series], sums: IntArray, logs: FloatArray | None = None) -> FloatArray:
    """log of the chance that the series sum to `sums`, each below its cap; one for every row of caps.

    With `logs` of what it is multiplied by, rows are as exact as they matter.
    """
    if not series:
        return np.where(sums == 0, 0.0, -np.inf)
    mass = np.sum([each.log_mass for each in series], axis=0)
    possible = (sums <= np.sum([each.caps for each in series], axis=0)) & (mass > -np.inf)
    if len(series) == 1:
        return np.where(possible, log_poisson(sums, series[0].mean) - mass, -np.inf)
    if len(series) == 2:
        one, two = series
        size, share = sums.astype(np.float64), one.mean / max(one.mean + two.mean, 1e-300)
        inside = _log_between(size - np.minimum(two.caps, sums), np.minimum(one.caps, sums), size, share)
        with np.errstate(invalid="ignore"):
            return np.where(possible, log_poisson(sums, one.mean + two.mean) + inside - mass, -np.inf)
    spread = sum(each.mean for each in series)
    period = 2 * int(np.sqrt(2 * spread * FAR) + FAR * 2 / 3 + 2) + 1
    period = min(period, 2 * (int(sums.max()) + sum(each.low + len(each.weights) for each in series)) + 1)
    total = np.full(len(sums), 1.0)
    quiet = 0
    matter = np.ones(len(sums)) if logs is None else np.exp(logs - logs.max())
    for start in range(1, period // 2 + 1, FREQUENCIES):
        angles = 2 * np.pi * np.arange(start, min(start + FREQUENCIES, period // 2 + 1)) / period
        product = np.exp(-1j * np.outer(sums, angles))
        done: dict[tuple[float, int], Any] = {}
        for each in series:
            key = (each.mean, int(each.caps[0]))
            if key not in done:
                done[key] = each.transform(angles)
            product *= done[key]
        total += 2 * product.real.sum(axis=1)
        quiet = quiet + 1 if (np.abs(product).max(axis=1) * matter).max() < 1e-18 else 0
        if quiet == 2:
            break
    with np.errstate(divide="ignore"):
        return np.log(np.where(possible, np.maximum(total / period, 0.0), 0.0))


def _log_between(low: FloatArray, high: FloatArray, size: FloatArray, share: float) -> FloatArray:
    """log of the chance of `low` to `high` among `size`, from whichever tail is shorter."""
    swap = low + high < 2 * size * share
    low, high = np.where(swap, size - high, low), np.where(swap, size - low, high)
    shares = np.where(swap, 1 - share, share)
    start, end = log_upper_tail(low, size, shares), log_upper_tail(high + 1, size, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low <= high, start + np.log1p(-np.exp(np.minimum(end - start, 0.0))), -np.inf)


def overtaken(kinds: Kinds, progress: Progress, full: bool = True) -> Chances:
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
        progress(done, steps)
        wins[r] = race.log_chance(r) if full else 0.0
    best = -inf
    races = [(int(r), x) for r in order for x in tops if x != r]
    races.sort(key=lambda race: -min(shares[race[0]], shares[race[1]]))
    for done, (r, x) in enumerate(races):
        progress(size + done, steps)
        least = wins[r] - FAR if full else best - FAR
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
    slack = (AGREE**2 + LOST * kinds.others) * float(np.maximum(gaps, 0.0).sum(axis=2).max(initial=0.0))
    return Chances(logs, gaps, shift, slack)
