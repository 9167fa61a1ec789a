"""What a table ranges over: axes with their categories and hierarchies, and the options of an answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from safemargin.core.arrays import BoolArray
from safemargin.core.errors import InputError

RESERVED = ("option", "count", "people", "lower", "upper", "status")
"""Column names of tidy tables that cannot name an axis."""


@dataclass(frozen=True)
class Hierarchy:
    """The categories of an axis and the wider groups they add up to, as nodes: the total (node 0), groups, leaves.

    `splits` says which nodes add up to which. Several hierarchies of the same categories share nodes; each has splits
    of its own, the one of the total first.
    """

    name: str
    labels: tuple[str, ...]
    splits: tuple[tuple[int, tuple[int, ...]], ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for text in self.labels:
            if text in seen:
                raise InputError(f"axis {self.name!r}: {text!r} names two nodes of the hierarchy")
            seen.add(text)

    @classmethod
    def flat(cls, name: str, categories: Sequence[str], total: str = "Total") -> "Hierarchy":
        """The categories add up to the total, and there is nothing between.

        >>> Hierarchy.flat("sex", ("f", "m")).splits
        ((0, (1, 2)),)
        """
        while total in categories:
            total = f"({total})"
        return cls(name, (total, *categories), ((0, tuple(range(1, len(categories) + 1))),))

    @classmethod
    def from_parents(cls, name: str, categories: Sequence[str], *trees: Mapping[str, str]) -> "Hierarchy":
        """Hierarchies that map a category to the wider area it lies in, and that to the next wider one.

        >>> Hierarchy.from_parents("area", ("a", "b"), {"a": "north", "north": "all"}).trees
        ({'a': 'north', 'north': 'all'},)
        """
        used = {*categories, *(node for tree in trees for step in tree.items() for node in step)}
        flat = cls.flat(name, tuple(used))
        node_of = {flat.labels[0]: 0}
        splits: list[tuple[int, tuple[int, ...]]] = []
        for tree in trees or ({},):
            children: dict[str, dict[str, None]] = {flat.labels[0]: {}}
            for category in categories:
                path = [category]
                while path[-1] in tree:
                    path.append(tree[path[-1]])
                    # A file may say that an area lies in itself, also over several steps.
                    if path[-1] in path[:-1]:
                        raise InputError(f"axis {name!r}: the hierarchy goes round in a circle at {path[-1]!r}")
                for child, parent in zip(path, [*path[1:], flat.labels[0]], strict=True):
                    children.setdefault(parent, {})[child] = None
            for parent, below in children.items():
                nodes = tuple(node_of.setdefault(child, len(node_of)) for child in below)
                splits.append((node_of.setdefault(parent, len(node_of)), nodes))
        return cls(name, tuple(node_of), tuple(splits))

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Nodes that nothing adds up to."""
        parents = {parent for parent, _ in self.splits}
        return tuple(node for node in range(len(self.labels)) if node not in parents)

    @cached_property
    def members(self) -> BoolArray:
        """Which leaves (columns, in the order of `leaves`) each node (row) is made of."""
        inside = np.zeros((len(self.labels), len(self.leaves)), dtype=bool)
        inside[list(self.leaves), np.arange(len(self.leaves))] = True
        for _ in self.labels:  # splits come in any order, so repeat until nothing changes: at most once per level
            before = int(inside.sum())
            for parent, children in self.splits:
                inside[parent] |= inside[list(children)].any(axis=0)
            if int(inside.sum()) == before:
                break
        return inside

    @cached_property
    def trees(self) -> tuple[Mapping[str, str], ...]:
        """The label right above each label, one mapping per hierarchy; what lies right below the total has none."""
        trees: list[dict[str, str]] = []
        for parent, children in self.splits:
            if parent == 0:  # every hierarchy starts with its split of the total
                trees.append({})
            else:
                trees[-1] |= dict.fromkeys((self.labels[child] for child in children), self.labels[parent])
        return tuple(trees)


@dataclass(frozen=True)
class Axis:
    """A column that people are grouped by.

    `ordered` categories (age bands) are merged with neighbours only. Categories that are `apart` are never merged into
    one group. `weights` say what a category is worth per person; one if absent. With `epsilon`, every count of the
    axis is noised at that cost per person.
    """

    name: str
    categories: tuple[str, ...]
    ordered: bool = False
    hierarchy: Hierarchy | None = field(default=None, hash=False)
    apart: frozenset[frozenset[str]] = frozenset()
    weights: Mapping[str, int] = field(default_factory=dict, hash=False)
    epsilon: float | None = None

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

    @property
    def parents(self) -> Mapping[str, str]:
        """The wider area that a category or area lies in, in the first hierarchy."""
        return {} if self.hierarchy is None else self.hierarchy.trees[0]

    def ancestors(self, category: str) -> tuple[str, ...]:
        """The areas that contain `category` in the first hierarchy, from the smallest up.

        >>> parents = {"a": "north", "b": "north", "north": "all"}
        >>> Axis("area", ("a", "b"), hierarchy=Hierarchy.from_parents("area", "ab", parents)).ancestors("a")
        ('north', 'all')
        """
        path = [category]
        while path[-1] in self.parents:
            path.append(self.parents[path[-1]])
        return tuple(path[1:])

    @cached_property
    def kept(self) -> frozenset[str]:
        """Categories that are apart from all others, so that they are never merged.

        >>> pairs = frozenset(map(frozenset, (("a", "b"), ("a", "c"))))
        >>> sorted(Axis("site", ("a", "b", "c"), apart=pairs).kept)
        ['a']
        """
        pairs = Counter(category for pair in self.apart for category in pair)
        others = len(self.categories) - 1
        return frozenset(category for category, count in pairs.items() if others and count == others)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of every category."""
        return {category: code for code, category in enumerate(self.categories)}


@dataclass(frozen=True)
class Schema:
    """The axes of a population and the options that each of its people may choose.

    `ordered_options` says that the options are a scale, from one end to the other, such as 1 to 5.
    """

    axes: tuple[Axis, ...]
    options: tuple[str, ...]
    ordered_options: bool = False

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.axes]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"axis {name!r} is declared twice")
        if not self.options:
            raise InputError("an answer needs at least one option")
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
