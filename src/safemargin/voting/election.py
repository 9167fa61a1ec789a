"""An election as an adversary sees it: the rule, how many vote, what is believed, and votes that are known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray
from safemargin.voting.ballots import Ranking, letters
from safemargin.voting.belief import Belief
from safemargin.voting.rules.rule import Rule


@dataclass(frozen=True)
class Election:
    """`voters` counts everybody: the person in question, those whose votes are `known`, and all others."""

    rule: Rule
    voters: int
    belief: Belief
    known: Mapping[Ranking, int] = field(default_factory=dict, hash=False)
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.voters < 1:
            raise InputError(f"voters = {self.voters}: there must be at least 1")
        if self.others < 0:
            raise InputError(f"known votes: {sum(self.known.values()):,} of {self.voters:,} voters; one must be left")

    @property
    def others(self) -> int:
        """Voters whose votes are drawn."""
        return self.voters - 1 - sum(self.known.values())

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates in the order in which ties are broken."""
        return self.names or letters(self.rule.candidates)

    @cached_property
    def kinds(self) -> "Kinds":
        """Votes that the rule does not tell apart, taken together."""
        return kinds_of(self)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of votes with their shares and what each adds to the sums; `offset` is what known votes add."""

    rule: Rule
    votes: tuple[Ranking, ...]
    shares: tuple[Fraction, ...]
    adds: IntArray
    offset: IntArray
    others: int

    @cached_property
    def weights(self) -> FloatArray:
        """The shares as floating-point numbers."""
        return np.array([float(share) for share in self.shares])

    def __len__(self) -> int:
        return len(self.votes)


def kinds_of(election: Election) -> Kinds:
    """Merge votes whose sums differ by one number throughout: the order of sums never tells them apart."""
    belief = election.belief
    known = [vote for vote, count in election.known.items() if count]
    adds = election.rule.statistics((*belief.votes, *known))  # one call, so that one scale makes all whole
    mine = adds[: len(belief.votes)]
    counts = np.array([election.known[vote] for vote in known], dtype=np.int64)
    offset = counts @ adds[len(belief.votes) :] if known else np.zeros(adds.shape[1], dtype=np.int64)
    place: dict[bytes, int] = {}
    first: list[int] = []
    shares: list[Fraction] = []
    for row, share in enumerate(belief.shares):
        key = (mine[row] - mine[row, 0]).tobytes()
        if key not in place:
            place[key] = len(first)
            first.append(row)
            shares.append(Fraction(0))
        shares[place[key]] += share
    votes = tuple(belief.votes[row] for row in first)
    return Kinds(election.rule, votes, tuple(shares), mine[first], offset, election.others)
