"""The question of this part: what does publishing a result exactly tell about one vote? Engines are chosen here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, log

import numpy as np

from safemargin.core import InputError, Progress, TooLargeError, no_progress
from safemargin.voting import closed, pluralities, transfers
from safemargin.voting.ballots import ranking_text
from safemargin.voting.chances import Chances, Worst
from safemargin.voting.counts import counts_fraction, counts_worst
from safemargin.voting.election import Election, Kinds
from safemargin.voting.enumeration import enumerated, ways
from safemargin.voting.lattice import VoteGrid, convolved, grid_of, transformed
from safemargin.voting.rational import exact_delta, is_small
from safemargin.voting.sampling import DRAWS, MOST_VOTES, sampled
from safemargin.voting.sums import sums_worst

PUBLISHED = ("winner", "histogram", "tops", "scores")
"""What may be published: who won; how many cast each ranking; first places; the sums that the rule counts."""

CURVE = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)

MOST_STEPS = 3e8
MOST_WAYS = 4e6
MOST_CELLS = 4e7
MOST_TRANSFERS = 6_000
MOST_DIMENSIONS = 3
MOST_KINDS = 130
MOST_EPSILON = 64.0
LARGEST_EPSILON = 300.0
MOST_SLACK = 1e-6
"""Of delta: with more than this left open by rounding, an answer is not called exact."""


@dataclass(frozen=True)
class Answer:
    """How private a publication is: delta at an epsilon, how it was found, and which votes are told apart best."""

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
    names: tuple[str, ...] = field(default=(), repr=False)


def private(
    election: Election,
    publish: str = "winner",
    epsilon: float = 0.0,
    *,
    curve: Sequence[float] = (),
    engine: str | None = None,
    rational: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Answer:
    """How private publishing the result of an election is, against somebody who believes what it says."""
    if not 0 <= epsilon <= LARGEST_EPSILON:
        raise InputError(f"epsilon = {epsilon}: must be at least 0, and at most {LARGEST_EPSILON:g}")
    if publish not in PUBLISHED:
        raise InputError(f"publish = {publish!r}: must be one of {', '.join(PUBLISHED)}")
    if engine is not None and engine not in ENGINES:
        raise InputError(f"engine = {engine!r}: must be one of {', '.join(ENGINES)}")
    if publish == "winner":
        answer = _winner(election, epsilon, curve, engine, draws, seed, progress)
    elif publish == "scores":
        answer = _scores(election, epsilon, curve)
    else:
        answer = _counts(election, publish, epsilon, curve)
    if rational:
        answer = replace(answer, fraction=_fraction(election, publish, epsilon))
    return replace(answer, belief=election.belief.words, names=election.candidates)


def worst_of(answers: Sequence[Answer]) -> Answer:
    """The guarantee against whoever holds any of several beliefs: the largest delta."""
    worst = max(answers, key=lambda answer: (answer.delta, answer.log_delta))
    high = max(answer.interval[1] for answer in answers)
    return replace(worst, interval=(worst.interval[0], high), exact=all(answer.exact for answer in answers))


def _answer(
    election: Election, publish: str, epsilon: float, worst: Worst, engine: str, votes: Sequence[tuple[int, ...]]
) -> Answer:
    names = election.candidates
    pair = (ranking_text(votes[worst.pair[0]], names), ranking_text(votes[worst.pair[1]], names))
    results = tuple(election.rule.outcome_name(result, names) for result in worst.results)
    return Answer(
        publish,
        election.voters,
        epsilon,
        worst.delta,
        worst.log_delta,
        True,
        (worst.delta, worst.delta),
        engine,
        pair,
        results,
    )


def _counts(election: Election, publish: str, epsilon: float, curve: Sequence[float]) -> Answer:
    """Counts of rankings, or of favourites."""
    votes, shares = _ballots(election, publish)
    voters = election.others + 1
    if len(shares) < 2:
        raise InputError("belief: all votes count alike in what is published; nothing can be learnt")
    numbers = [float(share) for share in shares]
    worst = counts_worst(voters, numbers, epsilon)
    answer = _answer(election, publish, epsilon, worst, "histogram formula", votes)
    points = tuple((each, counts_worst(voters, numbers, each).delta) for each in curve)
    return replace(answer, curve=points, pure_epsilon=inf)


def _ballots(election: Election, publish: str) -> tuple[list[tuple[int, ...]], list[Fraction]]:
    belief, rule = election.belief, election.rule
    if publish == "tops":
        merged: dict[tuple[int, ...], Fraction] = {}
        for vote, share in zip(belief.votes, belief.shares, strict=True):
            merged[vote[:1]] = merged.get(vote[:1], Fraction(0)) + share
        return list(merged), list(merged.values())
    if belief.behind > 1:  # of which two are as rare as any
        least = min(belief.shares) / belief.behind
        order = tuple(range(rule.candidates))
        return [order, (*order[:-2], order[-1], order[-2])], [least, least]
    return list(belief.votes), list(belief.shares)


def _scores(election: Election, epsilon: float, curve: Sequence[float]) -> Answer:
    kinds = election.kinds
    grid = grid_of(kinds)
    if grid.cells(kinds.others) * kinds.others * len(kinds) > MOST_STEPS:
        raise InputError(
            f"publish = 'scores': {election.voters:,} voters have too many sums; publish winner or histogram"
        )
    law = sums_worst(kinds, grid, (epsilon, *curve))
    answer = _answer(election, "scores", epsilon, law[0], "convolution", kinds.votes)
    return replace(answer, curve=tuple((each, found.delta) for each, found in zip(curve, law[1:], strict=True)))


def chances_of(election: Election, progress: Progress = no_progress) -> Chances:
    """Chances of every winner for every vote, by the first engine that computes them."""
    kinds = election.kinds
    grid = _grid(kinds)
    for engine in ENGINES.values():
        if engine.run is not None and engine.refusal(kinds, grid) is None:
            return engine.run(kinds, grid, progress, True)
    raise TooLargeError(f"voters = {election.voters:,}: too many for every engine that computes chances")


def _grid(kinds: Kinds) -> VoteGrid:
    """The grid of sums; where there are very many, one point per kind of vote, too large for every engine."""
    if max(kinds.adds.shape) <= MOST_KINDS:
        return grid_of(kinds)
    ones = np.eye(len(kinds), dtype=np.int64)
    return VoteGrid(ones, kinds.adds[0], kinds.adds, 1)


def least_epsilon(election: Election, publish: str, target: float) -> float:
    """The least epsilon with delta at most `target`, to six digits and rounded up; infinite if there is none."""
    if not 0 < target < 1:
        raise InputError(f"delta = {target:g}: must lie between 0 and 1")
    if publish == "winner":
        chances = chances_of(election)
        return _bisected(lambda epsilon: chances.worst(epsilon).delta <= target)
    return _bisected(lambda epsilon: private(election, publish, epsilon).delta <= target)


def _bisected(is_met: Callable[[float], bool]) -> float:
    if is_met(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not is_met(high):
        low, high = high, 2 * high
        if high > MOST_EPSILON:
            return inf
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_met(middle) else (middle, high)
    return high


def _winner(
    election: Election,
    epsilon: float,
    curve: Sequence[float],
    asked: str | None,
    draws: int,
    seed: int,
    progress: Progress,
) -> Answer:
    kinds = election.kinds
    if len(kinds) < 2:
        answer = _answer(election, "winner", epsilon, Worst(0.0, -inf, (0, 0), ()), "closed form", kinds.votes)
        return replace(answer, curve=tuple((each, 0.0) for each in curve), pure_epsilon=0.0)
    grid = _grid(kinds)
    full = epsilon > 0 or bool(curve)
    notes: list[str] = []
    order = [asked, *(name for name in ENGINES if name != asked)] if asked else list(ENGINES)
    for name in order:
        reason = ENGINES[name].refusal(kinds, grid)
        if reason is None:
            break
        if reason and (asked is None or name == asked):
            notes.append(f"{name}: {reason}")
    run = ENGINES[name].run
    if run is None:
        found = sampled(kinds, epsilon, draws, seed, progress)
        worst = Worst(found.delta, log(found.delta) if found.delta else -inf, found.pair, found.results)
        answer = _answer(election, "winner", epsilon, worst, name, kinds.votes)
        # Who wins follows from how many votes of each kind there are, so it tells no more than those counts.
        counted = counts_worst(kinds.others + 1, kinds.weights.tolist(), epsilon).delta
        if not found.all_votes:
            notes.append(
                f"the worst pair was looked for in {MOST_VOTES} likely votes of {len(kinds):,}; "
                "delta is a lower bound, and the upper end that of publishing all counts"
            )
        interval = found.low, max(min(found.high, counted), found.low)
        return replace(answer, exact=False, interval=interval, notes=tuple(notes))
    chances = run(kinds, grid, progress, full)
    answer = _answer(election, "winner", epsilon, chances.worst(epsilon), name, kinds.votes)
    slack = chances.rounding + 1e-12 * answer.delta
    if slack > MOST_SLACK * answer.delta:
        notes.append("rounding leaves some of the digits open; see the interval")
    interval = (max(answer.delta - slack, 0.0), min(answer.delta + slack, 1.0))
    told = tuple(notes) if asked or name in ("FFT", "enumeration") or slack > MOST_SLACK * answer.delta else ()
    points = tuple((each, chances.worst(each).delta) for each in curve)
    pure = chances.pure_epsilon if full and name != "FFT" else None
    exact = slack <= MOST_SLACK * answer.delta
    return replace(answer, exact=exact, interval=interval, notes=told, curve=points, pure_epsilon=pure)


@dataclass(frozen=True)
class Engine:
    """A way to compute chances. `refusal` says why it cannot: empty if it is for other rules, none if it can."""

    refusal: Callable[[Kinds, VoteGrid], str | None]
    run: Callable[[Kinds, VoteGrid, Progress, bool], Chances] | None


def _no_closed(kinds: Kinds, grid: VoteGrid) -> str | None:
    return None if closed.fits(kinds) else ""


def _no_transfers(kinds: Kinds, grid: VoteGrid) -> str | None:
    if not transfers.fits(kinds):
        return ""
    return None if kinds.others <= MOST_TRANSFERS else f"more than {MOST_TRANSFERS:,} voters"


def _no_convolution(kinds: Kinds, grid: VoteGrid) -> str | None:
    steps = grid.cells(kinds.others) * max(kinds.others, 1) * len(kinds)
    return None if steps <= MOST_STEPS else f"{_about(steps)} steps are too many"


def _no_trails(kinds: Kinds, grid: VoteGrid) -> str | None:
    return None if pluralities.fits(kinds) else ""


def _no_transform(kinds: Kinds, grid: VoteGrid) -> str | None:
    if grid.dimensions > MOST_DIMENSIONS:
        return f"a grid of {grid.dimensions} dimensions is too large"
    steps = grid.steps
    spread = kinds.others * (kinds.weights @ (steps - kinds.weights @ steps) ** 2)
    cells = float(((2 * (92 * spread) ** 0.5 + 62) * 1.0).prod())
    return None if cells <= MOST_CELLS else f"{cells:.2g} cells are too many"


def _about(count: int) -> str:
    """A large number in two digits, however large."""
    return f"{count:.2g}" if count < 10**300 else f"1e{int(count.bit_length() * 0.30103)}"


def _no_enumeration(kinds: Kinds, grid: VoteGrid) -> str | None:
    count = ways(kinds.others, len(kinds))
    return None if count * len(kinds) <= MOST_WAYS * 6 else f"{_about(count)} ways to vote are too many"


ENGINES = {
    "closed form": Engine(_no_closed, lambda kinds, grid, progress, full: closed.closed(kinds)),
    "dynamic programming": Engine(
        _no_transfers, lambda kinds, grid, progress, full: transfers.transferred(kinds, progress)
    ),
    "convolution": Engine(_no_convolution, lambda kinds, grid, progress, full: convolved(kinds, grid, progress)),
    "trails": Engine(_no_trails, lambda kinds, grid, progress, full: pluralities.overtaken(kinds, progress, full)),
    "FFT": Engine(_no_transform, lambda kinds, grid, progress, full: transformed(kinds, grid, progress)),
    "enumeration": Engine(_no_enumeration, lambda kinds, grid, progress, full: enumerated(kinds, progress)),
    "Monte Carlo": Engine(lambda kinds, grid: None, None),
}
"""From the quickest to the one that always answers; the first that can is taken."""


def _fraction(election: Election, publish: str, epsilon: float) -> Fraction:
    """Delta as a fraction, at epsilon 0."""
    if epsilon != 0:
        raise InputError(f"epsilon = {epsilon:g}: delta is a fraction at epsilon 0 only")
    if publish in ("histogram", "tops"):
        votes, shares = _ballots(election, publish)
        return counts_fraction(election.others + 1, shares)
    if publish == "winner" and closed.fits(election.kinds):
        return closed.closed_fraction(election.kinds)
    if publish == "winner" and is_small(election.kinds, grid_of(election.kinds)):
        return exact_delta(election.kinds)
    raise InputError(f"voters = {election.voters:,}: too many for a fraction; leave it out")
