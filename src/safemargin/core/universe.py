"""Where a promise holds: which data sets it is about, and which of them it keeps apart."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


@dataclass(frozen=True)
class Records:
    """One kind of record. `free`: these can differ while those of all other kinds stay as they are."""

    kind: str
    variables: tuple[str, ...] = ()
    free: bool = False


@dataclass(frozen=True)
class Nested:
    """How records of two units hang together, as a declared fact.

    Changing one `fine` record changes at most `up` `coarse` ones, and none comes or goes; changing, adding or removing
    one `coarse` record changes, adds or removes at most `down` `fine` ones (nothing is known about that if it is None).
    """

    fine: str
    coarse: str
    up: int = 1
    down: int | None = None


@dataclass(frozen=True)
class Population:
    """The data sets that a promise is about (its domain).

    `part_of` are larger domains that hold all of it. `determines` are functional dependencies, such as block -> county.
    """

    name: str = ""
    part_of: tuple[str, ...] = ()
    records: tuple[Records, ...] = ()
    determines: tuple[tuple[str, str], ...] = ()
    nested: tuple[Nested, ...] = ()

    def closure(self, variables: tuple[str, ...]) -> frozenset[str]:
        """The variables and everything that they determine."""
        found, waiting = set(variables), list(variables)
        while waiting:
            one = waiting.pop()
            for cause, effect in self.determines:
                if cause == one and effect not in found:
                    found.add(effect)
                    waiting.append(effect)
        return frozenset(found)

    def of_kind(self, kind: str) -> Records:
        """What is known about one kind of record."""
        return next((each for each in self.records if each.kind == kind), Records(kind))


class Fixes(StrEnum):
    """What an invariant is."""

    COUNTS = "counts"
    AT_LEAST = "at_least"
    LINEAR = "linear"
    FUNCTION = "function"
    EVERYTHING = "everything"


@dataclass(frozen=True)
class Invariant:
    """A statistic that is the same in all data sets of a universe.

    `COUNTS`: how many records of a kind there are by some variables. `AT_LEAST`: whether these counts reach `least`.
    `LINEAR`: `rows` times the vector of the counts of the cells `by`. `FUNCTION`: known by its name only.
    `EVERYTHING`: the data set itself, which leaves nothing to protect.
    """

    fixes: Fixes
    of: str
    by: tuple[str, ...] = ()
    least: int = 1
    rows: tuple[tuple[Fraction, ...], ...] = ()

    def __str__(self) -> str:
        across = f" by {' x '.join(self.by)}" if self.by else ""
        match self.fixes:
            case Fixes.COUNTS:
                return f"number of {self.of}{across}"
            case Fixes.AT_LEAST:
                return f"whether there are at least {self.least} {self.of}{across}"
            case Fixes.LINEAR:
                return f"{len(self.rows)} sums of {self.of}"
            case Fixes.EVERYTHING:
                return "the data themselves"
        return self.of


def counts(of: str, *by: str) -> Invariant:
    """The number of records of a kind by some variables.

    >>> print(counts("households", "state", "size"))
    number of households by state x size
    """
    return Invariant(Fixes.COUNTS, of, tuple(dict.fromkeys(by)))


def at_least(least: int, of: str, *by: str) -> Invariant:
    """Whether these counts reach a number: an inequality as an invariant.

    >>> print(at_least(1, "housing units", "block"))
    whether there are at least 1 housing units by block
    """
    return Invariant(Fixes.AT_LEAST, of, tuple(dict.fromkeys(by)), least)


def named(name: str) -> Invariant:
    """A statistic known by its name only."""
    return Invariant(Fixes.FUNCTION, name)
