"""What a protection guarantees, as a value that reports can print and software can compose, compare and check.

A guarantee has five blocks: the data sets it is about (`population`), what they must agree on to be compared
(`invariants`), the change it is about (`change`), how a change of the odds is measured (`measure`), and how much of it
(`budget`). The first four are its flavour. Budgets of different flavours are not on one scale.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from safemargin.core.errors import InputError

Amount = Fraction | float


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
class Limit:
    """Values that the counts of records of a kind by some variables can have: the admissible range of an invariant."""

    of: str
    by: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None

    def covers(self, other: "Limit") -> bool:
        """Whether the other range, of the same counts, lies inside."""
        inside = self.most is None or (other.most is not None and other.most <= self.most)
        return (self.of, self.by) == (other.of, other.by) and self.least <= other.least and inside

    def __str__(self) -> str:
        across = f" by {' x '.join(self.by)}" if self.by else ""
        return (
            f"number of {self.of}{across}: {self.least} to {self.most}"
            if self.most is not None
            else (f"number of {self.of}{across}: {self.least} or more")
        )


@dataclass(frozen=True)
class Population:
    """The data sets that a guarantee is about (its domain).

    `part_of` are larger domains that hold all of it. `determines` are functional dependencies, such as block -> county.
    `limits` say which values of counts are admissible: there are universes for these values alone.
    """

    name: str = ""
    part_of: tuple[str, ...] = ()
    records: tuple[Records, ...] = ()
    determines: tuple[tuple[str, str], ...] = ()
    nested: tuple[Nested, ...] = ()
    limits: tuple[Limit, ...] = ()

    def closure(self, variables: tuple[str, ...]) -> frozenset[str]:
        """The variables and everything that they determine."""
        reached, waiting = set(variables), list(variables)
        while waiting:
            variable = waiting.pop()
            for cause, effect in self.determines:
                if cause == variable and effect not in reached:
                    reached.add(effect)
                    waiting.append(effect)
        return frozenset(reached)

    def of_kind(self, kind: str) -> Records:
        """What is known about one kind of record."""
        return next((known for known in self.records if known.kind == kind), Records(kind))


class Fixes(StrEnum):
    """What an invariant is."""

    COUNTS = "counts"
    AT_LEAST = "at_least"
    LINEAR = "linear"
    INEQUALITY = "inequality"
    FUNCTION = "function"
    EVERYTHING = "everything"


@dataclass(frozen=True)
class Invariant:
    """A statistic that is the same in all data sets of a universe.

    `COUNTS`: how many records of a kind there are by some variables. `AT_LEAST`: whether these counts reach `least`.
    `LINEAR`: `rows` times the vector of the counts of the cells `by`; `INEQUALITY`: whether each of these sums reaches
    `least`. `FUNCTION`: known by its name only.
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
            case Fixes.INEQUALITY:
                return f"whether {len(self.rows)} sums of {self.of} are at least {self.least}"
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


class Distance(StrEnum):
    """How far two data sets are apart (the input premetric)."""

    HAMMING = "hamming"
    """Records to be changed, order aside; infinite between data sets of different size."""
    EXCHANGE = "exchange"
    """Exchanges of the answers of two records; infinite where these do not lead from one to the other."""
    ADD_REMOVE = "add_remove"
    """Records to be added or removed."""
    FROZEN = "frozen"
    """As `HAMMING`, but infinite where imputed records differ."""


class Measure(StrEnum):
    """How far two laws of the output are apart (the output premetric)."""

    PURE = "pure"
    """The largest log ratio of probabilities; its budget is epsilon."""
    ZCDP = "zcdp"
    """The normalised Renyi metric; its budget is kept as rho squared, which is what adds up."""
    APPROXIMATE = "approximate"
    """Epsilon at a delta: a way to display the others, about data sets that are one apart; it does not scale."""
    NONE = "none"
    """No guarantee of this kind."""


@dataclass(frozen=True)
class Change:
    """What a distance of one is: `distance` in records of `unit`."""

    distance: Distance = Distance.EXCHANGE
    unit: str = "answer"

    def __str__(self) -> str:
        descriptions = {
            Distance.HAMMING: f"one {self.unit} record changed",
            Distance.EXCHANGE: f"one exchange of two {self.unit}s",
            Distance.ADD_REMOVE: f"one {self.unit} record more or less",
            Distance.FROZEN: f"one {self.unit} record changed that was not imputed",
        }
        return descriptions[self.distance]


ONE_PERSON = Change(Distance.ADD_REMOVE, "person")


@dataclass(frozen=True)
class Guarantee:
    """A guarantee about what is published, and why it holds.

    Between any two data sets of `population` that agree on every one of `invariants` and are `d` apart by `change`, the
    laws of the output are at most `d` times the budget apart by `measure`. `budget` is epsilon (`PURE`, `APPROXIMATE`)
    or rho squared (`ZCDP`); None means that it is not known, or with the measure `NONE` that there is none.
    Where it depends on the universe, `varies` says on what, and `budget` is that of the universe at hand. `rule` is why
    it holds, from the `premises`.

    For noise on counts, `count` is the epsilon on each of them, and `choice` that of drawing which groups are noised;
    without it, who is noised follows from the answers. For swapping, `rate` makes the budget a function of the
    universe: that of its largest stratum.
    """

    mechanism: str
    statement: str
    budget: Amount | None = None
    invariants: tuple[Invariant, ...] = ()
    population: Population = Population()
    change: Change = Change()
    measure: Measure = Measure.PURE
    delta: float = 0.0
    varies: str = ""
    rule: str = "stated"
    premises: tuple["Guarantee", ...] = ()
    remarks: tuple[str, ...] = ()
    count: float | None = None
    choice: float | None = None
    rate: Fraction | None = None

    @property
    def epsilon(self) -> float | None:
        """The budget of pure differential privacy, or the epsilon at `delta`; None for any other guarantee."""
        shown = self.measure in (Measure.PURE, Measure.APPROXIMATE)
        return None if self.budget is None or not shown else float(self.budget)

    @property
    def rho_squared(self) -> Amount | None:
        """The budget of zero-concentrated differential privacy as it adds up; where epsilon was converted from it, too.

        Papers on the census write it as rho squared, most others as rho.
        """
        if self.measure is Measure.ZCDP:
            return self.budget
        converted = self.measure is Measure.APPROXIMATE and len(self.premises) == 1
        return self.premises[0].rho_squared if converted else None

    @property
    def flavour(self) -> tuple[object, ...]:
        """Everything but the budget: guarantees are on one scale where this is equal.

        >>> from dataclasses import replace
        >>> one = Guarantee("a", "", 1.0)
        >>> one.flavour == replace(one, budget=2.0).flavour
        True
        """
        return self.population, frozenset(self.invariants), self.change, self.measure, self.delta

    @property
    def amount(self) -> str:
        """The budget in words.

        >>> Guarantee("a", "", Fraction(263, 100), measure=Measure.ZCDP).amount
        'rho² = 2.63'
        >>> Guarantee("a", "").amount, Guarantee("a", "", math.inf).amount
        ('budget not known', 'no finite budget')
        """
        if self.measure is Measure.NONE:
            return "no budget"
        if self.budget is None:
            return "budget not known"
        if math.isinf(self.budget):
            return "no finite budget"
        if self.measure is Measure.ZCDP:
            return f"rho² = {float(self.budget):.6g}"
        suffix = f" at delta = {self.delta:g}" if self.measure is Measure.APPROXIMATE else ""
        return f"epsilon = {float(self.budget):.6g}{suffix}"


def about_a_person(mechanism: str, statement: str, epsilon: float, delta: float = 0.0) -> Guarantee:
    """A guarantee about one person more or less, except for results of probability `delta`."""
    measure = Measure.APPROXIMATE if delta else Measure.PURE
    return Guarantee(mechanism, statement, epsilon, change=ONE_PERSON, measure=measure, delta=delta)


def epsilon_of(rho_squared: float, delta: float) -> float:
    """The epsilon at `delta` of zero-concentrated privacy: Canonne, Kamath and Steinke (2020), corollary 13.

    >>> round(epsilon_of(293764 / 114921, 1e-10), 2)
    17.14
    """
    if not 0 < delta < 1:
        raise InputError(f"delta = {delta}: must be between 0 and 1; nearest is a small one, as 1e-10")
    if not 0 < rho_squared < math.inf:
        raise InputError(f"rho_squared = {rho_squared}: must be positive and finite; nearest is a small one, as 0.01")

    from scipy.optimize import minimize_scalar  # loaded here: it takes longer than most commands

    # Renyi order `order` gives this epsilon at delta; the best order is searched.
    def epsilon(order: float) -> float:
        return rho_squared * order + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)

    # Convex in log(order - 1). Every order gives a valid bound, so a search that ends early is safe.
    best = minimize_scalar(
        lambda power: epsilon(1 + math.exp(power)),
        bounds=(math.log(1e-9), math.log(1e9)),
        method="bounded",
        options={"xatol": 1e-12, "maxiter": 200},
    )
    return max(0.0, float(best.fun))
