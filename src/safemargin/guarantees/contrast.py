"""Two guarantees held against each other, block by block."""

from dataclasses import dataclass
from enum import StrEnum

from safemargin.core import Guarantee


class Standing(StrEnum):
    """How the first guarantee stands to the second."""

    EQUAL = "equal"
    STRONGER = "stronger"
    WEAKER = "weaker"
    INCOMPARABLE = "incomparable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Block:
    """One of the five blocks of a guarantee: what both say, how the first stands to the second, and why."""

    name: str
    one: str
    other: str
    standing: Standing
    why: str


@dataclass(frozen=True)
class Implication:
    """Whether whatever satisfies one guarantee satisfies another (None: not known), and why."""

    answer: bool | None = None
    why: str = ""


@dataclass(frozen=True)
class Contrast:
    """The five blocks, what follows from all of them, and what must not be read into the budgets.

    `down` says whether the first implies the second, `up` the same the other way round.
    """

    one: Guarantee
    other: Guarantee
    blocks: tuple[Block, ...]
    overall: Standing
    warnings: tuple[str, ...] = ()
    down: Implication = Implication()
    up: Implication = Implication()

    def block(self, name: str) -> Block:
        """The block of that name."""
        return next(each for each in self.blocks if each.name == name)
