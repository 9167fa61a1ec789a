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

A variable may also be a section with `categories` or `levels`, and `tables` a list of lists of axes.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safemargin.core import RESERVED, InputError

KEYS = ("title", "areas", "variables", "tables")


@dataclass(frozen=True)
class Variable:
    """A breakdown of people, with as many categories as `sizes` says on each of its nested levels, the widest first.

    `categories` are those of the last level, where the file lists them.
    """

    name: str
    levels: tuple[str, ...]
    sizes: tuple[int, ...]
    categories: tuple[str, ...] = ()

    def label(self, level: int) -> str:
        """What a level (from 1) is called: the variable, if there is only one."""
        return self.name if len(self.levels) == 1 else f"{self.name}.{self.levels[level - 1]}"


@dataclass(frozen=True)
class PlannedTable:
    """A table with all margins: its variables, each down to a level (from 1)."""

    name: str
    axes: tuple[tuple[int, int], ...]


Statistic = tuple[tuple[int, int], ...]
"""Variables that are crossed, each with its level from 1, in order; none are for the total."""


@dataclass(frozen=True)
class Programme:
    """Tables that are published together; `areas` is the level whose cells are the small areas."""

    title: str
    variables: tuple[Variable, ...]
    tables: tuple[PlannedTable, ...]
    areas: tuple[int, int] | None = None

    def label(self, statistic: Statistic) -> str:
        """A statistic by its variables."""
        return " x ".join(self.variables[at].label(level) for at, level in statistic) or "total"

    def size(self, at: int, level: int) -> int:
        """Categories of a variable on a level; the total is one."""
        return self.variables[at].sizes[level - 1] if level else 1

    def cells(self, statistic: Statistic) -> int:
        """How many cells a statistic has."""
        found = 1
        for at, level in statistic:
            found *= self.size(at, level)
        return found

    @property
    def small_areas(self) -> int:
        """How many small areas there are: as `areas` says, else the categories of the finest breakdown."""
        if self.areas is not None:
            return self.size(*self.areas)
        return max(self.size(at, level) for table in self.tables for at, level in table.axes)


def load_programme(path: Path | str) -> Programme:
    """The programme that a TOML file lists."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8; save the file as UTF-8") from None
    return parse_programme(text, str(path))


def parse_programme(text: str, name: str = "programme") -> Programme:
    """The programme in a text, whose file is called `name` in messages."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: {error}") from None
    unknown = next((key for key in found if key not in KEYS), None)
    if unknown is not None:
        raise InputError(f"{name}: {unknown}: there is no such key; there are {', '.join(KEYS)}")
    title, areas, variables, tables = (found.get(key) for key in KEYS)
    if not isinstance(variables, dict) or not variables:
        raise InputError(f"{name}: variables: list the variables, e.g. [variables] with SEX = 2")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict | list) for table in tables):
        raise InputError(f'{name}: tables: list the tables, e.g. [[tables]] with axes = ["SEX", "AGE"]')
    if not isinstance(title, str | None):
        raise InputError(f"{name}: title = {title!r}: must be a text")
    known = tuple(_variable(f"{name}: variables.{key}", key, value) for key, value in variables.items())
    _check_columns(name, known)
    listed = tuple(_table(f"{name}: tables[{place}]", place, table, known) for place, table in enumerate(tables, 1))
    _check_names(name, listed)
    finest = None if areas is None else _axis(f"{name}: areas", areas, known)
    return Programme(title or "", known, listed, finest)


def _variable(where: str, name: str, value: object) -> Variable:
    if isinstance(value, Mapping) and set(value) in ({"categories"}, {"levels"}):
        (value,) = value.values()
    if isinstance(value, list):
        if not all(isinstance(each, str) and each for each in value):
            raise InputError(f"{where}: categories must be texts that are not empty")
        twice = next((each for at, each in enumerate(value) if each in value[:at]), None)
        if twice is not None:
            raise InputError(f"{where}: lists {twice!r} twice")
        return Variable(name, (name,), (_size(where, len(value)),), tuple(value))
    if isinstance(value, Mapping):
        sizes = tuple(_size(f"{where}.{level}", size) for level, size in value.items())
        if not sizes or any(fine < 2 * wide for wide, fine in zip(sizes, sizes[1:], strict=False)):
            raise InputError(f"{where}: levels go from wide to fine, each with at least twice as many categories")
        return Variable(name, tuple(value), sizes)
    return Variable(name, (name,), (_size(where, value),))


def _size(where: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{where} = {value!r}: give the categories, how many there are, or levels")
    if value < 2:
        raise InputError(f"{where} = {value}: a variable has at least two categories; the nearest is 2")
    return value


def _check_columns(name: str, variables: tuple[Variable, ...]) -> None:
    """Names of variables and levels are columns of records and tables."""
    seen: set[str] = set()
    for variable in variables:
        for level in variable.levels:
            if level in RESERVED or not level:
                raise InputError(f"{name}: variables.{variable.name}: {level!r} is empty or reserved; rename it")
            if level in seen:
                raise InputError(f"{name}: variables.{variable.name}: {level!r} is named twice")
            seen.add(level)


def _check_names(name: str, tables: tuple[PlannedTable, ...]) -> None:
    seen: set[str] = set()
    for place, table in enumerate(tables, 1):
        if table.name in seen:
            raise InputError(f"{name}: tables[{place}].name = {table.name!r}: another table has this name")
        seen.add(table.name)


def _table(
    where: str, place: int, table: Mapping[str, object] | list[object], variables: tuple[Variable, ...]
) -> PlannedTable:
    if isinstance(table, list):
        table = {"axes": table}
    unknown = next((key for key in table if key not in ("name", "axes")), None)
    if unknown is not None:
        raise InputError(f"{where}.{unknown}: there is no such key; a table has name and axes")
    axes, name = table.get("axes"), table.get("name", str(place))
    if not isinstance(axes, list) or not axes:
        raise InputError(f"{where}.axes: list at least one variable")
    if not isinstance(name, str):
        raise InputError(f"{where}.name = {name!r}: must be a text")
    found = sorted(_axis(f"{where}.axes", axis, variables) for axis in axes)
    for (at, _), (other, _) in zip(found, found[1:], strict=False):
        if at == other:
            raise InputError(f"{where}.axes: {variables[at].name} is there twice")
    return PlannedTable(name, tuple(found))


def _axis(where: str, axis: object, variables: tuple[Variable, ...]) -> tuple[int, int]:
    """The place of a variable and how far down, from `GEO` or `GEO.region`."""
    for at, variable in enumerate(variables):
        if axis == variable.name:
            return at, len(variable.sizes)
        for level in range(1, len(variable.sizes) + 1):
            if axis == variable.label(level):
                return at, level
    labels = [each.label(level) for each in variables for level in range(1, len(each.sizes) + 1)]
    raise InputError(f"{where}: there is no variable {axis!r}; there are {', '.join(labels)}")
