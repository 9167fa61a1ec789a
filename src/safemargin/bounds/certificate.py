"""A certificate: the interval of every cell, each end with a proof that addition can check.

Objects
    source      a file with its SHA-256, its role (table, roll, fact) and how it is read
    tables      integer tables by variable; ends refer to them by number as witnesses
    claim       a cell, an option, and both ends
    end         a value, the dual that proves its outer value, and the witness that attains it
    verdict     how many cells are contained, open and disclosed under a stated target

What it says
    The files determine the rows and variables (in the order of `sources`), so a reader needs nothing else. Multipliers
    are integers over one denominator; `check.py` verifies them by weak duality. `sha256` seals the document: a change
    of any number is noticed, and so is one of a file.

Invariants
    * The document is canonical: sorted keys, no spaces, integers only. Equal certificates have equal hashes.
    * A number that is no text of an integer, a variable counted twice, or an unknown kind of end is refused, not read
      in some other way. What cannot be read is never taken as fewer claims.

Example
    >>> Dual(2, {0: 1, 3: -1}).rows
    {0: 1, 3: -1}
    >>> End(4, 4, DUAL, Dual(1, {0: 1}), 0).witness
    0
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from safemargin.bounds.verification import KIND, SCHEMA
from safemargin.core import InputError, Target

ROLES = ("table", "roll", "fact")


DUAL, SEARCH, UNLIMITED = "dual", "search", "no limit"
SHOWN_BY = (DUAL, SEARCH, UNLIMITED)
"""How an end was found: its dual proves it; a search that is no proof closed the rest of a gap; nothing limits it."""
VERDICT_RULE = (
    "A cell is contained if its whole interval lies within the limits and it has at least kappa people. Otherwise it "
    "is disclosed if its interval lies wholly outside the limits or is no wider than tau (in a small cell: than a "
    "quarter of its people), and open if not. The limits are beta and 1 - beta of the people of the cell; with three "
    "or more options never more than half of what the total leaves. Where the people of a cell are not known, only the "
    "width counts."
)
Document = dict[str, Any]


def _numbered(value: object) -> object:
    """An object by the number of a row or profile, which is written in one way only.

    >>> _numbered({"0": 3, "12": 4})
    {0: 3, 12: 4}
    >>> _numbered({"01": 3})
    Traceback (most recent call last):
    ValueError: '01' is not the number of a row or profile
    """
    if not isinstance(value, dict):
        return value
    for key in value:
        if not (key.isascii() and key.isdigit() and str(int(key)) == key):
            raise ValueError(f"{key!r} is not the number of a row or profile")
    return {int(key): number for key, number in value.items()}


def _paired(value: object) -> object:
    """Pairs of a variable and its count as an object; no variable may be counted twice."""
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise ValueError(f"{value!r:.60} is not a list of pairs")
    if any(type(variable) is not int for variable, _ in value):
        raise ValueError("a table counts a variable that is no number")
    counts = {str(variable): count for variable, count in value}
    if len(counts) < len(value):
        raise ValueError("a table counts a variable twice")
    return _numbered(counts)


def _completed(value: object) -> object:
    """An end with what its kind omits: the outer value is the value, unless a search closed a gap."""
    if not isinstance(value, dict) or "shown_by" not in value:
        return value
    end, shown_by = value.get("value"), value["shown_by"]
    if shown_by not in SHOWN_BY or (end is None) != (shown_by == UNLIMITED):
        raise ValueError(f"shown_by {shown_by!r} beside value {end!r}: must be one of {', '.join(SHOWN_BY)}")
    keys = (
        {"value", "shown_by"} | (set() if end is None else {"witness"}) | ({"outer"} if shown_by == SEARCH else set())
    )
    if set(value) - ({"dual"} if end is not None else set()) != keys:
        raise ValueError(f"has other keys than an end shown by {shown_by!r}")
    if end is None:
        return {"value": None, "outer": None, "shown_by": UNLIMITED}
    return {**value, "value": end, "outer": value.get("outer") if shown_by == SEARCH else end}


def _with_keys(*names: str) -> BeforeValidator:
    """Keys that a document must have although the value has defaults.

    A missing key could be a reader's default or a writer's mistake: in a certificate it is an error.
    """

    def checked(value: object) -> object:
        for name in names:
            if isinstance(value, dict) and name not in value:
                raise ValueError(f"has no {name!r}")
        return value

    return BeforeValidator(checked)


def _known_role(role: str) -> str:
    """One of `ROLES`; pydantic turns the error into one with the place in the document."""
    if role not in ROLES:
        raise ValueError(f"{role!r}: must be one of {', '.join(ROLES)}")
    return role


Natural = Annotated[int, Field(ge=0)]
Numbers = Annotated[dict[int, int], BeforeValidator(_numbered)]
Counts = Annotated[dict[Natural, Natural], BeforeValidator(_paired)]


FORBID = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class SourceFile:
    """A file that a certificate speaks about, and how it is read: its columns, axes and skipped rows.

    Reading a file in another way gives other rows, so all of this is part of what is certified.
    """

    __pydantic_config__ = FORBID

    name: str
    role: Annotated[str, AfterValidator(_known_role)]
    sha256: str
    count: str = "count"
    option: str = "option"
    by: tuple[str, ...] | None = None
    skip: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Dual:
    """Multipliers of the rows, and of the people of profiles, over one denominator: together they limit a sum.

    The sign of a row's multiplier says which of its ends is used; those of people are never negative.
    """

    __pydantic_config__ = FORBID

    denominator: Annotated[int, Field(ge=1)] = 1
    rows: Numbers = field(default_factory=dict, hash=False)
    people: Numbers = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class End:
    """One end of an interval. `dual` proves `outer`, which is `value` unless a search closed the rest of the gap.

    `witness` numbers an integer table that attains `value`. Nothing limits an end without a value.
    """

    __pydantic_config__ = FORBID

    value: int | None
    outer: int | None
    shown_by: str
    dual: Annotated[Dual, _with_keys("denominator", "rows")] | None = None
    witness: Natural | None = None


@dataclass(frozen=True)
class Claim:
    """The interval of one cell and option."""

    __pydantic_config__ = FORBID

    cell: dict[str, str] = field(hash=False)
    lower: Annotated[End, BeforeValidator(_completed)]
    upper: Annotated[End, BeforeValidator(_completed)]
    option: str | None = None


@dataclass(frozen=True)
class IntervalCertificate:
    """All claims, about files that are named with their hashes.

    Variables are numbered `profile * n_free_options + option`, rows as the files give them in the order of
    `sources`. A table holds its counts other than zero by variable.
    """

    __pydantic_config__ = FORBID

    sources: Annotated[tuple[SourceFile, ...], Field(validation_alias="files")]
    axes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    options: tuple[str, ...]
    slack: Natural
    rows: Natural
    variables: Natural
    target: tuple[str, ...]
    tables: tuple[Counts, ...] = field(hash=False)
    claims: Annotated[tuple[Claim, ...], Field(validation_alias="cells")]
    verdict: dict[str, Any] | None = field(default=None, hash=False)

    def document(self) -> Document:
        """The certificate as JSON, sealed by the hash of its own content."""
        content: Document = {
            "schema": SCHEMA,
            "kind": KIND,
            "files": [_adapter(SourceFile).dump_python(source, mode="json") for source in self.sources],
            "axes": list(self.axes),
            "categories": [list(names) for names in self.categories],
            "options": list(self.options),
            "slack": self.slack,
            "rows": self.rows,
            "variables": self.variables,
            "target": list(self.target),
            "tables": [sorted([variable, count] for variable, count in table.items()) for table in self.tables],
            "cells": [_claim_document(claim) for claim in self.claims],
        }
        if self.verdict is not None:
            content["verdict"] = dict(self.verdict)
        return {**content, "sha256": digest(content)}


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    """What reads and writes certificates; it takes long to make, and most commands have none."""
    return TypeAdapter(kind)


def digest(document: Mapping[str, Any]) -> str:
    """The hash of everything in a document but its own seal, however the file is laid out.

    >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1, "sha256": "..."})
    True
    >>> digest({"a": 2})[:16]
    '7e8059f495589fcd'
    """
    content = {name: value for name, value in document.items() if name != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def parse(document: Mapping[str, Any]) -> IntervalCertificate:
    """The certificate in a document; an error names what is missing or of the wrong kind.

    Nothing is converted: a number in quotes, a fraction or an unknown key is an error, since two readers might take it
    in two ways. The seal (`sha256`) is for the caller to compare with `digest`.
    """
    content = {name: value for name, value in document.items() if name not in ("schema", "kind", "sha256")}
    try:  # as JSON: there a list is a tuple and the keys of an object are texts, and nothing else is converted
        found: IntervalCertificate = _adapter(IntervalCertificate).validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        raise InputError(_fault(error)) from None
    for entry in content["files"]:
        for name in ("count", "option", "by", "skip"):  # which have defaults, and are always written
            if name not in entry:
                raise InputError(f"files: has no {name!r}")
    return found


def target_failures(stated: object) -> list[str]:
    """What is wrong with a target that a certificate states; nothing if it is one that `Target` takes.

    >>> target_failures({"beta": 0.05, "kappa": 30, "tau": 3}), target_failures({"beta": 0.05})
    ([], ["its target is {'beta': 0.05}; it must state beta, kappa and tau"])
    """
    names = [entry.name for entry in fields(Target)]
    if not isinstance(stated, dict) or not {"beta", "kappa", "tau"} <= stated.keys() <= set(names):
        return [f"its target is {stated!r:.60}; it must state beta, kappa and tau"]
    for name, value in stated.items():
        whole = name in ("kappa", "tau")
        if name == "sensitive" or (name == "guard" and value is None):  # `Target` checks the first
            continue
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            return [f"its target is wrong ({name} = {value!r:.60} is not {'an integer' if whole else 'a number'})"]
    try:
        Target(**stated)
    except InputError as error:
        return [f"its target is wrong ({error})"]
    return []


def _claim_document(claim: Claim) -> Document:
    """A claim as an object: its cell, its option if tables have any, and both ends."""
    option = {} if claim.option is None else {"option": claim.option}
    return {
        "cell": dict(claim.cell),
        **option,
        "lower": _end_document(claim.lower),
        "upper": _end_document(claim.upper),
    }


def _end_document(end: End) -> Document:
    """An end as an object, with the keys of its kind only (`_completed` reads it back).

    >>> _end_document(End(4, 4, DUAL, Dual(1, {0: 1}), 0))
    {'value': 4, 'shown_by': 'dual', 'dual': {'denominator': 1, 'rows': {'0': 1}}, 'witness': 0}
    >>> _end_document(End(None, None, UNLIMITED))
    {'value': None, 'shown_by': 'no limit'}
    """
    entry: Document = {"value": end.value, "shown_by": end.shown_by}
    if end.shown_by == SEARCH:
        entry["outer"] = end.outer
    if end.dual is not None:
        entry["dual"] = {
            "denominator": end.dual.denominator,
            "rows": {str(row): number for row, number in sorted(end.dual.rows.items())},
        }
        if end.dual.people:
            entry["dual"]["people"] = {str(profile): number for profile, number in sorted(end.dual.people.items())}
    if end.shown_by != UNLIMITED:
        entry["witness"] = end.witness
    return entry


_PHRASES = {
    "tuple_type": "is not a list",
    "list_type": "is not a list",
    "string_type": "is not a text",
    "int_type": "is not a whole number",
    "dict_type": "is not an object",
    "mapping_type": "is not an object",
    "dataclass_type": "is not an object",
    "greater_than_equal": "is negative",
}
"""How messages name what pydantic finds."""


def _fault(error: ValidationError) -> str:
    """The first fault of a document in one line: its keys, the value and what is wrong with it."""
    fault = error.errors()[0]
    keys = [str(key) for key in fault["loc"] if isinstance(key, str)]
    if fault["type"] == "missing":
        return ": ".join([*keys[:-1], f"has no {keys[-1]!r}"])
    phrase = _PHRASES.get(fault["type"])
    said = f"{fault['input']!r:.60} {phrase}" if phrase else str(fault["msg"]).removeprefix("Value error, ")
    return ": ".join([*keys, said])
