"""Parts of TOML files, checked with messages that name the key."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from safemargin.core import exact_number
from safemargin.io.places import Address, is_address, without_secrets
from safemargin.io.rows import LONGEST_VALUE
from safemargin.io.same_labels import plain_label

PHRASES: Mapping[str, str] = {
    "bool_type": "must be true or false",
    "dict_type": "must be a section with keys",
    "float_type": "must be a number",
    "finite_number": "must be finite",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "int_type": "must be a whole number",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "mapping_type": "must be a section with keys",
    "model_type": "must be a section with keys",
    "string_too_short": "must not be empty",
    "string_type": "must be text in quotes",
    "too_short": "must not be empty",
    "tuple_type": "must be a list in brackets",
}
"""What is allowed, by the kind of error that pydantic reports; limits in braces."""


def dotted_key(place: tuple[int | str, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place if step != "[key]").lstrip(
        "."
    )


def shown_value(value: object) -> str:
    """A wrong value as a message repeats it; whole sections are not repeated."""
    if isinstance(value, Mapping):
        return ""
    # TOML writes true and false in small letters.
    text = str(value).lower() if isinstance(value, bool) else without_secrets(repr(value))
    text = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
    return f" = {text}"


def explain(error: ValidationError) -> str:
    """The first problem: key, value and rule."""
    problem = error.errors(include_url=False)[0]
    key, kind = ".".join(str(step) for step in problem["loc"]), problem["type"]
    if kind == "missing":
        return f"{key} is missing"
    if kind == "extra_forbidden":
        return f"{key}: unknown key"
    phrase = PHRASES[kind].format(**problem.get("ctx", {})) if kind in PHRASES else problem["msg"]
    return f"{key}{shown_value(problem['input'])}: {phrase}"


def placed(value: object, info: ValidationInfo) -> object:
    """Paths are relative to the folder of the project file."""
    if not isinstance(value, str) or not value:
        raise PydanticCustomError("rule", "must be the name of a file")
    if value.endswith("/"):
        raise PydanticCustomError("rule", "must be the name of a file, without a slash at its end")
    if is_address(value):
        raise PydanticCustomError("rule", "is an address; give it as data.source")
    return Path((info.context or {}).get("folder", ""), value)


def _address(value: object) -> Address:
    if isinstance(value, Address):
        return value
    if not isinstance(value, str) or not is_address(value) or "://" not in value:
        raise PydanticCustomError("rule", "must be an address, as in postgresql://HOST/DATABASE or hdfs://HOST/FOLDER")
    return Address(value)


def twice_in(values: Iterable[str]) -> str | None:
    """The first value that occurs twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    if (twice := twice_in(values)) is not None:
        raise PydanticCustomError("rule", "lists {value} twice", {"value": repr(twice)})
    return values


def _share(value: object) -> Fraction:
    """The exact value of 1, 0.25 or "104/4099"."""
    if isinstance(value, int | str | Fraction) and not isinstance(value, bool):
        try:
            return exact_number(value) if isinstance(value, str) else Fraction(value)
        except ValueError:
            pass
    raise PydanticCustomError("rule", 'must be a number or a fraction in quotes, as in 0.25 or "104/4099"')


Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], Field(min_length=1, strict=False)]
Label = Annotated[Name, AfterValidator(plain_label)]
"""A category or an option, as labels of tables are read."""
Labels = Annotated[tuple[Label, ...], Field(min_length=1, strict=False)]
Pair = Annotated[tuple[Label, Label], Field(strict=False)]
File = Annotated[Path, BeforeValidator(placed, json_schema_input_type=str)]
Distant = Annotated[Address, PlainValidator(_address, json_schema_input_type=str)]
Share = Annotated[Fraction, PlainValidator(_share), PlainSerializer(str)]
Files = Annotated[tuple[File, ...], Field(min_length=1, strict=False)]


class ConfigSection(BaseModel):
    """A part of the file: unknown keys and near misses of type are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
