"""k-approval: the first k places are worth a point each."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from safemargin.core import InputError
from safemargin.voting.ballots import Ranking, approvals
from safemargin.voting.rules.positional import Positional


@dataclass(frozen=True)
class Approval(Positional):
    """A candidate who is not named is not approved of."""

    name = "approval"
    title = "k-approval"

    @classmethod
    def of(cls, candidates: int, count: int) -> "Approval":
        """The rule for so many candidates and places."""
        if not 1 <= count < candidates:
            raise InputError(f"approval-{count}: the number of places must be from 1 to {candidates - 1}")
        return cls(candidates, (Fraction(1),) * count + (Fraction(0),) * (candidates - count))

    def unnamed(self, left: Sequence[Fraction]) -> Fraction:
        """Nothing."""
        return Fraction(0)

    def votes(self) -> tuple[Ranking, ...]:
        """One per set of candidates in front."""
        return approvals(self.candidates, int(sum(self.points)))
