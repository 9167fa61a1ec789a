"""Beliefs that are not independent draws from one law: groups with shares of their own, and a Polya urn.

The definition of delta is the same: how much likelier one vote of the person makes what is published (Definition 2).

Groups. Voters of group g draw from shares p_g. The others' votes stay independent of the person's, so that delta is
that of the law of the others, the person's own group with one voter fewer. The most exposed voter may be in any group:
all are tried. Publishing how many of every group cast each vote makes groups separate publications. A vote then moves
only the counts of its own group, and the closed form of counts answers.

Urn. Every vote is drawn from the urn and put back with one more of its kind (Eggenberger and Polya 1923), so that
people vote alike. Counts T of n voters have the Dirichlet-multinomial law. Voters are exchangeable: the person is any
of them, and by Bayes, with the share p_x of x in the first vote,

    Q_x(r) = E[1{result r} T_x] / (n p_x).

A vote is then also a hint at how others voted, and delta counts that in. So an urn of few balls has a large delta that
no rule can reduce; the report says so.

Invariant: with ever more balls an urn becomes independent draws, and groups with equal shares are one group; the tests
hold both limits.

Example: one other voter, an urn of one ball for each of two kinds: alike with probability 2/3.

>>> np.exp(log_dirichlet_multinomial(np.array([[2, 0], [1, 1], [0, 2]]), np.array([1.0, 1.0]))).round(6).tolist()
[0.333333, 0.333333, 0.333333]
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, inf, log

import numpy as np
from scipy.special import gammaln

from safemargin import ui
from safemargin.core import FloatArray, InputError, IntArray, Progress, TooLargeError
from safemargin.voting.chances import OutcomeDistribution, Worst, all_counts, ways
from safemargin.voting.closed_forms import counts_worst_at
from safemargin.voting.election import Belief, Election, GroupedBelief, Ranking, UrnBelief, VoterTypes, ranking_text
from safemargin.voting.grid import MAX_STEPS, MAX_WAYS, chances_from, grid_of, law_of_groups, sums_worst
from safemargin.voting.privacy import (
    FLOAT_ERROR,
    MAX_SLACK,
    ROUNDING,
    OutcomePrivacy,
    counts_privacy,
    privacy_of,
    winner_privacy,
)
from safemargin.voting.waves import waves_worst

BETWEEN_WAVES = (
    "everybody votes anew in every wave, independently; if all keep their votes, further waves have the same tables "
    "and add nothing, and if only some keep them, this delta is not about it"
)
SUMS_ERROR = 1e-12
"""Of a difference of two probabilities, each a sum of at most 24 million positive terms."""


def measure_grouped(
    election: Election,
    belief: GroupedBelief,
    publish: str,
    epsilon: float,
    curve: Sequence[float],
    progress: Progress,
    waves: int = 1,
) -> OutcomePrivacy:
    """The largest delta of anybody, whichever group they are in; `election` holds the average belief."""
    if election.known:
        raise InputError("known: a belief with groups does not state which group a known vote belongs to")
    kinds, numbers = counted(election, publish)
    grid = grid_of(kinds, is_order=publish == "winner")
    if publish != "groups" and grid.additions(kinds.others) * len(belief.groups) > MAX_STEPS:
        raise TooLargeError(f"voters = {belief.voters:,}: too many for groups with shares of their own")
    weights = [_weights(group, election.belief, numbers, len(kinds)) for group in belief.beliefs]
    worst: list[OutcomePrivacy] = []
    epsilons = (epsilon, *curve)
    for number, group in enumerate(belief.groups):
        if publish == "groups":  # only the counts of the person's own group depend on their vote
            own = belief.beliefs[number]
            if waves > 1:
                progress("multiplying the waves")
                privacy = _of_waves(election, own, belief.sizes[number], epsilons, waves)
            else:
                counts = counts_worst_at(belief.sizes[number], own.shares, epsilons)
                privacy = counts_privacy(election, publish, epsilons, counts, own.votes)
        else:  # the person is one of this group, so one voter fewer is drawn from it
            sizes = [size - (other == number) for other, size in enumerate(belief.sizes)]
            law = law_of_groups(list(zip(sizes, weights, strict=True)), grid, progress)
            cast = np.flatnonzero(weights[number] > 0)  # what somebody of the group can vote
            votes = tuple(kinds.votes[vote] for vote in cast)
            if publish == "winner":
                chances = chances_from(law, kinds, grid).of_votes(cast)
                privacy = winner_privacy(election, epsilons, chances, votes, "convolution")
            else:
                sums = sums_worst(law, grid.steps[cast], epsilons)
                privacy = privacy_of(election, publish, epsilons, sums, "convolution", votes, FLOAT_ERROR)
        worst.append(replace(privacy, notes=(*privacy.notes, f"the most exposed voter is one of the group {group!r}")))
    return max(worst, key=lambda privacy: (privacy.delta, privacy.log_delta))


def _of_waves(election: Election, belief: Belief, voters: int, epsilons: Sequence[float], waves: int) -> OutcomePrivacy:
    """Of publishing the counts of a group in several waves, and who won in each."""
    found = waves_worst(voters, belief.shares, waves, epsilons)
    worst = [Worst(each.delta, log(each.delta) if each.delta > 0 else -inf, each.pair, ()) for each in found]
    first, votes = found[0], belief.votes
    privacy = counts_privacy(election, "groups", epsilons, worst, votes)
    slack = first.slack + ROUNDING * first.delta
    names = [ranking_text(votes[kind], election.candidates) for kind in first.pair]
    pair = in_waves(names[0], names[1], first.first, waves), in_waves(names[1], names[0], first.first, waves)
    return replace(
        privacy,
        waves=waves,
        pair=pair,
        engine="histogram ratios",
        exact=slack <= MAX_SLACK * first.delta,
        interval=(max(first.delta - slack, 0.0), min(first.delta + slack, 1.0)),
        notes=(BETWEEN_WAVES,),
    )


def in_waves(one: str, other: str, first: int, waves: int) -> str:
    """What somebody casts in how many waves.

    >>> in_waves("a", "b", 2, 3), in_waves("a", "b", 0, 3)
    ('a in 2 waves and b in 1', 'b in all 3 waves')
    """
    if first in (0, waves):
        return f"{one if first else other} in all {waves} waves"
    return f"{one} in {ui.plural(first, 'wave')} and {other} in {waves - first}"


def counted(election: Election, publish: str) -> tuple[VoterTypes, IntArray]:
    """What is added up for a publication, and the kind of every vote of the belief: sums of the rule, or counts."""
    kinds = election.kinds
    if publish in ("winner", "scores"):
        return kinds, kinds.numbers
    votes = [vote[:1] if publish == "tops" else vote for vote in election.belief.votes]
    single = list(dict.fromkeys(votes))
    numbers = np.array([single.index(vote) for vote in votes], dtype=np.int64)
    shares = [Fraction(0)] * len(single)
    for number, share in zip(numbers.tolist(), election.belief.shares, strict=True):
        shares[number] += share
    adds = np.eye(len(single), dtype=np.int64)
    return replace(kinds, votes=tuple(single), shares=tuple(shares), adds=adds, offset=0 * adds[0]), numbers


def _weights(group: Belief, average: Belief, numbers: IntArray, kinds: int) -> FloatArray:
    """The shares of a group by the kinds of the average belief, of which it may lack some."""
    shares = dict(zip(group.votes, group.shares, strict=True))
    return np.asarray(np.bincount(numbers, [float(shares.get(vote, 0)) for vote in average.votes], kinds), np.float64)


def measure_urn(
    election: Election,
    belief: UrnBelief,
    publish: str,
    epsilon: float,
    curve: Sequence[float],
    progress: Progress,
) -> OutcomePrivacy:
    """Delta where votes come from an urn; votes that are known are balls that were added to it.

    Everybody is drawn alike, so Q_x(r) = E[1{result r} T_x] / (n p_x), where T counts the votes of everybody and p_x is
    the share of x in the first vote; T has the Dirichlet-multinomial law.

    Five voters and an urn of two balls: people vote so much alike that delta is 0.6, and no rule can help. With a
    million balls it is that of independent votes, 0.375:

    >>> from safemargin.core import no_progress
    >>> from safemargin.voting.election import uniform
    >>> from safemargin.voting.rules import rule_named
    >>> rule = rule_named("plurality", 2)
    >>> election, start = Election(rule, 5, uniform(rule)), uniform(rule)
    >>> urns = [UrnBelief(start, Fraction(balls)) for balls in (2, 10**6)]
    >>> [round(measure_urn(election, urn, "winner", 0.0, [], no_progress).delta, 5) for urn in urns]
    [0.6, 0.375]
    """
    if publish not in ("winner", "histogram", "tops"):
        raise InputError(f"publish = {publish!r}: with an urn, publish winner, histogram or tops")
    kinds, numbers = counted(replace(election, known={}), publish)
    known = _known_by_kind(election.known, belief.start.votes, numbers, len(kinds))
    voters = election.others + 1
    if ways(voters, len(kinds)) * len(kinds) > MAX_WAYS:
        raise TooLargeError(f"voters = {voters:,}: too many for an urn with {len(kinds):,} kinds of votes")
    balls = float(belief.balls) * kinds.weights + known
    results = kinds.rule.outcomes if publish == "winner" else 0
    likely = np.zeros((len(kinds), results))
    epsilons = (epsilon, *curve)
    gaps = np.zeros((len(epsilons), len(kinds), len(kinds)))
    done, total = 0, ways(voters, len(kinds))
    for counts in all_counts(voters, len(kinds)):
        mass = np.exp(log_dirichlet_multinomial(counts, balls))
        given = mass[:, None] * counts * (balls.sum() / (voters * balls))
        if publish == "winner":
            winners = kinds.rule.winners(counts @ kinds.adds + known @ kinds.adds)
            for vote in range(len(kinds)):
                likely[vote] += np.bincount(winners, given[:, vote], results)
        else:  # every count is published, so every way to vote is a result of its own
            for number, point in enumerate(epsilons):
                for vote in range(len(kinds)):
                    gaps[number, vote] += np.maximum(given[:, [vote]] - exp(point) * given, 0.0).sum(axis=0)
        done += len(counts)
        progress("enumerating", done, total)
    if publish == "winner":
        with np.errstate(divide="ignore"):
            chances = OutcomeDistribution(np.log(likely), likely[:, None, :] - likely[None, :, :], slack=SUMS_ERROR)
        return winner_privacy(election, epsilons, chances, kinds.votes, "enumeration")
    worst = [_worst_pair(table) for table in gaps]
    privacy = privacy_of(election, publish, epsilons, worst, "enumeration", kinds.votes, SUMS_ERROR)
    return replace(privacy, pure_epsilon=inf)


def log_dirichlet_multinomial(counts: IntArray, balls: FloatArray) -> FloatArray:
    """log of the probability of each row of counts, drawn from an urn with these balls."""
    total, many = float(balls.sum()), counts.sum(axis=1)
    own = gammaln(counts + balls) - gammaln(balls) - gammaln(counts + 1)
    return np.asarray(gammaln(many + 1) + gammaln(total) - gammaln(many + total) + own.sum(axis=1))


def _known_by_kind(known: Mapping[Ranking, int], votes: Sequence[Ranking], numbers: IntArray, kinds: int) -> IntArray:
    """How many known votes there are of every kind; an error names a vote that the urn does not have."""
    balls = np.zeros(kinds, dtype=np.int64)
    for vote, count in known.items():
        if vote not in votes:
            raise InputError(f"known: vote {vote}: is not among the votes of the urn")
        balls[numbers[votes.index(vote)]] += count
    return balls


def _worst_pair(gaps: FloatArray) -> Worst:
    """The largest gap and its pair of votes; a table has a row per vote and a column per other vote."""
    x, y = (int(i) for i in np.unravel_index(int(gaps.argmax()), gaps.shape))
    best = float(gaps[x, y])
    return Worst(best, log(best) if best > 0 else -inf, (x, y), ())
