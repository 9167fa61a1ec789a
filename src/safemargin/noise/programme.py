"""Programmes of tables: which breakdowns are published together, as a TOML file lists them.

```toml
title = "Census"
areas = "GEO"

[variables]
SEX = ["F", "M"]                    # categories, or how many there are
AGE = 21
GEO = { region = 4, district = 40 } # levels that nest, the widest first

[[tables]]
axes = ["GEO", "SEX", "AGE"]        # published with all margins; "GEO.region" goes down to regions only
```

A variable may also be a section with `categories` or `levels`, and `tables` a list of lists of axes. With `total =
false` tables have no margins over it, as over the squares of a grid: `GRID = { categories = 500, total = false }`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainValidator, ValidationError
from pydantic_core import PydanticCustomError

from safemargin.core import RESERVED, InputError
from safemargin.io import ConfigSection, dotted_key, parse_toml, plain_label, read_text, shown_value, twice_in


@dataclass(frozen=True)
class Variable:
    """A breakdown of people, with as many categories as `sizes` says on each of its nested levels, the widest first.

    `categories` are those of the last level, where the file lists them.
    """

    name: str
    levels: tuple[str, ...]
    sizes: tuple[int, ...]
    categories: tuple[str, ...] = ()
    has_total: bool = True

    def label(self, level: int) -> str:
        """What a level (from 1) is called: the variable, if there is only one."""
        return self.name if len(self.levels) == 1 else f"{self.name}.{self.levels[level - 1]}"


@dataclass(frozen=True)
class PlannedTable:
    """A table with all margins: its variables, each down to a level (from 1)."""

    name: str
    axes: tuple[tuple[int, int], ...]


Statistic = tuple[tuple[int, int], ...]
"""Variables that are crossed, each with its level from 1, in order; the total has none."""


@dataclass(frozen=True)
class Programme:
    """Tables that are published together; `areas` is the level whose cells are the small areas."""

    title: str
    variables: tuple[Variable, ...]
    tables: tuple[PlannedTable, ...]
    areas: tuple[int, int] | None = None

    def label(self, statistic: Statistic) -> str:
        """A statistic by its variables."""
        return " x ".join(self.variables[v].label(level) for v, level in statistic) or "total"

    def size(self, variable: int, level: int) -> int:
        """Categories of a variable on a level; the total is one."""
        return self.variables[variable].sizes[level - 1] if level else 1

    def statistics_of(self, table: PlannedTable) -> Iterator[Statistic]:
        """Every combination of levels that a table prints, the total included unless a variable has none."""
        starts = [0 if self.variables[v].has_total else 1 for v, _ in table.axes]
        for levels in product(*(range(start, level + 1) for start, (_, level) in zip(starts, table.axes, strict=True))):
            yield tuple((v, level) for (v, _), level in zip(table.axes, levels, strict=True) if level)

    def cells(self, statistic: Statistic) -> int:
        """How many cells a statistic has."""
        return math.prod(self.size(v, level) for v, level in statistic)

    @property
    def small_areas(self) -> int:
        """How many small areas there are: as `areas` says, else the categories of the finest breakdown."""
        if self.areas is not None:
            return self.size(*self.areas)
        return max(self.size(v, level) for table in self.tables for v, level in table.axes)


def _rule(text: str, **values: object) -> PydanticCustomError:
    return PydanticCustomError("rule", text, values or None)


def _breakdown(value: object) -> Variable:
    """A variable without its name, from every way to write it."""
    has_total = True
    if isinstance(value, Mapping) and isinstance(value.get("total"), bool):
        has_total = value["total"]
        value = {key: entry for key, entry in value.items() if key != "total"}
    if isinstance(value, Mapping) and set(value) in ({"categories"}, {"levels"}):
        (value,) = value.values()
    levels: tuple[str, ...] = ("",)
    categories: tuple[str, ...] = ()
    sizes = [value]
    if isinstance(value, list):
        if not all(isinstance(name, str) and name for name in value):
            raise _rule("categories must be texts that are not empty")
        value = [plain_label(name) for name in value]
        if (twice := twice_in(value)) is not None:
            raise _rule("lists {name} twice", name=repr(twice))
        categories, sizes = tuple(value), [len(value)]
    elif isinstance(value, Mapping):
        levels, sizes = tuple(value), list(value.values())
    counts = []
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool):
            raise _rule("give the categories, how many there are, or levels")
        if size < 2:
            raise _rule("a variable has at least two categories; the nearest is 2")
        counts.append(size)
    # With fewer, some wide category would have a single part, and no total beside its parts.
    if not counts or any(fine < 2 * wide for wide, fine in pairwise(counts)):
        raise _rule("levels go from wide to fine, each with at least twice as many categories")
    return Variable("", levels, tuple(counts), categories, has_total)


class _TableSection(ConfigSection):
    name: str | None = None
    axes: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]


class _ProgrammeFile(ConfigSection):
    title: str = ""
    areas: str | None = None
    variables: Annotated[dict[str, Annotated[Variable, PlainValidator(_breakdown)]], Field(min_length=1)]
    tables: Annotated[
        tuple[Annotated[_TableSection, BeforeValidator(lambda v: {"axes": v} if isinstance(v, list) else v)], ...],
        Field(min_length=1, strict=False),
    ]


def load_programme(path: Path | str) -> Programme:
    """The programme that a TOML file lists."""
    path = Path(path)
    return parse_programme(read_text(path), str(path))


def parse_programme(text: str, name: str = "programme") -> Programme:
    """The programme in a text, whose file is called `name` in messages."""
    try:
        file = _ProgrammeFile.model_validate(parse_toml(text, name))
    except ValidationError as error:
        raise InputError(f"{name}: {_explained(error)}") from None
    variables = tuple(
        replace(value, name=key, levels=(key,) if value.levels == ("",) else value.levels)
        for key, value in file.variables.items()
    )
    _check_columns(name, variables)
    tables: list[PlannedTable] = []
    for number, given in enumerate(file.tables, 1):
        key = f"{name}: tables[{number}]"
        axes = sorted(_axis(f"{key}.axes", axis, variables) for axis in given.axes)
        for (v, _), (other, _) in pairwise(axes):
            if v == other:
                raise InputError(f"{key}.axes: {variables[v].name} is there twice")
        table = PlannedTable(str(number) if given.name is None else given.name, tuple(axes))
        if any(table.name == other.name for other in tables):
            raise InputError(f"{key}.name = {table.name!r}: another table has this name")
        tables.append(table)
    areas = None if file.areas is None else _axis(f"{name}: areas", file.areas, variables)
    return Programme(file.title, variables, tuple(tables), areas)


EXAMPLES = {
    ("variables",): "list the variables, e.g. [variables] with SEX = 2",
    ("tables",): 'list the tables, e.g. [[tables]] with axes = ["SEX", "AGE"]',
}


def _explained(error: ValidationError) -> str:
    """One error, an unknown key first: key, value and what is allowed. Tables are numbered from 1, as people count."""
    first = min(error.errors(), key=lambda entry: entry["type"] != "extra_forbidden")
    key = tuple(step + 1 if isinstance(step, int) else step for step in first["loc"])
    if first["type"] == "extra_forbidden":
        known = _ProgrammeFile if len(key) == 1 else _TableSection
        return f"{dotted_key(key)}: there is no such key; there are {', '.join(known.model_fields)}"
    if key in EXAMPLES:
        return f"{key[0]}: {EXAMPLES[key]}"
    if key[-1] == "axes":
        return f"{dotted_key(key)}: list at least one variable"
    value = "" if isinstance(first["input"], list) else shown_value(first["input"])
    return f"{dotted_key(key)}{value}: {'must be a text' if first['type'] == 'string_type' else first['msg']}"


def _check_columns(name: str, variables: tuple[Variable, ...]) -> None:
    """Names of variables and levels are columns of records and tables."""
    seen: set[str] = set()
    for variable in variables:
        for level in variable.levels:
            if level in RESERVED or not level:
                raise InputError(f"{name}: variables.{variable.name}: {level!r} is empty or reserved; rename it")
            # A level is a column of the records, so two variables cannot share one.
            if level in seen:
                raise InputError(f"{name}: variables.{variable.name}: {level!r} is named twice")
            seen.add(level)


def _axis(key: str, axis: str, variables: tuple[Variable, ...]) -> tuple[int, int]:
    """The number of a variable and how far down, from `GEO` or `GEO.region`."""
    labels = {
        variable.label(n): (v, n) for v, variable in enumerate(variables) for n in range(1, len(variable.sizes) + 1)
    }
    names = {variable.name: (v, len(variable.sizes)) for v, variable in enumerate(variables)}
    # A variable may itself have a dot in its name, so whole names come first.
    if axis not in names and axis not in labels:
        raise InputError(f"{key}: there is no variable {axis!r}; there are {', '.join(labels)}")
    return names[axis] if axis in names else labels[axis]
