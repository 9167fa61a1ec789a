"""Veto: the fewest last places win."""

from dataclasses import dataclass
from fractions import Fraction

from safemargin.voting.ballots import Ranking, favourites
from safemargin.voting.rules.positional import Positional


@dataclass(frozen=True)
class Veto(Positional):
    """Every place but the last is worth a point."""

    name = "veto"
    title = "veto"

    @classmethod
    def of(cls, candidates: int) -> "Veto":
        """The rule for so many candidates."""
        return cls(candidates, (Fraction(1),) * (candidates - 1) + (Fraction(0),))

    def votes(self) -> tuple[Ranking, ...]:
        """One per candidate in the last place."""
        return tuple((*ranking[1:], ranking[0]) for ranking in reversed(favourites(self.candidates)))
