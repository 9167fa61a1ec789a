"""A certificate: the interval of every cell, each end with a proof that addition can check."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from safemargin.core import InputError

SCHEMA = 1


KIND = "bounds"


SUPPRESSION = "safemargin-pattern"
"""The kind of a certificate about suppressed cells."""


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


Numbers = Mapping[int, int]


T = TypeVar("T")


@dataclass(frozen=True)
class SourceFile:
    """A file that a certificate speaks about, and how it is read."""

    name: str
    role: str
    sha256: str
    count: str = "count"
    option: str = "option"
    by: tuple[str, ...] | None = None
    skip: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Dual:
    """Multipliers of the rows, and of the people of profiles, over one denominator: together they limit a sum."""

    denominator: int = 1
    rows: Numbers = field(default_factory=dict, hash=False)
    people: Numbers = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class End:
    """One end of an interval. `dual` proves `outer`, which is `value` unless a search closed the rest of the gap.

    `witness` numbers an integer table that attains `value`. Nothing limits an end without a value.
    """

    value: int | None
    outer: int | None
    shown_by: str
    dual: Dual | None = None
    witness: int | None = None


@dataclass(frozen=True)
class Claim:
    """The interval of one cell and option."""

    cell: Mapping[str, str] = field(hash=False)
    option: str | None
    lower: End
    upper: End


@dataclass(frozen=True)
class IntervalCertificate:
    """All claims, about files that are named with their hashes.

    Variables are numbered `profile * free + option`, rows as the files give them in the order of `sources`. A table
    holds its counts other than zero by variable.
    """

    sources: tuple[SourceFile, ...]
    axes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    options: tuple[str, ...]
    slack: int
    rows: int
    variables: int
    target: tuple[str, ...]
    tables: tuple[Numbers, ...] = field(hash=False)
    claims: tuple[Claim, ...]
    verdict: Mapping[str, Any] | None = field(default=None, hash=False)

    def document(self) -> Document:
        """The certificate as JSON, sealed by the hash of its own content."""
        content: Document = {
            "schema": SCHEMA,
            "kind": KIND,
            "files": [_source_document(source) for source in self.sources],
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


def digest(document: Mapping[str, Any]) -> str:
    """The hash of everything in a document but its own seal, however the file is laid out."""
    content = {name: value for name, value in document.items() if name != "sha256"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def parse(document: Mapping[str, Any]) -> IntervalCertificate:
    """The certificate in a document; an error names what is missing or of the wrong kind."""
    return IntervalCertificate(
        sources=_list(document, "files", _source),
        axes=_list(document, "axes", _text),
        categories=_list(document, "categories", lambda names: tuple(_text(name) for name in _items(names))),
        options=_list(document, "options", _text),
        slack=_get(document, "slack", _count),
        rows=_get(document, "rows", _count),
        variables=_get(document, "variables", _count),
        target=_list(document, "target", _text),
        tables=_list(document, "tables", _table),
        claims=_list(document, "cells", _claim),
        verdict=_get(document, "verdict", _mapping) if "verdict" in document else None,
    )


def _source_document(source: SourceFile) -> Document:
    return {
        "name": source.name,
        "role": source.role,
        "sha256": source.sha256,
        "count": source.count,
        "option": source.option,
        "by": None if source.by is None else list(source.by),
        "skip": [list(pair) for pair in source.skip],
    }


def _claim_document(claim: Claim) -> Document:
    option = {} if claim.option is None else {"option": claim.option}
    return {
        "cell": dict(claim.cell),
        **option,
        "lower": _end_document(claim.lower),
        "upper": _end_document(claim.upper),
    }


def _end_document(end: End) -> Document:
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


def _source(value: object) -> SourceFile:
    entry = _mapping(value)
    by = entry.get("by")
    source = SourceFile(
        name=_get(entry, "name", _text),
        role=_get(entry, "role", _text),
        sha256=_get(entry, "sha256", _text),
        count=_get(entry, "count", _text),
        option=_get(entry, "option", _text),
        by=None if by is None else tuple(_text(name) for name in _items(by)),
        skip=_list(entry, "skip", _pair_of_texts),
    )
    if source.role not in ROLES:
        raise InputError(f"role {source.role!r}: must be one of {', '.join(ROLES)}")
    return source


def _claim(value: object) -> Claim:
    entry = _mapping(value)
    cell = {axis: _text(name) for axis, name in _get(entry, "cell", _mapping).items()}
    option = _get(entry, "option", _text) if "option" in entry else None
    return Claim(cell, option, _get(entry, "lower", _end), _get(entry, "upper", _end))


def _end(value: object) -> End:
    entry = _mapping(value)
    end, shown_by = entry.get("value"), _get(entry, "shown_by", _text)
    if shown_by not in SHOWN_BY or (end is None) != (shown_by == UNLIMITED):
        raise InputError(f"shown_by {shown_by!r} beside value {end!r}: must be one of {', '.join(SHOWN_BY)}")
    if end is None:
        return End(None, None, UNLIMITED)
    outer = entry.get("outer") if shown_by == SEARCH else end
    dual, witness = entry.get("dual"), entry.get("witness")
    return End(
        value=_integer(end),
        outer=None if outer is None else _integer(outer),
        shown_by=shown_by,
        dual=None if dual is None else _dual(dual),
        witness=None if witness is None else _count(witness),
    )


def _dual(value: object) -> Dual:
    entry = _mapping(value)
    denominator = _get(entry, "denominator", _count)
    if denominator < 1:
        raise InputError(f"denominator {denominator}: must be at least 1")
    return Dual(denominator, _get(entry, "rows", _numbers), _numbers(entry.get("people", {})))


def _numbers(value: object) -> Numbers:
    numbers = {}
    for text, number in _mapping(value).items():
        if not (text.isascii() and text.isdigit() and str(int(text)) == text):
            raise InputError(f"{text!r} is not the number of a row or profile")
        numbers[int(text)] = _integer(number)
    return numbers


def _table(value: object) -> Numbers:
    counts: dict[int, int] = {}
    for pair in _items(value):
        variable, count = (_count(number) for number in _pair(pair))
        if variable in counts:
            raise InputError(f"a table counts variable {variable} twice")
        counts[variable] = count
    return counts


def _get(entry: Mapping[str, Any], name: str, read: Callable[[object], T]) -> T:
    if name not in entry:
        raise InputError(f"has no {name!r}")
    try:
        return read(entry[name])
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _list(entry: Mapping[str, Any], name: str, read: Callable[[object], T]) -> tuple[T, ...]:
    return _get(entry, name, lambda value: tuple(read(item) for item in _items(value)))


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InputError(f"{value!r:.60} is not a list")
    return value


def _pair(value: object) -> list[object]:
    items = _items(value)
    if len(items) != 2:
        raise InputError(f"{value!r:.60} is not a pair")
    return items


def _pair_of_texts(value: object) -> tuple[str, str]:
    first, second = _pair(value)
    return _text(first), _text(second)


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{value!r:.60} is not an object")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r:.60} is not a text")
    return value


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{value!r:.60} is not a whole number")
    return value


def _count(value: object) -> int:
    number = _integer(value)
    if number < 0:
        raise InputError(f"{number} is negative")
    return number


def source_of(path: Path, role: str, **reading: Any) -> SourceFile:
    """How a certificate names a file; `reading` are the fields of `Source` that say how it is read."""
    return SourceFile(path.name, role, file_hash(path), **reading)


def file_hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


@dataclass(frozen=True)
class Verification:
    """What was checked. An end is `proved` if nothing lies beyond it and a table attains it, `outer` if only the first
    is shown, `search` if the certificate leaves a gap that only its author's search has closed.
    """

    kind: str
    files: int
    cells: int = 0
    proved: int = 0
    outer: int = 0
    search: int = 0
    unlimited: int = 0
    tables: int = 0
    slack: int = 0
    failures: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every claim that can be checked is true."""
        return not self.failures

    def document(self) -> dict[str, object]:
        """For `--json`."""
        return {"schema": SCHEMA, "holds": self.holds, **asdict(self)}

    def lines(self) -> Iterator[str]:
        """For a terminal."""
        if self.failures:
            more = f" ({len(self.failures) - 1:,} more claims fail)" if len(self.failures) > 1 else ""
            yield f"The certificate does not hold: {self.failures[0]}{more}"
            return
        yield f"{_many(self.files, 'file')}: every hash matches."
        if self.kind == KIND:
            yield f"{_many(self.cells, 'interval')}, {_many(self.tables, 'integer table')}, all checked:"
            yield f"  {_many(self.proved, 'end')} proved: nothing lies beyond, and a table attains it."
            if self.outer:
                yield f"  {_many(self.outer, 'end')} proved as limits; whether they can be attained is not shown."
            if self.search:
                yield f"  {_many(self.search, 'end')} not proved by the certificate: a search closed the last gap."
            if self.unlimited:
                yield f"  {_many(self.unlimited, 'end')} that no file limits."
        elif self.kind == SUPPRESSION:
            tables = _many(self.tables, "integer table")
            yield f"{_many(self.cells, 'suppressed count')}, {tables}, all checked:"
            yield f"  {_many(self.proved, 'count')} with values far enough apart in tables that print the same."
        if self.slack:
            yield f"Every count may be off by {self.slack:,}, since the files disagree on totals."
        yield from (f"Not checked: {note}" for note in self.unchecked)


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
