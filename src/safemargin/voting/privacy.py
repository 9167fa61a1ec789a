"""How private a publication is: one value, as JSON, in words and as a page.

Objects
    delta       the largest gap that one vote makes in the chance of anything published, at an epsilon
    interval    both ends of delta, equal up to rounding where it is `exact`
    pair        the two votes that are distinguished best, and `results` those that the first makes likelier
    curve       delta at further epsilons

Invariants
    * Every sentence states the belief that it holds against (`words`) and `ASSUMPTIONS` go with every page.
    * Where a value is not exact, words and pages use the upper end of the interval.
    * Pure epsilon is None where an engine omits unlikely results: a missing result would make it infinite or too small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor, inf, isfinite, log, log10

import numpy as np

from safemargin import ui
from safemargin.voting.chances import OutcomeDistribution, Worst
from safemargin.voting.election import Election, Ranking, ranking_text
from safemargin.voting.plain_words import one_vote
from safemargin.voting.trails import TrailSum

MAX_SLACK = 1e-6
"""Of delta: with more than this left open by rounding, a value is not called exact."""
ROUNDING = 1e-9
"""Relative error of the histogram formula; the largest in 28,000 values computed independently is 1.9e-10."""
FLOAT_ERROR = 1e-12
"""Relative error of sums of positive floating-point numbers, as engines showed it against fractions."""
SMALLEST_DRAWN = 1e-12
"""Deltas below this are not drawn."""
LABELS_APART = 0.14
"""Of the width: points that are closer share a label."""
CAPTION = "Every marked pair of epsilon and delta holds; the smaller both are, the less one vote shows"
ALIKE = (
    "People vote alike: a vote is also a hint at how others voted, and delta counts that in. An onlooker who knows "
    "some of the votes can infer more."
)
ASSUMPTIONS = (
    "Votes are drawn independently: an onlooker who knows that people vote alike, or who knows some of the votes, can "
    "infer more.",
    "Delta is the largest gap that one vote makes in the chance of anything published, not the chance of a breach.",
    "A vote may still be guessed: a belief that was right before is as right after.",
)
PUBLISHED = {
    "winner": "the winner",
    "histogram": "how many cast each ranking",
    "tops": "how many put each candidate first",
    "scores": "the sums that the rule counts",
    "groups": "how many of every group cast each ranking",
}
"""What may be published."""


@dataclass(frozen=True)
class Stability:
    """`kind` is stable (delta falls exponentially), unstable (like 1 over the root of n) or uncovered.

    `rate` is the exponent per voter; `lemma_exponent` the far smaller one that the proof of Lemma 6 gives; `slope` the
    limit of 1 / (n delta squared), where it is known.
    """

    kind: str
    rate: float
    words: str
    lemma_exponent: float | None = None
    slope: float | None = None
    is_bounded: bool = True
    """Whether it is proved that delta falls at least like 1 over the root of n."""


@dataclass(frozen=True)
class OutcomePrivacy(ui.Result):
    """Delta at an epsilon, how it was computed, and the pair of votes that an observer can best distinguish."""

    publish: str
    voters: int
    epsilon: float
    delta: float
    log_delta: float
    exact: bool
    interval: tuple[float, float]
    engine: str
    pair: tuple[str, str]
    results: tuple[str, ...] = ()
    pure_epsilon: float | None = None
    curve: tuple[tuple[float, float], ...] = ()
    fraction: Fraction | None = None
    notes: tuple[str, ...] = ()
    belief: str = ""
    dependent: bool = False
    """Whether the belief is that people vote alike."""
    waves: int = 1
    """How many waves are published together, with votes that are independent between them."""
    names: tuple[str, ...] = field(default=(), repr=False)
    rule: str = ""
    winner: str | None = None
    """Who won, where the votes are given."""
    stability: Stability | None = None
    wanted: tuple[float, int, float] | None = None
    """A delta, the smallest electorate for it, and the least epsilon with these voters."""
    simulator: float | None = None
    """The least delta of a simulator that does not see the vote (Definition 8)."""
    theorem_1: float | None = None
    """The delta that Theorem 1 proves for all counts, above the exact one."""
    trails: TrailSum | None = None
    """The trails of the pair, and what each adds to delta (Lemma 1)."""
    chances: OutcomeDistribution | None = field(default=None, repr=False, compare=False)
    votes: tuple[str, ...] = field(default=(), repr=False)
    outcomes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def likely(self) -> dict[str, dict[str, float]]:
        """How likely every winner is, by vote of the person; computed with a curve or an epsilon above 0."""
        rows = [] if self.chances is None else np.exp(self.chances.log_likely).tolist()
        return {vote: dict(zip(self.outcomes, row, strict=True)) for vote, row in zip(self.votes, rows, strict=False)}

    @property
    def words(self) -> str:
        """The value in two sentences; where it was drawn or searched for, with the upper end of its interval."""
        delta = three_digits(self.delta) if self.exact else f"at most {three_digits(self.interval[1])}"
        return (
            f"Publishing {PUBLISHED[self.publish]}{self._in_waves} exactly is "
            f"({self.epsilon:g}, {delta})-private against an onlooker who believes that {self.belief}. "
            f"{self._pair_words()}"
        )

    @property
    def _in_waves(self) -> str:
        return f", and who won, in {self.waves} waves" if self.waves > 1 else ""

    def _pair_words(self) -> str:
        """Who is most exposed, in one sentence; that no vote makes a difference where delta is 0 for certain."""
        first, second = self.pair
        if self.log_delta == -inf:
            return "No vote makes a difference."
        effect = f"makes {' or '.join(self.results)} likelier" if self.results else "shows best"
        return f"Somebody who votes {first} rather than {second} is most exposed: it {effect}."

    def to_json(self) -> ui.Document:
        """The document that `outcome --json` prints."""
        document: ui.Document = {
            "schema": ui.SCHEMA,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "exact": self.exact,
            "interval": list(self.interval),
            "engine": self.engine,
            "worst_pair": list(self.pair),
            "results": list(self.results),
            "log10_delta": self.log_delta / log(10) if isfinite(self.log_delta) else None,
            "publish": self.publish,
            "rule": self.rule,
            "candidates": list(self.names),
            "voters": self.voters,
            "belief": self.belief,
            "notes": list(self.notes),
            "words": self.words,
        }
        if self.waves > 1:
            document["waves"] = self.waves
        if self.fraction is not None:
            document["fraction"] = str(self.fraction)
        if self.simulator is not None:
            document["simulator_delta"] = self.simulator
        if self.theorem_1 is not None:
            document["theorem_1"] = self.theorem_1
        if self.trails is not None:
            document["trails"] = self.trails.to_json()
        if self.curve:
            document["curve"] = [list(point) for point in self.curve]
            document["pure_epsilon"] = _finite(self.pure_epsilon)
            document["pure_epsilon_exists"] = None if self.pure_epsilon is None else isfinite(self.pure_epsilon)
        if self.stability is not None:
            shown = {"kind": self.stability.kind, "rate": _finite(self.stability.rate), "words": self.stability.words}
            more = {"lemma6_exponent": self.stability.lemma_exponent, "slope": self.stability.slope}
            document["class"] = {**shown, **{key: value for key, value in more.items() if value is not None}}
        if self.wanted is not None:
            document["wanted_delta"], document["smallest_electorate"], least = self.wanted
            document["least_epsilon"] = _finite(least)
        if self.winner is not None:
            document["winner"] = self.winner
        return document

    def to_report(self) -> ui.Report:
        """Delta in words and numbers; a page with the trade-off, if the curve was computed."""
        (low, high), digits = self.interval, self.log_delta / log(10)
        runs = " in 95 of 100 runs" if self.engine == "Monte Carlo" else ""
        rows = [(f"{epsilon:g}", three_digits(delta)) for epsilon, delta in self.curve]
        return ui.Report(
            f"How private is the outcome? {self.rule}, {self.voters:,} voters",
            ui.Paragraph(one_vote(self.epsilon, self.delta if self.exact else self.interval[1]), "strong"),
            self.words,
            ui.Paragraph(f"delta {self.delta:.10g} at epsilon {self.epsilon:g} ({self.engine})", "strong"),
            None if self.exact else ui.Paragraph(f"Not exact: delta lies in [{low:.4g}, {high:.4g}]{runs}.", "warning"),
            f"log10 of delta is {digits:.6g}." if self.delta == 0 and isfinite(digits) else "",
            "" if self.winner is None else f"Winner: {self.winner}.",
            "" if self.fraction is None else f"As a fraction: {self.fraction}.",
            "" if self.simulator is None else f"By the simulator definition: delta {self.simulator:.10g}.",
            "" if self.theorem_1 is None else f"Theorem 1 alone proves delta {three_digits(self.theorem_1)}.",
            *(() if self.trails is None else self.trails.blocks()),
            *self._growth(),
            ui.Chart(lambda: curve_chart(self.curve), CAPTION, fits=True) if rows else None,
            ui.Grid(("epsilon", "delta"), rows),
            self._without_delta if rows else "",
            *(ui.Paragraph(f"Note: {note}.", "quiet") for note in self.notes),
            ui.OnPage(ui.Section("Assumptions", ui.Points([*self.assumptions, f"Engine: {self.engine}."]))),
        )

    @property
    def _without_delta(self) -> str:
        """The least epsilon with delta 0, or that there is none; nothing where an engine omits unlikely results."""
        if self.pure_epsilon is None:
            return ""
        pure = _finite(self.pure_epsilon)
        if pure is None:
            return "With delta 0: no epsilon; some result is possible with one vote and impossible with another."
        return f"With delta 0: epsilon {pure:.6g}."

    def _growth(self) -> list[str]:
        """What becomes of delta as the electorate grows."""
        lines = []
        if self.stability is not None:
            lines.append(f"As the electorate grows: {self.stability.words} ({self.stability.kind}).")
            if self.stability.slope is not None:
                lines.append(f"In the limit: delta is {self.stability.slope**-0.5:.4g} / sqrt(voters).")
        if self.wanted is not None:
            delta, voters, epsilon = self.wanted
            lines.append(f"Smallest electorate with delta {delta:g}: {voters:,}.")
            if isfinite(epsilon):
                lines.append(f"With {self.voters:,} voters, delta {delta:g} needs epsilon {epsilon:.6g}.")
        return lines

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the statement rests on."""
        return (ALIKE, *ASSUMPTIONS[1:]) if self.dependent else ASSUMPTIONS


def _finite(value: float | None) -> float | None:
    """The value for a document: JSON has no infinity, so there is none."""
    return value if value is not None and isfinite(value) else None


def privacy_of(
    election: Election,
    publish: str,
    epsilons: Sequence[float],
    worst: Sequence[Worst],
    engine: str,
    votes: Sequence[Ranking],
    slack: float,
) -> OutcomePrivacy:
    """The value at the first of some epsilons, with the others as its curve; delta may be off by `slack`.

    `votes` are the kinds to which the pair of `worst` refers. `slack` is absolute: callers multiply relative errors.
    """
    names, first = election.candidates, worst[0]
    return OutcomePrivacy(
        publish,
        election.voters,
        epsilons[0],
        first.delta,
        first.log_delta,
        exact=slack <= MAX_SLACK * first.delta,
        interval=(max(first.delta - slack, 0.0), min(first.delta + slack, 1.0)),
        engine=engine,
        pair=(ranking_text(votes[first.pair[0]], names), ranking_text(votes[first.pair[1]], names)),
        results=tuple(election.rule.outcome_name(result, names) for result in first.results),
        curve=tuple((epsilon, other.delta) for epsilon, other in list(zip(epsilons, worst, strict=True))[1:]),
    )


def counts_privacy(
    election: Election, publish: str, epsilons: Sequence[float], worst: Sequence[Worst], votes: Sequence[Ranking]
) -> OutcomePrivacy:
    """Of publishing how many cast each vote; pure epsilon is infinite, as a vote that nobody else cast shows."""
    slack = ROUNDING * worst[0].delta
    privacy = privacy_of(election, publish, epsilons, worst, "histogram formula", votes, slack)
    return replace(privacy, pure_epsilon=inf)  # a vote that nobody else cast shows


def winner_privacy(
    election: Election, epsilons: Sequence[float], chances: OutcomeDistribution, votes: Sequence[Ranking], engine: str
) -> OutcomePrivacy:
    """Of publishing who won, from how likely each result is."""
    worst = [chances.worst(epsilon) for epsilon in epsilons]
    slack = chances.rounding + FLOAT_ERROR * worst[0].delta
    return replace(
        privacy_of(election, "winner", epsilons, worst, engine, votes, slack),
        pure_epsilon=chances.pure_epsilon,
        chances=chances,
        votes=tuple(ranking_text(vote, election.candidates) for vote in votes),
        outcomes=tuple(election.rule.outcome_name(r, election.candidates) for r in range(election.rule.outcomes)),
    )


def worst_of(values: Sequence[OutcomePrivacy]) -> OutcomePrivacy:
    """The guarantee against whoever holds any of several beliefs: the largest delta, at every epsilon.

    The pair is that of the worst belief at the first epsilon. It is exact only if every part of it is, and the interval
    ends where the largest upper end does.
    """
    worst = max(values, key=lambda value: (value.delta, value.log_delta))
    pure = [value.pure_epsilon for value in values]
    proved = [value.theorem_1 for value in values if value.theorem_1 is not None]
    several = zip(*(value.curve for value in values), strict=False)  # none if a belief has none
    curve = tuple(max(points, key=lambda point: point[1]) for points in several)
    return replace(
        worst,
        interval=(worst.interval[0], max(value.interval[1] for value in values)),
        exact=all(value.exact for value in values),
        curve=curve,
        theorem_1=max(proved) if len(proved) == len(values) else None,
        pure_epsilon=None if None in pure else max(epsilon for epsilon in pure if epsilon is not None),
    )


def three_digits(value: float) -> str:
    """A probability with three digits.

    >>> three_digits(0.122463), three_digits(2.5e-9), three_digits(0)
    ('0.122', '2.5e-09', '0')
    """
    return f"{value:.3g}"


def curve_chart(curve: Sequence[tuple[float, float]]) -> ui.Spec:
    """Delta against epsilon, up to where it is negligible; on a logarithmic scale if it falls far."""
    kept = [(epsilon, delta) for epsilon, delta in curve if delta > SMALLEST_DRAWN]
    ended = [point for point in curve if point[1] <= SMALLEST_DRAWN][:1]
    falls_far = len(kept) > 1 and kept[-1][1] < kept[0][1] / 100
    if not falls_far:
        kept += [(epsilon, 0.0) for epsilon, _ in ended]
    span = max(max((epsilon for epsilon, _ in kept), default=1.0), 1e-12)
    values: list[ui.Spec] = []
    labelled = -span
    for epsilon, delta in kept:
        apart = epsilon - labelled >= LABELS_APART * span
        labelled = epsilon if apart else labelled
        values.append({"epsilon": epsilon, "delta": delta, "words": three_digits(delta) if apart else ""})
    x = {"field": "epsilon", "type": "quantitative", "axis": {"title": "epsilon", "grid": True, "tickCount": 5}}
    axis: ui.Spec = {"title": "delta", "grid": True, "tickCount": 5}
    scale: ui.Spec = {"nice": True, "zero": True}
    if falls_far:
        scale = {"type": "log", "domain": [10.0 ** floor(log10(kept[-1][1])), 1], "nice": False}
        axis["format"] = "~e"
    y = {"field": "delta", "type": "quantitative", "scale": scale, "axis": axis}
    return {
        "data": {"values": values},
        "width": ui.STACK_WIDTH - 120,
        "height": 220,
        "layer": [
            {"mark": {"type": "line", "color": "#0072b2"}, "encoding": {"x": x, "y": y}},
            {"mark": {"type": "point", "filled": True, "size": 50, "color": "#0072b2"}, "encoding": {"x": x, "y": y}},
            {"mark": {**ui.TEXT_MARK, "dy": -8}, "encoding": {"x": x, "y": y, "text": {"field": "words"}}},
        ],
    }
