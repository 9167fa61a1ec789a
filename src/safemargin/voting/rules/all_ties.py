"""Any rule with all winners of a tie as the result, instead of one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from safemargin.core import IntArray, TooLargeError
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule

MOST_CANDIDATES = 4


@dataclass(frozen=True)
class AllTies(Rule):
    """Everybody who wins when ties are broken in some order of the candidates; a set is a number in base two."""

    rule: Rule | None = None
    name = "all-ties"

    def __post_init__(self) -> None:
        if self.candidates > MOST_CANDIDATES:
            raise TooLargeError(f"ties: {self.candidates} candidates have too many orders; name one of them")

    @property
    def _rule(self) -> Rule:
        assert self.rule is not None
        return self.rule

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Those of the rule for every order of the candidates."""
        parts = []
        for order in permutations(range(self.candidates)):
            parts.append(self._rule.statistics([tuple(order[c] for c in vote) for vote in votes]))
        return np.concatenate(parts, axis=1)

    def winners(self, sums: IntArray) -> IntArray:
        """The set of winners over all orders."""
        orders = list(permutations(range(self.candidates)))
        width = sums.shape[1] // len(orders)
        found = np.zeros(len(sums), dtype=np.int64)
        for number, order in enumerate(orders):
            back = np.argsort(order)
            found |= 1 << back[self._rule.winners(sums[:, number * width : (number + 1) * width])]
        return found

    def votes(self) -> tuple[Ranking, ...]:
        """Those of the rule."""
        return self._rule.votes()

    @property
    def outcomes(self) -> int:
        """Sets of candidates."""
        return 1 << self.candidates

    def outcome_name(self, outcome: int, names: Sequence[str]) -> str:
        """The names that tie."""
        return "=".join(name for place, name in enumerate(names) if outcome >> place & 1)
