"""What publishing a result exactly discloses about one vote, by the first engine of a table that can answer.

Objects
    n           voters: the person in question, those whose votes are known, and the others, who vote independently
    Q_x(r)      the chance of the published result r if the person votes x
    delta       at epsilon e: the largest sum over results of max(Q_x(r) - exp(e) Q_y(r), 0), over all pairs x, y
    engine      a way to compute Q, or bounds of it, for some rules and sizes (`ENGINES`)

Statement (docs/outcome_method.md; Definition 2 of the paper on the privacy of exact outcomes)
    Whoever holds the stated belief, and reads the result, infers no more of x against y than an
    (epsilon, delta)-private mechanism would disclose. No noise is added: the other votes are the noise.

The order of engines
    Exact closed forms and sums come first, then those whose rounding is relative, then those with an absolute error
    where delta is large beside it, at last drawn elections. An engine says why it cannot (`refusal`), so a user who
    asks for one reads the reason.

Invariants
    * `exact` is true only if rounding leaves less than `MAX_SLACK` of delta open; else an interval holds delta.
    * A drawn value states its interval with 95 %, and an upper end that is proved without drawing where there is one.
    * What the belief omits is named (`_unnamed`): the statement is about the votes that it gives a chance.

Example
    Five voters, two candidates: one vote decides if the four others tie, which has a chance of 6 in 16.

    >>> from safemargin.voting.election import uniform
    >>> from safemargin.voting.rules import rule_named
    >>> rule = rule_named("plurality", 2)
    >>> found = measure(Election(rule, 5, uniform(rule)), rational=True)
    >>> found.fraction, found.engine, found.pair
    (Fraction(3, 8), 'closed form', ('a>b', 'b>a'))
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import factorial, inf, log

from safemargin.core import InputError, Progress, TooLargeError, no_progress
from safemargin.voting import close_races, plurality, race_planes, symmetric
from safemargin.voting.chances import OutcomeDistribution, Worst, ways
from safemargin.voting.closed_forms import (
    counts_fraction,
    counts_worst,
    counts_worst_at,
    has_two_candidates,
    theorem_1,
    two_candidate_chances,
    two_candidate_fraction,
)
from safemargin.voting.crossings import crossings
from safemargin.voting.election import Belief, Election, Ranking, ShareBox, VoterTypes
from safemargin.voting.elimination import count_transfers, transfers_apply
from safemargin.voting.grid import (
    MAX_FRACTION_STEPS,
    MAX_STEPS,
    MAX_WAYS,
    VoteGrid,
    convolve,
    enumerate_votes,
    exact_delta,
    grid_of,
    law_of,
    sums_worst,
    transform,
)
from safemargin.voting.privacy import FLOAT_ERROR, PUBLISHED, OutcomePrivacy, counts_privacy, privacy_of, winner_privacy
from safemargin.voting.sampling import DRAWS, MAX_VOTES, sample
from safemargin.voting.scoring import Plurality

CURVE = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)

MAX_CELLS = 4e7
"""Of a Fourier transform: 320 MB."""
MAX_TRANSFER_VOTERS = 6_000
"""Tables of dynamic programming are quadratic in them: 860 MB."""
MAX_DIMENSIONS = 3
MAX_EXPONENT = 12.0
"""Of a close race: below exp of minus this, an absolute error of 1e-12 leaves few digits."""
MAX_PLANE_EXPONENT = 4.0
"""The same for planes of close races, whose interval is relative to how likely any two sums are nearly equal."""
MAX_SEARCHED_EPSILON = 64.0
MAX_EPSILON = 300.0
"""exp of more, times a log probability, leaves floating point."""
ALIKE = "belief: all votes count alike in what is published; nothing can be inferred"
ROUNDS = 4
MAX_STARTS = 40


def measure(
    election: Election,
    publish: str = "winner",
    epsilon: float = 0.0,
    *,
    curve: Sequence[float] = (),
    engine: str | None = None,
    rational: bool = False,
    simulator: bool = False,
    draws: int = DRAWS,
    progress: Progress = no_progress,
) -> OutcomePrivacy:
    """How private publishing the result of an election is, against somebody who believes what it says.

    `publish` is a key of `PUBLISHED`; `curve` are further epsilons; `engine` is taken where it can answer, else the
    first that can, with a note. With `rational`, delta is also a fraction; with `simulator`, the least delta of a
    simulator that does not see the vote. `draws` matters only where no engine computes. An election of people who vote
    alike, or with shares per group, is for `dependent.py`.
    """
    if not 0 <= epsilon <= MAX_EPSILON:
        raise InputError(f"epsilon = {epsilon}: must be at least 0, and at most {MAX_EPSILON:g}")
    if publish not in PUBLISHED:
        raise InputError(f"publish = {publish!r}: must be one of {', '.join(PUBLISHED)}")
    if publish == "groups":
        raise InputError("publish = 'groups': needs a belief with the columns group and voters")
    if engine is not None and engine not in ENGINES:
        raise InputError(f"engine = {engine!r}: must be one of {', '.join(ENGINES)}")
    epsilons = (epsilon, *curve)
    if publish == "winner":
        privacy = _winner(election, epsilons, engine, simulator, draws, progress)
    elif publish == "scores":
        privacy = _scores(election, epsilons)
    else:
        votes, shares = counted_kinds(election, publish)
        if len(shares) < 2:
            raise InputError(ALIKE)
        worst = counts_worst_at(election.others + 1, shares, epsilons)
        privacy = counts_privacy(election, publish, epsilons, worst, votes)
        proved = theorem_1(election.others + 1, [float(share) for share in shares], epsilon)
        privacy = replace(privacy, theorem_1=proved)
    if simulator and privacy.chances is None:
        raise InputError("simulator: needs the winner as publication, and an engine that computes its probabilities")
    fraction = _fraction(election, publish, epsilon) if rational else None
    notes = (*privacy.notes, *_unnamed(election))
    return replace(privacy, fraction=fraction, belief=election.belief.words, names=election.candidates, notes=notes)


def _unnamed(election: Election) -> list[str]:
    """That the statement is about the votes of the belief only, where it omits rankings."""
    named, every = len(election.belief.votes) * election.belief.behind, factorial(election.rule.candidates)
    if named >= every:
        return []
    return [
        f"the pair is one of the {named:,} votes to which the belief gives a chance; somebody who votes otherwise may "
        "show more"
    ]


def counted_kinds(election: Election, publish: str) -> tuple[list[Ranking], list[Fraction]]:
    """The kinds of votes that are counted, with their shares; of very many equal ones the two that matter.

    Publishing first places merges votes with one favourite. Where a belief stands for more votes than it lists (all
    rankings alike, `behind`), two kinds as rare as any are enough, since delta of counts depends on the rarest two.

    >>> from safemargin.voting.election import uniform
    >>> from safemargin.voting.rules import rule_named
    >>> borda = rule_named("borda", 3)
    >>> [str(share) for share in counted_kinds(Election(borda, 5, uniform(borda)), "tops")[1]]
    ['1/3', '1/3', '1/3']
    """
    belief, rule = election.belief, election.rule
    if publish == "tops" and belief.behind > 1:  # the votes are kinds of the rule, and their favourites mean nothing
        return [(c,) for c in range(rule.candidates)], [Fraction(1, rule.candidates)] * rule.candidates
    if publish == "tops":
        merged: dict[Ranking, Fraction] = {}
        for vote, share in zip(belief.votes, belief.shares, strict=True):
            merged[vote[:1]] = merged.get(vote[:1], Fraction(0)) + share
        return list(merged), list(merged.values())
    if belief.behind > 1:  # of which two are as rare as any
        least = min(belief.shares) / belief.behind
        order = tuple(range(rule.candidates))
        return [order, (*order[:-2], order[-1], order[-2])], [least, least]
    return list(belief.votes), list(belief.shares)


def _scores(election: Election, epsilons: Sequence[float]) -> OutcomePrivacy:
    """Of publishing the sums of the rule: the law of the sums with one vote, less that with another, at every point."""
    kinds = election.kinds
    if len(kinds) < 2:
        raise InputError(ALIKE)
    grid = grid_of(kinds, is_order=False)
    if grid.additions(kinds.others) > MAX_STEPS:
        raise InputError(
            f"publish = 'scores': {election.voters:,} voters have too many sums; publish winner or histogram"
        )
    worst = sums_worst(law_of(kinds, grid), grid.steps, epsilons)
    # differences of laws: the error is relative to their sum, which is 1
    return privacy_of(election, "scores", epsilons, worst, "convolution", kinds.votes, FLOAT_ERROR)


def _winner(
    election: Election, epsilons: Sequence[float], asked: str | None, simulator: bool, draws: int, progress: Progress
) -> OutcomePrivacy:
    """Of publishing who won: by the engine that was asked for if it can answer, else by the first of the table that
    can.

    Where a curve or a simulator is asked for, engines for epsilon 0 alone are passed over. Votes that the rule does not
    distinguish are one kind; with one kind only nothing is disclosed.
    """
    kinds = election.kinds
    if len(kinds) < 2:
        none = [Worst(0.0, -inf, (0, 0), ())] * len(epsilons)
        return replace(
            privacy_of(election, "winner", epsilons, none, "closed form", kinds.votes, 0.0), pure_epsilon=0.0
        )
    grid = grid_of(kinds)
    notes: list[str] = []
    full = epsilons != (0.0,) or simulator
    for name in [*([asked] if asked else []), *(name for name in ENGINES if name != asked)]:
        reason = ENGINES[name].refusal(kinds, grid)
        if reason is None and full and ENGINES[name].at_zero:
            reason = "is for epsilon 0"
        if reason is None:
            break
        if reason and (asked is None or name == asked):
            notes.append(f"{name}: {reason}")
    run = ENGINES[name].run
    if run is None:
        return _sampled(election, epsilons[0], name, draws, progress, notes)
    chances = run(kinds, grid, progress, full)
    privacy = winner_privacy(election, epsilons, chances, kinds.votes, name)
    if not privacy.exact:
        notes.append(OPEN_DIGITS.get(name, "rounding leaves some of the digits open; see the interval"))
    return replace(
        privacy,
        notes=tuple(notes) if asked or name in ("FFT", "enumeration") or not privacy.exact else (),
        pure_epsilon=privacy.pure_epsilon if full and name != "FFT" else None,  # windows omit unlikely results
        simulator=chances.simulator_delta(epsilons[0]) if simulator else None,
        chances=chances if full else None,
    )


def _sampled(
    election: Election, epsilon: float, name: str, draws: int, progress: Progress, notes: list[str]
) -> OutcomePrivacy:
    """Of publishing who won, from drawn elections: an interval, and what holds without drawing.

    Who wins follows from the counts of all kinds, so delta is at most that of publishing these (Lemma 3): a proved
    upper end, which a union bound over pairs and results often improves on.
    """
    kinds = election.kinds
    if symmetric.applies(kinds):
        estimate = symmetric.sample_alike(kinds, epsilon, draws, 0, progress)
    else:
        estimate = sample(kinds, crossings(kinds, 2), epsilon, draws, 0, progress)
    worst = Worst(estimate.delta, log(estimate.delta) if estimate.delta else -inf, estimate.pair, estimate.results)
    # who wins follows from how many votes of each kind there are, so it discloses no more than those counts (Lemma 3)
    counted = counts_worst(kinds.others + 1, kinds.weights.tolist(), epsilon).delta
    if not estimate.all_votes:
        notes.append(
            f"the worst pair was looked for in {MAX_VOTES} likely votes of {len(kinds):,}; "
            "delta is a lower bound, and the upper end that of publishing all counts"
        )
    else:
        notes.append(f"proved without drawing: delta is at most {counted:.4g}, that of publishing all counts")
    interval = estimate.low, max(min(estimate.high, counted), estimate.low)
    privacy = privacy_of(election, "winner", [epsilon], [worst], name, kinds.votes, inf)
    return replace(privacy, interval=interval, notes=tuple(notes))


def chances_of(election: Election) -> OutcomeDistribution:
    """Probabilities of every winner for every vote, by the first engine that computes them."""
    kinds = election.kinds
    grid = grid_of(kinds)
    for engine in ENGINES.values():
        if engine.run is not None and not engine.at_zero and engine.refusal(kinds, grid) is None:
            return engine.run(kinds, grid, no_progress, True)
    raise TooLargeError(f"voters = {election.voters:,}: too many for every engine that computes probabilities")


def least_epsilon(election: Election, publish: str, target: float) -> float:
    """The least epsilon with delta at most `target`, to six digits and rounded up; infinite if there is none.

    Delta falls as epsilon grows, so the root is bracketed by doubling and found by Brent's method.

    >>> from safemargin.voting.election import uniform
    >>> from safemargin.voting.rules import rule_named
    >>> rule = rule_named("plurality", 2)
    >>> round(least_epsilon(Election(rule, 5, uniform(rule)), "winner", 0.1), 6)
    0.631272
    """
    if not 0 < target < 1:
        raise InputError(f"delta = {target:g}: must lie between 0 and 1")
    from scipy.optimize import brentq  # slow to import, and only this needs it

    chances = chances_of(election) if publish == "winner" else None

    def excess(epsilon: float) -> float:
        delta = chances.worst(epsilon).delta if chances else measure(election, publish, epsilon).delta
        return delta - target

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
        if high > MAX_SEARCHED_EPSILON:
            return inf
    root: float = brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-8)
    return root * (1 + 1e-7)


def worst_in(box: ShareBox, election: Election, publish: str, epsilon: float) -> OutcomePrivacy:
    """The largest delta found for shares within the box: a lower bound on the largest there is.

    For counts it is exact if the two rarest kinds can be at their low ends together: delta falls as shares grow.
    """
    tried: dict[tuple[Fraction, ...], OutcomePrivacy] = {}

    def ask(shares: tuple[Fraction, ...]) -> OutcomePrivacy:
        if shares not in tried:
            tried[shares] = measure(replace(election, belief=Belief(box.votes, shares, box.words)), publish, epsilon)
        return tried[shares]

    size = range(len(box.votes))
    pairs = sorted(((i, j) for i in size for j in range(i)), key=lambda pair: box.low[pair[0]] + box.low[pair[1]])
    starts = [_filled(box, ()), *(_filled(box, pair) for pair in pairs[:MAX_STARTS])]
    best = max(dict.fromkeys(starts), key=lambda shares: ask(shares).delta)
    for halving in range(ROUNDS):  # move shares from one kind to another, by ever smaller parts of the room
        for i, j in ((i, j) for i in size for j in size if i != j):
            room = min(box.high[i] - best[i], best[j] - box.low[j]) * Fraction(1, 2 * 2**halving)
            moved = list(best)
            moved[i], moved[j] = moved[i] + room, moved[j] - room
            if room > 0 and ask(tuple(moved)).delta > ask(best).delta:
                best = tuple(moved)
    privacy = ask(best)
    rarest = sorted(size, key=lambda i: box.low[i])[:2]
    if publish == "histogram" and all(best[i] == box.low[i] for i in rarest):
        return privacy
    note = "the worst belief within the intervals was searched for; delta may be larger"
    return replace(privacy, exact=False, interval=(privacy.interval[0], 1.0), notes=(*privacy.notes, note))


def _filled(box: ShareBox, lowest: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Shares from the low ends up, by the same part of the room of each; those of `lowest` only if they must.

    >>> ends = (Fraction(2, 5),) * 2, (Fraction(3, 5),) * 2
    >>> box = ShareBox(((0, 1), (1, 0)), *ends)
    >>> [[str(share) for share in _filled(box, lowest)] for lowest in ((), (0,))]
    [['1/2', '1/2'], ['2/5', '3/5']]
    """
    shares = list(box.low)
    for group in ([i for i in range(len(shares)) if i not in lowest], list(lowest)):
        left = 1 - sum(shares)
        room = sum((box.high[i] - box.low[i] for i in group), Fraction(0))
        part = min(left / room, Fraction(1)) if room else Fraction(0)
        for i in group:
            shares[i] += part * (box.high[i] - box.low[i])
    return tuple(shares)


@dataclass(frozen=True)
class Engine:
    """A way to compute probabilities. `refusal` says why it cannot: empty if it is for other rules, none if it can."""

    refusal: Callable[[VoterTypes, VoteGrid], str | None]
    run: Callable[[VoterTypes, VoteGrid, Progress, bool], OutcomeDistribution] | None
    at_zero: bool = False
    """Whether it answers at epsilon 0 only."""


def _unless(applies: Callable[[VoterTypes], bool], kinds: VoterTypes, grid: VoteGrid) -> str | None:
    """No reason where the engine applies, and an empty one (it is for other rules) where it does not."""
    return None if applies(kinds) else ""


def _refuse_transfers(kinds: VoterTypes, grid: VoteGrid) -> str | None:
    """For elimination with three candidates, by dynamic programming: its tables are quadratic in the voters."""
    if not transfers_apply(kinds):
        return ""
    return None if kinds.others <= MAX_TRANSFER_VOTERS else f"more than {MAX_TRANSFER_VOTERS:,} voters"


def _refuse_convolution(kinds: VoterTypes, grid: VoteGrid) -> str | None:
    """For every rule whose sums live on a grid of few cells: the cost is cells times voters times kinds."""
    steps = grid.additions(kinds.others)
    return None if steps <= MAX_STEPS else f"{_about(steps)} steps are too many"


def _refuse_transform(kinds: VoterTypes, grid: VoteGrid) -> str | None:
    """For grids of up to three dimensions, in windows that hold all but 1e-20 of the votes, tilted to where it
    matters.
    """
    if grid.dimensions > MAX_DIMENSIONS:
        return f"a grid of {grid.dimensions} dimensions is too large"
    spread = kinds.others * (kinds.weights @ (grid.steps - kinds.weights @ grid.steps) ** 2)
    cells = float((2 * (92 * spread) ** 0.5 + 62).prod())  # a window by Bernstein's inequality, 92 = 2 log 1e20
    return None if cells <= MAX_CELLS else f"{cells:.2g} cells are too many"


def _refuse_races(kinds: VoterTypes, grid: VoteGrid) -> str | None:
    """For rules of points at any number of voters, while delta is large beside an absolute error of 1e-12."""
    if not close_races.applies(kinds, grid):
        return ""
    near = kinds.others * crossings(kinds)[0].rate <= MAX_EXPONENT
    return None if near else "its error is absolute, and delta is smaller"


def _refuse_planes(kinds: VoterTypes, grid: VoteGrid) -> str | None:
    """For rules on grids of three dimensions at any number of voters, while two sums may be nearly equal."""
    if not race_planes.applies(kinds, grid):
        return ""
    if not race_planes.fits(kinds, grid):
        return "its window leaves the integers of 64 bits"
    near = kinds.others * crossings(kinds)[0].rate <= MAX_PLANE_EXPONENT
    return None if near else "its error is absolute, and delta is smaller"


def _count_races(kinds: VoterTypes, grid: VoteGrid, progress: Progress, full: bool) -> OutcomeDistribution:
    return close_races.count_close_races(kinds, grid, progress)


def _refuse_enumeration(kinds: VoterTypes, grid: VoteGrid) -> str | None:
    count = ways(kinds.others, len(kinds))
    return None if count * len(kinds) <= MAX_WAYS else f"{_about(count)} ways to vote are too many"


def _about(count: int) -> str:
    """A large number in two digits, however large."""
    return f"{count:.2g}" if count < 10**300 else f"1e{int(count.bit_length() * 0.30103)}"


ENGINES = {
    "closed form": Engine(
        partial(_unless, has_two_candidates),
        lambda kinds, grid, progress, full: two_candidate_chances(kinds),
    ),
    "dynamic programming": Engine(
        _refuse_transfers, lambda kinds, grid, progress, full: count_transfers(kinds, progress)
    ),
    "convolution": Engine(_refuse_convolution, lambda kinds, grid, progress, full: convolve(kinds, grid, progress)),
    "trails": Engine(
        partial(_unless, lambda kinds: isinstance(kinds.rule, Plurality)),
        lambda kinds, grid, progress, full: plurality.count_trails(kinds, progress, full),
    ),
    "FFT": Engine(
        _refuse_transform, lambda kinds, grid, progress, full: transform(kinds, grid, crossings(kinds), progress)
    ),
    "close races": Engine(
        _refuse_races,
        _count_races,
        at_zero=True,
    ),
    "race planes": Engine(
        _refuse_planes,
        lambda kinds, grid, progress, full: race_planes.count_race_planes(kinds, grid, progress),
        at_zero=True,
    ),
    "enumeration": Engine(_refuse_enumeration, lambda kinds, grid, progress, full: enumerate_votes(kinds, progress)),
    "Monte Carlo": Engine(lambda kinds, grid: None, None),
}
"""From the quickest to the one that always answers; the first that can is taken."""
OPEN_DIGITS = {"race planes": "the interval is proved: it has what boxes of the grid leave open that were not divided"}
"""Why a value is not exact; of other engines, rounding."""


def _fraction(election: Election, publish: str, epsilon: float) -> Fraction:
    """Delta as a fraction, at epsilon 0."""
    if epsilon != 0:
        raise InputError(f"epsilon = {epsilon:g}: delta is a fraction at epsilon 0 only")
    if publish in ("histogram", "tops"):
        return counts_fraction(election.others + 1, counted_kinds(election, publish)[1])
    if publish == "winner" and has_two_candidates(election.kinds):
        return two_candidate_fraction(election.kinds)
    if publish == "winner" and grid_of(election.kinds).additions(election.others) <= MAX_FRACTION_STEPS:
        return exact_delta(election.kinds)
    raise InputError(f"rational: {election.voters:,} voters are too many for a fraction")
