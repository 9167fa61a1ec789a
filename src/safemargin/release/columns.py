"""How a project describes the columns of its data: the answer, or the counts of every option, and the axes."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator as field_rule,
    model_validator as model_rule,
)
from pydantic_core import PydanticCustomError

from safemargin.io import (
    PHRASES,
    ConfigSection,
    Distant,
    File,
    Files,
    Label,
    Labels,
    Name,
    Names,
    Pair,
    distinct,
    explain,
    plain_label,
)
from safemargin.release.coding import Coding, Edge, band_names
from safemargin.release.option_columns import OptionColumns
from safemargin.release.question_sections import Tied

JOINED = " + "
"""Between the names of categories that a project joins; those that the program merges have another sign."""


def _wrong(text: str, **said: object) -> PydanticCustomError:
    return PydanticCustomError("rule", text, said)


def _edge(value: object) -> Edge:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
        return Decimal(repr(value)).normalize()
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        raise _wrong("{value} is neither a number nor a date such as 1980-12-31", value=repr(value)[:60]) from None


def _edges(value: object) -> tuple[Edge, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise _wrong("must be a list of numbers or dates, as in [18, 30, 45, 65]")
    edges = tuple(_edge(each) for each in value)
    if len({isinstance(edge, date) for edge in edges}) > 1:
        raise _wrong("mixes numbers and dates")
    if any(low >= high for low, high in zip(edges, edges[1:], strict=False)):  # type: ignore[operator]  # of one kind
        raise _wrong("must rise, each number once")
    return edges


def _day(value: object) -> date | None:
    edge = None if value is None else _edge(value)
    if isinstance(edge, Decimal):
        raise _wrong("must be a date such as 2024-11-05")
    return edge


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _as_tuple(value: object) -> object:
    if isinstance(value, list | tuple):
        return distinct(tuple(map(str, value)))
    if not isinstance(value, str):
        raise _wrong('must list columns, as in ["q1", "q2"], or be a pattern such as "q*"')
    return value


Distinct = Annotated[Names, AfterValidator(distinct)]
Categories = Annotated[Labels, AfterValidator(distinct)]
Answers = Annotated[
    tuple[Name, ...] | Name,
    Field(union_mode="left_to_right"),
    BeforeValidator(_as_tuple, json_schema_input_type=list[str] | str),
]
_LIST: TypeAdapter[tuple[str, ...]] = TypeAdapter(Categories)
SKIP = "skip"
"""The value of `blank` with which people without an answer are not counted."""


def _options(value: object) -> tuple[str, ...] | OptionColumns | None:
    """The options in order, or the columns that count them."""
    if value is None or isinstance(value, OptionColumns):
        return value
    try:
        return OptionColumns.model_validate(value) if isinstance(value, Mapping) else _LIST.validate_python(value)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        phrase = PHRASES.get(problem["type"], problem["msg"]).format(**problem.get("ctx", {}))
        raise _wrong("{said}", said=explain(error).lstrip(".: ") if isinstance(value, Mapping) else phrase) from None


Options = Annotated[
    tuple[str, ...] | OptionColumns | None,
    PlainValidator(_options, json_schema_input_type=Categories | OptionColumns | None),
]
Value = Annotated[str, AfterValidator(plain_label)]
Values = Annotated[tuple[Value, ...], Field(min_length=1, strict=False), BeforeValidator(_listed)]
Bands = Annotated[tuple[Edge, ...], PlainValidator(_edges, json_schema_input_type=list[float | date])]
Day = Annotated[date | None, PlainValidator(_day, json_schema_input_type=date)]


def _with_questions(value: dict[str, Any]) -> dict[str, Any]:
    """A section with several questions: `answer` is the first of them, and a column of contests has its own key."""
    if value.get("answers"):
        if "answer" in value:
            raise _wrong("has answer and answers: give one of them")
        listed = value["answers"]
        value = {"answer": str(listed[0]) if isinstance(listed, list | tuple) else str(listed), **value}
    if isinstance(value.get("contest"), str):
        value = {**{key: entry for key, entry in value.items() if key != "contest"}, "contests": value["contest"]}
    return value


class DataSection(ConfigSection):
    """One table with a row per person, or per group of equal people: a file, or an address."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["file"]}, {"required": ["source"]}]})

    file: File | None = Field(
        default=None,
        description="CSV, TSV, Parquet, JSON lines, SQLite, PX, Excel, SPSS or Stata file; or a folder of Parquet",
    )
    source: Distant | None = Field(
        default=None, description="instead of file: postgresql://HOST/DATABASE, or an address that Spark reads"
    )
    engine: Literal["duckdb", "spark"] = Field(default="duckdb", description="what counts the rows")
    master: Name | None = Field(default=None, description="cluster of Spark, as in spark://HOST:7077; default: local")
    table: Name | None = Field(default=None, description="table of a database, or sheet of an Excel file")
    options: Options = Field(
        default=None,
        description="allowed answers in order; or, for counts side by side, {columns = [...]}; default: those seen",
    )
    answer: Annotated[str, Field(validate_default=True)] = Field(
        default="", description="column with the answer; or options = {columns = [...]} for counts side by side"
    )
    answers: Answers = Field(
        default=(), description='instead of answer: columns of several questions, as in ["q1", "q2"], or "q*" for all'
    )
    linked: Tied = Field(default=(), description='questions that decide about each other, as in [["q1", "q2"]]')
    ordered: bool | Literal["wide"] = Field(
        default=False,
        description='whether the options are a scale, in their order; "wide" protects each half with the middle, too',
    )
    blank: Label | None = Field(
        default=None,
        description='"skip": people without an answer are not counted; or the option that an empty answer counts as',
    )
    count: Name | None = Field(
        default=None, description="column with the number of people a row stands for; default: one"
    )
    missing: Values = Field(default=("",), description='values that mean no answer or no category, as in ["?", "NA"]')
    skip: Mapping[Name, Values] = Field(default={}, description='rows to skip, as in {vote = ["spoilt"]}')
    contest: Mapping[Name, Value] = Field(default={}, description='the rows to keep, as in {office = "Mayor"}')
    contests: Name | None = Field(
        default=None, description="column that names the contest of a row; each is a question (also: contest = COLUMN)"
    )
    labels: Mapping[Label, Label] = Field(default={}, description='answers as they are published, as in {1 = "yes"}')
    encoding: Name | None = Field(default=None, description="of a CSV file that is not UTF-8, such as cp1252")
    decimal: Literal[".", ","] = Field(default=".", description="decimal sign of numbers in the data")

    @model_rule(mode="before")
    @classmethod
    def _old_name(cls, value: object) -> object:
        if isinstance(value, dict) and "ballot" in value and "answer" not in value:  # its name until version 0.1
            return {"answer" if key == "ballot" else key: entry for key, entry in value.items()}
        return _with_questions(value) if isinstance(value, dict) else value

    @model_rule(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.source is None):
            raise _wrong("needs exactly one of file and source")
        return self

    @field_rule("answer")
    @classmethod
    def _answer_or_counts(cls, value: str, info: ValidationInfo) -> str:
        side_by_side = isinstance(info.data.get("options"), OptionColumns)
        if not value and not side_by_side and "options" in info.data:
            raise PydanticCustomError("missing_key", "is missing")
        if value and side_by_side:
            raise _wrong("counts side by side (data.options) have no column with the answer; remove one of the two")
        return value

    @model_rule(mode="after")
    def _counts_alone(self) -> Self:
        for key in ("count", "blank") if self.side_by_side is not None else ():
            if getattr(self, key) is not None:
                raise _wrong("has {key}, which counts side by side (data.options) do not need: remove it", key=key)
        return self

    @property
    def side_by_side(self) -> OptionColumns | None:
        """The columns with the counts of each option, where the data are not one answer per row."""
        return self.options if isinstance(self.options, OptionColumns) else None

    @property
    def listed(self) -> tuple[str, ...] | None:
        """The allowed answers, where the project lists them."""
        return None if isinstance(self.options, OptionColumns) else self.options

    @property
    def skips_blank(self) -> bool:
        """Whether people without an answer are not counted, rather than counted as an option."""
        return self.blank == SKIP and SKIP not in (self.listed or ())

    @property
    def has_questions(self) -> bool:
        """Whether there may be several questions."""
        return bool(self.answers) or self.contests is not None

    @property
    def place(self) -> Path:
        """What messages call the data."""
        if self.source is not None:
            return self.source.shown
        assert self.file is not None
        return self.file

    @property
    def coding(self) -> Coding:
        """What the values of the answer mean."""
        return Coding(frozenset(self.missing), "" if self.skips_blank else self.blank or "", self.labels)

    @field_rule("blank")
    @classmethod
    def _blank_is_an_option(cls, value: str | None, info: ValidationInfo) -> str | None:
        options = info.data.get("options")
        if value not in (None, SKIP) and isinstance(options, tuple) and value not in options:
            raise PydanticCustomError("rule", "must be one of data.options ({names})", {"names": ", ".join(options)})
        return value


class AxisSection(ConfigSection):
    """How one axis is read; its key is its name."""

    column: Name | None = Field(default=None, description="column of the data; default: the name of the axis")
    categories: Categories | None = Field(
        default=None, description="allowed categories in order; default: those seen, sorted"
    )
    label: Name | None = Field(
        default=None, description="what the axis is called in tables and pages; default: its key"
    )
    labels: Mapping[Label, Label] = Field(
        default={}, description='categories as they are published, as in {M = "Men"}; equal labels become one category'
    )
    bands: Bands = Field(default=(), description="lowest number or date of each band but the first, as in [18, 30, 65]")
    age_on: Day = Field(default=None, description="day of the age in years, where the column holds dates of birth")
    missing: Label | None = Field(
        default=None, description="category of rows without one (data.missing); without it, they are an error"
    )
    ordered: bool = Field(default=False, description="whether only neighbouring categories may be merged")
    parents: Mapping[Label, Label] | None = Field(default=None, description="category = wider area it lies in")
    levels: Distinct | None = Field(default=None, description="columns with wider areas, from fine to coarse")
    hierarchy: File | None = Field(default=None, description="CSV file with columns child, parent, or an .hrc file")
    hierarchies: Files | None = Field(default=None, description="further hierarchies of the same categories")
    apart: Annotated[tuple[Pair, ...], Field(strict=False)] = Field(
        default=(), description="pairs of categories that are never merged into one group"
    )
    keep: Annotated[tuple[Label, ...], Field(strict=False)] = Field(
        default=(), description="categories that are never merged with others"
    )
    join: Annotated[tuple[Labels, ...], Field(strict=False)] = Field(
        default=(), description='categories that are always counted as one, as in [["North", "South"]]'
    )
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="noise every count of the axis, at this cost per person"
    )
    weights: Mapping[Label, int] = Field(default={}, description="category = what it is worth per person; default 1")

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

    @field_rule("labels")
    @classmethod
    def _labels_differ_from_values(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        for name, published in value.items():
            if value.get(published, published) != published:
                raise _wrong("{name}: {label} is also a value with a label of its own", name=name, label=published)
        return value

    @field_rule("join")
    @classmethod
    def _joins_differ(cls, value: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        distinct(tuple(name for group in value for name in group))
        if any(len(group) < 2 for group in value):
            raise _wrong("a group needs at least two categories")
        return value

    @model_rule(mode="after")
    def _joins_are_neighbours(self) -> Self:
        order = band_names(self.bands) or self.categories or ()
        for group in self.join if self.is_ordered else ():
            shown = [place for place, name in enumerate(order) if self.labels.get(name, name) in group or name in group]
            if len(shown) < len(group):
                raise _wrong(
                    "joins {names} of an ordered axis: list all of them in categories", names=" and ".join(group)
                )
            if shown[-1] - shown[0] >= len(shown):
                raise _wrong("joins {names}, which are not neighbours in the order", names=" and ".join(group))
        return self

    @model_rule(mode="after")
    def _bands_alone(self) -> Self:
        if self.bands and self.categories is not None:
            raise _wrong("has categories and bands: give at most one of them")
        if self.age_on is not None and (not self.bands or isinstance(self.bands[0], date)):
            raise _wrong("has age_on: give bands of ages with it, as in [18, 30, 45, 65]")
        return self

    @property
    def is_ordered(self) -> bool:
        """Whether only neighbouring categories may be merged."""
        return self.ordered or bool(self.bands)

    def coding(self, data: DataSection | None) -> Coding:
        """What the values of the column mean."""
        absent, decimal = ([""], ".") if data is None else (data.missing, data.decimal)
        return Coding(frozenset(absent), self.missing or "", self.published, self.bands, self.age_on, decimal)

    @property
    def published(self) -> Mapping[str, str]:
        """What values are called in tables, if not by their own name: by a label, or that of the joined group."""
        joined = {name: JOINED.join(group) for group in self.join for name in group}
        return {**joined, **{value: joined.get(text, joined.get(value, text)) for value, text in self.labels.items()}}
