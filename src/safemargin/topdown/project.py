"""The TOML file that describes a TopDown release: people, areas, attributes, budget and constraints.

What the parts must satisfy
    * Shares of levels add up to 1, and so do the shares of the queries of every level. They are fractions: TOML's 0.1
      means 1/10, since a sum of floats that is nearly 1 would spend nearly the budget.
    * Invariants, bounds and earlier tables name a level and a query; `total` of the root is always exact, as data sets
      are compared that have equally many people.
    * Zeros are cells that are empty in all data whatsoever. They are facts about people, never about this file: what
      the data happen to lack must not be written there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator as model_rule

from safemargin.core import InputError, exact_number, rounded
from safemargin.io import (
    ConfigSection,
    File,
    Label,
    Labels,
    Name,
    Names,
    Share,
    check_columns,
    explain,
    parse_toml,
    plain_label,
    read_sheet,
    read_text,
    twice_in,
)
from safemargin.topdown.attributes import DETAILED, TOTAL, Attributes, Grouping, MarginQuery, build_grouping


@dataclass(frozen=True)
class _Unusable:
    """A number that is not finite or has too many digits. No key accepts it; messages show it as written."""

    text: str

    def __repr__(self) -> str:
        return self.text


def _parse_float(text: str) -> Fraction | _Unusable:
    """A TOML float as a fraction: 0.1 means 1/10, so that shares can add up to exactly 1.

    >>> str(_parse_float("0.1")), _parse_float("inf")
    ('1/10', inf)
    """
    # TOML floats are read as fractions: 0.1 means 1/10, so that shares can add up to exactly 1.
    try:
        return exact_number(text)
    except ValueError:
        return _Unusable(text)


# Columns of the files that are written.
RESERVED = {"count", "status", "noisy_count", "variance", "estimate", "standard_error", "at_least", "at_most"}

Shares = Mapping[Name, Share]
Model = TypeVar("Model", bound=ConfigSection)


class PeopleSection(ConfigSection):
    """The file of people; it is confidential."""

    file: File = Field(description="CSV, Parquet or JSON lines, a row per person")
    count: Name | None = Field(default=None, description="column with the number of people a row stands for")
    unit: Name = Field(default="person", description="what a record is: person, household, ...")
    engine: Literal["duckdb", "spark"] = Field(default="duckdb", description="what counts people and draws noise")
    master: Name | None = Field(default=None, description="cluster of Spark, as in spark://HOST:7077; default: local")


class SpineSection(ConfigSection):
    """The areas."""

    levels: Names = Field(description="columns with the areas, from wide to narrow")
    root: Name = Field(default="all", description="what everything together is called")
    file: File | None = Field(default=None, description="all areas, also empty ones; default: those in the data")


class GroupingSection(ConfigSection):
    """Categories of an attribute merged into groups, stated here or in a file with a row per category."""

    of: Name = Field(description="one of the attributes")
    groups: Mapping[Label, Labels] | None = Field(default=None, description="categories by group")
    file: File | None = Field(
        default=None, description="CSV file with a column of the attribute and one of the grouping"
    )


class BudgetSection(ConfigSection):
    """The budget and how it is split."""

    rho_squared: Share = Field(description="rho² of zero-concentrated differential privacy")
    delta: Share = Field(default=Fraction(1, 10**10), description="for the conversion to epsilon")
    levels: Shares = Field(description="share of every level")
    queries: Shares = Field(default={}, description="share of every query, on levels that `at` does not list")
    at: Mapping[Name, Shares] = Field(default={}, description="shares of the queries of one level")

    @model_rule(mode="before")
    @classmethod
    def _former_name(cls, value: object) -> object:
        if isinstance(value, Mapping) and "rho" in value:
            raise InputError("budget.rho: is called rho_squared, as in guarantees; the number stays the same")
        return value


class MarginSection(ConfigSection):
    """A margin of the areas of one level."""

    level: Name = Field(description="one of the levels")
    query: Name = Field(default=TOTAL, description="total, detailed, or attributes joined by *")


class FileSection(MarginSection):
    """Limits of a margin, from a file."""

    file: File = Field(description="tidy file of the level, the attributes and the limits or counts")


class BoundsSection(FileSection):
    """Limits of a margin, or a number of units and how many people each unit has."""

    units: Name | None = Field(default=None, description="column with a number of units, such as homes")
    each: Annotated[tuple[int, ...], Field(strict=False)] | None = Field(
        default=None, description="the least and the most people in a unit"
    )
    free: Mapping[Name, Labels] = Field(default={}, description="categories of people who need not be in a unit")

    @model_rule(mode="after")
    def _units_have_people(self) -> Self:
        if (self.units is None) != (self.each is None):
            raise InputError("bounds: state both units and each, or neither")
        if self.free and self.units is None:
            raise InputError("bounds.free: applies to units only; name the column of units")
        if self.each is not None and (len(self.each) != 2 or not 0 <= self.each[0] <= self.each[1]):
            raise InputError(f"bounds.each = {list(self.each)}: must be the least and the most people in a unit")
        return self


class EarlierSection(FileSection):
    """Counts that were published before, and the guarantee of that release."""

    guarantee: File | None = Field(default=None, description="manifest or guarantee.json of the release of this table")


class TablesSection(ConfigSection):
    """How integer tables are computed."""

    passes: Names | None = Field(default=None, description="margins that are solved one after the other")
    microdata: bool = Field(default=False, description="also write a record for everybody in the smallest areas")


class TopDownProject(ConfigSection):
    """A TopDown release as its user describes it."""

    title: str = Field(default="", description="what the release is called")
    data: PeopleSection
    spine: SpineSection
    attributes: Mapping[Name, Labels] = Field(min_length=1, description="categories by column")
    groupings: Mapping[Name, GroupingSection] = Field(default={}, description="groups of categories to count by")
    budget: BudgetSection
    invariants: Annotated[tuple[MarginSection, ...], Field(strict=False)] = ()
    zeros: Annotated[tuple[Mapping[Name, Labels], ...], Field(strict=False)] = ()
    bounds: Annotated[tuple[BoundsSection, ...], Field(strict=False)] = ()
    earlier: Annotated[tuple[EarlierSection, ...], Field(strict=False)] = ()
    tables: TablesSection = TablesSection()

    @classmethod
    def load(cls, path: Path) -> "TopDownProject":
        """The release that a TOML file describes; its paths are relative to its folder."""
        return load_section(cls, path)

    @cached_property
    def kinds(self) -> Attributes:
        """The attributes and groupings that people are counted by."""
        groupings = tuple(read_grouping(name, section, self.attributes) for name, section in self.groupings.items())
        for grouping, other in combinations(groupings, 2):
            if (grouping.axis, grouping.codes) == (other.axis, other.codes):
                raise InputError(f"groupings.{other.name}: has the same groups as {grouping.name!r}; drop one of them")
        return Attributes(tuple(self.attributes), tuple(self.attributes.values()), groupings)

    @property
    def levels(self) -> tuple[str, ...]:
        """All levels, that of everything first."""
        return (self.spine.root, *self.spine.levels)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Share of the budget by level."""
        return tuple(self.budget.levels[level] for level in self.levels)

    @property
    def queries(self) -> tuple[dict[MarginQuery, Fraction], ...]:
        """Share of every query, by level."""
        levels = []
        for level in self.levels:
            given = self.budget.at.get(level, self.budget.queries)
            named = [(self.kinds.query(text), share) for text, share in given.items()]
            if len({query for query, _ in named}) < len(named):
                raise InputError(f"budget: {level}: two queries count the same; add up their shares")
            levels.append(dict(named))
        return tuple(levels)

    @property
    def passes(self) -> tuple[MarginQuery, ...]:
        """Margins to solve in turn: as stated; by default those with bounds (or else the total), then all."""
        if self.tables.passes is not None:
            return tuple(map(self.kinds.query, self.tables.passes))
        first = MarginQuery(())
        for section in (*self.bounds, *self.earlier):
            first |= self.kinds.query(section.query)
        if not self.kinds.is_named(first):  # groups that cross: their common refinement has no name to publish
            first = MarginQuery(first.axes)
        return tuple(dict.fromkeys((first, self.kinds.detailed)))

    def margin(self, section: MarginSection) -> tuple[int, MarginQuery]:
        """The level, by number, and the margin that a section is about."""
        return self.levels.index(section.level), self.kinds.query(section.query)

    @model_rule(mode="after")
    def _sections_agree(self) -> Self:
        """Refuse a file whose sections do not fit each other: names used twice or reserved, levels without a share,
        queries and
        categories that there are none of. Each message names the key.
        """
        names = (*self.levels, *self.attributes, *self.groupings)
        if (twice := twice_in(name.lower() for name in names)) is not None:
            raise InputError(f"{twice!r} is the name of two levels, attributes or groupings")
        for name in names:
            if "*" in name:
                raise InputError(f"{name!r} cannot be the name of a level or attribute: * joins attributes")
            if name.lower() in RESERVED:
                raise InputError(f"{name!r} cannot be the name of a level or attribute: published files use it")
        for name in (*self.attributes, *self.groupings):
            if name in (TOTAL, DETAILED):
                raise InputError(f"{name!r} cannot be the name of an attribute: it is that of a query")
        for name, categories in self.attributes.items():
            if (twice := twice_in(categories)) is not None:
                raise InputError(f"attributes.{name}: lists {twice!r} twice")
        if self.budget.delta >= 1 or not 0 < float(self.budget.delta) < 1:  # also as a float, for conversions
            raise InputError(f"budget.delta = {rounded(self.budget.delta)}: must lie between 0 and 1")
        self._check_levels("budget.levels", self.budget.levels)
        self._check_levels("budget.at", self.budget.at)
        for level in self.levels:
            if level not in self.budget.levels:
                raise InputError(f"budget.levels.{level} is missing: every level needs a share, which may be 0")
        for where, sections in (("invariants", self.invariants), ("bounds", self.bounds), ("earlier", self.earlier)):
            self._check_levels(where, [section.level for section in sections])
            for section in sections:
                self.kinds.query(section.query)
        for zero in self.zeros:
            if not zero:
                raise InputError("zeros: names no attribute, so every cell would be empty")
            self._check_categories("zeros", zero, (*self.attributes, *self.groupings))
        for bound in self.bounds:
            columns = self.kinds.columns(self.kinds.query(bound.query))
            self._check_categories("bounds.free", bound.free, [name for name, _ in columns])
        return self

    def _check_categories(self, where: str, stated: Mapping[str, Sequence[str]], names: Sequence[str]) -> None:
        """Refuse categories of attributes that the file does not list."""
        for name, categories in stated.items():
            if name not in names:
                raise InputError(f"{where}: there is no attribute {name!r}; there are {', '.join(names)}")
            ((_, labels),) = self.kinds.columns(self.kinds.query(name))
            unknown = next((category for category in categories if category not in labels), None)
            if unknown is not None:
                raise InputError(f"{where}.{name}: {unknown!r} is not one of its categories")

    def _check_levels(self, where: str, names: Iterable[str]) -> None:
        """Refuse levels that the file does not list."""
        for name in names:
            if name not in self.levels:
                raise InputError(f"{where}: there is no level {name!r}; the levels are {', '.join(self.levels)}")


def load_section(kind: type[Model], path: Path) -> Model:
    """A section, or a whole file, from TOML; its paths are relative to the folder of the file."""
    values = parse_toml(read_text(path), path, _parse_float)
    try:
        return kind.model_validate(values, context={"folder": path.parent})
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error)}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_grouping(name: str, section: GroupingSection, attributes: Mapping[str, Sequence[str]]) -> Grouping:
    """A grouping as stated or from its file; it must group all categories of its attribute."""
    where, of = f"groupings.{name}", section.of
    if of not in attributes:
        raise InputError(f"{where}.of = {of!r}: must be one of the attributes ({', '.join(attributes)})")
    if (section.groups is None) == (section.file is None):
        raise InputError(f"{where}: state either groups or a file")
    groups: Mapping[str, Sequence[str]] = section.groups or {}
    if section.file is not None:
        where, groups = str(section.file), _read_groups(section.file, of, name)
    try:
        return build_grouping(name, of, list(attributes).index(of), attributes[of], groups)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _read_groups(path: Path, of: str, name: str) -> dict[str, list[str]]:
    """Categories by group, from a file with a row per category."""
    sheet = read_sheet(path)
    check_columns(path, sheet.columns, (of, name))
    groups: dict[str, list[str]] = {}
    columns = (map(plain_label, sheet.columns[each]) for each in (of, name))
    for row, (category, group) in enumerate(zip(*columns, strict=True)):
        if not category or not group:
            raise InputError(f"{path}: {sheet.place(row)}: a category or its group is missing")
        groups.setdefault(group, []).append(category)
    return groups
