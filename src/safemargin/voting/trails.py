"""Trails (Definition 4): histograms one after the other, each with one vote moved from one kind to another.

Let t be a histogram of n votes, and (j, k) a direction. The trail from t of length q is t, t - x_j + x_k, ...,
t - q x_j + q x_k: its entry is t, its exit the last one.

Lemma 1. For votes that are drawn independently, and for every trail T,

    Pr[Hist in T | x_j] - Pr[Hist in T | x_k] = Pr[exit | x_j] - Pr[entry | x_k],

as Pr[t - x_j + x_k | x_k] = Pr[t | x_j]: all between the ends cancels out. (Moving a vote does not change the others,
and the two histograms leave the same others.)

Consequence. Whatever the rule is, the histograms with a result in some set fall into trails of one direction, the
longest that stay in it. So delta at epsilon 0 is a sum over the ends of trails, each exact, as a fraction. Figure 1 of
the paper is the case of two candidates: one trail, whose exit is where the majority turns.

>>> trail = Trail((5, 0), (0, 1), 2)
>>> list(trail), trail.gap([Fraction(1, 2)] * 2)
([(5, 0), (4, 1), (3, 2)], Fraction(3, 8))
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

from safemargin import ui
from safemargin.core import TooLargeError
from safemargin.voting.chances import ways
from safemargin.voting.election import Election, VoterTypes, ranking_text

Histogram = tuple[int, ...]
MAX_HISTOGRAMS = 20_000
SHOWN = 10
"""Trails that a report lists."""


@dataclass(frozen=True)
class Trail:
    """Histograms from `entry` on, with 0 to `length` votes moved from kind `direction[0]` to kind `direction[1]`."""

    entry: Histogram
    direction: tuple[int, int]
    length: int

    def after(self, moved: int) -> Histogram:
        """The histogram with so many votes moved."""
        j, k = self.direction
        return tuple(count + moved * ((kind == k) - (kind == j)) for kind, count in enumerate(self.entry))

    @property
    def exit(self) -> Histogram:
        """The last histogram."""
        return self.after(self.length)

    def __iter__(self) -> Iterator[Histogram]:
        return (self.after(moved) for moved in range(self.length + 1))

    def gap(self, shares: Sequence[Fraction]) -> Fraction:
        """How much likelier the trail is with a vote x_j than with x_k, by its two ends (Lemma 1)."""
        j, k = self.direction
        return chance(self.exit, j, shares) - chance(self.entry, k, shares)


def chance(histogram: Histogram, vote: int, shares: Sequence[Fraction]) -> Fraction:
    """How likely a histogram is if one person casts this vote, and all others draw theirs."""
    others = [count - (kind == vote) for kind, count in enumerate(histogram)]
    if min(others) < 0:
        return Fraction(0)
    likely = Fraction(factorial(sum(others)))
    for count, share in zip(others, shares, strict=True):
        likely *= share**count / factorial(count)
    return likely


def decompose(kinds: VoterTypes, results: Sequence[int], direction: tuple[int, int]) -> list[Trail]:
    """The longest trails of one direction into which the histograms with one of `results` fall."""
    voters = kinds.others + 1
    if ways(voters, len(kinds)) > MAX_HISTOGRAMS:
        raise TooLargeError(f"trails: {voters:,} votes of {len(kinds)} kinds have more than 20,000 histograms")
    everything = np.array(
        [np.bincount(votes, minlength=len(kinds)) for votes in combinations_with_replacement(range(len(kinds)), voters)]
    )
    winners = kinds.rule.winners(everything @ kinds.adds + kinds.offset)
    inside = {tuple(row) for row in everything[np.isin(winners, list(results))].tolist()}
    trails = []
    for histogram in sorted(inside, reverse=True):
        if Trail(histogram, direction, 0).after(-1) in inside:
            continue  # not the first of its trail
        length = 0
        while Trail(histogram, direction, 0).after(length + 1) in inside:
            length += 1
        trails.append(Trail(histogram, direction, length))
    return trails


@dataclass(frozen=True)
class TrailSum:
    """Delta at epsilon 0 as a sum over trails; `kinds` are the votes that histograms count, in their order."""

    kinds: tuple[str, ...]
    terms: tuple[tuple[Trail, Fraction], ...]
    """Trails that add something, the largest part first."""

    @property
    def total(self) -> Fraction:
        """The sum, which is delta."""
        return sum((gap for _, gap in self.terms), Fraction(0))

    def to_json(self) -> ui.Document:
        """Entry, exit and part of every trail."""
        parts = [{"entry": list(t.entry), "exit": list(t.exit), "adds": str(gap)} for t, gap in self.terms]
        return {"kinds": list(self.kinds), "delta": str(self.total), "parts": parts}

    def blocks(self) -> list[str | ui.Grid]:
        """The trails that add most."""
        rows = [
            (" ".join(map(str, trail.entry)), " ".join(map(str, trail.exit)), f"{float(gap):.6g}")
            for trail, gap in self.terms[:SHOWN]
        ]
        count = ui.plural(len(self.terms), "trail")
        lead = f"Delta is {self.total}, the sum over {count}. Histograms count {', '.join(self.kinds)}."
        return [lead, ui.Grid(("entry", "exit", "adds"), rows)]


def trail_sum(election: Election, pair: tuple[int, int], results: Sequence[int]) -> TrailSum:
    """Delta of the winner for a pair of kinds of votes and the results that the first of them makes likelier."""
    kinds = election.kinds
    parts = [(trail, trail.gap(kinds.shares)) for trail in decompose(kinds, results, pair)]
    ordered = sorted((part for part in parts if part[1]), key=lambda part: (-part[1], part[0].entry))
    return TrailSum(tuple(ranking_text(vote, election.candidates) for vote in kinds.votes), tuple(ordered))
