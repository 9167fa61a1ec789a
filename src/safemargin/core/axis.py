"""What a table ranges over: axes with their categories and hierarchies, and the options of a ballot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from safemargin.core.errors import InputError

RESERVED = ("option", "count", "people", "lower", "upper", "status")
"""Column names of tidy tables that cannot name an axis."""


@dataclass(frozen=True)
class Axis:
    """A demographic dimension.

    `parents` maps a category to the wider area it lies in, and that to the next wider one; `other_parents` are further
    hierarchies of the same categories. `ordered` categories (age bands) are merged with neighbours only. Categories
    that are `apart` are never merged into one group. `weights` say what a category is worth per person; one if absent.
    """

    name: str
    categories: tuple[str, ...]
    ordered: bool = False
    parents: Mapping[str, str] = field(default_factory=dict, hash=False)
    other_parents: tuple[Mapping[str, str], ...] = field(default=(), hash=False)
    apart: frozenset[frozenset[str]] = frozenset()
    weights: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.name or self.name in RESERVED:
            raise InputError(f"axis name {self.name!r} is empty or reserved; rename the column")
        if not self.categories:
            raise InputError(f"axis {self.name!r} has no categories")
        seen: set[str] = set()
        for category in self.categories:
            if category in seen:
                raise InputError(f"axis {self.name!r} lists category {category!r} twice")
            seen.add(category)
        for category in self.categories:
            self.ancestors(category)

    def ancestors(self, category: str) -> tuple[str, ...]:
        """The areas that contain `category`, from the smallest up.

        >>> Axis("area", ("a", "b"), parents={"a": "north", "b": "north", "north": "all"}).ancestors("a")
        ('north', 'all')
        """
        path: list[str] = []
        node = category
        while node in self.parents:
            node = self.parents[node]
            if node in path or node == category:
                raise InputError(f"axis {self.name!r}: the hierarchy goes round in a circle at {node!r}")
            path.append(node)
        return tuple(path)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of every category."""
        return {category: code for code, category in enumerate(self.categories)}


@dataclass(frozen=True)
class Schema:
    """The axes of a population and the options that each of its people may choose."""

    axes: tuple[Axis, ...]
    options: tuple[str, ...]

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.axes]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"axis {name!r} is declared twice")
        if not self.options:
            raise InputError("a ballot needs at least one option")
        for option in self.options:
            if self.options.count(option) > 1:
                raise InputError(f"option {option!r} is declared twice")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes, in order."""
        return tuple(axis.name for axis in self.axes)

    def axis(self, name: str) -> Axis:
        """The axis called `name`."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise InputError(f"there is no axis {name!r}; the axes are {', '.join(self.names) or '(none)'}")
