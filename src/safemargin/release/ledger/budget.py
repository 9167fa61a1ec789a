"""How far along a population is: counts published against people (Prop. 8 of the paper), and the floor."""

from collections.abc import Sequence
from dataclasses import dataclass

from safemargin.release.ledger.entry import Entry


@dataclass(frozen=True)
class Budget:
    """`queries` counts per option were published in all cycles about `people` people.

    Over a stable electorate, about as many counts as people would fix everybody's answer. `epsilon` is what noise cost
    somebody at most who was there in every cycle and always answered alike.
    """

    queries: int
    people: int
    epsilon: float = 0.0

    def document(self) -> dict[str, float]:
        """The same for a document."""
        return {"queries": self.queries, "people": self.people, "share": self.share, "epsilon": self.epsilon}

    @property
    def share(self) -> float:
        """How much of that is used."""
        return self.queries / max(self.people, 1)


def budget(entries: Sequence[Entry]) -> Budget:
    """What the releases about one population have used, measured against the fewest people it ever had."""
    return Budget(
        sum(entry.queries for entry in entries),
        min((entry.people for entry in entries), default=0),
        sum(entry.epsilon for entry in entries),
    )


def recommended_kappa(entries: Sequence[Entry], answered: int) -> int:
    """The floor that is the same share of those who answered as every earlier floor was, rounded down; never lower.

    >>> recommended_kappa([], 500)
    1
    """
    return max(
        (max(entry.target.kappa, entry.target.kappa * answered // max(entry.answered, 1)) for entry in entries),
        default=1,
    )
