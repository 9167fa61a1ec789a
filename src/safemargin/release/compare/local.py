"""Local differential privacy: everybody randomises their own answer before the office sees it (randomised response).

Objects: `k` answers, those of the schema and, unless these cover everybody, "none of them". A person answers truthfully
with the chance `p - q`, and otherwise with any of the `k` answers alike; so the own answer is reported with the chance
`p` and any other with `q` (Warner 1965; Kairouz, Bonawitz and Ramage 2016):

    p / q = exp(epsilon),    p + (k - 1) q = 1.

Theorem: one report changes the odds of what anybody sees of it by at most `exp(epsilon)`, also for the office. All
tables are counted from the same reports, so that epsilon is not split over them. Groups are those of the roll, which no
answer changes.

Invariant: of `n` people, `c` of whom gave an answer, `Y` report it, the sum of `Bin(c, p)` and `Bin(n - c, q)`. So
`(Y - n q) / (p - q)` is an estimate without bias, with the variance `(c p (1 - p) + (n - c) q (1 - q)) / (p - q)^2`,
which is at least `n q (1 - q) / (p - q)^2`: of all people, where the office adds noise once. The interval of a count
holds all `c` for which neither tail of the law of `Y` is below 2.5 %: the true one in at least 95 % of runs.

Example: two answers and epsilon ln 3, so that `p` is 3/4.

>>> response = Response.of(2, math.log(3))
>>> round(response.own, 9), round(response.other, 9), response.estimate(np.array([60]), np.array([100])).tolist()
(0.75, 0.25, [70])
>>> response.interval(70, 100)
(53, 88)
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from safemargin.core import (
    Change,
    Distance,
    FloatArray,
    Generator,
    Guarantee,
    IntArray,
    Publication,
    Table,
    Tally,
    frozen,
    numpy_generator,
    row_keys,
)
from safemargin.release.compare.methods import Case, PublishingMethod, Tables, noised
from safemargin.release.rule.split import covers_everybody

LARGEST = 4_000_000
"""Chances that are computed at once."""
TAIL = 0.025
"""Of each side: intervals hold in at least 95 of 100 runs."""
SPREAD = 12.0
"""Standard deviations, and as many counts more, within which the law of a binomial is written out."""


@dataclass(frozen=True)
class Response:
    """Randomised response with the chance `own` of the own answer and `other` of any single other one."""

    own: float
    other: float

    @classmethod
    def of(cls, answers: int, epsilon: float) -> "Response":
        """With so many answers to choose from; the odds of two of them differ by exp(epsilon)."""
        odds = math.exp(-epsilon)  # of another answer, so that no large epsilon overflows
        own = 1 / (1 + (answers - 1) * odds)
        return cls(own, own * odds)

    @property
    def truthful(self) -> float:
        """The chance that an answer is passed on; otherwise any is reported alike."""
        return self.own - self.other

    def reported(self, answers: IntArray, generator: Generator) -> IntArray:
        """Reports by answer (columns) of groups of people (rows) with these answers."""
        kept = generator.binomial(answers, self.truthful)
        anything = (answers - kept).sum(axis=1)
        return np.asarray(kept + generator.multinomial(anything, [1 / answers.shape[1]] * answers.shape[1]))

    def estimate(self, reports: IntArray, people: IntArray) -> IntArray:
        """The estimated counts, rounded. They are at least one apart, so that reports follow from them."""
        return np.asarray(np.rint((reports - people * self.other) / self.truthful).astype(np.int64))

    def reports(self, estimate: int, people: int) -> int:
        """The number of reports that an estimate was made of."""
        return round(estimate * self.truthful + people * self.other)

    def chance(self, count: int, people: int, reports: int) -> tuple[float, float]:
        """The chances of at most, and of at least, so many reports, if `count` of the people gave the answer."""
        start, law = self._law(count, people)
        at = reports - start
        return float(law[: max(at + 1, 0)].sum()), float(law[max(at, 0) :].sum())

    def likelihood(self, counts: IntArray, people: int, reports: int) -> FloatArray:
        """The chance of so many reports, by true counts; 0 for counts that are many standard deviations away."""
        middle = (reports - people * self.other) / self.truthful
        reach = (
            SPREAD * math.sqrt(people * max(self.own * (1 - self.own), self.other * (1 - self.other))) + SPREAD
        ) / (self.truthful)
        near = np.flatnonzero((counts > middle - reach) & (counts < middle + reach))
        found = np.zeros(len(counts))
        logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, people + 1)))])  # of factorials
        for some in np.array_split(near, len(near) * (people + 1) // LARGEST + 1):
            if not len(some):
                continue
            true = counts[some][:, None]
            low = math.floor(self.own * true.min() - reach * self.truthful)
            high = math.ceil(self.own * true.max() + reach * self.truthful)
            kept = np.arange(max(low, 0), min(high, reports) + 1)[None, :]
            possible = (kept <= true) & (reports - kept <= people - true)
            own, rest = np.minimum(kept, true), np.minimum(reports - kept, people - true)
            size = logs[true] - logs[own] - logs[true - own] + logs[people - true] - logs[rest]
            size = size - logs[people - true - rest] + own * math.log(self.own) + rest * math.log(self.other)
            size = size + (true - own) * math.log(1 - self.own) + (people - true - rest) * math.log1p(-self.other)
            found[some] = np.where(possible, np.exp(size), 0.0).sum(axis=1)
        return found

    def interval(self, estimate: int, people: int) -> tuple[int, int]:
        """All counts that an estimate does not refute: each tail, monotone in the count, is at least 2.5 %."""
        reports = self.reports(estimate, people)
        low = _first(0, people, lambda count: self.chance(count, people, reports)[1] >= TAIL)
        high = _first(0, people, lambda count: self.chance(people - count, people, reports)[0] >= TAIL)
        return low, people - high

    def _law(self, count: int, people: int) -> tuple[int, FloatArray]:
        """The law of the reports: from which number on, and the chance of each."""
        first, one = _binomial(count, self.own)
        second, other = _binomial(people - count, self.other)
        return first + second, np.convolve(one, other)


def _binomial(trials: int, share: float) -> tuple[int, FloatArray]:
    """The law of a binomial where it is not negligible."""
    from scipy.stats import binom  # slow to import, and only this needs it

    reach = SPREAD * math.sqrt(trials * share * (1 - share)) + SPREAD
    low, high = max(math.floor(trials * share - reach), 0), min(math.ceil(trials * share + reach), trials)
    return low, np.asarray(binom.pmf(np.arange(low, high + 1), trials, share), dtype=np.float64)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least number for which something holds that holds from there on; `high` if none below does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def local_dp(case: Case) -> list[PublishingMethod]:
    """One method per epsilon."""
    return [_with(case, epsilon) for epsilon in case.epsilons]


def _with(case: Case, epsilon: float) -> PublishingMethod:
    options = len(case.table.schema.options)
    answers = options + (not covers_everybody(case.table))
    response = Response.of(answers, epsilon)
    statement = f"whatever somebody answered changes the odds of their report by at most e^{epsilon:g}"

    def likelihood(counts: IntArray, printed: int, people: int) -> FloatArray:
        return response.likelihood(counts, people, response.reports(printed, people))

    return PublishingMethod(
        name=f"local DP, epsilon {epsilon:g}",
        family="local DP",
        does=f"everybody reports their own answer with probability {response.own:.3g}, and otherwise another one; "
        "counts are estimated from the reports",
        draw=partial(_draw, case, response),
        known=lambda tables, onlooker: Publication(tables, case.target),
        is_random=True,
        loss=epsilon,
        law=likelihood,
        one_count=answers == 2,
        interval=response.interval,
        guarantee=statement,
        guarantees=(
            Guarantee(f"local DP, epsilon {epsilon:g}", statement, epsilon, change=Change(Distance.HAMMING, "person")),
        ),
        auxiliary=f"whatever else somebody knows, the office too, an answer changes odds by at most e^{epsilon:g}",
    )


def _draw(case: Case, response: Response, draws: int) -> Iterator[Tables]:
    answered = all_answers(case.table)
    generator = numpy_generator(None)
    for _ in range(draws):
        votes = tuple(
            Tally(each.axes, each.codes, frozen(response.reported(each.counts, generator), each.counts.shape[1]))
            for each in answered
        )
        reports = Table(case.table.schema, votes, case.table.roll)
        yield tuple(noised(table, _estimates(reports, table.axes, response)) for table in case.exact)


def _estimates(reports: Table, axes: tuple[str, ...], response: Response) -> IntArray:
    """The estimates of one table, in the order of its rows: every category, and every option in it."""
    margin = reports.margin(axes)
    rows = len(reports.schema.axis(axes[0]).categories) if axes else 1
    every = np.zeros((rows, margin.counts.shape[1]), dtype=np.int64)
    every[margin.codes[:, 0] if axes else slice(None)] = margin.counts
    estimates = response.estimate(every, every.sum(axis=1, keepdims=True))
    return frozen(estimates[:, : len(reports.schema.options)].ravel())


def all_answers(table: Table) -> list[Tally]:
    """The tallies of the votes, with how many people gave none of the answers as a last column where some did.

    Sealed elections are randomised one by one: every count has the law that it has with one report per person.
    """
    if covers_everybody(table):
        return list(table.votes)
    found = []
    for tally in table.votes:
        roll = table.people(tally.axes)
        sizes = [len(table.schema.axis(name).categories) for name in tally.axes]
        places = {key: row for row, key in enumerate(row_keys(roll.codes, sizes).tolist())}
        votes = np.zeros((len(roll.codes), tally.counts.shape[1]), dtype=np.int64)
        for key, counts in zip(row_keys(tally.codes, sizes).tolist(), tally.counts, strict=True):
            votes[places[key]] += counts
        silent = np.maximum(roll.counts[:, :1] - votes.sum(axis=1, keepdims=True), 0)
        counts = np.concatenate([votes, silent], axis=1)
        found.append(Tally(tally.axes, roll.codes, frozen(counts, counts.shape[1])))
    return found
