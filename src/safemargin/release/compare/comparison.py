"""Several ways to publish the same tables, measured side by side."""

from dataclasses import dataclass, field

from safemargin.core import Guarantee, Target


@dataclass(frozen=True)
class Learnt:
    """What one onlooker gets out of what a method publishes.

    `verdicts` counts intervals, `people_exposed` the people in at least one cell that an attack gave away.
    """

    onlooker: str
    verdicts: dict[str, int] = field(hash=False)
    people_exposed: int
    attacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Binding:
    """The outcome over everybody: whether its counts are exact, how far off they are, and how often the winner stays.

    `winner_kept` is the share of draws in which the options with most votes are the true ones.
    """

    exact: bool
    mean_error: float | None
    winner_kept: float


@dataclass(frozen=True)
class MeasuredMethod:
    """One method on one table. Errors are None where nothing is published.

    The error of a count is its distance from what a reader takes it for: what is printed, else its share by size of
    what is printed for its merged group or is left of the total. Errors are means over `draws`; so is the worst one.
    """

    method: str
    family: str
    does: str
    draws: int
    mean_error: float | None
    standard_error: float | None
    worst_error: float | None
    mean_relative_error: float | None
    worst_relative_error: float | None
    exact_cells: float
    exact_people: float
    binding: Binding
    loss: float | None
    learnt: tuple[Learnt, ...]
    is_published: bool = True
    promises: tuple[Guarantee, ...] = ()

    @property
    def people_exposed(self) -> int:
        """By the onlooker who gets most."""
        return max((each.people_exposed for each in self.learnt), default=0)


@dataclass(frozen=True)
class PropertyAnswer:
    """Whether a method has a property (`yes`, `partly`, `no`), and the figures that say so."""

    holds: str
    fact: str


@dataclass(frozen=True)
class Comparison:
    """All methods in order, and for every property one answer per method."""

    methods: tuple[MeasuredMethod, ...]
    properties: dict[str, tuple[PropertyAnswer, ...]] = field(hash=False)
    target: Target
    threshold: int
    people: int
    cells: int
    axes: int
