"""One TOML file that describes a release: where the data are, the axes, the target, the onlookers, the outputs.

It says what a user wrote and nothing about the data themselves; `tabulate` reads those.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, ValidationError
from pydantic import model_validator as model_rule

from safemargin.core import RESERVED, InputError, Target
from safemargin.io import PHRASES, Name, Section, Source, dotted_key, open_data, shown_value, twice_in
from safemargin.release.plan import Wanted
from safemargin.release.sections import (
    AxisSection,
    DataSection,
    LedgerSection,
    OnlookerSection,
    OutcomeSection,
    OutputsSection,
    Protection,
    RollSection,
    TalliesSection,
    TargetSection,
)

__all__ = [
    "AxisSection",
    "DataSection",
    "LedgerSection",
    "OnlookerSection",
    "Project",
    "TalliesSection",
    "project_of",
    "schema",
]


class Project(Section):
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
    outputs: OutputsSection = OutputsSection()
    ledger: LedgerSection | None = None
    outcome: OutcomeSection = OutcomeSection()

    @classmethod
    def load(cls, path: Path | str) -> "Project":
        """The project that a TOML file describes; its paths are relative to its folder."""
        path = Path(path)
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file") from None
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise InputError(f"{path}: line {line}: is not UTF-8; save the file as UTF-8") from None
        return cls.parse(text, folder=path.parent, name=str(path))

    @classmethod
    def parse(cls, text: str, *, folder: Path = Path(), name: str = "project") -> "Project":
        """The project that TOML `text` describes; `name` is what messages call it."""
        try:
            return cls.build(tomllib.loads(text), folder)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{name}: is not valid TOML: {error}") from None
        except InputError as error:
            raise InputError(f"{name}: {error}") from None

    @classmethod
    def build(cls, content: Mapping[str, object], folder: Path = Path()) -> "Project":
        """The project that the sections in `content` describe; paths are relative to `folder`."""
        try:
            return cls.model_validate(content, context={"folder": folder})
        except ValidationError as error:
            raise InputError(_explained(error)) from None

    @property
    def target(self) -> Target:
        """What must not be learnt."""
        return self.aims.build()

    @property
    def protect(self) -> Protection:
        """What is done with near-unanimous groups."""
        return self.aims.protect

    @property
    def has_joint_roll(self) -> bool:
        """Whether the roll is described as one file over all axes, or is the people in the data."""
        return self.roll is None or len(self.roll.files) == 1

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

    @model_rule(mode="after")
    def _sections_agree(self) -> Self:
        if (self.data is None) == (self.tallies is None):
            raise InputError("data and tallies: give exactly one of the sections [data] and [tallies]")
        for name in self.axes:
            if name in RESERVED:
                raise InputError(f"axes.{name}: the name is reserved; call the axis otherwise and set its column")
        if (twice := twice_in(onlooker.name for onlooker in self.declared)) is not None:
            raise InputError(f"onlookers: two are called {twice!r}; give each its own name")
        if self.data is not None:
            self._check_columns(self.data)
        if self.tallies is not None:
            self._check_elections(self.tallies)
        if self.ledger is not None and self.ledger.id is not None:
            self._check_id(self.ledger.id)
        if any(len(each.axes) > 1 for each in self.wanted) and self.data is None:
            raise InputError("outputs: tables of several axes need [data]; sealed tallies hold one axis each")
        return self

    @property
    def wanted(self) -> tuple[Wanted, ...]:
        """The margins that are asked for."""
        return self.outputs.asked.wanted(tuple(self.axes))

    def _check_id(self, column: str) -> None:
        if self.data is None or self.data.count is not None or self.roll is not None:
            raise InputError(f"ledger.id = {column!r}: needs [data] with a row per person, and no [roll]")

    def _check_columns(self, data: DataSection) -> None:
        if data.count == data.answer:
            raise InputError(
                f"data.count = {data.count!r}: is the column with the answer; name the column that counts people"
            )
        for name, axis in self.axes.items():
            for column in (self.column(name), *(axis.levels or ())):
                if column in (data.answer, data.count):
                    raise InputError(f"axes.{name}: column {column!r} is already data.answer or data.count")

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


IN_MEMORY = "data"
"""What messages call data that are in no file."""


def project_of(data: object, said: Mapping[str, Any]) -> tuple[Project, Source | None]:
    """The project that the arguments of a call describe, and its data where they are not in a file.

    A project says everything itself: nothing else may be `said` beside it.
    """
    if isinstance(data, Project) or (isinstance(data, str | Path) and Path(data).suffix == ".toml"):
        if said:
            raise InputError(f"{', '.join(said)}: a project says all of this itself; omit it, or give the data instead")
        return (data if isinstance(data, Project) else Project.load(data)), None
    for name, meaning in (("answer", "the column with the answers"), ("by", "the columns to count by")):
        if name not in said:
            raise InputError(f"{name} is missing: name {meaning}")
    content: dict[str, object] = {
        "data": {
            "file": str(data) if isinstance(data, str | Path) else IN_MEMORY,
            **{key: said[key] for key in ("answer", "options", "blank", "count", "table") if key in said},
        },
        "axes": _axes(said["by"]),
        "target": {
            **(asdict(said["target"]) if isinstance(said.get("target"), Target) else said.get("target") or {}),
            **({"protect": said["protect"]} if "protect" in said else {}),
        },
        **{key: said[key] for key in ("title", "onlookers", "ledger", "outputs") if key in said},
    }
    if "roll" in said:
        content["roll"] = {"files": [str(path) for path in _listed(said["roll"])]}
    source = None if isinstance(data, str | Path) else open_data(data)
    return Project.build(content), source


def _axes(by: object) -> Mapping[str, object]:
    if isinstance(by, Mapping):
        return {str(name): dict(section) for name, section in by.items()}
    names = [str(name) for name in _listed(by)]
    if (twice := twice_in(names)) is not None:
        raise InputError(f"by: names {twice!r} twice")
    return {name: {} for name in names}


def _listed(value: Any) -> Iterable[Any]:
    return [value] if isinstance(value, str | Path) else value


SECTIONS: Mapping[str, type[Section]] = {
    "data": DataSection,
    "tallies": TalliesSection,
    "roll": RollSection,
    "axes": AxisSection,
    "target": TargetSection,
    "onlookers": OnlookerSection,
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
    place, kind = problem["loc"], problem["type"]
    key = dotted_key(place)
    if kind == "missing":
        meaning = _fields(place).get(str(place[-1]))
        return f"{key} is missing: {meaning}" if meaning else f"{key} is missing"
    said = f"{key}{shown_value(problem['input'])}"
    if kind == "extra_forbidden":
        return f"{said}: unknown key; allowed here are {', '.join(_fields(place))}"
    if kind == "literal_error":
        return f"{said}: must be {problem['ctx']['expected']}"
    phrase = PHRASES[kind].format(**problem.get("ctx", {})) if kind in PHRASES else problem["msg"]
    return f"{said}: {phrase}"
