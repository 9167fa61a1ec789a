"""What an onlooker who knows how noise is drawn believes about true counts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CountBelief:
    """About a cell that prints `printed`: the probability of every count that it can have come from.

    `chance` is how likely the number is to be printed, before it is known (None without a prior); `cells` how often a
    given table prints it.
    """

    printed: int
    counts: tuple[int, ...]
    probabilities: tuple[float, ...]
    chance: float | None = None
    cells: int = 0

    @property
    def guess(self) -> int:
        """The most probable count; of equals the smallest."""
        return self.counts[self.probabilities.index(max(self.probabilities))]

    @property
    def sure(self) -> float:
        """Probability of the most probable count."""
        return max(self.probabilities)

    def of(self, least: int, most: int) -> float:
        """Probability that the count is from `least` to `most`."""
        return sum(p for count, p in zip(self.counts, self.probabilities, strict=True) if least <= count <= most)


@dataclass(frozen=True)
class Beliefs:
    """Beliefs by printed number. With a prior, how often the best guess is right before and after seeing the number.

    `kept` is the probability that the printed number is the true count.
    """

    each: tuple[CountBelief, ...]
    small: int
    before: float | None = None
    after: float | None = None
    kept: float | None = None
