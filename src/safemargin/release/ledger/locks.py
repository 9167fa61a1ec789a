"""Limits that are locked before the count, in the ledger: later changes are logged, and every release names them.

Choosing limits by what they would publish reveals something about the answers. So they are settled first: `lock` writes
them down with their hash, and a release compares.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from safemargin.core import InputError, OutputError, new_secret
from safemargin.history.chain import Chain
from safemargin.history.file import connected, create, damaged, locking, open_ledger
from safemargin.history.names import about, normalised
from safemargin.release.project import LedgerSection, Project
from safemargin.ui import SCHEMA, Document, Particulars, Report, Result

TABLE = (
    "create table if not exists locked (id integer primary key, population text not null, cycle text not null, "
    "day text not null, event text not null, hash text not null, limits text not null, seal text not null)"
)
LOCKED, CHANGED, FORECAST = "locked", "changed", "forecast"
"""What is written down: limits that were locked before the count, that a release used others, and what was forecast."""


@dataclass(frozen=True)
class Lock(Result):
    """The limits of one cycle as they were locked, or changed later."""

    population: str
    cycle: str
    day: str
    event: str
    limits: Mapping[str, Any] = field(hash=False)
    forecast: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What a release with these limits was forecast to keep, or why that could not be forecast."""

    @property
    def digest(self) -> str:
        """The hash of the limits."""
        return sha256(_text(self.limits).encode()).hexdigest()

    def to_json(self) -> Document:
        """The document of `lock --json`."""
        stated = {"population": self.population, "cycle": self.cycle, "day": self.day, "hash": self.digest}
        forecast = {"forecast": dict(self.forecast)} if self.forecast else {}
        return {"schema": SCHEMA, **stated, "limits": dict(self.limits), **forecast}

    def to_report(self) -> Report:
        """What was locked."""
        facts = {"population": self.population, "cycle": self.cycle, "locked": self.day, "SHA-256": self.digest}
        said = self.forecast.get("sentence") or self.forecast.get("missing")
        return Report("Limits are locked", Particulars(facts | ({"forecast": said} if said else {})))


def limits_of(project: Project) -> dict[str, Any]:
    """All that a project chooses: the target, how groups are protected, axes, tables and onlookers."""
    return {
        "target": project.aims.model_dump(exclude={"protect"}),
        "protect": project.protect,
        "axes": {name: section.model_dump(exclude_defaults=True) for name, section in project.axes.items()},
        "tables": [list(wanted.axes) for wanted in project.wanted],
        "onlookers": [section.model_dump(exclude_defaults=True) for section in project.declared],
    }


def lock_limits(loaded: Project) -> Lock:
    """Write the limits of a project into its ledger, before the count; a lock of the same cycle is never replaced."""
    if loaded.ledger is None:
        raise InputError("ledger is missing: limits are locked in the ledger of a project; add the section [ledger]")
    section, limits = loaded.ledger, json.loads(_text(limits_of(loaded)))
    path, entries = section.file, open_ledger(section.file, section.population).entries
    if any(normalised(entry.cycle) == normalised(section.cycle) for entry in about(entries, section.population)):
        raise InputError(f"{path}: {section.cycle!r} is already published: limits are locked before the count")
    earlier = read_locks(section)
    if earlier and earlier[-1].limits == limits:
        return earlier[-1]
    if earlier:
        raise InputError(
            f"{path}: the limits of {section.cycle!r} were locked on {earlier[0].day}; a release with others names the "
            "change, so edit the project instead"
        )
    return _append(section, LOCKED, limits)


def record_forecast(section: LedgerSection, forecast: Mapping[str, Any]) -> None:
    """Write down what was forecast for limits that are locked."""
    _append(section, FORECAST, forecast)


def read_forecast(section: LedgerSection) -> dict[str, Any]:
    """What was forecast for the locked limits of a cycle; nothing if nothing was."""
    found = [each for each in _read(section) if each.event == FORECAST]
    return dict(found[-1].limits) if found else {}


def log_change(project: Project) -> None:
    """Log that a release is made with other limits than those last written down."""
    assert project.ledger is not None
    limits, earlier = json.loads(_text(limits_of(project))), read_locks(project.ledger)
    if earlier and earlier[-1].limits != limits:
        _append(project.ledger, CHANGED, limits)


def lock_notes(project: Project) -> list[str]:
    """What the record of a release says about locked limits; an error where the project asks for a lock it lacks."""
    if project.ledger is None:
        return []
    locks = read_locks(project.ledger)
    if not locks:
        if project.ledger.lock:
            raise InputError(
                f"{project.ledger.file}: ledger.lock = true, but the limits of {project.ledger.cycle!r} are not "
                "locked; run safemargin lock with this project before the count"
            )
        return []
    first = locks[0]
    changes = _changes("", first.limits, json.loads(_text(limits_of(project))))
    if not changes:
        return [f"The limits were locked on {first.day}, before this release (SHA-256 {first.digest[:16]})."]
    named = "; ".join(f"{key}: {_shown(old)} became {_shown(new)}" for key, old, new in changes)
    return [
        f"The limits were changed after they were locked on {first.day} (SHA-256 {first.digest[:16]}): {named}. To "
        "choose limits by what they publish reveals something about the answers."
    ]


def read_locks(section: LedgerSection) -> list[Lock]:
    """What was written down about the limits of one cycle, in order."""
    return [each for each in _read(section) if each.event != FORECAST]


def _read(section: LedgerSection) -> list[Lock]:
    if not section.file.exists():
        return []
    chain = open_ledger(section.file).chain
    try:
        with connected(section.file) as database:
            if not database.execute("select 1 from sqlite_master where name = 'locked'").fetchall():
                return []
            rows = database.execute("select population, cycle, day, event, hash, limits, seal from locked order by id")
            sealed = rows.fetchall()
    except sqlite3.Error as error:
        raise InputError(f"{section.file}: cannot be read as a ledger: {' '.join(str(error).split())}") from None
    locks, before = [], ""
    for population, cycle, day, event, digest, text, seal in sealed:
        kept = Lock(population, cycle, day, event, json.loads(text))
        if seal != _seal(chain, before, kept) or digest != kept.digest:
            raise damaged(section.file)
        before = seal
        locks.append(kept)
    return [lock for lock in about(locks, section.population) if normalised(lock.cycle) == normalised(section.cycle)]


def _append(section: LedgerSection, event: str, limits: Mapping[str, Any]) -> Lock:
    if not section.file.exists():
        create(section.file, new_secret())
    made = Lock(section.population, section.cycle, date.today().isoformat(), event, limits)
    try:
        with locking(section.file) as (database, chain, last):
            database.execute(TABLE)
            row = (made.population, made.cycle, made.day, event, made.digest, _text(limits))
            seal = _seal(chain, last, made)
            database.execute("insert into locked values (null, ?, ?, ?, ?, ?, ?, ?)", (*row, seal))
    except sqlite3.Error as error:
        raise OutputError(f"{section.file}: nothing was recorded: {' '.join(str(error).split())}") from None
    return made


def _seal(chain: Chain, before: str, made: Lock) -> str:
    """Chained to the one before, with the key of the ledger; `head` seals the last: changes and gaps are noticed."""
    return chain.keyed(["locked", before, made.population, made.cycle, made.day, made.event, made.digest])


def _text(limits: Mapping[str, Any]) -> str:
    # Of files the name counts, not the folder: the same project elsewhere has the same limits.
    return json.dumps(
        limits, sort_keys=True, default=lambda value: value.name if isinstance(value, Path) else str(value)
    )


def _changes(key: str, old: Any, new: Any) -> list[tuple[str, Any, Any]]:
    """Where two documents differ: the key, and both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for name in dict.fromkeys([*old, *new]):
            found += _changes(f"{key}.{name}" if key else name, old.get(name), new.get(name))
        return found
    return [] if old == new else [(key, old, new)]


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
