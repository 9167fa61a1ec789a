"""What every method is given, and what it has to say."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from safemargin.core import (
    Guarantee,
    Limits,
    Onlooker,
    Publication,
    PublishedTable,
    Table,
    Target,
    as_published,
    merged_margin,
)
from safemargin.release.decide.promise import population
from safemargin.release.decide.split import Split, split

Tables = tuple[PublishedTable, ...]

SUBTRACTION = "who knows every answer but one subtracts them from an exact count and learns the last"


@dataclass(frozen=True)
class Case:
    """A population, what is to be kept from whom, and the settings of the methods.

    The margins to be published are the total and one table per axis. `seed` is where record keys begin, None for fresh
    ones.
    """

    table: Table
    target: Target
    onlookers: tuple[Onlooker, ...]
    protect: str = "merge"
    epsilons: tuple[float, ...] = ()
    threshold: int = 10
    seed: int | None = 0

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """Every axis as it is."""
        return tuple(split(self.table, name) for name in self.table.schema.names)

    @cached_property
    def people(self) -> int:
        """Everybody on the roll."""
        return population(self.table)

    @property
    def covers_everybody(self) -> bool:
        """Whether everybody on the roll chose one of the options."""
        return int(self.table.totals.sum()) == self.people

    @cached_property
    def limits(self) -> Limits:
        """The target made concrete by the true totals, for every method alike."""
        return self.target.limits(self.table.totals.tolist(), self.people)

    @cached_property
    def exact(self) -> Tables:
        """The total and every axis exactly, each category by itself."""
        return exact_tables(self.table)


def exact_tables(table: Table) -> Tables:
    """The total and every axis, every category listed."""
    plain = {axis.name: [frozenset([category]) for category in axis.categories] for axis in table.schema.axes}
    total = as_published(table.margin(()), table.schema, "total")
    return (total, *(merged_margin(table, name, groups) for name, groups in plain.items()))


@dataclass(frozen=True)
class Method:
    """One way to publish.

    `draw(n)` gives `n` independent results as printed; all are equal unless it `is_random`. `known` is what an onlooker
    makes of one of them, knowing the rule or not. `loss` is the epsilon of differential privacy, `expected` the mean
    size of the noise on a count as its law says. `guarantee` is what is promised about regular cells, `promises` what
    is about odds. A method that is `refused` prints nothing; one that `must_be_safe` is refused if an attack succeeds.
    """

    name: str
    family: str
    does: str
    draw: Callable[[int], Iterable[Tables]]
    known: Callable[[Tables, Onlooker], Publication]
    is_random: bool = False
    loss: float | None = None
    expected: float | None = None
    guarantee: str = ""
    promises: tuple[Guarantee, ...] = ()
    auxiliary: str = SUBTRACTION
    refused: str = ""
    must_be_safe: bool = False
