"""One TOML file that describes a release: the data, the axes, the target, the onlookers, the outputs.

It holds what a user wrote and nothing about the data themselves; `read_inputs` reads those.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ValidationError, field_validator as field_rule, model_validator as model_rule
from pydantic_core import PydanticCustomError

from safemargin.core import RESERVED, InputError, Secrets, Target, TooLargeError
from safemargin.io import (
    PHRASES,
    ConfigSection,
    File,
    Files,
    Name,
    dotted_key,
    parse_toml,
    read_text,
    shown_value,
    twice_in,
)
from safemargin.release.coding import Coding
from safemargin.release.columns import AxisSection, DataSection, Values
from safemargin.release.option_columns import OptionColumns
from safemargin.release.plan import Wanted
from safemargin.release.question_sections import OutputsSection, QuestionSection, QuestionTablesSection
from safemargin.release.waves import check_waves

Composition = Literal["none", "sizes", "joint"]
Protection = Literal["auto", "merge", "noise", "suppress"]
MOST_AXES = 60


class TalliesSection(ConfigSection):
    """Sealed elections: one tidy file per axis, and none with axes together."""

    files: Mapping[Name, File] = Field(min_length=1, description="axis = file with columns axis, option, count")
    total: File | None = Field(default=None, description="the total, its own election: columns option, count")
    options: OptionColumns | None = Field(
        default=None, description="where the files have a column of counts per option: {columns = [...]}"
    )
    turnout: Literal["option", "apart"] = Field(
        default="option",
        description="apart: tables are about those who answered, whose number in every group is taken as known",
    )
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


class RollSection(ConfigSection):
    """Who there is: tidy files with axis columns and `people`."""

    files: Files = Field(description="one file over all axes, or one per axis")


class TargetSection(ConfigSection):
    """What must not be learnt, and how near-unanimous groups are protected."""

    beta: float = Field(default=Target.beta, json_schema_extra={"exclusiveMinimum": 0, "exclusiveMaximum": 0.5})
    kappa: int = Field(default=Target.kappa, json_schema_extra={"minimum": 1})
    tau: int = Field(default=Target.tau, json_schema_extra={"minimum": 0})
    epsilon_max: float = Field(default=Target.epsilon_max, json_schema_extra={"exclusiveMinimum": 0})
    guard: float | None = Field(default=None, description="how much stricter decisions are than beta (default: half)")
    sensitive: Mapping[Name, Values] = Field(
        default={}, description='categories to protect whatever their size, as in {religion = ["Jewish", "Sikh"]}'
    )
    secrets: Any = Field(
        default="choice",
        description='"choice" (which option), "both" (also that nobody chose one), or by option, as in '
        '{default = "choice", ill = "both", "no view" = "none", sets = [["Left", "Green"]]}',
        json_schema_extra={"oneOf": [{"enum": ["choice", "both"]}, {"type": "object"}]},
    )
    protect: Protection = Field(default="auto", description="what is done with near-unanimous groups")
    allow: Literal["linear"] | None = Field(
        default=None, description="publish cells that only fractional tables show to be safe; the statement says so"
    )

    posterior_max: float | None = Field(
        default=None,
        description="omit an axis whose noised counts make it more probable than this that a group is beyond a limit",
        json_schema_extra={"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    )

    @model_rule(mode="after")
    def _is_a_target(self) -> Self:
        self.build()
        return self

    def build(self) -> Target:
        """The target as a value of the model."""
        pairs = tuple((axis, category) for axis, names in self.sensitive.items() for category in names)
        secrets, allow = Secrets.parse(self.secrets), self.allow or ""
        plain = (self.beta, self.kappa, self.tau, self.epsilon_max, self.guard)
        return Target(*plain, pairs, secrets, allow, self.posterior_max)


class OnlookerSection(ConfigSection):
    """Somebody to defend against."""

    name: Name
    composition: Composition = Field(default="joint", description="what of the roll they know; default: all of it")
    knows_rule: bool = Field(default=True, description="whether they know how cells were chosen for protection")
    facts: Annotated[tuple[File, ...], Field(strict=False)] = Field(
        default=(), description="tidy files of what else they know"
    )
    posterior: Annotated[float, Field(ge=0.5, lt=1)] | None = Field(
        default=None, description="largest share of a cell that they may come to believe gave one answer"
    )
    correlations: File | None = Field(default=None, description="tidy counts that show them how answers hang together")


class LedgerSection(ConfigSection):
    """What was published before about the same population, and where this release is recorded."""

    file: File = Field(description="SQLite file; made with the first release")
    population: Name = Field(description="whom the release is about")
    cycle: Name = Field(description="which of its releases this is, such as the year")
    id: Name | None = Field(default=None, description="column of the data that names a person in every cycle")
    answers: Literal["kept", "new"] | None = Field(
        default=None,
        description='"kept": the same answers are published again, or more of them; "new": people were asked again',
    )
    turnover: Literal["net"] | None = Field(
        default=None, description="without id: only net changes of the rolls between cycles are compared"
    )
    epsilon_total: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="the most that the noise of all cycles may cost anyone"
    )
    weaker: Name | None = Field(default=None, description="why the target is weaker than in an earlier cycle")
    lock: bool = Field(default=False, description="refuse a release whose limits were not locked before the count")
    assume: Literal["groups", "whole"] = Field(
        default="groups",
        description="of whom onlookers may think that nobody who stayed changed their answer: of any group, or of all",
    )


class OutcomeSection(ConfigSection):
    """What an onlooker believes, for the statement about the result itself."""

    belief: Literal["result", "uniform"] = Field(
        default="result", description="how others are thought to choose: as the result says, or all options alike"
    )


class Project(ConfigSection):
    """A release as its user describes it; every path is ready to be opened."""

    model_config = ConfigDict(
        title="safemargin project", json_schema_extra={"oneOf": [{"required": ["data"]}, {"required": ["tallies"]}]}
    )

    title: str = Field(default="", description="what the release is called")
    data: DataSection | None = None
    tallies: TalliesSection | None = None
    roll: RollSection | None = None
    axes: Mapping[Name, AxisSection] = Field(min_length=1, description="the demographic axes, in order")
    aims: TargetSection = Field(default=TargetSection(), alias="target")
    declared: Annotated[tuple[OnlookerSection, ...], Field(strict=False)] = Field(default=(), alias="onlookers")
    tables: QuestionTablesSection = QuestionTablesSection()
    outputs: OutputsSection = OutputsSection()
    ledger: LedgerSection | None = None
    outcome: OutcomeSection = OutcomeSection()
    questions: Mapping[Name, QuestionSection] = Field(default={}, description="what each of data.answers asks")

    @classmethod
    def load(cls, path: Path | str) -> "Project":
        """The project that a TOML file describes; its paths are relative to its folder."""
        path = Path(path)
        return cls.parse(read_text(path), folder=path.parent, name=str(path))

    @classmethod
    def parse(cls, text: str, *, folder: Path = Path(), name: str = "project") -> "Project":
        """The project that TOML `text` describes; `name` is what messages call it."""
        content = parse_toml(text, name)
        try:
            return cls.build(content, folder)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None

    @classmethod
    def build(cls, content: Mapping[str, object], folder: Path = Path()) -> "Project":
        """The project that the sections in `content` describe; paths are relative to `folder`."""
        try:
            return cls.model_validate(content, context={"folder": folder})._labelled()
        except ValidationError as error:
            raise InputError(_explained(error)) from None

    def _labelled(self) -> "Project":
        """The project with every axis under its label, which is what tables and pages call it."""
        names = {key: axis.label or key for key, axis in self.axes.items()}
        if all(key == name for key, name in names.items()):
            return self
        for key, name in names.items():
            if name in RESERVED or list(names.values()).count(name) > 1:
                raise InputError(
                    f"axes.{key}.label = {name!r}: is reserved or the name of another axis; choose another"
                )
        axes = {
            names[key]: axis.model_copy(update={"column": self.column(key), "label": None})
            for key, axis in self.axes.items()
        }
        outputs, tables = self.outputs.renamed(names), self.tables.renamed(names)
        sensitive = {names.get(axis, axis): listed for axis, listed in self.aims.sensitive.items()}
        aims = self.aims.model_copy(update={"sensitive": sensitive})
        tallies = self.tallies
        if tallies is not None:
            files = {names[key]: file for key, file in tallies.files.items()}
            tallies = tallies.model_copy(update={"files": files})
        changed = {"axes": axes, "outputs": outputs, "tables": tables, "tallies": tallies, "aims": aims}
        return self.model_copy(update=changed)

    @property
    def target(self) -> Target:
        """What must not be learnt; sensitive categories and secrets under the labels that are published."""
        target, data = self.aims.build(), self.data
        pairs = tuple((axis, self.coding(axis).label(category)) for axis, category in target.sensitive)
        labels = {} if data is None else {option: data.coding.label(option) for option in target.secrets.named}
        return replace(target, sensitive=pairs, secrets=target.secrets.renamed(labels))

    @property
    def protect(self) -> Protection:
        """What is done with near-unanimous groups."""
        return self.aims.protect

    @property
    def has_joint_roll(self) -> bool:
        """Whether the roll is described as one file over all axes, or is the people in the data."""
        return self.roll is None or len(self.roll.files) == 1

    @property
    def roll_files(self) -> tuple[Path, ...]:
        """The files of the roll; none where it is the people in the data."""
        return () if self.roll is None else self.roll.files

    @property
    def onlookers(self) -> tuple[OnlookerSection, ...]:
        """Those declared, or else one who knows the rule; where nothing is said they know all of the roll."""
        known = {"composition": "joint" if self.has_joint_roll else "sizes"}
        return tuple(
            onlooker if "composition" in onlooker.model_fields_set else onlooker.model_copy(update=known)
            for onlooker in self.declared or (OnlookerSection(name="informed"),)
        )

    def column(self, axis: str) -> str:
        """The column of the data that holds an axis."""
        return self.axes[axis].column or axis

    def coding(self, axis: str) -> Coding:
        """What the values of an axis mean."""
        return self.axes[axis].coding(self.data)

    @model_rule(mode="after")
    def _sections_agree(self) -> Self:
        if (self.data is None) == (self.tallies is None):
            raise InputError("data and tallies: give exactly one of the sections [data] and [tallies]")
        if len(self.axes) > MOST_AXES:
            raise TooLargeError(
                f"axes: there are {len(self.axes)}, more than {MOST_AXES}; omit some, or release them in parts"
            )
        for name in self.axes:
            if name in RESERVED:
                raise InputError(f"axes.{name}: the name is reserved; call the axis otherwise and set its column")
        if (twice := twice_in(onlooker.name for onlooker in self.declared)) is not None:
            raise InputError(f"onlookers: two are called {twice!r}; give each its own name")
        if self.data is not None:
            self._check_columns(self.data)
        if self.tallies is not None:
            self._check_elections(self.tallies)
        if self.ledger is not None:
            is_listed = self.data is not None and self.data.count is None and self.roll is None
            check_waves(self.ledger.answers, self.ledger.id, self.ledger.turnover, is_listed)
        for name in self.aims.sensitive:
            if name not in self.axes:
                raise InputError(f"target.sensitive.{name}: there is no axis {name!r}")
        if any(len(margin.axes) > 1 for margin in self.wanted) and self.data is None:
            raise InputError("tables of several axes need [data]; sealed tallies hold one axis each")
        return self

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """The margins that are asked for."""
        asked, section = (self.tables, "tables") if self.tables.model_fields_set else (self.outputs, "outputs")
        return asked.wanted(tuple(self.axes), section)

    def _check_columns(self, data: DataSection) -> None:
        counts = data.side_by_side
        taken = {data.answer, data.count} if counts is None else {*counts.columns, *counts.uncounted, counts.total}
        if data.count == data.answer:
            raise InputError(
                f"data.count = {data.count!r}: is the column with the answer; name the column that counts people"
            )
        for name, axis in self.axes.items():
            for column in (self.column(name), *(axis.levels or ())):
                if column in (data.answers if isinstance(data.answers, tuple) else ()):
                    raise InputError(f"axes.{name}: column {column!r} is also a question (data.answers); remove one")
                if column in taken:
                    what = "data.answer or data.count" if counts is None else "a column of data.options"
                    raise InputError(f"axes.{name}: column {column!r} is already {what}")

    def _check_elections(self, tallies: TalliesSection) -> None:
        if self.roll is None:
            raise InputError("roll is missing: sealed elections need [roll] with the files that count people")
        for name in tallies.files:
            if name not in self.axes:
                raise InputError(f"tallies.files.{name}: there is no axis {name!r}; add [axes.{name}]")
        for name, axis in self.axes.items():
            if name not in tallies.files:
                raise InputError(f"tallies.files.{name} is missing: every axis needs its tally file")
            if axis.levels is not None:
                raise InputError(f"axes.{name}.levels: needs [data]; give parents or hierarchy with [tallies]")


SECTIONS: Mapping[str, type[ConfigSection]] = {
    "data": DataSection,
    "tallies": TalliesSection,
    "roll": RollSection,
    "axes": AxisSection,
    "target": TargetSection,
    "onlookers": OnlookerSection,
    "questions": QuestionSection,
    "tables": QuestionTablesSection,
    "outputs": OutputsSection,
    "ledger": LedgerSection,
    "outcome": OutcomeSection,
}


def schema() -> dict[str, Any]:
    """The JSON Schema of a project file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Project.model_json_schema(mode="validation"),
    }


def _fields(place: tuple[int | str, ...]) -> dict[str, str]:
    """Keys of the section that contains `place`, with what they are for."""
    section = Project if len(place) == 1 else SECTIONS[str(place[0])]
    return {field.alias or key: field.description or "" for key, field in section.model_fields.items()}


def _explained(error: ValidationError) -> str:
    """The first problem; those after it often follow from it."""
    problem = error.errors(include_url=False)[0]
    location, kind = problem["loc"], problem["type"]
    key = dotted_key(location)
    if kind in ("missing", "missing_key"):
        meaning = _fields(location).get(str(location[-1]))
        return f"{key} is missing: {meaning}" if meaning else f"{key} is missing"
    said = f"{key}{shown_value(problem['input'])}"
    if kind == "extra_forbidden":
        return f"{said}: unknown key; allowed here are {', '.join(_fields(location))}"
    if kind == "literal_error":
        return f"{said}: must be {problem['ctx']['expected']}"
    phrase = PHRASES[kind].format(**problem.get("ctx", {})) if kind in PHRASES else problem["msg"]
    return f"{said}: {phrase}"
