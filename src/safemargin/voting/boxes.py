"""Beliefs known only to lie within intervals: the worst of them."""

from dataclasses import replace
from fractions import Fraction

from safemargin.voting.belief import Belief, ShareBox
from safemargin.voting.election import Election
from safemargin.voting.private import Answer, private

ROUNDS = 4
MOST_STARTS = 40


def worst_in(box: ShareBox, election: Election, publish: str, epsilon: float) -> Answer:
    """The largest delta found for shares within the box: a lower bound on the largest there is.

    For counts it is exact if the two rarest kinds can be at their low ends together: delta falls as shares grow.
    """
    points = _starts(box)
    tried: dict[tuple[Fraction, ...], Answer] = {}

    def ask(shares: tuple[Fraction, ...]) -> Answer:
        if shares not in tried:
            there = replace(election, belief=Belief(box.votes, shares, box.words))
            tried[shares] = private(there, publish, epsilon)
        return tried[shares]

    best = max(points, key=lambda shares: ask(shares).delta)
    for halving in range(ROUNDS):
        step = Fraction(1, 4 * 2**halving)
        for i in range(len(best)):
            for j in range(len(best)):
                room = min(box.high[i] - best[i], best[j] - box.low[j]) * step * 2
                if i != j and room > 0:
                    moved = list(best)
                    moved[i], moved[j] = moved[i] + room, moved[j] - room
                    if ask(tuple(moved)).delta > ask(best).delta:
                        best = tuple(moved)
    answer = ask(best)
    exact = publish == "histogram" and _rarest_at_low(box, best)
    note = "" if exact else "the worst belief within the intervals was searched for; delta may be larger"
    interval = answer.interval if exact else (answer.interval[0], 1.0)
    return replace(answer, exact=exact, interval=interval, notes=(*answer.notes, *([note] if note else [])))


def _starts(box: ShareBox) -> list[tuple[Fraction, ...]]:
    """The middle of the box, and corners with two kinds as rare as can be."""
    size = len(box.votes)
    found = [_filled(box, ())]
    pairs = [(i, j) for i in range(size) for j in range(i)]
    pairs.sort(key=lambda pair: box.low[pair[0]] + box.low[pair[1]])
    found += [_filled(box, pair) for pair in pairs[:MOST_STARTS]]
    return list(dict.fromkeys(found))


def _filled(box: ShareBox, lowest: tuple[int, ...]) -> tuple[Fraction, ...]:
    """Shares from the low ends up, by the same part of the room of each; those of `lowest` only if they must."""
    shares = list(box.low)
    for group in ([i for i in range(len(shares)) if i not in lowest], list(lowest)):
        left = 1 - sum(shares)
        room = sum((box.high[i] - box.low[i] for i in group), Fraction(0))
        part = min(left / room, Fraction(1)) if room else Fraction(0)
        for i in group:
            shares[i] += part * (box.high[i] - box.low[i])
    return tuple(shares)


def _rarest_at_low(box: ShareBox, shares: tuple[Fraction, ...]) -> bool:
    low = sorted(range(len(shares)), key=lambda i: box.low[i])[:2]
    return all(shares[i] == box.low[i] for i in low)
