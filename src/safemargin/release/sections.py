"""The parts of a project file."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo
from pydantic import field_validator as field_rule
from pydantic import model_validator as model_rule
from pydantic_core import PydanticCustomError

from safemargin.core import Target
from safemargin.io import File, Files, Name, Names, Pair, Section, distinct
from safemargin.release.plan import Asked

Composition = Literal["none", "sizes", "joint"]
Protection = Literal["merge", "noise", "suppress"]
Format = Literal["csv", "parquet", "json"]


class DataSection(Section):
    """One file with a row per person, or per group of equal people."""

    file: File = Field(description="CSV, TSV, Parquet, JSON lines or SQLite file")
    table: Name | None = Field(default=None, description="table of an SQLite file")
    answer: Name = Field(description="column with the answer")
    options: Names | None = Field(default=None, description="allowed answers in order; default: those seen, sorted")
    blank: Name | None = Field(
        default=None, description="option that an empty answer counts as; without it, it is an error"
    )
    count: Name | None = Field(
        default=None, description="column with the number of people a row stands for; default: one"
    )

    @model_rule(mode="before")
    @classmethod
    def _old_name(cls, value: object) -> object:
        if isinstance(value, dict) and "ballot" in value and "answer" not in value:  # its name until version 0.1
            return {"answer" if key == "ballot" else key: entry for key, entry in value.items()}
        return value

    @field_rule("options")
    @classmethod
    def _options_differ(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return value if value is None else distinct(value)

    @field_rule("blank")
    @classmethod
    def _blank_is_an_option(cls, value: str | None, info: ValidationInfo) -> str | None:
        options = info.data.get("options")
        if value is not None and options is not None and value not in options:
            raise PydanticCustomError("rule", "must be one of data.options ({names})", {"names": ", ".join(options)})
        return value


class TalliesSection(Section):
    """Sealed elections: one tidy file per axis, and none with axes together."""

    files: Mapping[Name, File] = Field(min_length=1, description="axis = file with columns axis, option, count")
    total: File | None = Field(default=None, description="tier 0, its own election: columns option, count")
    tolerance: float = Field(
        default=0.02,
        description="largest accepted disagreement of totals, as a share of the votes",
        json_schema_extra={"minimum": 0, "exclusiveMaximum": 1},
    )

    @field_rule("tolerance")
    @classmethod
    def _tolerance_is_a_share(cls, value: float) -> float:
        if not 0 <= value < 1:
            raise PydanticCustomError("rule", "must be at least 0 and below 1")
        return value


class RollSection(Section):
    """Who there is: tidy files with axis columns and `people`."""

    files: Files = Field(description="one file over all axes, or one per axis")


class AxisSection(Section):
    """How one axis is read; its key is its name."""

    column: Name | None = Field(default=None, description="column of the data; default: the name of the axis")
    categories: Names | None = Field(
        default=None, description="allowed categories in order; default: those seen, sorted"
    )
    ordered: bool = Field(default=False, description="whether only neighbouring categories may be merged")
    parents: Mapping[Name, Name] | None = Field(default=None, description="category = wider area it lies in")
    levels: Names | None = Field(default=None, description="columns with wider areas, from fine to coarse")
    hierarchy: File | None = Field(default=None, description="CSV file with columns child, parent, or an .hrc file")
    hierarchies: Files | None = Field(default=None, description="further hierarchies of the same categories")
    apart: Annotated[tuple[Pair, ...], Field(strict=False)] = Field(
        default=(), description="pairs of categories that are never merged into one group"
    )
    weights: Mapping[Name, int] = Field(default={}, description="category = what it is worth per person; default 1")

    @field_rule("categories", "levels")
    @classmethod
    def _values_differ(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return value if value is None else distinct(value)

    @field_rule("weights")
    @classmethod
    def _weights_are_worth(cls, value: Mapping[str, int]) -> Mapping[str, int]:
        for name, weight in value.items():
            if not 0 <= weight <= 1_000_000:
                raise PydanticCustomError("rule", "{name}: must be from 0 to 1000000", {"name": name})
        return value

    @model_rule(mode="after")
    def _one_hierarchy(self) -> Self:
        given = [key for key in ("parents", "levels", "hierarchy") if getattr(self, key) is not None]
        if len(given) > 1:
            raise PydanticCustomError("rule", "has {given}: give at most one of them", {"given": " and ".join(given)})
        return self


class TargetSection(Section):
    """What must not be learnt, and how near-unanimous groups are protected."""

    beta: float = Field(default=Target.beta, json_schema_extra={"minimum": 0, "exclusiveMaximum": 0.5})
    kappa: int = Field(default=Target.kappa, json_schema_extra={"minimum": 1})
    tau: int = Field(default=Target.tau, json_schema_extra={"minimum": 0})
    epsilon_max: float = Field(default=Target.epsilon_max, json_schema_extra={"exclusiveMinimum": 0})
    protect: Protection = Field(default="merge", description="what is done with near-unanimous groups")

    @field_rule("protect", mode="before")
    @classmethod
    def _former_name(cls, value: object) -> object:
        return "suppress" if value == "withhold" else value  # the name until version 0.1

    @model_rule(mode="after")
    def _is_a_target(self) -> Self:
        self.build()
        return self

    def build(self) -> Target:
        """The target as a value of the model."""
        return Target(self.beta, self.kappa, self.tau, self.epsilon_max)


class OnlookerSection(Section):
    """Somebody to defend against."""

    name: Name
    composition: Composition = Field(default="joint", description="what of the roll they know; default: all of it")
    knows_rule: bool = Field(default=True, description="whether they know how cells were chosen for protection")
    facts: Annotated[tuple[File, ...], Field(strict=False)] = Field(
        default=(), description="tidy files of what else they know"
    )


class OutputsSection(Section):
    """What a release is written as."""

    formats: Annotated[tuple[Format, ...], Field(min_length=1, strict=False)] = ("csv", "json")
    margins: Annotated[tuple[Names, ...], Field(strict=False)] = Field(
        default=(), description='tables of several axes to publish if that is safe, as in [["site", "age"]]'
    )
    pairs: Literal["all"] | None = Field(default=None, description="ask for every pair of axes")
    order: int = Field(default=1, ge=1, le=6, description="ask for every table of up to so many axes")
    weights: Mapping[Name, float] = Field(
        default={}, description='what a table counts for, as in {"site x age" = 2.0}; default: its number of cells'
    )

    @field_rule("formats")
    @classmethod
    def _formats_differ(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return distinct(value)

    @property
    def asked(self) -> Asked:
        """The tables of several axes that are asked for."""
        return Asked(self.margins, max(self.order, 2 if self.pairs else 1), self.weights)


class LedgerSection(Section):
    """What was published before about the same population, and where this release is recorded."""

    file: File = Field(description="SQLite file; made with the first release")
    population: Name = Field(description="whom the release is about")
    cycle: Name = Field(description="which of its releases this is, such as the year")
    id: Name | None = Field(default=None, description="column of the data that names a person in every cycle")
    assume: Literal["groups", "whole"] = Field(
        default="groups",
        description="of whom onlookers may think that nobody who stayed changed their answer: of any group, or of all",
    )


class OutcomeSection(Section):
    """What an adversary believes, for the statement about the result itself."""

    belief: Literal["result", "uniform"] = Field(
        default="result", description="how others are thought to choose: as the result says, or all options alike"
    )
