"""Borda: a place is worth as many points as candidates are behind it."""

from dataclasses import dataclass
from fractions import Fraction

from safemargin.voting.rules.positional import Positional


@dataclass(frozen=True)
class Borda(Positional):
    """Points fall by one from place to place."""

    name = "borda"
    title = "Borda"

    @classmethod
    def of(cls, candidates: int) -> "Borda":
        """The rule for so many candidates."""
        return cls(candidates, tuple(Fraction(behind) for behind in range(candidates - 1, -1, -1)))
