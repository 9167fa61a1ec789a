"""Single transferable vote for several seats, as in Scottish council elections (weighted inclusive Gregory).

The quota is `votes // (seats + 1) + 1`. Whoever reaches it is elected. The largest surplus is passed on first: every
paper of the elected candidate goes to its next candidate who is neither elected nor excluded, at its value times
surplus over total, cut after five decimals. Without a surplus the candidate with the lowest total is excluded, and the
papers go on at their value. When as many candidates continue as seats are left, all of them are elected. Of equal
surpluses the first is passed on, of equal lowest totals the last is excluded. Values are whole numbers of 0.00001.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from safemargin.core import InputError, IntArray, TooLargeError
from safemargin.voting.election import Ranking, Rule, rankings

UNIT = 100_000
"""Parts of a paper."""
MAX_CANDIDATES = 6
"""Whose rankings are all gone through where nobody names the ones that are cast."""


def elected(votes: Sequence[Ranking], counts: Sequence[int], candidates: int, seats: int) -> tuple[int, ...]:
    """Who gets a seat, in order of the candidates.

    >>> elected([(0, 1, 2), (2, 1, 0), (1, 0, 2)], [6, 4, 1], 3, 2)
    (0, 2)
    >>> elected([(0, 1, 2), (2, 1, 0), (1, 0, 2)], [8, 2, 1], 3, 2)
    (0, 1)
    """
    quota = UNIT * (sum(counts) // (seats + 1) + 1)
    going, chosen, surpluses = set(range(candidates)), set[int](), list[int]()
    papers = [(vote, count, UNIT) for vote, count in zip(votes, counts, strict=True) if count]
    held: dict[int, list[tuple[Ranking, int, int]]] = {candidate: [] for candidate in going}

    def pass_on(some: Sequence[tuple[Ranking, int, int]]) -> None:
        for vote, count, value in some:
            following = next((candidate for candidate in vote if candidate in going), None)
            if following is not None and value:
                held[following].append((vote, count, value))

    def total(candidate: int) -> int:
        return sum(count * value for _, count, value in held[candidate])

    pass_on(papers)
    while len(chosen) < seats:
        for candidate in sorted(candidate for candidate in going if total(candidate) >= quota):
            going.discard(candidate)
            chosen.add(candidate)
            surpluses.append(candidate)
        if len(chosen) >= seats or len(going) <= seats - len(chosen):
            break
        if surpluses:
            largest = max(surpluses, key=lambda candidate: (total(candidate), -candidate))
            surpluses.remove(largest)
            whole, own = total(largest), held[largest]
            held[largest] = []
            pass_on([(vote, count, value * (whole - quota) // whole) for vote, count, value in own])
        else:
            lowest = min(going, key=lambda candidate: (total(candidate), -candidate))
            going.discard(lowest)
            own, held[lowest] = held[lowest], []
            pass_on(own)
    # More than the seats cannot reach the quota; whoever goes on fills what is left.
    return tuple(sorted(chosen | (going if len(chosen) < seats else set())))


@dataclass(frozen=True)
class SeveralSeats(Rule):
    """The council: a vote adds one to the count of its ranking, since surpluses depend on all of them."""

    seats: int = 2
    universe: tuple[Ranking, ...] = ()
    """Rankings that are cast; without any, all that name everybody."""
    is_proved = False
    is_single = False
    needs_counts = True

    def __post_init__(self) -> None:
        if not 1 <= self.seats < self.candidates:
            raise InputError(f"stv: {self.seats} seats: must be at least 1 and fewer than {self.candidates} candidates")

    @cached_property
    def cast(self) -> tuple[Ranking, ...]:
        """Rankings that can be cast."""
        if not self.universe and self.candidates > MAX_CANDIDATES:
            raise TooLargeError(f"stv: {self.candidates} candidates have too many rankings; name votes or a belief")
        return self.universe or rankings(self.candidates)

    @cached_property
    def councils(self) -> dict[tuple[int, ...], int]:
        """Every council with its number."""
        return {chosen: n for n, chosen in enumerate(combinations(range(self.candidates), self.seats))}

    def votes(self) -> tuple[Ranking, ...]:
        """All that can be cast."""
        return self.cast

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """A column for each ranking."""
        places = {vote: place for place, vote in enumerate(self.cast)}
        adds = np.zeros((len(votes), len(places)), dtype=np.int64)
        adds[np.arange(len(votes)), [places[vote] for vote in votes]] = 1
        return adds

    def winners(self, sums: IntArray) -> IntArray:
        """The number of the council, counted once for each different row."""
        distinct, group = np.unique(sums, axis=0, return_inverse=True)
        answers = [self.councils[elected(self.cast, row, self.candidates, self.seats)] for row in distinct.tolist()]
        return np.array(answers, dtype=np.int64)[group.ravel()]

    def winner(self, votes: Sequence[Ranking], counts: Sequence[int]) -> int:
        """The number of the council, from the votes themselves."""
        return self.councils[elected(votes, counts, self.candidates, self.seats)]

    @property
    def outcomes(self) -> int:
        """Councils."""
        return comb(self.candidates, self.seats)

    def outcome_name(self, outcome: int, names: Sequence[str]) -> str:
        """The members."""
        chosen = next(chosen for chosen, number in self.councils.items() if number == outcome)
        return "+".join(names[candidate] for candidate in chosen)
