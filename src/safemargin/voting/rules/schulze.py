"""Schulze: whoever has a strongest path to every other at least as strong as the path back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule, beats_all, margin_square, margins


@dataclass(frozen=True)
class Schulze(Rule):
    """A path is as strong as its weakest margin."""

    name = "schulze"
    title = "Schulze"

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Margins of all ordered pairs."""
        return margins(votes, self.candidates)

    def winners(self, sums: IntArray) -> IntArray:
        """The first whom nobody has a stronger path to."""
        strength = margin_square(sums, self.candidates)
        for middle in range(self.candidates):
            through = np.minimum(strength[:, :, middle, None], strength[:, None, middle, :])
            np.maximum(strength, through, out=strength)
        strength[:, np.arange(self.candidates), np.arange(self.candidates)] = 0
        unbeaten = (strength >= strength.transpose(0, 2, 1)).all(axis=2)
        found: IntArray = np.argmax(unbeaten, axis=1).astype(np.int64)
        return found

    def settled(self, sums: IntArray) -> BoolArray:
        """Where somebody beats everybody else, and would whatever is added: they win."""
        return beats_all(sums, self.candidates)
