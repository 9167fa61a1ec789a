"""How a project describes its questions, and which tables it asks for.

A *question* is one column of the data that holds answers of the same people (`data.answers`), or one contest of a
column that names contests (`data.contest`). Questions that public logic ties (`data.linked`), or that are crossed in a
table (`tables.questions`), form one question with composite options.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from safemargin.core import SIGN
from safemargin.io import ConfigSection, Name, Names, distinct
from safemargin.release.plan import Wanted, wanted_margins

Format = Literal["csv", "parquet", "json", "xlsx", "px", "sdmx.csv"]
Tied = Annotated[tuple[Annotated[Names, AfterValidator(distinct)], ...], Field(strict=False)]
"""Lists of questions that belong together."""


class QuestionSection(ConfigSection):
    """What one question asks and which answers it has; its key is its column, or its contest."""

    label: Name | None = Field(default=None, description="the question as pages show it; default: its key")
    options: Annotated[Names, AfterValidator(distinct)] | None = Field(
        default=None, description="allowed answers in order; default: those seen, sorted"
    )
    labels: Mapping[Name, Name] = Field(default={}, description='answers as they are published, as in {1 = "never"}')
    blank: Name | None = Field(
        default=None, description='option that an empty answer counts as, as in "not asked"; default: did not answer'
    )
    secrets: Any = Field(default=None, description="which sets of options are secret; default: target.secrets")
    ordered: bool | None = Field(
        default=None, description="whether the options are a scale; default: if they are three numbers or more"
    )
    theme: Name | None = Field(default=None, description="heading under which pages show the question")


class MarginsSection(ConfigSection):
    """Tables of several axes to publish beside single ones, as many as are safe together."""

    margins: Annotated[tuple[Names, ...], Field(strict=False)] = Field(
        default=(), description='tables of several axes to publish if that is safe, as in [["site", "age"]]'
    )
    pairs: Literal["all"] | None = Field(default=None, description="ask for every pair of axes")
    order: int = Field(default=1, ge=1, le=6, description="ask for every table of up to so many axes")
    weights: Mapping[Name, float] = Field(
        default={}, description='what a table counts for, as in {"site x age" = 2.0}; default: its number of cells'
    )

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same tables where axes have other names."""
        margins = tuple(tuple(names.get(axis, axis) for axis in margin) for margin in self.margins)
        weights = {SIGN.join(names.get(axis, axis) for axis in k.split(SIGN)): v for k, v in self.weights.items()}
        return self.model_copy(update={"margins": margins, "weights": weights})

    def wanted(self, axes: Sequence[str], section: str) -> tuple[Wanted, ...]:
        """The margins of `axes` that are asked for, in the section with this name."""
        return wanted_margins(axes, self.margins, max(self.order, 2 if self.pairs else 1), self.weights, section)


class QuestionTablesSection(MarginsSection):
    """Tables to publish; with several questions, also whether they share their groups, and which are crossed."""

    groups: Literal["common", "each"] = Field(
        default="common", description="with several questions: one grouping of every axis for all of them, or for each"
    )
    questions: Tied = Field(default=(), description='questions to cross in one table, as in [["q1", "q7"]]')


class OutputsSection(MarginsSection):
    """What a release is written as; until version 0.1 also the tables of several axes."""

    formats: Annotated[tuple[Format, ...], Field(min_length=1, strict=False), AfterValidator(distinct)] = (
        "csv",
        "json",
    )
    quote_formulas: bool = Field(
        default=False, description="put an apostrophe before labels in CSV files that a spreadsheet would run"
    )
    wide: bool = Field(
        default=False, description="with several questions: also a CSV file per axis with a column per option"
    )
